//! Machines with several NICs among the nodes of a simulation: each is one node, that of its first NIC.

use super::machine::Machine;
use super::node::AnyNode;
use crate::host::Memory;
use forebay_engine::{EngineAccess, NodeId};
use forebay_net::Fabric;
use forebay_scenario::model::{self, Scenario};
use forebay_scenario::plan::Plan;

/// The NICs of each machine, in canonical order.
pub(crate) fn all(scenario: &Scenario, plan: &Plan) -> Vec<Vec<NodeId>> {
    let host = |name: &String| {
        let found = plan.names[..plan.hosts].iter().position(|host| host == name);
        NodeId(found.expect("the loader knows every NIC") as u32)
    };
    let nics = |machine: &model::Machine| {
        let mut nics: Vec<NodeId> = machine.nics.iter().map(host).collect();
        nics.sort_unstable();
        nics
    };
    scenario.host.machines.iter().map(nics).collect()
}

/// By host, the first NIC of its machine; itself where it has one NIC. Empty without machines.
pub(crate) fn homes(machines: &[Vec<NodeId>], hosts: usize) -> Vec<NodeId> {
    if machines.is_empty() {
        return Vec::new();
    }
    let mut homes: Vec<NodeId> = (0..hosts as u32).map(NodeId).collect();
    for nics in machines {
        nics.iter().for_each(|nic| homes[nic.0 as usize] = nics[0]);
    }
    homes
}

/// Puts the NICs of a machine together in the node of the first. `nodes` are all nodes, `hosts` its NICs in order.
pub(crate) fn join(nodes: &mut [AnyNode], hosts: &[NodeId], memory: Box<Memory>, fabric: &Fabric) {
    let mut take = |id: &NodeId| {
        let away = AnyNode::Machine(Box::default());
        (*id, std::mem::replace(&mut nodes[id.0 as usize], away))
    };
    let nics = hosts.iter().map(&mut take).collect();
    nodes[hosts[0].0 as usize] = AnyNode::Machine(Box::new(Machine::new(nics, memory, fabric)));
}

/// Puts every NIC of every machine back into the node of its own number, when all is over.
pub(crate) fn part(nodes: &mut [AnyNode]) {
    for at in 0..nodes.len() {
        if let AnyNode::Machine(machine) = &mut nodes[at] {
            for (id, host) in std::mem::take(&mut **machine).part() {
                nodes[id.0 as usize] = host;
            }
        }
    }
}

/// A node by its number in the fabric: for a NIC of a machine, that NIC.
pub(crate) fn node<'a>(
    engine: &'a mut impl EngineAccess<AnyNode>,
    fabric: &Fabric,
    id: NodeId,
) -> &'a mut AnyNode {
    match engine.node_mut(fabric.home(id)) {
        AnyNode::Machine(machine) => machine.nic(id),
        node => node,
    }
}
