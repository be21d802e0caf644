//! Why a run no longer moves: the port or the timer that holds a flow; and pauses that a watchdog ended.

use crate::host::{Host, MessageUnderWay};
use crate::world::{AnyNode, World, machines};
use forebay_engine::{EngineAccess, NodeId};
use forebay_net::{CLASSES, Fabric};
use forebay_record::{CollectiveRow, FlowRow, ProgramRow, ProgramWait, RunRecord, WaitsFor};
use forebay_transport::Sender;
use forebay_units::{Span, Time, human};
use std::collections::{BTreeMap, BTreeSet};

/// Longest virtual time without a byte delivered before a run with unfinished flows, and nothing ahead that may help them, counts as
/// stalled.
const PATIENCE: Span = Span::from_secs(20);

/// Stalls are looked for at multiples of this time, whatever the steps in which a run advances.
pub(crate) const CHECK_EVERY: Span = Span::from_secs(1);

/// When something moved last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    delivered: u64, // payload, when last looked at
    since: Time,    // when that last rose, or nothing had to, or something was ahead or on a wire
}

impl Progress {
    /// Checks at a multiple of [`CHECK_EVERY`]. If nothing has moved for too long, no packet is on a wire, nothing in the timeline is ahead
    /// and no flow has a timer that can help it before `stop`: why.
    pub fn check(
        &mut self,
        now: Time,
        stop: Time,
        engine: &mut impl EngineAccess<AnyNode>,
        world: &World,
    ) -> Option<String> {
        let delivered = delivered(engine, &world.fabric);
        let waits = || world.timeline.next() < stop;
        let stands = delivered == self.delivered
            && !waits()
            && !sending(now, engine, world)
            && !may_recover(engine, world, stop);
        let why = if stands { why(engine, world) } else { None };
        if why.is_none() {
            *self = Self { delivered, since: now };
        }
        why.filter(|_| now.since(self.since) >= PATIENCE)
    }
}

/// Whether a port is sending: on a slow cable that takes longer than anybody's patience.
fn sending(now: Time, engine: &mut impl EngineAccess<AnyNode>, world: &World) -> bool {
    (0..world.fabric.nodes()).any(|n| {
        let ports = machines::node(engine, &world.fabric, NodeId(n)).ports();
        ports.iter().any(|port| port.alive() && port.busy() > now)
    })
}

/// Whether a flow that is not finished has a timer due before `stop`, and a path whose cables are all up to send again by.
fn may_recover(engine: &mut impl EngineAccess<AnyNode>, world: &World, stop: Time) -> bool {
    (0..world.fabric.hosts()).any(|h| {
        let Some(host) = machines::node(engine, &world.fabric, NodeId(h)).host() else {
            return false;
        };
        let timed = |(_, sender): &(_, &Sender)| !sender.idle() && sender.deadline() < stop;
        let flows: Vec<u32> = host.unfinished().filter(timed).map(|(sent, _)| sent.flow).collect();
        flows.into_iter().any(|flow| {
            let spec = world.common.flows[flow as usize];
            world.timeline.connects(&world.fabric, NodeId(spec.src), NodeId(spec.dst))
        })
    })
}

/// Payload bytes delivered so far, all hosts together.
fn delivered(engine: &mut impl EngineAccess<AnyNode>, fabric: &Fabric) -> u64 {
    (0..fabric.hosts())
        .map(|h| {
            machines::node(engine, fabric, NodeId(h))
                .host()
                .map_or(0, |host| host.delivered_bytes())
        })
        .sum()
}

/// One sentence about the first unfinished flow and all dead ports; `None` if every flow that started is done.
pub(crate) fn why(engine: &mut impl EngineAccess<AnyNode>, world: &World) -> Option<String> {
    let mut unfinished = 0u64;
    let mut first = None;
    for h in 0..world.fabric.hosts() {
        let Some(host) = machines::node(engine, &world.fabric, NodeId(h)).host() else { continue };
        for (sent, tcp) in host.unfinished().filter(|(_, tcp)| !tcp.idle()) {
            unfinished += 1;
            first.get_or_insert_with(|| {
                let spec = world.common.flows[sent.flow as usize];
                let timer = match tcp.deadline() {
                    Time::MAX if !host.port().alive() => "its NIC's link is down".to_string(),
                    _ if host.port().paused_classes() != 0 => "its NIC is paused".to_string(),
                    Time::MAX => "no timer is armed for it".to_string(),
                    at => format!(
                        "its next timer is at {:.3} ms after {} timeouts",
                        at.as_secs_f64() * 1e3,
                        sent.timeouts
                    ),
                };
                format!(
                    "flow {} from {} to {} has {} B in flight and {timer}",
                    sent.flow,
                    world.plan.names[spec.src as usize],
                    world.plan.names[spec.dst as usize],
                    tcp.totals().inflight.get(),
                )
            });
        }
    }
    let first = first?;
    let dead = dead_ports(engine, world);
    let ports =
        if dead.is_empty() { String::new() } else { format!("; dead ports: {}", dead.join(", ")) };
    Some(format!("no progress with {unfinished} flow(s) unfinished: {first}{ports}"))
}

fn dead_ports(engine: &mut impl EngineAccess<AnyNode>, world: &World) -> Vec<String> {
    let mut dead = Vec::new();
    for n in 0..world.fabric.nodes() {
        let ports: Vec<(bool, u64)> = machines::node(engine, &world.fabric, NodeId(n))
            .ports()
            .iter()
            .map(|p| (p.alive(), p.waiting()))
            .collect();
        for (direction, (alive, waiting)) in world.fabric.ports_of(NodeId(n)).iter().zip(ports) {
            if !alive && dead.len() < 4 {
                let name = |node: NodeId| &world.plan.names[node.0 as usize];
                dead.push(format!(
                    "{}->{} holding {waiting} packets",
                    name(NodeId(n)),
                    name(direction.peer)
                ));
            }
        }
    }
    dead
}

/// One sentence about flows that are not over and whose receivers no cable that is up leads to when the run ends.
pub(crate) fn cut_off(record: &RunRecord, world: &World) -> Option<String> {
    if !world.timeline.any_down() {
        return None;
    }
    let open = |row: &&FlowRow| row.delivered.is_none() && row.gave_up.is_none();
    let mut open: Vec<&FlowRow> = record.flows.iter().filter(open).collect();
    open.sort_by_key(|row| row.src); // stable: by number among those of a host
    let mut lost: Vec<&FlowRow> = Vec::new();
    for of_host in open.chunk_by(|a, b| a.src == b.src) {
        let reached = world.timeline.reached(&world.fabric, NodeId(of_host[0].src));
        lost.extend(of_host.iter().filter(|row| !reached[row.dst as usize]));
    }
    let first = lost.iter().min_by_key(|row| row.flow)?;
    let name = |host: u32| &world.plan.names[host as usize];
    let (flow, from, to) = (first.flow, name(first.src), name(first.dst));
    Some(match lost.len() {
        1 => format!(
            "flow {flow} is not over and has no path: no cables that are up lead from {from} to {to} when the run ends"
        ),
        n => format!(
            "{n} flows are not over and have no path: no cables that are up lead to their receivers when the run ends; \
             the first is flow {flow} from {from} to {to}"
        ),
    })
}

/// Why a run could not have gone on: all flows with an end that are left have no path, and no cable was to come up again. A cable that is down
/// from the start stops a run long before patience ends.
pub(crate) fn dead_end(record: &RunRecord) -> Option<String> {
    let has_end = |flow: u32| {
        let at = record.flows.binary_search_by_key(&flow, |row| row.flow).ok();
        at.is_some_and(|at| !record.flows[at].is_endless())
    };
    let left: Vec<_> = record.unfinished.iter().filter(|row| has_end(row.flow)).collect();
    let dead = !left.is_empty() && left.iter().all(|row| row.waits_for == WaitsFor::NoPath);
    (dead && record.not_started == 0 && record.connections.is_empty())
        .then(|| format!("no path is left for any of {} unfinished flow(s)", left.len()))
}

/// Two sentences for each entry with collectives that had not ended: how many, and who waits for whom. The first message that is under way counts; others wait
/// for what it brings.
pub(crate) fn collectives(record: &RunRecord, nodes: &[AnyNode], world: &World) -> Vec<String> {
    let mut open: BTreeMap<u16, Vec<&CollectiveRow>> = BTreeMap::new();
    for row in record.collectives.iter().filter(|row| row.end.is_none()) {
        open.entry(row.traffic).or_default().push(row);
    }
    if open.is_empty() {
        return Vec::new();
    }
    let apps = nodes.iter().filter_map(AnyNode::host).filter_map(Host::apps);
    let under_way: Vec<MessageUnderWay> = apps.flat_map(|apps| apps.under_way()).collect();
    let sent: BTreeSet<u32> =
        under_way.iter().filter(|one| one.is_sent).map(|one| one.flow).collect();
    let name = |host: u32| &world.plan.names[host as usize];
    let one = |(traffic, rows): (u16, Vec<&CollectiveRow>)| {
        let is_missing = |one: &&MessageUnderWay| one.traffic == traffic && !one.is_sent;
        let missing = || under_way.iter().filter(is_missing);
        let begun = missing().find(|one| sent.contains(&one.flow));
        let waits = begun.or(missing().next()).map_or(String::new(), |one| {
            let spec = world.common.flows[one.flow as usize];
            let (to, from) = (name(spec.dst), name(spec.src));
            match begun {
                Some(_) => format!(
                    "; {to} waits for a message of {from} that is under way, on flow {}",
                    one.flow
                ),
                None => format!("; {to} waits for {from}, which has not begun to send"),
            }
        });
        let host = |one: &MessageUnderWay| world.common.flows[one.flow as usize].dst;
        let messages: BTreeSet<_> = missing().map(|one| (host(one), one.op)).collect();
        let more = match messages.len() {
            0 | 1 => String::new(),
            2 => "; 1 more message is missing".into(),
            n => format!("; {} more messages are missing", n - 1),
        };
        let first = rows[0];
        format!(
            "traffic[{traffic}]: {} had not ended when the run did. Of collective {} of group {}, {} of {} ranks had all of their data{waits}{more}",
            human::counted(rows.len(), "collective"),
            first.number,
            first.group,
            first.done,
            first.ranks
        )
    };
    open.into_iter().map(one).collect()
}

/// One sentence about watchdogs that fired.
pub(crate) fn watchdogs(nodes: &[AnyNode], world: &World, end: Time) -> Option<String> {
    let mut places = Vec::new();
    let (mut fired, mut dropped) = (0, 0);
    for (n, node) in (0u32..).zip(nodes) {
        let Some(switch) = node.switch() else { continue };
        for (p, port) in switch.ports().iter().enumerate() {
            for class in 0..CLASSES {
                let Some(counted) = port.class_counters(class, end) else { continue };
                if counted.watchdog_fired == 0 {
                    continue;
                }
                (fired, dropped) =
                    (fired + counted.watchdog_fired, dropped + counted.watchdog_drops);
                let name = |node: NodeId| &world.plan.names[node.0 as usize];
                let peer = world.fabric.ports_of(NodeId(n))[p].peer;
                places.push(format!("{}->{} class {class}", name(NodeId(n)), name(peer)));
            }
        }
    }
    let first = places.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
    let more = match places.len().saturating_sub(4) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    (fired > 0).then(|| {
        format!(
            "pause watchdog: ended {fired} pauses and dropped {dropped} packets at {first}{more}"
        )
    })
}

/// One sentence about programs that did not end: who gave up, and who waits for whom. None if all ended, and if the run ended first, `cut`, and
/// no sender gave up.
pub(crate) fn programs(record: &RunRecord, world: &World, cut: bool) -> Option<String> {
    let mut left: Vec<&ProgramRow> = record.programs.iter().filter(|r| r.ended.is_none()).collect();
    let gave_up = |flow: u32| {
        let at = record.flows.binary_search_by_key(&flow, |row| row.flow).ok()?;
        record.flows[at].gave_up
    };
    // First senders that gave up, then those who wait for them, then all others.
    let rank = |row: &ProgramRow| match row.waits_for {
        Some(ProgramWait::GaveUp { .. }) => 0,
        Some(ProgramWait::Data(flow)) if gave_up(flow).is_some() => 1,
        _ => 2,
    };
    let failed = left.iter().any(|row| rank(row) < 2);
    if !failed && (cut || !left.iter().any(|row| row.awaited)) {
        return None;
    }
    left.sort_by_key(|row| rank(row)); // stable
    let name = |host: u32| &world.plan.names[host as usize];
    let (from, to) = (
        |flow: u32| name(world.common.flows[flow as usize].src),
        |flow: u32| name(world.common.flows[flow as usize].dst),
    );
    let ms = |at: Time| format!("{:.3} ms", at.as_secs_f64() * 1e3);
    let one = |row: &&ProgramRow| {
        let host = name(row.host);
        match row.waits_for {
            Some(ProgramWait::GaveUp { flow, at }) => {
                format!("{host} gave up sending to {} (flow {flow}, at {})", to(flow), ms(at))
            }
            Some(ProgramWait::Data(flow)) => match gave_up(flow) {
                Some(at) => format!(
                    "{host} waits for data from {}, which gave up (flow {flow}, at {})",
                    from(flow),
                    ms(at)
                ),
                None => format!("{host} waits for data from {} (flow {flow})", from(flow)),
            },
            Some(ProgramWait::Acks(flow)) => {
                format!("{host} waits for acknowledgements from {} (flow {flow})", to(flow))
            }
            Some(ProgramWait::Signal) => format!("{host} waits for a notification"),
            Some(ProgramWait::Time) | None => format!("{host} waits for a time"),
        }
    };
    let first = left.iter().take(4).map(one).collect::<Vec<_>>().join("; ");
    let more = match left.len().saturating_sub(4) {
        0 => String::new(),
        n => format!("; and {n} more"),
    };
    let all = record.programs.len();
    Some(format!("{} of {all} programs did not end: {first}{more}", left.len()))
}
