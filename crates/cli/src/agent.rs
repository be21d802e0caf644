//! `forebay agent`: starts `forebay-agent`, from the folder of this program, then from PATH.
//!
//! The agent is a program of its own, so that what simulates needs none of its libraries and none of its rights.

use crate::args::Agent;
use crate::failure::Failure;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

/// `forebay agent`: ends with the exit code of the other program.
pub fn agent(args: &Agent) -> Result<(), Failure> {
    let name = format!("forebay-agent{}", std::env::consts::EXE_SUFFIX);
    let own = std::env::current_exe().ok().map(|path| path.with_file_name(&name));
    let program = own.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(&name));
    match Command::new(&program).args(&args.rest).status() {
        Ok(status) => std::process::exit(code(status)),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Failure::Run(format!(
            "{name} is neither beside this program nor in PATH; build it: cargo build --release -p forebay-agent"
        ))),
        Err(error) => Err(Failure::io(format!("start {}", program.display()), &error)),
    }
}

/// Exit code of the other program; ended by a signal, 130 as after an interrupt.
fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(130)
}
