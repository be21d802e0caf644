//! One run of the testbed and what is read off it.

use super::setup::{HOST, Setup, WARM};
use crate::bench::{Seen, run_seed};
use crate::order::Samples;

/// What a run gives. All of the measured part, without the start-up.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// Payload that applications read, Gb/s.
    pub goodput: f64,
    /// Frames that the NIC had no room for, per cent of those that came.
    pub drops: f64,
    /// Segments that senders sent again, per cent of those they sent.
    pub retransmits: f64,
    /// Memory bandwidth of NetApp-T: writes of the NIC and reads of copying, GB/s.
    pub netapp: f64,
    /// Memory bandwidth of MApp, GB/s.
    pub mapp: f64,
    /// Bandwidth that the NIC uses on PCIe, Gb/s.
    pub pcie: f64,
    /// Mean lines in IIO slots.
    pub occupancy: f64,
    /// Mean time of a line in its slot, ns: Little's law.
    pub slot_ns: f64,
    /// Share of time that the cores of long flows work.
    pub busy: f64,
    /// Share of time that writes wait for admission.
    pub waiting: f64,
    /// Mean latency of a neighbour's reads, ns.
    pub read_ns: f64,
    /// Share of time at each level.
    levels: Vec<f64>,
    /// Signals over time, if the setup asks for them.
    pub trace: Vec<Point>,
    /// Time from one sample of a signal to the next, us.
    pub read_us: f64,
    /// Time from a decision to its level, us.
    pub write_us: f64,
    /// Latencies of NetApp-L's RPCs, us.
    pub latencies: Samples,
}

/// The signals at a moment, smoothed as hostCC does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    /// Since the start of the run.
    pub us: f64,
    /// I_S, lines.
    pub occupancy: f64,
    /// B_S, Gb/s.
    pub bandwidth: f64,
    pub level: u8,
}

impl Outcome {
    /// Memory bandwidth of all, GB/s.
    pub fn memory(&self) -> f64 {
        self.netapp + self.mapp
    }

    /// Share of time at a level.
    pub fn level_share(&self, level: usize) -> f64 {
        self.levels.get(level).copied().unwrap_or(f64::NAN)
    }
}

/// Runs a setup.
pub(super) fn run(setup: &Setup) -> Outcome {
    let seen = run_seed("hostcc", &setup.text(), setup.seed, WARM, setup.end());
    read(setup, &seen)
}

fn read(setup: &Setup, seen: &Seen) -> Outcome {
    let _ = HOST;
    let latencies = Samples::new(match setup.rpc {
        Some(_) => seen.latencies(setup.rpc_entry()),
        None => Vec::new(),
    });
    Outcome { latencies, ..Outcome::default() }
}
