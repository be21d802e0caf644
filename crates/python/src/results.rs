//! What simulations left, in memory: tables, summary, report.

use crate::errors;
use crate::law::{self, PythonErrors, PythonLaw};
use crate::table::Table;
use forebay_record::columnar::{Format, export};
use forebay_record::frame::{frame, frames};
use forebay_record::why::{
    WhyRow, is_explained, open_flows, open_sentence, sentences, share_of, slowest, slowest_rpcs,
};
use forebay_record::{
    FlowRow, IfExists, RunDir, RunRecord, RunStart, Status, Summary, Volatile, report,
};
use forebay_sim::Options;
use forebay_study::about::{changed_object, is_under_python};
use forebay_study::expect::{Band, misses};
use forebay_study::why::{WhyRequest, again};
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Results of the seeds of a scenario.
#[pyclass(frozen, module = "forebay._core")]
pub struct Results {
    pub(crate) about: RunStart,
    pub(crate) runs: Vec<RunRecord>,
    bands: Vec<Band>,
    laws: Vec<PythonLaw>, // that its flows were under
    folder: PathBuf,      // in which files of the scenario are
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
        about: RunStart,
        runs: Vec<RunRecord>,
        bands: Vec<Band>,
        warnings: Vec<String>,
        wall_s: f64,
    ) -> Self {
        let (laws, folder, summary) = (Vec::new(), PathBuf::new(), OnceLock::new());
        Self { about, runs, bands, laws, folder, warnings, wall_s, summary }
    }

    /// Results of a scenario whose files are in the folder of this file.
    pub(crate) fn in_folder_of(self, place: &str) -> Self {
        let folder = Path::new(place).parent().unwrap_or(Path::new("")).to_path_buf();
        Self { folder, ..self }
    }

    /// Results of a run in which some flows were under laws in Python.
    pub(crate) fn under(self, laws: Vec<PythonLaw>) -> Self {
        Self { laws, ..self }
    }

    /// A share of the slowest, of each size class and of RPCs, or of flows of `size` from and to.
    fn slowest(&self, run: &RunRecord, share: f64, size: Option<(u64, u64)>) -> WhyRequest {
        let (warmup, most) = (self.about.warmup, |count| share_of(count, share));
        let Some((low, high)) = size else {
            return WhyRequest {
                flows: slowest(&run.flows, warmup, &self.about.size_classes, most),
                rpcs: slowest_rpcs(run, warmup, most),
            };
        };
        let fits = |row: &&FlowRow| (low..high).contains(&row.size.get());
        let rows: Vec<FlowRow> = run.flows.iter().filter(fits).copied().collect();
        WhyRequest { flows: slowest(&rows, warmup, &[], most), rpcs: Vec::new() }
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
        Ok(Self { folder: path, ..Self::new(about, runs, Vec::new(), Vec::new(), 0.0) })
    }

    /// Reads the seeds of a scenario that are in run directories of their own.
    #[staticmethod]
    fn open_all(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Self> {
        let (about, runs) = py.detach(|| read_all(&paths))?;
        let folder = paths.into_iter().next().unwrap_or_default();
        Ok(Self { folder, ..Self::new(about, runs, Vec::new(), Vec::new(), 0.0) })
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

    /// `complete`, `unfinished`, `interrupted` or `stalled`.
    #[getter]
    fn status(&self) -> &'static str {
        match self.summary().status {
            Status::Complete => "complete",
            Status::Unfinished => "unfinished",
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

    /// Where completion times went, by a second run of a seed: a sentence for each size class of the flows and for RPCs, and tables of the
    /// parts of flows and of RPCs.
    ///
    /// `flows` and `rpcs` are numbers; without them it is a share of the slowest by slowdown, of each size class and of RPCs, or of flows of
    /// `size` from and to.
    fn why(
        &self,
        py: Python<'_>,
        seed: Option<u64>,
        flows: Option<Vec<u32>>,
        rpcs: Option<Vec<u32>>,
        share: f64,
        size: Option<(u64, u64)>,
    ) -> PyResult<(Vec<String>, Table, Table)> {
        let seed = seed.or(self.runs.first().map(|run| run.seed));
        let Some(run) = self.runs.iter().find(|run| Some(run.seed) == seed) else {
            return Err(PyValueError::new_err(
                "there are no results of that seed; r.seeds has those that there are",
            ));
        };
        if self.laws.is_empty() && is_under_python(&self.about) {
            return Err(PyValueError::new_err(
                "flows of this run were under a law in Python, which a run directory does not have: run it once more with laws=, \
                 and ask those results",
            ));
        }
        let wanted = match (flows, rpcs) {
            (None, None) => self.slowest(run, share, size),
            (flows, rpcs) => {
                let numbers = |of: Option<Vec<u32>>| {
                    let of: BTreeSet<u32> = of.unwrap_or_default().into_iter().collect();
                    of.into_iter().collect()
                };
                WhyRequest { flows: numbers(flows), rpcs: numbers(rpcs) }
            }
        };
        let flow = |flow: u32| run.flows.iter().any(|row| row.flow == flow && is_explained(row));
        let rpc = |rpc: u32| run.rpcs.get(rpc as usize).is_some_and(|row| row.latency().is_some());
        let missing = |what: &str, number: u32| {
            PyValueError::new_err(format!(
                "{what} {number} is not there, or not complete, so it has no completion time to explain"
            ))
        };
        if let Some(number) = wanted.flows.iter().find(|number| !flow(**number)) {
            return Err(missing("flow", *number));
        }
        if let Some(number) = wanted.rpcs.iter().find(|number| !rpc(**number)) {
            return Err(missing("RPC", *number));
        }
        // What has not ended has no parts, and is the slowest all the same.
        let warmup = self.about.warmup;
        let complete = |row: &&FlowRow| is_explained(row) && row.start >= warmup;
        let complete = run.flows.iter().filter(complete).count();
        let open = open_sentence(&open_flows(run, warmup), complete, run.end);
        if wanted.is_empty() {
            let none = "no such flow or RPC began after the warm-up and is complete";
            let text = open.map_or(none.to_string(), |open| format!("{none}; {open}"));
            return Err(PyValueError::new_err(text));
        }
        let (signal, raised) = (OnceLock::<PyErr>::new(), Arc::new(PythonErrors::default()));
        let stop = || {
            let asked = Python::attach(|py| py.check_signals());
            raised.is() || asked.is_err_and(|error| signal.set(error).is_ok())
        };
        let rows = py.detach(|| {
            let name = self.folder.join("resolved.toml").display().to_string();
            let loaded = forebay_scenario::text(&name, &self.about.resolved_toml);
            let mut scenario = loaded.map_err(|problems| errors::refused("", problems))?.scenario;
            if let Some(why) = changed_object(&self.about, &scenario) {
                return Err(errors::refused("", why));
            }
            scenario.laws =
                Python::attach(|py| law::with_python(py, &scenario.laws, &self.laws, &raised));
            again(&scenario, run, &wanted, Options::default(), &stop)
                .map_err(|no| PyRuntimeError::new_err(no.to_string()))
        });
        if let Some(error) = signal.into_inner().or(raised.take()) {
            return Err(error);
        }
        let rows = rows?.rows;
        let all: Vec<&WhyRow> = rows.iter().collect();
        let said = sentences("slowest", &all, run, &self.about);
        let said: Vec<String> = open.into_iter().chain(said).collect();
        let record = RunRecord { seed: run.seed, why: rows, ..RunRecord::default() };
        let [flows, rpcs] = ["why", "why_rpcs"].map(|name| {
            let table = frame(name, std::slice::from_ref(&record), self.about.warmup);
            table.map(Table::new).ok_or_else(|| PyKeyError::new_err(name))
        });
        Ok((said, flows?, rpcs?))
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

/// Seeds of one scenario that are in directories of their own, as one run.
pub(crate) fn read_all(dirs: &[PathBuf]) -> PyResult<(RunStart, Vec<RunRecord>)> {
    let mut all: Option<(RunStart, Vec<RunRecord>)> = None;
    for dir in dirs {
        let (about, runs) = RunDir::load(dir).map_err(|error| errors::results(&error))?;
        match &mut all {
            None => all = Some((about, runs)),
            Some((first, there)) => {
                first.seeds.extend(about.seeds);
                there.extend(runs);
            }
        }
    }
    all.ok_or_else(|| errors::world("there is no run to read"))
}
