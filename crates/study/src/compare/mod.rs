//! Runs beside each other: which definitions they share, what each metric came to, and whether a difference is more than the spread
//! over seeds.
//!
//! Every number of the first run is compared with the same number of each other run, seed by seed: the interval is that of the mean
//! of these differences. So what a seed does to all runs alike, its flows above all, cancels out.

pub mod along;
mod claims;
mod definitions;
mod fairness;
mod measures;
mod numbers;
mod page;
mod text;

pub use claims::{headline, verdict};
use definitions::differences;
pub use definitions::{Difference, Kind, names, refusal};
pub use measures::{Cell, MetricValues, PairedDifference, Word};
pub use page::page;
pub use text::{json, terminal};

use forebay_record::report::beside;
use forebay_record::{RunRecord, RunStart, Status, Summary};

/// One run, with all of its seeds.
pub struct Side {
    /// What it is called.
    pub name: String,
    /// Where it is, as the user wrote it.
    pub place: String,
    /// What it was.
    pub about: RunStart,
    /// Simulations of the run.
    pub runs: Vec<RunRecord>,
    /// What it came to.
    pub summary: Summary,
    /// What each of its seeds came to.
    pub by_seed: Vec<OfSeed>,
}

/// What one seed of a run came to.
pub struct OfSeed {
    /// Which.
    pub seed: u64,
    /// What it came to.
    pub summary: Summary,
    /// How evenly flows without an end shared.
    pub fairness: Option<f64>,
}

impl Side {
    /// A run that was read back.
    pub fn new(name: String, place: String, about: RunStart, runs: Vec<RunRecord>) -> Self {
        let one = |run: &RunRecord| {
            let about = RunStart { seeds: vec![run.seed], ..about.clone() };
            let summary = Summary::of(&about, std::slice::from_ref(run));
            OfSeed { seed: run.seed, summary, fairness: fairness::of_flows(run, about.warmup) }
        };
        let by_seed = runs.iter().map(one).collect();
        let summary = Summary::of(&about, &runs);
        Self { name, place, about, runs, summary, by_seed }
    }
}

/// What there is to compare, the first run that which the others are compared with.
pub struct Comparison {
    /// The runs.
    pub sides: Vec<Side>,
    /// Keys of their scenarios that differ.
    pub differences: Vec<Difference>,
    /// Each metric that some run has a value for.
    pub measured: Vec<MetricValues>,
}

impl Comparison {
    /// Compares runs with the first of them.
    pub fn of(sides: Vec<Side>) -> Self {
        let (differences, measured) = (differences(&sides), measures::measured(&sides));
        Self { sides, differences, measured }
    }

    /// The metric that the headline is about: the first that all runs have.
    pub fn headline(&self) -> Option<&MetricValues> {
        let all = |m: &&MetricValues| m.cells.iter().all(|cell| cell.estimate.mean.is_some());
        let named = |name: &&str| self.measured.iter().find(|m| m.name == **name).filter(all);
        measures::HEADLINES.iter().find_map(named)
    }

    /// Whether the runs are not defined alike.
    pub fn is_forced(&self) -> bool {
        self.differences.iter().any(|one| one.kind != Kind::Setting)
    }

    /// Names of the runs that are best in a metric or cannot be told from the best; none where all are alike.
    pub fn best_of(&self, measured: &MetricValues) -> Vec<&str> {
        let best = measured.cells.iter().zip(&self.sides).filter(|(cell, _)| cell.best);
        best.map(|(_, side)| side.name.as_str()).collect()
    }

    /// Doubts of a careful reader, a sentence each.
    pub fn cautions(&self) -> Vec<String> {
        let mut said = Vec::new();
        let unlike: Vec<String> = self
            .differences
            .iter()
            .filter(|one| one.kind != Kind::Setting)
            .map(|one| format!("{} ({})", one.kind.word(), one.key))
            .collect();
        if !unlike.is_empty() {
            said.push(format!(
                "Compared by force: the runs are not defined alike, and numbers that depend on it say nothing about the rest. Different: {}.",
                unlike.join(", ")
            ));
        }
        for side in &self.sides {
            let name = &side.name;
            match side.summary.status {
                Status::Complete | Status::Unfinished => {}
                Status::Interrupted => said.push(format!("{name} is partial: it was interrupted.")),
                Status::Stalled => {
                    said.push(format!(
                        "{name} stalled: no packet moved while flows were unfinished."
                    ));
                }
            }
            if side.summary.overall.censored {
                let flows = &side.summary.flows;
                said.push(format!(
                    "{name}: {} of {} started flows had not finished. Its percentiles leave them out and look better than it was.",
                    flows.not_finished,
                    flows.completed + flows.not_finished
                ));
            }
        }
        said.extend(self.seeds_in_words());
        let (most, all) = (beside::MOST, self.sides.len());
        if all > most {
            said.push(format!("Pictures have the first {most} of {all} runs; tables have all."));
        }
        let versions: Vec<&str> = self.sides.iter().map(|s| s.about.version.as_str()).collect();
        if versions.iter().any(|version| *version != versions[0]) {
            said.push(format!("Made by different versions: {}.", versions.join(", ")));
        }
        said
    }

    /// What seeds do not allow.
    fn seeds_in_words(&self) -> Option<String> {
        let fewest = self.sides[1..].iter().map(|side| self.pairs(side)).min()?;
        let most = self.sides.iter().map(|side| side.by_seed.len()).max()?;
        match fewest {
            0 => Some("No seed in common: differences are not paired and have no interval.".into()),
            1 | 2 => Some(format!(
                "{}: no interval. Three or more are needed to tell an effect from luck.",
                if fewest == 1 { "One seed" } else { "Two seeds" }
            )),
            n if n < most => {
                Some(format!("Only {n} seeds are common to all runs; differences are of those."))
            }
            _ => None,
        }
    }

    /// Seeds that a run shares with the first.
    pub fn pairs(&self, side: &Side) -> usize {
        let first = &self.sides[0].by_seed;
        side.by_seed.iter().filter(|one| first.iter().any(|other| other.seed == one.seed)).count()
    }
}
