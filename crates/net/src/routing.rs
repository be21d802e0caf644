//! Shortest paths to every rack, and the choice among equal ones.

use crate::fabric::Fabric;
use forebay_engine::NodeId;
use forebay_units::math::{below, mix};
use forebay_units::random::{Purpose, Stream};
use std::collections::{BTreeMap, VecDeque};

/// How a switch chooses among equal-cost ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paths {
    /// By a hash of flow and direction, keyed per switch.
    Hash,
    /// By a hash of the flow alone, keyed by the distance to the destination's rack: both directions of a flow meet
    /// the same choice at the same height, so they share their links.
    SymmetricHash,
    /// Anew for each packet.
    Spray,
}

/// The routes of one switch: by destination rack, a port or a group of equal ones.
#[derive(Clone, Debug)]
pub struct Routes {
    own: u16,         // this switch's rack index, or NONE
    by_tor: Vec<u16>, // port, or GROUP | index
    groups: Vec<Group>,
    members: Vec<u16>,
    paths: Paths,
    key: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    first: u32,
    len: u32,
    salt: u64, // distance to the rack
}

const NONE: u16 = 0x7fff;
const GROUP: u16 = 0x8000;

impl Routes {
    /// The routes of every switch of `fabric` (index: node minus hosts) over cables for which `alive` is true.
    pub fn all(
        fabric: &Fabric,
        paths: Paths,
        seed: u64,
        alive: &dyn Fn(u32) -> bool,
    ) -> Vec<Routes> {
        let hosts = fabric.hosts();
        let switches = (fabric.nodes() - hosts) as usize;
        let tors = fabric.tors();
        let mut all: Vec<Draft> = (0..switches).map(|_| Draft::new(tors.len())).collect();
        let neighbours: Vec<Vec<(u16, u32)>> = (0..switches as u32)
            .map(|s| {
                let ports = (0u16..).zip(fabric.ports_of(NodeId(hosts + s)));
                ports
                    .filter(|(_, d)| d.peer.0 >= hosts && alive(d.cable))
                    .map(|(p, d)| (p, d.peer.0 - hosts))
                    .collect()
            })
            .collect();
        let mut distance = vec![u32::MAX; switches];
        let mut frontier = VecDeque::new();
        let mut equal = Vec::new();
        for (tor, home) in tors.iter().enumerate() {
            distance.fill(u32::MAX);
            distance[(home.0 - hosts) as usize] = 0;
            frontier.push_back(home.0 - hosts);
            while let Some(at) = frontier.pop_front() {
                for (_, peer) in &neighbours[at as usize] {
                    if distance[*peer as usize] == u32::MAX {
                        distance[*peer as usize] = distance[at as usize] + 1;
                        frontier.push_back(*peer);
                    }
                }
            }
            for s in (0..switches).filter(|s| distance[*s] != 0 && distance[*s] != u32::MAX) {
                equal.clear();
                let nearer = |(_, peer): &&(u16, u32)| distance[*peer as usize] + 1 == distance[s];
                equal.extend(neighbours[s].iter().filter(nearer).map(|(port, _)| *port));
                all[s].set(tor, &equal, u64::from(distance[s]));
            }
        }
        all.into_iter()
            .enumerate()
            .map(|(s, draft)| {
                let node = NodeId(hosts + s as u32);
                let own = tors.binary_search(&node).map_or(NONE, |tor| tor as u16);
                let component = if paths == Paths::SymmetricHash { 0 } else { u64::from(node.0) };
                let purpose = if paths == Paths::Spray { Purpose::Spray } else { Purpose::Ecmp };
                draft.finish(own, paths, Stream::new(seed, component, purpose).key())
            })
            .collect()
    }

    /// This switch's index among switches with hosts; `None` if it has none.
    pub fn tor(&self) -> Option<u16> {
        (self.own != NONE).then_some(self.own)
    }

    /// The egress port towards rack `tor`, host port `port`, for a packet of `flow` in direction `reverse`; `nth` is
    /// how many packets this switch has routed. `None`: unreachable.
    #[inline]
    pub fn port(&self, tor: u16, port: u16, flow: u32, reverse: bool, nth: u64) -> Option<u16> {
        if tor == self.own {
            return Some(port);
        }
        let route = self.by_tor[usize::from(tor)];
        if route & GROUP == 0 {
            return (route != NONE).then_some(route);
        }
        let group = self.groups[usize::from(route & !GROUP)];
        let word = match self.paths {
            Paths::Hash => mix(self.key ^ (u64::from(flow) << 1 | u64::from(reverse))),
            Paths::SymmetricHash => mix(mix(self.key ^ group.salt) ^ u64::from(flow)),
            Paths::Spray => Stream::at(self.key, nth),
        };
        Some(self.members[(group.first + below(word, group.len)) as usize])
    }

    /// Equal-cost ports towards a rack.
    pub fn choices(&self, tor: u16) -> &[u16] {
        match self.by_tor[usize::from(tor)] {
            NONE => &[],
            route if route & GROUP == 0 => std::slice::from_ref(&self.by_tor[usize::from(tor)]),
            route => {
                let group = self.groups[usize::from(route & !GROUP)];
                &self.members[group.first as usize..(group.first + group.len) as usize]
            }
        }
    }
}

/// Routes of one switch while they are collected.
struct Draft {
    by_tor: Vec<u16>,
    groups: Vec<Group>,
    members: Vec<u16>,
    index: BTreeMap<(u64, Vec<u16>), u16>,
    last: u16, // most racks share the group of the one before
}

impl Draft {
    fn new(tors: usize) -> Self {
        Self {
            by_tor: vec![NONE; tors],
            groups: Vec::new(),
            members: Vec::new(),
            index: BTreeMap::new(),
            last: NONE,
        }
    }

    fn set(&mut self, tor: usize, ports: &[u16], salt: u64) {
        if let [only] = ports {
            self.by_tor[tor] = *only;
            return;
        }
        let is = |g: &Group| {
            g.salt == salt && self.members[g.first as usize..(g.first + g.len) as usize] == *ports
        };
        if self.last == NONE || !is(&self.groups[usize::from(self.last)]) {
            let known = self.index.get(&(salt, ports.to_vec())).copied();
            self.last = known.unwrap_or_else(|| {
                let index = self.groups.len() as u16;
                self.groups.push(Group {
                    first: self.members.len() as u32,
                    len: ports.len() as u32,
                    salt,
                });
                self.members.extend_from_slice(ports);
                self.index.insert((salt, ports.to_vec()), index);
                index
            });
        }
        self.by_tor[tor] = GROUP | self.last;
    }

    fn finish(self, own: u16, paths: Paths, key: u64) -> Routes {
        Routes { own, by_tor: self.by_tor, groups: self.groups, members: self.members, paths, key }
    }
}
