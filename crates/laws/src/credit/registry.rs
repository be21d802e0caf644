//! The credit laws by name: one row each.
//!
//! A row brings the name, static dispatch, parameters by text, the help page and the conformance
//! tests. To add a law: its file in this folder, its `mod` line in `mod.rs`, its row at the end of this file.

use super::CreditLaw;
use crate::Paths;
use crate::by_name::registry;

/// Most bytes that a law may keep per flow.
pub const MAX_STATE: usize = 96;

registry! {
    CreditLaw CreditParams Credit(CreditStart, CreditAct, CreditSeen) "receiving flow";
    expresspass::ExpressPass,
}

impl CreditParams {
    /// Paths that the law's credits and their data need.
    pub fn paths(&self) -> Paths {
        match &self.of {
            Params::ExpressPass(_) => super::expresspass::ExpressPass::PATHS,
        }
    }

    /// Whether a sender stops its receiver as soon as credits under way cover what is left.
    pub fn stops_early(&self) -> bool {
        match &self.of {
            Params::ExpressPass(params) => super::expresspass::ExpressPass::stops_early(params),
        }
    }

    /// Whether a sender that stopped its receiver early asks again two round trips after the stop, and not after the last credit.
    pub fn asks_after_stop(&self) -> bool {
        match &self.of {
            Params::ExpressPass(params) => super::expresspass::ExpressPass::asks_after_stop(params),
        }
    }
}

impl Credit {
    /// Paths that the law's credits and their data need.
    pub fn paths(&self) -> Paths {
        match self {
            Self::ExpressPass(_) => super::expresspass::ExpressPass::PATHS,
            Self::Logged(of) => of.law().paths(),
        }
    }
}
