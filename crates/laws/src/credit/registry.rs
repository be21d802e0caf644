//! The credit laws by name: one row each.
//!
//! A row brings the name, static dispatch, parameters by text, the help page and the conformance
//! tests. To add a law: its file in this folder, its `mod` line in `mod.rs`, its row at the end of this file.

use super::{CreditFacts, CreditLaw};
use crate::Paths;

/// Most bytes that a law may keep per flow.
pub const MAX_STATE: usize = 96;

macro_rules! registry {
    ($($module:ident :: $law:ident,)+) => {
        crate::by_name::registry! {
            CreditLaw CreditParams Credit(CreditStart, CreditAct, CreditSeen) { CreditFacts, () } "receiving flow";
            $($module::$law,)+
        }

        impl CreditParams {
            /// Facts about the law with its parameters.
            pub fn facts(&self) -> CreditFacts {
                match &self.of {
                    $(Params::$law(params) => CreditFacts::of::<super::$module::$law>(params),)+
                    Params::Outside(law) => law.facts(),
                }
            }
        }

        impl Credit {
            /// Paths that the law's credits and their data need.
            pub fn paths(&self) -> Paths {
                match self {
                    $(Self::$law(_) => super::$module::$law::PATHS,)+
                    Self::Boxed(of) => of.fact(Self::paths, |facts| facts.paths),
                }
            }
        }
    };
}

registry! {
    expresspass::ExpressPass,
}
