//! Credits that a receiver is to return for one connection: when a message leaves, and with which number.
//!
//! Numbers are counted from the beginning of the connection, so one message heals all that were lost before it. Their unit is the
//! caller's: the simulator counts bytes of a stream, the library counts lines.

use forebay_units::{Span, Time};

/// When messages leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Longest that a receiver keeps credits back for company.
    pub keep: Span,
    /// Time to the first repetition of a message that was the last; each later one takes twice as long.
    pub repeat: Span,
    /// How often such a message is repeated, in case it was lost.
    pub repeats: u32,
}

/// Credits that are to be returned for one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Returns {
    read: u64,
    announced: u64, // what the last message had of `read`
    due: Time,      // of the next message, if `read` does not rise
    repeats: u32,   // of the last message
}

impl Default for Returns {
    fn default() -> Self {
        Self { read: 0, announced: 0, due: Time::MAX, repeats: 0 }
    }
}

impl Returns {
    /// The application has read the first `read` units. Whether a message leaves now: a `batch` waits, or more.
    #[inline]
    pub fn read(&mut self, timing: &Timing, now: Time, read: u64, batch: u64) -> bool {
        if read > self.read && self.read == self.announced {
            self.due = now.saturating_add(timing.keep);
        }
        self.read = read;
        read - self.announced >= batch.max(1)
    }

    /// A message leaves. Returns the number in it.
    #[inline]
    pub fn announce(&mut self, timing: &Timing, now: Time) -> u64 {
        self.repeats = if self.read > self.announced { 0 } else { self.repeats + 1 };
        self.announced = self.read;
        let again = (self.repeats < timing.repeats).then(|| timing.repeat * (1 << self.repeats));
        self.due = again.map_or(Time::MAX, |span| now.saturating_add(span));
        self.announced
    }

    /// When the next message leaves, if nothing more is read.
    #[inline]
    pub fn due(&self) -> Time {
        self.due
    }

    /// The number that the last message had.
    #[inline]
    pub fn announced(&self) -> u64 {
        self.announced
    }

    /// Whether something was read that no message has announced.
    #[inline]
    pub fn pending(&self) -> bool {
        self.read > self.announced
    }
}
