//! What a run leaves behind: flows, ports, series, summary, manifest, report.
//!
//! Invariant: a record is data. It knows nothing of how it was produced, and the report is a pure
//! function of it.

mod about;
pub mod bundles;
pub mod capture;
pub mod columnar;
pub mod columns;
mod csv;
mod dir;
mod error;
pub mod frame;
pub mod judge;
pub mod law_logs;
pub mod machine;
mod memory_series;
pub mod messages;
mod part;
pub mod perfetto;
pub mod report;
mod rows;
pub mod signals;
mod stats;
mod summary;
pub mod svg;
mod tiers;
pub mod why;

pub(crate) use forebay_units::human;

pub use about::{FaultSpan, RunStart, Volatile};
pub use columns::{PortRow, Total, explain};
pub use dir::{
    EmptyTable, IfExists, Life, MANIFEST_FORMAT, Progress, RunDir, SeedProgress, Unfinished,
    WrittenRun, life_of, partial_of, save, write_whole,
};
pub use error::RecordError;
pub use memory_series::{CacheSample, CreditsSample, MemorySample, MemorySeries};
pub use rows::{
    ClassArrivalRow, ClassPauseRow, CollectiveRow, ConnectionRow, CreditPool, CreditRow,
    DeadlockRow, FlowRow, LIMITS, LinksRow, MemoryRow, NodeCounters, ProgramRow, ProgramWait,
    Quantity, RpcRow, RunRecord, Series, StepCause, StepKind, StepRow, UnfinishedRow, WAITS,
    WaitsFor,
};
pub use stats::{Estimate, MIN_SEEDS_FOR_CI, jain, nearest_rank, student_t95};
pub use summary::{
    CENSORED, COLLECTIVE_DEFINITION, CollectiveClass, CollectiveSummary, Distribution,
    FCT_DEFINITION, FlowClass, FlowCounts, HostMemory, IncastClass, IncastSummary, Latency,
    LeftFlows, Limits, LinkUse, MemorySummary, MissingResult, Network, QUANTILE_DEFINITION,
    RPC_DEFINITION, RpcClass, RpcSummary, RunFacts, SUMMARY_FORMAT, ShutOut, Status, Summary, Tier,
    UnfinishedFlows, Utilisation, combined_digest, hex,
};
