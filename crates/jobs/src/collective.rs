//! What a collective is, before it is checked.

use crate::error::Error;
use crate::kinds::{Algorithm, MOST_BYTES, MOST_CHANNELS, MOST_RANKS, Meaning, Operation};
use crate::parts::Parts;
use crate::schedule::Schedule;
use forebay_units::{Bytes, Span};

/// A collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Operation.
    pub operation: Operation,
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Number of ranks.
    pub ranks: u32,
    /// Size. 0 makes a barrier: each part has one byte.
    pub bytes: Bytes,
    /// Meaning of the size.
    pub meaning: Meaning,
    /// Channels, which carry a share of each part, at the same time.
    pub channels: u32,
    /// The most that one message carries; `None`: messages are not cut.
    pub message: Option<Bytes>,
    /// Rank that has the data of a broadcast.
    pub root: u32,
    /// Time between the arrival of data and the begin of a send that waits for it.
    pub step_delay: Span,
}

impl Collective {
    /// A collective of one channel, with whole messages and no delay.
    pub const fn new(operation: Operation, algorithm: Algorithm, ranks: u32, bytes: Bytes) -> Self {
        Self {
            operation,
            algorithm,
            ranks,
            bytes,
            meaning: Meaning::Whole,
            channels: 1,
            message: None,
            root: 0,
            step_delay: Span::ZERO,
        }
    }

    /// Checks it.
    ///
    /// # Errors
    /// If there is no such collective.
    pub fn schedule(self) -> Result<Schedule, Error> {
        let Self { operation, algorithm, ranks, channels, .. } = self;
        if ranks == 0 || ranks > MOST_RANKS {
            return Err(Error::Ranks(ranks.into()));
        }
        if channels == 0 || channels > MOST_CHANNELS {
            return Err(Error::Channels(channels));
        }
        if self.message == Some(Bytes::ZERO) {
            return Err(Error::EmptyMessage);
        }
        if operation == Operation::Broadcast && self.root >= ranks {
            return Err(Error::Root { root: self.root, ranks });
        }
        if algorithm == Algorithm::HalvingDoubling {
            match operation {
                Operation::Broadcast | Operation::AllToAll => {
                    return Err(Error::Unable { operation, algorithm });
                }
                Operation::ReduceScatter | Operation::AllGather if !ranks.is_power_of_two() => {
                    return Err(Error::PowerOfTwo { operation, ranks });
                }
                _ => {}
            }
        }
        let size = self.size()?;
        let count = match (operation, algorithm) {
            (Operation::Broadcast, _) => 1,
            (_, Algorithm::HalvingDoubling) => 1 << ranks.ilog2(),
            _ => ranks,
        };
        let whole = if size == Bytes::ZERO { u64::from(count) } else { size.get() };
        let message = self.message.map_or(u64::MAX, Bytes::get);
        let schedule = Schedule {
            operation,
            algorithm,
            ranks,
            root: if operation == Operation::Broadcast { self.root } else { 0 },
            size,
            step_delay: self.step_delay,
            parts: Parts { whole, parts: count, channels, message },
        };
        schedule.check_length()?;
        Ok(schedule)
    }

    /// Size of the whole.
    fn size(&self) -> Result<Bytes, Error> {
        let parts = match (self.meaning, self.operation) {
            (Meaning::Whole, _) => 1,
            (Meaning::Part, Operation::Broadcast) => return Err(Error::NoParts(self.operation)),
            (Meaning::Part, _) => self.ranks,
        };
        let whole = self.bytes.get().checked_mul(parts.into());
        let fits = whole.map(Bytes::new).filter(|whole| *whole <= MOST_BYTES);
        fits.ok_or(Error::Size { bytes: self.bytes, parts })
    }
}
