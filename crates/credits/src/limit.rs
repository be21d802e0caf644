//! How many lines of which cache a receiver may fill with unread data.

use crate::message::MOST_LINES;
use core::fmt;

/// A data cache of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cache {
    /// 1 is next to the core.
    pub level: u8,
    /// Bytes of it.
    pub bytes: u64,
    /// Bytes of a line.
    pub line: u32,
    /// Ways; 0: unknown.
    pub ways: u32,
    /// Memory node of the processors that use it.
    pub node: u32,
    /// Processors that use it.
    pub shared_by: u32,
}

/// Percent of the cache that is left to others, unless the caller says otherwise.
pub const OTHERS_PERCENT: u32 = 25;

/// Unread data that all connections of a receiver together may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// Lines.
    pub lines: u32,
    /// Bytes of a line; a power of two.
    pub line: u32,
    /// The cache that it is a part of.
    pub of: Cache,
}

/// Why there is no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoLimit {
    /// No data cache is known.
    NoCache,
    /// No cache belongs to this memory node.
    Node(u32),
    /// A line is no power of two from 8 bytes to 64 KiB.
    Line(u32),
    /// Others get everything, or nothing is left of the cache.
    Nothing,
}

impl fmt::Display for NoLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCache => write!(f, "the system names no data cache"),
            Self::Node(of) => write!(f, "no cache belongs to memory node {of}"),
            Self::Line(of) => write!(f, "a cache line of {of} bytes is none"),
            Self::Nothing => write!(f, "nothing of the cache is left for unread data"),
        }
    }
}

impl core::error::Error for NoLimit {}

impl Limit {
    /// The limit for buffers in the memory of `node`, or of any node. `others_percent` of the cache is left to others.
    /// The last level counts. Of several caches of that level on a node the smallest counts, as a buffer is in one of them.
    ///
    /// # Errors
    /// If there is no such cache, or nothing of it is left.
    pub fn choose(
        caches: &[Cache],
        node: Option<u32>,
        others_percent: u32,
    ) -> Result<Self, NoLimit> {
        if caches.is_empty() {
            return Err(NoLimit::NoCache);
        }
        let here = |of: &&Cache| node.is_none_or(|node| of.node == node);
        let last = caches.iter().filter(here).map(|of| of.level).max();
        let last = last.ok_or(NoLimit::Node(node.unwrap_or(0)))?;
        let of = caches.iter().filter(here).filter(|of| of.level == last).min_by_key(|of| of.bytes);
        let of = *of.ok_or(NoLimit::NoCache)?;
        if !of.line.is_power_of_two() || !(8..=1 << 16).contains(&of.line) {
            return Err(NoLimit::Line(of.line));
        }
        let left = u128::from(of.bytes) * u128::from(100_u32.saturating_sub(others_percent)) / 100;
        let lines = (left / u128::from(of.line)).min(u128::from(MOST_LINES)) as u32;
        if lines == 0 {
            return Err(NoLimit::Nothing);
        }
        Ok(Self { lines, line: of.line, of })
    }

    /// A limit that the caller chose: whole lines of `bytes`.
    ///
    /// # Errors
    /// If that is less than a line, or a line is no power of two.
    pub fn of_bytes(bytes: u64, line: u32) -> Result<Self, NoLimit> {
        let of = Cache { level: 0, bytes, line, ways: 0, node: 0, shared_by: 0 };
        Self::choose(&[of], None, 0)
    }

    /// Bytes of all lines.
    pub fn bytes(&self) -> u64 {
        u64::from(self.lines) * u64::from(self.line)
    }
}

/// Bytes of a size as the kernel writes it: `32768K`.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().ok()?;
    number.checked_mul(1 << shift)
}
