//! The rows that one simulation (one scenario, one seed) hands over.

use forebay_units::{BitsPerSec, Bytes, Span, Time};

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
    /// Payload bytes.
    pub size: Bytes,
    /// When the application handed it over.
    pub start: Time,
    /// When the receiver had every byte in order; `None` if it had not by the end.
    pub delivered: Option<Time>,
    /// When the sender knew that.
    pub acked: Option<Time>,
    /// FCT of the same flow alone on the empty path: first byte handed over to last byte delivered,
    /// all packets back to back at the slowest link's rate, header bytes and store-and-forward included.
    pub ideal: Span,
    /// Segments sent again.
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

/// A span in units of another; an ideal of zero counts as one picosecond.
fn ratio(span: Span, ideal: Span) -> f64 {
    span.as_ps() as f64 / ideal.as_ps().max(1) as f64
}

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
    /// Their bytes.
    pub tx_bytes: Bytes,
    /// Packets refused for lack of buffer.
    pub dropped_packets: u64,
    /// Their bytes.
    pub dropped_bytes: Bytes,
    /// Packets lost to a fault: random loss, or a dead link.
    pub lost_packets: u64,
    /// Packets that got a congestion mark here.
    pub marked_packets: u64,
    /// Largest queue, exact.
    pub max_queue: Bytes,
    /// Pause frames sent to the peer, those that let it go included. Not among `tx_packets`.
    pub pause_frames_sent: u64,
    /// Pause frames received from the peer, likewise.
    pub pause_frames_received: u64,
    /// Time for which the peer had paused this port.
    pub paused: Span,
    /// Largest use of the headroom for packets from the peer.
    pub headroom_peak: Bytes,
    /// Packets from the peer refused although their in-port pauses: none if its headroom is large enough.
    pub lossless_drops: u64,
}

/// Totals of one simulation that are not of any port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct NodeCounters {
    /// Packets that crossed a link, summed over links: the unit of work.
    pub packet_hops: u64,
    /// Payload bytes handed to receiving applications.
    pub delivered_bytes: u64,
    /// Segments delivered to receivers, duplicates included.
    pub delivered_segments: u64,
}

/// One quantity over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What, `leaf[0]->spine[1] queue`.
    pub name: String,
    /// Unit, as it stands in column names: `bytes`, `gbps`.
    pub unit: &'static str,
    /// Sampling instants, ascending.
    pub at: Vec<Time>,
    /// One value for each.
    pub values: Vec<f64>,
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
    /// Flows of the table that had not started by the end.
    pub not_started: u64,
    /// Ports, in canonical order.
    pub ports: Vec<PortRow>,
    /// Sampled series.
    pub series: Vec<Series>,
    /// Totals.
    pub totals: NodeCounters,
    /// Virtual time at which the simulation stopped.
    pub end: Time,
    /// Whether it was interrupted before its own end.
    pub interrupted: bool,
    /// Digest of every delivery and drop.
    pub digest: u64,
}
