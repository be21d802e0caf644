//! What can go wrong between a record and the disk, each as one sentence that names the file.

use forebay_units::OneLine;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a run directory could not be written or read.
#[derive(Debug)]
pub enum RecordError {
    /// There is a run already, or something that is not one.
    Exists {
        /// The directory.
        path: PathBuf,
        /// What to do about it.
        remedy: &'static str,
    },
    /// Another run is at work there.
    AtWork {
        /// The directory that it will have.
        path: PathBuf,
    },
    /// A run was at work there that did not come to its end.
    Wreck {
        /// The directory that it would have had.
        path: PathBuf,
        /// What is left of it.
        left: PathBuf,
    },
    /// The system refused.
    Io {
        /// `write`, `read`, `create`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Reason of the failure.
        source: io::Error,
        /// What is left behind; empty if nothing is to be said.
        left: String,
    },
    /// A file is not what this version writes.
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line, from 1; 0 if the file as a whole is meant.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A simulation came out of turn.
    Order {
        /// Seed of the simulation.
        seed: u64,
        /// The seed whose turn it is; `None`: all have been recorded.
        expected: Option<u64>,
    },
}

impl RecordError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.into(), source, left: String::new() }
    }

    pub(crate) fn malformed(path: &Path, line: usize, why: impl Into<String>) -> Self {
        Self::Malformed { path: path.into(), line, why: why.into() }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists { path, remedy } => write!(f, "{} {remedy}", path.display()),
            Self::AtWork { path } => write!(
                f,
                "another run is at work in {}; wait for it, or name another directory",
                path.display()
            ),
            Self::Wreck { path, left } => write!(
                f,
                "{} is left of a run of {} that did not end; name another directory, or ask to replace it",
                left.display(),
                path.display()
            ),
            Self::Io { action, path, source, left } => {
                write!(f, "cannot {action} {}: {source}", path.display())?;
                if left.is_empty() { Ok(()) } else { write!(f, "; {left}") }
            }
            Self::Malformed { path, line: 0, why } => {
                write!(f, "{}: {}", path.display(), OneLine(why))
            }
            Self::Malformed { path, line, why } => {
                write!(f, "{}, line {line}: {}", path.display(), OneLine(why))
            }
            Self::Order { seed, expected: Some(expected) } => {
                write!(f, "seed {seed} was recorded out of turn; the next one is {expected}")
            }
            Self::Order { seed, expected: None } => {
                write!(f, "seed {seed} was recorded after the last one")
            }
        }
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
