//! Numbers of paths for packets: all of them in turn, in an order drawn anew for each round (NDP, SIGCOMM 2017, section 3.1).

use forebay_units::math::mix;

/// Paths of one message. The order of a round is computed, not kept: a message may have thousands of paths.
///
/// Deviation: not every order of more than two paths can be drawn.
#[derive(Clone, Debug)]
pub(super) struct PathOrder {
    seed: u64,
    sent: u32,
    count: u16, // at least 1
}

impl PathOrder {
    /// All of `count` paths, by orders of this message's own.
    pub fn new(seed: u64, count: u16) -> Self {
        Self { seed, sent: 0, count: count.max(1) }
    }

    /// Number of the path of the next packet.
    #[inline]
    pub fn next(&mut self) -> u16 {
        if self.count == 1 {
            return 0;
        }
        let (count, sent) = (u32::from(self.count), self.sent);
        self.sent = sent.wrapping_add(1);
        permuted(mix(self.seed ^ u64::from(sent / count)), sent % count, count) as u16
    }
}

/// What stands at place `x` of the order of `0..count` that `key` has.
fn permuted(key: u64, x: u32, count: u32) -> u32 {
    let mask = count.next_power_of_two() - 1;
    let shift = (mask.count_ones() / 2).max(1);
    let mut x = x;
    loop {
        // Each step can be undone within the bits of the mask; what falls beyond `count` goes round again.
        for part in [key as u32, (key >> 16) as u32, (key >> 32) as u32] {
            x = (x ^ part & mask).wrapping_mul(part >> 8 | 1) & mask;
            x ^= x >> shift;
        }
        if x < count {
            return x;
        }
    }
}

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
}
