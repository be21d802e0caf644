//! CARC credits of one connection: the share of the cache plus what is in flight to an idle receiver.

use forebay_laws::Acts;
use forebay_laws::pool::{PoolAct, PoolEvent, PoolLaw, PoolSeen, PoolStart, PoolTotals};
use forebay_units::{Bytes, Span, Time};

#[derive(Clone)]
struct Carc {
    lines: u64,
    line: u64,
    share: u64,
    delta: i64,
    rtt: Span,
    due: Time,
    completed: u64,
    latency: Span,
}

impl PoolLaw for Carc {
    const NAME: &'static str = "carc";
    type Params = ();

    fn start(_: &(), now: Time, at: PoolStart, acts: &mut Acts<PoolAct>) -> Self {
        let rtt = at.base_rtt.expect("the stub is given its base RTT");
        let lines = at.llc / at.line;
        let share = lines / u64::from(at.connections);
        acts.push(PoolAct::Limit(share));
        acts.push(PoolAct::WakeAt(now + rtt));
        let (line, due) = (at.line.get(), now + rtt);
        Self { lines, line, share, delta: 0, rtt, due, completed: 0, latency: Span::ZERO }
    }

    fn step(&mut self, now: Time, seen: PoolSeen<'_>, acts: &mut Acts<PoolAct>) {
        match seen.event {
            PoolEvent::Connections(n) => self.share = self.lines / u64::from(n.max(1)),
            PoolEvent::Completed { latency, .. } => {
                self.latency = latency;
                return;
            }
            PoolEvent::Wake if now >= self.due => {
                // v2 * rtt is what completed in this round trip.
                let consumed = seen.totals.completed - self.completed;
                self.completed = seen.totals.completed;
                let idle = seen.totals.blocked > 0 && self.latency <= self.rtt + self.rtt / 4;
                let target = if idle { (consumed / self.line) as i64 } else { 0 };
                let share = self.share as i64;
                self.delta = (self.delta + (target - self.delta) / 4).clamp(-share / 2, share);
                self.due = now + self.rtt;
                acts.push(PoolAct::WakeAt(self.due));
            }
            PoolEvent::Wake => return,
        }
        acts.push(PoolAct::Limit(self.share.saturating_add_signed(self.delta)));
    }
}

/// Source: sheet carc, sections 4 and 7.2. 12 MiB / 64 B = 196 608 lines: 196 608, 98 304, 24 576 and
/// 12 288 credits for 1, 2, 8 and 16 connections.
///
/// An idle receiver at 10 GB/s over 100 us: 1 000 000 B a round trip = 15 625 credits. From n = 1:
/// delta = 15 625 / 4 = 3 906, limit 200 514; then 3 906 + (15 625 - 3 906) / 4 = 6 835 (2 929.75
/// rounded down), limit 203 443.
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
    let mut law = Carc::start(&(), Time::ZERO, at, &mut first);
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
    for (us, limit) in [(100, 200_514), (200, 203_443)] {
        totals.completed += 1_000_000;
        let bytes = Bytes::new(1_000_000);
        run(us, &totals, PoolEvent::Completed { bytes, latency: rtt });
        assert_eq!(run(us - 1, &totals, PoolEvent::Wake), [], "spurious");
        let next = Time::ZERO + Span::from_us(us + 100);
        let acts = run(us, &totals, PoolEvent::Wake);
        assert_eq!(acts, [PoolAct::WakeAt(next), PoolAct::Limit(limit)]);
    }
}
