//! `forebay completions` and `forebay man`: what a shell and `man` know of this command, made of its own arguments.

use crate::args::{Cli, Completions, Man};
use crate::failure::Failure;
use crate::say;
use clap::CommandFactory;

/// Completions of one shell, on stdout.
pub fn completions(args: &Completions) -> Result<(), Failure> {
    let mut out = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "forebay", &mut out);
    say::data(&String::from_utf8_lossy(&out))
}

/// A page for the command and for each verb, as files of a folder.
pub fn man(args: &Man) -> Result<(), Failure> {
    let failed = |error| Failure::io(format!("write pages to {}", args.out.display()), &error);
    std::fs::create_dir_all(&args.out).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), &args.out).map_err(failed)?;
    let first = args.out.join("forebay.1");
    say::line(&format!("{}: man {}", args.out.display(), first.display()));
    Ok(())
}
