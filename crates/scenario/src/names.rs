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

/// Reads one name or a list of them; written, they are a list always.
pub(crate) fn one_or_more<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(match OneOrMore::deserialize(from)? {
        OneOrMore::One(name) => vec![name],
        OneOrMore::More(names) => names,
    })
}
