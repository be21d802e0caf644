//! The two forms of the signals behind one face.

use super::{HostCcParams, Reading, Variant, module, paper};
use crate::host::{Counters, LawReadings};
use core::cmp::Ordering;
use forebay_units::{BitsPerSec, Span};

/// I_S and B_S beside I_T and B_T.
#[derive(Clone, Debug)]
pub(super) enum Signals {
    Paper(paper::Signals),
    Module(module::Signals),
}

impl Signals {
    pub(super) fn new(params: &HostCcParams, counters: Counters, period: Span) -> Self {
        match params.variant {
            Variant::Paper => Self::Paper(paper::Signals::new(params, counters, period)),
            Variant::Module => Self::Module(module::Signals::new(params, counters, period)),
        }
    }

    /// A reading of occupancy; whether it says something.
    pub(super) fn occupancy(&mut self, reading: Reading) -> bool {
        match self {
            Self::Paper(signals) => signals.occupancy(reading),
            Self::Module(signals) => signals.occupancy(reading),
        }
    }

    /// A reading of insertions; whether it says something.
    pub(super) fn inserts(&mut self, reading: Reading) -> bool {
        match self {
            Self::Paper(signals) => signals.inserts(reading),
            Self::Module(signals) => signals.inserts(reading),
        }
    }

    /// I_S against I_T, if known.
    pub(super) fn congested(&self) -> Option<Ordering> {
        match self {
            Self::Paper(signals) => signals.congested(),
            Self::Module(signals) => Some(signals.congested()),
        }
    }

    /// B_S against B_T, if known.
    pub(super) fn met(&self) -> Option<Ordering> {
        match self {
            Self::Paper(signals) => signals.met(),
            Self::Module(signals) => Some(signals.met()),
        }
    }

    /// I_S, B_S, I_T and B_T; an average that is not known counts as zero.
    pub(super) fn watched(&self) -> LawReadings {
        match self {
            Self::Paper(signals) => signals.watched(),
            Self::Module(signals) => signals.watched(),
        }
    }

    /// E5: a new B_T, for the next decision.
    pub(super) fn retarget(&mut self, rate: BitsPerSec) {
        match self {
            Self::Paper(signals) => signals.retarget(rate),
            Self::Module(signals) => signals.retarget(rate),
        }
    }

    /// Starts anew, as with the first readings.
    pub(super) fn forget(&mut self) {
        match self {
            Self::Paper(signals) => signals.forget(),
            Self::Module(signals) => signals.forget(),
        }
    }
}
