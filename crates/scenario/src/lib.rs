//! Scenarios: text to checked types, and the traffic they describe.
//!
//! Invariant: this is the only crate that parses user text; it runs nothing.

pub mod cdf;
pub mod model;
pub mod workload;
