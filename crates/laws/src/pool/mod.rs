//! Role `pool`: one law per connection that bounds what its receiver has not yet consumed (CARC).
//!
//! The library owns the queue of blocked requests and the credits outstanding; it posts a request when
//! its credits fit under the limit, or when none are outstanding, so that a request above the whole
//! limit cannot block for ever. The law sets the limit. A credit is one line of the receiver's cache.
//!
//! To add a law: its file here with a `//!` charter, a [`PoolLaw`] and its parameters, its `mod` line below,
//! its row in [`registry`]. The charter is the help page; the conformance tests run by themselves.

pub mod carc;
pub mod registry;

pub use registry::{LAWS, Pool, PoolParams};

use crate::Acts;
use forebay_units::{Bytes, Span, Time};

/// State of the pool at the time of the event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PoolTotals {
    /// Credits of requests posted and not yet returned.
    pub outstanding: u64,
    /// Bytes of requests completed since the start.
    pub completed: u64,
    /// Requests that wait for credits.
    pub blocked: u32,
}

/// One event, with the totals at its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoolSeen<'a> {
    /// Running totals.
    pub totals: &'a PoolTotals,
    /// What happened.
    pub event: PoolEvent,
}

/// What can happen to a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PoolEvent {
    /// The receiver's cache is now shared by so many connections, this one included.
    Connections(u32),
    /// A request completed and its credits came back.
    Completed {
        /// Bytes of the request.
        bytes: Bytes,
        /// From post to completion.
        latency: Span,
    },
    /// A `wake_at` came due. A spurious one changes nothing.
    Wake,
}

/// What a pool law may decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PoolAct {
    /// Most credits outstanding. A lower limit takes nothing back; it waits for returns.
    Limit(u64),
    /// Call again at this time; of several, the least counts.
    WakeAt(Time),
}

/// What a pool law knows when it starts.
#[derive(Clone, Copy, Debug)]
pub struct PoolStart {
    /// Last-level cache of the receiver.
    pub llc: Bytes,
    /// One line of it.
    pub line: Bytes,
    /// Connections that share it, this one included; at least 1.
    pub connections: u32,
    /// Round-trip time of the empty path, where it is known.
    pub base_rtt: Option<Span>,
    /// Key for every random choice the law makes.
    pub seed: u64,
}

/// A law of role `pool`.
pub trait PoolLaw: Sized + Clone {
    /// Name in scenarios.
    const NAME: &'static str;
    /// What a scenario may set. Every field has a published default.
    type Params: Clone + Default;

    /// State of a connection without requests, at time `now`. Its first limit is pushed to `acts`.
    fn start(params: &Self::Params, now: Time, at: PoolStart, acts: &mut Acts<PoolAct>) -> Self;

    /// One event.
    fn step(&mut self, now: Time, seen: PoolSeen<'_>, acts: &mut Acts<PoolAct>);
}
