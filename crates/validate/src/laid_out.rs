//! Scenarios of suites that are read and not run, to look at their settings.
//!
//! While this thread looks, an experiment ends where it would begin to simulate: by unwinding, without a word. So of each experiment its first
//! scenario is seen.

use forebay_scenario::model::Scenario;
use forebay_scenario::pitfalls::pitfalls;
use forebay_scenario::plan::Plan;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// Sentences about pairs of settings, by pair, with the number of scenarios that they are about; and how many scenarios there were.
#[derive(Clone, Debug, Default)]
pub(crate) struct PairFindings {
    pub pairs: BTreeMap<&'static str, (String, usize)>,
    pub scenarios: usize,
}

/// What is looked for, shared by the threads of a suite.
pub(crate) type Look = Option<Arc<Mutex<PairFindings>>>;

thread_local! {
    static LOOK: RefCell<Look> = const { RefCell::new(None) };
}

/// An experiment ends here.
struct LaidOut;

/// What this thread looks for.
pub(crate) fn look() -> Look {
    LOOK.with_borrow(Clone::clone)
}

/// Calls what may lay out scenarios. Where `look` says so, none of them is run, and nothing may come of it.
pub(crate) fn with<T>(look: &Look, call: impl FnOnce() -> T) -> Option<T> {
    if look.is_none() {
        return Some(call());
    }
    let before = LOOK.replace(look.clone());
    let ended = catch_unwind(AssertUnwindSafe(call));
    LOOK.set(before);
    match ended {
        Ok(value) => Some(value),
        Err(cause) if cause.is::<LaidOut>() => None,
        Err(cause) => resume_unwind(cause),
    }
}

/// A step of a suite that runs no experiments side by side.
pub(crate) fn step(call: impl FnOnce()) {
    with(&look(), call);
}

/// A scenario that is about to be run.
pub(crate) fn begins(scenario: &Scenario) {
    let Some(look) = look() else { return };
    let found = pitfalls(scenario, &Plan::of(&scenario.fabric));
    let mut looked = look.lock().unwrap_or_else(PoisonError::into_inner);
    looked.scenarios += 1;
    for one in found {
        looked.pairs.entry(one.pair).or_insert((one.text, 0)).1 += 1;
    }
    drop(looked);
    resume_unwind(Box::new(LaidOut));
}

/// Scenarios of a suite, none of them run.
pub(crate) fn scenarios(measure: impl FnOnce()) -> PairFindings {
    let found = Arc::<Mutex<PairFindings>>::default();
    // What is made of no results may panic.
    let _ = catch_unwind(AssertUnwindSafe(|| with(&Some(Arc::clone(&found)), measure)));
    found.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
