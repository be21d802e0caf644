//! HyStart as Linux does it: ends slow start before the first loss.
//!
//! Source: Ha, Rhee, "Hybrid Slow Start" (2008); Linux `hystart_update`, `hystart_ack_delay`.
//! Deviation: the ACK of a round trip's end is known by its bytes; kernels before 5.17 began rounds only
//! while the window was full, and those from there to 6.13 only in windows from `hystart_low_window` on (stable
//! kernels of these series have the correction), so that their rounds begin in the middle of a flight and the RTT's rise within
//! one flight looks like a rise from one to the next.

use super::super::{CubicParams, Detect};
use crate::flow::Totals;
use crate::linux_window::LinuxWindow;
use forebay_units::{Span, Time};

/// One round trip of slow start. Times are whole microseconds, as in the kernel: on a path of a few microseconds the rounding matters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HyStart {
    start: u64,
    last: u64,           // last ACK of the train
    end: u64,            // the round trip ends when a byte beyond is acknowledged
    least: Option<Span>, // RTT of this round trip
    samples: u8,
    pub(crate) found: bool,
    rate: u64, // the stack's pacing rate after the last ACK, bytes/s; 0: no ACK yet
}

/// RTTs of a round trip before a rise counts.
const MIN_SAMPLES: u8 = 8;
/// A rise that counts lies between these.
const DELAY: (Span, Span) = (Span::from_ms(4), Span::from_ms(16));
/// Largest packet that a host hands to its NIC. Source: Linux `GSO_LEGACY_MAX_SIZE`.
const GSO_MAX: u64 = 65_536;
/// Most time granted to a train for the aggregation of four such packets, us.
const MAX_ACK_DELAY: u64 = 1_000;

impl HyStart {
    /// A round trip that begins.
    pub(super) fn round(&self, now: Time, totals: &Totals) -> Self {
        let now = micros(now);
        Self { start: now, last: now, end: totals.nxt, rate: self.rate, ..Self::default() }
    }

    /// Notes the pacing rate after an ACK, which holds until the next one. Source: `tcp_update_pacing_rate`.
    pub(super) fn end_ack(&mut self, window: &LinuxWindow, totals: &Totals) {
        let tenths = if window.is_far_below_threshold() { 20 } else { 12 };
        let out = totals.nxt.saturating_sub(totals.una).div_ceil(window.mss());
        let srtt = (totals.srtt.as_ps().saturating_mul(8) / 1_000_000).max(1);
        let each = window.mss() * 8 * 100_000 * tenths;
        self.rate = each.saturating_mul(window.packets().max(out)) / srtt;
    }

    /// An ACK in slow start.
    pub(super) fn look(
        &mut self,
        params: &CubicParams,
        delay_min: Span,
        now: Time,
        delay: Span,
        window: &LinuxWindow,
        totals: &Totals,
    ) {
        if totals.una > self.end {
            *self = self.round(now, totals);
        }
        let now = micros(now);
        if window.packets() < params.hystart_low_window.get() {
            return;
        }
        if params.hystart_detect != Detect::Delay
            && now - self.last <= params.hystart_ack_delta.as_us()
        {
            self.last = now;
            let longest = delay_min.as_us() + self.ack_delay();
            let longest = if params.paced { longest } else { longest / 2 };
            self.found = now - self.start > longest;
        }
        if params.hystart_detect != Detect::Train {
            let least = self.least.map_or(delay, |least| least.min(delay));
            self.least = Some(least);
            if self.samples < MIN_SAMPLES {
                self.samples += 1;
            } else {
                let rise = Span::from_ps(delay_min.as_ps() / 8).clamp(DELAY.0, DELAY.1);
                self.found |= least > delay_min + rise;
            }
        }
    }

    /// What aggregation may add to a train: four packets of the largest size at the pacing rate, in us.
    fn ack_delay(&self) -> u64 {
        (4 * GSO_MAX * 1_000_000).checked_div(self.rate).unwrap_or(0).min(MAX_ACK_DELAY)
    }
}

/// Whole microseconds of the kernel's clock.
fn micros(now: Time) -> u64 {
    now.as_ps() / 1_000_000
}
