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

/// One round trip of slow start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HyStart {
    start: Time,
    last: Time,          // last ACK of the train
    end: u64,            // the round trip ends when a byte beyond is acknowledged
    least: Option<Span>, // RTT of this round trip
    samples: u8,
    pub(crate) found: bool,
}

impl Default for HyStart {
    fn default() -> Self {
        Self { start: Time::ZERO, last: Time::ZERO, end: 0, least: None, samples: 0, found: false }
    }
}

/// RTTs of a round trip before a rise counts.
const MIN_SAMPLES: u8 = 8;
/// A rise that counts lies between these.
const DELAY: (Span, Span) = (Span::from_ms(4), Span::from_ms(16));
/// Largest packet that a host hands to its NIC. Source: Linux `GSO_LEGACY_MAX_SIZE`.
const GSO_MAX: u64 = 65_536;
/// Most time granted to a train for the aggregation of four such packets.
const MAX_ACK_DELAY: Span = Span::from_ms(1);

impl HyStart {
    /// A round trip that begins.
    pub(super) fn round(now: Time, totals: &Totals) -> Self {
        Self { start: now, last: now, end: totals.nxt, ..Self::default() }
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
        if self.found {
            return;
        }
        if totals.una > self.end {
            *self = Self::round(now, totals);
        }
        if window.packets() < params.hystart_low_window.get() {
            return;
        }
        if params.hystart_detect != Detect::Delay
            && now.since(self.last) <= params.hystart_ack_delta
        {
            self.last = now;
            let longest = delay_min + ack_delay(window, totals);
            let longest = if params.paced { longest } else { Span::from_ps(longest.as_ps() / 2) };
            self.found = now.since(self.start) > longest;
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
}

/// What aggregation may add to a train: four packets of the largest size at the kernel's pacing rate, which
/// in slow start is two windows per smoothed RTT.
fn ack_delay(window: &LinuxWindow, totals: &Totals) -> Span {
    let windows = window.cwnd().max(totals.nxt.saturating_sub(totals.una)).max(1);
    let ns = 4 * GSO_MAX * (totals.srtt.as_ps() / 1_000).min(1 << 40) / windows.saturating_mul(2);
    Span::from_ns(ns.min(1_000_000)).min(MAX_ACK_DELAY)
}
