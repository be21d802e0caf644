//! How far a run is, written into its folder for `forebay watch`. A run does this with a watcher and without.

use crate::clock;
use forebay_record::{Progress, SeedProgress};
use forebay_scenario::model::Scenario;
use forebay_study::progress::{Pace, State, rounded};
use forebay_study::seeds::View;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Between two of them.
const EVERY: Duration = Duration::from_secs(1);

/// What a run tells of itself.
pub struct Notice {
    folder: PathBuf,
    seeds: Vec<u64>,
    began: Instant,
    written: Option<Instant>,
    pace: Pace,
}

impl Notice {
    /// Notices of a run that is written into a folder.
    pub fn new(folder: PathBuf, scenario: &Scenario) -> Self {
        let seeds = scenario.seeds.clone();
        Self { folder, seeds, began: clock::now(), written: None, pace: Pace::default() }
    }

    /// Writes where the run is, if it is time to. A system that refuses is not the run's concern.
    pub fn tick(&mut self, state: &State, view: &View<'_>) {
        if self.written.is_some_and(|last| last.elapsed() < EVERY) {
            return;
        }
        self.written = Some(clock::now());
        let elapsed = self.began.elapsed().as_secs_f64();
        self.pace.add(elapsed, state.fraction(), state.packet_hops as f64);
        let micros = |ps: u128| rounded(ps as f64 / 1e6);
        let seeds = self.seeds.iter().zip(view.watches).zip(view.ended);
        let progress = Progress {
            name: state.name.clone(),
            fraction: rounded(state.fraction()),
            simulated_us: micros(state.simulated_ps),
            of_us: micros(state.to_simulate_ps),
            flows_completed: state.flows_done,
            flows: state.flows_all.filter(|_| !state.flows_expected),
            packet_hops: state.packet_hops,
            packet_hops_per_s: self.pace.hops_per_s().map(f64::round),
            elapsed_s: rounded(elapsed),
            eta_s: self.pace.seconds_left(state.fraction()).map(rounded),
            seeds: seeds
                .map(|((seed, watch), ended)| SeedProgress {
                    seed: *seed,
                    at_us: micros(watch.now_ps.load(Ordering::Relaxed).into()),
                    flows_completed: watch.done.load(Ordering::Relaxed),
                    ended: *ended,
                })
                .collect(),
        };
        let _ = progress.write(&self.folder);
    }
}
