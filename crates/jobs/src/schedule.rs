//! A collective that was checked.

use crate::error::Error;
use crate::kinds::{Algorithm, Operation};
use crate::parts::Parts;
use forebay_units::{Bytes, Span};

/// What every rank does, and in which order. Made by [`Collective::schedule`](crate::Collective::schedule).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub(crate) operation: Operation,
    pub(crate) algorithm: Algorithm,
    pub(crate) ranks: u32,
    pub(crate) root: u32,
    pub(crate) size: Bytes, // before a barrier's parts became a byte each
    pub(crate) step_delay: Span,
    pub(crate) parts: Parts,
}

impl Schedule {
    /// Operation.
    pub const fn operation(&self) -> Operation {
        self.operation
    }

    /// Algorithm.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Number of ranks.
    pub const fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Number of channels.
    pub const fn channels(&self) -> u32 {
        self.parts.channels
    }

    /// Size of the whole, S in the closed forms.
    pub const fn size(&self) -> Bytes {
        self.size
    }

    /// How data is cut.
    pub const fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Rank `by` places on.
    pub(crate) const fn next(&self, rank: u32, by: u32) -> u32 {
        (rank + by) % self.ranks
    }

    /// Rank `by` places back; `by` is at most the number of ranks.
    pub(crate) const fn back(&self, rank: u32, by: u32) -> u32 {
        (rank + self.ranks - by) % self.ranks
    }

    /// Bytes of a channel that are sent at once, at most.
    fn largest_piece(&self) -> u64 {
        let whole =
            self.operation == Operation::Broadcast || self.algorithm == Algorithm::HalvingDoubling;
        self.parts.start(if whole { self.parts.count() } else { 1 }, 0)
    }

    /// Messages of the largest piece that is sent at once.
    pub fn most_messages(&self) -> u64 {
        self.parts.messages(self.largest_piece())
    }

    /// Bytes of a message, at most.
    pub fn largest_message(&self) -> Bytes {
        Bytes::new(self.largest_piece().min(self.parts.message))
    }

    /// Operations of a sequence that are read before they can begin, so that none begins later than it could: 1 unless sends wait for a
    /// `step_delay` each. A reader that stops earlier is right as well, and later.
    pub fn ahead(&self) -> u64 {
        let forwards = self.algorithm == Algorithm::Ring && self.operation != Operation::AllToAll;
        if !forwards || self.step_delay == Span::ZERO {
            return 1;
        }
        // A rank receives at most what the rank before it can send without it: the messages of so many steps.
        let steps =
            if self.operation == Operation::Broadcast { 1 } else { u64::from(self.ranks - 1) };
        1 + steps * self.most_messages()
    }

    /// Whether every distance between operations that wait for each other has a number.
    pub(crate) fn check_length(&self) -> Result<(), Error> {
        let messages = self.most_messages();
        // Rows of three operations; a direct all-reduce waits over all that it sends and receives.
        let stages = if self.algorithm == Algorithm::Direct { u64::from(self.ranks) } else { 1 };
        let longest = messages.saturating_add(2).saturating_mul(5).saturating_mul(stages);
        if longest > u64::from(u32::MAX) {
            let message = Bytes::new(self.parts.message).min(self.parts.whole());
            return Err(Error::Messages { message, piece: self.parts.part(0), ranks: self.ranks });
        }
        Ok(())
    }
}
