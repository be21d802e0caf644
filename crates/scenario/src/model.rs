//! The checked form of a scenario: what a run needs, all defaults filled in.

pub use crate::faults::{Change, Fault};
pub use crate::host::{HostChange, HostProfile, HostSettings};
pub use crate::output::{Capture, Direction, FlowSamples, MemorySamples, Output, QueueSamples};
pub use crate::stop::Stop;
pub use crate::topology::{Cable, Clos, Dumbbell, FatTree, Graph, LeafSpine, Pods, Star, Topology};
pub use crate::traffic::{ListedFlow, LoadRef, Pairs, Rpc, Traffic, TrafficKind, Wait};
pub use crate::transport::{BaseRtt, InflightCap, Rdma, Recovery, Tcp, Transport, TransportKind};
use forebay_host::memory::MemorySettings;
use forebay_units::{BitsPerSec, Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Title for people.
    pub name: String,
    /// One independent simulation each.
    pub seeds: Vec<u64>,
    /// When a simulation ends.
    pub stop: Stop,
    /// Nodes and links.
    pub fabric: Fabric,
    /// Hosts.
    pub host: Host,
    /// Transport of all traffic that names none of its own.
    pub transport: Transport,
    /// Transports that traffic may name, sorted by name.
    pub transports: Vec<(String, Transport)>,
    /// Traffic, in file order.
    pub traffic: Vec<Traffic>,
    /// Faults, in file order.
    pub faults: Vec<Fault>,
    /// What to record beyond flows and counters.
    pub output: Output,
}

impl Scenario {
    /// The transport of the flows of an entry.
    pub fn transport_of(&self, entry: &Traffic) -> &Transport {
        let named = |name: &String| self.transports.iter().find(|(other, _)| other == name);
        entry.transport.as_ref().and_then(named).map_or(&self.transport, |(_, transport)| transport)
    }

    /// All transports, that of entries which name none first.
    pub fn all_transports(&self) -> impl Iterator<Item = &Transport> {
        core::iter::once(&self.transport).chain(self.transports.iter().map(|(_, one)| one))
    }

    /// Size of the largest packet of any transport.
    pub fn largest_packet(&self) -> Bytes {
        self.all_transports().map(Transport::largest_packet).max().unwrap_or(Bytes::ZERO)
    }

    /// The law of the flows of an entry.
    pub fn law_of<'a>(&'a self, entry: &'a Traffic) -> &'a String {
        entry.law.as_ref().unwrap_or(&self.transport_of(entry).law)
    }
}

/// Rate and propagation delay of a cable, both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Link {
    /// Rate.
    pub rate: BitsPerSec,
    /// Propagation delay.
    pub delay: Span,
}

/// Nodes and links.
#[derive(Clone, Debug, PartialEq)]
pub struct Fabric {
    /// Shape.
    pub topology: Topology,
    /// Cables between hosts and their switch.
    pub host_link: Link,
    /// Cables between switches (and the bottleneck of a dumbbell).
    pub fabric_link: Link,
    /// Path choice.
    pub routing: Routing,
    /// Order in which murmur3 lists equal-cost next hops.
    pub next_hops: NextHops,
    /// How long after a link fails or returns routes are computed anew; `None`: never.
    pub reroute_after: Option<Span>,
    /// Switches that some flows take, whatever routing would choose; sorted by flow.
    pub paths: Vec<FlowPath>,
    /// What a dead port does with its queue.
    pub dead_port: DeadPort,
    /// How finely ports keep time.
    pub clock: Clock,
    /// All switches.
    pub switch: Switch,
    /// Switches of racks queue what their hosts send by destination, and let it go by credits.
    pub hierarchical: Option<Hierarchical>,
    /// Preamble, gap and FCS that each packet adds on the wire (24 B for Ethernet; 0 by default).
    pub wire_overhead: Bytes,
    /// Settings for some places only, later ones win.
    pub overrides: Vec<Override>,
}

/// Path choice among equal-cost next hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// Hash of flow and direction, a different seed at each switch.
    Ecmp,
    /// Hash of the flow alone with one seed everywhere, so that both directions share links.
    EcmpSymmetric,
    /// A fresh uniform choice for each packet.
    Spray,
    /// murmur3-32 of addresses and ports with the number of the switch as its seed, as the public HPCC simulator does.
    EcmpMurmur3,
}

/// Order of equal-cost next hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NextHops {
    /// The search from the destination visits neighbours from the lowest number up.
    Ascending,
    /// From the highest number down.
    Descending,
}

/// The switches that a flow takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPath {
    /// Index in the flow table.
    pub flow: u32,
    /// Switches of its data, from the sender's to the receiver's; none: as routing chooses.
    pub data: Vec<String>,
    /// Switches of its ACKs, from the receiver's to the sender's; none: as routing chooses.
    pub ack: Vec<String>,
}

/// How finely ports keep time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// Picoseconds; what is below them is carried from packet to packet.
    Exact,
    /// Each transmission takes whole nanoseconds, rounded down, as in ns-3: for comparisons. Takes every port off the one-touch
    /// path.
    TruncateNs,
}

/// What a dead port does with its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeadPort {
    /// Drops it, and what arrives while dead.
    Drop,
    /// Holds it until the link returns.
    Hold,
}

/// A length of queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLength {
    /// In bytes.
    Bytes(Bytes),
    /// In packets.
    Packets(u32),
}

impl QueueLength {
    /// Bytes of payload, where packets carry `mss` each.
    pub fn payload(self, mss: Bytes) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Packets(n) => Bytes::new(mss.get().saturating_mul(u64::from(n))),
        }
    }
}

/// All that a switch does beyond forwarding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Switch {
    /// From the last bit of a packet to its place in the egress queue; part of the lookahead.
    pub latency: Span,
    /// Shared buffer; `None`: each port has its own limit only.
    pub shared_buffer: Option<SharedBuffer>,
    /// Limit of each port's queue; `None`: the shared buffer's only, or none.
    pub port_limit: Option<QueueLength>,
    /// Congestion marks.
    pub ecn: Option<EcnMarking>,
    /// Congestion marks by the queue of a class alone, instead of those.
    pub class_ecn: [Option<EcnMarking>; 8],
    /// Classes, 1 to 8. More than one takes the port off the one-touch path.
    pub classes: u8,
    /// Weights of classes that share what strict ones leave; 0: the class is strict.
    pub weights: [u8; 8],
    /// When a packet stops counting towards queue and buffer.
    pub release: Release,
    /// Pause by in-ports; `None`: they drop. `shared_buffer.alpha` means nothing where they pause.
    pub pause: Option<Pause>,
}

/// Queues by destination host at the switches of racks, credits between racks, and a law that gives flows their rates (HierCC).
#[derive(Clone, Debug, PartialEq)]
pub struct Hierarchical {
    /// The law, of role group.
    pub law: String,
    /// Its parameters.
    pub params: Vec<(String, String)>,
    /// What a queue asks credits for.
    pub asks: Asks,
    /// What each queue is for.
    pub queue_for: QueueFor,
    /// Bytes that each queue may send before its first credit.
    pub advance: Bytes,
    /// Bytes that a credit lets go.
    pub credit: Bytes,
    /// A flow counts so long after its last packet.
    pub seen_for: Span,
    /// A queue that waits asks again if it is credited nothing for so long.
    pub ask_again: Span,
    /// Round-trip time between host and switch; `None`: of their cable.
    pub hop_rtt: Option<Span>,
    /// Round-trip time between two hosts; `None`: the longest on an empty fabric.
    pub round_trip: Option<Span>,
}

/// What a queue by destination is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueFor {
    /// A host.
    Host,
    /// All hosts of a rack.
    Rack,
    /// All hosts of another pod, which may send so much before the first credit; or a host of the own.
    Pod(Bytes),
}

/// What a queue by destination asks credits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Asks {
    /// For what has arrived in it.
    Demand,
    /// For what it has sent.
    Sent,
}

/// Pause by the in-ports of a switch; [`crate::pause`] says what follows for each.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one in a scenario, and one for each override"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pause {
    /// One account for all classes, which are paused together (IEEE 802.3x).
    Link(PauseSettings),
    /// Accounts of these classes, which are paused one by one (IEEE 802.1Qbb).
    ByClass([Option<PauseSettings>; 8]),
}

impl Pause {
    /// Classes that are paused one by one, a bit each; `None`: all together.
    pub fn classes(&self) -> Option<u8> {
        let Self::ByClass(of) = self else { return None };
        Some((0..8).fold(0, |mask, class| mask | u8::from(of[class].is_some()) << class))
    }

    /// Accounts of an in-port, with their class: `None` if there is one for all.
    pub fn accounts(&self) -> impl Iterator<Item = (Option<u8>, &PauseSettings)> {
        let (all, of): (_, &[_]) = match self {
            Self::Link(settings) => (Some(settings), &[]),
            Self::ByClass(of) => (None, of),
        };
        let by_class = (0..).zip(of).filter_map(|(class, of)| Some((Some(class), of.as_ref()?)));
        all.map(|settings| (None, settings)).into_iter().chain(by_class)
    }

    /// Settings of the account of a class, if a pause may stop it.
    pub fn of(&self, class: u8) -> Option<&PauseSettings> {
        match self {
            Self::Link(settings) => Some(settings),
            Self::ByClass(of) => of.get(usize::from(class))?.as_ref(),
        }
    }
}

/// Settings of an account.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PauseSettings {
    /// When an in-port pauses.
    pub xoff: Xoff,
    /// It resumes when its share of the pool is this far below the threshold.
    pub resume_offset: Bytes,
    /// Bytes of its own.
    pub reserved: Bytes,
    /// Bytes kept for what arrives after a pause.
    pub headroom: Headroom,
    /// Whether that may be less than what may arrive.
    pub may_be_short: bool,
    /// Ends a pause that lasts too long. Only of a class.
    pub watchdog: Option<Watchdog>,
}

/// Bytes kept for what arrives after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headroom {
    /// As much as may arrive.
    Auto,
    /// What the cable carries in three times its delay.
    ThreeDelays,
    /// So many.
    Fixed(Bytes),
}

/// What a port does about a class that its peer has stopped for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// How long that is.
    pub after: Span,
    /// Drop packets of that class, rather than send them all the same.
    pub drops: bool,
}

/// Threshold of an in-port's share of the pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Xoff {
    /// Alpha times the free pool; `None`: by the rate of the port.
    Dynamic(Option<f64>),
    /// The same always.
    Fixed(Bytes),
}

/// When a packet stops counting towards its queue and the shared buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// Byte by byte as it is sent.
    Fluid,
    /// At the start of its transmission.
    Start,
}

/// One pool for all ports of a switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedBuffer {
    /// Size of the pool.
    pub size: Bytes,
    /// A queue may grow to `alpha` times the free pool (Choudhury and Hahne); `None`: to all of it.
    pub alpha: Option<f64>,
}

/// Marking of ECN-capable packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EcnMarking {
    /// No marks below this queue (excluding the arriving packet).
    pub kmin: QueueLength,
    /// Every packet marked from this queue on; equal to `kmin` for a step.
    pub kmax: QueueLength,
    /// Probability just below `kmax`.
    pub pmax: f64,
    /// `kmin` and `kmax` are for ports up to this rate; those of a faster port are larger by as much as it is faster.
    /// `None`: the same at every port.
    pub for_rate: Option<BitsPerSec>,
    /// Where the queue is looked at.
    pub at: MarkAt,
    /// What happens to a packet that is not ECN-capable where it would be marked.
    pub not_ect: NotEct,
}

impl EcnMarking {
    /// The thresholds of a port of this rate.
    pub fn thresholds(&self, rate: BitsPerSec) -> (QueueLength, QueueLength) {
        let scaled = |of: QueueLength| match (of, self.for_rate) {
            (QueueLength::Bytes(b), Some(base)) => {
                QueueLength::Bytes(Bytes::new(scale(b.get(), rate, base)))
            }
            (QueueLength::Packets(n), Some(base)) => {
                QueueLength::Packets(u32::try_from(scale(n.into(), rate, base)).unwrap_or(u32::MAX))
            }
            (same, None) => same,
        };
        (scaled(self.kmin), scaled(self.kmax))
    }
}

/// `threshold * rate / base` for faster ports, rounded down; unchanged for others.
fn scale(threshold: u64, rate: BitsPerSec, base: BitsPerSec) -> u64 {
    let larger = u128::from(threshold) * u128::from(rate.get()) / u128::from(base.get().max(1));
    u64::try_from(larger).unwrap_or(u64::MAX).max(threshold)
}

/// Where a mark is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkAt {
    /// As the packet joins the queue.
    Enqueue,
    /// As its transmission begins.
    Dequeue,
}

/// A packet that cannot be marked, where it would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NotEct {
    /// Passes.
    Pass,
    /// Is dropped (RFC 3168).
    Drop,
}

/// Settings for some places only. `place` is a node name, a cable `a-b`, or either with `*` as an index.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// Where.
    pub place: String,
    /// New rate.
    pub rate: Option<BitsPerSec>,
    /// New propagation delay.
    pub delay: Option<Span>,
    /// New port limit.
    pub port_limit: Option<QueueLength>,
    /// Random loss on the cable, both ways.
    pub loss: Option<f64>,
    /// Pause by the in-ports there; `Some(None)`: none.
    pub pause: Option<Option<Pause>>,
}

/// Hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Settings of those that no override names.
    pub settings: HostSettings,
    /// Their path to memory, where it is modelled.
    pub memory: Option<Memory>,
    /// Settings of some hosts only, later ones win.
    pub overrides: Vec<HostOverride>,
    /// Names of hosts that are NICs of one machine, by machine.
    pub machines: Vec<Vec<String>>,
}

impl Host {
    /// The path to memory of the host with this name; `None`: memory is out of the way.
    pub fn memory_at(&self, name: &str) -> Option<&Memory> {
        let named = |o: &&HostOverride| o.memory.is_some() && crate::plan::matches(&o.place, name);
        let over = self.overrides.iter().rev().find(named).and_then(|o| o.memory.as_ref());
        over.or(self.memory.as_ref())
    }

    /// Settings of the host with this name, and whether its ACKs wait, where that is not as its transport has it.
    pub fn at(&self, name: &str) -> (HostSettings, Option<bool>) {
        let of = self.overrides.iter().filter(|o| crate::plan::matches(&o.place, name));
        of.fold((self.settings, None), |(settings, delayed_ack), o| {
            (o.change.over(settings), o.delayed_ack.or(delayed_ack))
        })
    }
}

/// Where the stack paces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Nowhere.
    Off,
    /// In TCP: a timer opens each flow's gate.
    Internal,
    /// In the fq scheduler: the same gates; the NIC serves flows by bytes, a quantum of two full packets each.
    Fq,
}

/// Other settings for the hosts of a place, a name or a pattern with `*` as an index.
#[derive(Clone, Debug, PartialEq)]
pub struct HostOverride {
    /// Where.
    pub place: String,
    /// What is different.
    pub change: HostChange,
    /// Whether their ACKs may wait for a second segment.
    pub delayed_ack: Option<bool>,
    /// Their path to memory, whole.
    pub memory: Option<Memory>,
}

/// A host's path to memory, and who rules over it.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Its stages, and its antagonists.
    pub settings: MemorySettings,
    /// Most bytes of a flow that are unread or on their way.
    pub socket_buffer: Bytes,
    /// Throttle level while nobody sets it.
    pub level: u8,
    /// Who sets it.
    pub control: Option<HostControl>,
    /// The NIC pauses its switch while its buffer holds more, until it holds half; `None`: it drops.
    pub pause_above: Option<Bytes>,
}

impl Memory {
    /// The control that acts.
    pub fn acting_control(&self) -> Option<&HostControl> {
        self.control.as_ref().filter(|control| control.enabled)
    }
}

/// A host law and its world.
#[derive(Clone, Debug, PartialEq)]
pub struct HostControl {
    /// Name of the law.
    pub law: String,
    /// Whether the law acts.
    pub enabled: bool,
    /// Parameters that are not the law's defaults, by name and text.
    pub params: Vec<(String, String)>,
    /// How long reading a counter takes.
    pub read: Span,
}

/// Order in which a NIC pulls packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NicOrder {
    /// One packet of each ready flow in turn.
    RoundRobin,
    /// The flow that became ready first sends all it may.
    Fifo,
    /// The flow with the fewest bytes left.
    Srpt,
    /// No pull at all: a flow hands down whatever its window allows, and it leaves in that order, as in Linux before TSQ
    /// (3.6). What waits in the host then counts as in flight and towards the RTT.
    /// At most 1,000 packets of data of a class wait so; flows that find no room go on in turn.
    Push,
}
