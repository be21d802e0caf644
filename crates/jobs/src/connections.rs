//! Connections of a collective, numbered without gaps.

use crate::kinds::{Algorithm, Operation};
use crate::schedule::Schedule;

/// Ranks that a rank sends to.
#[derive(Clone, Copy)]
enum Shape {
    /// The next one.
    Next,
    /// The next one, but for the rank before the root.
    Chain,
    /// All others.
    All,
    /// All others, from the root alone.
    Root,
    /// Those at a distance of a power of two, and the partners of ranks above.
    Pairs,
}

impl Schedule {
    fn shape(&self) -> Shape {
        match (self.algorithm, self.operation) {
            (Algorithm::Ring, Operation::Broadcast) => Shape::Chain,
            (Algorithm::Direct, Operation::Broadcast) => Shape::Root,
            (Algorithm::Direct, _) | (_, Operation::AllToAll) => Shape::All,
            (Algorithm::Ring, _) => Shape::Next,
            (Algorithm::HalvingDoubling, _) => Shape::Pairs,
        }
    }

    /// Number of connections: one per pair of ranks and channel, in one direction. Each lasts as long as the collective.
    pub fn connections(&self) -> u64 {
        let ranks = u64::from(self.ranks);
        if ranks == 1 {
            return 0;
        }
        let paired = u64::from(self.parts.count());
        let pairs = match self.shape() {
            Shape::Next => ranks,
            Shape::Chain | Shape::Root => ranks - 1,
            Shape::All => ranks * (ranks - 1),
            Shape::Pairs => paired * u64::from(paired.ilog2()) + 2 * (ranks - paired),
        };
        pairs * u64::from(self.channels())
    }

    /// Number of a connection, from 0; `None` if the collective has none like it.
    pub fn connection(&self, from: u32, to: u32, channel: u32) -> Option<u64> {
        let n = self.ranks;
        if from >= n || to >= n || from == to || channel >= self.channels() {
            return None;
        }
        let is_next = to == self.next(from, 1);
        let distance = self.back(to, from); // 1 or more
        let pair = match self.shape() {
            Shape::Next => is_next.then_some(u64::from(from)),
            Shape::Chain => (is_next && to != self.root).then(|| self.back(from, self.root).into()),
            Shape::All => Some(u64::from(from) * u64::from(n - 1) + u64::from(distance - 1)),
            Shape::Root => (from == self.root).then(|| u64::from(distance - 1)),
            Shape::Pairs => self.pair(from, to),
        };
        pair.map(|pair| pair * u64::from(self.channels()) + u64::from(channel))
    }

    fn pair(&self, from: u32, to: u32) -> Option<u64> {
        let paired = self.parts.count();
        let log = u64::from(paired.ilog2());
        let above = |rank: u32| u64::from(paired) * log + 2 * u64::from(rank - paired);
        match (from >= paired, to >= paired) {
            (false, false) => {
                let distance = from ^ to;
                let there = distance.is_power_of_two();
                there.then(|| u64::from(from) * log + u64::from(distance.ilog2()))
            }
            (true, false) => (to == from - paired).then(|| above(from)),
            (false, true) => (from == to - paired).then(|| above(to) + 1),
            (true, true) => None,
        }
    }

    /// Sending rank, receiving rank and channel of a connection; `None` above the last.
    pub fn ends(&self, connection: u64) -> Option<(u32, u32, u32)> {
        if connection >= self.connections() {
            return None;
        }
        let channels = u64::from(self.channels());
        let (pair, channel) = (connection / channels, (connection % channels) as u32);
        let others = u64::from(self.ranks - 1);
        let (from, to) = match self.shape() {
            Shape::Next => (pair as u32, self.next(pair as u32, 1)),
            Shape::Chain => {
                (self.next(self.root, pair as u32), self.next(self.root, pair as u32 + 1))
            }
            Shape::All => {
                let from = (pair / others) as u32;
                (from, self.next(from, (pair % others) as u32 + 1))
            }
            Shape::Root => (self.root, self.next(self.root, pair as u32 + 1)),
            Shape::Pairs => {
                let paired = self.parts.count();
                let log = u64::from(paired.ilog2());
                match pair.checked_sub(u64::from(paired) * log) {
                    None => {
                        let from = (pair / log) as u32;
                        (from, from ^ 1 << (pair % log))
                    }
                    Some(nth) => {
                        let below = (nth / 2) as u32;
                        let ends = (below + paired, below);
                        if nth % 2 == 0 { ends } else { (ends.1, ends.0) }
                    }
                }
            }
        };
        Some((from, to, channel))
    }
}
