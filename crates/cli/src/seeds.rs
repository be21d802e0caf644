//! The seeds of one scenario, some of them side by side, each its own simulation.
//!
//! Results are handed over in the order of the seeds, whatever order they end in. Stopping ends every simulation
//! that has begun with valid partial results and begins no other.

use crate::interrupt;
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, Outcome, SimError, Watch, simulate};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// What there is to simulate.
pub struct Work<'a> {
    pub scenario: &'a Scenario,
    pub options: Options,
    /// Simulations at a time.
    pub jobs: usize,
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
    pub watches: &'a [Watch],
    /// Whether the seed has ended.
    pub ended: &'a [bool],
}

/// How often progress is looked at.
const TICK: Duration = Duration::from_millis(50);

/// Runs all seeds. `deliver` gets each outcome in seed order and says whether to go on; `tick` is called a few
/// times a second.
pub fn side_by_side(
    work: &Work<'_>,
    mut tick: impl FnMut(&View<'_>),
    mut deliver: impl FnMut(Outcome) -> bool,
) -> End {
    let seeds = &work.scenario.seeds;
    let watches: Vec<Watch> = seeds.iter().map(|_| Watch::default()).collect();
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
            let (next, stopping, watches) = (&next, &stopping, &watches);
            scope.spawn(move || {
                while !stopping.load(Ordering::SeqCst) {
                    let i = next.fetch_add(1, Ordering::SeqCst);
                    let Some(seed) = seeds.get(i) else { return };
                    let run = || simulate(work.scenario, *seed, work.options, &watches[i]);
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
                Ok((i, Ok(Ok(outcome)))) => {
                    ended[i] = true;
                    waiting.insert(i, *outcome);
                }
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
            while let Some(outcome) = waiting.remove(&turn) {
                turn += 1;
                cut_short |= outcome.record.interrupted;
                if !matches!(end, End::Undeliverable) && !deliver(outcome) {
                    end = End::Undeliverable;
                    stop();
                }
            }
            if interrupt::asked() && matches!(end, End::All) {
                end = End::Interrupted;
                stop();
            }
            tick(&View { watches: &watches, ended: &ended });
        }
        // A signal in the last moment, when all had ended by themselves, changes nothing.
        if matches!(end, End::Interrupted) && turn == seeds.len() && !cut_short {
            end = End::All;
        }
    });
    end
}
