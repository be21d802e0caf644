//! Laws from outside: what a program adds to the built-in laws of a role.
//!
//! Most laws from outside are types with the trait of their role ([`FlowLaw`](crate::flow::FlowLaw), ...), as the built-in ones
//! are: [`Laws`](crate::Laws) takes those as they are. A law whose name, needs or parameters are only known at run time, such as a script or an
//! object file, implements [`OutsideLaw`] and [`OutsideState`] itself.
//!
//! Invariant: a flow under a built-in law without a log passes no line of this file.

use crate::Acts;
use crate::kernel::PlacedProgram;
use crate::log::{LoggedLaw, Role};
use crate::params::{LawInfo, Table};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use core::fmt;
use forebay_units::Time;

pub(crate) mod typed;

/// A role that is open for laws from outside.
pub trait OpenRole: Role + Clone + fmt::Debug + 'static {
    /// Constant facts about a law with its parameters: its needs and the like.
    type Facts: Clone + fmt::Debug + Send + Sync;
    /// State of a law that its driver reads between events.
    type Glance: Default;

    /// The parameters of a law from outside.
    fn outside(law: Arc<dyn OutsideLaw<Self>>) -> Self::Params;
}

/// A law from outside with its parameters.
pub trait OutsideLaw<R: OpenRole>: CopyLaw<R> + fmt::Debug + Send + Sync {
    /// Name, parameters and help page.
    fn info(&self) -> &LawInfo;

    /// Needs and other facts, with the parameters as they are now.
    fn facts(&self) -> R::Facts;

    /// Sets parameter `name`. `None`: no such name. `Some(false)`: not a value of this parameter, and nothing changed.
    fn set(&mut self, _name: &str, _text: &str) -> Option<bool> {
        None
    }

    /// Writes the value of parameter `name` as `set` reads it; nothing if there is no such name.
    fn write(&self, _name: &str, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    /// State at the start, at time `now`. The first actions are added to `acts`.
    fn start(&self, now: Time, at: R::Start, acts: &mut Acts<R::Act>) -> Box<dyn OutsideState<R>>;

    /// The program of callbacks of which the law consists, if it does.
    fn program(&self) -> Option<PlacedProgram<'_>> {
        None
    }

    /// The law on one host, if it is such a program: its modules share what the host has once.
    fn on_host(&self) -> Option<Arc<dyn OutsideLaw<R>>> {
        None
    }
}

/// State of a law from outside: of one flow, host, connection or aggregate.
pub trait OutsideState<R: OpenRole>: CopyState<R> + fmt::Debug + Send + Sync {
    /// One event. Actions are added to `acts`.
    fn step(&mut self, now: Time, seen: R::Seen<'_>, acts: &mut Acts<R::Act>);

    /// State that the driver reads between events.
    fn glance(&self) -> R::Glance {
        R::Glance::default()
    }
}

/// Copies of laws behind a pointer. Every law that is `Clone` has it.
pub trait CopyLaw<R: OpenRole> {
    /// A copy.
    fn copy_law(&self) -> Box<dyn OutsideLaw<R>>;
}

impl<R: OpenRole, L: OutsideLaw<R> + Clone + 'static> CopyLaw<R> for L {
    fn copy_law(&self) -> Box<dyn OutsideLaw<R>> {
        Box::new(self.clone())
    }
}

/// Copies of states behind a pointer. Every state that is `Clone` has it.
pub trait CopyState<R: OpenRole> {
    /// A copy.
    fn copy_state(&self) -> Box<dyn OutsideState<R>>;
}

impl<R: OpenRole, S: OutsideState<R> + Clone + 'static> CopyState<R> for S {
    fn copy_state(&self) -> Box<dyn OutsideState<R>> {
        Box::new(self.clone())
    }
}

/// Equal if they have the same name, help page and values.
impl<R: OpenRole> PartialEq for dyn OutsideLaw<R> {
    fn eq(&self, other: &Self) -> bool {
        let shown = |law: &Self, name| ShownValue { law, name }.to_string();
        let same = |name| shown(self, name) == shown(other, name);
        self.info() == other.info() && self.info().params().iter().all(|param| same(param.name))
    }
}

/// A value of a law from outside.
struct ShownValue<'a, R: OpenRole> {
    law: &'a dyn OutsideLaw<R>,
    name: &'static str,
}

impl<R: OpenRole> fmt::Display for ShownValue<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.law.write(self.name, f)
    }
}

impl<R: OpenRole> Table for Arc<dyn OutsideLaw<R>> {
    fn set(&mut self, name: &str, text: &str) -> Option<bool> {
        let mut changed = self.copy_law();
        let done = changed.set(name, text);
        if done == Some(true) {
            *self = changed.into();
        }
        done
    }

    fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        OutsideLaw::write(&**self, name, f)
    }
}

/// A law from outside that runs.
#[derive(Debug)]
pub struct Outside<R: OpenRole> {
    law: Arc<dyn OutsideLaw<R>>,
    facts: R::Facts,
    state: Box<dyn OutsideState<R>>,
}

impl<R: OpenRole> Clone for Outside<R> {
    fn clone(&self) -> Self {
        let state = self.state.copy_state();
        Self { law: self.law.clone(), facts: self.facts.clone(), state }
    }
}

/// A law that has a box of its own beside the built-in laws of its role.
#[derive(Clone, Debug)]
pub enum Boxed<R: OpenRole> {
    /// A law that writes a log.
    Logged(LoggedLaw<R>),
    /// A law from outside.
    Outside(Outside<R>),
}

impl<R: OpenRole> Boxed<R> {
    /// Starts a law from outside. Its first actions are added to `acts`.
    pub(crate) fn start(
        law: &Arc<dyn OutsideLaw<R>>,
        now: Time,
        at: R::Start,
        acts: &mut Acts<R::Act>,
    ) -> Box<Self> {
        let (facts, state) = (law.facts(), law.start(now, at, acts));
        Box::new(Self::Outside(Outside { law: law.clone(), facts, state }))
    }

    #[inline(never)]
    pub(crate) fn step(&mut self, now: Time, seen: R::Seen<'_>, acts: &mut Acts<R::Act>) {
        match self {
            Self::Logged(of) => of.step(now, seen, acts),
            Self::Outside(of) => of.state.step(now, seen, acts),
        }
    }

    /// Name of the law, where `name` gives that of one without a box.
    pub(crate) fn name<'a>(&'a self, name: impl FnOnce(&'a R) -> &'a str) -> &'a str {
        match self {
            Self::Logged(of) => name(of.law()),
            Self::Outside(of) => of.law.info().name(),
        }
    }

    /// A fact about the law: `logged` has that of a law with a log, `outside` that of one from outside.
    pub(crate) fn fact<T>(
        &self,
        logged: impl FnOnce(&R) -> T,
        outside: impl FnOnce(&R::Facts) -> T,
    ) -> T {
        match self {
            Self::Logged(of) => logged(of.law()),
            Self::Outside(of) => outside(&of.facts),
        }
    }

    /// State that the driver reads between events, likewise.
    pub(crate) fn glance<T>(
        &self,
        logged: impl FnOnce(&R) -> T,
        outside: impl FnOnce(R::Glance) -> T,
    ) -> T {
        match self {
            Self::Logged(of) => logged(of.law()),
            Self::Outside(of) => outside(of.state.glance()),
        }
    }
}
