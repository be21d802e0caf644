//! The seeds of one scenario, some of them side by side, each its own simulation.
//!
//! Results are handed over in the order of the seeds, whatever order they end in. Stopping ends every simulation
//! that has begun with valid partial results, and begins no other; one that is still laid out leaves nothing.

use crate::surroundings::Surroundings;
use crate::{saving, why};
use forebay_record::RecordError;
use forebay_record::capture::{CaptureFile, Sink};
use forebay_record::law_logs::LawLogFiles;
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, Outcome, Outputs, SimError, Simulation, Watch};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// What there is to simulate.
pub struct Work<'a> {
    /// The scenario with all its seeds.
    pub scenario: &'a Scenario,
    /// How each is simulated.
    pub options: Options,
    /// Simulations at a time.
    pub jobs: usize,
    /// Clock, files and user.
    pub around: &'a dyn Surroundings,
}

/// What one seed left: its results, and the captures that were written meanwhile.
pub struct SeedOutput {
    /// Results of the seed.
    pub outcome: Outcome,
    /// Captures of the seed, or why one of them or a law log failed.
    pub captures: Result<Vec<CaptureFile>, RecordError>,
}

impl Work<'_> {
    fn simulate(
        &self,
        seed: u64,
        watch: &Watch,
        to_do: &AtomicU64,
    ) -> Result<SeedOutput, SimError> {
        let output = &self.scenario.output;
        let mut captures = self.around.captures(seed);
        let logs = self.around.law_logs(seed);
        let outputs = Outputs {
            captures: (!output.captures.is_empty()).then_some(&mut captures as &mut dyn Sink),
            law_logs: Some(&logs),
            agent: self.around.agent(),
            links: true,
            ..Outputs::default()
        };
        let simulation = Simulation::watched(self.scenario, seed, self.options, outputs, watch)?;
        let outcome = self.advance(simulation, watch, to_do, &logs);
        let logged = logs.finish(); // also of a run that a law ends
        let mut outcome = outcome.checked()?;
        if let Ok(whose) = &logged {
            outcome.warnings.extend(self.unlogged(seed, whose));
        }
        self.explain(&mut outcome, watch);
        let captures = captures.finish();
        Ok(SeedOutput { outcome, captures: logged.and(captures) })
    }

    /// A sentence for each flow and connection that was to be logged and did not begin.
    fn unlogged(&self, seed: u64, whose: &[String]) -> impl Iterator<Item = String> {
        let logged = self.scenario.output.law_log.iter();
        let flows = logged.clone().flat_map(|logged| &logged.flows);
        let flows = flows.filter(|flow| !whose.contains(&flow.to_string())).map(move |flow| {
            format!("seed {seed}: flow {flow} has no log: it did not begin, or its receiver grants by a law of all its messages (output.law_log.hosts)")
        });
        let pools = logged.flat_map(|logged| &logged.connections);
        let pools = pools.filter(|one| !whose.contains(&format!("pool-{one}"))).map(move |one| {
            format!("seed {seed}: connection {one} has no log: there is none of this number with a pool (connections.csv)")
        });
        flows.chain(pools)
    }

    /// Where the completion times of the flows went that the scenario names, by a second run.
    fn explain(&self, outcome: &mut Outcome, watch: &Watch) {
        let Some(wanted) = &self.scenario.output.why else { return };
        let run = &mut outcome.record;
        let mut warn = |why: &str| {
            outcome.warnings.push(format!("seed {}: output.why explains nothing: {why}", run.seed));
        };
        if run.interrupted || run.stalled {
            return warn("the run was cut short");
        }
        let wanted = why::wanted(self.scenario, run, &wanted.flows);
        if wanted.is_empty() {
            return warn("none of these flows is complete and began after the warm-up");
        }
        let stop = || watch.stop.load(Ordering::Relaxed);
        match why::again(self.scenario, run, &wanted, self.options, &stop) {
            Ok(answer) => run.why = answer.rows,
            Err(no) => warn(&no.to_string()),
        }
    }

    fn advance(
        &self,
        mut simulation: Simulation<'_>,
        watch: &Watch,
        to_do: &AtomicU64,
        logs: &LawLogFiles,
    ) -> Outcome {
        to_do.store(simulation.to_do().unwrap_or(0), Ordering::Relaxed);
        saving::to_the_end(&mut simulation, self.scenario.stop.time, watch, self.around, logs);
        simulation.finish()
    }
}
/// How it ended.
#[derive(Debug)]
pub enum End {
    /// Every seed was delivered.
    All,
    /// A signal came; the seeds that had begun were delivered.
    Interrupted,
    /// A simulation refused its scenario.
    Refused(SimError),
    /// A simulation panicked, which the panic hook has reported.
    Bug,
    /// The receiver of the results failed, and keeps why.
    Undeliverable,
}

/// Where all simulations are, for progress.
pub struct View<'a> {
    /// One for each seed.
    pub watches: &'a [Watch],
    /// Flows that have to be done before it ends, where they end it: 0 as long as that is not known.
    pub to_do: &'a [AtomicU64],
    /// Whether the seed has ended.
    pub ended: &'a [bool],
}

impl View<'_> {
    /// Flows of all seeds, where they end the run: of seeds that have not begun as many as the others have on average.
    pub fn flows_to_do(&self) -> Option<u64> {
        let known = self.to_do.iter().map(|one| one.load(Ordering::Relaxed)).filter(|n| *n > 0);
        let (count, sum) = known.fold((0u64, 0u64), |(count, sum), n| (count + 1, sum + n));
        let all = self.to_do.len() as u64;
        (count > 0).then(|| (u128::from(sum) * u128::from(all) / u128::from(count)) as u64)
    }
}

/// How often progress is looked at.
const TICK: Duration = Duration::from_millis(50);

/// Runs all seeds. `deliver` gets each outcome in seed order and says whether to go on; `tick` is called a few
/// times a second.
pub fn side_by_side(
    work: &Work<'_>,
    mut tick: impl FnMut(&View<'_>),
    mut deliver: impl FnMut(SeedOutput) -> bool,
) -> End {
    let seeds = &work.scenario.seeds;
    let watches: Vec<Watch> = seeds.iter().map(|_| Watch::default()).collect();
    let to_do: Vec<AtomicU64> = seeds.iter().map(|_| AtomicU64::default()).collect();
    let mut ended = vec![false; seeds.len()];
    let (next, stopping) = (AtomicUsize::new(0), AtomicBool::new(false));
    let stop = || {
        stopping.store(true, Ordering::SeqCst);
        watches.iter().for_each(|watch| watch.stop.store(true, Ordering::SeqCst));
    };
    let mut end = End::All;
    std::thread::scope(|scope| {
        let (send, results) = mpsc::channel();
        for _ in 0..work.jobs.clamp(1, seeds.len().max(1)) {
            let send = send.clone();
            let (next, stopping, watches, to_do) = (&next, &stopping, &watches, &to_do);
            scope.spawn(move || {
                while !stopping.load(Ordering::SeqCst) {
                    let i = next.fetch_add(1, Ordering::SeqCst);
                    let Some(seed) = seeds.get(i) else { return };
                    let run = || work.simulate(*seed, &watches[i], &to_do[i]);
                    let result = catch_unwind(AssertUnwindSafe(|| run().map(Box::new)));
                    if send.send((i, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let (mut waiting, mut turn, mut cut_short) = (BTreeMap::new(), 0, false);
        loop {
            match results.recv_timeout(TICK) {
                Ok((i, Ok(Ok(left)))) => {
                    ended[i] = true;
                    waiting.insert(i, Some(*left));
                }
                Ok((i, Ok(Err(SimError::Stopped)))) => _ = waiting.insert(i, None),
                Ok((_, Ok(Err(refusal)))) => {
                    end = End::Refused(refusal);
                    stop();
                }
                Ok((_, Err(_))) => {
                    end = End::Bug;
                    stop();
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            while let Some(left) = waiting.remove(&turn) {
                turn += 1;
                let Some(left) = left else {
                    cut_short = true;
                    continue;
                };
                cut_short |= left.outcome.record.interrupted;
                if !matches!(end, End::Undeliverable) && !deliver(left) {
                    end = End::Undeliverable;
                    stop();
                }
            }
            if work.around.stop() && matches!(end, End::All) {
                end = End::Interrupted;
                stop();
            }
            tick(&View { watches: &watches, to_do: &to_do, ended: &ended });
        }
        // A signal in the last moment, when all had ended by themselves, changes nothing.
        if matches!(end, End::Interrupted) && turn == seeds.len() && !cut_short {
            end = End::All;
        }
    });
    end
}
