//! Selective repeat: what the other end has, what is missing, what was sent again.
//!
//! Source: Mittal et al., SIGCOMM 2018 (IRN), section 3.

use super::{QpSender, RdmaConfig};
use crate::marks::{Mark, Marks};
use crate::scoreboard::Scoreboard;
use forebay_laws::flow::CaState;
use forebay_units::{Bytes, Time};
use forebay_wire::Packet;

/// What a queue pair knows beyond the cumulative acknowledgement.
#[derive(Clone, Debug, Default)]
pub(super) struct Repair {
    marks: Marks, // by place in the scoreboard: the other end has it, or it was sent again
    named: u64,   // end of the highest packet that a NACK named
    missing_below: u64, // what is unmarked below is missing
}

impl Repair {
    /// The ring of the scoreboard is about to grow.
    pub(super) fn regrow(&mut self, board: &Scoreboard) {
        self.marks.regrow(board);
    }
}

impl QpSender {
    /// Whether something has to be sent again.
    #[inline]
    pub(super) fn must_repeat(&self) -> bool {
        self.repair.as_ref().is_some_and(|repair| self.missing(repair).is_some())
    }

    /// The oldest packet that is missing and was not sent again yet.
    fn missing(&self, repair: &Repair) -> Option<usize> {
        let below = repair.missing_below.saturating_sub(self.totals.una);
        let i = repair.marks.find_plain(&self.board, 0, self.board.len())?;
        let start =
            self.board.start(self.totals.una as u32, i).wrapping_sub(self.totals.una as u32);
        (u64::from(start) < below).then_some(i)
    }

    /// Sends the oldest missing packet again, if there is one.
    pub(super) fn repeat(&mut self, cfg: &RdmaConfig, now: Time) -> Option<Packet> {
        let i = self.missing(self.repair.as_ref()?)?;
        let una = self.totals.una as u32;
        let start = self.board.start(una, i).wrapping_sub(una);
        let end = self.board.get(i).end;
        let seq = self.totals.una + u64::from(start);
        let len = u64::from(end.wrapping_sub(una).wrapping_sub(start));
        let place = self.board.place(i);
        if let Some(repair) = &mut self.repair {
            repair.marks.set(place, Some(Mark::Resent));
        }
        let fresh = self.segment(now);
        let segment = self.board.get_mut(i);
        *segment =
            crate::scoreboard::Segment { end, sends: segment.sends.saturating_add(1), ..fresh };
        self.retransmits += 1;
        if i == 0 {
            self.timeout_at = now.saturating_add(self.timeout(cfg));
        }
        Some(self.leave(cfg, now, seq, len, true))
    }

    /// A NACK names a packet that arrived out of order.
    pub(super) fn on_gap(&mut self, cfg: &RdmaConfig, now: Time, packet: &Packet) {
        let una = self.totals.una;
        let Some(block) = packet.sack_blocks().first() else { return };
        let named = una + u64::from(block.end);
        let mut repair = self.repair.take().unwrap_or_default();
        self.mark(cfg, &mut repair, (block.start, block.end));
        repair.named = repair.named.max(named);
        repair.missing_below = repair.missing_below.max(repair.named);
        self.repair = Some(repair);
        self.enter_repair(now, CaState::Recovery, self.totals.nxt);
    }

    /// The other end has `[start, end)`, in bytes above `una`.
    fn mark(&mut self, cfg: &RdmaConfig, repair: &mut Repair, (start, end): (u32, u32)) {
        let una = self.totals.una as u32;
        let mut i = self.board.index_at(una, start, cfg.mtu.get() as u32);
        while i < self.board.len() && self.board.get(i).end.wrapping_sub(una) <= end {
            let len = u64::from(self.board.get(i).end.wrapping_sub(self.board.start(una, i)));
            if repair.marks.set(self.board.place(i), Some(Mark::Sacked)) != Some(Mark::Sacked) {
                let t = &mut self.totals;
                t.inflight = Bytes::new(t.inflight.get() - len);
                t.delivered += len;
            }
            i += 1;
        }
    }

    /// Drops the marks of the segments below `upto`. Returns how many of their bytes the other end was known to have.
    pub(super) fn forget_marks(&mut self, upto: u64) -> u64 {
        let Some(mut repair) = self.repair.take() else { return 0 };
        let una = self.totals.una as u32;
        let mut sacked = 0;
        let mut i = 0;
        while i < self.board.len()
            && u64::from(self.board.get(i).end.wrapping_sub(una)) <= upto - self.totals.una
        {
            if repair.marks.set(self.board.place(i), None) == Some(Mark::Sacked) {
                let start = self.board.start(una, i);
                sacked += u64::from(self.board.get(i).end.wrapping_sub(start));
            }
            i += 1;
        }
        self.repair = Some(repair);
        sacked
    }

    /// After a timeout: everything the other end is not known to have is missing.
    pub(super) fn repeat_all(&mut self) {
        let mut repair = self.repair.take().unwrap_or_default();
        for i in 0..self.board.len() {
            let place = self.board.place(i);
            if repair.marks.get(place) == Some(Mark::Resent) {
                repair.marks.set(place, None);
            }
        }
        // The oldest for certain; what is above it, up to the highest named.
        let una = self.totals.una;
        let first = self.board.front().map_or(0, |s| s.end.wrapping_sub(una as u32));
        repair.missing_below = repair.missing_below.max(una + u64::from(first));
        self.repair = Some(repair);
    }
}
