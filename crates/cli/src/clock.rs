//! The wall clock and the CPU clock. Results never see them; progress, `volatile.json` and benches do.
#![expect(clippy::disallowed_methods, reason = "only progress, volatile.json and benches read it")]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Now.
pub fn now() -> Instant {
    Instant::now()
}

/// User CPU time of this process so far, all threads, where the system reports it.
pub fn user_cpu() -> Option<Duration> {
    #[cfg(unix)]
    {
        use nix::sys::resource::{UsageWho, getrusage};
        let used = getrusage(UsageWho::RUSAGE_SELF).ok()?.user_time();
        Some(Duration::new(used.tv_sec() as u64, used.tv_usec() as u32 * 1000))
    }
    #[cfg(not(unix))]
    None
}

/// The date and time that many seconds ago, `2026-01-31T12:00:00Z`.
pub fn utc_before(seconds: f64) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let then = since.saturating_sub(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    utc_text(then.as_secs())
}

/// Howard Hinnant's civil-from-days, for dates from 1970 on.
fn utc_text(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468; // days since 0000-03-01
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc_text(seconds), text);
        }
    }
}
