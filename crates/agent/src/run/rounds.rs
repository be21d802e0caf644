//! Rounds of the loop, each at its time.

use super::watched;
use crate::config;
use crate::failure::Failure;
use crate::law::control::Controller;
use crate::law::levels::Throttle;
use crate::sense::inputs::CounterSource;
use forebay_linux::Clock;
use forebay_linux::board::Board;
use forebay_linux::process::PinnedThread;
use forebay_units::Span;
use std::cell::Cell;
use std::time::Duration;

/// How often a loop that spins asks whether it is over.
const ASK: Duration = Duration::from_millis(1);

/// Pins this thread to a core for as long as the result lives.
pub fn pinned(core: u32) -> Result<PinnedThread, Failure> {
    PinnedThread::to(core).map_err(|error| Failure::io(format!("run on core {core}"), &error))
}

/// How a loop waits for its next round: asleep, or, with a shorter period than [`config::SLEEPS`], spinning.
#[derive(Debug)]
pub struct Pace {
    every: Duration,
    spins: bool,
    asked: Cell<Duration>,
}

impl Pace {
    /// Of a loop with this period.
    pub fn new(every: Span) -> Self {
        let spins = every < config::SLEEPS;
        Self { every: duration(every), spins, asked: Cell::new(Duration::ZERO) }
    }

    /// Waits for so long. Whether it is over: `ended` says so, and sleeps for as long as it is told to. One that spins asks it once in a
    /// millisecond.
    pub fn rest(&self, clock: &Clock, rest: Duration, ended: impl Fn(Duration) -> bool) -> bool {
        if !self.spins {
            return ended(rest);
        }
        let now = clock.now();
        if now >= self.asked.get() + ASK {
            self.asked.set(now);
            if ended(Duration::ZERO) {
                return true;
            }
        }
        while clock.now() < now + rest {
            std::hint::spin_loop();
        }
        false
    }
}

/// Rounds at every period, until `wait` says that it is enough; its argument is the time to the next round. The first board shows the status;
/// the other one's first number has the stacks that are absent.
pub fn rounds<S: CounterSource, T: Throttle>(
    controller: &mut Controller<S, T>,
    clock: &Clock,
    (board, watch): (&Board, &Board),
    pace: &Pace,
    mut wait: impl FnMut(Duration) -> bool,
) {
    let every = pace.every;
    let mut due = clock.now();
    loop {
        let begun = clock.now();
        controller.absent(watch.number(watched::ABSENT));
        controller.round(begun);
        controller.status().publish(board);
        board.beat();
        let ended = clock.now();
        controller.count(ended.saturating_sub(begun), begun > due + every);
        due += every;
        if ended > due + every {
            due = ended; // rounds that were missed are not made up for
        }
        if !wait(due.saturating_sub(ended)) {
            return;
        }
    }
}

/// Of the same length.
pub fn duration(of: Span) -> Duration {
    Duration::from_nanos(of.as_ps() / 1000)
}
