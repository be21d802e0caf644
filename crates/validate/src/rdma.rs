//! Pictures of the RDMA micro scenarios: rates, queue and pauses of every experiment and law. Experiments and rows are data in `validation/rdma/`.

use crate::experiments::records;
use crate::folder::Folder;
use crate::plot::{Line, Panel, plot};
use forebay_record::{Quantity, RunRecord, Series};

/// Parts of the suite, by the figure of their rows.
pub(crate) fn parts() -> Vec<&'static str> {
    vec!["two", "staggered", "eight", "dcqcn40", "lone", "incast", "small", "loss"]
}

/// The port that all flows share.
const PORT: &str = "tor->host[0]";

/// Experiments that are drawn, time between samples, and length of the pictures, ms.
const DRAWN: [(&str, &str, f64); 8] = [
    ("two", "5us", 20.0),
    ("staggered-2", "5us", 20.0),
    ("staggered-4", "5us", 20.0),
    ("eight", "5us", 20.0),
    ("incast-16-64KB", "1us", 0.4),
    ("incast-16-500KB", "5us", 4.0),
    ("incast-32-64KB", "1us", 0.4),
    ("incast-32-500KB", "5us", 4.0),
];

/// One picture for each experiment and law.
pub(crate) fn pictures() -> Vec<(String, String)> {
    let folder = Folder::of("rdma");
    let mut pictures = Vec::new();
    for (figure, every, ms) in DRAWN {
        let sets = [
            ("stop.time", format!("\"{}us\"", ms * 1e3)),
            ("output.warmup", "\"0s\"".into()),
            ("output.queues", format!("{{ every = \"{every}\", where = \"tor\" }}")),
            ("output.flows", format!("{{ every = \"{every}\", where = \"host[*]\", most = 32 }}")),
        ];
        for (law, run) in records(folder, figure, &sets) {
            pictures.push(picture(&law, figure, &run, ms));
        }
    }
    pictures
}

/// One scenario under one law: what flows get, the queue they share, and how long hosts are paused.
fn picture(law: &str, figure: &str, run: &RunRecord, ms: f64) -> (String, String) {
    let of = |quantity: Quantity| -> Vec<&Series> {
        run.series.iter().filter(|s| s.quantity == quantity).collect()
    };
    let rates = of(Quantity::FlowRate);
    let few: Vec<Line<'_>> = match rates.len() {
        n if n <= 3 => rates.iter().enumerate().map(|(i, s)| line(NAMES[i], s, 1.0)).collect(),
        _ => spread(&rates),
    };
    let queue = queue(run);
    let queues = vec![line("queue", queue, 1e3)];
    let paused = vec![total(queue, &of(Quantity::Paused))];
    let top = |lines: &[Line<'_>], least: f64| {
        lines.iter().flat_map(|l| &l.points).map(|p| p.1).fold(least, f64::max) * 1.05
    };
    let panel = |label, top, lines| Panel { label, range: (0.0, top), lines, rules: Vec::new() };
    let panels = [
        panel("Rate, Gb/s", top(&few, 1.0), few),
        panel("Queue, KB", top(&queues, 1.0), queues),
        panel("Hosts paused", top(&paused, 1.0), paused),
    ];
    let title = format!("{law}, {figure}: 100 Gb/s, 1 us links");
    (format!("rdma-{figure}-{law}.svg"), plot(&title, "ms", (0.0, ms), &panels))
}

/// The queue of the receiver's port.
fn queue(run: &RunRecord) -> &Series {
    let name = format!("{PORT} queue");
    run.series.iter().find(|series| series.name == name).expect("it is sampled")
}

const NAMES: [&str; 3] = ["first", "second", "third"];

fn ms(series: &Series) -> impl Iterator<Item = (f64, f64)> {
    series.at.iter().zip(&series.values).map(|(at, value)| (at.as_ps() as f64 / 1e9, *value))
}

fn line<'a>(name: &'a str, series: &Series, unit: f64) -> Line<'a> {
    Line { name, points: ms(series).map(|(at, v)| (at, v / unit)).collect(), steps: false }
}

/// Least, mean and largest of many rates.
fn spread(rates: &[&Series]) -> Vec<Line<'static>> {
    let longest = rates.iter().max_by_key(|s| s.at.len()).map_or(&[][..], |s| &s.at[..]);
    let at = |series: &Series, at| {
        series.at.binary_search(&at).map(|i| series.values[i]).ok().filter(|v| v.is_finite())
    };
    let mut lines: Vec<Line<'static>> = ["largest", "mean", "least"]
        .into_iter()
        .map(|name| Line { name, points: Vec::new(), steps: false })
        .collect();
    for time in longest {
        let now: Vec<f64> = rates.iter().filter_map(|s| at(s, *time)).collect();
        if now.is_empty() {
            continue;
        }
        let x = time.as_ps() as f64 / 1e9;
        let mean = now.iter().sum::<f64>() / now.len() as f64;
        let largest = now.iter().copied().fold(f64::MIN, f64::max);
        let least = now.iter().copied().fold(f64::MAX, f64::min);
        for (line, value) in lines.iter_mut().zip([largest, mean, least]) {
            line.points.push((x, value));
        }
    }
    lines
}

/// Sum over all ports of the share of time for which each was paused.
fn total(queue: &Series, paused: &[&Series]) -> Line<'static> {
    let mut points: Vec<(f64, f64)> = ms(queue).map(|(at, _)| (at, 0.0)).collect();
    for series in paused {
        for (at, share) in ms(series) {
            let i = points.partition_point(|p| p.0 < at);
            if let Some(point) = points.get_mut(i) {
                point.1 += share;
            }
        }
    }
    Line { name: "paused", points, steps: true }
}
