//! Why a run no longer moves: the port or the timer that holds a flow; and ports that pause each other in a circle.

use crate::build::Built;
use crate::node::AnyNode;
use forebay_engine::{Ground, NodeId};
use forebay_net::{CLASSES, Fabric};
use forebay_units::{Span, Time};

/// Payload bytes delivered so far, all hosts together.
pub(crate) fn delivered(ground: &mut impl Ground<AnyNode>, fabric: &Fabric) -> u64 {
    (0..fabric.hosts())
        .map(|h| ground.node_mut(NodeId(h)).host().map_or(0, |host| host.delivered_bytes))
        .sum()
}

/// One sentence about the first unfinished flow and all dead ports; `None` if every flow that started is done.
pub(crate) fn why(ground: &mut impl Ground<AnyNode>, built: &Built) -> Option<String> {
    let mut unfinished = 0u64;
    let mut first = None;
    for h in 0..built.fabric.hosts() {
        let Some(host) = ground.node_mut(NodeId(h)).host() else { continue };
        for (sent, tcp) in host.unfinished().filter(|(_, tcp)| !tcp.idle()) {
            unfinished += 1;
            first.get_or_insert_with(|| {
                let spec = built.common.flows[sent.flow as usize];
                let timer = match tcp.deadline() {
                    Time::MAX if !host.port().alive() => "its NIC's link is down".to_string(),
                    _ if host.port().stopped() != 0 => "its NIC is paused".to_string(),
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
                    built.plan.names[spec.src as usize],
                    built.plan.names[spec.dst as usize],
                    tcp.totals().inflight.get(),
                )
            });
        }
    }
    let first = first?;
    let dead = dead_ports(ground, built);
    let ports =
        if dead.is_empty() { String::new() } else { format!("; dead ports: {}", dead.join(", ")) };
    Some(format!("no progress with {unfinished} flow(s) unfinished: {first}{ports}"))
}

fn dead_ports(ground: &mut impl Ground<AnyNode>, built: &Built) -> Vec<String> {
    let mut dead = Vec::new();
    for n in 0..built.fabric.nodes() {
        let ports: Vec<(bool, u64)> =
            ground.node_mut(NodeId(n)).ports().iter().map(|p| (p.alive(), p.waiting())).collect();
        for (direction, (alive, waiting)) in built.fabric.ports_of(NodeId(n)).iter().zip(ports) {
            if !alive && dead.len() < 4 {
                let name = |node: NodeId| &built.plan.names[node.0 as usize];
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

/// A pause longer than this may be a deadlock. Source: lossless-fabric sheet section 3.
const SUSPECT: Span = Span::from_ms(10);

/// A class of an egress port that has been paused for long.
#[derive(Clone, Copy)]
struct Stuck {
    node: u32,
    port: usize,
    classes: u8, // one, or all where they are paused together
}

/// One sentence about ports that have been paused for longer than 10 ms and wait for each other in a circle: each holds packets
/// that the one before has to wait for.
pub(crate) fn pause_deadlock(nodes: &[AnyNode], built: &Built, end: Time) -> Option<String> {
    let fabric = &built.fabric;
    let stuck = stuck(nodes, end);
    // The ports that hold packets which came in over the cable of `of`.
    let waits_for = |of: usize| -> Vec<usize> {
        let Stuck { node, port, classes } = stuck[of];
        let peer = fabric.ports_of(NodeId(node))[port].peer;
        let back = fabric.ports_of(peer).iter().position(|d| d.peer == NodeId(node));
        let holds = |one: &Stuck| {
            let switch = nodes[one.node as usize].switch();
            let held = |b| switch.is_some_and(|s| s.holds(one.port, b, classes));
            one.node == peer.0 && one.classes & classes != 0 && back.is_some_and(held)
        };
        (0..stuck.len()).filter(|i| holds(&stuck[*i])).collect()
    };
    let circle = circle(stuck.len(), waits_for)?;
    let name = |node: NodeId| &built.plan.names[node.0 as usize];
    let port = |i: &usize| {
        let Stuck { node, port, classes } = stuck[*i];
        let peer = fabric.ports_of(NodeId(node))[port].peer;
        let class = match classes {
            u8::MAX => String::new(),
            one => format!(" class {}", one.ilog2()),
        };
        format!("{}->{}{class}", name(NodeId(node)), name(peer))
    };
    let ports: Vec<String> = circle.iter().map(port).collect();
    Some(format!(
        "pause deadlock: each of these ports has been paused for more than 10 ms and waits for the next: {}",
        ports.join(", ")
    ))
}

/// All classes of egress ports of switches that have been paused for long.
fn stuck(nodes: &[AnyNode], end: Time) -> Vec<Stuck> {
    let long = |since: Time| end.since(since) > SUSPECT;
    let mut all = Vec::new();
    for (node, one) in (0u32..).zip(nodes) {
        let Some(switch) = one.switch() else { continue };
        for (port, one) in switch.ports().iter().enumerate() {
            if one.paused_values() == 1 {
                let stopped = one.stopped_since().is_some_and(long);
                all.extend(stopped.then_some(Stuck { node, port, classes: u8::MAX }));
                continue;
            }
            let of_class = |class: &usize| one.class_stopped_since(*class).is_some_and(long);
            let classes = (0..CLASSES).filter(of_class).map(|class| 1 << class);
            all.extend(classes.map(|classes| Stuck { node, port, classes }));
        }
    }
    all
}

/// One sentence about watchdogs that fired.
pub(crate) fn watchdogs(nodes: &[AnyNode], built: &Built, end: Time) -> Option<String> {
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
                let name = |node: NodeId| &built.plan.names[node.0 as usize];
                let peer = built.fabric.ports_of(NodeId(n))[p].peer;
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

/// A circle in a graph of `nodes` nodes, if there is one.
fn circle(nodes: usize, next: impl Fn(usize) -> Vec<usize>) -> Option<Vec<usize>> {
    let mut done = vec![false; nodes];
    for start in 0..nodes {
        let mut path = Vec::new(); // each with what is left to try after it
        if !done[start] {
            path.push((start, next(start)));
        }
        while let Some((at, left)) = path.last_mut() {
            let at = *at;
            match left.pop() {
                Some(to) => {
                    if let Some(first) = path.iter().position(|(node, _)| *node == to) {
                        return Some(path[first..].iter().map(|(node, _)| *node).collect());
                    }
                    if !done[to] {
                        path.push((to, next(to)));
                    }
                }
                None => {
                    done[at] = true;
                    path.pop();
                }
            }
        }
    }
    None
}
