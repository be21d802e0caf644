//! Role `flow`: laws that run at the sender of one flow (Reno, DCTCP, NV, Swift, DCQCN, HPCC ...).
//!
//! The transport owns sequence numbers, the scoreboard, loss detection, PRR, timers and the mechanics
//! of undo; the law owns the target window, `ssthresh` and the rate, and is *notified* of state changes.
//!
//! In state `Recovery`, and in `Cwr` unless [`Needs::own_cwr`], PRR sets the window in use; the law's
//! own holds again from `Leave` or `Undo` on. In every other state the last [`FlowAct::Window`] holds.
//!
//! To add a law: its file here with a `//!` charter, a [`FlowLaw`] and its parameters, its `mod` line below,
//! its row in [`registry`]. The charter is the help page; the conformance tests run by themselves.

pub mod bic;
pub mod cubic;
pub mod dcqcn;
pub mod dctcp;
pub mod dctcp_rate;
pub mod explicit;
pub mod fixed;
pub mod hpcc;
pub mod nv;
pub mod powertcp;
pub mod registry;
pub mod reno;
pub mod swift;
pub mod timely;

pub use registry::{Flow, FlowParams, LAWS};

use crate::{Acts, Start};
use forebay_units::{BitsPerSec, Bytes, Span, Time};

/// The sender's congestion state, as Linux names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CaState {
    /// Nothing suspicious.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs seen, nothing marked lost yet.
    Disorder,
    /// Reducing after a congestion mark.
    Cwr,
    /// Repairing a loss; PRR owns the window in use.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// Running totals of the flow at the time of the event, in payload bytes.
///
/// Byte numbers start at zero and never wrap. `delivered_ce <= delivered <= sent` and `una <= nxt`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Oldest unacknowledged byte.
    pub una: u64,
    /// Next new byte.
    pub nxt: u64,
    /// Bytes sent, retransmissions included.
    pub sent: u64,
    /// Bytes known to have arrived (cumulatively or by SACK), each once. Laws grow by this.
    pub delivered: u64,
    /// Of those, bytes whose ACK echoed congestion.
    pub delivered_ce: u64,
    /// Bytes believed to be in the network.
    pub inflight: Bytes,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Span,
    /// Least round-trip time seen; `Span::MAX` before the first sample.
    pub min_rtt: Span,
    /// Congestion state at this event (after a change, the new one). At an ACK that begins a recovery, [`CaState::Recovery`] already.
    pub state: CaState,
    /// Whether the window was what limited sending in the last flight; a law grows only then.
    pub cwnd_limited: bool,
    /// Most packets that were out after one of the last sends: since the window was last full, or in a window of data in which it was not. In slow
    /// start a window below twice that grows, too.
    ///
    /// Source: Linux `max_packets_out`, `tcp_is_cwnd_limited`.
    pub most_out: u32,
    /// Whether nothing but a full window grows, slow start's neither (Linux before 3.16).
    pub only_full_grows: bool,
}

/// What one ACK measured about the newest segment it covers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckSample {
    /// Round-trip time, if the segment was not retransmitted.
    pub rtt: Option<Span>,
    /// `inflight` just after that segment was sent.
    pub inflight_at_send: Bytes,
    /// `delivered` when it was sent.
    pub delivered_at_send: u64,
    /// Window in force when it was sent.
    pub cwnd_at_send: Bytes,
    /// Longer of the send and the ACK interval of the delivery-rate sample; zero if there is none.
    pub interval: Span,
    /// Whether the application, not the window, limited sending at that time.
    pub app_limited: bool,
    /// Congestion state when the ACK came. An episode that the ACK ended may have been left since.
    pub state: CaState,
}

/// Where the delay of one round trip was spent (Swift, NV). The four spans add up to the RTT within 2 ns.
///
/// The clocks of both hosts agree here. Those of real hosts do not: their difference adds to `forward` what it takes from
/// `backward`, so that of these two only the change and the sum, [`DelaySplit::fabric`], mean anything.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelaySplit {
    /// From the transport of the sender to the receiver's NIC: its own NIC's queue, links and switches.
    pub forward: Span,
    /// The ACK's way back to the sender's NIC.
    pub backward: Span,
    /// Receiving host, from NIC arrival to ACK.
    pub remote_host: Span,
    /// Sending host, from NIC arrival of the ACK to its processing.
    pub local_host: Span,
    /// Links on the forward path; zero where nothing counts them.
    pub hops: u8,
}

impl DelaySplit {
    /// Links and switches, both ways.
    pub fn fabric(&self) -> Span {
        self.forward + self.backward
    }
}

/// In-band telemetry of one hop (HPCC, PowerTCP): what it did from the departure of the packet that the last ACK spoke of to that of
/// this one's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntHop {
    /// Time between the two. Zero: there is nothing to compare with, since this is the first ACK, or the path is another one.
    pub passed: Span,
    /// What the port sent in between.
    pub sent: Bytes,
    /// The queues that the two left behind, the earlier first.
    pub queue: [Bytes; 2],
    /// Rate of the port.
    pub rate: BitsPerSec,
}

impl IntHop {
    /// Whether it says anything.
    pub fn is_known(&self) -> bool {
        self.passed > Span::ZERO && self.rate.get() > 0
    }

    /// Change at this hop in s, bytes and bytes per s: time above zero, bytes sent, queues, rate above zero. `None` unless it is known.
    pub(crate) fn change(&self) -> Option<HopChange> {
        self.is_known().then(|| HopChange {
            dt: float(self.passed.as_ps()) / 1e12,
            sent: float(self.sent.get()),
            queue: self.queue.map(|bytes| float(bytes.get())),
            rate: float(self.rate.get()) / 8.0,
        })
    }
}

/// What one hop did between two ACKs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HopChange {
    /// In s; above zero.
    pub dt: f64,
    /// Bytes that it sent.
    pub sent: f64,
    /// Bytes in its queue, at the last ACK and at this.
    pub queue: [f64; 2],
    /// Rate of the hop in bytes per s; above zero.
    pub rate: f64,
}

/// Processors convert signed numbers in one step. Above 2^63 it is as if there were no more.
fn float(number: u64) -> f64 {
    number.min(i64::MAX as u64) as i64 as f64
}

/// One event, with the totals at its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSeen<'a> {
    /// Running totals.
    pub totals: &'a Totals,
    /// What happened.
    pub event: FlowEvent<'a>,
}

/// What can happen to a flow.
///
/// Order within one received ACK: `Ack` first, then the `Leave`, `Enter` or `Undo` that it causes. A
/// law does not grow on an ACK that echoes congestion, so the `Enter(Cwr)` that follows cuts the window
/// that was in force.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum FlowEvent<'a> {
    /// An ACK newly covered data (cumulatively or by SACK), or echoed congestion.
    ///
    /// TCP leaves an episode that the ACK ends before this, as Linux does, and enters one that it begins after it.
    Ack {
        /// Bytes newly covered cumulatively.
        acked: Bytes,
        /// Whether it echoed congestion.
        ece: bool,
        /// Measurement of the newest segment covered.
        sample: &'a AckSample,
        /// Delay split, where `Needs::stamps` is set.
        delay: Option<&'a DelaySplit>,
        /// Telemetry of each hop, where `Needs::int` is set.
        hops: &'a [IntHop],
    },
    /// The transport enters a state; the law answers `Cwr`, `Recovery` and `Loss` with an `ssthresh`.
    ///
    /// An episode that turns into a graver one (`Cwr` to `Recovery`, either to `Loss`) is entered
    /// without a `Leave` before it, so that the law can tell "more of the same" from a second
    /// congestion. A further timeout in `Loss` is a further `Enter(Loss)`; if the transport takes it
    /// for a new episode (data was acknowledged since, and the segment timed out anew) it sends
    /// `Leave(Loss)` first, and the law cuts again.
    Enter(CaState),
    /// The episode of this state ended without undo.
    Leave(CaState),
    /// The last reduction was found spurious: restore what `Enter` took.
    Undo,
    /// Sending resumes after the flow had nothing in flight for `idle`.
    TxStart {
        /// Since the last transmission.
        idle: Span,
        /// Retransmission timeout now in force, for laws that decay the window once per RTO of idleness.
        rto: Span,
    },
    /// Payload bytes left the host (for byte counters).
    Sent {
        /// How many.
        bytes: Bytes,
    },
    /// A congestion notification packet arrived (DCQCN).
    Cnp,
    /// The receiver reported a gap (go-back-N, IRN).
    Nack,
    /// The switch of the host sent a message to the flow (HierCC).
    Switch(SwitchMessage),
    /// A `wake_at` came due. A spurious one changes nothing.
    Wake,
}

/// Message of a switch to a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SwitchMessage {
    /// Rate of the flow, above zero; a paused flow ignores it.
    Rate(BitsPerSec),
    /// Send nothing.
    Pause,
    /// Send again, at this rate, above zero.
    Resume(BitsPerSec),
}

/// What a flow law may decide. What it does not mention stays as it was.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum FlowAct {
    /// Target window. Finer than a byte, since some laws hold less than a packet.
    Window(Window),
    /// Slow-start threshold, also the window at which PRR aims. `Bytes::MAX` means none, as at the
    /// start of a flow; an undo may go back to that.
    Ssthresh(Bytes),
    /// Pace at this rate; above zero. Ends a hold.
    Rate(BitsPerSec),
    /// Send nothing until the next `Rate`. Only from laws whose `Needs::rate_request` is set.
    Hold,
    /// Pace with this gap between segments, for windows below one segment. Zero ends the pacing.
    Gap(Span),
    /// Call again at this time; of several, the least counts.
    WakeAt(Time),
}

impl FlowAct {
    /// A window of whole bytes.
    pub const fn window(bytes: Bytes) -> Self {
        Self::Window(Window::from_bytes(bytes))
    }
}

/// A window in units of 1/256 byte.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Window(u64);

impl Window {
    /// No bound: the rate alone holds the flow.
    pub const UNBOUNDED: Self = Self(u64::MAX);

    /// A window of whole bytes. From 2^56 bytes on, the largest window there is.
    pub const fn from_bytes(bytes: Bytes) -> Self {
        Self(bytes.get().saturating_mul(256))
    }

    /// A window of `raw / 256` bytes.
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// In units of 1/256 byte.
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// Whole bytes, rounded down.
    pub const fn bytes(self) -> Bytes {
        Bytes::new(self.0 >> 8)
    }
}

/// How the receiver echoes congestion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Echo {
    /// No ECN: packets leave Not-ECT.
    #[default]
    None,
    /// RFC 3168: ECE on every ACK until CWR.
    Classic,
    /// DCTCP: each ACK echoes the mark of exactly the packets it covers.
    Exact,
    /// A congestion notification packet at most once per interval (DCQCN).
    Cnp,
}

impl Echo {
    /// What a law of losses needs that may also take marks.
    pub(crate) const fn classic_if(ecn: bool) -> Self {
        if ecn { Self::Classic } else { Self::None }
    }
}

/// What a law needs from the receiver and the path, so that a transport composes it without knowing it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Congestion echo.
    pub echo: Echo,
    /// In-band telemetry on data, copied into ACKs.
    pub int: bool,
    /// NIC time stamps for the delay split. They take the place of an ACK's third SACK block.
    pub stamps: bool,
    /// An ACK for every packet, never delayed.
    pub every_packet: bool,
    /// In state `Cwr` the law's own window holds at once: the transport must not run PRR on a
    /// congestion mark. Loss recovery still runs PRR towards `ssthresh`.
    pub own_cwr: bool,
    /// [`FlowEvent::Sent`], for each packet. Other laws do not get the event.
    pub sent: bool,
    /// Interval of rate requests: the first packet requests the flow's rate from its switch, and then each that leaves so long after one that did.
    pub rate_request: Option<Span>,
}

impl Needs {
    /// Loss is all it looks at.
    pub const NONE: Needs = Needs {
        echo: Echo::None,
        int: false,
        stamps: false,
        every_packet: false,
        own_cwr: false,
        sent: false,
        rate_request: None,
    };
}

/// Facts about a flow law with its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowFacts {
    /// What it needs from the receiver and the path.
    pub needs: Needs,
    /// Least window that it ever sets, in thousandths of a segment. See [`FlowLaw::FLOOR_MILLI_MSS`].
    pub floor_milli_mss: u32,
}

/// A start from which only the needs of a flow are read.
pub(crate) fn any_start() -> Start {
    Start {
        mss: Bytes::new(1),
        initial_window: Bytes::new(1),
        line_rate: BitsPerSec::from_gbps(1),
        base_rtt: None,
        seed: 0,
    }
}

/// A law of role `flow`.
///
/// State of a built-in law is at most [`registry::MAX_STATE`] bytes. A step takes tens of nanoseconds and never allocates.
pub trait FlowLaw: Sized + Clone {
    /// Name in scenarios.
    const NAME: &'static str;
    /// What it needs from the other end, with default parameters.
    const NEEDS: Needs;
    /// Least window that it ever sets, in thousandths of a segment. Laws that hold less than a segment
    /// in the network (Swift) state less than 1000.
    const FLOOR_MILLI_MSS: u32 = 1000;
    /// What a scenario may set. Every field has a published default.
    type Params: Clone + Default;

    /// State at the start of a flow. The law's first window is pushed to `acts`.
    fn start(params: &Self::Params, at: Start, acts: &mut Acts<FlowAct>) -> Self;

    /// What this flow needs, where parameters change it. The same for its whole life.
    fn needs(&self) -> Needs {
        Self::NEEDS
    }

    /// One event.
    fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>);
}
