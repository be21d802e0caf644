//! What a sweep came to: one row for each point, as CSV, JSON, HTML and on the terminal.
//!
//! A pure function of the complete runs, so a resumed sweep writes what an uninterrupted one would.

use super::page::page;
use super::{Plan, Point, Run, labels, plain};
use crate::about::{VERSION, about_under};
use crate::expect::misses;
use crate::metrics::{self, Value};
use forebay_record::{CENSORED, FlowClass, FlowCounts, RunRecord, Summary, report};
use forebay_units::human;
use serde_json::{Map, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The metrics of a row, by their names in `forebay list metrics`.
pub const METRICS: [&str; 30] = [
    "flows.completed",
    "flows.not_finished",
    "flows.slowdown.mean",
    "flows.slowdown.p50",
    "flows.slowdown.p95",
    "flows.slowdown.p99",
    "flows.fct_us.mean",
    "flows.fct_us.p99",
    "goodput_per_host_gbps",
    "goodput_per_receiver_gbps",
    "drop_rate",
    "mark_rate",
    "retransmit_rate",
    "timeouts",
    "max_queue_bytes",
    "utilisation.host_links.mean",
    "utilisation.fabric_links.mean",
    "memory.goodput_gbps",
    "memory.nic_drop_share",
    "memory.network_gigabytes_per_s",
    "memory.antagonist_gigabytes_per_s",
    "memory.iio_occupancy",
    "memory.mean_level",
    "memory.cache_miss_share",
    "rpc.latency_us.p50",
    "rpc.latency_us.p99",
    "flows.not_finished_share",
    "incast.completion_us.p99",
    "carried_load",
    "paused_share",
];

/// Version of the layout of `sweep.json`.
const FORMAT: u32 = 1;

/// One point.
pub struct Row {
    /// Key and value of what varies.
    pub settings: Vec<(String, String)>,
    /// Name of its folder under `points`.
    pub hash: String,
    /// Seeds whose runs are complete.
    pub seeds: Vec<u64>,
    /// Seeds of the scenario.
    pub seeds_all: usize,
    /// Finite flows that completed, of how many that started; `None` without any.
    pub flows: Option<[u64; 2]>,
    /// One for each of [`METRICS`]; empty without a complete run.
    pub values: Vec<Value>,
    /// The 99th percentile of slowdown of each size class and of each traffic entry, where there are several: name and value.
    pub parts: Vec<(String, Value)>,
    /// Digest over its runs.
    pub digest: String,
    /// Run of each seed, and whether it is complete.
    pub runs: Vec<(u64, String, bool)>,
    /// A sentence for each band missed.
    pub misses: Vec<String>,
    /// Bands in all.
    pub bands: usize,
}

impl Row {
    /// Whether all of its runs are done, some, or none.
    pub fn status(&self) -> &'static str {
        match self.seeds.len() {
            0 => "missing",
            n if n < self.seeds_all => "partial",
            _ => "complete",
        }
    }
}

/// The folder of a sweep, as its keeper provides it.
pub trait Store {
    /// Why it cannot be read or written.
    type Error;

    /// The manifest of a run that has its name, if there is one.
    fn manifest(&self, run: &str) -> Option<Vec<u8>>;

    /// What a complete run left.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn load(&self, run: &str) -> Result<Vec<RunRecord>, Self::Error>;

    /// Writes a file of the folder, whole or not at all.
    ///
    /// # Errors
    /// Why it cannot be written.
    fn put(&self, path: &str, text: &str) -> Result<(), Self::Error>;
}

/// Whether this very run, from this version, is complete.
pub fn is_done(store: &impl Store, run: &Run) -> bool {
    let parsed =
        store.manifest(&run.hash).and_then(|m| serde_json::from_slice::<Manifest>(&m).ok());
    parsed.is_some_and(|m| {
        ["complete", "unfinished", "stalled"].contains(&m.status.as_str())
            && m.version == VERSION
            && m.resolved_toml == run.text
    })
}

/// What of a run's manifest tells whether it is done.
#[derive(serde::Deserialize)]
struct Manifest {
    status: String,
    version: String,
    resolved_toml: String,
}

/// The tables of a sweep, which grow as its runs end.
pub struct Tables {
    plan: Arc<Plan>,
    done: BTreeSet<String>,
    rows: Vec<Row>,
}

impl Tables {
    /// Tables with the runs that are done already, and the pages of their points.
    ///
    /// # Errors
    /// What the store says.
    pub fn begin<S: Store>(store: &S, plan: Arc<Plan>) -> Result<Self, S::Error> {
        let done = plan.runs.iter().filter(|run| is_done(store, run));
        let done: BTreeSet<String> = done.map(|run| run.hash.clone()).collect();
        let rows = plan.points.iter().map(|point| row(store, &plan, point, &done));
        let rows = rows.collect::<Result<_, _>>()?;
        let tables = Self { rows, plan, done };
        tables.write(store)?;
        Ok(tables)
    }

    /// Adds a run that is done now. Once a point is whole, its row and its page are written, so that a killed sweep has the rows
    /// of all points that were whole.
    ///
    /// # Errors
    /// What the store says.
    pub fn add<S: Store>(&mut self, store: &S, run: &str) -> Result<(), S::Error> {
        self.done.insert(run.into());
        let mut new = false;
        for (row, point) in self.rows.iter_mut().zip(&self.plan.points) {
            let of = point.runs.iter().any(|one| one == run);
            if of && point.runs.iter().all(|one| self.done.contains(one.as_str())) {
                *row = self::row(store, &self.plan, point, &self.done)?;
                new = true;
            }
        }
        if new { self.write(store) } else { Ok(()) }
    }

    /// Writes the rows of points that are not whole as well, and gives all rows.
    ///
    /// # Errors
    /// What the store says.
    pub fn finish<S: Store>(mut self, store: &S) -> Result<Vec<Row>, S::Error> {
        for (row, point) in self.rows.iter_mut().zip(&self.plan.points) {
            let done = point.runs.iter().filter(|one| self.done.contains(one.as_str())).count();
            if done != row.seeds.len() {
                *row = self::row(store, &self.plan, point, &self.done)?;
            }
        }
        self.write(store)?;
        Ok(self.rows)
    }

    fn write<S: Store>(&self, store: &S) -> Result<(), S::Error> {
        store.put("sweep.csv", &csv(&self.plan, &self.rows))?;
        store.put("sweep.json", &json_text(&self.plan, &self.rows))?;
        store.put("index.html", &page(&self.plan.name, &self.plan.keys, &self.rows))
    }
}

fn row<S: Store>(
    store: &S,
    plan: &Plan,
    point: &Point,
    done: &BTreeSet<String>,
) -> Result<Row, S::Error> {
    let (mut records, mut runs) = (Vec::<RunRecord>::new(), Vec::new());
    for (hash, seed) in point.runs.iter().zip(&point.scenario.seeds) {
        if done.contains(hash.as_str()) {
            let loaded = store.load(hash)?;
            records.extend(loaded.into_iter().filter(|run| run.seed == *seed));
        }
        let here = records.last().is_some_and(|run| run.seed == *seed);
        runs.push((*seed, hash.clone(), here));
    }
    let settings: Vec<(String, String)> =
        plan.keys.iter().cloned().zip(point.values.iter().cloned()).collect();
    let mut row = Row {
        settings,
        hash: point.hash.clone(),
        seeds: records.iter().map(|run| run.seed).collect(),
        seeds_all: point.scenario.seeds.len(),
        flows: None,
        values: Vec::new(),
        parts: Vec::new(),
        digest: String::new(),
        runs,
        misses: Vec::new(),
        bands: point.bands.len(),
    };
    if records.is_empty() {
        return Ok(row);
    }
    let about = about_under(&point.scenario, &point.expect, &plan.laws);
    let summary = Summary::of(&about, &records);
    let value = |name: &&str| {
        metrics::by_name(name).expect("they are metrics, as a test holds").value(&summary)
    };
    row.values = METRICS.iter().map(value).collect();
    row.parts = parts(&summary);
    let FlowCounts { completed, not_finished, .. } = summary.flows;
    row.flows = (completed + not_finished > 0).then_some([completed, completed + not_finished]);
    row.digest.clone_from(&summary.digest);
    if records.len() == row.seeds_all {
        let named = |miss| format!("{}: {miss}", point.scenario.name);
        row.misses =
            misses(&point.bands, &about, &summary, &records).into_iter().map(named).collect();
    }
    let text = serde_json::to_string_pretty(&summary).expect("a summary is JSON");
    let file = |name| format!("points/{}/{name}", point.hash);
    store.put(&file("summary.json"), &(text + "\n"))?;
    store.put(&file("resolved.toml"), &about.resolved_toml)?;
    store.put(&file("report.html"), &report::render(&about, &summary, &records))?;
    Ok(row)
}

/// The 99th percentile of slowdown of parts of the flows, by the names that `compare` gives them.
fn parts(summary: &Summary) -> Vec<(String, Value)> {
    let sizes = summary.size_classes.iter().filter(|_| summary.size_classes.len() > 1);
    let entry = |class: &FlowClass| class.name.split(' ').next().unwrap_or_default().to_string();
    let named = sizes.map(|class| (class.name.clone(), class));
    let named = named.chain(summary.traffic_classes.iter().map(|class| (entry(class), class)));
    let one = |(name, class): (String, &FlowClass)| {
        let p99 = &class.slowdown.p99;
        let value = Value {
            mean: p99.mean,
            ci95: p99.ci95,
            censored: class.censored,
            per_seed: p99.per_seed.clone(),
        };
        (format!("{PARTS}[{name}]"), value)
    };
    named.map(one).collect()
}

/// The metric that [`Row::parts`] are of.
const PARTS: &str = "flows.slowdown.p99";

/// Names of the parts that some row has, in order.
fn all_parts(rows: &[Row]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| &row.parts) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

fn csv(plan: &Plan, rows: &[Row]) -> String {
    let mut text = String::from("point,status,seeds");
    plan.keys.iter().for_each(|key| push_cell(&mut text, key));
    for name in METRICS {
        push_cell(&mut text, name);
        if has_interval(name) {
            push_cell(&mut text, &format!("{name}.ci95_low"));
            push_cell(&mut text, &format!("{name}.ci95_high"));
        }
    }
    let parts = all_parts(rows);
    parts.iter().for_each(|name| push_cell(&mut text, name));
    text.push_str(",digest\n");
    for row in rows {
        text.push_str(&format!("{},{},{}", row.hash, row.status(), row.seeds.len()));
        row.settings.iter().for_each(|(_, value)| push_cell(&mut text, &harmless(plain(value))));
        for (i, name) in METRICS.iter().enumerate() {
            let value = row.values.get(i).cloned().unwrap_or_default();
            let ci = value.ci95;
            let numbers = [value.mean, ci.map(|ci| ci[0]), ci.map(|ci| ci[1])];
            for number in &numbers[..if has_interval(name) { 3 } else { 1 }] {
                push_cell(&mut text, &number.map(|n| n.to_string()).unwrap_or_default());
            }
        }
        for name in &parts {
            let value = row.parts.iter().find(|(other, _)| other == name);
            let mean = value.and_then(|(_, value)| value.mean);
            push_cell(&mut text, &mean.map(|n| n.to_string()).unwrap_or_default());
        }
        push_cell(&mut text, &row.digest);
        text.push('\n');
    }
    text
}

fn has_interval(name: &str) -> bool {
    metrics::by_name(name).is_some_and(|metric| metric.is_spread())
}

/// A value as a spreadsheet shows it: a text that it would take for a formula begins with an apostrophe, which `sweep.json` does not have.
/// Numbers keep their signs.
fn harmless(value: &str) -> Cow<'_, str> {
    let formula = value.starts_with(['=', '+', '-', '@', '\t', '\r']);
    match formula && value.parse::<f64>().is_err() {
        true => format!("'{value}").into(),
        false => value.into(),
    }
}

fn push_cell(text: &mut String, cell: &str) {
    text.push(',');
    if cell.contains([',', '"', '\n', '\r']) {
        text.push_str(&format!("\"{}\"", cell.replace('"', "\"\"")));
    } else {
        text.push_str(cell);
    }
}

fn json_text(plan: &Plan, rows: &[Row]) -> String {
    let points: Vec<_> = rows
        .iter()
        .map(|row| {
            let settings: Map<_, _> =
                row.settings.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
            let metrics: Map<_, _> = METRICS
                .iter()
                .zip(&row.values)
                .map(|(name, value)| (name.to_string(), value))
                .chain(row.parts.iter().map(|(name, value)| (name.clone(), value)))
                .map(|(name, v)| (name, json!({ "mean": v.mean, "ci95": v.ci95 })))
                .collect();
            let runs: Map<_, _> =
                row.runs.iter().map(|(seed, hash, _)| (seed.to_string(), json!(hash))).collect();
            json!({
                "point": row.hash, "status": row.status(), "seeds": row.seeds, "settings": settings,
                "metrics": metrics, "digest": row.digest, "runs": runs,
            })
        })
        .collect();
    let all = json!({
        "format": FORMAT, "scenario": plan.name, "version": VERSION, "keys": plan.keys, "points": points,
    });
    serde_json::to_string_pretty(&all).expect("texts and numbers are JSON") + "\n"
}

/// A column of the terminal and of the page.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// `p99 slowdown`.
    pub heading: String,
    /// By the names of [`METRICS`], or of [`Row::parts`].
    pub metric: String,
    pub write: fn(f64) -> String,
    /// On a terminal.
    terminal: bool,
    /// On a page before the reader chooses.
    pub shown: bool,
    /// Whether less is better; `None`: it explains others.
    pub lower: Option<bool>,
}

type Fixed = (&'static str, &'static str, fn(f64) -> String, bool, bool, Option<bool>);

/// Heading, metric, how to write it, whether it is on a terminal and shown on a page, and whether less is better.
const COLUMNS: [Fixed; 21] = [
    ("slowdown p50", "flows.slowdown.p50", digits, true, true, Some(true)),
    ("p99", "flows.slowdown.p99", digits, true, true, Some(true)),
    ("mean", "flows.slowdown.mean", digits, true, false, Some(true)),
    ("unfinished", "flows.not_finished_share", percent, false, true, Some(true)),
    ("incast p99", "incast.completion_us.p99", human::micros, true, true, Some(true)),
    ("RPC p50 us", "rpc.latency_us.p50", digits, true, true, Some(true)),
    ("RPC p99 us", "rpc.latency_us.p99", digits, true, true, Some(true)),
    ("Gb/s per receiver", "goodput_per_receiver_gbps", digits, true, true, Some(false)),
    ("load carried", "carried_load", percent, false, false, Some(false)),
    ("largest queue", "max_queue_bytes", human::bytes_f, false, true, Some(true)),
    ("senders paused", "paused_share", percent, false, true, Some(true)),
    ("drops", "drop_rate", percent, true, true, Some(true)),
    ("marks", "mark_rate", percent, true, false, None),
    ("timeouts", "timeouts", human::si, false, false, Some(true)),
    ("NIC drops", "memory.nic_drop_share", percent, true, true, Some(true)),
    ("network GB/s", "memory.network_gigabytes_per_s", digits, true, true, None),
    ("antagonist GB/s", "memory.antagonist_gigabytes_per_s", digits, true, true, Some(false)),
    ("lines in IIO", "memory.iio_occupancy", digits, true, true, None),
    ("level", "memory.mean_level", digits, true, false, None),
    ("reads missed", "memory.cache_miss_share", percent, true, true, Some(true)),
    ("goodput to applications", "memory.goodput_gbps", digits, false, true, Some(false)),
];

/// Columns that a row has a value for: without flows that end there is no slowdown, on ideal hosts no memory.
fn fixed(rows: &[Row]) -> Vec<Column> {
    let one = |(heading, metric, write, terminal, shown, lower): &Fixed| Column {
        heading: (*heading).into(),
        metric: (*metric).into(),
        write: *write,
        terminal: *terminal,
        shown: *shown,
        lower: *lower,
    };
    let all = COLUMNS.iter().map(one);
    all.filter(|column| rows.iter().any(|row| value(row, column).is_some())).collect()
}

/// The columns of the page: those with a value, and the parts of the flows; of sizes the smallest and the largest are shown.
pub(super) fn columns(rows: &[Row]) -> Vec<Column> {
    let mut all = fixed(rows);
    // The page has room for whole words.
    for column in all.iter_mut().filter(|column| column.metric.starts_with("flows.slowdown.")) {
        let statistic = column.metric.trim_start_matches("flows.slowdown.");
        column.heading = format!("{statistic} slowdown");
    }
    let parts = all_parts(rows);
    let of = |name: &str| name[PARTS.len() + 1..name.len() - 1].to_string();
    let sizes: Vec<&str> =
        parts.iter().copied().filter(|n| !of(n).starts_with("traffic[")).collect();
    let part = |name: &&str| Column {
        heading: format!("p99 slowdown, {}", of(name)),
        metric: (*name).into(),
        write: digits,
        terminal: false,
        shown: !sizes.contains(name) || sizes.first() == Some(name) || sizes.last() == Some(name),
        lower: Some(true),
    };
    let at =
        all.iter().position(|column| column.metric == "flows.slowdown.mean").map_or(0, |i| i + 1);
    all.splice(at..at, parts.iter().map(part));
    all
}

pub(super) fn value<'a>(row: &'a Row, column: &Column) -> Option<&'a Value> {
    let fixed = METRICS.iter().position(|name| *name == column.metric);
    let part = || row.parts.iter().find(|(name, _)| *name == column.metric).map(|(_, value)| value);
    let value = fixed.map_or_else(part, |at| row.values.get(at));
    value.filter(|value| value.mean.is_some())
}

fn digits(value: f64) -> String {
    human::sig3(value)
}

fn percent(value: f64) -> String {
    format!("{} %", human::sig3(value * 100.0))
}

/// For each key the short texts of its values, in the order of the rows.
pub(super) fn labelled(rows: &[Row]) -> Vec<Vec<String>> {
    let keys = rows.first().map_or(0, |row| row.settings.len());
    let of = |key: usize| {
        let mut distinct: Vec<&str> = Vec::new();
        for row in rows {
            let value = row.settings[key].1.as_str();
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        let short = labels(&distinct);
        let one = |row: &Row| {
            let at = distinct.iter().position(|value| *value == row.settings[key].1);
            at.map_or_else(String::new, |at| short[at].clone())
        };
        rows.iter().map(one).collect()
    };
    (0..keys).map(of).collect()
}

/// How many flows completed, of those that started.
pub(super) fn flows(row: &Row) -> String {
    row.flows.map_or("-".into(), |[completed, started]| match started - completed {
        0 => human::count(completed),
        _ => format!("{} of {}", human::count(completed), human::count(started)),
    })
}

/// Whether some point has flows that end.
pub(super) fn has_flows(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.flows.is_some())
}

/// What the sign beside a number says, if there is one.
pub(super) fn note(rows: &[Row]) -> Option<String> {
    rows.iter()
        .any(|row| row.values.iter().any(|value| value.censored))
        .then(|| format!("{SIGN} {CENSORED}"))
}

/// Beside statistics of flows that leave out too many of them.
const SIGN: &str = "*";

/// A cell: the mean and half the interval.
pub(super) fn cell(row: &Row, column: &Column) -> String {
    let sign = value(row, column).is_some_and(|value| value.censored);
    number(row, column) + if sign { SIGN } else { "" }
}

fn number(row: &Row, column: &Column) -> String {
    let (value, write) = (value(row, column).cloned().unwrap_or_default(), column.write);
    match (value.mean, value.ci95) {
        (None, _) => "-".into(),
        (Some(mean), None) => write(mean),
        (Some(mean), Some([low, high])) if low == high => write(mean),
        (Some(mean), Some([low, high])) => {
            // In the unit of the mean: of a value that has one the number is in front of it.
            let (text, half) = (write(mean), (high - low) / 2.0);
            match text.split_once(' ') {
                Some((number, unit)) if mean > 0.0 => {
                    let scale = number.parse::<f64>().map_or(1.0, |number| number / mean);
                    format!("{number} ±{} {unit}", human::sig2(half * scale))
                }
                _ => format!("{text} ±{}", human::sig2(half)),
            }
        }
    }
}

/// The table for a terminal.
pub fn terminal(rows: &[Row]) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    let keys = rows.first().map(|row| row.settings.as_slice()).unwrap_or_default();
    let mut heading: Vec<String> = keys.iter().map(|(key, _)| key.clone()).collect();
    heading.push("seeds".into());
    let any = has_flows(rows);
    heading.extend(any.then(|| "completed".into()));
    let mut columns = fixed(rows);
    columns.retain(|column| column.terminal);
    heading.extend(columns.iter().map(|column| column.heading.clone()));
    lines.push(heading);
    let labels = labelled(rows);
    for (n, row) in rows.iter().enumerate() {
        let mut line: Vec<String> = labels.iter().map(|of_key| of_key[n].clone()).collect();
        line.push(match row.status() {
            "complete" => row.seeds.len().to_string(),
            _ => format!("{} of {}", row.seeds.len(), row.seeds_all),
        });
        line.extend(any.then(|| flows(row)));
        line.extend(columns.iter().map(|column| cell(row, column)));
        lines.push(line);
    }
    let widths: Vec<usize> = (0..lines[0].len())
        .map(|c| lines.iter().map(|line| line[c].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for line in &lines {
        let mut out = String::new();
        for (c, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let gap = " ".repeat(width - cell.chars().count());
            let left = c < keys.len();
            out.push_str(&if left { format!("{cell}{gap}  ") } else { format!("{gap}{cell}  ") });
        }
        text.push_str(out.trim_end());
        text.push('\n');
    }
    text.extend(note(rows).map(|note| note + "\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A spreadsheet runs what begins like a formula.
    #[test]
    fn a_text_that_is_no_number_is_no_formula_either() {
        for text in ["=cmd|' /C calc'!A0", "+1+cmd", "-x", "@sum", "\tx"] {
            assert_eq!(harmless(text), format!("'{text}"));
        }
        for text in ["-1", "+0.5", "-1e-9", "dctcp", "10us", "{ k = \"1KB\" }", "", "a=b"] {
            assert_eq!(harmless(text), text);
        }
    }

    #[test]
    fn every_column_is_a_metric() {
        for name in METRICS {
            assert!(metrics::by_name(name).is_some(), "{name}");
        }
        assert!(COLUMNS.iter().all(|(_, metric, ..)| METRICS.contains(metric)));
    }

    #[test]
    fn a_column_without_values_is_left_out() {
        let values = METRICS.map(|name| Value {
            mean: (name == "memory.mean_level").then_some(2.5),
            ..Value::default()
        });
        let row = Row {
            settings: Vec::new(),
            hash: String::new(),
            seeds: vec![1],
            seeds_all: 1,
            flows: None,
            values: values.to_vec(),
            parts: Vec::new(),
            digest: String::new(),
            runs: Vec::new(),
            misses: Vec::new(),
            bands: 0,
        };
        assert_eq!(terminal(&[row]), "seeds  level\n    1   2.50\n");
    }

    #[test]
    fn unfinished_flows_stand_beside_the_percentiles_that_leave_them_out() {
        let one = |flows: [u64; 2], censored| Row {
            settings: Vec::new(),
            hash: String::new(),
            seeds: vec![1],
            seeds_all: 1,
            flows: Some(flows),
            values: METRICS
                .map(|name| Value {
                    mean: ["flows.slowdown.p99", "drop_rate"].contains(&name).then_some(0.5),
                    censored: censored && name.starts_with("flows."),
                    ..Value::default()
                })
                .to_vec(),
            parts: Vec::new(),
            digest: String::new(),
            runs: Vec::new(),
            misses: Vec::new(),
            bands: 0,
        };
        assert_eq!(
            terminal(&[one([341, 446], true), one([446, 446], false)]),
            format!(
                "seeds   completed     p99   drops\n    1  341 of 446  0.500*  50.0 %\n    1         446   0.500  50.0 %\n* {CENSORED}\n"
            )
        );
    }
}
