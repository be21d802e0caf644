//! The rows that one simulation (one scenario, one seed) hands over.

use crate::human;
use crate::memory_series::MemorySeries;
use crate::part::Part;
use forebay_jobs::{Algorithm, Operation, Ratio};
use forebay_units::{BitsPerSec, Bytes, Span, Time};

/// Counters of one egress port over the whole run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PortRow {
    /// Name of the node that sends, `leaf[2]`.
    pub node: String,
    /// Name of the node at the other end.
    pub peer: String,
    /// Rate at the end of the run.
    pub rate: BitsPerSec,
    /// Packets whose transmission began.
    pub tx_packets: u64,
    /// Bytes of these packets.
    pub tx_bytes: Bytes,
    /// Time for which the port transmitted, wire overhead included, at its rate at the end of the run; `None` in the tables of versions
    /// that did not write it.
    pub busy: Option<Span>,
    /// Packets refused for lack of buffer.
    pub dropped_packets: u64,
    /// Bytes of these packets.
    pub dropped_bytes: Bytes,
    /// Credits beyond the limit of their queue; not among `dropped_packets`.
    pub dropped_credits: u64,
    /// Packets lost to a fault: random loss, or a dead link.
    pub lost_packets: u64,
    /// Packets that got a congestion mark here.
    pub marked_packets: u64,
    /// Data packets whose payload was cut off here.
    pub trimmed_packets: u64,
    /// What was cut off.
    pub trimmed_bytes: Bytes,
    /// Trimmed packets that found their queue full and went back to their source.
    pub returned_packets: u64,
    /// Trimmed packets dropped, returned ones too; among `dropped_packets`.
    pub dropped_headers: u64,
    /// Packets dropped by a marking rule since they were not ECN-capable; among `dropped_packets`.
    pub dropped_unscheduled: u64,
    /// Largest queue, exact.
    pub max_queue: Bytes,
    /// Pause frames sent to the peer, those that resume it included. Not among `tx_packets`.
    pub pause_frames_sent: u64,
    /// Pause frames received from the peer, resume frames included.
    pub pause_frames_received: u64,
    /// Time for which the peer had paused this port.
    pub paused: Span,
    /// Largest use of the headroom for packets from the peer.
    pub headroom_peak: Bytes,
    /// Packets from the peer refused although their ingress port pauses: none if its headroom is large enough.
    pub lossless_drops: u64,
}

/// The flow or RPC that time belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A flow's, by its index in the run's flow table.
    Flow(u32),
    /// An RPC's, by its index among those of the run.
    Rpc(u32),
}

impl Subject {
    /// The index.
    pub fn number(self) -> u32 {
        match self {
            Self::Flow(number) | Self::Rpc(number) => number,
        }
    }

    /// The index of a flow.
    pub fn flow(self) -> Option<u32> {
        match self {
            Self::Flow(flow) => Some(flow),
            Self::Rpc(_) => None,
        }
    }

    /// The index of an RPC.
    pub fn rpc(self) -> Option<u32> {
        match self {
            Self::Flow(_) => None,
            Self::Rpc(rpc) => Some(rpc),
        }
    }
}

/// What one flow or RPC lost to one part, at one port and behind one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyRow {
    /// The flow or RPC that lost the time.
    pub of: Subject,
    /// What it went to.
    pub part: Part,
    /// Port where it was spent, `leaf[0]->host[3]`; empty where the part has none.
    pub port: String,
    /// The flow whose packets were sent there meanwhile, where that is known.
    pub behind: Option<u32>,
    /// How long.
    pub span: Span,
}

/// One flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRow {
    /// Index in the run's flow table.
    pub flow: u32,
    /// Index of the `[[traffic]]` entry it came from.
    pub traffic: u16,
    /// Sending host, as an index into [`RunRecord::hosts`].
    pub src: u32,
    /// Receiving host, likewise.
    pub dst: u32,
    /// Payload bytes; `Bytes::MAX` for a flow without an end, and for a stream of a connection.
    pub size: Bytes,
    /// When the application handed it over.
    pub start: Time,
    /// When the receiver had every byte in order; `None` if it had not by the end.
    pub delivered: Option<Time>,
    /// When the sender knew that.
    pub acked: Option<Time>,
    /// When the sender gave it up; `None` if it did not.
    pub gave_up: Option<Time>,
    /// FCT of the same flow alone on the fastest of its empty paths: first byte handed over to last byte delivered,
    /// all packets back to back at the slowest link's rate, header bytes and store-and-forward included. Where each packet takes a path of its own,
    /// links at one distance carry the flow together.
    pub ideal: Span,
    /// Retransmitted segments.
    pub retransmits: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
}

impl FlowRow {
    /// Whether it has no end by design.
    pub fn is_endless(&self) -> bool {
        self.size == Bytes::MAX
    }

    /// FCT: hand-over at the sender to last byte in order at the receiver.
    pub fn fct(&self) -> Option<Span> {
        self.delivered.map(|at| at.since(self.start))
    }

    /// FCT as the sender sees it: hand-over to last acknowledgement.
    pub fn fct_acked(&self) -> Option<Span> {
        self.acked.map(|at| at.since(self.start))
    }

    /// `fct / ideal`, 1 at best.
    pub fn slowdown(&self) -> Option<f64> {
        self.fct().map(|fct| ratio(fct, self.ideal))
    }

    /// `fct_acked / ideal`.
    pub fn slowdown_acked(&self) -> Option<f64> {
        self.fct_acked().map(|fct| ratio(fct, self.ideal))
    }
}

/// Cause of the wait of an unfinished flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum WaitsFor {
    /// No cables that are up lead to its receiver.
    NoPath,
    /// Its sender gave it up.
    GaveUp,
    /// Its NIC, whose class is paused.
    Pause,
    /// Its NIC, which sends other flows first.
    Nic,
    /// Its congestion window, which is full.
    CongestionWindow,
    /// The receive window, or credit of its receiver.
    Receiver,
    /// Its pacing rate.
    Pacing,
    /// ACKs of what it has sent, all of it, or else its retransmission timer.
    Acks,
    /// The application, which has written nothing more: of a flow without an end.
    Application,
    /// Packets that are on their way: the sender has let go of it.
    Network,
    /// The application at the receiver, which has not read all of it.
    Reader,
    /// Not known.
    #[default]
    Unknown,
}

impl WaitsFor {
    /// All of them, what somebody should look at first coming first.
    pub const ALL: [Self; 12] = [
        Self::NoPath,
        Self::GaveUp,
        Self::Pause,
        Self::Nic,
        Self::CongestionWindow,
        Self::Receiver,
        Self::Pacing,
        Self::Acks,
        Self::Application,
        Self::Network,
        Self::Reader,
        Self::Unknown,
    ];

    /// The word in tables.
    pub fn key(self) -> &'static str {
        match self {
            Self::NoPath => "no_path",
            Self::GaveUp => "gave_up",
            Self::Pause => "pause",
            Self::Nic => "nic",
            Self::CongestionWindow => "congestion_window",
            Self::Receiver => "receiver",
            Self::Pacing => "pacing",
            Self::Acks => "acks",
            Self::Application => "application",
            Self::Network => "network",
            Self::Reader => "reader",
            Self::Unknown => "unknown",
        }
    }

    /// The cause that a word names.
    pub fn named(word: &str) -> Self {
        Self::ALL.into_iter().find(|one| one.key() == word).unwrap_or_default()
    }

    /// For people, after "waits for".
    pub fn words(self) -> &'static str {
        match self {
            Self::NoPath => "a path: no cables that are up lead to the receiver",
            Self::GaveUp => "nothing: the sender gave up",
            Self::Pause => "the end of a pause (PFC) at the NIC",
            Self::Nic => "a turn at the NIC",
            Self::CongestionWindow => "the congestion window",
            Self::Receiver => "the receiver (window or credit)",
            Self::Pacing => "the pacing rate",
            Self::Acks => "ACKs, or a retransmission timeout",
            Self::Application => "the application",
            Self::Network => "packets on their way",
            Self::Reader => "the receiving application",
            Self::Unknown => "something unknown",
        }
    }
}

/// One flow that had not ended when the run did, or that has no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct UnfinishedRow {
    /// Index in the run's flow table.
    pub flow: u32,
    /// Cause of its wait.
    pub waits_for: WaitsFor,
    /// Payload that its receiver had in order.
    pub received: Bytes,
}

/// Credits of one flow whose receiver sent any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CreditRow {
    /// Index in the run's flow table.
    pub flow: u32,
    /// Credits, grants or pulls that its receiver sent as packets of their own.
    pub sent: u64,
    /// Credits, grants or pulls that arrived and released data.
    pub used: u64,
    /// Data packets that a credit released which is older than that of a packet before them.
    pub backward: u64,
}

/// Payload of receiver-driven transports that one host got in one traffic class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ClassArrivalRow {
    /// Index of the host.
    pub host: u32,
    /// Traffic class.
    pub class: u8,
    /// Of the beginning of messages, which leaves unasked.
    pub unscheduled: Bytes,
    /// On credit.
    pub scheduled: Bytes,
}

/// A span in units of another; an ideal of zero counts as one picosecond.
fn ratio(span: Span, ideal: Span) -> f64 {
    span.as_ps() as f64 / ideal.as_ps().max(1) as f64
}

/// One connection that stays open: of RPCs, or from a rank of a collective to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionRow {
    /// Index of the `[[traffic]]` entry it came from.
    pub traffic: u16,
    /// Host that sends requests or messages, as an index into [`RunRecord::hosts`].
    pub client: u32,
    /// Host that gets them, likewise.
    pub server: u32,
    /// Stream of requests or messages: a row of the flow table that counts its retransmissions.
    pub requests: u32,
    /// Stream of responses, likewise; `None` of a collective.
    pub responses: Option<u32>,
    /// When its first RPC was issued, or its first message was handed over.
    pub start: Time,
    /// When its last RPC or collective was over and no other was to come; `None`: not by the end.
    pub done: Option<Time>,
    /// Bytes of requests in order at the server since the end of the warm-up; of messages, all.
    pub request_bytes: Bytes,
    /// Bytes of responses in order at the client since then.
    pub response_bytes: Bytes,
    /// What held its requests to credits of the server's cache, where something did.
    pub credits: Option<CreditPool>,
}

/// Credits of a connection's requests, each a line of its server's cache, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreditPool {
    /// Most that may be outstanding, at the end of the run.
    pub limit: u64,
    /// Most that ever were.
    pub most: u64,
    /// Requests that its application made.
    pub requests: u64,
    /// Of these, requests that had to wait for credits.
    pub blocked: u64,
    /// Time that they waited, all together.
    pub waited: Span,
}

impl ConnectionRow {
    /// Whether it carries RPCs, not messages of a collective.
    pub fn carries_rpcs(&self) -> bool {
        self.responses.is_some()
    }

    /// Its rows of the flow table.
    pub fn streams(&self) -> impl Iterator<Item = u32> {
        [Some(self.requests), self.responses].into_iter().flatten()
    }

    /// Payload delivered in order, both ways, per second from the later of its start and the end of the warm-up until it was
    /// done or the run ended, in Gb/s; `None` if that is no time.
    pub fn goodput_gbps(&self, warmup: Time, end: Time) -> Option<f64> {
        let from = if self.carries_rpcs() { self.start.max(warmup) } else { self.start };
        let to = self.done.unwrap_or(end).min(end);
        let bytes = self.request_bytes.get() + self.response_bytes.get();
        (to > from).then(|| bytes as f64 * 8.0 / (to.since(from).as_secs_f64() * 1e9))
    }
}

/// One collective of one group of ranks that had begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectiveRow {
    /// Index of the `[[traffic]]` entry it came from.
    pub traffic: u16,
    /// Group of ranks, counted within the entry.
    pub group: u32,
    /// How many collectives the group had begun before.
    pub number: u32,
    /// Operation.
    pub operation: Operation,
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Ranks.
    pub ranks: u32,
    /// Size of the whole, as nccl-tests counts it.
    pub bytes: Bytes,
    /// When the first rank began.
    pub start: Time,
    /// When the last rank began; `None`: some rank had not by the end.
    pub all_begun: Option<Time>,
    /// When every rank had all of its data; `None`: not by the end.
    pub end: Option<Time>,
    /// Ranks that had all of their data by the end.
    pub done: u32,
    /// Host of the rank that was last to have its data, as an index into [`RunRecord::hosts`]; `None`: not by the end. Of several the lowest.
    pub last: Option<u32>,
    /// Mean over ranks of the time from having all data to the end of the collective; `None`: there is none.
    pub wait: Option<Span>,
}

impl CollectiveRow {
    /// From the begin of the first rank to the end.
    pub fn completion(&self) -> Option<Span> {
        self.end.map(|end| end.since(self.start))
    }

    /// Size over completion time, in Gb/s; `None` if that is no time.
    pub fn algbw_gbps(&self) -> Option<f64> {
        let span = self.completion().filter(|span| *span > Span::ZERO)?;
        Some(self.bytes.get() as f64 * 8_000.0 / span.as_ps() as f64)
    }

    /// What links carry, in Gb/s: [`CollectiveRow::algbw_gbps`] times the factor of nccl-tests. A perfect collective has the rate of a link.
    pub fn busbw_gbps(&self) -> Option<f64> {
        let Ratio { over, under } = self.operation.bus_factor(self.ranks);
        Some(self.algbw_gbps()? * over as f64 / under as f64)
    }
}

/// One RPC: issued at a client, whether completed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RpcRow {
    /// Connection, as an index into [`RunRecord::connections`].
    pub connection: u32,
    /// Payload of the request.
    pub request: Bytes,
    /// Payload of the response; zero: one-way.
    pub response: Bytes,
    /// When the client handed over the request.
    pub issued: Time,
    /// When the client had the whole response in order, or for one-way RPCs the last acknowledgement; `Time::MAX`: not
    /// by the end. A plain word, as there may be many millions of these.
    pub completed: Time,
    /// Latency of the same RPC alone on the empty path: ideal FCT of the request, service time where that is fixed, ideal FCT
    /// of the response; for one-way RPCs ideal FCT of the request and the way back of one ACK.
    pub ideal: Span,
}

const _: () = assert!(size_of::<RpcRow>() == 48, "one row per RPC");

impl RpcRow {
    /// From the request's hand-over to completion, both at the client.
    pub fn latency(&self) -> Option<Span> {
        (self.completed != Time::MAX).then(|| self.completed.since(self.issued))
    }

    /// `latency / ideal`, 1 at best.
    pub fn slowdown(&self) -> Option<f64> {
        self.latency().map(|latency| ratio(latency, self.ideal))
    }

    /// What it carries, for people: `10 KB for 100 KB`, `10 KB one-way`.
    pub fn sizes(&self) -> String {
        let request = human::bytes(self.request.get());
        match self.response.get() {
            0 => format!("{request} one-way"),
            response => format!("{request} for {}", human::bytes(response)),
        }
    }
}

/// Pauses of one class at one port, over the whole run, where classes are paused one by one.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ClassPauseRow {
    /// Name of the node that sends, `leaf[2]`.
    pub node: String,
    /// Name of the node at the other end.
    pub peer: String,
    /// The class.
    pub class: u8,
    /// Frames sent to the peer that paused or resumed this class.
    pub pause_frames_sent: u64,
    /// Frames received from the peer, likewise.
    pub pause_frames_received: u64,
    /// Time for which the peer had paused this class.
    pub paused: Span,
    /// Largest use of the headroom for packets of this class from the peer.
    pub headroom_peak: Bytes,
    /// Packets of this class from the peer refused although it pauses: none if the headroom is large enough.
    pub lossless_drops: u64,
    /// How often the class stayed paused for longer than the watchdog allows.
    pub watchdog_fired: u64,
    /// Packets that the watchdog dropped.
    pub watchdog_drops: u64,
}

/// A PFC deadlock (cyclic buffer dependency): ports that paused each other for more than 10 ms, so that none can resume before another.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct DeadlockRow {
    /// When the last of them was paused.
    pub closed: Time,
    /// A time by which one of them had resumed; `None`: not by the end.
    pub gone: Option<Time>,
    /// Each waits for the next, and the last for the first: `s0->s1`, with ` class 2` where classes are paused one by one.
    pub ports: Vec<String>,
}

/// Links from one node to another over time, or from one group of nodes to another where the fabric is large. Lists have a value for each
/// interval of a run, all of the same length but the last, and are empty where there is nothing but zeros.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct LinksRow {
    /// Name of the node that sends, or of the group: `pod[3].edge[0..15]`.
    pub node: String,
    /// Name of the node or group at the other end.
    pub peer: String,
    /// How many links they are.
    pub links: u32,
    /// Length of an interval.
    pub every: Span,
    /// Share of the interval for which they transmitted, mean over links.
    pub busy: Vec<f32>,
    /// Bytes queued, of the longest queue; the largest found at the sampling instants, which end intervals.
    pub queue: Vec<f32>,
    /// Packets refused and packets lost, of all links; not credits.
    pub dropped: Vec<f32>,
    /// Packets marked at all of them.
    pub marked: Vec<f32>,
    /// Packets whose payload was cut off, of all of them.
    pub trimmed: Vec<f32>,
    /// Credits that found no room, of all of them.
    pub refused_credits: Vec<f32>,
    /// Share of the interval for which the peer had paused them, mean over links.
    pub paused: Vec<f32>,
}

/// One host's path to memory, from the end of the warm-up to the end of the run.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct MemoryRow {
    /// Name of the host.
    pub host: String,
    /// How long that was.
    pub span: Span,
    /// Packets that came over its cable for the stack.
    pub arrived: u64,
    /// Of these, packets that the NIC buffer had no room for.
    pub dropped: u64,
    /// Payload that applications read.
    pub read_bytes: Bytes,
    /// Data packets that got a congestion mark at the host; merged ones count once.
    pub marked: u64,
    /// Throttle levels written.
    pub level_writes: u64,
    /// Lines of 64 B over PCIe.
    pub entered: f64,
    /// Mean lines in IIO slots.
    pub occupancy: f64,
    /// Lines that the NIC wrote to memory.
    pub dma: f64,
    /// Lines that copying read from memory.
    pub copied: f64,
    /// Lines that the NIC read to send.
    pub sent: f64,
    /// Lines that were written, copied and sent for other NICs of the same machine.
    pub other_nics: f64,
    /// Lines that each antagonist read and wrote.
    pub antagonists: Vec<f64>,
    /// Share of the time in each state of the receive queue, S1 to S4; empty where its buffers are not followed.
    pub cache_states: Vec<f64>,
    /// Buffers that cores read.
    pub cache_reads: u64,
    /// Of these, buffers that were not in the cache, by cause: a write of the NIC had evicted them, a core had, or they had never been
    /// there; empty where buffers are not followed.
    pub cache_misses: Vec<f64>,
    /// Of [`MemoryRow::cache_reads`], those of each `[[traffic]]` entry up to the last one that was read; empty where buffers are not followed.
    pub cache_reads_of: Vec<f64>,
    /// Of these, buffers that were not in the cache.
    pub cache_misses_of: Vec<f64>,
    /// Buffers that the NIC wrote.
    pub cache_writes: u64,
    /// Of these, buffers that were in the cache.
    pub cache_in_place: u64,
    /// Frames that found no receive buffer and waited in the NIC for one.
    pub rnr_waited: u64,
    /// Frames that found no receive buffer and were refused, those behind them included.
    pub rnr_refused: u64,
    /// Mean wait of writes for admission to memory, in ns.
    pub wait_ns: f64,
    /// Share of the time with packets in the NIC buffer.
    pub backlog: f64,
    /// Share of the time in which full IIO slots held the NIC back.
    pub full: f64,
    /// Cores that ran the stack and copied, on average.
    pub reading: f64,
    /// Share of the time at each throttle level.
    pub levels: Vec<f64>,
    /// Share of the time for which each stage was the bottleneck, in the order of [`LIMITS`].
    pub limits: [f64; LIMITS.len()],
    /// Of all that senders of flows to the host waited for, the share of each wait, in the order of [`WAITS`]; zeros if none
    /// was in progress.
    pub sender_waits: [f64; WAITS.len()],
    /// Most bytes that the NIC buffer held, warm-up included.
    pub most_buffered: Bytes,
    /// Packets that the NIC buffer had no room for, warm-up included.
    pub dropped_in_all: u64,
    /// Data packets that got a congestion mark at the host, warm-up included.
    pub marked_in_all: u64,
    /// Size of the NIC buffer.
    pub nic_buffer: Bytes,
    /// What PCIe carries at most, Gb/s.
    pub pcie_limit_gbps: f64,
    /// IIO slots.
    pub iio_slots: u32,
    /// What the memory controller serves at most, gigabytes per second.
    pub memory_limit_gigabytes: f64,
    /// Bytes of receive buffers that the NIC's ways, the cache and the receive queue hold (D, S, Q); empty where buffers are not
    /// followed.
    pub cache_bounds: Vec<f64>,
    /// What the control compares with, if it has such: lines in IIO slots, and Gb/s over PCIe.
    pub targets: Option<[f64; 2]>,
}

/// What can be the bottleneck of a path to memory, a word for each: nothing in the host, reading for applications, the PCIe
/// link, too few IIO slots, a busy memory, and descriptors that the stack did not give.
pub const LIMITS: [&str; 6] = ["senders", "copying", "pcie", "slots", "memory", "descriptors"];

/// What a sender can wait for, a word for each: the application, which has written nothing more; its congestion window; the
/// receive window; its pacing rate; its NIC, which is busy with others; a pause that is in force.
pub const WAITS: [&str; 6] =
    ["application", "congestion_window", "receive_window", "pacing", "nic", "pause"];

impl MemoryRow {
    /// Payload to applications, Gb/s.
    pub fn goodput_gbps(&self) -> f64 {
        self.read_bytes.get() as f64 * 8.0 / self.ns()
    }

    /// What crossed PCIe, Gb/s.
    pub fn pcie_gbps(&self) -> f64 {
        self.entered * 512.0 / self.ns()
    }

    /// Memory traffic of the network: DMA both ways and copying, gigabytes per second.
    pub fn network_gigabytes(&self) -> f64 {
        (self.dma + self.copied + self.sent) * self.gigabytes_of_a_line()
    }

    /// Memory traffic of other NICs of the same machine, gigabytes per second.
    pub fn other_nics_gigabytes(&self) -> f64 {
        self.other_nics * self.gigabytes_of_a_line()
    }

    /// Memory traffic of all antagonists, gigabytes per second.
    pub fn antagonist_gigabytes(&self) -> f64 {
        // From plus zero: an empty sum of floats is minus zero.
        self.antagonists.iter().fold(0.0, |sum, lines| sum + lines) * self.gigabytes_of_a_line()
    }

    /// Gigabytes per second that one line over the whole span is.
    pub fn gigabytes_of_a_line(&self) -> f64 {
        64.0 / self.ns()
    }

    /// Share of arriving packets that the NIC dropped.
    pub fn drop_share(&self) -> f64 {
        self.dropped as f64 / self.arrived.max(1) as f64
    }

    /// Share of the receive buffers read that were not in the cache.
    pub fn miss_share(&self) -> f64 {
        self.cache_misses.iter().sum::<f64>() / self.cache_reads.max(1) as f64
    }

    /// Mean throttle level.
    pub fn mean_level(&self) -> f64 {
        (0_u32..).zip(&self.levels).map(|(level, share)| f64::from(level) * share).sum()
    }

    /// Span in ns, one at least.
    fn ns(&self) -> f64 {
        (self.span.as_ps() as f64 * 1e-3).max(1.0)
    }
}

/// Totals of one simulation that are not of any port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct NodeCounters {
    /// Packets whose transmission began, summed over links, lost ones and those under way at the end included: the unit of work.
    pub packet_hops: u64,
    /// Payload bytes handed to receiving applications.
    pub delivered_bytes: u64,
    /// Segments delivered to receivers, duplicates included.
    pub delivered_segments: u64,
}

/// What a series is a series of. Those of one quantity and unit share a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// Bytes or packets at an egress port.
    Queue,
    /// Bytes of one class at an egress port.
    ClassQueue,
    /// Payload delivered per time.
    Goodput,
    /// What a sender may have in flight.
    Window,
    /// What a sender has in flight.
    InFlight,
    /// Smoothed round trip.
    RoundTrip,
    /// Payload acknowledged per time, by flow.
    FlowRate,
    /// What a law lets a sender send per time, by flow.
    LawRate,
    /// Share of an interval for which a port was paused.
    Paused,
    /// Flows to a host with credit out.
    Credited,
    /// Payload to a host that waits for credit.
    AwaitsCredit,
    /// Payload that came beyond the first gap of its flow.
    BeyondGaps,
    /// Credits, grants and pulls per time.
    CreditRate,
    /// None of these.
    Other,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Queue,
        Self::ClassQueue,
        Self::Goodput,
        Self::Window,
        Self::InFlight,
        Self::RoundTrip,
        Self::FlowRate,
        Self::LawRate,
        Self::Paused,
        Self::Credited,
        Self::AwaitsCredit,
        Self::BeyondGaps,
        Self::CreditRate,
        Self::Other,
    ];

    /// Word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::ClassQueue => "class-queue",
            Self::Goodput => "goodput",
            Self::Window => "window",
            Self::InFlight => "in-flight",
            Self::RoundTrip => "round-trip",
            Self::FlowRate => "flow-rate",
            Self::LawRate => "law-rate",
            Self::Paused => "paused",
            Self::Credited => "credited",
            Self::AwaitsCredit => "awaits-credit",
            Self::BeyondGaps => "beyond-gaps",
            Self::CreditRate => "credit-rate",
            Self::Other => "other",
        }
    }
}

/// One quantity over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What, `leaf[0]->spine[1] queue`.
    pub name: String,
    /// What kind of quantity.
    pub quantity: Quantity,
    /// Unit, as it stands in column names: `bytes`, `gbps`.
    pub unit: &'static str,
    /// Sampling instants, ascending.
    pub at: Vec<Time>,
    /// One value for each.
    pub values: Vec<f64>,
}

/// A program of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramRow {
    /// Host that ran it.
    pub host: u32,
    /// Index of its `[[traffic]]` entry.
    pub traffic: u16,
    /// Whether a run that ends with its flows waits for it.
    pub awaited: bool,
    /// When its last operation was over.
    pub ended: Option<Time>,
    /// What the first operation waits for that is not over. None if the program has ended, or waits for nothing.
    pub waits_for: Option<ProgramWait>,
}

/// What a program waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramWait {
    /// Nothing more: the sender of one of its flows gave up.
    GaveUp {
        /// The flow.
        flow: u32,
        /// When.
        at: Time,
    },
    /// Data of a flow that ends at its host.
    Data(u32),
    /// Acknowledgements of a flow that begins at its host.
    Acks(u32),
    /// A notification.
    Signal,
    /// A time.
    Time,
}

/// What an operation of a program does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepKind {
    /// Sends a message. Over when all of it is acknowledged.
    Send,
    /// Receives one.
    Recv,
    /// Takes a time, or joins what it waits for.
    #[default]
    Compute,
    /// Waits for a time.
    At,
    /// Notifies a host.
    Signal,
    /// A rank begins a collective.
    Begin,
    /// A rank has all of its data.
    End,
}

impl StepKind {
    const ALL: [Self; 7] =
        [Self::Send, Self::Recv, Self::Compute, Self::At, Self::Signal, Self::Begin, Self::End];

    /// Word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Recv => "recv",
            Self::Compute => "compute",
            Self::At => "at",
            Self::Signal => "signal",
            Self::Begin => "begin",
            Self::End => "end",
        }
    }

    /// The kind that a word names.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.word() == word)
    }
}

/// What an operation waited for last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepCause {
    /// Nothing, or what was over before the operation was read.
    #[default]
    Nothing,
    /// An operation of the same program, by number.
    Step(u32),
    /// A signal.
    Signal,
}

/// An operation of a program of one host, as it was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepRow {
    /// Index of the `[[traffic]]` entry.
    pub traffic: u16,
    /// Host, as an index into [`RunRecord::hosts`].
    pub host: u32,
    /// Program, counted at this host.
    pub program: u32,
    /// Place in the program.
    pub number: u32,
    /// What it does.
    pub kind: StepKind,
    /// First connection of a message, as an index into the flow table.
    pub flow: Option<u32>,
    /// Payload of a message.
    pub bytes: Bytes,
    /// When it began; `None`: not by the end.
    pub begun: Option<Time>,
    /// When it was over; `None`: not by the end.
    pub over: Option<Time>,
    /// What it waited for last.
    pub cause: StepCause,
    /// Connections over which its message is split. In no table.
    pub stripes: u8,
    /// Connection whose part of a message was over last. In no table.
    pub last: Option<u32>,
    /// Host and name of the signal that it sends, and after which time that comes; or waits for, at this host. In no table.
    pub signal: Option<(u32, u32, Span)>,
    /// How often that signal has to come. In no table.
    pub count: u32,
    /// Group and number of the collective that begins or ends. In no table.
    pub collective: Option<(u32, u32)>,
}

impl StepRow {
    /// Bytes of a message on the `nth` of the connections over which it is split.
    pub fn share(&self, nth: u8) -> u64 {
        forebay_jobs::share(self.bytes.get(), self.stripes.max(1).into(), nth.into())
    }
}

/// Everything that one simulation leaves.
#[derive(Clone, Debug, Default)]
pub struct RunRecord {
    /// Seed of this simulation.
    pub seed: u64,
    /// Names of the hosts, in canonical order.
    pub hosts: Vec<String>,
    /// Flows, in flow order; those that had not started by the end are absent.
    pub flows: Vec<FlowRow>,
    /// Flows that had started and had not ended, in flow order; streams of connections are not among them.
    pub unfinished: Vec<UnfinishedRow>,
    /// Credits of flows whose receivers sent any, in flow order.
    pub credits: Vec<CreditRow>,
    /// Payload that receivers which give credit got, by host and traffic class.
    pub class_arrivals: Vec<ClassArrivalRow>,
    /// Flows of the table that had not started by the end.
    pub not_started: u64,
    /// Connections that stay open: those that carried RPCs, then those of collectives.
    pub connections: Vec<ConnectionRow>,
    /// Collectives, by entry, group and number.
    pub collectives: Vec<CollectiveRow>,
    /// Operations of programs, by host, program and place, where they were logged.
    pub steps: Vec<StepRow>,
    /// RPCs, by connection and in order of issue.
    pub rpcs: Vec<RpcRow>,
    /// Ports, in canonical order.
    pub ports: Vec<PortRow>,
    /// Links over time, where they were sampled.
    pub links: Vec<LinksRow>,
    /// Pauses by class, of ports and classes that had any.
    pub class_pauses: Vec<ClassPauseRow>,
    /// PFC deadlocks, in the order in which they were found.
    pub deadlocks: Vec<DeadlockRow>,
    /// Paths to memory, of hosts that have one.
    pub memory: Vec<MemoryRow>,
    /// Paths to memory over time, of hosts that were sampled.
    pub memory_series: Vec<MemorySeries>,
    /// Sampled series.
    pub series: Vec<Series>,
    /// Parts of completion times, of flows that were asked for.
    pub why: Vec<WhyRow>,
    /// Flows that began after operations on others, each with the last flow that it waited for; in the order of their numbers. In no table.
    pub waited: Vec<(u32, u32)>,
    /// Programs, by host. In no table.
    pub programs: Vec<ProgramRow>,
    /// Totals.
    pub totals: NodeCounters,
    /// Virtual time at which the simulation stopped.
    pub end: Time,
    /// Whether it was interrupted before its own end.
    pub interrupted: bool,
    /// Whether it ended because nothing could move any more though flows were unfinished.
    pub stalled: bool,
    /// Digest of every delivery and drop.
    pub digest: u64,
}

impl RunRecord {
    /// Keeps the first rows that it has in a table of samples.
    pub(crate) fn keep(&mut self, table: &str, rows: u64) {
        let mut left = usize::try_from(rows).unwrap_or(usize::MAX);
        let mut part = |len: usize| {
            let kept = left.min(len);
            left -= kept;
            kept
        };
        match table {
            "series.csv" => {
                for series in &mut self.series {
                    let kept = part(series.at.len());
                    series.at.truncate(kept);
                    series.values.truncate(kept);
                }
                self.series.retain(|series| !series.at.is_empty());
            }
            "memory_series.csv" => {
                for series in &mut self.memory_series {
                    let kept = part(series.samples.len());
                    series.samples.truncate(kept);
                    series.by_antagonist.truncate(kept * series.antagonists);
                }
                self.memory_series.retain(|series| !series.samples.is_empty());
            }
            _ => self.links.truncate(left),
        }
    }

    /// Rows of this simulation in all tables of a run directory.
    pub fn rows(&self) -> u64 {
        let tables = [
            1, // of runs.csv
            self.hosts.len(),
            self.flows.len(),
            self.unfinished.len(),
            self.credits.len(),
            self.class_arrivals.len(),
            self.connections.len(),
            self.collectives.len(),
            self.steps.len(),
            self.rpcs.len(),
            self.ports.len(),
            self.links.len(),
            self.class_pauses.len(),
            self.deadlocks.len(),
            self.memory.len(),
            self.memory_series.iter().map(|series| series.samples.len()).sum(),
            self.series.iter().map(|series| series.values.len()).sum(),
            self.why.len(),
        ];
        tables.into_iter().map(|rows| rows as u64).sum()
    }
}
