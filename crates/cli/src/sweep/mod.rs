//! `forebay sweep`: every combination of `[sweep]` with every seed, each a run directory of its own.
//!
//! ```text
//! DIR/runs/HASH/        one combination and seed, named by the hash of its resolved scenario and the version
//! DIR/points/HASH/      one combination: summary.json and report.html over its seeds
//! DIR/sweep.csv, .json  one row for each combination
//! DIR/index.html        the same with charts and links
//! ```
//!
//! Invariant: a directory under `runs` has its name only if it is complete, because a run is written under another
//! name and renamed. So whatever is killed, and whenever, the next sweep finds what is done, does the rest, and ends
//! with the same bytes (but for each `volatile.json`).

mod lifeline;
mod pool;
mod worker;

pub use worker::worker;

use crate::args::Sweep;
use crate::failure::{self, Failure};
use crate::machine::cores;
use crate::place::file_name;
use crate::progress::Meter;
use crate::run::{missed, threads};
use crate::{human, interrupt, machine, say};
use forebay_record::{RecordError, RunDir, RunRecord};
use forebay_study::estimate::Needs;
use forebay_study::sweep::{Plan, Row, Store, Tables, is_done, terminal};
use pool::{Pool, Verdict};
use serde_json::json;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The verb.
pub fn sweep(args: &Sweep) -> Result<(), Failure> {
    let loaded = args.input.load()?;
    loaded.notes.iter().for_each(|note| say::note(note));
    let seeds = args.seeds.chosen()?;
    let (fixed, name) = (&args.input.set, args.input.name());
    interrupt::listen(); // before there is a folder to leave behind
    let plan = Arc::new(Plan::of(loaded, fixed, seeds.as_deref(), Vec::new(), &name, |point| {
        match interrupt::requested() {
            // Thousands of points take seconds to lay out.
            true => Err(Failure::Interrupted(
                "interrupted before the first run; nothing is left".into(),
            )),
            false => args.input.load_point(point),
        }
    })?);
    let dir = args.out.clone().unwrap_or_else(|| default_dir(&plan.name));
    let threads = threads(args.threads);
    let jobs = args.jobs.unwrap_or_else(|| (cores() / threads).max(1));
    // Before there is a folder to leave behind.
    let looked = Home { dir: dir.clone(), _lock: None };
    let left: Vec<_> = plan.runs.iter().filter(|run| !is_done(&looked, run)).collect();
    let too_small = machine::here(&dir)
        .gate(&Needs::of_sweep(&plan, &left, jobs), args.over_budget, "--over-budget")
        .map_err(|why| Failure::Input(format!("{}: {why}", args.input.name())))?;
    too_small.iter().for_each(|warning| say::warning(warning));
    let home = Home::open(dir)?;
    let meter = Meter::new(args.show);

    let (done, todo): (Vec<_>, Vec<_>) = plan.runs.iter().partition(|run| is_done(&home, run));
    if plan.keys.is_empty() && !args.show.quiet {
        say::note(&format!("{} has no [sweep]; this is its one point", args.input.name()));
    }
    if !done.is_empty() && !args.show.quiet {
        say::note(&format!(
            "{} of {} were done before; {} to go",
            done.len(),
            human::counted(plan.runs.len(), "run"),
            todo.len()
        ));
    }
    let facts = json!({
        "scenario": plan.name, "points": plan.points.len(), "runs": plan.runs.len(),
        "runs_done_before": done.len(), "jobs": jobs, "threads": threads, "out": home.dir,
    });
    meter.event("start", &facts);
    meter.sentence(&format!(
        "{}: {} of {}, {jobs} at a time, into {}",
        plan.name,
        human::counted(todo.len(), "run"),
        human::counted(plan.points.len(), "point"),
        home.dir.display()
    ));
    let mut tables = Tables::begin(&home, plan.clone())?;
    let base = args.input.folder();
    let pool = Pool { home: &home, name: &plan.name, base, threads, jobs };
    let Verdict { failures, stopped } =
        pool.run(&todo, meter, |run| tables.add(&home, run.hash.as_str()))?;
    home.tidy();
    let rows = tables.finish(&home)?;
    print(args, &home, &rows)?;

    if stopped {
        let done = plan.runs.iter().filter(|run| is_done(&home, run)).count();
        return Err(Failure::Interrupted(format!(
            "interrupted: {done} of {} complete in {}; the same command continues from there",
            human::counted(plan.runs.len(), "run"),
            home.dir.display()
        )));
    }
    if !failures.is_empty() {
        failures.iter().for_each(|failure| say::error(failure));
        return Err(Failure::Run(format!(
            "{} of {} failed; the same command tries them again",
            failures.len(),
            human::counted(plan.runs.len(), "run")
        )));
    }
    let misses: Vec<String> = rows.iter().flat_map(|row| row.misses.iter().cloned()).collect();
    missed(&misses, rows.iter().map(|row| row.bands).sum())
}

/// Default folder for the sweep of a scenario.
pub fn default_dir(scenario: &str) -> PathBuf {
    Path::new("results").join(format!("{}-sweep", file_name(scenario)))
}

fn print(args: &Sweep, home: &Home, rows: &[Row]) -> Result<(), Failure> {
    if args.json {
        let path = home.dir.join("sweep.json");
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Failure::io(format!("read {}", path.display()), &error))?;
        return say::data(&text);
    }
    if args.show.quiet {
        return Ok(());
    }
    let mut text = terminal(rows);
    text.push_str(&format!("\n{}\n", home.dir.join("index.html").display()));
    say::data(&text)
}

/// The directory of a sweep, held by this process alone.
pub struct Home {
    pub dir: PathBuf,
    /// Unlocked by the system when this process ends, however it ends. `None`: nothing is written.
    _lock: Option<File>,
}

impl Home {
    fn open(dir: PathBuf) -> Result<Self, Failure> {
        if dir.join("manifest.json").exists() {
            return Err(Failure::Input(format!(
                "{} is the results directory of a single run; name another with --out",
                dir.display()
            )));
        }
        let runs = dir.join("runs");
        std::fs::create_dir_all(&runs)
            .map_err(|error| Failure::io(format!("create {}", runs.display()), &error))?;
        let path = dir.join("sweep.lock");
        let lock = File::create(&path)
            .map_err(|error| Failure::io(format!("write {}", path.display()), &error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::Input(format!(
                    "another sweep is at work in {}; wait for it, or name another directory with --out",
                    dir.display()
                )));
            }
            Err(TryLockError::Error(error)) => {
                return Err(Failure::io(format!("lock {}", path.display()), &error));
            }
        }
        let home = Self { dir, _lock: Some(lock) };
        home.tidy();
        Ok(home)
    }

    /// Where a complete run is.
    pub fn run_dir(&self, hash: &str) -> PathBuf {
        self.dir.join("runs").join(hash)
    }

    /// Where a run is while it is written. The process is in the name, so that what an orphan of a killed sweep
    /// still writes belongs to that process alone.
    pub fn part_dir(&self, hash: &str) -> PathBuf {
        self.dir.join("runs").join(format!("{hash}.{}.part", std::process::id()))
    }

    /// Removes what killed runs left behind.
    fn tidy(&self) {
        let entries = std::fs::read_dir(self.dir.join("runs")).into_iter().flatten().flatten();
        for entry in entries.filter(|e| e.file_name().to_string_lossy().contains(".part")) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

impl Store for Home {
    type Error = Failure;

    fn manifest(&self, run: &str) -> Option<Vec<u8>> {
        std::fs::read(self.run_dir(run).join("manifest.json")).ok()
    }

    fn load(&self, run: &str) -> Result<Vec<RunRecord>, Failure> {
        let dir = self.run_dir(run);
        RunDir::load(&dir).map(|(_, records)| records).map_err(|error| damaged(&error, &dir))
    }

    /// Writes a whole file under another name first, so that no reader sees half of it.
    fn put(&self, path: &str, text: &str) -> Result<(), Failure> {
        let path = self.dir.join(path);
        let part = path.with_extension("part");
        path.parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&part, text))
            .and_then(|()| std::fs::rename(&part, &path))
            .map_err(|error| Failure::io(format!("write {}", path.display()), &error))
    }
}

/// One run that cannot be read, and what to do about it.
fn damaged(error: &RecordError, dir: &Path) -> Failure {
    Failure::Run(format!(
        "{}; this run is damaged: remove {} and sweep again, which simulates it again and keeps the others",
        failure::without_os_error(&error.to_string()),
        dir.display()
    ))
}
