//! What is asked of a scenario around its simulations: what a sweep consists of, what a run will cost, which bands its
//! results must lie in, which numbers a summary has, and what a run directory says about it.
//!
//! Invariants: nothing here reads a file, a clock or the machine, so that a browser and other languages can use it; whoever
//! calls hands over what was read.

pub mod about;
pub mod estimate;
pub mod expect;
pub mod hash;
pub mod metrics;
pub mod sweep;
