//! Quantities as they stand in files: texts with a unit, in both directions, and their JSON schema.

use crate::{BitsPerSec, Bytes, ParseError, Span, Time};
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::Display;
use core::str::FromStr;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What a quantity measures; the name stands in the schema as `x-quantity`.
pub trait Measure: FromStr<Err = ParseError> + Display {
    /// Name in the schema.
    const NAME: &'static str;
    /// Units, as alternatives of a regular expression.
    const UNITS: &'static str;
    /// What a right value looks like.
    const EXAMPLE: &'static str;

    /// The text that people would write, and that reads back to the same value.
    fn text(&self) -> String {
        self.to_string()
    }
}

impl Measure for Span {
    const NAME: &'static str = "duration";
    const UNITS: &'static str = "ps|ns|us|ms|s";
    const EXAMPLE: &'static str = "10us";

    fn text(&self) -> String {
        zero(self.to_string())
    }
}

impl Measure for Time {
    const NAME: &'static str = "duration";
    const UNITS: &'static str = Span::UNITS;
    const EXAMPLE: &'static str = Span::EXAMPLE;

    fn text(&self) -> String {
        zero(self.to_string())
    }
}

impl Measure for Bytes {
    const NAME: &'static str = "size";
    const UNITS: &'static str = "B|KB|kB|MB|GB|TB|KiB|MiB|GiB|TiB";
    const EXAMPLE: &'static str = "64KB";

    fn text(&self) -> String {
        shorter(*self)
    }
}

impl Measure for BitsPerSec {
    const NAME: &'static str = "rate";
    const UNITS: &'static str = "bps|Kbps|kbps|Mbps|Gbps|Tbps";
    const EXAMPLE: &'static str = "100Gbps";
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

/// The schema of a text that is a number and one of `units`, alternatives of a regular expression.
pub fn schema_of(name: &str, units: &str, example: &str) -> Schema {
    json_schema!({
        "type": "string",
        "x-quantity": name,
        "pattern": format!("^ *[0-9][0-9_]*(\\.[0-9_]+)? *({units}) *$"),
        "examples": [example],
    })
}

macro_rules! in_files {
    ($($quantity:ty),*) => {$(
        impl Serialize for $quantity {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(&self.text())
            }
        }

        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = String::deserialize(from)?;
                text.parse().map_err(|e| de::Error::custom(format!("{text:?} {e}")))
            }
        }

        impl JsonSchema for $quantity {
            fn schema_name() -> Cow<'static, str> {
                Self::NAME.into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                schema_of(Self::NAME, Self::UNITS, Self::EXAMPLE)
            }
        }
    )*};
}

in_files!(Span, Time, Bytes, BitsPerSec);
