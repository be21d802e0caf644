//! The host laws by name: one row each.
//!
//! A row brings the name, static dispatch, parameters by text, the help page and the conformance
//! tests. To add a law: its file in this folder, its `mod` line in `mod.rs`, its row at the end of this file.

use super::{
    HostAct, HostFacts, HostGlance, HostLaw, HostSeen, HostStart, LawReadings, Side, Signal,
};
use crate::Acts;
use crate::by_name::by_name;
use crate::log::LoggedLaw;
use crate::outside::Boxed;
use alloc::boxed::Box;
use forebay_units::Time;

/// Most bytes that a law may keep per host.
pub const MAX_STATE: usize = 512;

macro_rules! registry {
    ($($module:ident :: $law:ident,)+) => {
        by_name!(HostLaw, HostParams, Host { HostFacts, HostGlance }, "host", $($module::$law,)+);

        /// A host under a law, the built-in ones dispatched by `match`.
        #[derive(Clone, Debug)]
        pub enum Host {
            $(#[doc = concat!("See [`", stringify!($module), "`](super::", stringify!($module), ").")]
            $law(super::$module::$law),)+
            /// A law that writes a log, or a law from outside.
            Boxed(Box<Boxed<Host>>),
        }

        impl Host {
            /// One event. Actions are added to `acts`, which the caller clears.
            #[inline]
            pub fn step(&mut self, now: Time, seen: HostSeen, acts: &mut Acts<HostAct>) {
                match self {
                    $(Self::$law(law) => law.step(now, seen, acts),)+
                    Self::Boxed(of) => of.step(now, seen, acts),
                }
            }

            /// Which readings it wants, and which packets it marks.
            pub fn side(&self) -> Side {
                match self {
                    $(Self::$law(law) => law.side(),)+
                    Self::Boxed(of) => of.glance(Self::side, |glance| glance.side),
                }
            }

            /// Signals of the law with their targets, if it has targets.
            pub fn watched(&self) -> Option<LawReadings> {
                match self {
                    $(Self::$law(law) => law.watched(),)+
                    Self::Boxed(of) => of.glance(Self::watched, |glance| glance.watched),
                }
            }

            /// Name in scenarios.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$law(_) => <super::$module::$law as HostLaw>::NAME,)+
                    Self::Boxed(of) => of.name(Self::name),
                }
            }
        }

        impl HostParams {
            /// Signals without which the law decides nothing.
            pub fn needs(&self) -> &'static [Signal] {
                match &self.of {
                    $(Params::$law(params) => <super::$module::$law as HostLaw>::needs(params),)+
                    Params::Outside(law) => law.facts().needs,
                }
            }

            /// State of an unthrottled host, at time `now`.
            pub fn start(&self, now: Time, at: HostStart, acts: &mut Acts<HostAct>) -> Host {
                match &self.log {
                    None => self.start_alone(now, at, acts),
                    Some(log) => {
                        let logged = LoggedLaw::start(self, log, now, at, acts);
                        Host::Boxed(Box::new(Boxed::Logged(logged)))
                    }
                }
            }

            /// Without a log.
            pub(crate) fn start_alone(&self, now: Time, at: HostStart, acts: &mut Acts<HostAct>) -> Host {
                match &self.of {
                    $(Params::$law(params) => Host::$law(HostLaw::start(params, now, at, acts)),)+
                    Params::Outside(law) => Host::Boxed(Boxed::start(law, now, at, acts)),
                }
            }
        }
    };
}

registry! {
    hostcc::HostCc,
    nicdrop::NicDrop,
}
