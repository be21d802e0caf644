//! Flows that end here: their receivers, from the first packet to the last byte.

use super::Host;
use super::flow_map::{DONE, FlowMap};
use super::pulling::AtNic;
use super::sending::room_for_more;
use super::telemetry::with_inline_space;
use super::timers::Due;
use forebay_engine::Emitter;
use forebay_transport::{
    Arrival, CreditState, HostHalves, HostStart, PacketSink, Progress, Receiver,
};
use forebay_units::Time;
use forebay_units::random::{Purpose, Stream};
use forebay_wire::{FlowId, Kind, Packet};

/// A flow of which something has arrived here.
#[derive(Clone, Debug)]
pub(super) struct ReceivingFlow {
    pub receiver: Receiver,
    pub armed: Time,
    pub awaits: u64, // byte whose delivery an application waits for
}

/// What is known of a flow that ended here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    pub flow: u32,
    pub credits_sent: u32,
    pub at: Time, // the last byte
}

/// The way up: flows that end here. The first cache line is for data that arrives.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Receivers {
    pub slots: Vec<ReceivingFlow>,
    pub of: FlowMap,
    pub bytes: u64,              // handed to applications
    pub segments: u64,           // of data that have arrived
    pub halves: Box<HostHalves>, // what they have in common, by kind of flow
    pub free: Vec<u32>,
    pub finished: Vec<Delivered>,
    pub backward: Vec<(u32, u64)>, // flows that ended and had credit numbers that went backward, and how many
}

impl Receivers {
    /// A slot for one more.
    pub fn open(&mut self, receiver: Receiver, awaits: u64) -> u32 {
        match self.free.pop() {
            // A freed slot keeps its heap entry, which then comes early for the new flow and does nothing.
            Some(slot) => {
                let freed = &mut self.slots[slot as usize];
                (freed.receiver, freed.awaits) = (receiver, awaits);
                slot
            }
            None => {
                self.slots.reserve_exact(room_for_more(&self.slots));
                self.slots.push(ReceivingFlow { receiver, armed: Time::MAX, awaits });
                self.slots.len() as u32 - 1
            }
        }
    }
}

/// What a receiver answers, and whether INT records that came with the data go back.
struct Answers<'a> {
    nic: AtNic<'a>,
    slot: u32, // of the data in the INT slab; 0: none
    kept: bool,
}

impl PacketSink for Answers<'_> {
    #[inline]
    fn send(&mut self, packet: &Packet) {
        self.kept |= self.slot != 0 && packet.int_slot() == self.slot;
        self.nic.send(packet);
    }
}

impl Host {
    /// Payload of a flow that ends here, in order; nothing of one that is complete.
    pub fn received(&self, flow: FlowId) -> u64 {
        let slot = self.receive.of.get(flow).filter(|slot| *slot != DONE);
        slot.map_or(0, |slot| self.receive.slots[slot as usize].receiver.delivered().get())
    }

    /// Data that its flow's receiver takes.
    #[inline(never)]
    pub(super) fn receive(
        &mut self,
        now: Time,
        newest: Arrival,
        packet: &Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        self.receive.segments += u64::from(packet.kind == Kind::Data); // no trimmed header, and no message without payload
        let slot = match self.receive.of.get(packet.flow) {
            Some(DONE) => {
                self.forget(now, packet.flow, 0..u64::MAX);
                out.slab().release(packet.int_slot());
                return self.acknowledge_again(now, packet);
            }
            Some(slot) => slot,
            None => self.accept(now, packet.flow),
        };
        let receiving = &mut self.receive.slots[slot as usize];
        let lighter; // its ACK has delays, which take an inline place
        let packet = match packet.is_int_full() && receiving.receiver.needs().stamps {
            true => {
                lighter = with_inline_space(packet, out.slab());
                &lighter
            }
            false => packet,
        };
        let mut answers = Answers { nic: self.nic.at(now), slot: packet.int_slot(), kept: false };
        let (halves, due) = (&mut self.receive.halves, &mut self.timers.planned);
        let progress = receiving.receiver.on_data(halves, due, now, newest, packet, &mut answers);
        let kept = answers.kept;
        let Progress { before, delivered, complete, deadline } = progress;
        let (before, delivered) = (before.get(), delivered.get());
        let receiver = &receiving.receiver;
        let read_later = self.memory.as_ref().is_some_and(|memory| memory.reads(receiver.copies()));
        if deadline < receiving.armed {
            receiving.armed = deadline;
            self.timers.push(deadline, Due::Receiver, slot);
        }
        if packet.int_slot() != 0 && !kept {
            out.slab().release(packet.int_slot());
        }
        if read_later && delivered > before {
            if complete {
                out.begins(); // until all of it has been read
            }
            let mss = receiving.receiver.mss().get();
            return self.await_reading(now, packet.flow, before..delivered, mss);
        }
        if read_later {
            let discarded = packet.seq >= delivered && !receiver.keeps_gaps();
            let part = if discarded { packet.seq..packet.seq + 1 } else { 0..delivered };
            return self.forget(now, packet.flow, part);
        }
        self.forget(now, packet.flow, 0..u64::MAX);
        self.receive.bytes += delivered - before;
        if complete {
            self.complete(now, packet.flow, slot, out);
        } else if self.nic.extended
            && delivered > before
            && delivered >= self.receive.slots[slot as usize].awaits
        {
            self.bytes_delivered(now, packet.flow, delivered, out);
        }
    }

    /// Whether the receivers of a flow take headers and messages without payload.
    #[inline]
    pub(super) fn takes_headers(&self, flow: FlowId) -> bool {
        let traffic = self.common.flows[flow.0 as usize].traffic;
        self.common.profiles[usize::from(traffic)].transport.takes_headers()
    }

    /// Whether the packets of a flow wait for interrupts. What RDMA NICs do needs none.
    #[inline]
    pub(super) fn interrupts(&self, flow: FlowId) -> bool {
        self.nic.extended && self.ring.is_some() && {
            let traffic = self.common.flows[flow.0 as usize].traffic;
            self.common.profiles[usize::from(traffic)].transport.copies()
        }
    }

    #[cold]
    fn accept(&mut self, now: Time, flow: FlowId) -> u32 {
        let spec = &self.common.flows[flow.0 as usize];
        let cfg = &self.common.profiles[usize::from(spec.traffic)].transport;
        let port = self.nic.port.settings();
        let seed = Stream::new(self.common.seed, port.key, Purpose::Law).key();
        let at = HostStart { line_rate: port.rate, now, seed };
        let sender = self.common.addrs[spec.src as usize];
        let taps = self.common.law_taps.as_ref();
        let log = taps.and_then(|taps| taps.flow(flow.0));
        let logged = log.and_then(|log| cfg.with_flow_log(log));
        let cfg = logged.as_ref().unwrap_or(cfg);
        let logs = taps.map_or(&[][..], |taps| taps.grants(spec.dst));
        let of_flow = Stream::new(seed, self.common.number(flow.0), Purpose::Law).key();
        let of = (spec.size, of_flow);
        let receiver = self.receive.halves.receiver(cfg, (at, logs), flow, sender, of);
        let awaits = self.awaited(flow.0);
        let slot = self.receive.open(receiver, awaits);
        self.receive.of.set(flow, slot);
        slot
    }

    /// All of a flow has been delivered, and read where an application reads.
    #[cold]
    pub(super) fn complete(
        &mut self,
        now: Time,
        flow: FlowId,
        slot: u32,
        out: &mut impl Emitter<Packet>,
    ) {
        self.receive.of.set(flow, DONE);
        self.receive.free.push(slot);
        let receiver = &self.receive.slots[slot as usize].receiver;
        let credits_sent = receiver.credits_sent(&self.receive.halves) as u32;
        let backward = receiver.credits_backward();
        if backward > 0 {
            self.receive.backward.push((flow.0, backward));
        }
        self.receive.finished.push(Delivered { flow: flow.0, credits_sent, at: now });
        if self.apps.is_some() {
            self.flow_delivered(now, flow, out);
        }
    }

    /// Flows that began and are not complete here, with the credits sent to each.
    pub fn credits_of_unfinished(&self) -> impl Iterator<Item = (u32, u32)> {
        let Receivers { slots, of, halves, .. } = &self.receive;
        of.live()
            .map(|(flow, slot)| (flow, slots[slot as usize].receiver.credits_sent(halves) as u32))
    }

    /// Flows of which data came that an older credit had released than data before it, and how often.
    pub fn backward_credits(&self) -> impl Iterator<Item = (u32, u64)> {
        let Receivers { slots, of, backward, .. } = &self.receive;
        let open =
            of.live().map(|(flow, slot)| (flow, slots[slot as usize].receiver.credits_backward()));
        backward.iter().copied().chain(open)
    }

    /// How flows that began and are not complete here stand, in no order.
    pub fn credit_states(&self) -> impl Iterator<Item = CreditState> {
        let Receivers { slots, of, halves, .. } = &self.receive;
        of.live().map(|(_, slot)| slots[slot as usize].receiver.credit_state(halves))
    }

    /// Data of a flow that is complete here: its last ACK was lost.
    #[cold]
    fn acknowledge_again(&mut self, now: Time, packet: &Packet) {
        let spec = self.common.flows[packet.flow.0 as usize];
        let cfg = &self.common.profiles[usize::from(spec.traffic)].transport;
        let ack = cfg.ack_again(packet, self.common.addrs[spec.src as usize], spec.size);
        self.nic.enqueue(now, &ack);
    }

    /// A timer of a receiver came up: an acknowledgement that waited for company.
    pub(super) fn receiver_due(&mut self, now: Time, slot: u32) {
        let receiving = &mut self.receive.slots[slot as usize];
        receiving.armed = Time::MAX;
        receiving.receiver.on_deadline(now, &mut self.nic.at(now));
        let deadline = receiving.receiver.deadline();
        if deadline != Time::MAX {
            receiving.armed = deadline;
            self.timers.push(deadline, Due::Receiver, slot);
        }
    }
}
