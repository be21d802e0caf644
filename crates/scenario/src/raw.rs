//! The scenario file as it is written: one struct per table, one field per key.
//!
//! These types are the only definition of the grammar. The JSON schema is made from them, the checker
//! (`check.rs`) walks that schema, and the resolved file is written from them; so what an editor offers,
//! what the loader accepts and what a run records cannot differ. Field docs are what a user reads there.

use crate::faults::Fault;
use crate::host::{HostChange, HostProfile};
use crate::load::Expect;
use crate::model::{
    Asks, Clock, DeadPort, Link, MarkAt, NextHops, NotEct, Release, Routing, Topology,
};
use crate::output::Output;
use crate::params::{self, Param};
use crate::quantity::{Length, Qty};
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

/// Nodes and links.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Fabric {
    #[serde(flatten)]
    pub shape: Topology,
    /// Cables between hosts and their switch.
    pub host_link: Link,
    /// Cables between switches. Default: as host_link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fabric_link: Option<Link>,
    /// Path choice among equal-cost next hops. Default: "ecmp".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routing: Option<Routing>,
    /// Order in which "ecmp-murmur3" lists equal-cost next hops, by the numbers of switches; other routing has no such list. The public HPCC simulator sorts them by memory address: "descending" on Linux, where each of its switches is a mapping of its own and mappings grow downwards. Default: "ascending".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_hops: Option<NextHops>,
    /// How long after a link fails or returns routes are computed anew. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reroute_after: Option<Qty<Span>>,
    /// Switches that some flows take, instead of those that routing chooses: a CSV file with the columns flow, data, ack,
    /// its path relative to this file, or a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Paths>,
    /// What a dead port does with its queue. Default: "drop".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_port: Option<DeadPort>,
    /// Bytes that each packet adds on the wire: 24B for Ethernet preamble, gap and FCS. Default: 0B, as most
    /// packet-level simulators count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire_overhead: Option<Qty<Bytes>>,
    /// How finely ports keep time. Default: "exact".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// All switches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<Switch>,
    /// Settings for some places only; later ones win.
    #[serde(default, rename = "override", skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
}

/// Paths of some flows.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Paths {
    /// A file.
    File(String),
    /// In place.
    List(Vec<FlowPath>),
}

/// The switches that a flow takes.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct FlowPath {
    /// Number of the flow in flows.csv.
    #[schemars(range(min = 0))]
    pub flow: i64,
    /// Switches of its data, from the sender's to the receiver's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<String>,
    /// Switches of its ACKs, from the receiver's to the sender's. Default: as routing chooses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ack: Vec<String>,
}

/// All that a switch does beyond forwarding.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Switch {
    /// From the last bit of a packet to its place in the egress queue. Default: 0ns, as in the public HPCC simulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Qty<Span>>,
    /// Buffer shared by all ports, or "none" for port limits alone. Default: 32MB under a dynamic threshold with
    /// alpha 1 (HPCC, SIGCOMM 2019, for the size; Choudhury and Hahne 1998 for the threshold); "none" where port_limit
    /// is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// Limit of each port's queue, in bytes or packets. Of the packet in transmission, bytes count as far as they are not sent
    /// yet, and packets count it as a whole; with release = "start" it counts in neither. Default: none beyond the shared
    /// buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_limit: Option<Length>,
    /// Congestion marks by the queue of the port, "off", or a list of marks by the queues of classes. Default: a step at 30KB for each 10Gbps of host_link (of the bottleneck in a
    /// dumbbell), the convention of the public HPCC simulator for DCTCP, and never below 30KB, which the DCTCP paper
    /// takes at 1Gbps. Transports without ECN are never marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Ecn>,
    /// Classes. Those without a weight have strict priority, the highest first. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 8))]
    pub classes: Option<i64>,
    /// Classes that share what strict classes leave, by weight: deficit round robin, as the bandwidth groups (ETS) of IEEE 802.1Qaz. Each is marked by its own queue. NICs
    /// stay strict. Default: all classes are strict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<ClassWeight>>,
    /// When a packet stops counting towards queue and buffer. Default: "fluid".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
    /// Switches of racks queue what their hosts send by destination host, let it go by credits of the destination's switch, and tell
    /// flows of law "explicit" their rate (HierCC). Default: they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hierarchical: Option<Hierarchical>,
    /// Whether in-ports pause the sender at the other end of their cable rather than drop: all classes at once (IEEE
    /// 802.3x link pause), or class by class (IEEE 802.1Qbb priority flow control); a list gives classes settings of their own.
    /// Default: "off".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
}

/// Queues by destination, credits between racks, and a law of role group.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Hierarchical {
    /// The law, of those in `forebay laws` that have role group.
    pub law: String,
    /// Its parameters.
    #[serde(default, with = "params", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, Param>>")]
    pub params: Vec<(String, String)>,
    /// What a queue asks credits for: "demand", what has arrived in it, or "sent", what has left it, so that advance is a window.
    /// Default: "demand".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<Asks>,
    /// What each queue is for, where a switch has fewer queues than there are hosts: a "host"; a "rack"; a "pod" other than its own, and
    /// a host of its own. What shares a queue waits behind each other. Default: "host".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_for: Option<QueueFor>,
    /// With queue_for = "pod": bytes that the queue for another pod may send before its first credit. Default: advance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_advance: Option<Qty<Bytes>>,
    /// Bytes that each queue may send before its first credit (C0). Default: 10KB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advance: Option<Qty<Bytes>>,
    /// Bytes that a credit lets go (Delta). Default: 1KB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credit: Option<Qty<Bytes>>,
    /// A flow counts until so long after its last packet. Default: 20us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen_for: Option<Qty<Span>>,
    /// A queue that waits asks again if no credit comes for so long: credits and what asks for them can be lost. Longer than a round trip
    /// between the switches of two racks. A host that was stopped asks whether it still is after ten times as long. Default: 100us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask_again: Option<Qty<Span>>,
    /// Round-trip time between host and switch on an empty link, for the law. Default: what their cable takes there and back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hop_rtt: Option<Qty<Span>>,
    /// Round-trip time between two hosts. What a port sends in it may be on its way to the port, even if racks may send less in
    /// advance. Default: the longest on an empty fabric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Qty<Span>>,
}

/// What a queue by destination is for.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum QueueFor {
    /// A host.
    Host,
    /// All hosts of a rack.
    Rack,
    /// All hosts of another pod, or a host of the own.
    Pod,
}

/// Pause with its defaults, none, or settings.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Pause {
    /// "on" or "off".
    Word(PauseWord),
    /// Settings.
    Settings(PauseSettings),
    /// Settings of classes.
    ByClass(Vec<ClassPause>),
}

/// Pause with its defaults, or none.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PauseWord {
    /// With the default of every setting.
    On,
    /// No in-port pauses.
    Off,
}

/// When in-ports pause. The buffer is theirs: each has a reserve and headroom of its own, what is left is shared.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub(crate) struct PauseSettings {
    /// Classes that are never dropped, each with an account of its own at each in-port, and paused one by one (IEEE 802.1Qbb). The
    /// others are dropped where buffer.alpha leaves no room. Default: one account for all classes, paused together (IEEE 802.3x).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = 0, max = 7)))]
    pub classes: Option<Vec<i64>>,
    #[serde(flatten)]
    pub account: PauseAccount,
}

/// Settings of some classes that are never dropped, and paused one by one (IEEE 802.1Qbb). Classes that no entry names are dropped
/// where buffer.alpha leaves no room.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct ClassPause {
    /// The classes, below fabric.switch.classes.
    #[schemars(inner(range(min = 0, max = 7)))]
    pub classes: Vec<i64>,
    #[serde(flatten)]
    pub account: PauseAccount,
}

/// Settings of the accounts of in-ports that pause.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub(crate) struct PauseAccount {
    /// An in-port pauses when its share of the pool reaches this: "dynamic" is alpha times the free pool, a size is the same
    /// always. Default: "dynamic".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xoff: Option<Xoff>,
    /// Factor of the dynamic threshold. Default: 1/8 at the rate of host_link, doubled for each factor of two that the port is
    /// faster (public HPCC simulator).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// It resumes when its share is this far below the threshold. Default: 3KB (public HPCC simulator).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_offset: Option<Qty<Bytes>>,
    /// Bytes that are each in-port's own. Default: 4KB (public HPCC simulator).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Qty<Bytes>>,
    /// Bytes kept at each in-port for what still arrives after a pause. Default: "auto", which is what may arrive: twice the
    /// delay and the switch latencies at the rate of the cable, a pause frame, and three of the largest packets (the
    /// one that crosses the threshold, the one that the frame waits for, the one that the peer has just begun). "three-delays" is
    /// what the cable carries in three times its delay (public HPCC simulator).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Headroom>,
    /// What becomes of a headroom that is less than what may arrive. Default: "refuse".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_headroom: Option<ShortHeadroom>,
    /// What a port of this switch does about a class that its peer does not let go; it takes classes. Default: it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<Watchdog>,
}

/// What becomes of a headroom that is less than what may arrive.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ShortHeadroom {
    /// The scenario is wrong.
    Refuse,
    /// It runs with a warning, and packets may be lost.
    Warn,
}

/// Ends a pause that lasts too long, until the peer lets the class go.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Watchdog {
    /// Time for which the class has to be stopped without a break; switches take 100 ms to 5 s.
    pub after: Qty<Span>,
    /// What happens then. Default: "drop".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<WatchdogAction>,
}

/// What a watchdog does.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WatchdogAction {
    /// Packets of that class are dropped, those that wait and those that come.
    Drop,
    /// Packets of that class are sent all the same.
    Ignore,
}

/// Threshold of a pause.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Xoff {
    /// "dynamic".
    Word(DynamicXoff),
    /// The same always.
    Fixed(Qty<Bytes>),
}

/// A threshold that follows the free pool.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DynamicXoff {
    /// Alpha times the free pool.
    Dynamic,
}

/// Headroom of an in-port.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Headroom {
    /// By a formula.
    Word(AutoHeadroom),
    /// So many bytes.
    Fixed(Qty<Bytes>),
}

/// Headroom by formula.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AutoHeadroom {
    /// What may arrive.
    Auto,
    /// What the cable carries in three times its delay.
    ThreeDelays,
}

/// Shared buffer, or none.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Buffer {
    /// "none".
    Word(NoBuffer),
    /// One pool.
    Pool(Pool),
}

/// No shared buffer.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NoBuffer {
    /// Ports have their own limits only.
    None,
}

/// One pool of memory for all ports of a switch.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Pool {
    /// Size of the pool.
    pub size: Qty<Bytes>,
    /// How it is shared out. Default: "dynamic-threshold".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// Under dynamic-threshold, a queue may grow to alpha times the free pool. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
}

/// How a pool is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Policy {
    /// A queue may grow to alpha times the free pool.
    DynamicThreshold,
    /// A queue may grow to all of the free pool.
    Shared,
    /// No pool: each port has an equal share of its own.
    Static,
}

/// Marks, or none.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Ecn {
    /// "off".
    Word(NoEcn),
    /// Thresholds.
    Marking(Marking),
    /// Thresholds of classes.
    ByClass(Vec<ClassMarking>),
}

/// Marks by the queue of each of some classes alone. Classes that no entry names are not marked.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct ClassMarking {
    /// The classes, below fabric.switch.classes.
    #[schemars(inner(range(min = 0, max = 7)))]
    pub classes: Vec<i64>,
    #[serde(flatten)]
    pub marking: Marking,
}

/// The share of a class.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct ClassWeight {
    /// The class, below fabric.switch.classes.
    #[schemars(range(min = 0, max = 7))]
    pub class: i64,
    /// Its part of the sum of all weights of classes that have something to send.
    #[schemars(range(min = 1, max = 100))]
    pub weight: i64,
}

/// No marks.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NoEcn {
    /// No packet is marked.
    Off,
}

/// Marking of ECN-capable packets: a step at `k`, or a ramp from `kmin` to `kmax`.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Marking {
    /// Step: every packet that finds this much queue is marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<Length>,
    /// Ramp: no marks below this queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kmin: Option<Length>,
    /// Ramp: every packet marked from this queue on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kmax: Option<Length>,
    /// Ramp: probability just below kmax. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmax: Option<f64>,
    /// Rate of the ports that k, kmin and kmax are for; a faster port's are larger by as much as it is faster.
    /// Default: the same at every port, and 10Gbps where the thresholds are left to us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_rate: Option<Qty<BitsPerSec>>,
    /// Where the queue is looked at. Default: "enqueue".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<MarkAt>,
    /// What happens to a packet that is not ECN-capable where it would be marked. Default: "pass".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_ect: Option<NotEct>,
}

/// Settings for some places only.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Override {
    /// A node, `leaf[0]`; a cable, `leaf[0]-spine[1]`; either with `*` as an index.
    #[serde(rename = "where")]
    pub place: String,
    /// Rate of the cable, or of all cables of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Qty<BitsPerSec>>,
    /// Propagation delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Qty<Span>>,
    /// Limit of the queues at both ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_limit: Option<Length>,
    /// Probability that a packet is lost on the cable, both ways.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// Pause by the in-ports of this switch, or of the switches at both ends of this cable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
}

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
