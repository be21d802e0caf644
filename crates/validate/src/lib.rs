//! Runs the rows of `validation/`: each is a published number, and the experiment that has to give it.
//!
//! It knows the simulator from outside: scenarios go in, records come out; a few rows use a part alone (a switch with a
//! test source, a sender and a receiver with a pipe). Rows come from files that were committed before their first run;
//! nothing here holds a published number or a tolerance.
//!
//! Invariants: same rows, same code, same measured values; no files are written, no clock is read.

mod analytic;
mod jobs;
mod linux;
mod measured;
mod pipe;
mod plot;
mod row;
mod source;
mod table;
mod tcp_nv;

pub use row::{Basis, Row, Tolerance, Verdict};
pub use table::{json, table};

use measured::Measured;

/// Suites that [`run`] knows.
pub const SUITES: &[&str] = &["analytic", "tcp-nv", "linux"];

/// A folder of `validation/` and what runs it.
struct Suite {
    rows: &'static str,
    measure: fn(bool) -> Measured,
    pictures: fn() -> Vec<(String, String)>,
    /// What its open settings do to its rows.
    sensitivity: Option<fn(&[Row], bool) -> String>,
}

fn suite(name: &str) -> Suite {
    match name {
        "analytic" => Suite {
            rows: include_str!("../../../validation/analytic/rows.toml"),
            measure: analytic::measure,
            pictures: analytic::pictures,
            sensitivity: None,
        },
        "tcp-nv" => Suite {
            rows: include_str!("../../../validation/tcp-nv/rows.toml"),
            measure: tcp_nv::measure,
            pictures: tcp_nv::pictures,
            sensitivity: Some(tcp_nv::sensitivity),
        },
        "linux" => Suite {
            rows: include_str!("../../../validation/linux/rows.toml"),
            measure: linux::measure,
            pictures: Vec::new,
            sensitivity: None,
        },
        _ => panic!("there is no suite \"{name}\""),
    }
}

/// Runs every row of a suite. `quick` takes shorter runs where a row allows it, against the same tolerances.
///
/// # Panics
/// If the suite is none of [`SUITES`], or its file is not as it should be: it is part of the program.
pub fn run(suite: &str, quick: bool) -> Vec<Row> {
    let mut rows = rows(suite);
    let measured = (self::suite(suite).measure)(quick);
    for row in &mut rows {
        row.judge(measured.get(&row.id));
    }
    rows
}

/// The rows of a suite as they stand in its file, none of them run.
///
/// # Panics
/// As [`run`].
pub fn rows(suite: &str) -> Vec<Row> {
    row::parse(self::suite(suite).rows)
        .unwrap_or_else(|error| panic!("validation/{suite}/rows.toml: {error}"))
}

/// How the open settings of a suite were chosen and what they do to its rows, as text; `None` if it has none.
///
/// # Panics
/// As [`run`].
pub fn sensitivity(suite: &str, quick: bool) -> Option<String> {
    self::suite(suite).sensitivity.map(|of| of(&rows(suite), quick))
}

/// Pictures of a suite: file name and SVG text.
///
/// # Panics
/// As [`run`].
pub fn pictures(suite: &str) -> Vec<(String, String)> {
    (self::suite(suite).pictures)()
}
