//! How a command ends badly: exit codes and the sentence that goes with each.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// Exit code of a loop that did its work, but whose law log lacks its end.
pub const UNLOGGED: u8 = 4;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The machine refused. Exit code 1.
    Run(String),
    /// The input is wrong. Exit code 2.
    Input(String),
    /// A law answers otherwise than its log has it. Exit code 3.
    Differs(String),
    /// A law log lacks its end, as was said. Exit code [`UNLOGGED`], which the guard understands.
    Unlogged,
    /// The reader of stdout has gone. Exit code 0.
    NobodyReads,
}

impl Failure {
    /// The machine refused: `what` is what was tried.
    pub fn io(what: impl Display, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::Run(format!("cannot {what}: {error}")),
        }
    }

    /// Prints the sentence and gives the exit code.
    pub fn report(&self) -> ExitCode {
        let (code, text) = match self {
            Self::NobodyReads => return ExitCode::SUCCESS,
            Self::Unlogged => return ExitCode::from(UNLOGGED),
            Self::Run(text) => (1, text),
            Self::Input(text) => (2, text),
            Self::Differs(text) => (3, text),
        };
        let _ = writeln!(io::stderr(), "error: {text}");
        ExitCode::from(code)
    }
}

/// A sentence on stderr that is no failure.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "note: {text}");
}

/// Data on stdout.
pub fn data(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::io("write to standard output", &error))
}

/// JSON on stdout, indented, with a newline.
pub fn json(value: &serde_json::Value) -> Result<(), Failure> {
    data(&format!("{value:#}\n"))
}
