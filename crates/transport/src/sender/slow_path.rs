//! The long way of an ACK: anything SACKed, lost, retransmitted, probed, duplicate or being reduced.
//!
//! Source: Linux `tcp_ack`. Its order is kept, in which an episode that the ACK ends is left before the window grows
//! (`tcp_fastretrans_alert` before `tcp_cong_control`), except that the law gets the ACK before a recovery that it begins is entered; the state
//! says so, and no window grows.

use super::TcpSender;
use super::ack::delay_split;
use super::repair::Repair;
use crate::TcpConfig;
use crate::marks::Mark;
use crate::prr::{Delivery, halved};
use crate::rack::PERSIST;
use crate::scoreboard::Segment;
use forebay_laws::flow::CaState;
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Flags, Packet, SackBlock};

/// What one ACK brought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    pub(super) prior_una: u64,
    pub(super) advanced: bool,          // `una` moved
    pub(super) segments: u32,           // removed from the scoreboard
    pub(super) newly: u64,              // bytes newly delivered
    pub(super) lost: u64,               // bytes newly marked lost
    pub(super) newest: Option<Segment>, // of those delivered, by time of sending
    pub(super) rtt: Option<Span>, // of the newest segment acknowledged, or else SACKed, that left once
    oldest_rtt: Option<Span>,     // of the oldest one
    sack_rtt: Option<Span>,
    oldest_sack_rtt: Option<Span>,
    during: CaState, // when the ACK came
    pub(super) resent_acked: bool,
    pub(super) sacked: bool,    // a block brought news
    pub(super) original: bool,  // something sent once, and below `high_seq`, arrived
    pub(super) duplicate: bool, // without SACK: counts as the arrival of some segment
    pub(super) dsack: bool,
    pub(super) resent_lost: bool, // a retransmission was lost
    reordered: Option<u64>,
    pub(super) ece: bool,
    pub(super) original_arrived: bool, // by the echoed time stamp
    pub(super) reo_armed: bool,
    // What a module reads.
    pub(super) delivered: u32,       // segments newly delivered
    pub(super) acked: u64,           // bytes newly covered
    pub(super) prior_lost: u32,      // `Repair::lost_segments` before the ACK
    pub(super) prior_in_flight: u32, // packets
    prior_duplicates: u32,           // without SACK
    pub(super) outstanding: bool,    // something was, before the ACK
    pub(super) stale: bool,          // a later ACK came before it
}

impl Work {
    /// One segment is newly delivered.
    fn deliver(&mut self, segment: &Segment) {
        self.delivered += 1;
        let later = |old: &Segment| {
            segment.sent > old.sent
                || (segment.sent == old.sent && segment.end.wrapping_sub(old.end) as i32 > 0)
        };
        if self.newest.as_ref().is_none_or(later) {
            self.newest = Some(*segment);
        }
    }

    fn reorder(&mut self, start: u64) {
        self.reordered = Some(self.reordered.map_or(start, |low| low.min(start)));
    }
}

/// Debug builds recount the scoreboard after each rough event, up to this many segments.
const AUDIT_UP_TO: usize = 128;

impl TcpSender {
    /// Lends out the repair state; give it back by [`TcpSender::put_repair`].
    pub(super) fn take_repair(&mut self) -> Box<Repair> {
        self.repair.take().unwrap_or_else(|| Box::new(Repair::new()))
    }

    /// Settles what depends on it and keeps it.
    pub(super) fn put_repair(&mut self, r: Box<Repair>) {
        self.calm =
            !self.held && matches!(self.totals.state, CaState::Open | CaState::Cwr) && r.is_quiet();
        if let Some(m) = &mut self.module {
            m.calm = core::mem::take(&mut self.calm);
            if m.is_dead() {
                (self.timer_at, self.pace) = (Time::MAX, None); // nothing happens any more
            }
        }
        self.settle_inflight(&r);
        if cfg!(debug_assertions) && self.board.len() <= AUDIT_UP_TO {
            self.audit(&r);
        }
        self.repair = Some(r);
        self.settle_deadline();
    }

    /// Counts anew what is kept by and by.
    fn audit(&self, r: &Repair) {
        let mut sums = [0; 3];
        let mut top = 0;
        for i in 0..self.board.len() {
            let (start, len) = self.extent(i);
            if let Some(mark) = r.marks.get(self.board.place(i)) {
                sums[mark as usize] += len;
                assert!(mark != Mark::Lost || start >= r.lost_from, "a loss below the hint");
                top = if mark == Mark::Sacked { start + len } else { top };
            }
        }
        assert_eq!(sums[Mark::Lost as usize], r.lost);
        if r.dup_acks == 0 {
            assert_eq!(sums[Mark::Sacked as usize], r.sacked);
            assert!(top == 0 || top == r.fack, "the highest SACKed byte");
        }
        let end = self.board.len().checked_sub(1).map_or(self.totals.una, |last| {
            let (start, len) = self.extent(last);
            start + len
        });
        assert_eq!(end, self.totals.nxt, "segments tile what is outstanding");
    }

    pub(super) fn settle_inflight(&mut self, r: &Repair) {
        let out = self.totals.nxt - self.totals.una;
        debug_assert!(r.sacked + r.lost <= out, "{r:?}");
        self.totals.inflight = Bytes::new(out - r.sacked - r.lost);
        if let Some(m) = &mut self.module {
            m.count(self.board.len(), r);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn on_ack_slow(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        arrived: Time,
        packet: &Packet,
    ) {
        if self.fault().is_some() {
            return;
        }
        let mut r = self.take_repair();
        let mut w = Work {
            prior_una: self.totals.una,
            prior_duplicates: r.dup_acks,
            outstanding: !self.board.is_empty(),
            stale: packet.seq < self.totals.una,
            prior_in_flight: self.module.as_ref().map_or(0, |m| m.sk.packets_in_flight()),
            ece: packet.flags.has(Flags::ECE),
            during: self.totals.state,
            original_arrived: cfg.timestamps && r.predates(now, packet.stamp),
            ..Work::default()
        };
        let prior_highest = r.highest(self.totals.una);
        if cfg.sack {
            self.take_blocks(&mut r, cfg, now, packet, &mut w);
        }
        self.take_cumulative(&mut r, now, packet.seq, prior_highest, &mut w);
        if !cfg.sack {
            self.count_duplicates(&mut r, cfg, packet.seq, &mut w);
        }
        self.account(&mut r, cfg, now, packet, &mut w);
        let dsack_of_probe = self.take_dsack(&mut r, cfg, packet, &mut w);
        self.widen(&mut r, &w);
        if self.module.is_some() {
            self.by_module(&mut r, (cfg, now), packet, dsack_of_probe, &mut w);
            return self.end_ack(r, cfg, now, &w);
        }
        let held_on = self.end_episode(&mut r, cfg, now, &w);
        if w.newly > 0 || w.ece {
            let acked = self.totals.una - w.prior_una;
            let sent = w.newest.as_ref().filter(|_| w.rtt.is_some()).map(|newest| newest.sent);
            let delay = delay_split(now, arrived, packet, sent.map(|sent| now.since(sent)));
            let state = self.totals.state;
            if self.shows_loss(&mut r, cfg, now, &mut w) {
                self.totals.state = CaState::Recovery; // which is entered below, and lets no window grow
            }
            self.tell_ack(now, (acked, w.ece, w.during), (w.newest.as_ref(), w.rtt), delay);
            self.totals.state = state;
        }
        self.on_probe_ack(&mut r, cfg, now, packet.seq, dsack_of_probe, &w);
        if !held_on {
            self.machine(&mut r, cfg, now, &mut w);
        }
        self.settle_inflight(&r);
        if self.held && w.newly > 0 {
            let clean_advance = w.advanced && w.lost == 0;
            self.reduce(&mut r, cfg, now, Delivery { newly: w.newly, clean_advance });
        }
        self.end_ack(r, cfg, now, &w);
    }

    /// The timer after an ACK.
    fn end_ack(&mut self, r: Box<Repair>, cfg: &TcpConfig, now: Time, w: &Work) {
        if !w.reo_armed && self.moves_timer(w) {
            let quiet = r.sacked == 0 && r.tlp.is_none();
            self.arm_on_ack(cfg, now, quiet);
        }
        self.put_repair(r);
    }

    /// The rest of an ACK in the kernel's order, where the law is a module.
    fn by_module(
        &mut self,
        r: &mut Repair,
        (cfg, now): (&TcpConfig, Time),
        packet: &Packet,
        dsack_of_probe: bool,
        w: &mut Work,
    ) {
        w.acked = self.totals.una - w.prior_una;
        if !cfg.sack {
            let removed = w.segments.saturating_sub(w.prior_duplicates).max(1);
            w.delivered = if w.advanced { removed } else { w.duplicate.into() };
        }
        self.tell_module(r, cfg, now, w);
        self.on_probe_ack(r, cfg, now, packet.seq, dsack_of_probe, w);
        if !self.end_episode(r, cfg, now, w) {
            self.machine(r, cfg, now, w);
        }
        self.settle_inflight(r);
        self.control(r, cfg, now, packet, w);
        self.release_module(cfg, now);
    }

    /// Marks what SACK blocks cover.
    fn take_blocks(
        &mut self,
        r: &mut Repair,
        cfg: &TcpConfig,
        now: Time,
        packet: &Packet,
        w: &mut Work,
    ) {
        let skip = usize::from(packet.flags.has(Flags::DSACK));
        let mut blocks = [SackBlock::default(); 3];
        let mut used = 0;
        for block in packet.sack_blocks().iter().skip(skip) {
            blocks[used] = *block;
            used += 1;
        }
        let blocks = &mut blocks[..used];
        blocks.sort_unstable_by_key(|block| block.start); // lest low blocks look reordered
        for block in blocks {
            let start = (packet.seq + u64::from(block.start)).max(self.totals.una);
            let end = (packet.seq + u64::from(block.end)).min(self.totals.nxt);
            if start < end {
                self.take_block(r, cfg, now, (start, end), w);
            }
        }
    }

    fn take_block(
        &mut self,
        r: &mut Repair,
        cfg: &TcpConfig,
        now: Time,
        (start, end): (u64, u64),
        w: &mut Work,
    ) {
        let una = self.totals.una;
        let mss = cfg.mss() as u32;
        let from = self.board.index_at(una as u32, (start - una) as u32, mss);
        let mut to = self.board.index_at(una as u32, (end - una) as u32, mss);
        if to > from && self.board.get(to - 1).end.wrapping_sub(una as u32) > (end - una) as u32 {
            to -= 1; // covered in part
        }
        let mut i = from;
        while let Some(hole) = r.marks.find_unsacked(&self.board, i, to) {
            self.sack_one(r, now, hole, w);
            i = hole + 1;
        }
    }

    /// Segment `i` was SACKed.
    fn sack_one(&mut self, r: &mut Repair, now: Time, i: usize, w: &mut Work) {
        let una = self.totals.una;
        let segment = *self.board.get(i);
        let (start, len) = self.extent(i);
        let end = start + len;
        self.rack.advance(&self.totals, now, &segment);
        w.deliver(&segment);
        w.sacked = true;
        if !segment.retransmitted() {
            if start < r.highest(una) {
                w.reorder(start);
            }
            w.original |= end <= r.high_seq;
            let rtt = now.since(segment.sent);
            w.sack_rtt = Some(rtt);
            w.oldest_sack_rtt.get_or_insert(rtt);
        }
        if r.marks.set(self.board.place(i), Some(Mark::Sacked)) == Some(Mark::Lost) {
            r.lost -= len;
        }
        r.fack = r.highest(una).max(end);
        r.sacked += len;
    }

    /// Start and length of segment `i`.
    pub(super) fn extent(&self, i: usize) -> (u64, u64) {
        let una = self.totals.una;
        let offset = self.board.start(una as u32, i).wrapping_sub(una as u32);
        let end = self.board.get(i).end.wrapping_sub(una as u32);
        (una + u64::from(offset), u64::from(end - offset))
    }

    /// Removes what lies below `ack`.
    fn take_cumulative(
        &mut self,
        r: &mut Repair,
        now: Time,
        ack: u64,
        prior_highest: u64,
        w: &mut Work,
    ) {
        while let Some(front) = self.board.front().copied() {
            let una = self.totals.una;
            let len = u64::from(front.end.wrapping_sub(una as u32));
            if una + len > ack {
                break;
            }
            let old = r.marks.set(self.board.place(0), None);
            self.board.pop();
            self.totals.una += len;
            w.advanced = true;
            w.segments += 1;
            if old == Some(Mark::Sacked) {
                r.sacked -= len;
                continue;
            }
            if old == Some(Mark::Lost) {
                r.lost -= len;
            }
            self.rack.advance(&self.totals, now, &front);
            w.deliver(&front);
            if front.retransmitted() {
                w.resent_acked = true;
            } else {
                let rtt = now.since(front.sent);
                w.rtt = Some(rtt);
                w.oldest_rtt.get_or_insert(rtt);
                w.original |= una + len <= r.high_seq;
                if una < prior_highest {
                    w.reorder(una);
                }
            }
        }
    }

    /// Without SACK a duplicate ACK stands for one segment that arrived.
    fn count_duplicates(&mut self, r: &mut Repair, cfg: &TcpConfig, ack: u64, w: &mut Work) {
        if w.advanced {
            r.dup_acks = r.dup_acks.saturating_sub(w.segments.saturating_sub(1));
        } else if ack == self.totals.una && !self.board.is_empty() {
            r.dup_acks += 1;
            w.duplicate = true;
        }
        self.settle_duplicates(r, cfg);
    }

    /// What duplicate ACKs stand for, less than what is outstanding by a segment at least.
    pub(super) fn settle_duplicates(&self, r: &mut Repair, cfg: &TcpConfig) {
        let out = self.totals.nxt - self.totals.una;
        let head = if self.board.is_empty() { 0 } else { self.extent(0).1 };
        let limit = out - r.lost.max(head);
        r.sacked = (u64::from(r.dup_acks) * cfg.mss()).min(limit);
        if r.sacked == limit {
            r.dup_acks = r.sacked.div_ceil(cfg.mss()) as u32;
        }
    }

    /// Totals, the round-trip sample and the reordering that the ACK showed.
    fn account(
        &mut self,
        r: &mut Repair,
        cfg: &TcpConfig,
        now: Time,
        packet: &Packet,
        w: &mut Work,
    ) {
        let delivered = self.totals.delivered.max(self.totals.una + r.sacked);
        w.newly = delivered - self.totals.delivered;
        self.totals.delivered = delivered;
        if w.ece {
            self.totals.delivered_ce += w.newly;
        }
        self.settle_inflight(r);
        if w.resent_acked {
            (w.rtt, w.oldest_rtt) = (None, None); // what arrived long ago may hide behind the hole that was filled
        }
        w.rtt = w.sack_rtt.or(w.rtt);
        w.oldest_rtt = w.oldest_rtt.or(w.oldest_sack_rtt);
        if w.rtt.is_none() && w.advanced && cfg.timestamps {
            let ns = super::stamp(now).wrapping_sub(packet.stamp);
            w.rtt = ((ns as i32) > 0).then(|| Span::from_ns(u64::from(ns)));
            w.oldest_rtt = w.rtt;
        }
        if let (Some(oldest), Some(newest)) = (w.oldest_rtt, w.rtt) {
            self.rtt.sample(cfg, &mut self.totals, now, oldest, newest);
        }
        if w.advanced {
            self.backoff = 0;
            r.rto_sends = 0;
            r.probe = false;
        }
        r.prefer_new = false;
        if let Some(low) = w.reordered {
            r.note_reordering(low, self.totals.una, cfg.mss());
        }
    }

    /// A duplicate was reported: less to hold against the retransmissions. Returns whether it answers
    /// the tail loss probe.
    fn take_dsack(
        &mut self,
        r: &mut Repair,
        cfg: &TcpConfig,
        packet: &Packet,
        w: &mut Work,
    ) -> bool {
        if !packet.flags.has(Flags::DSACK) {
            return false;
        }
        let Some(block) = packet.sack_blocks().first().copied() else { return false };
        w.dsack = true;
        // Distances below `seq`; "negative" ones lie above it.
        let end = packet.seq.wrapping_sub(i64::from(block.end as i32) as u64);
        let len = block.start.wrapping_sub(block.end);
        let segments = u64::from(len).div_ceil(cfg.mss()) as u32;
        if r.undo_marker.is_some_and(|marker| end > marker) {
            r.undo_retrans = r.undo_retrans.map(|left| left.saturating_sub(segments));
        }
        let of_probe = r.tlp.is_some_and(|probe| probe.retransmission && end == probe.high_seq);
        r.dsack_seen |= r.reord_seen && !of_probe;
        of_probe
    }

    /// Widens RACK's reordering window after a needless retransmission, once per round trip.
    fn widen(&mut self, r: &mut Repair, w: &Work) {
        let Some(newest) = &w.newest else { return };
        let at_send = self.delivered_at_send(newest);
        if at_send < r.reo_delivered {
            r.dsack_seen = false;
        }
        if r.dsack_seen {
            self.rack.steps = self.rack.steps.saturating_add(1);
            r.dsack_seen = false;
            r.reo_delivered = self.totals.delivered;
            self.rack.persist = PERSIST;
        } else if self.rack.persist == 0 {
            self.rack.steps = 1;
        }
    }

    /// The window after this ACK of a reduction.
    pub(super) fn reduce(&mut self, r: &mut Repair, cfg: &TcpConfig, now: Time, ack: Delivery) {
        if self.module.is_some() {
            let newly = ack.newly.div_ceil(cfg.mss());
            return self.reduce_packets(r, cfg, now, Delivery { newly, ..ack });
        }
        let inflight = self.totals.inflight.get();
        if cfg.prr {
            self.cwnd = r.prr.window(cfg.mss(), self.ssthresh, inflight, ack);
        } else if ack.newly > 0 {
            self.cwnd = halved(self.cwnd, r.halving, cfg.mss(), self.ssthresh, inflight);
            r.halving += 1;
        }
    }

    /// Whether the ACK restarts the timer: it moved `una`, or SACKed something sent before the oldest
    /// outstanding segment last left.
    fn moves_timer(&self, w: &Work) -> bool {
        let before_head = match (self.board.front(), &w.newest) {
            (Some(head), Some(newest)) => w.sack_rtt.is_some() && newest.sent < head.sent,
            _ => false,
        };
        w.advanced || before_head
    }
}
