//! What ports told packets, as long as the packets are in the host: arrivals on their way to the stack, and answers that wait for the wire.
//!
//! Both keep their order, answers within a class. A host to which nothing was told has nothing of this.

use super::Host;
use forebay_engine::{Out, Words};
use forebay_laws::flow::IntHop;
use forebay_transport::{Heard, Telemetry};
use forebay_units::Time;
use forebay_wire::{Packet, Rates};
use std::collections::VecDeque;

/// Multiplies words into one; any odd number with as many ones as zeros does.
const ODD: u64 = 0xd6e8_feb8_6659_fd93;

/// Words of packets in a host.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    at_hand: Words,                // of the packet that the stack takes, or that arrives
    climbing: VecDeque<Words>,     // of packets between cable and stack
    answers: [VecDeque<Words>; 8], // by class, of those that wait for the wire
    heard: Heard,                  // room for what a flow makes of the words at hand
}

impl Told {
    /// Of a packet that the stack takes.
    fn at_hand(&self, packet: &Packet) -> &[u64] {
        &self.at_hand[..packet.hops()]
    }

    /// What a flow hears from a packet that the stack takes, which came to the host at `arrived`.
    pub(super) fn heard_by(
        &mut self,
        flow: &mut Telemetry,
        rates: &Rates,
        arrived: Time,
        packet: &Packet,
    ) -> &[IntHop] {
        flow.hear(rates, arrived, &self.at_hand[..packet.hops()], &mut self.heard)
    }
}

impl Host {
    /// A packet that asks what ports have to tell comes from the cable. What it was told is part of the digest.
    #[inline(never)]
    pub(super) fn hear(&mut self, now: Time, packet: &Packet, words: &Words) {
        if packet.hops() == 0 {
            return;
        }
        let waits = self.memory.is_some();
        let told = self.told.get_or_insert_default();
        told.at_hand = *words;
        if waits {
            told.climbing.push_back(*words);
        }
        let fold = |all: u64, word: &u64| (all.rotate_left(29) ^ word).wrapping_mul(ODD);
        self.digest.add(now.as_ps(), told.at_hand(packet).iter().fold(0, fold));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::node::AnyNode;
    use crate::options::Options;
    use forebay_engine::{Amend, LinkId};
    use forebay_units::Span;
    use forebay_wire::{Flags, Kind};

    const STAR: &str = r#"
version = 1
name = "told"
seeds = [1]
stop = { time = "1ms" }
[fabric]
kind = "star"
hosts = 2
host_link = { rate = "100Gbps", delay = "1us" }
[transport]
kind = "rdma"
law = "hpcc"
[[traffic]]
kind = "list"
flows = [{ from = "host[0]", to = "host[1]", size = "1MB", at = "500us" }]
"#;

    /// Sequence numbers of what leaves, and what it takes along.
    #[derive(Default)]
    struct Left(Vec<(u64, Words)>);

    impl Out<Packet> for Left {
        fn push(&mut self, _link: LinkId, _at: Time, packet: &Packet) {
            self.0.push((packet.seq, Words::default()));
        }

        fn push_with(
            &mut self,
            _link: LinkId,
            _at: Time,
            packet: &Packet,
            words: &Words,
            _amend: Amend<'_, Packet>,
        ) {
            self.0.push((packet.seq, *words));
        }

        fn done(&mut self) {}
    }

    #[test]
    fn every_answer_takes_what_its_packet_was_told() {
        let scenario = forebay_scenario::text("told.toml", STAR).unwrap().scenario;
        let mut built = build(&scenario, 1, Options::default(), false).unwrap();
        let AnyNode::Host(mut host) = built.nodes.swap_remove(1) else {
            panic!("hosts come first")
        };
        let mut left = Left::default();
        let told = |seq: u64| [seq, seq + 10, 0, 0, 0];
        for seq in 1..6 {
            let class = (seq % 2) as u8;
            let flags = Flags::TELEMETRY;
            let data = Packet { seq, flags, class, sacks: 2, ..Packet::default() };
            host.hear(Time::ZERO, &data, &told(seq));
            host.queue_ack(Time::ZERO, &Packet { kind: Kind::Ack, size: 64, ..data });
            host.queue_ack(Time::ZERO, &Packet { seq: seq + 100, size: 64, ..Packet::default() });
        }
        host.pull(Time::ZERO, Time::ZERO + Span::from_us(1), &mut left);
        let expected: Vec<_> =
            (1..6).flat_map(|seq| [(seq, told(seq)), (seq + 100, Words::default())]).collect();
        assert_eq!(left.0, expected);
    }
}
