//! Operations, algorithms, and the limits of both.

use forebay_units::Bytes;

/// The most ranks of a collective.
pub const MOST_RANKS: u32 = 1 << 20;
/// The most channels of a collective.
pub const MOST_CHANNELS: u32 = 1 << 10;
/// The most bytes of a collective's whole.
pub const MOST_BYTES: Bytes = Bytes::new(1 << 60);

/// A fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// Above the line.
    pub over: u64,
    /// Below the line, 1 or more.
    pub under: u64,
}

/// Operation of all ranks together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "text", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "text", serde(rename_all = "kebab-case"))]
pub enum Operation {
    /// Every rank gets the sum of all arrays.
    #[default]
    AllReduce,
    /// Rank `r` gets part `r` of the sum of all arrays.
    ReduceScatter,
    /// Rank `r` has part `r`. Every rank gets all parts.
    AllGather,
    /// Every rank gets the array of the root.
    Broadcast,
    /// Rank `r` gets part `r` of each rank's array.
    AllToAll,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::AllReduce, Self::ReduceScatter, Self::AllGather, Self::Broadcast, Self::AllToAll];

    /// The operation of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// busbw over algbw, of so many ranks: 2 (n - 1)/n of an all-reduce, 1 of a broadcast, (n - 1)/n of all else.
    pub fn bus_factor(self, ranks: u32) -> Ratio {
        let n = u64::from(ranks.max(1));
        match self {
            Self::AllReduce => Ratio { over: 2 * (n - 1), under: n },
            Self::Broadcast => Ratio { over: 1, under: 1 },
            _ => Ratio { over: n - 1, under: n },
        }
    }

    /// Name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllGather => "all-gather",
            Self::Broadcast => "broadcast",
            Self::AllToAll => "all-to-all",
        }
    }
}

/// Order in which data travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "text", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "text", serde(rename_all = "kebab-case"))]
pub enum Algorithm {
    /// Each rank sends to the next one. A broadcast is a chain from the root. An all-to-all goes in rounds: round `d` sends to the rank `d`
    /// places on, and a rank begins a round when its sending and receiving of the round before are over.
    #[default]
    Ring,
    /// Each rank sends to all others at once.
    Direct,
    /// Ranks exchange halves, quarters and so on, then the other way round. All-reduce takes any number of ranks: those above the greatest power
    /// of two hand their data to a partner, and get the result from it.
    HalvingDoubling,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ring, Self::Direct, Self::HalvingDoubling];

    /// The algorithm of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Direct => "direct",
            Self::HalvingDoubling => "halving-doubling",
        }
    }
}

/// Meaning of a collective's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "text", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "text", serde(rename_all = "kebab-case"))]
pub enum Meaning {
    /// As nccl-tests counts: the array of one rank, or what an all-gather makes.
    #[default]
    Whole,
    /// The part of one rank: a whole has as many as there are ranks.
    Part,
}
