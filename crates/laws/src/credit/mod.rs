//! Role `credit`: one law per flow at its receiver that sets the rate of the flow's credits (ExpressPass).
//!
//! The transport numbers credits, paces them with whatever jitter it has, and counts which of them came back as data; ports meter
//! credits and drop those that are too many. The law sees how many were lost and sets the rate.
//!
//! To add a law: its file here with a `//!` charter, a [`CreditLaw`] and its parameters, its `mod` line below,
//! its row in [`registry`]. The charter is the help page; the conformance tests run by themselves.

pub mod expresspass;
pub mod registry;

pub use registry::{Credit, CreditParams, LAWS};

use crate::{Acts, Paths};
use forebay_units::{BitsPerSec, Bytes, Span, Time};

/// Running totals of a flow's credits. `lost <= answered`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CreditTotals {
    /// Credits of which is known what became of them.
    pub answered: u64,
    /// Of those, credits that no data came for: a gap in the numbers that data echoes.
    pub lost: u64,
    /// From a credit to the data that it released, smoothed; zero before the first.
    pub rtt: Span,
}

/// One event, with the totals at its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreditSeen<'a> {
    /// Running totals.
    pub totals: &'a CreditTotals,
    /// What happened.
    pub event: CreditEvent,
}

/// What can happen to a flow's credits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CreditEvent {
    /// A credit is about to leave.
    Credit,
    /// A `wake_at` came due. A spurious one changes nothing.
    Wake,
    /// The sender, which had stopped its receiver, requests credits for so many packets again.
    Request {
        /// Packets that the sender has still to send.
        packets: u64,
    },
}

/// What a credit law may decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CreditAct {
    /// Rate of the flow's credits, in bits of credits per second; above zero and at most [`CreditStart::most`].
    Rate(BitsPerSec),
    /// Call again at this time; of several, the least counts.
    WakeAt(Time),
}

/// What a credit law knows when it starts.
#[derive(Clone, Copy, Debug)]
pub struct CreditStart {
    /// Rate of credits that fills the receiver's link with data; above zero.
    pub most: BitsPerSec,
    /// Mean size of a credit on the wire; above zero.
    pub size: Bytes,
    /// Packets that the sender has still to send.
    pub packets: u64,
    /// Key for every random choice the law makes.
    pub seed: u64,
}

/// Facts about a credit law with its parameters. See [`CreditLaw`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreditFacts {
    /// Paths that credits and their data need.
    pub paths: Paths,
    /// Whether a sender stops its receiver as soon as credits under way cover what is left.
    pub stops_early: bool,
    /// Whether a sender that stopped its receiver early asks again two round trips after the stop, and not after the last credit.
    pub asks_after_stop: bool,
}

impl CreditFacts {
    /// Facts about a law that is a type.
    pub(crate) fn of<L: CreditLaw>(params: &L::Params) -> Self {
        Self {
            paths: L::PATHS,
            stops_early: L::stops_early(params),
            asks_after_stop: L::asks_after_stop(params),
        }
    }
}

/// A law of role `credit`.
pub trait CreditLaw: Sized + Clone {
    /// Name in scenarios.
    const NAME: &'static str;
    /// Paths that credits and their data need.
    const PATHS: Paths;
    /// What a scenario may set. Every field has a published default.
    type Params: Clone + Default;

    /// Whether a sender stops its receiver as soon as credits under way cover what is left.
    fn stops_early(_params: &Self::Params) -> bool {
        false
    }

    /// Whether a sender that stopped its receiver early asks again two round trips after the stop, and not after the last credit.
    fn asks_after_stop(_params: &Self::Params) -> bool {
        false
    }

    /// State at the request for credits, at time `now`. Its first rate is pushed to `acts`.
    fn start(params: &Self::Params, now: Time, at: CreditStart, acts: &mut Acts<CreditAct>)
    -> Self;

    /// One event.
    fn step(&mut self, now: Time, seen: CreditSeen<'_>, acts: &mut Acts<CreditAct>);
}
