//! The types of a scenario, for other crates: one for each table, checked and with all defaults filled in.

pub use crate::fabric::*;
pub use crate::faults::{Change, Fault};
pub use crate::host::{
    Host, HostChange, HostControl, HostOverride, HostProfile, HostSettings, Machine, Memory,
    NicOrder, Pacing, TxQueues,
};
pub use crate::output::{
    Capture, Direction, FlowSamples, LawLog, MemorySamples, Output, QueueSamples, TableFormat,
    WhyFlows, WhyOutput,
};
pub use crate::program::{
    AllToAll, Incast, List, ListedFlow, LoadRef, LongFlows, Pairs, Permutation, Poisson, Rpc,
    TrafficKind, Wait,
};
pub use crate::quantity::{Fraction, QueueLength};
pub use crate::scenario::Scenario;
pub use crate::stop::Stop;
pub use crate::topology::{
    Cable, Clos, Dumbbell, FatTree, Graph, LeafSpine, Link, Pods, Star, Topology,
};
pub use crate::traffic::Traffic;
pub use crate::transport::{
    BaseRtt, InflightCap, Kernel, RdmaSettings, ReceiverDrivenSettings, Recovery, TcpSettings,
    Transport, TransportKind,
};
