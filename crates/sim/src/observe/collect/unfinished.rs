//! Flows that have not ended: how far they came, and what each waits for.

use crate::world::{AnyNode, World};
use forebay_engine::NodeId;
use forebay_record::{FlowRow, UnfinishedRow, WaitsFor};
use forebay_transport::{Sender, Wait};
use forebay_units::Bytes;
use forebay_wire::FlowId;
use std::collections::BTreeMap;

/// Flows that have begun and are not delivered, those without an end among them. Streams of connections have RPCs for that.
pub(super) fn unfinished(
    world: &World,
    nodes: &[AnyNode],
    flows: &[FlowRow],
) -> Vec<UnfinishedRow> {
    let first_stream = world.common.first_stream;
    let open: Vec<&FlowRow> =
        flows.iter().filter(|row| row.delivered.is_none() && row.flow < first_stream).collect();
    if open.is_empty() {
        return Vec::new();
    }
    let hosts = || nodes.iter().filter_map(AnyNode::host);
    let mut waits: BTreeMap<u32, WaitsFor> = BTreeMap::new();
    for host in hosts() {
        let paused = host.port().paused_classes();
        for (sent, sender) in host.unfinished() {
            waits.insert(sent.flow, of_sender(sender, paused));
        }
    }
    let down = world.timeline.any_down();
    let mut reached: BTreeMap<u32, Vec<bool>> = BTreeMap::new();
    let row = |flow: &&FlowRow| {
        let mut cut_off = || {
            let from = || world.timeline.reached(&world.fabric, NodeId(flow.src));
            down && !reached.entry(flow.src).or_insert_with(from)[flow.dst as usize]
        };
        let waits_for = match waits.get(&flow.flow) {
            _ if flow.gave_up.is_some() => WaitsFor::GaveUp,
            _ if cut_off() => WaitsFor::NoPath,
            Some(waits) => *waits,
            // The sender is done: all has arrived, and the application has not read it.
            None => WaitsFor::Reader,
        };
        let received = nodes[flow.dst as usize].host().map(|host| host.received(FlowId(flow.flow)));
        UnfinishedRow { flow: flow.flow, waits_for, received: Bytes::new(received.unwrap_or(0)) }
    };
    open.iter().map(row).collect()
}

/// Cause of a sender's wait. `paused`: classes that are paused at its NIC.
fn of_sender(sender: &Sender, paused: u8) -> WaitsFor {
    if sender.idle() {
        return WaitsFor::Network;
    }
    match sender.waits_for() {
        Wait::Nic if paused & 1 << sender.next_class().min(7) != 0 => WaitsFor::Pause,
        Wait::Nic => WaitsFor::Nic,
        Wait::Pause => WaitsFor::Pause,
        Wait::Congestion => WaitsFor::CongestionWindow,
        Wait::Receiver => WaitsFor::Receiver,
        Wait::Pacing => WaitsFor::Pacing,
        Wait::Application if sender.unsent() == 0 => WaitsFor::Acks,
        Wait::Application => WaitsFor::Application,
    }
}
