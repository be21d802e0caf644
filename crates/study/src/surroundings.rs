//! Surroundings of simulations: clock, files and user, which the caller has.

use forebay_laws::host_driver::lockstep::Line;
use forebay_record::capture::CaptureFiles;
use forebay_record::law_logs::LawLogFiles;
use forebay_record::{RecordError, RunRecord};
use std::sync::Arc;
use std::time::Duration;

/// Surroundings of simulations.
pub trait Surroundings: Sync {
    /// Time since some instant that stays the same.
    fn clock(&self) -> Duration;

    /// Whether the user wants an end.
    fn stop(&self) -> bool;

    /// Tells the user what a reader of the results should know.
    fn warn(&self, text: &str);

    /// Files for the captures of a seed.
    fn captures(&self, seed: u64) -> CaptureFiles;

    /// Whether a long simulation is saved now and then, and there is memory to do it now.
    fn may_save(&self) -> bool;

    /// Keeps what a simulation has so far, in place of what it had before.
    ///
    /// # Errors
    /// Why that cannot be kept.
    fn save(&self, so_far: &RunRecord) -> Result<(), String>;

    /// Files for the law logs of a seed.
    fn law_logs(&self, seed: u64) -> LawLogFiles;

    /// The agent that runs host laws in place of the simulations.
    fn agent(&self) -> Option<Arc<dyn Line>> {
        None
    }

    /// An error as this user's sentences have it.
    fn in_words(&self, error: &RecordError) -> String;
}
