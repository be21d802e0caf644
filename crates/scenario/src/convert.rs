//! From the file as written to the checked model: defaults, ranges, and what must fit together.
//!
//! Invariant: a `Scenario` made here can be laid out and run; whatever cannot is a sentence.

mod host;
mod memory;

use crate::fabric::{QueueFor, shaper};
use crate::faults;
use crate::host::HostProfile;
use crate::judge::Judge;
use crate::output::default_snap;
use crate::plan::{self, Plan};
use crate::raw;
use crate::scenario::Scenario;
use crate::stop;
use crate::traffic::{self, Around};
use crate::transport;
use crate::workload::{Hosts, flows};
use crate::{paths, pause};
use forebay_laws::flow::{FlowParams, Needs};
use forebay_units::Bytes;

/// The model of a document, if nothing is wrong with it.
pub(crate) fn convert(file: &raw::File, stem: &str, judge: &mut Judge<'_>) -> Option<Scenario> {
    let (seeds, stop) = (file.seeds.clone(), file.stop);
    stop::check_seeds(judge, &seeds);
    stop.check(judge);
    let waits = host::delayed_ack(file.host.as_ref());
    let mut transport = file.transport.clone();
    transport.check(judge, "transport", waits);
    let mut transports: Vec<_> = file.transports.clone().into_iter().collect();
    for (name, one) in &mut transports {
        one.check(judge, &transport::path(name), waits);
    }
    let mut fabric = file.fabric.clone();
    fabric.check(judge, transport.mss.saturating_add(transport.header));
    if !judge.findings.is_empty() {
        return None;
    }
    transport.check_classes(judge, "transport", fabric.switch.classes);
    for (name, one) in &transports {
        one.check_classes(judge, &transport::path(name), fabric.switch.classes);
    }
    let plan = Plan::of(&fabric);
    plan::check(judge, &fabric, &plan);
    let paths = transports.iter().map(|(name, _)| transport::path(name));
    let mut paths = paths.chain(["transport".into()]);
    let said = paths.any(|path| judge.given(&format!("{path}.delayed_ack")));
    let mss = transports.iter().map(|(_, one)| one.mss).fold(transport.mss, Bytes::max);
    let mut hosts = file.host.clone();
    if transport.tcp().is_some_and(|tcp| tcp.kernel.is_some()) {
        let profile = &mut hosts.get_or_insert_default().keys.profile;
        profile.get_or_insert(HostProfile::Linux);
    }
    let host = judge.hosts_of(hosts.as_ref(), (mss, said), &plan);
    let faults = faults::check(&file.fault, judge, (stop, &plan));
    let mut traffic = file.traffic.clone();
    let around = Around::new((stop, fabric.switch.classes), (&transport, &transports), &plan);
    traffic::check(&mut traffic, judge, &around);
    let all = transports.iter().map(|(_, one)| one).chain([&transport]);
    let snap = default_snap(all);
    let mut output = file.output.clone();
    output.check(judge, (stop, snap), &plan, &host);
    if fabric.switch.hierarchical.is_some() && !output.captures.is_empty() {
        judge.say(
            "output.capture[0]",
            "cannot write credits, which no protocol has; leave it out with fabric.switch.hierarchical",
        );
    }
    let mut scenario = Scenario {
        name: file.name.clone().unwrap_or_else(|| stem.into()),
        seeds,
        stop,
        fabric,
        host,
        transport,
        transports,
        traffic,
        faults,
        output,
    };
    pause::check(judge, &scenario, &plan);
    shaper::check(judge, &scenario, &plan);
    hierarchical_alone(&scenario, judge);
    if judge.findings.is_empty() {
        traffic::check_forecast(judge, &scenario, &plan);
    }
    let (paths, counted) = (judge.given("fabric.paths"), faults::count_flows(&file.fault));
    if (paths || counted) && judge.findings.is_empty() {
        let hosts = Hosts::of_plan(&plan, &scenario.fabric.topology);
        let table = |seed: &u64| Some((*seed, flows(&scenario, &hosts, *seed).ok()?.flows));
        let tables: Vec<_> = scenario.seeds.iter().filter_map(table).collect();
        faults::check_flows(&file.fault, judge, &tables);
        paths::check(&mut scenario.fabric.paths, judge, &plan, &tables);
    }
    judge.findings.is_empty().then_some(scenario)
}

/// Queues by destination hold what they have, so that nobody else may hold it to account.
fn hierarchical_alone(scenario: &Scenario, judge: &mut Judge<'_>) {
    let fabric = &scenario.fabric;
    let hierarchical = fabric.switch.hierarchical.as_ref();
    if hierarchical.is_some() && fabric.pauses().next().is_some() {
        let text = "and pause both hold packets back; leave out one of them";
        judge.say("fabric.switch.hierarchical", text);
    }
    let by_pod = hierarchical.is_some_and(|h| h.queue_for == QueueFor::Pod);
    if by_pod && fabric.topology.clos().is_none_or(|clos| clos.pods < 2) {
        let text = "\"pod\" needs a fabric of several pods; write \"rack\" or \"host\"";
        judge.say("fabric.switch.hierarchical.queue_for", text);
    }
    let entries = scenario.traffic.iter().filter_map(|t| t.law.as_ref());
    let transports = scenario.all_transports().map(|transport| &transport.law);
    let laws: Vec<_> = entries.chain(transports).collect();
    let that = |has: fn(Needs) -> bool| {
        laws.iter().find(|law| FlowParams::new(law).is_ok_and(|law| has(law.needs())))
    };
    if let (true, Some(law)) = (hierarchical.is_some(), that(|needs| needs.int)) {
        let text = format!(
            "tags packets where {law:?} has its telemetry; write law = \"explicit\", or another without"
        );
        judge.say("fabric.switch.hierarchical", text);
    } else if let (None, Some(law)) = (hierarchical, that(|needs| needs.asks.is_some())) {
        let text = format!(
            "{law:?} sends at the rate that a switch tells it, and none does; write fabric.switch.hierarchical = \
             {{ law = \"hiercc\" }} as well"
        );
        judge.say("transport.law", text);
    }
}
