//! Rows that a run can have at most: what "at most" means in `forebay check`.
//!
//! A bound from the tables' own rules, and true of every seed: as if nothing ended the run before `stop.time`, each flow were sampled from its
//! start on, and each connection made its RPCs at the speed of light. Poisson arrivals, which have no bound, count with six standard deviations.

use super::samples::named;
use forebay_scenario::model::{Rpc, Scenario, TrafficKind};
use forebay_scenario::plan::Plan;
use forebay_scenario::workload::{Hosts, forecast, pairs};
use forebay_units::{Bytes, Span, Time};

/// Bytes of a row at most: of links.csv, which has up to 200 intervals of seven quantities, of a sample beside its names, and of any other.
const LINKS_ROW: f64 = 16e3;
const SAMPLE_ROW: f64 = 70.0;
const ROW: f64 = 400.0;
/// Series of a sampled flow.
const OF_FLOW: f64 = 5.0;
/// Parts of a flow's completion time at one link of its path, and beside the path.
const PARTS: f64 = 64.0;

/// Rows of all tables of one seed at most, and their bytes.
pub fn rows(scenario: &Scenario, plan: &Plan, hosts: &Hosts) -> (f64, f64) {
    let length = scenario.stop.time.since(Time::ZERO);
    let ports = plan.cables.len() as f64 * 2.0;
    let (mut flows, mut connections, mut rpcs) = (0.0, 0.0, 0.0);
    for (traffic, made) in scenario.traffic.iter().zip(forecast(scenario, hosts)) {
        let made = made as f64;
        flows += match traffic.kind.is_random() {
            true => made + 6.0 * made.sqrt() + 20.0,
            false => made,
        };
        if let TrafficKind::Collective(one) = &traffic.kind {
            connections += made + (one.ranks.len() * one.repeat as usize) as f64;
            if scenario.output.steps {
                connections += one.most_operations();
            }
        }
        if let TrafficKind::Rpc(one) = &traffic.kind {
            let of_entry = pairs(one) as f64 * f64::from(one.connections);
            let active = traffic.until.min(scenario.stop.time).since(traffic.start);
            connections += of_entry;
            rpcs += of_entry * of_connection(one, plan, active);
        }
    }
    let received =
        scenario.traffic.iter().any(|t| scenario.transport_of(t).receiver_driven().is_some());
    let each_host = plan.hosts as f64;
    let classes = 8.0;
    let of_receivers = if received { flows + each_host * classes } else { 0.0 };
    let pauses = scenario.fabric.switch.pause.on().is_some()
        || scenario.fabric.overrides.iter().any(|o| o.pause.is_some());
    // A row for each port and class that paused, and one for each deadlock, of which a port is in one at a time.
    let of_pauses = if pauses { ports * (classes + 1.0) + length.as_secs_f64() * 1e3 } else { 0.0 };
    let memory = (0..plan.hosts).filter(|n| scenario.host.memory_at(&plan.names[*n]).is_some());
    let explained = if scenario.output.why.is_some() { (flows + rpcs) * PARTS } else { 0.0 };
    // Each flow has a row, and one more if it has not ended.
    let others = each_host
        + 1.0
        + 2.0 * flows
        + connections
        + rpcs
        + ports
        + of_receivers
        + of_pauses
        + memory.count() as f64
        + explained;
    let samples = samples(scenario, plan, (flows, received, pauses));
    // Links over time, by bundle.
    let links = ports;
    let longest = plan.names.iter().map(String::len).max().unwrap_or(0) as f64;
    let bytes =
        others * (ROW + 2.0 * longest) + samples * (SAMPLE_ROW + 2.0 * longest) + links * LINKS_ROW;
    (others + samples + links, bytes)
}

/// Samples of one seed at most.
fn samples(scenario: &Scenario, plan: &Plan, (flows, received, pauses): (f64, bool, bool)) -> f64 {
    let length = scenario.stop.time.as_ps() as f64;
    let instants = |every: Span| (length / every.as_ps().max(1) as f64).ceil() + 1.0;
    let (output, switch) = (&scenario.output, &scenario.fabric.switch);
    let hosts = plan.hosts as f64;
    let mut all = 0.0;
    if let Some(queues) = &output.queues {
        let sampled = |n: u32| named(&queues.nodes, &plan.names[n as usize]);
        let ends = plan.cables.iter().flat_map(|c| [c.a, c.b]);
        let ports = ends.filter(|n| *n as usize >= plan.hosts && sampled(*n)).count() as f64;
        let of_classes = if switch.classes > 1 { f64::from(switch.classes) } else { 0.0 };
        let paused = if pauses { f64::from(switch.classes.max(1)) } else { 0.0 };
        let credits = if received { 3.0 * hosts + 2.0 } else { 0.0 };
        let series = ports * (1.0 + of_classes + paused) + hosts * paused + 1.0 + credits;
        all += series * instants(queues.every);
    }
    if let Some(memory) = &output.memory {
        let sampled =
            plan.names[..plan.hosts].iter().filter(|name| memory.every_at(name).is_some());
        all += sampled.count() as f64 * instants(memory.every);
    }
    if let Some(of_flows) = &output.flows {
        all += flows.min(f64::from(of_flows.most)) * OF_FLOW * instants(of_flows.every);
    }
    all
}

/// RPCs that one connection makes at most in this time: no quicker than a header crosses the cables of two hosts, there and back.
fn of_connection(rpc: &Rpc, plan: &Plan, active: Span) -> f64 {
    let of_hosts = plan.cables.iter().filter(|cable| (cable.a as usize) < plan.hosts);
    let least = of_hosts.map(|cable| cable.link.delay + cable.link.rate.time_for(Bytes::new(1)));
    let trip = least.min().unwrap_or(Span::ZERO) * 4 + rpc.think.least() + rpc.service.least();
    let loops = (active.as_ps() as f64 / trip.as_ps().max(1) as f64).ceil() + 1.0;
    rpc.count.map_or(f64::INFINITY, |count| count as f64).min(loops * f64::from(rpc.outstanding))
}
