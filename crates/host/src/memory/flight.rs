//! Reads in flight: each comes back as long after it left as memory took when it left, and may overtake others.
//!
//! Models: two halves of a core's reads, a seventh faster and a seventh slower than the mean: the spread of a latency between 3/4 and 5/4 of
//! it. Without one, reads that left together would come back together for ever.

use super::curve::Curve;
use super::float;

/// How long halves take, as shares of the mean: with the standard deviation of what is spread evenly by a quarter, `1 / (4 sqrt 3)`.
const HALVES: [f64; 2] = [1.0 - 0.144_337_567_297_406_44, 1.0 + 0.144_337_567_297_406_44];

/// Reads that leave one after the other are put together for about this time, in ps, unless the first of them can be back before.
const TOGETHER: u64 = 100_000;

/// Reads that left and are not back. Times are in ps.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    halves: [Curve; 2], // half units that are back, by time
    back: u64,          // units, of both
    leaving: u64,       // units that left of late, evenly, and are in no curve
    since: u64,         // when the first of them left
    latency: f64,       // of that one
}

impl Flight {
    /// None.
    pub(super) fn new() -> Self {
        let halves = [Curve::new(), Curve::new()];
        Self { halves, back: 0, leaving: 0, since: 0, latency: 0.0 }
    }

    /// There are as many as when `units` have gone round evenly up to `now`, each `latency` long.
    pub(super) fn set_even(&mut self, now: u64, latency: f64, units: u64) {
        let (now, fast) = (float(now), (float(units) * HALVES[0]) as u64);
        for ((curve, half), units) in
            self.halves.iter_mut().zip(HALVES).zip([fast, 2 * units - fast])
        {
            curve.clear();
            curve.rise(now, now + half * latency, units);
        }
        (self.back, self.leaving) = (0, 0);
    }

    /// Units in flight.
    #[inline]
    pub(super) fn units(&self) -> u64 {
        let [fast, slow] = &self.halves;
        (fast.top() + slow.top()) / 2 + self.leaving - self.back
    }

    /// From `at` to `now` those come back that do, and as many leave again where they `work`, with `more`; a read that leaves at `at` takes
    /// `latency`. Returns the units that left and that came back.
    #[inline]
    pub(super) fn step(
        &mut self,
        at: u64,
        now: u64,
        latency: f64,
        works: bool,
        more: i64,
    ) -> (u64, u64) {
        let back_from = HALVES[0] * self.latency;
        let within = float(now - at) > HALVES[0] * latency;
        let settles = within || at - self.since >= TOGETHER || float(now - self.since) > back_from;
        if self.leaving > 0 && settles {
            self.settle(at, latency);
        }
        let back = self.returned(now);
        if !works {
            return (0, back);
        }
        let first = (back as i64 + more).max(0) as u64;
        if within {
            let (left, again) = self.within(at, now, latency, first);
            return (left, back + again);
        }
        if self.leaving == 0 {
            (self.since, self.latency) = (at, latency);
        }
        self.leaving += first;
        (first, back)
    }

    /// Units that have come back by `now`.
    #[inline]
    fn returned(&mut self, now: u64) -> u64 {
        let now = float(now);
        let [fast, slow] = &mut self.halves;
        let all = (fast.at(now) + slow.at(now)) / 2;
        let back = all - self.back;
        self.back = all;
        back
    }

    /// A step in which the first that leave are back, and leave again. Returns how many left, `first` and those, and how many of
    /// them came back.
    #[inline(never)]
    fn within(&mut self, at: u64, now: u64, latency: f64, first: u64) -> (u64, u64) {
        let (begin, end) = (float(at), float(now));
        let dt = end - begin;
        let early = HALVES.map(|half| (dt - half * latency).max(0.0));
        let left = (float(first) * dt / (dt - 0.5 * (early[0] + early[1]))) as u64;
        let mut again = 0;
        for ((half, early), curve) in HALVES.iter().zip(early).zip(&mut self.halves) {
            let back = (float(left) * early / dt) as u64 & !1; // even, so that both halves of it are units
            curve.add(end.max(begin + half * latency), end + half * latency, left - back);
            again += back / 2;
        }
        (left, again)
    }

    /// Settles what is leaving: all of it has left by `at`, when a read takes `latency`.
    #[inline]
    pub(super) fn settle(&mut self, at: u64, latency: f64) {
        if self.leaving > 0 {
            let units = std::mem::take(&mut self.leaving);
            let (begin, end) = (float(self.since), float(at));
            for (half, curve) in HALVES.iter().zip(&mut self.halves) {
                let (from, to) = (begin + half * self.latency, end + half * latency);
                curve.add(from.min(to), to.max(from), units);
            }
        }
    }

    /// Takes `count` of `all` out, as they are at `now`. Nothing is leaving.
    pub(super) fn split(&mut self, now: u64, count: u32, all: u32) -> Self {
        let part = |value: u64| (u128::from(value) * u128::from(count) / u128::from(all)) as u64;
        let mut out = Self { halves: [0, 1].map(|i| self.halves[i].map(part)), ..Self::new() };
        self.halves = [0, 1].map(|i| self.halves[i].map(|value| value - part(value)));
        self.count_back(now);
        out.count_back(now);
        out
    }

    /// Adds others, as they are at `now`. Nothing is leaving.
    pub(super) fn join(&mut self, now: u64, other: &Self) {
        for (own, other) in self.halves.iter_mut().zip(&other.halves) {
            other.pieces(float(now)).for_each(|(from, to, units)| own.add(from, to, units));
        }
    }

    fn count_back(&mut self, now: u64) {
        self.back = 0;
        self.returned(now);
    }
}

/// Lines in units.
pub(super) fn units(lines: f64) -> u64 {
    (lines * super::UNIT as f64) as i64 as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: u64 = super::super::UNIT;

    /// What leaves for 150 ns comes back a latency later in the mean, all of it, and none before three quarters of that, however often a caller
    /// looks and in however many pieces it leaves.
    #[test]
    fn reads_come_back_after_their_latency() {
        for (look, pieces, latency) in
            [(1_000, 1, 3e5), (150_000, 1, 3e5), (1_000, 10, 5e5), (50_000, 5, 5e5)]
        {
            let mut flight = Flight::new();
            let (piece, count) = (150_000 / pieces, 1_000 / pieces * LINE);
            for i in 0..pieces {
                let moved = flight.step(i * piece, (i + 1) * piece, latency, true, count as i64);
                assert_eq!(moved, (count, 0));
            }
            flight.settle(150_000, latency);
            let (mut sum, mut all, mut now) = (0.0, 0, 150_000);
            while now < 1_000_000 {
                let (_, back) = flight.step(now, now + look, latency, false, 0);
                now += look;
                assert!(back == 0 || now as f64 > 0.75 * latency, "{back} are back after {now} ps");
                sum += float(back) * (float(now) - 0.5 * float(look));
                all += back;
            }
            assert_eq!((all, flight.units()), (1_000 * LINE, 0));
            let mean = sum / float(all); // they left at 75 ns in the mean
            assert!((mean - latency - 75e3).abs() < 0.02 * float(look), "{mean} ps, by {look}");
        }
    }

    #[test]
    fn later_ones_overtake() {
        let mut flight = Flight::new();
        flight.step(0, 100_000, 900e3, true, 300 * LINE as i64);
        flight.settle(100_000, 900e3);
        flight.step(100_000, 200_000, 200e3, true, 600 * LINE as i64);
        flight.settle(200_000, 200e3);
        let (_, back) = flight.step(200_000, 700_000, 200e3, false, 0);
        assert_eq!((back, flight.units()), (600 * LINE, 300 * LINE));
    }

    /// However long the steps are, beside the latency.
    #[test]
    fn a_loop_goes_round_once_in_a_latency() {
        for (latency, dt) in [(90e3, 150_000), (155e3, 150_000), (155e3, 40_000), (700e3, 97_000)] {
            let mut flight = Flight::new();
            flight.set_even(0, latency, 50 * LINE);
            let (mut now, mut left) = (0, 0);
            while now < 100_000_000 {
                let more = (50 * LINE) as i64 - flight.units() as i64;
                left += flight.step(now, now + dt, latency, true, more).0;
                now += dt;
            }
            let rate = float(left) / float(50 * LINE) * latency / float(now);
            assert!((rate - 1.0).abs() < 1e-4, "{latency} by {dt}: {rate}");
        }
    }

    #[test]
    fn what_is_split_and_joined_is_as_much_as_before() {
        let mut flight = Flight::new();
        flight.set_even(1_000_000, 300e3, 1_000 * LINE);
        let (_, gone) = flight.step(1_000_000, 1_100_000, 300e3, false, 0);
        assert!(gone.abs_diff(1_000 * LINE / 3) < 2);
        let all = flight.units();
        let mut other = flight.split(1_100_000, 3, 10);
        assert!((other.units() + flight.units()).abs_diff(all) < 2);
        assert!(other.units().abs_diff(all * 3 / 10) < 2);
        other.step(1_100_000, 1_200_000, 900e3, true, 77 * LINE as i64);
        other.settle(1_200_000, 900e3);
        flight.step(1_100_000, 1_200_000, 300e3, false, 0);
        let all = flight.units() + other.units();
        flight.join(1_200_000, &other);
        assert!(flight.units().abs_diff(all) < 2);
        let back: u64 =
            (12..30).map(|i| flight.step(i * 100_000, (i + 1) * 100_000, 1.0, false, 0).1).sum();
        assert!(back.abs_diff(all) < 2 && flight.units() == 0);
    }
}
