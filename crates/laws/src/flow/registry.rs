//! The flow laws by name: one row each.
//!
//! A row brings the name, static dispatch, parameters by text, the help page and the conformance
//! tests. To add a law: its file in this folder, its `mod` line in `mod.rs`, its row at the end of this file.

use super::{FlowAct, FlowLaw, FlowSeen, Needs};
use super::{bic, cubic, dcqcn, dctcp, hpcc, nv, powertcp, reno, swift, timely};
use crate::params::{self, LawInfo, ParamError, ParamInfo, ParamTable, Table};
use crate::{Acts, Start};
use core::fmt;
use forebay_units::{BitsPerSec, Bytes, Time};

/// Most bytes that a law may keep per flow; parameters that do not fit are shared behind a reference.
pub const MAX_STATE: usize = 96;

macro_rules! registry {
    ($($module:ident :: $law:ident,)+) => {
        /// Every registered flow law.
        pub static LAWS: &[LawInfo] = &[$(LawInfo {
            name: <$module::$law as FlowLaw>::NAME,
            params: <<$module::$law as FlowLaw>::Params as ParamTable>::TABLE,
            file: include_str!(concat!(stringify!($module), ".rs")),
        },)+];

        /// A flow under any of the registered laws, dispatched by `match`.
        #[derive(Clone, Debug)]
        pub enum Flow {
            $(#[doc = concat!("See [`", stringify!($module), "`](super::", stringify!($module), ").")]
            $law($module::$law),)+
        }

        #[derive(Clone, Debug, PartialEq)]
        enum Params {
            $($law(<$module::$law as FlowLaw>::Params),)+
        }

        impl Flow {
            /// One event. Actions are added to `acts`, which the caller clears.
            #[inline]
            pub fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
                match self {
                    $(Self::$law(law) => law.step(now, seen, acts),)+
                }
            }

            /// What it needs from the receiver and the path, with its parameters applied.
            pub fn needs(&self) -> Needs {
                match self {
                    $(Self::$law(law) => law.needs(),)+
                }
            }

            /// Name in scenarios.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$law(_) => $module::$law::NAME,)+
                }
            }

            /// Least window it asks for, in thousandths of a segment. See [`FlowLaw::FLOOR_MILLI_MSS`].
            pub fn floor_milli_mss(&self) -> u32 {
                match self {
                    $(Self::$law(_) => $module::$law::FLOOR_MILLI_MSS,)+
                }
            }
        }

        impl FlowParams {
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

            /// State of a new flow. Its first window or rate is added to `acts`.
            pub fn start(&self, at: Start, acts: &mut Acts<FlowAct>) -> Flow {
                match &self.0 {
                    $(Params::$law(params) => Flow::$law(FlowLaw::start(params, at, acts)),)+
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
            concat!(stringify!($law), " keeps more than MAX_STATE bytes per flow"),
        );)+
    };
}

/// A law by name, with its parameters: what a scenario sets, and what flows start from.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowParams(Params);

impl FlowParams {
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
    /// [`FlowParams::set`]. For manifests, and for the defaults of a help page.
    pub fn values(
        &self,
    ) -> impl Iterator<Item = (&'static ParamInfo, impl fmt::Display + '_)> + '_ {
        params::values(self.info(), self.table())
    }

    /// What flows of this law need from the receiver and the path.
    pub fn needs(&self) -> Needs {
        // Needs depend on parameters alone, so any flow shows them.
        let at = Start {
            mss: Bytes::new(1),
            initial_window: Bytes::new(1),
            line_rate: BitsPerSec::from_gbps(1),
            base_rtt: None,
            seed: 0,
        };
        self.start(at, &mut Acts::default()).needs()
    }
}

registry! {
    reno::Reno,
    dctcp::Dctcp,
    bic::Bic,
    nv::Nv,
    cubic::Cubic,
    swift::Swift,
    timely::Timely,
    dcqcn::Dcqcn,
    hpcc::Hpcc,
    powertcp::PowerTcp,
}
