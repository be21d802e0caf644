//! Lines about RPCs.

use super::{COUNT, LABEL, Line, NAME, Tone, clipped};
use crate::human::{count, gbps, micros, sig2, sig3};
use crate::stats::Estimate;
use crate::summary::rpc::{Latency, RpcClass, RpcSummary};

/// A latency with its unit and interval, and a gap.
const CELL: usize = 16;

/// How many there were, and latency in a table as wide as the terminal takes.
pub(super) fn lines(rpc: &RpcSummary, width: usize) -> Vec<Line> {
    let columns = columns(width);
    let cells: String = columns.iter().map(|(name, _)| format!("{name:>CELL$}")).collect();
    let name = name_width(width, columns.len());
    let head = format!("{:<name$}{:>COUNT$}{cells}", "", "rpcs");
    let mut lines = vec![counts(rpc), Line::new("latency").add(Tone::Faint, head)];
    for class in rpc.traffic_classes.iter().chain([&rpc.overall]) {
        lines.push(row(class, columns, name));
    }
    lines.push(shares(&rpc.overall));
    lines
}

fn counts(rpc: &RpcSummary) -> Line {
    let completed = rpc.issued - rpc.not_completed;
    let mut line = Line::new("rpcs").plain(format!(
        "{} of {} issued completed",
        count(completed),
        count(rpc.issued)
    ));
    if rpc.in_warmup > 0 {
        line = line.plain(", ").add(Tone::Faint, format!("{} in warm-up", count(rpc.in_warmup)));
    }
    line.plain(format!(", on {} connections", count(rpc.overall.connections)))
}

fn shares(all: &RpcClass) -> Line {
    let rate = |estimate: &Estimate| estimate.mean.map_or("-".into(), gbps);
    Line::new("").plain(format!(
        "{} requests, {} responses, {} RPC/s, fairness {} (Jain)",
        rate(&all.request_goodput_gbps),
        rate(&all.response_goodput_gbps),
        all.rpcs_per_s.mean.map_or("-".into(), sig3),
        all.jain_fairness.mean.map_or("-".into(), sig3),
    ))
}

type Pick = fn(&Latency) -> &Estimate;

/// As many columns as fit, the tail first to stay.
fn columns(width: usize) -> &'static [(&'static str, Pick)] {
    const ALL: [(&str, Pick); 4] =
        [("p50", |l| &l.p50), ("p99", |l| &l.p99), ("p99.9", |l| &l.p999), ("mean", |l| &l.mean)];
    let fit = width.saturating_sub(LABEL + NAME.start() + COUNT) / CELL;
    match fit {
        0 | 1 => &ALL[1..2],
        2 => &ALL[..2],
        3 => &ALL[..3],
        _ => &ALL,
    }
}

fn name_width(width: usize, columns: usize) -> usize {
    width.saturating_sub(LABEL + COUNT + columns * CELL).clamp(*NAME.start(), *NAME.end())
}

fn row(class: &RpcClass, columns: &[(&str, Pick)], room: usize) -> Line {
    let mut text = format!("{:<room$}{:>COUNT$}", clipped(&class.name, room), count(class.count));
    for (_, pick) in columns {
        text.push_str(&format!("{:>CELL$}", cell(pick(&class.latency_us))));
    }
    Line::new("").plain(text)
}

/// `123 us ±4`: the interval is in the unit of the value.
fn cell(estimate: &Estimate) -> String {
    let Some(mean) = estimate.mean else { return "-".into() };
    let value = micros(mean);
    let unit = match value.split_once(' ').map(|(_, unit)| unit) {
        Some("s") => 1e6,
        Some("ms") => 1e3,
        Some("ns") => 1e-3,
        _ => 1.0,
    };
    let half =
        estimate.half_width().map_or(String::new(), |half| format!(" ±{}", sig2(half / unit)));
    value + &half
}
