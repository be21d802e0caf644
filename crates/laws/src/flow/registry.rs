//! The flow laws by name: one row each.
//!
//! A row brings the name, static dispatch, parameters by text, the help page and the conformance
//! tests. To add a law: its file in this folder, its `mod` line in `mod.rs`, its row at the end of this file.

use super::own::{Beside, Own};
use super::{FlowAct, FlowLaw, FlowSeen, Needs};
use crate::by_name::by_name;
use crate::log::Logged;
use crate::{Acts, Start};
use alloc::boxed::Box;
use forebay_units::{BitsPerSec, Bytes, Time};

/// Most bytes that a law may keep per flow; parameters that do not fit are shared behind a reference.
pub const MAX_STATE: usize = 96;

macro_rules! registry {
    ($($module:ident :: $law:ident,)+) => {
        by_name!(FlowLaw, FlowParams { own: Option<Own> = None }, "flow", $($module::$law,)+);

        /// A flow under any of the registered laws, dispatched by `match`.
        #[derive(Clone, Debug)]
        pub enum Flow {
            $(#[doc = concat!("See [`", stringify!($module), "`](super::", stringify!($module), ").")]
            $law(super::$module::$law),)+
            /// One of them that writes a log, or a law of a program.
            Beside(Box<Beside>),
        }

        impl Flow {
            /// One event. Actions are added to `acts`, which the caller clears.
            #[inline]
            pub fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
                self.step_here(now, seen, acts);
            }

            /// [`Flow::step`] as a part of its caller: for the one call that most events come by.
            #[inline(always)]
            pub fn step_here(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
                match self {
                    $(Self::$law(law) => law.step(now, seen, acts),)+
                    Self::Beside(of) => of.step(now, seen, acts),
                }
            }

            /// What it needs from the receiver and the path, with its parameters applied.
            pub fn needs(&self) -> Needs {
                match self {
                    $(Self::$law(law) => law.needs(),)+
                    Self::Beside(of) => of.needs(),
                }
            }

            /// Name in scenarios.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$law(_) => <super::$module::$law as FlowLaw>::NAME,)+
                    Self::Beside(of) => of.law().name(),
                }
            }

            /// Least window that the law sets, in thousandths of a segment. See [`FlowLaw::FLOOR_MILLI_MSS`].
            pub fn floor_milli_mss(&self) -> u32 {
                match self {
                    $(Self::$law(_) => <super::$module::$law as FlowLaw>::FLOOR_MILLI_MSS,)+
                    Self::Beside(of) => of.law().floor_milli_mss(),
                }
            }
        }

        impl FlowParams {
            /// State of a new flow. Its first window or rate is added to `acts`.
            pub fn start(&self, at: Start, acts: &mut Acts<FlowAct>) -> Flow {
                match (&self.own, &self.log) {
                    (None, None) => self.start_alone(Time::ZERO, at, acts),
                    (None, Some(log)) => {
                        let logged = Logged::start(self, log, Time::ZERO, at, acts);
                        Flow::Beside(Box::new(Beside::Logged(logged)))
                    }
                    (Some(own), _) => {
                        let mut first = Acts::default();
                        let like = self.start_alone(Time::ZERO, at, &mut first);
                        own.start(like, &first, at, acts)
                    }
                }
            }

            /// Without a log.
            pub(crate) fn start_alone(&self, _now: Time, at: Start, acts: &mut Acts<FlowAct>) -> Flow {
                match &self.of {
                    $(Params::$law(params) => Flow::$law(FlowLaw::start(params, at, acts)),)+
                }
            }
        }
    };
}

impl FlowParams {
    /// The law of a program in place of this one, whose needs it has. It writes no log.
    #[must_use]
    pub fn with_own(self, own: Own) -> Self {
        Self { own: Some(own), ..self }
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
        self.start_alone(Time::ZERO, at, &mut Acts::default()).needs()
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
    explicit::Explicit,
    dctcp_rate::DctcpRate,
}
