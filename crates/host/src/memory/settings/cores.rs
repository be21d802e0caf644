//! Settings of cores: those that read what the NIC writes, antagonists, and levels that hold antagonists back.

use super::{LONGEST_LATENCY, text};
use forebay_settings::SettingsTable;
use forebay_units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cores beside the NIC that run protocol work and copy. Flows are dealt to them in order of their first packet.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct ReaderSettings {
    /// Cores that run the stack and copy; flows are dealt to them in turn. Default: 8 (hostCC, section 2.2).
    #[schemars(range(min = 1, max = 4096))]
    pub cores: u32,
    /// Protocol work for one packet of the wire, at most 1ms. Default: 116ns (our choice: 15 % of the cost of a packet of 4,000 B without
    /// reading memory).
    pub per_packet: Span,
    /// Protocol work and copying for 1,000 bytes, without waits for memory, at most 1ms. Default: 166ns (our choice: four cores just
    /// reach 100 Gb/s).
    pub per_kilobyte: Span,
    /// Lines that a copy reads at once. Default: 13 (our choice).
    #[serde(rename = "copy_lines")]
    #[schemars(range(min = 1, max = 4096))]
    pub lines_in_flight: u32,
    /// Lines that a copy reads from memory for each line of payload. Default: 1.046 (2.1 bytes of memory traffic for a byte
    /// received, less what DMA writes: hostCC, section 4.2).
    // In thousandths.
    #[serde(rename = "copy_reads", with = "text::thousandths")]
    #[schemars(with = "f64", range(min = 0, max = 100))]
    pub reads_permille: u32,
    /// Order in which a core works and reads what it copies. Default: "evenly" (our choice; with "in-bunches" slots hold up to three
    /// lines more or less).
    pub copying: Copying,
    /// Whether cores read the data that RDMA and receiver-driven transports place in memory. With false data belongs to the application
    /// as soon as it is in memory. Default: false.
    #[serde(rename = "read_placed", skip_serializing_if = "std::ops::Not::not")]
    pub reads_placed: bool,
    /// Hardware threads of a core, 1 or 2. With 2, `cores` counts threads: thread i and thread i + cores / 2 are one core. Default: 1.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 2))]
    pub smt: u32,
    /// With smt = 2: speed of a thread while its sibling works, as a share of its speed alone, in work that does not wait for memory.
    /// Default: 0.6 (our choice: two threads do 1.2 times the work of one).
    // In thousandths.
    #[serde(rename = "smt_share", with = "text::thousandths")]
    #[schemars(with = "f64", range(min = 0.001, max = 1))]
    pub smt_share_permille: u32,
    /// With smt = 2: thread of each flow, and so which flows share a core. Default: "entry".
    #[serde(skip_serializing_if = "SmtOrder::is_default")]
    pub smt_order: SmtOrder,
}

fn is_one(threads: &u32) -> bool {
    *threads == 1
}

/// Thread of each flow of a host whose cores have two. All but "entry" deal threads before the run, by the order of [[traffic]] and of the flows in an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SmtOrder {
    /// In turn as the first data of each flow arrives. Which flows share a core may depend on the seed.
    #[default]
    Entry,
    /// Each core gets one flow before any gets two: flows of a late entry share cores with flows of the first.
    Mixed,
    /// Flows next to each other share a core: flows of the same entry do.
    Alike,
    /// Each core gets one flow before any gets two, the last entry first. Flows of the first entry share cores with each other where they can.
    Spread,
}

impl SmtOrder {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Thread of flow number `flow` of `flows`, where cores have `threads` together: thread i and thread i + threads / 2 are one core.
    pub fn thread(self, flow: u32, flows: u32, threads: u32) -> u32 {
        let cores = (threads / 2).max(1);
        match self {
            Self::Entry | Self::Mixed => flow % threads,
            Self::Alike => flow / 2 % cores + flow % 2 * cores,
            Self::Spread => {
                let from_last = (flows - 1 - flow) % threads;
                if from_last < cores { from_last } else { cores + threads - 1 - from_last }
            }
        }
    }
}

/// How a core reads the lines of what it copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Copying {
    /// Line after line, with the work for each byte between them.
    #[default]
    Evenly,
    /// Reads follow all work: as many at once as may be in flight, and one more for each that is back.
    InBunches,
}

impl Default for ReaderSettings {
    fn default() -> Self {
        Self {
            cores: 8,
            per_packet: Span::from_ns(116),
            per_kilobyte: Span::from_ns(166),
            lines_in_flight: 13,
            reads_permille: 1046,
            copying: Copying::Evenly,
            reads_placed: false,
            smt: 1,
            smt_share_permille: 600,
            smt_order: SmtOrder::Entry,
        }
    }
}

impl ReaderSettings {
    /// Says what does not fit together.
    pub(super) fn check(&self, table: &mut impl SettingsTable) {
        if self.smt == 2 && self.cores % 2 == 1 {
            let even = self.cores + 1;
            let text = format!("counts threads, two to a core with smt = 2; write {even}");
            table.wrong("cores", text);
        }
        if self.smt != 2 && table.given("smt_order") {
            let text = "has no effect where each core has one thread; write smt = 2 as well";
            table.say("smt_order", text);
        }
    }
}

/// How antagonists are held back, level by level. 0 is none at all; the last level stops them.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct ThrottleSettings {
    /// Effect of a slowing level. Default: "sockets".
    pub actuator: Actuator,
    /// Number of levels that slow cores. Default: 3 (hostCC's module).
    #[schemars(range(min = 0, max = 100))]
    pub slowing: u8,
    /// Number of levels above the slowing ones that stop cores: the j-th of m stops them for j/m of the time. Default: 1.
    #[schemars(range(min = 0, max = 100))]
    pub pausing: u8,
    /// Period of a partial stop, 1us or more. Default: 50us.
    pub pause_period: Span,
    /// Latency that the strongest setting of the hardware adds to each miss, at most 1ms. Default: 290ns (fitted to the 77 Gb/s of hostCC,
    /// figure 9).
    pub delay: Span,
    /// Time from a decision to its effect, at most 1ms. Default: 22us (hostCC, section 4.2).
    pub write: Span,
}

impl Default for ThrottleSettings {
    fn default() -> Self {
        Self {
            actuator: Actuator::Sockets,
            slowing: 3,
            pausing: 1,
            pause_period: Span::from_us(50),
            delay: Span::from_ns(290),
            write: Span::from_us(22),
        }
    }
}

impl ThrottleSettings {
    /// The strongest level.
    pub fn max_level(&self) -> u8 {
        self.slowing + self.pausing
    }
}

/// Effect of a slowing level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Actuator {
    /// Level k of n: the strongest hardware delay on the cores of the first k of n sockets, as hostCC's module.
    Sockets,
    /// Level k of n: k/n of the strongest delay on every core, in the hardware's steps of a tenth (hostCC, section 4.2).
    Delay,
    /// Level k of n: every core is held to 1 - k/(n+1) of the rate that it would have alone, as AMD's bandwidth limits.
    Cap,
}

/// Cores that read and write memory as fast as their lines in flight let them: closed loops.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct AntagonistSettings {
    /// Number of cores, 0 for none; core i is on socket i modulo the number of sockets that a level can slow.
    #[schemars(range(min = 0, max = 4096))]
    pub cores: u32,
    /// Lines that a core reads at once. Default: 18.7 (16.0 GB/s for one core alone: hostCC, section 2.2; above the 10 to 12
    /// fill buffers because of prefetching).
    // In thousandths, as the next.
    #[serde(rename = "lines", default = "lines", with = "text::thousandths")]
    #[schemars(with = "Option<f64>", range(min = 0, max = 4096))]
    pub lines_in_flight_milli: u32,
    /// Lines written for each line read. Default: 1 (hostCC).
    #[serde(rename = "writes", default = "writes", with = "text::thousandths")]
    #[schemars(with = "Option<f64>", range(min = 0, max = 100))]
    pub writes_permille: u32,
    /// Share of the lines read that go to the cache of receive buffers (cache_model = "buffers"), where each takes the place of the oldest; from 0 to 1.
    /// Default: 0, reads that pass the cache by.
    #[serde(
        rename = "cached",
        default,
        with = "text::thousandths",
        skip_serializing_if = "is_zero"
    )]
    #[schemars(with = "Option<f64>", range(min = 0, max = 1))]
    pub cached_permille: u32,
    /// Whether the cores are on the NIC's socket. Default: false.
    #[serde(default)]
    pub local: bool,
    /// Work and rest in turn from `start` on; `None`: no rest.
    #[serde(flatten, with = "text::rests")]
    #[schemars(with = "text::RestKeys")]
    pub rests: Option<(Span, Span)>,
    /// Time at which the work begins. Default: 0us.
    #[serde(default)]
    pub start: Span,
    /// Memory bandwidth over time, from `start` on: the cores draw that much, reads and writes together, or what memory lets them have if that is less. Path of a
    /// recording of forebay-agent, whose memory counters are played, or pairs [microseconds, GB/s from then on]. Behind the end of a recording they rest. Give it cores
    /// enough: one draws at most 16 GB/s. Not with on and off. Default: as fast as they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

/// Memory bandwidth over time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Trace {
    /// Path of a recording of forebay-agent: its folder, or the signals.csv in it.
    Path(String),
    /// Pairs of microseconds since the start and GB/s from then on.
    Steps(Vec<(f64, f64)>),
}

impl Trace {
    /// GB/s, so long after the start, and how long after it this ends. A path stands for nothing.
    pub fn at(&self, since: Span) -> (f64, Option<Span>) {
        let Self::Steps(steps) = self else { return (0.0, None) };
        let after = |us: f64| Span::from_ps((us * 1e6).round() as u64);
        let nth = steps.partition_point(|(us, _)| after(*us) <= since);
        let rate = nth.checked_sub(1).map_or(0.0, |last| steps[last].1);
        (rate, steps.get(nth).map(|(us, _)| after(*us)))
    }
}

fn is_zero(of: &u32) -> bool {
    *of == 0
}

fn lines() -> u32 {
    18_700
}

fn writes() -> u32 {
    1000
}

impl Default for AntagonistSettings {
    fn default() -> Self {
        Self {
            cores: 1,
            lines_in_flight_milli: lines(),
            writes_permille: writes(),
            cached_permille: 0,
            local: false,
            rests: None,
            start: Span::ZERO,
            trace: None,
        }
    }
}

impl ThrottleSettings {
    /// Says what no hardware does. The keys are those of `throttle`.
    pub(super) fn check(&self, table: &mut impl SettingsTable) {
        if self.pause_period < Span::from_us(1) {
            let text = "is shorter than stopping a process takes; write at least \"1us\"";
            table.wrong("throttle.pause_period", text);
        }
        for (key, span) in [("throttle.delay", self.delay), ("throttle.write", self.write)] {
            if span > LONGEST_LATENCY {
                let text = format!("is too long; write at most \"{LONGEST_LATENCY}\"");
                table.wrong(key, text);
            }
        }
    }
}

impl AntagonistSettings {
    /// Says what does not fit together in the antagonist at `path`. `by_buffer`: the cache has buffers.
    pub(super) fn check(&self, table: &mut impl SettingsTable, path: &str, by_buffer: bool) {
        let cached = format!("{path}.cached");
        if self.cached_permille > 1000 {
            table.wrong(&cached, "is a share of what is read; write from 0 to 1");
        } else if self.cached_permille > 0 && !by_buffer {
            let text = "takes place in a cache of buffers; write ddio = true, cache_model = \"buffers\" and rq as well";
            table.say(&cached, text);
        }
        if self.trace.is_some() && self.rests.is_some() {
            let text = "says when the cores rest; leave out on and off";
            table.say(&format!("{path}.trace"), text);
        }
        let [on, off] = ["on", "off"].map(|key| format!("{path}.{key}"));
        match (table.given(&on), table.given(&off)) {
            (true, false) => table.say(&on, "needs a rest; write off as well"),
            (false, true) => table.say(&off, "needs work; write on as well"),
            _ => {}
        }
        for (path, span) in [on, off].iter().zip(self.rests.into_iter().flat_map(<[Span; 2]>::from))
        {
            if span < Span::from_ns(100) {
                table.wrong(path, "is shorter than memory can resolve; write at least \"100ns\"");
            }
        }
    }
}
