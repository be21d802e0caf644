//! One run of the testbed and what is read off it.

use super::setup::{HOST, Setup, Variant, WARM};
use crate::bench::{BenchRun, run_looking};
use crate::order::Samples;
use forebay_sim::{Inspection, MemoryState};
use forebay_units::Time;

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
    /// Mean latency of an antagonist's reads, ns.
    pub read_ns: f64,
    /// Share of time at each level.
    levels: Vec<f64>,
    /// Signals over time, if the setup records them.
    pub trace: Vec<Point>,
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
    /// Wait of writes for admission, ns.
    pub wait_ns: f64,
}

impl Outcome {
    /// Memory bandwidth of all, GB/s.
    pub fn memory(&self) -> f64 {
        self.netapp + self.mapp
    }

    /// Shares of time at all levels, in words.
    pub fn levels_said(&self) -> String {
        let each = (0..self.levels.len()).map(|l| format!("{l} {:.3}", self.level_share(l)));
        format!("shares of time at levels: {}", each.collect::<Vec<_>>().join(", "))
    }

    /// Share of time at a level.
    pub fn level_share(&self, level: usize) -> f64 {
        self.levels.get(level).copied().unwrap_or(f64::NAN)
    }
}

/// Runs a setup.
pub(super) fn run(setup: &Setup) -> Outcome {
    let mut states = Vec::new();
    let text = setup.text();
    let times = if setup.traced { trace_times() } else { Vec::new() };
    let seen = run_looking("hostcc", &text, setup.seed, (WARM, setup.end()), times, |state| {
        states.extend(state.memories.first().copied());
    });
    let trace = if setup.traced { trace(&states) } else { Vec::new() };
    Outcome { trace, ..read(setup, &seen) }
}

/// How long a reading takes a law, ns.
const READING: u64 = 650;

/// 15 ms from the end of the warm-up on, a nanosecond after each reading of occupancy: that loop never waits.
fn trace_times() -> Vec<Time> {
    let first = (WARM * 1e9) as u64 / READING + 1;
    let at = |reading: u64| Time::from_ps((reading * READING + 1) * 1000);
    (first..first + 15_000_000 / READING).map(at).collect()
}

/// From a decision to its level, us.
pub(super) const WRITE_US: f64 = 22.0;

/// Smoothed as hostCC does, and without the first millisecond, in which the slower of the two settles. The loop that reads
/// insertions also writes levels: while it does it reads nothing, and the reading after it counts as one.
fn trace(states: &[MemoryState]) -> Vec<Point> {
    let us = |state: &MemoryState| state.at.as_ps() as f64 * 1e-6;
    let changes = states.windows(2).filter(|two| two[0].level != two[1].level);
    let changes: Vec<f64> = changes.map(|two| us(&two[1])).collect();
    let writing = |at: f64| {
        changes.get(changes.partition_point(|c| *c <= at)).is_some_and(|c| *c - WRITE_US < at)
    };
    let mut points: Vec<Point> = Vec::with_capacity(states.len());
    let Some(mut read) = states.first() else { return points };
    for two in states.windows(2) {
        let at = us(&two[1]);
        let sample = (two[1].occupancy - two[0].occupancy) / ((at - us(&two[0])) * 1e3);
        let last = points.last().copied();
        let occupancy = last.map_or(sample, |p| p.occupancy + (sample - p.occupancy) / 8.0);
        let bandwidth = if writing(at) {
            last.map_or(0.0, |p| p.bandwidth)
        } else {
            let sample = (two[1].entered - read.entered) * 0.512 / (at - us(read));
            read = &two[1];
            last.map_or(sample, |p| p.bandwidth + (sample - p.bandwidth) / 256.0)
        };
        let (level, wait_ns) = (two[1].level, two[1].wait_ns);
        points.push(Point { us: at, occupancy, bandwidth, level, wait_ns });
    }
    let from = points.first().map_or(0.0, |p| p.us) + 1000.0;
    points.retain(|p| p.us >= from);
    points
}

fn read(setup: &Setup, seen: &BenchRun) -> Outcome {
    let memory = seen.record.memory.first().expect("one host has a path to memory");
    let ns = memory.span.as_ps() as f64 * 1e-3;
    let (sent_again, sent) = sent(setup, seen);
    let working = f64::from(setup.flows.min(CORES));
    let reads = memory.antagonists.iter().sum::<f64>() / setup.traffic_per_read() / ns;
    let goodput = match setup.variant {
        // What the path to memory counts is read there by applications over TCP.
        Variant::Sender | Variant::Rdma => {
            let of = |all: &Inspection| all.hosts[HOST].delivered_bytes as f64;
            (of(&seen.after) - of(&seen.before)) * 8e-9 / seen.seconds()
        }
        _ => memory.goodput_gbps(),
    };
    Outcome {
        goodput,
        drops: memory.drop_share() * 100.0,
        retransmits: sent_again / sent * 100.0,
        netapp: memory.network_gigabytes(),
        mapp: memory.antagonist_gigabytes(),
        pcie: memory.pcie_gbps(),
        occupancy: memory.occupancy,
        slot_ns: memory.occupancy * ns / memory.entered,
        busy: memory.reading / working,
        read_ns: setup.lines_in_flight() * f64::from(setup.cores) / reads,
        levels: memory.levels.clone(),
        latencies: Samples::new(match setup.rpc {
            Some(_) => seen.latencies(setup.rpc_entry()),
            None => Vec::new(),
        }),
        trace: Vec::new(),
    }
}

/// Cores of the NIC's socket.
const CORES: u32 = 8;

/// Segments that the senders of data sent again in the measured part, and all that they sent.
fn sent(setup: &Setup, seen: &BenchRun) -> (f64, f64) {
    let mut sent = (0.0, 0.0);
    for after in seen.after.senders.iter().filter(|s| s.host as usize != HOST) {
        let before = seen.before.senders.iter().find(|s| s.flow == after.flow);
        let (acked, again) = before.map_or((0, 0), |s| (s.acked, s.retransmits));
        let again = (after.retransmits - again) as f64;
        sent.0 += again;
        sent.1 += again + (after.acked - acked) as f64 / f64::from(setup.payload());
    }
    sent
}
