//! The grant laws by name: one row each.
//!
//! A row brings the name, static dispatch, parameters by text, the help page and the conformance
//! tests. To add a law: its file in this folder, its `mod` line in `mod.rs`, its row at the end of this file.

use super::{GrantLaw, GrantNeeds, Order, TailBoost};
use crate::by_name::registry;
use forebay_units::Time;

/// Most bytes that a law may keep per host.
pub const MAX_STATE: usize = 192;

impl Grant {
    /// How it wants the list sorted, and what it needs from senders and fabric.
    pub fn wants(&self) -> (Order, GrantNeeds) {
        match self {
            Self::Homa(_) => (super::homa::Homa::ORDER, super::homa::Homa::NEEDS),
            Self::Ndp(_) => (super::ndp::Ndp::ORDER, super::ndp::Ndp::NEEDS),
            Self::Logged(of) => of.law().wants(),
        }
    }

    /// Before this time a step only requests to be woken then: [`GrantLaw::waits_until`]. A log misses none.
    #[inline]
    pub fn waits_until(&self) -> Time {
        match self {
            Self::Homa(law) => law.waits_until(),
            Self::Ndp(law) => law.waits_until(),
            Self::Logged(_) => Time::ZERO,
        }
    }

    /// Whether the next step may serve the oldest message: [`GrantLaw::serves_oldest`].
    #[inline]
    pub fn serves_oldest(&self) -> bool {
        match self {
            Self::Homa(law) => law.serves_oldest(),
            Self::Ndp(law) => law.serves_oldest(),
            Self::Logged(of) => of.law().serves_oldest(),
        }
    }
}

impl GrantParams {
    /// How the law wants the list sorted, and what it needs from senders and fabric.
    pub fn wants(&self) -> (Order, GrantNeeds) {
        match &self.of {
            Params::Homa(_) => (super::homa::Homa::ORDER, super::homa::Homa::NEEDS),
            Params::Ndp(_) => (super::ndp::Ndp::ORDER, super::ndp::Ndp::NEEDS),
        }
    }

    /// Most messages that may send at the same time, where parameters say so.
    pub fn active(&self) -> Option<u8> {
        match &self.of {
            Params::Homa(params) => super::homa::Homa::active(params),
            Params::Ndp(params) => super::ndp::Ndp::active(params),
        }
    }

    /// Whether receivers know the size of a message before its last packet has come.
    pub fn knows_size(&self) -> bool {
        match &self.of {
            Params::Homa(params) => super::homa::Homa::knows_size(params),
            Params::Ndp(params) => super::ndp::Ndp::knows_size(params),
        }
    }

    /// Last bytes of a message that ride in the class of what it sends unasked.
    pub fn tail_boost(&self) -> TailBoost {
        match &self.of {
            Params::Homa(params) => super::homa::Homa::tail_boost(params),
            Params::Ndp(params) => super::ndp::Ndp::tail_boost(params),
        }
    }

    /// Whether credit of what was cut off on the way to a switch is kept back for a time.
    pub fn backs_off(&self) -> bool {
        match &self.of {
            Params::Homa(params) => super::homa::Homa::backs_off(params),
            Params::Ndp(params) => super::ndp::Ndp::backs_off(params),
        }
    }

    /// Whether senders leave out paths whose packets are cut off more often than those of others.
    pub fn scores_paths(&self) -> bool {
        match &self.of {
            Params::Homa(params) => super::homa::Homa::scores_paths(params),
            Params::Ndp(params) => super::ndp::Ndp::scores_paths(params),
        }
    }

    /// How many numbers senders have for paths that were drawn for them once; 0 where each path has one number.
    pub fn path_numbers(&self) -> u16 {
        match &self.of {
            Params::Homa(params) => super::homa::Homa::path_numbers(params),
            Params::Ndp(params) => super::ndp::Ndp::path_numbers(params),
        }
    }
}

registry! {
    GrantLaw GrantParams Grant(GrantStart, GrantAct, GrantSeen) "receiving host";
    homa::Homa,
    ndp::Ndp,
}
