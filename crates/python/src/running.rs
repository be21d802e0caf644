//! Simulations under Python: the interpreter lock is released, signals are looked for, progress is handed over.
#![expect(clippy::disallowed_methods, reason = "only progress and volatile.json read the clock")]

use crate::errors;
use crate::law::{self, PythonErrors, PythonLaw};
use crate::results::Results;
use forebay_record::capture::CaptureFiles;
use forebay_record::law_logs::LawLogFiles;
use forebay_record::machine::{free_address_space, free_memory};
use forebay_record::{IfExists, RecordError, RunDir, RunRecord, RunStart, Volatile, save};
use forebay_scenario::LoadedScenario;
use forebay_scenario::model::Scenario;
use forebay_scenario::plan::Plan;
use forebay_sim::Options;
use forebay_study::Surroundings;
use forebay_study::about::{InPython, about_under, laws};
use forebay_study::estimate::{Estimate, Machine, Needs};
use forebay_study::expect;
use forebay_study::progress::{Pace, State, facts};
use forebay_study::seeds::{End, SeedOutput, View, Work, side_by_side};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How to run.
pub(crate) struct Run {
    pub threads: usize,
    pub jobs: Option<usize>,
    pub out: Option<PathBuf>,
    pub force: bool,
    pub tick: Option<Py<PyAny>>,
    pub started: String,
    pub command: String,
    /// Laws in Python.
    pub laws: Vec<PythonLaw>,
    /// Whether to start with too little memory or disk; `None`: neither is looked at.
    pub over_budget: Option<bool>,
}

/// Words that have work start in any case.
pub(crate) const OVER: &str = "over_budget=True";

/// This machine, for files at a place.
pub(crate) fn machine(place: Option<&Path>) -> Machine {
    let disk = place.and_then(forebay_cli::free_disk);
    let place = place.map_or(String::new(), |place| place.display().to_string());
    Machine { memory: free_memory(), space: free_address_space(), disk, place }
}

/// Warnings of too little memory or disk, or the refusal.
fn gate(scenario: &Scenario, how: &Run, jobs: usize) -> Result<Vec<String>, String> {
    let Some(over_budget) = how.over_budget else { return Ok(Vec::new()) };
    let plan = Plan::of(&scenario.fabric);
    let estimate = Estimate::of(scenario, &plan);
    let here = machine(how.out.as_deref());
    if let Some(why) = here.hopeless(scenario, &estimate) {
        return Err(why);
    }
    let estimate = here.measured(scenario, &plan, estimate);
    let mut needs = Needs::of_run(&estimate, scenario.seeds.len(), jobs);
    if how.out.is_none() {
        needs.disk = 0.0;
    }
    here.gate(&needs, over_budget, OVER)
}

/// What surrounds the simulations: this process, and a run directory where one is wanted.
struct RunSurroundings<'a> {
    began: Instant,
    stop: AtomicBool,
    signal: Mutex<Option<PyErr>>, // raised while rows were written
    warnings: Mutex<Vec<String>>,
    dir: Option<&'a Path>,
    about: &'a RunStart,
    raised: Arc<PythonErrors>,
}

impl Surroundings for RunSurroundings<'_> {
    fn clock(&self) -> Duration {
        self.began.elapsed()
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.raised.is()
    }

    fn warn(&self, text: &str) {
        let mut all = self.warnings.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !all.iter().any(|other| other == text) {
            all.push(text.into());
        }
    }

    fn captures(&self, seed: u64) -> CaptureFiles {
        CaptureFiles::new(self.dir.unwrap_or(Path::new("")), &self.about.scenario, seed)
    }

    fn may_save(&self) -> bool {
        self.dir.is_some()
    }

    fn save(&self, so_far: &RunRecord) -> Result<(), String> {
        let Some(dir) = self.dir else { return Ok(()) };
        save(dir, self.about, so_far, &|| self.stop()).map_err(|error| error.to_string())
    }

    fn law_logs(&self, seed: u64) -> LawLogFiles {
        LawLogFiles::new(self.dir.unwrap_or(Path::new("")), seed)
    }

    fn in_words(&self, error: &RecordError) -> String {
        error.to_string()
    }
}

impl RunSurroundings<'_> {
    /// Whether to stop, also for a signal that the interpreter has not looked at yet.
    fn asked(&self) -> bool {
        if !self.stop()
            && let Err(error) = Python::attach(|py| py.check_signals())
        {
            self.stop.store(true, Ordering::Relaxed);
            let mut signal = self.signal.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            signal.get_or_insert(error);
        }
        self.stop()
    }
}

/// Cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Progress is handed over this often at most.
const EVERY: Duration = Duration::from_millis(150);

/// Runs all seeds of a scenario.
pub(crate) fn run(
    py: Python<'_>,
    place: &str,
    loaded: &LoadedScenario,
    how: Run,
) -> PyResult<Results> {
    let scenario = &loaded.scenario;
    let bands =
        expect::bands(place, &loaded.expect).map_err(|problems| errors::refused("", problems.0))?;
    let in_python: Vec<InPython> = how.laws.iter().map(PythonLaw::facts).collect();
    let own = laws(scenario);
    if let Some(law) = in_python.iter().find(|law| !own.contains(&law.like)) {
        return Err(no_flow_under(&law.like, &own));
    }
    let about = about_under(scenario, &loaded.expect, &in_python);
    let writes = !scenario.output.captures.is_empty() || scenario.output.law_log.is_some();
    if how.out.is_none() && writes {
        return Err(PyValueError::new_err(
            "output.capture and output.law_log write files: give a directory for them, run(out=\"results/mine\")",
        ));
    }
    let threads = how.threads.clamp(1, cores());
    let jobs = how.jobs.unwrap_or_else(|| cores() / threads).clamp(1, scenario.seeds.len());
    let too_small =
        py.detach(|| gate(scenario, &how, jobs)).map_err(|why| errors::refused(place, why))?;
    let exists = if how.force { IfExists::Replace } else { IfExists::Refuse };
    let mut dir: Option<RunDir> = match &how.out {
        Some(out) => {
            Some(RunDir::create(out, &about, exists).map_err(|error| errors::results(&error))?)
        }
        None => None,
    };
    let at = dir.as_ref().map(|dir| dir.path().to_path_buf());
    let raised_by_laws = Arc::new(PythonErrors::default());
    let here = RunSurroundings {
        began: Instant::now(),
        stop: AtomicBool::new(false),
        signal: Mutex::default(),
        warnings: Mutex::default(),
        dir: at.as_deref(),
        about: &about,
        raised: raised_by_laws.clone(),
    };
    too_small.iter().for_each(|warning| here.warn(warning));
    let mut scenario = scenario.clone();
    scenario.laws = law::with_python(py, &scenario.laws, &how.laws, &raised_by_laws);
    let scenario = &scenario;
    let work =
        Work { scenario, options: Options { threads, ..Options::default() }, jobs, around: &here };
    let estimate = Estimate::of(scenario, &Plan::of(&scenario.fabric));
    let state = State::of(scenario, &estimate);

    let (mut runs, mut stalls): (Vec<RunRecord>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut pace, mut told, mut raised, mut failure) =
        (Pace::default(), here.began.elapsed(), None::<PyErr>, None);
    let end = py.detach(|| {
        let tick = |view: &View<'_>| {
            let state = State { stopping: here.stop(), ..state.at(view) };
            let now = here.began.elapsed();
            pace.add(now.as_secs_f64(), state.fraction(), state.packet_hops as f64);
            let due = now - told >= EVERY || view.ended.iter().all(|ended| *ended);
            let asked = Python::attach(|py| {
                py.check_signals()?;
                if let (Some(tick), true) = (&how.tick, due) {
                    told = now;
                    tick.call1(py, (facts(&state, &pace).to_string(),))?;
                }
                Ok(())
            });
            if let Err(error) = asked {
                here.stop.store(true, Ordering::Relaxed);
                raised.get_or_insert(error);
            }
        };
        side_by_side(&work, tick, |SeedOutput { mut outcome, captures }| {
            outcome.warnings.iter().for_each(|warning| here.warn(warning));
            let seed = outcome.record.seed;
            stalls.extend(outcome.stall.map(|why| format!("seed {seed} stalled: {why}")));
            let kept = match (&mut dir, captures) {
                (Some(dir), captures) => dir
                    .add_until(&mut outcome.record, &|| here.asked())
                    .and_then(|()| dir.captured(captures)),
                (None, _) => Ok(()),
            };
            runs.push(outcome.record);
            kept.map_err(|error| failure = Some(error)).is_ok()
        })
    });
    let wall_s = here.began.elapsed().as_secs_f64();
    let signal = here.signal.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    let raised = raised.or(signal);
    let nothing = runs.is_empty() && !matches!(end, End::Undeliverable);
    if nothing || matches!(end, End::Refused(_)) {
        dir.take().into_iter().for_each(RunDir::abandon);
    }
    if let Some(error) = raised_by_laws.take() {
        dir.take().into_iter().for_each(RunDir::abandon);
        return Err(error);
    }
    // What Python raised, but for Ctrl-C, is an error of the code that was called; Ctrl-C wants the results so far.
    if let Some(error) =
        raised.filter(|error| !error.is_instance_of::<PyKeyboardInterrupt>(py) || nothing)
    {
        return Err(error);
    }
    match end {
        End::Refused(why) => return Err(errors::refused(place, why)),
        End::Bug => {
            return Err(PyRuntimeError::new_err(
                "a simulation ended in a bug of Forebay's; please report it with the scenario",
            ));
        }
        End::Undeliverable => {
            let said =
                failure.map_or_else(|| errors::world("not written"), |e| errors::results(&e));
            return Err(said);
        }
        End::All | End::Interrupted => {}
    }
    if let Some(dir) = dir {
        let volatile = Volatile {
            wall_s,
            threads: (jobs * threads) as u32,
            started_utc: how.started,
            command: how.command,
            ..Volatile::default()
        };
        py.detach(|| dir.finish(&runs, volatile)).map_err(|error| errors::results(&error))?;
    }
    let warnings = here.warnings.into_inner().unwrap_or_default();
    let results = Results::new(about, runs, bands, [warnings, stalls].concat(), wall_s);
    Ok(results.under(how.laws).in_folder_of(place))
}

/// There is no flow that would be under a law in Python, which stands for `like`; of those that there are, these are the laws.
pub(crate) fn no_flow_under(like: &str, laws: &[String]) -> PyErr {
    let laws = laws.join(", ");
    PyValueError::new_err(format!(
        "laws: no flow of this scenario is under {like:?}; it has {laws}"
    ))
}
