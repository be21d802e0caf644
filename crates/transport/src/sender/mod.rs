//! The sending half of a flow.
//!
//! This file holds the state and the public face; `send` transmits, `burst` says how much at once, `ack` takes ACKs the short way and
//! `slow_path` the long way, `recovery` is the state machine, `timers` the clock. `module` calls congestion controls that were
//! written for a kernel.
//!
//! Source: Linux `net/ipv4/tcp_input.c` and `tcp_output.c`, and the RFCs that each module names.
//!
//! Invariant: `inflight = nxt - una - sacked - lost`, and the scoreboard tiles `[una, nxt)`.

mod ack;
mod burst;
mod module;
mod recovery;
mod repair;
mod send;
mod slow_path;
#[cfg(test)]
mod tests;
mod timers;
mod wait;

use crate::TcpConfig;
use crate::acts::ControlledSender;
use crate::progress::progress;
use crate::rack::Rack;
use crate::rtt::Rtt;
use crate::scoreboard::Scoreboard;
pub(crate) use ack::delay_split;
pub use burst::Burst;
use forebay_laws::flow::{Echo, Flow, FlowEvent, FlowParams, FlowSeen, Totals, Window};
use forebay_laws::{Acts, Start};
use forebay_units::{BitsPerSec, Bytes, Serializer, Span, Time};
use forebay_wire::{FlowId, HostAddr};
use module::Control;
use repair::Repair;
use timers::Timer;
pub use wait::Wait;

/// What a flow is to send, and where to.
#[derive(Clone, Copy, Debug)]
pub struct FlowSpec {
    /// Id of the flow.
    pub flow: FlowId,
    /// Host that sends.
    pub src: HostAddr,
    /// The receiver's host.
    pub dst: HostAddr,
    /// Bytes that the application has written when the flow starts; [`Bytes::MAX`]: without end.
    pub size: Bytes,
    /// Whether the application may write more later ([`TcpSender::app_write`]). If not, the last of
    /// `size` bytes carries FIN.
    pub open: bool,
    /// Paths to the receiver's rack among which the sender may choose, by number; 1: it has no choice.
    pub paths: u16,
    /// Round-trip time that the handshake of a warm connection measured: the first sample of timers, pacing and RACK. Not zero. `None`: no sample.
    ///
    /// Source: Linux `tcp_synack_rtt_meas` and `tcp_rcv_synsent_state_process`; RFC 6298 section 2.2.
    pub handshake: Option<Span>,
}

/// Sender half of one flow.
#[derive(Clone, Debug)]
pub struct TcpSender {
    totals: Totals,
    cwnd: u64,      // bytes; in use, which PRR may hold away from the law's target
    ssthresh: u64,  // bytes
    written: u64,   // bytes that the application has handed over so far
    rwnd_end: u64,  // the receiver takes bytes below it
    deadline: Time, // least of `timer_at` and what `pace` waits for
    timer_at: Time,
    delivered_at: Time, // when `totals.delivered` last rose
    first_sent: Time,   // when the segment delivered last had left; while idle, the last send
    rtt: Rtt,
    rack: Rack,
    board: Scoreboard,
    law: Flow,
    repair: Option<Box<Repair>>, // once something went wrong, or with a module
    module: Option<Box<Control>>, // where the law has the kernel's callbacks; `law` is silent then
    pace: Option<Box<Pace>>,     // where the stack paces, or a law set a rate, a gap or a wake-up
    usage_end: u32, // low bits of the sequence number that ends the window of data of `totals.most_out`
    app_limited_until: u32, // low bits of `delivered`
    flow: FlowId,
    dst: HostAddr,
    timer: Timer,
    backoff: u8,
    open: bool,
    app_limited: bool,
    shut: u8,       // gates: `PACED`, `DEFERRED`
    calm: bool, // nothing SACKed, lost, retransmitted or probed: ACKs take the short way. Never with a module
    held: bool, // a reduction owns `cwnd`; the law's windows wait
    send_cwr: bool, // the next new segment says CWR
}

const _: () = assert!(size_of::<TcpSender>() <= 400, "sender state per flow");

/// The pacing gate is shut: nothing leaves but probes.
const PACED: u8 = 1;
/// New data waits until more of it can leave at once.
const DEFERRED: u8 = 1 << 1;

/// The pacing gate, and what a law that paces or wants to be woken has set.
#[derive(Clone, Debug)]
struct Pace {
    rate: Option<Serializer>,
    gap: Span,
    next: Time, // no segment leaves before
    wake_at: Time,
}

impl Pace {
    /// Another rate; the remainder of the old one is forgotten.
    fn set_rate(&mut self, rate: BitsPerSec) {
        if self.rate.as_ref().is_none_or(|old| old.rate() != rate) {
            self.rate = (rate > BitsPerSec::default()).then(|| Serializer::new(rate));
        }
    }
}

/// Most bytes that a receiver can grant before its first ACK: the window of a SYN is never scaled (RFC 7323 section 2.2).
/// A law that begins with more knows its receiver.
const FIRST_WINDOW: u64 = u16::MAX as u64;

impl TcpSender {
    /// A flow that may send at once. `at` is what the law starts from; its seed belongs to this flow.
    ///
    /// # Panics
    /// If the law needs telemetry or congestion notification packets, of which TCP has none.
    pub fn new(cfg: &TcpConfig, spec: FlowSpec, law: &FlowParams, at: Start, now: Time) -> Self {
        let mut acts = Acts::default();
        let module = law.module(at.seed);
        let law = law.start(at, &mut acts);
        let needs = law.needs();
        let has_all = !needs.int && !needs.sent && needs.echo != Echo::Cnp;
        assert!(has_all, "TCP has neither telemetry nor CNPs, and says nothing of what leaves");
        let segments = (cfg.initial_window().get().min(spec.size.get()) / cfg.mss()) as usize + 1;
        let mut sender = Self {
            totals: Totals {
                min_rtt: Span::MAX,
                only_full_grows: !cfg.gentle_growth,
                ..Totals::default()
            },
            cwnd: cfg.initial_window().get(),
            ssthresh: u64::MAX,
            written: spec.size.get(),
            rwnd_end: cfg.first_window(),
            deadline: Time::MAX,
            timer_at: Time::MAX,
            delivered_at: now,
            first_sent: now,
            rtt: Rtt::default(),
            rack: Rack::NEW,
            board: Scoreboard::new(segments),
            law,
            repair: module.is_some().then(|| Box::new(Repair::new())),
            pace: None,
            usage_end: 0,
            app_limited_until: 0,
            flow: spec.flow,
            dst: spec.dst,
            timer: Timer::None,
            backoff: 0,
            open: spec.open,
            app_limited: false,
            shut: 0,
            calm: module.is_none(),
            module: module.map(|of| Box::new(Control::new(of, cfg, &spec, now))),
            held: false,
            send_cwr: false,
        };
        if let Some(rtt) = spec.handshake {
            sender.rtt.sample(cfg, &mut sender.totals, now, rtt, rtt);
            sender.rack.rtt = rtt;
        }
        if cfg.host.paces() {
            sender.pace_mut();
        }
        sender.apply(now, &acts);
        if sender.module.is_some() {
            sender.init_module(cfg, now);
        }
        sender.rwnd_end = sender.rwnd_end.min(sender.cwnd.max(FIRST_WINDOW));
        sender
    }

    /// The application writes `bytes` more; `last` closes the flow, and the last of them carries FIN.
    ///
    /// # Panics
    /// If the flow is closed, or the last write is empty while everything before it has left.
    pub fn app_write(&mut self, bytes: Bytes, last: bool) {
        assert!(self.open, "the application writes after the last byte");
        self.written = self.written.saturating_add(bytes.get());
        self.open = !last;
        self.shut &= !DEFERRED;
        assert!(!last || self.totals.nxt < self.written, "FIN travels on the last byte");
    }

    progress!();

    /// Bytes acknowledged in order.
    #[inline]
    pub fn acked(&self) -> Bytes {
        Bytes::new(self.totals.una)
    }

    /// Window in use.
    #[inline]
    pub fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    /// Slow-start threshold; [`Bytes::MAX`] until the first reduction.
    #[inline]
    pub fn ssthresh(&self) -> Bytes {
        Bytes::new(self.ssthresh)
    }

    /// Segments sent again, tail loss probes included.
    pub fn retransmits(&self) -> u64 {
        self.repair.as_ref().map_or(0, |r| r.retransmits)
    }

    /// Expiries of the retransmission timer.
    pub fn timeouts(&self) -> u64 {
        self.repair.as_ref().map_or(0, |r| u64::from(r.timeouts))
    }

    /// Reductions taken back because the loss behind them was none.
    pub fn undos(&self) -> u64 {
        self.repair.as_ref().map_or(0, |r| u64::from(r.undos))
    }

    /// Tail loss probes sent, of new data or old.
    pub fn probes(&self) -> u64 {
        self.repair.as_ref().map_or(0, |r| u64::from(r.probes))
    }

    /// Tail loss probes sent, and one that may leave and has not.
    pub fn probes_begun(&self) -> u64 {
        self.probes() + self.repair.as_ref().map_or(0, |r| u64::from(r.probe))
    }

    /// Retransmission timeout now in force, backoff included.
    pub fn rto(&self, cfg: &TcpConfig) -> Span {
        self.rtt.rto(cfg, self.totals.srtt, self.backoff)
    }

    /// Tells the law and does what it says.
    fn notify(&mut self, now: Time, event: FlowEvent<'_>) {
        let mut acts = Acts::default();
        self.law.step(now, FlowSeen { totals: &self.totals, event }, &mut acts);
        self.apply(now, &acts);
    }

    #[cold]
    fn pace_mut(&mut self) -> &mut Pace {
        self.pace.get_or_insert_with(|| {
            Box::new(Pace { rate: None, gap: Span::ZERO, next: Time::ZERO, wake_at: Time::MAX })
        })
    }
}

impl ControlledSender for TcpSender {
    #[inline]
    fn set_window(&mut self, window: Window) {
        if !self.held {
            self.cwnd = window.bytes().get();
        }
    }

    #[inline]
    fn set_ssthresh(&mut self, bytes: Bytes) {
        self.ssthresh = bytes.get();
    }

    #[inline]
    fn set_rate(&mut self, _now: Time, rate: BitsPerSec) {
        self.pace_mut().set_rate(rate);
    }

    /// Another gap after the segments to come; what the last one shut stays shut, unless the pacing ends.
    #[cold]
    fn set_gap(&mut self, _now: Time, gap: Span) {
        let pace = self.pace_mut();
        let ends = gap == Span::ZERO && pace.gap > Span::ZERO && pace.rate.is_none();
        pace.gap = gap;
        if ends {
            pace.next = Time::ZERO;
            self.shut &= !PACED;
            self.settle_deadline();
        }
    }

    fn hold(&mut self) {} // of laws that no TCP serves

    #[inline]
    fn wake_at(&mut self, at: Time) {
        let pace = self.pace_mut();
        pace.wake_at = pace.wake_at.min(at);
        self.settle_deadline();
    }
}

/// The sender's clock on the wire: ns, wrapping.
#[inline]
pub(crate) fn stamp(now: Time) -> u32 {
    (now.as_ps() / 1_000) as u32
}
