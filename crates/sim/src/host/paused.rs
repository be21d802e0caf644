//! Flows and packets whose class the switch has paused: they wait aside, so that other classes go on.
//!
//! A NIC checks as it pulls: what is next and paused is put aside, in order, and comes back when its class resumes.

use super::Host;
use forebay_net::{CLASSES, ClassPolicy};
use forebay_units::Time;
use forebay_wire::Packet;
use std::collections::VecDeque;

/// What waits aside.
#[derive(Clone, Debug, Default)]
pub(super) struct PausedFlows {
    flows: VecDeque<u32>, // slots of senders, which still count as ready
    packets: VecDeque<Packet>,
}

impl Host {
    /// From now on some classes may be paused and not others. It has to be so from the start.
    pub fn separate_classes(&mut self) {
        self.nic.port.separate_classes([ClassPolicy::default(); CLASSES]);
    }

    /// The rest of a super-packet that leaves whole, as far as it may go; what is paused of it is put aside.
    #[cold]
    pub(super) fn next_segment(&mut self) -> Option<Packet> {
        loop {
            let segment = self.nic.bursts.as_mut().and_then(|bursts| bursts.next_of_one())?;
            if let Some(segment) = self.unless_paused(segment) {
                return Some(segment);
            }
        }
    }

    /// The next ACK that may go; those before it are put aside.
    #[cold]
    pub(super) fn next_answer(&mut self) -> Option<Packet> {
        loop {
            let answer = self.nic.queue.pop_front()?;
            if let Some(answer) = self.unless_paused(answer) {
                return Some(answer);
            }
        }
    }

    fn unless_paused(&mut self, packet: Packet) -> Option<Packet> {
        if self.nic.port.paused_classes() & 1 << packet.class.min(7) == 0 {
            return Some(packet);
        }
        self.nic.paused.get_or_insert_default().packets.push_back(packet);
        None
    }

    /// Puts a flow aside whose turn it is, if its class is paused.
    #[cold]
    pub(super) fn hold_if_paused(&mut self, slot: u32) -> bool {
        let paused = self.nic.port.paused_classes() & 1 << self.class_of(slot) != 0;
        if paused {
            self.nic.ready.put_aside(slot);
            self.nic.paused.get_or_insert_default().flows.push_back(slot);
        }
        paused
    }

    /// The switch pauses these classes and resumes all others.
    #[cold]
    pub(super) fn pause(&mut self, now: Time, classes: u8) {
        self.nic.port.on_pause(now, classes);
        self.nic.since = self.nic.since.max(now);
        self.release_resumed(now);
    }

    /// What waits aside comes back as far as its class is not paused: the switch has resumed it, or the pause is lost with the cable.
    #[cold]
    pub(super) fn release_resumed(&mut self, now: Time) {
        let classes = self.nic.port.paused_classes();
        self.nic.by_class = classes != 0 || self.nic.class_queues.is_some();
        let Some(mut paused) = self.nic.paused.take() else { return };
        let may_go = |class: u8| classes & 1 << class.min(7) == 0;
        let (mut back, stay) = paused.packets.into_iter().partition(|p| may_go(p.class));
        if let Some(queues) = &mut self.nic.class_queues {
            queues.put_back(back);
        } else {
            std::mem::swap(&mut self.nic.queue, &mut back);
            self.nic.queue.append(&mut back);
        }
        paused.packets = stay;
        for _ in 0..paused.flows.len() {
            let Some(slot) = paused.flows.pop_front() else { break };
            if may_go(self.class_of(slot)) {
                let left = self.left_to_send(slot).all;
                self.nic.ready.add(now, slot, || left);
            } else {
                paused.flows.push_back(slot);
            }
        }
        self.nic.paused = Some(paused);
    }

    /// Traffic class of the packet that a sender sends next.
    pub(super) fn class_of(&self, slot: u32) -> u8 {
        self.send.slots[slot as usize].sender.next_class()
    }
}
