//! Samples of chosen senders, taken at their host.

use crate::host::{Host, Observer, SenderEnd};
use crate::world::AnyNode;
use forebay_record::{Quantity, Series};
use forebay_scenario::model;
use forebay_scenario::plan::{Plan, matches};
use forebay_scenario::workload::FlowSpec;
use forebay_units::{BitsPerSec, Bytes, Span, Time};

/// How one sender stood at one instant.
#[derive(Clone, Copy, Debug)]
struct Sample {
    flow: u32,
    at: Time,
    window: Bytes, // `Bytes::MAX`: none
    rate: Option<BitsPerSec>,
    inflight: Option<Bytes>, // where answers tell
    srtt: Span,
    done: u64, // payload acknowledged, or sent where no answer tells
}

/// The chosen flows of one host, and what was seen of them.
#[derive(Clone, Debug)]
pub(crate) struct FlowSamples {
    every: Span,
    next: Time,
    chosen: Vec<u32>, // sorted
    taken: Vec<Sample>,
}

impl FlowSamples {
    /// The samplers of all hosts; `None` where no chosen flow starts.
    pub fn of(
        wanted: Option<&model::FlowSamples>,
        flows: &[FlowSpec],
        plan: &Plan,
    ) -> Vec<Option<Self>> {
        let mut all: Vec<Option<Self>> = vec![None; plan.hosts];
        let Some(wanted) = wanted else { return all };
        let fits = |host: u32| {
            wanted.hosts.iter().any(|pattern| matches(pattern, &plan.names[host as usize]))
        };
        let chosen = (0u32..).zip(flows).filter(|(_, spec)| fits(spec.src));
        for (flow, spec) in chosen.take(wanted.most as usize) {
            let (every, next) = (wanted.every, Time::ZERO);
            let none = || Self { every, next, chosen: Vec::new(), taken: Vec::new() };
            all[spec.src as usize].get_or_insert_with(none).chosen.push(flow);
        }
        all
    }
}

impl Observer for FlowSamples {
    fn next(&self) -> Time {
        self.next
    }

    /// Samples the chosen ones among the senders of a host.
    fn observe(&mut self, now: Time, host: &Host) {
        self.next = now + self.every;
        for (SenderEnd { flow, .. }, sender) in host.unfinished() {
            if self.chosen.binary_search(&flow).is_ok() {
                let (totals, inflight) = (sender.totals(), sender.inflight());
                self.taken.push(Sample {
                    flow,
                    at: now,
                    window: sender.window(),
                    rate: sender.rate(),
                    inflight,
                    srtt: totals.srtt,
                    done: if inflight.is_some() { sender.acked().get() } else { totals.sent },
                });
            }
        }
    }

    fn copy(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }
}

/// The series of all sampled flows, in order of the flow table.
pub(crate) fn series(nodes: &[AnyNode], flows: &[FlowSpec], names: &[String]) -> Vec<Series> {
    let samplers = nodes.iter().filter_map(AnyNode::host).filter_map(Host::observer::<FlowSamples>);
    let mut all: Vec<(u32, &FlowSamples)> =
        samplers.flat_map(|s| s.chosen.iter().map(move |flow| (*flow, s))).collect();
    all.sort_unstable_by_key(|one| one.0);
    let mut series = Vec::new();
    for (flow, sampler) in all {
        let spec = &flows[flow as usize];
        let ends = (&names[spec.src as usize], &names[spec.dst as usize]);
        let seen: Vec<Sample> = sampler.taken.iter().filter(|s| s.flow == flow).copied().collect();
        let mut add = |what: &str, quantity: Quantity, unit: &'static str, of: &[(Time, f64)]| {
            let name = format!("flow {flow} {}->{} {what}", ends.0, ends.1);
            let (at, values) = of.iter().copied().unzip();
            series.push(Series { name, quantity, unit, at, values });
        };
        let bound = seen.iter().filter(|s| s.window != Bytes::MAX);
        let windows: Vec<_> = bound.map(|s| (s.at, s.window.get() as f64)).collect();
        if !windows.is_empty() {
            add("window", Quantity::Window, "bytes", &windows);
        }
        let set: Vec<_> =
            seen.iter().filter_map(|s| Some((s.at, s.rate?.get() as f64 / 1e9))).collect();
        if !set.is_empty() {
            add("law's rate", Quantity::LawRate, "gbps", &set);
        }
        let inflight: Vec<_> =
            seen.iter().filter_map(|s| Some((s.at, s.inflight?.get() as f64))).collect();
        if !inflight.is_empty() || seen.is_empty() {
            add("in flight", Quantity::InFlight, "bytes", &inflight);
        }
        let known = seen.iter().filter(|s| s.srtt > Span::ZERO);
        let rtts: Vec<_> = known.map(|s| (s.at, s.srtt.as_ps() as f64 / 1e6)).collect();
        add("RTT", Quantity::RoundTrip, "us", &rtts);
        let rates: Vec<(Time, f64)> = seen
            .windows(2)
            .map(|pair| {
                let bits = (pair[1].done - pair[0].done) as f64 * 8.0;
                (pair[1].at, bits / (pair[1].at.since(pair[0].at).as_secs_f64() * 1e9))
            })
            .collect();
        add("rate", Quantity::FlowRate, "gbps", &rates);
    }
    series
}
