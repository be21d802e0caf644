//! The slowest flows, one by one: where to point a trace. Flows that have not ended come first.

use super::Figure;
use crate::about::RunStart;
use crate::human::{bytes, count, sig3};
use crate::rows::{FlowRow, RunRecord};
use crate::summary::measured;
use crate::svg::esc;
use crate::why::{OpenFlow, open_flows};
use std::fmt::Write;

/// Completed flows in the table.
const WORST: usize = 10;

/// Unfinished ones.
const OPEN: usize = 10;

/// The measured flows that had not ended, those first that have waited longest for their size, and the completed ones with the largest slowdown
/// of any seed.
pub(super) fn table(about: &RunStart, runs: &[RunRecord]) -> Option<Figure> {
    let mut open: Vec<(&RunRecord, OpenFlow<'_>)> = runs
        .iter()
        .flat_map(|run| open_flows(run, about.warmup).into_iter().map(move |one| (run, one)))
        .collect();
    // Stable, so equal ones stay in the order of seeds.
    open.sort_by(|a, b| b.1.at_least().total_cmp(&a.1.at_least()));
    let mut flows: Vec<(f64, &RunRecord, &FlowRow)> = runs
        .iter()
        .flat_map(|run| run.flows.iter().map(move |flow| (run, flow)))
        .filter(|(_, flow)| measured(flow, about.warmup))
        .filter_map(|(run, flow)| Some((flow.slowdown()?, run, flow)))
        .collect();
    if flows.is_empty() && open.is_empty() {
        return None;
    }
    // Stable, so equal slowdowns stay in the order of seeds and flows.
    flows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut plot = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>Flow<th class=\"num\">Seed<th>From → to<th class=\"num\">Traffic\
         <th class=\"num\">Size<th class=\"num\">Start<th class=\"num\">FCT<th class=\"num\">Ideal FCT\
         <th class=\"num\">Slowdown<th class=\"num\">Sent again<th class=\"num\">Timeouts</tr></thead><tbody>",
    );
    let micro = |ps: u64| super::micro(ps as f64 / 1e6);
    let mut row = |run: &RunRecord, flow: &FlowRow, fct: String, slowdown: String| {
        let host = |at: u32| run.hosts.get(at as usize).cloned().unwrap_or_default();
        let _ = write!(
            plot,
            "<tr><th>{}<td class=\"num\">{}<td>{} → {}<td class=\"num\">{}<td class=\"num\">{}<td class=\"num\">{}\
             <td class=\"num\">{fct}<td class=\"num\">{}<td class=\"num\">{slowdown}<td class=\"num\">{}<td class=\"num\">{}</tr>",
            flow.flow,
            run.seed,
            esc(&host(flow.src)),
            esc(&host(flow.dst)),
            flow.traffic,
            bytes(flow.size.get()),
            micro(flow.start.as_ps()),
            micro(flow.ideal.as_ps()),
            flow.retransmits,
            flow.timeouts
        );
    };
    let mut states: Vec<String> = Vec::new();
    for (run, one) in open.iter().take(OPEN) {
        let (age, least) = (micro(one.age.as_ps()), sig3(one.at_least()));
        row(run, one.flow, format!("&gt; {age}"), format!("&gt; {least}"));
        states.push(format!("<li>Flow {}: {}.", one.flow.flow, esc(&one.state())));
    }
    for (slowdown, run, flow) in flows.iter().take(WORST) {
        row(run, flow, micro(flow.fct()?.as_ps()), sig3(*slowdown));
    }
    plot.push_str("</tbody></table></div>");
    if !states.is_empty() {
        let more = match open.len().saturating_sub(OPEN) {
            0 => String::new(),
            n => format!("<li>{} more; unfinished.csv has all.", count(n as u64)),
        };
        let _ = write!(
            plot,
            "<p class=\"answer\">Not finished, at the end of the run:</p><ul class=\"notes\">{}{more}</ul>",
            states.concat()
        );
    }
    let hint = match runs.iter().all(|run| run.why.is_empty()) {
        true => " For the parts of their time: forebay why RUN, or output.why.",
        false => "",
    };
    let first = match open.is_empty() {
        true => String::new(),
        false => "Flows that had not finished come first, with their age. Then ".into(),
    };
    let completed = if open.is_empty() { "Completed" } else { "completed" };
    Some(Figure {
        id: "worst-flows".into(),
        title: "Slowest flows".into(),
        plot,
        caption: format!(
            "{first}{completed} flows with the largest slowdown of all seeds. Timeouts mean that losses made these flows slow. \
             Without timeouts, look at queues. Flow is the index in flows.csv.{hint}"
        ),
    })
}
