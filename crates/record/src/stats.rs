//! Quantiles, means and confidence intervals, each with its definition.
//!
//! Quantiles are *nearest rank*: of n sorted values, the q-quantile is the one at rank
//! `ceil(q * n)`, counted from 1. It is always a value that occurred. A mean across seeds gets a
//! 95 % confidence interval by Student's t over the per-seed values, and none from fewer than
//! three seeds: from one there is no spread, and from two the interval is wider than anything it
//! could tell apart (t = 12.7).

use forebay_units::math::exp;
use serde::{Deserialize, Serialize};

/// Fewest seeds for a confidence interval.
pub const MIN_SEEDS_FOR_CI: usize = 3;

/// Rank, from 0, of the `percent` quantile among `count` sorted values. `count` is at least 1.
pub fn nearest_rank(count: usize, percent: u32) -> usize {
    assert!(percent <= 100, "a quantile needs 0 to 100 percent");
    nearest_rank_per_mille(count, percent * 10)
}

/// Rank, from 0, of a quantile in parts per thousand.
fn nearest_rank_per_mille(count: usize, per_mille: u32) -> usize {
    assert!(count > 0 && per_mille <= 1000, "a quantile needs a value and a part of the whole");
    (count as u128 * u128::from(per_mille)).div_ceil(1000).max(1) as usize - 1
}

/// Jain's fairness index, (sum x)^2 / (n sum x^2); `None` of no values, or if all are zero.
///
/// Source: Jain, Chiu and Hawe, DEC-TR-301 (1984), section 3.
pub fn jain(values: &[f64]) -> Option<f64> {
    let (sum, squares) =
        values.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// The `percent` quantile of sorted values, nearest rank; `None` of no values.
pub fn quantile(sorted: &[f64], percent: u32) -> Option<f64> {
    (!sorted.is_empty()).then(|| sorted[nearest_rank(sorted.len(), percent)])
}

/// The quantile of sorted values in parts per thousand, nearest rank; `None` of no values.
pub fn quantile_per_mille(sorted: &[f64], per_mille: u32) -> Option<f64> {
    (!sorted.is_empty()).then(|| sorted[nearest_rank_per_mille(sorted.len(), per_mille)])
}

/// The mean, added in the order given; `None` of no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Two-sided 95 % point of Student's t with `df` degrees of freedom, at least 1.
///
/// A table to 30, beyond it the Cornish-Fisher series in 1/df around the normal point, right to
/// 1e-4 there.
pub fn student_t95(df: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010,
        2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739,
        2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
    ];
    assert!(df >= 1, "a spread needs two values");
    if let Some(t) = TABLE.get(df - 1) {
        return *t;
    }
    let (z, n) = (1.959_964_f64, df as f64);
    let (z3, z5) = (z * z * z, z * z * z * z * z);
    z + (z3 + z) / (4.0 * n) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
}

/// One quantity across seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean over the seeds that have a value; `None` if none has.
    pub mean: Option<f64>,
    /// 95 % confidence interval of that mean, low and high end.
    pub ci95: Option<[f64; 2]>,
    /// Why there is no interval.
    pub ci95_absent_because: Option<String>,
    /// The value of each seed, in seed order; `None` where a seed has none.
    pub per_seed: Vec<Option<f64>>,
}

impl Estimate {
    /// The estimate from one value per seed.
    pub fn new(per_seed: Vec<Option<f64>>) -> Self {
        let values: Vec<f64> = per_seed.iter().flatten().copied().collect();
        let centre = mean(&values);
        let (ci95, ci95_absent_because) = match centre {
            Some(centre) if values.len() >= MIN_SEEDS_FOR_CI => {
                let square = values.iter().map(|v| (v - centre) * (v - centre)).sum::<f64>();
                let n = values.len() as f64;
                let half = student_t95(values.len() - 1) * (square / (n - 1.0) / n).sqrt();
                (Some([centre - half, centre + half]), None)
            }
            Some(_) => {
                let have = values.len();
                let plural = if have == 1 { "seed has" } else { "seeds have" };
                (
                    None,
                    Some(format!("{have} {plural} a value; an interval needs {MIN_SEEDS_FOR_CI}")),
                )
            }
            None => (None, Some("no seed has a value".into())),
        };
        Self { mean: centre, ci95, ci95_absent_because, per_seed }
    }

    /// Half the width of the interval.
    pub fn half_width(&self) -> Option<f64> {
        self.ci95.map(|[low, high]| (high - low) / 2.0)
    }

    /// The interval as pictures shade it: of the logarithm of the mean, to first order, so that it never reaches zero. As wide in all as
    /// `ci95` where seeds differ little. `None` of too few seeds, and of a mean that is not positive.
    pub fn band(&self) -> Option<[f64; 2]> {
        let mean = self.mean.filter(|mean| *mean > 0.0)?;
        let half = self.half_width()? / mean;
        Some([mean * exp(-half), mean * exp(half)])
    }

    /// Least and largest value of any seed.
    pub fn range(&self) -> Option<(f64, f64)> {
        let mut values = self.per_seed.iter().flatten().copied();
        let first = values.next()?;
        Some(values.fold((first, first), |(low, high), v| (low.min(v), high.max(v))))
    }
}

/// A digest as it is printed.
pub fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::math::mix;

    #[test]
    fn the_quantile_is_the_least_value_that_enough_values_do_not_exceed() {
        for count in 1..400_u64 {
            let mut values: Vec<f64> =
                (0..count).map(|i| (mix(i * 31 + count) % 97) as f64).collect();
            values.sort_by(f64::total_cmp);
            for percent in [1, 25, 50, 90, 95, 99, 100] {
                let naive = values
                    .iter()
                    .copied()
                    .find(|x| {
                        let below = values.iter().filter(|v| *v <= x).count() as u64;
                        below * 100 >= u64::from(percent) * count
                    })
                    .unwrap();
                assert_eq!(quantile(&values, percent), Some(naive), "{percent} of {count}");
            }
        }
        assert_eq!(quantile(&[], 50), None);
        let thousands: Vec<f64> = (1..=2_000).map(f64::from).collect();
        assert_eq!(quantile_per_mille(&thousands, 999), Some(1_998.0));
        assert_eq!(quantile_per_mille(&thousands[..999], 999), Some(999.0));
    }

    #[test]
    fn t_joins_its_table_and_meets_published_values() {
        for (df, t) in [(1, 12.7062), (2, 4.3027), (4, 2.7764), (30, 2.0423)] {
            assert_eq!(student_t95(df), t);
        }
        for (df, t) in [(31, 2.0395), (40, 2.0211), (60, 2.0003), (120, 1.9799)] {
            assert!((student_t95(df) - t).abs() < 1e-4, "{df}: {}", student_t95(df));
        }
    }

    #[test]
    fn an_interval_needs_three_seeds_and_says_so() {
        let two = Estimate::new(vec![Some(1.0), None, Some(2.0)]);
        assert_eq!((two.mean, two.ci95), (Some(1.5), None));
        assert_eq!(two.ci95_absent_because.unwrap(), "2 seeds have a value; an interval needs 3");
        let three = Estimate::new(vec![Some(1.0), Some(2.0), Some(3.0)]);
        let half = 4.3027 / 3_f64.sqrt();
        assert!((three.half_width().unwrap() - half).abs() < 1e-12);
        assert_eq!(Estimate::new(vec![None]).mean, None);
    }

    #[test]
    fn a_band_of_something_positive_never_reaches_zero() {
        let wild = Estimate::new(vec![Some(1.0), Some(2.0), Some(30.0), Some(0.0)]);
        assert!(wild.ci95.unwrap()[0] < 0.0);
        let [low, high] = wild.band().unwrap();
        assert!(low > 0.0 && low < 8.25 && high > 8.25);
        let calm = Estimate::new(vec![Some(100.0), Some(101.0), Some(99.0)]);
        let (band, ci) = (calm.band().unwrap(), calm.ci95.unwrap());
        assert!((band[0] - ci[0]).abs() < 0.05 && (band[1] - ci[1]).abs() < 0.05);
        assert_eq!(Estimate::new(vec![Some(0.0); 3]).band(), None);
    }
}
