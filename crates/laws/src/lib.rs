//! Congestion-control laws as pure state machines, and their registry.
//!
//! A law sees closed enums by reference and writes actions into a bounded list. It has no clock, no
//! packet, no I/O and no callback: a timer is a `wake_at` among its actions, and randomness comes from
//! [`Start::seed`]. So `(now, seen, acts)` is a complete log, and any run replays.
//!
//! One module per role, each with its pair of events and actions, its trait and its registry: [`flow`] at a sender,
//! [`grant`] at a receiving host, [`credit`] for a flow at its receiver, [`group`] for an aggregate in a switch, [`host`] for a host's
//! memory path, [`pool`] for credits of a receiver's cache. [`host_driver`] runs a host law over counters and a throttle.
//! `forebay-credits` runs a pool law over requests, modelled or real. [`Laws`] is the registry of all roles: the built-in laws, and those that a
//! program adds.
//!
//! Invariant: `no_std`, no `unsafe`, nothing but `forebay-units` below it.
#![no_std]

extern crate alloc;
// So that the file of a law is the same in this crate and in one of its own.
extern crate self as forebay_laws;

mod acts;
mod by_name;
pub mod credit;
pub mod flow;
pub mod grant;
pub mod group;
pub mod host;
pub mod host_driver;
mod host_levels;
pub mod kernel;
mod kernel_clock;
mod laws;
mod linux_window;
pub mod log;
pub mod outside;
pub mod params;
pub mod pool;
#[cfg(test)]
mod testing;

pub use acts::Acts;
pub use laws::{Laws, NameTaken, RoleName};

use forebay_units::{BitsPerSec, Bytes, Span};

/// Paths that a law needs the packets of one message, or of one flow, to take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Paths {
    /// Any: one by hash, or all.
    #[default]
    Any,
    /// All shortest paths, packet by packet.
    Spray,
    /// Paths over the same links in both directions, so that credits meter the links that their data takes.
    Symmetric,
}

/// What a flow law knows when it starts. The time of the start is that of its first event.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Payload of a full segment; from 1 byte to 4 GiB.
    pub mss: Bytes,
    /// Window to start with where the law has no opinion of its own. Less than a segment counts as one.
    pub initial_window: Bytes,
    /// Rate of the host's own link.
    pub line_rate: BitsPerSec,
    /// Round-trip time of the empty path, where it is known.
    pub base_rtt: Option<Span>,
    /// Key for every random choice the law makes.
    pub seed: u64,
}
