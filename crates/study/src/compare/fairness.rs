//! How evenly flows without an end share: those that finish have no common time in which to compare them.

use forebay_record::{Quantity, RunRecord, jain};
use forebay_units::Time;

/// Jain's index of the mean rates of sampled flows, from when the last of them has begun and the warm-up is over; `None` unless all
/// flows of the run are endless and two or more were sampled (`output.flows`).
pub(super) fn of_flows(run: &RunRecord, warmup: Time) -> Option<f64> {
    let rates =
        || run.series.iter().filter(|s| s.quantity == Quantity::FlowRate && !s.at.is_empty());
    if rates().count() < 2 || !run.flows.iter().all(forebay_record::FlowRow::is_endless) {
        return None;
    }
    let from = rates().map(|series| series.at[0]).max()?.max(warmup);
    let mean = |at: &[Time], values: &[f64]| {
        let first = at.partition_point(|at| *at < from);
        let late = &values[first..];
        (!late.is_empty()).then(|| late.iter().sum::<f64>() / late.len() as f64)
    };
    let means: Option<Vec<f64>> = rates().map(|s| mean(&s.at, &s.values)).collect();
    jain(&means?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_record::Series;

    #[test]
    fn rates_count_from_when_the_last_flow_has_begun() {
        let ms = |n: u64| Time::from_ps(n * 1_000_000_000);
        let series = |from: u64, values: &[f64]| Series {
            name: String::new(),
            quantity: Quantity::FlowRate,
            unit: "gbps",
            at: (from..).take(values.len()).map(ms).collect(),
            values: values.to_vec(),
        };
        // Alone at 10, then 5 and 5; from the end of the warm-up on 1 and 3: 16 / (2 x 10).
        let all = vec![series(1, &[10.0, 10.0, 5.0, 5.0, 1.0]), series(3, &[5.0, 5.0, 3.0])];
        let run = RunRecord { series: all, ..RunRecord::default() };
        assert_eq!(
            of_flows(&run, Time::ZERO),
            Some(
                ((11.0_f64 + 13.0) / 3.0).powi(2)
                    / 2.0
                    / ((11.0_f64 / 3.0).powi(2) + (13.0_f64 / 3.0).powi(2))
            )
        );
        assert_eq!(of_flows(&run, ms(5)), Some(0.8));
        assert_eq!(of_flows(&RunRecord::default(), Time::ZERO), None);
    }
}
