//! Records of what is not there.

use super::around::{CheckedScenario, time};
use crate::output::WhyFlows;
use crate::plan::{matches, port_ends};
use crate::program::TrafficKind;
use crate::quantity::Measure;
use crate::workload::forecast;
use forebay_units::{Bytes, Span, Time};
use std::collections::BTreeSet;

/// A warm-up in which all flows begin.
pub(super) fn warmup_of_everything(around: &CheckedScenario<'_>) -> Option<String> {
    let warmup = around.scenario.output.warmup;
    let last = |traffic: &crate::traffic::Traffic| match &traffic.kind {
        TrafficKind::Permutation(_) | TrafficKind::AllToAll(_) => Some(traffic.start),
        TrafficKind::Incast(incast) if incast.rounds == 1 => Some(traffic.start),
        TrafficKind::List(list) if list.flows.iter().all(|flow| flow.after.is_none()) => {
            list.flows.iter().map(|flow| flow.at).max()
        }
        TrafficKind::Poisson(_) => Some(traffic.until),
        _ => None,
    };
    let lasts: Option<Vec<Time>> = around.scenario.traffic.iter().map(last).collect();
    let last = lasts?.into_iter().max()?;
    // Starts have jitter, below a packet time.
    let jitter = Span::from_us(100);
    (warmup > last.saturating_add(jitter)).then(|| {
        format!(
            "output.warmup = \"{warmup}\" leaves out all flows, which begin by {} (traffic.start, at or until); write less",
            time(last.since(Time::ZERO))
        )
    })
}

/// Intervals of all samples, with their keys.
fn intervals(around: &CheckedScenario<'_>) -> Vec<(&'static str, Span)> {
    let output = &around.scenario.output;
    let queues = output.queues.as_ref().map(|one| ("output.queues.every", one.every));
    let flows = output.flows.as_ref().map(|one| ("output.flows.every", one.every));
    let memory = output.memory.as_ref().map(|one| ("output.memory.every", one.every));
    [queues, flows, memory].into_iter().flatten().collect()
}

/// A series of one sample, which is taken before anything has happened.
pub(super) fn one_sample(around: &CheckedScenario<'_>) -> Option<String> {
    let stop = around.scenario.stop.time;
    let end = stop.since(Time::ZERO);
    let (key, every) = intervals(around).into_iter().find(|(_, every)| *every >= end)?;
    Some(format!(
        "{key} = \"{}\" is not before the end of the run, stop.time = \"{stop}\", so there is one sample, of time 0; write less",
        every.text()
    ))
}

/// Samples between which nothing can happen.
pub(super) fn finer_than_packets(around: &CheckedScenario<'_>) -> Option<String> {
    let rates = around.plan.cables.iter().map(|cable| cable.link.rate);
    let fastest = rates.max()?;
    let least = fastest.time_for(Bytes::new(64));
    let (key, every) = intervals(around)
        .into_iter()
        .find(|(key, every)| *every < least && *key != "output.memory.every")?;
    Some(format!(
        "{key} = \"{}\" is shorter than the smallest packet takes on the fastest link, \"{fastest}\", which is {}, so rows repeat each other and fill the disk; write \"100ns\" or more",
        every.text(),
        time(least)
    ))
}

/// Hosts that send or receive something; `None` if any may.
pub(super) fn busy(around: &CheckedScenario<'_>) -> Option<BTreeSet<u32>> {
    let named = around.entries.iter().map(|entry| entry.ends.as_ref());
    let all: Option<Vec<_>> = named.collect();
    Some(all?.into_iter().flatten().flat_map(|(src, dst)| [*src, *dst]).collect())
}

/// Places of hosts that no traffic comes to.
pub(super) fn places_without_traffic(around: &CheckedScenario<'_>) -> Option<String> {
    let (busy, output) = (busy(around)?, &around.scenario.output);
    let idle = |pattern: &str| {
        let mut meant = around.plan.nodes_like(pattern).peekable();
        let hosts_alone = meant.peek().is_some();
        hosts_alone && meant.all(|n| n < around.plan.hosts && !busy.contains(&(n as u32)))
    };
    let captures = (0..).zip(&output.captures).find_map(|(i, capture): (usize, _)| {
        let (node, peer) = port_ends(&capture.place);
        let place = [Some(node), peer].into_iter().flatten().find(|place| idle(place))?;
        Some((format!("output.capture[{i}].where = {:?}", capture.place), place.to_string()))
    });
    let samples = output.flows.as_ref().and_then(|flows| {
        let all = flows.hosts.iter().all(|place| idle(place));
        let first = flows.hosts.first().filter(|_| all)?;
        Some((format!("output.flows.where = {first:?}"), first.clone()))
    });
    let (key, place) = captures.or(samples)?;
    let example = busy.first().map(|host| around.hosts.names[*host as usize].clone())?;
    debug_assert!(!matches(&place, &example));
    Some(format!(
        "{key} records {place}, and no traffic (from, to) names it, so nothing is recorded; write for instance \"{example}\""
    ))
}

/// Numbers of flows above the last one.
pub(super) fn flows_that_are_not_there(around: &CheckedScenario<'_>) -> Option<String> {
    let poisson = |t: &crate::traffic::Traffic| t.kind.is_random();
    if around.scenario.traffic.iter().any(poisson) {
        return None;
    }
    let count: u128 = forecast(around.scenario, &around.hosts).iter().sum();
    let output = &around.scenario.output;
    let logged = output.law_log.iter().flat_map(|log| &log.flows);
    let explained = output.why.iter().flat_map(|why| match &why.flows {
        WhyFlows::Numbers(flows) => flows.as_slice(),
        _ => &[],
    });
    let logged = logged.map(|flow| ("output.law_log.flows", flow));
    let mut all = logged.chain(explained.map(|flow| ("output.why.flows", flow)));
    let (key, flow) = all.find(|(_, flow)| u128::from(**flow) >= count)?;
    Some(format!(
        "{key} = [{flow}] names a flow that the traffic does not have: there are {count}, from 0 to {}; write one of them",
        count.saturating_sub(1)
    ))
}

/// Explanations of completion times where no flow completes.
pub(super) fn nothing_to_explain(around: &CheckedScenario<'_>) -> Option<String> {
    around.scenario.output.why.as_ref()?;
    let endless = |t: &crate::traffic::Traffic| matches!(t.kind, TrafficKind::Long(_));
    around.scenario.traffic.iter().all(endless).then(|| {
        "output.why explains completion times, and all traffic is of kind = \"long\", whose flows have no end; write traffic with sizes, or leave why out".into()
    })
}
