//! Means and percentiles of samples, each percentile with the interval that the number of samples leaves it.

/// Samples in ascending order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Samples(Vec<f64>);

/// A percentile, and an interval that holds the true one with 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percentile {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Percentile {
    /// Percentile of no samples.
    pub const NONE: Self = Self { value: f64::NAN, low: f64::NAN, high: f64::NAN };
}

impl Samples {
    pub fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Nearest-rank percentile, `per_10_000` from 1 to 9,999. Its interval runs between two order statistics: how many samples
    /// lie below the true percentile is binomial, whatever they are distributed like. An end beyond the samples is infinite.
    pub fn percentile(&self, per_10_000: u32) -> Percentile {
        let n = self.0.len();
        if n == 0 {
            return Percentile::NONE;
        }
        let below = (n * per_10_000 as usize).div_ceil(10_000);
        let value = self.0[below.max(1) - 1];
        let (low, high) = ranks(n, f64::from(per_10_000) / 10_000.0);
        let at = |rank: usize| self.0.get(rank.wrapping_sub(1)).copied();
        Percentile {
            value,
            low: at(low).unwrap_or(f64::NEG_INFINITY),
            high: at(high).unwrap_or(f64::INFINITY),
        }
    }
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Ranks, counted from 1, of the two order statistics: each side fails with 2.5 % at most. Rank 0 and rank n + 1 are beyond.
fn ranks(n: usize, p: f64) -> (usize, usize) {
    // K samples lie below the percentile: binomial(n, p). The r-th smallest lies above it with P(K < r).
    let mut log = n as f64 * (1.0 - p).ln();
    let odds = (p / (1.0 - p)).ln();
    let (mut sum, mut low, mut high) = (0.0, 0, n + 1);
    for k in 0..=n {
        sum += log.exp(); // P(K <= k)
        if sum <= 0.025 {
            low = k + 1;
        }
        if sum >= 0.975 {
            high = k + 1;
            break;
        }
        log += ((n - k) as f64 / (k + 1) as f64).ln() + odds;
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of order-statistic intervals for the median: 95 % and n = 10, 25 give ranks 2 to 9 and 8 to 18.
    #[test]
    fn the_ranks_are_those_of_the_tables() {
        assert_eq!(ranks(10, 0.5), (2, 9));
        assert_eq!(ranks(25, 0.5), (8, 18));
    }

    #[test]
    fn samples_beyond_a_percentile_are_those_past_its_rank() {
        for (count, per_10_000, expected) in
            [(0, 9990, 0), (2697, 9990, 2), (10_000, 9990, 10), (999, 9900, 9), (1100, 100, 10)]
        {
            assert_eq!(
                forebay_study::formula::beyond(count, per_10_000),
                expected,
                "{count} {per_10_000}"
            );
        }
    }

    #[test]
    fn a_percentile_beyond_the_samples_has_no_upper_end() {
        let few = Samples::new((1..=100).map(f64::from).collect());
        let p = few.percentile(9990);
        assert_eq!((p.value, p.high), (100.0, f64::INFINITY));
        let many = Samples::new((1..=100_000).map(f64::from).collect());
        let p = many.percentile(9999);
        assert_eq!(p.value, 99_990.0);
        // Ten samples lie above in the mean: Poisson, 4 to 17 with 95 %.
        assert!(p.high.is_finite() && p.high - p.low < 20.0 && p.low < p.value && p.value < p.high);
    }

    #[test]
    fn the_interval_holds_the_true_median_nineteen_times_in_twenty() {
        let mut state = 1u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let held = (0..2000).filter(|_| {
            let p = Samples::new((0..60).map(|_| draw()).collect()).percentile(5000);
            (p.low..=p.high).contains(&0.5)
        });
        let share = held.count() as f64 / 2000.0;
        assert!((0.94..0.985).contains(&share), "{share}");
    }
}
