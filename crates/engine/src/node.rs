//! What the engine runs.

use crate::link::{Emitter, InFlight, LinkId, NodeId};
use crate::link_rings::LinkRings;
use crate::slab::Slab;
use forebay_units::Time;

/// A switch, a host: anything with state and events.
///
/// Classes at one instant, first to last: departures, arrivals, timers (samples are timers that the node
/// itself orders last).
pub trait Node: Send {
    /// What travels on links.
    type Item: Copy + Default + Send;

    /// Whether its earliest timer may change when something arrives, and not only when a timer is handled.
    const ARRIVALS_SET_TIMERS: bool = true;

    /// The earliest timer; `Time::MAX` if there is none. A timer set too early is harmless.
    fn next_timer(&self) -> Time {
        Time::MAX
    }

    /// The earliest start of a departure that this node has deferred; `Time::MAX` if there is none.
    fn next_departure(&self) -> Time {
        Time::MAX
    }

    /// An item arrives over in-port `port`; the node may change it and send it on. It first serves what departs up to
    /// `now` where that matters.
    fn arrive<O: Emitter<Self::Item>>(
        &mut self,
        now: Time,
        port: u32,
        item: &mut Self::Item,
        out: &mut O,
    );

    /// See [`SlotOf`](crate::SlotOf).
    fn slot(_item: &mut Self::Item) -> Option<&mut u32> {
        None
    }

    /// Handles every timer due at `now`; afterwards `next_timer` is later than `now`.
    fn timer<O: Emitter<Self::Item>>(&mut self, _now: Time, _out: &mut O) {
        unreachable!("a node with timers handles them");
    }

    /// Hands over this node as what it is: where there are several kinds, a visit finds out once which one it has before it.
    #[inline]
    fn dispatch(&mut self, visit: impl Visitor<Self::Item>)
    where
        Self: Sized,
    {
        visit.visit(self);
    }

    /// Prefetches the cache lines that the next events will need: at stage 0 those that the node points to, at stage 1,
    /// some time later, those that these point to, and so on to stage [`LAST_STAGE`].
    fn prefetch(&self, _stage: u32, _rings: &LinkRings<Self::Item>) {}

    /// Serves every deferred departure that starts at or before `now`.
    fn depart<O: Emitter<Self::Item>>(&mut self, _now: Time, _out: &mut O) {}
}

/// Something that is done to one node, whatever its kind.
pub trait Visitor<I> {
    /// Does it.
    fn visit<N: Node<Item = I>>(self, node: &mut N);
}

/// Stages of [`Node::prefetch`], less one.
pub const LAST_STAGE: u32 = 4;

/// A run between two advances, when nodes and links may be changed.
pub trait EngineAccess<N: Node> {
    /// A node.
    fn node_mut(&mut self, id: NodeId) -> &mut N;

    /// The slab with the slots of the items that a node holds.
    fn slab_mut(&mut self, id: NodeId) -> &mut Slab;

    /// Takes everything that is on a link, in order of arrival.
    fn drain_link(&mut self, link: LinkId) -> Vec<InFlight<N::Item>>;

    /// Puts an item on a link, after what is there.
    fn push_link(&mut self, link: LinkId, flying: &InFlight<N::Item>);

    /// To be called after changes, before the next advance.
    fn refresh(&mut self);
}
