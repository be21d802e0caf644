//! What the experiments share: a run that is cut at the end of its warm-up, and what is read off it.

use crate::laid_out;
use forebay_record::law_logs::LawLogsInMemory;
use forebay_record::{PortRow, RunRecord, Series};
use forebay_scenario::model::Scenario;
use forebay_sim::{Inspection, Options, Outputs, PortState, Simulation, Watch, simulate_into};
use forebay_units::Time;
use std::cell::Cell;
use std::collections::BTreeMap;

thread_local! {
    /// What every seed of this thread's experiments is above the one that they name.
    static ABOVE: Cell<u64> = const { Cell::new(0) };
}

/// Runs experiments with other seeds than they name, all by as much.
pub(crate) fn with_seeds_above<T>(above: u64, run: impl FnOnce() -> T) -> T {
    let before = ABOVE.replace(above);
    let found = run();
    ABOVE.set(before);
    found
}

/// The seed that stands for the one that an experiment names.
pub(crate) fn seed(named: u64) -> u64 {
    named + ABOVE.get()
}

/// One run and its two halves.
pub(crate) struct BenchRun {
    pub record: RunRecord,
    /// How things stood at the end of the warm-up.
    pub before: Inspection,
    /// How they stand at the end.
    pub after: Inspection,
    /// Names of nodes: hosts, then switches.
    names: Vec<String>,
    warm: f64,
    end: f64,
    warmup: Time,
}

/// Runs a scenario text with seed 1; the first `warm` seconds are not measured.
pub(crate) fn run(name: &str, text: &str, warm: f64, end: f64) -> BenchRun {
    run_seed(name, text, 1, warm, end)
}

/// Runs a scenario text with this seed.
pub(crate) fn run_seed(name: &str, text: &str, seed: u64, warm: f64, end: f64) -> BenchRun {
    run_looking(name, text, seed, (warm, end), [], |_| {})
}

/// Runs a scenario text with seed 1 to its end. Also gives the logs of its laws, by whose they are.
pub(crate) fn run_logged(
    name: &str,
    text: &str,
    end: f64,
) -> (RunRecord, BTreeMap<String, Vec<u8>>) {
    let seed = seed(1);
    let scenario = scenario(name, text, seed, end);
    let logs = LawLogsInMemory::default();
    let outputs = Outputs { law_logs: Some(&logs), ..Outputs::default() };
    let outcome = simulate_into(&scenario, seed, Options::default(), &Watch::default(), outputs)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    (outcome.record, logs.finish())
}

/// The scenario of a text, which is about to be run.
fn scenario(name: &str, text: &str, seed: u64, end: f64) -> Scenario {
    let head = format!(
        "version = 1\nseeds = [{seed}]\nstop = {{ time = \"{}us\" }}\n{text}\n",
        (end * 1e6).round() as u64,
    );
    let scenario = match forebay_scenario::text(name, &head) {
        Ok(loaded) => loaded.scenario,
        Err(error) => panic!("{error}\n{head}"),
    };
    laid_out::begins(&scenario);
    scenario
}

/// Runs a scenario text and inspects it at some times after the warm-up, in order.
pub(crate) fn run_looking(
    name: &str,
    text: &str,
    seed: u64,
    (warm, end): (f64, f64),
    at: impl IntoIterator<Item = Time>,
    mut inspect: impl FnMut(&Inspection),
) -> BenchRun {
    let seed = self::seed(seed);
    let scenario = scenario(name, text, seed, end);
    let mut simulation = Simulation::new(&scenario, seed, Options::default())
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let warmup = Time::from_ps((warm * 1e12).round() as u64);
    simulation.advance(warmup, &Watch::default());
    let before = simulation.inspect();
    for at in at {
        simulation.advance(at, &Watch::default());
        inspect(&simulation.inspect());
    }
    simulation.advance(Time::MAX, &Watch::default());
    let after = simulation.inspect();
    let names = simulation.names().to_vec();
    BenchRun { record: simulation.finish().record, before, after, names, warm, end, warmup }
}

impl BenchRun {
    /// The series of this name.
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.record.series.iter().find(|s| s.name == name)
    }

    /// Measured seconds.
    pub fn seconds(&self) -> f64 {
        self.end - self.warm
    }

    /// Every port at the end of the warm-up and at the end.
    fn ports(&self) -> impl Iterator<Item = (&PortState, &PortState)> {
        self.before.ports.iter().zip(&self.after.ports)
    }

    /// A port at the end of the warm-up and at the end.
    fn port(&self, port: &str) -> (&PortState, &PortState) {
        let name = |of: &PortState| {
            format!("{}->{}", self.names[of.node as usize], self.names[of.peer as usize])
        };
        self.ports().find(|p| name(p.0) == port).unwrap_or_else(|| panic!("no port {port}"))
    }

    /// Bytes that a port sent in the measured part.
    pub fn sent_bytes(&self, port: &str) -> f64 {
        let (before, after) = self.port(port);
        (after.counters.tx_bytes - before.counters.tx_bytes) as f64
    }

    /// Points of a series in the measured part: s, value.
    pub fn measured<'a>(&self, series: &'a Series) -> impl Iterator<Item = (f64, f64)> + 'a {
        let warmup = self.warmup;
        let points = series.at.iter().zip(&series.values).filter(move |p| *p.0 >= warmup);
        points.map(|(at, value)| (at.as_secs_f64(), *value))
    }

    /// Packets lost anywhere and for whatever reason, warm-up included.
    pub fn lost(&self) -> f64 {
        let of = |port: &PortRow| port.dropped_packets + port.lost_packets + port.lossless_drops;
        self.record.ports.iter().map(of).sum::<u64>() as f64
    }

    /// Longest queue of a port, bytes, warm-up included.
    pub fn longest_queue(&self, port: &str) -> f64 {
        let rows = &self.record.ports;
        let row = rows.iter().find(|row| format!("{}->{}", row.node, row.peer) == port);
        row.unwrap_or_else(|| panic!("no port {port}")).max_queue.get() as f64
    }

    /// Mean of one series over the measured part.
    pub fn mean_of(&self, series: &Series) -> f64 {
        let late = series.at.iter().zip(&series.values).filter(|(at, _)| **at >= self.warmup);
        let (sum, n) = late.fold((0.0, 0.0), |(sum, n), (_, value)| (sum + value, n + 1.0));
        sum / n
    }

    /// Latencies in us, ascending, of the RPCs of a traffic entry that were issued after the warm-up.
    pub fn latencies(&self, traffic: u16) -> Vec<f64> {
        let record = &self.record;
        let of = record.rpcs.iter().filter(|rpc| {
            rpc.issued >= self.warmup
                && record.connections[rpc.connection as usize].traffic == traffic
        });
        let mut all: Vec<f64> =
            of.filter_map(|rpc| rpc.latency()).map(|l| l.as_ps() as f64 / 1e6).collect();
        all.sort_by(f64::total_cmp);
        all
    }
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
