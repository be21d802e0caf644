//! Lines about RPCs.

use super::{LABEL, Line, NAME, Tone, clipped, count_width, done, done_within, sign};
use crate::human::{count, gbps, micros, sig2, sig3};
use crate::stats::Estimate;
use crate::summary::rpc::{Latency, RpcClass, RpcSummary};

/// A latency with its unit and interval, and a gap.
const CELL: usize = 17;

/// How many there were, and latency in a table as wide as the terminal takes.
pub(super) fn lines(rpc: &RpcSummary, width: usize) -> Vec<Line> {
    let classes = || rpc.traffic_classes.iter().chain([&rpc.overall]);
    let done = classes().map(|class| done(class.count, class.not_finished));
    let counts = count_width(done, LABEL + NAME.start() + CELL, width);
    let columns = columns(width, counts);
    let cells: String = columns.iter().map(|(name, _)| format!("{name:>CELL$}")).collect();
    let name = name_width(width, counts, columns.len());
    let what = if counts > "done/issued".len() { "done/issued" } else { "rpcs" };
    let head = format!("{:<name$}{what:>counts$}{cells}", "");
    let mut lines = vec![outcome(rpc), Line::new("latency").add(Tone::Faint, head)];
    for class in classes() {
        lines.push(row(class, columns, name, counts));
    }
    lines.push(shares(&rpc.overall));
    lines.extend(rpc.overall.credits().map(|text| Line::new("").plain(text)));
    lines
}

fn outcome(rpc: &RpcSummary) -> Line {
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
fn columns(width: usize, counts: usize) -> &'static [(&'static str, Pick)] {
    const ALL: [(&str, Pick); 4] =
        [("p50", |l| &l.p50), ("p99", |l| &l.p99), ("p99.9", |l| &l.p999), ("mean", |l| &l.mean)];
    let fit = width.saturating_sub(LABEL + NAME.start() + counts) / CELL;
    match fit {
        0 | 1 => &ALL[1..2],
        2 => &ALL[..2],
        3 => &ALL[..3],
        _ => &ALL,
    }
}

fn name_width(width: usize, counts: usize, columns: usize) -> usize {
    width.saturating_sub(LABEL + counts + columns * CELL).clamp(*NAME.start(), *NAME.end())
}

fn row(class: &RpcClass, columns: &[(&str, Pick)], room: usize, counts: usize) -> Line {
    let done = done_within(class.count, class.not_finished, counts);
    let mut text = format!("{:<room$}{done:>counts$}", clipped(&class.name, room));
    for (_, pick) in columns {
        let wide = cell(pick(&class.latency_us), class.censored, true);
        // A cell without room for a gap leaves its interval to the page.
        let shown = match wide.chars().count() < CELL {
            true => wide,
            false => cell(pick(&class.latency_us), class.censored, false),
        };
        text.push_str(&format!("{shown:>CELL$}"));
    }
    Line::new("").plain(text)
}

/// `123 us ±4`: the interval is in the unit of the value.
fn cell(estimate: &Estimate, censored: bool, interval: bool) -> String {
    let Some(mean) = estimate.mean else { return "-".into() };
    let value = micros(mean);
    let unit = match value.split_once(' ').map(|(_, unit)| unit) {
        Some("s") => 1e6,
        Some("ms") => 1e3,
        Some("ns") => 1e-3,
        _ => 1.0,
    };
    let half = estimate.half_width().filter(|_| interval);
    let half = half.map_or(String::new(), |half| format!(" ±{}", sig2(half / unit)));
    value + sign(censored) + &half
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_columns_never_run_together() {
        // 26.5 ms, with an interval that takes many digits.
        let tight = Estimate::new([26_500.0, 26_500.01, 26_499.99].map(Some).to_vec());
        let latency = Latency { p50: tight.clone(), p99: tight.clone(), ..Latency::default() };
        let class = RpcClass { latency_us: latency, censored: true, ..RpcClass::default() };
        let shown = row(&class, columns(60, 9), 13, 9);
        let text: String = shown.0.iter().map(|(_, text)| text.as_str()).collect();
        assert!(
            text.contains(" 26.5 ms*") && !text.contains("526.5") && !text.contains("ms*26"),
            "{text}"
        );
        assert!(
            text.split("26.5 ms*").skip(1).all(|rest| rest.is_empty() || rest.starts_with(' '))
        );
    }
}
