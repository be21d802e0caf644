//! Files of other simulators, as scenarios: text in, a scenario and the files it names out, and for every line of a source
//! what became of it.
//!
//! Formats and where each was looked up: `docs/import.md`.
//!
//! Invariant: what is written here can be run at once; what could not be carried over is a [`Note`], never silence.

mod cdf;
mod draft;
mod hpcc;
mod hpcc_config;
mod hpcc_forks;
mod hpcc_ideal;
mod hpcc_topology;
mod htsim;
mod htsim_command;
mod htsim_topo;
mod paths;
mod words;

pub use hpcc::{Flow, Flows};
pub use hpcc_config::HpccConfig;
pub use hpcc_forks::{FlowForm, SIX_COLUMNS};
pub use hpcc_ideal::{Paths, ReceiverPath};
pub use hpcc_topology::{Link, Topology};
pub use htsim_command::Command;

/// Parts that tests of this crate look at.
#[doc(hidden)]
pub mod parts {
    pub use super::hpcc_forks::{Header, Wrong};
    pub use super::words::{delay, lines, microseconds, picoseconds, rate, seconds};
}

use crate::{Error, LoadedScenario};
use forebay_units::{Bytes, OneLine, Time};
use std::fmt;

/// A file of another simulator.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Name of the file, for sentences.
    pub name: &'a str,
    /// Text of the file.
    pub text: &'a str,
}

/// What became of something in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Present in the scenario, with the same meaning.
    Carried,
    /// Present in the scenario, with another or nearly the same meaning.
    Changed,
    /// Absent from the scenario.
    Left,
}

impl Fate {
    /// Word in the list of an import.
    pub fn word(self) -> &'static str {
        match self {
            Self::Carried => "carried",
            Self::Changed => "changed",
            Self::Left => "left out",
        }
    }
}

/// What became of one line of a source, or of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// `file:line`.
    pub place: String,
    /// What became of it.
    pub fate: Fate,
    /// What it said and what is written instead.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<9}{}: {}", self.fate.word(), self.place, OneLine(&self.text))
    }
}

/// A scenario made from files of another simulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Names and texts of the files to write side by side, `scenario.toml` first.
    pub files: Vec<(String, String)>,
    /// What became of the sources, in their order.
    pub notes: Vec<Note>,
}

impl Import {
    /// The scenario, read as from a folder that holds the files.
    ///
    /// # Errors
    /// As of any scenario; imports of this module have been read back before they are returned.
    pub fn load(&self) -> Result<LoadedScenario, Error> {
        draft::read_back(&self.files)
    }
}

/// What the files of the public HPCC simulator are, or those of its many forks.
#[derive(Clone, Copy, Debug)]
pub struct Hpcc<'a> {
    /// Topology.
    pub topology: Source<'a>,
    /// Flows.
    pub flows: Source<'a>,
    /// Settings, `config.txt`.
    pub config: Option<&'a HpccConfig>,
    /// Explicit paths: flow number in `flows`, switches of its data, switches of its ACKs, all by number.
    pub paths: Option<Source<'a>>,
    /// When the first flow starts; `None`: when the file says. All that has a time moves with it.
    pub start_at: Option<Time>,
    /// The form of the flows, where six columns fit two of them ([`SIX_COLUMNS`]); `None`: told by their values.
    pub flow_form: Option<FlowForm>,
}

/// A scenario from files of the public HPCC simulator.
///
/// # Errors
/// One sentence with file and line.
pub fn hpcc(name: &str, files: &Hpcc<'_>) -> Result<Import, Error> {
    hpcc::import(name, files)
}

/// What csg-htsim is given.
#[derive(Clone, Copy, Debug)]
pub struct Htsim<'a> {
    /// Connection matrix.
    pub matrix: Source<'a>,
    /// Topology; `None`: the one that htsim makes of the matrix's number of nodes, a three-tier fat tree, of 100 Gb/s links of 1 us unless the
    /// command says otherwise.
    pub topology: Option<Source<'a>>,
    /// Flags of its command line.
    pub command: Command<'a>,
}

/// A scenario from what csg-htsim is given.
///
/// # Errors
/// One sentence with file and line, or with the flag.
pub fn htsim(name: &str, files: &Htsim<'_>) -> Result<Import, Error> {
    htsim::import(name, files)
}

/// What a user says of a CDF file.
#[derive(Clone, Copy, Debug, Default)]
pub struct CdfForm {
    /// Whether lines join the points; `None`: as the mean in the first line of the file says, else lines.
    pub lines: Option<bool>,
    /// Size of a packet, if the file counts packets.
    pub packet: Option<Bytes>,
}

/// A scenario that draws flow sizes from a CDF file, which is put into the form of `sizes = { file = ... }`.
///
/// # Errors
/// One sentence with file and line.
pub fn cdf(name: &str, sizes: Source<'_>, form: CdfForm) -> Result<Import, Error> {
    cdf::import(name, sizes, form)
}
