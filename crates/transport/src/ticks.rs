//! When a coarse timer of the kernel expires: on a tick of its clock.
//!
//! A timer of Linux is set in jiffies, rounded up, and never expires early: what is set within a jiffy for `n` jiffies expires at the
//! start of the jiffy `n + 1` later. Beyond 63 jiffies the timer wheel has slots of 8 jiffies, beyond 504 of 64, and so on; a timer
//! expires at the end of its slot. At 1000 Hz a timeout of 200 ms is up to 8 ms late so, at 250 Hz up to 4 ms, or 32 ms beyond 252 ms.
//!
//! Source: Linux `kernel/time/timer.c` since 4.8 (`calc_wheel_index`, `calc_index`), `usecs_to_jiffies`.
//! Deviation: the jiffies of all hosts begin at time 0, so that timers of different hosts expire together.

use forebay_units::{Span, Time};

/// Slots of a level of the wheel, of which the last one is not used by timers of that level (`LVL_SIZE`).
const SLOTS: u64 = 64;

/// Each level has slots eight times as long as the one below (`LVL_CLK_SHIFT`).
const SHIFT: u32 = 3;

/// Levels of the wheel at 100 Hz and below (`LVL_DEPTH`); faster clocks have one more, for timers of weeks.
const LEVELS: u32 = 8;

/// Length of a tick of the kernel's clock. Zero: timers are exact.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tick(pub Span);

impl Tick {
    /// Least wait of a probe and of RACK (`TCP_TIMEOUT_MIN`): two jiffies up to Linux 6.6, 2 ms since.
    #[inline]
    pub(crate) fn least_wait(self) -> Span {
        if self.0 == Span::ZERO { Span::from_ms(2) } else { self.0 * 2 }
    }

    /// When a timer that is set at `now` for `wait` expires.
    #[inline]
    pub(crate) fn expiry(self, now: Time, wait: Span) -> Time {
        if self.0 == Span::ZERO { now.saturating_add(wait) } else { self.slot(now, wait) }
    }

    #[cold]
    fn slot(self, now: Time, wait: Span) -> Time {
        let tick = self.0.as_ps();
        let jiffies = wait.as_ps().div_ceil(tick);
        let expires = now.as_ps() / tick + jiffies;
        let fits = |level: &u32| jiffies < (SLOTS - 1) << (level * SHIFT);
        let shift = SHIFT * (0..LEVELS - 1).find(fits).unwrap_or(LEVELS - 1);
        let slot = ((expires >> shift) + 1) << shift;
        Time::from_ps(slot.saturating_mul(tick))
    }

    /// A time that the kernel keeps in jiffies: rounded up.
    #[inline]
    pub(crate) fn in_ticks(self, span: Span) -> Span {
        if self.0 == Span::ZERO { span } else { self.round_up(span) }
    }

    #[cold]
    fn round_up(self, span: Span) -> Span {
        let tick = self.0.as_ps();
        Span::from_ps(span.as_ps().div_ceil(tick).saturating_mul(tick))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hz: u64) -> Tick {
        Tick(Span::from_us(1_000_000 / hz))
    }

    /// Expiry in us of a timer set at `now` us for `wait` us.
    fn expiry(hz: u64, now: u64, wait: u64) -> u64 {
        let at = at(hz).expiry(Time::ZERO + Span::from_us(now), Span::from_us(wait));
        at.as_ps() / 1_000_000
    }

    #[test]
    fn without_a_tick_timers_are_exact() {
        let (now, wait) = (Time::from_ps(12_345), Span::from_ps(678));
        let exact = Tick(Span::ZERO);
        assert_eq!((exact.expiry(now, wait), exact.in_ticks(wait)), (now + wait, wait));
        assert_eq!(exact.least_wait(), Span::from_ms(2));
    }

    #[test]
    fn a_short_timer_expires_at_the_tick_after_its_last_jiffy() {
        // 40 ms are 4 jiffies at 100 Hz: set in the first jiffy, at the end of the fifth.
        assert_eq!(expiry(100, 0, 40_000), 50_000);
        assert_eq!(expiry(100, 9_999, 40_000), 50_000);
        assert_eq!(expiry(100, 10_000, 40_000), 60_000);
        assert_eq!(expiry(1000, 500, 40_000), 41_000);
        assert_eq!(expiry(1000, 500, 40_001), 42_000, "rounded up to 41");
    }

    #[test]
    fn a_long_timer_expires_at_the_end_of_a_slot() {
        assert_eq!(expiry(1000, 0, 62_000), 63_000, "still jiffy by jiffy");
        assert_eq!(expiry(1000, 0, 63_000), 64_000, "slots of 8 jiffies");
        assert_eq!(expiry(1000, 0, 64_000), 72_000);
        assert_eq!(expiry(1000, 7_000, 200_000), 208_000);
        assert_eq!(expiry(1000, 8_000, 200_000), 216_000);
        assert_eq!(expiry(1000, 0, 503_000), 504_000);
        assert_eq!(expiry(1000, 0, 504_000), 512_000, "slots of 64");
        assert_eq!(expiry(100, 0, 200_000), 210_000, "20 jiffies");
        assert_eq!(expiry(250, 0, 200_000), 204_000, "50 jiffies");
        assert_eq!(expiry(250, 0, 252_000), 256_000, "63 jiffies: slots of 32 ms");
        assert_eq!(expiry(250, 0, 256_000), 288_000);
    }

    #[test]
    fn no_timer_expires_early_and_none_later_than_an_eighth_and_a_tick() {
        for hz in [100, 250, 300, 1000] {
            let tick = 1_000_000 / hz;
            for wait in (1..3_000_000).step_by(977) {
                let now = wait * 7919 % 1_000_000;
                let late = expiry(hz, now, wait) - now - wait.min(expiry(hz, now, wait) - now);
                assert!(expiry(hz, now, wait) >= now + wait, "{hz} Hz, {now}, {wait}");
                assert!(late <= wait / 7 + 2 * tick, "{hz} Hz, {now}, {wait}: {late} late");
            }
        }
    }
}
