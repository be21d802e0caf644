//! Experiments behind `validation/tcp-nv/rows.toml`: the TCP-NV slides of 2010.

mod choice;
mod claims;
mod pictures;
mod rack;
mod router;
mod settings;
mod sorting;
mod star;
mod table;

use crate::jobs::{Cores, Job};
use crate::measured::MeasuredRows;
use crate::row::Row;
pub(crate) use choice::sensitivity;
pub(crate) use pictures::pictures;
use settings::{Law, READINGS, Settings};
use std::collections::BTreeSet;

/// Parts, each with what ids of its rows begin with; all other rows are of "claims".
const PARTS: [(&str, &[&str]); 6] = [
    ("router", &["router", "burst"]),
    ("sort", &["sort"]),
    ("table", &["table", "order"]),
    ("rack", &["rack"]),
    ("pause", &["pause"]),
    ("claims", &[]),
];

/// Names of the parts.
pub(crate) fn parts() -> Vec<&'static str> {
    PARTS.iter().map(|part| part.0).collect()
}

/// The part that a row belongs to.
pub(crate) fn part_of(row: &Row) -> &str {
    let head = row.id.split('-').next().unwrap_or_default();
    PARTS.iter().find(|part| part.1.contains(&head)).map_or("claims", |part| part.0)
}

/// Runs all parts, or one, under each reading. A row that depends on no reading has the number of the first.
pub(crate) fn measure(cores: &Cores<'_>, part: Option<&str>, quick: bool) -> MeasuredRows {
    let ids: BTreeSet<String> = crate::rows("tcp-nv").into_iter().map(|row| row.id).collect();
    let mut jobs: Vec<Job> = Vec::new();
    for (at, (end, settings)) in READINGS.into_iter().enumerate() {
        for job in of_settings(&settings, part, quick) {
            let ids = ids.clone();
            jobs.push(Box::new(move |all| {
                let mut own = MeasuredRows::new();
                job(&mut own);
                all.extend(own.renamed(|id| {
                    let under = format!("{id}{end}");
                    if ids.contains(&under) { Some(under) } else { (at == 0).then_some(id) }
                }));
            }));
        }
    }
    cores.run(jobs)
}

/// The experiments of all parts, or of one.
fn of_settings(settings: &Settings, part: Option<&str>, quick: bool) -> Vec<Job> {
    let s = *settings;
    let mut jobs: Vec<Job> = Vec::new();
    for (name, _) in PARTS.iter().filter(|p| part.is_none_or(|part| part == p.0)) {
        match *name {
            "router" => jobs.push(Box::new(move |all| router::measure(&s, quick, all))),
            "sort" => jobs.push(Box::new(move |all| sorting::measure(&s, quick, all))),
            "table" => jobs.push(Box::new(move |all| table_rows(&s, quick, all))),
            "claims" => jobs.extend(claims::jobs(&s, quick)),
            _ => {
                let pause = *name == "pause";
                for per_host in [8, 4, 1] {
                    jobs.push(Box::new(move |all| {
                        rack::measure(per_host, pause, &s, quick, all);
                    }));
                }
            }
        }
    }
    jobs
}

/// Rows of the 10 Gb/s table, and of its orderings.
fn table_rows(settings: &Settings, quick: bool, all: &mut MeasuredRows) {
    let column = |law, flows| table::column(law, flows, settings, quick);
    let few = |law| table::Column::mean(&[2, 8, 32].map(|flows| column(law, flows)));
    for (label, columns) in
        [("few", Law::BOTH.map(few)), ("128", Law::BOTH.map(|law| column(law, 128)))]
    {
        for (law, values) in Law::BOTH.iter().zip(&columns) {
            for (what, value) in table::QUANTITIES.iter().zip(values.values()) {
                enter(
                    all,
                    format!("table-{}-{label}-{what}", law.id()),
                    value,
                    values.beyond(what),
                );
            }
        }
        let fewest = |what| columns.iter().map(|c| c.beyond(what)).min().flatten();
        let [bic, nv] = columns.map(|c| c.values());
        for (i, what) in table::QUANTITIES.iter().enumerate() {
            enter(all, format!("order-{label}-{what}"), nv[i] / bic[i], fewest(what));
        }
    }
}

/// Enters a value, which may rest on a percentile with so many RPCs beyond it.
fn enter(all: &mut MeasuredRows, id: String, value: f64, beyond: Option<usize>) {
    match beyond {
        Some(beyond) => all.insert_tail(id, value, beyond, String::new()),
        None => all.insert(id, value),
    }
}
