//! Writes a made-up run directory: `cargo run --release -p forebay-record --example write_run -- DIR [FLOWS] [SEEDS]`.

#[path = "../tests/it/support/mod.rs"]
mod support;

use forebay_record::{IfExists, RecordError, RunDir, Volatile};
use std::path::Path;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap_or_else(|| "run".into());
    let flows = args.next().and_then(|n| n.parse().ok()).unwrap_or(4_000);
    let seeds: Vec<u64> = (1..=args.next().and_then(|n| n.parse().ok()).unwrap_or(5)).collect();
    if let Err(error) = write(Path::new(&path), flows, &seeds) {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn write(path: &Path, flows: u64, seeds: &[u64]) -> Result<(), RecordError> {
    let mut dir = RunDir::create(path, &support::about(seeds), IfExists::Refuse)?;
    let mut runs = Vec::new();
    for seed in seeds {
        let run = support::run(*seed, flows);
        dir.add(&run)?;
        runs.push(run);
    }
    let volatile = Volatile { threads: 1, ..Volatile::default() };
    let finished = dir.finish(&runs, volatile)?;
    print!("{}", finished.summary.render(100, false));
    println!("{}", finished.report.display());
    Ok(())
}
