//! Figure 1, NDP's collapse over time, and table 1.

use super::experiments::{Experiment, ExperimentRun, INSTANTS, Runs, WORKLOADS, Workload};
use super::setup::{SCHEMES, Scheme};
use super::table::table_1;
use crate::chart::{Chart, Panel as Bars};
use crate::measured::MeasuredRows;
use crate::plot::{Line, Panel, plot};
use forebay_record::svg::Axis;

/// What the runs at hand suffice for.
pub(super) fn all(runs: &Runs, measured: &MeasuredRows) -> Vec<(String, String)> {
    let mut pictures = Vec::new();
    let mut add = |name: String, picture: Option<String>| {
        pictures.extend(picture.map(|picture| (format!("pcc-dilemma-{name}.svg"), picture)));
    };
    add("fig1".into(), figure_1(runs));
    for workload in [Workload::CacheFollower, Workload::WebSearch] {
        add(format!("backlog-{}", workload.name()), backlog(runs, workload));
    }
    add("table1".into(), table_1(measured));
    pictures
}

/// Mean and 99th percentile of the FCT, by workload and scheme.
fn figure_1(runs: &Runs) -> Option<String> {
    let panel = |label: &str, of: fn(&ExperimentRun) -> f64| {
        let bar = |workload, scheme| Some(of(runs.of(Experiment::Core(workload), scheme)?) * 1e6);
        let group =
            |workload: &Workload| SCHEMES.iter().map(|scheme| bar(*workload, *scheme)).collect();
        let values: Option<Vec<Vec<f64>>> = WORKLOADS.iter().map(group).collect();
        Some(Bars {
            label: label.into(),
            axis: Axis::log(1.0, 1e6),
            values: values?,
            published: Vec::new(),
        })
    };
    let chart = Chart {
        title:
            "Dilemma, figure 1: 160 hosts, 4:1 oversubscribed, load 0.8 of the links between racks"
                .into(),
        groups: WORKLOADS.iter().map(|workload| workload.title().into()).collect(),
        group_label: "workload".into(),
        bars: SCHEMES.iter().map(|scheme| scheme.title().into()).collect(),
        panels: vec![
            panel("mean FCT, us", |one| one.mean(|flow| flow.fct))?,
            panel("99th percentile of FCT, us", |one| one.p99(|flow| Some(flow.fct)).0)?,
        ],
        table: Vec::new(),
        foot: vec!["A flow that has not ended counts with its age.".into()],
    };
    Some(chart.svg())
}

/// Payload of flows under way: all schemes, and NDP with each seed.
fn backlog(runs: &Runs, workload: Workload) -> Option<String> {
    let experiment = Experiment::Core(workload);
    let span = experiment.arrivals(runs.extent) * 1e3;
    let line = |name, values: &[f64]| {
        let at = |step: usize| 3.0 * span * (step + 1) as f64 / INSTANTS as f64;
        let points = values.iter().enumerate().map(|(step, bytes)| (at(step), bytes / 1e6));
        Line { name, points: points.collect(), steps: false }
    };
    let mut means = Vec::new();
    for scheme in SCHEMES {
        let each = &runs.of(experiment, scheme)?.backlog;
        let mean =
            |step| each.iter().map(|run: &Vec<f64>| run[step]).sum::<f64>() / each.len() as f64;
        means.push(line(scheme.title(), &(0..INSTANTS).map(mean).collect::<Vec<_>>()));
    }
    // A colour and a name each.
    const SEEDS: [&str; 5] = ["seed 1", "seed 2", "seed 3", "seed 4", "seed 5"];
    let ndp = &runs.of(experiment, Scheme::Ndp)?.backlog;
    let seeds = SEEDS.iter().zip(ndp).map(|(name, run)| line(*name, run)).collect();
    let panels = [
        panel("Payload of flows under way, MB, mean of seeds", means),
        panel("The same under NDP, MB, by seed", seeds),
    ];
    let title = format!("Dilemma, {}: arrivals end at {span} ms", workload.title());
    Some(plot(&title, "ms", (0.0, 3.0 * span), &panels))
}

fn panel<'a>(label: &'a str, lines: Vec<Line<'a>>) -> Panel<'a> {
    let points = lines.iter().flat_map(|line| &line.points).map(|point| point.1);
    let range = (0.0, points.fold(1.0, f64::max) * 1.05);
    Panel { label, range, lines, rules: Vec::new() }
}
