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

use forebay_sim::{Inspection, IntervalBaseline};

/// More flows in progress than these are counted and not listed.
const FLOWS: usize = 64;

/// The frame of what is found now, after the looks before.
pub(crate) fn frame(
    looks: &mut IntervalBaseline,
    now: &Inspection,
    over: bool,
    hops: u64,
) -> Vec<f32> {
    let since = looks.look(now);
    let mut frame = vec![
        now.at.as_ps() as f64 / 1e6,
        f64::from(u8::from(over)),
        since.delivered_gbps,
        since.marked as f64,
        since.dropped as f64,
        since.pauses as f64,
        since.flows.len() as f64,
        hops as f64 / 1e6,
        since.ports.len() as f64,
        since.memories.len() as f64,
    ];
    for port in &since.ports {
        frame.extend([
            port.queue as f64,
            port.busy.unwrap_or(-1.0),
            port.paused,
            port.marked as f64,
            port.dropped as f64,
        ]);
    }
    for memory in &since.memories {
        frame.extend([
            memory.buffered as f64,
            memory.lines,
            memory.gbps,
            memory.wait_ns,
            f64::from(memory.level),
        ]);
    }
    frame.push(now.racks.len() as f64);
    for rack in &now.racks {
        let queued = rack.queues.iter().map(|queue| queue.queue).sum::<u64>();
        frame.extend([f64::from(rack.node), queued as f64]);
    }
    for flow in since.flows.iter().take(FLOWS) {
        frame.extend([f64::from(flow.sender.flow), flow.gbps, flow.sender.cwnd as f64]);
    }
    frame.into_iter().map(|number| number as f32).collect()
}
