//! Where completion times went: a second run of a seed that follows some flows, and what it says of them.
//!
//! The second run ends with the last of these flows. Each of them begins and completes there when it did in the first run, to the picosecond,
//! or there is no answer.

use forebay_record::RunStart;
use forebay_record::why::{
    Log, Part, Path, Piece, Subject, WhyRow, calls, explain, explain_calls, is_explained, path,
    rows, rows_of, share_of, slowest, slowest_rpcs,
};
use forebay_record::{CollectiveRow, RunRecord};
use forebay_scenario::model::{Output, Scenario, WhyFlows};
use forebay_sim::{Options, Outputs, SimError, Simulation, Watch};
use forebay_units::{Span, Time};
use std::fmt;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The simulation cannot be.
    Refused(SimError),
    /// The user ended it.
    Stopped,
    /// The second run was not the first one.
    Other {
        /// The flow or RPC that shows it.
        what: String,
        /// When it began and completed in the second run, if it did.
        second: Option<(Time, Time)>,
        /// When it began and completed in the first run, if it did.
        first: Option<(Time, Time)>,
    },
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => why.fmt(f),
            Self::Stopped => f.write_str("stopped before the second run was over"),
            Self::Other { what, second, first } => {
                let when = |of: &Option<(Time, Time)>| match of {
                    Some((from, to)) => {
                        format!("took from {} ps to {} ps", from.as_ps(), to.as_ps())
                    }
                    None => "did not complete".to_owned(),
                };
                write!(
                    f,
                    "the second run is not the first one: there {what} {}, and here it {}",
                    when(first),
                    when(second)
                )
            }
        }
    }
}

/// Pieces in which a second run is advanced, to look whether it is to end.
const PIECES: u64 = 256;

/// Flows and RPCs whose times are to be explained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WhyRequest {
    /// Flows, by number.
    pub flows: Vec<u32>,
    /// RPCs, by their place among those of the run.
    pub rpcs: Vec<u32>,
}

impl WhyRequest {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty() && self.rpcs.is_empty()
    }
}

/// Where completion times went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Parts of each flow and RPC.
    pub rows: Vec<WhyRow>,
    /// Flows that began after others, each with the last that it waited for.
    pub waited: Vec<(u32, u32)>,
}

/// Runs the seed of `run` again, follows these flows and RPCs, and returns their parts. All of them are complete.
///
/// # Errors
/// See [`NoAnswer`].
pub fn again(
    scenario: &Scenario,
    run: &RunRecord,
    wanted: &WhyRequest,
    how: Options,
    stop: &dyn Fn() -> bool,
) -> Result<Answer, NoAnswer> {
    let times = |run: &RunRecord, flow: u32| {
        let at = run.flows.binary_search_by_key(&flow, |row| row.flow).ok()?;
        Some((run.flows[at].start, run.flows[at].delivered?))
    };
    let mut calls = match wanted.rpcs[..] {
        [] => Vec::new(),
        _ => calls(run),
    };
    calls.retain(|call| wanted.rpcs.binary_search(&call.rpc).is_ok());
    let mut flows = wanted.flows.clone();
    flows.extend(calls.iter().flat_map(|call| call.streams));
    let ends = wanted.flows.iter().filter_map(|flow| Some(times(run, *flow)?.1));
    let last = ends.chain(calls.iter().map(|call| call.completed)).max().unwrap_or_default();
    let (second, log) = follow(scenario, run.seed, (&flows, last, false), how, stop)?;
    for flow in &wanted.flows {
        is_same(|| format!("flow {flow}"), times(&second, *flow), times(run, *flow))?;
    }
    // Connections before one of an RPC have fewer RPCs there, as that run ends sooner.
    let begins = |run: &RunRecord, of: u32| run.rpcs.partition_point(|row| row.connection < of);
    for call in &calls {
        let connection = run.rpcs[call.rpc as usize].connection;
        let at = begins(&second, connection) + call.number as usize - 1;
        let row = second.rpcs.get(at).filter(|row| row.connection == connection);
        let there = row.and_then(|row| row.latency().map(|_| (row.issued, row.completed)));
        is_same(|| format!("RPC {}", call.rpc), there, Some((call.issued, call.completed)))?;
    }
    let mut all = rows(&explain(&log), &log);
    for (call, pieces) in calls.iter().zip(explain_calls(&log, &calls)) {
        // What a log cannot tell is one piece.
        let (from, to) = (call.issued, call.completed);
        let unknown =
            || vec![Piece { part: Part::Unexplained, link: None, behind: None, from, to }];
        all.extend(rows_of(Subject::Rpc(call.rpc), &pieces.unwrap_or_else(unknown), &log));
    }
    Ok(Answer { rows: all, waited: second.waited })
}

/// Where the time of a collective went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CriticalPath {
    /// Operations and messages from the begin of the collective to its end.
    pub path: Path,
    /// Its parts.
    pub rows: Vec<WhyRow>,
}

/// Runs the seed of `run` again and returns the critical path of a collective, which is over.
///
/// # Errors
/// See [`NoAnswer`].
pub fn of_collective(
    scenario: &Scenario,
    run: &RunRecord,
    of: &CollectiveRow,
    how: Options,
    stop: &dyn Fn() -> bool,
) -> Result<CriticalPath, NoAnswer> {
    let own = run.connections.iter().filter(|one| one.traffic == of.traffic);
    let mut flows: Vec<u32> = own.flat_map(|one| one.streams()).collect();
    flows.sort_unstable();
    let last = of.end.unwrap_or_default();
    let (second, log) = follow(scenario, run.seed, (&flows, last, true), how, stop)?;
    let key = |row: &CollectiveRow| (row.traffic, row.group, row.number);
    let times = |row: &CollectiveRow| Some((row.start, row.end?));
    let there = second.collectives.iter().find(|row| key(row) == key(of));
    let what =
        || format!("collective {} of group {} of traffic[{}]", of.number, of.group, of.traffic);
    is_same(what, there.and_then(times), times(of))?;
    let found = there.and_then(|row| path(&log, &second, row)).unwrap_or_default();
    let rows = found.rows(&log);
    Ok(CriticalPath { path: found, rows })
}

/// Whether something took as long in the second run as in the first.
fn is_same(
    what: impl Fn() -> String,
    second: Option<(Time, Time)>,
    first: Option<(Time, Time)>,
) -> Result<(), NoAnswer> {
    match second == first {
        true => Ok(()),
        false => Err(NoAnswer::Other { what: what(), second, first }),
    }
}

/// Runs a seed again until `last` has been, and follows these flows. What the run has so far comes with the log, but for samples.
fn follow(
    scenario: &Scenario,
    seed: u64,
    (flows, last, steps): (&[u32], Time, bool),
    options: Options,
    stop: &dyn Fn() -> bool,
) -> Result<(RunRecord, Log), NoAnswer> {
    let mut scenario = scenario.clone();
    scenario.output = Output { warmup: scenario.output.warmup, ..Output::default() };
    let outputs = Outputs { follow: Some(flows), steps, ..Outputs::default() };
    let mut simulation =
        Simulation::with_outputs(&scenario, seed, options, outputs).map_err(NoAnswer::Refused)?;
    // At an end nothing has happened yet.
    let end = last + Span::from_ps(1);
    let (watch, piece) = (Watch::default(), Span::from_ps((end.as_ps() / PIECES).max(1)));
    while simulation.now() < end {
        if simulation.advance(end.min(simulation.now() + piece), &watch) {
            break;
        }
        if stop() {
            return Err(NoAnswer::Stopped);
        }
    }
    let outcome = simulation.finish();
    Ok((outcome.record, outcome.followed.unwrap_or_default()))
}

/// The flows and RPCs that a scenario wants explained, of a run of it; of RPCs as many as of the flows of a size class.
pub fn wanted(scenario: &Scenario, run: &RunRecord, which: &WhyFlows) -> WhyRequest {
    let (bounds, warmup) = (RunStart::default().size_classes, scenario.output.warmup);
    let of = |most: &dyn Fn(usize) -> usize| WhyRequest {
        flows: slowest(&run.flows, warmup, &bounds, most),
        rpcs: slowest_rpcs(run, warmup, most),
    };
    match which {
        WhyFlows::All => of(&|all| all),
        WhyFlows::Percent(percent) => of(&|all| share_of(all, percent / 100.0)),
        WhyFlows::Count(count) => of(&|_| *count as usize),
        WhyFlows::Unknown(_) => WhyRequest::default(),
        WhyFlows::Numbers(numbers) => {
            let there =
                run.flows.iter().filter(|row| is_explained(row) && numbers.contains(&row.flow));
            WhyRequest { flows: there.map(|row| row.flow).collect(), rpcs: Vec::new() }
        }
    }
}
