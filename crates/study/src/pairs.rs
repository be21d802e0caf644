//! Two runs with common seeds: their difference, its interval, and how many seeds would be enough.
//!
//! Values are compared seed by seed, so that what a seed does to both runs alike cancels out. Ratios are compared as logarithms: no interval
//! of a quantity that cannot be negative goes below nothing of it.

use forebay_record::{Estimate, MIN_SEEDS_FOR_CI, student_t95};
use forebay_units::math::{exp, ln};

/// Most seeds that are recommended.
pub const MOST_SEEDS: usize = 1000;

/// Fewest seeds with which an effect of this size is told from luck in 19 of 20 comparisons; `None`: more than [`MOST_SEEDS`].
///
/// The interval of 95 % has to leave zero out. Source: Lachin, Controlled Clinical Trials 2 (1981), eq. 1, for pairs, with Student's t in
/// place of the normal point for the interval.
pub fn seeds_needed(effect: f64) -> Option<usize> {
    const POWER: f64 = 1.644_854; // normal point of 95 %
    let enough = |n: &usize| {
        let t = student_t95(n - 1) + POWER;
        effect * effect * *n as f64 >= t * t
    };
    (MIN_SEEDS_FOR_CI..=MOST_SEEDS).find(enough)
}

/// Pairs of values compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedValues {
    /// Mean of the first values.
    pub base: f64,
    /// Mean of the differences.
    pub difference: f64,
    /// 95 % confidence interval of the ratio of the means less one, by Student's t on its logarithm. `None` where one of the means is zero.
    pub ci95_share: Option<[f64; 2]>,
    /// 95 % confidence interval of the difference; where there is no ratio, of the mean of the differences, and no end takes the second run below zero. `None`
    /// of too few pairs.
    pub ci95: Option<[f64; 2]>,
    /// Logarithm of the ratio over its standard deviation (as Cohen's d of pairs); where there is no ratio the mean of the differences over
    /// theirs. `None` of too few pairs, or where they do not vary.
    pub effect: Option<f64>,
    /// Verdict of the pairs.
    pub says: PairVerdict,
}

/// Verdict of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairVerdict {
    /// No pair differs.
    Same,
    /// The interval leaves zero out.
    Differ,
    /// The interval includes zero. So many pairs would be enough if the difference is what it seems; `None`: more than [`MOST_SEEDS`].
    TooFew(Option<usize>),
    /// There are too few for an interval.
    NoInterval,
}

/// Compares pairs; `None` of none.
pub fn paired(pairs: &[(f64, f64)]) -> Option<PairedValues> {
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| {
        Estimate::new(pairs.iter().map(|pair| Some(of(pair))).collect())
    };
    let base = mean(&|(a, _)| *a).mean?;
    let differences = mean(&|(a, b)| b - a);
    let difference = differences.mean?;
    let n = pairs.len() as f64;
    let spread = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let square: f64 = pairs.iter().map(|pair| of(pair) * of(pair)).sum();
        (square / (n - 1.0)).sqrt()
    };
    let other = base + difference;
    let (ci95, ci95_share, effect) = match differences.ci95 {
        None => (None, None, None),
        Some(_) if base > 0.0 && other > 0.0 => {
            // What a seed adds to the logarithm of the ratio of the means, to first order: these have mean zero.
            let (ratio, deviation) = (ln(other / base), spread(&|(a, b)| b / other - a / base));
            let half = student_t95(pairs.len() - 1) * deviation / n.sqrt();
            let share = [ratio - half, ratio + half].map(|end| exp(end) - 1.0);
            let effect = (deviation > 0.0).then(|| ratio / deviation);
            (Some(share.map(|share| share * base)), Some(share), effect)
        }
        Some([low, high]) => {
            let deviation = spread(&|(a, b)| b - a - difference);
            let effect = (deviation > 0.0).then(|| difference / deviation);
            (Some([low.max(-base), high]), None, effect)
        }
    };
    let says = match ci95 {
        _ if pairs.iter().all(|(a, b)| a == b) => PairVerdict::Same,
        None => PairVerdict::NoInterval,
        Some([low, high]) if low <= 0.0 && high >= 0.0 => {
            PairVerdict::TooFew(effect.and_then(seeds_needed))
        }
        Some(_) => PairVerdict::Differ,
    };
    Some(PairedValues { base, difference, ci95_share, ci95, effect, says })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: means 20 and 22; a seed adds b / 22 - a / 20 to the ratio, here 1/22, 0 and -1/22. Their deviation is 1/22, t of two degrees of
    /// freedom is 4.3027, so half the interval of the logarithm is 4.3027 / 22 / sqrt(3) = 0.11292, around ln 1.1 = 0.09531.
    /// Unpaired, the seeds' own spread of 10 would hide everything.
    #[test]
    fn the_interval_is_that_of_the_paired_ratio() {
        let a = paired(&[(10.0, 12.0), (20.0, 22.0), (30.0, 32.0)]).unwrap();
        assert_eq!((a.base, a.difference), (20.0, 2.0));
        let [low, high] = a.ci95_share.unwrap();
        assert!((low - (-0.01746)).abs() < 1e-4 && (high - 0.23149).abs() < 1e-4, "{low} {high}");
        let [low, high] = a.ci95.unwrap();
        assert!((low - 20.0 * -0.01746).abs() < 2e-3 && (high - 20.0 * 0.23149).abs() < 2e-3);
        assert!((a.effect.unwrap() - 0.09531 * 22.0).abs() < 1e-3);
        // An effect of 2.097 takes (t + 1.645)^2 / 2.097^2 seeds: 5.6 by the t of four seeds, 4.5 by that of five.
        assert_eq!(a.says, PairVerdict::TooFew(Some(5)));
        // The same ratio in each seed is one that luck has no part in.
        let steady = paired(&[(10.0, 11.0), (20.0, 22.0), (30.0, 33.0)]).unwrap();
        assert_eq!((steady.says, steady.effect), (PairVerdict::Differ, None));
    }

    /// Losses that fall from 10, 20, 30 to nearly nothing: the interval of the differences would reach beyond -200 %.
    #[test]
    fn nothing_falls_by_more_than_all_of_it() {
        for other in [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.1, 0.1, 0.1], [5.0, 0.0, 0.0]] {
            let pairs: Vec<(f64, f64)> = [1.0, 2.0, 30.0].into_iter().zip(other).collect();
            let a = paired(&pairs).unwrap();
            let lowest = a.ci95_share.map(|share| share[0]);
            assert!(lowest.is_none_or(|low| low > -1.0), "{other:?} {a:?}");
            assert!(a.ci95.unwrap()[0] >= -11.0 - 1e-9, "{other:?} {a:?}");
        }
    }

    /// Numbers that pass for independent ones of a normal distribution: twelve uniform ones have variance 1.
    struct NormalDraws(u64);

    impl NormalDraws {
        fn next(&mut self) -> f64 {
            let uniform = |state: &mut u64| {
                *state += 1;
                (forebay_units::math::mix(*state) >> 11) as f64 / (1u64 << 53) as f64
            };
            (0..12).map(|_| uniform(&mut self.0)).sum::<f64>() - 6.0
        }
    }

    /// So many pairs: seeds differ among themselves much more than runs do, which are a known ratio apart.
    fn pairs(
        normal: &mut NormalDraws,
        pairs: usize,
        (ratio, noise): (f64, f64),
    ) -> Vec<(f64, f64)> {
        let pair = |_| {
            let value = 20.0 * exp(0.5 * normal.next());
            (value, value * ratio * exp(noise * normal.next()))
        };
        (0..pairs).map(pair).collect()
    }

    /// In which share of 600 comparisons of so many pairs the difference is told.
    fn told(normal: &mut NormalDraws, count: usize, known: (f64, f64)) -> f64 {
        let all = 600;
        let told = (0..all)
            .filter(|_| paired(&pairs(normal, count, known)).unwrap().says == PairVerdict::Differ);
        told.count() as f64 / f64::from(all)
    }

    #[test]
    fn as_many_seeds_as_are_named_do_tell_a_known_difference() {
        for (at, known) in (1..).zip([(1.3, 0.1), (1.3, 0.25), (1.1, 0.1), (0.6, 0.5), (0.95, 0.1)])
        {
            let mut normal = NormalDraws(at << 32);
            let all = paired(&pairs(&mut normal, 20_000, known)).unwrap();
            let ratio = 1.0 + all.difference / all.base;
            assert!((ratio - known.0).abs() < 0.15 * known.0, "{all:?}");
            let n = seeds_needed(all.effect.unwrap()).unwrap();
            let enough = told(&mut normal, n, known);
            let half = told(&mut normal, n.div_ceil(2).max(3), known);
            assert!(enough > 0.9, "{known:?}: {n} seeds tell {enough}");
            assert!(half < 0.85, "{known:?}: half of {n} seeds tell {half}");
        }
    }

    #[test]
    fn runs_that_are_alike_are_seldom_told_apart() {
        for (at, count) in (7..).zip([3, 5, 10, 30]) {
            let told = told(&mut NormalDraws(at << 32), count, (1.0, 0.2));
            assert!(told < 0.09, "{count} pairs: {told}");
        }
    }

    #[test]
    fn the_number_of_seeds_is_that_of_a_table_of_sample_sizes() {
        // An effect of half a standard deviation, 95 % and 95 %: 54 pairs (G*Power 3.1, t test of two dependent means).
        assert_eq!(seeds_needed(0.5), Some(54));
        assert_eq!(seeds_needed(-0.5), Some(54));
        assert_eq!((seeds_needed(0.0), seeds_needed(1e-9)), (None, None));
        assert_eq!(seeds_needed(1e6), Some(MIN_SEEDS_FOR_CI));
    }
}
