//! `forebay bench`: how fast the simulator is on this machine, by numbers that can be compared.

mod cases;
mod measure;

use crate::args::Bench;
use crate::failure::Failure;
use crate::{human, interrupt, itself, say};
use cases::{Case, Family};
use forebay_units::Span;
use measure::{BenchResult, measure};
use std::process::Stdio;

/// What a bare `forebay bench` runs: name, threads, and an MTU other than the usual.
const USUAL: [(&str, usize, Option<u32>); 16] = [
    ("dctcp-perm-128", 1, None),
    ("dctcp-perm-128", 1, Some(1500)),
    ("dctcp-perm-1024", 1, None),
    ("dctcp-perm-1024", 2, None),
    ("dctcp-perm-8192", 1, None),
    ("dctcp-websearch-128", 1, None),
    ("dctcp-websearch-1024", 1, None),
    ("dctcp-websearch-1024", 2, None),
    ("spray-perm-128", 1, None),
    ("spray-perm-1024", 1, None),
    ("ndp-perm-128", 1, None),
    ("ndp-perm-1024", 1, None),
    ("xpass-perm-1024", 1, None),
    ("homa-websearch-160", 1, None),
    ("host-3x", 1, None),
    ("host-3x-hostcc", 1, None),
];

/// The verb.
pub fn bench(args: &Bench) -> Result<(), Failure> {
    let time = match &args.time {
        None => None,
        Some(text) => Some(
            text.parse::<Span>().map_err(|why| Failure::Input(format!("--time {text}: {why}")))?,
        ),
    };
    let case = |name: &str, mtu| Case::new(name, mtu, time);
    if args.scenario {
        let [name] = args.names.as_slice() else {
            return Err(Failure::Input("--scenario prints one bench; name it".into()));
        };
        return say::data(&case(name, args.mtu)?.scenario());
    }
    if cfg!(debug_assertions) {
        say::warning("this is a debug build; its speed says nothing");
    }
    if let [name] = args.names.as_slice() {
        let measured = measure(&case(name, args.mtu)?, args.threads)?;
        if args.json {
            return say::json(&measured);
        }
        say::data(&heading())?;
        return say::data(&row(&measured));
    }
    let chosen: Vec<(String, usize, Option<u32>)> = if args.names.is_empty() {
        USUAL
            .iter()
            .map(|(name, threads, mtu)| (name.to_string(), *threads, mtu.or(args.mtu_for(name))))
            .collect()
    } else {
        args.names.iter().map(|name| (name.clone(), args.threads, args.mtu)).collect()
    };
    for (name, _, mtu) in &chosen {
        case(name, *mtu)?;
    }
    interrupt::listen();
    if !args.json {
        say::data(&heading())?;
    }
    let mut all = Vec::new();
    for (name, threads, mtu) in &chosen {
        let measured = in_a_process_of_its_own(name, *threads, *mtu, args.time.as_deref())?;
        if interrupt::requested() {
            return Err(Failure::Interrupted("interrupted between two benches".into()));
        }
        if !args.json {
            say::data(&row(&measured))?;
        }
        all.push(measured);
    }
    if args.json { say::json(&all) } else { Ok(()) }
}

impl Bench {
    /// `--mtu` applies to the usual benches that have a choice.
    fn mtu_for(&self, name: &str) -> Option<u32> {
        let mut fixed = Family::SINGLE.into_iter().chain(Family::SIZED);
        let fixed = fixed.any(|one| one.fixed_mtu().is_some() && name.starts_with(one.name()));
        self.mtu.filter(|_| !fixed)
    }
}

/// So that its peak of memory is its own.
fn in_a_process_of_its_own(
    name: &str,
    threads: usize,
    mtu: Option<u32>,
    time: Option<&str>,
) -> Result<BenchResult, Failure> {
    let mut command = itself::again().map_err(Failure::Run)?;
    command.args(["bench", name, "--json", "--threads", &threads.to_string()]);
    if let Some(mtu) = mtu {
        command.args(["--mtu", &mtu.to_string()]);
    }
    if let Some(time) = time {
        command.args(["--time", time]);
    }
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| Failure::io(format!("start {name}"), &error))?;
    let parsed = serde_json::from_slice(&output.stdout);
    match parsed {
        Ok(measured) if output.status.success() => Ok(measured),
        _ if interrupt::requested() => {
            Err(Failure::Interrupted(format!("interrupted during {name}")))
        }
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last =
                said.lines().last().unwrap_or("it said nothing").trim_start_matches("error: ");
            Err(Failure::Run(format!("{name} failed ({}): {last}", output.status)))
        }
    }
}

fn heading() -> String {
    format!(
        "{:<22}{:>7}{:>6}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>11}  {}\n",
        "bench",
        "threads",
        "mtu",
        "hops",
        "ns/hop",
        "hops/s",
        "cpu/s",
        "wall",
        "peak",
        "B/host",
        "digest"
    )
}

fn row(m: &BenchResult) -> String {
    let rate = m.packet_hops as f64 / m.wall_seconds.max(1e-9);
    format!(
        "{:<22}{:>7}{:>6}{:>9}{:>9.1}{:>9}{:>9}{:>9}{:>9}{:>11}  {}\n",
        m.name,
        m.threads,
        m.mtu,
        human::si(m.packet_hops as f64),
        m.ns_per_packet_hop,
        human::si(rate),
        human::si(m.cpu_per_simulated),
        human::duration(m.wall_seconds),
        human::bytes_f(m.peak_rss_bytes as f64),
        human::count(m.bytes_per_host as u64),
        m.digest
    )
}

/// For `forebay list benches`.
pub fn list() -> String {
    let mut text = String::new();
    for family in Family::SIZED {
        text.push_str(&format!("{:<18}  {}\n", format!("{}-N", family.name()), family.about()));
    }
    for family in Family::SINGLE {
        text.push_str(&format!("{:<18}  {}\n", family.name(), family.about()));
    }
    text.push_str(
        "\nN hosts on a three-tier fat tree, k^3/4: 16, 54, 128, 250, 432, 1024, 8192 and so on.\n",
    );
    text.push_str("\"forebay bench NAME --scenario\" prints the scenario of one.\n");
    text
}
