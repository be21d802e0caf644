//! A simulation: a scenario in, results out.
//!
//! `assemble` lays a scenario out as a `world` of nodes. `run` has the engine run it. `host` is one kind of node; switches are those of
//! `forebay_net`. `observe` looks at a world while it runs, and collects what it leaves. Each uses those that come before it in this
//! order: `host`, `observe::tap` and `observe::follow` (nodes around other nodes), `world`, the other observers, `assemble`, `run`.
//!
//! Invariants: no globals, no files, no wall clock; several simulations may run side by side in one process.
//! Threads, grouping and observers never change a result.

mod assemble;
mod host;
mod law;
mod law_log;
mod observe;
mod options;
mod run;
#[cfg(feature = "reference")]
pub mod twin;
mod world;

/// Tests of parts that only this crate sees; `tests/it/parts.rs` runs them. So the library is compiled once, and not a
/// second time as a program of its own tests.
#[cfg(feature = "reference")]
#[doc(hidden)]
pub mod parts {
    pub use crate::assemble::messages::tests as messages;
    pub use crate::host::class_queues::tests as class_queues;
    pub use crate::host::flow_map::tests as flow_map;
    pub use crate::host::pulled_tests as pulled;
    pub use crate::host::push::tests as push;
    pub use crate::host::telemetry::tests as telemetry;
    pub use crate::host::timer_dedup::tests as timer_dedup;
    pub use crate::law::tests as law;
    pub use crate::observe::collect::memory::tests as memory_rows;
}

pub use assemble::path::paths;
pub use forebay_engine::{EngineStats, Watch};
pub use host::MemoryState;
pub use observe::inspect::{
    HostState, Inspection, PortState, RackState, SenderState, SwitchState, VoqState,
};
pub use observe::interval::{
    FlowInterval, Interval, IntervalBaseline, MemoryInterval, PortInterval,
};
pub use options::{Options, Outputs, SimError};
pub use run::{Outcome, Simulation, simulate, simulate_into};
