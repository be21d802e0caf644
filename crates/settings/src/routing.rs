//! `fabric.routing`: path choice, and what its hashes depend on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Path choice among equal-cost next hops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// Hash of flow and direction. Seeds differ from switch to switch, unless hash_seed says otherwise.
    #[default]
    Ecmp,
    /// Hash of the flow alone, so that both directions share links. Seeds differ from tier to tier, or all switches share one (hash_seed).
    EcmpSymmetric,
    /// A fresh uniform choice for each packet.
    Spray,
    /// The path whose number the sender gave the packet: all paths in an order that is drawn again for each round. Answers have no
    /// number, and are sprayed.
    Source,
    /// The port with the shortest queue, in bytes, for each packet; of several, one at random. A port whose link is down is chosen only if all are down.
    Adaptive,
    /// murmur3-32 of addresses and ports with the number of the switch as its seed, as the public HPCC simulator does.
    EcmpMurmur3,
}

impl Routing {
    /// The word of a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ecmp => "ecmp",
            Self::EcmpSymmetric => "ecmp-symmetric",
            Self::Spray => "spray",
            Self::Source => "source",
            Self::Adaptive => "adaptive",
            Self::EcmpMurmur3 => "ecmp-murmur3",
        }
    }

    /// Whether packets choose their paths one by one, so that they overtake others of their flow.
    pub fn is_per_packet(self) -> bool {
        matches!(self, Self::Spray | Self::Source | Self::Adaptive)
    }
}

/// Which switches hash with the same seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HashSeed {
    /// All switches. A flow makes the same choice at every switch. So a switch of the second tier uses one uplink only if it has as many
    /// uplinks as the switches below it (hash polarization).
    Same,
    /// All switches of a tier. A tier is, for "ecmp", the distance to the nearest switch with hosts; for "ecmp-symmetric", the distance to
    /// the switch of the destination.
    PerTier,
    /// Each switch has its own seed. Not for "ecmp-symmetric", whose directions meet different switches.
    PerSwitch,
}

/// Order of equal-cost next hops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NextHops {
    /// The search from the destination visits adjacent nodes from the lowest number up.
    #[default]
    Ascending,
    /// The search visits them from the highest number down.
    Descending,
}
