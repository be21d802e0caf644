//! Congestion-control laws as pure state machines, and their registry.
//!
//! A law sees closed enums by reference and writes actions into a bounded list. It has no clock, no
//! packet, no I/O and no callback: a timer is a `wake_at` among its actions, and randomness comes from
//! [`Start::seed`]. So `(now, seen, acts)` is a complete log, and any run replays.
//!
//! Invariant: `no_std`, no `unsafe`, nothing but `forebay-units` below it.
#![no_std]

mod acts;
pub mod flow;
pub mod grant;
pub mod group;
pub mod host;
mod linux_window;
pub mod params;
pub mod pool;
#[cfg(test)]
mod testing;

pub use acts::Acts;

use forebay_units::{BitsPerSec, Bytes, Span};

/// What a law knows when it starts.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Window to start with where the law has no opinion of its own.
    pub initial_window: Bytes,
    /// Rate of the host's own link.
    pub line_rate: BitsPerSec,
    /// Round-trip time of the empty path, where somebody knows it.
    pub base_rtt: Option<Span>,
    /// Key for every random choice the law makes.
    pub seed: u64,
}
