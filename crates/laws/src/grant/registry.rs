//! The grant laws by name: one row each.
//!
//! A row brings the name, static dispatch, parameters by text, the help page and the conformance
//! tests. To add a law: its file in this folder, its `mod` line in `mod.rs`, its row at the end of this file.

use super::{GrantFacts, GrantGlance, GrantLaw, GrantNeeds, Order};
use forebay_units::Time;

/// Most bytes that a law may keep per host.
pub const MAX_STATE: usize = 192;

macro_rules! registry {
    ($($module:ident :: $law:ident,)+) => {
        crate::by_name::registry! {
            GrantLaw GrantParams Grant(GrantStart, GrantAct, GrantSeen) { GrantFacts, GrantGlance } "receiving host";
            $($module::$law,)+
        }

        impl Grant {
            /// How it wants the list sorted, and what it needs from senders and fabric.
            pub fn wants(&self) -> (Order, GrantNeeds) {
                match self {
                    $(Self::$law(_) => (super::$module::$law::ORDER, super::$module::$law::NEEDS),)+
                    Self::Boxed(of) => of.fact(Self::wants, |facts| (facts.order, facts.needs)),
                }
            }

            /// Before this time a step only requests to be woken then: [`GrantLaw::waits_until`]. A log misses none.
            #[inline]
            pub fn waits_until(&self) -> Time {
                match self {
                    $(Self::$law(law) => law.waits_until(),)+
                    Self::Boxed(of) => of.glance(|_| Time::ZERO, |glance| glance.waits_until),
                }
            }

            /// Whether the next step may serve the oldest message: [`GrantLaw::serves_oldest`].
            #[inline]
            pub fn serves_oldest(&self) -> bool {
                match self {
                    $(Self::$law(law) => law.serves_oldest(),)+
                    Self::Boxed(of) => of.glance(Self::serves_oldest, |glance| glance.serves_oldest),
                }
            }
        }

        impl GrantParams {
            /// How the law wants the list sorted, and what it needs from senders and fabric.
            pub fn wants(&self) -> (Order, GrantNeeds) {
                match &self.of {
                    $(Params::$law(_) => (super::$module::$law::ORDER, super::$module::$law::NEEDS),)+
                    Params::Outside(law) => {
                        let facts = law.facts();
                        (facts.order, facts.needs)
                    }
                }
            }

            /// Whether receivers know the size of a message before its last packet has come.
            pub fn knows_size(&self) -> bool {
                match &self.of {
                    $(Params::$law(params) => super::$module::$law::knows_size(params),)+
                    Params::Outside(law) => law.facts().knows_size,
                }
            }

            /// Whether credit of what was cut off on the way to a switch is kept back for a time.
            pub fn backs_off(&self) -> bool {
                match &self.of {
                    $(Params::$law(params) => super::$module::$law::backs_off(params),)+
                    Params::Outside(law) => law.facts().backs_off,
                }
            }

            /// Facts about the law with its parameters.
            pub fn facts(&self) -> GrantFacts {
                match &self.of {
                    $(Params::$law(params) => GrantFacts::of::<super::$module::$law>(params),)+
                    Params::Outside(law) => law.facts(),
                }
            }
        }
    };
}

registry! {
    homa::Homa,
    ndp::Ndp,
}
