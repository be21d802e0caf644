//! Known answers by hand, after SIGCOMM 2017, section 3.

extern crate std;

use super::*;
use crate::grant::{IncomingMessage, MessageId};
use forebay_units::{BitsPerSec, Span};
use std::vec::Vec;

/// Packets of 8 910 B on the wire: 712.8 ns at 100 Gb/s, so 720 ns apart at 0.99 of that. Two messages of 100 packets, ten of each unasked.
///
/// One packet of A arrives: a pull at once, and none for the next 720 ns, in which another one of A arrives and a header
/// of B. B's turn comes first then, and after it A's.
#[test]
fn pulls_are_paced_and_in_turns() {
    let at = GrantStart {
        mss: Bytes::new(9000),
        packet: Bytes::new(8910),
        line_rate: BitsPerSec::from_gbps(100),
        rtt_bytes: Bytes::new(90_000),
        priorities: 1,
        seed: 1,
    };
    let message = |id| IncomingMessage {
        message: MessageId(id),
        sender: id,
        size: Bytes::new(900_000),
        received: Bytes::ZERO,
        trimmed: Bytes::ZERO,
        credited: Bytes::new(90_000),
        unscheduled: Bytes::new(90_000),
        since: Time::ZERO,
        last_arrival: Time::ZERO,
    };
    let (mut a, mut b) = (message(0), message(1));
    let mut law = Ndp::start(&NdpParams::default(), Time::ZERO, at, &mut Acts::default());
    let ns = |n: u64| Time::ZERO + Span::from_ps(n * 10);
    let mut run = |now, event, open: &[IncomingMessage]| -> Vec<GrantAct> {
        let mut acts = Acts::default();
        law.step(now, GrantSeen { open, oldest: None, event }, &mut acts);
        acts.iter().collect()
    };
    let pull = |id, credit| GrantAct::Grant {
        message: MessageId(id),
        credit: Bytes::new(credit),
        priority: 0,
    };
    let bytes = Bytes::new(9000);
    let data = |id| GrantEvent::Data { message: MessageId(id), bytes };
    assert_eq!(run(ns(0), GrantEvent::Opened { message: MessageId(0) }, &[a]), [], "all under way");
    a.received = Bytes::new(9000);
    assert_eq!(run(ns(1), data(0), &[b, a]), [pull(0, 99_000), GrantAct::WakeAt(ns(72_001))]);
    a.credited = Bytes::new(99_000);
    a.received = Bytes::new(18_000);
    assert_eq!(run(ns(100), data(0), &[b, a]), [GrantAct::WakeAt(ns(72_001))]);
    b.trimmed = Bytes::new(9000);
    let cut = GrantEvent::Trimmed { message: MessageId(1), bytes };
    assert_eq!(run(ns(200), cut, &[b, a]), [GrantAct::WakeAt(ns(72_001))]);
    let next = GrantAct::WakeAt(ns(144_001));
    assert_eq!(run(ns(72_001), GrantEvent::Wake, &[b, a]), [pull(1, 99_000), next]);
    b.credited = Bytes::new(99_000);
    let last = GrantAct::WakeAt(ns(216_001));
    assert_eq!(run(ns(144_001), GrantEvent::Wake, &[a, b]), [pull(0, 108_000), last]);
    a.credited = Bytes::new(108_000);
    assert_eq!(run(ns(216_001), GrantEvent::Wake, &[b, a]), [], "nobody is owed a packet");
    // Silence of one that has nothing else to hope for.
    let silent = GrantEvent::Silent { message: MessageId(1) };
    assert_eq!(run(ns(300_000), silent, &[b, a])[..1], [pull(1, 108_000)]);
}
