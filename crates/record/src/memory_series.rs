//! A host's path to memory over time.

use forebay_units::{Span, Time};

/// What one interval came to. Single precision: a second at 1 us is a million of these.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemorySample {
    /// End of the interval.
    pub at: Time,
    /// Mean lines in IIO slots.
    pub occupancy: f32,
    /// What crossed PCIe, Gb/s.
    pub pcie_gbps: f32,
    /// Bytes in the NIC buffer at the end.
    pub buffered: u32,
    /// Packets that the NIC dropped.
    pub dropped: u32,
    /// Payload that applications read, Gb/s.
    pub goodput_gbps: f32,
    /// Memory traffic of the network, GB/s.
    pub network: f32,
    /// Memory traffic of other NICs of the same machine, GB/s; `None` where there are none.
    pub other_nics: Option<f32>,
    /// Data packets marked at the host.
    pub marked: u32,
    /// Throttle level in force at the end.
    pub level: u8,
    /// Lines in IIO slots and Gb/s over PCIe as the control's law saw them last, smoothed; `None` without such a law.
    pub seen: Option<[f32; 2]>,
    /// What the cache of receive buffers held and missed; `None` where buffers are not followed.
    pub cache: Option<CacheSample>,
    /// Credits of the connections that share the host's cache; `None` where no pool holds requests to it.
    pub credits: Option<CreditsSample>,
}

/// Credits of a cache at one instant, of all connections that share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreditsSample {
    /// Lines of requests that are posted and not yet returned.
    pub outstanding: u64,
    /// Most that may be.
    pub limit: u64,
    /// What laws have added to the shares of the cache: limit less shares.
    pub delta: i64,
    /// Requests that wait for credits.
    pub blocked: u64,
    /// Longest that one of those has waited.
    pub longest: Span,
}

impl CreditsSample {
    /// The credits of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            outstanding: self.outstanding.saturating_add(other.outstanding),
            limit: self.limit.saturating_add(other.limit),
            delta: self.delta.saturating_add(other.delta),
            blocked: self.blocked + other.blocked,
            longest: self.longest.max(other.longest),
        }
    }
}

/// A cache of receive buffers in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CacheSample {
    /// Bytes of buffers with unread data, at the end.
    pub unread: u64,
    /// Buffers that cores read.
    pub reads: u32,
    /// Of these, buffers that were not in the cache: evicted by a write of the NIC, evicted by a core, never there.
    pub misses: [u32; 3],
    /// Frames that found no receive buffer and waited in the NIC for one.
    pub waited: u32,
    /// Frames that found no receive buffer and were refused.
    pub refused: u32,
}

impl CacheSample {
    /// Share of the reads that missed for cause `which`.
    pub fn missed(&self, which: usize) -> f32 {
        self.misses[which] as f32 / self.reads.max(1) as f32
    }
}

/// Samples of one host, an interval apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemorySeries {
    /// Name of the host.
    pub host: String,
    /// Length of an interval.
    pub every: Span,
    /// One for each interval.
    pub samples: Vec<MemorySample>,
    /// Antagonists of the host.
    pub antagonists: usize,
    /// Memory traffic of each antagonist, GB/s; those of one interval stand side by side.
    pub by_antagonist: Vec<f32>,
}

impl MemorySeries {
    /// Memory traffic of antagonist `which` in each interval, GB/s.
    pub fn antagonist(&self, which: usize) -> impl Iterator<Item = f32> {
        self.by_antagonist.iter().skip(which).step_by(self.antagonists.max(1)).copied()
    }
}
