//! One run that a page watches: laid out, advanced frame by frame, summed up.

use crate::NAME;
use crate::frame::frame;
use forebay_record::{CollectiveRow, FlowRow, RunRecord, hex};
use forebay_scenario::model::Scenario;
use forebay_scenario::plan::Plan;
use forebay_scenario::{LoadedScenario, text_from};
use forebay_sim::{IntervalBaseline, Options, Simulation, Watch};
use forebay_study::estimate::Estimate;
use forebay_units::{Time, human};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Beyond this a page would stand still for minutes, and the browser end it.
const MOST_MEMORY: f64 = 1.2e9;
/// A picture of more is a grey area.
const MOST_HOSTS: usize = 4096;

/// Files that the page was given: objects of congestion controls, by the names in `law = "bpf:NAME"`.
#[derive(Clone, Debug, Default)]
pub struct Files(BTreeMap<String, Vec<u8>>);

impl Files {
    /// A file, which replaces an earlier one of its name.
    pub fn give(&mut self, name: &str, bytes: &[u8]) {
        self.0.insert(name.into(), bytes.to_vec());
    }
}

/// Reads a scenario's text; other files than these are out of reach.
pub(crate) fn load(text: &str, files: &Files) -> Result<LoadedScenario, Vec<Value>> {
    let read = |name: &str| {
        let none = "cannot be read in a browser; write its values here, or choose the object of a law below the scenario";
        files.0.get(name).cloned().ok_or_else(|| none.to_string())
    };
    text_from::<&str>(NAME, text, &[], &read).map_err(|error| {
        let problem = |problem: &forebay_scenario::Problem| {
            let place = problem.place.strip_prefix(NAME).unwrap_or_default();
            let mut numbers = place.split(':').skip(1).map(|n| n.parse::<usize>().unwrap_or(1));
            let (line, column) = (numbers.next().unwrap_or(1), numbers.next().unwrap_or(1));
            json!({ "line": line, "column": column, "key": problem.key, "text": problem.text })
        };
        error.problems.iter().map(problem).collect()
    })
}

/// Why a page does not run it, if so.
pub(crate) fn too_much(plan: &Plan, estimate: &Estimate) -> Option<String> {
    let instead = "copy the scenario and run it with forebay run";
    if plan.hosts > MOST_HOSTS {
        return Some(format!("{} hosts are more than a page draws; {instead}", plan.hosts));
    }
    let memory = estimate.memory(1, 1);
    (memory > MOST_MEMORY).then(|| {
        format!("this needs about {}, more than a page has; {instead}", human::bytes_f(memory))
    })
}

/// A simulation and what its last frame had counted.
pub struct Play<'a> {
    scenario: &'a Scenario,
    simulation: Simulation<'a>,
    watch: Watch,
    looks: IntervalBaseline,
}

impl<'a> Play<'a> {
    /// Lays out the first seed of a scenario.
    ///
    /// # Errors
    /// Why it is refused, in one sentence.
    pub fn new(scenario: &'a Scenario) -> Result<Self, String> {
        let plan = Plan::of(&scenario.fabric);
        if let Some(why) = too_much(&plan, &Estimate::of(scenario, &plan)) {
            return Err(why);
        }
        let seed = scenario.seeds.first().copied().unwrap_or(1);
        let simulation = Simulation::new(scenario, seed, Options::default());
        let simulation = simulation.map_err(|refusal| refusal.to_string())?;
        Ok(Self {
            scenario,
            simulation,
            watch: Watch::default(),
            looks: IntervalBaseline::default(),
        })
    }

    /// What does not change: nodes, ports in the order of frames, paths to memory, entries of the traffic.
    pub fn layout(&mut self) -> Value {
        let names = self.simulation.names().to_vec();
        let found = self.simulation.inspect();
        let ports = found
            .ports
            .iter()
            .map(|port| json!([port.node, port.peer, port.rate.get() as f64 / 1e9]));
        let ports: Vec<Value> = ports.collect();
        let memories = found.memories.iter().filter_map(|memory| {
            let settings = &self.scenario.host.memory_at(&names[memory.host as usize])?.settings;
            let buffer = settings.nic.buffer.get();
            Some(json!({ "host": memory.host, "buffer": buffer, "slots": settings.iio.slots }))
        });
        let memories: Vec<Value> = memories.collect();
        let traffic = self.scenario.traffic.iter();
        let laws: Vec<&String> = traffic.map(|entry| self.scenario.law_of(entry)).collect();
        json!({
            "name": self.scenario.name,
            "seed": self.scenario.seeds.first(),
            "stop_us": micros(self.scenario.stop.time),
            "hosts": found.hosts.len(),
            "names": names,
            "ports": ports,
            "memories": memories,
            "laws": laws,
        })
    }

    /// Goes on until `until_us`, or to the end of the run if that is earlier, and returns its frame.
    pub fn advance(&mut self, until_us: f64) -> Vec<f32> {
        let over = self.simulation.advance(Time::from_ps((until_us * 1e6) as u64), &self.watch);
        let hops = self.simulation.packet_hops();
        frame(&mut self.looks, &self.simulation.inspect(), over, hops)
    }

    /// What the run came to.
    pub fn finish(self) -> Value {
        let outcome = self.simulation.finish();
        let record = &outcome.record;
        let host_drops: Vec<u64> = record.memory.iter().map(|row| row.dropped_in_all).collect();
        json!({
            "digest": hex(record.digest),
            "end_us": micros(record.end),
            "packet_hops": record.totals.packet_hops,
            "delivered_bytes": record.totals.delivered_bytes,
            "host_drops": host_drops,
            "warnings": outcome.warnings,
            "stall": outcome.stall,
            "flows": flows(record),
            "collectives": collectives(record),
        })
    }
}

/// Collectives as columns.
fn collectives(record: &RunRecord) -> Value {
    let column = |of: &dyn Fn(&CollectiveRow) -> Value| -> Value {
        record.collectives.iter().map(of).collect()
    };
    let last = |row: &CollectiveRow| row.last.map(|host| &record.hosts[host as usize]);
    json!({
        "start_us": column(&|row| json!(micros(row.start))),
        "done_us": column(&|row| json!(row.end.map(micros))),
        "busbw_gbps": column(&|row| json!(row.busbw_gbps())),
        "last_rank": column(&|row| json!(last(row))),
    })
}

/// Flows as columns: a row would say its keys again.
fn flows(record: &RunRecord) -> Value {
    let column =
        |of: &dyn Fn(&FlowRow) -> Value| -> Value { record.flows.iter().map(of).collect() };
    json!({
        "flow": column(&|row| json!(row.flow)),
        "traffic": column(&|row| json!(row.traffic)),
        "src": column(&|row| json!(record.hosts[row.src as usize])),
        "dst": column(&|row| json!(record.hosts[row.dst as usize])),
        "size": column(&|row| if row.is_endless() { Value::Null } else { json!(row.size.get()) }),
        "start_us": column(&|row| json!(micros(row.start))),
        "done_us": column(&|row| json!(row.delivered.map(micros))),
        "slowdown": column(&|row| json!(row.slowdown())),
        "retransmits": column(&|row| json!(row.retransmits)),
        "timeouts": column(&|row| json!(row.timeouts)),
    })
}

fn micros(time: Time) -> f64 {
    time.as_ps() as f64 / 1e6
}
