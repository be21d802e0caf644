//! From records to a summary. All sums run in record order, so the result is the same everywhere.

use super::{
    Distribution, FCT_DEFINITION, FlowClass, FlowCounts, LinkUse, MissingResult, Network,
    QUANTILE_DEFINITION, RunFacts, SUMMARY_FORMAT, Status, Summary, Tier, Utilisation,
    combined_digest, hex, is_censored,
};
use crate::about::RunStart;
use crate::columns::totals;
use crate::human;
use crate::rows::PortRow;
use crate::rows::{FlowRow, RunRecord};
use crate::stats::{Estimate, mean};
use crate::tiers::{Tiers, utilisation};
use forebay_units::{Bytes, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Below this many completed flows in a seed its 99th percentile is its largest value.
pub(crate) const FEW_FLOWS: u64 = 100;

impl Summary {
    /// The summary of the simulations in `runs`, one for each seed of `about` in that order, or
    /// fewer if the run was interrupted. Flows that arrived before `about.warmup` are counted in
    /// [`FlowCounts::in_warmup`] and left out of FCT and slowdown.
    pub fn of(about: &RunStart, runs: &[RunRecord]) -> Self {
        let seeds: Vec<u64> = runs.iter().map(|run| run.seed).collect();
        let seeds_missing: Vec<u64> =
            about.seeds.iter().copied().filter(|seed| !seeds.contains(seed)).collect();
        let whole = seeds_missing.is_empty() && runs.iter().all(|run| !run.interrupted);
        let (size_classes, size_classes_absent) = size_classes(about, runs);
        let flows = flow_counts(about, runs);
        let collective = super::collective::summary(about, runs);
        let collectives = collective.as_ref().map_or(0, |of| of.left_collectives);
        let left = flows.not_finished + flows.not_started + collectives;
        Self {
            format: SUMMARY_FORMAT,
            scenario: about.scenario.clone(),
            version: about.version.clone(),
            laws: about.laws.clone(),
            status: match whole {
                false => Status::Interrupted,
                true if runs.iter().any(|run| run.stalled) => Status::Stalled,
                true if left > 0 => Status::Unfinished,
                true => Status::Complete,
            },
            seeds,
            seeds_missing,
            digest: hex(combined_digest(runs.iter().map(|run| run.digest))),
            fct_definition: FCT_DEFINITION.into(),
            quantile_definition: QUANTILE_DEFINITION.into(),
            warmup_us: about.warmup.as_ps() as f64 / 1e6,
            runs: runs.iter().map(run_facts).collect(),
            left: super::left::left(about, runs),
            flows,
            overall: flow_class("all".into(), about, runs, |_| true),
            size_classes,
            size_classes_absent,
            traffic_classes: traffic_classes(about, runs),
            incast: super::incast::summary(about, runs),
            collective,
            rpc: super::rpc::summary(about, runs),
            memory: super::memory::summary(runs),
            network: network(about, runs),
            protects: about
                .resolved_toml
                .lines()
                .any(|line| matches!(line.trim(), "selective_drop = true" | "protect = true")), // former name: older runs
            utilisation: link_use(runs),
            tiers: tiers(runs),
        }
    }
}

fn run_facts(run: &RunRecord) -> RunFacts {
    RunFacts {
        seed: run.seed,
        digest: hex(run.digest),
        end_us: run.end.as_ps() as f64 / 1e6,
        interrupted: run.interrupted,
        stalled: run.stalled,
        packet_hops: run.totals.packet_hops,
    }
}

fn flow_counts(about: &RunStart, runs: &[RunRecord]) -> FlowCounts {
    let mut counts = FlowCounts::default();
    for run in runs {
        counts.total += run.flows.len() as u64 + run.not_started;
        counts.not_started += run.not_started;
        for flow in &run.flows {
            counts.in_warmup += u64::from(!flow.is_endless() && flow.start < about.warmup);
            match flow.delivered {
                _ if flow.is_endless() => counts.endless += 1,
                Some(_) => counts.completed += 1,
                None => {
                    counts.not_finished += 1;
                    counts.given_up += u64::from(flow.gave_up.is_some());
                }
            }
        }
    }
    counts
}

/// Whether a flow is in the statistics of flows at all.
pub(crate) fn measured(flow: &FlowRow, warmup: Time) -> bool {
    !flow.is_endless() && flow.start >= warmup
}

fn flow_class(
    name: String,
    about: &RunStart,
    runs: &[RunRecord],
    member: impl Fn(&FlowRow) -> bool,
) -> FlowClass {
    let members: Vec<Vec<&FlowRow>> = runs
        .iter()
        .map(|run| run.flows.iter().filter(|f| measured(f, about.warmup) && member(f)).collect())
        .collect();
    let per_seed = |value: fn(&FlowRow) -> Option<f64>| {
        Distribution::of(
            members.iter().map(|flows| flows.iter().filter_map(|f| value(f)).collect()),
        )
    };
    let completed =
        |flows: &Vec<&FlowRow>| flows.iter().filter(|f| f.delivered.is_some()).count() as u64;
    let count: u64 = members.iter().map(completed).sum();
    let started: u64 = members.iter().map(|flows| flows.len() as u64).sum();
    let fewest = members.iter().map(completed).min().unwrap_or(0);
    let late = |flows: &Vec<&FlowRow>| flows.len() as u64 - completed(flows);
    let censored = members.iter().any(|flows| is_censored(completed(flows), late(flows)));
    FlowClass {
        name,
        above_bytes: None,
        up_to_bytes: None,
        count,
        fewest_per_seed: fewest,
        not_finished: started - count,
        censored,
        slowdown: per_seed(FlowRow::slowdown),
        fct_us: per_seed(|f| f.fct().map(|span| span.as_ps() as f64 / 1e6)),
        slowdown_acked: per_seed(FlowRow::slowdown_acked),
        fct_acked_us: per_seed(|f| f.fct_acked().map(|span| span.as_ps() as f64 / 1e6)),
        note: note(count, started, fewest, censored),
    }
}

fn note(count: u64, started: u64, fewest: u64, censored: bool) -> Option<String> {
    let mut notes = Vec::new();
    if censored && count > 0 {
        notes.push(format!(
            "{} of {started} started flows had not finished; the percentiles leave them out and are too good",
            started - count
        ));
    }
    if count > 0 && fewest < FEW_FLOWS {
        notes.push(format!(
            "a seed has only {fewest} completed flows: with fewer than {FEW_FLOWS} the 99th percentile is the largest"
        ));
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Bounds of the size classes: larger than the first, at most the second.
pub(crate) fn class_bounds(about: &RunStart) -> Vec<(Option<Bytes>, Option<Bytes>)> {
    let upper = about.size_classes.iter().copied().map(Some).chain([None]);
    let lower = [None].into_iter().chain(about.size_classes.iter().copied().map(Some));
    lower.zip(upper).collect()
}

/// Name of a size class: `<= 10 KB`, `10-100 KB`, `> 10 MB`.
pub(crate) fn class_name((above, up_to): (Option<Bytes>, Option<Bytes>)) -> String {
    match (above, up_to) {
        (None, None) => "all sizes".into(),
        (None, Some(up_to)) => format!("<= {}", human::bytes(up_to.get())),
        (Some(above), None) => format!("> {}", human::bytes(above.get())),
        (Some(above), Some(up_to)) => {
            let (low, high) = (human::bytes(above.get()), human::bytes(up_to.get()));
            match (low.split_once(' '), high.split_once(' ')) {
                (Some((number, unit)), Some((_, other))) if unit == other => {
                    format!("{number}-{high}")
                }
                _ => format!("{low}-{high}"),
            }
        }
    }
}

/// Whether a size is in a class.
pub(crate) fn in_class(size: Bytes, (above, up_to): (Option<Bytes>, Option<Bytes>)) -> bool {
    above.is_none_or(|above| size > above) && up_to.is_none_or(|up_to| size <= up_to)
}

fn size_classes(about: &RunStart, runs: &[RunRecord]) -> (Vec<FlowClass>, Vec<MissingResult>) {
    let (mut classes, mut absent) = (Vec::new(), Vec::new());
    for bounds in class_bounds(about) {
        let mut class =
            flow_class(class_name(bounds), about, runs, |flow| in_class(flow.size, bounds));
        class.above_bytes = bounds.0.map(Bytes::get);
        class.up_to_bytes = bounds.1.map(Bytes::get);
        if class.count > 0 {
            classes.push(class);
        } else {
            absent.push(MissingResult { reason: absence(&class), name: class.name });
        }
    }
    (classes, absent)
}

fn absence(class: &FlowClass) -> String {
    match class.not_finished {
        0 => "no measured flow has such a size".into(),
        n => format!("{n} flows started and none finished; see stop.time"),
    }
}

fn traffic_classes(about: &RunStart, runs: &[RunRecord]) -> Vec<FlowClass> {
    let finite = runs.iter().flat_map(|run| &run.flows).filter(|flow| !flow.is_endless());
    let Some(last) = finite.map(|flow| flow.traffic).max().filter(|last| *last > 0) else {
        return Vec::new();
    };
    (0..=last)
        .map(|traffic| {
            flow_class(about.traffic_name(traffic), about, runs, |flow| flow.traffic == traffic)
        })
        .filter(|class| class.count + class.not_finished > 0)
        .collect()
}

fn network(about: &RunStart, runs: &[RunRecord]) -> Network {
    let mut net = Network::default();
    let (mut drops, mut marks, mut losses, mut again) = (vec![], vec![], vec![], vec![]);
    let (mut timeouts, mut goodput, mut per_host) = (vec![], vec![], vec![]);
    let (mut per_receiver, mut stood) = (vec![], vec![]);
    let starts = runs.iter().map(|run| run.flows.iter().map(|flow| flow.start).min());
    let first = starts.map(|start| start.unwrap_or_default()).min().unwrap_or_default();
    net.idle_us = first.as_ps() as f64 / 1e6;
    for run in runs {
        let tiers = Tiers::of(run);
        stood.push(senders(&mut net, run, &tiers));
        let (mut switch_tx, mut switch_drops, mut switch_marks) = (0, 0, 0);
        let (mut tx, mut lost) = (0, 0);
        for (port, (from_host, _)) in run.ports.iter().zip(&tiers.host_ends) {
            net.dropped_packets += port.dropped_packets;
            net.marked_packets += port.marked_packets;
            tx += port.tx_packets;
            lost += port.lost_packets;
            pauses(&mut net, port);
            if !from_host {
                switch_tx += port.tx_packets;
                switch_drops += port.dropped_packets;
                switch_marks += port.marked_packets;
                if net.max_queue_port.is_empty() || port.max_queue.get() > net.max_queue_bytes {
                    net.max_queue_bytes = port.max_queue.get();
                    net.max_queue_port = format!("{}->{}", port.node, port.peer);
                }
            }
        }
        let resent: u64 = run.flows.iter().map(|flow| u64::from(flow.retransmits)).sum();
        let expired: u64 = run.flows.iter().map(|flow| u64::from(flow.timeouts)).sum();
        net.nic_dropped_packets += run.memory.iter().map(|row| row.dropped_in_all).sum::<u64>();
        net.host_marked_packets += run.memory.iter().map(|row| row.marked_in_all).sum::<u64>();
        for row in &run.class_pauses {
            net.watchdog_fired += row.watchdog_fired;
            net.watchdog_drops += row.watchdog_drops;
        }
        net.lost_packets += lost;
        net.retransmitted_segments += resent;
        net.timeouts += expired;
        net.delivered_segments += run.totals.delivered_segments;
        net.packet_hops += run.totals.packet_hops;
        net.credits_sent += run.credits.iter().map(|row| row.sent).sum::<u64>();
        net.credits_used += run.credits.iter().map(|row| row.used).sum::<u64>();
        net.credits_backward += run.credits.iter().map(|row| row.backward).sum::<u64>();
        drops.push(share(switch_drops, switch_tx + switch_drops));
        marks.push(share(switch_marks, switch_tx));
        losses.push(share(lost, tx));
        again.push(share(resent, run.totals.delivered_segments));
        timeouts.push(share(expired, run.flows.len() as u64));
        let seconds = run.end.as_secs_f64();
        let gbps = run.totals.delivered_bytes as f64 * 8.0 / 1e9;
        goodput.push((seconds > 0.0).then(|| gbps / seconds));
        let hosts = run.hosts.len() as f64;
        per_host.push((seconds > 0.0 && hosts > 0.0).then(|| gbps / seconds / hosts));
        let receivers: BTreeSet<u32> = run.flows.iter().map(|flow| flow.dst).collect();
        net.receivers = net.receivers.max(receivers.len() as u64);
        let some = seconds > 0.0 && !receivers.is_empty();
        per_receiver.push(some.then(|| gbps / seconds / receivers.len() as f64));
    }
    net.paused_share = Estimate::new(stood);
    net.pause_origins = pause_origins(runs);
    net.port_totals = totals(runs);
    net.drop_rate = Estimate::new(drops);
    net.mark_rate = Estimate::new(marks);
    net.loss_rate = Estimate::new(losses);
    net.retransmit_rate = Estimate::new(again);
    net.timeouts_per_flow = Estimate::new(timeouts);
    net.goodput_gbps = Estimate::new(goodput);
    net.goodput_per_host_gbps = Estimate::new(per_host);
    net.goodput_per_receiver_gbps = Estimate::new(per_receiver);
    let loads: Vec<Option<Load>> = runs.iter().map(|run| load(about, run)).collect();
    let across = |value: fn(&Load) -> f64| {
        Estimate::new(loads.iter().map(|load| load.as_ref().map(value)).collect())
    };
    net.offered_gbps = across(|load| load.offered_gbps);
    net.carried_gbps = across(|load| load.carried_gbps);
    net.offered_load = across(|load| load.offered_gbps / load.capacity_gbps);
    net.carried_load = across(|load| load.carried_gbps / load.capacity_gbps);
    net
}

/// Nodes that paused others and were not paused themselves, those that paused most first.
fn pause_origins(runs: &[RunRecord]) -> Vec<String> {
    let mut nodes: BTreeMap<&str, (f64, f64)> = BTreeMap::new(); // for how long they paused others, and were paused
    for port in runs.iter().flat_map(|run| &run.ports) {
        let paused = port.paused.as_secs_f64();
        nodes.entry(port.peer.as_str()).or_default().0 += paused;
        nodes.entry(port.node.as_str()).or_default().1 += paused;
    }
    let mut origins: Vec<(&str, f64)> = nodes
        .into_iter()
        .filter(|(_, (others, own))| *others > 0.0 && *own == 0.0)
        .map(|(node, (others, _))| (node, others))
        .collect();
    origins.sort_by(|a, b| b.1.total_cmp(&a.1)); // stable
    origins.into_iter().map(|(node, _)| node.to_string()).collect()
}

/// Share of a run for which NICs of hosts that send were paused; `None` where none sends.
fn senders(net: &mut Network, run: &RunRecord, tiers: &Tiers) -> Option<f64> {
    let sources: BTreeSet<&str> = run
        .flows
        .iter()
        .filter_map(|flow| run.hosts.get(flow.src as usize).map(String::as_str))
        .collect();
    let mut by_class: BTreeMap<&str, f64> = BTreeMap::new();
    for row in &run.class_pauses {
        let most = by_class.entry(row.node.as_str()).or_default();
        *most = most.max(row.paused.as_secs_f64());
    }
    let (mut sum, mut count, mut paused) = (0.0, 0u64, 0u64);
    for (port, (from_host, _)) in run.ports.iter().zip(&tiers.host_ends) {
        if !from_host || !sources.contains(port.node.as_str()) {
            continue;
        }
        let of_classes = by_class.get(port.node.as_str()).copied().unwrap_or(0.0);
        let seconds = port.paused.as_secs_f64().max(of_classes);
        let share = if seconds > 0.0 { (seconds / run.end.as_secs_f64()).min(1.0) } else { 0.0 };
        sum += share;
        count += 1;
        paused += u64::from(share > 0.0);
        if share > net.paused_share_most {
            net.paused_share_most = share;
            net.paused_share_most_host.clone_from(&port.node);
        }
    }
    net.sending_hosts = net.sending_hosts.max(count);
    net.senders_paused = net.senders_paused.max(paused);
    (count > 0).then(|| sum / count as f64)
}

/// Offered and carried load while flows arrived.
struct Load {
    offered_gbps: f64,
    carried_gbps: f64,
    /// Rates of all links from hosts.
    capacity_gbps: f64,
}

/// The load between the first arrival after the warm-up and the last, of flows with an end; `None` if none of them is delivered in that
/// time: a burst is no load. What arrives at the very end of the span is not in it, so that flows in equal steps count once each.
fn load(about: &RunStart, run: &RunRecord) -> Option<Load> {
    let flows = || run.flows.iter().filter(|flow| !flow.is_endless());
    let (from, to) = {
        let starts = || flows().map(|flow| flow.start).filter(|at| *at >= about.warmup);
        (starts().min()?, starts().max()?)
    };
    let tiers = Tiers::of(run);
    let of_hosts = run.ports.iter().zip(&tiers.host_ends).filter(|(_, (from_host, _))| *from_host);
    let capacity_gbps: f64 = of_hosts.map(|(port, _)| port.rate.get() as f64 * 1e-9).sum();
    let within = |flow: &FlowRow| flow.start >= from && flow.delivered.is_some_and(|at| at <= to);
    if !flows().any(within) || capacity_gbps <= 0.0 {
        return None;
    }
    let inside = |at: Time| at.max(from).min(to);
    let received = |flow: u32| {
        let at = run.unfinished.binary_search_by_key(&flow, |row| row.flow);
        at.map_or(0.0, |at| run.unfinished[at].received.get() as f64)
    };
    let (mut offered, mut carried) = (0.0, 0.0);
    for flow in flows() {
        let size = flow.size.get() as f64;
        if flow.start >= from && flow.start < to {
            offered += size;
        }
        // What has not ended has delivered a part of it by the end.
        let (until, came) = match flow.delivered {
            Some(at) => (at, size),
            None => (run.end.max(flow.start), received(flow.flow)),
        };
        let whole = until.since(flow.start).as_ps() as f64;
        carried += match inside(until).since(inside(flow.start)).as_ps() {
            0 => 0.0,
            part => came * part as f64 / whole,
        };
    }
    let gbps = |bytes: f64| bytes * 8.0 / (to.since(from).as_secs_f64() * 1e9);
    Some(Load { offered_gbps: gbps(offered), carried_gbps: gbps(carried), capacity_gbps })
}

fn pauses(net: &mut Network, port: &PortRow) {
    net.pause_frames += port.pause_frames_sent;
    net.lossless_drops += port.lossless_drops;
    net.headroom_peak_bytes = net.headroom_peak_bytes.max(port.headroom_peak.get());
    let paused_us = port.paused.as_secs_f64() * 1e6;
    net.paused_us += paused_us;
    if paused_us > net.paused_most_us {
        net.paused_most_us = paused_us;
        net.paused_most_port = format!("{}->{}", port.node, port.peer);
    }
}

/// A part over a whole; `None` of nothing.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn link_use(runs: &[RunRecord]) -> Utilisation {
    let ends: Vec<Vec<(bool, bool)>> = runs.iter().map(|run| Tiers::of(run).host_ends).collect();
    let of = |host: bool| {
        let per_run: Vec<Vec<f64>> = runs
            .iter()
            .zip(&ends)
            .map(|(run, ends)| {
                let ports = run.ports.iter().zip(ends);
                ports
                    .filter(|(_, (from, to))| (*from || *to) == host)
                    .filter_map(|(port, _)| utilisation(port, run.end))
                    .collect()
            })
            .collect();
        LinkUse {
            links: per_run.iter().map(|links| links.len() as u64).max().unwrap_or(0),
            mean_utilisation: Estimate::new(per_run.iter().map(|links| mean(links)).collect()),
            max_utilisation: Estimate::new(
                per_run.iter().map(|links| links.iter().copied().reduce(f64::max)).collect(),
            ),
        }
    };
    let busiest = |run: &RunRecord| {
        run.ports.iter().filter_map(|port| utilisation(port, run.end)).reduce(f64::max)
    };
    let busiest = Estimate::new(runs.iter().map(busiest).collect());
    Utilisation { host_links: of(true), fabric_links: of(false), busiest }
}

fn tiers(runs: &[RunRecord]) -> Vec<Tier> {
    let mut rows: Vec<Tier> = Vec::new();
    let (mut uses, mut tops): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
    for run in runs {
        let tiers = Tiers::of(run);
        let mut links = vec![0; tiers.names.len()];
        let mut busiest: BTreeMap<usize, f64> = BTreeMap::new(); // by row
        for (port, &tier) in run.ports.iter().zip(&tiers.of_port) {
            let name = &tiers.names[tier];
            let at = rows.iter().position(|row| row.name == *name).unwrap_or_else(|| {
                rows.push(Tier { name: name.clone(), ..Tier::default() });
                uses.push(Vec::new());
                tops.push(Vec::new());
                rows.len() - 1
            });
            let row = &mut rows[at];
            links[tier] += 1;
            row.links = row.links.max(links[tier]);
            row.tx_packets += port.tx_packets;
            row.dropped_packets += port.dropped_packets;
            row.lost_packets += port.lost_packets;
            row.marked_packets += port.marked_packets;
            row.trimmed_packets += port.trimmed_packets;
            row.dropped_credits += port.dropped_credits;
            row.max_queue_bytes = row.max_queue_bytes.max(port.max_queue.get());
            if let Some(used) = utilisation(port, run.end) {
                uses[at].push(used);
                let most = busiest.entry(at).or_default();
                *most = most.max(used);
            }
        }
        busiest.into_iter().for_each(|(at, most)| tops[at].push(most));
    }
    for ((row, uses), tops) in rows.iter_mut().zip(&uses).zip(&tops) {
        row.drop_fraction =
            share(row.dropped_packets, row.tx_packets + row.dropped_packets).unwrap_or(0.0);
        row.mark_fraction = share(row.marked_packets, row.tx_packets).unwrap_or(0.0);
        row.utilisation_mean = mean(uses).unwrap_or(0.0);
        row.utilisation_max = mean(tops).unwrap_or(0.0);
    }
    rows
}
