//! Several runs beside each other: figures in which each run has a colour and a mark of its own, the same in all of them.

mod over_time;

use super::cdf::{Class, Words, pair};
use super::fct::{Bin, PERCENTILES, bins, completed, over, transports};
use super::{Figure, WIDE, micro};
use crate::about::RunStart;
use crate::human::{bytes, clipped, sig3};
use crate::rows::{FlowRow, RpcRow, RunRecord};
use crate::stats::Estimate;
use crate::svg::{
    Axis, Canvas, Chart, Margins, SERIES, esc, plain, round_up, text_width, time_unit,
};
use std::collections::BTreeMap;

/// One of the runs: all of its seeds.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// What it is called in pictures.
    pub name: &'a str,
    /// What it was.
    pub about: &'a RunStart,
    /// Simulations of the run.
    pub runs: &'a [RunRecord],
}

/// Runs that pictures have room for.
pub const MOST: usize = SERIES;

/// Width of a figure on a phone.
const NARROW: f64 = 516.0;

/// Sections with all figures that these runs have, of the first [`MOST`] of them; their names end in `tag`, so that a page can have
/// several such.
pub fn figures(sides: &[Side<'_>], tag: &str) -> String {
    let sides = &sides[..sides.len().min(MOST)];
    let mut figures = by_size_and_traffic(sides, tag);
    figures.extend(distributions(sides));
    figures.extend(rpc_latency(sides));
    figures.extend(over_time::figures(sides));
    figures.iter_mut().for_each(|figure| figure.id.push_str(tag));
    let drawn: String = figures.iter().map(Figure::html).collect();
    drawn + &over_time::absent(sides, tag)
}

/// The mark of a run, for headings and legends.
pub fn mark(side: usize) -> String {
    let mut canvas = Canvas::default();
    canvas.mark(side, (6.0, 6.0), &format!("dot s{}", side % SERIES));
    format!(
        "<svg class=\"mark\" viewBox=\"0 0 12 12\" aria-hidden=\"true\">{}</svg>",
        canvas.body()
    )
}

fn legend(sides: &[Side<'_>]) -> String {
    let one = |(i, side): (usize, &Side<'_>)| format!("<span>{}{}</span>", mark(i), esc(side.name));
    let all: String = sides.iter().enumerate().map(one).collect();
    format!("<div class=\"legend\">{all}</div>")
}

/// A name that fits beside a line.
fn short(name: &str) -> String {
    clipped(name, 24)
}

/// Parts of a page, each with its name, of which the reader picks one without any script; number `first` is on show first.
/// `report.css` has rules for six.
pub fn picks(group: &str, what: &str, parts: &[(String, String)], first: usize) -> String {
    let (mut inputs, mut labels, mut shown) = (String::new(), String::new(), String::new());
    for (i, (name, html)) in parts.iter().enumerate() {
        let checked = if i == first { " checked" } else { "" };
        inputs += &format!(
            "<input type=\"radio\" class=\"pick p{i}\" name=\"{group}\" id=\"{group}-{i}\" aria-label=\"{}\"{checked}>",
            esc(name)
        );
        labels += &format!("<label class=\"l{i}\" for=\"{group}-{i}\">{}</label>", esc(name));
        shown += &format!("<div class=\"picked v{i}\">{html}</div>");
    }
    format!(
        "<div class=\"by-seed\">{inputs}<p class=\"picks\">{} {labels}</p>{shown}</div>",
        esc(what)
    )
}

/// The figure for each entry of the traffic if there are several, since their flows are not alike; else the one of all flows.
fn by_size_and_traffic(sides: &[Side<'_>], tag: &str) -> Vec<Figure> {
    let flows = || sides.iter().flat_map(|side| side.runs).flat_map(|run| &run.flows);
    let mut entries: Vec<u16> = flows().filter(|f| !f.is_endless()).map(|f| f.traffic).collect();
    entries.sort_unstable();
    entries.dedup();
    match entries.len() {
        2.. => entries.into_iter().filter_map(|entry| by_size(sides, Some(entry), tag)).collect(),
        _ => by_size(sides, None, tag).into_iter().collect(),
    }
}

/// Slowdown against flow size, a line for each run; none if all flows are of about one size, where the distribution says it all.
fn by_size(sides: &[Side<'_>], entry: Option<u16>, tag: &str) -> Option<Figure> {
    let of = |side: &Side<'_>| bins(side.about, side.runs, entry);
    let all: Vec<Vec<Bin>> = sides.iter().map(of).collect();
    // A bin stands at one size in all runs, that of the first run that has it.
    let mut sizes: BTreeMap<i64, f64> = BTreeMap::new();
    all.iter().flatten().for_each(|bin| {
        sizes.entry(bin.at).or_insert(bin.size);
    });
    if sizes.len() < 2 {
        return None;
    }
    let id = match entry {
        None | Some(0) => "slowdown-by-size".to_string(),
        Some(entry) => format!("slowdown-by-size-{entry}"),
    };
    let part = |p: usize| {
        let draw = |width| lines(sides, &all, &sizes, p, width);
        let html = format!(
            "<div class=\"wide\">{}</div><div class=\"narrow\">{}{}</div>",
            draw(WIDE),
            legend(sides),
            draw(NARROW)
        );
        (format!("p{}", PERCENTILES[p].0), html)
    };
    let parts: Vec<_> = (0..PERCENTILES.len()).map(part).collect();
    let intervals = all.iter().flatten().any(|bin| bin.estimates.iter().any(|e| e.ci95.is_some()));
    Some(Figure {
        title: match entry {
            Some(entry) => {
                let name = sides.first()?.about.traffic_name(entry);
                format!("FCT slowdown by flow size, {name}")
            }
            None => "FCT slowdown by flow size".into(),
        },
        plot: picks(&format!("{id}-of{tag}"), "Percentile", &parts, PERCENTILES.len() - 1),
        id,
        caption: format!(
            "Slowdown 1: as fast as alone on an empty path. Lines: mean over seeds of the percentile within each \
             seed{} Hollow marks: fewer flows in a seed than the percentile needs (2, 20, 100 for p50, p95, p99), so \
             the largest value is shown. Times are until delivery at the receiver.",
            if intervals {
                ". Shaded: 95 % confidence interval."
            } else {
                ". Too few seeds for an interval."
            }
        ),
    })
}

fn lines(
    sides: &[Side<'_>],
    all: &[Vec<Bin>],
    sizes: &BTreeMap<i64, f64>,
    p: usize,
    width: f64,
) -> String {
    let wide = width >= WIDE;
    let (percent, _, meaning) = PERCENTILES[p];
    let estimates = || all.iter().flatten().map(|bin| &bin.estimates[p]);
    let ends =
        || estimates().flat_map(|e| e.mean.into_iter().chain(e.band().into_iter().flatten()));
    let means = || estimates().filter_map(|e| e.mean);
    // No band ends at the axis, as if it went on below.
    let best = ends().fold(1.0, f64::min).max(0.1);
    let worst = ends().fold(2.0, f64::max).min(2.0 * means().fold(2.0, f64::max));
    let (low, high) = sizes.values().fold((f64::MAX, 1.0_f64), |(l, h), s| (l.min(*s), h.max(*s)));
    let (low, high) = if high / low < 10.0 { (low / 3.0, high * 3.0) } else { (low, high) };
    let names: Vec<String> = sides.iter().map(|side| short(side.name)).collect();
    // They are bold.
    let room = names.iter().map(|name| 1.4 * text_width(name)).fold(24.0, f64::max) + 30.0;
    let (x, y) = (Axis::log(low / 1.15, high * 1.15), Axis::log(best, round_up(worst)));
    let right = if wide { room } else { 14.0 };
    let mut chart = Chart::new(
        (width, if wide { 420.0 } else { 360.0 }),
        Margins(52.0, right, 30.0, 50.0),
        x,
        y,
    );
    let (x_ticks, y_ticks) = (x.ticks(8, |v| bytes(v as u64)), y.ticks(6, plain));
    let (x_title, y_title) =
        ("Flow size, log scale", format!("p{percent} slowdown: FCT / ideal FCT, log scale"));
    chart.plot.axes(&x_ticks, &y_ticks, x_title, &y_title);
    for (i, bins) in all.iter().enumerate() {
        let spread: Vec<(f64, f64, f64)> = bins
            .iter()
            .filter_map(|bin| {
                bin.estimates[p].band().map(|[l, h]| (sizes[&bin.at], l.max(best), h))
            })
            .collect();
        chart.plot.band(&spread, &format!("band s{i}"));
    }
    let mut labels = Vec::new();
    for (i, bins) in all.iter().enumerate() {
        let point = |bin: &Bin| bin.estimates[p].mean.map(|mean| (sizes[&bin.at], mean));
        let points: Vec<Option<(f64, f64)>> = bins.iter().map(point).collect();
        chart.plot.line(&points, &format!("line s{i}"));
        for (bin, (size, mean)) in bins.iter().zip(&points).filter_map(|(b, p)| Some((b, (*p)?))) {
            let hollow = if bin.fewest < meaning { " hollow" } else { "" };
            let at = (chart.plot.x.px(size), chart.plot.y.px(mean));
            chart.plot.canvas.mark(i, at, &format!("dot s{i}{hollow}"));
        }
        if let Some((size, mean)) = points.iter().rev().flatten().next() {
            let at = (chart.plot.x.px(*size), chart.plot.y.px(*mean));
            labels.push((at, i, names[i].clone()));
        }
    }
    if wide {
        let (end, lowest) = (chart.plot.frame.right, chart.plot.frame.bottom);
        labels.iter_mut().for_each(|((x, _), ..)| *x = end);
        chart.plot.canvas.marked_labels(labels, lowest);
    }
    let title = |size: &f64| (chart.plot.x.px(*size), format!("about {}", bytes(*size as u64)));
    let positions: Vec<_> = sizes.values().map(title).collect();
    chart.hover_at(positions);
    for (i, (bins, name)) in all.iter().zip(&names).enumerate() {
        let read = |at: &i64| {
            let bin = bins.iter().find(|bin| bin.at == *at)?;
            let e = &bin.estimates[p];
            e.mean.map(|mean| (chart.plot.y.px(mean), with_interval(e)))
        };
        let values: Vec<_> = sizes.keys().map(read).collect();
        chart.hover_row(name, &format!("s{i}"), values);
    }
    chart.finish(&format!("p{percent} of FCT slowdown against flow size, a line for each run"))
}

fn with_interval(estimate: &Estimate) -> String {
    let half = estimate.half_width().filter(|half| *half > 0.0);
    let half = half.map_or(String::new(), |half| format!(" ± {}", crate::human::sig2(half)));
    format!("{}{half}", estimate.mean.map_or(String::new(), sig3))
}

/// The distribution of slowdown of measured flows, a line for each run: of all of them, or of each transport that all runs have where a run has
/// several.
fn distributions(sides: &[Side<'_>]) -> Vec<Figure> {
    let of_sides = || sides.iter().map(|side| transports(side.about, side.runs));
    let common = of_sides().reduce(|all, of| &all & &of).unwrap_or_default();
    let each: Vec<Option<&str>> = match of_sides().any(|of| of.len() > 1) && !common.is_empty() {
        true => common.into_iter().map(Some).collect(),
        false => vec![None],
    };
    let mut figures: Vec<Figure> =
        each.into_iter().filter_map(|one| distribution(sides, one)).collect();
    for (n, figure) in figures.iter_mut().enumerate().skip(1) {
        figure.id = format!("{}-{n}", figure.id);
    }
    figures
}

fn distribution(sides: &[Side<'_>], transport: Option<&str>) -> Option<Figure> {
    let class = |side: &Side<'_>| {
        let of = |flow: &&FlowRow| {
            transport.is_none() || side.about.transport_of(flow.traffic) == transport
        };
        let flows = side.runs.iter().flat_map(|run| completed(side.about, run)).filter(of);
        let mut sorted: Vec<f64> = flows.filter_map(FlowRow::slowdown).collect();
        sorted.sort_by(f64::total_cmp);
        Class { name: side.name.into(), sorted }
    };
    let classes: Vec<Class> = sides.iter().map(class).collect();
    if classes.iter().any(|class| class.sorted.is_empty()) {
        return None;
    }
    let words = Words {
        things: "flows",
        axis: "Slowdown: FCT / ideal FCT, log scale".into(),
        divisor: 1.0,
        value: |slowdown| format!("slowdown {}", sig3(slowdown)),
        about: "slowdown, a line for each run",
        least: Some(1.0),
    };
    Some(Figure {
        id: "slowdown-cdf".into(),
        title: format!("Distribution of FCT slowdown{}", over(transport)),
        plot: pair(&classes, &words)?,
        caption: "Left: share of flows at or below a slowdown, up to the point where every run has 99 %. Right: the \
                  tail, as the share of flows above a slowdown on a log scale. p99 is where a line crosses 1 %. All \
                  seeds together. Unfinished flows are left out."
            .into(),
    })
}

/// The distribution of the latency of all measured RPCs likewise.
fn rpc_latency(sides: &[Side<'_>]) -> Option<Figure> {
    let class = |side: &Side<'_>| {
        let rpcs = side.runs.iter().flat_map(|run| &run.rpcs);
        let measured = rpcs.filter(|rpc| rpc.issued >= side.about.warmup);
        let mut sorted: Vec<f64> =
            measured.filter_map(RpcRow::latency).map(|l| l.as_ps() as f64 / 1e6).collect();
        sorted.sort_by(f64::total_cmp);
        Class { name: side.name.into(), sorted }
    };
    let classes: Vec<Class> = sides.iter().map(class).collect();
    if classes.iter().any(|class| class.sorted.is_empty()) {
        return None;
    }
    let worst = classes.iter().filter_map(|class| class.sorted.last()).copied();
    let (divisor, unit) = time_unit(worst.fold(0.0, f64::max));
    let words = Words {
        things: "RPCs",
        axis: format!("Latency, {unit}, log scale"),
        divisor,
        value: micro,
        about: "RPC latency, a line for each run",
        least: None,
    };
    Some(Figure {
        id: "rpc-latency".into(),
        title: "Distribution of RPC latency".into(),
        plot: pair(&classes, &words)?,
        caption: "Left: share of RPCs at or below a latency, up to the point where every run has 99 %. Right: the \
                  tail, as the share of RPCs above a latency on a log scale. p99.9 is where a line crosses 0.1 %. All \
                  seeds together. RPCs of the warm-up and unfinished RPCs are left out."
            .into(),
    })
}
