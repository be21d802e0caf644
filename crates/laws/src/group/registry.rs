//! The group laws by name: one row each.
//!
//! A row brings the name, static dispatch, parameters by text, the help page and the conformance
//! tests. To add a law: its file in this folder, its `mod` line in `mod.rs`, its row at the end of this file.

use super::{GroupAct, GroupLaw, GroupSeen, GroupStart};
use crate::Acts;
use crate::by_name::by_name;
use crate::log::LoggedLaw;
use crate::outside::Boxed;
use alloc::boxed::Box;
use forebay_units::Time;

/// Most bytes that a law may keep per aggregate.
pub const MAX_STATE: usize = 192;

macro_rules! registry {
    ($($module:ident :: $law:ident,)+) => {
        by_name!(GroupLaw, GroupParams, Group { (), () }, "group", $($module::$law,)+);

        /// An aggregate under a law, the built-in ones dispatched by `match`.
        #[derive(Clone, Debug)]
        pub enum Group {
            $(#[doc = concat!("See [`", stringify!($module), "`](super::", stringify!($module), ").")]
            $law(super::$module::$law),)+
            /// A law that writes a log, or a law from outside.
            Boxed(Box<Boxed<Group>>),
        }

        impl Group {
            /// One event. Actions are added to `acts`, which the caller clears.
            #[inline]
            pub fn step(&mut self, now: Time, seen: GroupSeen<'_>, acts: &mut Acts<GroupAct>) {
                match self {
                    $(Self::$law(law) => law.step(now, seen, acts),)+
                    Self::Boxed(of) => of.step(now, seen, acts),
                }
            }

            /// Name in scenarios.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$law(_) => <super::$module::$law as GroupLaw>::NAME,)+
                    Self::Boxed(of) => of.name(Self::name),
                }
            }
        }

        impl GroupParams {
            /// State of an aggregate without traffic, at time `now`.
            pub fn start(&self, now: Time, at: GroupStart, acts: &mut Acts<GroupAct>) -> Group {
                match &self.log {
                    None => self.start_alone(now, at, acts),
                    Some(log) => {
                        let logged = LoggedLaw::start(self, log, now, at, acts);
                        Group::Boxed(Box::new(Boxed::Logged(logged)))
                    }
                }
            }

            /// Without a log.
            pub(crate) fn start_alone(&self, now: Time, at: GroupStart, acts: &mut Acts<GroupAct>) -> Group {
                match &self.of {
                    $(Params::$law(params) => Group::$law(GroupLaw::start(params, now, at, acts)),)+
                    Params::Outside(law) => Group::Boxed(Boxed::start(law, now, at, acts)),
                }
            }
        }
    };
}

registry! {
    hiercc::HierCc,
}
