//! Known answers by hand.

extern crate std;

use super::*;
use crate::pool::PoolTotals;
use forebay_units::Bytes;
use std::vec::Vec;

/// 12 MiB / 64 B = 196 608 lines: 196 608, 98 304, 24 576 and 12 288 credits for 1, 2, 8 and 16 connections (formula 1).
///
/// An idle receiver at 10 GB/s over 100 us: 1 000 000 B a round trip = 15 625 credits. From n = 1:
/// delta = 15 625 / 4 = 3 906, limit 200 514; then 3 906 + (15 625 - 3 906) / 4 = 6 835 (2 929.75
/// rounded down), limit 203 443. With nothing blocked it goes back: 6 835 - 6 835 / 4 = 5 127.
#[test]
fn credits_are_the_share_of_the_cache_and_loosen_when_the_receiver_idles() {
    let rtt = Span::from_us(100);
    let at = PoolStart {
        llc: Bytes::new(12 << 20),
        line: Bytes::new(64),
        connections: 2,
        base_rtt: Some(rtt),
        seed: 1,
    };
    let mut first = Acts::default();
    let mut law = Carc::start(&CarcParams::default(), Time::ZERO, at, &mut first);
    assert_eq!(first.iter().next(), Some(PoolAct::Limit(98_304)));
    let mut run = |us, totals: &PoolTotals, event| -> Vec<PoolAct> {
        let mut acts = Acts::default();
        law.step(Time::ZERO + Span::from_us(us), PoolSeen { totals, event }, &mut acts);
        acts.iter().collect()
    };
    let mut totals = PoolTotals::default();
    for (n, credits) in [(8, 24_576), (16, 12_288), (1, 196_608)] {
        let acts = run(0, &totals, PoolEvent::Connections(n));
        assert_eq!(acts, [PoolAct::Limit(credits)]);
    }
    totals.blocked = 3;
    for (us, limit) in [(100, 200_514), (200, 203_443), (300, 201_735)] {
        totals.completed += 1_000_000;
        totals.blocked = if us == 300 { 0 } else { 3 };
        let bytes = Bytes::new(1_000_000);
        run(us, &totals, PoolEvent::Completed { bytes, latency: rtt });
        assert_eq!(run(us - 1, &totals, PoolEvent::Wake), [], "spurious");
        let next = Time::ZERO + Span::from_us(us + 100);
        let acts = run(us, &totals, PoolEvent::Wake);
        assert_eq!(acts, [PoolAct::WakeAt(next), PoolAct::Limit(limit)]);
    }
}

/// 126 % of an empty path's latency is a queue.
#[test]
fn a_slow_request_loosens_nothing() {
    let rtt = Span::from_us(100);
    let at = PoolStart {
        llc: Bytes::new(1 << 20),
        line: Bytes::new(64),
        connections: 1,
        base_rtt: Some(rtt),
        seed: 1,
    };
    let mut law = Carc::start(&CarcParams::default(), Time::ZERO, at, &mut Acts::default());
    let totals = PoolTotals { blocked: 1, completed: 1_000_000, outstanding: 0 };
    for (event, us) in [
        (PoolEvent::Completed { bytes: Bytes::new(1_000_000), latency: Span::from_us(126) }, 90),
        (PoolEvent::Wake, 100),
    ] {
        let now = Time::ZERO + Span::from_us(us);
        law.step(now, PoolSeen { totals: &totals, event }, &mut Acts::default());
    }
    assert_eq!(law.limit(), 16_384);
}
