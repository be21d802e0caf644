//! Signals as the paper defines them: counters unwrapped, averages without a rounding that matters.
//!
//! Source: hostCC section 4.1.

use super::{BANDWIDTH_CONSTANT, HostCcParams, OCCUPANCY_CONSTANT, Reading};
use crate::host::{Counters, LawReadings};
use core::cmp::Ordering;
use forebay_units::{BitsPerSec, Span};

/// No sample is as large: more lines than any IIO buffer holds, in 1/1024.
const MOST_LINES: u64 = 65_536 << 10;
/// No sample is as large: more than any PCIe of today carries, in kb/s.
const MOST_KBPS: u64 = 16_000_000_000;

/// I_S and B_S beside I_T and B_T.
#[derive(Clone, Debug)]
pub(super) struct Signals {
    lines: Average, // in 1/1024
    kbps: Average,
    threshold: u64, // in 1/1024 lines
    target: u64,    // kb/s
}

impl Signals {
    pub(super) fn new(params: &HostCcParams, counters: Counters, period: Span) -> Self {
        let mut signals = Self {
            lines: Average::of_lines(
                counters,
                params.occupancy_weight.shift(period, OCCUPANCY_CONSTANT),
            ),
            kbps: Average::of_kbps(
                counters,
                params.bandwidth_weight.shift(period, BANDWIDTH_CONSTANT),
            ),
            threshold: params.iio_threshold.lines(params.side) << 10,
            target: 0,
        };
        signals.retarget(params.target);
        signals
    }

    /// Whether lines were there. None: the link is idle, or the counter stands still.
    pub(super) fn occupancy(&mut self, reading: Reading) -> bool {
        self.lines.add(reading).is_some_and(|lines| lines > 0)
    }

    /// Whether something came in.
    pub(super) fn inserts(&mut self, reading: Reading) -> bool {
        self.kbps.add(reading).is_some_and(|kbps| kbps > 0)
    }

    pub(super) fn congested(&self) -> Option<Ordering> {
        self.lines.get().map(|lines| lines.cmp(&self.threshold))
    }

    pub(super) fn met(&self) -> Option<Ordering> {
        self.kbps.get().map(|kbps| kbps.cmp(&self.target))
    }

    pub(super) fn watched(&self) -> LawReadings {
        LawReadings {
            lines_1024: self.lines.get().unwrap_or(0),
            rate: BitsPerSec::new(self.kbps.get().unwrap_or(0) * 1000),
            lines_threshold: self.threshold >> 10,
            rate_target: BitsPerSec::new(self.target * 1000),
        }
    }

    pub(super) fn retarget(&mut self, rate: BitsPerSec) {
        self.target = rate.get() / 1000;
    }

    pub(super) fn forget(&mut self) {
        self.lines.forget();
        self.kbps.forget();
    }
}

/// Exponentially weighted average of how fast a counter rises. Begins with its first sample.
#[derive(Clone, Debug)]
pub(super) struct Average {
    mask: u64,  // of the counter's bits
    scale: u64, // from counts per picosecond to units of the average
    most: u64,  // samples from here on are ignored
    shift: u32, // the newest sample weighs 1 / 2^shift
    last: Option<Reading>,
    sum: Option<u64>, // the average times 2^shift, so that a constant signal is reached exactly
}

impl Average {
    /// Lines per cycle, in 1/1024: what a counter that adds up occupancy each cycle rises by.
    pub(super) fn of_lines(counters: Counters, shift: u32) -> Self {
        let hz = counters.clock_hz.clamp(1_000_000, 10_000_000_000);
        let scale = (1_024_000_000_000_000 + hz / 2) / hz;
        Self::new(counters.occupancy_bits, scale, MOST_LINES, shift)
    }

    /// Bits per millisecond.
    pub(super) fn of_kbps(counters: Counters, shift: u32) -> Self {
        let scale = counters.insert_bytes.clamp(1, 4096) * 8_000_000_000;
        Self::new(counters.insert_bits, scale, MOST_KBPS, shift)
    }

    fn new(bits: u8, scale: u64, most: u64, shift: u32) -> Self {
        let mask = u64::MAX >> (64 - u32::from(bits.clamp(1, 64)));
        Self { mask, scale, most, shift, last: None, sum: None }
    }

    /// The sample since the last reading, through at most one wrap of the counter.
    pub(super) fn add(&mut self, reading: Reading) -> Option<u64> {
        let last = self.last.replace(reading)?;
        let ps = reading.at.since(last.at).as_ps();
        if ps == 0 {
            return None;
        }
        let count = reading.raw.wrapping_sub(last.raw) & self.mask;
        let sample = Some(scaled(count, self.scale, ps)).filter(|sample| *sample < self.most)?;
        self.sum = Some(match self.sum {
            Some(sum) => sum - (sum >> self.shift) + sample,
            None => sample << self.shift,
        });
        Some(sample)
    }

    pub(super) fn get(&self) -> Option<u64> {
        self.sum.map(|sum| sum >> self.shift)
    }

    fn forget(&mut self) {
        (self.last, self.sum) = (None, None);
    }
}

/// `count * scale / per`, rounded down; `u64::MAX` where it does not fit. `per` is at least 1.
///
/// Exact while `per * scale` fits 64 bits, which at 64 bytes per line is 33 us; beyond that off by less than one part
/// in 2^18, as long as `scale` has at most 45 bits.
pub(in crate::host) fn scaled(count: u64, scale: u64, per: u64) -> u64 {
    let (whole, rest) = (count / per, count % per);
    let part = match rest.checked_mul(scale) {
        Some(product) => product / per,
        None => {
            // `rest` has more bits than are cut, and `per` is larger, so neither becomes zero.
            let cut = 64 - rest.leading_zeros() - scale.leading_zeros();
            (rest >> cut) * scale / (per >> cut)
        }
    };
    whole.saturating_mul(scale).saturating_add(part)
}
