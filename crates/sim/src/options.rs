//! Options and outputs of a simulation, and why it may be refused.

use forebay_record::capture::Sink;
use forebay_record::law_logs::LawLogs;
use forebay_units::Span;
use std::fmt;

/// How to execute. Nothing here changes a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Threads for this one simulation.
    pub threads: usize,
    /// Links with less lookahead than this are contracted; `None`: chosen by the engine.
    pub cut: Option<Span>,
    /// Serve every departure as an explicit one (the slow twin of one-touch ports, for tests).
    pub explicit_ports: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: 1, cut: None, explicit_ports: false }
    }
}

/// Takers of what a simulation writes while it runs. None changes a result.
#[derive(Default)]
pub struct Outputs<'a> {
    /// Frames of the scenario's captures. If it takes no more, the run ends early.
    pub captures: Option<&'a mut dyn Sink>,
    /// Logs of the laws that the scenario names.
    pub law_logs: Option<&'a dyn LawLogs>,
}

/// Why there is no simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimError {
    /// The traffic cannot be made.
    Traffic(String),
    /// The fabric cannot be run.
    Fabric(String),
    /// A law or a parameter of it is unknown.
    Law(String),
    /// The simulation was stopped before its first event.
    Stopped,
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Traffic(why) | Self::Fabric(why) | Self::Law(why) => f.write_str(why),
            Self::Stopped => f.write_str("stopped before its first event"),
        }
    }
}

impl std::error::Error for SimError {}
