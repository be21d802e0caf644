//! Random scenarios over all that a scenario can say, what must hold for every one of them, and a way to make one that fails small.
//!
//! [`wide::draw`] makes a scenario's text from a number; [`check::check`] runs it in several ways and says what differs; [`shrink::shrink`]
//! takes lines out of a failing text for as long as it fails in the same way.

pub mod check;
pub mod forecast;
pub mod shrink;
pub mod wide;

#[path = "../../sim/tests/it/common/random.rs"]
#[allow(dead_code, missing_docs, reason = "the simulator's own tests use the rest")]
mod random;
