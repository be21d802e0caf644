//! The slider over time of the picture of the fabric: what `fabric.js` colours the links by.
//!
//! Of one seed, the first whose links were sampled. A value is one letter of 64, as a share of the largest of its measure, so that a large
//! fabric's report stays small; `links.csv` has the values.

use super::{Measure, OF_RATE, Plan};
use crate::bundles::Bundles;
use crate::human::{bytes, count};
use crate::rows::{LinksRow, RunRecord};
use crate::svg::time_unit;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Letters from nothing to the largest value. Those that could make up words which no page may have are not among them.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMOPQRSTUVWXYZabcdefghjklmnopqrstuvwxyz0123456789+-/=";

/// Letters of a measure at most; beyond, neighbouring intervals are joined.
const MOST_LETTERS: usize = 250_000;

/// What a row has over time.
#[derive(Clone, Copy)]
pub(super) enum RowContent {
    Busy,
    Queue,
    Dropped,
    Marked,
    Trimmed,
    Credits,
    Paused,
}

impl RowContent {
    const ALL: [Self; 7] = [
        Self::Busy,
        Self::Queue,
        Self::Dropped,
        Self::Marked,
        Self::Trimmed,
        Self::Credits,
        Self::Paused,
    ];

    fn of(self, row: &LinksRow) -> &[f32] {
        match self {
            Self::Busy => &row.busy,
            Self::Queue => &row.queue,
            Self::Dropped => &row.dropped,
            Self::Marked => &row.marked,
            Self::Trimmed => &row.trimmed,
            Self::Credits => &row.refused_credits,
            Self::Paused => &row.paused,
        }
    }

    /// One value for several intervals.
    fn joined(self, values: &[f32]) -> f32 {
        match self {
            Self::Busy | Self::Paused => values.iter().sum::<f32>() / values.len().max(1) as f32,
            Self::Queue => values.iter().copied().fold(0.0, f32::max),
            Self::Dropped | Self::Marked | Self::Trimmed | Self::Credits => values.iter().sum(),
        }
    }

    /// The unit that the page writes values in, and the end of the scale in words.
    fn scale(self, full: f32) -> (&'static str, String) {
        match self {
            Self::Busy => ("share", OF_RATE.into()),
            Self::Paused => ("share", "100 % of the interval".into()),
            Self::Queue => ("bytes", format!("{} at most", bytes(full as u64))),
            Self::Dropped | Self::Marked | Self::Trimmed | Self::Credits => {
                ("count", format!("{} in an interval", count(full as u64)))
            }
        }
    }
}

/// The slider with its data, and what the caption says of it; `None` if no links were sampled.
pub(super) fn controls(
    runs: &[RunRecord],
    plan: &Plan,
    bundles: &Bundles,
    measures: &[Measure],
) -> Option<(String, String)> {
    let run = runs.iter().find(|run| !run.links.is_empty())?;
    let by_name: BTreeMap<(&str, &str), &LinksRow> =
        run.links.iter().map(|row| ((row.node.as_str(), row.peer.as_str()), row)).collect();
    let row_of = |at: usize| {
        let bundle = &bundles.all[at];
        let name = |group: usize| bundles.groups[group].name.as_str();
        by_name.get(&(name(bundle.from), name(bundle.to))).copied()
    };
    // In the order of the shapes of the first measure; the page finds those of others by their names.
    let rows: Vec<Option<&LinksRow>> =
        plan.order(bundles, measures.first()?).into_iter().map(row_of).collect();
    let every = run.links[0].every;
    let lists = |row: &LinksRow| RowContent::ALL.map(|what| what.of(row).len());
    let intervals = run.links.iter().flat_map(lists).max().filter(|intervals| *intervals > 1)?;
    let joined = (rows.len() * intervals).div_ceil(MOST_LETTERS).max(1);
    let of_measure =
        |measure: &Measure| -> Value { letters(&rows, measure.over_time, intervals, joined) };
    let data: Vec<Value> = measures.iter().map(of_measure).collect();
    let frames = intervals.div_ceil(joined);
    let (unit, unit_name) = time_unit(run.end.as_ps() as f64 / 1e6);
    let us = |ps: u64| ps as f64 / 1e6;
    let data = json!({
        "every": us(every.as_ps() * joined as u64),
        "end": us(run.end.as_ps()),
        "unit": unit,
        "name": unit_name,
        "measures": data,
    });
    let html = format!(
        "<div class=\"slider\" hidden><button type=\"button\">Play</button>\
         <input type=\"range\" min=\"0\" max=\"{frames}\" value=\"0\" aria-label=\"Interval of the run\">\
         <output>whole run</output><script type=\"application/json\">{data}</script></div>"
    );
    let about = format!(
        " The slider shows {frames} intervals of seed {}, all on one scale. A queue is the longest at the sampling \
         instants. links.csv has the values. Arrow keys move the slider.",
        run.seed
    );
    Some((html, about))
}

/// A measure in all intervals: a string for each, with a letter for each row. Null if no row has any: there was none in
/// this seed, or the table is of a version that did not have it. The page then says that colours are of the whole run.
fn letters(rows: &[Option<&LinksRow>], what: RowContent, intervals: usize, joined: usize) -> Value {
    let value = |row: &Option<&LinksRow>, frame: usize| {
        let values = row.map_or(&[][..], |row| what.of(row));
        let from = (frame * joined).min(values.len());
        what.joined(&values[from..(from + joined).min(values.len())])
    };
    let frames = intervals.div_ceil(joined);
    let all: Vec<Vec<f32>> =
        (0..frames).map(|frame| rows.iter().map(|row| value(row, frame)).collect()).collect();
    let most = all.iter().flatten().copied().fold(0.0, f32::max);
    if most == 0.0 {
        return Value::Null;
    }
    let full =
        if matches!(what, RowContent::Busy | RowContent::Paused) { 1.0 } else { most.max(1.0) };
    let (unit, end) = what.scale(full);
    let text: Vec<String> = all.iter().map(|frame| coded(frame, full)).collect();
    json!({ "full": full, "unit": unit, "end": end, "frames": text })
}

/// Values as letters; a run of zeros is `*` with its length and a semicolon. What is not zero is never written as zero.
fn coded(values: &[f32], full: f32) -> String {
    let mut text = String::with_capacity(values.len());
    let mut zeros = 0;
    let end_zeros = |text: &mut String, zeros: usize| match zeros {
        0..4 => text.extend(std::iter::repeat_n('A', zeros)),
        _ => {
            let _ = write!(text, "*{zeros};");
        }
    };
    for value in values {
        if *value <= 0.0 {
            zeros += 1;
            continue;
        }
        end_zeros(&mut text, std::mem::take(&mut zeros));
        let letter = ((value / full).min(1.0) * 63.0).round().max(1.0);
        text.push(char::from(LETTERS[letter as usize]));
    }
    end_zeros(&mut text, zeros);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_not_nothing_and_zeros_take_no_room() {
        assert_eq!(coded(&[0.0, 0.001, 1.0, 2.0, 0.5], 1.0), "AB==h");
        assert_eq!(coded(&[0.0; 100], 1.0), "*100;");
        let all: std::collections::BTreeSet<u8> = LETTERS.iter().copied().collect();
        assert_eq!(all.len(), 64);
    }
}
