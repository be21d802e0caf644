//! Every test of this crate that is outside its source, in one program.

mod captures;
mod common;
mod credited;
mod digests;
mod exact;
mod host_features;
mod kernel;
mod law_log;
mod laws;
mod links;
mod lists;
mod machine;
mod memory;
mod nic_classes;
mod pause;
mod pause_by_class;
mod properties;
mod racks;
mod receiver_driven;
mod receiver_properties;
mod rpc;
mod run;
mod so_far;
mod telemetry;
mod weights;
mod why;
