//! Where completion times went: a second run of a seed that follows some flows, and what it says of them.
//!
//! The second run is the first one, digest for digest, or there is no answer.

use forebay_laws::flow::own::Own;
use forebay_record::RunRecord;
use forebay_record::why::{
    Call, Log, WhyRow, explain, explain_calls, is_explained, rows, rows_of, share_of, slowest,
};
use forebay_record::{About, hex};
use forebay_scenario::model::{Scenario, WhyFlows};
use forebay_sim::{Options, Outputs, SimError, Simulation, Watch};
use forebay_units::Span;
use std::fmt;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The simulation cannot be.
    Refused(SimError),
    /// Somebody wanted an end.
    Stopped,
    /// The second run was not the first one.
    OtherDigest {
        /// Digest of the second run.
        second: u64,
        /// Digest of the first one.
        first: u64,
    },
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => why.fmt(f),
            Self::Stopped => f.write_str("stopped before the second run was over"),
            Self::OtherDigest { second, first } => write!(
                f,
                "the second run is not the first one: its digest is {}, not {}",
                hex(*second),
                hex(*first)
            ),
        }
    }
}

/// Pieces in which a second run is advanced, to look whether it is to end.
const PIECES: u64 = 256;

/// Runs the seed of `run` again, follows these flows, and returns their parts.
///
/// # Errors
/// See [`NoAnswer`].
pub fn again(
    scenario: &Scenario,
    run: &RunRecord,
    flows: &[u32],
    how: (Options, Vec<(String, Own)>),
    stop: &dyn Fn() -> bool,
) -> Result<Vec<WhyRow>, NoAnswer> {
    let log = follow(scenario, run, flows, how, stop)?;
    Ok(rows(&explain(&log), &log))
}

/// The same of an RPC; `None` where its transport has messages on credit, which are not followed.
///
/// # Errors
/// See [`NoAnswer`].
pub fn call_again(
    scenario: &Scenario,
    run: &RunRecord,
    call: &Call,
    how: (Options, Vec<(String, Own)>),
    stop: &dyn Fn() -> bool,
) -> Result<Option<Vec<WhyRow>>, NoAnswer> {
    let log = follow(scenario, run, &call.streams, how, stop)?;
    let pieces = explain_calls(&log, std::slice::from_ref(call)).pop().flatten();
    Ok(pieces.map(|pieces| rows_of(call.rpc, &pieces, &log)))
}

/// Runs the seed of `run` again, and follows these flows.
fn follow(
    scenario: &Scenario,
    run: &RunRecord,
    flows: &[u32],
    (options, laws): (Options, Vec<(String, Own)>),
    stop: &dyn Fn() -> bool,
) -> Result<Log, NoAnswer> {
    let mut scenario = scenario.clone();
    scenario.output.captures.clear();
    scenario.output.law_log = None;
    let outputs = Outputs { follow: Some(flows), laws, ..Outputs::default() };
    let mut simulation = Simulation::with_outputs(&scenario, run.seed, options, outputs)
        .map_err(NoAnswer::Refused)?;
    let (watch, piece) = (Watch::default(), (run.end.as_ps() / PIECES).max(1));
    while !simulation.advance(simulation.now() + Span::from_ps(piece), &watch) {
        if stop() {
            return Err(NoAnswer::Stopped);
        }
    }
    let outcome = simulation.finish();
    if outcome.record.digest != run.digest {
        let (second, first) = (outcome.record.digest, run.digest);
        return Err(NoAnswer::OtherDigest { second, first });
    }
    Ok(outcome.followed.unwrap_or_default())
}

/// The flows that a scenario wants explained, of a run of it.
pub fn wanted(scenario: &Scenario, run: &RunRecord, which: &WhyFlows) -> Vec<u32> {
    let bounds = About::default().size_classes;
    let of =
        |most: &dyn Fn(usize) -> usize| slowest(&run.flows, scenario.output.warmup, &bounds, most);
    match which {
        WhyFlows::All => of(&|all| all),
        WhyFlows::Percent(percent) => of(&|all| share_of(all, percent / 100.0)),
        WhyFlows::Count(count) => of(&|_| *count as usize),
        WhyFlows::Unknown(_) => Vec::new(),
        WhyFlows::Numbers(numbers) => {
            let there =
                run.flows.iter().filter(|row| is_explained(row) && numbers.contains(&row.flow));
            there.map(|row| row.flow).collect()
        }
    }
}
