//! The host network: what lies between the cable and the application.
//!
//! A NIC *pulls* packets from flows when the wire is free. Flows wait in a ready list, not in a queue of packets, so a
//! short flow never stands behind the backlog of a long one, as under `fq` in Linux. What arrives goes up at once, or
//! waits in a receive ring for an interrupt.
//!
//! Invariant: nothing here knows TCP, a law's name, or files.

pub mod memory;
mod ready_list;
mod receive_ring;
mod segmenter;

pub use ready_list::{PullOrder, ReadyList};
pub use receive_ring::{MOST_MERGED, Moderation, ReceiveRing, Unit};
pub use segmenter::Segmenter;
