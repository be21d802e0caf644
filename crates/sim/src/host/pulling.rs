//! The NIC's way out: whose turn it is when the wire is free.

use super::flow_map::RETIRED;
use super::paused::PausedFlows;
use super::push::PushQueues;
use super::super_packets::SuperPackets;
use super::{ClassQueues, Host, LOST, Nic};
use forebay_engine::Emitter;
use forebay_host::ReadyList;
use forebay_net::{Port, PortSettings, trace};
use forebay_scenario::model::{NicOrder, TxQueues};
use forebay_transport::{PacketSink, Wait};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Span, Time};
use forebay_wire::{Kind, Packet};
use std::collections::VecDeque;

/// The way out of a NIC: what waits for the wire, and the wire's port. What every event reads besides the port is one cache line.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Egress {
    pub port: Port,
    pub since: Time, // when the NIC last got something to send after having nothing
    pub queue: VecDeque<Packet>, // ACKs, and data where flows push it
    pub bursts: Option<Box<SuperPackets>>, // what it cuts, where flows hand down super-packets
    pub class_queues: Option<Box<ClassQueues>>, // what waits, class by class, where data is of several
    pub by_class: bool, // it goes by class: data is of several, or some class is paused
    pub pushes: bool,   // flows hand down what they may send at once
    pub extended: bool, // its host has a receive ring or ends of connections
    pub ready: ReadyList, // flows that may send
    pub paused: Option<Box<PausedFlows>>, // what waits because its class is paused
    pub moved: Option<u32>, // a flow that was pulled from and whose next packet is of another class
    pub pushing: PushQueues,
    jitter: Option<Box<Jitter>>, // where chance adds to its gaps
}

/// Chance between two packets.
#[derive(Clone, Debug)]
struct Jitter {
    most: Span,
    stream: Stream,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    let line = std::mem::offset_of!(Egress, since);
    assert!(line.is_multiple_of(64) && std::mem::offset_of!(Egress, ready) == line + 64);
};

impl Egress {
    /// A NIC with nothing to send.
    pub fn new(port: PortSettings, nic: Nic, seed: u64) -> Self {
        let stream = Stream::new(seed, port.key, Purpose::Transmit);
        let Nic { settings, packet } = nic;
        let (most, queue_each) = (settings.tx_jitter, settings.tx_queues == TxQueues::PerFlow);
        Self {
            jitter: (most > Span::ZERO).then(|| Box::new(Jitter { most, stream })),
            port: Port::new(port),
            ready: ReadyList::new(settings.pull_order(), packet),
            queue: VecDeque::new(),
            bursts: settings.tso.then(|| Box::new(SuperPackets::new(queue_each))),
            paused: None,
            class_queues: None,
            moved: None,
            by_class: false,
            pushes: settings.nic == NicOrder::Push,
            extended: false,
            pushing: PushQueues::default(),
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
        self.ready.add(now, slot, left);
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

/// Bytes that a flow has still to send.
pub(super) struct UnsentBytes {
    pub in_nic: u64, // of its super-packet, headers included
    pub all: u64,
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

    /// Whether the rest of a super-packet has to leave before anything else.
    #[inline]
    fn is_cutting(&self) -> bool {
        self.nic.bursts.as_ref().is_some_and(|bursts| bursts.is_cutting())
    }

    /// Sends whatever leaves at or before `now`; `start` is when the NIC pulls next, and the answer is when it then does.
    #[inline(never)]
    pub(super) fn pull(
        &mut self,
        mut start: Time,
        now: Time,
        out: &mut impl Emitter<Packet>,
    ) -> Time {
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
    fn send(&mut self, start: Time, packet: &mut Packet, out: &mut impl Emitter<Packet>) {
        if self.memory.is_some() {
            self.fetch(start, packet);
        }
        if !self.nic.port.send_pulled(start, packet, out) {
            trace(&mut self.digest, start, LOST, packet);
            out.slab().release(packet.int_slot());
        }
        if self.nic.jitter.is_some() {
            self.wait_by_chance();
        }
        if self.nic.pushes && packet.kind == Kind::Data {
            self.pushed_left(start, packet.class);
        }
    }

    /// The next packet begins a random time after the wire is free.
    #[cold]
    fn wait_by_chance(&mut self) {
        let Some(jitter) = &mut self.nic.jitter else { return };
        let gap = Span::from_ps(jitter.stream.below(jitter.most.as_ps() + 1));
        self.nic.since = self.nic.since.max(self.nic.port.busy() + gap);
    }

    /// What goes out next: the rest of a super-packet that leaves whole, an ACK, data. Every packet of a host passes here once: a call costs more than it saves.
    #[inline(always)]
    fn next_packet(&mut self, start: Time, out: &mut impl Emitter<Packet>) -> Option<Packet> {
        if self.nic.by_class {
            return self.next_by_class(start, out);
        }
        if let Some(segment) = self.nic.bursts.as_mut().and_then(|bursts| bursts.next_of_one()) {
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
        let slot = self.nic.ready.take(start)?;
        if self.send.slots[slot as usize].flow == RETIRED && self.left_to_send(slot).in_nic == 0 {
            self.send.slots[slot as usize].ready = false;
            self.send.free.push(slot);
            return None;
        }
        if CHECKED && self.hold_if_paused(slot) {
            return None;
        }
        if let Some(packet) = self.nic.bursts.as_mut().and_then(|bursts| bursts.next_of(slot)) {
            return Some(self.goes_on(slot, packet));
        }
        self.pull_from::<BY_CLASS>(slot, start)
    }

    /// A flow whose super-packet waits in a queue of its own sends the next packet of it.
    #[inline(never)]
    fn goes_on(&mut self, slot: u32, packet: Packet) -> Packet {
        let left = self.left_to_send(slot);
        let sending = &mut self.send.slots[slot as usize];
        sending.ready = left.in_nic > 0 || sending.flow == RETIRED || sending.sender.next().ready;
        if sending.ready {
            self.nic.ready.put_back(slot, || left.all);
        } else if self.nic.ready.asks_why() {
            self.nic_waits(slot);
        }
        self.nic.ready.charge(slot, || u64::from(packet.size));
        packet
    }

    /// A flow that was pulled from is not ready any more.
    #[cold]
    fn nic_waits(&mut self, slot: u32) {
        let paced = self.send.slots[slot as usize].sender.waits_for() == Wait::Pacing;
        self.nic.ready.wait(slot, paced);
    }

    /// What a flow has still to send.
    pub(super) fn left_to_send(&self, slot: u32) -> UnsentBytes {
        let in_nic = self.nic.bursts.as_ref().map_or(0, |bursts| bursts.left_of(slot));
        let unsent = self.send.slots[slot as usize].sender.unsent();
        UnsentBytes { in_nic, all: in_nic.saturating_add(unsent) } // a flow without an end has no fewer
    }

    /// The next packet of a flow, which is not in the ready list just now.
    #[inline(always)]
    fn pull_from<const BY_CLASS: bool>(&mut self, slot: u32, start: Time) -> Option<Packet> {
        let sending = &mut self.send.slots[slot as usize];
        let class = if BY_CLASS { sending.sender.next_class() } else { 0 };
        let (packet, charge) = match &mut self.nic.bursts {
            None => (sending.sender.next_packet(start), 0),
            Some(nic) => {
                let burst = sending.sender.next_burst(start);
                let first = burst.and_then(|b| nic.first(slot, &b, sending.sender.mss().get()));
                (first.map(|first| first.0), first.map_or(0, |first| first.1))
            }
        };
        let next = sending.sender.next();
        let waits = self.nic.bursts.as_ref().map_or(0, |bursts| bursts.left_of(slot));
        sending.ready = next.ready || waits > 0;
        if sending.ready {
            let left = || waits.saturating_add(sending.sender.unsent());
            match BY_CLASS && sending.sender.next_class() != class {
                true => self.nic.moved = Some(slot),
                false => self.nic.ready.put_back(slot, left),
            }
        } else if self.nic.ready.asks_why() {
            self.nic_waits(slot);
        }
        self.arm(slot, next.deadline);
        if let Some(packet) = &packet {
            self.nic.ready.charge(slot, || charge.max(packet.size.into()));
        }
        packet
    }
}
