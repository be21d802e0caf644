//! Measured values by row.

use std::collections::BTreeMap;

/// What an experiment found, by the id of the row that asks for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Measured(BTreeMap<String, f64>);

impl Measured {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Enters a value.
    ///
    /// # Panics
    /// If the row has one already.
    pub fn insert(&mut self, id: impl Into<String>, value: f64) {
        let id = id.into();
        assert!(!self.0.contains_key(&id), "{id} was measured twice");
        self.0.insert(id, value);
    }

    /// The value of a row.
    pub fn get(&self, id: &str) -> Option<f64> {
        self.0.get(id).copied()
    }

    /// Enters all values of another.
    pub fn extend(&mut self, other: Self) {
        other.0.into_iter().for_each(|(id, value)| self.insert(id, value));
    }
}
