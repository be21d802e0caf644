//! The `forebay` command, for the console script of the package: the program's own code, in the interpreter's process.

use forebay_cli::OwnCommand;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs the command with these words, its name first, and gives its exit code. `again` is the program, and the words before those
/// of the command, of another process of it; `folder` is where programs beside it are.
#[pyfunction]
pub fn command(
    py: Python<'_>,
    args: Vec<OsString>,
    again: (PathBuf, Vec<OsString>),
    folder: PathBuf,
) -> u8 {
    let (program, before) = again;
    let own = OwnCommand {
        program: Some(program),
        before,
        args,
        folder: Some(folder),
        ..OwnCommand::default()
    };
    py.detach(|| forebay_cli::command(own))
}
