//! Role `host`: one law per host that weighs the NIC against host-local memory traffic (hostCC).
//!
//! The law sees what an agent reads: raw cumulative counters with the time of each reading, one at a
//! time, as the reading loops deliver them. So wrap, skew and guards replay from a log. It answers with
//! a throttle level for host-local cores and with whether arriving packets get a congestion mark.
//!
//! Laws of this role run in the agent: integers only.

use crate::Acts;
use forebay_units::{BitsPerSec, Time};

/// One reading of a cumulative counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reading {
    /// Time of the reading, not of its delivery.
    pub at: Time,
    /// Value, modulo 2 to the power of [`HostStart::counter_bits`].
    pub raw: u64,
}

/// What can happen at a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostEvent {
    /// Sum over clock cycles of the lines that wait in the IIO buffer, from the NIC to memory.
    WriteOccupancy(Reading),
    /// Lines that entered the IIO buffer from the NIC.
    WriteInserts(Reading),
    /// Like `WriteOccupancy`, for reads of memory by the NIC.
    ReadOccupancy(Reading),
    /// Like `WriteInserts`, for reads of memory by the NIC.
    ReadInserts(Reading),
    /// The level that the law asked for is in force.
    LevelWritten(u8),
    /// The level could not be written; the one before holds.
    LevelFailed,
    /// The rate that policy grants the network, goodput and PCIe overhead together.
    Target(BitsPerSec),
    /// Control ends: the law lifts everything.
    Disable,
    /// A `wake_at` came due. A spurious one changes nothing.
    Wake,
}

/// One event. Host signals have no totals beyond the counters themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostSeen {
    /// What happened.
    pub event: HostEvent,
}

/// What a host law may decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostAct {
    /// Throttle host-local cores at this level, 0 meaning not at all. One write at a time: the law
    /// waits for `LevelWritten` or `LevelFailed` before the next, except for 0 on `Disable`.
    Level(u8),
    /// Whether arriving ECN-capable packets are marked from now on.
    Echo(bool),
    /// Call again at this time; of several, the least counts.
    WakeAt(Time),
}

/// What a host law knows when it starts.
#[derive(Clone, Copy, Debug)]
pub struct HostStart {
    /// Clock of the occupancy counters in hertz.
    pub iio_clock_hz: u64,
    /// Width of the counters, 1 to 64.
    pub counter_bits: u8,
    /// Bytes of a line.
    pub line_bytes: u64,
    /// Strongest throttle level there is.
    pub max_level: u8,
    /// Key for every random choice the law makes.
    pub seed: u64,
}

/// A law of role `host`.
pub trait HostLaw: Sized + Clone {
    /// Its name in scenarios.
    const NAME: &'static str;
    /// What a scenario may set. Every field has a published default.
    type Params: Clone + Default;

    /// State of an unthrottled host, at time `now`.
    fn start(params: &Self::Params, now: Time, at: HostStart, acts: &mut Acts<HostAct>) -> Self;

    /// One event.
    fn step(&mut self, now: Time, seen: HostSeen, acts: &mut Acts<HostAct>);
}
