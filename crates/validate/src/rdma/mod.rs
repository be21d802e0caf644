//! RDMA micro scenarios: each law alone on one switch, at rest and under bursts, and how losses are repaired.
//!
//! The settings stand at the top of `validation/rdma/rows.toml`; [`setup`] writes them as scenarios.

mod loss;
mod messages;
mod pictures;
mod rest;
mod setup;

use crate::jobs::{Cores, Job};
use crate::measured::MeasuredRows;
use crate::row::Row;
use setup::Law;

/// Parts, by the figure of their rows.
const PARTS: [&str; 8] =
    ["two", "staggered", "eight", "dcqcn40", "lone", "incast", "small", "loss"];

pub(crate) fn parts() -> Vec<&'static str> {
    PARTS.to_vec()
}

/// "staggered-2" belongs to "staggered".
pub(crate) fn part_of(row: &Row) -> &str {
    row.figure.split('-').next().unwrap_or(&row.figure)
}

/// Everything, or one part. Nothing here is long enough for `quick` to shorten.
pub(crate) fn measure(
    cores: &Cores<'_>,
    part: Option<&str>,
    _quick: bool,
    draw: bool,
) -> (MeasuredRows, Vec<(String, String)>) {
    let wanted = |name: &str| part.is_none_or(|part| part == name);
    let mut jobs: Vec<Job> = Vec::new();
    if wanted("dcqcn40") {
        jobs.push(Box::new(rest::published_dcqcn));
    }
    if wanted("loss") {
        jobs.push(Box::new(loss::measure));
    }
    for law in Law::ALL {
        let part = part.map(String::from);
        jobs.push(Box::new(move |measured| of_law(law, part.as_deref(), measured)));
    }
    let mut measured = cores.run(jobs);
    rest::timely_line(&mut measured);
    (measured, if draw { pictures::all() } else { Vec::new() })
}

/// The scenarios of one law, and what was lost in all of them.
fn of_law(law: Law, part: Option<&str>, measured: &mut MeasuredRows) {
    let wanted = |name: &str| part.is_none_or(|part| part == name);
    let mut lost = 0.0;
    for rest in rest::RESTS {
        if wanted(rest.part()) {
            lost += rest::measure(law, rest, measured);
        }
    }
    if wanted("lone") {
        lost += rest::lone(law, measured);
        lost += messages::lone(law, measured);
    }
    if wanted("incast") {
        for (senders, size) in messages::INCASTS {
            lost += messages::incast(law, senders, size, measured);
        }
    }
    if wanted("small") {
        messages::small(law, measured);
    }
    if part.is_none() {
        measured.insert(format!("drops-{}", law.name()), lost);
    }
}
