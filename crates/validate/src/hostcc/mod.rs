//! Experiments behind `validation/hostcc/rows.toml`: hostCC (SIGCOMM 2023), figure by figure.

mod claims;
mod control;
mod dctcp;
mod lab;
mod outcome;
mod pictures;
mod plant;
mod second;
mod sensitivity;
mod setup;
mod signals;
mod tails;

use crate::bench::{self, BenchRun};
use crate::jobs::Cores;
use crate::measured::MeasuredRows;
use crate::row::Row;
use lab::Lab;
pub(crate) use sensitivity::sensitivity;
use setup::{Setup, WARM};

/// The host at 3x with DDIO under DCTCP alone, with these keys of the path to memory as well.
pub(crate) fn congested(keys: &'static str, quick: bool) -> BenchRun {
    let setup = Setup { changed: (keys, ""), ..Setup::new(true, 3, quick) };
    bench::run("hostcc", &setup.text(), WARM, setup.end())
}

/// What can run by itself: its name, its rows.
type Part = (&'static str, fn(&Lab, &mut MeasuredRows));

const PARTS: &[Part] = &[
    ("plant", plant::measure),
    ("fig8", signals::figure_8),
    ("fig2", dctcp::figure_2),
    ("fig3", dctcp::figure_3),
    ("fig9", dctcp::figure_9),
    ("fig18", signals::figure_18),
    ("fig10", control::figure_10),
    ("fig11", control::figure_11),
    ("fig14", control::figure_14),
    ("fig16", control::figure_16),
    ("fig17", control::figure_17),
    ("fig4", tails::figure_4),
    ("fig12", tails::figure_12),
    ("fig15", tails::figure_15),
    ("fig13", control::figure_13),
    ("fig19", signals::figure_19),
    ("intro", introduction),
    ("text", text),
    ("set2", second::measure),
    ("threshold", tails::threshold),
];

/// Names of the parts.
pub(crate) fn parts() -> Vec<&'static str> {
    PARTS.iter().map(|part| part.0).collect()
}

/// The part that a row belongs to: how its id begins.
pub(crate) fn part_of(row: &Row) -> &str {
    if row.id.ends_with("-threshold") {
        return "threshold";
    }
    let head = row.id.split('-').next().unwrap_or_default();
    if head.starts_with("fig") { head.trim_end_matches(['a', 'b']) } else { head }
}

/// Runs all parts, or one, and draws them if they are wanted.
pub(crate) fn measure(
    cores: &Cores<'_>,
    part: Option<&str>,
    quick: bool,
    draw: bool,
) -> (MeasuredRows, Vec<(String, String)>) {
    let wanted = |name: &str| part.is_none_or(|part| part == name);
    let measure = |lab: &Lab| {
        let mut all = MeasuredRows::new();
        for (_, rows) in PARTS.iter().filter(|p| wanted(p.0)) {
            rows(lab, &mut all);
        }
        let drawn = if draw { pictures::pictures(lab, &wanted) } else { Vec::new() };
        (all, drawn)
    };
    let lab = Lab::new(cores, quick, &|lab| drop(measure(lab)));
    measure(&lab)
}

fn introduction(lab: &Lab, all: &mut MeasuredRows) {
    dctcp::introduction(lab, all);
    tails::introduction(lab, all);
}

fn text(lab: &Lab, all: &mut MeasuredRows) {
    dctcp::text(lab, all);
    claims::measure(lab, all);
    tails::text(lab, all);
}

/// DDIO off and on.
const MODES: [bool; 2] = [false, true];

/// As it stands in the ids of rows.
fn mode(ddio: bool) -> &'static str {
    if ddio { "on" } else { "off" }
}

/// One number over another.
fn ratio(a: f64, b: f64) -> f64 {
    a / b
}
