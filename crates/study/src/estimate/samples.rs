//! What samples cost: rows of series.csv and memory_series.csv, their bytes in memory and on disk.
//!
//! Those of queues and of hosts are as many as there are instants before the end; those of flows are taken while a flow is alive, which is
//! guessed.

use super::Estimate;
use forebay_scenario::model::Scenario;
use forebay_scenario::plan::{Plan, matches};
use forebay_units::Span;

/// A row without its name, and what a value costs in memory from the sampler to the report.
const ROW: f64 = 34.0;
const MEMORY_ROW: f64 = 110.0;
const BYTES_PER_VALUE: f64 = 40.0;
/// Window, rate, bytes in flight, RTT and progress of a flow.
const PER_FLOW: f64 = 5.0;

/// Of one seed.
pub struct Samples {
    pub rows: f64,
    pub memory: f64,
    pub disk: f64,
}

/// Whether one of these patterns stands for this name.
pub fn named(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
}

/// Counts them, of a run that ends as `known` says.
pub fn of(scenario: &Scenario, plan: &Plan, known: &Estimate) -> Samples {
    let length = known.end_s * 1e12;
    let instants = |every: Span| (length / every.as_ps().max(1) as f64).ceil();
    let mut all = Samples { rows: 0.0, memory: 0.0, disk: 0.0 };
    let mut add = |rows: f64, row: f64| {
        all.rows += rows;
        all.disk += rows * row;
        all.memory += rows * BYTES_PER_VALUE;
    };
    let output = &scenario.output;
    if let Some(queues) = &output.queues {
        let every = queues.every;
        let mut ports = vec![0.0; plan.names.len()];
        for cable in &plan.cables {
            ports[cable.a as usize] += 1.0;
            ports[cable.b as usize] += 1.0;
        }
        for (name, ports) in plan.names.iter().zip(&ports).skip(plan.hosts) {
            if named(&queues.nodes, name) {
                add(instants(every) * ports, ROW + 2.0 * name.len() as f64);
            }
        }
        add(instants(every), ROW + 20.0);
    }
    if let Some(memory) = &output.memory {
        let hosts = plan.names[..plan.hosts].iter();
        let hosts = hosts.filter(|name| memory.every_at(name).is_some()).count() as f64;
        add(instants(memory.every) * hosts, MEMORY_ROW);
    }
    if let Some(flows) = &output.flows {
        let hosts = plan.names[..plan.hosts].iter().filter(|name| named(&flows.hosts, name));
        let share = hosts.count() as f64 / plan.hosts.max(1) as f64;
        let (endless, finite) = (known.endless * share, known.flows * share);
        let most = f64::from(flows.most);
        // Three times as long as on an idle network: a round trip, and its bytes at the rate of a host.
        let line = scenario.fabric.host_link.rate.get() as f64 / 8.0;
        let mean = known.payload / (known.flows + known.endless).max(1.0);
        let alone = known.trip_s + mean / line.max(1.0);
        let alive = (3e12 * alone).min(length) / flows.every.as_ps().max(1) as f64;
        let endless = endless.min(most);
        let rows = endless * instants(flows.every) + finite.min(most - endless) * alive.max(1.0);
        add(rows * PER_FLOW, ROW + 30.0);
    }
    all
}
