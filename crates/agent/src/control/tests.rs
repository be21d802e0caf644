//! The loop over machines made up, on a clock of the test's own.

use super::*;
use crate::live;

const MS: Duration = Duration::from_millis(1);

/// Stacks whose lines are 90 while `congested`, else 40; 60 Gb/s come in. The clock is that of the round.
struct Made {
    now: Duration,
    congested: Vec<bool>,
    sums: Vec<[(Duration, u64); 2]>,
    there: bool,
}

impl Made {
    fn new(stacks: usize) -> Self {
        Self {
            now: Duration::ZERO,
            congested: vec![true; stacks],
            sums: vec![Default::default(); stacks],
            there: true,
        }
    }
}

impl Senses for Made {
    fn read(&mut self, stack: usize, _: Side, counter: Counter) -> Option<(Duration, u64)> {
        let (nth, per_ns_times_8) = match counter {
            Counter::Occupancy => (0, if self.congested[stack] { 90 * 8 } else { 40 * 8 }),
            _ => (1, 15), // 60 Gb/s are 1.875 units of 4 bytes in a nanosecond
        };
        let (last, value) = &mut self.sums[stack][nth];
        *value += (self.now - *last).as_nanos() as u64 * per_ns_times_8 / 8;
        *last = self.now;
        self.there.then_some((self.now, *value))
    }
}

/// A throttle that says what it was told, and may refuse.
#[derive(Default)]
struct Told {
    levels: Vec<u8>,
    marks: Vec<Option<bool>>, // by stack, since this was emptied
    refuses: bool,
    touched: bool,
}

impl Throttle for Told {
    fn set(&mut self, level: u8) -> bool {
        if !self.refuses {
            self.levels.push(level);
        }
        !self.refuses
    }

    fn stands(&mut self) -> bool {
        !self.touched
    }

    fn mark(&mut self, stack: usize, on: bool) {
        self.marks.resize(self.marks.len().max(stack + 1), None);
        self.marks[stack] = Some(on);
    }
}

type Loop = Controller<Made, Told>;

fn start(stacks: usize) -> Loop {
    let law = live::params("hostcc", [], Span::from_ms(1)).expect("hostcc");
    let parts = (Made::new(stacks), Told::default());
    let terms = Terms::live(&law, 4, Span::from_ms(1));
    let laws = (vec![law; stacks], Vec::new());
    Controller::new(Duration::ZERO, stacks, laws, terms, parts)
}

fn run(of: &mut Loop, from: Duration, rounds: u32) -> Duration {
    for nth in 1..=rounds {
        of.senses.now = from + MS * nth;
        of.round(from + MS * nth);
    }
    from + MS * rounds
}

#[test]
fn a_congested_stack_climbs_the_ladder_and_a_calm_one_comes_down() {
    let mut of = start(1);
    let now = run(&mut of, Duration::ZERO, 20);
    assert_eq!(of.throttle.levels, [1, 2, 3, 4]);
    assert!(of.status().stacks[0].marks && of.status().level == 4);
    of.senses.congested[0] = false;
    run(&mut of, now, 5000);
    assert_eq!(of.throttle.levels, [1, 2, 3, 4, 3, 2, 1, 0], "each level lapses after its lease");
    assert!(!of.status().stacks[0].marks);
}

/// Marks are a lease of the kernel's: they have to be renewed at every round, of each stack by its own law.
#[test]
fn marks_are_renewed_at_every_round_and_end_with_the_laws() {
    let mut of = start(2);
    of.senses.congested[1] = false;
    let mut now = run(&mut of, Duration::ZERO, 20);
    for _ in 0..20 {
        of.throttle.marks.clear();
        now = run(&mut of, now, 1);
        assert_eq!(of.throttle.marks, [Some(true), Some(false)]);
    }
    of.throttle.marks.clear();
    of.end();
    assert_eq!(of.throttle.marks, [Some(false); 2]);
}

#[test]
fn the_strongest_level_of_all_stacks_is_in_force() {
    let mut of = start(2);
    of.senses.congested[1] = false;
    let now = run(&mut of, Duration::ZERO, 20);
    assert_eq!(
        (of.status().stacks[0].level, of.status().stacks[1].level, of.status().level),
        (4, 0, 4)
    );
    of.senses.congested = vec![false, true];
    run(&mut of, now, 5000);
    assert_eq!(
        (of.status().stacks[0].level, of.status().stacks[1].level, of.status().level),
        (0, 4, 4)
    );
    assert_eq!(of.throttle.levels, [1, 2, 3, 4], "one stack rose before the other let go");
}

#[test]
fn signals_that_end_lift_everything() {
    let mut of = start(1);
    let now = run(&mut of, Duration::ZERO, 20);
    of.senses.there = false;
    run(&mut of, now, 60);
    assert_eq!(of.throttle.levels, [1, 2, 3, 4, 0]);
    assert!(of.status().stacks[0].unread > 50 && !of.status().stacks[0].marks);
}

#[test]
fn what_others_change_ends_the_law() {
    let mut of = start(1);
    let now = run(&mut of, Duration::ZERO, 20);
    of.throttle.touched = true;
    run(&mut of, now, 1000);
    assert!(of.status().foreign && of.status().level == 0);
    assert_eq!(of.throttle.levels[..5], [1, 2, 3, 4, 0]);
    assert!(of.throttle.levels[5..].iter().all(|level| *level == 0), "no law acts any more");
}

#[test]
fn a_level_that_cannot_be_written_is_tried_again() {
    let mut of = start(1);
    of.throttle.refuses = true;
    let now = run(&mut of, Duration::ZERO, 20);
    assert!(of.status().failed >= 5 && of.status().level == 0);
    of.throttle.refuses = false;
    run(&mut of, now, 20);
    assert_eq!(of.throttle.levels, [1, 2, 3, 4]);
}

#[test]
fn laws_start_anew_before_their_time_ends() {
    let mut of = start(1);
    let now = run(&mut of, Duration::ZERO, 20);
    assert_eq!(of.status().level, 4);
    run(&mut of, now + RENEWAL, 20);
    assert_eq!((of.status().renewals, of.status().level), (1, 4));
    assert_eq!(of.throttle.levels, [1, 2, 3, 4, 0, 1, 2, 3, 4], "lifted, and up again");
    assert!(RENEWAL.as_secs() < u64::MAX / 1_000_000_000_000, "before the end of time");
}

#[test]
fn a_status_is_read_as_it_was_published() {
    let mut of = start(2);
    run(&mut of, Duration::ZERO, 7);
    assert_eq!(Status::of(&of.status().words()), *of.status());
}

#[test]
fn rounds_allocate_nothing_that_stays() {
    let mut of = start(1);
    run(&mut of, Duration::ZERO, 20);
    let law = size_of_val(&of.drivers[0]);
    assert!(law <= 1024, "{law} bytes for a law with its driver");
}
