//! The TCP-NV slides of 2010. Experiments and rows are data in `validation/tcp-nv/`; here are a search, pictures, and how settings were chosen.

mod choice;
mod pictures;
mod search;
mod settings;
mod table;

use crate::experiments::{Lists, results};
use crate::folder::Folder;
use crate::jobs::{Cores, Job};
use crate::measured::MeasuredRows;
use crate::row::Row;
pub(crate) use choice::sensitivity;
pub(crate) use pictures::pictures;

/// Name of the suite.
const SUITE: &str = "tcp-nv";

/// The port that all flows to host 0 share.
const PORT: &str = "tor->host[0]";

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

/// Measures these rows.
pub(crate) fn measure(cores: &Cores<'_>, rows: &[Row], quick: bool) -> MeasuredRows {
    let (mut measured, found) = results(Folder::of(SUITE), rows, &Lists::default(), cores, quick);
    let has = |id: &str| rows.iter().any(|row| row.id == id);
    let router = found.as_ref().and_then(|found| found.records("router-1200KB", &["bic"]));
    if let Some([run]) = router.filter(|_| has("burst-bic-rpc-start")) {
        measured.insert("burst-bic-rpc-start", search::peaks_at_starts(run));
    }
    let mut jobs: Vec<Job> = Vec::new();
    for reading in crate::readings(SUITE) {
        if has(&format!("flows-1200KB{reading}")) {
            jobs.push(Box::new(move |all| search::most_flows(reading, quick, all)));
        }
        if has(&format!("short-rpc-new{reading}")) {
            jobs.push(Box::new(move |all| search::short_alone(reading, quick, all)));
        }
    }
    measured.extend(cores.run(jobs));
    measured
}

/// The row of this id.
///
/// # Panics
/// If there is none.
fn row(id: &str) -> Row {
    let rows = crate::rows(SUITE);
    rows.into_iter().find(|row| row.id == id).unwrap_or_else(|| panic!("there is no row {id}"))
}
