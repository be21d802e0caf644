//! What simulations left, in memory: tables, summary, report.

use crate::comparing::read_all;
use crate::errors;
use crate::table::Table;
use forebay_record::frame::{frame, frames};
use forebay_record::{About, IfExists, RunDir, RunRecord, Status, Summary, Volatile, report};
use forebay_study::expect::{Band, misses};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Results of the seeds of a scenario.
#[pyclass(frozen, module = "forebay._core")]
pub struct Results {
    pub(crate) about: About,
    pub(crate) runs: Vec<RunRecord>,
    bands: Vec<Band>,
    /// What a reader should know.
    #[pyo3(get)]
    pub(crate) warnings: Vec<String>,
    /// Seconds that simulating took; 0 of what was read from files.
    #[pyo3(get)]
    wall_s: f64,
    summary: OnceLock<Summary>,
}

impl Results {
    pub(crate) fn new(
        about: About,
        runs: Vec<RunRecord>,
        bands: Vec<Band>,
        warnings: Vec<String>,
        wall_s: f64,
    ) -> Self {
        Self { about, runs, bands, warnings, wall_s, summary: OnceLock::new() }
    }

    fn summary(&self) -> &Summary {
        self.summary.get_or_init(|| Summary::of(&self.about, &self.runs))
    }
}

#[pymethods]
impl Results {
    /// Reads a run directory.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = py.detach(|| RunDir::load(&path));
        let (about, runs) = read.map_err(|error| errors::results(&error))?;
        Ok(Self::new(about, runs, Vec::new(), Vec::new(), 0.0))
    }

    /// Reads the seeds of a scenario that are in run directories of their own.
    #[staticmethod]
    fn open_all(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Self> {
        let (about, runs) = py.detach(|| read_all(&paths))?;
        Ok(Self::new(about, runs, Vec::new(), Vec::new(), 0.0))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.about.scenario
    }

    #[getter]
    fn laws(&self) -> Vec<String> {
        self.about.laws.clone()
    }

    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.runs.iter().map(|run| run.seed).collect()
    }

    /// Ends of the warm-up and of each simulation, in ps.
    #[getter]
    fn ends_ps(&self) -> (u64, Vec<u64>) {
        (self.about.warmup.as_ps(), self.runs.iter().map(|run| run.end.as_ps()).collect())
    }

    /// Upper bounds of the size classes, in bytes.
    #[getter]
    fn size_classes(&self) -> Vec<u64> {
        self.about.size_classes.iter().map(|size| size.get()).collect()
    }

    #[getter]
    fn digest(&self) -> String {
        self.summary().digest.clone()
    }

    /// `complete`, `interrupted` or `stalled`.
    #[getter]
    fn status(&self) -> &'static str {
        match self.summary().status {
            Status::Complete => "complete",
            Status::Interrupted => "interrupted",
            Status::Stalled => "stalled",
        }
    }

    #[getter]
    fn resolved(&self) -> &str {
        &self.about.resolved_toml
    }

    /// `summary.json`.
    fn summary_json(&self) -> String {
        serde_json::to_string(self.summary()).expect("a summary is JSON")
    }

    /// The summary as the terminal shows it.
    fn text(&self, width: usize) -> String {
        self.summary().render(width, false)
    }

    /// A sentence for each `[[expect]]` that was missed.
    fn misses(&self) -> Vec<String> {
        misses(&self.bands, &self.about, self.summary(), &self.runs)
    }

    /// Names of the tables.
    #[staticmethod]
    fn table_names() -> Vec<&'static str> {
        frames().collect()
    }

    /// A table by its name.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let made = py.detach(|| frame(name, &self.runs, self.about.warmup));
        made.map(Table::new).ok_or_else(|| PyKeyError::new_err(name.to_string()))
    }

    /// The report, a page of HTML.
    fn report(&self, py: Python<'_>) -> String {
        py.detach(|| report::render(&self.about, self.summary(), &self.runs))
    }

    /// Writes a run directory, as `forebay run` would.
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        force: bool,
        started: String,
        command: String,
    ) -> PyResult<()> {
        let exists = if force { IfExists::Replace } else { IfExists::Refuse };
        let written = py.detach(|| {
            let mut dir = RunDir::create(&path, &self.about, exists)?;
            self.runs.iter().try_for_each(|run| dir.add(run))?;
            let volatile = Volatile {
                wall_s: self.wall_s,
                started_utc: started,
                command,
                ..Volatile::default()
            };
            dir.finish(&self.runs, volatile).map(|_| ())
        });
        written.map_err(|error| errors::results(&error))
    }
}
