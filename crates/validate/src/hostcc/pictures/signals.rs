//! Figures 8, 18b to d and 19: I_S, B_S and the level over time.

use crate::drawing::Drawing;
use crate::plot::{Line, Panel, Rule, plot};

/// B_T on PCIe, Gb/s: 80 of goodput.
const TARGET: f64 = 84.0;
/// I_T, lines.
const THRESHOLD: f64 = 70.0;

/// What the pictures span, us.
const SPAN: f64 = 1000.0;

/// The responses of hostCC in figure 18, as the paper calls them: echo of congestion signals, and host-local response. With their experiments.
const RESPONSES: [(&str, &str); 3] =
    [("echo", "echo"), ("host-local", "host-local"), ("both", "hostcc[3x]")];

/// The signals of a run, and its name in the picture.
struct NamedRun<'a> {
    name: &'a str,
    us: Vec<f64>,
    bandwidth: Vec<f64>,
    occupancy: Vec<f64>,
    level: Vec<f64>,
}

impl<'a> NamedRun<'a> {
    fn new(drawing: &Drawing, (name, run): (&'a str, &str)) -> Self {
        let series = |of| drawing.list(format!("{run}.window.series({of})")).to_vec();
        Self {
            name,
            us: series("us"),
            bandwidth: series("B_S"),
            occupancy: series("I_S"),
            level: series("level"),
        }
    }

    /// Points of one of its series, from the beginning of the trace.
    fn points(&self, of: &[f64]) -> Vec<(f64, f64)> {
        let from = self.us.first().copied().unwrap_or(0.0);
        let points = self.us.iter().zip(of).map(|(us, value)| (us - from, *value));
        points.take_while(|point| point.0 <= SPAN).collect()
    }
}

/// B_S, I_S and the level of runs above each other, from the beginning of the trace.
fn signals(title: &str, runs: &[NamedRun<'_>]) -> String {
    let alone: Vec<String> = runs.iter().map(|run| format!("I_S, lines: {}", run.name)).collect();
    let mut bandwidth = Panel {
        label: "B_S, Gb/s",
        range: (0.0, 120.0),
        lines: lines(runs, |run| &run.bandwidth, |_| true),
        rules: vec![Rule { name: "B_T, 84", at: TARGET }],
    };
    for (line, run) in bandwidth.lines.iter_mut().zip(runs) {
        line.name = run.name;
    }
    let mut panels = vec![bandwidth];
    if runs.len() < 3 {
        panels.push(occupancy("I_S, lines", runs, |_| true));
    } else {
        // A panel for each run, in its colour.
        let each = alone.iter().enumerate();
        panels.extend(each.map(|(i, label)| occupancy(label, runs, move |other| other == i)));
    }
    if runs.iter().any(|run| run.level.iter().any(|level| *level > 0.0)) {
        panels.push(Panel {
            label: LEVEL,
            range: (0.0, 4.5),
            lines: lines(runs, |run| &run.level, |_| true),
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
    Panel { label, range: (0.0, 100.0), lines: lines(runs, |run| &run.occupancy, shown), rules }
}

/// A line for each run, without points where it is not shown: its place is its colour.
fn lines(
    runs: &[NamedRun<'_>],
    of: for<'a> fn(&'a NamedRun<'_>) -> &'a Vec<f64>,
    shown: impl Fn(usize) -> bool,
) -> Vec<Line<'static>> {
    let line = |(i, run): (usize, &NamedRun<'_>)| Line {
        name: "",
        points: if shown(i) { run.points(of(run)) } else { Vec::new() },
        steps: false,
    };
    runs.iter().enumerate().map(line).collect()
}

pub(super) fn figure_8(drawing: &Drawing) -> String {
    let runs = [("0x", "dctcp[0x]"), ("3x", "dctcp[3x]")].map(|run| NamedRun::new(drawing, run));
    signals("hostCC, figure 8: occupancy and PCIe bandwidth under DCTCP, DDIO off", &runs)
}

pub(super) fn figure_18(drawing: &Drawing) -> String {
    signals(
        "hostCC, figure 18b to d: echo of congestion signals, host-local response, and both; 1 ms, 3x, DDIO off",
        &RESPONSES.map(|run| NamedRun::new(drawing, run)),
    )
}

pub(super) fn figure_19(drawing: &Drawing) -> String {
    let run = NamedRun::new(drawing, ("hostCC", "hostcc[3x]"));
    signals("hostCC, figure 19: 1 ms of hostCC's steady state, 3x, DDIO off", &[run])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run whose slots empty half way, at a level.
    fn run(name: &str, level: f64) -> NamedRun<'_> {
        let us: Vec<f64> = (0..1000).map(f64::from).collect();
        let occupancy = us.iter().map(|us| if *us < 500.0 { 80.0 } else { 0.0 }).collect();
        NamedRun { name, us, bandwidth: vec![0.0; 1000], occupancy, level: vec![level; 1000] }
    }

    #[test]
    fn occupancy_is_drawn_down_to_empty_slots() {
        let svg = signals("t", &[run("one", 0.0)]);
        let frame = svg.split(">I_S, lines</text>").nth(1).expect("a panel of I_S");
        // 80 and 0 of 100 lines, on the 210 pixels that end at 526.
        assert!(frame.contains(" 358L") && frame.contains(" 526L"), "{frame}");
        assert!(svg.contains(">0</text>") && !svg.contains(">Level"), "{svg}");
    }

    #[test]
    fn every_panel_of_three_runs_has_a_unit_and_says_whose_it_is() {
        let mut levels = [0.0, 3.0, 4.0].into_iter();
        let svg =
            signals("t", &RESPONSES.map(|(name, _)| run(name, levels.next().expect("three"))));
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
