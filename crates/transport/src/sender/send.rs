//! Transmission: what may leave now, and how it leaves.
//!
//! Source: Linux `net/ipv4/tcp_output.c` (`tcp_write_xmit`, `tcp_xmit_retransmit_queue`, `tcp_update_pacing_rate`).

use super::burst::WINDOW_SHARE;
use super::repair::{Probe, Repair, Retransmission};
use super::{PACED, TcpSender, stamp};
use crate::TcpConfig;
use crate::marks::Mark;
use crate::scoreboard::Segment;
use forebay_laws::flow::{CaState, FlowEvent};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Ecn, Flags, Kind, Packet};

/// The segment with this number is the first after which the stack paces.
const UNPACED: u64 = 10;

impl TcpSender {
    /// Whether a segment may leave now. Changes only by calls to `&mut self` methods.
    #[inline]
    pub fn ready(&self, cfg: &TcpConfig) -> bool {
        if !self.calm {
            return self.ready_slow(cfg);
        }
        self.shut == 0 && self.new_fits(cfg)
    }

    /// The next segment, if one may leave now: a probe, else a retransmission, else new data.
    #[inline]
    pub fn next_packet(&mut self, cfg: &TcpConfig, now: Time) -> Option<Packet> {
        if !self.calm {
            return self.next_slow(cfg, now);
        }
        if self.shut != 0 || !self.new_fits(cfg) {
            return None;
        }
        Some(self.send_new::<false>(cfg, now, self.new_len(cfg)))
    }

    /// Payload of the next new segment; zero if there is none.
    #[inline]
    pub(super) fn new_len(&self, cfg: &TcpConfig) -> u64 {
        (self.written - self.totals.nxt).min(cfg.mss())
    }

    #[inline]
    pub(super) fn new_fits(&self, cfg: &TcpConfig) -> bool {
        let len = self.new_len(cfg);
        len > 0 && self.fits(len) && self.totals.nxt + len <= self.rwnd_end
    }

    /// Whether there is new data that the receiver takes.
    pub(super) fn may_send_new(&self, cfg: &TcpConfig) -> bool {
        let len = self.new_len(cfg);
        len > 0 && self.totals.nxt + len <= self.rwnd_end
    }

    /// Whether the window takes `len` bytes more. One segment in flight is always allowed, since laws
    /// with less than a segment's window pace it.
    #[inline]
    pub(super) fn fits(&self, len: u64) -> bool {
        let inflight = self.totals.inflight.get();
        inflight + len <= self.cwnd || inflight == 0
    }

    /// Sends the next segment of new data; `COUNTED`: for a module, which counts packets.
    #[inline]
    fn send_new<const COUNTED: bool>(&mut self, cfg: &TcpConfig, now: Time, len: u64) -> Packet {
        if self.board.is_empty() {
            self.resume(cfg, now);
        }
        self.send_data::<COUNTED>(cfg, now, len)
    }

    /// Sends `len` bytes of new data, in segments that leave together. Returns the first, with the flags of all. `COUNTED`: for a module.
    #[inline]
    pub(super) fn send_data<const COUNTED: bool>(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        len: u64,
    ) -> Packet {
        if COUNTED {
            self.before_data(cfg, now);
        }
        let seq = self.totals.nxt;
        let end = seq + len;
        self.totals.nxt = end;
        self.totals.inflight += Bytes::new(len);
        let mut segment = Segment { sends: 1, ..self.segment(now) };
        if COUNTED {
            self.note_delivered(&mut segment);
        }
        self.totals.sent += len;
        let mut at = seq;
        while at < end {
            at = end.min(at + cfg.mss());
            if self.board.len() == self.board.capacity() {
                self.make_room();
            }
            self.board.push(Segment { end: at as u32, ..segment });
        }
        if COUNTED {
            self.note_packets(cfg, now);
        } else {
            self.note_usage(cfg);
        }
        self.arm_after_send(cfg, now);
        if self.pace.is_some() {
            self.pace_out(cfg, now, len);
        }
        let cwr = core::mem::take(&mut self.send_cwr);
        let fin = end == self.written && !self.open;
        let push = cfg.host.psh && len > cfg.mss();
        let ends = Flags::NONE.with_if(fin, Flags::FIN).with_if(push, Flags::PSH);
        let flags = ends.with_if(cwr, Flags::CWR);
        let ecn = if cfg.ecn() { Ecn::Ect } else { Ecn::NotEct };
        Packet { flags, ecn, ..self.packet(cfg, now, seq, len.min(cfg.mss())) }
    }

    /// What the scoreboard notes of a transmission at `now`, but for its end and count.
    #[inline]
    fn segment(&self, now: Time) -> Segment {
        let mut segment = Segment {
            sent: now,
            delivered: self.totals.delivered as u32,
            inflight: self.totals.inflight.get() as u32,
            cwnd: self.cwnd.min(u64::from(u32::MAX)) as u32,
            app_limited: self.app_limited,
            ..Segment::default()
        };
        segment.set_lags(now.since(self.first_sent), now.since(self.delivered_at));
        segment
    }

    /// A segment notes the packets delivered instead of the bytes in flight and the window: a module's rate samples count packets.
    fn note_delivered(&self, segment: &mut Segment) {
        if let Some(m) = &self.module {
            (segment.inflight, segment.cwnd) = m.noted();
        }
    }

    /// A data packet of `len` bytes from `seq` on.
    #[inline]
    fn packet(&self, cfg: &TcpConfig, now: Time, seq: u64, len: u64) -> Packet {
        Packet {
            flow: self.flow,
            dst: self.dst,
            size: (len + cfg.header.get()) as u16,
            kind: Kind::Data,
            class: cfg.data_class,
            stamp: stamp(now),
            seq,
            ..Packet::default()
        }
    }

    /// Marks move with the ring that is about to grow.
    #[cold]
    fn make_room(&mut self) {
        if let Some(r) = &mut self.repair {
            r.marks.regrow(&self.board);
        }
    }

    /// Something leaves and nothing was outstanding.
    pub(super) fn resume(&mut self, cfg: &TcpConfig, now: Time) {
        let idle = now.since(self.first_sent);
        self.first_sent = now;
        self.delivered_at = now;
        if self.module.is_some() {
            return self.module_resumes(cfg, now, idle);
        }
        if cfg.slow_start_after_idle && self.totals.sent > 0 {
            let rto = self.rtt.rto(cfg, self.totals.srtt, 0);
            self.notify(now, FlowEvent::TxStart { idle, rto });
        }
    }

    /// Whether the window or the application limits sending (Linux `tcp_cwnd_validate` and
    /// `tcp_rate_check_app_limited`). A window that was filled once counts as filled for a window of
    /// data.
    #[inline]
    fn note_usage(&mut self, cfg: &TcpConfig) {
        let t = &mut self.totals;
        let inflight = t.inflight.get();
        let full = inflight + cfg.mss() > self.cwnd;
        let out = self.board.len() as u32;
        let over = (t.una as u32).wrapping_sub(self.usage_end) as i32 >= 0;
        if cfg.gentle_growth && (over || full || (!t.cwnd_limited && out > t.most_out)) {
            t.cwnd_limited = full;
            t.most_out = out;
            self.usage_end = t.nxt as u32;
        }
        if self.app_limited {
            let bubble = (t.delivered as u32).wrapping_sub(self.app_limited_until) as i32 <= 0;
            self.app_limited = bubble;
        }
        if t.nxt == self.written && !full {
            self.app_limited = true;
            self.app_limited_until = (t.delivered + inflight) as u32;
        }
    }

    /// The rule before 3.16: the window is full if what the ACK finds in flight leaves no more than what slow start with
    /// delayed ACKs sends at once, or, with TSO, than what a super-packet waits for.
    ///
    /// Source: Linux 2.6.34 `tcp_is_cwnd_limited`, with `tcp_max_burst` at its default.
    #[cold]
    pub(super) fn note_usage_at_ack(&mut self, cfg: &TcpConfig) {
        let left = self.cwnd.saturating_sub(self.totals.inflight.get());
        let waits = cfg
            .host
            .super_packet()
            .is_some_and(|most| left.saturating_mul(WINDOW_SHARE) < self.cwnd && left < most.get());
        self.totals.cwnd_limited = waits || left <= 3 * cfg.mss();
    }

    /// The window was filled, though not to the last segment.
    pub(super) fn note_full_window(&mut self) {
        let t = &mut self.totals;
        t.cwnd_limited = true;
        t.most_out = self.board.len() as u32;
        self.usage_end = t.nxt as u32;
    }

    /// Shuts the pacing gate for the time that `len` bytes and their header take.
    #[cold]
    fn pace_out(&mut self, cfg: &TcpConfig, now: Time, len: u64) {
        let by_stack = match self.module_gap(cfg, len) {
            Some(gap) => gap,
            None if cfg.host.paces() || self.module.is_some() => self.stack_gap(cfg, len),
            None => Span::ZERO,
        };
        let Some(pace) = &mut self.pace else { return };
        let by_rate = match &mut pace.rate {
            Some(rate) => rate.take(len + cfg.header.get()),
            None if pace.gap == Span::ZERO => by_stack,
            None => Span::ZERO,
        };
        let from = pace.next.max(now);
        pace.next = from.saturating_add(by_rate.max(pace.gap));
        self.shut = if pace.next > now { self.shut | PACED } else { self.shut & !PACED };
        self.settle_deadline();
    }

    /// How long the pacing of the stack shuts the gate after `len` bytes of payload: the share of a round-trip time that
    /// they have of the window. Not within the first ten segments.
    ///
    /// Source: Linux `tcp_update_skb_after_send`.
    /// Deviation: the rate is that of the moment of sending, not of the last ACK, and nothing is made up for what
    /// leaves late.
    fn stack_gap(&self, cfg: &TcpConfig, len: u64) -> Span {
        if self.is_unpaced(cfg) {
            return Span::ZERO;
        }
        let (window, tenths) = self.paced_window();
        let ps = u128::from(len) * u128::from(self.totals.srtt.as_ps()) * 10
            / (u128::from(window) * u128::from(tenths)).max(1);
        Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// Whether the flow is within its first segments, which nothing paces.
    pub(super) fn is_unpaced(&self, cfg: &TcpConfig) -> bool {
        self.totals.sent < UNPACED * cfg.mss()
    }

    /// As [`TcpSender::fits`], by packets where there is a module.
    pub(super) fn has_room(&self, cfg: &TcpConfig, len: u64) -> bool {
        match &self.module {
            Some(_) => self.window_room(cfg) > 0,
            None => self.fits(len),
        }
    }

    #[cold]
    #[inline(never)]
    fn ready_slow(&self, cfg: &TcpConfig) -> bool {
        let Some(r) = &self.repair else { return false };
        if self.fault().is_some() {
            return false;
        }
        if r.probe {
            return self.may_send_new(cfg) || !self.board.is_empty();
        }
        if self.shut & PACED != 0 {
            return false;
        }
        if r.lost > 0 && !r.prefer_new {
            return self.has_room(cfg, cfg.mss().min(r.lost));
        }
        self.shut == 0 && self.may_send_new(cfg) && self.has_room(cfg, self.new_len(cfg))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn next_slow(&mut self, cfg: &TcpConfig, now: Time) -> Option<Packet> {
        if !self.ready_slow(cfg) {
            return None;
        }
        let mut r = self.take_repair();
        let packet = if r.probe {
            self.send_probe(&mut r, cfg, now)
        } else if let Some(i) = self.lost_index(&mut r, cfg) {
            self.send_again(&mut r, cfg, now, i)
        } else {
            let len = self.burst_len_now(cfg, now);
            r.prr.sent(len, cfg.mss());
            self.count_prr(&r);
            // The scoreboard may grow, and with it what `r` marks.
            while self.board.room() < len.div_ceil(cfg.mss()) as usize {
                r.marks.regrow(&self.board);
                self.board.grow();
            }
            match self.module {
                None => self.send_data::<false>(cfg, now, len),
                Some(_) => self.send_data::<true>(cfg, now, len),
            }
        };
        self.put_repair(r);
        Some(packet)
    }

    fn lost_index(&mut self, r: &mut Repair, cfg: &TcpConfig) -> Option<usize> {
        if r.prefer_new { None } else { r.next_lost(&self.board, self.totals.una, cfg.mss()) }
    }

    /// Retransmits the lost segment `i`.
    fn send_again(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time, i: usize) -> Packet {
        self.before_data(cfg, now);
        let (start, len) = self.extent(i);
        r.lost -= len;
        r.lost_from = start + len;
        r.marks.set(self.board.place(i), Some(Mark::Resent));
        r.resent.push_back(Retransmission { at: now, start, next: self.totals.nxt });
        r.undo_retrans = Some(r.undo_retrans.unwrap_or(0) + 1);
        r.resent_first.get_or_insert(now);
        if matches!(self.totals.state, CaState::Recovery | CaState::Cwr) {
            r.prr.sent(len, cfg.mss());
            self.count_prr(r);
        }
        self.settle_inflight(r);
        let packet = self.transmit_again(r, cfg, now, i);
        if i == 0 {
            self.arm_after_head(cfg, now);
        }
        packet
    }

    /// Puts segment `i` on the wire once more.
    fn transmit_again(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time, i: usize) -> Packet {
        let (start, len) = self.extent(i);
        let old = *self.board.get(i);
        let mut renewed =
            Segment { end: old.end, sends: old.sends.saturating_add(1), ..self.segment(now) };
        self.note_delivered(&mut renewed);
        *self.board.get_mut(i) = renewed;
        self.totals.sent += len;
        r.retransmits += 1;
        if self.pace.is_some() {
            self.pace_out(cfg, now, len);
        }
        let fin = start + len == self.written && !self.open;
        let flags = Flags::RETRANSMIT.with_if(fin, Flags::FIN);
        Packet { flags, ..self.packet(cfg, now, start, len) }
    }

    /// A tail loss probe: new data if there is any, else the last segment again. The window does not
    /// limit it.
    fn send_probe(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time) -> Packet {
        r.probe = false;
        r.probes += 1;
        let retransmission = !self.may_send_new(cfg);
        let packet = if retransmission {
            let last = self.board.len() - 1;
            if r.marks.get(self.board.place(last)) == Some(Mark::Resent) {
                let (start, next) = (self.extent(last).0, self.totals.nxt);
                r.resent.push_back(Retransmission { at: now, start, next });
            }
            self.before_data(cfg, now);
            self.transmit_again(r, cfg, now, last)
        } else {
            if self.board.len() == self.board.capacity() {
                r.marks.regrow(&self.board);
            }
            let len = self.new_len(cfg);
            r.prr.sent(len, cfg.mss());
            match self.module {
                None => self.send_new::<false>(cfg, now, len),
                Some(_) => self.send_new::<true>(cfg, now, len),
            }
        };
        r.tlp = Some(Probe { high_seq: self.totals.nxt, retransmission });
        self.arm_rto(cfg, now);
        packet
    }
}
