//! Role `grant`: one law per receiving host that says who may send how much next (Homa, NDP and kin).
//!
//! The transport owns messages, bitmaps, timers and the order of the list; the law picks from its head.
//! The list is lent with every event, so a law keeps no copy and its state does not grow with messages.
//!
//! A grant is *credit*: so many bytes in all, of the sender's choice, which sends again what was lost before it sends what is new. Where
//! nothing has to be sent again, it is an offset into the message (Homa). What a receiver wants again it can also request by its
//! place ([`GrantAct::Resend`]).
//!
//! To add a law: its file here with a `//!` charter, a [`GrantLaw`] and its parameters, its `mod` line below,
//! its row in [`registry`]. The charter is the help page; the conformance tests run by themselves.

pub mod homa;
pub mod ndp;
pub mod registry;

pub use registry::{Grant, GrantParams, LAWS};

use crate::params::ParamType;
use crate::{Acts, Paths};
use core::fmt;
use forebay_units::{BitsPerSec, Bytes, Span, Time};

/// Last bytes of a message that ride in the class of what it sends unasked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TailBoost {
    /// None.
    #[default]
    Off,
    /// As many as leave unasked.
    Window,
    /// So many; above zero.
    Size(Bytes),
}

impl TailBoost {
    /// How many bytes of a message with so large a window.
    pub fn bytes(self, window: Bytes) -> Bytes {
        match self {
            Self::Off => Bytes::ZERO,
            Self::Window => window,
            Self::Size(bytes) => bytes,
        }
    }
}

impl fmt::Display for TailBoost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("false"),
            Self::Window => f.write_str("true"),
            Self::Size(bytes) => bytes.fmt(f),
        }
    }
}

impl ParamType for TailBoost {
    const RANGE: &'static str = "true, false, or a size of 1B or more, such as \"10KB\"";

    fn parse(text: &str) -> Option<Self> {
        match bool::parse(text) {
            Some(true) => Some(Self::Window),
            Some(false) => Some(Self::Off),
            None => Bytes::parse(text).filter(|bytes| bytes.get() > 0).map(Self::Size),
        }
    }
}

/// Dense index of an incoming message at its receiver; reused after the message ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MessageId(pub u32);

/// An incoming message that still needs grants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IncomingMessage {
    /// Which.
    pub message: MessageId,
    /// Host that sends it, as a number.
    pub sender: u32,
    /// Payload bytes in all; [`Bytes::MAX`] where the receiver does not know.
    pub size: Bytes,
    /// Payload bytes that have arrived.
    pub received: Bytes,
    /// Payload bytes that were credited in vain, in all: of which only a header arrived (trimming), that came twice, or that are given up for
    /// lost.
    pub trimmed: Bytes,
    /// Payload bytes that the sender may send in all, `unscheduled` and repetitions included.
    pub credited: Bytes,
    /// Of those, the bytes that it sends without a grant.
    pub unscheduled: Bytes,
    /// Arrival of its first packet.
    pub since: Time,
    /// Last arrival of anything of it.
    pub last_arrival: Time,
}

impl IncomingMessage {
    /// Payload that is credited, and neither there nor known to be cut off: what is on its way, or lost without a trace.
    pub fn under_way(&self) -> Bytes {
        self.credited.saturating_sub(self.received.saturating_add(self.trimmed))
    }

    /// Payload for which the sender still needs credit: the rest of the message, and what was cut off.
    pub fn uncredited(&self) -> Bytes {
        self.size.saturating_add(self.trimmed).saturating_sub(self.credited)
    }
}

/// How the law wants the list sorted. The first entry is served best; at most one entry per sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Fewest bytes still to receive first; older first among equals.
    #[default]
    Shortest,
    /// Oldest first.
    Oldest,
    /// Least recently granted first: in turns.
    Turns,
}

/// Payload that a sender sends before anything is granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UnscheduledBytes {
    /// A request without data.
    Request,
    /// Payload that covers a round trip, or a whole message that is smaller.
    #[default]
    Window,
    /// At most this much payload, whatever the round trip.
    Bytes(Bytes),
}

impl UnscheduledBytes {
    /// Payload of a message of `size` bytes that leaves unscheduled, where `rtt_bytes` cover a round trip.
    pub fn unscheduled(self, size: Bytes, rtt_bytes: Bytes) -> Bytes {
        match self {
            Self::Request => Bytes::ZERO,
            Self::Window => size.min(rtt_bytes),
            Self::Bytes(most) => size.min(most),
        }
    }
}

/// What a law needs from senders and fabric, so that a checker can say what a fabric lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GrantNeeds {
    /// What a sender sends first.
    pub first: UnscheduledBytes,
    /// Paths of a message's packets.
    pub paths: Paths,
    /// Switches cut the payload off packets that do not fit, and forward headers first.
    pub trims: bool,
    /// Receivers acknowledge each packet, and each header whose payload was cut off.
    pub acks: bool,
    /// Silence after which a receiver requests what is missing of a message.
    pub resend_after: Span,
    /// Tries in a row that bring nothing before a message is given up, where a scenario does not say; 0: it never is.
    pub tries: u8,
    /// A sender that has not come to send what a receiver requests says that it is busy.
    pub busy: bool,
    /// Traffic classes of data, where a scenario does not say; 1 where grants choose none.
    pub classes: u8,
}

/// One event, with the messages at its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrantSeen<'a> {
    /// Messages that still need grants, in the order of [`GrantLaw::ORDER`].
    pub open: &'a [IncomingMessage],
    /// Of all messages that still need grants and of which less than a window is on its way, the oldest; where [`GrantLaw::serves_oldest`].
    pub oldest: Option<IncomingMessage>,
    /// What happened.
    pub event: GrantEvent,
}

/// What can happen at a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GrantEvent {
    /// A message is new in `open`.
    Opened {
        /// Which.
        message: MessageId,
    },
    /// Data arrived. `message` is no longer in `open` if it needs no further grant.
    Data {
        /// Of which message.
        message: MessageId,
        /// Newly received payload bytes.
        bytes: Bytes,
    },
    /// A header arrived whose payload a switch cut off.
    Trimmed {
        /// Of which message.
        message: MessageId,
        /// Payload bytes cut off.
        bytes: Bytes,
    },
    /// Nothing of a message arrived for as long as the transport waits.
    Silent {
        /// Which.
        message: MessageId,
    },
    /// A message is complete or given up, and no longer in `open`.
    Closed {
        /// Which.
        message: MessageId,
    },
    /// Again, since the last step filled its list of actions: `open` holds what it granted.
    More,
    /// A `wake_at` came due. A spurious one changes nothing.
    Wake,
}

/// What a grant law may decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GrantAct {
    /// The sender may send so much in all.
    Grant {
        /// Which message.
        message: MessageId,
        /// Payload bytes since the start, repetitions included; cumulative, so that a lost grant heals.
        credit: Bytes,
        /// Switch priority of these bytes, 0 the lowest.
        priority: u8,
    },
    /// The sender is to send these bytes again.
    Resend {
        /// Which message.
        message: MessageId,
        /// First byte.
        from: Bytes,
        /// Byte behind the last one.
        upto: Bytes,
    },
    /// Call again at this time; of several, the least counts.
    WakeAt(Time),
}

/// What a grant law knows when it starts.
#[derive(Clone, Copy, Debug)]
pub struct GrantStart {
    /// Payload of a full packet; at least 1 byte.
    pub mss: Bytes,
    /// Size of a full packet on the wire.
    pub packet: Bytes,
    /// Rate of the host's own link.
    pub line_rate: BitsPerSec,
    /// Payload that covers one round trip at line rate.
    pub rtt_bytes: Bytes,
    /// Priorities that granted data may use, from 0 up; at least 1.
    pub priorities: u8,
    /// Key for every random choice the law makes.
    pub seed: u64,
}

/// Facts about a grant law with its parameters. See [`GrantLaw`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GrantFacts {
    /// How it wants the list sorted.
    pub order: Order,
    /// What it needs from senders and fabric.
    pub needs: GrantNeeds,
    /// Most messages that may send at the same time, where parameters say so.
    pub active: Option<u8>,
    /// Whether receivers know the size of a message before its last packet has come.
    pub knows_size: bool,
    /// Last bytes of a message that ride in the class of what it sends unasked.
    pub tail_boost: TailBoost,
    /// Whether credit of what was cut off on the way to a switch is kept back for a time.
    pub backs_off: bool,
    /// Whether senders leave out paths whose packets are cut off more often than those of others.
    pub scores_paths: bool,
    /// How many numbers senders have for paths that were drawn for them once; 0 where each path has one number.
    pub path_numbers: u16,
}

impl GrantFacts {
    /// Facts about a law that is a type.
    pub(crate) fn of<L: GrantLaw>(params: &L::Params) -> Self {
        Self {
            order: L::ORDER,
            needs: L::NEEDS,
            active: L::active(params),
            knows_size: L::knows_size(params),
            tail_boost: L::tail_boost(params),
            backs_off: L::backs_off(params),
            scores_paths: L::scores_paths(params),
            path_numbers: L::path_numbers(params),
        }
    }
}

/// State of a grant law that its driver reads between events. See [`GrantLaw`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GrantGlance {
    /// Before this time a step changes nothing, and at most requests to be woken then.
    pub waits_until: Time,
    /// Whether the next step may serve the oldest message, wherever it is in the list.
    pub serves_oldest: bool,
}

/// A law of role `grant`.
pub trait GrantLaw: Sized + Clone {
    /// Name in scenarios.
    const NAME: &'static str;
    /// How it wants the list sorted.
    const ORDER: Order;
    /// What it needs from senders and fabric.
    const NEEDS: GrantNeeds;
    /// What a scenario may set. Every field has a published default.
    type Params: Clone + Default;

    /// Most messages that may send at the same time, where parameters say so: each has a priority of its own.
    fn active(_params: &Self::Params) -> Option<u8> {
        None
    }

    /// Whether receivers know the size of a message before its last packet has come. Else [`IncomingMessage::size`] has no end.
    fn knows_size(_params: &Self::Params) -> bool {
        true
    }

    /// Last bytes of a message that ride in the class of what it sends unasked.
    fn tail_boost(_params: &Self::Params) -> TailBoost {
        TailBoost::Off
    }

    /// Whether credit of a payload that was cut off on the way to a switch, and not to the receiver itself, is kept back for a time.
    fn backs_off(_params: &Self::Params) -> bool {
        false
    }

    /// Whether senders leave out, for a time, paths whose packets are cut off more often than those of others.
    fn scores_paths(_params: &Self::Params) -> bool {
        false
    }

    /// How many numbers senders have for paths that were drawn for them once; 0 where each path has one number.
    fn path_numbers(_params: &Self::Params) -> u16 {
        0
    }

    /// State of a receiving host without messages, at time `now`.
    fn start(params: &Self::Params, now: Time, at: GrantStart, acts: &mut Acts<GrantAct>) -> Self;

    /// Before this time a step changes nothing, and at most requests to be woken then. So where that is planned it may be left out.
    #[inline]
    fn waits_until(&self) -> Time {
        Time::ZERO
    }

    /// Whether the next step may serve the oldest message, wherever it is in the list.
    #[inline]
    fn serves_oldest(&self) -> bool {
        false
    }

    /// One event.
    fn step(&mut self, now: Time, seen: GrantSeen<'_>, acts: &mut Acts<GrantAct>);
}

#[cfg(test)]
mod tests {
    use super::{Bytes, UnscheduledBytes};

    #[test]
    fn unscheduled_payload_is_bounded_by_the_message() {
        let (rtt, kb) = (Bytes::new(70_000), |n: u64| Bytes::new(n * 1_000));
        assert_eq!(UnscheduledBytes::Request.unscheduled(kb(10), rtt), Bytes::ZERO);
        for (first, bound) in
            [(UnscheduledBytes::Window, rtt), (UnscheduledBytes::Bytes(kb(9)), kb(9))]
        {
            assert_eq!(first.unscheduled(kb(500), rtt), bound);
            assert_eq!(first.unscheduled(kb(5), rtt), kb(5));
        }
    }
}
