//! A host law in its world: two loops that read counters, each reading late; writes that take time and block a loop.
//!
//! One loop reads occupancy, the other insertions; each reads again as soon as the last reading is in. The second one also
//! writes levels, and reads nothing while it does (authors' module; sheet 6.2).

use crate::law::law;
use crate::options::SimError;
use forebay_host::memory::settings::LINE;
use forebay_host::memory::{MemoryPath, MemorySettings};
use forebay_laws::Acts;
use forebay_laws::host::{
    Counters, Echo, Host, HostAct, HostEvent, HostParams, HostSeen, HostStart, Reading, Side,
    Watched,
};
use forebay_scenario::model::HostControl;
use forebay_units::{Span, Time};

/// What a reading is to the law.
type Event = fn(Reading) -> HostEvent;

/// A host law and its loops.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    law: Host,
    counters: Counters,
    events: [Event; 2], // of occupancy and of insertions
    read: Span,         // how long a reading takes
    write: Span,        // how long a write takes
    occupancy: Time,    // when the loop's next reading is in
    inserts: Time,
    writing: Option<(Time, u8)>,
    wake: Time,
    echo: Echo,
    writes: u64,
}

impl Control {
    /// A control that begins at time zero.
    ///
    /// # Errors
    /// If the scenario names a law or a parameter that there is none of.
    pub(super) fn new(
        of: &HostControl,
        settings: &MemorySettings,
        seed: u64,
    ) -> Result<Self, SimError> {
        let params = law(&of.law, &of.params, HostParams::new, HostParams::set)?;
        let write = Counters { clock_hz: settings.iio.clock_hz, ..Counters::WRITE };
        let start = HostStart {
            write,
            read: Counters::READ,
            max_level: settings.throttle.max_level(),
            seed,
        };
        let mut acts = Acts::default();
        let law = params.start(Time::ZERO, start, &mut acts);
        let (counters, events): (_, [Event; 2]) = match law.side() {
            Side::Receive => (write, [HostEvent::WriteOccupancy, HostEvent::WriteInserts]),
            Side::Send => (Counters::READ, [HostEvent::ReadOccupancy, HostEvent::ReadInserts]),
        };
        let mut control = Self {
            law,
            counters,
            events,
            read: of.read,
            write: settings.throttle.write,
            occupancy: Time::ZERO + of.read,
            // The loops run on two cores and have nothing to do with each other.
            inserts: Time::ZERO + of.read + of.read / 2,
            writing: None,
            wake: Time::MAX,
            echo: Echo::Off,
            writes: 0,
        };
        control.follow(Time::ZERO, &acts);
        Ok(control)
    }

    /// When something is due.
    #[inline]
    pub(super) fn due(&self) -> Time {
        let write = self.writing.map_or(Time::MAX, |w| w.0);
        self.occupancy.min(self.inserts).min(self.wake).min(write)
    }

    /// Which packets are marked that go this way.
    pub(super) fn echo(&self, side: Side) -> Echo {
        if self.law.side() == side { self.echo } else { Echo::Off }
    }

    /// What the law has made of its readings, if they are of the way to memory.
    pub(super) fn watched(&self) -> Option<Watched> {
        self.law.watched().filter(|_| self.law.side() == Side::Receive)
    }

    /// Level writes begun.
    pub(super) fn writes(&self) -> u64 {
        self.writes
    }

    /// Everything due at `now`.
    pub(super) fn run(&mut self, now: Time, path: &mut MemoryPath) {
        if let Some((_, level)) = self.writing.filter(|w| w.0 <= now) {
            self.writing = None;
            path.set_level(now, level);
            self.tell(now, HostEvent::LevelWritten(level));
        }
        if self.occupancy <= now {
            path.advance(now);
            let cycles = self.values(path).0 * self.counters.clock_hz as f64 * 1e-9;
            let reading = reading(now, self.counters.occupancy_bits, cycles);
            self.occupancy = now + self.read;
            self.tell(now, self.events[0](reading));
        }
        if self.inserts <= now {
            path.advance(now);
            let units = self.values(path).1 * LINE as f64 / self.counters.insert_bytes as f64;
            let reading = reading(now, self.counters.insert_bits, units);
            self.inserts = now + self.read;
            self.tell(now, self.events[1](reading));
        }
        if self.wake <= now {
            self.wake = Time::MAX;
            self.tell(now, HostEvent::Wake);
        }
    }

    /// The counters of the side that the law watches.
    fn values(&self, path: &MemoryPath) -> (f64, f64) {
        match self.law.side() {
            Side::Receive => path.write_counters(),
            Side::Send => path.read_counters(),
        }
    }

    fn tell(&mut self, now: Time, event: HostEvent) {
        let mut acts = Acts::default();
        self.law.step(now, HostSeen { event }, &mut acts);
        self.follow(now, &acts);
    }

    /// Does what the law asked for.
    fn follow(&mut self, now: Time, acts: &Acts<HostAct>) {
        for act in acts.iter() {
            match act {
                HostAct::Level(level) => {
                    let done = now + self.write;
                    self.writing = Some((done, level));
                    self.writes += 1;
                    self.inserts = done + self.read;
                }
                HostAct::Echo(echo) => self.echo = echo,
                HostAct::WakeAt(at) => self.wake = self.wake.min(at),
            }
        }
    }
}

/// A counter of so many bits as the hardware shows it.
fn reading(now: Time, bits: u8, value: f64) -> Reading {
    let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    Reading { at: now, raw: value as u64 & mask }
}
