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
//! To glue a sender to a NIC: after every call that takes `&mut self`, look at `ready` (queue the flow at
//! the NIC if it is true and was false) and at `deadline` (a timer need only move when it becomes
//! earlier; one that fires early costs a call). A receiver's ACKs leave in the order returned.
//!
//! Not here, since they belong to hosts: cutting super-packets, GRO, interrupt coalescing. Nor TSQ: a NIC that pulls
//! holds at most the super-packet that it sends.
//! Deviations from Linux beyond those that the modules name: no zero-window probes, since no receive window shuts; no reneging;
//! [`Needs::int`](forebay_laws::flow::Needs::int) and [`Needs::sent`](forebay_laws::flow::Needs::sent) are not served.
//!
//! Invariant: no law is named, nothing allocates per packet once warm, time is integer picoseconds.

mod acts;
mod bits;
mod config;
pub mod credited;
pub mod granted;
mod half;
mod lost;
mod marks;
mod progress;
mod prr;
#[cfg(feature = "pulled")]
pub mod pulled;
mod rack;
pub mod rdma;
mod receiver;
mod rtt;
mod scoreboard;
mod sender;
mod stack;
mod tcp;
mod telemetry;
mod ticks;
mod writes;

pub use config::TcpConfig;
pub use half::{
    ClassPayload, CreditState, Frames, HostHalf, HostStart, PacketSettings, PacketSink, Prefetch,
    ReceiverHalf, SenderHalf, Transport,
};
pub use receiver::{Acks, Arrival, TcpReceiver};
pub use scoreboard::Segment;
pub use sender::{Burst, FlowSpec, TcpSender, Wait};
pub use stack::{Config, HostHalves, Progress, Receiver, Sender, SenderNext};
pub use telemetry::{Heard, Telemetry};
