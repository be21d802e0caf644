//! Figures 8, 18b to d and 19: I_S, B_S and the level over time.

use super::super::lab::Lab;
use super::super::outcome::{Outcome, Point};
use super::super::setup::{Control, HostCc};
use super::super::signals::{TARGET, THRESHOLD, ideas, traced};
use super::RESPONSES;
use crate::plot::{Line, Panel, Rule, plot};

/// What the pictures span, us.
const SPAN: f64 = 1000.0;

/// A run and its name in the picture.
type NamedRun<'a> = (&'a str, &'a Outcome);

/// B_S, I_S and the level of runs above each other, from the beginning of the trace.
fn signals(title: &str, runs: &[NamedRun<'_>]) -> String {
    let alone: Vec<String> = runs.iter().map(|(name, _)| format!("I_S, lines: {name}")).collect();
    let mut bandwidth = Panel {
        label: "B_S, Gb/s",
        range: (0.0, 120.0),
        lines: lines(runs, |p| p.bandwidth, |_| true),
        rules: vec![Rule { name: "B_T, 84", at: TARGET }],
    };
    for (line, (name, _)) in bandwidth.lines.iter_mut().zip(runs) {
        line.name = name;
    }
    let mut panels = vec![bandwidth];
    if runs.len() < 3 {
        panels.push(occupancy("I_S, lines", runs, |_| true));
    } else {
        // A panel for each run, in its colour.
        let each = alone.iter().enumerate();
        panels.extend(each.map(|(i, label)| occupancy(label, runs, move |other| other == i)));
    }
    if runs.iter().any(|r| r.1.trace.iter().any(|p| p.level > 0)) {
        panels.push(Panel {
            label: LEVEL,
            range: (0.0, 4.5),
            lines: lines(runs, |p| f64::from(p.level), |_| true),
            rules: Vec::new(),
        });
    }
    plot(title, "us", (0.0, SPAN), &panels)
}

/// A level is a step of five and has no unit.
const LEVEL: &str = "Level of host-local response, 0 (none) to 4 (MApp stopped)";

/// Occupied slots, from none on: where nothing comes from senders, none is occupied.
fn occupancy<'a>(
    label: &'a str,
    runs: &[NamedRun<'_>],
    shown: impl Fn(usize) -> bool,
) -> Panel<'a> {
    let rules =
        vec![Rule { name: "I_T, 70", at: THRESHOLD }, Rule { name: "credits, 93", at: 93.0 }];
    Panel { label, range: (0.0, 100.0), lines: lines(runs, |p| p.occupancy, shown), rules }
}

/// A line for each run, without points where it is not shown: its place is its colour.
fn lines(
    runs: &[NamedRun<'_>],
    of: fn(&Point) -> f64,
    shown: impl Fn(usize) -> bool,
) -> Vec<Line<'static>> {
    let points = |run: &Outcome| -> Vec<(f64, f64)> {
        let from = run.trace.first().map_or(0.0, |p| p.us);
        run.trace.iter().map(|p| (p.us - from, of(p))).take_while(|p| p.0 <= SPAN).collect()
    };
    let line = |(i, (_, run)): (usize, &NamedRun<'_>)| Line {
        name: "",
        points: if shown(i) { points(run) } else { Vec::new() },
        steps: false,
    };
    runs.iter().enumerate().map(line).collect()
}

pub(super) fn figure_8(lab: &Lab) -> String {
    let [free, busy] = [0, 3].map(|cores| traced(lab, cores, Control::None));
    signals(
        "hostCC, figure 8: occupancy and PCIe bandwidth under DCTCP, DDIO off",
        &[("0x", free), ("3x", busy)],
    )
}

pub(super) fn figure_18(lab: &Lab) -> String {
    let [_, echo, local, both] = RESPONSES;
    let runs = [
        (echo, ideas(lab, true, false)),
        (local, ideas(lab, false, true)),
        (both, ideas(lab, true, true)),
    ];
    signals(
        "hostCC, figure 18b to d: echo of congestion signals, host-local response, and both; 1 ms, 3x, DDIO off",
        &runs,
    )
}

pub(super) fn figure_19(lab: &Lab) -> String {
    let run = traced(lab, 3, Control::HostCc(HostCc::of(false)));
    signals("hostCC, figure 19: 1 ms of hostCC's steady state, 3x, DDIO off", &[("hostCC", run)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run whose slots empty half way, at a level.
    fn run(level: u8) -> Outcome {
        let at = |i: u32| Point {
            us: f64::from(i),
            occupancy: if i < 500 { 80.0 } else { 0.0 },
            level,
            ..Point::default()
        };
        let mut run = Outcome::default();
        run.trace = (0..1000).map(at).collect();
        run
    }

    #[test]
    fn occupancy_is_drawn_down_to_empty_slots() {
        let svg = signals("t", &[("one", &run(0))]);
        let frame = svg.split(">I_S, lines</text>").nth(1).expect("a panel of I_S");
        // 80 and 0 of 100 lines, on the 210 pixels that end at 526.
        assert!(frame.contains(" 358L") && frame.contains(" 526L"), "{frame}");
        assert!(svg.contains(">0</text>") && !svg.contains(">Level"), "{svg}");
    }

    #[test]
    fn every_panel_of_three_runs_has_a_unit_and_says_whose_it_is() {
        let runs = [run(0), run(3), run(4)];
        let [_, echo, local, both] = RESPONSES;
        let svg = signals("t", &[(echo, &runs[0]), (local, &runs[1]), (both, &runs[2])]);
        for label in [
            "B_S, Gb/s",
            "I_S, lines: echo",
            "I_S, lines: host-local",
            "I_S, lines: both",
            "Level of host-local response, 0 (none) to 4 (MApp stopped)",
        ] {
            assert!(svg.contains(&format!(">{label}</text>")), "{label} in {svg}");
        }
        assert!(svg.contains("named s1\">host-local</text>"), "{svg}");
    }
}
