//! RPCs: the distribution of their latency, and their numbers by traffic entry.

use super::Figure;
use super::cdf::{Class, Words, pair};
use super::micro;
use super::tables::marked;
use crate::about::RunStart;
use crate::human::{count, gbps, sig2, sig3};
use crate::rows::{RpcRow, RunRecord};
use crate::stats::Estimate;
use crate::summary::{RPC_DEFINITION, RpcClass, RpcSummary, Summary};
use crate::svg::{esc, time_unit};
use std::fmt::Write;

/// Latency of measured RPCs by traffic entry.
pub(super) fn distribution(about: &RunStart, runs: &[RunRecord]) -> Option<Figure> {
    let mut entries: Vec<u16> = runs
        .iter()
        .flat_map(|r| &r.connections)
        .filter(|c| c.carries_rpcs())
        .map(|c| c.traffic)
        .collect();
    entries.sort_unstable();
    entries.dedup();
    let class = |entry: u16| {
        let mut sorted: Vec<f64> = Vec::new();
        for run in runs {
            let of = |rpc: &&RpcRow| run.connections[rpc.connection as usize].traffic == entry;
            let measured = run.rpcs.iter().filter(|rpc| rpc.issued >= about.warmup).filter(of);
            sorted.extend(measured.filter_map(RpcRow::latency).map(|l| l.as_ps() as f64 / 1e6));
        }
        sorted.sort_by(f64::total_cmp);
        Class { name: about.traffic_name(entry), sorted }
    };
    let classes: Vec<Class> =
        entries.into_iter().map(class).filter(|class| !class.sorted.is_empty()).collect();
    let worst = classes.iter().filter_map(|class| class.sorted.last()).copied();
    let (divisor, unit) = time_unit(worst.fold(0.0, f64::max));
    let words = Words {
        things: "RPCs",
        axis: format!("Latency, {unit}, log scale"),
        divisor,
        value: |us| micro(us),
        about: "RPC latency by traffic entry",
        least: None,
    };
    Some(Figure {
        id: "rpc-latency".into(),
        title: "Distribution of RPC latency".into(),
        plot: pair(&classes, &words)?,
        caption: "Left: share of RPCs at or below a latency, up to the point where every traffic entry has 99 %. \
                  Right: the tail, as the share of RPCs above a latency on a log scale. p99.9 is where a line crosses \
                  0.1 %. All seeds together. RPCs of the warm-up and unfinished RPCs are left out."
            .into(),
    })
}

/// All numbers of RPCs.
pub(super) fn table(summary: &Summary) -> String {
    let Some(rpc) = &summary.rpc else { return String::new() };
    let mut html = String::from(
        "<section id=\"rpcs\"><h2>RPCs in numbers</h2><div class=\"scroll\"><table><thead><tr>\
         <th rowspan=\"2\">Traffic<th rowspan=\"2\" class=\"num\">RPCs<th rowspan=\"2\" class=\"num\">Unfinished\
         <th colspan=\"6\" class=\"span\">Latency<th class=\"span\">Over ideal\
         <th colspan=\"2\" class=\"span\">Goodput<th rowspan=\"2\" class=\"num\">Fairness</tr>\
         <tr><th class=\"num\">mean<th class=\"num\">p50<th class=\"num\">p95<th class=\"num\">p99\
         <th class=\"num\">p99.9<th class=\"num\">max<th class=\"num\">p99\
         <th class=\"num\">requests<th class=\"num\">responses</tr></thead><tbody>",
    );
    for class in classes(rpc) {
        html.push_str(&row(class));
    }
    let interval = match rpc.overall.latency_us.p99.ci95 {
        Some(_) => {
            "± is the 95 % confidence interval of the mean across seeds, in the unit of the mean. "
        }
        None => "",
    };
    let _ = write!(
        html,
        "</tbody></table></div><p class=\"caption\">{interval}Latency: {}.</p>",
        esc(RPC_DEFINITION)
    );
    let notes: String = classes(rpc)
        .flat_map(|class| {
            let said = [class.credits(), class.note.clone()].into_iter().flatten();
            said.map(|text| format!("<li>{}: {}.</li>", esc(&class.name), esc(&text)))
        })
        .collect();
    if !notes.is_empty() {
        let _ = write!(html, "<ul class=\"notes\">{notes}</ul>");
    }
    html + "</section>"
}

fn classes(rpc: &RpcSummary) -> impl Iterator<Item = &RpcClass> {
    rpc.traffic_classes.iter().chain([&rpc.overall])
}

fn row(class: &RpcClass) -> String {
    let late = if class.not_finished > 0 { " class=\"num warn\"" } else { " class=\"num\"" };
    let mut row = format!(
        "<tr><th>{}<td class=\"num\">{}<td{late}>{}",
        esc(&class.name),
        count(class.count),
        count(class.not_finished)
    );
    let l = &class.latency_us;
    for estimate in [&l.mean, &l.p50, &l.p95, &l.p99, &l.p999, &l.max] {
        let latency = |us: f64| marked(micro(us), class.censored);
        let _ = write!(row, "<td class=\"num\">{}", spread(estimate, latency));
    }
    let plain = |value: f64| sig3(value);
    let over_ideal = |value: f64| marked(sig3(value), class.censored);
    let _ = write!(row, "<td class=\"num\">{}", spread(&class.latency_over_ideal.p99, over_ideal));
    for estimate in [&class.request_goodput_gbps, &class.response_goodput_gbps] {
        let _ = write!(row, "<td class=\"num\">{}", estimate.mean.map_or("–".into(), gbps));
    }
    let _ = write!(row, "<td class=\"num\">{}</tr>", spread(&class.jain_fairness, plain));
    row
}

/// A value, and in small the half width of its interval as a share of it.
fn spread(estimate: &Estimate, text: impl Fn(f64) -> String) -> String {
    let Some(mean) = estimate.mean else { return "–".into() };
    let half = estimate
        .half_width()
        .map_or(String::new(), |half| format!(" ± {}", text_of(half, mean, &text)));
    format!("{}<small>{half}</small>", text(mean))
}

/// The half width in the unit in which the mean is written.
fn text_of(half: f64, mean: f64, text: &impl Fn(f64) -> String) -> String {
    let shown = text(mean);
    match (shown.split_once(' '), mean > 0.0) {
        (Some((number, _)), true) => {
            sig2(number.parse::<f64>().map_or(half, |number| half * number / mean))
        }
        _ => sig2(half),
    }
}
