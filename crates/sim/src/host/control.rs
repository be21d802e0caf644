//! A host law in the simulator: its driver over the modelled path to memory.

use crate::law::law;
use crate::options::SimError;
use forebay_host::memory::settings::LINE;
use forebay_host::memory::{MemoryPath, MemorySettings};
use forebay_laws::host::{Counters, HostParams, HostStart, Reading, Side};
use forebay_laws::host_driver::{Counter, Driver, Pace, Plant, Written};
use forebay_laws::log::Tap;
use forebay_scenario::model::HostControl;
use forebay_units::Time;

/// The driver of the law that a scenario names, at time zero; the law writes its log to `log`.
///
/// # Errors
/// If there is no such law, or a parameter of it.
pub(super) fn driver(
    of: &HostControl,
    settings: &MemorySettings,
    seed: u64,
    log: Option<Tap>,
) -> Result<Driver, SimError> {
    let mut params = law(&of.law, &of.params, HostParams::new, HostParams::set)?;
    if let Some(log) = log {
        params = params.with_log(log);
    }
    let start = HostStart {
        write: Counters { clock_hz: settings.iio.clock_hz, ..Counters::WRITE },
        read: Counters::READ,
        max_level: settings.throttle.max_level(),
        seed,
    };
    let pace = Pace { read: of.read, write: settings.throttle.write };
    Ok(Driver::new(&params, Time::ZERO, start, pace))
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
        let (bits, value) = match counter {
            Counter::Occupancy => (of.occupancy_bits, line_ns * of.clock_hz as f64 * 1e-9),
            Counter::Inserts => (of.insert_bits, lines * LINE as f64 / of.insert_bytes as f64),
        };
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        Some(Reading { at: now, raw: value as u64 & mask })
    }

    fn write_level(&mut self, now: Time, level: u8) -> Written {
        self.0.set_level(now, level);
        Written { at: now, in_force: true }
    }
}
