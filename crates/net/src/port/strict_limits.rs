//! Mode [`PortMode::StrictLimits`]: a work-conserving port whose classes have limits of their own and strict order, as one that trims.
//!
//! The highest class goes to the link as it is accepted, as at other work-conserving ports, so its queue is no list of packets. The wire carries,
//! from now on: what is left of a packet of a lower class, then all of the highest class that was sent early, then what waits. The first ends at
//! `Hot::top_from`, the second where the third begins, so both have their bytes. The number of packets sent early is not known: in this
//! mode the limit of the highest class is in bytes.

use super::class::NOTHING;
use super::{Length, Port, PortMode, Verdict};
use forebay_engine::{Emitter, rarely};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::Packet;

impl Port {
    /// Whether nothing but strict order and limits counts on a port that is work-conserving, and the limit of the highest class is in bytes.
    pub(super) fn has_strict_limits(&self) -> bool {
        let Some(classes) = &self.cold.classes else { return false };
        let top = self.policy(u8::MAX).and_then(|policy| policy.limit);
        self.scheduled.sends_some_early()
            && !self.scheduled.is_watched()
            && self.cold.settings.marking.is_none()
            && classes.rules().next().is_none()
            && !matches!(top, Some(Length::Packets(_)))
    }

    /// The wire begins to be described by times of classes.
    pub(super) fn enter_strict_limits(&mut self) {
        let sending = self.scheduled.sending;
        let lower = sending != NOTHING && !self.scheduled.is_top(sending);
        self.hot.top_from = if lower { self.hot.busy } else { Time::ZERO };
        let limits = self.cold.classes.iter().flat_map(|classes| classes.limits());
        let (mut least, mut packets) = (self.cold.bounds.limit, u16::MAX);
        for limit in limits {
            match limit {
                Length::Bytes(bytes) => {
                    least = least.min(self.cold.settings.rate.time_for(Bytes::new(bytes)));
                }
                Length::Packets(most) => {
                    packets = packets.min(u16::try_from(most).unwrap_or(u16::MAX));
                }
            }
        }
        (self.hot.free_below, self.hot.free_packets) = (least, packets.saturating_sub(1));
        self.enter_work_conserving();
    }

    /// The wire begins to be described by the packet in transmission, which ends at `busy`: what was sent early and had not begun has been
    /// taken back.
    pub(super) fn leave_strict_limits(&mut self) {
        if self.hot.mode == PortMode::StrictLimits && self.hot.busy > self.hot.top_from {
            self.scheduled.sending = self.scheduled.top();
        }
    }

    /// Packets that waited have been sent, this one last, which ends at `end`. Order is strict, so it is of a lower class if any of them was.
    #[inline]
    pub(super) fn sent_in_order(&mut self, end: Time, packet: &Packet) {
        let class = self.scheduled.lane(packet.class) as u8;
        if !self.scheduled.is_top(class) {
            (self.hot.top_from, self.scheduled.sending) = (end, class);
        }
    }

    /// The queue of a class, in bytes and packets, with what is in transmission of it; of the highest, packets that wait only. The port has
    /// been served up to `now`.
    pub(super) fn strict_queue_of(&self, now: Time, class: u8) -> (u64, u64) {
        let lane = self.scheduled.lane(class);
        let pace = u64::from(self.hot.pace);
        let (bytes, packets) = (self.scheduled.bytes_of(lane), self.scheduled.packets_of(lane));
        let lower = self.hot.top_from.since(now).as_ps() / pace;
        if self.scheduled.is_top(lane as u8) {
            let waiting_from = self.hot.busy - self.waiting_time();
            let early = waiting_from.since(now.max(self.hot.top_from)).as_ps() / pace;
            return (bytes + early, packets);
        }
        let sending = if self.scheduled.sending == lane as u8 { lower } else { 0 };
        (bytes + sending, packets + u64::from(sending > 0))
    }

    /// Offers a packet to a port in mode `StrictLimits`. True beside the verdict: its next departure may be another.
    #[inline(always)]
    pub(crate) fn offer_strict_limits(
        &mut self,
        now: Time,
        ingress_port: u16,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) -> (Verdict, bool) {
        let waited = self.scheduled.packets;
        if waited > 0 && self.hot.busy - self.waiting_time() <= now {
            self.serve_unobserved(now, out);
        }
        let served = self.scheduled.packets < waited;
        let mut backlog = self.hot.busy.since(now);
        let mut after = backlog + self.hot.time_of(packet);
        let crowded = self.scheduled.packets >= u32::from(self.hot.free_packets);
        if after > self.hot.free_below || crowded {
            rarely();
            match self.admit_by_class(now, after, ingress_port, packet, out) {
                Verdict::Accepted => {}
                refused => return (refused, served),
            }
            backlog = self.hot.busy.since(now); // another packet may have been trimmed in its place
            after = backlog + self.hot.time_of(packet);
        }
        self.hot.highest = self.hot.highest.max(after);
        self.hot.busy = now + after;
        let waits = self.scheduled.packets > 0;
        let lane = self.scheduled.class_of(packet);
        if self.scheduled.sends_early(lane) {
            self.send_ahead(packet, out);
            (Verdict::Accepted, served || waits)
        } else if backlog == Span::ZERO {
            self.send_ahead(packet, out);
            self.sent_in_order(self.hot.busy, packet);
            (Verdict::Accepted, served)
        } else {
            self.scheduled.add(lane, ingress_port, packet);
            (Verdict::Accepted, served || !waits)
        }
    }
}
