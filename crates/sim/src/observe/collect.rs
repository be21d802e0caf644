//! From nodes that have stopped to a record.

mod classes;
mod collectives;
mod credits;
pub(crate) mod memory;
mod rpc;
mod unfinished;

use super::Deliveries;
use super::ideals::Ideals;
use crate::host::{Host, SenderEnd};
use crate::world::{AnyNode, World, machines};
use forebay_engine::{Digest, EngineAccess, NodeId, combine};
use forebay_net::{CLASSES, Fabric, Port, PortCounters};
use forebay_record::{
    ClassPauseRow, FlowRow, NodeCounters, PortRow, ProgramRow, Quantity, RunRecord, Series,
};
use forebay_scenario::model::Scenario;
use forebay_units::{Bytes, Span, Time};

/// What a port has counted that had not begun, and how long the transmission under way had still to go.
pub(crate) type Unsent = (PortCounters, Span);

/// Of each link: what its port has counted although its transmission has not begun by `end`. Empties the links, one at a time, since all
/// packets of a large network beside themselves would be a third of the memory of a run.
pub(crate) fn unsent(
    engine: &mut impl EngineAccess<AnyNode>,
    fabric: &Fabric,
    end: Time,
) -> Vec<Unsent> {
    let mut all = vec![Unsent::default(); fabric.links().len()];
    for n in 0..fabric.nodes() {
        for (p, direction) in fabric.ports_of(NodeId(n)).iter().enumerate() {
            let flying = engine.drain_link(direction.link);
            let port = &machines::node(engine, fabric, NodeId(n)).ports()[p];
            all[direction.link.0 as usize] = port.unsent(end, &flying);
        }
    }
    all
}

/// Everything that one simulation leaves.
pub(crate) fn collect(
    scenario: &Scenario,
    world: &World,
    nodes: &[AnyNode],
    unsent: &[Unsent],
    end: Time,
) -> RunRecord {
    let ports = ports(world, nodes, unsent, end);
    let hosts = || nodes.iter().filter_map(AnyNode::host);
    let totals = NodeCounters {
        packet_hops: ports.iter().map(|p| p.tx_packets).sum(),
        delivered_bytes: hosts().map(|h| h.delivered_bytes()).sum(),
        delivered_segments: hosts().map(|h| h.delivered_segments()).sum(),
    };
    let digests = nodes.iter().map(AnyNode::digest);
    let flows = flows(scenario, world, nodes);
    let collectives = collectives::collectives(scenario, nodes);
    let mut connections = rpc::connections(world, nodes);
    connections.extend(collectives::connections(scenario, nodes, &flows, &collectives));
    RunRecord {
        seed: world.common.seed,
        hosts: world.plan.names[..world.plan.hosts].to_vec(),
        not_started: unstarted(world, &flows),
        unfinished: unfinished::unfinished(world, nodes, &flows),
        flows,
        credits: credits::by_flow(nodes),
        class_arrivals: credits::by_class(nodes),
        connections,
        collectives,
        steps: collectives::steps(nodes),
        rpcs: rpc::rpcs(scenario, world, nodes),
        ports,
        links: Vec::new(),
        class_pauses: class_pauses(world, nodes, end),
        deadlocks: Vec::new(),
        memory: memory::memory(scenario, world, nodes, end),
        memory_series: memory::series(world, nodes),
        series: series(scenario, world, nodes),
        why: Vec::new(),
        waited: waited(nodes),
        programs: programs(nodes),
        totals,
        end,
        interrupted: false,
        stalled: false,
        digest: combine(digests.collect::<Vec<Digest>>()),
    }
}

/// All programs.
fn programs(nodes: &[AnyNode]) -> Vec<ProgramRow> {
    let hosts = (0u32..).zip(nodes).filter_map(|(id, node)| Some((id, node.host()?.apps()?)));
    let row = |(host, (traffic, awaited, ended, waits_for))| ProgramRow {
        host,
        traffic,
        awaited,
        ended,
        waits_for,
    };
    hosts.flat_map(|(id, apps)| apps.ends().map(move |one| (id, one))).map(row).collect()
}

/// Flows that programs started after operations on others, each with the last of these.
fn waited(nodes: &[AnyNode]) -> Vec<(u32, u32)> {
    let apps = nodes.iter().filter_map(AnyNode::host).filter_map(Host::apps);
    let mut all: Vec<(u32, u32)> = apps.flat_map(|apps| apps.waited.iter().copied()).collect();
    all.sort_unstable();
    all
}

/// Flows that had not started. A stream begins with its first byte, and one that carried none is not missed.
fn unstarted(world: &World, started: &[FlowRow]) -> u64 {
    let first = world.common.first_stream;
    u64::from(first) - started.iter().filter(|row| row.flow < first).count() as u64
}

fn flows(scenario: &Scenario, world: &World, nodes: &[AnyNode]) -> Vec<FlowRow> {
    let common = &world.common;
    let mut sent: Vec<Option<SenderEnd>> = vec![None; common.flows.len()];
    let mut delivered: Vec<Option<Time>> = vec![None; common.flows.len()];
    for host in nodes.iter().filter_map(AnyNode::host) {
        for one in host.sent().iter().copied().chain(host.unfinished().map(|u| u.0)) {
            sent[one.flow as usize] = Some(one);
        }
        for one in host.delivered() {
            delivered[one.flow as usize] = Some(one.at);
        }
    }
    let mut ideals = Ideals::new(scenario, world);
    let mut rows = Vec::with_capacity(sent.len());
    for (flow, one) in (0u32..).zip(sent) {
        let (Some(one), spec) = (one, common.flows[flow as usize]) else { continue };
        let size = if spec.size == Bytes::ZERO { Bytes::MAX } else { spec.size };
        let ideal = if size == Bytes::MAX { Span::ZERO } else { ideals.fct(flow, size) };
        rows.push(FlowRow {
            flow,
            traffic: spec.traffic,
            src: spec.src,
            dst: spec.dst,
            size,
            start: one.started,
            delivered: delivered[flow as usize],
            acked: one.acked,
            gave_up: one.gave_up,
            ideal,
            retransmits: one.retransmits,
            timeouts: one.timeouts,
        });
    }
    rows
}

fn ports(world: &World, nodes: &[AnyNode], unsent: &[Unsent], end: Time) -> Vec<PortRow> {
    let mut rows = Vec::new();
    let puts = put_counters();
    for (n, node) in (0u32..).zip(nodes) {
        let directions = world.fabric.ports_of(NodeId(n));
        for (p, direction) in directions.iter().enumerate() {
            let port = &node.ports()[p];
            let unsent = unsent[direction.link.0 as usize];
            let ingress = node.switch().map(|switch| switch.ingress(p)).unwrap_or_default();
            let ends = (NodeId(n), direction.peer);
            let plain = row(world, ends, port, unsent, (&puts, end));
            let pauses = port.pauses(end);
            rows.push(PortRow {
                pause_frames_sent: pauses.sent,
                pause_frames_received: pauses.received,
                paused: pauses.paused,
                headroom_peak: Bytes::new(ingress.headroom_peak),
                lossless_drops: ingress.lossless_drops,
                ..plain
            });
        }
    }
    rows
}

/// A row for each port and class that was paused or sent pauses.
fn class_pauses(world: &World, nodes: &[AnyNode], end: Time) -> Vec<ClassPauseRow> {
    let mut rows = Vec::new();
    for (n, node) in (0u32..).zip(nodes) {
        let name = |node: NodeId| world.plan.names[node.0 as usize].clone();
        for (p, direction) in world.fabric.ports_of(NodeId(n)).iter().enumerate() {
            for class in 0..CLASSES {
                let Some(counted) = node.ports()[p].class_counters(class, end) else { continue };
                let ingress = node.switch().and_then(|switch| switch.class_ingress(p, class));
                let ingress = ingress.unwrap_or_default();
                let row = ClassPauseRow {
                    node: name(NodeId(n)),
                    peer: name(direction.peer),
                    class: class as u8,
                    pause_frames_sent: counted.pauses.sent,
                    pause_frames_received: counted.pauses.received,
                    paused: counted.pauses.paused,
                    headroom_peak: Bytes::new(ingress.headroom_peak),
                    lossless_drops: ingress.lossless_drops,
                    watchdog_fired: counted.watchdog_fired,
                    watchdog_drops: counted.watchdog_drops,
                };
                let silent = row.pause_frames_sent + row.pause_frames_received == 0;
                if !silent || row.lossless_drops > 0 {
                    rows.push(row);
                }
            }
        }
    }
    rows
}

fn row(
    world: &World,
    (node, peer): (NodeId, NodeId),
    port: &Port,
    (unsent, left): Unsent,
    (puts, end): (&[PutCounter], Time),
) -> PortRow {
    let name = |node: NodeId| world.plan.names[node.0 as usize].clone();
    let mut row = PortRow {
        node: name(node),
        peer: name(peer),
        rate: port.settings().rate,
        max_queue: Bytes::new(port.highest()),
        ..PortRow::default()
    };
    let counted = port.counters().values().into_iter().zip(unsent.values());
    for (put, (counted, unsent)) in puts.iter().zip(counted) {
        put(&mut row, counted - unsent);
    }
    row.busy = Some(busy(port, &row, left, end));
    row
}

/// Sets a counter of a port's row.
type PutCounter = fn(&mut PortRow, u64);

/// How the counters of a port are set in a row, in the order of their names.
fn put_counters() -> Vec<PutCounter> {
    let put = |name: &&str| {
        PortRow::put(name).unwrap_or_else(|| panic!("ports.csv has no column for {name}"))
    };
    PortCounters::NAMES.iter().map(put).collect()
}

/// How long a port has transmitted by `end`, at its rate of then: all that it sent, less what is left of a packet in transmission.
fn busy(port: &Port, sent: &PortRow, left: Span, end: Time) -> Span {
    let overhead = sent.tx_packets * port.overhead();
    if sent.rate.get() == 0 {
        return Span::ZERO;
    }
    let all = sent.rate.time_for(Bytes::new(sent.tx_bytes.get() + overhead));
    // At a rate that was higher before, or with remainders of picoseconds, the sum may pass the end.
    Span::from_ps(all.saturating_sub(left).as_ps().min(end.as_ps()))
}

fn series(scenario: &Scenario, world: &World, nodes: &[AnyNode]) -> Vec<Series> {
    let mut all = super::flow_samples::series(nodes, &world.common.flows, &world.plan.names);
    let Some(every) = scenario.output.queues.as_ref().map(|queues| queues.every) else {
        return all;
    };
    for (n, node) in (0u32..).zip(nodes) {
        let Some((ports, times, queues)) = node.switch().and_then(|s| s.samples()) else {
            continue;
        };
        let directions = world.fabric.ports_of(NodeId(n));
        for (i, port) in ports.iter().enumerate() {
            let peer = &world.plan.names[directions[usize::from(*port)].peer.0 as usize];
            all.push(Series {
                name: format!("{}->{peer} queue", world.plan.names[n as usize]),
                quantity: Quantity::Queue,
                unit: "bytes",
                at: times.to_vec(),
                values: queues.iter().skip(i).step_by(ports.len()).map(|q| *q as f64).collect(),
            });
        }
    }
    all.extend(classes::series(world, nodes));
    all.push(goodput(every, nodes));
    all.extend(paused(world, every, nodes));
    all.extend(credits::series(world, every, nodes));
    all
}

/// Of each port that a peer has paused, or of each class there, the share of each interval for which it was, stamped with the interval's end.
fn paused(world: &World, every: Span, nodes: &[AnyNode]) -> Vec<Series> {
    let mut all = Vec::new();
    for (n, node) in (0u32..).zip(nodes) {
        let directions = world.fabric.ports_of(NodeId(n));
        let of_host = node.host().and_then(Host::observer::<Deliveries>);
        let of_host = of_host.map(|seen| (&[0][..], seen.bytes.len(), &seen.paused[..]));
        let of_switch = || {
            let switch = node.switch()?;
            let (ports, times, _) = switch.samples()?;
            Some((ports, times.len(), switch.sampled_paused()))
        };
        let Some((ports, samples, paused)) = of_host.or_else(of_switch) else { continue };
        let each = node.ports()[0].paused_values();
        let values = ports.len() * each;
        for (i, port) in (0..values).map(|i| (i, ports[i / each])) {
            // What was not sampled came before the first pause.
            let later = paused.len() / values;
            let at = |sample: usize| match sample.checked_sub(samples - later) {
                Some(sample) => paused[sample * values + i],
                None => Span::ZERO,
            };
            if later == 0 || at(samples - 1) == Span::ZERO {
                continue;
            }
            let name = |node: NodeId| &world.plan.names[node.0 as usize];
            let share = |i: usize| (at(i) - at(i - 1)).as_ps() as f64 / every.as_ps() as f64;
            let class = if each > 1 { format!(" class {}", i % each) } else { String::new() };
            all.push(Series {
                name: format!(
                    "{}->{}{class} paused",
                    name(NodeId(n)),
                    name(directions[usize::from(port)].peer)
                ),
                quantity: Quantity::Paused,
                unit: "fraction",
                at: (1..samples).map(|i| Time::ZERO + every * i as u64).collect(),
                values: (1..samples).map(share).collect(),
            });
        }
    }
    all
}

/// Payload delivered to all applications in each interval, stamped with the interval's end.
fn goodput(every: Span, nodes: &[AnyNode]) -> Series {
    let hosts = nodes.iter().filter_map(AnyNode::host);
    let seen = hosts.filter_map(Host::observer::<Deliveries>);
    let hosts: Vec<&[u64]> = seen.map(|seen| &seen.bytes[..]).collect();
    let samples = hosts.iter().map(|h| h.len()).min().unwrap_or(0);
    let total = |i: usize| hosts.iter().map(|h| h[i]).sum::<u64>();
    let gbps = |i: usize| (total(i) - total(i - 1)) as f64 * 8.0 / (every.as_secs_f64() * 1e9);
    Series {
        name: "goodput of all hosts".into(),
        quantity: Quantity::Goodput,
        unit: "gbps",
        at: (1..samples).map(|i| Time::ZERO + every * i as u64).collect(),
        values: (1..samples).map(gbps).collect(),
    }
}
