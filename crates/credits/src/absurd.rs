//! Messages that no peer with this library sends.

use crate::message::Garbage;
use core::fmt;

/// Why a connection is to be ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProtocolError {
    /// The bytes are no message.
    Garbage(Garbage),
    /// More credits were returned than are outstanding.
    Returned {
        /// Credits outstanding.
        outstanding: u64,
        /// Credits that came back.
        returned: u32,
    },
    /// The message is of another connection.
    Connection,
    /// The receiver's lines have another size than before.
    Line,
    /// The sender acknowledges an announcement that was never made.
    Epoch,
    /// Such a message is not for this side, or not for this moment.
    Unexpected,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Garbage(of) => of.fmt(f),
            Self::Returned { outstanding, returned } => {
                write!(
                    f,
                    "the peer returned {returned} credits, and {outstanding} were outstanding"
                )
            }
            Self::Connection => write!(f, "the message is of another connection"),
            Self::Line => write!(f, "the peer's cache lines have changed their size"),
            Self::Epoch => write!(f, "the peer acknowledges what was not announced"),
            Self::Unexpected => write!(f, "the message is not for this side"),
        }
    }
}

impl core::error::Error for ProtocolError {}

impl From<Garbage> for ProtocolError {
    fn from(of: Garbage) -> Self {
        Self::Garbage(of)
    }
}
