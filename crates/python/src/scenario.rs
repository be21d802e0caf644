//! A scenario as Python holds it: text, settings on top, and what they come to. It never changes; a setting gives a new one.

use crate::errors;
use crate::law::PythonLaw;
use crate::results::Results;
use crate::running::{Run, run};
use forebay_scenario::plan::Plan;
use forebay_scenario::{LoadedScenario, presets as built_in, resolved_with, text_with};
use forebay_study::estimate::Estimate;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;

/// A checked scenario.
#[pyclass(frozen, module = "forebay._core")]
#[derive(Clone)]
pub struct Scenario {
    /// For sentences; files that the scenario names are sought in its folder.
    pub(crate) place: String,
    pub(crate) text: String,
    pub(crate) sets: Vec<(String, String)>,
    pub(crate) loaded: LoadedScenario,
}

impl Scenario {
    pub(crate) fn read(place: String, text: String, sets: Vec<(String, String)>) -> PyResult<Self> {
        let loaded = text_with(&place, &text, &sets).map_err(|error| errors::scenario(&error))?;
        Ok(Self { place, text, sets, loaded })
    }

    /// The scenario with these seeds in place of its own.
    pub(crate) fn with_seeds(&self, seeds: Option<Vec<u64>>) -> PyResult<LoadedScenario> {
        let mut loaded = self.loaded.clone();
        if let Some(seeds) = seeds {
            check_seeds(&seeds)?;
            loaded.scenario.seeds = seeds;
        }
        Ok(loaded)
    }
}

fn check_seeds(seeds: &[u64]) -> PyResult<()> {
    let twice = seeds.iter().enumerate().find(|(i, seed)| seeds[..*i].contains(seed));
    match (twice, seeds.iter().find(|seed| **seed > i64::MAX as u64)) {
        _ if seeds.is_empty() => {
            Err(PyValueError::new_err("seeds: there is none; give a number of them or a list"))
        }
        (Some((_, twice)), _) => {
            Err(PyValueError::new_err(format!("seeds: {twice} is there twice; give each once")))
        }
        (_, Some(large)) => {
            Err(PyValueError::new_err(format!("seeds: {large} is above {}", i64::MAX)))
        }
        _ => Ok(()),
    }
}

#[pymethods]
impl Scenario {
    /// Of TOML text; `place` stands for it in sentences.
    #[new]
    fn new(place: String, text: String, sets: Vec<(String, String)>) -> PyResult<Self> {
        Self::read(place, text, sets)
    }

    /// Of a file.
    #[staticmethod]
    fn open(path: PathBuf) -> PyResult<Self> {
        let text = std::fs::read_to_string(&path).map_err(|error| {
            PyOSError::new_err((error.raw_os_error(), error.to_string(), path.clone()))
        })?;
        Self::read(path.display().to_string(), text, Vec::new())
    }

    /// The scenario with more settings, their values as TOML text.
    fn with_settings(&self, more: Vec<(String, String)>) -> PyResult<Self> {
        let mut sets = self.sets.clone();
        sets.retain(|(key, _)| more.iter().all(|(other, _)| other != key));
        sets.extend(more);
        Self::read(self.place.clone(), self.text.clone(), sets)
    }

    /// What it takes to make it again: place, text and settings.
    fn parts(&self) -> (String, String, Vec<(String, String)>) {
        (self.place.clone(), self.text.clone(), self.sets.clone())
    }

    #[getter]
    fn name(&self) -> &str {
        &self.loaded.scenario.name
    }

    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.loaded.scenario.seeds.clone()
    }

    /// The full scenario with all defaults filled in, as TOML.
    #[getter]
    fn resolved(&self) -> String {
        resolved_with(&self.loaded.scenario, &self.loaded.expect)
    }

    /// What the reader of the file should know, though nothing is wrong.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.loaded.notes.clone()
    }

    /// Keys of `[sweep]` and their values as TOML text.
    #[getter]
    fn sweep(&self) -> Vec<(String, Vec<String>)> {
        self.loaded.sweep.clone()
    }

    /// Forecast of one seed: seconds of one core, bytes of memory for one simulation, flows, packet-hops.
    fn estimate(&self) -> (f64, f64, f64) {
        let scenario = &self.loaded.scenario;
        let estimate = Estimate::measured(scenario, &Plan::of(&scenario.fabric));
        (estimate.cpu_s, estimate.memory(1, 1), estimate.flows)
    }

    /// Simulates. `tick` is called a few times a second with JSON of how far it is.
    #[pyo3(signature = (seeds, threads, jobs, out, force, tick, started, command, laws, over_budget))]
    #[expect(clippy::too_many_arguments, reason = "the Python half gives them names")]
    fn run(
        &self,
        py: Python<'_>,
        seeds: Option<Vec<u64>>,
        threads: usize,
        jobs: Option<usize>,
        out: Option<PathBuf>,
        force: bool,
        tick: Option<Py<PyAny>>,
        started: String,
        command: String,
        laws: Vec<PythonLaw>,
        over_budget: bool,
    ) -> PyResult<Results> {
        let loaded = self.with_seeds(seeds)?;
        let over_budget = Some(over_budget);
        let how = Run { threads, jobs, out, force, tick, started, command, laws, over_budget };
        run(py, &self.place, &loaded, how)
    }
}

/// Names of the scenarios that come with the package, with title and text.
#[pyfunction]
pub fn presets() -> Vec<(&'static str, &'static str, &'static str)> {
    built_in::all().map(|preset| (preset.name, preset.title(), preset.text)).collect()
}
