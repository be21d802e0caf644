//! A comparison for the terminal, and as JSON.

use super::numbers::{difference, interval, spaced, value};
use super::{Cell, Comparison, MetricValues, Side, Word, claims};
use serde_json::{Map, Value, json};

/// Version of the layout of the JSON.
pub(super) const FORMAT: u32 = 1;

/// A metric of size classes is in the page and in the JSON only, as are those that a terminal has no room for.
fn is_short(measured: &MetricValues) -> bool {
    !measured.name.contains('[') && !measured.is_zero() && !SPARED.contains(&measured.name.as_str())
}

const SPARED: [&str; 6] = [
    "flows.fct_us.p50",
    "memory.nic_backlog_share",
    "memory.iio_occupancy",
    "memory.write_wait_ns",
    "memory.reader_cores",
    "carried_load",
];

/// The table for a terminal of so many columns.
pub fn terminal(of: &Comparison, width: usize) -> String {
    let names: Vec<&str> = of.sides.iter().map(|side| side.name.as_str()).collect();
    let rows = of.measured.iter().filter(|one| is_short(one));
    let rows: Vec<(String, &MetricValues)> = rows.map(|one| (one.title.clone(), one)).collect();
    table("", &names, &rows, width)
}

/// Rows of runs against the first, a block for as many runs as fit into the width.
pub(super) fn table(
    heading: &str,
    names: &[&str],
    rows: &[(String, &MetricValues)],
    width: usize,
) -> String {
    // Cells with their intervals where these fit into so many characters.
    let column = |at: usize, room: usize| -> Vec<String> {
        let cell = |(_, one): &(String, &MetricValues)| {
            let cell = &one.cells[at];
            let Some(against) = &cell.against else { return value(one, cell) };
            let shown = |interval: &str| {
                let shown = match against.word {
                    Word::Same => "same".into(),
                    Word::NoInterval(_) => difference(against),
                    word => spaced(&[&difference(against), interval, &word.text()]),
                };
                format!("{:>8}  {shown}", value(one, cell))
            };
            let interval = interval(one, against).map(|text| shown(&format!("({text})")));
            interval.filter(|text| text.chars().count() <= room).unwrap_or_else(|| shown(""))
        };
        [names[at].to_string()].into_iter().chain(rows.iter().map(cell)).collect()
    };
    let first = column(0, 0);
    let titles = rows.iter().map(|(title, _)| title.clone());
    let titles: Vec<String> = [heading.to_string()].into_iter().chain(titles).collect();
    let wide = |lines: &[String]| lines.iter().map(|l| l.chars().count()).max().unwrap_or(0);
    let left = wide(&titles) + 2 + wide(&first);
    let fits = |columns: &[Vec<String>]| {
        left + columns.iter().map(|lines| wide(lines) + 2).sum::<usize>() <= width
    };
    let all = |room| (1..names.len()).map(|at| column(at, room)).collect::<Vec<_>>();
    // Of two runs, a line that is too long leaves out its own interval; of more, all lines do.
    let room = if names.len() == 2 { width.saturating_sub(left + 2) } else { 0 };
    let columns =
        Some(all(usize::MAX)).filter(|columns| fits(columns)).unwrap_or_else(|| all(room));
    let mut text = String::new();
    let mut rest = &columns[..];
    while !rest.is_empty() {
        let n = (1..=rest.len()).rev().find(|n| fits(&rest[..*n])).unwrap_or(1);
        let (block, later) = rest.split_at(n);
        for (line, title) in titles.iter().enumerate() {
            let mut out =
                format!("{title:<w$}  {:>v$}", first[line], w = wide(&titles), v = wide(&first));
            for lines in block {
                // Names stand over the numbers.
                let cell = if line == 0 { format!("{:>8}", lines[0]) } else { lines[line].clone() };
                out.push_str(&format!("  {cell:<w$}", w = wide(lines)));
            }
            text.push_str(out.trim_end());
            text.push('\n');
        }
        rest = later;
        if !rest.is_empty() {
            text.push('\n');
        }
    }
    text
}

/// All numbers.
pub fn json(of: &Comparison) -> Value {
    let sides: Vec<Value> = of.sides.iter().map(side).collect();
    let differences: Vec<Value> = of
        .differences
        .iter()
        .map(|one| json!({ "key": one.key, "about": one.kind.word(), "values": one.values }))
        .collect();
    let metrics: Vec<Value> = of
        .measured
        .iter()
        .map(|one| {
            let values = one.cells.iter().zip(&of.sides);
            json!({
                "name": one.name, "title": one.title, "better": one.better.word(),
                "values": values.map(|(cell, side)| number(cell, side)).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({
        "format": FORMAT, "first": of.sides[0].name, "headline": claims::headline(of), "verdict": claims::verdict(of),
        "runs": sides, "differences": differences, "cautions": of.cautions(), "metrics": metrics,
    })
}

fn side(side: &Side) -> Value {
    json!({
        "name": side.name, "place": side.place, "scenario": side.about.scenario, "laws": side.about.laws,
        "version": side.about.version, "seeds": side.summary.seeds, "digest": side.summary.digest,
        "status": side.summary.status,
    })
}

fn number(cell: &Cell, side: &Side) -> Value {
    let seeds = side.by_seed.iter().zip(&cell.estimate.per_seed);
    let by_seed: Map<String, Value> =
        seeds.map(|(one, value)| (one.seed.to_string(), json!(value))).collect();
    let against = cell.against.as_ref().map(|a| {
        json!({
            "pairs": a.pairs, "difference": a.difference, "share": a.share, "ci95": a.ci95, "ci95_share": a.ci95_share,
            "effect": a.effect, "word": a.word.key(), "seeds_needed": match a.word {
                Word::TooFew(needed) => needed,
                _ => None,
            },
        })
    });
    json!({
        "mean": cell.estimate.mean, "ci95": cell.estimate.ci95, "by_seed": by_seed,
        "unfinished_left_out": cell.censored, "against_first": against,
    })
}
