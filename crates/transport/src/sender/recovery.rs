//! The congestion state machine: entering and leaving episodes, loss marking, F-RTO, undo.
//!
//! Source: Linux `net/ipv4/tcp_input.c` (`tcp_fastretrans_alert`, `tcp_process_loss`); RFC 6675, RFC 5682 (F-RTO), RFC 3168.
//! Deviation from RFC 3168, as Linux does: `Cwr` ends when something above `high_seq` is acknowledged,
//! not `high_seq` itself. The ACK of `high_seq` still echoes the marks of the old window under the
//! classic echo, since CWR has not reached the receiver, and would cut the same window twice.

use super::TcpSender;
use super::repair::Repair;
use super::slow_path::Work;
use crate::TcpConfig;
use crate::marks::Mark;
use crate::prr::Prr;
use forebay_laws::flow::{CaState, FlowEvent};
use forebay_units::{Span, Time};

impl TcpSender {
    /// Leaves `Cwr` or `Recovery` if the ACK has come to its end, before the law gets the ACK, which may so grow the window.
    /// Returns whether recovery is held on though it has ended.
    pub(super) fn end_episode(
        &mut self,
        r: &mut Repair,
        cfg: &TcpConfig,
        now: Time,
        w: &Work,
    ) -> bool {
        if w.ece {
            self.forbid_undo(r);
        }
        let una = self.totals.una;
        if self.totals.state == CaState::Cwr && una > r.high_seq {
            if self.module.is_some() {
                self.module_leaves_cwr(cfg, now);
            } else {
                self.leave(cfg, now);
            }
        }
        self.totals.state == CaState::Recovery
            && una >= r.high_seq
            && self.end_recovery(r, cfg, now, w)
    }

    /// What else an ACK does to the state.
    pub(super) fn machine(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time, w: &mut Work) {
        match self.totals.state {
            CaState::Recovery => {
                if w.advanced && self.undo_partial(r, cfg, now, w) {
                    return;
                }
                if self.undo_by_dsack(r, cfg, now) {
                    self.try_to_open(r, cfg, now, w);
                }
                self.find_losses(r, cfg, now, w);
                if self.totals.state == CaState::Recovery {
                    return;
                }
            }
            CaState::Loss => {
                self.in_loss(r, cfg, now, w);
                self.find_losses(r, cfg, now, w);
                if self.totals.state == CaState::Loss && !w.resent_lost {
                    return;
                }
            }
            CaState::Open | CaState::Disorder => {
                if !cfg.sack && w.advanced {
                    r.dup_acks = 0;
                    self.settle_duplicates(r, cfg);
                }
                self.undo_by_dsack(r, cfg, now);
                self.find_losses(r, cfg, now, w);
            }
            CaState::Cwr => self.find_losses(r, cfg, now, w),
        }
        if r.lost > 0 {
            self.enter_recovery(r, cfg, now, w.ece);
        } else {
            self.try_to_open(r, cfg, now, w);
        }
    }

    /// Nothing needs repair: `Open`, or `Disorder` while something is still unclear; `Cwr` on a mark.
    fn try_to_open(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time, w: &Work) {
        if r.marks.count(Mark::Resent) == 0 {
            r.resent_first = None;
        }
        if w.ece && matches!(self.totals.state, CaState::Open | CaState::Disorder) {
            self.enter_cwr(r, cfg, now);
        }
        if self.totals.state != CaState::Cwr {
            self.keep_open(r, cfg, now);
        }
    }

    pub(super) fn keep_open(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time) {
        let unclear = r.sacked > 0 || !r.marks.is_clear();
        let state = if unclear { CaState::Disorder } else { CaState::Open };
        if state != self.totals.state {
            self.set_state(cfg, now, state);
            r.high_seq = self.totals.nxt;
        }
    }

    /// One reduction for a window that was marked.
    pub(super) fn enter_cwr(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time) {
        if self.module.is_some() {
            return self.module_enters_cwr(r, cfg, now);
        }
        r.undo_marker = None;
        self.begin_reduction(r, cfg, now, CaState::Cwr);
        r.prior_ssthresh = 0;
    }

    /// Loss is evident. A reduction that runs already is not repeated.
    pub(super) fn enter_recovery(
        &mut self,
        r: &mut Repair,
        cfg: &TcpConfig,
        now: Time,
        marked: bool,
    ) {
        r.begin_undo(self.totals.una);
        if self.module.is_some() {
            return self.module_enters_recovery(r, cfg, now, marked);
        }
        if self.totals.state == CaState::Loss {
            self.leave(cfg, now);
            r.frto = false;
        }
        if self.totals.state == CaState::Cwr && self.held {
            r.prior_ssthresh = 0;
            self.totals.state = CaState::Recovery;
            self.notify(now, FlowEvent::Enter(CaState::Recovery));
            return;
        }
        self.begin_reduction(r, cfg, now, CaState::Recovery);
        if marked {
            r.prior_ssthresh = 0;
        }
    }

    fn begin_reduction(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time, state: CaState) {
        r.high_seq = self.totals.nxt;
        r.tlp = None;
        r.prior_cwnd = self.cwnd;
        r.prior_ssthresh = self.ssthresh;
        r.prr = Prr::new(self.cwnd);
        r.halving = 0;
        self.settle_inflight(r);
        self.totals.state = state;
        self.held = !(state == CaState::Cwr && cfg.needs.own_cwr);
        self.notify(now, FlowEvent::Enter(state));
        if !self.held {
            self.cwnd = self.cwnd.min(self.ssthresh);
        }
        self.send_cwr = cfg.ecn();
    }

    /// The episode is over, without undo.
    pub(super) fn leave(&mut self, cfg: &TcpConfig, now: Time) {
        let old = core::mem::replace(&mut self.totals.state, CaState::Open);
        let law_governs = old == CaState::Loss || (old == CaState::Cwr && cfg.needs.own_cwr);
        self.held = false;
        if !law_governs {
            self.cwnd = if cfg.prr { self.ssthresh } else { self.cwnd.min(self.ssthresh) };
        }
        self.notify(now, FlowEvent::Leave(old));
    }

    /// Recovery has reached its end. Returns whether it is held until something above is acknowledged,
    /// which without SACK keeps old duplicates from starting another one (RFC 6582).
    fn end_recovery(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time, w: &Work) -> bool {
        if !cfg.sack {
            r.dup_acks = 0;
            self.settle_duplicates(r, cfg);
        }
        if r.may_undo(w.original_arrived) {
            self.undo(r, cfg, now, false);
            if self.module.is_some() {
                self.module_leaves_recovery(cfg, now, true);
            }
            return false;
        }
        self.rack.persist = self.rack.persist.saturating_sub(1);
        if !cfg.sack && self.totals.una == r.high_seq {
            if r.marks.count(Mark::Resent) == 0 {
                r.resent_first = None;
            }
            return true;
        }
        if self.module.is_some() {
            self.module_leaves_recovery(cfg, now, false);
        } else {
            self.leave(cfg, now);
        }
        false
    }

    /// In recovery, a hole was filled by the delayed original: what was lost is in doubt altogether.
    fn undo_partial(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time, w: &Work) -> bool {
        if r.undo_marker.is_none() || !w.original_arrived {
            return false;
        }
        r.note_reordering(w.prior_una, self.totals.una, cfg.mss());
        if r.marks.count(Mark::Resent) > 0 {
            return true;
        }
        r.resent_first = None;
        self.undo(r, cfg, now, true);
        self.keep_open(r, cfg, now);
        true
    }

    /// Every retransmission was reported as a duplicate.
    fn undo_by_dsack(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time) -> bool {
        let all = r.undo_marker.is_some() && r.undo_retrans == Some(0);
        if all {
            self.undo(r, cfg, now, false);
        }
        all
    }

    /// Takes a reduction back; `unmark`: nothing counts as lost any more. A reduction that a mark also
    /// set stands; only its recovery ends.
    fn undo(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time, unmark: bool) {
        if unmark {
            let mut i = 0;
            while let Some(k) = r.marks.find(&self.board, i, self.board.len(), Mark::Lost) {
                r.marks.set(self.board.place(k), None);
                i = k + 1;
            }
            r.lost = 0;
        }
        self.settle_inflight(r);
        r.undo_marker = None;
        r.undos += 1;
        r.frto = false;
        self.rack.advanced = true; // look at every loss again
        if self.module.is_some() {
            return self.module_undoes(cfg, now);
        }
        if r.prior_ssthresh == 0 {
            if !matches!(self.totals.state, CaState::Open | CaState::Disorder) {
                self.leave(cfg, now);
            }
            return;
        }
        self.held = false;
        self.totals.state = CaState::Open;
        self.cwnd = self.cwnd.max(r.prior_cwnd);
        self.ssthresh = self.ssthresh.max(r.prior_ssthresh);
        self.notify(now, FlowEvent::Undo);
    }

    /// In `Loss`: was the timeout spurious, and is the episode over?
    fn in_loss(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time, w: &Work) {
        if w.advanced && r.may_undo(w.original_arrived) {
            self.undo_loss(r, cfg, now);
            return;
        }
        let recovered = self.totals.una >= r.high_seq;
        if r.frto {
            if w.original && r.undo_marker.is_some() {
                self.undo_loss(r, cfg, now);
                return;
            }
            if self.totals.nxt > r.high_seq {
                r.frto = !(w.sacked || w.duplicate); // the loss was real
            } else if w.advanced && !recovered {
                r.high_seq = self.totals.nxt;
                r.prefer_new = self.may_send_new(cfg);
                r.frto = r.prefer_new;
                if r.frto {
                    return;
                }
            }
        }
        if recovered {
            r.frto = false;
            self.rack.persist = self.rack.persist.saturating_sub(1);
            if self.module.is_some() {
                self.set_state(cfg, now, CaState::Open);
            } else {
                self.leave(cfg, now);
            }
        }
    }

    /// The timeout was spurious.
    fn undo_loss(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time) {
        self.undo(r, cfg, now, true);
        r.rto_sends = 0;
        if self.module.is_some() {
            self.set_state(cfg, now, CaState::Open);
        }
    }

    /// Whether the ACK begins a recovery: looks for losses. What is in flight stays as it was, for the law.
    pub(super) fn shows_loss(
        &mut self,
        r: &mut Repair,
        cfg: &TcpConfig,
        now: Time,
        w: &mut Work,
    ) -> bool {
        if !cfg.sack || !matches!(self.totals.state, CaState::Open | CaState::Disorder) {
            return false;
        }
        let inflight = self.totals.inflight;
        self.find_losses(r, cfg, now, w);
        self.totals.inflight = inflight;
        r.lost > 0
    }

    /// Marks segments lost: by time, by distance, or without SACK by duplicate ACKs.
    fn find_losses(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time, w: &mut Work) {
        let (lost, resent) = (r.lost, r.marks.count(Mark::Resent));
        if cfg.sack && !cfg.rack {
            self.mark_far_below(r, cfg);
            self.mark_overtaken(r, cfg);
        } else if cfg.sack {
            if core::mem::take(&mut self.rack.advanced) {
                let wait = self.detect(r, cfg, now);
                if wait > Span::ZERO {
                    self.arm_reorder(cfg, now, wait);
                    w.reo_armed = true;
                }
            }
        } else {
            self.mark_head(r, cfg, w);
        }
        w.lost += r.lost - lost;
        w.resent_lost |= r.marks.count(Mark::Resent) < resent;
        self.settle_inflight(r);
    }

    /// NewReno: enough duplicates, or a partial ACK, condemn the oldest segment.
    fn mark_head(&mut self, r: &mut Repair, cfg: &TcpConfig, w: &Work) {
        let enough = match self.totals.state {
            CaState::Open | CaState::Disorder | CaState::Cwr => r.dup_acks >= r.reordering,
            CaState::Recovery => w.advanced,
            CaState::Loss => false,
        };
        if !enough || self.board.is_empty() {
            return;
        }
        let place = self.board.place(0);
        if r.marks.get(place).is_none() {
            let (start, len) = self.extent(0);
            r.mark_lost(place, start, len);
            self.settle_duplicates(r, cfg);
        }
    }

    /// FACK: what the receiver lacks `reordering` segments or more below the highest it has is lost.
    ///
    /// Source: Mathis and Mahdavi, SIGCOMM 1996; Linux before 4.15 with `tcp_fack`.
    fn mark_far_below(&mut self, r: &mut Repair, cfg: &TcpConfig) {
        let distance = u64::from(r.reordering) * cfg.mss();
        let mut i = 0;
        while let Some(k) = r.marks.find_plain(&self.board, i, self.board.len()) {
            let (start, len) = self.extent(k);
            if start + len + distance > r.fack {
                break;
            }
            r.mark_lost(self.board.place(k), start, len);
            i = k + 1;
        }
    }

    /// FACK: in recovery a retransmission is lost if something above all that had left by then arrived before it.
    ///
    /// Source: Linux 2.6.24 to 4.3, `tcp_mark_lost_retrans`: the highest SACKed segment starts above `snd_nxt` of that time.
    fn mark_overtaken(&mut self, r: &mut Repair, cfg: &TcpConfig) {
        if self.totals.state != CaState::Recovery {
            return;
        }
        let highest = r.highest(self.totals.una).saturating_sub(cfg.mss());
        while let Some(resent) = r.resent.front().copied() {
            let found = self.index_of_resent(r, cfg, resent.start);
            match found.filter(|i| self.board.get(*i).sent == resent.at) {
                Some(_) if highest <= resent.next => break,
                Some(i) => {
                    let (start, len) = self.extent(i);
                    r.mark_lost(self.board.place(i), start, len);
                }
                None => {} // settled meanwhile
            }
            r.resent.pop_front();
        }
    }

    /// RACK's loop: marks what should have arrived before the newest delivered segment, and returns
    /// how long to wait for what still may.
    pub(super) fn detect(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time) -> Span {
        let recovering = matches!(self.totals.state, CaState::Recovery | CaState::Loss);
        let evident = recovering || r.marks.count(Mark::Sacked) >= r.reordering;
        let allowed = self.rack.rtt + self.rack.window(&self.totals, evident && !r.reord_seen);
        let mut wait = Span::ZERO;
        let mut i = 0;
        while let Some(k) = r.marks.find_plain(&self.board, i, self.board.len()) {
            let segment = self.board.get(k);
            if !self.rack.is_after(segment) {
                break; // the rest left later still
            }
            let left = allowed.saturating_sub(now.since(segment.sent));
            if left == Span::ZERO {
                let (start, len) = self.extent(k);
                r.mark_lost(self.board.place(k), start, len);
            }
            wait = wait.max(left);
            i = k + 1;
        }
        wait.max(self.detect_resent(r, cfg, now, allowed))
    }

    /// RACK's loop over retransmissions, in the order in which they left.
    fn detect_resent(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time, allowed: Span) -> Span {
        let mut wait = Span::ZERO;
        let mut k = 0;
        while let Some(resent) = r.resent.get(k).copied() {
            let found = self.index_of_resent(r, cfg, resent.start);
            let Some(i) = found.filter(|i| self.board.get(*i).sent == resent.at) else {
                if k == 0 {
                    r.resent.pop_front(); // settled meanwhile
                } else {
                    k += 1;
                }
                continue;
            };
            let segment = self.board.get(i);
            if !self.rack.is_after(segment) {
                break;
            }
            let left = allowed.saturating_sub(now.since(segment.sent));
            if left == Span::ZERO {
                let (start, len) = self.extent(i);
                r.mark_lost(self.board.place(i), start, len);
            }
            wait = wait.max(left);
            k += 1;
        }
        wait
    }

    /// Index of the segment that starts at `start`, if it is marked `Resent`.
    fn index_of_resent(&self, r: &Repair, cfg: &TcpConfig, start: u64) -> Option<usize> {
        let una = self.totals.una;
        let offset = start.checked_sub(una)?;
        let i = self.board.index_at(una as u32, offset as u32, cfg.mss() as u32);
        (i < self.board.len() && r.marks.get(self.board.place(i)) == Some(Mark::Resent))
            .then_some(i)
    }

    /// A tail loss probe's fate, once something at or above it is acknowledged.
    pub(super) fn on_probe_ack(
        &mut self,
        r: &mut Repair,
        cfg: &TcpConfig,
        now: Time,
        ack: u64,
        dsack: bool,
        w: &Work,
    ) {
        let Some(probe) = r.tlp else { return };
        if ack < probe.high_seq {
            return;
        }
        let pure_duplicate = !w.advanced && !w.sacked;
        if !probe.retransmission || dsack || (ack == probe.high_seq && pure_duplicate) {
            r.tlp = None;
        } else if ack > probe.high_seq {
            // It repaired a loss that nothing else noticed.
            if self.module.is_some() {
                return self.module_had_tail_loss(r, cfg, now);
            }
            self.enter_cwr(r, cfg, now);
            self.leave(cfg, now);
            self.keep_open(r, cfg, now);
        }
    }
}
