//! Which switches each flow of a run takes.

use super::build;
use crate::options::{Options, Outputs, SimError};
use crate::world::AnyNode;
use forebay_engine::NodeId;
use forebay_net::Fabric;
use forebay_scenario::model::{FlowPath, Scenario, Traffic};

/// The paths of all flows of one seed before anything fails, in the order of the flow table.
///
/// # Errors
/// As [`crate::simulate`], and where each packet takes a path of its own.
pub fn paths(scenario: &Scenario, seed: u64) -> Result<Vec<FlowPath>, SimError> {
    let per_packet = |entry: &&Traffic| scenario.routing_of(entry).is_per_packet();
    if let Some(entry) = scenario.traffic.iter().find(per_packet) {
        let routing = scenario.routing_of(entry).name();
        let text =
            format!("routing = \"{routing}\" gives each packet a path of its own; flows have none");
        return Err(SimError::Traffic(text));
    }
    let world = build(scenario, seed, Options::default(), &Outputs::default(), &|| true)?;
    let name = |node: u32| world.plan.names[node as usize].clone();
    let one = |flow: u32, src: u32, dst: u32, reverse: bool| {
        let switches = walk(&world.fabric, &world.nodes, flow, (src, dst), reverse);
        switches.into_iter().map(name).collect()
    };
    let flows = (0u32..).zip(world.common.flows.iter());
    let path = |(flow, spec): (u32, &forebay_scenario::workload::FlowSpec)| FlowPath {
        flow,
        data: one(flow, spec.src, spec.dst, false),
        ack: one(flow, spec.dst, spec.src, true),
    };
    Ok(flows.map(path).collect())
}

/// Switches from one host to another; those before the first that has no route.
fn walk(
    fabric: &Fabric,
    nodes: &[AnyNode],
    flow: u32,
    (src, dst): (u32, u32),
    reverse: bool,
) -> Vec<u32> {
    let to = fabric.addr(dst);
    let mut at = fabric.ports_of(NodeId(src))[0].peer;
    let mut switches = Vec::new();
    while !fabric.is_host(at) {
        switches.push(at.0);
        let switch = nodes[at.0 as usize].switch().expect("what is no host is a switch");
        let Some(port) = switch.route(to, flow, reverse) else { break };
        at = fabric.ports_of(at)[usize::from(port)].peer;
    }
    switches
}
