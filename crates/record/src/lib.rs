//! What a run leaves behind: flows, ports, series, summary, manifest, report.
//!
//! Invariant: a record is data. It knows nothing of how it was produced, and the report is a pure
//! function of it.

mod rows;

pub use rows::{FlowRow, NodeCounters, PortRow, RunRecord, Series};
