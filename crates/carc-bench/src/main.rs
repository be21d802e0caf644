//! `carc-bench`: what credits do to unread data on this machine.
//!
//! Without further words it measures the time to read a line that waits within the cache and one that waits beyond it, and then
//! traffic between two processes with and without credits.

#![allow(clippy::disallowed_methods, reason = "it measures time")]

mod fixed;
mod lines;
mod misses;
mod picture;
mod traffic;
mod verbs;

use clap::{Parser, ValueEnum};
use forebay_credits::{Limit, OTHERS_PERCENT};
use forebay_linux::Root;
use forebay_linux::caches::{RdmaDevice, caches, node_of_memory, rdma_devices};
use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Bytes of a ring, and of unread data.
const LEAST_UNREAD: u64 = 4 << 10;
const MOST_UNREAD: u64 = 2 << 30;

/// Carrier of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Carrier {
    /// Memory that two processes share.
    Ring,
    /// A queue pair of an RDMA device.
    Verbs,
}

/// Kind of traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Traffic {
    /// Messages one way; the receiver returns credits.
    OneWay,
    /// Each message comes back; the response returns the credits.
    Echo,
    /// Long messages and short ones together, one way.
    Mixed,
}

/// A schedule that is the same on every machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Fixed {
    /// Two messages are offered for each that is read.
    Slow,
    /// Each message is read before the next is offered.
    Paced,
}

/// Measures what credits do to unread data.
#[derive(Parser, Debug)]
#[command(version, name = "carc-bench")]
struct Args {
    /// Carrier of messages
    #[arg(long, value_enum, default_value = "ring")]
    over: Carrier,
    /// Unread data beyond the cache: 4xL3, or a size such as 64M
    #[arg(long, default_value = "4xL3")]
    unread: String,
    /// Pairs of measurements of unread data; 0: none
    #[arg(long, default_value_t = 20)]
    pairs: u32,
    /// Traffic between two processes; without it none
    #[arg(long, value_enum)]
    traffic: Option<Traffic>,
    /// Bytes of a message, and of a short one
    #[arg(long, default_value = "4K")]
    message: String,
    /// Nanoseconds that the receiver works on a message
    #[arg(long, default_value_t = 0)]
    work: u64,
    /// Seconds of traffic, each with and without credits; up to an hour
    #[arg(long, default_value_t = 1.0, value_parser = seconds, conflicts_with = "messages")]
    seconds: f64,
    /// Bytes that may wait unread; without it the last-level cache less a share for others
    #[arg(long)]
    limit: Option<String>,
    /// Percent of the cache that is left to others
    #[arg(long, default_value_t = OTHERS_PERCENT)]
    others: u32,
    /// Writes JSON
    #[arg(long)]
    json: bool,
    /// Writes a picture (SVG)
    #[arg(long, conflicts_with = "schedule")]
    picture: Option<PathBuf>,
    /// RDMA device; without it the first
    #[arg(long)]
    device: Option<String>,
    /// Verbs between two machines: wait for the other end at this TCP address
    #[arg(long)]
    listen: Option<String>,
    /// Verbs between two machines: the other end
    #[arg(long)]
    connect: Option<String>,
    /// Verbs: break the queue pair of credit messages halfway, as a fault would
    #[arg(long, hide = true)]
    break_credits: bool,
    /// A fixed schedule in one process, for cachegrind
    #[arg(long, value_enum)]
    schedule: Option<Fixed>,
    /// Messages of traffic over a ring, instead of seconds; of a fixed schedule, which has 8192 without it
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    messages: Option<u64>,
    /// The fixed schedule without credits
    #[arg(long)]
    no_credits: bool,
    /// Bytes of the ring of a fixed schedule
    #[arg(long, default_value = "2M")]
    ring: String,
    /// This process reads what another carc-bench sends
    #[arg(long, hide = true)]
    reader: Option<PathBuf>,
}

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the output has gone, as that of `head`.
        Err(error) if error.is::<NobodyReads>() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("carc-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Nobody reads the output any more.
#[derive(Debug)]
struct NobodyReads;

impl Display for NobodyReads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "nobody reads the output")
    }
}

impl std::error::Error for NobodyReads {}

/// The system refused: where.
fn refused(place: impl Display) -> impl FnOnce(io::Error) -> Failure {
    move |error| format!("{place}: {error}").into()
}

/// Writes to standard output.
fn say(text: impl Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(NobodyReads.into()),
        done => done.map_err(refused("standard output")),
    }
}

fn run(args: &Args) -> Result<(), Failure> {
    if args.picture.is_some() && (args.pairs == 0 || args.over == Carrier::Verbs) {
        return Err(
            "--picture shows pairs over a ring; leave out --pairs 0 and --over verbs".into()
        );
    }
    if let Some(schedule) = args.schedule {
        return fixed::run(args, schedule);
    }
    if let Some(at) = &args.reader {
        return traffic::read(args, at);
    }
    if args.over == Carrier::Verbs {
        return verbs::run(args);
    }
    let mut found = serde_json::Map::new();
    let limit = limit(args)?;
    found.insert("limit_bytes".into(), limit.bytes().into());
    if args.pairs > 0 {
        let of = lines::measure(args)?;
        if let Some(path) = &args.picture {
            std::fs::write(path, picture::lines(&of)).map_err(refused(path.display()))?;
        }
        let ns = fixed::added_ns()?;
        found.insert("lines".into(), of.json());
        found.insert("post_and_complete_ns".into(), ns.into());
        if !args.json {
            say(format_args!("{of}post and complete: {ns:.0} ns beyond the ring\n"))?;
        }
    }
    if let Some(kind) = args.traffic {
        let of = traffic::measure(args, kind)?;
        found.insert("traffic".into(), of.json());
        if !args.json {
            say(of)?;
        }
    }
    if args.json {
        say(format_args!("{}\n", serde_json::Value::Object(found)))?;
    }
    Ok(())
}

/// Limit of unread data.
fn limit(args: &Args) -> Result<Limit, Failure> {
    match &args.limit {
        Some(text) => Ok(Limit::of_bytes(size(text)?, 64)?),
        None => Ok(Limit::choose(&caches(&Root::machine()), node(args), args.others)?),
    }
}

/// Memory node of the buffers: that of the RDMA device, or of what this process allocates. None: there is one node, or the kernel does not say.
fn node(args: &Args) -> Option<u32> {
    let root = Root::machine();
    if args.over == Carrier::Verbs {
        let named = |of: &RdmaDevice| args.device.as_ref().is_none_or(|name| *name == of.name);
        return rdma_devices(&root)
            .into_iter()
            .find(named)
            .and_then(|of| u32::try_from(of.node?).ok());
    }
    let pages = vec![1_u8; 1 << 20];
    node_of_memory(&root, pages.as_ptr().addr())
}

/// Seconds: more than none, up to an hour.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(of) if (0.01..=3600.0).contains(&of) => Ok(of),
        _ => Err("write a number of seconds from 0.01 to 3600, such as 2.5".into()),
    }
}

/// Bytes of unread data that a ring has room for.
fn unread(args: &Args) -> Result<u64, Failure> {
    match size(&args.unread)? {
        bytes @ LEAST_UNREAD..=MOST_UNREAD => Ok(bytes),
        bytes => Err(format!(
            "--unread {}: {bytes} bytes of unread data; write something from 4K to 2G",
            args.unread
        )
        .into()),
    }
}

/// Bytes: `64M`, `4xL3`.
fn size(text: &str) -> Result<u64, Failure> {
    let times = text.strip_suffix("xL3").and_then(|times| times.parse::<u64>().ok());
    if let Some(times) = times.filter(|times| *times > 0) {
        let of = Limit::choose(&caches(&Root::machine()), None, 0)?;
        return Ok(times.saturating_mul(of.of.bytes));
    }
    match forebay_credits::parse_size(text) {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => Err(format!("{text:?} is no size; write for instance 64M, 4K or 4xL3").into()),
    }
}
