//! Links: from which node to which, what is on them, and how a node sends.

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
pub struct InFlight<I> {
    /// When it arrives.
    pub at: Time,
    /// The item.
    pub item: I,
    /// Contents of its slab slot, if it had one. It has none now.
    pub words: Option<SlotWords>,
}

/// Where a node puts what it sends.
pub trait Emitter<I> {
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

    /// What one [`Emitter::begins`] has announced is over, at this node or at another one, and later than it began.
    fn ends(&mut self);
}
