//! One picture of a running simulation as a row of numbers: what the page draws.
//!
//! Layout, all numbers `f32`. Ten of the whole: time in us, whether the run is over, payload delivered in Gb/s, packets marked, packets
//! dropped (lost ones included), frames of pause sent, flows in progress, packet-hops so far in millions, number of ports `p`, number of
//! paths to memory `m`. Then five for each port: bytes queued, share of the interval that the wire was busy (-1: link down),
//! share for which the peer had paused it, packets marked, packets dropped. Then five for each path to memory: bytes in the NIC
//! buffer, mean lines in IIO slots, Gb/s over PCIe, wait of writes in ns, throttle level. Then for each rack that queues by
//! destination: index of its node, bytes queued; their number goes first. Last for each flow in progress, the first [`FLOWS`]: number,
//! Gb/s acknowledged, window in bytes.
//! What is said of an interval is of the time since the frame before.

use forebay_sim::{Inspection, MemoryState, PortState};
use forebay_units::Time;
use std::collections::BTreeMap;

/// More flows in progress than these are counted and not listed.
const FLOWS: usize = 64;

/// What the frame before had counted.
#[derive(Default)]
pub(crate) struct Before {
    at: Time,
    delivered: u64,
    ports: Vec<Port>,
    memories: Vec<MemoryState>,
    acked: BTreeMap<u32, u64>, // by flow, of those in progress
}

#[derive(Clone, Copy, Default)]
struct Port {
    sent: u64,
    marked: u64,
    dropped: u64,
    paused: u64, // ps
    frames: u64,
}

impl Port {
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

impl Before {
    /// The frame of what is found now, after the one before.
    pub fn frame(&mut self, now: &Inspection, over: bool, hops: u64) -> Vec<f32> {
        let ps = now.at.since(self.at).as_ps().max(1) as f64;
        let gbps = |bytes: u64| bytes as f64 * 8e3 / ps;
        self.ports.resize(now.ports.len(), Port::default());
        let (mut all, mut ports) = (Port::default(), Vec::new());
        for (state, before) in now.ports.iter().zip(&mut self.ports) {
            let after = Port::of(state);
            let rate = state.rate.get() as f64 / 1e9;
            let marked = after.marked - before.marked;
            let dropped = after.dropped - before.dropped;
            all.marked += marked;
            all.dropped += dropped;
            all.frames += after.frames - before.frames;
            let busy = gbps(after.sent.saturating_sub(before.sent)) / rate;
            let paused = after.paused.saturating_sub(before.paused) as f64 / ps;
            ports.extend([
                state.queue as f64,
                if state.alive { busy.min(1.0) } else { -1.0 },
                paused.min(1.0),
                marked as f64,
                dropped as f64,
            ]);
            *before = after;
        }
        let delivered = now.hosts.iter().map(|host| host.delivered_bytes).sum::<u64>();
        let mut frame = vec![
            now.at.as_ps() as f64 / 1e6,
            f64::from(u8::from(over)),
            gbps(delivered - self.delivered),
            all.marked as f64,
            all.dropped as f64,
            all.frames as f64,
            now.senders.len() as f64,
            hops as f64 / 1e6,
            now.ports.len() as f64,
            now.memories.len() as f64,
        ];
        frame.append(&mut ports);
        for (i, memory) in now.memories.iter().enumerate() {
            let (lines, entered, ns) = self.memories.get(i).map_or((0.0, 0.0, memory.at), |then| {
                (then.occupancy, then.entered, Time::from_ps(memory.at.since(then.at).as_ps()))
            });
            let ns = (ns.as_ps() as f64 / 1e3).max(1.0);
            frame.extend([
                memory.buffered as f64,
                (memory.occupancy - lines) / ns,
                (memory.entered - entered) * 512.0 / ns,
                memory.wait_ns,
                f64::from(memory.level),
            ]);
        }
        frame.push(now.racks.len() as f64);
        for rack in &now.racks {
            let queued = rack.queues.iter().map(|queue| queue.queue).sum::<u64>();
            frame.extend([f64::from(rack.node), queued as f64]);
        }
        for sender in now.senders.iter().take(FLOWS) {
            let before = self.acked.get(&sender.flow).copied().unwrap_or(0);
            frame.extend([
                f64::from(sender.flow),
                gbps(sender.acked.saturating_sub(before)),
                sender.cwnd as f64,
            ]);
        }
        self.acked = now.senders.iter().map(|sender| (sender.flow, sender.acked)).collect();
        (self.at, self.delivered) = (now.at, delivered);
        self.memories.clone_from(&now.memories);
        frame.into_iter().map(|number| number as f32).collect()
    }
}
