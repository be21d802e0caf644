//! How long a scenario takes to lay out and to run, what it then occupies, and what came out:
//! `cargo run --release --example layout -- FILE`. For scenarios that no bench covers.
#![allow(clippy::disallowed_methods, reason = "measures wall time")]

use forebay_sim::{Options, Simulation, Watch};
use forebay_units::Time;
use std::io::{ErrorKind, Result, Write};
use std::time::Instant;

/// As the command has.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    match measure(&mut std::io::stdout()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {} // the reader has gone
        result => result.expect("stdout can be written"),
    }
}

fn measure(out: &mut impl Write) -> Result<()> {
    let path = std::env::args().nth(1).expect("name a scenario file");
    let text = std::fs::read_to_string(&path).expect("the scenario file can be read");
    let loaded = forebay_scenario::text(&path, &text).expect("the scenario is valid");
    let before = resident_kib();
    let began = Instant::now();
    let mut simulation = Simulation::new(&loaded.scenario, 1, Options::default())
        .unwrap_or_else(|refusal| panic!("{path}: {refusal}"));
    let took = began.elapsed();
    let grown = resident_kib().saturating_sub(before);
    writeln!(out, "laid out in {:.3} s, {:.1} MB", took.as_secs_f64(), grown as f64 / 1024.0)?;
    let busy = busy_ns();
    simulation.advance(Time::MAX, &Watch::default());
    let busy = (busy_ns() - busy) as f64;
    let hops = simulation.packet_hops();
    writeln!(out, "{hops} packet-hops, {:.1} ns of CPU each", busy / hops.max(1) as f64)?;
    let outcome = simulation.finish();
    writeln!(out, "digest {:016x}", outcome.record.digest)?;
    writeln!(out, "{:?}", outcome.execution)
}

/// CPU time of this thread so far; 0 where the system does not report it.
fn busy_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// Resident memory of this process; 0 where the system does not report it.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
