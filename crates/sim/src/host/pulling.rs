//! The NIC's way out: whose turn it is when the wire is free.

use super::sending::RETIRED;
use super::{Host, LOST};
use forebay_engine::Out;
use forebay_host::ReadyList;
use forebay_net::trace;
use forebay_transport::PacketSink;
use forebay_units::Time;
use forebay_wire::Packet;
use std::collections::VecDeque;

/// What transports send at an instant, on its way to the NIC's queue.
pub(super) struct ToNic<'a> {
    acks: &'a mut VecDeque<Packet>,
    since: &'a mut Time,
    ready: &'a ReadyList,
    now: Time,
}

impl<'a> ToNic<'a> {
    #[inline]
    pub fn new(
        acks: &'a mut VecDeque<Packet>,
        since: &'a mut Time,
        ready: &'a ReadyList,
        now: Time,
    ) -> Self {
        Self { acks, since, ready, now }
    }
}

impl PacketSink for ToNic<'_> {
    #[inline]
    fn send(&mut self, packet: &Packet) {
        if self.acks.is_empty() && self.ready.is_empty() {
            *self.since = self.now;
        }
        self.acks.push_back(*packet);
    }
}

impl Host {
    /// When the NIC pulls next.
    #[inline]
    pub(super) fn next_pull(&self) -> Time {
        let idle = self.acks.is_empty() && self.ready.is_empty();
        if idle && !self.is_cutting() && !self.has_lanes_full() || !self.port.open() {
            return Time::MAX;
        }
        let read = self.memory.as_ref().map_or(Time::ZERO, |memory| memory.path.send_free());
        self.port.busy().max(self.since).max(read)
    }

    /// Whether part of a super-packet has not gone out.
    #[inline]
    fn is_cutting(&self) -> bool {
        self.burst.as_ref().is_some_and(|burst| !burst.is_empty())
    }

    /// Sends whatever leaves at or before `now`; `start` is when the NIC pulls next, and the answer is when it then does.
    #[inline(never)]
    pub(super) fn pull(&mut self, mut start: Time, now: Time, out: &mut impl Out<Packet>) -> Time {
        while start <= now {
            // ACKs go first: `fq` serves flows that send little before those with a backlog.
            if let Some(packet) = &mut self.next_packet(start) {
                self.send(start, packet, out);
            }
            start = self.next_pull();
        }
        start
    }

    #[inline]
    fn send(&mut self, start: Time, packet: &mut Packet, out: &mut impl Out<Packet>) {
        if self.memory.is_some() {
            self.fetch(start, packet);
        }
        if !self.port.send_pulled(start, packet, out) {
            trace(&mut self.digest, start, LOST, packet);
            out.slab().release(packet.int_slot());
        }
    }

    /// What goes out next: the rest of a super-packet, an ACK, data.
    #[inline]
    fn next_packet(&mut self, start: Time) -> Option<Packet> {
        if self.by_class {
            return self.next_by_class(start);
        }
        if let Some(segment) = self.burst.as_mut().and_then(|burst| burst.take()) {
            return Some(segment);
        }
        if let Some(ack) = self.acks.front() {
            let ack = Some(*ack);
            self.acks.pop_front();
            return ack;
        }
        self.pull_data::<false>(start)
    }

    /// The next packet of the flow whose turn it is, if it still has one, and if `LOOKS` at its class, that may go.
    #[inline]
    pub(super) fn pull_data<const LOOKS: bool>(&mut self, start: Time) -> Option<Packet> {
        let Self { ready, senders, .. } = self;
        let left = |slot: u32| senders[slot as usize].sender.unsent();
        let slot = ready.take(left)?;
        if self.senders[slot as usize].flow == RETIRED {
            self.senders[slot as usize].ready = false;
            self.free_senders.push(slot);
            return None;
        }
        if LOOKS && self.park(slot) {
            return None;
        }
        self.pull_from(slot, start)
    }

    /// The next packet of a flow, which is not in the ready list just now.
    #[inline(always)]
    fn pull_from(&mut self, slot: u32, start: Time) -> Option<Packet> {
        let sending = &mut self.senders[slot as usize];
        let packet = match &mut self.burst {
            None => sending.sender.next_packet(start),
            Some(nic) => sending.sender.next_burst(start).and_then(|burst| {
                nic.load(&burst.first, burst.payload, sending.sender.mss().get());
                nic.take()
            }),
        };
        sending.ready = sending.sender.ready();
        if sending.ready {
            self.ready.put_back(slot);
        }
        self.arm_sender(slot);
        if let Some(packet) = &packet {
            let rest = || self.burst.as_ref().map_or(0, |burst| burst.left());
            self.ready.charge(slot, || u64::from(packet.size) + rest());
        }
        packet
    }

    /// An ACK, or data that flows push, waits for its turn at the wire.
    #[inline]
    pub(super) fn queue_ack(&mut self, now: Time, ack: &Packet) {
        ToNic::new(&mut self.acks, &mut self.since, &self.ready, now).send(ack);
    }
}
