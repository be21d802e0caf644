//! What ports told packets, as long as the packets are in the host: arrivals on their way to the stack, and answers that wait for the wire.
//!
//! Both keep their order, answers within a class. A host to which nothing was told has nothing of this.

use super::Host;
use forebay_engine::{Out, Words};
use forebay_units::Time;
use forebay_wire::Packet;
use std::collections::VecDeque;

/// Words of packets in a host.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    at_hand: Words,                // of the packet that the stack takes, or that arrives
    climbing: VecDeque<Words>,     // of packets between cable and stack
    answers: [VecDeque<Words>; 8], // by class, of those that wait for the wire
}

impl Told {
    /// Of a packet that the stack takes.
    pub(super) fn at_hand(&self, packet: &Packet) -> &[u64] {
        &self.at_hand[..packet.hops()]
    }
}

impl Host {
    /// A packet that was told something comes from the cable. What it was told is part of the digest.
    #[inline(never)]
    pub(super) fn hear(&mut self, now: Time, packet: &Packet, words: Words) {
        let waits = self.memory.is_some();
        let told = self.told.get_or_insert_default();
        told.at_hand = words;
        if waits {
            told.climbing.push_back(words);
        }
        told.at_hand(packet).iter().for_each(|word| self.digest.add(now.as_ps(), *word));
    }

    /// The newest arrival did not get far.
    pub(super) fn forget(&mut self, packet: &Packet) {
        if packet.hops() > 0
            && let Some(told) = &mut self.told
        {
            told.climbing.pop_back();
        }
    }

    /// A packet that waited reaches the stack.
    pub(super) fn recall(&mut self, packet: &Packet) {
        if packet.hops() > 0
            && let Some(told) = &mut self.told
        {
            told.at_hand = told.climbing.pop_front().unwrap_or_default();
        }
    }

    /// An answer is to take along what its packet was told, which the stack has just taken.
    #[inline(never)]
    pub(super) fn pass_on(&mut self, answer: &Packet) {
        let told = self.told.get_or_insert_default();
        told.answers[usize::from(answer.class.min(7))].push_back(told.at_hand);
    }

    /// Sends an answer with what it takes along. False: lost.
    #[inline(never)]
    pub(super) fn send_told(
        &mut self,
        start: Time,
        answer: &Packet,
        out: &mut impl Out<Packet>,
    ) -> bool {
        let class = usize::from(answer.class.min(7));
        let words = self.told.as_mut().and_then(|told| told.answers[class].pop_front());
        self.port.send_pulled_with(start, answer, &words.unwrap_or_default(), out)
    }
}
