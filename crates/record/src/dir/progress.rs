//! How far a run is, for whoever looks on while it is written: `progress.json` in the folder that it writes, gone when it ends.
//!
//! The run writes it whether somebody looks or not, and reads nothing of those who do.

use super::life::{at_work, partial_of};
use super::read;
use crate::csv::{PROGRESS as FILE, write_whole};
use crate::error::RecordError;
use crate::summary::Status;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Title of the scenario.
    pub name: String,
    /// Share of the work that is done.
    pub fraction: f64,
    /// Virtual time simulated over all seeds, in us.
    pub simulated_us: f64,
    /// Virtual time to be simulated over all seeds, in us; a run that its flows end may need less.
    pub of_us: f64,
    /// Flows completed.
    pub flows_completed: u64,
    /// Flows to be completed, if that is known.
    pub flows: Option<u64>,
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// Packet-hops per second now.
    pub packet_hops_per_s: Option<f64>,
    /// Seconds since the run began.
    pub elapsed_s: f64,
    /// Seconds until its end at the pace of now.
    pub eta_s: Option<f64>,
    /// Each seed.
    pub seeds: Vec<SeedProgress>,
}

/// How far a seed is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeedProgress {
    /// The seed.
    pub seed: u64,
    /// Virtual time, in us.
    pub at_us: f64,
    /// Flows completed.
    pub flows_completed: u64,
    /// Whether it has ended.
    pub ended: bool,
}

impl Progress {
    /// Writes it into the folder of a run while that is written ([`super::RunDir::path`]).
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write(&self, dir: &Path) -> Result<(), RecordError> {
        let text = serde_json::to_string(self).expect("numbers and texts are JSON");
        write_whole(&dir.join(FILE), text)
    }
}

/// What there is of a run with the name of a folder.
#[derive(Clone, Debug, PartialEq)]
pub enum Life {
    /// A run at work, with what it wrote last, if anything.
    AtWork(Option<Progress>),
    /// A run that died: the folder that is left, and what it wrote last.
    Died(PathBuf, Option<Progress>),
    /// A run that has ended, with its digest.
    Ended(Status, String),
    /// No run.
    Nothing,
}

/// What there is of a run; `dir` is its name, or the folder in which it is written.
///
/// # Errors
/// If what is there cannot be read.
pub fn life_of(dir: &Path) -> Result<Life, RecordError> {
    let work = partial_of(dir);
    // In this order: a run that ends meanwhile has its name by the time that it is looked for.
    if at_work(&work) {
        return Ok(Life::AtWork(read::json(&work.join(FILE)).ok()));
    }
    if work.join("manifest.json").exists() {
        let last = read::json(&work.join(FILE)).ok();
        return Ok(Life::Died(work, last));
    }
    if !dir.join("manifest.json").exists() {
        return Ok(Life::Nothing);
    }
    let (summary, manifest) = (read::summary(dir)?, read::manifest(dir)?);
    Ok(Life::Ended(summary.status, manifest.digest.unwrap_or_default()))
}

/// Forgets it.
pub(super) fn forget(dir: &Path) {
    let _ = fs::remove_file(dir.join(FILE));
}
