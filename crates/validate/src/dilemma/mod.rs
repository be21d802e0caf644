//! The dilemma of proactive congestion control (APNet 2023): six schemes on one oversubscribed fabric.
//!
//! Readings, experiments and the rule of table 1 are data in `validation/pcc-dilemma/`. Here are its parts, pictures and sensitivity.

mod pictures;
mod sensitivity;
mod table;

use crate::experiments;
use crate::folder::Folder;
use crate::jobs::Cores;
use crate::measured::MeasuredRows;
use crate::row::Row;
pub(crate) use sensitivity::sensitivity;

/// Name of the suite.
const SUITE: &str = "pcc-dilemma";

/// Schemes, as experiments and as pictures have them.
const SCHEMES: [(&str, &str); 6] = [
    ("ndp", "NDP"),
    ("homa", "Homa"),
    ("expresspass", "ExpressPass"),
    ("aeolus", "Aeolus"),
    ("hpcc", "HPCC"),
    ("dcqcn", "DCQCN"),
];

/// Schemes of table 1.
const PROACTIVE: [(&str, &str); 4] = [SCHEMES[2], SCHEMES[3], SCHEMES[0], SCHEMES[1]];

/// Parts: what each needs is run for it alone.
const PARTS: [&str; 7] = ["core", "nonblocking", "host", "buffer", "incast", "tiny", "trims"];

pub(crate) fn parts() -> Vec<&'static str> {
    PARTS.to_vec()
}

/// The part that a row belongs to: one of them is in its id.
pub(crate) fn part_of(row: &Row) -> &str {
    PARTS[1..].iter().find(|part| row.id.contains(*part)).unwrap_or(&PARTS[0])
}

/// Measures these rows.
pub(crate) fn measure(
    cores: &Cores<'_>,
    rows: &[Row],
    quick: bool,
    draw: bool,
) -> (MeasuredRows, Vec<(String, String)>) {
    let (measured, results) =
        experiments::results(Folder::of(SUITE), rows, &experiments::Lists::default(), cores, quick);
    let pictures = match &results {
        Some(results) if draw => pictures::all(results, &measured),
        _ => Vec::new(),
    };
    (measured, pictures)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scenarios that docs/papers/pcc-dilemma.md shows cells of table 1 with are those of the suite.
    #[test]
    fn shipped_cells_are_runs_of_the_suite() {
        for (name, scheme, case) in [
            ("tiny-aeolus", "aeolus", "tiny"),
            ("core-homa", "homa", "core-webserver"),
            ("incast-homa", "homa", "incast-64"),
            ("incast-ndp", "ndp", "incast-64"),
        ] {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/dilemma/");
            let text = std::fs::read_to_string(format!("{folder}{name}.toml")).unwrap();
            let loaded = forebay_scenario::text("x", &text);
            let shipped = loaded.unwrap_or_else(|error| panic!("{error}")).scenario;
            let mut ours = experiments::tests::scenario(Folder::of(SUITE), scheme, case, &[]);
            // The suite has its own names, seeds, ends and warm-ups.
            (ours.name, ours.seeds) = (shipped.name.clone(), shipped.seeds.clone());
            (ours.stop, ours.output) = (shipped.stop, shipped.output.clone());
            assert_eq!(ours, shipped, "{name}");
        }
    }
}
