//! The group laws by name: one row each.
//!
//! A row brings the name, static dispatch, parameters by text, the help page and the conformance
//! tests. To add a law: its file in this folder, its `mod` line in `mod.rs`, its row at the end of this file.

use super::hiercc;
use super::{GroupAct, GroupLaw, GroupSeen, GroupStart};
use crate::Acts;
use crate::by_name::by_name;
use forebay_units::Time;

/// Most bytes that a law may keep per aggregate.
pub const MAX_STATE: usize = 192;

macro_rules! registry {
    ($($module:ident :: $law:ident,)+) => {
        by_name!(GroupLaw, GroupParams, "group", $($module::$law,)+);

        /// An aggregate under any of the registered laws, dispatched by `match`.
        #[derive(Clone, Debug)]
        pub enum Group {
            $(#[doc = concat!("See [`", stringify!($module), "`](super::", stringify!($module), ").")]
            $law($module::$law),)+
        }

        impl Group {
            /// One event. Actions are added to `acts`, which the caller clears.
            #[inline]
            pub fn step(&mut self, now: Time, seen: GroupSeen<'_>, acts: &mut Acts<GroupAct>) {
                match self {
                    $(Self::$law(law) => law.step(now, seen, acts),)+
                }
            }

            /// Name in scenarios.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$law(_) => $module::$law::NAME,)+
                }
            }
        }

        impl GroupParams {
            /// State of an aggregate without traffic, at time `now`.
            pub fn start(&self, now: Time, at: GroupStart, acts: &mut Acts<GroupAct>) -> Group {
                match &self.0 {
                    $(Params::$law(params) => Group::$law(GroupLaw::start(params, now, at, acts)),)+
                }
            }
        }
    };
}

registry! {
    hiercc::HierCc,
}
