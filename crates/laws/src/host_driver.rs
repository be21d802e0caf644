//! Driver of a host law: reads the counters, hands each reading to the law, and carries out its answers.
//!
//! Simulator and agent share this sequence; each brings its counters and its throttle as a [`Plant`].
//!
//! Two loops run beside each other. One reads all counters that the law needs but the last (hostCC's occupancy), the other the last
//! (its insertions), and each starts its next reading when the last one has been handed over. The second loop also writes levels and reads nothing
//! meanwhile.
//! Source: hostCC paper, section 4.1, and the authors' kernel module.
//!
//! Invariant: one level is written at a time; a lift that comes meanwhile ([`HostEvent::Disable`]) follows it. The law's time
//! never goes back, also where a reading ends after the time that [`Driver::run`] was called with.

pub mod lockstep;

use crate::Acts;
use crate::host::{
    Counter, Counters, Echo, Host, HostAct, HostEvent, HostParams, HostSeen, HostStart,
    LawReadings, Reading, Side, Signal,
};
use forebay_units::{Span, Time};

/// Outcome of a level write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LevelWrite {
    /// End of the write. A time before the driver's own counts as the driver's.
    pub at: Time,
    /// Whether the level is in force; otherwise the one before still is.
    pub in_force: bool,
}

/// Sensors and actuators of one host.
pub trait Plant {
    /// Reads a counter of one direction, as wide as `of` says; `None`: it could not be read.
    fn read(&mut self, now: Time, side: Side, counter: Counter, of: &Counters) -> Option<Reading>;

    /// Puts a throttle level in force.
    fn write_level(&mut self, now: Time, level: u8) -> LevelWrite;
}

/// Time that the plant's operations take beyond what the plant itself reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// Time from the start of a reading to its delivery.
    pub read: Span,
    /// Time from the start of a level write to its end.
    pub write: Span,
}

/// A host law with its loops. The owner calls [`Driver::run`] at [`Driver::due`].
#[derive(Clone, Debug)]
pub struct Driver {
    law: Host,
    at: HostStart,
    signals: &'static [Signal], // the last of them by a loop of its own
    last: Time,                 // of the last event
    pace: Pace,
    first: Time, // delivery of the next reading of each loop
    decides: Time,
    writing: Option<(Time, u8)>, // end and level of the write under way
    next_level: Option<u8>,      // written after it
    wake: Time,
    echo: Echo,
    writes: u64,
}

impl Driver {
    /// Starts a law at `now`. The loops are half a reading apart, since they run on different cores.
    pub fn new(params: &HostParams, now: Time, at: HostStart, pace: Pace) -> Self {
        let mut acts = Acts::default();
        let law = params.start(now, at, &mut acts);
        let mut driver = Self {
            law,
            at,
            signals: params.needs(),
            last: now,
            pace,
            first: now + pace.read,
            decides: now + pace.read + pace.read / 2,
            writing: None,
            next_level: None,
            wake: Time::MAX,
            echo: Echo::Off,
            writes: 0,
        };
        driver.carry_out(now, &acts);
        driver
    }

    /// Time of the next reading, end of a write, or wake.
    #[inline]
    pub fn due(&self) -> Time {
        let write = self.writing.map_or(Time::MAX, |write| write.0);
        self.first.min(self.decides).min(self.wake).min(write)
    }

    /// Handles everything due at `now`.
    pub fn run(&mut self, now: Time, plant: &mut impl Plant) {
        if let Some((_, level)) = self.writing.filter(|write| write.0 <= now) {
            self.finish_write(now, level, plant);
        }
        let (last, others) = match self.signals {
            [others @ .., last] => (Some(*last), others),
            [] => (None, &[][..]),
        };
        if self.first <= now {
            let at = others.iter().fold(now, |at, signal| self.deliver(at, *signal, plant));
            self.first = at + self.pace.read;
        }
        if self.decides <= now {
            // A level that this reading brings about puts the next reading off.
            self.decides = now + self.pace.read;
            let at = last.map_or(now, |signal| self.deliver(now, signal, plant));
            self.decides = self.decides.max(at + self.pace.read);
        }
        if self.wake <= now {
            self.wake = Time::MAX;
            self.on_event(now, HostEvent::Wake);
        }
    }

    /// The loops as a simulation in lockstep needs to know them.
    pub fn state(&self) -> lockstep::State {
        let (due, side) = (self.due(), self.law.side());
        // A level that is written at the same time comes before a reading.
        let alone = self.writing.is_none_or(|(end, _)| end > due);
        let next = if self.first == due { self.signals.first() } else { self.signals.last() };
        lockstep::State {
            due,
            next: next
                .map(|of| of.counter().1)
                .filter(|_| alone && due == self.first.min(self.decides)),
            side,
            echo: self.echo,
            watched: self.law.watched(),
            writes: self.writes,
        }
    }

    /// Hands the law an event: one of its plant, or one from outside, such as another target or the end of control.
    pub fn on_event(&mut self, now: Time, event: HostEvent) {
        let mut acts = Acts::default();
        self.last = self.last.max(now);
        self.law.step(self.last, HostSeen { event }, &mut acts);
        self.carry_out(self.last, &acts);
    }

    /// Which packets of this direction are marked.
    pub fn echo(&self, side: Side) -> Echo {
        if self.law.side() == side { self.echo } else { Echo::Off }
    }

    /// The law's signals beside their targets, if it watches this direction.
    pub fn watched(&self, side: Side) -> Option<LawReadings> {
        self.law.watched().filter(|_| self.law.side() == side)
    }

    /// Whether a level is being written; once a lift is written, an agent may end.
    pub fn writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Number of level writes begun.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// Reads a counter and hands the reading over; gives the time after that.
    fn deliver(&mut self, now: Time, signal: Signal, plant: &mut impl Plant) -> Time {
        let (side, counter) = signal.counter();
        let of = match side {
            Side::Receive => &self.at.write,
            Side::Send => &self.at.read,
        };
        let Some(reading) = plant.read(now, side, counter, of) else { return now };
        let now = now.max(reading.at);
        self.on_event(now, signal.event(reading));
        now
    }

    fn finish_write(&mut self, now: Time, level: u8, plant: &mut impl Plant) {
        let written = plant.write_level(now, level);
        let now = now.max(written.at);
        self.writing = None;
        if let Some(next) = self.next_level.take() {
            self.begin_write(now, next);
        } else {
            self.decides = self.decides.max(now + self.pace.read);
        }
        let event =
            if written.in_force { HostEvent::LevelWritten(level) } else { HostEvent::LevelFailed };
        self.on_event(now, event);
    }

    fn begin_write(&mut self, now: Time, level: u8) {
        let done = now + self.pace.write;
        self.writing = Some((done, level));
        self.writes += 1;
        self.decides = done + self.pace.read;
    }

    fn carry_out(&mut self, now: Time, acts: &Acts<HostAct>) {
        for act in acts.iter() {
            match act {
                HostAct::Level(level) if self.writing.is_some() => self.next_level = Some(level),
                HostAct::Level(level) => self.begin_write(now, level),
                HostAct::Echo(echo) => self.echo = echo,
                HostAct::WakeAt(at) => self.wake = self.wake.min(at),
            }
        }
    }
}

#[cfg(test)]
mod tests;
