//! Settings as keys of files, where the two differ: units that people write, and keys that mean something only together.

use super::DdioSettings;
use forebay_units::{BitsPerSec, Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A fraction in files, thousandths here.
pub(super) mod thousandths {
    use super::*;

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
        f64::deserialize(from).map(|value| (value * 1e3).round() as u32)
    }

    pub fn serialize<S: Serializer>(value: &u32, to: S) -> Result<S::Ok, S::Error> {
        (f64::from(*value) / 1e3).serialize(to)
    }
}

/// A size in files, bytes here; what no packet has is cut.
pub(super) mod size {
    use super::*;

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
        Bytes::deserialize(from).map(|size| size.get().min(1 << 20) as u32)
    }

    pub fn serialize<S: Serializer>(value: &u32, to: S) -> Result<S::Ok, S::Error> {
        Bytes::new((*value).into()).serialize(to)
    }
}

/// A rate in files, bytes per second here.
pub(super) mod bytes_per_sec {
    use super::*;

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        BitsPerSec::deserialize(from).map(|rate| rate.get() / 8)
    }

    pub fn serialize<S: Serializer>(value: &u64, to: S) -> Result<S::Ok, S::Error> {
        BitsPerSec::new(value.saturating_mul(8)).serialize(to)
    }
}

/// Whether the NIC writes into the cache, and the settings that it then has.
#[derive(Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub(super) struct DdioKeys {
    /// Whether the NIC writes into the last-level cache (DDIO). Default: false.
    ddio: bool,
    #[serde(flatten)]
    settings: DdioSettings,
}

pub(super) mod ddio {
    use super::*;

    #[derive(Serialize)]
    struct WithoutField {
        ddio: bool,
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<DdioSettings>, D::Error> {
        DdioKeys::deserialize(from).map(|keys| keys.ddio.then_some(keys.settings))
    }

    pub fn serialize<S: Serializer>(ddio: &Option<DdioSettings>, to: S) -> Result<S::Ok, S::Error> {
        match *ddio {
            Some(settings) => DdioKeys { ddio: true, settings }.serialize(to),
            None => WithoutField { ddio: false }.serialize(to),
        }
    }
}

/// Work and rest of an antagonist.
#[derive(Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub(super) struct RestKeys {
    /// Time for which the cores work before they rest, 100ns or more. Needs off. Default: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    on: Option<Span>,
    /// Time for which the cores rest before they work again, 100ns or more. Needs on. Default: no rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    off: Option<Span>,
}

pub(super) mod rests {
    use super::*;

    pub fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<(Span, Span)>, D::Error> {
        RestKeys::deserialize(from).map(|keys| keys.on.zip(keys.off))
    }

    pub fn serialize<S: Serializer>(
        rests: &Option<(Span, Span)>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let (on, off) = rests.unzip();
        RestKeys { on, off }.serialize(to)
    }
}
