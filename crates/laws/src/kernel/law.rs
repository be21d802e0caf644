//! A program of callbacks as a law of role `flow`: by name, with parameters, and on a host.

use super::{HostProgram, PlacedProgram, Program};
use crate::flow::{Echo, Flow, FlowAct, FlowFacts, FlowSeen, Needs};
use crate::outside::{OutsideLaw, OutsideState};
use crate::params::LawInfo;
use crate::{Acts, Start};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use forebay_units::Time;

/// A program as a law from outside. Its flows hear of nothing by events: the transport calls the module.
#[derive(Debug)]
pub(crate) struct ModuleLaw {
    program: Box<dyn Program>,
    host: Option<Arc<dyn HostProgram>>,
}

impl ModuleLaw {
    pub fn new(program: Box<dyn Program>) -> Self {
        Self { program, host: None }
    }
}

impl Clone for ModuleLaw {
    fn clone(&self) -> Self {
        Self { program: self.program.copy(), host: self.host.clone() }
    }
}

impl OutsideLaw<Flow> for ModuleLaw {
    fn info(&self) -> &LawInfo {
        self.program.info()
    }

    fn facts(&self) -> FlowFacts {
        let echo = if self.program.ops().needs_ecn { Echo::Exact } else { Echo::None };
        FlowFacts { needs: Needs { echo, ..Needs::NONE }, floor_milli_mss: 1000 }
    }

    fn set(&mut self, name: &str, text: &str) -> Option<bool> {
        self.program.set(name, text)
    }

    fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.program.write(name, f)
    }

    fn start(&self, _: Time, _: Start, _: &mut Acts<FlowAct>) -> Box<dyn OutsideState<Flow>> {
        Box::new(Silent)
    }

    fn program(&self) -> Option<PlacedProgram<'_>> {
        Some(PlacedProgram { program: &*self.program, host: self.host.as_ref() })
    }

    fn on_host(&self) -> Option<Arc<dyn OutsideLaw<Flow>>> {
        Some(Arc::new(Self { program: self.program.copy(), host: Some(self.program.on_host()) }))
    }
}

/// State of a flow whose law hears of nothing by events.
#[derive(Clone, Debug)]
struct Silent;

impl OutsideState<Flow> for Silent {
    fn step(&mut self, _: Time, _: FlowSeen<'_>, _: &mut Acts<FlowAct>) {}
}
