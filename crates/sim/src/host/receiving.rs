//! Flows that end here: their receivers, from the first packet to the last byte.

use super::pulling::ToNic;
use super::telemetry::with_inline_space;
use super::{Due, Host};
use crate::flow_map::DONE;
use forebay_engine::Out;
use forebay_transport::{Arrival, HostStart, PacketSink, Receiver};
use forebay_units::Time;
use forebay_wire::{FlowId, Packet};
use std::cmp::Reverse;

/// A flow of which something has arrived here.
#[derive(Clone, Debug)]
pub(super) struct Receiving {
    pub receiver: Receiver,
    pub armed: Time,
}

/// What a receiver answers, and whether INT records that came with the data go back.
struct Answers<'a> {
    nic: ToNic<'a>,
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
    /// Data that its flow's receiver takes.
    #[inline(never)]
    pub(super) fn receive(
        &mut self,
        now: Time,
        newest: Arrival,
        packet: &Packet,
        out: &mut impl Out<Packet>,
    ) {
        self.delivered_segments += 1;
        let slot = match self.receiver_of.get(packet.flow) {
            Some(DONE) => {
                out.slab().release(packet.int_slot());
                return self.acknowledge_again(now, packet);
            }
            Some(slot) => slot,
            None => self.accept(packet.flow),
        };
        let receiving = &mut self.receivers[slot as usize];
        let before = receiving.receiver.delivered().get();
        let lighter; // its ACK has delays, which take an inline place
        let packet = match packet.is_int_full() && receiving.receiver.needs().stamps {
            true => {
                lighter = with_inline_space(packet, out.slab());
                &lighter
            }
            false => packet,
        };
        let mut answers = Answers {
            nic: ToNic::new(&mut self.acks, &mut self.since, &self.ready, now),
            slot: packet.int_slot(),
            kept: false,
        };
        receiving.receiver.on_data(&mut self.halves, now, newest, packet, &mut answers);
        let kept = answers.kept;
        let delivered = receiving.receiver.delivered().get();
        let complete = receiving.receiver.complete();
        let deadline = receiving.receiver.deadline();
        let copied = self.memory.is_some() && receiving.receiver.copies();
        if deadline < receiving.armed {
            receiving.armed = deadline;
            self.timers.push(Reverse((deadline, Due::Receiver, slot)));
        }
        if packet.int_slot() != 0 && !kept {
            out.slab().release(packet.int_slot());
        }
        if copied {
            let mss = receiving.receiver.mss().get();
            return self.await_reading(now, packet.flow, delivered - before, mss);
        }
        self.delivered_bytes += delivered - before;
        if complete {
            self.complete(now, packet.flow, slot, out);
        } else if self.rpc.is_some() && delivered > before {
            self.stream_delivered(now, packet.flow, delivered, out);
        }
    }

    /// Whether the packets of a flow wait for interrupts. What RDMA NICs do needs none.
    #[inline]
    pub(super) fn interrupts(&self, flow: FlowId) -> bool {
        self.ring.is_some() && {
            let traffic = self.common.flows[flow.0 as usize].traffic;
            self.common.profiles[usize::from(traffic)].transport.copies()
        }
    }

    #[cold]
    fn accept(&mut self, flow: FlowId) -> u32 {
        let spec = &self.common.flows[flow.0 as usize];
        let cfg = &self.common.profiles[usize::from(spec.traffic)].transport;
        let at = HostStart { line_rate: self.port.settings().rate };
        let sender = self.common.addrs[spec.src as usize];
        let receiver = self.halves.receiver(cfg, at, flow, sender);
        let receiving = Receiving { receiver, armed: Time::MAX };
        let slot = match self.free_receivers.pop() {
            // A freed slot keeps its heap entry, which then comes early for the new flow and does nothing.
            Some(slot) => {
                let armed = self.receivers[slot as usize].armed;
                self.receivers[slot as usize] = Receiving { armed, ..receiving };
                slot
            }
            None => {
                self.receivers.push(receiving);
                self.receivers.len() as u32 - 1
            }
        };
        self.receiver_of.set(flow, slot);
        slot
    }

    /// All of a flow has been delivered, and read where somebody reads.
    #[cold]
    pub(super) fn complete(
        &mut self,
        now: Time,
        flow: FlowId,
        slot: u32,
        out: &mut impl Out<Packet>,
    ) {
        self.receiver_of.set(flow, DONE);
        self.free_receivers.push(slot);
        self.delivered.push((flow.0, now));
        out.done();
        self.count_delivery(now, flow, out);
    }

    /// Data of a flow that is complete here: its last ACK was lost.
    #[cold]
    fn acknowledge_again(&mut self, now: Time, packet: &Packet) {
        let spec = self.common.flows[packet.flow.0 as usize];
        let cfg = &self.common.profiles[usize::from(spec.traffic)].transport;
        let ack = cfg.ack_again(packet, self.common.addrs[spec.src as usize], spec.size);
        self.queue_ack(now, &ack);
    }

    /// A timer of a receiver came up: an acknowledgement that waited for company.
    pub(super) fn receiver_due(&mut self, now: Time, slot: u32) {
        let receiving = &mut self.receivers[slot as usize];
        receiving.armed = Time::MAX;
        receiving
            .receiver
            .on_deadline(now, &mut ToNic::new(&mut self.acks, &mut self.since, &self.ready, now));
        let deadline = receiving.receiver.deadline();
        if deadline != Time::MAX {
            receiving.armed = deadline;
            self.timers.push(Reverse((deadline, Due::Receiver, slot)));
        }
    }
}
