//! `forebay._core`: what the Python package `forebay` calls. Conversions only; no model, no result is made here.
//!
//! Invariant: the interpreter lock is released while something simulates, and Python is asked for signals meanwhile.

mod arrow;
mod command;
mod comparing;
mod errors;
mod law;
mod results;
mod running;
mod scenario;
mod stepping;
mod sweeping;
mod table;

/// Large runs live in main memory, and this one lays their state out better: docs/adr/0011-allocator.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The compiled half of `forebay`.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::command::command;
    #[pymodule_export]
    use crate::comparing::Comparison;
    #[pymodule_export]
    use crate::law::{Event, FlowLaw, FlowStart};
    #[pymodule_export]
    use crate::results::Results;
    #[pymodule_export]
    use crate::scenario::{Scenario, presets};
    #[pymodule_export]
    use crate::stepping::Simulation;
    #[pymodule_export]
    use crate::sweeping::{Sweep, simulate_run};
    #[pymodule_export]
    use crate::table::{Block, Table};

    /// Version of the package, and of results.
    #[pymodule_export]
    const VERSION: &str = forebay_study::about::VERSION;
}
