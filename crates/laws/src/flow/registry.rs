//! The flow laws by name: one row each.
//!
//! A row brings the name, static dispatch, parameters by text, the help page and the conformance
//! tests. To add a law: its file in this folder, its `mod` line in `mod.rs`, its row at the end of this file.

use super::{FlowAct, FlowFacts, FlowLaw, FlowSeen, Needs, any_start};
use crate::by_name::by_name;
use crate::kernel::{PlacedProgram, ProgramTrace, RunningModule};
use crate::log::LoggedLaw;
use crate::outside::Boxed;
use crate::{Acts, Start};
use alloc::boxed::Box;
use forebay_units::Time;

/// Most bytes that a law may keep per flow; parameters that do not fit are shared behind a reference.
pub const MAX_STATE: usize = 96;

macro_rules! registry {
    ($($module:ident :: $law:ident,)+) => {
        by_name!(FlowLaw, FlowParams, Flow { FlowFacts, () }, "flow", $($module::$law,)+);

        /// A flow under a law, the built-in ones dispatched by `match`.
        #[derive(Clone, Debug)]
        pub enum Flow {
            $(#[doc = concat!("See [`", stringify!($module), "`](super::", stringify!($module), ").")]
            $law(super::$module::$law),)+
            /// A law that writes a log, or a law from outside.
            Boxed(Box<Boxed<Flow>>),
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
                    Self::Boxed(of) => of.step(now, seen, acts),
                }
            }

            /// What it needs from the receiver and the path, with its parameters applied.
            pub fn needs(&self) -> Needs {
                match self {
                    $(Self::$law(law) => law.needs(),)+
                    Self::Boxed(of) => of.fact(Self::needs, |facts| facts.needs),
                }
            }

            /// Name in scenarios.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$law(_) => <super::$module::$law as FlowLaw>::NAME,)+
                    Self::Boxed(of) => of.name(Self::name),
                }
            }

            /// Least window that the law sets, in thousandths of a segment. See [`FlowLaw::FLOOR_MILLI_MSS`].
            pub fn floor_milli_mss(&self) -> u32 {
                match self {
                    $(Self::$law(_) => <super::$module::$law as FlowLaw>::FLOOR_MILLI_MSS,)+
                    Self::Boxed(of) => of.fact(Self::floor_milli_mss, |facts| facts.floor_milli_mss),
                }
            }
        }

        impl FlowParams {
            /// State of a new flow. Its first window or rate is added to `acts`.
            pub fn start(&self, at: Start, acts: &mut Acts<FlowAct>) -> Flow {
                match &self.log {
                    None => self.start_alone(Time::ZERO, at, acts),
                    Some(log) => {
                        let logged = LoggedLaw::start(self, log, Time::ZERO, at, acts);
                        Flow::Boxed(Box::new(Boxed::Logged(logged)))
                    }
                }
            }

            /// Without a log.
            pub(crate) fn start_alone(&self, now: Time, at: Start, acts: &mut Acts<FlowAct>) -> Flow {
                match &self.of {
                    $(Params::$law(params) => Flow::$law(FlowLaw::start(params, at, acts)),)+
                    Params::Outside(law) => Flow::Boxed(Boxed::start(law, now, at, acts)),
                }
            }
        }
    };
}

impl FlowParams {
    /// Facts about the law with its parameters.
    pub fn facts(&self) -> FlowFacts {
        match &self.of {
            Params::Outside(law) => law.facts(),
            // Needs depend on parameters alone, so any flow shows them.
            _ => {
                let any = self.start_alone(Time::ZERO, any_start(), &mut Acts::default());
                FlowFacts { needs: any.needs(), floor_milli_mss: any.floor_milli_mss() }
            }
        }
    }

    /// Whether the law is a module with the kernel's callbacks, which a transport calls instead of telling events. Only TCP does.
    pub fn is_module(&self) -> bool {
        self.program().is_some()
    }

    /// What the parameters of a module leave open, as a sentence: no flow can start.
    pub fn lacks(&self) -> Option<alloc::string::String> {
        self.program()?.lacks()
    }

    /// The module of a new flow, if the law is one. `seed` is the key of its random draws.
    pub fn module(&self, seed: u64) -> Option<RunningModule> {
        self.program().map(|program| program.flow(seed))
    }

    /// The law on one host: its modules share what the host has once. `None` if the law is no module.
    #[must_use]
    pub fn on_host(&self) -> Option<Self> {
        let Params::Outside(law) = &self.of else { return None };
        Some(Self { of: Params::Outside(law.on_host()?), log: self.log.clone() })
    }

    /// What modules of the law on one host have printed.
    pub fn trace(&self) -> Option<ProgramTrace> {
        self.program()?.trace()
    }

    fn program(&self) -> Option<PlacedProgram<'_>> {
        match &self.of {
            Params::Outside(law) => law.program(),
            _ => None,
        }
    }

    /// What flows of this law need from the receiver and the path.
    pub fn needs(&self) -> Needs {
        self.facts().needs
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
    fixed::Fixed,
}
