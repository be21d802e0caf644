//! Known answers by hand.

extern crate std;

use super::*;
use forebay_units::Bytes;
use std::vec::Vec;

/// 12 MiB / 64 B = 196 608 lines: 196 608, 98 304, 24 576 and 12 288 credits for 1, 2, 8 and 16 connections (formula 1).
///
/// An idle receiver at 10 GB/s over 100 us: 1 000 000 B a round trip = 15 625 credits. From n = 1:
/// delta = 15 625 / 4 = 3 907 (quarters are rounded up), limit 200 515; then 3 907 + (15 625 - 3 907) / 4 = 6 837,
/// limit 203 445. With nothing blocked it goes back: 6 837 - 1 710 = 5 127.
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
    let mut law = Carc::start(&Arc::default(), Time::ZERO, at, &mut first);
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
    for (us, limit) in [(100, 200_515), (200, 203_445), (300, 201_735)] {
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

/// 126 % of an empty path's latency is a queue: 6,400 B of their own service take 0.6 us.
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
    let mut law = Carc::start(&Arc::default(), Time::ZERO, at, &mut Acts::default());
    let totals = PoolTotals { blocked: 1, completed: 1_000_000, outstanding: 0 };
    for (event, us) in [
        (PoolEvent::Completed { bytes: Bytes::new(6400), latency: Span::from_us(126) }, 90),
        (PoolEvent::Wake, 100),
    ] {
        let now = Time::ZERO + Span::from_us(us);
        law.step(now, PoolSeen { totals: &totals, event }, &mut Acts::default());
    }
    assert_eq!(law.limit(), 16_384);
}

/// A client whose requests of 8,000 B always wait, and a receiver that returns credits when it has consumed a share of them.
struct RoundWise {
    law: Carc,
    now: u64, // ns
    woken: u64,
    totals: PoolTotals,
}

const RTT: u64 = 100_000; // ns
const SERVICE: u64 = 800; // ns a request of 125 lines, at 10 GB/s

impl RoundWise {
    /// 12 MiB for one connection.
    fn new(base_rtt: Option<Span>, params: CarcParams) -> Self {
        let at = PoolStart {
            llc: Bytes::new(12 << 20),
            line: Bytes::new(64),
            connections: 1,
            base_rtt,
            seed: 1,
        };
        let law = Carc::start(&Arc::new(params), Time::ZERO, at, &mut Acts::default());
        Self { law, now: 0, woken: 0, totals: PoolTotals { blocked: 1, ..PoolTotals::default() } }
    }

    fn step(&mut self, ns: u64, event: PoolEvent) {
        let seen = PoolSeen { totals: &self.totals, event };
        self.law.step(Time::ZERO + Span::from_ns(ns), seen, &mut Acts::default());
    }

    /// Idle share of the receiver in each of so many rounds.
    fn idle(&mut self, rounds: u32) -> Vec<f64> {
        let batch = 196_608 / 125;
        let mut idle = Vec::new();
        for _ in 0..rounds {
            // What came beyond the batch is consumed while the batch's credits are on their way.
            let ahead = (self.law.limit() / 125).saturating_sub(batch) * SERVICE;
            let wait = RTT.saturating_sub(ahead);
            let end = self.now + wait + batch * SERVICE;
            while self.woken + RTT <= end {
                self.woken += RTT;
                self.totals.outstanding = self.law.limit();
                self.step(self.woken, PoolEvent::Wake);
            }
            for i in 1..=batch {
                self.totals.completed += 8000;
                let latency = Span::from_ns(RTT.max(ahead) + i * SERVICE);
                self.step(end, PoolEvent::Completed { bytes: Bytes::new(8000), latency });
            }
            idle.push(wait as f64 / (end - self.now) as f64);
            self.now = end;
        }
        idle
    }
}

/// Sheet `carc`, 7.3: the receiver idles RTT / (RTT + S/v2) = 100 / 1,357.6 us = 7.4 % of each round, and 0 with
/// delta = v2 RTT / 64 = 15,625 credits, of which rates are rounded down by less than one. The least latency of a path that
/// is not known has a request's service in it, here 125 credits.
#[test]
fn a_receiver_that_returns_credits_by_the_round_stops_idling() {
    for (known, credits) in [(true, 15_624..=15_625), (false, 15_749..=15_750)] {
        let mut rounds = RoundWise::new(known.then(|| Span::from_ns(RTT)), CarcParams::default());
        let idle = rounds.idle(120);
        assert!((idle[0] - 0.0737).abs() < 5e-5, "{}", idle[0]);
        assert!(idle[60..].iter().all(|&share| share == 0.0), "{idle:?}");
        assert!(credits.contains(&rounds.law.delta), "{}", rounds.law.delta);
    }
}

/// Delta after each of 60 windows of 100 us, the first four at 10 GB/s, the others at three tenths of it, with a queue that grows in the first six of those.
fn deltas(params: CarcParams) -> Vec<i64> {
    let mut law = RoundWise::new(Some(Span::from_ns(RTT)), params).law;
    let mut totals = PoolTotals { outstanding: 100_000, ..PoolTotals::default() };
    let mut deltas = Vec::new();
    for window in 1..=60_u64 {
        let now = Time::ZERO + Span::from_us(100 * window);
        let (bytes, us) =
            if window < 5 { (1_000_000, 110) } else { (300_000, 110 + 50 * (window - 4).min(6)) };
        totals.completed += bytes;
        let event = PoolEvent::Completed { bytes: Bytes::new(8000), latency: Span::from_us(us) };
        for event in [event, PoolEvent::Wake] {
            law.step(now, PoolSeen { totals: &totals, event }, &mut Acts::default());
        }
        deltas.push(law.delta);
    }
    deltas
}

/// Rule 4.3 of the sheet: with C = 196,608 the third window at three tenths of the rate moves delta to -C/8 = -24,576, a quarter
/// of the way at once. Until the mean of the rate has come within a tenth, 3 + 7 (7/8)^k < 3.33 after 23 windows, the goal
/// falls to -C/2. From then on it recovers in 16 windows of C/32.
#[test]
fn a_receiver_that_slows_down_gets_less_than_its_share() {
    let deltas = deltas(CarcParams::default());
    assert!(deltas[..6].iter().all(|&delta| delta == 0), "{deltas:?}");
    assert_eq!(deltas[6], -6144);
    assert!((-98_304..-96_000).contains(&deltas[26]), "{deltas:?}");
    assert!(deltas[27..].is_sorted() && deltas[59] > -200, "{deltas:?}");
}

/// Windows as above under other numbers, with delta going all of its way at once. Two slow ones take half of C = 196,608, of which three tenths may be taken, until the
/// 27th one has the mean within a tenth; each later window gives back a sixteenth. With the mean at the latest rate one window is slow and not two; of a fall by seven tenths none is.
#[test]
fn numbers_of_the_rule_are_parameters() {
    let other = CarcParams {
        delta_gain: PartOfWay::new(100),
        slow_windows: Windows::new(2),
        slow_step: Gain::from_shift(1),
        recovery_step: Gain::from_shift(4),
        most_below: CacheShareBelow::new(30),
        ..CarcParams::default()
    };
    let found = deltas(other);
    assert_eq!(found[..7], [0, 0, 0, 0, 0, -58_982, -58_982]);
    let back = found.iter().rposition(|&delta| delta == -58_982).unwrap();
    assert_eq!(found[back + 1..][..6], [-46_694, -34_406, -22_118, -9_830, 0, 0]);
    let none = |params| deltas(params).iter().all(|&delta| delta == 0);
    assert!(none(CarcParams { rate_gain: Gain::from_shift(0), ..other }));
    let one = CarcParams { slow_windows: Windows::new(1), ..other };
    assert!(none(CarcParams { slow_percent: Fall::new(70), ..one }));
    assert!(!none(CarcParams { slow_percent: Fall::new(69), ..one }));
}

/// Twelve parts in a hundred of a connection's C of 12,288 are less than what a round trip holds, 15,625 lines: delta stops at 1,474.
#[test]
fn delta_stops_at_its_bound() {
    let at = PoolStart {
        llc: Bytes::new(12 << 20),
        line: Bytes::new(64),
        connections: 16,
        base_rtt: Some(Span::from_ns(RTT)),
        seed: 1,
    };
    for (percent, delta) in [(12, 1_474), (100, 12_288), (1000, 15_625)] {
        let params =
            CarcParams { most_above: CacheShareAbove::new(percent), ..CarcParams::default() };
        let mut law = Carc::start(&Arc::new(params), Time::ZERO, at, &mut Acts::default());
        let mut totals = PoolTotals { blocked: 1, ..PoolTotals::default() };
        for us in (100..=5000).step_by(100) {
            totals.completed += 1_000_000;
            let latency = Span::from_ns(RTT);
            let event = PoolEvent::Completed { bytes: Bytes::new(1_000_000), latency };
            for event in [event, PoolEvent::Wake] {
                let now = Time::ZERO + Span::from_us(us);
                law.step(now, PoolSeen { totals: &totals, event }, &mut Acts::default());
            }
        }
        assert_eq!(law.delta, delta, "{percent} %");
    }
}
