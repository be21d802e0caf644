//! How long a scenario takes to lay out, and what it then occupies: `cargo run --release --example layout -- FILE`.
#![allow(clippy::disallowed_methods, reason = "measures wall time")]

use forebay_sim::{Options, Simulation};
use std::time::Instant;

fn main() {
    let path = std::env::args().nth(1).expect("name a scenario file");
    let text = std::fs::read_to_string(&path).expect("the scenario file can be read");
    let loaded = forebay_scenario::text(&path, &text).expect("the scenario is valid");
    let before = resident_kib();
    let began = Instant::now();
    let simulation = Simulation::new(&loaded.scenario, 1, Options::default())
        .unwrap_or_else(|refusal| panic!("{path}: {refusal}"));
    let took = began.elapsed();
    let grown = resident_kib().saturating_sub(before);
    println!("laid out in {:.3} s, {:.1} MB", took.as_secs_f64(), grown as f64 / 1024.0);
    drop(simulation);
}

/// Resident memory of this process; 0 where the system does not tell.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
