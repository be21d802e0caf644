//! Runs a suite and prints its rows: `cargo run --release -p forebay-validate --example reproduce -- analytic`.
//!
//! `--json` prints a JSON array, `--quick` takes shorter runs, `--strict` ends with status 3 if a row is out,
//! `--pictures DIR` writes the suite's pictures there.

use forebay_validate::{SUITES, Verdict, json, pictures, run, table};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|a| a == flag);
    let Some(suite) = args.first().filter(|s| SUITES.contains(&s.as_str())) else {
        eprintln!(
            "usage: reproduce SUITE [--json] [--quick] [--strict] [--pictures DIR]; suites: {}",
            SUITES.join(", ")
        );
        return ExitCode::from(2);
    };
    if let Some(at) = args.iter().position(|a| a == "--pictures") {
        let dir = args.get(at + 1).map_or(".", String::as_str);
        for (name, text) in pictures(suite) {
            let path = format!("{dir}/{name}");
            if let Err(error) = std::fs::write(&path, text) {
                eprintln!("{path}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    let rows = run(suite, has("--quick"));
    if has("--json") {
        println!("{}", json(&rows));
    } else {
        print!("{}", table(&rows));
    }
    let out = rows.iter().any(|r| r.verdict == Verdict::Out);
    ExitCode::from(if has("--strict") && out { 3 } else { 0 })
}
