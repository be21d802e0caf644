//! What simulations left, in memory: tables, summary, report.

use crate::comparing::read_all;
use crate::errors;
use crate::table::Table;
use forebay_record::columnar::{Format, export};
use forebay_record::frame::{frame, frames};
use forebay_record::why::{WhyRow, is_explained, sentences, share_of, slowest};
use forebay_record::{
    About, FlowRow, IfExists, RunDir, RunRecord, Status, Summary, Volatile, report,
};
use forebay_sim::Options;
use forebay_study::expect::{Band, misses};
use forebay_study::why::again;
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
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

    /// Where completion times went, by a second run of a seed: a sentence for each size class of the flows, and a table of their parts.
    ///
    /// `flows` are numbers; without them it is a share of the slowest by slowdown, of each size class, or of `size` from and to.
    fn why(
        &self,
        py: Python<'_>,
        seed: Option<u64>,
        flows: Option<Vec<u32>>,
        share: f64,
        size: Option<(u64, u64)>,
    ) -> PyResult<(Vec<String>, Table)> {
        let seed = seed.or(self.runs.first().map(|run| run.seed));
        let Some(run) = self.runs.iter().find(|run| Some(run.seed) == seed) else {
            return Err(PyValueError::new_err(
                "there are no results of that seed; r.seeds has those that there are",
            ));
        };
        if run.interrupted || run.stalled {
            return Err(PyValueError::new_err(
                "the seed was cut short, so running it again would not end where it did",
            ));
        }
        let (low, high) = size.unwrap_or((0, u64::MAX));
        let fits = |row: &&FlowRow| (low..high).contains(&row.size.get());
        let bounds = if size.is_some() { &[][..] } else { &self.about.size_classes };
        let flows = match flows {
            Some(flows) => {
                let there =
                    |flow: &u32| run.flows.iter().any(|row| row.flow == *flow && is_explained(row));
                if let Some(flow) = flows.iter().find(|flow| !there(flow)) {
                    let text = format!(
                        "flow {flow} is not there, or not complete, so it has no completion time to explain"
                    );
                    return Err(PyValueError::new_err(text));
                }
                flows
            }
            None => {
                let rows: Vec<FlowRow> = run.flows.iter().filter(fits).copied().collect();
                slowest(&rows, self.about.warmup, bounds, |count| share_of(count, share))
            }
        };
        if flows.is_empty() {
            return Err(PyValueError::new_err(
                "no such flow began after the warm-up and is complete",
            ));
        }
        let signal: OnceLock<PyErr> = OnceLock::new();
        let stop = || {
            Python::attach(|py| py.check_signals()).is_err_and(|error| signal.set(error).is_ok())
        };
        let rows = py.detach(|| {
            let loaded = forebay_scenario::text("resolved.toml", &self.about.resolved_toml);
            let scenario = loaded.map_err(|problems| errors::refused("", problems))?.scenario;
            again(&scenario, run, &flows, (Options::default(), Vec::new()), &stop)
                .map_err(|no| PyRuntimeError::new_err(no.to_string()))
        });
        if let Some(signal) = signal.into_inner() {
            return Err(signal);
        }
        let rows = rows?;
        let all: Vec<&WhyRow> = rows.iter().collect();
        let said = sentences("slowest", &all, run, &self.about);
        let record = RunRecord { seed: run.seed, why: rows, ..RunRecord::default() };
        let table = frame("why", &[record], self.about.warmup);
        table.map(|table| (said, Table::new(table))).ok_or_else(|| PyKeyError::new_err("why"))
    }

    /// The report, a page of HTML.
    fn report(&self, py: Python<'_>) -> String {
        py.detach(|| report::render(&self.about, self.summary(), &self.runs))
    }

    /// Writes a file for each table with rows into a folder, `format` "parquet" or "arrow".
    fn export(&self, py: Python<'_>, folder: PathBuf, format: &str) -> PyResult<Vec<PathBuf>> {
        let format = match format {
            "parquet" => Format::Parquet,
            "arrow" => Format::Arrow,
            other => {
                let why = format!("format=\"{other}\" is none; write \"parquet\" or \"arrow\"");
                return Err(PyValueError::new_err(why));
            }
        };
        let written = py.detach(|| export(&folder, format, &self.runs, self.about.warmup));
        written.map_err(|error| errors::results(&error))
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
