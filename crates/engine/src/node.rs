//! What the engine runs, and what it is given.

use crate::link_rings::LinkRings;
use crate::slab::{Slab, SlotWords};
use forebay_units::{Span, Time};

/// Index of a node in canonical order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub u32);

/// Index of a directed link. Links are numbered by `(receiving node, in-port)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LinkId(pub u32);

/// A directed link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkSpec {
    /// Sending node.
    pub from: NodeId,
    /// Receiving node.
    pub to: NodeId,
    /// From leaving onto the link to arriving.
    pub lookahead: Span,
    /// Items per second that it may carry when busy; only a hint for grouping.
    pub busy_rate: f64,
}

/// An item on a link, and when it arrives.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Flying<I> {
    /// When it arrives.
    pub at: Time,
    /// The item.
    pub item: I,
    /// Contents of its slab slot, if it had one. It has none now.
    pub words: Option<SlotWords>,
}

/// Where a node puts what it sends.
pub trait Out<I> {
    /// `item` leaves onto `link` at `at` and arrives when the link's lookahead has passed.
    ///
    /// `at` is not before the event (or the deferred departure) that caused it, and on one link it never goes back.
    fn push(&mut self, link: LinkId, at: Time, item: &I);

    /// The slab of this shard: slots of the item that arrives and of all that this node holds or sends.
    fn slab(&mut self) -> &mut Slab;

    /// What comes next over the link of the item that arrives just now, as far as is known. For prefetching only:
    /// nothing else may depend on it.
    fn next(&self) -> Option<&I> {
        None
    }

    /// Shows what left onto `link` after `after` and has not arrived, in order, each with when it left. False, and nothing is shown, where
    /// the link leads to another shard. For observers only: what a node does must not depend on it.
    fn flying(&self, _link: LinkId, _after: Time, _each: &mut dyn FnMut(Time, &I)) -> bool {
        false
    }

    /// `item` leaves onto `link` at `at` and vanishes there. For observers; nothing else happens.
    fn vanish(&mut self, _link: LinkId, _at: Time, _item: &I) {}

    /// One more of the things that [`crate::Goal::done`] counts is done.
    fn done(&mut self);

    /// Something has begun that must have ended before a [`crate::Goal`] is met, whatever else is done.
    fn begins(&mut self);

    /// What one [`Out::begins`] has announced is over, at this node or at another one, and later than it began.
    fn ends(&mut self);
}

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
    fn next_timer(&self) -> Time;

    /// The earliest start of a departure that this node has deferred; `Time::MAX` if there is none.
    fn next_departure(&self) -> Time;

    /// An item arrives over in-port `port`; the node may change it and send it on. It first serves what departs up to
    /// `now` where that matters.
    fn arrive<O: Out<Self::Item>>(
        &mut self,
        now: Time,
        port: u32,
        item: &mut Self::Item,
        out: &mut O,
    );

    /// See [`SlotOf`].
    fn slot(_item: &mut Self::Item) -> Option<&mut u32> {
        None
    }

    /// Handles every timer due at `now`; afterwards `next_timer` is later than `now`.
    fn timer<O: Out<Self::Item>>(&mut self, now: Time, out: &mut O);

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
    fn depart<O: Out<Self::Item>>(&mut self, now: Time, out: &mut O);
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
    fn drain_link(&mut self, link: LinkId) -> Vec<Flying<N::Item>>;

    /// Puts an item on a link, after what is there.
    fn push_link(&mut self, link: LinkId, flying: &Flying<N::Item>);

    /// To be called after changes, before the next advance.
    fn refresh(&mut self);
}
