//! Quantities as they stand in files: texts with a unit.

use crate::model::QueueLength;
use forebay_units::{BitsPerSec, Bytes, ParseError, Span, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt::{self, Display};
use std::str::FromStr;

/// A quantity of `forebay-units`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Qty<T>(pub T);

/// A length of queue or window, in bytes or packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Length(pub QueueLength);

/// What a quantity measures; its name stands in the schema as `x-quantity`.
pub(crate) trait Measure: FromStr<Err: Display> + Display {
    /// Name in the schema.
    const NAME: &'static str;
    /// Units, as alternatives of a regular expression.
    const UNITS: &'static str;

    /// The text that people would write, and that reads back to the same value.
    fn text(&self) -> String {
        self.to_string()
    }
}

/// Zero as people write it.
fn zero(text: String) -> String {
    if text == "0ps" { "0s".into() } else { text }
}

/// The shorter of the decimal and the binary form: 32MB, not 31250KiB.
fn shorter(bytes: Bytes) -> String {
    let units =
        [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB")];
    let n = bytes.get();
    let decimal = units.iter().find(|(size, _)| n != 0 && n.is_multiple_of(*size));
    let binary = bytes.to_string();
    match decimal.map(|(size, unit)| format!("{}{unit}", n / size)) {
        Some(decimal) if decimal.len() <= binary.len() => decimal,
        _ => binary,
    }
}

impl Measure for Span {
    const NAME: &'static str = "duration";
    const UNITS: &'static str = "ps|ns|us|ms|s";

    fn text(&self) -> String {
        zero(self.to_string())
    }
}
impl Measure for Time {
    const NAME: &'static str = "duration";
    const UNITS: &'static str = "ps|ns|us|ms|s";

    fn text(&self) -> String {
        zero(self.to_string())
    }
}
impl Measure for Bytes {
    const NAME: &'static str = "size";
    const UNITS: &'static str = "B|KB|kB|MB|GB|TB|KiB|MiB|GiB|TiB";

    fn text(&self) -> String {
        shorter(*self)
    }
}
impl Measure for BitsPerSec {
    const NAME: &'static str = "rate";
    const UNITS: &'static str = "bps|Kbps|kbps|Mbps|Gbps|Tbps";
}

/// Why `text` is not a quantity of this name; `None` if it is one.
pub(crate) fn why_not(name: &str, text: &str) -> Option<String> {
    // Far tighter than 64 bits, and what the checker allows at most.
    let because = |e: ParseError| {
        Some(match (e, name) {
            (ParseError::TooLarge { .. }, "duration") => {
                ParseError::TooLarge { most: "86400s" }.to_string()
            }
            (ParseError::TooLarge { .. }, "size") => {
                ParseError::TooLarge { most: "1000TB" }.to_string()
            }
            (ParseError::TooLarge { .. }, "rate") => {
                ParseError::TooLarge { most: "1000Tbps" }.to_string()
            }
            (e, _) => e.to_string(),
        })
    };
    match name {
        "duration" => text.parse::<Span>().err().and_then(because),
        "size" => text.parse::<Bytes>().err().and_then(because),
        "rate" => text.parse::<BitsPerSec>().err().and_then(because),
        "length" => parse_length(text).err(),
        _ => unreachable!("the schema names four quantities"),
    }
}

/// What a right value of this name looks like.
pub(crate) fn example(name: &str) -> &'static str {
    match name {
        "duration" => "10us",
        "size" => "64KB",
        "rate" => "100Gbps",
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
        None => text.parse().map(QueueLength::Bytes).map_err(|e: ParseError| match e {
            ParseError::WrongUnit { expected } => {
                format!("has a unit that does not fit here; use one of packets, {expected}")
            }
            e => e.to_string(),
        }),
    }
}

fn schema_of(name: &str, units: &str) -> Schema {
    json_schema!({
        "type": "string",
        "x-quantity": name,
        "pattern": format!("^ *[0-9][0-9_]*(\\.[0-9_]+)? *({units}) *$"),
        "examples": [example(name)],
    })
}

impl<T: Measure> JsonSchema for Qty<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema_of(T::NAME, T::UNITS)
    }
}

impl<T: Measure> Serialize for Qty<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0.text())
    }
}

impl<'de, T: Measure> Deserialize<'de> for Qty<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map(Qty).map_err(|e| de::Error::custom(format!("{text:?} {e}")))
    }
}

impl JsonSchema for Length {
    fn schema_name() -> Cow<'static, str> {
        "length".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema_of("length", &format!("packets?|{}", Bytes::UNITS))
    }
}

impl Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            QueueLength::Bytes(bytes) => f.write_str(&shorter(bytes)),
            QueueLength::Packets(1) => f.write_str("1 packet"),
            QueueLength::Packets(n) => write!(f, "{n} packets"),
        }
    }
}

impl Serialize for Length {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        parse_length(&text).map(Length).map_err(|e| de::Error::custom(format!("{text:?} {e}")))
    }
}
