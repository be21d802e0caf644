//! What is there of a run that has not come to its end: whole seeds in its tables, and of each seed that is at work what it
//! had when it was saved last, as tables of its own in `unfinished/seed-N`.
//!
//! Invariant: `unfinished/seed-N` is whole. It is written as `seed-N.new`, and what it replaces is `seed-N.old` in the
//! moment between two renames.

use super::RunDir;
use crate::about::RunStart;
use crate::error::RecordError;
use crate::rows::RunRecord;
use forebay_units::Time;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

const FOLDER: &str = "unfinished";

/// Where what was saved of a seed is.
pub(super) fn folder(dir: &Path, seed: u64) -> PathBuf {
    dir.join(FOLDER).join(format!("seed-{seed}"))
}

/// Saves what a simulation of a run has so far in place of what was saved of it before. `dir` is that of the run while it is
/// written ([`RunDir::path`]).
///
/// Once `stop` says so, nothing is saved, and what was saved before stays.
///
/// # Errors
/// If the system refuses; what was saved before stays.
pub fn save(
    dir: &Path,
    about: &RunStart,
    run: &RunRecord,
    stop: &dyn Fn() -> bool,
) -> Result<(), RecordError> {
    let named = folder(dir, run.seed);
    let new = named.with_extension("new");
    let about = RunStart { seeds: vec![run.seed], ..about.clone() };
    let written = remove(&new).and_then(|()| {
        fs::create_dir_all(&new).map_err(|e| RecordError::io("create", &new, e))?;
        let mut tables = RunDir::begin(None, new.clone(), &about)?;
        tables.put(run, |_| true, stop)?;
        if !tables.left_out().is_empty() {
            return remove(&new);
        }
        tables.finish_tables()?;
        let old = named.with_extension("old");
        remove(&old)?;
        if named.exists() {
            fs::rename(&named, &old).map_err(|e| RecordError::io("write", &old, e))?;
        }
        fs::rename(&new, &named).map_err(|e| RecordError::io("write", &named, e))?;
        remove(&old)
    });
    if written.is_err() {
        let _ = remove(&new);
    }
    written
}

/// Forgets what was saved of a seed.
pub(super) fn forget(dir: &Path, seed: u64) -> Result<(), RecordError> {
    remove(&folder(dir, seed))
}

/// Forgets what was saved of all.
pub(super) fn forget_all(dir: &Path) -> Result<(), RecordError> {
    remove(&dir.join(FOLDER))
}

fn remove(dir: &Path) -> Result<(), RecordError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(RecordError::io("remove", dir, error))
        }
        _ => Ok(()),
    }
}

/// What a run has that is at work, or was killed, or could not write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Whether a process still writes the run.
    pub at_work: bool,
    /// Seeds that are whole.
    pub whole: Vec<u64>,
    /// Seeds that are there in part, and until when.
    pub cut: Vec<(u64, Time)>,
    /// Seeds that are not there.
    pub missing: Vec<u64>,
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.at_work {
            true => "belongs to a run that is still at work",
            false => {
                "is left of a run that did not end (killed, out of memory, or no room to write)"
            }
        })?;
        let all = self.whole.len() + self.cut.len() + self.missing.len();
        let seeds = if all == 1 { "seed" } else { "seeds" };
        write!(f, ": {} of {all} {seeds} complete", self.whole.len())?;
        for (seed, end) in &self.cut {
            write!(f, ", seed {seed} until {:.3} us", end.as_ps() as f64 / 1e6)?;
        }
        let missing: Vec<String> = self.missing.iter().map(u64::to_string).collect();
        match missing.as_slice() {
            [] => Ok(()),
            [one] => write!(f, ", seed {one} missing"),
            all => write!(f, ", seeds {} missing", all.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_by_seed() {
        let wreck = Unfinished {
            at_work: false,
            whole: vec![1],
            cut: vec![(2, Time::from_ps(1_500_000))],
            missing: vec![3, 7],
        };
        assert!(
            wreck
                .to_string()
                .ends_with(": 1 of 4 seeds complete, seed 2 until 1.500 us, seeds 3, 7 missing")
        );
        let one = Unfinished { whole: vec![], cut: vec![], missing: vec![9], at_work: true };
        assert_eq!(
            one.to_string(),
            "belongs to a run that is still at work: 0 of 1 seed complete, seed 9 missing"
        );
    }
}
