//! The round-trip estimator and the retransmission timeout.
//!
//! Source: RFC 6298 as Linux has it (`tcp_rtt_estimator`): RTO = srtt + max(rto_min, 4 mdev), and a
//! sudden fall of the round-trip time hardly inflates it.
//! Deviation: variances are kept in ns (saturating at 4.29 s); `srtt` itself is in ps. The minimum is
//! one value that a fresh sample replaces after 300 s, in place of Linux's three-point filter.

use crate::TcpConfig;
use forebay_laws::flow::Totals;
use forebay_units::{Span, Time};

/// Variance terms of one connection; `srtt` and `min_rtt` live in [`Totals`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rtt {
    mdev: u32,       // ns, smoothed |error|
    mdev_max: u32,   // ns, largest 4 * mdev of this window, floored at rto_min
    rttvar: u32,     // ns, what is added to srtt
    window_end: u32, // low bits of the sequence number that ends this window
    min_at: u32,     // in units of 2^30 ps (1.07 ms), when min_rtt was taken
}

const PS_PER_NS: u64 = 1_000;
const MIN_AT_SHIFT: u32 = 30;
const MIN_RTT_WINDOW: u32 = (300_000_000_000_000u64 >> MIN_AT_SHIFT) as u32; // 300 s

fn ns(span: Span) -> u32 {
    u32::try_from(span.as_ps() / PS_PER_NS).unwrap_or(u32::MAX)
}

impl Rtt {
    /// Smoothed deviation and what is added to the smoothed time for the timeout, in ns.
    pub(crate) fn deviations(&self) -> (u32, u32) {
        (self.mdev, self.rttvar)
    }

    /// Takes the sample `m` (above zero) of the oldest segment that an ACK covers; `newest`: of the newest, for the minimum.
    ///
    /// Source: Linux `tcp_clean_rtx_queue` and `tcp_ack_update_rtt`, `seq_rtt_us` and `ca_rtt_us`. An ACK that its receiver delayed or
    /// merged adds that wait to the smoothed time, and so to the timers, but not to the least one.
    #[inline]
    pub(crate) fn sample(
        &mut self,
        cfg: &TcpConfig,
        totals: &mut Totals,
        now: Time,
        m: Span,
        newest: Span,
    ) {
        self.update_min(totals, now, newest);
        if totals.srtt == Span::ZERO {
            return self.first(cfg, totals, m);
        }
        let err = m.as_ps() as i64 - totals.srtt.as_ps() as i64;
        totals.srtt = smooth(totals.srtt, m);
        let abs = (err.unsigned_abs() / PS_PER_NS).min(u64::from(u32::MAX)) as u32;
        if abs >= self.mdev {
            let x = abs - self.mdev;
            self.mdev = self.mdev.saturating_add(if err < 0 { x >> 5 } else { x >> 2 });
        } else {
            self.mdev -= (self.mdev - abs) >> 2;
        }
        self.mdev_max = self.mdev_max.max(self.mdev.saturating_mul(4));
        self.rttvar = self.rttvar.max(self.mdev_max);
        if (totals.una as u32).wrapping_sub(self.window_end) as i32 > 0 {
            self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
            self.window_end = totals.nxt as u32;
            self.mdev_max = ns(cfg.rto_min);
        }
    }

    #[cold]
    fn first(&mut self, cfg: &TcpConfig, totals: &mut Totals, m: Span) {
        totals.srtt = Span::from_ps(m.as_ps().max(1));
        self.mdev = ns(m) / 2;
        self.rttvar = self.mdev.saturating_mul(4).max(ns(cfg.rto_min));
        self.mdev_max = self.rttvar;
        self.window_end = totals.nxt as u32;
    }

    #[inline]
    fn update_min(&mut self, totals: &mut Totals, now: Time, m: Span) {
        let at = (now.as_ps() >> MIN_AT_SHIFT) as u32;
        if m <= totals.min_rtt || at.wrapping_sub(self.min_at) > MIN_RTT_WINDOW {
            totals.min_rtt = m;
            self.min_at = at;
        }
    }

    /// The timeout after `backoff` expiries in a row.
    #[inline]
    pub(crate) fn rto(&self, cfg: &TcpConfig, srtt: Span, backoff: u8) -> Span {
        let base = if srtt == Span::ZERO {
            cfg.rto_initial
        } else {
            Span::from_ps(srtt.as_ps() + u64::from(self.rttvar) * PS_PER_NS)
        };
        let base = cfg.tick().in_ticks(base);
        if backoff == 0 { base.min(cfg.rto_max) } else { backed_off(cfg, base, backoff) }
    }
}

#[cold]
fn backed_off(cfg: &TcpConfig, base: Span, backoff: u8) -> Span {
    let backed = u128::from(base.as_ps()) << backoff.min(20);
    Span::from_ps(backed.min(u128::from(cfg.rto_max.as_ps())) as u64)
}

/// A smoothed round-trip time after the sample `m`, with a weight of 1/8; the first sample is taken as it is.
#[inline]
pub(crate) fn smooth(srtt: Span, m: Span) -> Span {
    if srtt == Span::ZERO {
        return m;
    }
    let err = m.as_ps() as i64 - srtt.as_ps() as i64;
    Span::from_ps((srtt.as_ps() as i64 + (err >> 3)).max(1) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> (TcpConfig, Rtt, Totals) {
        let totals = Totals { min_rtt: Span::MAX, ..Totals::default() };
        (TcpConfig::default(), Rtt::default(), totals)
    }

    fn feed(samples: impl IntoIterator<Item = Span>) -> (TcpConfig, Rtt, Totals) {
        let (cfg, mut rtt, mut totals) = fresh();
        for (i, m) in samples.into_iter().enumerate() {
            totals.una += 1448;
            totals.nxt = totals.una + 10 * 1448;
            rtt.sample(&cfg, &mut totals, Time::from_ps(i as u64 * 1_000_000), m, m);
        }
        (cfg, rtt, totals)
    }

    #[test]
    fn floor_is_added_to_srtt() {
        let (cfg, rtt, totals) = feed([Span::from_us(100); 50]);
        assert_eq!(totals.srtt, Span::from_us(100));
        assert_eq!(rtt.rto(&cfg, totals.srtt, 0), Span::from_us(200_100));
        assert_eq!(rtt.rto(&cfg, totals.srtt, 1), Span::from_us(400_200));
        assert_eq!(rtt.rto(&cfg, totals.srtt, 30), Span::from_secs(120));
    }

    #[test]
    fn first_sample_sets_everything() {
        let (cfg, rtt, totals) = feed([Span::from_ms(300)]);
        assert_eq!(rtt.rto(&cfg, totals.srtt, 0), Span::from_ms(900));
    }

    #[test]
    fn a_fall_of_the_rtt_moves_the_deviation_eight_times_less_than_a_rise() {
        let steady = [Span::from_ms(400); 200];
        let (.., up) = {
            let (c, r, t) = feed(steady.into_iter().chain([Span::from_ms(500)]));
            (c, t, r)
        };
        let (.., down) = {
            let (c, r, t) = feed(steady.into_iter().chain([Span::from_ms(300)]));
            (c, t, r)
        };
        let before = feed(steady).1.mdev;
        let (rise, fall) = (up.mdev - before, down.mdev - before);
        assert!(fall * 7 < rise && rise <= fall * 9, "{rise} {fall}");
    }

    #[test]
    fn variance_rises_at_once_and_falls_a_quarter_per_window() {
        let (cfg, mut rtt, mut totals) = feed([Span::from_ms(100); 30]);
        totals.una = totals.nxt - 1448;
        rtt.sample(&cfg, &mut totals, Time::ZERO, Span::from_ms(1100), Span::from_ms(1100));
        let high = rtt.rttvar;
        assert!(high > 800_000_000, "{high}");
        for _ in 0..40 {
            totals.una = totals.nxt + 1;
            totals.nxt = totals.una + 14480;
            rtt.sample(&cfg, &mut totals, Time::ZERO, Span::from_ms(225), Span::from_ms(225));
        }
        assert!(rtt.rttvar < high / 3);
        assert!(rtt.rttvar >= 200_000_000);
    }

    #[test]
    fn minimum_expires() {
        let (cfg, mut rtt, mut totals) = fresh();
        let mut take = |totals: &mut Totals, secs, us| {
            let now = Time::ZERO + Span::from_secs(secs);
            rtt.sample(&cfg, totals, now, Span::from_us(us), Span::from_us(us));
        };
        take(&mut totals, 0, 50);
        take(&mut totals, 299, 80);
        assert_eq!(totals.min_rtt, Span::from_us(50));
        take(&mut totals, 301, 80);
        assert_eq!(totals.min_rtt, Span::from_us(80));
    }
}
