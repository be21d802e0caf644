//! The `forebay-agent` command: what a machine can sense and do, its signals, and replays of recordings and law logs.
//!
//! Invariants: nothing but data on stdout; every failure is a sentence on stderr and an exit code; nothing changes the machine
//! but `run` in mode enforce, and `undo`.

mod act;
mod args;
mod config;
mod failure;
mod law;
mod metrics;
mod probe;
mod recording;
mod run;
mod sense;
mod watch;

use args::{Cli, Verb};
use clap::{CommandFactory, Parser};
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = match Cli::parse().verb {
        Verb::Probe(args) => probe::probe(&args),
        Verb::Watch(args) => watch::watch(&args),
        Verb::Record(args) => recording::record::record(&args),
        Verb::Run(args) => run::run(&args),
        Verb::Hold => run::hold::hold(),
        Verb::Lockstep => law::lockstep::lockstep(),
        Verb::Undo(args) => run::state::undo(&args),
        Verb::Replay(args) => recording::replay::replay(&args),
        Verb::Calibrate(args) => recording::calibrate::calibrate(&args),
        Verb::Signals => failure::data(&sense::signals::cards()),
        Verb::Man(args) => man(&args),
    };
    done.map_or_else(|failure: Failure| failure.report(), |()| ExitCode::SUCCESS)
}

/// A page for the command and for each verb, as files of a folder.
fn man(args: &args::Man) -> Result<(), Failure> {
    let failed = |error| Failure::io(format!("write pages to {}", args.out.display()), &error);
    std::fs::create_dir_all(&args.out).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), &args.out).map_err(failed)?;
    let first = args.out.join("forebay-agent.1");
    failure::data(&format!("{}: man {}\n", args.out.display(), first.display()))
}
