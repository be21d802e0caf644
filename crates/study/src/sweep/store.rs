//! The folder of a sweep: its rows as CSV and JSON, and its page, written again as runs end.
//!
//! A pure function of the complete runs, so a resumed sweep writes what an uninterrupted one would.

use super::page::page;
use super::tables::{COMPLETION, METRICS, PARTS, Row, all_parts};
use super::{Plan, Point, Run, plain};
use crate::about::{VERSION, about_under};
use crate::expect::misses;
use crate::metrics::{self, Value, traffic_entry};
use forebay_record::{Estimate, FlowCounts, RunRecord, Summary, report};
use serde_json::{Map, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Version of the layout of `sweep.json`.
const FORMAT: u32 = 1;

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

/// The 99th percentile of slowdown of parts of the flows, and the completion time of collectives by entry, by the names that `compare`
/// gives them.
fn parts(summary: &Summary) -> Vec<(String, Value)> {
    let sizes = summary.size_classes.iter().filter(|_| summary.size_classes.len() > 1);
    let named = sizes.map(|class| (class.name.clone(), class));
    let entries = summary.traffic_classes.iter();
    let named = named.chain(entries.map(|class| (traffic_entry(&class.name).to_string(), class)));
    let value = |estimate: &Estimate, censored| Value {
        mean: estimate.mean,
        ci95: estimate.ci95,
        censored,
        per_seed: estimate.per_seed.clone(),
    };
    let of_flows = named.map(|(name, class)| {
        (format!("{PARTS}[{name}]"), value(&class.slowdown.p99, class.censored))
    });
    let collectives = summary.collective.iter().flat_map(|all| &all.traffic_classes);
    let of_collectives = collectives.map(|class| {
        let name = format!("{COMPLETION}[{}]", traffic_entry(&class.name));
        (name, value(&class.completion_us.mean, class.censored))
    });
    of_flows.chain(of_collectives).collect()
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
}
