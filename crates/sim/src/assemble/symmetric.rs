//! Whether credits and the data that they release share their links, for transports on credits.

use crate::host::Common;
use crate::options::SimError;
use forebay_engine::NodeId;
use forebay_net::{Fabric, Routes};
use forebay_transport::Config;

/// Walks all flows on credits, both ways, over the routes at the start.
///
/// # Errors
/// If the two paths of a flow are not each other's reverse: the message names the links where they part.
pub(crate) fn check(
    fabric: &Fabric,
    routes: &[Routes],
    common: &Common,
    names: &[String],
) -> Result<(), SimError> {
    for (flow, spec) in (0u32..).zip(common.flows.iter()) {
        let transport = &common.profiles[usize::from(spec.traffic)].transport;
        if !matches!(transport, Config::Credited(_)) {
            continue;
        }
        let there = nodes(fabric, routes, flow, (spec.src, spec.dst), false);
        let mut back = nodes(fabric, routes, flow, (spec.dst, spec.src), true);
        back.reverse();
        let parts = there.iter().zip(&back).position(|(one, other)| one != other);
        let Some(at) = parts.filter(|at| *at > 0) else { continue };
        let name = |node: NodeId| &*names[node.0 as usize];
        return Err(SimError::Fabric(format!(
            "flow {flow} from {} to {} sends data over {}->{} and gets credits over {}->{}, so the ports that its data takes meter no credits of it; \
             leave its paths to \"ecmp-symmetric\" in a fabric of alike switches, or write the same switches into both of its fabric.paths",
            name(NodeId(spec.src)),
            name(NodeId(spec.dst)),
            name(there[at - 1]),
            name(there[at]),
            name(back[at]),
            name(back[at - 1]),
        )));
    }
    Ok(())
}

/// Nodes that a packet of a flow visits, its ends included; up to where no route leads on.
fn nodes(
    fabric: &Fabric,
    routes: &[Routes],
    flow: u32,
    (src, dst): (u32, u32),
    reverse: bool,
) -> Vec<NodeId> {
    let (to, mut at) = (fabric.addr(dst), NodeId(src));
    let mut nodes = vec![at];
    while at != NodeId(dst) && nodes.len() <= fabric.nodes() as usize {
        let port = match at.0.checked_sub(fabric.hosts()) {
            None => Some(0),
            Some(switch) => {
                routes[switch as usize].port(to.tor, to.port, flow, reverse, || 0, || None)
            }
        };
        let Some(port) = port else { return nodes };
        at = fabric.ports_of(at)[usize::from(port)].peer;
        nodes.push(at);
    }
    nodes
}
