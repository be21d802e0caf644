//! The clock: one retransmission timer in three roles, the pacing gate and the law's wake-up.
//!
//! Source: RFC 6298, RFC 8985 (RACK and TLP) and RFC 9293 section 3.8.6.1 (zero windows), as Linux `net/ipv4/tcp_timer.c` has them.

use super::{PACED, TcpSender};
use crate::TcpConfig;
use crate::marks::Mark;
use crate::prr::Delivery;
use forebay_laws::flow::{CaState, FlowEvent};
use forebay_units::{Span, Time};

/// What the timer is for. As in Linux there is one: the earliest concern holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timer {
    None,
    Rto,
    /// Tail loss probe.
    Probe,
    /// RACK waits for what may only be late.
    Reorder,
}

/// Probe timeout before the first round-trip sample.
const PROBE_INITIAL: Span = Span::from_secs(1);

impl TcpSender {
    /// The clock has come to [`TcpSender::deadline`]. Calling earlier changes nothing.
    pub fn on_deadline(&mut self, cfg: &TcpConfig, now: Time) {
        if now < self.deadline {
            return;
        }
        if self.pace.is_some() {
            self.on_pace(now);
        }
        if now >= self.timer_at {
            match self.timer {
                Timer::None => self.timer_at = Time::MAX,
                Timer::Rto => self.on_rto(cfg, now),
                Timer::Probe => self.on_probe(cfg, now),
                Timer::Reorder => self.on_reorder(cfg, now),
            }
        }
        self.settle_deferral(cfg, now);
        self.settle_deadline();
    }

    #[cold]
    fn on_pace(&mut self, now: Time) {
        let Some(pace) = &mut self.pace else { return };
        if pace.next <= now {
            self.shut &= !PACED;
        }
        if pace.wake_at <= now {
            pace.wake_at = Time::MAX;
            self.notify(now, FlowEvent::Wake);
        }
    }

    /// Recomputes the stored deadline.
    #[inline]
    pub(super) fn settle_deadline(&mut self) {
        self.deadline = self.timer_at;
        if let Some(pace) = &self.pace {
            let gate = if self.shut & PACED != 0 { pace.next } else { Time::MAX };
            self.deadline = self.deadline.min(gate).min(pace.wake_at);
        }
    }

    #[inline]
    fn set_timer(&mut self, timer: Timer, at: Time) {
        (self.timer, self.timer_at) = (timer, at);
        self.settle_deadline();
    }

    #[inline]
    fn timeout(&self, cfg: &TcpConfig) -> Span {
        self.rtt.rto(cfg, self.totals.srtt, self.backoff)
    }

    /// When the oldest segment times out, counted from its last transmission.
    #[inline]
    fn head_timeout(&self, cfg: &TcpConfig, now: Time) -> Time {
        let rto = self.timeout(cfg);
        let from = self.board.front().map_or(now, |head| head.sent);
        cfg.tick().expiry(now, from.saturating_add(rto).since(now).max(Span::from_ps(1)))
    }

    #[inline]
    fn probe_timeout(&self, cfg: &TcpConfig) -> Span {
        let srtt = self.totals.srtt;
        if srtt == Span::ZERO {
            return PROBE_INITIAL;
        }
        srtt * 2 + if self.board.len() == 1 { cfg.rto_min } else { cfg.tick().least_wait() }
    }

    #[inline]
    fn may_probe(&self, cfg: &TcpConfig) -> bool {
        // One test instead of three: every ACK and every new segment takes it.
        cfg.sack & cfg.tail_loss_probe & matches!(self.totals.state, CaState::Open | CaState::Cwr)
    }

    /// After an ACK: a probe, if `quiet` (nothing is SACKed and no probe is open), else the timeout.
    #[inline]
    pub(super) fn arm_on_ack(&mut self, cfg: &TcpConfig, now: Time, quiet: bool) {
        if self.board.is_empty() {
            return self.set_timer(Timer::None, Time::MAX);
        }
        if quiet && self.may_probe(cfg) {
            let wait = self.probe_timeout(cfg).min(self.timeout(cfg));
            return self.set_timer(Timer::Probe, cfg.tick().expiry(now, wait));
        }
        let at = match self.timer {
            Timer::Probe | Timer::Reorder => self.head_timeout(cfg, now),
            Timer::None | Timer::Rto => cfg.tick().expiry(now, self.timeout(cfg)),
        };
        self.set_timer(Timer::Rto, at);
    }

    /// After new data left.
    #[inline]
    pub(super) fn arm_after_send(&mut self, cfg: &TcpConfig, now: Time) {
        let calm = self.calm || self.module.as_ref().is_some_and(|m| m.calm);
        if calm && self.may_probe(cfg) {
            let at = cfg.tick().expiry(now, self.probe_timeout(cfg));
            return self.set_timer(Timer::Probe, at.min(self.head_timeout(cfg, now)));
        }
        if matches!(self.timer, Timer::None) {
            self.arm_rto(cfg, now);
        }
    }

    /// After the oldest segment was retransmitted.
    pub(super) fn arm_after_head(&mut self, cfg: &TcpConfig, now: Time) {
        if self.timer != Timer::Reorder {
            self.arm_rto(cfg, now);
        }
    }

    /// The full timeout from now on.
    pub(super) fn arm_rto(&mut self, cfg: &TcpConfig, now: Time) {
        self.set_timer(Timer::Rto, cfg.tick().expiry(now, self.timeout(cfg)));
    }

    /// RACK looks again in `wait`.
    pub(super) fn arm_reorder(&mut self, cfg: &TcpConfig, now: Time, wait: Span) {
        let wait = (wait + cfg.tick().least_wait()).min(self.timeout(cfg));
        self.set_timer(Timer::Reorder, cfg.tick().expiry(now, wait));
    }

    #[cold]
    fn on_probe(&mut self, cfg: &TcpConfig, now: Time) {
        let mut r = self.take_repair();
        r.probe = r.tlp.is_none();
        self.arm_rto(cfg, now);
        self.put_repair(r);
    }

    #[cold]
    fn on_reorder(&mut self, cfg: &TcpConfig, now: Time) {
        let mut r = self.take_repair();
        let lost = r.lost;
        self.detect(&mut r, cfg, now);
        if r.lost > lost && self.totals.state != CaState::Recovery {
            self.enter_recovery(&mut r, cfg, now, false);
            self.settle_inflight(&r);
            self.reduce(&mut r, cfg, now, Delivery { newly: cfg.mss(), clean_advance: false });
            self.end_event(now);
        }
        let at = self.head_timeout(cfg, now);
        self.set_timer(Timer::Rto, at);
        self.put_repair(r);
    }

    /// The retransmission timeout: everything old enough counts as lost, and slow start begins anew.
    #[cold]
    fn on_rto(&mut self, cfg: &TcpConfig, now: Time) {
        let mut r = self.take_repair();
        let state = self.totals.state;
        let opened = matches!(state, CaState::Open | CaState::Disorder);
        let again = state == CaState::Loss && r.rto_sends == 0;
        let afresh = opened || again || self.totals.una >= r.high_seq;
        if opened && r.marks.count(Mark::Sacked) >= 3 {
            r.reordering = r.reordering.min(3);
        }
        self.condemn(&mut r, cfg, now);
        self.settle_inflight(&r);
        if self.module.is_some() {
            self.module_enters_loss(&mut r, cfg, now, afresh);
        } else if afresh {
            if !opened {
                self.leave(cfg, now);
            }
            r.prior_cwnd = self.cwnd;
            r.prior_ssthresh = self.ssthresh;
            r.begin_undo(self.totals.una);
        }
        r.frto = cfg.frto && (opened || state == CaState::Cwr || r.rto_sends > 0);
        r.prefer_new = false;
        (r.tlp, r.probe) = (None, false);
        r.high_seq = self.totals.nxt;
        r.timeouts += 1;
        r.rto_sends += 1;
        self.send_cwr = cfg.ecn();
        if self.module.is_none() {
            self.totals.state = CaState::Loss;
            self.held = false;
            self.cwnd = self.totals.inflight.get() + cfg.mss();
            self.notify(now, FlowEvent::Enter(CaState::Loss));
        }
        self.backoff = self.backoff.saturating_add(1);
        self.arm_rto(cfg, now);
        self.put_repair(r);
    }

    /// Marks the oldest segment lost, and every other that is not SACKed and has been out for longer
    /// than the newest round-trip time.
    fn condemn(&mut self, r: &mut super::Repair, cfg: &TcpConfig, now: Time) {
        if !cfg.sack {
            (r.dup_acks, r.sacked) = (0, 0);
        }
        let mut i = 0;
        while let Some(k) = r.marks.find_unsacked(&self.board, i, self.board.len()) {
            let recent = now.since(self.board.get(k).sent) < self.rack.rtt;
            if k == 0 || !cfg.sack || !cfg.rack || !recent {
                let (start, len) = self.extent(k);
                r.mark_lost(self.board.place(k), start, len);
            }
            i = k + 1;
        }
    }
}
