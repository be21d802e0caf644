//! A failure detector: whether the other process is alive, by its signs of life, a deadline, and grace for own late wake-ups.
//!
//! Guard and loop have one each. Times come from the caller, so tests own the clock.

use super::grace::GracePeriod;

/// Late wake-ups that are kept since the last sign of life.
const MOST: usize = 64;

/// See the top of this file. Times are nanoseconds of CLOCK_BOOTTIME.
#[derive(Clone, Debug)]
pub struct Detector {
    first: u64, // the other process counts as silent from here on, if it never gives a sign of life
    deadline: u64,
    spare: u64, // a wake-up later than this is one of a machine that stood still
    word: u64,  // the last sign of life as it was read
    last: u64,  // and when that was
    grace: GracePeriod,
    late: Vec<(u64, u64)>,
}

impl Detector {
    /// For a process that gives its first sign of life by `first`, and then another one within each `deadline`. A wake-up of this process later than
    /// `spare` grants the other one as much again.
    pub fn new(first: u64, deadline: u64, spare: u64) -> Self {
        let grace = GracePeriod::default();
        Self { first, deadline, spare, word: 0, last: 0, grace, late: Vec::with_capacity(MOST) }
    }

    /// The sign of life as it is read now; 0: there was none. One of the future counts as one of now.
    pub fn hear(&mut self, beat: u64, now: u64) {
        if beat != self.word {
            (self.word, self.last) = (beat, beat.min(now));
            self.late.clear();
        }
    }

    /// Notes that this process wanted to wake at `due` and woke at `awake`.
    pub fn woke(&mut self, due: u64, awake: u64) {
        if awake > due.saturating_add(self.spare) {
            if self.late.len() < MOST {
                self.late.push((due, awake));
            }
            self.grace.grant(self.last, awake + self.spare);
        }
    }

    /// When the other process counts as silent, unless it gives another sign of life.
    pub fn until(&self) -> u64 {
        let deadline =
            if self.word == 0 { self.first } else { self.last.saturating_add(self.deadline) };
        self.grace.extend(deadline)
    }

    /// Whether it does now.
    pub fn is_silent(&self, now: u64) -> bool {
        now > self.until()
    }

    /// Time of the last sign of life.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Late wake-ups since then: when this process wanted to wake, and when it did.
    pub fn late(&self) -> &[(u64, u64)] {
        &self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const LOOK: u64 = 10 * MS;
    const DEADLINE: u64 = 50 * MS;

    /// A guard as it looks: it wakes when it wants to, or as much later as `late` says. When it finds the loop silent, which gave its last sign of life
    /// at `last`, and by how much it had woken late until then.
    fn found(last: u64, mut late: impl FnMut(u64) -> u64) -> (u64, u64) {
        let mut of = Detector::new(u64::MAX, DEADLINE, LOOK);
        let (mut now, mut sum) = (last + MS / 2, 0);
        for _ in 0..1000 {
            of.hear(last, now);
            let due = of.until().clamp(now, now + LOOK);
            let by = late(due);
            now = due + by;
            sum += by;
            of.woke(due, now);
            if of.is_silent(now + 1) {
                return (now, sum);
            }
            now += MS / 10;
        }
        panic!("it is never found");
    }

    /// The promise on a clock of the test's own: 100 ms from the last sign of life, in which the machine's late wake-ups do not count.
    #[test]
    fn a_silent_process_is_found_at_its_deadline_beyond_what_the_machine_was_late() {
        assert_eq!(found(7 * MS, |_| 0), (57 * MS, 0), "a machine that is never late");
        for (by, seed) in (0..400 * MS).step_by(7_333_333).zip(1u64..) {
            let mut random = seed;
            let (at, late) = found(MS, |_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if random >> 62 == 0 { by } else { 0 }
            });
            assert!(at - MS >= DEADLINE, "not before the deadline");
            let own = at - MS - late;
            assert!(own <= DEADLINE + 2 * LOOK, "{own} ns, with wake-ups late by {by} ns");
        }
        let (at, late) = found(MS, |_| 300 * MS);
        assert!(at - MS - late <= DEADLINE + LOOK, "late each time: one grace period");
    }

    #[test]
    fn a_process_that_lives_is_never_silent_however_late_this_one_wakes() {
        let mut of = Detector::new(2_000 * MS, DEADLINE, LOOK);
        let mut now = MS;
        for nth in 1..200 {
            of.hear(now, now); // as both stand still together, its last sign of life is as old as the pause
            let due = now + LOOK;
            now = due + if nth % 3 == 0 { 500 * MS } else { 0 };
            of.woke(due, now);
            assert!(!of.is_silent(now), "look {nth}");
            assert_eq!(of.late().len(), usize::from(nth % 3 == 0), "those since the last sign");
        }
    }

    #[test]
    fn the_first_sign_of_life_has_a_time_of_its_own_and_none_is_of_the_future() {
        let mut of = Detector::new(2_000 * MS, DEADLINE, LOOK);
        of.hear(0, MS);
        assert!(!of.is_silent(1_999 * MS) && of.is_silent(2_001 * MS));
        of.hear(u64::MAX, 3_000 * MS);
        of.hear(u64::MAX, 3_040 * MS);
        assert_eq!((of.last(), of.until()), (3_000 * MS, 3_050 * MS), "and it counts once");
    }
}
