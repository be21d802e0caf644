//! Known answers by hand, after SIGCOMM 2018, section 3.

extern crate std;

use super::*;
use crate::grant::{GrantEvent, GrantParams, IncomingMessage, MessageId};
use forebay_units::BitsPerSec;
use std::vec::Vec;

fn incoming(id: u32, size: u64, received: u64, credited: u64) -> IncomingMessage {
    IncomingMessage {
        message: MessageId(id),
        sender: id,
        size: Bytes::new(size),
        received: Bytes::new(received),
        trimmed: Bytes::ZERO,
        credited: Bytes::new(credited),
        unscheduled: Bytes::new(9700),
        since: Time::ZERO,
        last_arrival: Time::ZERO,
    }
}

fn grant(id: u32, credit: u64, priority: u8) -> GrantAct {
    GrantAct::Grant { message: MessageId(id), credit: Bytes::new(credit), priority }
}

/// RTTbytes 9700, packets of 1456 B, K = 2.
///
/// A: 20 000 granted, 11 000 received: 9 000 on their way, below 9 700: grant to 20 000 + 1 456 = 21 456,
/// at level a - 1 = min(2, 3) - 1 = 1. B: 30 000 - 20 000 = 10 000 on their way: none. C ranks third: none.
/// Then 1 456 B of B arrive: 8 544: grant to 31 456 at level 0.
/// B alone: the lowest level, 0; the last grant stops at its size.
#[test]
fn grants_go_to_the_shortest_two() {
    let at = GrantStart {
        mss: Bytes::new(1456),
        packet: Bytes::new(1538),
        line_rate: BitsPerSec::from_gbps(10),
        rtt_bytes: Bytes::new(9700),
        priorities: 7,
        seed: 1,
    };
    let params =
        HomaParams { overcommit: Degree(Some(ActiveMessages::new(2))), ..HomaParams::default() };
    let mut law = Homa::start(&params, Time::ZERO, at, &mut Acts::default());
    let mut run = |message, open: &[IncomingMessage]| -> Vec<GrantAct> {
        let event = GrantEvent::Data { message: MessageId(message), bytes: Bytes::new(1456) };
        let mut acts = Acts::default();
        law.step(Time::ZERO, GrantSeen { open, oldest: None, event }, &mut acts);
        acts.iter().collect()
    };
    let mut a = incoming(0, 50_000, 11_000, 20_000);
    let mut b = incoming(1, 70_000, 20_000, 30_000);
    let c = incoming(2, 90_000, 9_000, 10_000);
    assert_eq!(run(0, &[a, b, c]), [grant(0, 21_456, 1)]);
    a.credited = Bytes::new(21_456);
    b.received += Bytes::new(1456);
    assert_eq!(run(1, &[a, b, c]), [grant(1, 31_456, 0)]);
    b.received = Bytes::new(65_000);
    b.credited = Bytes::new(69_000);
    assert_eq!(run(1, &[b]), [grant(1, 70_000, 0)]);
}

/// Seven priorities: seven active by default, of which a step serves four.
#[test]
fn as_many_are_active_as_there_are_priorities() {
    let at = GrantStart {
        mss: Bytes::new(1000),
        packet: Bytes::new(1100),
        line_rate: BitsPerSec::from_gbps(10),
        rtt_bytes: Bytes::new(5000),
        priorities: 7,
        seed: 1,
    };
    let mut law = Homa::start(&HomaParams::default(), Time::ZERO, at, &mut Acts::default());
    let mut open: Vec<IncomingMessage> =
        (0..9).map(|id| incoming(id, 50_000, 5_000, 9_000)).collect();
    let mut acts = Acts::default();
    law.step(
        Time::ZERO,
        GrantSeen { open: &open, oldest: None, event: GrantEvent::More },
        &mut acts,
    );
    assert!(acts.iter().eq((0..4).map(|id| grant(id, 10_000, 6 - id as u8))), "{acts:?}");
    open[..4].iter_mut().for_each(|open| open.credited = Bytes::new(10_000));
    acts.clear();
    law.step(
        Time::ZERO,
        GrantSeen { open: &open, oldest: None, event: GrantEvent::More },
        &mut acts,
    );
    assert!(acts.iter().eq((4..7).map(|id| grant(id, 10_000, 6 - id as u8))), "{acts:?}");
}

/// A twentieth of what is granted: after 20 packets of the shortest the oldest has one, at the highest level of granted data, and 19 of the shortest
/// later the next. Without a share it has none.
#[test]
fn the_oldest_message_has_its_share() {
    let at = GrantStart {
        mss: Bytes::new(1000),
        packet: Bytes::new(1100),
        line_rate: BitsPerSec::from_gbps(10),
        rtt_bytes: Bytes::new(5000),
        priorities: 7,
        seed: 1,
    };
    let packets = |share| -> Vec<u64> {
        let overcommit = Degree(Some(ActiveMessages::new(1)));
        let params = HomaParams { overcommit, oldest_share: share, ..HomaParams::default() };
        let mut law = Homa::start(&params, Time::ZERO, at, &mut Acts::default());
        let (mut short, mut old) = (incoming(0, 90_000, 0, 4_000), incoming(1, 900_000, 0, 4_000));
        let mut of_the_oldest = Vec::new();
        for n in 1..=61 {
            let oldest = law.serves_oldest().then_some(old);
            let mut acts = Acts::default();
            law.step(
                Time::ZERO,
                GrantSeen { open: &[short], oldest, event: GrantEvent::More },
                &mut acts,
            );
            for act in acts.iter() {
                let GrantAct::Grant { message, credit, priority } = act else { panic!("{act:?}") };
                let (open, level) = if message.0 == 0 { (&mut short, 0) } else { (&mut old, 6) };
                assert_eq!((credit, priority), (open.credited + at.mss, level));
                (open.credited, open.received) = (credit, open.received + at.mss);
                if message.0 == 1 {
                    of_the_oldest.push(n);
                }
            }
        }
        of_the_oldest
    };
    assert_eq!(packets(OldestShare::new(0.05)), [21, 40, 59]);
    assert!(packets(OldestShare::new(0.0)).is_empty());
}

/// `true` is the window of the message, 10 KB here.
#[test]
fn a_boosted_tail_is_a_window_or_a_size() {
    for (text, bytes) in [("false", 0), ("true", 10_000), ("3KB", 3_000), ("1MB", 1_000_000)] {
        let mut law = GrantParams::new("homa").expect("a law");
        law.set("tail_boost", text).expect("a value");
        assert_eq!(law.facts().tail_boost.bytes(Bytes::new(10_000)), Bytes::new(bytes), "{text}");
    }
    let mut law = GrantParams::new("homa").expect("a law");
    assert!(law.set("tail_boost", "0B").is_err() && law.set("tail_boost", "3").is_err());
}
