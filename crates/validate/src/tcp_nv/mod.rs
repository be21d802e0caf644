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
use crate::measured::Measured;
use crate::row::Row;
pub(crate) use choice::sensitivity;
pub(crate) use pictures::pictures;
use settings::{CHOSEN, Law};

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

/// Runs all parts, or one.
pub(crate) fn measure(cores: &Cores<'_>, part: Option<&str>, quick: bool) -> Measured {
    let mut jobs: Vec<Job> = Vec::new();
    for (name, _) in PARTS.iter().filter(|p| part.is_none_or(|part| part == p.0)) {
        match *name {
            "router" => jobs.push(Box::new(move |all| router::measure(&CHOSEN, quick, all))),
            "sort" => jobs.push(Box::new(move |all| sorting::measure(&CHOSEN, quick, all))),
            "table" => jobs.push(Box::new(move |all| table_rows(quick, all))),
            "claims" => jobs.extend(claims::jobs(&CHOSEN, quick)),
            _ => {
                let pause = *name == "pause";
                for per_host in [8, 4, 1] {
                    jobs.push(Box::new(move |all| {
                        rack::measure(per_host, pause, &CHOSEN, quick, all);
                    }));
                }
            }
        }
    }
    cores.run(jobs)
}

/// Rows of the 10 Gb/s table, and of its orderings.
fn table_rows(quick: bool, all: &mut Measured) {
    let column = |law, flows| table::column(law, flows, &CHOSEN, quick);
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
fn enter(all: &mut Measured, id: String, value: f64, beyond: Option<usize>) {
    match beyond {
        Some(beyond) => all.insert_tail(id, value, beyond, String::new()),
        None => all.insert(id, value),
    }
}
