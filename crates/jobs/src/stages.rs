//! Stages of a schedule, in closed form: one piece received, one piece sent.

use crate::kinds::{Algorithm, Operation};
use crate::op::DataUse;
use crate::schedule::Schedule;

/// Parts that go to a rank or come from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub peer: u32,
    pub part: u32,
    pub parts: u32,
}

/// What the messages that a stage sends wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Nothing.
    Open,
    /// Each for the same message of the stage before.
    Before,
    /// Each for the same message of this stage.
    Same,
    /// All for the last join.
    Join,
}

/// Wait at the end of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// Nothing.
    None,
    /// A wait for all that was received so far.
    Received,
    /// A wait for all that this stage received and sent.
    Both,
    /// A wait for all that the `nth` of those stages received which began the schedule with this part, one after the other.
    Part { nth: u32, part: u32 },
}

/// A stage of one rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage {
    pub recv: Option<Piece>,
    pub take: DataUse,
    pub send: Option<Piece>,
    pub gate: Gate,
    /// Whether what is received is sent on, message by message.
    pub forwards: bool,
    pub join: Join,
}

impl Stage {
    const EMPTY: Self = Self {
        recv: None,
        take: DataUse::Store,
        send: None,
        gate: Gate::Open,
        forwards: false,
        join: Join::None,
    };
}

/// One part.
fn one(peer: u32, part: u32) -> Option<Piece> {
    Some(Piece { peer, part, parts: 1 })
}

impl Schedule {
    /// The `nth` stage of a rank; `None` after the last.
    pub(crate) fn stage(&self, rank: u32, nth: u64) -> Option<Stage> {
        if self.ranks == 1 {
            return None;
        }
        let nth = u32::try_from(nth).ok()?;
        match (self.algorithm, self.operation) {
            (Algorithm::Ring, Operation::Broadcast) => (nth == 0).then(|| self.chain(rank)),
            (Algorithm::Ring, Operation::AllToAll) => {
                (nth < self.ranks - 1).then(|| self.round(rank, nth + 1))
            }
            (Algorithm::Ring, _) => self.ring(rank, nth),
            (Algorithm::Direct, Operation::Broadcast) => self.direct_broadcast(rank, nth),
            (Algorithm::Direct, _) => self.direct(rank, nth),
            (Algorithm::HalvingDoubling, _) => self.halving_doubling(rank, nth),
        }
    }

    /// Ring: step `s` of a reduce-scatter sends part `r - s - 1`, of an all-gather part `r - s`. Rank `r` holds part `r` in between.
    fn ring(&self, rank: u32, nth: u32) -> Option<Stage> {
        let half = self.ranks - 1;
        let (steps, reducing) = match self.operation {
            Operation::AllReduce => (2 * half, half),
            Operation::ReduceScatter => (half, half),
            _ => (half, 0),
        };
        if nth >= steps {
            return None;
        }
        let back =
            if self.operation == Operation::AllGather { nth } else { (nth + 1) % self.ranks };
        let part = self.back(rank, back);
        Some(Stage {
            recv: one(self.back(rank, 1), self.back(part, 1)),
            take: if nth < reducing { DataUse::Reduce } else { DataUse::Store },
            send: one(self.next(rank, 1), part),
            gate: if nth == 0 { Gate::Open } else { Gate::Before },
            forwards: nth + 1 < steps,
            join: Join::None,
        })
    }

    /// A chain from the root to the rank before it.
    fn chain(&self, rank: u32) -> Stage {
        let (from, to) = (self.back(rank, 1), self.next(rank, 1));
        let (first, last) = (rank == self.root, to == self.root);
        Stage {
            recv: one(from, 0).filter(|_| !first),
            send: one(to, 0).filter(|_| !last),
            gate: if first { Gate::Open } else { Gate::Same },
            forwards: !last,
            ..Stage::EMPTY
        }
    }

    /// Round `distance` of an all-to-all.
    fn round(&self, rank: u32, distance: u32) -> Stage {
        let to = self.next(rank, distance);
        Stage {
            recv: one(self.back(rank, distance), rank),
            send: one(to, to),
            gate: Gate::Join,
            join: if distance + 1 < self.ranks { Join::Both } else { Join::None },
            ..Stage::EMPTY
        }
    }

    /// The root sends to each rank.
    fn direct_broadcast(&self, rank: u32, nth: u32) -> Option<Stage> {
        if rank != self.root {
            return (nth == 0).then(|| Stage { recv: one(self.root, 0), ..Stage::EMPTY });
        }
        let to = self.next(rank, nth + 1);
        (nth + 1 < self.ranks).then(|| Stage { send: one(to, 0), ..Stage::EMPTY })
    }

    /// All receiving, then all sending. An all-reduce does both twice, with a wait for all receiving in between.
    fn direct(&self, rank: u32, nth: u32) -> Option<Stage> {
        let peers = self.ranks - 1;
        let (phase, distance) = (nth / peers, nth % peers + 1);
        let (from, to) = (self.back(rank, distance), self.next(rank, distance));
        let gathers = self.operation == Operation::AllGather;
        let reduces = matches!(self.operation, Operation::AllReduce | Operation::ReduceScatter);
        let take = if reduces { DataUse::Reduce } else { DataUse::Store };
        Some(match (phase, self.operation) {
            (0, _) => {
                Stage { recv: one(from, if gathers { from } else { rank }), take, ..Stage::EMPTY }
            }
            (1, _) => Stage { send: one(to, if gathers { rank } else { to }), ..Stage::EMPTY },
            (2, Operation::AllReduce) => Stage { recv: one(from, from), ..Stage::EMPTY },
            (3, Operation::AllReduce) => {
                Stage { join: Join::Part { nth: distance - 1, part: rank }, ..Stage::EMPTY }
            }
            (4, Operation::AllReduce) => {
                Stage { send: one(to, rank), gate: Gate::Join, ..Stage::EMPTY }
            }
            _ => return None,
        })
    }

    /// Halving: step `s` exchanges half of what is left with the rank `n / 2^(s + 1)` away. Doubling: the same backwards. Ranks above the
    /// greatest power of two take part through the rank that is so far below.
    fn halving_doubling(&self, rank: u32, nth: u32) -> Option<Stage> {
        let paired = self.parts.count(); // ranks of the exchange
        let all = |peer| Some(Piece { peer, part: 0, parts: paired });
        let folded = paired < self.ranks; // an all-reduce
        if rank >= paired {
            let partner = rank - paired;
            return (nth == 0).then(|| Stage {
                recv: all(partner),
                send: all(partner),
                ..Stage::EMPTY
            });
        }
        let above = (rank + paired < self.ranks).then_some(rank + paired);
        let Some(nth) = nth.checked_sub(u32::from(folded)) else {
            let join = if above.is_some() { Join::Received } else { Join::None };
            return Some(Stage {
                recv: above.and_then(all),
                take: DataUse::Reduce,
                join,
                ..Stage::EMPTY
            });
        };
        let log = paired.ilog2();
        let (halving, doubling) = match self.operation {
            Operation::AllReduce => (log, log),
            Operation::ReduceScatter => (log, 0),
            _ => (0, log),
        };
        let sends_on = nth + 1 < halving + doubling || above.is_some();
        let join = if sends_on { Join::Received } else { Join::None };
        let exchange = |distance: u32, give_own: bool, take| {
            let peer = rank ^ distance;
            let block = |of: u32| Some(Piece { peer, part: of & !(distance - 1), parts: distance });
            let (recv, send) =
                if give_own { (block(peer), block(rank)) } else { (block(rank), block(peer)) };
            Stage { recv, take, send, gate: Gate::Join, forwards: false, join }
        };
        if nth < halving {
            return Some(exchange(paired >> (nth + 1), false, DataUse::Reduce));
        }
        if nth < halving + doubling {
            return Some(exchange(1 << (nth - halving), true, DataUse::Store));
        }
        let send = above.and_then(all)?;
        (nth == halving + doubling).then_some(Stage {
            send: Some(send),
            gate: Gate::Join,
            ..Stage::EMPTY
        })
    }
}
