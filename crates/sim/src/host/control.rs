//! A host law in its world: two loops that read counters, each reading late; writes that take time and block a loop.
//!
//! One loop reads occupancy, the other insertions; each reads again as soon as the last reading is in. The second one also
//! writes levels, and reads nothing while it does (authors' module; sheet 6.2).

use forebay_host::memory::{MemoryPath, MemorySettings};
use forebay_laws::Acts;
use forebay_laws::host::{
    Counters, Echo, Host, HostAct, HostEvent, HostParams, HostSeen, HostStart, Reading,
};
use forebay_scenario::model::HostControl;
use forebay_units::{Span, Time};

/// A host law and its loops.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    law: Host,
    acts: Acts<HostAct>,
    counters: Counters,
    read: Span,      // how long a reading takes
    write: Span,     // how long a write takes
    occupancy: Time, // when the loop's next reading is in
    inserts: Time,
    writing: Option<(Time, u8)>,
    wake: Time,
    echo: Echo,
    writes: u64,
}

impl Control {
    /// A control that begins at time zero.
    ///
    /// # Panics
    /// If the scenario names a law or a parameter that there is none of; the loader has looked.
    pub(super) fn new(of: &HostControl, settings: &MemorySettings, seed: u64) -> Self {
        let mut params = HostParams::new(&of.law).expect("the loader knows the law");
        for (key, text) in &of.params {
            params.set(key, text).expect("the loader has tried every parameter");
        }
        let counters = Counters { clock_hz: settings.iio.clock_hz, ..Counters::WRITE };
        let start = HostStart {
            write: counters,
            read: Counters::READ,
            line_bytes: forebay_host::memory::settings::LINE,
            max_level: settings.throttle.max_level(),
            seed,
        };
        let mut acts = Acts::default();
        let law = params.start(Time::ZERO, start, &mut acts);
        let mut control = Self {
            law,
            acts,
            counters,
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
        control.follow(Time::ZERO);
        control
    }

    /// When something is due.
    #[inline]
    pub(super) fn due(&self) -> Time {
        let write = self.writing.map_or(Time::MAX, |w| w.0);
        self.occupancy.min(self.inserts).min(self.wake).min(write)
    }

    /// Which packets are marked.
    pub(super) fn echo(&self) -> Echo {
        self.echo
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
            let reading = self.reading(
                now,
                self.counters.occupancy_bits,
                path.counters().0,
                self.counters.clock_hz as f64 * 1e-9,
            );
            self.occupancy = now + self.read;
            self.tell(now, HostEvent::WriteOccupancy(reading));
        }
        if self.inserts <= now {
            path.advance(now);
            let unit =
                forebay_host::memory::settings::LINE as f64 / self.counters.insert_bytes as f64;
            let reading = self.reading(now, self.counters.insert_bits, path.counters().1, unit);
            self.inserts = now + self.read;
            self.tell(now, HostEvent::WriteInserts(reading));
        }
        if self.wake <= now {
            self.wake = Time::MAX;
            self.tell(now, HostEvent::Wake);
        }
    }

    /// A counter as the hardware shows it.
    fn reading(&self, now: Time, bits: u8, value: f64, scale: f64) -> Reading {
        let raw = (value * scale) as u64;
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        Reading { at: now, raw: raw & mask }
    }

    fn tell(&mut self, now: Time, event: HostEvent) {
        self.law.step(now, HostSeen { event }, &mut self.acts);
        self.follow(now);
    }

    /// Does what the law asked for.
    fn follow(&mut self, now: Time) {
        let acts = std::mem::take(&mut self.acts);
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
                HostAct::Delay(_) => {}
            }
        }
    }
}
