//! Experiments behind `validation/analytic/rows.toml`.

mod fairness;
mod incast;
mod queueing;
mod sawtooth;
mod sharing;
mod square_root;
mod windows;

use crate::laid_out::{self, step};
use crate::measured::MeasuredRows;
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, Simulation, Watch};
use forebay_units::Time;

/// Runs all of them.
pub(crate) fn measure(quick: bool) -> MeasuredRows {
    let mut all = MeasuredRows::new();
    step(|| queueing::measure(quick, &mut all));
    step(|| sharing::measure(&mut all));
    step(|| sawtooth::measure(quick, &mut all));
    step(|| square_root::measure(quick, &mut all));
    step(|| windows::measure(quick, &mut all));
    step(|| fairness::measure(quick, &mut all));
    step(|| incast::measure(&mut all));
    all
}

pub(crate) fn pictures() -> Vec<(String, String)> {
    vec![("dctcp-sawtooth.svg".into(), sawtooth::picture())]
}

/// A scenario of this suite.
fn scenario(name: &str, text: &str) -> Scenario {
    match forebay_scenario::text(name, text) {
        Ok(loaded) => loaded.scenario,
        Err(error) => panic!("{error}\n{text}"),
    }
}

fn simulation(scenario: &Scenario) -> Simulation<'_> {
    laid_out::begins(scenario);
    Simulation::new(scenario, scenario.seeds[0], Options::default())
        .unwrap_or_else(|error| panic!("{}: {error}", scenario.name))
}

fn ms(ms: u64) -> Time {
    Time::from_ps(ms * 1_000_000_000)
}

fn quiet() -> Watch {
    Watch::default()
}
