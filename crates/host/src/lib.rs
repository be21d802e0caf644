//! The host network: what lies between the cable and the application.
//!
//! So far its ideal form: a NIC that *pulls* packets from flows when the wire is free. Flows wait in a ready list, not
//! in a queue of packets, so a short flow never stands behind the backlog of a long one, as under `fq` in Linux.
//!
//! Invariant: nothing here knows TCP, a law's name, or files.

mod ready_list;

pub use ready_list::{PullOrder, ReadyList};
