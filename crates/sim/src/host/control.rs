//! A host law in the simulator: its driver over the modelled path to memory, or the same in an agent, in lockstep.

use crate::law::law;
use crate::options::SimError;
use forebay_host::memory::settings::LINE;
use forebay_host::memory::{MemoryPath, MemorySettings};
use forebay_laws::Laws;
use forebay_laws::host::{Counter, Counters, Echo, HostStart, LawReadings, Reading, Side};
use forebay_laws::host_driver::lockstep::{Line, Remote, Terms};
use forebay_laws::host_driver::{Driver, LevelWrite, Pace, Plant};
use forebay_laws::log::Tap;
use forebay_scenario::model::HostControl;
use forebay_units::Time;
use std::sync::Arc;

/// Where the law of a host runs and logs.
#[derive(Clone, Debug)]
pub(crate) struct LawHost<'a> {
    /// Where it writes its log.
    pub log: Option<Tap>,
    /// The agent that runs it.
    pub agent: Option<Arc<dyn Line>>,
    /// The laws that there are.
    pub laws: &'a Laws,
}

/// A law with its loops: here, or in an agent.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a host has one, and mostly the large one")]
pub(super) enum Control {
    Here(Driver),
    Agent(Remote),
}

/// Calls a method of either.
macro_rules! either {
    ($self:ident.$method:ident($($with:expr),*)) => {
        match $self {
            Control::Here(of) => of.$method($($with),*),
            Control::Agent(of) => of.$method($($with),*),
        }
    };
}

impl Control {
    /// When something is due.
    #[inline]
    pub fn due(&self) -> Time {
        either!(self.due())
    }

    /// Handles everything due at `now`.
    #[inline]
    pub fn run(&mut self, now: Time, plant: &mut impl Plant) {
        either!(self.run(now, plant));
    }

    /// Which packets of this direction are marked.
    #[inline]
    pub fn echo(&self, side: Side) -> Echo {
        either!(self.echo(side))
    }

    /// The law's signals beside their targets, if it watches this direction.
    pub fn watched(&self, side: Side) -> Option<LawReadings> {
        either!(self.watched(side))
    }

    /// Number of level writes begun.
    pub fn writes(&self) -> u64 {
        either!(self.writes())
    }
}

/// The control that a scenario names, at time zero.
///
/// # Errors
/// If there is no such law, or a parameter of it, or the agent refuses.
pub(super) fn control(
    of: &HostControl,
    settings: &MemorySettings,
    seed: u64,
    whose: LawHost<'_>,
) -> Result<Control, SimError> {
    let mut params = law(&of.law, &of.params, |name| whose.laws.host(name))?;
    if let Some(log) = whose.log {
        params = params.with_log(log);
    }
    let start = HostStart {
        write: Counters { clock_hz: settings.iio.clock_hz, ..Counters::WRITE },
        read: Counters::READ,
        max_level: settings.throttle.max_level(),
        period: of.read,
        seed,
    };
    let pace = Pace { read: of.read, write: settings.throttle.write };
    let Some(line) = whose.agent else {
        return Ok(Control::Here(Driver::new(&params, Time::ZERO, start, pace)));
    };
    let values = params.values().map(|(of, value)| (of.name.to_string(), value.to_string()));
    let terms =
        Terms { law: of.law.clone(), params: values.collect(), now: Time::ZERO, at: start, pace };
    Remote::start(line, &terms).map(Control::Agent).map_err(SimError::Law)
}

/// Counters and throttle of the NIC at hand.
pub(super) struct Registers<'a>(pub &'a mut MemoryPath);

impl Plant for Registers<'_> {
    fn read(&mut self, now: Time, side: Side, counter: Counter, of: &Counters) -> Option<Reading> {
        self.0.advance(now);
        let (line_ns, lines) = match side {
            Side::Receive => self.0.write_counters(),
            Side::Send => self.0.read_counters(),
        };
        let whole = |raw| Some(Reading { at: now, raw });
        let (bits, value) = match counter {
            Counter::Occupancy => (of.occupancy_bits, line_ns * of.clock_hz as f64 * 1e-9),
            Counter::Inserts => (of.insert_bits, lines * LINE as f64 / of.insert_bytes as f64),
            Counter::NicDrops => return whole(self.0.machine_counters().0),
            Counter::SlowCpu => return whole(self.0.machine_counters().1),
            Counter::MemoryBytes => {
                return whole((self.0.machine_counters().2 * LINE as f64) as u64);
            }
        };
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        Some(Reading { at: now, raw: value as u64 & mask })
    }

    fn write_level(&mut self, now: Time, level: u8) -> LevelWrite {
        self.0.set_level(now, level);
        LevelWrite { at: now, in_force: true }
    }
}
