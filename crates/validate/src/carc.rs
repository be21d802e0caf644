//! CARC (APNet 2025): cores that are slower than their link, and what credits of the cache change.
//!
//! Experiments and rows are data in `validation/carc/`, whose `rows.toml` begins with the readings. Two parts are Rust: the cache alone, and the
//! scripts of the library of credits.

mod cache;
mod pictures;
mod points;

use crate::credits;
use crate::experiments::{Lists, curve_points, measure_with_lists};
use crate::folder::Folder;
use crate::jobs::Cores;
use crate::laid_out;
use crate::measured::MeasuredRows;
use crate::row::Row;

/// Readings: ends of ids. The first is the one that the page names in its verdict.
const READINGS: [&str; 10] = [
    NAMED,
    "literal",
    "fits",
    "lifo",
    "literal16",
    "fits16",
    "lifo16",
    "literal16four",
    "fits16four",
    "lifo16four",
];

/// The reading of the verdict.
const NAMED: &str = "lifo16six";

/// Parts with the 99th percentiles of table 1, one for each of [`READINGS`]. They need runs of a second and more, so that they run only by name.
pub(crate) const TAILS: [&str; READINGS.len()] = [
    "tails-lifo16six",
    "tails",
    "tails-fits",
    "tails-lifo",
    "tails-literal16",
    "tails-fits16",
    "tails-lifo16",
    "tails-literal16four",
    "tails-fits16four",
    "tails-lifo16four",
];

/// hostCC's host under both models of the cache, both parts in Rust, and figure 7: how their rows begin.
const OTHERS: [&str; 4] = ["tension", cache::PART, IDLE, credits::PART];

/// The part with figure 7.
const IDLE: &str = "idle";

/// A part in Rust: its name, and what measures it, shortly if the flag is set.
type Probe = (&'static str, fn(bool, &mut MeasuredRows));

/// Parts that use no scenario, or compare one with something else.
const PROBES: [Probe; 2] =
    [(cache::PART, |_, measured| cache::measure(measured)), (credits::PART, credits::measure)];

/// Numbers of long cores beside eight short ones.
const LONG: [u32; 4] = [2, 4, 6, 8];

/// What can be run by itself: each reading, the others, and the 99th percentiles of each reading.
pub(crate) fn parts() -> Vec<&'static str> {
    READINGS.into_iter().chain(OTHERS).chain(TAILS).collect()
}

/// The part that a row belongs to: its reading, the last word of its id, or the 99th percentiles of that reading.
pub(crate) fn part_of(row: &Row) -> &str {
    if let Some(part) = OTHERS.into_iter().find(|part| row.id.starts_with(part)) {
        return part;
    }
    let reading = row.id.rsplit('-').next().unwrap_or_default();
    match READINGS.iter().position(|name| *name == reading) {
        Some(at) if row.id.contains("-p99-") => TAILS[at],
        _ => reading,
    }
}

/// Runs all rows but those that run only by name, or those of a part, and draws them if they are wanted.
pub(crate) fn measure(
    cores: &Cores<'_>,
    part: Option<&str>,
    quick: bool,
    draw: bool,
) -> (MeasuredRows, Vec<(String, String)>) {
    let rows = crate::rows_of(&crate::whole_name("carc", part));
    let wanted = |name: &str| part.is_none_or(|part| part == name);
    let points = if draw && wanted(NAMED) { curve_points(Folder::of("carc")) } else { Vec::new() };
    let formulas = points.iter().map(|point| point.formula.clone()).collect();
    let lists = Lists { formulas, ..Lists::default() };
    let (mut measured, found) = measure_with_lists(Folder::of("carc"), &rows, &lists, cores, quick);
    for point in points {
        if let [value] = found[&point.formula][..] {
            measured.insert(point.id, value);
        }
    }
    for (_, probe) in PROBES.into_iter().filter(|(name, _)| wanted(name)) {
        laid_out::step(|| probe(quick, &mut measured));
    }
    let pictures = if draw { pictures::all(&measured) } else { Vec::new() };
    (measured, pictures)
}

#[cfg(test)]
mod tests {
    /// A quick run has too few requests for percentiles.
    #[test]
    fn a_percentile_of_table_1_says_on_how_many_requests_it_rests() {
        let rows = crate::rows("carc");
        let table = rows.iter().filter(|row| row.id.starts_with("table1-"));
        let of = |row: &crate::Row| {
            let remark = row.remark.as_deref().unwrap_or_default();
            assert!(remark.contains("{count(") && remark.contains("requests"), "{}", row.id);
            assert!(row.whole_only, "{}", row.id);
        };
        assert_eq!(table.map(of).count(), 240);
    }
}
