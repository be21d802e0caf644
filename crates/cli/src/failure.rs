//! How a command ends badly: exit codes and the sentence that goes with each. `say::failure` prints it.

use forebay_record::RecordError;
use std::fmt::Display;
use std::path::Path;

/// Why a command failed. The text is what the user reads.
#[derive(Debug)]
pub enum Failure {
    /// The run failed: the system refused, or a simulation did not come to its end. Exit code 1.
    Run(String),
    /// The input is wrong; one sentence. Exit code 2.
    Input(String),
    /// The input is wrong; lines that begin with a place (`file:line:column: ...`). Exit code 2.
    Problems(String),
    /// A band was missed, and each miss has been printed. Exit code 3.
    Missed(String),
    /// Stopped by a signal. Exit code 130.
    Interrupted(String),
    /// The reader of stdout has gone. Exit code 0, as `head` users expect.
    NobodyReads,
}

impl Failure {
    /// After a panic, whose hook has said what is to be said.
    pub const BUG: u8 = 1;

    /// The world refused: `what` is what was tried.
    pub fn io(what: impl Display, error: &std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::NobodyReads;
        }
        Self::Run(format!("cannot {what}: {}", plain(error)))
    }

    /// A file cannot be written; a folder that is not there is named.
    pub fn unwritten(path: &Path, error: &std::io::Error) -> Self {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match folder.filter(|folder| !folder.exists()) {
            Some(folder) => Self::Run(format!(
                "cannot write {}: there is no folder {}; make it first",
                path.display(),
                folder.display()
            )),
            None => Self::io(format!("write {}", path.display()), error),
        }
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::NobodyReads => 0,
            Self::Run(_) => 1,
            Self::Input(_) | Self::Problems(_) => 2,
            Self::Missed(_) => 3,
            Self::Interrupted(_) => 130,
        }
    }
}

impl From<forebay_scenario::Error> for Failure {
    fn from(error: forebay_scenario::Error) -> Self {
        Self::Problems(error.to_string())
    }
}

impl From<forebay_study::expect::Problems> for Failure {
    fn from(problems: forebay_study::expect::Problems) -> Self {
        Self::Problems(problems.0)
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Exists { .. } | RecordError::AtWork { .. } | RecordError::Wreck { .. } => {
                Self::Input(for_people(&error))
            }
            RecordError::Io { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe => {
                Self::NobodyReads
            }
            RecordError::Io { action: "write", path, source, .. }
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Self::unwritten(&path, &source)
            }
            _ => Self::Run(without_os_error(&error.to_string())),
        }
    }
}

/// Why a directory cannot be had, with the options of the command line as remedies.
pub fn for_people(error: &RecordError) -> String {
    let text = error.to_string();
    let text = text.replace(
        "name another directory, or ask to replace it",
        "name another directory, or add --force to replace it",
    );
    match error {
        RecordError::Wreck { left, .. } => {
            format!("{text}; \"forebay report {}\" shows what it has", left.display())
        }
        _ => text,
    }
}

/// An error of the system without its number.
pub fn plain(error: &std::io::Error) -> String {
    without_os_error(&error.to_string())
}

/// A sentence without ` (os error 28)`.
pub fn without_os_error(text: &str) -> String {
    let Some((before, rest)) = text.split_once(" (os error ") else { return text.into() };
    let after = rest.split_once(')').map_or("", |(_, after)| after);
    format!("{before}{after}")
}
