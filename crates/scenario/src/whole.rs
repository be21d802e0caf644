//! Checks of a whole scenario: every table, and what must fit together.
//!
//! Invariant: a scenario without findings here can be laid out and run; whatever cannot is a sentence.

use crate::credit_class;
use crate::fabric::{CreditFor, HashSeed, QueueFor, Routing};
use crate::faults;
use crate::host::HostProfile;
use crate::judge::Judge;
use crate::output::default_snap;
use crate::paths;
use crate::pause;
use crate::plan::{self, Plan};
use crate::program::{TrafficKind, pairs, too_many};
use crate::scenario::Scenario;
use crate::shapers;
use crate::stamps;
use crate::stop;
use crate::traffic::{self, Traffic, TrafficContext};
use crate::transport;
use crate::workload::{Hosts, MOST_FLOWS, flows, forecast};
use forebay_host::memory::settings::{CacheModel, LINE};
use forebay_laws::flow::Needs;
use forebay_units::Bytes;

/// Fills in the defaults that depend on other keys, and says what is wrong. `stem`: the name of a scenario that has none.
pub(crate) fn check(scenario: &mut Scenario, stem: &str, judge: &mut Judge<'_>) {
    let s = scenario;
    judge.usual("name", &mut s.name, stem.into());
    stop::check_seeds(judge, &s.seeds);
    s.stop.check(judge);
    let waits = s.host.delays_acks();
    s.transport.check(judge, "transport", waits);
    for (name, one) in &mut s.transports {
        one.check(judge, &transport::path(name), waits);
    }
    s.fabric.check(judge, s.transport.mss.saturating_add(s.transport.header));
    if !judge.findings.is_empty() {
        return;
    }
    let classes = s.fabric.switch.classes;
    s.transport.check_classes(judge, "transport", classes);
    for (name, one) in &s.transports {
        one.check_classes(judge, &transport::path(name), classes);
    }
    s.transport.check_paths(judge, "transport", s.fabric.routing);
    for (name, one) in &s.transports {
        one.check_paths(judge, &transport::path(name), s.fabric.routing);
    }
    s.transport.check_selective_drop(judge, "transport", &s.fabric.switch.ecn);
    s.transport.check_trims(judge, "transport", &s.fabric.switch);
    for (name, one) in &s.transports {
        one.check_selective_drop(judge, &transport::path(name), &s.fabric.switch.ecn);
        one.check_trims(judge, &transport::path(name), &s.fabric.switch);
    }
    let plan = Plan::of(&s.fabric);
    plan::check(judge, &s.fabric, &plan);
    stamps::check(judge, s, &plan);
    let paths = s.transports.keys().map(|name| transport::path(name));
    let mut paths = paths.chain(["transport".into()]);
    let said = paths.any(|path| judge.given(&format!("{path}.delayed_ack")));
    let mss = s.all_transports().map(|one| one.mss).fold(Bytes::ZERO, Bytes::max);
    if s.transport.tcp().is_some_and(|tcp| tcp.kernel.is_some()) {
        s.host.profile.get_or_insert(HostProfile::Linux);
    }
    s.host.check(judge, (mss, said), &plan);
    let faults = std::mem::take(&mut s.faults);
    s.faults = faults::check(&faults, judge, (s.stop, &plan));
    let around = TrafficContext::new((s.stop, classes), (&s.transport, &s.transports), &plan);
    traffic::check(&mut s.traffic, judge, &around);
    pools_have_caches(s, judge);
    let snap = default_snap(s.all_transports());
    let grants = |entry: &Traffic| s.laws.grant(&s.transport_of(entry).law).is_ok();
    let (some_grant, all_grant) = (s.traffic.iter().any(grants), s.traffic.iter().all(grants));
    s.output.check(judge, (s.stop, snap), &plan, (&s.host, some_grant));
    if s.fabric.switch.hierarchical.is_some() && !s.output.captures.is_empty() {
        let text = "cannot write credits, which no protocol has; leave it out with fabric.switch.hierarchical";
        judge.say("output.capture[0]", text);
    }
    let logs_flows = s.output.law_log.as_ref().is_some_and(|log| !log.flows.is_empty());
    if logs_flows && all_grant {
        let text =
            "logs laws of flows, and here each receiving host has one; write output.law_log.hosts";
        judge.say("output.law_log.flows", text);
    }
    let logs_pools = s.output.law_log.as_ref().is_some_and(|log| !log.connections.is_empty());
    let pooled = |entry: &Traffic| matches!(&entry.kind, TrafficKind::Rpc(rpc) if rpc.acting_pool().is_some());
    if logs_pools && !s.traffic.iter().any(pooled) {
        let text = "logs nothing: no connection has a law; write pool = { law = \"carc\" } in an entry of kind \"rpc\"";
        judge.say("output.law_log.connections", text);
    }
    pause::check(judge, s, &plan);
    shapers::check(judge, s, &plan);
    hierarchical_alone(s, judge);
    credit_class::check(judge, s);
    trims_alone(s, judge);
    symmetric_seeds(s, judge);
    if judge.findings.is_empty() {
        check_forecast(judge, s, &plan);
    }
    let (paths, counted) = (judge.given("fabric.paths"), faults::count_flows(&faults));
    if (paths || counted) && judge.findings.is_empty() {
        let hosts = Hosts::of_plan(&plan, &s.fabric.topology);
        let table = |seed: &u64| Some((*seed, flows(s, &hosts, *seed).ok()?.flows));
        let tables: Vec<_> = s.seeds.iter().filter_map(table).collect();
        let counts = tables.iter().map(|(seed, flows)| (flows.len(), *seed));
        faults::check_flows(&faults, judge, counts);
        paths::check(&mut s.fabric.paths, judge, &plan, &tables);
    }
}

/// Both directions of a flow choose alike only where their switches hash alike.
fn symmetric_seeds(scenario: &Scenario, judge: &mut Judge<'_>) {
    let symmetric = |entry| scenario.routing_of(entry) == Routing::EcmpSymmetric;
    if scenario.fabric.hash_seed == Some(HashSeed::PerSwitch)
        && scenario.traffic.iter().any(symmetric)
    {
        judge.wrong(
            "fabric.hash_seed",
            "has the two directions of a flow choose apart, which \"ecmp-symmetric\" is to prevent; write \"per-tier\" or \"same\", or routing = \"ecmp\"",
        );
    }
}

/// Credits are lines of a server's cache, so the server has a cache. The cache gives each connection at least one line, and an application reads its buffers.
fn pools_have_caches(scenario: &Scenario, judge: &mut Judge<'_>) {
    for (i, entry) in scenario.traffic.iter().enumerate() {
        let TrafficKind::Rpc(rpc) = &entry.kind else { continue };
        let cache = |host: &&String| {
            scenario.host.memory_at(host).is_some_and(|memory| memory.settings.ddio.is_some())
        };
        let pool = rpc.pool.as_ref().filter(|pool| scenario.laws.pool(&pool.law).is_ok());
        let Some(pool) = pool else { continue };
        let path = format!("traffic[{i}].pool");
        if let Some(without) = rpc.to.iter().find(|host| !cache(host)) {
            let text = format!(
                "shares the cache of {without}, which has none; write host.memory with ddio = true for it"
            );
            judge.say(&path, text);
            continue;
        }
        let placed = scenario.transport_of(entry).rdma().is_some();
        for name in &rpc.to {
            let Some(memory) = scenario.host.memory_at(name) else { continue };
            let Some(ddio) = &memory.settings.ddio else { continue };
            if pool.cache.is_some_and(|part| part > ddio.cache) {
                let text = format!(
                    "is more than the cache of {name}; write at most \"{}\", or leave it out",
                    ddio.cache
                );
                return judge.wrong(&format!("{path}.cache"), text);
            }
            let lines = pool.cache.unwrap_or(ddio.cache).get() / LINE;
            let sharing = sharing(scenario, name);
            if lines > 0 && sharing > lines.into() {
                let text = format!(
                    "shares {lines} lines of the cache of {name} among {sharing} connections, less than one for each; write fewer connections, or a larger cache"
                );
                return judge.say(&path, text);
            }
            if placed && ddio.model == CacheModel::Buffers && !memory.settings.readers.reads_placed
            {
                let text = format!(
                    "bounds what waits for cores of {name}, and none of them reads what RDMA places; write read_placed = true in its host.memory"
                );
                return judge.say(&path, text);
            }
        }
    }
}

/// Connections with a pool to this server, of all entries.
fn sharing(scenario: &Scenario, server: &String) -> u128 {
    let pooled = scenario.traffic.iter().filter_map(|entry| match &entry.kind {
        TrafficKind::Rpc(rpc) if rpc.pool.is_some() && rpc.to.contains(server) => Some(rpc),
        _ => None,
    });
    pooled.map(|rpc| pairs(rpc) * u128::from(rpc.connections) / rpc.to.len() as u128).sum()
}

/// Refuses traffic that no memory would hold, naming the entry that makes most flows.
fn check_forecast(judge: &mut Judge<'_>, scenario: &Scenario, plan: &Plan) {
    let hosts = Hosts::of_plan(plan, &scenario.fabric.topology);
    let flows = forecast(scenario, &hosts);
    let all = flows.iter().fold(0u128, |sum, n| sum.saturating_add(*n));
    if all > MOST_FLOWS
        && let Some(most) = (0..flows.len()).max_by_key(|i| flows[*i])
    {
        judge.say(&format!("traffic[{most}]"), too_many(all));
    }
}

/// A switch that trims cuts off payloads and nothing else, and holds no sender back.
fn trims_alone(scenario: &Scenario, judge: &mut Judge<'_>) {
    let switch = &scenario.fabric.switch;
    let trims = switch.class_trims();
    let Some(least) = trims.iter().flatten().map(|trim| trim.trim_to).min() else { return };
    let held = if switch.hierarchical.is_some() { "fabric.switch.hierarchical" } else { "pause" };
    if switch.hierarchical.is_some() || scenario.fabric.pauses().next().is_some() {
        let text = format!("and {held} both answer full queues; leave out over or {held}");
        judge.say("fabric.switch.limits", text);
    }
    let header = scenario.all_transports().map(|one| one.header).max();
    if let Some(header) = header.filter(|header| *header > least) {
        let at = switch.limits.iter().position(|one| trims[usize::from(one.class)].is_some());
        let path = format!("fabric.switch.limits[{}].over.trim_to", at.unwrap_or(0));
        judge.wrong(&path, format!("cuts into headers of {header}; write \"{header}\""));
    }
}

/// Queues by destination account for their packets alone: no other mechanism may charge them.
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
    let messages_on_streams = scenario.traffic.iter().any(|entry| {
        entry.kind.keeps_connections() && scenario.transport_of(entry).receiver_driven().is_some()
    });
    if hierarchical.is_some() && messages_on_streams {
        let text = "tags packets where connections of receiver-driven transports number their messages; leave out one of them";
        judge.say("fabric.switch.hierarchical", text);
    }
    let mut others =
        scenario.all_transports().filter(|one| one.header != scenario.transport.header);
    if hierarchical.is_some_and(|h| h.credit_for == CreditFor::Payload)
        && let Some(other) = others.next()
    {
        let text = format!(
            "\"payload\" needs one header, and there are those of {} and {}; write \"packet\"",
            scenario.transport.header, other.header
        );
        judge.say("fabric.switch.hierarchical.credit_for", text);
    }
    let entries = scenario.traffic.iter().filter_map(|t| t.law.as_ref());
    let transports = scenario.all_transports().map(|transport| &transport.law);
    let laws: Vec<_> = entries.chain(transports).collect();
    let that = |has: fn(Needs) -> bool| {
        laws.iter().find(|law| scenario.laws.flow(law).is_ok_and(|law| has(law.needs())))
    };
    if let (true, Some(law)) = (hierarchical.is_some(), that(|needs| needs.int)) {
        let text = format!(
            "tags packets where {law:?} has its telemetry; write law = \"explicit\", or another without"
        );
        judge.say("fabric.switch.hierarchical", text);
    } else if let (None, Some(law)) = (hierarchical, that(|needs| needs.rate_request.is_some())) {
        let text = format!(
            "{law:?} sends at the rate that a switch sends it, and none does; write fabric.switch.hierarchical = \
             {{ law = \"hiercc\" }} as well"
        );
        judge.say("transport.law", text);
    }
}
