//! The `forebay` command: what people and their scripts touch. A library, so that the Python package brings the same command as the
//! program does.
//!
//! Invariants: nothing but data on stdout; every failure is a sentence on stderr and one of the exit codes of
//! [`failure`]; no panic reaches a user as one. The wall clock is read here and nowhere below, so no result can
//! depend on it.

mod agent;
mod args;
mod bench;
mod bug;
mod check;
mod clock;
mod compare;
mod doctor;
mod examples;
mod export;
mod failure;
mod import;
mod install;
mod interrupt;
mod itself;
mod laws;
mod list;
mod machine;
mod new;
mod place;
mod play;
mod progress;
mod report;
mod reproduce;
mod run;
mod say;
mod source;
mod surroundings;
mod sweep;
mod trace;
mod watch;
mod why;

use args::{Cli, Verb};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use failure::Failure;
use forebay_study::{about, estimate, expect, metrics};
use forebay_units::human;

pub use itself::OwnCommand;
pub use machine::free_disk;

/// Runs the command and gives its exit code.
pub fn command(own: OwnCommand) -> u8 {
    bug::install_panic_hook();
    interrupt::survive_full_files();
    let own = itself::set(own);
    let cli = match Cli::try_parse_from(&own.args) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    match std::panic::catch_unwind(|| dispatch(cli.verb)) {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => say::failure(&failure),
        Err(_) => Failure::BUG,
    }
}

/// What clap says, or a sentence where it would mislead.
fn usage(error: &clap::Error) -> u8 {
    let typed: Vec<String> = itself::typed().skip(1).collect();
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        _ => None,
    };
    let said = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            word(ContextKind::InvalidSubcommand).and_then(|word| args::no_command(&typed, &word))
        }
        ErrorKind::UnknownArgument | ErrorKind::InvalidValue => {
            word(ContextKind::InvalidArg).and_then(|word| args::no_value(&typed, &word))
        }
        _ => None,
    };
    if let Some(said) = said {
        return say::failure(&Failure::Input(said));
    }
    let _ = error.print();
    u8::try_from(error.exit_code()).unwrap_or(2)
}

fn dispatch(verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::New(args) => new::new(&args),
        Verb::Check(args) => check::check(&args),
        Verb::Run(args) => run::run(&args),
        Verb::Watch(args) => watch::watch(&args),
        Verb::Sweep(args) => sweep::sweep(&args),
        Verb::Worker(args) => sweep::worker(&args),
        Verb::Bench(args) => bench::bench(&args),
        Verb::Reproduce(args) => reproduce::reproduce(&args),
        Verb::Import(args) => import::import(&args.format),
        Verb::Export(args) => export::export(&args),
        Verb::Report(args) => report::report(&args),
        Verb::Compare(args) => compare::compare(&args),
        Verb::Play(args) => play::play(&args),
        Verb::Why(args) => why::why(&args),
        Verb::Trace(args) => trace::trace(&args),
        Verb::Laws(args) => laws::laws(&args),
        Verb::List(args) => list::list(&args),
        Verb::Explain(args) => list::explain(&args),
        Verb::Schema => list::schema(),
        Verb::Doctor(args) => doctor::doctor(&args),
        Verb::Completions(args) => install::completions(&args),
        Verb::Man(args) => install::man(&args),
        Verb::Agent(args) => agent::agent(&args),
    }
}
