//! What may not go because the switch has stopped its class: flows and packets that wait aside, so that other classes go on.
//!
//! A NIC finds out as it pulls: what is next and stopped is put aside, in order, and comes back when its class may go.

use super::Host;
use forebay_net::{CLASSES, ClassPolicy};
use forebay_units::Time;
use forebay_wire::Packet;
use std::collections::VecDeque;

/// What waits aside.
#[derive(Clone, Debug, Default)]
pub(super) struct Parked {
    flows: VecDeque<u32>, // slots of senders, which still count as ready
    packets: VecDeque<Packet>,
}

impl Host {
    /// From now on a pause may stop some classes and not others. It has to be so from the start.
    pub fn separate_classes(&mut self) {
        self.nic.port.separate_classes([ClassPolicy::default(); CLASSES]);
    }

    /// The rest of a super-packet, as far as it may go; what is stopped of it is put aside.
    #[cold]
    pub(super) fn next_segment(&mut self) -> Option<Packet> {
        loop {
            let segment = self.nic.burst.as_mut().and_then(|burst| burst.take())?;
            if let Some(segment) = self.unless_stopped(segment) {
                return Some(segment);
            }
        }
    }

    /// The next ACK that may go; those before it are put aside.
    #[cold]
    pub(super) fn next_answer(&mut self) -> Option<Packet> {
        loop {
            let answer = self.nic.queue.pop_front()?;
            if let Some(answer) = self.unless_stopped(answer) {
                return Some(answer);
            }
        }
    }

    fn unless_stopped(&mut self, packet: Packet) -> Option<Packet> {
        if self.nic.port.paused_classes() & 1 << packet.class.min(7) == 0 {
            return Some(packet);
        }
        self.nic.parked.get_or_insert_default().packets.push_back(packet);
        None
    }

    /// Puts a flow aside whose turn it is, if its class is stopped.
    #[cold]
    pub(super) fn park(&mut self, slot: u32) -> bool {
        let stopped = self.nic.port.paused_classes() & 1 << self.class_of(slot) != 0;
        if stopped {
            self.nic.parked.get_or_insert_default().flows.push_back(slot);
        }
        stopped
    }

    /// The switch stops these classes and lets all others go.
    #[cold]
    pub(super) fn pause(&mut self, now: Time, classes: u8) {
        self.nic.port.on_pause(now, classes);
        self.nic.since = self.nic.since.max(now);
        self.unpark();
    }

    /// What waits aside comes back as far as its class may go now: the switch has said so, or its word died with the cable.
    #[cold]
    pub(super) fn unpark(&mut self) {
        let stopped = self.nic.port.paused_classes();
        self.nic.by_class = stopped != 0 || self.nic.lanes.is_some();
        let Some(mut parked) = self.nic.parked.take() else { return };
        let may_go = |class: u8| stopped & 1 << class.min(7) == 0;
        let (mut back, stay) = parked.packets.into_iter().partition(|p| may_go(p.class));
        if let Some(lanes) = &mut self.nic.lanes {
            lanes.put_back(back);
        } else {
            std::mem::swap(&mut self.nic.queue, &mut back);
            self.nic.queue.append(&mut back);
        }
        parked.packets = stay;
        for _ in 0..parked.flows.len() {
            let Some(slot) = parked.flows.pop_front() else { break };
            if may_go(self.class_of(slot)) {
                let left = || self.send.slots[slot as usize].sender.unsent();
                self.nic.ready.add(slot, left);
            } else {
                parked.flows.push_back(slot);
            }
        }
        self.nic.parked = Some(parked);
    }

    /// Traffic class of the packet that a sender sends next.
    pub(super) fn class_of(&self, slot: u32) -> u8 {
        self.send.slots[slot as usize].sender.next_class()
    }
}
