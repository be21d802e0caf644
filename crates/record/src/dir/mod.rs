//! A run directory: tables, summary, manifest and report of one run.
//!
//! Tables grow under temporary names while seeds finish and can be read at any time; every file
//! gets its name only when it is whole, the manifest last, and then the directory its own ([`life`]).
//! Invariant: the bytes of all files but `volatile.json` are a function of scenario, seeds and version.

mod contents;
mod life;
mod manifest;
mod progress;
mod read;
mod unfinished;

pub use life::{IfExists, partial_of};
pub use manifest::MANIFEST_FORMAT;
pub use progress::{Life, Progress, SeedProgress, life_of};
pub use unfinished::{Unfinished, save};

use crate::about::{RunStart, Volatile};
use crate::capture::CaptureFile;
use crate::columnar;
use crate::columns::{HOSTS, RUNS, SAMPLES, TABLES, TableOf, WHY, WHY_RPCS};
use crate::csv::Table;
pub use crate::csv::write_whole;
use crate::error::RecordError;
use crate::human;
use crate::rows::RunRecord;
use crate::rows::{Subject, WhyRow};
use crate::summary::{Status, Summary};
use life::Claim;
use manifest::{FileRows, Manifest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A table without a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmptyTable {
    /// The file.
    pub file: String,
    /// Why it is empty.
    pub reason: String,
    /// The key of the scenario that would change that.
    pub key: String,
}

impl std::fmt::Display for EmptyTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} has no rows: {}; see {}", self.file, self.reason, self.key)
    }
}

/// A run that has been written.
#[derive(Clone, Debug)]
pub struct WrittenRun {
    /// What it came to.
    pub summary: Summary,
    /// Tables without rows, to warn of.
    pub empty: Vec<EmptyTable>,
    /// How fast it ran, the rate filled in.
    pub volatile: Volatile,
    /// Path of the report.
    pub report: PathBuf,
    /// Captures in the directory.
    pub captures: Vec<CaptureFile>,
}

/// A run directory that is being written.
pub struct RunDir {
    claim: Option<Claim>, // none for tables alone
    path: PathBuf,        // while it is written
    about: RunStart,
    tables: Option<Vec<Option<Table>>>, // those of `TABLES`, some from the first simulation on that has such rows
    added: Vec<u64>,                    // seeds, in the order of `about.seeds`
    captures: Vec<CaptureFile>,
}

impl RunDir {
    /// Claims the directory, makes its parents, and begins all files in [`partial_of`] it.
    ///
    /// # Errors
    /// If another run is at work there, if it holds a run or the rest of one and `if_exists` refuses, if it holds
    /// other files and no run, or if the system refuses.
    pub fn create(path: &Path, about: &RunStart, if_exists: IfExists) -> Result<Self, RecordError> {
        let claim = Claim::take(path, if_exists)?;
        let path = claim.work.clone();
        // The manifest first: it is what makes this a run directory.
        write_json(&path.join("manifest.json"), &Manifest::new(about))?;
        write_whole(&path.join("resolved.toml"), &about.resolved_toml)?;
        Self::begin(Some(claim), path, about)
    }

    /// Begins the tables.
    fn begin(claim: Option<Claim>, path: PathBuf, about: &RunStart) -> Result<Self, RecordError> {
        let begun = |table: &&dyn TableOf| match table.always() {
            true => Table::create(&path, table.file(), &table.header()).map(Some),
            false => Ok(None),
        };
        let tables = Some(TABLES.iter().map(begun).collect::<Result<_, _>>()?);
        Ok(Self {
            path,
            claim,
            about: about.clone(),
            tables,
            added: Vec::new(),
            captures: Vec::new(),
        })
    }

    /// The directory while it is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a simulation, in the order of `about.seeds`. Its rows are on disk when this returns. A seed that is left out is
    /// missing, as one that an interrupt stopped before it began.
    ///
    /// # Errors
    /// If it is out of turn or the system refuses. In the latter case the whole rows written so far
    /// are left under the final names, and the directory takes no more.
    pub fn add(&mut self, run: &RunRecord) -> Result<(), RecordError> {
        self.turn(run)?;
        let never = || false;
        let written = self
            .put(run, |file| file != RUNS.file, &never)
            .and_then(|_| self.put(run, |file| file == RUNS.file, &never))
            .map(|_| ());
        self.added(run.seed, written)
    }

    /// Adds a simulation whose samples may be many, as [`RunDir::add`] does. `stop` is asked now and then; from when it says so, each table of samples takes
    /// some more rows, and the others are left out, of the simulation too, which then counts as interrupted.
    ///
    /// # Errors
    /// As [`RunDir::add`].
    pub fn add_until(
        &mut self,
        run: &mut RunRecord,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), RecordError> {
        self.turn(run)?;
        let written = self.put(run, |file| file != RUNS.file, stop).and_then(|cut| {
            run.interrupted |= !cut.is_empty();
            cut.into_iter().for_each(|(table, rows)| run.keep(table, rows));
            self.put(run, |file| file == RUNS.file, stop)
        });
        self.added(run.seed, written.map(|_| ()))
    }

    /// Whether it is a simulation's turn.
    fn turn(&self, run: &RunRecord) -> Result<(), RecordError> {
        let place = |wanted: u64| self.about.seeds.iter().position(|seed| *seed == wanted);
        let next = self.added.last().and_then(|last| place(*last)).map_or(0, |at| at + 1);
        if place(run.seed).is_none_or(|at| at < next) {
            let expected = self.about.seeds.get(next).copied();
            return Err(RecordError::Order { seed: run.seed, expected });
        }
        Ok(())
    }

    /// Writes the rows of a simulation in some tables. A seed counts once it has a row in the table of runs, so that comes last. Tables of samples that
    /// were cut, and how many of its rows they have.
    fn put(
        &mut self,
        run: &RunRecord,
        some: impl Fn(&str) -> bool,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<(&'static str, u64)>, RecordError> {
        let Some(tables) = &mut self.tables else {
            return Err(closed(&self.path));
        };
        let (path, warmup, first) = (&self.path, self.about.warmup, self.added.is_empty());
        let mut cut = Vec::new();
        for (of, table) in TABLES.iter().zip(tables) {
            let file = of.file();
            if !some(file) || (!first && file == HOSTS.file) {
                continue;
            }
            if table.is_none() && of.any(run) {
                *table = Some(Table::create(path, file, &of.header())?);
            }
            let Some(table) = table else { continue };
            let before = (table.rows(), table.left_out());
            let never = || false;
            of.write(table, run, warmup, if SAMPLES.contains(&file) { stop } else { &never })?;
            if table.left_out() > before.1 {
                cut.push((file, table.rows() - before.0));
            }
        }
        Ok(cut)
    }

    /// After the rows of a simulation.
    fn added(&mut self, seed: u64, written: Result<(), RecordError>) -> Result<(), RecordError> {
        self.added.push(seed);
        let written = written.and_then(|()| unfinished::forget(&self.path, seed));
        if written.is_err() {
            self.salvage();
        }
        written
    }

    /// Rows of samples that an interrupt left out so far, by table.
    pub fn left_out(&self) -> Vec<(&'static str, u64)> {
        let tables = TABLES.iter().zip(self.tables.iter().flatten());
        let cut = tables.filter_map(|(of, table)| Some((of.file(), table.as_ref()?.left_out())));
        cut.filter(|(_, rows)| *rows > 0).collect()
    }

    /// Notes the captures of a simulation that was added, so that the manifest names them.
    ///
    /// # Errors
    /// If they failed; the directory is left as after a failed [`RunDir::add`].
    pub fn captured(
        &mut self,
        files: Result<Vec<CaptureFile>, RecordError>,
    ) -> Result<(), RecordError> {
        match files {
            Ok(files) => self.captures.extend(files),
            Err(error) => {
                self.salvage();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Writes summary, report and manifest, and gives the directory its name. `runs` are the simulations that were added, in order;
    /// fewer than there are seeds, or interrupted ones, mark the whole run as interrupted.
    ///
    /// # Errors
    /// If the system refuses.
    ///
    /// # Panics
    /// If `runs` are not those that were added.
    pub fn finish(
        mut self,
        runs: &[RunRecord],
        mut volatile: Volatile,
    ) -> Result<WrittenRun, RecordError> {
        assert!(
            runs.iter().map(|run| run.seed).eq(self.added.iter().copied()),
            "the summary is of the runs that were recorded"
        );
        let mut manifest = Manifest::new(&self.about);
        manifest.files = self.finish_tables()?;
        unfinished::forget_all(&self.path)?;
        if let Some(format) = self.about.columnar {
            columnar::export(&self.path, format, runs, self.about.warmup)?;
        }
        let summary = Summary::of(&self.about, runs);
        manifest.empty_files = empty_tables(&manifest.files, runs);
        let row = |c: &CaptureFile| FileRows { file: c.file.clone(), rows: c.frames, left_out: 0 };
        manifest.files.extend(self.captures.iter().map(row));
        manifest.digest = Some(summary.digest.clone());
        manifest.status = match summary.status {
            Status::Complete => "complete".into(),
            Status::Unfinished => "unfinished".into(),
            Status::Interrupted => "interrupted".into(),
            Status::Stalled => "stalled".into(),
        };
        write_json(&self.path.join("summary.json"), &summary)?;
        let report = self.path.join("report.html");
        write_whole(&report, crate::report::render(&self.about, &summary, runs))?;
        if volatile.packet_hops_per_s.is_none() && volatile.wall_s > 0.0 {
            volatile.packet_hops_per_s = Some(summary.network.packet_hops as f64 / volatile.wall_s);
        }
        write_json(&self.path.join("volatile.json"), &volatile)?;
        write_json(&self.path.join("manifest.json"), &manifest)?;
        let (captures, mut report) = (self.captures, report);
        if let Some(claim) = self.claim {
            report = claim.target().join("report.html");
            progress::forget(&self.path);
            claim.publish()?;
        }
        Ok(WrittenRun { summary, empty: manifest.empty_files, volatile, report, captures })
    }

    /// Gives the tables their names.
    fn finish_tables(&mut self) -> Result<Vec<FileRows>, RecordError> {
        let tables = self.tables.take().ok_or_else(|| closed(&self.path))?;
        let mut files = Vec::new();
        for (of, table) in TABLES.iter().zip(tables) {
            if let Some(table) = table {
                let left_out = table.left_out();
                files.push(FileRows { file: of.file().into(), rows: table.finish()?, left_out });
            }
        }
        Ok(files)
    }

    /// Removes what has been written, where nothing came of the run.
    pub fn abandon(self) {
        if let Some(claim) = self.claim {
            claim.abandon();
        }
    }

    /// After a failed write: gives the tables their names and marks the run as failed, as far
    /// as the system lets us. Where it does not, the manifest keeps saying `running`, which no
    /// finished run does. The directory keeps the name of one that is not whole.
    fn salvage(&mut self) {
        for table in self.tables.take().into_iter().flatten().flatten() {
            table.salvage();
        }
        let manifest = Manifest { status: "failed".into(), ..Manifest::new(&self.about) };
        let _ = write_json(&self.path.join("manifest.json"), &manifest);
    }

    /// Reads `summary.json` of a run directory.
    ///
    /// # Errors
    /// If it is not there or not of this format.
    pub fn load_summary(path: &Path) -> Result<Summary, RecordError> {
        read::summary(path)
    }

    /// Reads a run directory back. Seeds without a row in `runs.csv` are left out; a run still being
    /// written is read as far as it has come.
    ///
    /// # Errors
    /// If a file is not there or not of this format.
    pub fn load(path: &Path) -> Result<(RunStart, Vec<RunRecord>), RecordError> {
        read::run_dir(path)
    }

    /// What a directory lacks whose run has not come to its end; `None` for one that has.
    ///
    /// # Errors
    /// If its manifest cannot be read.
    pub fn unfinished(path: &Path, runs: &[RunRecord]) -> Result<Option<Unfinished>, RecordError> {
        let manifest = read::manifest(path)?;
        if !["running", "failed"].contains(&manifest.status.as_str()) {
            return Ok(None);
        }
        let there = |seed: &u64| runs.iter().any(|run| run.seed == *seed);
        Ok(Some(Unfinished {
            at_work: life::at_work(path),
            whole: runs.iter().filter(|run| !run.interrupted).map(|run| run.seed).collect(),
            cut: runs.iter().filter(|run| run.interrupted).map(|r| (r.seed, r.end)).collect(),
            missing: manifest.seeds.iter().copied().filter(|seed| !there(seed)).collect(),
        }))
    }

    /// Draws `report.html` anew from the tables and returns its path.
    ///
    /// # Errors
    /// If a file cannot be read or the report not written.
    pub fn redraw(path: &Path) -> Result<PathBuf, RecordError> {
        let (about, runs) = Self::load(path)?;
        let report = path.join("report.html");
        Self::draw(&report, &about, &runs)?;
        Ok(report)
    }

    /// Adds what was found out about flows and RPCs of a seed to `why.csv` and `why_rpcs.csv`, in place of what these have of them, and
    /// draws the report anew.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn explain(path: &Path, seed: u64, rows: Vec<WhyRow>) -> Result<(), RecordError> {
        let (about, mut runs) = Self::load(path)?;
        let fresh: BTreeSet<Subject> = rows.iter().map(|row| row.of).collect();
        for run in runs.iter_mut().filter(|run| run.seed == seed) {
            run.why.retain(|row| !fresh.contains(&row.of));
            run.why.extend(rows.iter().cloned());
            run.why.sort_by_key(|row| row.of); // stable: rows of a flow stay in order
        }
        let mut manifest = read::manifest(path)?;
        for of in [&WHY, &WHY_RPCS].into_iter().filter(|of| runs.iter().any(|run| of.any(run))) {
            let mut table = Table::create(path, of.file, &of.header())?;
            let never = || false;
            runs.iter().try_for_each(|run| of.write(&mut table, run, about.warmup, &never))?;
            manifest.files.retain(|other| other.file != of.file);
            let (file, rows) = (of.file.into(), table.finish()?);
            manifest.files.push(FileRows { file, rows, left_out: 0 });
        }
        write_json(&path.join("manifest.json"), &manifest)?;
        Self::draw(&path.join("report.html"), &about, &runs)
    }

    /// Draws the report of runs that were read back into a file.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn draw(file: &Path, about: &RunStart, runs: &[RunRecord]) -> Result<(), RecordError> {
        let summary = Summary::of(about, runs);
        write_whole(file, crate::report::render(about, &summary, runs))
    }
}

fn closed(path: &Path) -> RecordError {
    let source = std::io::Error::other("an earlier write failed");
    RecordError::io("write", path, source)
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), RecordError> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| RecordError::io("write", path, error.into()))?;
    text.push('\n');
    write_whole(path, &text)
}

/// Why tables have no rows, and what to set.
fn empty_tables(files: &[FileRows], runs: &[RunRecord]) -> Vec<EmptyTable> {
    let not_started: u64 = runs.iter().map(|run| run.not_started).sum();
    let explain = |file: &str| match file {
        _ if runs.is_empty() => ("no simulation finished".to_string(), "stop.time"),
        "flows.csv" if not_started > 0 => (
            format!("none of {} flows had started by the end", human::count(not_started)),
            "stop.time and traffic.start",
        ),
        "flows.csv" => ("the traffic made no flow".into(), "traffic.load and stop.time"),
        "rpcs.csv" => ("no RPC was issued by the end".into(), "stop.time and traffic.start"),
        "series.csv" => ("nothing was sampled".into(), "output.queues and output.flows"),
        "memory_series.csv" => {
            ("the run ended before the first sample".into(), "output.memory and stop.time")
        }
        _ => ("the fabric has none".into(), "fabric"),
    };
    files
        .iter()
        .filter(|file| file.rows == 0)
        .map(|FileRows { file, .. }| {
            let (reason, key) = explain(file);
            EmptyTable { file: file.clone(), reason, key: key.into() }
        })
        .collect()
}
