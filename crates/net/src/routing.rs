//! Shortest paths to every rack, and the choice among equal ones.

mod murmur3;
mod numbered;
mod pins;

pub use murmur3::{Numbering, Tuple, murmur3_paths};
pub use numbered::PathCounts;
pub use pins::{Path, pin};

use crate::fabric::Fabric;
use forebay_engine::{NodeId, prefetch, rarely};
use forebay_settings::{HashSeed, Routing};
use forebay_units::math::{below, mix};
use forebay_units::random::{Purpose, Stream};
use std::collections::{BTreeMap, VecDeque};
use std::hint::select_unpredictable;
use std::sync::Arc;

/// How a switch chooses among equal-cost ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paths {
    /// By a hash of flow and direction, keyed as [`HashSeed`] says.
    Hash,
    /// By a hash of the flow alone, keyed by the distance to the destination's rack or the same everywhere: both directions of a flow meet
    /// the same choice at the same distance, so they share their links.
    SymmetricHash,
    /// Anew for each packet.
    Spray,
    /// By the number of a path that the sender gave the packet; without one, anew for each packet.
    Source,
    /// By the queues of the ports, anew for each packet: see [`Routes::shortest`].
    ///
    /// Source: Ghorbani et al. (DRILL), SIGCOMM 2017, section 3. Deviation: all equal-cost ports are compared, not two of them and the last choice.
    Adaptive,
}

impl From<Routing> for Paths {
    fn from(routing: Routing) -> Self {
        match routing {
            Routing::Ecmp | Routing::EcmpMurmur3 => Self::Hash, // murmur3 pins each flow
            Routing::EcmpSymmetric => Self::SymmetricHash,
            Routing::Spray => Self::Spray,
            Routing::Source => Self::Source,
            Routing::Adaptive => Self::Adaptive,
        }
    }
}

/// Which flows choose how.
#[derive(Clone, Debug)]
pub struct RoutingPolicy {
    usual: Paths,
    by_flow: Option<Arc<[Paths]>>,
    numbers: Option<Arc<[u64]>>, // by flow: what is hashed, where that is not the flow's index
    seed: Option<HashSeed>,
}

impl From<Paths> for RoutingPolicy {
    /// One policy for all flows.
    fn from(usual: Paths) -> Self {
        Self { usual, by_flow: None, numbers: None, seed: None }
    }
}

impl RoutingPolicy {
    /// A choice for each flow; packets of flows beyond the list, and of none, go the `usual` way.
    pub fn by_flow(usual: Paths, by_flow: Vec<Paths>) -> Self {
        let alike = by_flow.iter().all(|paths| *paths == usual);
        Self { by_flow: (!alike).then(|| by_flow.into()), ..usual.into() }
    }

    /// Hashes these numbers of flows instead of their indices.
    #[must_use]
    pub fn numbered(self, numbers: Option<Arc<[u64]>>) -> Self {
        Self { numbers, ..self }
    }

    /// Seeds hashes in this way. Otherwise [`Paths::Hash`] has a seed for each switch and [`Paths::SymmetricHash`] one for each tier; the latter
    /// never has one for each switch.
    #[must_use]
    pub fn seeded(self, seed: Option<HashSeed>) -> Self {
        Self { seed, ..self }
    }

    fn number(&self, flow: u32) -> u64 {
        let own = self.numbers.as_ref().and_then(|numbers| numbers.get(flow as usize));
        own.copied().unwrap_or(flow.into())
    }

    fn uses(&self, paths: Paths) -> bool {
        self.usual == paths || self.by_flow.iter().any(|flows| flows.contains(&paths))
    }
}

/// What decides at one switch. Numbered paths are `ByFlow`, since one more case on the way of every packet would become a jump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SwitchRouting {
    Hash,
    Spray,
    Symmetric,
    /// A pin if the flow has one, else as the policy says of the flow; and where the policy numbers flows.
    ByFlow,
}

/// The routes of one switch: by destination rack, the equal-cost ports.
#[derive(Clone, Debug)]
pub struct Routes {
    own: u16, // this switch's rack index, or NO_RACK
    /// `first << LEN_BITS | how many`: so many ports in a row, as equal ones most often are. With none of them, `first` is the number of
    /// a set of others, from 1 on, or it is `UNREACHABLE`.
    by_tor: Vec<u32>,
    sets: Vec<Box<[u16]>>,
    height: Vec<u8>,  // distance to each rack, for symmetric hashing only
    beyond: Vec<u16>, // paths from each of the next switches to each rack, for numbered paths only
    how: SwitchRouting,
    key: u64, // of the usual choice
    policy: RoutingPolicy,
    keys: [u64; 5],                // by `Paths`
    pins: Option<Box<pins::Pins>>, // instead of all that, for some flows
}

const NO_RACK: u16 = u16::MAX;
const LEN_BITS: u32 = 12;
const UNREACHABLE: u32 = 0;

impl Routes {
    /// The routes of every switch of `fabric` (index: node minus hosts) over cables for which `alive` is true.
    pub fn all(
        fabric: &Fabric,
        policy: impl Into<RoutingPolicy>,
        seed: u64,
        alive: &dyn Fn(u32) -> bool,
    ) -> Vec<Routes> {
        let policy = policy.into();
        let hosts = fabric.hosts();
        let switches = (fabric.nodes() - hosts) as usize;
        let tors = fabric.tors();
        let symmetric = policy.uses(Paths::SymmetricHash);
        let by_height = policy.seed != Some(HashSeed::Same);
        let mut all: Vec<Draft> =
            (0..switches).map(|_| Draft::new(tors.len(), symmetric)).collect();
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
                all[s].set(tor, &equal, if by_height { distance[s] } else { 0 });
            }
        }
        let tiers = match policy.seed {
            Some(HashSeed::PerTier) => tiers(&neighbours, tors, hosts),
            _ => Vec::new(),
        };
        let finish = |(node, draft): (u32, Draft)| {
            let own = tors.binary_search(&NodeId(node)).map_or(NO_RACK, |tor| tor as u16);
            let key = |node, purpose| Stream::new(seed, u64::from(node), purpose).key();
            let seeded = match policy.seed {
                Some(HashSeed::Same) => 0,
                Some(HashSeed::PerTier) => tiers[(node - hosts) as usize],
                Some(HashSeed::PerSwitch) | None => node,
            };
            let (hash, spray) = (key(seeded, Purpose::Ecmp), key(node, Purpose::Spray));
            draft.finish(own, policy.clone(), [hash, key(0, Purpose::Ecmp), spray, spray, spray])
        };
        let mut routes: Vec<Routes> = (hosts..).zip(all).map(finish).collect();
        if policy.uses(Paths::Source) {
            numbered::number(&mut routes, fabric);
        }
        routes
    }

    /// Prefetches the cache lines of what is looked up for each packet.
    #[inline]
    pub(crate) fn prefetch(&self) {
        const RACKS: usize = 64 / size_of::<u32>(); // of one line
        self.by_tor.iter().step_by(RACKS).for_each(prefetch);
    }

    /// Index of this switch among switches with hosts; `None` if it has none.
    pub fn tor(&self) -> Option<u16> {
        (self.own != NO_RACK).then_some(self.own)
    }

    /// The egress port towards rack `tor`, host port `port`, for a packet of `flow` in direction `reverse`; `nth` is
    /// how many packets this switch has routed, `path` the number of its path if it has one. `None`: unreachable, or queues decide
    /// ([`Routes::shortest`]).
    #[inline(always)]
    pub fn port(
        &self,
        tor: u16,
        port: u16,
        flow: u32,
        reverse: bool,
        nth: impl FnOnce() -> u64,
        path: impl FnOnce() -> Option<u16>,
    ) -> Option<u16> {
        let route = *self.by_tor.get(usize::from(tor))?;
        // The usual hash first: a match over all four would become a jump, which costs 4 instructions more per hop.
        let word = if self.how == SwitchRouting::Hash {
            hash(self.key, flow.into(), reverse)
        } else {
            rarely();
            match self.how {
                SwitchRouting::Spray => Stream::at(self.key, nth()),
                SwitchRouting::Symmetric => {
                    symmetric(self.key, self.height[usize::from(tor)], flow.into())
                }
                _ => return self.port_by_flow((tor, port), (flow, reverse), nth(), path()),
            }
        };
        let chosen = self.chosen(route, word)?;
        // Own rack or another: without a branch, since which it is changes all the time.
        Some(select_unpredictable(tor == self.own, port, chosen))
    }

    /// One of the equal-cost ports that an entry of `by_tor` stands for; one choice or many without a branch.
    #[inline(always)]
    fn chosen(&self, route: u32, word: u64) -> Option<u16> {
        let (first, len) = (route >> LEN_BITS, route & ((1 << LEN_BITS) - 1));
        if len == 0 {
            return self.chosen_of_set(first, word);
        }
        Some((first + below(word, len)) as u16)
    }

    #[cold]
    #[inline(never)]
    fn chosen_of_set(&self, set: u32, word: u64) -> Option<u16> {
        let set = self.sets.get((set as usize).checked_sub(1)?)?;
        Some(set[below(word, set.len() as u32) as usize])
    }

    /// How packets of this flow choose, as the policy says.
    fn paths_of(&self, flow: u32) -> Paths {
        let own = self.policy.by_flow.as_ref().and_then(|flows| flows.get(flow as usize));
        *own.unwrap_or(&self.policy.usual)
    }

    /// What chooses among ports for a packet without the number of a path.
    fn word(&self, paths: Paths, tor: u16, flow: u32, reverse: bool, nth: u64) -> u64 {
        let key = self.keys[paths as usize];
        match paths {
            Paths::Hash => hash(key, self.policy.number(flow), reverse),
            Paths::SymmetricHash => {
                symmetric(key, self.height[usize::from(tor)], self.policy.number(flow))
            }
            Paths::Spray | Paths::Source | Paths::Adaptive => Stream::at(key, nth),
        }
    }

    /// The port of a flow that has a pin here, and of others as the policy says. Apart, since one more case above would become a jump.
    #[inline(never)]
    fn port_by_flow(
        &self,
        (tor, port): (u16, u16),
        (flow, reverse): (u32, bool),
        nth: u64,
        path: Option<u16>,
    ) -> Option<u16> {
        let route = self.by_tor[usize::from(tor)];
        if route == UNREACHABLE {
            return None;
        }
        let pinned = self.pins.as_ref().and_then(|pins| pins.port(flow, reverse));
        if let Some(pinned) = pinned {
            return Some(pinned);
        }
        if tor == self.own {
            return Some(port);
        }
        let paths = self.paths_of(flow);
        match path {
            Some(number) if paths == Paths::Source => Some(self.port_of_path(tor, number)),
            _ if paths == Paths::Adaptive => None,
            _ => self.chosen(route, self.word(paths, tor, flow, reverse, nth)),
        }
    }

    /// Whether the queues of the ports decide for packets of this flow.
    pub fn is_adaptive(&self, flow: u32) -> bool {
        self.how == SwitchRouting::ByFlow && self.paths_of(flow) == Paths::Adaptive
    }

    /// The equal-cost port towards rack `tor` with the shortest queue; of several, the one that `nth` draws. `queue` shows the queue of a port.
    /// `None`: unreachable.
    pub fn shortest(&self, tor: u16, nth: u64, queue: impl Fn(u16) -> u64) -> Option<u16> {
        let (mut least, mut ties) = (u64::MAX, 0);
        for length in self.equal(tor).map(&queue) {
            if length < least {
                (least, ties) = (length, 0);
            }
            ties += u32::from(length == least);
        }
        if ties == 0 {
            return None; // no port
        }
        let word = Stream::at(self.keys[Paths::Adaptive as usize], nth);
        self.equal(tor).filter(|port| queue(*port) == least).nth(below(word, ties) as usize)
    }

    /// Equal-cost ports towards a rack, ascending.
    pub fn choices(&self, tor: u16) -> Vec<u16> {
        self.equal(tor).collect()
    }

    fn equal(&self, tor: u16) -> impl Iterator<Item = u16> {
        let route = self.by_tor.get(usize::from(tor)).copied().unwrap_or(UNREACHABLE);
        let (first, len) = (route >> LEN_BITS, route & ((1 << LEN_BITS) - 1));
        let set = (first as usize).checked_sub(1).filter(|_| len == 0);
        let set = set.map_or(&[][..], |set| &self.sets[set]);
        (first as u16..).take(len as usize).chain(set.iter().copied())
    }
}

#[inline(always)]
fn hash(key: u64, number: u64, reverse: bool) -> u64 {
    mix(key ^ (number << 1 | u64::from(reverse)))
}

#[inline(always)]
fn symmetric(key: u64, height: u8, number: u64) -> u64 {
    mix(mix(key ^ u64::from(height)) ^ number)
}

/// Tier of each switch: hops from the nearest one with hosts.
fn tiers(neighbours: &[Vec<(u16, u32)>], tors: &[NodeId], hosts: u32) -> Vec<u32> {
    let mut tiers = vec![u32::MAX; neighbours.len()];
    let mut frontier: VecDeque<u32> = tors.iter().map(|tor| tor.0 - hosts).collect();
    frontier.iter().for_each(|tor| tiers[*tor as usize] = 0);
    while let Some(at) = frontier.pop_front() {
        for (_, peer) in &neighbours[at as usize] {
            if tiers[*peer as usize] == u32::MAX {
                tiers[*peer as usize] = tiers[at as usize] + 1;
                frontier.push_back(*peer);
            }
        }
    }
    tiers
}

/// Routes of one switch while they are collected.
struct Draft {
    by_tor: Vec<u32>,
    sets: Vec<Box<[u16]>>,
    height: Vec<u8>,
    index: BTreeMap<Box<[u16]>, u32>, // of sets, in `by_tor`'s form
}

impl Draft {
    fn new(tors: usize, symmetric: bool) -> Self {
        let height = vec![0; if symmetric { tors } else { 0 }];
        let by_tor = vec![UNREACHABLE; tors];
        Self { by_tor, sets: Vec::new(), height, index: BTreeMap::new() }
    }

    /// `ports` ascend, and there is one at least.
    fn set(&mut self, tor: usize, ports: &[u16], height: u32) {
        let (first, last) = (ports[0], ports[ports.len() - 1]);
        let in_a_row = usize::from(last - first) + 1 == ports.len();
        self.by_tor[tor] = if in_a_row {
            u32::from(first) << LEN_BITS | ports.len() as u32
        } else if let Some(route) = self.index.get(ports) {
            *route
        } else {
            self.sets.push(ports.into());
            let route = (self.sets.len() as u32) << LEN_BITS;
            self.index.insert(ports.into(), route);
            route
        };
        if let Some(h) = self.height.get_mut(tor) {
            *h = height.min(255) as u8;
        }
    }

    fn finish(mut self, own: u16, policy: RoutingPolicy, keys: [u64; 5]) -> Routes {
        if own != NO_RACK {
            self.set(usize::from(own), &[0], 0); // never taken, but there to be loaded
        }
        let Self { by_tor, sets, height, .. } = self;
        let how = match policy.usual {
            _ if policy.by_flow.is_some() => SwitchRouting::ByFlow,
            Paths::Source | Paths::Adaptive => SwitchRouting::ByFlow,
            Paths::Spray => SwitchRouting::Spray,
            _ if policy.numbers.is_some() => SwitchRouting::ByFlow,
            Paths::Hash => SwitchRouting::Hash,
            Paths::SymmetricHash => SwitchRouting::Symmetric,
        };
        let key = keys[policy.usual as usize];
        Routes { own, by_tor, sets, height, beyond: Vec::new(), how, key, policy, keys, pins: None }
    }
}
