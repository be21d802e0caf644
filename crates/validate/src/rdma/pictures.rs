//! Rates, queue and pauses of every scenario and law, every 5 us.

use super::messages::INCASTS;
use super::rest::RESTS;
use super::setup::{Law, PORT, Setup, messages};
use crate::bench::{BenchRun, run};
use crate::plot::{Line, Panel, plot};
use forebay_record::{Quantity, Series};

/// Samples this far apart, us.
const EVERY: &str = "5us";

pub(super) fn all() -> Vec<(String, String)> {
    let mut pictures = Vec::new();
    for law in Law::ALL {
        for rest in RESTS {
            let setup = Setup { every: Some(EVERY), ..rest.setup(law) };
            pictures.push(picture(law, rest.figure, &setup, 20.0));
        }
        for (senders, size) in INCASTS {
            let every = if size == "64KB" { "1us" } else { EVERY };
            let traffic = messages(senders, size);
            let setup = Setup { every: Some(every), ..Setup::new(law, senders, traffic) };
            let figure = format!("incast-{senders}-{size}");
            let ms = if size == "64KB" { 0.4 } else { 4.0 };
            pictures.push(picture(law, &figure, &setup, ms));
        }
    }
    pictures
}

/// One scenario under one law: what flows get, the queue they share, and how long hosts are paused.
fn picture(law: Law, figure: &str, setup: &Setup, ms: f64) -> (String, String) {
    let seen = run("rdma", &setup.text(), 0.0, ms * 1e-3);
    let of = |quantity: Quantity| -> Vec<&Series> {
        seen.record.series.iter().filter(|s| s.quantity == quantity).collect()
    };
    let rates = of(Quantity::FlowRate);
    let few: Vec<Line<'_>> = match rates.len() {
        n if n <= 3 => rates.iter().enumerate().map(|(i, s)| line(NAMES[i], s, 1.0)).collect(),
        _ => spread(&rates),
    };
    let queue = seen.series(&format!("{PORT} queue")).expect("it is sampled");
    let queues = vec![line("queue", queue, 1e3)];
    let paused = vec![total(&seen, &of(Quantity::Paused))];
    let top = |lines: &[Line<'_>], least: f64| {
        lines.iter().flat_map(|l| &l.points).map(|p| p.1).fold(least, f64::max) * 1.05
    };
    let panel = |label, top, lines| Panel { label, range: (0.0, top), lines, rules: Vec::new() };
    let panels = [
        panel("Rate, Gb/s", top(&few, 1.0), few),
        panel("Queue, KB", top(&queues, 1.0), queues),
        panel("Hosts paused", top(&paused, 1.0), paused),
    ];
    let title = format!("{}, {figure}: 100 Gb/s, 1 us links", law.name());
    (format!("rdma-{figure}-{}.svg", law.name()), plot(&title, "ms", (0.0, ms), &panels))
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
fn total(seen: &BenchRun, paused: &[&Series]) -> Line<'static> {
    let queue = seen.series(&format!("{PORT} queue")).expect("it is sampled");
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
