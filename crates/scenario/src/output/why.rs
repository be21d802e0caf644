//! `[output] why`: flows whose completion times are explained part by part.

use crate::judge::Judge;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Flows whose completion times are explained, part by part, in `why.csv` and the report. Each seed then runs twice: the second time only these
/// flows are followed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct WhyOutput {
    /// Flows to explain, of the completed ones that began after the warm-up: `"all"`; `"slowest 1 %"` or `"slowest 20"` of each size class and of RPCs, by
    /// slowdown; or numbers in flows.csv, `[3, 17]`. Default: "slowest 1 %".
    pub flows: WhyFlows,
}

/// Flows to explain.
#[derive(Clone, Debug, PartialEq)]
pub enum WhyFlows {
    /// Every one.
    All,
    /// Of each size class this share, in percent.
    Percent(f64),
    /// Of each size class so many.
    Count(u32),
    /// Flows with these numbers.
    Numbers(Vec<u32>),
    /// A text that names none: no checked scenario has it.
    Unknown(String),
}

impl Default for WhyFlows {
    fn default() -> Self {
        Self::Percent(1.0)
    }
}

impl WhyOutput {
    pub(super) fn check(&self, judge: &mut Judge<'_>) {
        let path = "output.why.flows";
        match &self.flows {
            WhyFlows::Numbers(flows) if flows.is_empty() => {
                let text = "explains nothing; write \"slowest 1 %\", or numbers of flows.csv, [0]";
                judge.say(path, text);
            }
            WhyFlows::Numbers(flows) => {
                let mut taken = BTreeSet::new();
                if let Some(again) = flows.iter().find(|flow| !taken.insert(**flow)) {
                    judge.say(path, format!("names flow {again} twice; write it once"));
                }
            }
            WhyFlows::Unknown(text) => {
                let text = format!(
                    "{text:?} names no flows; write \"all\", \"slowest 1 %\" or \"slowest 20\" of each size class, or numbers of flows.csv, [3, 17]"
                );
                judge.say(path, text);
            }
            WhyFlows::All | WhyFlows::Percent(_) | WhyFlows::Count(_) => {}
        }
    }
}

/// Reads `all`, `slowest 1 %` or `slowest 20`.
fn words(text: &str) -> Option<WhyFlows> {
    if text.trim() == "all" {
        return Some(WhyFlows::All);
    }
    let many = text.trim().strip_prefix("slowest ")?.trim();
    match many.strip_suffix('%') {
        Some(percent) => {
            let percent: f64 = percent.trim().parse().ok()?;
            (percent > 0.0 && percent <= 100.0).then_some(WhyFlows::Percent(percent))
        }
        None => many.parse().ok().filter(|count| *count > 0).map(WhyFlows::Count),
    }
}

/// Text, or numbers.
#[derive(Deserialize)]
#[serde(untagged)]
enum TextOrNumbers {
    Words(String),
    Numbers(Vec<u32>),
}

impl<'de> Deserialize<'de> for WhyFlows {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match TextOrNumbers::deserialize(from)? {
            TextOrNumbers::Numbers(flows) => Ok(Self::Numbers(flows)),
            TextOrNumbers::Words(text) => Ok(words(&text).unwrap_or(Self::Unknown(text))),
        }
    }
}

impl Serialize for WhyFlows {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => to.serialize_str("all"),
            Self::Percent(percent) => to.collect_str(&format_args!("slowest {percent} %")),
            Self::Count(count) => to.collect_str(&format_args!("slowest {count}")),
            Self::Numbers(flows) => flows.serialize(to),
            Self::Unknown(text) => to.serialize_str(text),
        }
    }
}

impl JsonSchema for WhyFlows {
    fn schema_name() -> Cow<'static, str> {
        "WhyFlows".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                {
                    "type": "string",
                    "pattern": "^ *(all|slowest +[0-9.]+ *%?) *$",
                    "examples": ["slowest 1 %"],
                },
                { "type": "array", "items": { "type": "integer", "format": "uint32", "minimum": 0 } },
            ],
        })
    }
}
