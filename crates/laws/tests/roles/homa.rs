//! Homa receiver: grants to the K shortest messages, one packet at a time.

use forebay_laws::Acts;
use forebay_laws::grant::{
    GrantAct, GrantEvent, GrantLaw, GrantSeen, GrantStart, Incoming, MessageId, Order,
};
use forebay_units::{BitsPerSec, Bytes, Time};

#[derive(Clone)]
struct Homa {
    overcommit: usize,
    packet: Bytes,
    rtt_bytes: Bytes,
}

impl GrantLaw for Homa {
    const NAME: &'static str = "homa";
    const ORDER: Order = Order::Shortest;
    type Params = ();

    fn start(_: &(), _now: Time, at: GrantStart, _acts: &mut Acts<GrantAct>) -> Self {
        Self { overcommit: 2, packet: at.mss, rtt_bytes: at.rtt_bytes }
    }

    fn step(&mut self, _now: Time, seen: GrantSeen<'_>, acts: &mut Acts<GrantAct>) {
        let active = seen.open.len().min(self.overcommit);
        for (rank, open) in seen.open[..active].iter().enumerate() {
            if open.granted - open.received < self.rtt_bytes && open.granted < open.size {
                acts.push(GrantAct::Grant {
                    message: open.message,
                    upto: open.size.min(open.granted + self.packet),
                    priority: (active - 1 - rank) as u8,
                });
            }
        }
    }
}

/// Source: sheet homa, section 7. RTTbytes 9700, packets of 1456 B, K = 2.
///
/// A: 20 000 granted, 11 000 received: 9 000 in flight, below 9 700: grant to 20 000 + 1 456 = 21 456,
/// at level a - 1 = min(2, 3) - 1 = 1. B: 30 000 - 20 000 = 10 000 in flight: none. C ranks third: none.
/// Then 1 456 B of B arrive: 8 544 in flight: grant to 31 456 at level 0.
/// B alone: the lowest level, 0; the last grant stops at its size.
#[test]
fn grants_go_to_the_shortest_two() {
    let at = GrantStart {
        mss: Bytes::new(1456),
        line_rate: BitsPerSec::from_gbps(10),
        rtt_bytes: Bytes::new(9700),
        priorities: 7,
        seed: 1,
    };
    let mut law = Homa::start(&(), Time::ZERO, at, &mut Acts::default());
    let incoming = |id, size, received, granted| Incoming {
        message: MessageId(id),
        size: Bytes::new(size),
        received: Bytes::new(received),
        granted: Bytes::new(granted),
        since: Time::ZERO,
    };
    let mut run = |message, open: &[Incoming]| -> Vec<GrantAct> {
        let event = GrantEvent::Data { message: MessageId(message), bytes: Bytes::new(1456) };
        let mut acts = Acts::default();
        law.step(Time::ZERO, GrantSeen { open, event }, &mut acts);
        acts.iter().collect()
    };
    let grant = |id, upto, priority| GrantAct::Grant {
        message: MessageId(id),
        upto: Bytes::new(upto),
        priority,
    };
    let mut a = incoming(0, 50_000, 11_000, 20_000);
    let mut b = incoming(1, 70_000, 20_000, 30_000);
    let c = incoming(2, 90_000, 9_000, 10_000);
    assert_eq!(run(0, &[a, b, c]), [grant(0, 21_456, 1)]);
    a.granted = Bytes::new(21_456);
    b.received += Bytes::new(1456);
    assert_eq!(run(1, &[a, b, c]), [grant(1, 31_456, 0)]);
    b.received = Bytes::new(65_000);
    b.granted = Bytes::new(69_000);
    assert_eq!(run(1, &[b]), [grant(1, 70_000, 0)]);
}
