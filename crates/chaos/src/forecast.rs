//! Forecasts of `forebay check` against what happens.

use crate::wide::draw;
use forebay_scenario::model::Scenario;
use forebay_scenario::plan::Plan;
use forebay_sim::{Options, Outputs, Simulation, Watch};
use forebay_study::estimate::Estimate;
use forebay_units::{Span, Time};
use std::fmt;
use std::ops::Range;

/// One scenario, forecast and run.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Seed of the draw.
    pub seed: u64,
    /// Packet-hops, as forecast and as they were.
    pub hops: [f64; 2],
    /// Rows, likewise.
    pub rows: [f64; 2],
    /// Rows that no seed was to have more of.
    pub most: f64,
    /// Whether the pilot reached the end of the run.
    pub exact: bool,
}

/// Packet-hops below which a forecast does not matter.
const FEW_HOPS: f64 = 100.0;
/// How far a forecast may be off.
const HOPS: f64 = 2.0;
const ROWS: f64 = 1.2;
/// Scenarios with more packet-hops are left out.
const MOST_HOPS: u64 = 3_000_000;

impl Compared {
    /// Forecasts the scenario of this seed with a pilot of so many events, and runs it; none if it is refused or too long.
    pub fn of(seed: u64, budget: u64) -> Option<Self> {
        let scenario = forebay_scenario::text("drawn.toml", &draw(seed)).ok()?.scenario;
        let estimate = Estimate::within(&scenario, &Plan::of(&scenario.fabric), budget);
        let (hops, rows) = run(&scenario)?;
        Some(Self {
            seed,
            hops: [estimate.packet_hops, hops],
            rows: [estimate.rows, rows],
            most: estimate.rows_most,
            exact: estimate.exact,
        })
    }

    /// Comparisons for the seeds whose scenarios run.
    pub fn all(seeds: Range<u64>, budget: u64) -> Vec<Self> {
        seeds.filter_map(|seed| Self::of(seed, budget)).collect()
    }

    /// Whether packet-hops are forecast well enough.
    pub fn hops_are_right(&self) -> bool {
        let [said, was] = self.hops.map(|hops| hops.max(FEW_HOPS));
        said <= was * HOPS && was <= said * HOPS
    }

    /// Whether rows are.
    pub fn rows_are_right(&self) -> bool {
        let [said, was] = self.rows;
        said <= was * ROWS && was <= said * ROWS
    }

    /// Whether there are no more than there can be.
    pub fn is_at_most(&self) -> bool {
        self.rows[1] <= self.most
    }

    /// Whether all of that holds.
    pub fn is_right(&self) -> bool {
        self.hops_are_right() && self.rows_are_right() && self.is_at_most()
    }

    /// How many of all are right.
    pub fn summary(all: &[Self]) -> String {
        let count = |of: fn(&Self) -> bool| all.iter().filter(|one| of(one)).count();
        format!(
            "{} scenarios, {} of them run to the end by the pilot: packet-hops within {HOPS} times in {}, rows within {ROWS} times in {}, at most in {}",
            all.len(),
            count(|one| one.exact),
            count(Self::hops_are_right),
            count(Self::rows_are_right),
            count(Self::is_at_most)
        )
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, hops, rows, most, exact } = self;
        let [said, was] = hops;
        write!(f, "seed {seed}: {said:.0} packet-hops said and {was:.0} seen, ")?;
        write!(f, "{:.0} rows said and {:.0} seen, {most:.0} at most", rows[0], rows[1])?;
        if *exact { f.write_str(" (run to the end)") } else { Ok(()) }
    }
}

/// Packet-hops and rows of a run.
fn run(scenario: &Scenario) -> Option<(f64, f64)> {
    let outputs = Outputs { links: true, ..Outputs::default() };
    let mut simulation = Simulation::with_outputs(scenario, 1, Options::default(), outputs).ok()?;
    let (watch, step) = (Watch::default(), scenario.stop.time.since(Time::ZERO) / 256);
    while !simulation.advance(simulation.now() + step.max(Span::from_ps(1)), &watch) {
        if simulation.packet_hops() > MOST_HOPS {
            return None;
        }
    }
    let record = simulation.finish().record;
    Some((record.totals.packet_hops as f64, record.rows() as f64))
}
