//! A running hash of what happened: equal digests mean equal runs.

use forebay_units::math::mix;

/// Hash of a sequence of words; order matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Digest(u64);

impl Digest {
    /// Takes two words in.
    #[inline]
    pub fn add(&mut self, a: u64, b: u64) {
        self.0 = (self.0 ^ a).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ mix(b);
    }

    /// The hash so far.
    pub const fn value(self) -> u64 {
        mix(self.0)
    }
}

/// One digest of many, in the order given.
pub fn combine(parts: impl IntoIterator<Item = Digest>) -> u64 {
    let mut all = Digest::default();
    for (index, part) in parts.into_iter().enumerate() {
        all.add(index as u64, part.0);
    }
    all.value()
}
