//! Collectives that cannot be, each as one sentence.

use crate::kinds::{Algorithm, MOST_BYTES, MOST_CHANNELS, MOST_RANKS, Operation};
use forebay_units::Bytes;
use std::fmt;

/// Why there is no schedule. Its text has both values and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// No ranks, or too many to number.
    Ranks(u64),
    /// Two ranks are one host.
    Twice {
        /// Host.
        name: String,
        /// Its two ranks.
        ranks: [usize; 2],
    },
    /// More ranks than hosts.
    Hosts {
        /// Number of ranks.
        ranks: usize,
        /// Number of hosts.
        hosts: usize,
    },
    /// A host that is no rank of a group.
    Outside {
        /// Host.
        name: String,
        /// First and last host of the group.
        ends: [String; 2],
        /// Number of ranks of the group.
        ranks: usize,
    },
    /// A root that is no rank.
    Root {
        /// Rank.
        root: u32,
        /// Number of ranks.
        ranks: u32,
    },
    /// An operation that the algorithm does not do.
    Unable {
        /// Operation.
        operation: Operation,
        /// Algorithm.
        algorithm: Algorithm,
    },
    /// Halving-doubling over a number of ranks that is no power of two.
    PowerOfTwo {
        /// Operation.
        operation: Operation,
        /// Number of ranks.
        ranks: u32,
    },
    /// The size of a part, of an operation without parts.
    NoParts(Operation),
    /// More data than [`MOST_BYTES`].
    Size {
        /// Size of a part, or of all.
        bytes: Bytes,
        /// Number of parts of that size.
        parts: u32,
    },
    /// No channels, or too many.
    Channels(u32),
    /// Messages without data.
    EmptyMessage,
    /// A sequence of operations that is too long to number.
    Messages {
        /// Size of a message.
        message: Bytes,
        /// Size of a part.
        piece: Bytes,
        /// Number of ranks.
        ranks: u32,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ranks(0) => f.write_str(
                "a collective has 0 ranks and needs 1 or more; name its hosts in `ranks`",
            ),
            Self::Ranks(ranks) => write!(
                f,
                "a collective has {ranks} ranks and at most {} are possible; name fewer hosts in `ranks`",
                MOST_RANKS
            ),
            Self::Twice { name, ranks: [first, second] } => {
                write!(
                    f,
                    "ranks {first} and {second} are both {name:?}; name each host once in `ranks`"
                )
            }
            Self::Hosts { ranks, hosts } => {
                write!(
                    f,
                    "{ranks} ranks need a host each and there are {hosts} hosts; name {hosts} ranks or fewer, or add hosts"
                )
            }
            Self::Outside { name, ends: [first, last], ranks } => {
                write!(
                    f,
                    "{name:?} is none of the {ranks} ranks of its group ({first:?} to {last:?}); add it to `ranks`, or name one of them"
                )
            }
            Self::Root { root, ranks } => {
                write!(
                    f,
                    "`root` is {root} and there are {ranks} ranks; write a root from 0 to {}",
                    ranks.saturating_sub(1)
                )
            }
            Self::Unable { operation, algorithm } => {
                write!(
                    f,
                    "`algorithm` is {:?} and it cannot do {}; write \"ring\" or \"direct\"",
                    algorithm.name(),
                    operation.name()
                )
            }
            Self::PowerOfTwo { operation, ranks } => {
                let below = 1 << ranks.ilog2();
                write!(
                    f,
                    "\"halving-doubling\" needs a power of two of ranks for {} and there are {ranks}; name {below} or {} ranks, or write \"ring\" or \"direct\"",
                    operation.name(),
                    below * 2
                )
            }
            Self::NoParts(operation) => {
                write!(
                    f,
                    "`bytes_are` is \"part\" and {} has no parts; write \"whole\"",
                    operation.name()
                )
            }
            Self::Size { bytes, parts } => {
                write!(
                    f,
                    "{parts} x {bytes} is more than {}, the most of a collective; write fewer `bytes`",
                    MOST_BYTES
                )
            }
            Self::Channels(channels) => {
                write!(f, "`channels` is {channels}; write a number from 1 to {}", MOST_CHANNELS)
            }
            Self::EmptyMessage => f.write_str(
                "`message` is 0B and a message has 1 B or more; write for instance \"1MiB\"",
            ),
            Self::Messages { message, piece, ranks } => {
                write!(
                    f,
                    "parts of {piece} in messages of {message} make too many operations for one of {ranks} ranks; write a larger `message`, for instance \"1MiB\""
                )
            }
        }
    }
}

impl std::error::Error for Error {}
