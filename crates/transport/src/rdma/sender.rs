//! The requester: what may leave, when, and what to do about an answer.
//!
//! This file holds the state, transmission and the clock; `answers` takes ACKs, NACKs and CNPs, `repair` sends again.
//!
//! Invariants: `una <= nxt <= most`; segments tile `[una, nxt)`, and none has bytes of two messages; `inflight = nxt - una - sacked`.

mod answers;
mod repair;

use super::RdmaConfig;
use crate::acts::ControlledSender;
use crate::progress::progress;
use crate::scoreboard::{Scoreboard, Segment};
use crate::sender::{Burst, FlowSpec, Wait, stamp};
use forebay_laws::flow::{CaState, Flow, FlowEvent, FlowParams, FlowSeen, Totals, Window};
use forebay_laws::{Acts, Start};
use forebay_settings::{InflightCap, Recovery};
use forebay_units::{BitsPerSec, Bytes, Serializer, Span, Time};
use forebay_wire::{Ecn, Flags, FlowId, HostAddr, Kind, Packet};
use repair::Repair;
use std::collections::VecDeque;

/// Most bytes without an answer: offsets of segments from the oldest have 32 bits. A RoCE NIC has 2^23 packets at most (sequence
/// numbers of 24 bits).
const MOST_UNANSWERED: u64 = 1 << 31;

/// Requester half of a queue pair.
#[derive(Clone, Debug)]
pub struct QpSender {
    totals: Totals,
    window: Window,
    cap: u64,      // most bytes in `[una, nxt)`
    written: u64,  // bytes that the application has handed over so far
    most: u64,     // bytes that have ever left
    high_seq: u64, // the running episode ends here
    deadline: Time,
    timeout_at: Time,         // of the oldest packet
    wake_at: Time,            // for the law
    next_at: Time,            // no packet before
    left_at: Time,            // when the last packet left
    delivered_at: Time,       // when `totals.delivered` last rose
    first_sent: Time,         // when the segment delivered last had left
    pace: Option<Serializer>, // `None`: at the rate of the link
    line: BitsPerSec,
    gap: Span,
    board: Scoreboard,
    law: Flow,
    repair: Option<Box<Repair>>, // selective repeat, once something was lost
    messages: Option<Box<Messages>>, // where one was posted on an open stream, or began anew
    flow: FlowId,
    dst: HostAddr,
    last_size: u32, // of the last packet
    retransmits: u32,
    timeouts: u32,
    open: bool,
    shut: bool,            // until `next_at`
    held: bool,            // until the law has another rate
    not_ready: bool,       // the gate is shut by an RNR NAK
    rate_request_at: Time, // the first packet from then on requests a rate
}

/// Messages of a stream. With go-back-0 all of it is one, which may be sent once more.
#[derive(Clone, Debug, Default)]
struct Messages {
    before: u64,         // bytes acknowledged before it began anew
    again: u64,          // its packets below this were sent before
    ends: VecDeque<u64>, // of messages that are not acknowledged, ascending
    sent: usize,         // how many of these end where the next new byte begins, or before
    current: u64,        // end of the message to which the next new byte belongs
}

impl Messages {
    /// Whether what begins at `seq` was sent before the message began anew.
    fn covers(&self, seq: u64) -> bool {
        seq - self.before < self.again
    }

    /// A message that ends at `written` comes after all others, when everything up to `una` is acknowledged.
    fn post(&mut self, written: u64, una: u64) {
        while self.ends.front().is_some_and(|&end| end <= una) {
            self.ends.pop_front();
            self.sent -= 1;
        }
        self.ends.push_back(written);
    }

    /// Goes on to the message to which the byte at `nxt` belongs; bytes up to `written` have one.
    fn go_on(&mut self, nxt: u64, written: u64) {
        while self.ends.get(self.sent).is_some_and(|&end| end <= nxt) {
            self.sent += 1;
        }
        self.current = self.ends.get(self.sent).copied().unwrap_or(written);
    }
}

const _: () = assert!(size_of::<QpSender>() <= 400, "sender state per queue pair");

impl QpSender {
    /// A queue pair that may send at once. `at` is what the law starts from; its seed belongs to this flow.
    pub fn new(cfg: &RdmaConfig, spec: FlowSpec, law: &FlowParams, at: Start, now: Time) -> Self {
        let mut acts = Acts::default();
        let bdp = at.base_rtt.map(|base| at.line_rate.bytes_in(base).max(cfg.mtu));
        let initial_window = cfg.first_window().or(bdp).unwrap_or(at.initial_window);
        let law = law.start(Start { initial_window, ..at }, &mut acts);
        let segments = (initial_window.get().min(spec.size.get()) / cfg.mtu.get()) as usize + 1;
        let mut sender = Self {
            totals: Totals { min_rtt: Span::MAX, ..Totals::default() },
            window: Window::from_bytes(initial_window),
            cap: match cfg.max_inflight {
                InflightCap::None => MOST_UNANSWERED,
                InflightCap::Bdp => bdp.map_or(MOST_UNANSWERED, Bytes::get),
                InflightCap::Fixed(bytes) => bytes.get(),
            }
            .min(MOST_UNANSWERED),
            written: spec.size.get(),
            most: 0,
            high_seq: 0,
            deadline: Time::MAX,
            timeout_at: Time::MAX,
            wake_at: Time::MAX,
            next_at: Time::ZERO,
            left_at: Time::ZERO,
            delivered_at: now,
            first_sent: now,
            pace: None,
            line: at.line_rate,
            gap: Span::ZERO,
            board: Scoreboard::new(segments),
            law,
            repair: None,
            messages: None,
            flow: spec.flow,
            dst: spec.dst,
            last_size: 0,
            retransmits: 0,
            timeouts: 0,
            open: spec.open,
            shut: false,
            held: false,
            not_ready: false,
            rate_request_at: if cfg.needs.rate_request.is_some() { Time::ZERO } else { Time::MAX },
        };
        sender.apply(now, &acts);
        sender
    }

    /// The application posts a message of `bytes`, which shares no packet with others; `last` closes the flow, and the last packet
    /// carries FIN.
    ///
    /// # Panics
    /// If the flow is closed.
    pub fn app_write(&mut self, cfg: &RdmaConfig, bytes: Bytes, last: bool) {
        assert!(self.open, "the application writes after the last byte");
        self.written = self.written.saturating_add(bytes.get());
        self.open = !last;
        let (una, messages) = (self.totals.una, self.messages.get_or_insert_default());
        if cfg.recovery != Recovery::GoBackZero {
            messages.post(self.written, una);
        }
        messages.go_on(self.totals.nxt, self.written);
    }

    /// Finds the message to which the next new byte belongs, after `nxt` moved otherwise than by sending.
    fn settle_message(&mut self) {
        let Some(messages) = &mut self.messages else { return };
        messages.sent = messages.ends.partition_point(|&end| end <= self.totals.nxt);
        messages.go_on(self.totals.nxt, self.written);
    }

    /// What it notes of the oldest packet that is not acknowledged: what an answer will be about.
    #[inline]
    pub fn oldest(&self) -> Option<&Segment> {
        self.board.front()
    }

    progress!();

    /// Bytes acknowledged in order, since the message began anew.
    #[inline]
    pub fn acked(&self) -> Bytes {
        Bytes::new(self.totals.una - self.before())
    }

    /// Bytes sent before the message began anew; on the wire it counts from there.
    #[inline]
    fn before(&self) -> u64 {
        self.messages.as_ref().map_or(0, |messages| messages.before)
    }

    /// The law's window; [`Bytes::MAX`] if it sets none.
    pub fn window(&self) -> Bytes {
        if self.window == Window::UNBOUNDED { Bytes::MAX } else { self.window.bytes() }
    }

    /// The law's rate; that of the link if it sets none.
    pub fn rate(&self) -> BitsPerSec {
        self.pace.as_ref().map_or(self.line, Serializer::rate)
    }

    /// Packets sent again.
    pub fn retransmits(&self) -> u64 {
        self.retransmits.into()
    }

    /// Timeouts.
    pub fn timeouts(&self) -> u64 {
        self.timeouts.into()
    }

    /// What it waits for; as [`TcpSender::waits_for`](crate::TcpSender::waits_for), without a receive window.
    pub fn waits_for(&self, cfg: &RdmaConfig) -> Wait {
        if self.ready(cfg) {
            Wait::Nic
        } else if self.unsent() == 0 && !self.must_repeat() {
            Wait::Application
        } else if self.shut {
            Wait::Pacing
        } else {
            Wait::Congestion
        }
    }

    /// Whether a packet may leave now. Changes only by calls to `&mut self` methods.
    #[inline]
    pub fn ready(&self, cfg: &RdmaConfig) -> bool {
        !self.shut && !self.held && (self.must_repeat() || self.new_fits(cfg))
    }

    /// The next packet, if one may leave now: a repetition, else new data.
    #[inline]
    pub fn next_packet(&mut self, cfg: &RdmaConfig, now: Time) -> Option<Packet> {
        if self.shut || self.held {
            return None;
        }
        if self.repair.is_some()
            && let Some(again) = self.repeat(cfg, now)
        {
            return Some(again);
        }
        self.new_fits(cfg).then(|| self.send(cfg, now))
    }

    /// The next packet as a burst for the NIC. A queue pair cuts packets itself, so a burst is one packet.
    pub fn next_burst(&mut self, cfg: &RdmaConfig, now: Time) -> Option<Burst> {
        let first = self.next_packet(cfg, now)?;
        Some(Burst { first, payload: u64::from(first.size) - cfg.header.get() })
    }

    /// The clock has come to [`QpSender::deadline`]. Calling earlier changes nothing.
    pub fn on_deadline(&mut self, cfg: &RdmaConfig, now: Time) {
        if now < self.deadline {
            return;
        }
        if now >= self.next_at {
            self.shut = false;
            self.end_not_ready(cfg);
        }
        if now >= self.wake_at {
            self.wake_at = Time::MAX;
            self.notify(now, FlowEvent::Wake);
        }
        if now >= self.timeout_at {
            self.on_timeout(cfg, now);
        }
        self.settle_deadline();
    }

    /// Payload of the next new packet; zero if there is none.
    #[inline]
    fn new_len(&self, cfg: &RdmaConfig) -> u64 {
        let end = self.messages.as_ref().map_or(self.written, |messages| messages.current);
        (end - self.totals.nxt).min(cfg.mtu.get())
    }

    /// Whether there is new data and the window takes it. One packet under way is always allowed, since laws with less
    /// than a packet's window pace it.
    #[inline]
    fn new_fits(&self, cfg: &RdmaConfig) -> bool {
        self.fits(self.new_len(cfg))
    }

    #[inline]
    fn fits(&self, len: u64) -> bool {
        let inflight = self.totals.inflight.get();
        len > 0 && (inflight == 0 || (!self.is_capped(len) && inflight < self.window.bytes().get()))
    }

    /// Whether `len` more bytes under way exceed the most that may be, whatever the law says.
    #[inline]
    fn is_capped(&self, len: u64) -> bool {
        self.totals.nxt - self.totals.una + len > self.cap
    }

    /// Whether it is the law's window that holds the next packet back. Where the cap does, a larger window changes nothing, and a law
    /// that grows full windows must not take this one for full.
    #[inline]
    fn window_binds(&self, cfg: &RdmaConfig) -> bool {
        let inflight = self.totals.inflight.get();
        inflight > 0 && inflight >= self.window.bytes().get() && !self.is_capped(cfg.mtu.get())
    }

    /// Sends the next packet of what is not under way.
    #[inline]
    fn send(&mut self, cfg: &RdmaConfig, now: Time) -> Packet {
        let len = self.new_len(cfg);
        let seq = self.totals.nxt;
        let again = seq < self.most || self.messages.as_ref().is_some_and(|of| of.covers(seq));
        self.retransmits += u32::from(again);
        self.totals.nxt += len;
        if let Some(messages) = &mut self.messages
            && messages.current == self.totals.nxt
        {
            messages.go_on(self.totals.nxt, self.written);
        }
        self.most = self.most.max(self.totals.nxt);
        self.totals.inflight += Bytes::new(len);
        let sends = 1 + u8::from(again);
        let grows = self.board.room() == 0;
        if let (true, Some(repair)) = (grows, &mut self.repair) {
            repair.regrow(&self.board);
        }
        let end = self.totals.nxt as u32;
        self.board.push(Segment { end, sends, ..self.segment(now) });
        if self.board.len() == 1 {
            self.timeout_at = now.saturating_add(self.timeout(cfg));
        }
        self.leave(cfg, now, seq, len, again)
    }

    /// What the scoreboard notes of a transmission at `now`, but for its end and count.
    fn segment(&self, now: Time) -> Segment {
        let mut segment = Segment {
            sent: now,
            delivered: self.totals.delivered as u32,
            inflight: self.totals.inflight.get() as u32,
            cwnd: self.window.bytes().get().min(u64::from(u32::MAX)) as u32,
            app_limited: false,
            ..Segment::default()
        };
        segment.set_lags(now.since(self.first_sent), now.since(self.delivered_at));
        segment
    }

    /// A packet of `len` bytes from `seq` leaves.
    #[inline]
    fn leave(&mut self, cfg: &RdmaConfig, now: Time, seq: u64, len: u64, again: bool) -> Packet {
        self.totals.sent += len;
        let size = len + cfg.header.get();
        let fin = seq + len == self.written && !self.open;
        let seq = seq - self.before();
        (self.left_at, self.last_size) = (now, size as u32);
        if self.pace.is_some() || self.gap > Span::ZERO {
            self.shut_gate();
        }
        if cfg.needs.sent {
            self.notify(now, FlowEvent::Sent { bytes: Bytes::new(len) });
        }
        self.settle_deadline();
        let requests_rate = now >= self.rate_request_at;
        if requests_rate {
            let every = cfg.needs.rate_request.unwrap_or(Span::MAX);
            self.rate_request_at = self.rate_request_at.saturating_add(every);
            if self.rate_request_at <= now {
                self.rate_request_at = now.saturating_add(every);
            }
        }
        let last = !self.new_fits(cfg) && !self.must_repeat();
        let flags = Flags::NONE
            .with_if(fin, Flags::FIN)
            .with_if(last, Flags::PSH)
            .with_if(again, Flags::RETRANSMIT)
            .with_if(cfg.needs.int, Flags::TELEMETRY)
            .with_if(requests_rate, Flags::RATE_REQUEST);
        Packet {
            flow: self.flow,
            dst: self.dst,
            size: size as u16,
            kind: Kind::Data,
            ecn: if cfg.ecn() { Ecn::Ect } else { Ecn::NotEct },
            class: cfg.data_class,
            flags,
            stamp: stamp(now),
            seq,
            ..Packet::default()
        }
    }

    /// The gate stays shut for as long as the last packet takes at the law's rate, or for its gap.
    fn shut_gate(&mut self) {
        let size = u64::from(self.last_size);
        let takes = self.pace.as_mut().map_or(Span::ZERO, |pace| pace.take(size));
        let open = self.left_at.saturating_add(takes.max(self.gap));
        self.next_at = if self.not_ready { open.max(self.next_at) } else { open };
        self.shut = true;
    }

    /// The gate, under a new rate or gap: open at once where it should have been before.
    fn reopen(&mut self, now: Time) {
        if self.shut {
            self.shut_gate();
            self.shut = self.next_at > now;
            self.settle_deadline();
        }
    }

    /// Recomputes the stored deadline.
    #[inline]
    fn settle_deadline(&mut self) {
        let gate = if self.shut { self.next_at } else { Time::MAX };
        self.deadline = gate.min(self.timeout_at).min(self.wake_at);
    }

    /// Tells the law and does what it says.
    #[inline]
    fn notify(&mut self, now: Time, event: FlowEvent<'_>) {
        let mut acts = Acts::default();
        self.law.step(now, FlowSeen { totals: &self.totals, event }, &mut acts);
        if !acts.is_empty() {
            self.apply(now, &acts);
        }
    }

    /// How long the oldest packet may stay without an answer.
    fn timeout(&self, cfg: &RdmaConfig) -> Span {
        let few = self.board.len() <= cfg.rto_low_packets as usize;
        if few { cfg.rto_low } else { cfg.timeout }
    }
}

impl ControlledSender for QpSender {
    #[inline]
    fn set_window(&mut self, window: Window) {
        self.window = window;
    }

    fn set_ssthresh(&mut self, bytes: Bytes) {
        let enters = matches!(self.totals.state, CaState::Cwr | CaState::Recovery);
        if enters && bytes != Bytes::MAX {
            self.window = self.window.min(Window::from_bytes(bytes));
        }
    }

    /// Another rate. What waits leaves as if the last packet had left at this one.
    fn set_rate(&mut self, now: Time, rate: BitsPerSec) {
        self.held = false;
        if rate != self.rate() {
            self.pace = (rate < self.line).then(|| Serializer::new(rate));
            self.reopen(now);
        }
    }

    fn set_gap(&mut self, now: Time, gap: Span) {
        if gap != self.gap {
            self.gap = gap;
            self.reopen(now);
        }
    }

    fn hold(&mut self) {
        self.held = true;
    }

    fn wake_at(&mut self, at: Time) {
        self.wake_at = self.wake_at.min(at);
        self.settle_deadline();
    }
}
