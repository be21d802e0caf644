//! Traffic of kind `long`: flows without an end.

use super::{Error, Kind, Layout, Surroundings};
use crate::judge::Judge;
use crate::names::{OneOrMore, one_or_more};
use forebay_units::{Bytes, Span, human};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Flows without an end.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct LongFlows {
    /// Sending hosts: names, or patterns with `*` as an index.
    #[serde(deserialize_with = "one_or_more")]
    #[schemars(with = "OneOrMore")]
    pub from: Vec<String>,
    /// Receiving hosts: as many names, or one for all.
    #[serde(deserialize_with = "one_or_more")]
    #[schemars(with = "OneOrMore")]
    pub to: Vec<String>,
    /// Time between the starts of one flow and the next. Default: 0s.
    #[serde(default)]
    pub stagger: Span,
}

impl Kind for LongFlows {
    fn check(&mut self, judge: &mut Judge<'_>, path: &str, around: &Surroundings<'_>) {
        let at = |key: &str| format!("{path}.{key}");
        judge.short(&at("stagger"), self.stagger);
        judge.hosts(&at("from"), &mut self.from, around);
        judge.hosts(&at("to"), &mut self.to, around);
        check_pairs(judge, &at("to"), &self.from, &mut self.to);
    }

    fn title(&self) -> String {
        human::counted(self.from.len(), "endless flow")
    }

    fn forecast(&self, _layout: &Layout<'_>) -> u128 {
        self.from.len() as u128
    }

    fn mean_size(&self) -> Option<f64> {
        None
    }

    fn lay_out(&self, layout: &mut Layout<'_>) -> Result<(), Error> {
        for (i, (src, dst)) in self.from.iter().zip(&self.to).enumerate() {
            let (src, dst) = (layout.host(src)?, layout.host(dst)?);
            let start = layout.start.saturating_add(self.stagger.saturating_mul(i as u64));
            layout.push_jittered(src, dst, Bytes::MAX, start);
        }
        layout.note_missing(self.from.len());
        Ok(())
    }
}

/// Each of `from` to its partner in `to`; one alone is the partner of all.
fn check_pairs(judge: &mut Judge<'_>, path: &str, from: &[String], to: &mut Vec<String>) {
    if let [one] = &to[..] {
        *to = vec![one.clone(); from.len()];
    }
    if from.len() != to.len() {
        let (there, here) = (to.len(), from.len());
        let text =
            format!("names {there} hosts for the {here} of from; write as many, or one for all");
        judge.wrong(path, text);
    }
    for (i, (a, b)) in from.iter().zip(to).enumerate() {
        if a == b {
            judge.say(path, format!("flow {i} goes from {a:?} to itself; write another host"));
        }
    }
}
