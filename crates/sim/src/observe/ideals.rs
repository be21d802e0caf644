//! Ideal times of flows on the fabric as it was laid out: no flow is faster, whichever of its paths it takes and however many.
//!
//! A flow on one path at a time has the time of the fastest of its paths. Where each packet has a path of its own, the links at one distance
//! from the sender carry the flow together: it passes them no faster than the sum of their rates, and a packet no faster than the fastest path.
//! Deviation: after a failure longer paths may be taken, and are not looked at.

use crate::host::Common;
use crate::world::World;
use crate::world::ideal::{self, Hop};
use forebay_engine::NodeId;
use forebay_net::{Cable, Fabric, Paths, Routes};
use forebay_scenario::model::Scenario;
use forebay_transport::Config;
use forebay_units::{Bytes, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Different paths between two racks that are told apart; in place of more, one path has the best of all links at each distance.
const MOST_PATHS: usize = 64;

/// Ideal times of one run.
pub(crate) struct Ideals<'a> {
    fabric: &'a Fabric,
    common: &'a Common,
    overhead: u64,
    routes: Vec<Routes>,
    alike: bool,                             // one path between two racks stands for all
    split: Vec<bool>, // by entry of the traffic: each packet has a path of its own
    named: BTreeMap<(u32, bool), Vec<Hop>>, // by flow, and whether of its answers: paths that the scenario names
    between: BTreeMap<(u16, u16), RackPath>, // by rack
}

/// What leads from one rack to another.
#[derive(Default)]
struct RackPath {
    /// Different paths from the first switch to the last.
    paths: Vec<Vec<Hop>>,
    /// By distance: the best rate and flight of a link, and the rate of all together.
    tiers: Vec<Hop>,
}

impl<'a> Ideals<'a> {
    pub fn new(scenario: &Scenario, world: &'a World) -> Self {
        let fabric = &world.fabric;
        let split = |entry| scenario.routing_of(entry).is_per_packet();
        let split: Vec<bool> = scenario.traffic.iter().map(split).collect();
        Self {
            fabric,
            common: &world.common,
            overhead: scenario.fabric.wire.overhead.get(),
            routes: Routes::all(fabric, Paths::Hash, 0, &|_| true),
            alike: alike(fabric, split.contains(&true)),
            split,
            named: named(scenario, world),
            between: BTreeMap::new(),
        }
    }

    /// First byte of a flow handed over to last byte delivered, if it has this size.
    pub fn fct(&mut self, flow: u32, size: Bytes) -> Span {
        let spec = self.common.flows[flow as usize];
        let (cfg, overhead) = (self.config(flow), self.overhead);
        if !self.split[usize::from(spec.traffic)] {
            return self.fastest(flow, false, |path| ideal::fct(size, cfg, overhead, path));
        }
        let apart = |path: &[Hop]| ideal::fct_apart(size, cfg, overhead, path);
        let packet = size.min(cfg.mss());
        let together = match self.alike {
            true => self.fastest(flow, false, apart),
            false => {
                let ends = [[self.up(spec.src)], [self.down(spec.dst)]];
                let tiers = &self.between(spec.src, spec.dst).tiers;
                apart(&[&ends[0], &**tiers, &ends[1]].concat())
            }
        };
        together.max(self.fastest(flow, false, |path| ideal::fct(packet, cfg, overhead, path)))
    }

    /// One ACK of a flow, back to its sender.
    pub fn ack(&mut self, flow: u32) -> Span {
        let (cfg, overhead) = (self.config(flow), self.overhead);
        self.fastest(flow, true, |path| ideal::ack(cfg, overhead, path))
    }

    /// The least time over all paths of a flow, or of its answers; zero if there is none.
    fn fastest(&mut self, flow: u32, reverse: bool, time: impl Fn(&[Hop]) -> Span) -> Span {
        let spec = self.common.flows[flow as usize];
        let (src, dst) = if reverse { (spec.dst, spec.src) } else { (spec.src, spec.dst) };
        let named = self.named.get(&(flow, reverse)).map(|path| time(path));
        let (up, down) = (self.up(src), self.down(dst));
        let mut whole = Vec::with_capacity(8);
        let times = self.between(src, dst).paths.iter().map(|path| {
            whole.clear();
            whole.push(up);
            whole.extend_from_slice(path);
            whole.push(down);
            time(&whole)
        });
        times.chain(named).min().unwrap_or(Span::ZERO)
    }

    fn config(&self, flow: u32) -> &'a Config {
        let traffic = self.common.flows[flow as usize].traffic;
        &self.common.profiles[usize::from(traffic)].transport
    }

    /// The link of a host to its switch.
    fn up(&self, host: u32) -> Hop {
        Hop::new(self.fabric, &self.fabric.ports_of(NodeId(host))[0])
    }

    /// The link of a host's switch to it.
    fn down(&self, host: u32) -> Hop {
        let to = self.fabric.addr(host);
        let switch = self.fabric.tors()[usize::from(to.tor)];
        Hop::new(self.fabric, &self.fabric.ports_of(switch)[usize::from(to.port)])
    }

    /// What leads from the switch of one host to that of another.
    fn between(&mut self, src: u32, dst: u32) -> &RackPath {
        let Self { fabric, routes, between, alike, .. } = self;
        let (from, to) = (fabric.addr(src).tor, fabric.addr(dst).tor);
        between.entry((from, to)).or_insert_with(|| match alike {
            true => first(fabric, routes, src, dst),
            false => explore(fabric, routes, from, to),
        })
    }
}

/// Whether one path between two racks says all: cables between switches are alike, and where packets take several paths no slower than any
/// host's, so that it is the receiver's link that decides.
fn alike(fabric: &Fabric, split: bool) -> bool {
    let of_host = |cable: &&Cable| fabric.is_host(cable.a) || fabric.is_host(cable.b);
    let (hosts, switches): (Vec<&Cable>, Vec<&Cable>) = fabric.cables().iter().partition(of_host);
    let Some(first) = switches.first() else { return true };
    let same = |cable: &&Cable| (cable.rate, cable.flight()) == (first.rate, first.flight());
    switches.iter().all(same) && !(split && hosts.iter().any(|cable| cable.rate > first.rate))
}

/// The first of all paths.
fn first(fabric: &Fabric, routes: &[Routes], src: u32, dst: u32) -> RackPath {
    let path = ideal::path(fabric, routes, src, dst);
    let inner = |path: Vec<Hop>| path.get(1..path.len() - 1).map(<[Hop]>::to_vec);
    RackPath { paths: path.and_then(inner).into_iter().collect(), tiers: Vec::new() }
}

/// Follows all shortest paths from one rack to another, a link at a time.
fn explore(fabric: &Fabric, routes: &[Routes], from: u16, to: u16) -> RackPath {
    let [start, end] = [from, to].map(|tor| fabric.tors()[usize::from(tor)]);
    let mut tiers: Vec<Hop> = Vec::new();
    let mut reached = BTreeMap::from([(start, BTreeSet::from([Vec::new()]))]);
    let mut many = false;
    while !reached.contains_key(&end) {
        let mut tier: Option<Hop> = None;
        let mut next: BTreeMap<NodeId, BTreeSet<Vec<Hop>>> = BTreeMap::new();
        for (node, paths) in &reached {
            for port in routes[(node.0 - fabric.hosts()) as usize].choices(to) {
                let direction = fabric.ports_of(*node)[usize::from(port)];
                let hop = Hop::new(fabric, &direction);
                tier = Some(tier.map_or(hop, |tier| tier.beside(hop)));
                let onwards = next.entry(direction.peer).or_default();
                let longer = |path: &Vec<Hop>| path.iter().copied().chain([hop]).collect();
                onwards.extend(paths.iter().map(longer));
                if onwards.len() > MOST_PATHS {
                    many = true;
                    onwards.clear();
                }
            }
        }
        let Some(tier) = tier else { return RackPath::default() };
        tiers.push(tier);
        reached = next;
    }
    let best = || tiers.iter().map(|tier| Hop { together: tier.rate, ..*tier }).collect();
    let paths =
        if many { vec![best()] } else { reached.remove(&end).into_iter().flatten().collect() };
    RackPath { paths, tiers }
}

/// Links of the paths that the scenario names.
fn named(scenario: &Scenario, world: &World) -> BTreeMap<(u32, bool), Vec<Hop>> {
    let World { fabric, plan, common, .. } = world;
    let all = scenario.fabric.paths.all();
    if all.is_empty() {
        return BTreeMap::new();
    }
    let nodes: BTreeMap<&str, NodeId> =
        (0u32..).zip(&plan.names).map(|(n, name)| (&**name, NodeId(n))).collect();
    let hops = |ends: (u32, u32), switches: &[String]| {
        let switches = switches.iter().map(|name| nodes[&**name]);
        let after = switches.clone().chain([NodeId(ends.1)]);
        let before = [NodeId(ends.0)].into_iter().chain(switches);
        let link = |(at, next): (NodeId, NodeId)| {
            let ports = fabric.ports_of(at);
            let port = ports.iter().find(|direction| direction.peer == next);
            Hop::new(fabric, port.expect("the path connects"))
        };
        before.zip(after).map(link).collect()
    };
    let of = |path: &'_ forebay_scenario::model::FlowPath| {
        let spec = common.flows[path.flow as usize];
        let ways =
            [(false, &path.data, (spec.src, spec.dst)), (true, &path.ack, (spec.dst, spec.src))];
        let written = ways.into_iter().filter(|way| !way.1.is_empty());
        written
            .map(|(reverse, switches, ends)| ((path.flow, reverse), hops(ends, switches)))
            .collect::<Vec<_>>()
    };
    all.iter().flat_map(of).collect()
}
