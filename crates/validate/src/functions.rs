//! Functions that formulas of rows name, beyond arithmetic and statistics: rules of one paper or one measurement.

use crate::bench::mean;
use forebay_study::formula::NamedFunction;

/// Each with its name.
pub(crate) const FUNCTIONS: [(&str, NamedFunction); 2] =
    [("converged", converged), ("middle", middle)];

/// Spans in a row whose mean share has to be even, and how far from a half it may be.
const SPANS: usize = 10;
const EVEN: f64 = 0.05;

/// After how many spans two senders have even shares, at least one; all of them if they never have. The lists are what each has sent up to the
/// end of each span. Source: our reading 3 of `validation/expresspass/rows.toml`.
fn converged(sent: &[Vec<f64>]) -> f64 {
    let [first, second] = sent else {
        panic!("converged is of two lists, and has {}", sent.len());
    };
    let step = |all: &[f64], i: usize| all[i] - if i == 0 { 0.0 } else { all[i - 1] };
    let share = |i| step(second, i) / (step(first, i) + step(second, i));
    let shares: Vec<f64> = (0..first.len().min(second.len())).map(share).collect();
    let even = |shares: &[f64]| (mean(shares) - 0.5).abs() <= EVEN;
    shares.windows(SPANS).position(even).map_or(shares.len(), |i| i.max(1)) as f64
}

/// Mean of the values at times in the second and third quarter of the time up to an end. The lists are times, values, and the end. Source: our
/// rows of a queue while messages last.
fn middle(lists: &[Vec<f64>]) -> f64 {
    let [times, values, end] = lists else {
        panic!("middle is of times, values and an end, and has {} lists", lists.len());
    };
    let half = (end[0] / 4.0)..(end[0] * 3.0 / 4.0);
    let of = times.iter().zip(values).filter(|(at, _)| half.contains(*at));
    let (sum, n) = of.fold((0.0, 0.0), |(sum, n), (_, value)| (sum + value, n + 1.0));
    sum / n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_leaves_out_the_first_and_the_last_quarter() {
        let lists = [vec![0.0, 1.0, 2.0, 3.0, 4.0], vec![9.0, 2.0, 4.0, 9.0, 9.0], vec![4.0]];
        assert_eq!(middle(&lists), 3.0);
    }

    #[test]
    fn shares_are_even_from_the_first_of_ten_spans_in_a_row_on() {
        let sums = |steps: &[f64]| {
            let mut sum = 0.0;
            steps
                .iter()
                .map(|step| {
                    sum += step;
                    sum
                })
                .collect::<Vec<f64>>()
        };
        // Four spans without the second sender, then equal steps: the ten spans from the fourth on have 9 / 20 on average.
        let first = sums(&[100.0; 20]);
        let second = sums(&[&[0.0; 4][..], &[100.0; 16]].concat());
        assert_eq!(converged(&[first.clone(), second]), 3.0);
        assert_eq!(converged(&[first.clone(), first.clone()]), 1.0);
        assert_eq!(converged(&[first, vec![0.0; 20]]), 20.0);
    }
}
