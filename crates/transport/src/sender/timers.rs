//! The clock: one retransmission timer in three roles, the pacing gate and the law's wake-up.
//!
//! Source: tcp-baseline sections 3, 5, 6 and 7.

use super::TcpSender;
use crate::TcpConfig;
use forebay_laws::flow::{CaState, FlowEvent};
use forebay_units::{Bytes, Time};

/// What the timer is for. As in Linux there is one: the earliest concern holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timer {
    None,
    Rto,
}

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
            self.on_rto(cfg, now);
        }
        self.settle_deadline();
    }

    #[cold]
    fn on_pace(&mut self, now: Time) {
        let Some(pace) = &mut self.pace else { return };
        self.paced_out = self.paced_out && pace.next > now;
        if pace.wake_at <= now {
            pace.wake_at = Time::MAX;
            self.tell(now, FlowEvent::Wake);
        }
    }

    /// Arms the timer anew, from `now` on.
    #[inline]
    pub(super) fn arm(&mut self, cfg: &TcpConfig, now: Time) {
        if self.board.is_empty() {
            (self.timer, self.timer_at) = (Timer::None, Time::MAX);
        } else {
            let rto = self.rtt.rto(cfg, self.totals.srtt, self.backoff);
            (self.timer, self.timer_at) = (Timer::Rto, now.saturating_add(rto));
        }
        self.settle_deadline();
    }

    #[inline]
    pub(super) fn arm_after_send(&mut self, cfg: &TcpConfig, now: Time) {
        if self.timer == Timer::None {
            self.arm(cfg, now);
        }
    }

    /// Recomputes the stored deadline.
    #[inline]
    pub(super) fn settle_deadline(&mut self) {
        self.deadline = self.timer_at;
        if let Some(pace) = &self.pace {
            let gate = if self.paced_out { pace.next } else { Time::MAX };
            self.deadline = self.deadline.min(gate).min(pace.wake_at);
        }
    }

    /// First cut: everything outstanding is sent again.
    #[cold]
    fn on_rto(&mut self, cfg: &TcpConfig, now: Time) {
        self.backoff = self.backoff.saturating_add(1);
        while !self.board.is_empty() {
            self.board.pop();
        }
        self.totals.nxt = self.totals.una;
        self.totals.inflight = Bytes::ZERO;
        self.totals.state = CaState::Loss;
        self.tell(now, FlowEvent::Enter(CaState::Loss));
        self.totals.state = CaState::Open;
        self.tell(now, FlowEvent::Leave(CaState::Loss));
        self.arm(cfg, now);
    }
}
