//! The NIC's way out: whose turn it is when the wire is free.

use super::paused::Paused;
use super::push::Pushing;
use super::sending::RETIRED;
use super::{ClassQueues, Host, LOST, Nic};
use forebay_engine::Out;
use forebay_host::{ReadyList, Segmenter};
use forebay_net::{Port, PortSettings, trace};
use forebay_transport::PacketSink;
use forebay_units::Time;
use forebay_wire::{Kind, Packet};
use std::collections::VecDeque;

/// The way out of a NIC: what waits for the wire, and the wire's port. What every event reads besides the port is one cache line.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Egress {
    pub port: Port,
    pub since: Time, // when the NIC last got something to send after having nothing
    pub queue: VecDeque<Packet>, // ACKs, and data where flows push it
    pub burst: Option<Box<Segmenter>>, // the super-packet that goes out, where the NIC cuts them
    pub class_queues: Option<Box<ClassQueues>>, // what waits, class by class, where data is of several
    pub by_class: bool, // it goes by class: data is of several, or some class is paused
    pub pushes: bool,   // flows hand down what they may send at once
    pub extended: bool, // its host has a receive ring or ends of connections
    pub ready: ReadyList, // flows that may send
    pub paused: Option<Box<Paused>>, // what waits because its class is paused
    pub moved: Option<u32>, // a flow that was pulled from and whose next packet is of another class
    pub pushing: Pushing,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    let line = std::mem::offset_of!(Egress, since);
    assert!(line.is_multiple_of(64) && std::mem::offset_of!(Egress, ready) == line + 64);
};

impl Egress {
    /// A NIC with nothing to send.
    pub fn new(port: PortSettings, nic: Nic) -> Self {
        Self {
            port: Port::new(port),
            ready: ReadyList::new(nic.order),
            queue: VecDeque::new(),
            burst: nic.segments.then(Box::default),
            paused: None,
            class_queues: None,
            moved: None,
            by_class: false,
            pushes: nic.pushes,
            extended: false,
            pushing: Pushing::default(),
            since: Time::ZERO,
        }
    }

    /// Whether nothing waits for the wire, but for class queues and the rest of a super-packet.
    #[inline]
    fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.ready.is_empty()
    }

    /// A flow may send. `left` gives the bytes that it has still to send.
    #[inline]
    pub fn add_flow(&mut self, now: Time, slot: u32, left: impl FnOnce() -> u64) {
        if self.is_idle() {
            self.since = now;
        }
        self.ready.add(slot, left);
    }

    /// An ACK, or data that flows push, waits for its turn at the wire.
    #[inline]
    pub fn enqueue(&mut self, now: Time, packet: &Packet) {
        if self.is_idle() {
            self.since = now;
        }
        self.queue.push_back(*packet);
    }

    /// Takes what transports send at `now`.
    #[inline]
    pub fn at(&mut self, now: Time) -> AtNic<'_> {
        AtNic { nic: self, now }
    }
}

/// The NIC's queue at an instant.
pub(super) struct AtNic<'a> {
    nic: &'a mut Egress,
    now: Time,
}

impl PacketSink for AtNic<'_> {
    #[inline]
    fn send(&mut self, packet: &Packet) {
        self.nic.enqueue(self.now, packet);
    }
}

impl Host {
    /// When the NIC pulls next.
    #[inline]
    pub(super) fn next_pull(&self) -> Time {
        if self.nic.is_idle() && !self.is_cutting() {
            let queues = self.nic.class_queues.as_deref();
            return queues.map_or(Time::MAX, |queues| self.next_pull_of_class(queues));
        }
        self.next_free()
    }

    /// When the NIC may send whatever waits; [`Time::MAX`]: not before something else happens.
    #[inline]
    pub(super) fn next_free(&self) -> Time {
        if !self.nic.port.open() {
            return Time::MAX;
        }
        let read = self.memory.as_ref().map_or(Time::ZERO, |memory| memory.path.send_free());
        self.nic.port.busy().max(self.nic.since).max(read)
    }

    /// Whether part of a super-packet has not gone out.
    #[inline]
    fn is_cutting(&self) -> bool {
        self.nic.burst.as_ref().is_some_and(|burst| !burst.is_empty())
    }

    /// Sends whatever leaves at or before `now`; `start` is when the NIC pulls next, and the answer is when it then does.
    #[inline(never)]
    pub(super) fn pull(&mut self, mut start: Time, now: Time, out: &mut impl Out<Packet>) -> Time {
        while start <= now {
            // ACKs go first: `fq` serves flows that send little before those with a backlog.
            if let Some(packet) = &mut self.next_packet(start, out) {
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
        if !self.nic.port.send_pulled(start, packet, out) {
            trace(&mut self.digest, start, LOST, packet);
            out.slab().release(packet.int_slot());
        }
        if self.nic.pushes && packet.kind == Kind::Data {
            self.pushed_left(start, packet.class);
        }
    }

    /// What goes out next: the rest of a super-packet, an ACK, data. Every packet of a host passes here once: a call costs more than it saves.
    #[inline(always)]
    fn next_packet(&mut self, start: Time, out: &mut impl Out<Packet>) -> Option<Packet> {
        if self.nic.by_class {
            return self.next_by_class(start, out);
        }
        if let Some(segment) = self.nic.burst.as_mut().and_then(|burst| burst.take()) {
            return Some(segment);
        }
        if let Some(ack) = self.nic.queue.front() {
            let ack = Some(*ack);
            self.nic.queue.pop_front();
            return ack;
        }
        self.pull_data::<false, false>(start)
    }

    /// The next packet of the flow whose turn it is, if it still has one, and that may go if `CHECKED`. With `BY_CLASS` a flow
    /// whose next packet is of another class waits to be moved.
    #[inline]
    pub(super) fn pull_data<const CHECKED: bool, const BY_CLASS: bool>(
        &mut self,
        start: Time,
    ) -> Option<Packet> {
        let slot = self.nic.ready.take()?;
        if self.send.slots[slot as usize].flow == RETIRED {
            self.send.slots[slot as usize].ready = false;
            self.send.free.push(slot);
            return None;
        }
        if CHECKED && self.hold_if_paused(slot) {
            return None;
        }
        self.pull_from::<BY_CLASS>(slot, start)
    }

    /// The next packet of a flow, which is not in the ready list just now.
    #[inline(always)]
    fn pull_from<const BY_CLASS: bool>(&mut self, slot: u32, start: Time) -> Option<Packet> {
        let sending = &mut self.send.slots[slot as usize];
        let class = if BY_CLASS { sending.sender.next_class() } else { 0 };
        let packet = match &mut self.nic.burst {
            None => sending.sender.next_packet(start),
            Some(nic) => sending.sender.next_burst(start).and_then(|burst| {
                if burst.payload == 0 {
                    return Some(burst.first); // a message without payload
                }
                nic.load(&burst.first, burst.payload, sending.sender.mss().get());
                nic.take()
            }),
        };
        let next = sending.sender.next();
        sending.ready = next.ready;
        if sending.ready {
            let left = || sending.sender.unsent();
            match BY_CLASS && sending.sender.next_class() != class {
                true => self.nic.moved = Some(slot),
                false => self.nic.ready.put_back(slot, left),
            }
        }
        self.arm(slot, next.deadline);
        if let Some(packet) = &packet {
            let rest = || self.nic.burst.as_ref().map_or(0, |burst| burst.left());
            self.nic.ready.charge(slot, || u64::from(packet.size) + rest());
        }
        packet
    }
}
