//! How data is cut: into parts for ranks, shares for channels, and messages.

use forebay_units::Bytes;

/// The cut of one array.
///
/// Sizes that do not divide: part `k` of `n` has `floor(S/n)` bytes, and one more for `k < S mod n`. Channels cut each part in the same way.
/// A message has the size of a message, but the last of a piece, which has what is left. A piece of no bytes has no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    pub(crate) whole: u64,
    pub(crate) parts: u32,
    pub(crate) channels: u32,
    pub(crate) message: u64,
}

impl Parts {
    /// Number of parts.
    pub const fn count(&self) -> u32 {
        self.parts
    }

    /// All bytes.
    pub const fn whole(&self) -> Bytes {
        Bytes::new(self.whole)
    }

    /// Bytes of a part, over all channels.
    pub const fn part(&self, part: u32) -> Bytes {
        Bytes::new(share(self.whole, self.parts, part))
    }

    /// Bytes of the parts from `part` on, so many, over all channels.
    pub const fn range(&self, part: u32, parts: u32) -> Bytes {
        Bytes::new(
            before(self.whole, self.parts, part + parts) - before(self.whole, self.parts, part),
        )
    }

    /// First byte of a part in the channel's array; for the number of parts, the length of that array.
    pub const fn start(&self, part: u32, channel: u32) -> u64 {
        self.of_channel(channel).start(part)
    }

    /// What a channel has of each part.
    pub(crate) const fn of_channel(&self, channel: u32) -> ChannelParts {
        let small = self.whole / self.parts as u64;
        ChannelParts {
            large_parts: (self.whole % self.parts as u64) as u32, // below the number of parts
            large: share(small + 1, self.channels, channel),
            small: share(small, self.channels, channel),
        }
    }

    /// Messages into which so many bytes of a channel are cut.
    pub const fn messages(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.message)
    }
}

/// The cut of one channel's array, divided once: the first parts are large, the others small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChannelParts {
    large_parts: u32,
    large: u64,
    small: u64,
}

impl ChannelParts {
    /// First byte of a part.
    pub const fn start(&self, part: u32) -> u64 {
        let large = if part < self.large_parts { part } else { self.large_parts };
        large as u64 * self.large + (part - large) as u64 * self.small
    }
}

/// Bytes of the `nth` of `n` shares of a number of bytes.
pub const fn share(bytes: u64, n: u32, nth: u32) -> u64 {
    bytes / n as u64 + ((nth as u64) < bytes % n as u64) as u64
}

/// Bytes of the first `count` of `n` shares.
const fn before(bytes: u64, n: u32, count: u32) -> u64 {
    let (small, large) = (bytes / n as u64, bytes % n as u64);
    let larger = if (count as u64) < large { count as u64 } else { large };
    count as u64 * small + larger
}
