//! The control loop: at every period, reads each stack, hands the readings to its law, and carries out on each socket the strongest level
//! that a stack of it wants. The laws run under the driver that the simulator has ([`Driver`]).
//!
//! Invariant: between rounds the throttle holds the level on the status, or one that could not be written. Time is the caller's.

use super::levels::{Levels, Throttle};
use super::status::{MOST_STACKS, StackStatus, Status};
use crate::sense::inputs::{COUNTERS, CounterSource};
use forebay_laws::host::{
    Counter, Counters, Echo, HostEvent, HostParams, HostStart, Reading, Side, Signal,
};
use forebay_laws::host_driver::{Driver, LevelWrite, Pace, Plant};
use forebay_laws::log::Tap;
use forebay_units::{Span, Time};
use std::time::Duration;

/// [`Time`] ends after 213 days: the laws start anew before, with the levels lifted.
const RENEWAL: Duration = Duration::from_secs(180 * 86_400);

/// A law log has no event after 53 days: a law that is logged starts anew before, without a log.
const LOGGED_RENEWAL: Duration = Duration::from_secs(50 * 86_400);

/// How often the throttle is looked at, for what others did to it.
const LOOK: Duration = Duration::from_millis(250);

/// What laws start with, and the pace of their loops.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// What each law knows when it starts.
    pub at: HostStart,
    /// How fast its driver reads and writes.
    pub pace: Pace,
    /// What is read of each stack while no law runs.
    pub signals: &'static [Signal],
}

impl Terms {
    /// For a law on a live machine with so many levels, where a round comes at every period.
    pub fn live(law: &HostParams, max_level: u8, every: Span) -> Self {
        let (write, read) = (COUNTERS, COUNTERS);
        let at = HostStart { write, read, max_level, period: every, seed: 0 };
        // Readings are due a half period after the last: so at every round, and a round that is late delays no other.
        Self { at, pace: Pace { read: every / 2, write: Span::ZERO }, signals: law.needs() }
    }
}

/// The laws of all stacks, what they read and what they act on.
#[derive(Debug)]
pub struct Controller<S, T> {
    senses: S,
    throttle: T,
    laws: Vec<HostParams>, // one for each stack; none: it is only read
    terms: Terms,
    drivers: Vec<Driver>,
    epoch: Duration, // the laws' time begins here
    logs: Vec<Tap>,  // for the first start of each law
    lasts: Duration,
    looked: Duration,
    absent: u64, // stacks whose laws have been ended, a bit each
    sockets: [Option<usize>; MOST_STACKS],
    in_force: Levels,
    status: Status,
}

impl<S: CounterSource, T: Throttle> Controller<S, T> {
    /// Starts the laws at `now`, one for each stack; without laws, `stacks` are read and nothing else happens. `logs`, if any, are
    /// one for each law.
    pub fn new(
        now: Duration,
        stacks: usize,
        (laws, logs): (Vec<HostParams>, Vec<Tap>),
        terms: Terms,
        (senses, throttle): (S, T),
    ) -> Self {
        let mut controller = Self {
            senses,
            throttle,
            lasts: if logs.is_empty() { RENEWAL } else { LOGGED_RENEWAL },
            laws,
            logs,
            terms,
            drivers: Vec::new(),
            epoch: now,
            looked: now,
            absent: 0,
            sockets: [None; MOST_STACKS],
            in_force: Levels::default(),
            status: Status {
                stacks: vec![StackStatus::default(); stacks.min(MOST_STACKS)],
                ..Status::default()
            },
        };
        controller.start(now);
        controller
    }

    /// What happened so far.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// The drivers of the laws, one for each stack.
    pub fn drivers(&self) -> &[Driver] {
        &self.drivers
    }

    /// Counts what a round took, and whether it began late.
    pub fn count(&mut self, busy: Duration, late: bool) {
        self.status.busy_ns += busy.as_nanos() as u64;
        self.status.late += u64::from(late);
    }

    /// The socket of each stack: the strongest level of a socket's stacks holds there. Stacks of no known socket speak for all.
    pub fn on_sockets(&mut self, of: &[Option<usize>]) {
        self.sockets.iter_mut().zip(of).for_each(|(to, of)| *to = *of);
    }

    /// Ends the laws of stacks whose interfaces have gone, a bit for each stack: their marks end, and the next round lifts their levels. They
    /// begin again with a start of the whole.
    pub fn absent(&mut self, stacks: u64) {
        let gone = stacks & !self.absent;
        self.absent |= stacks;
        if gone == 0 {
            return;
        }
        let time = self.time(Duration::from_nanos(self.status.now_ns));
        for (stack, driver) in self.drivers.iter_mut().enumerate() {
            if gone >> stack & 1 == 1 {
                driver.on_event(time, HostEvent::Disable);
            }
        }
    }

    /// The laws' time.
    fn time(&self, now: Duration) -> Time {
        Time::ZERO + span(now.saturating_sub(self.epoch))
    }

    /// One round.
    pub fn round(&mut self, now: Duration) {
        self.status.rounds += 1;
        self.status.now_ns = now.as_nanos() as u64;
        if now.saturating_sub(self.looked) >= LOOK {
            self.looked = now;
            if !self.throttle.stands() {
                self.status.foreign = true;
                self.end();
            }
        }
        if now.saturating_sub(self.epoch) >= self.lasts && !self.drivers.is_empty() {
            self.end();
            self.status.renewals += 1;
            self.lasts = RENEWAL;
            self.start(now);
        }
        if self.drivers.is_empty() {
            for stack in 0..self.status.stacks.len() {
                for signal in self.terms.signals {
                    let (side, counter) = signal.counter();
                    self.plant(stack).sense(side, counter);
                }
            }
        }
        let time = self.time(now);
        let mut drivers = std::mem::take(&mut self.drivers);
        for (stack, driver) in drivers.iter_mut().enumerate() {
            driver.run(time, &mut self.plant(stack));
            if driver.writing() {
                driver.run(time, &mut self.plant(stack)); // a level that this round brought about is written in it
            }
            // A live machine marks what arrives; the lockstep of a simulation knows both ways by itself.
            let marks = driver.echo(Side::Receive) != Echo::Off;
            self.status.stacks[stack].marks = marks;
            self.throttle.mark(stack, marks);
        }
        self.drivers = drivers;
    }

    /// Ends the laws and lifts everything.
    pub fn end(&mut self) {
        let time = self.time(Duration::from_nanos(self.status.now_ns));
        for driver in &mut self.drivers {
            driver.on_event(time, HostEvent::Disable);
        }
        self.drivers.clear();
        for (nth, stack) in self.status.stacks.iter_mut().enumerate() {
            (stack.level, stack.marks) = (0, false);
            self.throttle.mark(nth, false);
        }
        if self.throttle.set(Levels::default()) {
            (self.status.level, self.in_force) = (0, Levels::default());
        }
    }

    fn start(&mut self, now: Duration) {
        (self.epoch, self.absent) = (now, 0); // who tells of absent stacks tells again
        let Terms { at, pace, .. } = self.terms;
        let mut logs = std::mem::take(&mut self.logs).into_iter();
        let laws = self.laws.iter().map(|law| match logs.next() {
            Some(log) => law.clone().with_log(log),
            None => law.clone(),
        });
        self.drivers = laws.map(|law| Driver::new(&law, Time::ZERO, at, pace)).collect();
    }

    fn plant(&mut self, stack: usize) -> View<'_, S, T> {
        let Self { senses, throttle, epoch, status, sockets, in_force, .. } = self;
        View { senses, throttle, epoch: *epoch, status, stack, sockets, in_force }
    }
}

/// One stack as its law's driver sees it.
struct View<'a, S, T> {
    senses: &'a mut S,
    throttle: &'a mut T,
    epoch: Duration,
    status: &'a mut Status,
    stack: usize,
    sockets: &'a [Option<usize>; MOST_STACKS],
    in_force: &'a mut Levels,
}

impl<S: CounterSource, T> View<'_, S, T> {
    fn sense(&mut self, side: Side, counter: Counter) -> Option<Reading> {
        let shown = &mut self.status.stacks[self.stack];
        let Some((at, raw)) = self.senses.read(self.stack, side, counter) else {
            shown.unread += 1;
            return None;
        };
        let last = match counter {
            Counter::Occupancy => {
                let ns = (at.as_nanos() as u64).saturating_sub(shown.lines.0);
                let rise = raw.wrapping_sub(shown.lines.1).saturating_mul(1000);
                shown.mean_lines = rise.checked_div(ns).unwrap_or(0);
                &mut shown.lines
            }
            Counter::Inserts => &mut shown.inserts,
            Counter::NicDrops => &mut shown.drops,
            Counter::SlowCpu => &mut shown.slow,
            Counter::MemoryBytes => &mut shown.memory,
        };
        *last = (at.as_nanos() as u64, raw);
        Some(Reading { at: Time::ZERO + span(at.saturating_sub(self.epoch)), raw })
    }
}

impl<S: CounterSource, T: Throttle> Plant for View<'_, S, T> {
    fn read(&mut self, _: Time, side: Side, counter: Counter, _: &Counters) -> Option<Reading> {
        self.sense(side, counter)
    }

    /// The strongest level of a socket's stacks is in force there.
    fn write_level(&mut self, now: Time, level: u8) -> LevelWrite {
        let mut levels = Levels::default();
        for (stack, (of, socket)) in self.status.stacks.iter().zip(self.sockets).enumerate() {
            levels.want(*socket, if stack == self.stack { level } else { of.level as u8 });
        }
        let in_force = levels == *self.in_force || self.throttle.set(levels);
        if in_force {
            self.status.stacks[self.stack].level = u64::from(level);
            *self.in_force = levels;
            self.status.level = u64::from(levels.of(None));
            self.status.strongest = self.status.strongest.max(self.status.level);
            self.status.writes += 1;
        } else {
            self.status.failed += 1;
        }
        LevelWrite { at: now, in_force }
    }
}

fn span(of: Duration) -> Span {
    Span::from_ps(u64::try_from(of.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000))
}

#[cfg(test)]
mod tests;
