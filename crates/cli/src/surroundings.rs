//! Surroundings of the simulations in this process: clock, files, memory and the user.

use crate::agent::Lockstep;
use crate::machine::resident_bytes;
use crate::{clock, failure, interrupt, say};
use forebay_laws::host_driver::lockstep::Line;
use forebay_record::capture::CaptureFiles;
use forebay_record::law_logs::LawLogFiles;
use forebay_record::machine::free_memory;
use forebay_record::{RecordError, RunRecord, RunStart, save};
use forebay_study::Surroundings;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Simulations whose results go to one run directory.
pub struct RunSurroundings<'a> {
    /// The run directory while it is written.
    pub dir: &'a Path,
    /// Title of the scenario.
    pub scenario: &'a str,
    /// Whether and as what to save there what a long simulation has so far.
    pub save: Option<&'a RunStart>,
    /// The agent that runs host laws.
    pub agent: Option<Arc<Lockstep>>,
    began: Instant,
}

impl<'a> RunSurroundings<'a> {
    pub fn new(dir: &'a Path, scenario: &'a str, save: Option<&'a RunStart>) -> Self {
        Self { dir, scenario, save, agent: None, began: clock::now() }
    }
}

impl Surroundings for RunSurroundings<'_> {
    fn clock(&self) -> Duration {
        self.began.elapsed()
    }

    fn stop(&self) -> bool {
        interrupt::requested() || self.agent.as_ref().is_some_and(|agent| agent.lost().is_some())
    }

    fn agent(&self) -> Option<Arc<dyn Line>> {
        self.agent.clone().map(|agent| agent as Arc<dyn Line>)
    }

    fn warn(&self, text: &str) {
        say::warning(text);
    }

    fn captures(&self, seed: u64) -> CaptureFiles {
        CaptureFiles::new(self.dir, self.scenario, seed)
    }

    fn may_save(&self) -> bool {
        self.save.is_some() && fits_twice()
    }

    fn save(&self, so_far: &RunRecord) -> Result<(), String> {
        let Some(about) = self.save else { return Ok(()) };
        save(self.dir, about, so_far, &|| self.stop()).map_err(|error| self.in_words(&error))
    }

    fn law_logs(&self, seed: u64) -> LawLogFiles {
        LawLogFiles::new(self.dir, seed)
    }

    fn in_words(&self, error: &RecordError) -> String {
        failure::without_os_error(&error.to_string())
    }
}

/// While a simulation is saved, its nodes are in memory twice, and their rows beside them.
fn fits_twice() -> bool {
    match (resident_bytes(), free_memory()) {
        (Some(used), Some(free)) => free > 2.0 * used as f64,
        _ => true,
    }
}
