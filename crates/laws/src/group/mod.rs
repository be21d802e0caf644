//! Role `group`: one law per aggregate of flows, at the switch that queues the aggregate (HierCC).
//!
//! The switch owns the queue, its credits and the list of hosts that feed it; the law gives all flows
//! of the aggregate one rate. The switch answers a flow that requests its rate with the last rate at once.
//!
//! An aggregate without traffic costs no events: a law that has nothing to wait for requests no wake, and the next packet is
//! reported to it as [`GroupEvent::Traffic`].
//!
//! To add a law: its file here with a `//!` charter, a [`GroupLaw`] and its parameters, its `mod` line below,
//! its row in [`registry`]. The charter is the help page; the conformance tests run by themselves.

pub mod hiercc;
pub mod registry;

pub use registry::{Group, GroupParams, LAWS};

use crate::Acts;
use forebay_units::{BitsPerSec, Bytes, Span, Time};

/// Running totals of the aggregate since its start, in bytes of whole packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GroupTotals {
    /// Bytes for which credits have come from the receiver's side; what was there in advance does not count.
    pub credited: u64,
    /// Bytes that arrived from the hosts.
    pub arrived: u64,
    /// Bytes sent onwards.
    pub sent: u64,
    /// Bytes queued now.
    pub queue: Bytes,
    /// Flows with a packet queued, or seen lately; the switch states how it counts.
    pub flows: u32,
}

/// One event, with the totals at its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupSeen<'a> {
    /// Running totals.
    pub totals: &'a GroupTotals,
    /// What happened.
    pub event: GroupEvent,
}

/// What can happen to an aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GroupEvent {
    /// A packet arrived while no wake is outstanding; the totals include it.
    Traffic,
    /// The queue rose above `high` of the last `Watch`.
    Above,
    /// After that, it fell below `low`.
    Below,
    /// A `wake_at` came due. A spurious one changes nothing.
    Wake,
}

/// What a group law may decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GroupAct {
    /// Rate of each flow, sent to those that request it from now on. Above zero.
    Rate(BitsPerSec),
    /// All feeding hosts pause at once, and ignore `Rate` until they resume. A flow that requests its rate meanwhile is paused too.
    Pause,
    /// All feeding hosts resume at this rate per flow, which is also that of flows that request it from now on. Above zero.
    Resume(BitsPerSec),
    /// Report when the queue leaves these bounds.
    Watch {
        /// `Below` below this, once `Above` was reported.
        low: Bytes,
        /// `Above` above this.
        high: Bytes,
    },
    /// Call again at this time; of several, the least counts.
    WakeAt(Time),
}

/// What a group law knows when it starts.
#[derive(Clone, Copy, Debug)]
pub struct GroupStart {
    /// Rate of the hosts' links.
    pub line_rate: BitsPerSec,
    /// Round-trip time between host and switch on empty links.
    pub hop_rtt: Span,
    /// Key for every random choice the law makes.
    pub seed: u64,
}

/// A law of role `group`.
pub trait GroupLaw: Sized + Clone {
    /// Name in scenarios.
    const NAME: &'static str;
    /// What a scenario may set. Every field has a published default.
    type Params: Clone + Default;

    /// State of an aggregate without traffic, at time `now`. Its first rate is pushed to `acts`.
    fn start(params: &Self::Params, now: Time, at: GroupStart, acts: &mut Acts<GroupAct>) -> Self;

    /// One event.
    fn step(&mut self, now: Time, seen: GroupSeen<'_>, acts: &mut Acts<GroupAct>);
}
