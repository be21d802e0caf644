//! Lengths of queues and windows, and fractions, as they stand in files.

use forebay_units::text::{Measure, schema_of};
use forebay_units::{Bytes, ParseError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt::{self, Display};
use std::str::FromStr;

/// A length of queue or window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLength {
    /// In bytes.
    Bytes(Bytes),
    /// In packets.
    Packets(u32),
}

impl QueueLength {
    /// What a right value looks like.
    pub const EXAMPLE: &str = "300KB";

    /// Bytes of payload, where packets carry `mss` each.
    #[inline]
    pub fn payload(self, mss: Bytes) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Packets(n) => Bytes::new(mss.get().saturating_mul(u64::from(n))),
        }
    }
}

/// A part of a whole, in whole numbers: `84/1622`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction {
    /// Numerator.
    pub of: u32,
    /// Denominator, above zero.
    pub whole: u32,
}

/// Reads `300KB` or `250 packets`. An error is the end of a sentence about the text.
impl FromStr for QueueLength {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let count = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet"));
        match count {
            Some(n) => n.trim().parse().map(Self::Packets).map_err(|_| {
                "is not a whole number of packets; write for instance \"250 packets\"".into()
            }),
            None => text.parse().map(Self::Bytes).map_err(|e| match e {
                ParseError::WrongUnit { expected, meant: None } => {
                    format!("has a unit that does not fit here; use one of packets, {expected}")
                }
                e => e.to_string(),
            }),
        }
    }
}

/// Reads `84/1622`. An error is the end of a sentence about the text.
impl FromStr for Fraction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').map(|(of, whole)| (of.trim().parse(), whole.trim().parse()));
        match numbers {
            Some((Ok(of), Ok(whole))) if whole > 0 => Ok(Self { of, whole }),
            _ => {
                Err("is not a fraction of two whole numbers; write for instance \"84/1622\"".into())
            }
        }
    }
}

impl Fraction {
    /// All of it.
    pub const WHOLE: Self = Self { of: 1, whole: 1 };
    /// What a right value looks like.
    pub const EXAMPLE: &str = "84/1622";
}

impl JsonSchema for Fraction {
    fn schema_name() -> Cow<'static, str> {
        "fraction".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "x-quantity": "fraction",
            "pattern": "^ *[0-9]+ */ *[0-9]+ *$",
            "examples": [Fraction::EXAMPLE],
        })
    }
}

impl Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.of, self.whole)
    }
}

impl Serialize for Fraction {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|e: String| de::Error::custom(format!("{text:?} {e}")))
    }
}

impl JsonSchema for QueueLength {
    fn schema_name() -> Cow<'static, str> {
        "length".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema_of("length", &format!("packets?|{}", Bytes::UNITS), Self::EXAMPLE)
    }
}

impl Display for QueueLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => f.write_str(&bytes.text()),
            Self::Packets(1) => f.write_str("1 packet"),
            Self::Packets(n) => write!(f, "{n} packets"),
        }
    }
}

impl Serialize for QueueLength {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for QueueLength {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|e: String| de::Error::custom(format!("{text:?} {e}")))
    }
}
