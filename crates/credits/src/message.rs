//! Messages between the two ends of a connection, as bytes.
//!
//! A message has 24 bytes, numbers in network order. `docs/adr` has the layout and the reasons.
//!
//! Invariant: no bytes make [`Message::decode`] panic, and what it accepts encodes to the same bytes again.

use core::fmt;

/// Bytes of a message.
pub const MESSAGE_BYTES: usize = 24;

/// Version of the layout.
pub const VERSION: u8 = 1;

/// Most lines of a limit: 8 GiB of lines of 64 B. What a law adds to it leaves the counter's half of all numbers free.
pub const MOST_LINES: u32 = 1 << 27;

/// First bytes of every message.
const MAGIC: u16 = 0xFBC1;

/// Limit of a receiver, and the number of connections that share it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shares {
    /// Lines of the cache that all connections together may fill; at least 1.
    pub limit: u32,
    /// Connections that share them; at least 1.
    pub connections: u32,
    /// Bytes of a line; a power of two.
    pub line: u32,
    /// Number of this announcement to this connection. It counts up from 0 and wraps.
    pub epoch: u16,
}

impl Shares {
    /// Lines that one connection may fill.
    pub fn share(&self) -> u32 {
        (self.limit / self.connections.max(1)).max(1)
    }
}

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    /// First message of the receiver.
    Hello {
        /// The receiver's number for the connection.
        connection: u32,
        /// Limit of the receiver.
        shares: Shares,
    },
    /// The receiver returns credits.
    Credit {
        /// The receiver's number for the connection.
        connection: u32,
        /// Credits returned since the beginning, the low 32 bits.
        returned: u32,
        /// Limit of the receiver.
        shares: Shares,
        /// True if the sender is to confirm the announcement.
        acknowledge: bool,
    },
    /// The sender has seen an announcement, or misses credits. The receiver answers the second with a credit message.
    Ask {
        /// The receiver's number for the connection.
        connection: u32,
        /// Credits of all requests posted since the beginning, the low 32 bits.
        posted: u32,
        /// Number of the last announcement seen.
        epoch: u16,
        /// True if the sender wants an answer.
        answer: bool,
    },
}

/// Why bytes are no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Garbage {
    /// There are more or fewer than [`MESSAGE_BYTES`].
    Length,
    /// The peer does not speak this protocol.
    Magic,
    /// The peer speaks another version.
    Version(u8),
    /// There is no such kind of message.
    Kind(u8),
    /// The limit is 0, or more than [`MOST_LINES`].
    Limit(u32),
    /// No connection shares the limit.
    NoConnections,
    /// A line has less than 8 bytes, or more than 64 KiB.
    Line(u8),
    /// Bytes that are reserved are not 0.
    Reserved,
}

impl fmt::Display for Garbage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => write!(f, "a credit message has {MESSAGE_BYTES} bytes"),
            Self::Magic => write!(f, "the peer does not use this library"),
            Self::Version(of) => write!(f, "the peer speaks version {of}, this library {VERSION}"),
            Self::Kind(of) => write!(f, "no credit message is of kind {of}"),
            Self::Limit(of) => write!(f, "the peer announces a limit of {of} lines"),
            Self::NoConnections => write!(f, "the peer announces 0 connections"),
            Self::Line(of) => write!(f, "the peer announces lines of 2^{of} bytes"),
            Self::Reserved => write!(f, "reserved bytes of a credit message are not 0"),
        }
    }
}

impl core::error::Error for Garbage {}

const HELLO: u8 = 0;
const CREDIT: u8 = 1;
const ASK: u8 = 2;

impl Message {
    /// The bytes of it.
    pub fn encode(&self) -> [u8; MESSAGE_BYTES] {
        let (kind, connection, number, last, flag) = match *self {
            Self::Hello { connection, shares } => (HELLO, connection, 0, Ok(shares), false),
            Self::Credit { connection, returned, shares, acknowledge } => {
                (CREDIT, connection, returned, Ok(shares), acknowledge)
            }
            Self::Ask { connection, posted, epoch, answer } => {
                (ASK, connection, posted, Err(epoch), answer)
            }
        };
        let (connections, limit, epoch, line) = match last {
            Ok(of) => (of.connections, of.limit, of.epoch, of.line.trailing_zeros() as u8),
            Err(epoch) => (0, 0, epoch, 0),
        };
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[..2].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[2..4].copy_from_slice(&[VERSION, kind]);
        for (at, word) in [connection, number, connections, limit].into_iter().enumerate() {
            bytes[4 + 4 * at..][..4].copy_from_slice(&word.to_be_bytes());
        }
        bytes[20..22].copy_from_slice(&epoch.to_be_bytes());
        bytes[22..].copy_from_slice(&[line, u8::from(flag)]);
        bytes
    }

    /// The message that these bytes are.
    ///
    /// # Errors
    /// If they are none.
    pub fn decode(bytes: &[u8]) -> Result<Self, Garbage> {
        let bytes: &[u8; MESSAGE_BYTES] = bytes.try_into().map_err(|_| Garbage::Length)?;
        if bytes[..2] != MAGIC.to_be_bytes() {
            return Err(Garbage::Magic);
        }
        if bytes[2] != VERSION {
            return Err(Garbage::Version(bytes[2]));
        }
        let word = |at: usize| {
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let (connection, number, connections, limit) = (word(4), word(8), word(12), word(16));
        let epoch = u16::from_be_bytes([bytes[20], bytes[21]]);
        let (line, flags) = (bytes[22], bytes[23]);
        if bytes[3] == ASK {
            let empty = connections == 0 && limit == 0 && line == 0 && flags <= 1;
            let ask = Self::Ask { connection, posted: number, epoch, answer: flags == 1 };
            return if empty { Ok(ask) } else { Err(Garbage::Reserved) };
        }
        if bytes[3] > ASK {
            return Err(Garbage::Kind(bytes[3]));
        }
        if limit == 0 || limit > MOST_LINES {
            return Err(Garbage::Limit(limit));
        }
        if connections == 0 {
            return Err(Garbage::NoConnections);
        }
        if !(3..=16).contains(&line) {
            return Err(Garbage::Line(line));
        }
        let shares = Shares { limit, connections, line: 1 << line, epoch };
        match (bytes[3], number, flags) {
            (HELLO, 0, 0) => Ok(Self::Hello { connection, shares }),
            (CREDIT, returned, 0 | 1) => {
                Ok(Self::Credit { connection, returned, shares, acknowledge: flags == 1 })
            }
            _ => Err(Garbage::Reserved),
        }
    }
}
