//! How a simulation is asked for, and why it may be refused.

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
    /// Flow whose law writes a log, by its number in `flows.csv`; of a connection, that of its requests.
    pub law_log: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: 1, cut: None, explicit_ports: false, law_log: None }
    }
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
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Traffic(why) | Self::Fabric(why) | Self::Law(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for SimError {}
