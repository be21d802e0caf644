//! Role `grant`: one law per receiving host that says who may send how much next (Homa and kin).
//!
//! The transport owns messages, bitmaps, timers and the order of the list; the law picks from its head.
//! The list is lent with every event, so a law keeps no copy and its state does not grow with messages.

use crate::Acts;
use forebay_units::{BitsPerSec, Bytes, Time};

/// Dense index of an incoming message at its receiver; reused after the message ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MessageId(pub u32);

/// An incoming message that still needs grants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Incoming {
    /// Which.
    pub message: MessageId,
    /// Payload bytes in all.
    pub size: Bytes,
    /// Payload bytes that have arrived.
    pub received: Bytes,
    /// Payload bytes that the sender may send, from the start; below `size`.
    pub granted: Bytes,
    /// Arrival of its first packet.
    pub since: Time,
}

/// How the law wants the list sorted. The first entry is served best; at most one entry per sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Fewest bytes still to receive first; older first among equals.
    #[default]
    Shortest,
    /// Oldest first.
    Oldest,
}

/// One event, with the messages at its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrantSeen<'a> {
    /// Messages that still need grants, in the order of [`GrantLaw::ORDER`].
    pub open: &'a [Incoming],
    /// What happened.
    pub event: GrantEvent,
}

/// What can happen at a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrantEvent {
    /// Data arrived. `message` is no longer in `open` if it needs no further grant.
    Data {
        /// Of which message.
        message: MessageId,
        /// Newly received payload bytes.
        bytes: Bytes,
    },
    /// Again, since the last step filled its list of actions: `open` holds what it granted.
    More,
    /// A `wake_at` came due. A spurious one changes nothing.
    Wake,
}

/// What a grant law may decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrantAct {
    /// The sender may send up to this offset.
    Grant {
        /// Which message.
        message: MessageId,
        /// Payload bytes from the start; cumulative, so that a lost grant heals.
        upto: Bytes,
        /// Switch priority of these bytes, 0 the lowest.
        priority: u8,
    },
    /// Call again at this time; of several, the least counts.
    WakeAt(Time),
}

/// What a grant law knows when it starts.
#[derive(Clone, Copy, Debug)]
pub struct GrantStart {
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Rate of the host's own link.
    pub line_rate: BitsPerSec,
    /// Payload that covers one round trip at line rate.
    pub rtt_bytes: Bytes,
    /// Priorities that granted data may use, from 0 up; at least 1.
    pub priorities: u8,
    /// Key for every random choice the law makes.
    pub seed: u64,
}

/// A law of role `grant`.
pub trait GrantLaw: Sized + Clone {
    /// Its name in scenarios.
    const NAME: &'static str;
    /// How it wants the list sorted.
    const ORDER: Order;
    /// What a scenario may set. Every field has a published default.
    type Params: Clone + Default;

    /// State of a receiving host without messages, at time `now`.
    fn start(params: &Self::Params, now: Time, at: GrantStart, acts: &mut Acts<GrantAct>) -> Self;

    /// One event.
    fn step(&mut self, now: Time, seen: GrantSeen<'_>, acts: &mut Acts<GrantAct>);
}
