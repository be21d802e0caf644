//! Parameters of laws: a table in files, names and texts for laws.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// Default of `enabled`: a law that is named acts.
pub fn yes() -> bool {
    true
}

/// Value of a law's parameter.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Param {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// A quantity or a word.
    Text(String),
}

impl Param {
    /// The text that a law reads; numbers in their shortest exact form.
    fn text(self) -> String {
        match self {
            Self::Flag(b) => b.to_string(),
            Self::Whole(n) => n.to_string(),
            Self::Number(x) => x.to_string(),
            Self::Text(text) => text,
        }
    }

    /// The most natural TOML value that reads back to the same text.
    fn of(text: &str) -> Self {
        if let Ok(n) = text.parse::<i64>()
            && n.to_string() == text
        {
            return Self::Whole(n);
        }
        if let Ok(x) = text.parse::<f64>()
            && x.is_finite()
            && x.to_string() == text
            && text.contains('.')
        {
            return Self::Number(x);
        }
        match text {
            "true" => Self::Flag(true),
            "false" => Self::Flag(false),
            _ => Self::Text(text.into()),
        }
    }
}

/// Reads a table as names and texts, sorted by name.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(String, String)>, D::Error> {
    let table = BTreeMap::<String, Param>::deserialize(from)?;
    Ok(table.into_iter().map(|(key, value)| (key, value.text())).collect())
}

/// Writes names and texts as a table.
pub fn serialize<S: Serializer>(params: &[(String, String)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(params.iter().map(|(key, text)| (key, Param::of(text))))
}
