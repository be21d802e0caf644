//! Round trips and ideal completion times as the public HPCC simulator counts them.
//!
//! Source: `third.cc`, `CalculateRoute` and `qp_finish`. A breadth-first search from the receiver, neighbours by number, says for
//! each node the first way it was met; delays and times of serialisation add up along it in whole ns.

use super::Topology;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A link to look up: peer, rate in bit/s, delay in ns.
type Out = (u32, u64, u64);

/// Header of a data packet without telemetry, which ideal times count.
const HEADER: u64 = 48;

/// Queries on the paths of a topology.
#[derive(Clone, Debug)]
pub struct Paths {
    out: Vec<Vec<Out>>,
    switch: Vec<bool>,
    payload: u64,
    known: BTreeMap<u32, Vec<Option<ReceiverPath>>>,
}

/// The way from a node to a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverPath {
    /// Propagation, in ns.
    pub delay: u64,
    /// Serialisation of one payload at every link, in ns.
    pub serialisation: u64,
    /// Least rate, in bit/s.
    pub rate: u64,
}

impl ReceiverPath {
    /// Both ways of propagation, and one of serialisation.
    pub fn round_trip(&self) -> u64 {
        2 * self.delay + self.serialisation
    }
}

impl Paths {
    /// Of a topology, with packets of this payload.
    pub fn of(topology: &Topology, payload: u64) -> Self {
        let mut out = vec![Vec::new(); topology.nodes as usize];
        for link in &topology.links {
            let (rate, delay) = (link.rate.get(), link.delay.as_ps() / 1000);
            out[link.a as usize].push((link.b, rate, delay));
            out[link.b as usize].push((link.a, rate, delay));
        }
        out.iter_mut().for_each(|peers: &mut Vec<Out>| peers.sort_unstable());
        let mut switch = vec![false; topology.nodes as usize];
        topology.switches.iter().for_each(|s| switch[*s as usize] = true);
        Self { out, switch, payload, known: BTreeMap::new() }
    }

    /// The way from one host to another, if there is one.
    pub fn way(&mut self, src: u32, dst: u32) -> Option<ReceiverPath> {
        if !self.known.contains_key(&dst) {
            let ways = self.ways_to(dst);
            self.known.insert(dst, ways);
        }
        self.known[&dst].get(src as usize).copied().flatten()
    }

    fn ways_to(&self, dst: u32) -> Vec<Option<ReceiverPath>> {
        let mut ways: Vec<Option<ReceiverPath>> = vec![None; self.out.len()];
        let mut todo = VecDeque::from([dst]);
        ways[dst as usize] = Some(ReceiverPath { delay: 0, serialisation: 0, rate: u64::MAX });
        while let Some(at) = todo.pop_front() {
            let Some(way) = ways[at as usize] else { continue };
            for (peer, rate, delay) in &self.out[at as usize] {
                if ways[*peer as usize].is_some() {
                    continue;
                }
                ways[*peer as usize] = Some(ReceiverPath {
                    delay: way.delay + delay,
                    serialisation: way.serialisation
                        + self.payload.saturating_mul(8_000_000_000) / (*rate).max(1),
                    rate: way.rate.min(*rate),
                });
                if self.switch[*peer as usize] {
                    todo.push_back(*peer);
                }
            }
        }
        ways
    }

    /// The ideal completion time of so many bytes, in ns; `None` if there is no way.
    ///
    /// Deviation: the source adds up bytes in 32 bits.
    pub fn standalone(&mut self, src: u32, dst: u32, size: u64) -> Option<u64> {
        let way = self.way(src, dst)?;
        let packets = size.saturating_sub(1) / self.payload.max(1) + 1;
        let bytes = u128::from(size) + u128::from(packets * HEADER);
        let time = bytes * 8_000_000_000 / u128::from(way.rate.max(1));
        Some(way.round_trip().saturating_add(u64::try_from(time).unwrap_or(u64::MAX)))
    }

    /// The longest round trip over all pairs of hosts, in ns.
    pub fn longest_round_trip(&self) -> u64 {
        let hosts = || (0..self.out.len()).filter(|n| !self.switch[*n] && !self.out[*n].is_empty());
        let mut longest = 0;
        // Hosts on one switch by links alike have like ways.
        let mut seen = BTreeSet::new();
        for dst in hosts().filter(|dst| seen.insert(&self.out[*dst])) {
            let ways = self.ways_to(dst as u32);
            let others = hosts().filter(|src| *src != dst).filter_map(|src| ways[src]);
            longest = others.map(|way| way.round_trip()).fold(longest, u64::max);
        }
        longest
    }
}
