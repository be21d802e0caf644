//! `BitsPerSec` and the [`Serializer`] that turns bytes into time without drift.

use crate::quantity::write_exact;
use crate::{Bytes, Span};
use core::fmt;

const PS_PER_SEC_BITS: u64 = 8_000_000_000_000;

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BitsPerSec(u64);

impl BitsPerSec {
    /// A rate of `bits` bits per second.
    pub const fn new(bits: u64) -> Self {
        Self(bits)
    }

    /// A rate of `gigabits` Gb/s.
    pub const fn from_gbps(gigabits: u64) -> Self {
        Self(gigabits * 1_000_000_000)
    }

    /// Bits per second.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Picoseconds per byte where that is a whole number, as for every standard Ethernet rate.
    pub const fn whole_ps_per_byte(self) -> Option<u64> {
        if self.0 != 0 && PS_PER_SEC_BITS.is_multiple_of(self.0) {
            Some(PS_PER_SEC_BITS / self.0)
        } else {
            None
        }
    }

    /// Time to send `bytes`, rounded down; [`Span::MAX`] at rate zero.
    pub const fn time_for(self, bytes: Bytes) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        // A division of 128 bits takes several times as long.
        if let Some(total) = bytes.get().checked_mul(PS_PER_SEC_BITS) {
            return Span::from_ps(total / self.0);
        }
        let ps = bytes.get() as u128 * PS_PER_SEC_BITS as u128 / self.0 as u128;
        if ps > u64::MAX as u128 { Span::MAX } else { Span::from_ps(ps as u64) }
    }

    /// Bytes sent in `span`, rounded down.
    pub const fn bytes_in(self, span: Span) -> Bytes {
        if let Some(total) = span.as_ps().checked_mul(self.0) {
            return Bytes::new(total / PS_PER_SEC_BITS);
        }
        Bytes::new((span.as_ps() as u128 * self.0 as u128 / PS_PER_SEC_BITS as u128) as u64)
    }
}

impl fmt::Display for BitsPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_exact(f, self.0, RATE_UNITS)
    }
}

impl fmt::Debug for BitsPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

pub(crate) const RATE_UNITS: &[(u64, &str)] = &[
    (1_000_000_000_000, "Tbps"),
    (1_000_000_000, "Gbps"),
    (1_000_000, "Mbps"),
    (1_000, "Kbps"),
    (1, "bps"),
];

/// Serialisation time at a fixed rate, carrying the remainder from packet to packet.
///
/// Invariant: after any sequence of `take`s of n bytes in all, the spans sum to exactly
/// `floor(8 * n * 10^12 / rate)` ps.
#[derive(Clone, Copy, Debug)]
pub struct Serializer {
    whole: u64, // ps per byte, or 0 if the rate has no whole number of them
    rate: u64,
    remainder: u64, // in units of 1/rate ps; below `rate`
    grain: u64, // every span is cut to a multiple of so many ps; 0: none is, and remainders are carried
}

impl Serializer {
    /// A serializer at `rate`.
    ///
    /// # Panics
    /// If `rate` is zero.
    pub const fn new(rate: BitsPerSec) -> Self {
        assert!(rate.0 > 0, "a serializer needs a rate above zero");
        let whole = match rate.whole_ps_per_byte() {
            Some(ps) => ps,
            None => 0,
        };
        Self { whole, rate: rate.0, remainder: 0, grain: 0 }
    }

    /// A serializer at `rate` that cuts every span to whole nanoseconds and forgets the rest, as simulators with a clock
    /// of nanoseconds do.
    ///
    /// # Panics
    /// If `rate` is zero.
    pub const fn truncating(rate: BitsPerSec) -> Self {
        Self { whole: 0, grain: 1_000, ..Self::new(rate) }
    }

    /// The rate it was made with.
    pub const fn rate(&self) -> BitsPerSec {
        BitsPerSec(self.rate)
    }

    /// Time that the next `bytes` take.
    #[inline]
    pub fn take(&mut self, bytes: u64) -> Span {
        if self.whole != 0 {
            return Span::from_ps(bytes * self.whole);
        }
        self.take_carrying(bytes)
    }

    #[inline]
    fn take_carrying(&mut self, bytes: u64) -> Span {
        if self.grain != 0 {
            let exact = self.rate().time_for(Bytes::new(bytes)).as_ps();
            return Span::from_ps(exact - exact % self.grain);
        }
        let total = bytes.checked_mul(PS_PER_SEC_BITS);
        if let Some(total) = total.and_then(|total| total.checked_add(self.remainder)) {
            self.remainder = total % self.rate;
            return Span::from_ps(total / self.rate);
        }
        let total = bytes as u128 * PS_PER_SEC_BITS as u128 + self.remainder as u128;
        self.remainder = (total % self.rate as u128) as u64;
        Span::from_ps((total / self.rate as u128) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ethernet_rates_are_whole_picoseconds_per_byte() {
        for (gbps, ps) in
            [(10, 800), (25, 320), (40, 200), (100, 80), (400, 20), (800, 10), (1600, 5)]
        {
            assert_eq!(BitsPerSec::from_gbps(gbps).whole_ps_per_byte(), Some(ps));
        }
        assert_eq!(BitsPerSec::from_gbps(30).whole_ps_per_byte(), None);
    }

    #[test]
    fn a_clock_of_nanoseconds_loses_what_is_below_with_every_packet() {
        let mut port = Serializer::truncating(BitsPerSec::from_gbps(25));
        let spans = [1_048, 60, 1_000].map(|bytes| port.take(bytes));
        assert_eq!(spans, [335, 19, 320].map(Span::from_ns)); // 335.36, 19.2 and 320 ns
    }

    #[test]
    fn odd_rates_do_not_drift() {
        let rate = BitsPerSec::new(29_999_999_999);
        let mut port = Serializer::new(rate);
        let total: Span = (0..100_000).map(|_| port.take(1_500)).sum();
        assert_eq!(total, rate.time_for(Bytes::new(150_000_000)));
        let rest = port.take(3_000_000_000);
        assert_eq!(total + rest, rate.time_for(Bytes::new(3_150_000_000)), "more than 64 bits");
    }
}
