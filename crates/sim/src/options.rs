//! Options and outputs of a simulation, and why it may be refused.

use forebay_laws::host_driver::lockstep::Line;
use forebay_record::capture::Sink;
use forebay_record::law_logs::LawLogs;
use forebay_scenario::program::Source;
use forebay_units::Span;
use std::fmt;
use std::sync::Arc;

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

/// What a simulation works with while it runs: takers of what it writes, and who runs its host laws, none of which changes a result;
/// and traffic of the program.
#[derive(Default)]
pub struct Outputs<'a> {
    /// Frames of the scenario's captures. If it takes no more, the run ends early.
    pub captures: Option<&'a mut dyn Sink>,
    /// Logs of the laws that the scenario names.
    pub law_logs: Option<&'a dyn LawLogs>,
    /// The agent that runs the laws of hosts, in lockstep, in place of the simulation. They write no log here. Once it has gone they do nothing
    /// more; the owner of the line ends the run.
    pub agent: Option<Arc<dyn Line>>,
    /// Traffic of the program: entries, by index, each with what lays out flows and programs in place of its kind.
    pub sources: Vec<(usize, Arc<dyn Source>)>,
    /// Flows to follow, by number: [`crate::Outcome::followed`] then is their log.
    pub follow: Option<&'a [u32]>,
    /// Whether that log has the queues that each of their packets found.
    pub details: bool,
    /// Whether [`forebay_record::RunRecord::steps`] is filled, as the scenario's `output.steps` says.
    pub steps: bool,
    /// Whether [`forebay_record::RunRecord::links`] is filled: all links over time, in at most 200 intervals.
    pub links: bool,
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
    /// The congestion control of a flow did what ends the run.
    Fault(String),
    /// The simulation was stopped before its first event.
    Stopped,
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Traffic(why) | Self::Fabric(why) | Self::Law(why) | Self::Fault(why) => {
                f.write_str(why)
            }
            Self::Stopped => f.write_str("stopped before its first event"),
        }
    }
}

impl std::error::Error for SimError {}
