//! What changes in the fabric during a run: forced boundaries, each with its steps.

use super::machines;
use super::node::AnyNode;
use super::routes::Routing;
use forebay_engine::{EngineAccess, NodeId};
use forebay_net::{DropRule, Fabric, LinkLeftovers, PortFault};
use forebay_scenario::model::{Change, Scenario};
use forebay_scenario::plan::Plan;
use forebay_units::Time;
use forebay_wire::FlowId;

/// Faults and reroutes in order of time.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    steps: Vec<(Time, Step)>,
    taken: usize,
    alive: Vec<bool>, // by cable
    routing: Routing,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Fault { link: Link, change: PortFault },
    Reroute,
}

impl Timeline {
    pub fn new(scenario: &Scenario, plan: &Plan, fabric: &Fabric, routing: Routing) -> Self {
        let mut steps = Vec::new();
        for fault in &scenario.faults {
            let Some(link) = Link::of(plan, &fault.link) else { continue };
            let Some(change) = fault.change() else { continue };
            if let (Some(after), Change::Down | Change::Up) =
                (scenario.fabric.reroute_after, &change)
            {
                steps.push((fault.at.saturating_add(after), Step::Reroute));
            }
            let faults = faults_of_port(change);
            steps.extend(faults.into_iter().map(|change| (fault.at, Step::Fault { link, change })));
        }
        // At one instant faults come first, in file order; the sort is stable.
        steps.sort_by_key(|(at, step)| (*at, matches!(step, Step::Reroute)));
        Self { steps, taken: 0, alive: vec![true; fabric.cables().len()], routing }
    }

    /// Whether a cable is down.
    pub fn any_down(&self) -> bool {
        self.alive.contains(&false)
    }

    /// Whether cables that are up lead from one host to another.
    pub fn connects(&self, fabric: &Fabric, from: NodeId, to: NodeId) -> bool {
        self.reached(fabric, from)[to.0 as usize]
    }

    /// Of each node, whether cables that are up lead to it from a host.
    pub fn reached(&self, fabric: &Fabric, from: NodeId) -> Vec<bool> {
        let mut seen = vec![false; fabric.nodes() as usize];
        let mut next = vec![from];
        seen[from.0 as usize] = true;
        while let Some(node) = next.pop() {
            if node != from && fabric.is_host(node) {
                continue; // hosts forward nothing
            }
            for direction in fabric.ports_of(node) {
                let peer = direction.peer.0 as usize;
                if self.alive[direction.cable as usize] && !seen[peer] {
                    seen[peer] = true;
                    next.push(direction.peer);
                }
            }
        }
        seen
    }

    /// When something changes next.
    pub fn next(&self) -> Time {
        self.steps.get(self.taken).map_or(Time::MAX, |s| s.0)
    }

    /// Takes every step due at `now`, before which everything has been handled.
    pub fn apply(&mut self, now: Time, fabric: &Fabric, engine: &mut impl EngineAccess<AnyNode>) {
        while self.next() <= now {
            match self.steps[self.taken].1 {
                Step::Fault { link, change } => self.fault(now, link, change, fabric, engine),
                Step::Reroute => self.reroute(fabric, engine),
            }
            self.taken += 1;
        }
        engine.refresh();
    }

    fn fault(
        &mut self,
        now: Time,
        Link { cable, from }: Link,
        change: PortFault,
        fabric: &Fabric,
        engine: &mut impl EngineAccess<AnyNode>,
    ) {
        match change {
            PortFault::Down => self.alive[cable as usize] = false,
            PortFault::Up => self.alive[cable as usize] = true,
            PortFault::Rate(_) | PortFault::Loss(_) | PortFault::Drop(_) => {}
        }
        let ends = fabric.cable(cable);
        for node in [ends.a, ends.b].into_iter().filter(|end| from.is_none_or(|from| from == *end))
        {
            let ports = fabric.ports_of(node);
            let port = ports.iter().position(|d| d.cable == cable).expect("a cable has two ends");
            let link = ports[port].link;
            let flying = engine.drain_link(link);
            let LinkLeftovers { back, lost } =
                machines::node(engine, fabric, node).fault(now, port, change, flying);
            for one in back {
                engine.push_link(link, &one);
            }
            let slab = engine.slab_mut(fabric.home(node));
            lost.iter().for_each(|packet| slab.release(packet.int_slot()));
        }
    }

    fn reroute(&self, fabric: &Fabric, engine: &mut impl EngineAccess<AnyNode>) {
        let routes = self.routing.routes(fabric, &|cable| self.alive[cable as usize]);
        for (s, routes) in (0u32..).zip(routes) {
            engine.node_mut(NodeId(fabric.hosts() + s)).reroute(routes);
        }
    }
}

/// What a fault does to the ports of its link, in order.
fn faults_of_port(change: Change) -> Vec<PortFault> {
    match change {
        Change::Down => vec![PortFault::Down],
        Change::Up => vec![PortFault::Up],
        Change::Rate(rate) => vec![PortFault::Rate(rate)],
        Change::Loss(loss) => vec![PortFault::Loss(loss)],
        Change::Drop { flow, packets } => {
            let flow = flow.map(FlowId);
            packets.into_iter().map(|nth| PortFault::Drop(DropRule { flow, nth })).collect()
        }
    }
}

/// A cable, or one direction of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// Index of the cable.
    pub cable: u32,
    /// The end that sends; `None`: both.
    pub from: Option<NodeId>,
}

impl Link {
    /// The link of this name.
    pub fn of(plan: &Plan, name: &str) -> Option<Self> {
        let (found, from) = plan.link(name)?;
        let at = plan.cables.iter().position(|c| (c.a, c.b) == (found.a, found.b))?;
        Some(Self { cable: at as u32, from: from.map(NodeId) })
    }
}
