//! Which priority levels carry what, where receivers give them out.

use super::Figure;
use super::links::bar;
use crate::human::{bytes, percent};
use crate::rows::RunRecord;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Payload by traffic class, the first served first; `None` where all of it rides in one class.
pub(super) fn table(runs: &[RunRecord]) -> Option<Figure> {
    let mut classes: BTreeMap<u8, [u64; 2]> = BTreeMap::new();
    for row in runs.iter().flat_map(|run| &run.class_arrivals) {
        let [unscheduled, scheduled] = classes.entry(row.class).or_default();
        *unscheduled += row.unscheduled.get();
        *scheduled += row.scheduled.get();
    }
    if classes.len() < 2 {
        return None;
    }
    let all = classes.values().flatten().sum::<u64>().max(1) as f64;
    let mut plot = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>Traffic class<th class=\"num\">Share of payload\
         <th class=\"num\">Unscheduled<th class=\"num\">On grants</tr></thead><tbody>",
    );
    for (class, parts) in classes.iter().rev() {
        let share = parts.iter().sum::<u64>() as f64 / all;
        let _ = write!(plot, "<tr><th>{class}");
        plot.push_str(&bar(share, "use", &percent(share)));
        for part in parts {
            let text = if *part == 0 { "–".into() } else { bytes(*part) };
            let _ = write!(plot, "<td class=\"num\">{text}");
        }
        plot.push_str("</tr>");
    }
    plot.push_str("</tbody></table></div>");
    Some(Figure {
        id: "levels".into(),
        title: "Priority levels".into(),
        plot,
        caption: "Payload that reached receivers in each traffic class, all hosts and seeds. The class on top has the \
                  highest priority. Unscheduled: data sent without a grant; the size of the message chooses the class. \
                  On grants: the rest; the receiver chooses the class. class_arrivals.csv has the share of each host."
            .into(),
    })
}
