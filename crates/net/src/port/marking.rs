//! Admission: limits and marks by the instantaneous queue, and the draws that go with marks.

use super::settings::holds;
use super::{Bounds, Port, PortMode, Verdict};
use forebay_engine::Emitter;
use forebay_settings::{EcnMarking, Ect, MarkAt, NotEct, QueueLength};
use forebay_units::random::Stream;
use forebay_units::{Span, Time};
use forebay_wire::{Ecn, Packet};

impl Bounds {
    /// Marks an ECN-capable packet. All marks of a port are set and counted here; one that is marked already does not count again.
    #[inline(always)]
    fn mark(&mut self, packet: &mut Packet) {
        self.marked += u64::from(packet.ecn == Ecn::Ect);
        packet.ecn = Ecn::Ce;
    }
}

impl Port {
    /// Admission by the limit and the marks of the port, for a packet that finds a queue of `backlog` and makes it one of `after`.
    #[inline(never)]
    pub(super) fn admit(&mut self, backlog: Span, after: Span, packet: &mut Packet) -> Verdict {
        let bounds = &mut self.cold.bounds;
        if after > bounds.limit {
            return Verdict::Dropped;
        }
        if backlog >= bounds.mark_all_from && packet.ecn != Ecn::NotEct {
            bounds.mark(packet);
            return Verdict::Accepted;
        }
        if backlog < bounds.mark_from {
            return Verdict::Accepted;
        }
        let queue = self.bytes_in(backlog);
        self.mark(queue, 0, packet)
    }

    /// Admission by the limit of the port and by the policy of the packet's class, at a work-conserving port that has been served up to
    /// `now`.
    #[inline(never)]
    pub(super) fn admit_by_class(
        &mut self,
        now: Time,
        after: Span,
        ingress_port: u16,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) -> Verdict {
        if after > self.cold.bounds.limit {
            return Verdict::Dropped;
        }
        let may_mark = self.hot.busy.since(now) >= self.cold.bounds.mark_from;
        self.admit_to_class(now, may_mark, ingress_port, packet, out)
    }

    /// Admission by the limit of the packet's class, and by its marks or those of the port unless the caller knows that none apply. The port
    /// has been served up to `now`. Beyond the limit `packet` may become the header that takes its place, or the place of another.
    pub(super) fn admit_to_class(
        &mut self,
        now: Time,
        may_mark: bool,
        ingress_port: u16,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) -> Verdict {
        let limit = self.policy(packet.class).and_then(|policy| policy.limit);
        if limit.is_none() && !may_mark {
            return Verdict::Accepted;
        }
        let (queue, packets) = match self.hot.mode {
            PortMode::StrictLimits => self.strict_queue_of(now, packet.class),
            _ => self.queue_of(now, packet.class),
        };
        let wire = self.wire(packet);
        if limit.is_none_or(|limit| holds(limit, queue, packets, wire)) {
            return self.mark(queue, packets, packet);
        }
        self.over_limit(now, (queue, packets), ingress_port, packet, out)
    }

    /// The marking rule at dequeue, for a packet that may be marked and leaves the queue behind.
    #[inline(never)]
    pub(super) fn mark_leaving(&mut self, packet: &mut Packet) {
        let marks = |m: &&EcnMarking| m.at == MarkAt::Dequeue && m.ect == Ect::Mark;
        let Some(marking) = self.marking_of(packet.class).filter(marks) else { return };
        let (bytes, packets) = self.left_behind(packet.class);
        if self.picks(marking, bytes, packets, self.hot.tx_packets) {
            self.cold.bounds.mark(packet);
        }
    }

    /// Marks a packet, or refuses it, if the marking rule at enqueue picks it.
    pub(super) fn mark(&mut self, queue: u64, packets: u64, packet: &mut Packet) -> Verdict {
        let Some(marking) = self.marking_of(packet.class).filter(|m| m.at == MarkAt::Enqueue)
        else {
            return Verdict::Accepted;
        };
        // Draws are numbered by packets accepted: those sent, and those waiting.
        let nth = self.hot.tx_packets + self.waiting();
        let applies = match packet.ecn {
            Ecn::NotEct => marking.not_ect == NotEct::Drop,
            _ => marking.ect == Ect::Mark,
        };
        if !applies || !self.picks(marking, queue, packets, nth) {
            return Verdict::Accepted;
        }
        if packet.ecn == Ecn::NotEct {
            self.cold.counters.dropped_unscheduled += 1;
            return Verdict::Dropped;
        }
        self.cold.bounds.mark(packet);
        Verdict::Accepted
    }

    /// Whether the marking rule picks a packet that sees this queue. `nth` numbers the draws.
    pub(super) fn picks(&self, marking: &EcnMarking, queue: u64, packets: u64, nth: u64) -> bool {
        let (length, kmin, kmax) = match (marking.kmin, marking.kmax) {
            (QueueLength::Packets(kmin), QueueLength::Packets(kmax)) => {
                (packets, u64::from(kmin), u64::from(kmax))
            }
            (QueueLength::Bytes(kmin), QueueLength::Bytes(kmax)) => (queue, kmin.get(), kmax.get()),
            _ => unreachable!("kmin and kmax have the same unit: scenarios are checked"),
        };
        if length < kmin {
            return false;
        }
        if length >= kmax {
            return true;
        }
        let share = marking.pmax * (length - kmin) as f64 / (kmax - kmin) as f64;
        draw(self.cold.settings.key, nth) < share
    }
}

/// A uniform draw in [0, 1), by key and index, so that lazy and eager ports agree.
pub(super) fn draw(key: u64, nth: u64) -> f64 {
    (Stream::at(key, nth) >> 11) as f64 / (1u64 << 53) as f64
}
