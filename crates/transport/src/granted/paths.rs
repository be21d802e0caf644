//! Numbers of paths for packets: all of them in turn, in an order drawn anew for each round (NDP, SIGCOMM 2017, section 3.1).

use super::PATH;
use super::scores::Scores;
use forebay_units::math::{below, mix};

/// Paths of one message. The order of a round is computed, not kept: a message may have thousands of paths.
#[derive(Clone, Debug)]
pub(super) struct PathOrder {
    seed: u64,
    sent: u32,
    count: u16,   // at least 1
    numbers: u16, // that stand for drawn paths; 0 where each path has one
    scores: Option<Box<Scores>>,
}

impl PathOrder {
    /// All of `count` paths, by orders of this message's own.
    pub fn new(seed: u64, count: u16) -> Self {
        Self { seed, sent: 0, count: count.max(1), numbers: 0, scores: None }
    }

    /// `numbers` of them in turn, each of which stands for one of the `count` paths, drawn once.
    pub fn drawn(seed: u64, count: u16, numbers: u16) -> Self {
        Self { numbers, ..Self::new(seed, count) }
    }

    /// All of `count` paths, except those that are worse than others.
    pub fn scored(seed: u64, count: u16) -> Self {
        let count = count.clamp(1, 1 << (u16::BITS - PATH));
        let scores = (count > 1).then(|| Box::new(Scores::new(count)));
        Self { scores, ..Self::new(seed, count) }
    }

    /// What became of packets on each path, where that is noted.
    #[inline]
    pub fn scores(&mut self) -> Option<&mut Scores> {
        self.scores.as_deref_mut()
    }

    /// Number of the path of the next packet.
    #[inline]
    pub fn next(&mut self) -> u16 {
        if self.count == 1 {
            return 0;
        }
        if self.scores.is_some() {
            self.next_good()
        } else if self.numbers > 0 {
            self.next_drawn()
        } else {
            self.turn(self.count)
        }
    }

    /// The next path that is not left out; of as many as there are in a round at most.
    #[cold]
    fn next_good(&mut self) -> u16 {
        for _ in 1..self.count {
            let path = self.turn(self.count);
            if self.scores.as_mut().is_none_or(|scores| scores.takes(path)) {
                return path;
            }
        }
        self.turn(self.count)
    }

    /// The path that the next number stands for.
    #[cold]
    fn next_drawn(&mut self) -> u16 {
        let number = self.turn(self.numbers);
        below(mix(mix(self.seed).wrapping_add(u64::from(number))), u32::from(self.count)) as u16
    }

    /// Which of `count` has its turn.
    #[inline]
    fn turn(&mut self, count: u16) -> u16 {
        let (count, sent) = (u32::from(count), self.sent);
        self.sent = sent.wrapping_add(1);
        permuted(mix(self.seed ^ u64::from(sent / count)), sent % count, count) as u16
    }
}

/// What stands at place `x` of the order of `0..count` that `key` has: a swap-or-not shuffle (Hoang, Morris and Rogaway, CRYPTO 2012, section 3). Each
/// round pairs every place with another, and swaps the two of a pair or not.
fn permuted(key: u64, x: u32, count: u32) -> u32 {
    (1..=ROUNDS).fold(x, |x, round| {
        let word = mix(key.wrapping_add(round.wrapping_mul(ODD)));
        let partner = (below(word, count) + count - x) % count;
        let pair = u64::from(x.max(partner));
        if mix(word ^ pair) & 1 == 1 { partner } else { x }
    })
}

/// With eight rounds, successive places of 4 and of 16 are as independent as those of a true shuffle as far as 4,000 orders can tell.
const ROUNDS: u64 = 8;
const ODD: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 over the golden ratio: words of rounds differ in about half their bits

#[cfg(test)]
mod tests {
    use super::*;

    /// Each round has each path once, and each place of a round each path about equally often.
    #[test]
    fn rounds_are_permutations_drawn_anew() {
        for count in [1u16, 2, 3, 4, 5, 8, 12, 16, 100] {
            let (rounds, n) = (2_000u32, usize::from(count));
            let mut order = PathOrder::new(7, count);
            let mut first = vec![0u32; n];
            for _ in 0..rounds {
                let round: Vec<u16> = (0..count).map(|_| order.next()).collect();
                let mut sorted = round.clone();
                sorted.sort_unstable();
                assert!(sorted.iter().copied().eq(0..count), "{round:?} of {count}");
                first[usize::from(round[0])] += 1;
            }
            let (mean, p) = (f64::from(rounds) / f64::from(count), 1.0 / f64::from(count));
            let sigma = (mean * (1.0 - p)).sqrt();
            let even = |seen: &u32| (f64::from(*seen) - mean).abs() <= 5.0 * sigma;
            assert!(first.iter().all(even), "{count}: {first:?}");
        }
    }

    /// Each round of 128 numbers gives the same paths as often as the round before, in another order; some paths have more numbers than others, and another message's are others.
    #[test]
    fn drawn_numbers_stand_for_the_same_paths_in_each_round() {
        let counts = |order: &mut PathOrder| {
            let mut counts = [0u32; 16];
            (0..128).for_each(|_| counts[usize::from(order.next())] += 1);
            counts
        };
        let mut order = PathOrder::drawn(7, 16, 128);
        let first = counts(&mut order);
        assert_eq!(counts(&mut order), first);
        assert_ne!(counts(&mut PathOrder::drawn(8, 16, 128)), first);
        // Of a mean of 8, the variance of one path's numbers is 7.5; over 400 messages it shows.
        let off = |seed: u64| -> f64 {
            let counts = counts(&mut PathOrder::drawn(seed, 16, 128));
            counts.iter().map(|n| (f64::from(*n) - 8.0).powi(2)).sum::<f64>() / 16.0
        };
        let variance = (0..400).map(off).sum::<f64>() / 400.0;
        assert!((7.0..8.0).contains(&variance), "{variance}");
    }

    /// Share of orders of 16 of which the first four have four different upper digits, as packets that spread over four switches: 16 x 12 x 8 x 4 of
    /// 16 x 15 x 14 x 13, and each pair of neighbours as often as any other.
    #[test]
    fn successive_paths_are_as_independent_as_in_a_shuffle() {
        let (rounds, count) = (20_000u32, 16u16);
        let mut order = PathOrder::new(11, count);
        let (mut spread, mut pairs) = (0u32, [[0u32; 16]; 16]);
        for _ in 0..rounds {
            let round: Vec<u16> = (0..count).map(|_| order.next()).collect();
            let upper = round[..4].iter().fold(0u8, |seen, path| seen | 1 << (path / 4));
            spread += u32::from(upper == 0b1111);
            for two in round.windows(2) {
                pairs[usize::from(two[0])][usize::from(two[1])] += 1;
            }
        }
        let fair = 16.0 * 12.0 * 8.0 * 4.0 / (16.0 * 15.0 * 14.0 * 13.0);
        let sigma = (fair * (1.0 - fair) / f64::from(rounds)).sqrt();
        let share = f64::from(spread) / f64::from(rounds);
        assert!((share - fair).abs() < 4.0 * sigma, "{share} of {fair}");
        let mean = f64::from(rounds) * 15.0 / 240.0;
        let off = |&seen: &u32| (f64::from(seen) - mean).powi(2) / mean;
        let chi: f64 = pairs.iter().flatten().filter(|seen| **seen > 0).map(off).sum();
        assert!(chi / 239.0 < 1.5, "{}", chi / 239.0);
    }
}
