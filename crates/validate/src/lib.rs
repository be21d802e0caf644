//! Runs the rows of `validation/`: each is a published number, and the experiment that has to give it.
//!
//! It knows the simulator from outside: scenarios go in, records come out; a few rows use a part alone (a switch with a
//! test source, a sender and a receiver with a pipe). Rows come from files that were committed before their first run;
//! nothing here holds a published number or a tolerance.
//!
//! Invariants: same rows, same code, same measured values; no files are written, no clock is read.

mod across_racks;
mod analytic;
mod bars;
mod carc;
mod chart;
mod credits;
mod curves;
mod define;
mod dilemma;
mod drawing;
mod experiments;
mod first_count;
mod folder;
mod functions;
mod hiercc;
mod hostcc;
mod jobs;
mod laid_out;
mod linux;
mod measured;
mod order;
mod page;
mod pipe;
mod plot;
mod powertcp;
mod rdma;
mod recorded;
mod repeats;
mod row;
mod row_chart;
mod seeds;
mod signals;
mod source;
mod spread;
mod table;
mod tcp_nv;

pub use first_count::first_count;
pub use jobs::OnProgress;
pub use page::page;
pub use recorded::{Extent, PAPERS, Share, headline, numbers_table, papers, recorded, stated};
pub use repeats::Repeats;
pub use row::{Basis, Row, Tolerance, Verdict};
pub use spread::Spread;
pub use spread::text as spread;
pub use table::{json, summary, table, totals};

use folder::Folder;
use jobs::Cores;
use measured::MeasuredRows;

/// Suites that [`run`] knows.
pub const SUITES: &[&str] = &[
    "analytic",
    "tcp-nv",
    "linux",
    "hostcc",
    "hiercc",
    "htsim",
    "pcc-dilemma",
    "rdma",
    "expresspass",
    "homa",
    "ndp",
    "aeolus",
    "powertcp",
    "carc",
];

/// File name and SVG text.
type Pictures = Vec<(String, String)>;

/// Says what open settings do to these rows, shortly if the flag is set.
type Sensitivity = fn(&Cores<'_>, &[Row], bool) -> String;

/// A folder of `validation/` and what runs it.
struct Suite {
    rows: &'static str,
    measure: Measure,
    /// What can be run by itself, and the part that a row belongs to.
    parts: fn() -> Vec<&'static str>,
    part_of: fn(&Row) -> &str,
    /// What its open settings do to its rows.
    sensitivity: Option<Sensitivity>,
}

/// How the rows of a suite are measured.
enum Measure {
    /// By formulas over experiments that are data; and its pictures.
    Folder(&'static Folder, fn() -> Pictures),
    /// By code that runs one of `parts`, or all; in short runs if the first flag is set, and with pictures if the second is.
    Code(fn(&Cores<'_>, Option<&str>, bool, bool) -> (MeasuredRows, Pictures)),
}

impl Suite {
    /// Measures one part, or all.
    fn measure(
        &self,
        name: &str,
        cores: &Cores<'_>,
        quick: bool,
        draw: bool,
    ) -> (MeasuredRows, Pictures) {
        match self.measure {
            Measure::Folder(folder, pictures) => {
                (experiments::measure(folder, &rows_of(name), cores, quick), drawn(draw, pictures))
            }
            Measure::Code(measure) => measure(cores, split(name).1, quick, draw),
        }
    }
}

fn suite(name: &str) -> Suite {
    let none = || Vec::new();
    match name {
        "analytic" => Suite {
            rows: include_str!("../../../validation/analytic/rows.toml"),
            measure: Measure::Code(|_, _, quick, draw| {
                (analytic::measure(quick), drawn(draw, analytic::pictures))
            }),
            parts: none,
            part_of: |_| "",
            sensitivity: None,
        },
        "tcp-nv" => Suite {
            rows: Folder::of(name).rows,
            measure: Measure::Code(|cores, part, quick, draw| {
                let rows = rows_of(&whole_name("tcp-nv", part));
                let measured = tcp_nv::measure(cores, &rows, quick);
                let pictures = drawn(draw, || tcp_nv::pictures(&measured, part));
                (measured, pictures)
            }),
            parts: tcp_nv::parts,
            part_of: tcp_nv::part_of,
            sensitivity: Some(tcp_nv::sensitivity),
        },
        "linux" => Suite {
            rows: include_str!("../../../validation/linux/rows.toml"),
            measure: Measure::Code(|cores, _, quick, draw| {
                (linux::measure(cores, quick), drawn(draw, linux::pictures))
            }),
            parts: none,
            part_of: |_| "",
            sensitivity: None,
        },
        "hostcc" => Suite {
            rows: Folder::of(name).rows,
            measure: Measure::Code(hostcc::measure),
            parts: hostcc::parts,
            part_of: hostcc::part_of,
            sensitivity: Some(hostcc::sensitivity),
        },
        "hiercc" => Suite {
            rows: Folder::of(name).rows,
            measure: Measure::Code(hiercc::measure),
            parts: hiercc::parts,
            part_of: hiercc::part_of,
            sensitivity: Some(hiercc::sensitivity),
        },
        "pcc-dilemma" => Suite {
            rows: Folder::of(name).rows,
            measure: Measure::Code(|cores, part, quick, draw| {
                dilemma::measure(cores, &rows_of(&whole_name("pcc-dilemma", part)), quick, draw)
            }),
            parts: dilemma::parts,
            part_of: dilemma::part_of,
            sensitivity: Some(dilemma::sensitivity),
        },
        "htsim" => data(name, || vec!["lone", "incast", "permutation"], Vec::new),
        "rdma" => data(name, rdma::parts, rdma::pictures),
        "expresspass" | "homa" | "ndp" | "aeolus" => data(name, Vec::new, Vec::new),
        "powertcp" => Suite {
            rows: Folder::of(name).rows,
            measure: Measure::Code(|cores, _, _, draw| powertcp::measure(cores, draw)),
            parts: none,
            part_of: |_| "",
            sensitivity: None,
        },
        "carc" => Suite {
            rows: Folder::of(name).rows,
            measure: Measure::Code(carc::measure),
            parts: carc::parts,
            part_of: carc::part_of,
            sensitivity: None,
        },
        _ => panic!("there is no suite \"{name}\""),
    }
}

/// A suite whose experiments are data.
fn data(name: &str, parts: fn() -> Vec<&'static str>, pictures: fn() -> Pictures) -> Suite {
    Suite {
        rows: Folder::of(name).rows,
        measure: Measure::Folder(Folder::of(name), pictures),
        parts,
        // "staggered-2" belongs to "staggered".
        part_of: |row| row.figure.split('-').next().unwrap_or(&row.figure),
        sensitivity: None,
    }
}

/// A suite, or a part of it, as [`split`] reads it.
fn whole_name(suite: &str, part: Option<&str>) -> String {
    part.map_or(suite.into(), |part| format!("{suite}/{part}"))
}

fn drawn(draw: bool, pictures: impl FnOnce() -> Pictures) -> Pictures {
    if draw { pictures() } else { Vec::new() }
}

/// A suite and a part of it: "hostcc/fig10".
fn split(name: &str) -> (&str, Option<&str>) {
    name.split_once('/').map_or((name, None), |(suite, part)| (suite, Some(part)))
}

/// Whether there is a suite, or a part of one, of this name; the error says what there is.
///
/// # Errors
/// If there is none, one clause.
pub fn find(name: &str) -> Result<(), String> {
    let (suite, part) = split(name);
    if !SUITES.contains(&suite) {
        return Err(format!("there is no suite \"{suite}\"; write {}", SUITES.join(" or ")));
    }
    let parts = (self::suite(suite).parts)();
    match part {
        Some(part) if parts.is_empty() => {
            Err(format!("suite \"{suite}\" has no parts; leave out \"/{part}\""))
        }
        Some(part) if !parts.contains(&part) => Err(format!(
            "suite \"{suite}\" has no part \"{part}\"; write one of {}",
            parts.join(", ")
        )),
        _ => Ok(()),
    }
}

/// Runs every row of a suite or of a part of it, "hostcc/fig10". `quick` takes shorter runs where a row allows it, against
/// the same tolerances.
///
/// # Panics
/// If [`find`] has no such name, or the suite's file is not as it should be: it is part of the program.
pub fn run(name: &str, quick: bool) -> Vec<Row> {
    reproduce(name, quick, false, &|_, _| {}).0
}

/// Pairs of settings that can only end badly in scenarios of a suite, none of them run: name of the pair, a sentence, and how many scenarios
/// have it. Of each experiment the first scenario is seen. And how many were.
///
/// # Panics
/// As [`run`].
pub fn pitfalls(name: &str) -> (Vec<(&'static str, String, usize)>, usize) {
    let found = laid_out::scenarios(|| {
        self::suite(split(name).0).measure(name, &Cores::new(&|_, _| {}), true, false);
    });
    let pairs = found.pairs.into_iter().map(|(pair, (text, count))| (pair, text, count));
    (pairs.collect(), found.scenarios)
}

/// Runs every row of a suite or of a part of it, with pictures if `draw`: file name and SVG text. `on_progress` gets the number of experiments that are over.
///
/// # Panics
/// As [`run`].
pub fn reproduce(
    name: &str,
    quick: bool,
    draw: bool,
    on_progress: &OnProgress<'_>,
) -> (Vec<Row>, Vec<(String, String)>) {
    let mut rows = rows_of(name);
    let suite = self::suite(split(name).0);
    let (measured, pictures) = suite.measure(name, &Cores::new(on_progress), quick, draw);
    judge(&mut rows, &measured, quick);
    (rows, pictures)
}

/// The rows that [`run`] judges under this name, none of them run: those of a part, or those of a suite but for parts that run only by name.
///
/// # Panics
/// As [`run`].
pub fn rows_of(name: &str) -> Vec<Row> {
    let (suite, part) = split(name);
    let mut rows = rows(suite);
    rows.retain(|row| match part {
        Some(part) => (self::suite(suite).part_of)(row) == part,
        None => !is_only_by_name(suite, row),
    });
    rows
}

/// Whether a row belongs to a part that runs only by name.
fn is_only_by_name(suite: &str, row: &Row) -> bool {
    only_by_name(suite).contains(&(self::suite(suite).part_of)(row))
}

fn judge(rows: &mut [Row], measured: &MeasuredRows, quick: bool) {
    for row in &mut *rows {
        let left_out = quick && row.whole_only;
        row.judge(measured.get(&row.id).filter(|_| !left_out));
    }
    row::check_repeats(rows);
}

/// Runs the rows of a suite or of a part of it with so many sets of seeds, the first as [`run`] has them.
///
/// # Panics
/// As [`run`].
pub fn with_seeds(
    name: &str,
    quick: bool,
    sets: u64,
    on_progress: &OnProgress<'_>,
) -> Vec<Vec<Row>> {
    let suite = self::suite(split(name).0);
    let one = |set: u64| {
        let mut rows = rows_of(name);
        let cores = Cores::with_seeds_above(set * SET, on_progress);
        judge(&mut rows, &suite.measure(name, &cores, quick, false).0, quick);
        rows
    };
    (0..sets).map(one).collect()
}

/// Between a seed of one set and that of the next: more than any experiment has.
const SET: u64 = 1000;

/// What other seeds did to a suite's verdicts when that was last recorded.
///
/// # Panics
/// If the suite's file is not as it should be: it is part of the program.
pub fn recorded_spread(suite: &str) -> Option<Spread> {
    macro_rules! of {
        ($($suite:literal),*) => {
            match suite {
                $($suite => include_str!(concat!("../../../validation/", $suite, "/seeds.toml")),)*
                _ => return None,
            }
        };
    }
    let text = of!(
        "analytic",
        "tcp-nv",
        "linux",
        "hostcc",
        "hiercc",
        "htsim",
        "pcc-dilemma",
        "rdma",
        "expresspass",
        "homa",
        "ndp",
        "aeolus",
        "powertcp",
        "carc"
    );
    Some(toml::from_str(text).unwrap_or_else(|e| panic!("validation/{suite}/seeds.toml: {e}")))
}

/// The rows of a suite as they stand in its file, none of them run.
///
/// # Panics
/// As [`run`].
pub fn rows(suite: &str) -> Vec<Row> {
    row::parse(self::suite(suite).rows)
        .unwrap_or_else(|error| panic!("validation/{suite}/rows.toml: {error}"))
}

/// What a suite compares with.
///
/// # Panics
/// As [`run`].
pub fn title(name: &str) -> String {
    let suite = split(name).0;
    row::title(self::suite(suite).rows)
        .unwrap_or_else(|error| panic!("validation/{suite}/rows.toml: {error}"))
}

/// Parts of a suite that run only when they are named, since they take too long for the rest.
pub fn only_by_name(suite: &str) -> &'static [&'static str] {
    match suite {
        "carc" => &carc::TAILS,
        _ => &[],
    }
}

/// Ends of ids of rows that stand once under each reading of a text; the verdict on it names the first, which may have none.
pub fn readings(suite: &str) -> &'static [&'static str] {
    match split(suite).0 {
        "rdma" => &["", "-bounded"],
        "tcp-nv" => &["-pad2", "-pad6"],
        "hostcc" => &["", "-resting", "-threshold", "-noecn", "-nohold"],
        "carc" => &[
            "-lifo16six",
            "-literal",
            "-fits",
            "-lifo",
            "-literal16",
            "-fits16",
            "-lifo16",
            "-literal16four",
            "-fits16four",
            "-lifo16four",
        ],
        "hiercc" => &[
            "-recommended-count",
            "-recommended",
            "-literal",
            "-own",
            "-printed",
            "-paced",
            "-epframe",
            "-dealt",
        ],
        _ => &[],
    }
}

/// How the open settings of a suite were chosen and what they do to its rows, as text; `None` if it has none.
///
/// # Panics
/// As [`run`].
pub fn sensitivity(suite: &str, quick: bool, on_progress: &OnProgress<'_>) -> Option<String> {
    let (suite, _) = split(suite);
    self::suite(suite).sensitivity.map(|of| of(&Cores::new(on_progress), &rows(suite), quick))
}
