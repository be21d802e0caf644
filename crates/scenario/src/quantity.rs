//! Lengths of queues and windows in files, and sentences about quantities of every kind.

pub(crate) use forebay_units::text::Measure;
use forebay_units::text::schema_of;
use forebay_units::{BitsPerSec, Bytes, ParseError, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt::{self, Display};

/// A length of queue or window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLength {
    /// In bytes.
    Bytes(Bytes),
    /// In packets.
    Packets(u32),
}

impl QueueLength {
    /// Bytes of payload, where packets carry `mss` each.
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

/// Why `text` is not a quantity of this name; `None` if it is one.
pub(crate) fn why_not(name: &str, text: &str) -> Option<String> {
    // At most what the checker allows, which is far less than 64 bits hold.
    let said = |most, e| match e {
        ParseError::TooLarge { .. } => ParseError::TooLarge { most }.to_string(),
        e => e.to_string(),
    };
    match name {
        "duration" => text.parse::<Span>().err().map(|e| said("86400s", e)),
        "size" => text.parse::<Bytes>().err().map(|e| said("1000TB", e)),
        "rate" => text.parse::<BitsPerSec>().err().map(|e| said("1000Tbps", e)),
        "length" => parse_length(text).err(),
        "fraction" => parse_fraction(text).err(),
        _ => unreachable!("the schema names five quantities"),
    }
}

/// What a right value of this name looks like.
pub(crate) fn example(name: &str) -> &'static str {
    match name {
        "duration" => Span::EXAMPLE,
        "size" => Bytes::EXAMPLE,
        "rate" => BitsPerSec::EXAMPLE,
        "fraction" => "84/1622",
        _ => "300KB",
    }
}

/// `300KB` or `250 packets`.
fn parse_length(text: &str) -> Result<QueueLength, String> {
    let text = text.trim();
    let count = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet"));
    match count {
        Some(n) => n.trim().parse().map(QueueLength::Packets).map_err(|_| {
            "is not a whole number of packets; write for instance \"250 packets\"".into()
        }),
        None => text.parse().map(QueueLength::Bytes).map_err(|e| match e {
            ParseError::WrongUnit { expected, meant: None } => {
                format!("has a unit that does not fit here; use one of packets, {expected}")
            }
            e => e.to_string(),
        }),
    }
}

/// `84/1622`.
fn parse_fraction(text: &str) -> Result<Fraction, String> {
    let numbers = text.split_once('/').map(|(of, whole)| (of.trim().parse(), whole.trim().parse()));
    match numbers {
        Some((Ok(of), Ok(whole))) if whole > 0 => Ok(Fraction { of, whole }),
        _ => Err("is not a fraction of two whole numbers; write for instance \"84/1622\"".into()),
    }
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
            "examples": [example("fraction")],
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
        parse_fraction(&text).map_err(|e| de::Error::custom(format!("{text:?} {e}")))
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
        schema_of("length", &format!("packets?|{}", Bytes::UNITS), example("length"))
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
        parse_length(&text).map_err(|e| de::Error::custom(format!("{text:?} {e}")))
    }
}
