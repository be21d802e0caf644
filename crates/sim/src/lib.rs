//! Assembly: a scenario in, results out.
//!
//! Invariants: no globals, no files, no wall clock; several simulations may run side by side in one process.
//! Threads, grouping and observers never change a result.

mod base_rtt;
mod build;
mod capture;
mod collect;
mod deadlock;
mod dependencies;
mod flow_map;
mod flow_samples;
mod follow;
mod host;
mod ideal;
mod ideals;
mod inspect;
mod interval;
mod law;
mod law_log;
mod link_samples;
mod machine;
mod messages;
mod node;
mod options;
mod path;
mod pools;
mod racks;
mod routes;
mod rpc;
mod run;
mod stacks;
mod stall;
mod symmetric;
mod timeline;
#[cfg(feature = "reference")]
pub mod twin;
mod watch;

/// Tests of parts that only this crate sees; `tests/it/parts.rs` runs them. So the library is compiled once, and not a
/// second time as a program of its own tests.
#[cfg(feature = "reference")]
#[doc(hidden)]
pub mod parts {
    pub use crate::collect::memory::tests as memory_rows;
    pub use crate::flow_map::tests as flow_map;
    pub use crate::host::class_queues::tests as class_queues;
    pub use crate::host::pulled_tests as pulled;
    pub use crate::host::push::tests as push;
    pub use crate::host::telemetry::tests as telemetry;
    pub use crate::host::timer_dedup::tests as timer_dedup;
    pub use crate::law::tests as law;
    pub use crate::messages::tests as messages;
}

pub use forebay_engine::{EngineStats, Watch};
pub use inspect::{
    HostState, Inspection, MemoryState, PortState, RackState, SenderState, SwitchState, VoqState,
};
pub use interval::{FlowInterval, Interval, Looks, MemoryInterval, PortInterval};
pub use options::{Options, Outputs, SimError};
pub use path::paths;
pub use run::{Outcome, Simulation, simulate, simulate_into};
