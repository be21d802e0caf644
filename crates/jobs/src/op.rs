//! Operations of a rank.

use forebay_units::{Bytes, Span};
use std::fmt;

/// What a rank does.
///
/// A message is a range of a *channel's array*: the channel's shares of all parts, one after another in the order of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Sends a message. Over when all of it is acknowledged.
    Send {
        /// Receiving rank.
        to: u32,
        /// Channel.
        channel: u32,
        /// First part in the message.
        part: u32,
        /// First byte, in the channel's array.
        at: u64,
        /// Payload, 1 B or more.
        bytes: Bytes,
    },
    /// Receives the next message of a connection. Over when all of it has arrived.
    Recv {
        /// Sending rank.
        from: u32,
        /// Channel.
        channel: u32,
        /// First part in the message.
        part: u32,
        /// First byte, in the channel's array.
        at: u64,
        /// Payload, as the sender sends it.
        bytes: Bytes,
        /// Use of the data.
        take: DataUse,
    },
    /// Takes this long. Zero: joins what it waits for.
    Compute(Span),
}

impl Op {
    /// Whether this sends.
    pub const fn is_send(&self) -> bool {
        matches!(self, Self::Send { .. })
    }

    /// Whether this receives.
    pub const fn is_recv(&self) -> bool {
        matches!(self, Self::Recv { .. })
    }
}

/// Use of received data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataUse {
    /// Added to the rank's own.
    Reduce,
    /// Stored in the place of the rank's own.
    Store,
}

/// An operation with what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is done.
    pub op: Op,
    /// Operations of the same sequence that are over before this one begins, as distances: 1 is the one before. 0: none.
    pub after: [u32; 2],
}

const _: () = assert!(size_of::<Step>() <= 64, "an operation costs at most a cache line");

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send { to, channel, part, at, bytes } => {
                write!(
                    f,
                    "a send to rank {to} of {bytes} from byte {at} of channel {channel}, part {part}"
                )
            }
            Self::Recv { from, channel, part, at, bytes, .. } => {
                write!(
                    f,
                    "a receipt from rank {from} of {bytes} from byte {at} of channel {channel}, part {part}"
                )
            }
            Self::Compute(span) => write!(f, "a computation of {span}"),
        }
    }
}
