//! Laws of flows that a program brings along, which no registry knows.
//!
//! Such a law stands for a registered one: the packets of its flows are as those of that one (ECN, telemetry, time stamps), and a
//! scenario names that one. It answers the same events with the same actions.
//!
//! Invariant: a flow without such a law passes no line of this file.

use super::{Flow, FlowAct, FlowSeen, Needs};
use crate::log::Logged;
use crate::{Acts, Start};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use forebay_units::Time;

/// A law of a program.
pub trait OwnLaw: Send + Sync + fmt::Debug {
    /// State at the start of a flow. The law's first window or rate is pushed to `acts`. The law that it stands for would begin as
    /// `like`, with the actions `first`.
    fn start(
        &self,
        like: &Flow,
        first: &Acts<FlowAct>,
        at: Start,
        acts: &mut Acts<FlowAct>,
    ) -> Box<dyn OwnFlow>;
}

/// A flow under such a law.
pub trait OwnFlow: Send + Sync + fmt::Debug {
    /// One event.
    fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>);

    /// Copies the flow for results of a simulation that goes on. The copy is read and never stepped.
    fn copy(&self) -> Box<dyn OwnFlow>;
}

/// The law that flows of some parameters have in place of the registered one. Two are equal if they are the same one.
#[derive(Clone, Debug)]
pub struct Own(Arc<dyn OwnLaw>);

impl Own {
    /// Wraps this law.
    pub fn new(law: Arc<dyn OwnLaw>) -> Self {
        Self(law)
    }

    pub(super) fn start(
        &self,
        like: Flow,
        first: &Acts<FlowAct>,
        at: Start,
        acts: &mut Acts<FlowAct>,
    ) -> Flow {
        Flow::Beside(Box::new(Beside::Own { of: self.0.start(&like, first, at, acts), like }))
    }
}

impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What a flow rarely has in place of a registered law alone.
#[derive(Debug)]
pub enum Beside {
    /// A registered law that writes a log.
    Logged(Logged<Flow>),
    /// A law of a program.
    Own {
        /// The flow.
        of: Box<dyn OwnFlow>,
        /// The registered law that it stands for, at its start.
        like: Flow,
    },
}

impl Clone for Beside {
    fn clone(&self) -> Self {
        match self {
            Self::Logged(of) => Self::Logged(of.clone()),
            Self::Own { of, like } => Self::Own { of: of.copy(), like: like.clone() },
        }
    }
}

impl Beside {
    pub(super) fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        match self {
            Self::Logged(of) => of.step(now, seen, acts),
            Self::Own { of, .. } => of.step(now, seen, acts),
        }
    }

    /// The registered law.
    pub fn law(&self) -> &Flow {
        match self {
            Self::Logged(of) => of.law(),
            Self::Own { like, .. } => like,
        }
    }

    pub(super) fn needs(&self) -> Needs {
        self.law().needs()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FlowEvent, FlowParams, Totals};
    use super::*;
    use forebay_units::{BitsPerSec, Bytes};

    /// Three segments, then one more at each event.
    #[derive(Clone, Debug)]
    struct Slow(u64);

    impl OwnLaw for Slow {
        fn start(
            &self,
            _: &Flow,
            first: &Acts<FlowAct>,
            at: Start,
            acts: &mut Acts<FlowAct>,
        ) -> Box<dyn OwnFlow> {
            assert!(first.iter().eq([FlowAct::window(at.initial_window)]));
            acts.push(FlowAct::window(at.mss * self.0));
            Box::new(self.clone())
        }
    }

    impl OwnFlow for Slow {
        fn step(&mut self, _: Time, _: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
            self.0 += 1;
            acts.push(FlowAct::window(Bytes::new(1_000) * self.0));
        }

        fn copy(&self) -> Box<dyn OwnFlow> {
            Box::new(self.clone())
        }
    }

    #[test]
    fn a_law_of_a_program_acts_and_the_one_that_it_stands_for_says_what_it_needs() {
        let own = Own::new(Arc::new(Slow(3)));
        let dctcp = FlowParams::new("dctcp").expect("a registered law");
        let params = dctcp.clone().with_own(own.clone());
        assert!(params == dctcp.clone().with_own(own) && params != dctcp);
        let at = Start {
            mss: Bytes::new(1_000),
            initial_window: Bytes::new(10_000),
            line_rate: BitsPerSec::from_gbps(1),
            base_rtt: None,
            seed: 0,
        };
        let mut acts = Acts::default();
        let mut flow = params.start(at, &mut acts);
        assert!(acts.iter().eq([FlowAct::window(Bytes::new(3_000))]));
        assert_eq!((flow.needs(), flow.name()), (dctcp.needs(), "dctcp"));
        let seen = FlowSeen { totals: &Totals::default(), event: FlowEvent::Wake };
        let mut acts = Acts::default();
        flow.clone().step(Time::ZERO, seen, &mut Acts::default());
        flow.step(Time::ZERO, seen, &mut acts);
        assert!(acts.iter().eq([FlowAct::window(Bytes::new(4_000))]));
    }
}
