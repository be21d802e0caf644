//! Sweeps from Python: the plan, the tables and the run of one point, in the folders that `forebay sweep` makes and goes on with.
//!
//! Who runs what, and where, is Python's: any `concurrent.futures.Executor`.

use crate::errors;
use crate::law::PythonLaw;
use crate::running::{OVER, Run, machine, no_flow_under, run};
use forebay_record::{RecordError, RunDir, RunRecord, write_whole};
use forebay_scenario::{LoadedScenario, around, text, text_with};
use forebay_study::about::{self, InPython};
use forebay_study::estimate::Needs;
use forebay_study::expect::Problems;
use forebay_study::sweep::{Plan, Store, Tables, is_done, terminal};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// The folder of a sweep. Python holds its lock.
struct Folder(PathBuf);

impl Store for Folder {
    type Error = RecordError;

    fn manifest(&self, run: &str) -> Option<Vec<u8>> {
        std::fs::read(self.0.join("runs").join(run).join("manifest.json")).ok()
    }

    fn load(&self, run: &str) -> Result<Vec<RunRecord>, RecordError> {
        RunDir::load(&self.0.join("runs").join(run)).map(|(_, records)| records)
    }

    fn put(&self, path: &str, text: &str) -> Result<(), RecordError> {
        let path = self.0.join(path);
        if let Some(parent) = path.parent() {
            // If that fails, so does the next line, which says why.
            let _ = std::fs::create_dir_all(parent);
        }
        write_whole(&path, text)
    }
}

/// Why there is no plan.
enum Refusal {
    Scenario(forebay_scenario::Error),
    Expect(Problems),
}

impl From<forebay_scenario::Error> for Refusal {
    fn from(error: forebay_scenario::Error) -> Self {
        Self::Scenario(error)
    }
}

impl From<Problems> for Refusal {
    fn from(problems: Problems) -> Self {
        Self::Expect(problems)
    }
}

/// A sweep: what there is to run, and the tables of what has been.
#[pyclass(frozen, module = "forebay._core")]
pub struct Sweep {
    folder: Folder,
    place: String, // begins sentences
    plan: Arc<Plan>,
    tables: Mutex<Option<Tables>>,
}

#[pymethods]
impl Sweep {
    /// Of a scenario's text with settings; `grid` is in place of its `[sweep]`, keys and values as TOML text.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "the Python half gives them names")]
    fn new(
        py: Python<'_>,
        place: &str,
        source: &str,
        sets: Vec<(String, String)>,
        grid: Option<Vec<(String, Vec<String>)>>,
        seeds: Option<Vec<u64>>,
        laws: Vec<PythonLaw>,
        dir: PathBuf,
    ) -> PyResult<Self> {
        let laws: Vec<InPython> = laws.iter().map(PythonLaw::facts).collect();
        let made = py.detach(|| plan(place, source, sets, grid, seeds.as_deref(), laws));
        let plan = made.map_err(|why| match why {
            Refusal::Scenario(error) => errors::scenario(&error),
            Refusal::Expect(problems) => errors::refused("", problems.0),
        })?;
        let there: BTreeSet<String> =
            plan.points.iter().flat_map(|point| about::laws(&point.scenario)).collect();
        if let Some(law) = plan.laws.iter().find(|law| !there.contains(&law.like)) {
            return Err(no_flow_under(&law.like, &there.into_iter().collect::<Vec<_>>()));
        }
        let (folder, place) = (Folder(dir), place.to_string());
        Ok(Self { folder, place, plan: Arc::new(plan), tables: Mutex::new(None) })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.plan.name
    }

    #[getter]
    fn keys(&self) -> Vec<String> {
        self.plan.keys.clone()
    }

    /// How many combinations of values there are.
    #[getter]
    fn points(&self) -> usize {
        self.plan.points.len()
    }

    /// What there is to simulate: name of its folder, title, scenario, and whether it is complete.
    fn runs(&self) -> Vec<(String, String, String, bool)> {
        let one = |run: &forebay_study::sweep::Run| {
            (run.hash.clone(), run.title.clone(), run.text.clone(), is_done(&self.folder, run))
        };
        self.plan.runs.iter().map(one).collect()
    }

    /// Sentences about too little memory or disk for so many runs at a time.
    fn budget(&self, py: Python<'_>, jobs: usize, over_budget: bool) -> PyResult<Vec<String>> {
        let gate = || {
            let all = self.plan.runs.iter();
            let left: Vec<_> = all.filter(|run| !is_done(&self.folder, run)).collect();
            let needs = Needs::of_sweep(&self.plan, &left, jobs);
            machine(Some(&self.folder.0)).gate(&needs, over_budget, OVER)
        };
        py.detach(gate).map_err(|why| errors::refused(&self.place, why))
    }

    /// Writes the tables of what is complete.
    fn begin(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            *self.tables() = Some(Tables::begin(&self.folder, self.plan.clone())?);
            Ok(())
        })
        .map_err(|error: RecordError| errors::results(&error))
    }

    /// A run is complete; its point may be.
    fn add(&self, py: Python<'_>, run: &str) -> PyResult<()> {
        let added = py.detach(|| match self.tables().as_mut() {
            Some(tables) => tables.add(&self.folder, run),
            None => Ok(()),
        });
        added.map_err(|error| errors::results(&error))
    }

    /// Writes the tables for the last time, and gives them as for a terminal, and sentences of bands that are missed.
    fn finish(&self, py: Python<'_>) -> PyResult<(String, Vec<String>)> {
        let finished = py.detach(|| match self.tables().take() {
            Some(tables) => tables.finish(&self.folder),
            None => Ok(Vec::new()),
        });
        let rows = finished.map_err(|error| errors::results(&error))?;
        let misses = rows.iter().flat_map(|row| row.misses.iter().cloned()).collect();
        Ok((terminal(&rows), misses))
    }
}

impl Sweep {
    fn tables(&self) -> std::sync::MutexGuard<'_, Option<Tables>> {
        self.tables.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn plan(
    place: &str,
    source: &str,
    mut sets: Vec<(String, String)>,
    grid: Option<Vec<(String, Vec<String>)>>,
    seeds: Option<&[u64]>,
    laws: Vec<InPython>,
) -> Result<Plan, Refusal> {
    if let Some(grid) = &grid {
        sets.retain(|(key, _)| grid.iter().all(|(swept, _)| swept != key));
        let list = |(key, values): &(String, Vec<String>)| {
            format!("{} = [{}]", serde_json::Value::from(key.as_str()), values.join(", "))
        };
        let table = grid.iter().map(list).collect::<Vec<_>>().join(", ");
        sets.push(("sweep".into(), format!("{{ {table} }}")));
    }
    let loaded = text_with(place, source, &sets)?;
    let load = |point: &[(String, String)]| -> Result<LoadedScenario, Refusal> {
        Ok(text_with(place, source, &around(&sets, point))?)
    };
    let fixed = if grid.is_some() { &[][..] } else { &sets[..] };
    Plan::of(loaded, fixed, seeds, laws, place, load)
}

/// Simulates one run of a sweep into a folder of its own, and gives what a reader should know. Of `laws` those count that
/// stand for one of its own.
#[pyfunction]
pub fn simulate_run(
    py: Python<'_>,
    resolved: &str,
    mut base: PathBuf,
    out: PathBuf,
    threads: usize,
    started: String,
    mut laws: Vec<PythonLaw>,
) -> PyResult<Vec<String>> {
    base.push("resolved.toml"); // files that the scenario names are sought in this folder
    let loaded =
        text(&base.to_string_lossy(), resolved).map_err(|error| errors::scenario(&error))?;
    let own = about::laws(&loaded.scenario);
    laws.retain(|law| own.contains(&law.facts().like));
    let how = Run {
        threads,
        jobs: Some(1),
        out: Some(out.clone()),
        force: false,
        tick: None,
        started,
        command: String::new(),
        laws,
        over_budget: None,
    };
    let results = run(py, "", &loaded, how)?;
    if results.runs.iter().any(|run| run.interrupted) {
        // Half a run is of no use; the next sweep makes the run again.
        let _ = std::fs::remove_dir_all(&out);
        return Err(PyKeyboardInterrupt::new_err("the run was interrupted"));
    }
    Ok(results.warnings)
}
