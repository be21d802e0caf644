//! What a slot knows of its entries in a heap of timers, so that it adds none without need.

use forebay_units::Time;

/// The earliest entries of one slot, in order; `Time::MAX` where there is none. Three, since a sender has a pacing gate, a law
/// that wants to be woken and a timeout, one behind the other.
///
/// Entries beyond the third are forgotten: when they come up they mean nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimerDedup([Time; 3]);

impl TimerDedup {
    pub const NONE: Self = Self([Time::MAX; 3]);

    /// Whether an entry has to be made for `at`, which is then known.
    #[inline]
    pub fn needs(&mut self, at: Time) -> bool {
        let earlier = at < self.0[0];
        if earlier {
            self.0 = [at, self.0[0], self.0[1]];
        }
        earlier
    }

    /// An entry for `now` came up. False if it is one that was forgotten.
    #[inline]
    pub fn fires(&mut self, now: Time) -> bool {
        let known = self.0[0] <= now;
        if known {
            self.0 = [self.0[1], self.0[2], Time::MAX];
        }
        known
    }
}

#[cfg(feature = "reference")]
#[doc(hidden)]
pub mod tests {
    use super::*;

    pub fn later_entries_are_remembered_behind_earlier_ones() {
        let at = Time::from_ps;
        let mut armed = TimerDedup::NONE;
        assert!(armed.needs(at(400)), "a timeout");
        for gate in [10, 20, 30] {
            assert!(armed.needs(at(gate)), "a gate before it");
            assert!(!armed.needs(at(gate)) && !armed.needs(at(gate + 1)));
            assert!(armed.fires(at(gate)));
            assert!(!armed.needs(at(400)), "the timeout is still there");
        }
        assert!(armed.fires(at(400)) && armed.needs(at(500)));
    }

    pub fn what_was_forgotten_means_nothing() {
        let at = Time::from_ps;
        let mut armed = TimerDedup::NONE;
        for time in [40, 30, 20, 10] {
            assert!(armed.needs(at(time)));
        }
        assert!([10, 20, 30].iter().all(|time| armed.fires(at(*time))));
        assert!(armed.needs(at(50)));
        assert!(!armed.fires(at(40)), "of the first of four nobody knows");
        assert!(armed.fires(at(50)));
    }
}
