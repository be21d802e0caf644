//! Paths by number: a sender numbers the path of each packet, and switches read the number digit by digit.
//!
//! A switch with `n` equal ports towards a rack, beyond which there are `b` paths each, takes the port `number / b % n`. Switches need no state,
//! and change nothing in the packet. Where the next switches differ in their paths, as after a failure, `b` is the most of them: any number is
//! then still a path, and some paths have more numbers than others.
//!
//! Source: Handley et al., SIGCOMM 2017, section 3.1 (NDP), whose packets list their ports.

use super::{LEN_BITS, Routes};
use crate::fabric::Fabric;
use forebay_engine::NodeId;

/// Paths between two racks that have numbers at most; of more, some are never taken.
const MOST: u32 = 1 << 15;

/// Writes down at each switch how many paths there are beyond it.
pub(super) fn number(routes: &mut [Routes], fabric: &Fabric) {
    let racks = fabric.tors().len();
    let mut beyond: Vec<Vec<u16>> = vec![Vec::with_capacity(racks); routes.len()];
    for tor in 0..racks as u16 {
        let mut known = vec![0; routes.len()];
        for (at, beyond) in beyond.iter_mut().enumerate() {
            let paths = paths(routes, fabric, tor, at, &mut known);
            beyond.push((paths / routes[at].choices(tor).len().max(1) as u32) as u16);
        }
    }
    for (routes, beyond) in routes.iter_mut().zip(beyond) {
        routes.beyond = beyond;
    }
}

/// Numbered paths from a switch to a rack; `known` are those of switches visited before, 0 for others.
fn paths(routes: &[Routes], fabric: &Fabric, tor: u16, at: usize, known: &mut [u32]) -> u32 {
    if known[at] == 0 {
        let here = &routes[at];
        let ports = if here.own == tor { Vec::new() } else { here.choices(tor) };
        let directions = fabric.ports_of(NodeId(fabric.hosts() + at as u32));
        let next = |port: u16| directions[usize::from(port)].peer.0 - fabric.hosts();
        let most = ports.iter().map(|port| paths(routes, fabric, tor, next(*port) as usize, known));
        let (most, choices) = (most.max().unwrap_or(1), ports.len().max(1) as u32);
        known[at] = choices * most.min(MOST / choices);
    }
    known[at]
}

/// Numbered paths from each rack to each other, row by row.
#[derive(Clone, Debug, Default)]
pub struct PathCounts {
    racks: usize,
    counts: Vec<u16>, // empty where no flow numbers its paths
}

impl PathCounts {
    /// Path counts of the routes of all switches.
    pub fn of(routes: &[Routes]) -> Self {
        let racks: Vec<&Routes> =
            routes.iter().filter(|of| of.tor().is_some() && !of.beyond.is_empty()).collect();
        let row = |of: &&Routes| -> Vec<u16> {
            (0..racks.len() as u16).map(|tor| of.paths(tor)).collect()
        };
        Self { racks: racks.len(), counts: racks.iter().flat_map(row).collect() }
    }

    /// Numbered paths from one rack to another; 1 where there are no numbers.
    pub fn between(&self, from: u16, to: u16) -> u16 {
        let at = usize::from(from) * self.racks + usize::from(to);
        self.counts.get(at).copied().unwrap_or(1)
    }
}

impl Routes {
    /// Numbered paths from here to a rack.
    fn paths(&self, tor: u16) -> u16 {
        let choices = if tor == self.own { 1 } else { self.choices(tor).len() as u16 };
        choices.max(1) * self.beyond[usize::from(tor)]
    }

    /// The port that a path of this number takes here towards a rack, which can be reached and is not this switch's own.
    pub(super) fn port_of_path(&self, tor: u16, number: u16) -> u16 {
        let route = self.by_tor[usize::from(tor)];
        let (first, len) = (route >> LEN_BITS, route & ((1 << LEN_BITS) - 1));
        let digits = usize::from(number / self.beyond[usize::from(tor)]);
        match len {
            0 => {
                let set = &self.sets[first as usize - 1];
                set[digits % set.len()]
            }
            _ => first as u16 + (digits % len as usize) as u16,
        }
    }
}
