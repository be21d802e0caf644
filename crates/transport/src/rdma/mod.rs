//! RDMA over Ethernet (RoCEv2): reliable queue pairs whose work is done by NICs.
//!
//! A queue pair is one flow of bytes: writes and sends one after the other, cut into packets of `mtu` payload. Packets carry byte
//! offsets where RoCE has packet numbers; for full packets the two agree. [`QpSender`] is the requester, [`QpReceiver`] the
//! responder; each lives with its host. Like the rest of this crate they have no clock, no queue and no socket.
//!
//! - **Go-back-N**, as commodity NICs: the responder drops what is not next and says so once (NACK); the requester
//!   sends everything again from there.
//! - **Go-back-0**, as NICs before: after a gap the responder begins anew, and the requester sends the whole message again. A flow is one
//!   message. Where a message has many more packets than are sent for each that is lost, it never ends (livelock).
//! - **Selective repeat**, as IRN (Mittal et al., SIGCOMM 2018): the responder places what it gets and each packet out of order is
//!   answered by a NACK that names it; the requester sends again what is missing below the highest so named, and never
//!   has more than one bandwidth-delay product under way.
//! - The law sets a window, a rate, or both. Rates hold for bytes on the wire without preamble and gap, and carry their
//!   remainder. A new rate moves the departure that is pending, as if the last packet had left at that rate.
//! - Congestion comes back as CNPs (at most one per interval and queue pair), as marks echoed by ACKs, as time stamps or as
//!   telemetry: whatever the law needs.
//!
//! Source: go-back-N, its NACK timer and go-back-0 as the public HPCC simulator has them (`rdma-hw.cc`); go-back-0 in practice: Guo et al., SIGCOMM 2016
//! (RDMA at scale), section 4.1; selective repeat: Mittal et al., SIGCOMM 2018 (IRN); CNPs: Zhu et al., SIGCOMM 2015 (DCQCN), section 3.
//! Deviations: queue pairs are connected and warm. ACKs acknowledge bytes in memory, where a NIC may send them a little earlier.
//! A loss reaches the law both as `Nack` and as the recovery that TCP would report (`Enter(Recovery)`, `Enter(Loss)`), so that
//! laws made for lossy networks may answer; those made for RDMA do not. There is no PRR: what a law answers holds at once.

mod config;
mod half;
mod receiver;
mod sender;

pub use config::RdmaConfig;
pub use receiver::QpReceiver;
pub use sender::QpSender;
