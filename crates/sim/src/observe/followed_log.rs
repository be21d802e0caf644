//! The log of followed flows, gathered from the nodes of a simulation that has ended.

use crate::host::Host;
use crate::world::{AnyNode, World};
use forebay_engine::NodeId;
use forebay_net::{Direction, Fabric};
use forebay_record::FlowRow;
use forebay_record::why::{FollowedFlow, HostStages, LinkOf, Log, NodeLog};
use forebay_transport::Frames;
use forebay_units::{Span, Time};
use forebay_wire::FlowId;

/// Gathers the log of a simulation from its nodes, about the flows of `rows` that are complete.
pub(crate) fn gather(world: &World, nodes: &mut [AnyNode], rows: &[FlowRow]) -> Log {
    let of = |node: &mut AnyNode| match node {
        AnyNode::Followed(one) => {
            let (flows, log) = one.take_log();
            (Some(flows), log)
        }
        _ => (None, NodeLog::default()),
    };
    let mut logs: Vec<_> = nodes.iter_mut().map(of).collect();
    logs.iter_mut().for_each(|(_, log)| log.sort());
    let flows = logs.iter_mut().find_map(|(flows, _)| flows.take());
    let stages = |host: u32, copies: bool| {
        nodes[host as usize].host().map_or_else(HostStages::default, |host| host.stages(copies))
    };
    let row = |row: &FlowRow, done: Time| {
        let followed = flows.as_ref()?.has(FlowId(row.flow));
        let cfg = &world.common.profiles[usize::from(row.traffic)].transport;
        followed.then(|| FollowedFlow {
            flow: row.flow,
            src: row.src,
            dst: row.dst,
            size: row.size.get(),
            start: row.start,
            done,
            ideal: row.ideal,
            on_credit: cfg.frames() == Frames::Message,
            queued_in_nic: nodes[row.src as usize].host().is_some_and(Host::queues_in_nic),
            host: [stages(row.src, cfg.copies()), stages(row.dst, cfg.copies())],
        })
    };
    let first_stream = world.common.first_stream;
    let complete = |one: &FlowRow| row(one, one.delivered.filter(|_| !one.is_endless())?);
    let stream = |one: &FlowRow| row(one, Time::MAX).filter(|of| of.flow >= first_stream);
    Log {
        nodes: logs.into_iter().map(|(_, log)| log).collect(),
        links: links(&world.fabric),
        names: world.plan.names.clone(),
        flows: rows.iter().filter_map(complete).collect(),
        streams: rows.iter().filter_map(stream).collect(),
    }
}

/// All links of cables, from port to port; links of control lead from nowhere to nowhere.
fn links(fabric: &Fabric) -> Vec<LinkOf> {
    let (from, to) = (u32::MAX, u32::MAX);
    let nowhere = LinkOf { from, to, flight: Span::ZERO, gap: Span::ZERO };
    let mut links = vec![nowhere; fabric.links().len()];
    for node in 0..fabric.nodes() {
        for direction in fabric.ports_of(NodeId(node)) {
            let Direction { peer, link, flight, gap, .. } = *direction;
            links[link.0 as usize] = LinkOf { from: node, to: peer.0, flight, gap };
        }
    }
    links
}
