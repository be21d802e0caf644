//! What surrounds the simulations of a scenario: the points and runs of a sweep, runs compared, seeds side by side, what a run will cost, how
//! far it is, which bands its results must lie in, which numbers a summary has, formulas over these numbers, and what a run directory
//! says about it.
//!
//! Invariants: nothing here reads a file, a clock or the machine, so that a browser and other languages can use it; the
//! caller hands over what was read, or a reader, a writer and a clock ([`Surroundings`], [`sweep::Store`]).

pub mod about;
pub mod compare;
pub mod estimate;
pub mod expect;
pub mod formula;
pub mod hash;
pub mod metrics;
mod pace;
pub mod pairs;
pub mod progress;
mod saving;
pub mod seeds;
mod surroundings;
pub mod sweep;
pub mod why;

pub use surroundings::Surroundings;
