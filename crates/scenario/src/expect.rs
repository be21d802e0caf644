//! `[[expect]]`: bands that results must lie in, and the flows that a band is about.

use crate::judge::Judge;
use forebay_units::{Bytes, ParseError, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A band that a result must lie in.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Expect {
    /// Name of a number in `forebay list metrics`: `flows.slowdown.p99`.
    pub metric: String,
    /// Flows that the metric is taken of, as comparisons of size, start, traffic, src or dst joined by `and`: `size < 100KB`. Of a metric
    /// of collectives likewise, without src and dst: `traffic == 1`. Default: all.
    #[serde(rename = "where", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub rows: Option<Rows>,
    /// Least value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Greatest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// `file:line:column` of the metric.
    #[serde(skip)]
    pub place: String,
}

/// Conditions that all hold for the flows that count.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(from = "String", into = "String")]
pub struct Rows {
    text: String,
    conditions: Result<Vec<Condition>, String>, // an error is said by the check
}

impl Rows {
    /// The conditions as they were written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The conditions of a scenario that has been checked.
    pub fn conditions(&self) -> &[Condition] {
        self.conditions.as_deref().unwrap_or_default()
    }
}

impl From<String> for Rows {
    fn from(text: String) -> Self {
        Self { conditions: conditions(&text), text }
    }
}

impl From<Rows> for String {
    fn from(rows: Rows) -> Self {
        rows.text
    }
}

/// One comparison of a `where`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// How a flow's value compares with `value`.
    pub operator: Operator,
    /// What a flow is compared with.
    pub value: Operand,
}

/// Comparison of a flow's value with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
    /// `==` or `=`
    Equal,
    /// `!=`
    Unequal,
}

/// Column of the flows, and the value that it is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// Payload.
    Size(Bytes),
    /// Arrival.
    Start(Time),
    /// Index of the `[[traffic]]` entry.
    Traffic(u64),
    /// Name of the sending host, or a pattern with `*` as an index.
    Source(String),
    /// Name of the receiving host, likewise.
    Destination(String),
}

impl Operator {
    /// Whether the comparison holds for a value that stands in this order to the operand.
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::AtLeast => order.is_ge(),
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
        }
    }
}

impl Expect {
    /// Notes where the entry stands, and says what is wrong with the entry at `path`.
    pub(crate) fn check(&mut self, judge: &mut Judge<'_>, path: &str) {
        self.place = judge.place(&format!("{path}.metric"));
        match (self.min, self.max) {
            (None, None) => judge.say(path, "sets no band; write min, max or both"),
            (Some(min), Some(max)) if min > max => {
                judge.say(path, format!("min {min} is above max {max}"));
            }
            _ => {}
        }
        if let Some(Err(why)) = self.rows.as_ref().map(|rows| &rows.conditions) {
            judge.say(&format!("{path}.where"), why);
        }
    }
}

/// Conditions joined by `and` or `&&`. The error is a sentence.
fn conditions(text: &str) -> Result<Vec<Condition>, String> {
    let parts = text.split(" and ").flat_map(|part| part.split("&&"));
    parts.map(condition).collect()
}

fn condition(text: &str) -> Result<Condition, String> {
    let bad = |why: &str| {
        format!(
            "\"{}\" {why}; write for instance \"size < 100KB\" or \"traffic == 0 and start >= 1ms\"",
            text.trim()
        )
    };
    const OPERATORS: [(&str, Operator); 7] = [
        ("<=", Operator::AtMost),
        (">=", Operator::AtLeast),
        ("==", Operator::Equal),
        ("!=", Operator::Unequal),
        ("<", Operator::Less),
        (">", Operator::Greater),
        ("=", Operator::Equal),
    ];
    let (sign, operator) = OPERATORS
        .into_iter()
        .filter_map(|(sign, operator)| Some((text.find(sign)?, sign, operator)))
        .min_by_key(|(at, sign, _)| (*at, usize::MAX - sign.len()))
        .map(|(_, sign, operator)| (sign, operator))
        .ok_or_else(|| bad("has no comparison"))?;
    let (field, value) = text.split_once(sign).unwrap_or_default();
    let value = value.trim().trim_matches(['"', '\'']);
    let quantity =
        |why: ParseError| format!("\"{}\" is not understood: {value:?} {why}", text.trim());
    let equality = matches!(operator, Operator::Equal | Operator::Unequal);
    let value = match field.trim() {
        "size" => Operand::Size(value.parse().map_err(quantity)?),
        "start" => Operand::Start(value.parse().map_err(quantity)?),
        "traffic" => Operand::Traffic(
            value.parse().map_err(|_| bad("needs the index of a [[traffic]] entry"))?,
        ),
        "src" if equality => Operand::Source(value.into()),
        "dst" if equality => Operand::Destination(value.into()),
        "src" | "dst" => return Err(bad("compares names, which takes == or !=")),
        other => {
            return Err(bad(&format!(
                "begins with \"{other}\", not size, start, traffic, src or dst"
            )));
        }
    };
    Ok(Condition { operator, value })
}
