//! Flows that start when others have been delivered: rounds of closed loops (incasts), and triggers of listed flows. Notifications travel
//! over control links.

use crate::host::{Dependency, Successor};
use forebay_engine::NodeId;
use forebay_net::Fabric;
use forebay_scenario::workload::{ClosedLoop, Table, Trigger};
use forebay_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// All dependencies of a run.
#[derive(Debug, Default)]
pub(crate) struct DependencyTable {
    /// Dependencies, by number.
    pub all: Vec<Dependency>,
    /// Flows, each with a dependency that its delivery counts for.
    pub of_flow: Vec<(u32, u32)>,
    /// Hosts, each with a barrier: a dependency that counts others rather than flows.
    pub barriers: Vec<(u32, u32)>,
}

/// The control links that notifications take.
///
/// A trigger whose flows go to several hosts has a barrier at one of them: half of its delay passes on the way there, the rest on the
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

/// Delay to the host with the barrier, if there is one, and from there to the senders.
fn parts(trigger: &Trigger, receivers: &BTreeSet<u32>) -> (Span, Span) {
    let least = Span::from_ps(1);
    let there =
        if receivers.len() > 1 { (trigger.control_delay / 2).max(least) } else { Span::ZERO };
    (there, trigger.control_delay.saturating_sub(there).max(least))
}

impl DependencyTable {
    pub fn of(table: &Table, fabric: &Fabric) -> Self {
        let mut all = Self::default();
        table.closed_loops.iter().for_each(|one| all.closed_loop(one, table, fabric));
        table.triggers.iter().for_each(|one| all.trigger(one, table, fabric));
        all
    }

    fn closed_loop(&mut self, one: &ClosedLoop, table: &Table, fabric: &Fabric) {
        for (i, round) in one.rounds.iter().enumerate() {
            let id = self.all.len() as u32;
            self.of_flow.extend(round.flows.iter().map(|flow| (*flow, id)));
            let next = one.rounds.get(i + 1).map_or(Vec::new(), |next| {
                let successors = next.flows.iter().zip(&next.jitter);
                let start = |(flow, jitter): (&u32, &Span)| {
                    start(*flow, round.receiver, one.control_delay, *jitter, table, fabric)
                };
                successors.map(start).collect()
            });
            let until = latest(one.until, one.control_delay);
            self.all.push(Dependency { count: round.flows.len() as u32, until, next });
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
        let until = latest(one.until, back);
        let mut by_receiver: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for flow in &one.flows {
            by_receiver.entry(table.flows[*flow as usize].dst).or_default().push(*flow);
        }
        if receivers.len() == 1 {
            let id = self.all.len() as u32;
            self.of_flow.extend(one.flows.iter().map(|flow| (*flow, id)));
            self.all.push(Dependency { count: one.flows.len() as u32, until, next });
            return;
        }
        let barrier = self.all.len() as u32;
        self.all.push(Dependency { count: receivers.len() as u32, until, next });
        self.barriers.push((at, barrier));
        for (receiver, flows) in by_receiver {
            let id = self.all.len() as u32;
            self.of_flow.extend(flows.iter().map(|flow| (*flow, id)));
            let link = link(fabric, receiver, at);
            let wait = there.saturating_sub(fabric.links()[link.0 as usize].lookahead);
            let next = vec![Successor { what: barrier, is_barrier: true, link, wait }];
            self.all.push(Dependency { count: flows.len() as u32, until: Time::MAX, next });
        }
    }
}

fn link(fabric: &Fabric, from: u32, to: u32) -> forebay_engine::LinkId {
    fabric.control_link(NodeId(from), NodeId(to)).expect("made for this pair")
}

fn start(
    flow: u32,
    from: u32,
    delay: Span,
    jitter: Span,
    table: &Table,
    fabric: &Fabric,
) -> Successor {
    let link = link(fabric, from, table.flows[flow as usize].src);
    // Loops of different delays may share a link, which has the least of them.
    let shortest = fabric.links()[link.0 as usize].lookahead;
    Successor { what: flow, is_barrier: false, link, wait: delay.saturating_sub(shortest) + jitter }
}

/// Time before which a delivery must be so that its successors, notified `delay` later, begin before `until`.
fn latest(until: Time, delay: Span) -> Time {
    Time::from_ps(until.as_ps().saturating_sub(delay.as_ps()))
}
