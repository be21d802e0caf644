//! Figures 8, 18 and 19: what hostCC reads, and what it does at each moment. Figure 7, how long reading takes, is an input.

use super::lab::Lab;
use super::outcome::{Outcome, Point, WRITE_US};
use super::ratio;
use super::setup::{Control, HostCc, Setup};
use crate::measured::MeasuredRows;
use crate::order::Samples;

/// B_T on PCIe, Gb/s: 80 of goodput.
pub(super) const TARGET: f64 = 84.0;
/// I_T, lines.
pub(super) const THRESHOLD: f64 = 70.0;

/// I_S of our points is the law's; its readings of bandwidth come in between. So a rule counts as kept if one of the last
/// three points before a decision keeps it within so much.
const READS_US: f64 = 2.0;
const OFF: f64 = 1.0; // lines, and Gb/s

/// A traced run.
pub(super) fn traced(lab: &Lab, cores: u32, control: Control) -> &Outcome {
    lab.see(&Setup { control, traced: true, ..lab.setup(false, cores) })
}

/// hostCC with one response alone, or both.
pub(super) fn ideas(lab: &Lab, echo: bool, local: bool) -> &Outcome {
    traced(lab, 3, Control::HostCc(HostCc { echo, local, ..HostCc::of(false) }))
}

/// Figure 8: I_S and B_S without hostCC.
pub(super) fn figure_8(lab: &Lab, all: &mut MeasuredRows) {
    let [free, busy] = [0, 3].map(|cores| traced(lab, cores, Control::None));
    all.insert("fig8-idle-bandwidth", free.pcie);
    all.insert("fig8-idle-occupancy", free.occupancy);
    all.insert("fig8-idle-flat", spread(&free.trace, |p| p.occupancy));
    all.insert("fig8-peak", most(&busy.trace, |p| p.occupancy));
    all.insert("fig8-bandwidth", busy.pcie);
    all.insert("fig8-latency", busy.slot_ns);
    all.insert("fig8-sawtooth", spread(&busy.trace, |p| p.bandwidth));
}

/// Figure 18: which idea does what.
pub(super) fn figure_18(lab: &Lab, all: &mut MeasuredRows) {
    let dctcp = lab.base(false, 3);
    let (echo, local, both) =
        (ideas(lab, true, false), ideas(lab, false, true), ideas(lab, true, true));
    all.insert("fig18-echo-goodput", echo.goodput);
    all.insert("fig18-echo-drops", ratio(echo.drops, dctcp.drops));
    all.insert("fig18-local-goodput", local.goodput);
    all.insert("fig18-local-drops", ratio(local.drops, dctcp.drops));
    all.insert("fig18-both-goodput", both.goodput);
    all.insert("fig18-both-drops", ratio(both.drops, local.drops));
    let over = |of: &Outcome| share(&of.trace, |p| p.occupancy > THRESHOLD);
    all.insert("fig18-echo-over", over(echo));
    all.insert("fig18-local-peak", most(&local.trace, |p| p.occupancy));
    all.insert("fig18-local-full", share(&local.trace, |p| p.occupancy >= 90.0));
    all.insert("fig18-both-over", over(both));
    let (median, beyond) = crossing(&both.trace);
    all.insert_tail("fig18-both-crossing", median, beyond, String::new());
    all.insert("fig18-both-under-local", ratio(over(both), over(local)));
}

/// Figure 19: the steady state.
pub(super) fn figure_19(lab: &Lab, all: &mut MeasuredRows) {
    let run = ideas(lab, true, true);
    let levels = run.level_share(3) + run.level_share(4);
    all.insert_saying("fig19-levels", levels, run.levels_said());
    let (first, last) = (run.trace.first(), run.trace.last());
    let windows = first.zip(last).map_or(f64::NAN, |(a, b)| (b.us - a.us) / 250.0);
    let moves: Vec<&[Point]> =
        run.trace.windows(2).filter(|two| two[0].level != two[1].level).collect();
    all.insert("fig19-changes", moves.len() as f64 / windows);
    let decided = |up: bool| {
        let of = moves.iter().filter(|two| (two[1].level > two[0].level) == up);
        let (mut by_rule, mut n) = (0.0, 0.0);
        for two in of {
            n += 1.0;
            let sign = if up { 1.0 } else { -1.0 };
            let rule = |p: &Point| {
                sign * (p.occupancy - THRESHOLD) > -OFF && sign * (TARGET - p.bandwidth) > -OFF
            };
            let at = two[1].us - WRITE_US;
            by_rule += f64::from(u8::from(between(&run.trace, at - READS_US, at).iter().any(rule)));
        }
        by_rule / n
    };
    all.insert("fig19-up", decided(true));
    all.insert("fig19-down", decided(false));
    all.insert("fig19-bandwidth", run.pcie);
    all.insert("fig19-occupancy", run.occupancy);
}

/// The points of some time.
fn between(trace: &[Point], from: f64, to: f64) -> &[Point] {
    &trace[trace.partition_point(|p| p.us < from)..trace.partition_point(|p| p.us < to)]
}

pub(super) fn share(trace: &[Point], holds: impl Fn(&Point) -> bool) -> f64 {
    trace.iter().filter(|p| holds(p)).count() as f64 / trace.len() as f64
}

fn most(trace: &[Point], of: impl Fn(&Point) -> f64) -> f64 {
    trace.iter().map(of).fold(f64::NAN, f64::max)
}

/// 5th to 95th percentile over the mean.
fn spread(trace: &[Point], of: impl Fn(&Point) -> f64) -> f64 {
    let samples = Samples::new(trace.iter().map(of).collect());
    let mean = samples.values().iter().sum::<f64>() / samples.len() as f64;
    (samples.percentile(9500).value - samples.percentile(500).value) / mean
}

/// Median time above I_T, in us, and how many times lie beyond it.
fn crossing(trace: &[Point]) -> (f64, usize) {
    let over = |p: &Point| p.occupancy > THRESHOLD;
    let runs = trace.chunk_by(|a, b| over(a) == over(b)).filter(|run| over(&run[0]));
    let lengths = runs.map(|run| run[run.len() - 1].us - run[0].us);
    let lengths = Samples::new(lengths.collect());
    (lengths.percentile(5000).value, lengths.beyond(5000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(occupancies: &[f64]) -> Vec<Point> {
        let point =
            |(i, o): (usize, &f64)| Point { us: i as f64, occupancy: *o, ..Point::default() };
        occupancies.iter().enumerate().map(point).collect()
    }

    #[test]
    fn crossings_are_timed_each_by_itself() {
        let trace = points(&[60.0, 71.0, 72.0, 73.0, 60.0, 75.0, 75.0, 70.0]);
        assert_eq!(crossing(&trace).0, 1.0);
        assert_eq!(share(&trace, |p| p.occupancy > THRESHOLD), 5.0 / 8.0);
        assert!(crossing(&points(&[1.0])).0.is_nan());
    }

    #[test]
    fn a_time_holds_its_points() {
        let trace = points(&[1.0, 2.0, 3.0]);
        assert_eq!(between(&trace, 0.5, 2.0).len(), 1);
        assert!(between(&trace, 2.5, 9.0).is_empty());
    }
}
