//! Where pictures get their numbers: by formulas over the experiments of a suite.

use std::cell::RefCell;
use std::collections::BTreeMap;

/// What formulas came to. One of which nothing is known is an empty list.
#[derive(Default)]
pub(crate) struct Drawing {
    found: BTreeMap<String, Vec<f64>>,
    asked: RefCell<Vec<String>>,
}

impl Drawing {
    /// The formulas that pictures ask for, found by drawing them of nothing.
    pub fn formulas(draw: impl FnOnce(&Self)) -> Vec<String> {
        let nothing = Self::default();
        draw(&nothing);
        let mut asked = nothing.asked.into_inner();
        asked.sort();
        asked.dedup();
        asked
    }

    /// With these lists, by their formulas.
    pub fn of(found: BTreeMap<String, Vec<f64>>) -> Self {
        Self { found, asked: RefCell::default() }
    }

    /// The values of a list.
    pub fn list(&self, formula: String) -> &[f64] {
        let found = self.found.get(&formula).map_or(&[][..], Vec::as_slice);
        self.asked.borrow_mut().push(formula);
        found
    }

    /// A number; none at all where nothing is known.
    pub fn number(&self, formula: String) -> f64 {
        self.list(formula).first().copied().unwrap_or(f64::NAN)
    }
}
