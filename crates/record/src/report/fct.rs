//! Figures of flow completion: slowdown by size, and its distribution in each size class.

use super::cdf::{Class, Words, pair};
use super::{Figure, WIDE};
use crate::about::RunStart;
use crate::human::{bytes, count, sig3};
use crate::rows::{FlowRow, RunRecord};
use crate::stats::{Estimate, quantile};
use crate::summary::{Summary, class_bounds, class_name, in_class, measured};
use crate::svg::{Axis, Chart, Margins, Plot, plain, round_up};
use forebay_units::math::ln;
use std::collections::{BTreeMap, BTreeSet};

/// Bins per decade of flow size.
const BINS_PER_DECADE: f64 = 4.0;

/// Percentiles drawn, their classes, and the least flows of a seed that give each a meaning.
pub(super) const PERCENTILES: [(u32, &str, usize); 3] =
    [(50, "q1", 2), (95, "q2", 20), (99, "q3", 100)];

pub(super) struct Bin {
    /// Which: the same sizes in all runs.
    pub at: i64,
    /// Median size of its flows, all seeds together.
    pub size: f64,
    /// Completed flows, all seeds together.
    pub count: usize,
    /// Fewest of any seed.
    pub fewest: usize,
    /// One for each of [`PERCENTILES`].
    pub estimates: Vec<Estimate>,
}

fn bin_of(size: u64) -> i64 {
    (ln(size.max(1) as f64) / core::f64::consts::LN_10 * BINS_PER_DECADE + 1e-9).floor() as i64
}

pub(super) fn completed<'a>(
    about: &'a RunStart,
    run: &'a RunRecord,
) -> impl Iterator<Item = &'a FlowRow> {
    run.flows.iter().filter(|flow| measured(flow, about.warmup) && flow.delivered.is_some())
}

/// The figure for each entry of the traffic if there are several, since their flows are not alike; else the one of all flows.
pub(super) fn by_size_and_traffic(
    about: &RunStart,
    summary: &Summary,
    runs: &[RunRecord],
) -> Vec<Figure> {
    let shown = |entry: Option<u16>| by_size(about, runs, entry);
    let finite = || runs.iter().flat_map(|run| &run.flows).filter(|flow| !flow.is_endless());
    let mut figures: Vec<Figure> =
        match (summary.traffic_classes.len(), finite().map(|f| f.traffic).max()) {
            (2.., Some(last)) => (0..=last).filter_map(|entry| shown(Some(entry))).collect(),
            _ => shown(None).into_iter().collect(),
        };
    for (n, figure) in figures.iter_mut().enumerate().skip(1) {
        figure.id = format!("{}-{n}", figure.id);
    }
    figures
}

pub(super) fn bins(about: &RunStart, runs: &[RunRecord], entry: Option<u16>) -> Vec<Bin> {
    let mut by_bin: BTreeMap<i64, (Vec<u64>, Vec<Vec<f64>>)> = Default::default();
    for (seed, run) in runs.iter().enumerate() {
        let of = |flow: &&FlowRow| entry.is_none_or(|entry| flow.traffic == entry);
        for flow in completed(about, run).filter(of) {
            let (sizes, slowdowns) = by_bin
                .entry(bin_of(flow.size.get()))
                .or_insert_with(|| (Vec::new(), vec![Vec::new(); runs.len()]));
            sizes.push(flow.size.get());
            slowdowns[seed].extend(flow.slowdown());
        }
    }
    let bin = |(at, (mut sizes, mut seeds)): (i64, (Vec<u64>, Vec<Vec<f64>>))| {
        sizes.sort_unstable();
        seeds.iter_mut().for_each(|values| values.sort_by(f64::total_cmp));
        let across =
            |percent| Estimate::new(seeds.iter().map(|values| quantile(values, percent)).collect());
        Bin {
            at,
            size: sizes[sizes.len() / 2] as f64,
            count: sizes.len(),
            fewest: seeds.iter().map(Vec::len).min().unwrap_or(0),
            estimates: PERCENTILES.iter().map(|(percent, ..)| across(*percent)).collect(),
        }
    };
    by_bin.into_iter().map(bin).collect()
}

/// Slowdown against flow size, with the number of flows below; none if all flows are of about one
/// size, where the distribution says it all.
fn by_size(about: &RunStart, runs: &[RunRecord], entry: Option<u16>) -> Option<Figure> {
    let bins = bins(about, runs, entry);
    let (first, last) = (bins.first()?, bins.last()?);
    if bins.len() == 1 {
        return None;
    }
    let (mut low, mut high) = (first.size, last.size);
    if high / low < 10.0 {
        (low, high) = (low / 3.0, high * 3.0);
    }
    let widen = 1.15;
    let worst = bins
        .iter()
        .flat_map(|bin| bin.estimates.iter().filter_map(Estimate::range))
        .fold(2.0, |worst: f64, (_, high)| worst.max(high));
    let best = bins
        .iter()
        .flat_map(|bin| bin.estimates.iter().filter_map(Estimate::range))
        .fold(1.0, |best: f64, (low, _)| best.min(low));
    let x = Axis::log(low / widen, high * widen);
    let y = Axis::log(best.max(1e-6), round_up(worst));
    let mut chart = Chart::new((WIDE, 400.0), Margins(52.0, 64.0, 30.0, 100.0), x, y);
    let (x_ticks, y_ticks) = (x.ticks(8, |v| bytes(v as u64)), y.ticks(6, plain));
    chart.plot.axes(&x_ticks, &y_ticks, "", "Slowdown: FCT / ideal FCT, log scale");
    count_strip(&mut chart, &bins);
    let mut labels = Vec::new();
    for (i, (percent, class, meaning)) in PERCENTILES.iter().enumerate() {
        let spread: Vec<(f64, f64, f64)> = bins
            .iter()
            .filter_map(|bin| bin.estimates[i].range().map(|(low, high)| (bin.size, low, high)))
            .collect();
        let points: Vec<Option<(f64, f64)>> =
            bins.iter().map(|bin| bin.estimates[i].mean.map(|mean| (bin.size, mean))).collect();
        chart.plot.band(&spread, &format!("band {class}"));
        chart.plot.line(&points, &format!("line {class}"));
        for (bin, point) in bins.iter().zip(&points) {
            if let Some((x, y)) = point {
                let hollow = if bin.fewest < *meaning { " hollow" } else { "" };
                chart.plot.dot(*x, *y, &format!("dot {class}{hollow}"));
            }
        }
        if let Some((x, y)) = points.iter().rev().flatten().next() {
            let (x, y) = (chart.plot.x.px(*x), chart.plot.y.px(*y));
            labels.push(((x, y), (*class).to_string(), format!("p{percent}")));
        }
    }
    // Where lines end at the same height, the higher percentile is named first.
    labels.reverse();
    let lowest = chart.plot.frame.bottom;
    chart.plot.canvas.end_labels(labels, lowest);
    let positions: Vec<(f64, String)> = bins
        .iter()
        .map(|bin| {
            let flows = count(bin.count as u64);
            (chart.plot.x.px(bin.size), format!("about {}, {flows} flows", bytes(bin.size as u64)))
        })
        .collect();
    chart.hover_at(positions);
    for (i, (percent, class, _)) in PERCENTILES.iter().enumerate().rev() {
        let values = bins.iter().map(|bin| {
            bin.estimates[i].mean.map(|mean| {
                let spread = bin.estimates[i].range().filter(|(low, high)| low < high);
                let spread = spread
                    .map(|(low, high)| format!(" (seeds {} to {})", sig3(low), sig3(high)))
                    .unwrap_or_default();
                (chart.plot.y.px(mean), format!("{}{spread}", sig3(mean)))
            })
        });
        let values: Vec<_> = values.collect();
        chart.hover_row(&format!("p{percent}"), class, values);
    }
    Some(Figure {
        id: "slowdown-by-size".into(),
        title: match entry {
            Some(entry) => format!("FCT slowdown by flow size, {}", about.traffic_name(entry)),
            None => "FCT slowdown by flow size".into(),
        },
        plot: chart.finish("Percentiles of FCT slowdown against flow size, both on log scales"),
        caption: format!(
            "Slowdown 1: as fast as alone on an empty path. Lines: mean over seeds of the percentile within each \
             seed{}. Shaded: lowest to highest seed. Hollow dots: fewer flows in a seed than the percentile needs (2, \
             20, 100 for p50, p95, p99), so the largest value is shown. Times are until delivery at the receiver.",
            if runs.len() == 1 { " (one seed here)" } else { "" }
        ),
    })
}

/// Small bars under the size axis: how many flows each point stands on.
fn count_strip(chart: &mut Chart, bins: &[Bin]) {
    let Plot { canvas, frame, x, .. } = &mut chart.plot;
    let most = bins.iter().map(|bin| bin.count).max().unwrap_or(1) as f64;
    let base = frame.bottom + 66.0;
    let height = 32.0;
    for bin in bins {
        let tall = (height * bin.count as f64 / most).max(1.0);
        canvas.rect((x.px(bin.size) - 7.0, base - tall), (14.0, tall), "count", "");
    }
    canvas.rule((frame.left, base), (frame.right, base), "axis");
    canvas.text((frame.left - 8.0, base - height + 8.0), "tick end", &count(most as u64));
    canvas.text((frame.left - 8.0, base), "tick end", "0");
    let title = "Flow size, log scale; bars: completed flows, all seeds";
    canvas.text((frame.middle(), base + 22.0), "title mid", title);
}

/// Size classes of the flows over one kind of transport, or of all flows.
fn classes(about: &RunStart, runs: &[RunRecord], transport: Option<&str>) -> Vec<Class> {
    let of = |flow: &&FlowRow| transport.is_none() || about.transport_of(flow.traffic) == transport;
    let class = |bounds| {
        let mut sorted: Vec<f64> = runs
            .iter()
            .flat_map(|run| completed(about, run))
            .filter(of)
            .filter(|flow| in_class(flow.size, bounds))
            .filter_map(FlowRow::slowdown)
            .collect();
        sorted.sort_by(f64::total_cmp);
        Class { name: class_name(bounds), sorted }
    };
    class_bounds(about).into_iter().map(class).filter(|class| !class.sorted.is_empty()).collect()
}

/// Kinds of transport of the completed flows.
pub(super) fn transports(about: &RunStart, runs: &[RunRecord]) -> BTreeSet<&'static str> {
    let flows = runs.iter().flat_map(|run| completed(about, run));
    let entries: BTreeSet<u16> = flows.map(|flow| flow.traffic).collect();
    entries.into_iter().filter_map(|entry| about.transport_of(entry)).collect()
}

/// The end of the title of a figure of the flows over one transport.
pub(super) fn over(transport: Option<&str>) -> String {
    let name = match transport {
        Some("tcp") => "TCP",
        Some("rdma") => "RDMA",
        Some(other) => other,
        None => return String::new(),
    };
    format!(", {name}")
}

/// The distribution of slowdown in each size class: from below, and its tail from above. Of several transports each has a figure, since their
/// flows are not alike.
pub(super) fn distributions(about: &RunStart, runs: &[RunRecord]) -> Vec<Figure> {
    let transports = transports(about, runs);
    let each: Vec<Option<&str>> = match transports.len() {
        0 | 1 => vec![None],
        _ => transports.into_iter().map(Some).collect(),
    };
    let mut figures: Vec<Figure> =
        each.into_iter().filter_map(|one| distribution(about, runs, one)).collect();
    for (n, figure) in figures.iter_mut().enumerate().skip(1) {
        figure.id = format!("{}-{n}", figure.id);
    }
    figures
}

fn distribution(about: &RunStart, runs: &[RunRecord], transport: Option<&str>) -> Option<Figure> {
    let classes = classes(about, runs, transport);
    let words = Words {
        things: "flows",
        axis: "Slowdown: FCT / ideal FCT, log scale".into(),
        divisor: 1.0,
        value: |slowdown| format!("slowdown {}", sig3(slowdown)),
        about: "slowdown by size class",
        least: Some(1.0),
    };
    Some(Figure {
        id: "slowdown-cdf".into(),
        title: format!("Distribution of FCT slowdown by size class{}", over(transport)),
        plot: pair(&classes, &words)?,
        caption: "Left: share of flows at or below a slowdown, up to the point where every class has 99 %. Right: the \
                  tail, as the share of flows above a slowdown on a log scale. p99 is where a line crosses 1 %. All \
                  seeds together. Unfinished flows are left out."
            .into(),
    })
}
