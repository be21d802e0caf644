//! What receivers that give credit leave: credits by flow, payload by traffic class, and samples.

use crate::host::Host;
use crate::observe::{CreditSample, CreditSamples};
use crate::world::{AnyNode, World};
use forebay_record::{ClassArrivalRow, CreditRow, Quantity, Series};
use forebay_units::{Span, Time};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Hosts of which there are series of a quantity: those where it was largest in the mean.
const HOSTS: usize = 8;

/// Of flows whose receivers sent credits.
pub(super) fn by_flow(nodes: &[AnyNode]) -> Vec<CreditRow> {
    let mut rows = BTreeMap::new();
    for host in nodes.iter().filter_map(AnyNode::host) {
        let ended = host.delivered().iter().map(|one| (one.flow, one.credits_sent));
        rows.extend(ended.chain(host.credits_of_unfinished()).filter(|(_, sent)| *sent > 0));
    }
    let (mut used, mut backward) = (BTreeMap::new(), BTreeMap::new());
    if !rows.is_empty() {
        for host in nodes.iter().filter_map(AnyNode::host) {
            let all = host.sent().iter().copied().chain(host.unfinished().map(|u| u.0));
            used.extend(all.map(|one| (one.flow, one.credits_used)));
            backward.extend(host.backward_credits());
        }
    }
    let row = |(flow, sent): (u32, u32)| CreditRow {
        flow,
        sent: sent.into(),
        used: used.get(&flow).copied().unwrap_or_default().into(),
        backward: backward.get(&flow).copied().unwrap_or_default(),
    };
    rows.into_iter().map(row).collect()
}

/// Payload of receiver-driven transports that hosts got, of classes that had any.
pub(super) fn by_class(nodes: &[AnyNode]) -> Vec<ClassArrivalRow> {
    let mut rows = Vec::new();
    for (host, node) in (0u32..).zip(nodes.iter().filter_map(AnyNode::host)) {
        for (class, counted) in (0u8..).zip(node.class_arrivals()) {
            let (unscheduled, scheduled) = (counted.unscheduled, counted.scheduled);
            if unscheduled.get() + scheduled.get() > 0 {
                rows.push(ClassArrivalRow { host, class, unscheduled, scheduled });
            }
        }
    }
    rows
}

/// A quantity of each host.
type OfHost = (&'static str, Quantity, &'static str, fn(&CreditSample) -> u64);

const OF_HOSTS: [OfHost; 3] = [
    ("flows with credit", Quantity::Credited, "flows", |one| one.credited.into()),
    ("waiting for credit", Quantity::AwaitsCredit, "bytes", |one| one.waiting.get()),
    ("beyond gaps", Quantity::BeyondGaps, "bytes", |one| one.beyond_gap.get()),
];

/// A count of each host in each interval.
type Counted = (&'static str, fn(&CreditSample) -> u32);

const RATES: [Counted; 2] = [("credits sent", |one| one.sent), ("credits used", |one| one.used)];

/// Samples of hosts, and credits of all hosts in each interval, stamped with the interval's end.
pub(super) fn series(world: &World, every: Span, nodes: &[AnyNode]) -> Vec<Series> {
    let seen = nodes.iter().filter_map(AnyNode::host).map(Host::observer::<CreditSamples>);
    let hosts: Vec<(usize, &[CreditSample])> =
        seen.enumerate().filter_map(|(host, seen)| Some((host, &seen?.taken[..]))).collect();
    let samples = hosts.iter().map(|(_, taken)| taken.len()).min().unwrap_or(0);
    let mut all = Vec::new();
    for (what, quantity, unit, of) in OF_HOSTS {
        let mut sums: Vec<(Reverse<u64>, usize)> = (hosts.iter().enumerate())
            .map(|(i, (_, taken))| (Reverse(taken.iter().map(of).sum()), i))
            .filter(|(Reverse(sum), _)| *sum > 0)
            .collect();
        sums.sort_unstable();
        sums.truncate(HOSTS);
        sums.sort_unstable_by_key(|(_, i)| *i);
        for (host, taken) in sums.into_iter().map(|(_, i)| hosts[i]) {
            let name = &world.plan.names[host];
            all.push(Series {
                name: format!("{name} {what}"),
                quantity,
                unit,
                at: (0..samples).map(|i| Time::ZERO + every * i as u64).collect(),
                values: taken[..samples].iter().map(|one| of(one) as f64).collect(),
            });
        }
    }
    for (name, of) in RATES {
        let total = |i: usize| hosts.iter().map(|(_, taken)| u64::from(of(&taken[i]))).sum::<u64>();
        let totals: Vec<u64> = (1..samples).map(total).collect();
        if totals.iter().any(|total| *total > 0) {
            all.push(Series {
                name: name.into(),
                quantity: Quantity::CreditRate,
                unit: "per_us",
                at: (1..samples).map(|i| Time::ZERO + every * i as u64).collect(),
                values: totals.iter().map(|n| *n as f64 / (every.as_secs_f64() * 1e6)).collect(),
            });
        }
    }
    all
}
