//! The one packet type, and the ids that parts of a simulation share.
//!
//! A [`Packet`] is a small `Copy` value that moves from ring to ring; with the arrival time that the
//! engine keeps beside it, it fills one cache line.
//!
//! Invariant: nothing here knows queues, hosts or laws.
#![no_std]

mod packet;
mod telemetry;

pub use packet::{Ecn, Flags, Kind, Packet, SackBlock, Stamps};
pub use telemetry::{Hop, MOST_HOPS, Rates};

/// Index of a flow in a run's flow table. Dense, and the same on every thread count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FlowId(pub u32);

/// Where a host hangs: the index of its top-of-rack switch and the port there.
///
/// A switch needs no table to tell local traffic from the rest: it compares `tor` with its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct HostAddr {
    /// Index among the switches that have hosts.
    pub tor: u16,
    /// Port of that switch.
    pub port: u16,
}
