//! HierCC (APNet 2021): its figures and what its text claims, under three bundles of readings.
//!
//! The readings, settings and bundles stand at the top of `validation/hiercc/rows.toml`; [`setup`] writes them as scenarios.

mod incast;
mod lab;
mod law;
mod pictures;
mod sensitivity;
mod setup;
mod traffic;

use crate::jobs::{Cores, Job};
use crate::measured::MeasuredRows;
use crate::row::Row;
pub(crate) use sensitivity::sensitivity;
use setup::{BUNDLES, PACED, Scheme};

/// Parts, by the figure of their rows.
const PARTS: [&str; 8] = ["fig1", "fig2", "fig4", "fig5", "text", "law", "own", "epcode"];

pub(crate) fn parts() -> Vec<&'static str> {
    PARTS.to_vec()
}

/// "fig5a-over-hpcc-literal" belongs to "fig5". Two rows stand with the runs that answer them.
pub(crate) fn part_of(row: &Row) -> &str {
    if row.id.starts_with("text-queue-traffic") {
        return "fig5";
    }
    for (end, part) in [("-own", "own"), ("-epcode", "epcode")] {
        if row.id.ends_with(end) {
            return part;
        }
    }
    if row.id.starts_with("law-invariant") {
        return "fig4";
    }
    PARTS.into_iter().find(|part| row.id.starts_with(part)).unwrap_or("text")
}

/// Everything, or one part. `quick` shortens figure 5 and leaves reading 17 out.
pub(crate) fn measure(
    cores: &Cores<'_>,
    part: Option<&str>,
    quick: bool,
    draw: bool,
) -> (MeasuredRows, Vec<(String, String)>) {
    let wanted = |name: &str| part.is_none_or(|part| part == name);
    let mut jobs: Vec<Job> = Vec::new();
    if wanted("fig2") {
        for scheme in [Scheme::Hpcc, Scheme::HpccOwn] {
            jobs.push(Box::new(move |measured| incast::measure_2(scheme, measured)));
        }
        for bundle in BUNDLES.into_iter().chain([PACED]) {
            jobs.push(Box::new(move |measured| incast::bound_2(bundle, measured)));
        }
    }
    if wanted("fig1") {
        jobs.push(Box::new(incast::measure_1));
        jobs.push(Box::new(incast::measure_1_printed));
    }
    if wanted("fig4") {
        jobs.push(Box::new(incast::measure_4));
    }
    if wanted("text") {
        jobs.push(Box::new(inputs));
        jobs.push(Box::new(law::first_round_trip));
        jobs.push(Box::new(law::round_trip));
        jobs.push(Box::new(traffic::lives));
        jobs.push(Box::new(traffic::shared));
        for bundle in BUNDLES.into_iter().chain([PACED]) {
            jobs.push(Box::new(move |measured| law::new_aggregates(bundle, measured)));
        }
    }
    if wanted("law") {
        for bundle in BUNDLES {
            jobs.push(Box::new(move |measured| law::single(bundle, measured)));
            jobs.push(Box::new(move |measured| law::fair(bundle, measured)));
            jobs.push(Box::new(move |measured| law::hop(bundle, measured)));
        }
    }
    let mut measured = cores.run(jobs);
    let run = |extent, schemes: &[_]| traffic::Figure::run(cores, extent, schemes);
    let figure = wanted("fig5").then(|| run(traffic::Extent::new(quick), &traffic::SCHEMES));
    if let Some(figure) = &figure {
        traffic::measure(figure, &mut measured);
    }
    match &figure {
        Some(figure) => traffic::measure_code(figure, &mut measured),
        // Four of the schemes of figure 5.
        None if wanted("epcode") => {
            traffic::measure_code(&run(traffic::Extent::new(quick), &traffic::CODE), &mut measured);
        }
        None => {}
    }
    if wanted("own") && !quick {
        traffic::measure_own(&run(traffic::Extent::own(), &traffic::OWN), &mut measured);
    }
    let pictures = if draw { pictures::all(figure.as_ref()) } else { Vec::new() };
    (measured, pictures)
}

/// What the text says of flows in data centres, checked on the distributions in use.
fn inputs(measured: &mut MeasuredRows) {
    let rows = [
        ("cache", "cachefollower", 20_000),
        ("web", "webserver", 10_000),
        ("hadoop", "fbhadoop_hpcc", 1_000),
    ];
    for (row, sizes, bytes) in rows {
        measured.insert(format!("text-input-{row}"), traffic::share_under(sizes, bytes));
    }
}
