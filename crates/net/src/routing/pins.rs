//! Explicit paths: ports that single flows take at single switches, whatever the hash says.

use super::{Routes, SwitchRouting};
use crate::fabric::Fabric;
use forebay_engine::NodeId;

/// The way of a flow's data, or of its answers, from switch to switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Flow that takes the path.
    pub flow: u32,
    /// Whether of its answers.
    pub reverse: bool,
    /// At each switch (index: node minus hosts) the egress port.
    pub ports: Vec<(u32, u16)>,
}

impl Path {
    /// Through these switches to the host `to`.
    ///
    /// # Panics
    /// If no cable joins two that follow each other: scenarios are checked.
    pub fn through(
        fabric: &Fabric,
        flow: u32,
        reverse: bool,
        switches: &[NodeId],
        to: u32,
    ) -> Path {
        let next = switches.iter().skip(1).copied().chain([NodeId(to)]);
        let port = |(at, next): (&NodeId, NodeId)| {
            let found = fabric.ports_of(*at).binary_search_by_key(&next, |d| d.peer);
            (at.0 - fabric.hosts(), found.expect("the path connects") as u16)
        };
        Path { flow, reverse, ports: switches.iter().zip(next).map(port).collect() }
    }
}

/// Pins of one switch.
#[derive(Clone, Debug, Default)]
pub(super) struct Pins {
    flows: Vec<u64>, // flow << 1 | reverse, sorted
    ports: Vec<u16>,
}

impl Pins {
    /// The port of a flow that has one here.
    pub fn port(&self, flow: u32, reverse: bool) -> Option<u16> {
        let at = self.flows.binary_search(&key(flow, reverse)).ok()?;
        Some(self.ports[at])
    }
}

fn key(flow: u32, reverse: bool) -> u64 {
    u64::from(flow) << 1 | u64::from(reverse)
}

/// Has flows take these paths. One that crosses a cable for which `alive` is false is left out as a whole, and its flow
/// goes where the hash says: half of it could send packets in circles.
pub fn pin(routes: &mut [Routes], fabric: &Fabric, paths: &[Path], alive: &dyn Fn(u32) -> bool) {
    let mut all: Vec<Vec<(u64, u16)>> = vec![Vec::new(); routes.len()];
    for path in paths {
        let cable = |(switch, port): &(u32, u16)| {
            fabric.ports_of(NodeId(fabric.hosts() + switch))[usize::from(*port)].cable
        };
        if path.ports.iter().all(|hop| alive(cable(hop))) {
            for (switch, port) in &path.ports {
                all[*switch as usize].push((key(path.flow, path.reverse), *port));
            }
        }
    }
    for (routes, mut pins) in routes.iter_mut().zip(all) {
        if !pins.is_empty() {
            pins.sort_unstable();
            let (flows, ports) = pins.into_iter().unzip();
            routes.pins = Some(Box::new(Pins { flows, ports }));
            routes.how = SwitchRouting::ByFlow;
        }
    }
}
