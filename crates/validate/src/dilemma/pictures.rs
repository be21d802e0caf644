//! Figure 1, NDP's collapse over time, and table 1.

use super::SCHEMES;
use super::table::table_1;
use crate::chart::{Chart, Panel as Bars};
use crate::experiments::Results;
use crate::measured::MeasuredRows;
use crate::plot::{Line, Panel, plot};
use forebay_record::svg::Axis;
use forebay_record::{FlowRow, RunRecord};

/// Workloads as cases and as pictures have them.
const WORKLOADS: [(&str, &str); 4] = [
    ("datamining", "Data Mining"),
    ("websearch", "Web Search"),
    ("cachefollower", "Cache Follower"),
    ("webserver", "Web Server"),
];

/// What the runs at hand suffice for.
pub(super) fn all(results: &Results, measured: &MeasuredRows) -> Vec<(String, String)> {
    let mut pictures = Vec::new();
    let mut add = |name: String, picture: Option<String>| {
        pictures.extend(picture.map(|picture| (format!("pcc-dilemma-{name}.svg"), picture)));
    };
    add("fig1".into(), figure_1(results));
    for (name, title) in [WORKLOADS[2], WORKLOADS[1]] {
        add(format!("backlog-{name}"), backlog(results, name, title));
    }
    add("table1".into(), table_1(measured));
    pictures
}

/// Mean and 99th percentile of the FCT, by workload and scheme.
fn figure_1(results: &Results) -> Option<String> {
    let panel = |label: &str, of: &str| {
        let bar = |workload: &str, scheme: &str| {
            Some(results.number(&format!("{of}({scheme}[core-{workload}])"))? * 1e6)
        };
        let group = |(workload, _): &(&str, &str)| {
            SCHEMES.iter().map(|(scheme, _)| bar(workload, scheme)).collect()
        };
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
        groups: WORKLOADS.iter().map(|(_, title)| (*title).into()).collect(),
        group_label: "workload".into(),
        bars: SCHEMES.iter().map(|(_, title)| (*title).into()).collect(),
        panels: vec![panel("mean FCT, us", "fct")?, panel("99th percentile of FCT, us", "tail")?],
        table: Vec::new(),
        foot: vec!["A flow that has not ended counts with its age.".into()],
    };
    Some(chart.svg())
}

/// Instants at which the backlog is taken.
const INSTANTS: usize = 60;

/// Payload of flows that have begun and not ended, at equal steps up to `end`, s.
fn under_way(run: &RunRecord, end: f64) -> Vec<f64> {
    let under_way = |flow: &&FlowRow, at: f64| {
        flow.start.as_secs_f64() <= at && flow.delivered.is_none_or(|done| done.as_secs_f64() > at)
    };
    let held = |step: usize| {
        let at = end * (step + 1) as f64 / INSTANTS as f64;
        let flows = run.flows.iter().filter(|flow| under_way(flow, at));
        flows.map(|flow| flow.size.get() as f64).sum()
    };
    (0..INSTANTS).map(held).collect()
}

/// Payload of flows under way: all schemes, and NDP with each seed.
fn backlog(results: &Results, workload: &str, title: &str) -> Option<String> {
    let case = format!("core-{workload}");
    // The look at the end of arrivals, and a warm-up of a tenth of them.
    let span = results.number(&format!("max(hpcc[{case}].looks.seconds)"))? / 0.9 * 1e3;
    let line = |name, values: &[f64]| {
        let at = |step: usize| 3.0 * span * (step + 1) as f64 / INSTANTS as f64;
        let points = values.iter().enumerate().map(|(step, bytes)| (at(step), bytes / 1e6));
        Line { name, points: points.collect(), steps: false }
    };
    let of = |scheme: &str| -> Option<Vec<Vec<f64>>> {
        let runs = results.records(scheme, &[&case])?;
        Some(runs.iter().map(|run| under_way(run, 3e-3 * span)).collect())
    };
    let mut means = Vec::new();
    for (scheme, title) in SCHEMES {
        let each = of(scheme)?;
        let mean =
            |step| each.iter().map(|run: &Vec<f64>| run[step]).sum::<f64>() / each.len() as f64;
        means.push(line(title, &(0..INSTANTS).map(mean).collect::<Vec<_>>()));
    }
    // A colour and a name each.
    const SEEDS: [&str; 5] = ["seed 1", "seed 2", "seed 3", "seed 4", "seed 5"];
    let seeds = SEEDS.iter().zip(&of("ndp")?).map(|(name, run)| line(*name, run)).collect();
    let panels = [
        panel("Payload of flows under way, MB, mean of seeds", means),
        panel("The same under NDP, MB, by seed", seeds),
    ];
    let title = format!("Dilemma, {title}: arrivals end at {} ms", span.round());
    Some(plot(&title, "ms", (0.0, 3.0 * span), &panels))
}

fn panel<'a>(label: &'a str, lines: Vec<Line<'a>>) -> Panel<'a> {
    let points = lines.iter().flat_map(|line| &line.points).map(|point| point.1);
    let range = (0.0, points.fold(1.0, f64::max) * 1.05);
    Panel { label, range, lines, rules: Vec::new() }
}
