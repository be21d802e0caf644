//! Collectives as operations: what each rank sends, receives and waits for.
//!
//! A [`Collective`] becomes a [`Schedule`]. [`Schedule::steps`] lists the operations of one rank on one channel, lazily and as a function
//! of its arguments alone. [`check`] executes a schedule without data or time and finds contributions that are missing or come twice.
//!
//! ```
//! use forebay_jobs::{Algorithm, Collective, Operation, check};
//! use forebay_units::{BitsPerSec, Bytes, Span};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let all_reduce = Collective::new(Operation::AllReduce, Algorithm::Ring, 16, Bytes::new(1 << 20));
//! let schedule = all_reduce.schedule()?;
//! assert_eq!(schedule.steps(3, 0).filter(|step| step.op.is_send()).count(), 30); // 2 (n - 1)
//! assert_eq!(schedule.sent_by_all().get(), 30 << 20); // 2 (n - 1) S
//! assert_eq!(schedule.least_time(BitsPerSec::from_gbps(100)), Span::from_ns(157_286) + Span::from_ps(400));
//! check(&schedule, |events| events.len() - 1)?;
//! # Ok(())
//! # }
//! ```
//!
//! Source: NCCL 2.30 (rings), nccl-tests `doc/PERFORMANCE.md` (bandwidths), Thakur, Rabenseifner and Gropp 2005 (halving-doubling).
//! Invariants: no engine, no clock, no input or output. A sequence of operations has a state of fixed size.

mod check;
mod collective;
mod connections;
mod error;
mod forms;
mod group;
mod kinds;
mod op;
mod parts;
mod schedule;
mod stages;
mod steps;

pub use check::{Event, Fault, check, check_steps};
pub use collective::Collective;
pub use error::Error;
pub use group::Group;
pub use kinds::{Algorithm, MOST_BYTES, MOST_CHANNELS, MOST_RANKS, Meaning, Operation, Ratio};
pub use op::{DataUse, Op, Step};
pub use parts::{Parts, share};
pub use schedule::Schedule;
pub use steps::Steps;

/// The Rust of the page runs as well.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/collectives.md")]
struct Page;
