//! Role `host`: one law per host that weighs the NIC against host-local memory traffic (hostCC).
//!
//! The law sees what an agent reads: raw cumulative counters with the time of each reading, one at a
//! time, as the reading loops deliver them. So wrap, skew and guards replay from a log. It answers with
//! a throttle level for host-local cores and with which packets get a congestion mark.
//!
//! Laws of this role run in the agent: integers only.
//!
//! To add a law: its file here with a `//!` charter, a [`HostLaw`] and its parameters, its `mod` line below,
//! its row in [`registry`]. The charter is the help page; the conformance tests run by themselves.

pub mod hostcc;
pub mod nicdrop;
pub mod registry;

pub use registry::{Host, HostParams, LAWS};

use crate::Acts;
use crate::params::{choice, or_word};
use forebay_units::{BitsPerSec, Span, Time};

/// A counter: the first two are of one direction, the others of the whole host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counter {
    /// Sum over clock cycles of the lines in the IIO buffer.
    Occupancy,
    /// Units that entered the IIO buffer.
    Inserts,
    /// Packets that the NIC dropped.
    NicDrops,
    /// Signs of slow cores.
    SlowCpu,
    /// Bytes that memory moved.
    MemoryBytes,
}

/// One reading of a cumulative counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reading {
    /// Time of the reading, not of its delivery.
    pub at: Time,
    /// Value, modulo 2 to the power of the counter's width.
    pub raw: u64,
}

/// What can happen at a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HostEvent {
    /// Sum over clock cycles of the lines that wait in the IIO buffer, from the NIC to memory.
    WriteOccupancy(Reading),
    /// What entered the IIO buffer from the NIC, in units of [`Counters::insert_bytes`].
    WriteInserts(Reading),
    /// Like `WriteOccupancy`, for reads of memory by the NIC.
    ReadOccupancy(Reading),
    /// Like `WriteInserts`, for reads of memory by the NIC.
    ReadInserts(Reading),
    /// Packets that the NIC dropped because it had nowhere to put them.
    NicDrops(Reading),
    /// Signs that cores are too slow, whatever memory does: polls that ran out of budget, packets without a receive buffer.
    SlowCpu(Reading),
    /// Bytes that memory moved, reads and writes of everybody.
    MemoryBytes(Reading),
    /// The level that the law requested is in force.
    LevelWritten(u8),
    /// The level could not be written; the one before holds.
    LevelFailed,
    /// The rate that policy grants the network, goodput and PCIe overhead together.
    Target(BitsPerSec),
    /// Control ends: the law lifts everything, and is silent from then on.
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

/// Which packets get a congestion mark, on the [`Side`] that the law watches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Echo {
    /// None.
    #[default]
    Off,
    /// ECN-capable packets, as in RFC 3168.
    Capable,
    /// All, also those whose sender did not say that it understands marks.
    All,
}

/// What a host law may decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HostAct {
    /// Throttle host-local cores at this level, 0 meaning not at all. One write at a time: the law
    /// waits for `LevelWritten` or `LevelFailed` before the next. Only the 0 of `Disable` does not
    /// wait; it is written after the one under way.
    Level(u8),
    /// Which packets are marked from now on.
    Echo(Echo),
    /// Call again at this time; of several, the least counts.
    WakeAt(Time),
}

choice! {
    /// Which way of the data a law watches: whose readings it wants, and which packets its echo marks.
    pub enum Side {
        /// From the NIC to memory: `Write` readings; marks on packets that arrived, before the transport sees them.
        Receive = "receive",
        /// From memory to the NIC: `Read` readings; marks on packets that leave.
        Send = "send",
    }
}

or_word! {
    /// A time after which something lapses, or never.
    pub struct Timeout: "none" or Span, "a time of a microsecond or more, such as \"5ms\"" if |span| span.as_us() > 0;
}

/// A counter of the machine that a law may want.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Counter of [`HostEvent::WriteOccupancy`].
    WriteOccupancy,
    /// Counter of [`HostEvent::WriteInserts`].
    WriteInserts,
    /// Counter of [`HostEvent::ReadOccupancy`].
    ReadOccupancy,
    /// Counter of [`HostEvent::ReadInserts`].
    ReadInserts,
    /// Counter of [`HostEvent::NicDrops`].
    NicDrops,
    /// Counter of [`HostEvent::SlowCpu`].
    SlowCpu,
    /// Counter of [`HostEvent::MemoryBytes`].
    MemoryBytes,
}

impl Signal {
    /// What it counts, for sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::WriteOccupancy => "lines in the IIO buffer on the way to memory (I_S)",
            Self::WriteInserts => "bytes into the IIO buffer from the NIC (B_S)",
            Self::ReadOccupancy => "lines in the IIO buffer on the way from memory",
            Self::ReadInserts => "bytes that the NIC reads from memory",
            Self::NicDrops => "packets that the NIC dropped",
            Self::SlowCpu => "signs of slow cores (squeezed, out of receive buffers)",
            Self::MemoryBytes => "bytes that memory moved",
        }
    }

    /// The counter of a direction that it is; those of the whole host go with the way to memory.
    pub fn counter(self) -> (Side, Counter) {
        match self {
            Self::WriteOccupancy => (Side::Receive, Counter::Occupancy),
            Self::WriteInserts => (Side::Receive, Counter::Inserts),
            Self::ReadOccupancy => (Side::Send, Counter::Occupancy),
            Self::ReadInserts => (Side::Send, Counter::Inserts),
            Self::NicDrops => (Side::Receive, Counter::NicDrops),
            Self::SlowCpu => (Side::Receive, Counter::SlowCpu),
            Self::MemoryBytes => (Side::Receive, Counter::MemoryBytes),
        }
    }

    /// A reading of it.
    pub fn event(self, of: Reading) -> HostEvent {
        match self {
            Self::WriteOccupancy => HostEvent::WriteOccupancy(of),
            Self::WriteInserts => HostEvent::WriteInserts(of),
            Self::ReadOccupancy => HostEvent::ReadOccupancy(of),
            Self::ReadInserts => HostEvent::ReadInserts(of),
            Self::NicDrops => HostEvent::NicDrops(of),
            Self::SlowCpu => HostEvent::SlowCpu(of),
            Self::MemoryBytes => HostEvent::MemoryBytes(of),
        }
    }
}

impl Side {
    /// Occupancy and insertions of this direction.
    pub fn signals(self) -> &'static [Signal] {
        match self {
            Self::Receive => &[Signal::WriteOccupancy, Signal::WriteInserts],
            Self::Send => &[Signal::ReadOccupancy, Signal::ReadInserts],
        }
    }
}

/// The pair of counters of one direction, as the hardware has them. Values beyond their range count as its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counters {
    /// Clock of the occupancy counter in hertz, from 1 MHz to 10 GHz.
    pub clock_hz: u64,
    /// Width of the occupancy counter, 1 to 64.
    pub occupancy_bits: u8,
    /// Width of the insertion counter, 1 to 64.
    pub insert_bits: u8,
    /// Bytes for which the insertion counter rises by one, 4 to 4096: a line, or 4 for the port's own counter.
    pub insert_bytes: u64,
}

impl Counters {
    /// Into memory, on the published testbed. Source: hostCC paper, section 4.1 (500 MHz, insertions of lines);
    /// uncore counters of Cascade Lake (48 bits).
    pub const WRITE: Self =
        Self { clock_hz: 500_000_000, occupancy_bits: 48, insert_bits: 48, insert_bytes: 64 };
    /// Out of memory, on the same. Source: the authors' module (1 GHz).
    pub const READ: Self = Self { clock_hz: 1_000_000_000, ..Self::WRITE };
    /// The free-running bandwidth counter of the port in place of insertions: 4-byte units, 36 bits.
    /// Source: the authors' module, which reads this one.
    #[must_use]
    pub const fn of_port(self) -> Self {
        Self { insert_bits: 36, insert_bytes: 4, ..self }
    }
}

/// What a law has made of its readings, and what it holds them against. For people: nothing depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LawReadings {
    /// Lines in the IIO buffer, smoothed, in 1/1024.
    pub lines_1024: u64,
    /// Rate of the PCIe link, smoothed.
    pub rate: BitsPerSec,
    /// Lines above which the host counts as congested.
    pub lines_threshold: u64,
    /// The rate that the network is to get.
    pub rate_target: BitsPerSec,
}

/// What a host law knows when it starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostStart {
    /// Counters of the way from the NIC to memory.
    pub write: Counters,
    /// Counters of the way from memory to the NIC.
    pub read: Counters,
    /// Strongest throttle level there is.
    pub max_level: u8,
    /// Time between two readings of a counter; those of a loop that is not regular are this far apart at least.
    pub period: Span,
    /// Key for every random choice the law makes.
    pub seed: u64,
}

/// Facts about a host law with its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostFacts {
    /// Signals without which it decides nothing. See [`HostLaw::needs`].
    pub needs: &'static [Signal],
}

/// State of a host law that its driver reads between events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostGlance {
    /// Which readings it wants, and which packets it marks. Does not change.
    pub side: Side,
    /// Signals of the law with their targets, if it has targets.
    pub watched: Option<LawReadings>,
}

impl Default for HostGlance {
    fn default() -> Self {
        Self { side: Side::Receive, watched: None }
    }
}

/// A law of role `host`.
pub trait HostLaw: Sized + Clone {
    /// Name in scenarios.
    const NAME: &'static str;
    /// What a scenario may set. Every field has a published default.
    type Params: Clone + Default;

    /// Signals without which it decides nothing; of any other it takes no notice. The last one is that upon which it decides: it is read by a loop
    /// of its own, which also writes levels, the others one after the other by another loop.
    fn needs(params: &Self::Params) -> &'static [Signal];

    /// State of an unthrottled host, at time `now`.
    fn start(params: &Self::Params, now: Time, at: HostStart, acts: &mut Acts<HostAct>) -> Self;

    /// Which readings it wants, and which packets it marks. Does not change.
    fn side(&self) -> Side {
        Side::Receive
    }

    /// Signals of the law with their targets, if it has targets.
    fn watched(&self) -> Option<LawReadings> {
        None
    }

    /// One event.
    fn step(&mut self, now: Time, seen: HostSeen, acts: &mut Acts<HostAct>);
}
