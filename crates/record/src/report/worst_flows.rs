//! The slowest flows, one by one: where to point a trace.

use super::Figure;
use crate::about::About;
use crate::human::{bytes, sig3};
use crate::rows::{FlowRow, RunRecord};
use crate::summary::measured;
use crate::svg::esc;
use std::fmt::Write;

/// Flows in the table.
const WORST: usize = 10;

/// The completed, measured flows with the largest slowdown of any seed.
pub(super) fn table(about: &About, runs: &[RunRecord]) -> Option<Figure> {
    let mut flows: Vec<(f64, &RunRecord, &FlowRow)> = runs
        .iter()
        .flat_map(|run| run.flows.iter().map(move |flow| (run, flow)))
        .filter(|(_, flow)| measured(flow, about.warmup))
        .filter_map(|(run, flow)| Some((flow.slowdown()?, run, flow)))
        .collect();
    if flows.is_empty() {
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
    let host = |run: &RunRecord, at: u32| run.hosts.get(at as usize).cloned().unwrap_or_default();
    for (slowdown, run, flow) in flows.iter().take(WORST) {
        let _ = write!(
            plot,
            "<tr><th>{}<td class=\"num\">{}<td>{} → {}<td class=\"num\">{}<td class=\"num\">{}<td class=\"num\">{}\
             <td class=\"num\">{}<td class=\"num\">{}<td class=\"num\">{}<td class=\"num\">{}<td class=\"num\">{}</tr>",
            flow.flow,
            run.seed,
            esc(&host(run, flow.src)),
            esc(&host(run, flow.dst)),
            flow.traffic,
            bytes(flow.size.get()),
            micro(flow.start.as_ps()),
            micro(flow.fct()?.as_ps()),
            micro(flow.ideal.as_ps()),
            sig3(*slowdown),
            flow.retransmits,
            flow.timeouts
        );
    }
    plot.push_str("</tbody></table></div>");
    let hint = match runs.iter().all(|run| run.why.is_empty()) {
        true => " For the parts of their time: forebay why RUN, or output.why.",
        false => "",
    };
    Some(Figure {
        id: "worst-flows".into(),
        title: "Slowest flows".into(),
        plot,
        caption: format!(
            "Completed flows with the largest slowdown of all seeds. Timeouts mean that losses made these flows slow. \
             Without timeouts, look at queues. Flow is the index in flows.csv.{hint}"
        ),
    })
}
