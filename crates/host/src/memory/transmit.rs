//! The way out: the NIC reads what it sends.
//!
//! Models: a limited number of lines being read at once, each for the latency of a read by a device, which follows the load of
//! the memory like that of a core; so the NIC is fed at `lines / latency` at most. What it reads loads the memory.
//! Leaves out: the first read's latency (part of the cable's delay, as reads are pipelined ahead of the wire), copying
//! from applications, completion entries, and the cache: all that is sent comes from memory.
//!
//! Source: Understanding the Host Network, SIGCOMM 2024 (more than 164 lines); hostCC's kernel module for its counters. No published number depends on it.

use super::settings::{LINE, TransmitSettings};
use super::smaller;
use forebay_units::{Span, Time};

/// State of the way out.
#[derive(Clone, Debug)]
pub(super) struct Transmit {
    slots: f64,    // lines
    unloaded: f64, // ns
    free: Time,
    waiting: f64,   // lines requested and not counted yet
    entered: f64,   // lines
    occupancy: f64, // lines x ns
}

impl Transmit {
    pub(super) fn new(settings: &TransmitSettings) -> Self {
        Self {
            slots: f64::from(settings.slots),
            unloaded: settings.latency.as_ps() as f64 * 1e-3,
            free: Time::ZERO,
            waiting: 0.0,
            entered: 0.0,
            occupancy: 0.0,
        }
    }

    /// Latency of a read that nothing holds up, in ns.
    #[inline]
    pub(super) fn unloaded(&self) -> f64 {
        self.unloaded
    }

    /// The NIC sends a frame at `now`, where reads take `latency` ns.
    pub(super) fn send(&mut self, now: Time, frame: u64, latency: f64) {
        let lines = frame.div_ceil(LINE) as f64;
        let takes = lines * latency / self.slots;
        self.free = self.free.max(now) + Span::from_ps((takes * 1e3) as u64);
        self.waiting += lines;
    }

    /// When the next frame may leave.
    #[inline]
    pub(super) fn free(&self) -> Time {
        self.free
    }

    /// Reads for `dt` ns. Returns lines per ns.
    #[inline]
    pub(super) fn step(&mut self, dt: f64, latency: f64) -> f64 {
        if self.waiting == 0.0 {
            return 0.0;
        }
        let lines = smaller(self.waiting, dt * self.slots / latency);
        self.waiting -= lines;
        self.entered += lines;
        self.occupancy += lines * latency;
        lines / dt
    }

    /// Whether nothing is read.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.waiting == 0.0
    }

    /// Lines being read summed over nanoseconds, and lines read.
    pub(super) fn counters(&self) -> (f64, f64) {
        (self.occupancy, self.entered)
    }
}
