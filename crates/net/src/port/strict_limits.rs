//! Mode [`PortMode::StrictLimits`]: a work-conserving port whose classes have limits of their own and strict order, as one that trims.
//!
//! The highest class goes to the link as it is accepted, as at other work-conserving ports, so its queue is no list of packets. The wire carries,
//! from now on: what is left of a packet of a lower class, then all of the highest class that was sent early, then what waits. The first ends at
//! `Hot::top_from`, the second where the third begins, so both have their bytes. The number of packets sent early is not known: in this
//! mode the limit of the highest class is in bytes.

use super::class::NOTHING;
use super::{Port, PortMode};
use forebay_settings::QueueLength;
use forebay_units::Time;
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
            && !matches!(top, Some(QueueLength::Packets(_)))
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
                QueueLength::Bytes(bytes) => {
                    least = least.min(self.cold.settings.rate.time_for(bytes));
                }
                QueueLength::Packets(most) => {
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
}
