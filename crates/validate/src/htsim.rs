//! Runs of csg-htsim, imported with their flags and run here.
//!
//! Cases and matrices stand in `validation/htsim/`, where `record.py` runs the other side.

use crate::jobs::{Cores, Job};
use crate::laid_out;
use crate::measured::MeasuredRows;
use crate::row::Row;
use forebay_record::RunRecord;
use forebay_scenario::LoadedScenario;
use forebay_scenario::import::{self, Command, Htsim, Source};
use forebay_sim::{Options, Simulation, Watch};
use forebay_units::Time;
use serde::Deserialize;

/// Parts, by the figure of their rows.
const PARTS: [&str; 3] = ["lone", "incast", "permutation"];

/// Seeds of a case in a quick run.
const QUICK: u64 = 2;

const CASES: &str = include_str!("../../../validation/htsim/cases.toml");

const MATRICES: [(&str, &str); 8] = [
    ("lone-1", include_str!("../../../validation/htsim/lone-1.cm")),
    ("lone-45", include_str!("../../../validation/htsim/lone-45.cm")),
    ("lone-100", include_str!("../../../validation/htsim/lone-100.cm")),
    ("lone-300", include_str!("../../../validation/htsim/lone-300.cm")),
    ("incast-12", include_str!("../../../validation/htsim/incast-12.cm")),
    ("incast-48", include_str!("../../../validation/htsim/incast-48.cm")),
    ("incast-100", include_str!("../../../validation/htsim/incast-100.cm")),
    ("permutation-128", include_str!("../../../validation/htsim/permutation-128.cm")),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

/// A run of htsim_ndp.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    matrix: String,
    flags: Flags,
    seeds: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Flags {
    cwnd: u64,
    q: u64,
    mtu: u64,
    strat: String,
    paths: Option<u64>,
}

pub(crate) fn parts() -> Vec<&'static str> {
    PARTS.to_vec()
}

pub(crate) fn part_of(row: &Row) -> &str {
    &row.figure
}

/// Everything, or one part.
pub(crate) fn measure(cores: &Cores<'_>, part: Option<&str>, quick: bool) -> MeasuredRows {
    let cases: Cases = toml::from_str(CASES).expect("cases.toml is part of the program");
    let wanted = |case: &Case| part.is_none_or(|part| case.matrix.starts_with(part));
    let jobs = cases.case.into_iter().filter(wanted);
    cores.run(
        jobs.map(|case| -> Job { Box::new(move |found| case.measure(quick, found)) }).collect(),
    )
}

impl Case {
    /// Means over the seeds: mean and last completion in us, and packets sent again.
    fn measure(&self, quick: bool, measured: &mut MeasuredRows) {
        let scenario = self.imported().scenario;
        let seeds = if quick { self.seeds.min(QUICK) } else { self.seeds };
        let mut sums = [0.0; 3];
        for seed in 1..=seeds {
            laid_out::begins(&scenario);
            let mut simulation = Simulation::new(&scenario, seed, Options::default())
                .unwrap_or_else(|error| panic!("{}: {error}", self.id));
            simulation.advance(Time::MAX, &Watch::default());
            let found = seen(&simulation.finish().record);
            sums.iter_mut().zip(found).for_each(|(sum, value)| *sum += value);
        }
        for (what, sum) in ["mean", "max", "again"].into_iter().zip(sums) {
            measured.insert(format!("{}-{what}", self.id), sum / seeds as f64);
        }
    }

    /// The scenario that the import writes, as a user reads it.
    fn imported(&self) -> LoadedScenario {
        let matrix = MATRICES.into_iter().find(|(name, _)| *name == self.matrix);
        let (name, text) = matrix.unwrap_or_else(|| panic!("{} is no matrix", self.matrix));
        let Flags { cwnd, q, mtu, strat, paths } = &self.flags;
        let command = Command {
            transport: Some("ndp"),
            cwnd: Some(*cwnd),
            queue: Some(*q),
            mtu: Some(*mtu),
            strategy: Some(strat),
            paths: *paths,
            ..Command::default()
        };
        let files = Htsim { matrix: Source { name, text }, topology: None, command };
        let made = import::htsim(&self.id, &files).unwrap_or_else(|e| panic!("{}: {e}", self.id));
        made.load().unwrap_or_else(|error| panic!("{}: {error}", self.id))
    }
}

/// Mean and last completion, in us, and packets sent again.
fn seen(record: &RunRecord) -> [f64; 3] {
    let us = |at: Option<Time>| at.map_or(f64::INFINITY, |at| at.as_secs_f64() * 1e6);
    let times: Vec<f64> = record.flows.iter().map(|flow| us(flow.acked)).collect();
    let again: u64 = record.flows.iter().map(|flow| u64::from(flow.retransmits)).sum();
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    [mean, times.iter().copied().fold(0.0, f64::max), again as f64]
}
