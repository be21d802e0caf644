//! Lines about collectives.

use super::{Line, Tone, sign};
use crate::human::{count, counted, gbps, micros, percent, sig2};
use crate::stats::Estimate;
use crate::summary::collective::{CollectiveClass, CollectiveSummary};

/// A line for each traffic entry.
pub(super) fn lines(of: &CollectiveSummary) -> Vec<Line> {
    let label = |nth: usize| if nth == 0 { "operation" } else { "" };
    of.classes().iter().enumerate().map(|(nth, class)| line(label(nth), class)).collect()
}

fn line(label: &str, class: &CollectiveClass) -> Line {
    // The entry's number says little without others.
    let name = match class.name.split_once(' ') {
        Some((entry, name)) if label == "operation" && entry == "traffic[0]" => name,
        _ => &class.name,
    };
    let line = Line::new(label).plain(format!("{name}: "));
    let line = match class.not_finished {
        0 => line,
        n => line.add(Tone::Warn, format!("{} NOT FINISHED, ", counted(n as usize, "collective"))),
    };
    let shown = |of: &Estimate| of.mean.map_or("-".into(), micros) + sign(class.censored);
    let took = &class.completion_us;
    let line = match class.count {
        0 => return line.plain("none completed"),
        1 => line.plain(format!("completed in {}", shown(&took.mean))),
        n => line.plain(format!(
            "{} completed, in {}{} (mean), {} (p99)",
            count(n),
            shown(&took.mean),
            half(&took.mean),
            shown(&took.p99)
        )),
    };
    let last = match class.count {
        1 => format!(", last {}", class.last_rank),
        _ => format!(", {} last in {}", class.last_rank, percent(class.last_rank_share)),
    };
    line.plain(format!(", bus bandwidth {}{last}", class.busbw_gbps.mean.map_or("-".into(), gbps)))
}

fn half(of: &Estimate) -> String {
    of.half_width().map_or(String::new(), |half| format!(" ±{} us", sig2(half)))
}
