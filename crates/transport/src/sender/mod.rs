//! The sending half of a flow.
//!
//! This file holds the state, the public face and transmission; `ack` takes ACKs, `timers` the clock.
//!
//! Source: tcp-baseline sections 2 to 9.
//!
//! Invariant: `inflight = nxt - una - sacked - lost`, and the scoreboard tiles `[una, nxt)`.

mod ack;
mod timers;

use crate::TcpConfig;
use crate::rack::Rack;
use crate::rtt::Rtt;
use crate::scoreboard::{Scoreboard, Segment};
use forebay_laws::flow::{CaState, Flow, FlowAct, FlowEvent, FlowParams, FlowSeen, Totals};
use forebay_laws::{Acts, Start};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{Ecn, Flags, FlowId, HostAddr, Kind, Packet};
use timers::Timer;

/// What a flow is to send, and where to.
#[derive(Clone, Copy, Debug)]
pub struct FlowSpec {
    /// Its id.
    pub flow: FlowId,
    /// The receiver's host.
    pub dst: HostAddr,
    pub size: Bytes,
    /// Whether the application may write more later ([`TcpSender::app_write`]). If not, the last of
    /// `size` bytes carries FIN.
    pub open: bool,
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
    pace: Option<Box<Pace>>, // laws that set a rate, a gap or a wake-up have one
    max_out: u32,            // bytes; largest flight of the last window that was not cwnd-limited
    usage_end: u32,          // low bits of the sequence number that ends that window
    app_limited_until: u32,  // low bits of `delivered`
    flow: FlowId,
    dst: HostAddr,
    timer: Timer,
    backoff: u8,
    open: bool,
    app_limited: bool,
    paced_out: bool, // the pacing gate is shut
    calm: bool,      // nothing SACKed, lost, retransmitted or probed: ACKs take the short way
    send_cwr: bool,  // the next new segment says CWR
}

const _: () = assert!(size_of::<TcpSender>() <= 400, "sender state per flow");

/// What a law that paces, or wants to be woken, has set.
#[derive(Clone, Debug)]
struct Pace {
    rate: BitsPerSec, // zero: not by rate
    gap: Span,
    next: Time, // no segment leaves before
    wake_at: Time,
}

impl TcpSender {
    /// A flow that may send at once. `at` is what the law starts from; its seed belongs to this flow.
    pub fn new(cfg: &TcpConfig, spec: FlowSpec, law: &FlowParams, at: Start, now: Time) -> Self {
        let mut acts = Acts::default();
        let law = law.start(at, &mut acts);
        let segments = (cfg.initial_window.get().min(spec.size.get()) / cfg.mss()) as usize + 1;
        let mut sender = Self {
            totals: Totals { min_rtt: Span::MAX, ..Totals::default() },
            cwnd: cfg.initial_window.get(),
            ssthresh: u64::MAX,
            written: spec.size.get(),
            rwnd_end: cfg.receive_window.map_or(u64::MAX, Bytes::get),
            deadline: Time::MAX,
            timer_at: Time::MAX,
            delivered_at: now,
            first_sent: now,
            rtt: Rtt::default(),
            rack: Rack::NEW,
            board: Scoreboard::new(segments),
            law,
            pace: None,
            max_out: 0,
            usage_end: 0,
            app_limited_until: 0,
            flow: spec.flow,
            dst: spec.dst,
            timer: Timer::None,
            backoff: 0,
            open: spec.open,
            app_limited: false,
            paced_out: false,
            calm: true,
            send_cwr: false,
        };
        sender.apply(&acts);
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
        assert!(!last || self.totals.nxt < self.written, "FIN travels on the last byte");
    }

    /// When to call [`TcpSender::on_deadline`]; [`Time::MAX`]: never.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Whether a segment may leave now. Changes only by calls to `&mut self` methods.
    #[inline]
    pub fn ready(&self, cfg: &TcpConfig) -> bool {
        if self.paced_out {
            return false;
        }
        let left = self.written - self.totals.nxt;
        let len = left.min(cfg.mss());
        len > 0 && self.fits(len) && self.totals.nxt + len <= self.rwnd_end
    }

    /// Whether the window takes `len` bytes more. One segment in flight is always allowed, since laws
    /// with less than a segment's window pace it.
    #[inline]
    fn fits(&self, len: u64) -> bool {
        let inflight = self.totals.inflight.get();
        inflight + len <= self.cwnd || inflight == 0
    }

    /// The next segment, if one may leave now.
    #[inline]
    pub fn next_packet(&mut self, cfg: &TcpConfig, now: Time) -> Option<Packet> {
        if !self.ready(cfg) {
            return None;
        }
        Some(self.send_new(cfg, now))
    }

    /// Whether every byte of a closed flow is acknowledged.
    #[inline]
    pub fn finished(&self) -> bool {
        !self.open && self.totals.una == self.written
    }

    /// Bytes acknowledged in order.
    #[inline]
    pub fn acked(&self) -> Bytes {
        Bytes::new(self.totals.una)
    }

    /// Running totals, as the law sees them.
    #[inline]
    pub fn totals(&self) -> &Totals {
        &self.totals
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

    /// Retransmission timeout now in force, backoff included.
    pub fn rto(&self, cfg: &TcpConfig) -> Span {
        self.rtt.rto(cfg, self.totals.srtt, self.backoff)
    }

    /// Sends the next segment of new data.
    #[inline]
    fn send_new(&mut self, cfg: &TcpConfig, now: Time) -> Packet {
        if self.board.is_empty() {
            self.resume(cfg, now);
        }
        let seq = self.totals.nxt;
        let len = (self.written - seq).min(cfg.mss());
        let end = seq + len;
        let t = &mut self.totals;
        t.nxt = end;
        t.sent += len;
        t.inflight += Bytes::new(len);
        let mut segment = Segment {
            sent: now,
            end: end as u32,
            delivered: t.delivered as u32,
            inflight: t.inflight.get() as u32,
            cwnd: self.cwnd.min(u64::from(u32::MAX)) as u32,
            sends: 1,
            app_limited: self.app_limited,
            ..Segment::default()
        };
        segment.set_lags(now.since(self.first_sent), now.since(self.delivered_at));
        self.board.push(segment);
        self.note_usage(cfg);
        self.arm_after_send(cfg, now);
        if self.pace.is_some() {
            self.pace_out(cfg, now, len);
        }
        let fin = end == self.written && !self.open;
        let cwr = core::mem::take(&mut self.send_cwr);
        self.packet(cfg, now, seq, len)
            .with_flags(Flags::NONE.with_if(fin, Flags::FIN).with_if(cwr, Flags::CWR))
            .with_ecn(if cfg.ecn() { Ecn::Ect } else { Ecn::NotEct })
    }

    /// A data packet of `len` bytes from `seq` on.
    #[inline]
    fn packet(&self, cfg: &TcpConfig, now: Time, seq: u64, len: u64) -> Outgoing {
        Outgoing(Packet {
            flow: self.flow,
            dst: self.dst,
            size: (len + cfg.header.get()) as u16,
            kind: Kind::Data,
            class: cfg.data_class,
            stamp: stamp(now),
            seq,
            ..Packet::default()
        })
    }

    /// Something leaves and nothing was in flight.
    fn resume(&mut self, cfg: &TcpConfig, now: Time) {
        let idle = now.since(self.first_sent);
        self.first_sent = now;
        self.delivered_at = now;
        if cfg.idle_restart && self.totals.sent > 0 {
            let rto = self.rtt.rto(cfg, self.totals.srtt, 0);
            self.tell(now, FlowEvent::TxStart { idle, rto });
        }
    }

    /// Whether the window, not the application, limits sending: true for a window of data after the
    /// window was last full (Linux `tcp_cwnd_validate`).
    #[inline]
    fn note_usage(&mut self, cfg: &TcpConfig) {
        let t = &mut self.totals;
        let out = (t.nxt - t.una) as u32;
        let full = t.inflight.get() + cfg.mss() > self.cwnd;
        let over = (t.una as u32).wrapping_sub(self.usage_end) as i32 >= 0;
        let limited_flag = self.usage_limited();
        if over || full || (!limited_flag && out > self.max_out) {
            self.set_usage(full, out);
        }
        self.app_limited = self.app_limited
            && (self.totals.delivered as u32).wrapping_sub(self.app_limited_until) as i32 <= 0;
        if self.totals.nxt == self.written && !full {
            self.app_limited = true;
            self.app_limited_until = (self.totals.delivered + self.totals.inflight.get()) as u32;
        }
    }

    #[inline]
    fn usage_limited(&self) -> bool {
        self.totals.cwnd_limited
    }

    #[inline]
    fn set_usage(&mut self, full: bool, out: u32) {
        self.totals.cwnd_limited = full;
        self.max_out = out;
        self.usage_end = self.totals.nxt as u32;
    }

    /// Tells the law and does what it says.
    fn tell(&mut self, now: Time, event: FlowEvent<'_>) {
        let mut acts = Acts::default();
        self.law.step(now, FlowSeen { totals: &self.totals, event }, &mut acts);
        self.apply(&acts);
    }

    /// Whether PRR, not the law, owns the window in use.
    #[inline]
    fn reducing(&self, _cfg: &TcpConfig) -> bool {
        self.totals.state == CaState::Recovery
    }

    #[inline]
    fn apply(&mut self, acts: &Acts<FlowAct>) {
        for act in acts.iter() {
            match act {
                FlowAct::Window(window) => self.cwnd = window.bytes().get(),
                FlowAct::Ssthresh(bytes) => self.ssthresh = bytes.get(),
                FlowAct::Rate(rate) => self.pace_mut().rate = rate,
                FlowAct::Gap(gap) => self.pace_mut().gap = gap,
                FlowAct::WakeAt(at) => {
                    let pace = self.pace_mut();
                    pace.wake_at = pace.wake_at.min(at);
                    self.settle_deadline();
                }
            }
        }
    }

    #[cold]
    fn pace_mut(&mut self) -> &mut Pace {
        self.pace.get_or_insert_with(|| {
            Box::new(Pace {
                rate: BitsPerSec::default(),
                gap: Span::ZERO,
                next: Time::ZERO,
                wake_at: Time::MAX,
            })
        })
    }

    /// Shuts the pacing gate for the time that `len` bytes and their header take.
    #[cold]
    fn pace_out(&mut self, cfg: &TcpConfig, now: Time, len: u64) {
        let Some(pace) = &mut self.pace else { return };
        let by_rate = if pace.rate == BitsPerSec::default() {
            Span::ZERO
        } else {
            pace.rate.time_for(Bytes::new(len + cfg.header.get()))
        };
        let from = pace.next.max(now);
        pace.next = from.saturating_add(by_rate.max(pace.gap));
        self.paced_out = pace.next > now;
        self.settle_deadline();
    }
}

/// A packet under construction.
struct Outgoing(Packet);

impl Outgoing {
    #[inline]
    fn with_flags(mut self, flags: Flags) -> Self {
        self.0.flags = flags;
        self
    }

    #[inline]
    fn with_ecn(mut self, ecn: Ecn) -> Packet {
        self.0.ecn = ecn;
        self.0
    }
}

/// The sender's clock on the wire: ns, wrapping.
#[inline]
fn stamp(now: Time) -> u32 {
    (now.as_ps() / 1_000) as u32
}
