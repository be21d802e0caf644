//! Observers: what looks at a simulation while it runs or after it. None of them changes a result.

pub(crate) mod capture;
pub(crate) mod collect;
mod credit_samples;
pub(crate) mod deadlock;
mod deliveries;
mod flow_samples;
pub(crate) mod follow;
pub(crate) mod followed_log;
mod ideals;
pub(crate) mod inspect;
pub(crate) mod interval;
pub(crate) mod link_samples;
mod memory_samples;
mod pool_samples;
mod sender_waits;
pub(crate) mod stall;
pub(crate) mod tap;
pub(crate) mod traces;
mod watch;

pub(crate) use credit_samples::{CreditSample, CreditSamples};
pub(crate) use deliveries::Deliveries;
pub(crate) use flow_samples::FlowSamples;
pub(crate) use memory_samples::MemorySamples;
pub(crate) use pool_samples::PoolSamples;
pub(crate) use sender_waits::SenderWaits;
