//! Measured values by row.

use std::collections::BTreeMap;

/// Samples that have to lie beyond a percentile: with fewer its interval is as wide as itself.
const LEAST_BEYOND: usize = 10;

/// What an experiment found, by the id of its row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MeasuredRows(BTreeMap<String, RowValue>);

/// What an experiment found for one row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowValue {
    pub value: Value,
    /// What has to be said of it: how many samples, how sure.
    pub remark: String,
}

/// A measured number, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Number(f64),
    /// The two sides of a comparison are equal because nothing happened on either; what did not.
    Empty(String),
    /// No samples, or too few; how many.
    TooFew(String),
}

impl RowValue {
    /// A number of which nothing has to be said.
    pub fn number(value: f64) -> Self {
        Self { value: Value::Number(value), remark: String::new() }
    }
}

impl MeasuredRows {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Enters a value.
    ///
    /// # Panics
    /// If the row has one already.
    pub fn insert(&mut self, id: impl Into<String>, value: f64) {
        self.enter(id.into(), RowValue::number(value));
    }

    /// Enters a value, and what has to be said of it: how many samples, how sure.
    ///
    /// # Panics
    /// As [`MeasuredRows::insert`].
    pub fn insert_saying(&mut self, id: impl Into<String>, value: f64, remark: String) {
        self.enter(id.into(), RowValue { value: Value::Number(value), remark });
    }

    /// Enters a comparison of two runs, which says nothing unless there was some of `what` in one of them.
    ///
    /// # Panics
    /// As [`MeasuredRows::insert`].
    pub fn insert_of(
        &mut self,
        id: impl Into<String>,
        value: f64,
        (what, happened): (&str, [f64; 2]),
        remark: String,
    ) {
        let value = match happened {
            [0.0, 0.0] => Value::Empty(format!("no {what} on either side")),
            _ => Value::Number(value),
        };
        self.enter(id.into(), RowValue { value, remark });
    }

    /// Enters a value that rests on percentiles, with the least number of samples that lie beyond any of them.
    ///
    /// # Panics
    /// As [`MeasuredRows::insert`].
    pub fn insert_tail(
        &mut self,
        id: impl Into<String>,
        value: f64,
        beyond: usize,
        remark: String,
    ) {
        let value = if beyond < LEAST_BEYOND {
            let text = format!(
                "{beyond} samples lie beyond the percentile, fewer than {LEAST_BEYOND}, and say {value:.4}"
            );
            Value::TooFew(text)
        } else {
            Value::Number(value)
        };
        self.enter(id.into(), RowValue { value, remark });
    }

    /// Enters why there is no value.
    ///
    /// # Panics
    /// As [`MeasuredRows::insert`].
    pub fn insert_none(&mut self, id: impl Into<String>, value: Value, remark: String) {
        self.enter(id.into(), RowValue { value, remark });
    }

    fn enter(&mut self, id: String, found: RowValue) {
        assert!(!self.0.contains_key(&id), "{id} was measured twice");
        self.0.insert(id, found);
    }

    /// What was found for a row.
    pub fn get(&self, id: &str) -> Option<&RowValue> {
        self.0.get(id)
    }

    /// The number that was found for a row, if it was one.
    pub fn number(&self, id: &str) -> Option<f64> {
        match self.get(id)?.value {
            Value::Number(value) => Some(value),
            _ => None,
        }
    }

    /// Numbers whose ids begin so, in the order of their ids.
    pub fn numbers_of<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
        let of = self.0.keys().filter(move |id| id.starts_with(prefix));
        of.filter_map(|id| Some((id.as_str(), self.number(id)?)))
    }

    /// Enters all values of another.
    pub fn extend(&mut self, other: Self) {
        other.0.into_iter().for_each(|(id, found)| self.enter(id, found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Row, Verdict};

    fn judged(enter: impl FnOnce(&mut MeasuredRows)) -> Row {
        let mut row = crate::rows("analytic").remove(0);
        (row.id, row.published, row.note) = ("it".into(), 1.0, String::new());
        row.tolerance = "<=".to_string().try_into().expect("it is one");
        let mut all = MeasuredRows::new();
        enter(&mut all);
        row.judge(all.get("it"));
        row
    }

    #[test]
    fn a_comparison_in_which_nothing_happened_is_no_agreement() {
        let equal = |drops| judged(|all| all.insert_of("it", 1.0, ("drops", drops), "".into()));
        assert_eq!(equal([0.0, 3.0]).verdict, Verdict::In);
        let empty = equal([0.0, 0.0]);
        assert_eq!((empty.verdict, empty.measured), (Verdict::Empty, None));
        assert_eq!(empty.note, "measured: no drops on either side");
    }

    #[test]
    fn a_percentile_needs_ten_samples_beyond_it() {
        let tail = |beyond| judged(|all| all.insert_tail("it", 0.5, beyond, "of 9 RPCs".into()));
        assert_eq!((tail(10).verdict, tail(10).measured), (Verdict::In, Some(0.5)));
        let few = tail(9);
        assert_eq!((few.verdict, few.measured), (Verdict::NotRun, None));
        assert_eq!(
            few.note,
            "measured: of 9 RPCs; 9 samples lie beyond the percentile, fewer than 10, and say 0.5000"
        );
    }
}
