//! How this command was started, and how it starts itself again.
//!
//! The process may be that of a Python interpreter, whose own words say nothing of the command.

use forebay_laws::Laws;
use forebay_scenario::Loader;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A command as it was started.
#[derive(Clone, Debug, Default)]
pub struct OwnCommand {
    /// The program to start for another process of this command; `None`: it is not known.
    pub program: Option<PathBuf>,
    /// Words that program needs before those of the command.
    pub before: Vec<OsString>,
    /// Words of the command, its name first.
    pub args: Vec<OsString>,
    /// Where programs and files that belong to it lie.
    pub folder: Option<PathBuf>,
    /// Laws that scenarios may name.
    pub laws: Laws,
}

impl OwnCommand {
    /// How a program of its own was started.
    pub fn of_this_process() -> Self {
        let program = std::env::current_exe().ok();
        let folder = program.as_deref().and_then(Path::parent).map(Path::to_path_buf);
        let args = std::env::args_os().collect();
        Self { program, before: Vec::new(), args, folder, laws: Laws::built_in() }
    }

    /// The same with these laws in place of the built-in ones.
    #[must_use]
    pub fn with_laws(self, laws: Laws) -> Self {
        Self { laws, ..self }
    }
}

static OWN: OnceLock<OwnCommand> = OnceLock::new();

/// Keeps how the command was started; the first call counts.
pub fn set(own: OwnCommand) -> &'static OwnCommand {
    OWN.get_or_init(|| own)
}

fn own() -> &'static OwnCommand {
    OWN.get_or_init(OwnCommand::of_this_process)
}

/// Laws that scenarios may name.
pub fn laws() -> &'static Laws {
    &own().laws
}

/// A loader of scenarios that may name them.
pub fn loader() -> Loader {
    Loader::new(laws().clone())
}

/// The words of the command, its name first.
pub fn typed() -> impl Iterator<Item = String> {
    own().args.iter().map(|arg| arg.to_string_lossy().into_owned())
}

/// The folder of this program, if it is known.
pub fn folder() -> Option<&'static Path> {
    own().folder.as_deref()
}

/// Another process of this command.
///
/// # Errors
/// A sentence, if the system does not say where this program is.
pub fn again() -> Result<Command, String> {
    let own = own();
    let Some(program) = &own.program else {
        return Err("cannot find this program, to start it once more".into());
    };
    let mut command = Command::new(program);
    command.args(&own.before);
    Ok(command)
}
