//! Ports that pause each other in a circle: looked for while a run goes on, so that it can say when the circle closed.
//!
//! Checks are at multiples of a fixed time and change nothing, so what they find depends neither on threads nor on windows.
//! Assumption: a circle is a deadlock once all its queues have been paused for more than 10 ms,
//! longer than a switch takes to drain a buffer of 32 MB into 100 Gb/s (2.6 ms).

use crate::world::{AnyNode, World};
use forebay_engine::{EngineAccess, NodeId};
use forebay_net::CLASSES;
use forebay_record::DeadlockRow;
use forebay_units::{Span, Time};

/// A pause longer than this may be a deadlock.
const SUSPECT: Span = Span::from_ms(10);

/// How often that is looked at, so that a circle of this age is seen before it is twice as old.
pub(crate) const CHECK_EVERY: Span = SUSPECT;

/// The circles of a run so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deadlocks {
    found: Vec<Deadlock>,
}

/// One circle.
#[derive(Clone, Debug)]
struct Deadlock {
    ports: Vec<StuckClass>,
    row: DeadlockRow,
}

/// A class of an egress port that has been paused for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StuckClass {
    node: u32,
    port: usize,
    classes: u8, // one, or all where they are paused together
    since: Time,
}

impl Deadlocks {
    /// Notes circles that have closed since the last check, and those that have opened.
    pub fn check(&mut self, now: Time, engine: &mut impl EngineAccess<AnyNode>, world: &World) {
        let mut stuck = stuck(engine, world, now);
        for one in self.found.iter_mut().filter(|one| one.row.gone.is_none()) {
            match one.ports.iter().all(|port| stuck.contains(port)) {
                true => stuck.retain(|port| !one.ports.contains(port)),
                false => one.row.gone = Some(now),
            }
        }
        while let Some(ports) = circle(stuck.len(), |of| waits_for(&stuck, of, &mut *engine, world))
        {
            let ports: Vec<StuckClass> = ports.into_iter().map(|i| stuck[i]).collect();
            stuck.retain(|port| !ports.contains(port));
            let row = DeadlockRow {
                closed: ports.iter().map(|port| port.since).max().unwrap_or(now),
                gone: None,
                ports: ports.iter().map(|port| name(port, world)).collect(),
            };
            self.found.push(Deadlock { ports, row });
        }
    }

    /// What was found, in the order in which it was, and a sentence about it.
    pub fn finish(self) -> (Vec<DeadlockRow>, Option<String>) {
        let rows: Vec<DeadlockRow> = self.found.into_iter().map(|one| one.row).collect();
        let said = rows.first().map(|first| sentence(first, rows.len() - 1));
        (rows, said)
    }
}

fn sentence(first: &DeadlockRow, others: usize) -> String {
    let ms = |at: Time| at.as_secs_f64() * 1e3;
    let when = match first.gone {
        None => format!("from {:.3} ms on", ms(first.closed)),
        Some(gone) => format!("from {:.3} ms, gone by {:.0} ms", ms(first.closed), ms(gone)),
    };
    let more = match others {
        0 => String::new(),
        n => format!("; and {n} more, see deadlocks.csv"),
    };
    format!(
        "pause deadlock {when}: each of these ports was paused for more than 10 ms and waits for the next: {}{more}",
        first.ports.join(", ")
    )
}

fn name(port: &StuckClass, world: &World) -> String {
    let name = |node: NodeId| &world.plan.names[node.0 as usize];
    let peer = world.fabric.ports_of(NodeId(port.node))[port.port].peer;
    let class = match port.classes {
        u8::MAX => String::new(),
        one => format!(" class {}", one.ilog2()),
    };
    format!("{}->{}{class}", name(NodeId(port.node)), name(peer))
}

/// Stuck ports that hold packets which came in over the cable of `of`.
fn waits_for(
    stuck: &[StuckClass],
    of: usize,
    engine: &mut impl EngineAccess<AnyNode>,
    world: &World,
) -> Vec<usize> {
    let StuckClass { node, port, classes, .. } = stuck[of];
    let peer = world.fabric.ports_of(NodeId(node))[port].peer;
    let mut back = world.fabric.ports_of(peer).iter();
    let Some(back) = back.position(|d| d.peer == NodeId(node)) else { return Vec::new() };
    let Some(switch) = engine.node_mut(peer).switch() else { return Vec::new() };
    let holds = |one: &StuckClass| {
        one.node == peer.0 && one.classes & classes != 0 && switch.holds(one.port, back, classes)
    };
    (0..stuck.len()).filter(|i| holds(&stuck[*i])).collect()
}

/// All classes of egress ports of switches that have been paused for long.
fn stuck(engine: &mut impl EngineAccess<AnyNode>, world: &World, now: Time) -> Vec<StuckClass> {
    let long = |since: &Time| now.since(*since) > SUSPECT;
    let mut all = Vec::new();
    for node in world.fabric.hosts()..world.fabric.nodes() {
        let Some(switch) = engine.node_mut(NodeId(node)).switch() else { continue };
        for (port, one) in switch.ports().iter().enumerate() {
            if one.paused_values() == 1 {
                let since = one.paused_since().filter(long);
                all.extend(since.map(|since| StuckClass { node, port, classes: u8::MAX, since }));
                continue;
            }
            let of_class = |class: usize| {
                let since = one.class_paused_since(class).filter(long)?;
                Some(StuckClass { node, port, classes: 1 << class, since })
            };
            all.extend((0..CLASSES).filter_map(of_class));
        }
    }
    all
}

/// A circle in a graph of `nodes` nodes, if there is one.
fn circle(nodes: usize, mut next: impl FnMut(usize) -> Vec<usize>) -> Option<Vec<usize>> {
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
