//! `[fabric]`: keys that all ports of a fabric obey alike.

use crate::SettingsTable;
use forebay_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Wires, as all ports of a fabric use them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct WireSettings {
    /// Fate of packets that wait at a port whose link is down. Default: "drop".
    pub dead_port: DeadPort,
    /// Bytes that each packet adds on the wire, at most 1000B: 24B for Ethernet preamble, gap and FCS. From 20B on, 12 B of them are
    /// the gap after a frame. The next frame waits for the gap; the frame itself is complete before it. On a cable whose delay is
    /// shorter than two gaps, the frame also waits for the rest of its gap beyond half of the delay.
    /// Default: 0B, as most packet-level simulators count.
    #[serde(rename = "wire_overhead")]
    pub overhead: Bytes,
    /// Resolution of transmission times. Default: "exact".
    pub clock: Clock,
}

impl WireSettings {
    /// Says what is wrong with the keys.
    pub fn check(&self, table: &mut impl SettingsTable) {
        if self.overhead.get() > 1_000 {
            table.wrong("wire_overhead", "per packet is too much; Ethernet adds \"24B\"");
        }
    }

    /// Bytes of the overhead that are the gap after a frame: 12 B of Ethernet, where it is enough for the 8 B before a frame too.
    pub fn gap(&self) -> Bytes {
        Bytes::new(if self.overhead.get() >= 20 { 12 } else { 0 })
    }
}

/// Fate of packets at a port whose link is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeadPort {
    /// The port drops its queue, and packets that arrive while the link is down.
    #[default]
    Drop,
    /// The port holds its queue until the link returns.
    Hold,
}

/// Resolution of transmission times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// Picoseconds; a remainder is carried from packet to packet.
    #[default]
    Exact,
    /// Each transmission takes whole nanoseconds, rounded down, as in ns-3: for comparisons. Takes every port off the one-touch
    /// path.
    TruncateNs,
}
