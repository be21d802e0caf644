//! Types with the trait of their role as laws from outside.

use super::{OutsideLaw, OutsideState};
use crate::credit::{Credit, CreditAct, CreditFacts, CreditLaw, CreditSeen, CreditStart};
use crate::flow::{Flow, FlowAct, FlowFacts, FlowLaw, FlowSeen, any_start};
use crate::grant::{Grant, GrantAct, GrantFacts, GrantGlance, GrantLaw, GrantSeen, GrantStart};
use crate::group::{Group, GroupAct, GroupLaw, GroupSeen, GroupStart};
use crate::host::{Host, HostAct, HostFacts, HostGlance, HostLaw, HostSeen, HostStart};
use crate::params::{LawInfo, ParamTable};
use crate::pool::{Pool, PoolAct, PoolLaw, PoolSeen, PoolStart};
use crate::{Acts, Start};
use alloc::boxed::Box;
use core::fmt;
use forebay_units::Time;

/// A type as a law from outside, with parameters `P`.
pub(crate) struct TypedLaw<L, P> {
    info: LawInfo,
    params: P,
    of: core::marker::PhantomData<fn() -> L>,
}

impl<L, P: ParamTable> TypedLaw<L, P> {
    pub fn new(name: &'static str, file: &'static str) -> Self {
        let info = LawInfo::new(name, P::TABLE, file);
        Self { info, params: P::default(), of: core::marker::PhantomData }
    }
}

impl<L, P: Clone> Clone for TypedLaw<L, P> {
    fn clone(&self) -> Self {
        Self { info: self.info.clone(), params: self.params.clone(), of: self.of }
    }
}

impl<L, P: fmt::Debug> fmt::Debug for TypedLaw<L, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.info.name(), self.params)
    }
}

/// A running law of a type.
#[derive(Clone, Debug)]
struct State<L>(L);

/// A type under this trait is a law of its role: how it starts and steps, and its facts.
macro_rules! typed {
    (
        $trait:ident, $role:ident, $start_of:ty, $act:ty, $seen:ty, $facts:ty, $glance:ty;
        |$params:ident, $now:ident, $at:ident, $acts:ident| $start:expr;
        |$of_facts:ident| $fact:expr;
        |$law:ident| $read:expr
    ) => {
        impl<L> OutsideLaw<$role> for TypedLaw<L, L::Params>
        where
            L: $trait + fmt::Debug + Send + Sync + 'static,
            L::Params: ParamTable + Send + Sync + 'static,
        {
            fn info(&self) -> &LawInfo {
                &self.info
            }

            fn facts(&self) -> $facts {
                let $of_facts = &self.params;
                $fact
            }

            fn set(&mut self, name: &str, text: &str) -> Option<bool> {
                ParamTable::set(&mut self.params, name, text)
            }

            fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                ParamTable::write(&self.params, name, f)
            }

            fn start(
                &self,
                $now: Time,
                $at: $start_of,
                $acts: &mut Acts<$act>,
            ) -> Box<dyn OutsideState<$role>> {
                let $params = &self.params;
                let state: L = $start;
                Box::new(State(state))
            }
        }

        impl<L> OutsideState<$role> for State<L>
        where
            L: $trait + fmt::Debug + Send + Sync + 'static,
        {
            fn step(&mut self, now: Time, seen: $seen, acts: &mut Acts<$act>) {
                self.0.step(now, seen, acts);
            }

            fn glance(&self) -> $glance {
                let $law = &self.0;
                $read
            }
        }
    };
}

typed! {
    FlowLaw, Flow, Start, FlowAct, FlowSeen<'_>, FlowFacts, ();
    |params, _now, at, acts| L::start(params, at, acts);
    |params| FlowFacts {
        // Needs depend on parameters alone, so any flow shows them.
        needs: L::start(params, any_start(), &mut Acts::default()).needs(),
        floor_milli_mss: L::FLOOR_MILLI_MSS,
    };
    |_law| ()
}

typed! {
    HostLaw, Host, HostStart, HostAct, HostSeen, HostFacts, HostGlance;
    |params, now, at, acts| L::start(params, now, at, acts);
    |params| HostFacts { needs: L::needs(params) };
    |law| HostGlance { side: law.side(), watched: law.watched() }
}

typed! {
    GroupLaw, Group, GroupStart, GroupAct, GroupSeen<'_>, (), ();
    |params, now, at, acts| L::start(params, now, at, acts);
    |_params| ();
    |_law| ()
}

typed! {
    GrantLaw, Grant, GrantStart, GrantAct, GrantSeen<'_>, GrantFacts, GrantGlance;
    |params, now, at, acts| L::start(params, now, at, acts);
    |params| GrantFacts::of::<L>(params);
    |law| GrantGlance { waits_until: law.waits_until(), serves_oldest: law.serves_oldest() }
}

typed! {
    CreditLaw, Credit, CreditStart, CreditAct, CreditSeen<'_>, CreditFacts, ();
    |params, now, at, acts| L::start(params, now, at, acts);
    |params| CreditFacts::of::<L>(params);
    |_law| ()
}

typed! {
    PoolLaw, Pool, PoolStart, PoolAct, PoolSeen<'_>, (), ();
    |params, now, at, acts| L::start(params, now, at, acts);
    |_params| ();
    |_law| ()
}
