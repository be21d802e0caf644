//! The routes of a run: shortest paths, and what single flows take instead.

use crate::host::Common;
use forebay_engine::NodeId;
use forebay_net::{
    Fabric, Numbering, Path, Paths, Routes, RoutingPolicy, Tuple, murmur3_paths, pin,
};
use forebay_scenario::identity::{address, numbers};
use forebay_scenario::model::{self, Scenario};
use forebay_scenario::plan::Plan;
use forebay_scenario::workload::FlowSpec;
use std::collections::BTreeMap;

/// How routes are made, whenever they are.
#[derive(Clone, Debug)]
pub(crate) struct Routing {
    policy: RoutingPolicy,
    seed: u64,
    /// For murmur3: numbers of nodes, what is hashed of all flows, and which of them choose so.
    hashed: Option<(Numbering, Vec<Tuple>, Vec<bool>)>,
    explicit: Vec<Path>,
}

impl Routing {
    pub fn new(
        scenario: &Scenario,
        plan: &Plan,
        fabric: &Fabric,
        common: &Common,
        seed: u64,
    ) -> Self {
        let (of, flows) = (&scenario.fabric, &common.flows[..]);
        let by_entry: Vec<model::Routing> =
            scenario.traffic.iter().map(|entry| scenario.routing_of(entry)).collect();
        let routing = |flow: &FlowSpec| by_entry[usize::from(flow.traffic)];
        let policy: RoutingPolicy = match by_entry.iter().all(|routing| *routing == of.routing) {
            true => Paths::from(of.routing).into(),
            false => {
                let by_flow = flows.iter().map(|flow| Paths::from(routing(flow))).collect();
                RoutingPolicy::by_flow(of.routing.into(), by_flow)
            }
        };
        let policy = policy.numbered(common.numbers.clone()).seeded(of.hash_seed);
        let hashed = by_entry.contains(&model::Routing::EcmpMurmur3).then(|| {
            let numbers = numbers(plan);
            let tuple = |flow: &FlowSpec| Tuple {
                src: flow.src,
                dst: flow.dst,
                addresses: [flow.src, flow.dst].map(|host| address(numbers[host as usize])),
                ports: [flow.sport, flow.dport],
            };
            let tuples = flows.iter().map(tuple).collect();
            let which = flows.iter().map(|flow| routing(flow) == model::Routing::EcmpMurmur3);
            let next_hops = of.next_hops.unwrap_or_default();
            (Numbering { numbers, next_hops }, tuples, which.collect())
        });
        Self { policy, seed, hashed, explicit: explicit(of, plan, fabric, flows) }
    }

    /// The routes of every switch over cables for which `alive` is true.
    pub fn routes(&self, fabric: &Fabric, alive: &dyn Fn(u32) -> bool) -> Vec<Routes> {
        let mut routes = Routes::all(fabric, self.policy.clone(), self.seed, alive);
        let mut paths = self.explicit.clone();
        if let Some((numbering, tuples, which)) = &self.hashed {
            // Those that are explicit were written down by flow, so what is hashed fills the rest.
            let written: Vec<(u32, bool)> = paths.iter().map(|p| (p.flow, p.reverse)).collect();
            let hashed = murmur3_paths(fabric, &routes, numbering, tuples);
            paths.extend(hashed.into_iter().filter(|p| {
                which[p.flow as usize] && written.binary_search(&(p.flow, p.reverse)).is_err()
            }));
        }
        pin(&mut routes, fabric, &paths, alive);
        routes
    }
}

/// Paths that a scenario names, by flow, data before answers.
fn explicit(of: &model::Fabric, plan: &Plan, fabric: &Fabric, flows: &[FlowSpec]) -> Vec<Path> {
    if of.paths.all().is_empty() {
        return Vec::new();
    }
    let nodes: BTreeMap<&str, NodeId> =
        (0u32..).zip(&plan.names).map(|(i, name)| (name.as_str(), NodeId(i))).collect();
    let mut paths = Vec::new();
    for path in of.paths.all() {
        let flow = flows[path.flow as usize];
        for (reverse, switches, to) in [(false, &path.data, flow.dst), (true, &path.ack, flow.src)]
        {
            let switches: Vec<NodeId> = switches.iter().map(|name| nodes[name.as_str()]).collect();
            if !switches.is_empty() {
                paths.push(Path::through(fabric, path.flow, reverse, &switches, to));
            }
        }
    }
    paths
}
