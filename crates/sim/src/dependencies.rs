//! What starts when something else has been delivered: rounds of incasts, and triggers of listed flows. All of it travels over
//! control links.

use crate::host::{Next, Round};
use forebay_engine::NodeId;
use forebay_net::Fabric;
use forebay_scenario::workload::{ClosedLoop, Table, Trigger};
use forebay_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that hosts count.
#[derive(Debug, Default)]
pub(crate) struct Loops {
    /// Rounds.
    pub rounds: Vec<Round>,
    /// Flows, each with a round that its delivery counts for.
    pub round_of: Vec<(u32, u32)>,
    /// Hosts, each with a round that counts other rounds rather than flows.
    pub joins: Vec<(u32, u32)>,
}

/// The control links that they take.
///
/// A trigger whose flows go to several hosts is joined at one of them: half of its delay passes on the way there, the rest on the
/// way to the senders.
pub(crate) fn control_links(table: &Table) -> Vec<(NodeId, NodeId, Span)> {
    let mut links: BTreeMap<(NodeId, NodeId), Span> = BTreeMap::new();
    let mut add = |from: u32, to: u32, delay: Span| {
        let least = links.entry((NodeId(from), NodeId(to))).or_insert(delay);
        *least = delay.min(*least);
    };
    let host = |flow: &u32| table.flows[*flow as usize];
    for one in &table.closed_loops {
        for pair in one.rounds.windows(2) {
            for flow in &pair[1].flows {
                add(pair[0].receiver, host(flow).src, one.control_delay);
            }
        }
    }
    for trigger in &table.triggers {
        let receivers = receivers(trigger, table);
        let at = *receivers.first().expect("a trigger has flows");
        let (there, back) = parts(trigger, &receivers);
        if receivers.len() > 1 {
            receivers.iter().for_each(|receiver| add(*receiver, at, there));
        }
        trigger.starts.iter().for_each(|flow| add(at, host(flow).src, back));
    }
    links.into_iter().map(|((from, to), delay)| (from, to, delay)).collect()
}

fn receivers(trigger: &Trigger, table: &Table) -> BTreeSet<u32> {
    trigger.flows.iter().map(|flow| table.flows[*flow as usize].dst).collect()
}

/// Delay to the host that joins, if there is one, and from there to the senders.
fn parts(trigger: &Trigger, receivers: &BTreeSet<u32>) -> (Span, Span) {
    let least = Span::from_ps(1);
    let there =
        if receivers.len() > 1 { (trigger.control_delay / 2).max(least) } else { Span::ZERO };
    (there, trigger.control_delay.saturating_sub(there).max(least))
}

impl Loops {
    pub fn of(table: &Table, fabric: &Fabric) -> Self {
        let mut all = Self::default();
        table.closed_loops.iter().for_each(|one| all.closed_loop(one, table, fabric));
        table.triggers.iter().for_each(|one| all.trigger(one, table, fabric));
        all
    }

    fn closed_loop(&mut self, one: &ClosedLoop, table: &Table, fabric: &Fabric) {
        for (i, round) in one.rounds.iter().enumerate() {
            let id = self.rounds.len() as u32;
            self.round_of.extend(round.flows.iter().map(|flow| (*flow, id)));
            let next = one.rounds.get(i + 1).map_or(Vec::new(), |next| {
                let told = next.flows.iter().zip(&next.jitter);
                let start = |(flow, jitter): (&u32, &Span)| {
                    start(*flow, round.receiver, one.control_delay, *jitter, table, fabric)
                };
                told.map(start).collect()
            });
            let until = told_before(one.until, one.control_delay);
            self.rounds.push(Round { count: round.flows.len() as u32, until, next });
        }
    }

    fn trigger(&mut self, one: &Trigger, table: &Table, fabric: &Fabric) {
        let receivers = receivers(one, table);
        let at = *receivers.first().expect("a trigger has flows");
        let (there, back) = parts(one, &receivers);
        let next = one
            .starts
            .iter()
            .map(|flow| start(*flow, at, back, Span::ZERO, table, fabric))
            .collect();
        let until = told_before(one.until, back);
        let mut by_receiver: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for flow in &one.flows {
            by_receiver.entry(table.flows[*flow as usize].dst).or_default().push(*flow);
        }
        if receivers.len() == 1 {
            let id = self.rounds.len() as u32;
            self.round_of.extend(one.flows.iter().map(|flow| (*flow, id)));
            self.rounds.push(Round { count: one.flows.len() as u32, until, next });
            return;
        }
        let join = self.rounds.len() as u32;
        self.rounds.push(Round { count: receivers.len() as u32, until, next });
        self.joins.push((at, join));
        for (receiver, flows) in by_receiver {
            let id = self.rounds.len() as u32;
            self.round_of.extend(flows.iter().map(|flow| (*flow, id)));
            let link = link(fabric, receiver, at);
            let wait = there.saturating_sub(fabric.links()[link.0 as usize].lookahead);
            let next = vec![Next { what: join, tells: true, link, wait }];
            self.rounds.push(Round { count: flows.len() as u32, until: Time::MAX, next });
        }
    }
}

fn link(fabric: &Fabric, from: u32, to: u32) -> forebay_engine::LinkId {
    fabric.control_link(NodeId(from), NodeId(to)).expect("made for this pair")
}

fn start(flow: u32, from: u32, delay: Span, jitter: Span, table: &Table, fabric: &Fabric) -> Next {
    let link = link(fabric, from, table.flows[flow as usize].src);
    // Loops of different delays may share a link, which has the least of them.
    let shortest = fabric.links()[link.0 as usize].lookahead;
    Next { what: flow, tells: false, link, wait: delay.saturating_sub(shortest) + jitter }
}

/// Told `delay` after its delivery, what follows would begin from `until` on.
fn told_before(until: Time, delay: Span) -> Time {
    Time::from_ps(until.as_ps().saturating_sub(delay.as_ps()))
}
