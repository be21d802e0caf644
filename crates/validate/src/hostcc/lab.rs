//! Runs shared by figures: a figure is evaluated twice, first for the runs it needs, then for its rows.

use super::outcome::{Outcome, run};
use super::setup::Setup;
use crate::jobs::Cores;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// Where figures get their runs.
pub(super) struct Lab {
    runs: BTreeMap<Setup, Outcome>,
    wanted: RefCell<BTreeSet<Setup>>,
    nothing: Outcome,
    pub quick: bool,
}

impl Lab {
    /// Runs what `figures` need, each setup once, on all cores.
    pub fn new(cores: &Cores<'_>, quick: bool, figures: &dyn Fn(&Self)) -> Self {
        let mut lab = Self {
            runs: BTreeMap::new(),
            wanted: RefCell::default(),
            nothing: Outcome::default(),
            quick,
        };
        figures(&lab);
        let mut setups: Vec<Setup> = lab.wanted.take().into_iter().collect();
        setups.sort_by_key(|setup| std::cmp::Reverse((setup.measured_ms, setup.traced)));
        let runs = Mutex::new(BTreeMap::new());
        let calls = setups.into_iter().map(|setup| {
            let runs = &runs;
            move || {
                let outcome = run(&setup);
                runs.lock().expect("entering a run does not panic").insert(setup, outcome);
            }
        });
        cores.call(calls.collect());
        lab.runs = runs.into_inner().expect("every worker has ended");
        lab
    }

    /// What a setup gives; nothing at all the first time, when it is only noted.
    pub fn see(&self, setup: &Setup) -> &Outcome {
        match self.runs.get(setup) {
            Some(outcome) => outcome,
            None => {
                self.wanted.borrow_mut().insert(setup.clone());
                &self.nothing
            }
        }
    }

    /// 4 long flows beside `cores` of MApp, DCTCP alone.
    pub fn base(&self, ddio: bool, cores: u32) -> &Outcome {
        self.see(&self.setup(ddio, cores))
    }

    /// 4 long flows beside `cores` of MApp, DCTCP with hostCC.
    pub fn hostcc(&self, ddio: bool, cores: u32) -> &Outcome {
        self.see(&self.setup(ddio, cores).with_hostcc())
    }

    /// Setup of [`Lab::base`].
    pub fn setup(&self, ddio: bool, cores: u32) -> Setup {
        Setup::new(ddio, cores, self.quick)
    }
}
