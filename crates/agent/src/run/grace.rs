//! A grace period: what a process that woke late grants the one whose sign of life it watches.
//!
//! Where the whole machine stood still, both processes did. The one that wakes first finds an old sign of life, which says nothing about the other.
//!
//! Invariant: one grace period for each sign of life, so that a process that never gives another one is found silent.

/// See the top of this file. Times are nanoseconds of CLOCK_BOOTTIME.
#[derive(Clone, Copy, Debug, Default)]
pub struct GracePeriod {
    beat: u64, // the sign of life that it was granted for
    end: u64,
}

impl GracePeriod {
    /// Grants a grace period because this process woke late. The other process, whose last sign of life was at `beat`, has until `end`, unless it has had one since then.
    pub fn grant(&mut self, beat: u64, end: u64) {
        if self.beat != beat {
            *self = Self { beat, end };
        }
    }

    /// When the other process counts as silent: at its deadline, or at the end of the grace period.
    pub fn extend(self, deadline: u64) -> u64 {
        deadline.max(self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sign_of_life_has_one_grace_period() {
        let mut grace = GracePeriod::default();
        assert_eq!(grace.extend(50), 50, "none was granted");
        grace.grant(7, 80);
        assert_eq!(grace.extend(50), 80);
        grace.grant(7, 120);
        assert_eq!(grace.extend(50), 80, "a second one for the same sign of life is none");
        grace.grant(60, 130);
        assert_eq!((grace.extend(110), grace.extend(150)), (130, 150));
    }
}
