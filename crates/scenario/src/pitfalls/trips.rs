//! Round trips on an empty fabric: a full packet there and its ACK back, on a shortest path.

use crate::plan::Plan;
use forebay_units::{Bytes, Span};
use std::collections::VecDeque;

/// Sizes of the two packets of a round trip, on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub data: Bytes,
    pub ack: Bytes,
}

/// Cables by node.
pub(crate) struct Trips<'a> {
    plan: &'a Plan,
    latency: Span,              // of a switch
    near: Vec<Vec<(u32, u32)>>, // neighbour and cable, by node
}

impl<'a> Trips<'a> {
    pub fn new(plan: &'a Plan, latency: Span) -> Self {
        let mut near = vec![Vec::new(); plan.names.len()];
        for (i, cable) in (0u32..).zip(&plan.cables) {
            near[cable.a as usize].push((cable.b, i));
            near[cable.b as usize].push((cable.a, i));
        }
        Self { plan, latency, near }
    }

    /// Links and round-trip time from a host to each node: of paths with the fewest links, the quickest.
    pub fn from(&self, src: u32, sizes: Sizes) -> Vec<Option<(u32, Span)>> {
        let mut found: Vec<Option<(u32, Span)>> = vec![None; self.plan.names.len()];
        found[src as usize] = Some((0, Span::ZERO));
        let mut queue = VecDeque::from([src]);
        while let Some(node) = queue.pop_front() {
            let Some((links, so_far)) = found[node as usize] else { continue };
            // Hosts forward nothing.
            if node != src && (node as usize) < self.plan.hosts {
                continue;
            }
            for (next, cable) in &self.near[node as usize] {
                let link = self.plan.cables[*cable as usize].link;
                let of = |bytes| link.rate.time_for(bytes) + link.delay;
                // Data enters a switch at one end, its ACK at the other.
                let switch = |n: u32| u64::from(n as usize >= self.plan.hosts);
                let latency = self.latency * (switch(node) + switch(*next));
                let all = so_far + of(sizes.data) + of(sizes.ack) + latency;
                match found[*next as usize] {
                    None => {
                        found[*next as usize] = Some((links + 1, all));
                        queue.push_back(*next);
                    }
                    Some((other, slower)) if other == links + 1 && all < slower => {
                        found[*next as usize] = Some((other, all));
                    }
                    Some(_) => {}
                }
            }
        }
        found
    }

    /// Neighbours of a node, and the cables to them.
    pub fn near(&self, node: u32) -> &[(u32, u32)] {
        &self.near[node as usize]
    }
}
