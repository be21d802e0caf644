//! Signals as the authors' kernel module computes them, with its truncations, guards and unmasked differences.
//!
//! Source: Terabit-Ethernet/hostCC, `hostcc-signals.c`, `hostcc-local-response.c`; widths of `hostcc-signals.h`.
//! Where the module divides by zero (readings less than 32 ns apart), there is no sample.

use super::{BANDWIDTH_CONSTANT, HostCcParams, OCCUPANCY_CONSTANT, Reading};
use crate::host::{Counters, LawReadings, Side};
use core::cmp::Ordering;
use forebay_units::{BitsPerSec, Span};

/// I_S and B_S in 1/1024, beside I_T and B_T in whole units.
#[derive(Clone, Debug)]
pub(super) struct Signals {
    mhz: u64,           // of the occupancy counter
    dwords: u64,        // per count of the insertion counter
    least: Option<u64>, // a sample of occupancy has to exceed this
    lines_shift: u32,
    gbps_shift: u32,
    last_occupancy: Option<Reading>,
    last_inserts: Option<Reading>,
    lines: u64,
    gbps: u32,
    threshold: u32,
    target: u32, // in 1/1024
}

impl Signals {
    pub(super) fn new(params: &HostCcParams, counters: Counters, period: Span) -> Self {
        let mut signals = Self {
            mhz: counters.clock_hz / 1_000_000,
            dwords: (counters.insert_bytes / 4).max(1),
            least: (params.side == Side::Receive).then_some(10),
            lines_shift: params.occupancy_weight.shift(period, OCCUPANCY_CONSTANT),
            gbps_shift: params.bandwidth_weight.shift(period, BANDWIDTH_CONSTANT),
            last_occupancy: None,
            last_inserts: None,
            lines: 0,
            gbps: 0,
            threshold: params.iio_threshold.lines(params.side) as u32,
            target: 0,
        };
        signals.retarget(params.target);
        signals
    }

    /// Whether the sample passed the guard and was not zero.
    pub(super) fn occupancy(&mut self, reading: Reading) -> bool {
        let Some((count, ns)) = since(&mut self.last_occupancy, reading) else { return false };
        // 500 MHz: ns >> 1, whole units of 2 ns.
        let Some(lines) = count.checked_div(ns.saturating_mul(self.mhz) / 1000) else {
            return false;
        };
        if self.least.is_some_and(|least| lines <= least) {
            return false;
        }
        let kept = self.lines.wrapping_mul((1 << self.lines_shift) - 1);
        self.lines = kept.wrapping_add(lines << 10) >> self.lines_shift;
        lines > 0
    }

    /// Whether the sample passed the guard and was not zero.
    pub(super) fn inserts(&mut self, reading: Reading) -> bool {
        let Some((count, ns)) = since(&mut self.last_inserts, reading) else { return false };
        let Some(gbps) = count.wrapping_mul(self.dwords).checked_div(ns >> 5) else { return false };
        let gbps = gbps as u32; // the module keeps the low half
        if gbps >= 150 {
            return false;
        }
        let kept = self.gbps.wrapping_mul((1 << self.gbps_shift) - 1);
        self.gbps = kept.wrapping_add(gbps << 10) >> self.gbps_shift;
        gbps > 0
    }

    /// In whole lines, of which the module keeps the low 32 bits.
    pub(super) fn congested(&self) -> Ordering {
        ((self.lines >> 10) as u32).cmp(&self.threshold)
    }

    pub(super) fn met(&self) -> Ordering {
        self.gbps.cmp(&self.target)
    }

    /// B_S in 1/1024 Gb/s.
    #[cfg(test)]
    pub(super) fn gbps(&self) -> u32 {
        self.gbps
    }

    pub(super) fn watched(&self) -> LawReadings {
        let rate = |gbps_1024: u32| BitsPerSec::new(u64::from(gbps_1024) * 1_000_000_000 / 1024);
        LawReadings {
            lines_1024: self.lines,
            rate: rate(self.gbps),
            lines_threshold: self.threshold.into(),
            rate_target: rate(self.target),
        }
    }

    /// In whole Gb/s, at most 4 Tb/s.
    pub(super) fn retarget(&mut self, rate: BitsPerSec) {
        self.target = (rate.get() / 1_000_000_000).min(u64::from(u32::MAX >> 10)) as u32 * 1024;
    }

    pub(super) fn forget(&mut self) {
        (self.last_occupancy, self.last_inserts) = (None, None);
        (self.lines, self.gbps) = (0, 0);
    }
}

/// What the counter rose by, modulo 2^64 whatever its width, and whole nanoseconds, at least one.
fn since(last: &mut Option<Reading>, reading: Reading) -> Option<(u64, u64)> {
    let last = last.replace(reading)?;
    let ns = reading.at.since(last.at) / Span::from_ns(1);
    (ns > 0).then(|| (reading.raw.wrapping_sub(last.raw), ns))
}
