//! Measured values by row.

use std::collections::BTreeMap;

/// What an experiment found, by the id of the row that asks for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Measured(BTreeMap<String, (f64, String)>);

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
        self.insert_saying(id, value, String::new());
    }

    /// Enters a value, and what has to be said of it: how many samples, how sure.
    ///
    /// # Panics
    /// As [`Measured::insert`].
    pub fn insert_saying(&mut self, id: impl Into<String>, value: f64, remark: String) {
        let id = id.into();
        assert!(!self.0.contains_key(&id), "{id} was measured twice");
        self.0.insert(id, (value, remark));
    }

    /// The value of a row.
    pub fn get(&self, id: &str) -> Option<f64> {
        self.0.get(id).map(|one| one.0)
    }

    /// What has to be said of it.
    pub fn remark(&self, id: &str) -> &str {
        self.0.get(id).map_or("", |one| &one.1)
    }

    /// Enters all values of another.
    pub fn extend(&mut self, other: Self) {
        other.0.into_iter().for_each(|(id, (value, remark))| self.insert_saying(id, value, remark));
    }
}
