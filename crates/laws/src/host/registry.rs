//! The host laws by name: one row each.
//!
//! A row brings the name, static dispatch, parameters by text, the help page and the conformance
//! tests. To add a law: its file in this folder, its `mod` line in `mod.rs`, its row at the end of this file.

use super::hostcc;
use super::{HostAct, HostLaw, HostSeen, HostStart, Side, Watched};
use crate::Acts;
use crate::params::{self, LawInfo, ParamError, ParamInfo, ParamTable, Table};
use core::fmt;
use forebay_units::Time;

/// Most bytes that a law may keep per host.
pub const MAX_STATE: usize = 512;

macro_rules! registry {
    ($($module:ident :: $law:ident,)+) => {
        /// Every registered host law.
        pub static LAWS: &[LawInfo] = &[$(LawInfo {
            name: <$module::$law as HostLaw>::NAME,
            params: <<$module::$law as HostLaw>::Params as ParamTable>::TABLE,
            file: include_str!(concat!(stringify!($module), ".rs")),
        },)+];

        /// A host under any of the registered laws, dispatched by `match`.
        #[derive(Clone, Debug)]
        pub enum Host {
            $(#[doc = concat!("See [`", stringify!($module), "`](super::", stringify!($module), ").")]
            $law($module::$law),)+
        }

        #[derive(Clone, Debug, PartialEq)]
        enum Params {
            $($law(<$module::$law as HostLaw>::Params),)+
        }

        impl Host {
            /// One event. Actions are added to `acts`, which the caller clears.
            #[inline]
            pub fn step(&mut self, now: Time, seen: HostSeen, acts: &mut Acts<HostAct>) {
                match self {
                    $(Self::$law(law) => law.step(now, seen, acts),)+
                }
            }

            /// Which readings it wants, and which packets it marks.
            pub fn side(&self) -> Side {
                match self {
                    $(Self::$law(law) => law.side(),)+
                }
            }

            /// Its signals beside their targets, if it has such.
            pub fn watched(&self) -> Option<Watched> {
                match self {
                    $(Self::$law(law) => law.watched(),)+
                }
            }

            /// Name in scenarios.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$law(_) => $module::$law::NAME,)+
                }
            }
        }

        impl HostParams {
            /// The law of this name with its published defaults.
            ///
            /// # Errors
            /// If no law has this name.
            pub fn new(name: &str) -> Result<Self, ParamError> {
                $(if name == $module::$law::NAME {
                    return Ok(Self(Params::$law(Default::default())));
                })+
                Err(ParamError::UnknownLaw { known: LAWS })
            }

            /// Name in scenarios.
            pub fn name(&self) -> &'static str {
                match &self.0 {
                    $(Params::$law(_) => $module::$law::NAME,)+
                }
            }

            /// State of an unthrottled host, at time `now`.
            pub fn start(&self, now: Time, at: HostStart, acts: &mut Acts<HostAct>) -> Host {
                match &self.0 {
                    $(Params::$law(params) => Host::$law(HostLaw::start(params, now, at, acts)),)+
                }
            }

            fn table(&self) -> &dyn Table {
                match &self.0 {
                    $(Params::$law(params) => params,)+
                }
            }

            fn table_mut(&mut self) -> &mut dyn Table {
                match &mut self.0 {
                    $(Params::$law(params) => params,)+
                }
            }
        }

        $(const _: () = assert!(
            size_of::<$module::$law>() <= MAX_STATE,
            concat!(stringify!($law), " keeps more than MAX_STATE bytes per host"),
        );)+
    };
}

/// A law by name, with its parameters: what a scenario sets, and what hosts start from.
#[derive(Clone, Debug, PartialEq)]
pub struct HostParams(Params);

impl HostParams {
    /// Sets one parameter from its text.
    ///
    /// # Errors
    /// If the law has no such parameter, or the text is not one of its values; nothing changes then.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), ParamError> {
        params::set(self.info(), self.table_mut(), name, text)
    }

    /// Name, parameters and help page of the law.
    ///
    /// # Panics
    /// Never: a value of this type has a registered law.
    pub fn info(&self) -> &'static LawInfo {
        let name = self.name();
        LAWS.iter().find(|law| law.name == name).expect("every variant has a row")
    }

    /// Every parameter with its value now, in the order of the help page; the text reads back through
    /// [`HostParams::set`]. For manifests, and for the defaults of a help page.
    pub fn values(
        &self,
    ) -> impl Iterator<Item = (&'static ParamInfo, impl fmt::Display + '_)> + '_ {
        params::values(self.info(), self.table())
    }
}

registry! {
    hostcc::HostCc,
}
