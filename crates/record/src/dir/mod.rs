//! A run directory: tables, summary, manifest and report of one run.
//!
//! Tables grow under temporary names while seeds finish and can be read at any time; every file
//! gets its name only when it is whole, the manifest last, and then the directory its own ([`life`]).
//! Invariant: the bytes of all files but `volatile.json` are a function of scenario, seeds and version.

mod class_pauses;
mod deadlocks;
mod life;
mod manifest;
mod memory;
mod memory_series;
mod read;
mod rpc;
mod table;
mod unfinished;

pub use life::{IfExists, partial_of};
pub use manifest::MANIFEST_FORMAT;
pub use unfinished::Unfinished;

use crate::about::{About, Volatile};
use crate::capture::CaptureFile;
use crate::columns;
use crate::error::RecordError;
use crate::rows::RunRecord;
use crate::summary::{Status, Summary, hex};
use crate::tiers::utilisation;
use forebay_units::Time;
use life::Claim;
use manifest::{FileRows, Manifest};
use rpc::RpcTables;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
pub(crate) use table::PARTIAL;
use table::{Table, write_whole};

/// The tables, in the order in which a seed is written; `runs.csv` comes last, so a seed counts once
/// it has a row there.
const TABLES: [(&str, &[&str]); 5] = [
    ("hosts.csv", columns::HOSTS),
    ("flows.csv", columns::FLOWS),
    ("ports.csv", columns::PORTS),
    ("series.csv", columns::SERIES),
    ("runs.csv", columns::RUNS),
];

const WHOLE_FILES: [&str; 5] =
    ["manifest.json", "summary.json", "volatile.json", "resolved.toml", "report.html"];

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
pub struct Finished {
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
    claim: Claim,
    path: PathBuf, // while it is written
    about: About,
    tables: Option<[Table; 5]>,
    rpcs: Option<RpcTables>, // from the first simulation with such traffic on
    class_pauses: Option<Table>, // likewise
    deadlocks: Option<Table>,
    memory: Option<Table>,
    memory_series: Option<Table>,
    recorded: usize,
    captures: Vec<CaptureFile>,
}

impl RunDir {
    /// Claims the directory, makes its parents, and begins all files in [`partial_of`] it.
    ///
    /// # Errors
    /// If another run is at work there, if it holds a run or the rest of one and `if_exists` refuses, if it holds
    /// other files and no run, or if the system refuses.
    pub fn create(path: &Path, about: &About, if_exists: IfExists) -> Result<Self, RecordError> {
        let claim = Claim::take(path, if_exists)?;
        let path = claim.work.clone();
        let path = path.as_path();
        // The manifest first: it is what makes this a run directory.
        write_json(&path.join("manifest.json"), &Manifest::new(about))?;
        write_whole(&path.join("resolved.toml"), &about.resolved_toml)?;
        let [hosts, flows, ports, series, runs] =
            TABLES.map(|(name, header)| Table::create(path, name, header));
        let tables = Some([hosts?, flows?, ports?, series?, runs?]);
        Ok(Self {
            path: path.into(),
            claim,
            about: about.clone(),
            tables,
            rpcs: None,
            class_pauses: None,
            deadlocks: None,
            memory: None,
            memory_series: None,
            recorded: 0,
            captures: Vec::new(),
        })
    }

    /// The directory while it is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a simulation, in the order of `about.seeds`. Its rows are on disk when this returns.
    ///
    /// # Errors
    /// If it is out of turn or the system refuses. In the latter case the whole rows written so far
    /// are left under the final names, and the directory takes no more.
    pub fn add(&mut self, run: &RunRecord) -> Result<(), RecordError> {
        let expected = self.about.seeds.get(self.recorded).copied();
        if expected != Some(run.seed) {
            return Err(RecordError::Order { seed: run.seed, expected });
        }
        let Some(tables) = &mut self.tables else {
            return Err(closed(&self.path));
        };
        let first = self.recorded == 0;
        let path = &self.path;
        let written = write_rpcs(&mut self.rpcs, path, run, self.about.warmup)
            .and_then(|()| {
                let any = !run.class_pauses.is_empty();
                write_some(
                    &mut self.class_pauses,
                    path,
                    class_pauses::TABLE,
                    class_pauses::write,
                    run,
                    any,
                )
            })
            .and_then(|()| {
                let any = !run.deadlocks.is_empty();
                write_some(&mut self.deadlocks, path, deadlocks::TABLE, deadlocks::write, run, any)
            })
            .and_then(|()| {
                let any = !run.memory.is_empty();
                write_some(&mut self.memory, path, memory::TABLE, memory::write, run, any)
            })
            .and_then(|()| {
                let any = !run.memory_series.is_empty();
                write_some(
                    &mut self.memory_series,
                    path,
                    memory_series::TABLE,
                    memory_series::write,
                    run,
                    any,
                )
            })
            .and_then(|()| write_run(tables, run, first));
        self.recorded += 1;
        if written.is_err() {
            self.salvage();
        }
        written
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
    ) -> Result<Finished, RecordError> {
        assert!(
            runs.iter().map(|run| run.seed).eq(self
                .about
                .seeds
                .iter()
                .copied()
                .take(self.recorded)),
            "the summary is of the runs that were recorded"
        );
        let tables = self.tables.take().ok_or_else(|| closed(&self.path))?;
        let mut manifest = Manifest::new(&self.about);
        for (table, (name, _)) in tables.into_iter().zip(TABLES) {
            manifest.files.push(FileRows { file: name.into(), rows: table.finish()? });
        }
        for (table, name) in self.rpcs.take().into_iter().flat_map(RpcTables::into_tables) {
            manifest.files.push(FileRows { file: name.into(), rows: table.finish()? });
        }
        let pauses = [
            (self.class_pauses.take(), class_pauses::TABLE.0),
            (self.deadlocks.take(), deadlocks::TABLE.0),
        ];
        let memory = [(self.memory.take(), memory::TABLE.0)];
        let series = [(self.memory_series.take(), memory_series::TABLE.0)];
        for (table, name) in pauses.into_iter().chain(memory).chain(series) {
            if let Some(table) = table {
                manifest.files.push(FileRows { file: name.into(), rows: table.finish()? });
            }
        }
        let summary = Summary::of(&self.about, runs);
        manifest.empty_files = empty_tables(&manifest.files, runs);
        let row = |c: &CaptureFile| FileRows { file: c.file.clone(), rows: c.frames };
        manifest.files.extend(self.captures.iter().map(row));
        manifest.digest = Some(summary.digest.clone());
        manifest.status = match summary.status {
            Status::Complete => "complete".into(),
            Status::Interrupted => "interrupted".into(),
        };
        write_json(&self.path.join("summary.json"), &summary)?;
        let report = self.path.join("report.html");
        write_whole(&report, &crate::report::render(&self.about, &summary, runs))?;
        if volatile.packet_hops_per_s.is_none() && volatile.wall_s > 0.0 {
            volatile.packet_hops_per_s = Some(summary.network.packet_hops as f64 / volatile.wall_s);
        }
        write_json(&self.path.join("volatile.json"), &volatile)?;
        write_json(&self.path.join("manifest.json"), &manifest)?;
        let (captures, report) = (self.captures, self.claim.target().join("report.html"));
        self.claim.publish()?;
        Ok(Finished { summary, empty: manifest.empty_files, volatile, report, captures })
    }

    /// Removes what has been written, where nothing came of the run.
    pub fn abandon(self) {
        self.claim.abandon();
    }

    /// After a failed write: gives the tables their names and marks the run as failed, as far
    /// as the system lets us. Where it does not, the manifest keeps saying `running`, which no
    /// finished run does. The directory keeps the name of one that is not whole.
    fn salvage(&mut self) {
        let rpcs = self.rpcs.take().into_iter().flat_map(RpcTables::into_tables);
        let memory = self.memory.take().into_iter().chain(self.memory_series.take());
        let pauses = self.class_pauses.take().into_iter().chain(self.deadlocks.take());
        let some = pauses.chain(memory);
        let own = self.tables.take().into_iter().flatten().chain(some);
        for table in own.chain(rpcs.map(|(table, _)| table)) {
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
    pub fn load(path: &Path) -> Result<(About, Vec<RunRecord>), RecordError> {
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

    /// Draws the report of runs that were read back into a file.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn draw(file: &Path, about: &About, runs: &[RunRecord]) -> Result<(), RecordError> {
        let summary = Summary::of(about, runs);
        write_whole(file, &crate::report::render(about, &summary, runs))
    }
}

fn closed(path: &Path) -> RecordError {
    let source = std::io::Error::other("an earlier write failed");
    RecordError::io("write", path, source)
}

/// Names of all files that a run may have, captures apart.
fn names() -> impl Iterator<Item = &'static str> {
    let some = [class_pauses::TABLE, deadlocks::TABLE, memory::TABLE, memory_series::TABLE];
    let tables = TABLES.into_iter().chain(rpc::TABLES).chain(some);
    tables.map(|(name, _)| name).chain(WHOLE_FILES)
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), RecordError> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| RecordError::io("write", path, error.into()))?;
    text.push('\n');
    write_whole(path, &text)
}

/// The tables of RPCs, begun with the first simulation that has any.
fn write_rpcs(
    tables: &mut Option<RpcTables>,
    path: &Path,
    run: &RunRecord,
    warmup: Time,
) -> Result<(), RecordError> {
    if tables.is_none() && !run.connections.is_empty() {
        *tables = Some(RpcTables::create(path)?);
    }
    tables.as_mut().map_or(Ok(()), |tables| tables.write(run, warmup))
}

/// A table that few runs have, likewise: begun with the first simulation that has `any` of its rows.
fn write_some(
    table: &mut Option<Table>,
    path: &Path,
    (name, header): (&str, &[&str]),
    write: fn(&mut Table, &RunRecord) -> Result<(), RecordError>,
    run: &RunRecord,
    any: bool,
) -> Result<(), RecordError> {
    if table.is_none() && any {
        *table = Some(Table::create(path, name, header)?);
    }
    table.as_mut().map_or(Ok(()), |table| write(table, run))
}

fn write_run(tables: &mut [Table; 5], run: &RunRecord, first: bool) -> Result<(), RecordError> {
    let [hosts, flows, ports, series, runs] = tables;
    if first {
        for (host, name) in (0..).zip(&run.hosts) {
            hosts.row(|row| {
                row.number(host).text(name);
            })?;
        }
    }
    write_flows(flows, run)?;
    write_ports(ports, run)?;
    write_series(series, run)?;
    for table in [&mut *hosts, flows, ports, series] {
        table.flush()?;
    }
    runs.row(|row| {
        row.number(run.seed)
            .text(&hex(run.digest))
            .number(run.end.as_ps())
            .text(if run.interrupted { "true" } else { "false" })
            .number(run.not_started)
            .number(run.totals.packet_hops)
            .number(run.totals.delivered_bytes)
            .number(run.totals.delivered_segments);
    })?;
    runs.flush()
}

fn write_flows(table: &mut Table, run: &RunRecord) -> Result<(), RecordError> {
    let host = |index: u32| run.hosts[index as usize].as_str();
    for flow in &run.flows {
        table.row(|row| {
            row.number(run.seed)
                .number(flow.flow.into())
                .number(flow.traffic.into())
                .text(host(flow.src))
                .text(host(flow.dst))
                .maybe((!flow.is_endless()).then_some(flow.size.get()))
                .number(flow.start.as_ps())
                .maybe(flow.delivered.map(|at| at.as_ps()))
                .maybe(flow.acked.map(|at| at.as_ps()))
                .maybe(flow.fct().map(|fct| fct.as_ps()))
                .number(flow.ideal.as_ps())
                .ratio(flow.slowdown())
                .number(flow.retransmits.into())
                .number(flow.timeouts.into());
        })?;
    }
    Ok(())
}

fn write_ports(table: &mut Table, run: &RunRecord) -> Result<(), RecordError> {
    for port in &run.ports {
        table.row(|row| {
            row.number(run.seed)
                .text(&port.node)
                .text(&port.peer)
                .number(port.rate.get())
                .number(port.tx_packets)
                .number(port.tx_bytes.get())
                .number(port.dropped_packets)
                .number(port.dropped_bytes.get())
                .number(port.lost_packets)
                .number(port.marked_packets)
                .number(port.max_queue.get())
                .ratio(utilisation(port, run.end))
                .number(port.pause_frames_sent)
                .number(port.pause_frames_received)
                .number(port.paused.as_ps())
                .number(port.headroom_peak.get())
                .number(port.lossless_drops);
        })?;
    }
    Ok(())
}

fn write_series(table: &mut Table, run: &RunRecord) -> Result<(), RecordError> {
    for series in &run.series {
        for (at, value) in series.at.iter().zip(&series.values) {
            table.row(|row| {
                row.number(run.seed)
                    .text(&series.name)
                    .text(series.quantity.word())
                    .text(series.unit)
                    .number(at.as_ps())
                    .exact(*value);
            })?;
        }
    }
    Ok(())
}

/// Why tables have no rows, and what to set.
fn empty_tables(files: &[FileRows], runs: &[RunRecord]) -> Vec<EmptyTable> {
    let not_started: u64 = runs.iter().map(|run| run.not_started).sum();
    let explain = |file: &str| match file {
        _ if runs.is_empty() => ("no simulation finished".to_string(), "stop.time"),
        "flows.csv" if not_started > 0 => (
            format!("none of {not_started} flows had started by the end"),
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
