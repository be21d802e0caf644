//! The host network: what lies between the cable and the application.
//!
//! A NIC *pulls* packets from flows when the wire is free. Flows wait in a ready list, not in a queue of packets. So a
//! short flow does not wait for the backlog of a long one. What arrives goes up at once, or
//! waits in a receive ring for an interrupt.
//!
//! Invariant: nothing here knows TCP, a law's name, or files.

pub mod memory;
mod ready_list;
mod receive_ring;
mod segmenter;

pub use ready_list::{ReadyFlows, ReadyList};
pub use receive_ring::{MOST_MERGED, ReceiveRing, Unit};
pub use segmenter::Segmenter;
