//! Assembly: a scenario in, results out.
//!
//! Invariants: no globals, no files, no wall clock; several simulations may run side by side in one process.
//! Threads, grouping and whoever watches never change a result.

mod run;

pub use forebay_engine::{EngineStats, Watch};
pub use run::{Options, Outcome, SimError, simulate};
