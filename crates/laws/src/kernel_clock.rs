//! The clocks of a kernel: ticks, which Linux laws read where they mean "a while", and microseconds.
//!
//! Source: Linux `tcp_jiffies32`, `HZ` (Debian and most distributions build with 250 or 1000, user-mode
//! Linux with 100), `tcp_stamp_us_delta`.
//! Deviation: the first tick is at time zero for every flow; in a kernel the phase is anybody's. An RTT is
//! rounded down once; a kernel subtracts two stamps that are each rounded down.

use crate::params::choice;
use forebay_units::{Span, Time};

/// An RTT as Linux knows it: whole microseconds, at least one, in 32 bits.
pub(crate) fn micros(rtt: Span) -> u32 {
    u32::try_from(rtt.as_us()).unwrap_or(u32::MAX).max(1)
}

choice! {
    /// Ticks of the kernel's clock per second.
    pub enum Hz {
        /// A tick each millisecond.
        Thousand = "1000",
        /// A tick each 4 ms.
        TwoFifty = "250",
        /// A tick each 3.33 ms.
        ThreeHundred = "300",
        /// A tick each 10 ms.
        Hundred = "100",
    }
}

impl Hz {
    /// Ticks per second.
    pub(crate) const fn get(self) -> u32 {
        match self {
            Self::Thousand => 1000,
            Self::TwoFifty => 250,
            Self::ThreeHundred => 300,
            Self::Hundred => 100,
        }
    }

    /// Ticks until `now`, modulo 2^32 as the kernel keeps them: differences stay right across the wrap.
    pub(crate) const fn ticks(self, now: Time) -> u32 {
        // Microseconds times at most 1000 fit 64 bits for the whole range of `Time`.
        (now.as_ps() / 1_000_000 * self.get() as u64 / 1_000_000) as u32
    }

    /// Ticks that cover a span, rounded up. Source: Linux `usecs_to_jiffies`.
    pub(crate) const fn covering(self, span: Span) -> u64 {
        (span.as_us() * self.get() as u64).div_ceil(1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_as_long_as_the_kernel_says() {
        let at = |us| Time::ZERO + Span::from_us(us);
        assert_eq!(Hz::Hundred.ticks(at(9_999)), 0);
        assert_eq!(Hz::Hundred.ticks(at(10_000)), 1);
        assert_eq!(Hz::ThreeHundred.ticks(at(1_000_000)), 300);
        assert_eq!(Hz::TwoFifty.ticks(at(1_000_000)), 250);
        for (us, ticks) in [(0, 0), (1, 1), (1_000, 1), (1_001, 2)] {
            assert_eq!(Hz::Thousand.covering(Span::from_us(us)), ticks);
        }
    }

    #[test]
    fn ticks_wrap_and_their_differences_do_not() {
        let wrap = Span::from_ms(1 << 32);
        let before = Hz::Thousand.ticks(Time::ZERO + wrap.saturating_sub(Span::from_ms(3)));
        let after = Hz::Thousand.ticks(Time::ZERO + wrap + Span::from_ms(4));
        assert_eq!((after, after.wrapping_sub(before)), (4, 7));
    }
}
