//! A sans-I/O TCP core that behaves as Linux does: sequence numbers, ACKs, the scoreboard, loss
//! detection (RACK, tail loss probes, NewReno without SACK), proportional rate reduction, timers, undo
//! and ECN. It drives a law of role `flow` and never knows which.
//!
//! [`TcpSender`] and [`TcpReceiver`] are the two halves of one flow; each lives with its host. Nothing
//! here has a clock, a queue or a socket. The caller hands in packets and the time, pulls segments with
//! [`TcpSender::next_packet`] while [`TcpSender::ready`] says so, and calls `on_deadline` when
//! `deadline()` comes (an early call changes nothing).
//!
//! Connections are warm: there is no handshake, the first byte of a flow has offset 0, and the sender
//! knows the receive window from its configuration. Data flows one way.
//!
//! Windows and counts are bytes where Linux has packets. For full segments the two agree; a short
//! segment counts its payload here and one packet there.
//!
//! Invariant: no law is named, nothing allocates per packet once warm, time is integer picoseconds.

mod config;
mod marks;
mod prr;
mod rack;
mod receiver;
mod rtt;
mod scoreboard;
mod sender;

pub use config::TcpConfig;
pub use receiver::{Acks, TcpReceiver};
pub use sender::{FlowSpec, TcpSender};
