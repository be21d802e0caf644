//! Rounds: deliveries that a host counts, and flows on other hosts that begin when the last of them is there.

use super::Host;
use super::timers::Due;
use forebay_engine::{LinkId, Out};
use forebay_units::{Span, Time};
use forebay_wire::{Flags, FlowId, Kind, Packet};
use std::sync::Arc;

/// Deliveries that one host counts, and what follows the last of them.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// How many flows have to be delivered, or how many rounds of other hosts have to be over.
    pub count: u32,
    /// What follows does so only if this is over before.
    pub until: Time,
    /// What follows.
    pub next: Vec<Next>,
}

/// What follows a round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    /// A flow that starts, or a round that is told.
    pub what: u32,
    /// Whether it is a round.
    pub tells: bool,
    /// Control link to its host.
    pub link: LinkId,
    /// How long that host waits when it has been told.
    pub wait: Span,
}

/// A round of rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Join {
    round: u32,
    missing: u32,
    over: Time, // when the latest of those that are over was
}

/// What a host counts.
#[derive(Clone, Debug)]
pub(super) struct Dependencies {
    counted: Vec<(u32, u32)>, // rounds of flows received here: index, flows still missing
    of: Vec<(u32, u32)>,      // flow to index in `counted`, sorted
    joins: Vec<Join>,         // rounds of rounds, sorted
}

impl Dependencies {
    /// `of` pairs flows received here with the rounds that they count for.
    pub fn new(rounds: &[Round], mut of: Vec<(u32, u32)>) -> Self {
        of.sort_unstable();
        let mut ids: Vec<u32> = of.iter().map(|pair| pair.1).collect();
        ids.sort_unstable();
        ids.dedup();
        for (_, round) in &mut of {
            *round = ids.binary_search(round).expect("every round was collected") as u32;
        }
        let counted = ids.iter().map(|round| (*round, rounds[*round as usize].count)).collect();
        Self { counted, of, joins: Vec::new() }
    }
}

/// Control packet: `flow` is a round that its receiver counts for, not a flow to start.
const TELLS: Flags = Flags(1);

impl Host {
    /// Has it count rounds of other hosts.
    pub fn add_join(&mut self, round: u32) {
        let missing = self.common.loops[round as usize].count;
        self.dependencies.joins.push(Join { round, missing, over: Time::ZERO });
        self.dependencies.joins.sort_by_key(|join| join.round);
    }

    /// A flow has been delivered: the rounds that it counts for are nearer to their end.
    pub(super) fn count_delivery(&mut self, now: Time, flow: FlowId, out: &mut impl Out<Packet>) {
        let first = self.dependencies.of.partition_point(|r| r.0 < flow.0);
        for at in first..self.dependencies.of.len() {
            let (of, round) = self.dependencies.of[at];
            if of != flow.0 {
                return;
            }
            let (round, missing) = &mut self.dependencies.counted[round as usize];
            *missing -= 1;
            if *missing == 0 {
                let round = *round;
                self.follow(now, round, now, out);
            }
        }
    }

    /// Something elsewhere is over: a flow of this host begins, or a round that counts here is nearer to its end.
    #[cold]
    pub(super) fn on_dependency(&mut self, now: Time, packet: &Packet, out: &mut impl Out<Packet>) {
        let at = now + Span::from_ps(packet.seq);
        if !packet.flags.has(TELLS) {
            self.timers.push(at, Due::Start, packet.flow.0);
            return;
        }
        let found = self.dependencies.joins.binary_search_by_key(&packet.flow.0, |join| join.round);
        let join = &mut self.dependencies.joins[found.expect("a host is told of its own rounds")];
        join.over = join.over.max(at);
        join.missing -= 1;
        if join.missing == 0 {
            let Join { round, over, .. } = *join;
            self.follow(now, round, over, out);
        }
    }

    /// Says to all that follows a round that it was over at `over`, now or soon.
    fn follow(&mut self, now: Time, round: u32, over: Time, out: &mut impl Out<Packet>) {
        let common = Arc::clone(&self.common);
        let round = &common.loops[round as usize];
        let next = if over < round.until { &round.next[..] } else { &[] };
        for one in next {
            // The wait is the receiver's: links are FIFO, and others may have shorter ones.
            let seq = (one.wait + over.since(now)).as_ps();
            let flags = Flags::NONE.with_if(one.tells, TELLS);
            let flow = FlowId(one.what);
            let go = Packet { flow, seq, flags, kind: Kind::Control, ..Packet::default() };
            out.push(one.link, now, &go);
        }
    }
}
