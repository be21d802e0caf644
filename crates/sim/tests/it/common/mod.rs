//! Scenarios from text, for the tests of this crate.
#![allow(dead_code)]

pub mod random;

use forebay_record::RunRecord;
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, Outcome, Simulation, Watch, simulate, twin};
use forebay_units::Time;

/// How many random scenarios a test tries: a third of all, and all of them in `./test --all`.
pub fn of_all(cases: u32) -> u32 {
    if std::env::var_os("FOREBAY_WHOLE").is_some() { cases } else { cases / 3 }
}

/// Most packet-hops of a random scenario that a test runs to its end. Few have more, and one of those would take as long as all others.
pub const MOST_HOPS: u64 = 400_000;

/// Notes that a test leaves out a run as too long, in the file of which `tests/programs.py` shows the count.
fn left_out() {
    let Some(path) = std::env::var_os("FOREBAY_LEFT_OUT") else { return };
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    let test = std::thread::current().name().unwrap_or_default().to_string();
    std::io::Write::write_all(&mut file, format!("{test}\n").as_bytes()).unwrap();
}

/// One run, or none if it has more packet-hops.
pub fn run_if_short(scenario: &Scenario, most_hops: u64) -> Option<Outcome> {
    let mut simulation =
        Simulation::new(scenario, 1, Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let (stop, watch) = (scenario.stop.time.since(Time::ZERO), Watch::default());
    for part in 1..=64 {
        if simulation.advance(Time::ZERO + stop / 64 * part, &watch) {
            break;
        }
        if simulation.packet_hops() > most_hops {
            left_out();
            return None;
        }
    }
    simulation.advance(Time::MAX, &watch);
    Some(simulation.finish())
}

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

/// Runs a scenario in several ways, which all give the same record.
pub fn agreed(scenario: &Scenario) -> RunRecord {
    let record = run(scenario, 1, Options::default()).record;
    let two = run(scenario, 1, Options { threads: 2, ..Options::default() }).record;
    assert_eq!(two.digest, record.digest, "two threads");
    for explicit in [false, true] {
        let twin = twin::reference(scenario, 1, explicit).unwrap();
        assert_eq!(twin.digest, record.digest, "reference engine, explicit ports: {explicit}");
        assert_eq!(twin.flows, record.flows);
    }
    record
}
