//! Names of nodes in files: one text or a list.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

/// One name or several.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum OneOrMore {
    /// One.
    One(String),
    /// Several.
    More(Vec<String>),
}

impl OneOrMore {
    /// All names.
    pub(crate) fn names(self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name],
            Self::More(names) => names,
        }
    }
}

/// Reads one name or a list of them; written, they are a list always.
pub(crate) fn one_or_more<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    OneOrMore::deserialize(from).map(OneOrMore::names)
}
