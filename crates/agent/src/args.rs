//! The command line.

use crate::act::journal::STATE;
use crate::config::Mode;
use crate::metrics::Address;
use clap::{Args, Parser, Subcommand};
use forebay_units::{BitsPerSec, Span};
use std::path::PathBuf;

/// Senses and records host congestion on a live Linux machine, and runs control laws on it. Changes nothing unless `run` is in
/// mode enforce.
#[derive(Debug, Parser)]
#[command(name = "forebay-agent", version, about, after_help = AFTER, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

const AFTER: &str = "\
Exit codes: 0 done, 1 the machine refused, 2 bad input, 3 a law differs from its log.";

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Show what this machine can sense, throttle and mark, with cause and remedy where it cannot
    Probe(Probe),
    /// Show drops, losses and pressure: as a view on a terminal, as lines elsewhere
    Watch(Watch),
    /// Record the machine's counters into a folder
    Record(Record),
    /// Run a control law on this machine's signals (observe, dry-run or enforce), and register a BPF congestion control
    Run(Run),
    /// Lift all throttles that a dead agent left
    Undo(Undo),
    /// The control loop, which the guard starts
    #[command(hide = true)]
    Hold,
    /// The control loop over the host of a simulation, which `forebay run --agent` starts
    #[command(hide = true)]
    Lockstep,
    /// Replay law logs and report the rows that differ; check a recording
    Replay(Replay),
    /// Print where each signal is read, its event codes, its processors, and how it was checked
    Signals,
    /// Write the manual pages of this command into a folder
    Man(Man),
    /// Propose thresholds of hostcc from this machine, or from a recording: idle, at line rate and saturated
    Calibrate(Calibrate),
}

/// Where `proc` and `sys` are.
#[derive(Debug, Args)]
pub struct SystemFolders {
    /// Read a recorded tree (a folder with proc and sys) instead of the machine
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Probe {
    #[command(flatten)]
    pub from: SystemFolders,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Watch {
    #[command(flatten)]
    pub from: SystemFolders,
    /// Time between two lines, from 1ms to 1h
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = period)]
    pub every: Span,
    /// Print lines on a terminal too, and end after this number of lines
    #[arg(long, value_name = "N")]
    pub lines: Option<u64>,
    /// Unix socket with the metrics of a running agent: its level and marks are shown
    #[arg(long, value_name = "PATH", default_value = METRICS)]
    pub agent: PathBuf,
    /// Print each line as JSON, with every counter
    #[arg(long)]
    pub json: bool,
    /// Serve every counter as Prometheus text (GET /metrics) at a unix socket or a loopback address
    #[arg(long, value_name = "ADDR", value_parser = Address::parse)]
    pub serve: Option<Address>,
}

#[derive(Debug, Args)]
pub struct Record {
    #[command(flatten)]
    pub from: SystemFolders,
    /// Length of the recording, from 1ms to 24h; an interrupt ends it earlier
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub time: Span,
    /// Time between two readings of all counters, from 1ms to 1h
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = period)]
    pub every: Span,
    /// Folder to make; a folder with a recording is refused
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
pub struct Run {
    /// Configuration file (TOML); docs/agent.md lists its keys
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,
    #[command(flatten)]
    pub from: SystemFolders,
    /// Mode, instead of the one in the configuration
    #[arg(long, value_enum)]
    pub mode: Option<Mode>,
    /// Run the loop on this core alone; with a period below 1ms the loop keeps the core busy, so use an isolated core (isolcpus)
    #[arg(long, value_name = "N")]
    pub core: Option<u32>,
    /// End after this time, from 1ms to 24h; an interrupt ends it earlier
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub time: Option<Span>,
    /// Write the log of the law into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// For tests: read I_S and B_S from this file (two words such as `93 43Gbps`) instead of the processor's counters
    #[arg(long, value_name = "FILE")]
    pub signals: Option<PathBuf>,
    /// Serve the status as Prometheus text (GET /metrics) at a unix socket or a loopback address
    #[arg(long, value_name = "ADDR", value_parser = Address::parse)]
    pub serve: Option<Address>,
    /// Folder for the journal, from which `undo` restores the machine after a crash; mode enforce only
    #[arg(long, value_name = "DIR", default_value = STATE)]
    pub state: PathBuf,
}

#[derive(Debug, Args)]
pub struct Undo {
    #[command(flatten)]
    pub from: SystemFolders,
    /// Folder with the agent's journal
    #[arg(long, value_name = "DIR", default_value = STATE)]
    pub state: PathBuf,
}

/// Where `watch` looks for the metrics of an agent that runs.
const METRICS: &str = "/run/forebay/metrics";

#[derive(Debug, Args)]
pub struct Replay {
    /// Folder of a recording or of a run with law logs, or one law log
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// With law logs: replay only logs of this law. With a recording: show what this host law would have done
    #[arg(long, value_name = "NAME")]
    pub law: Option<String>,
    /// Set a parameter of the host law and show what the law would have done: --set iio_threshold=50
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Accept files that were cut short, and use what is before the cut
    #[arg(long)]
    pub partial: bool,
    /// Print the rows of host laws as CSV: seq, now_ps, event, at_ps, raw, acts
    #[arg(long, conflicts_with = "set")]
    pub rows: bool,
}

#[derive(Debug, Args)]
pub struct Man {
    /// Folder for the pages
    #[arg(long, value_name = "DIR", default_value = "man")]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
pub struct Calibrate {
    #[command(flatten)]
    pub from: SystemFolders,
    /// Time to read this machine in each state (idle, at line rate, saturated), from 1ms to 24h
    #[arg(long = "for", value_name = "TIME", value_parser = duration, conflicts_with = "trace")]
    pub time: Option<Span>,
    /// Time between two readings, from 1ms to 1h
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = period)]
    pub every: Span,
    /// Use a recording, or a run with law logs of hostcc, instead of this machine
    #[arg(long, value_name = "TRACE")]
    pub trace: Option<PathBuf>,
    /// Rate of the link, such as 100Gbps; a warning says if it was not reached
    #[arg(long, value_name = "RATE")]
    pub line_rate: Option<BitsPerSec>,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, such as iio_threshold=50")?;
    Ok((key.trim().into(), value.trim().into()))
}

fn period(text: &str) -> Result<Span, String> {
    within(text, Span::from_secs(3600), "from 1ms to 1h, such as 10ms")
}

fn duration(text: &str) -> Result<Span, String> {
    within(text, Span::from_secs(24 * 3600), "from 1ms to 24h, such as 5s")
}

fn within(text: &str, most: Span, range: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error| format!("{error}; write a time {range}"))?;
    let fits = (Span::from_ms(1)..=most).contains(&span);
    if fits { Ok(span) } else { Err(format!("write a time {range}")) }
}
