//! The scenario file as it is written: one struct per table, one field per key.
//!
//! These types are the only definition of the grammar. The JSON schema is made from them, the checker
//! (`check.rs`) walks that schema, and the resolved file is written from them; so what an editor offers,
//! what the loader accepts and what a run records cannot differ. Field docs are what a user reads there.

use crate::expect::Expect;
use crate::fabric::Fabric;
use crate::faults::Fault;
use crate::host::{HostChange, HostProfile};
use crate::output::Output;
use crate::params::{self, Param};
use crate::stop::{self, Stop};
use crate::traffic::Traffic;
use crate::transport::Transport;
use forebay_units::{BitsPerSec, Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A Forebay scenario: one file that defines a run completely.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(title = "Forebay scenario")]
pub(crate) struct File {
    /// Version of this grammar: 1.
    #[schemars(range(min = 1, max = 1))]
    pub version: i64,
    /// Title for people. Default: the name of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Seeds, one independent simulation each: a list, or how many (5 means 1 to 5). Default: [1].
    #[serde(default = "stop::first_seed", deserialize_with = "stop::seeds")]
    #[schemars(with = "Option<stop::Seeds>")]
    pub seeds: Vec<u64>,
    /// When a simulation ends.
    pub stop: Stop,
    /// Nodes and links.
    pub fabric: Fabric,
    /// Hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// Transport of all traffic that names no other.
    pub transport: Transport,
    /// Other transports, by names that traffic may say: `[transports.storage]`. The same keys, and defaults of their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub transports: BTreeMap<String, Transport>,
    /// Sources of flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<Traffic>,
    /// Changes of the fabric during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fault: Vec<Fault>,
    /// What to record beyond flows and counters.
    #[serde(default)]
    pub output: Output,
    /// Key paths and the values each takes in turn: "traffic[0].load" = [0.3, 0.5]. A sweep runs every combination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<BTreeMap<String, Vec<serde_json::Value>>>,
    /// Bands that results must lie in; they make a scenario a test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Expect>,
}

/// A quantity of a table whose type is not that of the checked scenario yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Qty<T>(pub T);

/// Hosts.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Host {
    #[serde(flatten)]
    pub keys: HostKeys,
    /// Settings of some hosts only; later ones win.
    #[serde(default, rename = "override", skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<HostOverride>,
    /// Hosts that are NICs of one machine.
    #[serde(default, rename = "machine", skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<Machine>,
}

/// A machine with several NICs: they share its cache, its memory, its cores and its antagonists. Each has a cable, a buffer, a PCIe link, IIO
/// slots and a control law of its own; the strongest level that a law asks for is in force.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Machine {
    /// The hosts, by name. All need a path to memory.
    pub nics: Vec<String>,
}

/// What all hosts have, or some.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub(crate) struct HostKeys {
    /// Defaults of the other keys. Default: "ideal".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<HostProfile>,
    #[serde(flatten)]
    pub change: HostChange,
    /// The path between NIC and memory, in detail. Without this table memory is out of everybody's way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// The path between NIC and memory: NIC buffer, PCIe, IIO slots, cache, memory controller, cores that copy, and antagonists.
/// Defaults are the testbed of hostCC (SIGCOMM 2023): Cascade Lake, two memory channels, 100 Gb/s on PCIe 3.0 x16.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Memory {
    /// Bytes of frames that the NIC holds before it drops. Default: 384KB (our choice: the published tail of 60 to 100 us
    /// bounds it to 340 to 565 KB).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nic_buffer: Option<Qty<Bytes>>,
    /// The NIC pauses its switch when its buffer holds more than this, and lets it go at half of it: the classes that
    /// fabric.switch.pause keeps from loss. Default: it never does, and drops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_above: Option<Qty<Bytes>>,
    /// Frames in memory that the stack has not taken yet; then the NIC waits. Default: 4096.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub descriptors: Option<i64>,
    /// PCIe, after line coding. Default: 126.03Gbps (16 lanes of 8 GT/s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie_rate: Option<Qty<BitsPerSec>>,
    /// Payload of a PCIe transaction packet, which adds 26 B. Default: 256B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie_payload: Option<Qty<Bytes>>,
    /// Lines of 64 B on their way to memory, and PCIe credits. Default: 93.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub iio_slots: Option<i64>,
    /// How long a line holds its slot with nothing in the way, without DDIO. Default: 323ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iio_latency: Option<Qty<Span>>,
    /// Whether the NIC writes into the last-level cache. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ddio: Option<bool>,
    /// With DDIO: how long a line holds its slot that evicts nothing. Default: 151ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ddio_hit: Option<Qty<Span>>,
    /// With DDIO: how much longer a line holds its slot that evicts another. Default: 99ns (our choice).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ddio_eviction: Option<Qty<Span>>,
    /// The last-level cache. Default: 24.75MB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Qty<Bytes>>,
    /// Its ways. Default: 11.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub cache_ways: Option<i64>,
    /// With DDIO: ways that the NIC may fill. Default: 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub ddio_ways: Option<i64>,
    /// What memory serves at saturation. Default: 278.4Gbps, which is 34.8 GB/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Qty<BitsPerSec>>,
    /// Read by a core of the NIC's socket, unloaded. Default: 70ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_read: Option<Qty<Span>>,
    /// Read by a core of another socket, unloaded. Default: 137ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_read: Option<Qty<Span>>,
    /// Queueing of reads: this, times load, over one less the load of reads. Default: 21.5ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_queueing: Option<Qty<Span>>,
    /// Share of the wait of writes that reads see. Default: 0.17 (fitted to one published throughput).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub read_share: Option<f64>,
    /// Posted writes of one core before it is held back. Default: any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub posted_limit: Option<i64>,
    /// Cores that run the stack and copy; flows are dealt to them in turn. Default: 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4096))]
    pub cores: Option<i64>,
    /// Work for a packet. Default: 116ns (our choice).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_packet: Option<Qty<Span>>,
    /// Work for 1,000 bytes, beside waiting for memory. Default: 166ns (our choice: four cores just reach 100 Gb/s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_kilobyte: Option<Qty<Span>>,
    /// Lines that a copy reads at once. Default: 13.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4096))]
    pub copy_lines: Option<i64>,
    /// Lines that a copy reads from memory for each line of payload. Default: 1.046 (2.1 bytes of traffic in all).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub copy_reads: Option<f64>,
    /// In which order a core works and reads what it copies. Default: "evenly" (our choice).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copying: Option<Copying>,
    /// Most bytes of a flow that are unread or on their way: its receive window. Default: 1MB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_buffer: Option<Qty<Bytes>>,
    /// Lines that the NIC reads at once to send. Default: 256 (our choice).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub send_slots: Option<i64>,
    /// A read of memory by the NIC, unloaded. Default: 700ns (our choice).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_latency: Option<Qty<Span>>,
    /// How antagonists can be held back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Throttle>,
    /// The throttle level, for the whole run. Default: 0. Not with a control.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 255))]
    pub level: Option<i64>,
    /// Other work on the same memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub antagonist: Vec<Antagonist>,
    /// A law that sets the throttle level and marks packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
}

/// Levels that hold antagonists back: 0 not at all, then some that slow them, then some that stop them.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Throttle {
    /// What slowing means. Default: "sockets".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actuator: Option<Actuator>,
    /// Levels that slow. Default: 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub slowing: Option<i64>,
    /// Levels above them that stop: the j-th of m for j/m of the time. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub pausing: Option<i64>,
    /// Period of a partial stop. Default: 50us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_period: Option<Qty<Span>>,
    /// Latency that the strongest setting of the hardware adds to each miss. Default: 290ns (fitted to one published
    /// throughput).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Qty<Span>>,
    /// From a decision to its effect. Default: 22us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<Qty<Span>>,
}

/// How a core reads the lines of what it copies.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Copying {
    /// One after the other, with the work for each byte between them.
    Evenly,
    /// After all work: as many at once as may be in flight, and one more for each that is back.
    InBunches,
}

/// What a slowing level does.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Actuator {
    /// Level k of n: the strongest delay for cores of k of n sockets.
    Sockets,
    /// Level k of n: k/n of the strongest delay for all, in the hardware's steps of a tenth.
    Delay,
    /// Level k of n: all cores are held to 1 - k/(n+1) of what they would draw alone.
    Cap,
}

/// Cores that read and write memory as fast as their lines in flight let them.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Antagonist {
    /// How many cores; 0 for none.
    #[schemars(range(min = 0, max = 4096))]
    pub cores: i64,
    /// Lines that a core reads at once. Default: 18.7 (16.0 GB/s for one core alone).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 4096))]
    pub lines: Option<f64>,
    /// Lines written for each line read. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub writes: Option<f64>,
    /// Whether they are on the NIC's socket. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local: Option<bool>,
    /// When they begin. Default: 0us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Qty<Span>>,
    /// How long they work before they rest. Needs off. Default: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<Qty<Span>>,
    /// How long they rest before they work again. Needs on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off: Option<Qty<Span>>,
}

/// A host law, and how it sees and acts.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Control {
    /// The law, of those in `forebay laws` that have role host.
    pub law: String,
    /// Whether the law acts; with false the host runs as without this table, so that a sweep can compare both. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Its parameters.
    #[serde(default, with = "params", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, Param>>")]
    pub params: Vec<(String, String)>,
    /// How long reading a counter takes; two loops, one for each counter, do nothing else. Default: 650ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Qty<Span>>,
}

/// Settings of some hosts only.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct HostOverride {
    /// A host, or a pattern with `*` as an index.
    #[serde(rename = "where")]
    pub place: String,
    #[serde(flatten)]
    pub keys: HostKeys,
    /// Whether their ACKs may wait for a second segment. Default: as transport.delayed_ack, or by profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<bool>,
}
