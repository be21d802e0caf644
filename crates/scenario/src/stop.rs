//! `[stop]` and `seeds`: when a simulation ends, and how many there are.

use crate::judge::Judge;
use forebay_units::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeSet;

/// When a simulation ends.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Stop {
    /// At this time at the latest; at most 86400s.
    pub time: Time,
    /// Whether a simulation also ends as soon as all flows are done. Default: "all".
    #[serde(default = "yes", deserialize_with = "read_flows", serialize_with = "write_flows")]
    #[schemars(with = "Option<StopFlows>")]
    pub flows: bool,
    /// The early stop is rounded up to a multiple of this, at most stop.time: a property of the scenario, never of the engine. Default:
    /// 1us (our choice: well below any flow's life, well above a packet's).
    #[serde(default = "grain")]
    pub grain: Span,
}

/// Whether finished flows end a run.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum StopFlows {
    /// The run ends as soon as all flows are done.
    All,
    /// Only `time` ends the run.
    Ignore,
}

/// A list of seeds, or how many.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Seeds {
    /// Seeds 1 to this.
    Count(#[schemars(range(min = 1, max = 100_000))] u64),
    /// These seeds.
    List(Vec<u64>),
}

fn yes() -> bool {
    true
}

fn grain() -> Span {
    Span::from_us(1)
}

fn read_flows<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    StopFlows::deserialize(from).map(|word| word == StopFlows::All)
}

fn write_flows<S: Serializer>(all: &bool, to: S) -> Result<S::Ok, S::Error> {
    if *all { StopFlows::All } else { StopFlows::Ignore }.serialize(to)
}

/// The seed of a scenario that names none.
pub(crate) fn first_seed() -> Vec<u64> {
    vec![1]
}

/// Reads a list of seeds, or how many.
pub(crate) fn seeds<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
    Ok(match Seeds::deserialize(from)? {
        Seeds::Count(n) => (1..=n).collect(),
        Seeds::List(seeds) => seeds,
    })
}

/// Says which seeds cannot be.
pub(crate) fn check_seeds(judge: &mut Judge<'_>, seeds: &[u64]) {
    if seeds.is_empty() {
        judge.say("seeds", "is empty; write at least one seed, for instance seeds = [1]");
    }
    let mut seen = BTreeSet::new();
    for (i, seed) in seeds.iter().enumerate() {
        if !seen.insert(seed) {
            let text = "stands twice; equal seeds give equal results, so write each once";
            judge.wrong(&format!("seeds[{i}]"), text);
        }
    }
}

impl Stop {
    /// Says what cannot be.
    pub(crate) fn check(&self, judge: &mut Judge<'_>) {
        judge.span("stop.time", Span::from_ps(self.time.as_ps()));
        judge.span("stop.grain", self.grain);
        if self.time > Time::ZERO && self.grain > self.time.since(Time::ZERO) {
            let text = format!("is longer than stop.time, {}; write a part of it", self.time);
            judge.wrong("stop.grain", text);
        }
    }
}
