//! What happened between two inspections of a run: rates, marks and drops, as a live picture shows them.
//!
//! Invariant: nothing here changes a run; the same inspections give the same numbers.

use super::inspect::{Inspection, PortState, SenderState};
use crate::host::MemoryState;
use forebay_units::{Span, Time};
use std::collections::BTreeMap;

/// What has been counted up to the last look.
#[derive(Debug, Default)]
pub struct IntervalBaseline {
    at: Time,
    delivered: u64,
    ports: Vec<IntervalCounts>,
    memories: Vec<MemoryState>,
    acked: BTreeMap<u32, u64>, // by flow, of those in progress
}

/// From the look before to the one at hand.
#[derive(Clone, Debug)]
pub struct Interval {
    /// End of the interval.
    pub at: Time,
    /// Length of the interval.
    pub span: Span,
    /// Payload handed to applications, in Gb/s.
    pub delivered_gbps: f64,
    /// Packets marked at all ports.
    pub marked: u64,
    /// Packets refused and lost at all ports.
    pub dropped: u64,
    /// Pause frames sent by all ports.
    pub pauses: u64,
    /// Every egress port, in canonical order.
    pub ports: Vec<PortInterval>,
    /// Every path to memory that is modelled, in the order of hosts.
    pub memories: Vec<MemoryInterval>,
    /// Every flow in progress at the end, in the order of [`Inspection::senders`].
    pub flows: Vec<FlowInterval>,
}

/// One egress port.
#[derive(Clone, Copy, Debug)]
pub struct PortInterval {
    /// Index of the node that sends, and of the one at the other end.
    pub ends: (u32, u32),
    /// Bytes queued at the end.
    pub queue: u64,
    /// Share of the interval that the wire was busy, 0 to 1; `None`: the link is down.
    pub busy: Option<f64>,
    /// Share for which the peer had paused it, 0 to 1.
    pub paused: f64,
    /// Packets marked.
    pub marked: u64,
    /// Packets refused and lost.
    pub dropped: u64,
}

/// One path to memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryInterval {
    /// Index of the host.
    pub host: u32,
    /// Bytes in the NIC buffer at the end.
    pub buffered: u64,
    /// Mean lines in IIO slots.
    pub lines: f64,
    /// Bandwidth over PCIe, in Gb/s.
    pub gbps: f64,
    /// Wait of writes for admission to memory at the end, in ns.
    pub wait_ns: f64,
    /// Throttle level at the end.
    pub level: u8,
}

/// One flow in progress.
#[derive(Clone, Copy, Debug)]
pub struct FlowInterval {
    /// The flow at the end.
    pub sender: SenderState,
    /// Payload acknowledged, in Gb/s.
    pub gbps: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct IntervalCounts {
    sent: u64,
    marked: u64,
    dropped: u64,
    paused: u64, // ps
    frames: u64,
}

impl IntervalCounts {
    fn of(state: &PortState) -> Self {
        let counted = &state.counters;
        Self {
            sent: counted.tx_bytes,
            marked: counted.marked_packets,
            dropped: counted.refused() + counted.lost_packets,
            paused: state.pauses.paused.as_ps(),
            frames: state.pauses.sent,
        }
    }
}

/// Bits of a line of memory per nanosecond are Gb/s.
const LINE_BITS: f64 = 512.0;

impl IntervalBaseline {
    /// What happened since the look before, or since the start.
    pub fn look(&mut self, now: &Inspection) -> Interval {
        let span = now.at.since(self.at);
        let ps = span.as_ps().max(1) as f64;
        let gbps = |bytes: u64| bytes as f64 * 8e3 / ps;
        self.ports.resize(now.ports.len(), IntervalCounts::default());
        let mut all = IntervalCounts::default();
        let mut ports = Vec::with_capacity(now.ports.len());
        for (state, before) in now.ports.iter().zip(&mut self.ports) {
            let after = IntervalCounts::of(state);
            let (marked, dropped) = (after.marked - before.marked, after.dropped - before.dropped);
            all.marked += marked;
            all.dropped += dropped;
            all.frames += after.frames - before.frames;
            let rate = state.rate.get() as f64 / 1e9;
            let busy = gbps(after.sent.saturating_sub(before.sent)) / rate;
            let paused = after.paused.saturating_sub(before.paused) as f64 / ps;
            ports.push(PortInterval {
                ends: (state.node, state.peer),
                queue: state.queue,
                busy: state.alive.then_some(busy.min(1.0)),
                paused: paused.min(1.0),
                marked,
                dropped,
            });
            *before = after;
        }
        let memories = now.memories.iter().enumerate().map(|(i, memory)| {
            let (lines, entered, from) = self
                .memories
                .get(i)
                .map_or((0.0, 0.0, Time::ZERO), |then| (then.occupancy, then.entered, then.at));
            let ns = (memory.at.since(from).as_ps() as f64 / 1e3).max(1.0);
            MemoryInterval {
                host: memory.host,
                buffered: memory.buffered,
                lines: (memory.occupancy - lines) / ns,
                gbps: (memory.entered - entered) * LINE_BITS / ns,
                wait_ns: memory.wait_ns,
                level: memory.level,
            }
        });
        let memories = memories.collect();
        let flows = now.senders.iter().map(|sender| {
            let before = self.acked.get(&sender.flow).copied().unwrap_or(0);
            FlowInterval { sender: *sender, gbps: gbps(sender.acked.saturating_sub(before)) }
        });
        let flows = flows.collect();
        let delivered = now.hosts.iter().map(|host| host.delivered_bytes).sum::<u64>();
        let interval = Interval {
            at: now.at,
            span,
            delivered_gbps: gbps(delivered - self.delivered),
            marked: all.marked,
            dropped: all.dropped,
            pauses: all.frames,
            ports,
            memories,
            flows,
        };
        self.acked = now.senders.iter().map(|sender| (sender.flow, sender.acked)).collect();
        (self.at, self.delivered) = (now.at, delivered);
        self.memories.clone_from(&now.memories);
        interval
    }
}
