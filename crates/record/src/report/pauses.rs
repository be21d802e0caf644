//! Which ports were paused for how long, and how near the ingress ports that paused them came to losing something.

use super::links::bar;
use super::{Figure, micro};
use crate::human::{bytes, count, percent};
use crate::rows::{ClassPauseRow, RunRecord};
use crate::svg::esc;
use forebay_units::{Bytes, Time};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Rows of the table at most.
const MOST: usize = 16;

/// A port, or a class of it, all seeds together. `row` names who was paused; headroom and drops are of the ingress port that paused it.
struct PausedPort {
    row: ClassPauseRow,
    class: Option<u8>,
}

/// The ports and classes that were paused longest.
pub(super) fn table(runs: &[RunRecord]) -> Option<Figure> {
    let mut rows = rows(runs);
    rows.retain(|paused| paused.row.pause_frames_received > 0);
    if rows.is_empty() {
        return None;
    }
    rows.sort_by_key(|paused| Reverse(paused.row.paused));
    let all = rows.len();
    rows.truncate(MOST);
    let time: f64 = runs.iter().map(|run| run.end.as_secs_f64()).sum();
    let by_class = rows.iter().any(|paused| paused.class.is_some());
    let watched = rows.iter().any(|paused| paused.row.watchdog_fired > 0);
    let class = if by_class { "<th class=\"num\">Class" } else { "" };
    let watchdog = if watched { "<th class=\"num\">Watchdog" } else { "" };
    let mut plot = format!(
        "<div class=\"scroll\"><table><thead><tr><th>Port{class}<th class=\"num\">Share of time paused\
         <th class=\"num\">Paused<th class=\"num\">Frames<th class=\"num\">Headroom used<th class=\"num\">Dropped\
         {watchdog}</tr></thead><tbody>"
    );
    for PausedPort { row, class } in &rows {
        let _ = write!(plot, "<tr><th>{} → {}", esc(&row.node), esc(&row.peer));
        if by_class {
            let class = class.map_or("all".into(), |class| class.to_string());
            let _ = write!(plot, "<td class=\"num\">{class}");
        }
        let share = row.paused.as_secs_f64() / time.max(f64::MIN_POSITIVE);
        plot.push_str(&bar(share, "use", &percent(share)));
        let _ = write!(
            plot,
            "<td class=\"num\">{}<td class=\"num\">{}<td class=\"num\">{}<td class=\"num\">{}",
            micro(row.paused.as_secs_f64() * 1e6 / runs.len().max(1) as f64),
            count(row.pause_frames_received),
            bytes(row.headroom_peak.get()),
            count(row.lossless_drops),
        );
        if watched {
            let _ = write!(
                plot,
                "<td class=\"num\">{} × ({} dropped)",
                count(row.watchdog_fired),
                count(row.watchdog_drops)
            );
        }
        plot.push_str("</tr>");
    }
    plot.push_str("</tbody></table></div>");
    plot.push_str(&deadlocks(runs));
    let of = if all > rows.len() { format!(" The {MOST} of {all}.") } else { String::new() };
    Some(Figure {
        id: "pauses".into(),
        title: "Paused ports".into(),
        plot,
        caption: format!(
            "Ports that the node at the other end paused, longest first. Time is the mean over seeds, frames and drops are sums. Headroom and \
             drops belong to the ingress port that sent the pauses. A drop there means that its headroom is too small.{of}"
        ),
    })
}

/// PFC deadlocks, if there were any.
fn deadlocks(runs: &[RunRecord]) -> String {
    let mut list = String::new();
    let all = runs.iter().flat_map(|run| run.deadlocks.iter().map(|row| (run.seed, row)));
    for (seed, row) in all.take(MOST) {
        let ms = |at: Time| at.as_secs_f64() * 1e3;
        let gone = match row.gone {
            None => "to the end".into(),
            Some(gone) => format!("gone by {:.0} ms", ms(gone)),
        };
        let ports = esc(&row.ports.join(", "));
        let _ = write!(list, "<li>seed {seed}, from {:.3} ms, {gone}: {ports}", ms(row.closed));
    }
    if list.is_empty() {
        return list;
    }
    format!(
        "<p>PFC deadlocks (cyclic buffer dependencies): each port was paused by the next one for more than 10 ms, and \
         the last one by the first.</p><ul>{list}</ul>"
    )
}

/// Everything that may have been paused: classes where they were paused one by one, else whole ports.
fn rows(runs: &[RunRecord]) -> Vec<PausedPort> {
    let mut all: BTreeMap<(String, String, Option<u8>), ClassPauseRow> = BTreeMap::new();
    let mut add = |class: Option<u8>, one: &ClassPauseRow| {
        let key = (one.node.clone(), one.peer.clone(), class);
        let sum = all.entry(key).or_default();
        sum.pause_frames_received += one.pause_frames_received;
        sum.paused += one.paused;
        sum.watchdog_fired += one.watchdog_fired;
        sum.watchdog_drops += one.watchdog_drops;
        // What an ingress port counts is about the port at the other end of its cable.
        let key = (one.peer.clone(), one.node.clone(), class);
        let sum = all.entry(key).or_default();
        sum.headroom_peak = sum.headroom_peak.max(one.headroom_peak);
        sum.lossless_drops += one.lossless_drops;
    };
    for run in runs {
        for row in &run.class_pauses {
            add(Some(row.class), row);
        }
        if !run.class_pauses.is_empty() {
            continue;
        }
        for port in &run.ports {
            let whole = ClassPauseRow {
                node: port.node.clone(),
                peer: port.peer.clone(),
                pause_frames_received: port.pause_frames_received,
                paused: port.paused,
                headroom_peak: port.headroom_peak,
                lossless_drops: port.lossless_drops,
                ..ClassPauseRow::default()
            };
            if whole.pause_frames_received > 0 || whole.headroom_peak > Bytes::ZERO {
                add(None, &whole);
            }
        }
    }
    let named =
        |((node, peer, class), row)| PausedPort { row: ClassPauseRow { node, peer, ..row }, class };
    all.into_iter().map(named).collect()
}
