//! Scenarios from text, for the tests of this crate.
#![allow(dead_code)]

pub mod random;

use forebay_scenario::model::Scenario;
use forebay_sim::{Options, Outcome, Watch, simulate};

/// A checked scenario.
pub fn scenario(text: &str) -> Scenario {
    match forebay_scenario::text("test.toml", text) {
        Ok(loaded) => loaded.scenario,
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// One run with one seed.
pub fn run(scenario: &Scenario, seed: u64, options: Options) -> Outcome {
    simulate(scenario, seed, options, &Watch::default()).unwrap_or_else(|e| panic!("{e}"))
}
