//! Mode [`super::PortMode::Metered`]: a port that meters credits, and nothing else but strict order and the limits and marks of the port counts.
//!
//! When tokens come decides what leaves next, so departures are taken one at a time, as each begins. What waits is: lower classes, which go as
//! soon as the wire is free, and credits, the first of which may go from `Hot::top_from` on. That changes only with the first credit of the queue
//! and with the bucket, which changes only as a credit leaves.

use super::bucket::Bucket;
use super::credit_class::Meter;
use super::{Port, Verdict};
use forebay_engine::{Emitter, rarely};
use forebay_units::Time;
use forebay_wire::Packet;

impl Port {
    /// Whether nothing but strict order, limits and marks of the port counts beside the credits that it meters.
    pub(super) fn meters_credits_alone(&self) -> bool {
        let of = self.cold.settings.credits.as_ref();
        of.is_some_and(|of| self.scheduled.has_classes() && self.scheduled.is_top(of.class))
            && self.cold.classes.is_none()
            && !self.scheduled.is_special()
    }

    /// The wire begins to be described by the packet in transmission, and by when the first credit may go.
    pub(super) fn enter_metered(&mut self) {
        if self.scheduled.packets > 0 {
            self.hot.busy = self.hot.busy.max(self.cold.since);
        }
        self.await_tokens();
    }

    #[inline]
    fn bucket(&mut self) -> &mut Bucket {
        match self.cold.meter.as_deref_mut() {
            Some(Meter::Credits(_, bucket)) => bucket,
            _ => unreachable!("a port in mode `Metered` meters credits"),
        }
    }

    /// Another credit is the first of its queue, if any waits.
    fn await_tokens(&mut self) {
        let first = self.scheduled.first_wire_of(self.scheduled.top().into());
        self.hot.top_from = first.map_or(Time::ZERO, |wire| self.bucket().ready(wire));
    }

    /// When the next departure begins in mode `Metered`; `Time::MAX` if nothing waits.
    #[inline]
    pub(crate) fn next_metered(&self) -> Time {
        match () {
            () if self.scheduled.lower_wait() => self.hot.busy,
            () if self.scheduled.packets > 0 => self.hot.busy.max(self.hot.top_from),
            () => Time::MAX,
        }
    }

    /// Serves every departure that begins by `now`, in mode `Metered`.
    #[inline(never)]
    pub(super) fn serve_metered(&mut self, now: Time, out: &mut impl Emitter<Packet>) {
        let mut packet = Packet::default();
        loop {
            let start = self.next_metered();
            if start > now {
                return;
            }
            let credits = self.hot.top_from <= start;
            let class = self.scheduled.first_class(credits);
            self.scheduled.take_into(class, &mut packet);
            self.begin(start, class, &packet, out);
        }
    }

    /// The transmission of a packet begins, which may.
    #[inline]
    pub(super) fn begin(
        &mut self,
        start: Time,
        class: usize,
        packet: &Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        let hot = &mut self.hot;
        hot.busy = start + hot.time_of(packet);
        hot.tx_packets += 1;
        hot.tx_bytes += u64::from(packet.size);
        out.push(hot.link, hot.busy, packet);
        self.scheduled.sending = class as u8;
        if self.scheduled.is_top(class as u8) {
            let wire = self.wire(packet);
            debug_assert!(self.bucket().ready(wire) <= start, "a credit leaves with its tokens");
            self.bucket().spend(start, wire);
            self.await_tokens();
        }
    }

    /// Offers a packet to a port in mode `Metered`.
    #[inline]
    pub(crate) fn offer_metered(
        &mut self,
        now: Time,
        ingress_port: u16,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) -> Verdict {
        if self.next_metered() <= now {
            self.serve_metered(now, out);
        }
        let queue = self.waiting_time() + self.hot.busy.since(now);
        let class = self.scheduled.class_of(packet);
        let is_credit = self.scheduled.is_top(class as u8);
        let verdict = match () {
            () if is_credit => self.admit_credit(packet),
            () if queue >= self.hot.free_below => self.admit_data(now, ingress_port, packet, out),
            () => Verdict::Accepted,
        };
        if verdict != Verdict::Accepted {
            rarely();
            return verdict;
        }
        self.hot.highest = self.hot.highest.max(queue + self.hot.time_of(packet));
        let free = self.hot.busy <= now; // then no lower class waits
        if free && (!is_credit || self.may_go(now, packet)) {
            self.begin(now, class, packet, out);
            return Verdict::Accepted;
        }
        self.scheduled.add(class, ingress_port, packet);
        if is_credit && self.scheduled.packets_of(class) == 1 {
            self.await_tokens();
        }
        Verdict::Accepted
    }

    /// Whether a credit that finds the wire free goes at once: none waits, and there are tokens.
    fn may_go(&mut self, now: Time, credit: &Packet) -> bool {
        let wire = self.wire(credit);
        self.scheduled.packets == 0 && self.bucket().ready(wire) <= now
    }

    /// Admission of a packet of a lower class by the limit and the marks of the port.
    #[inline(never)]
    fn admit_data(
        &mut self,
        now: Time,
        ingress_port: u16,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) -> Verdict {
        if !self.has_room(self.queue(now), self.wire(packet)) {
            return Verdict::Dropped;
        }
        self.admit_to_class(now, self.scheduled.marks, ingress_port, packet, out)
    }
}
