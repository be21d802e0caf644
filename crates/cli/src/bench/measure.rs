//! One bench, measured in this process, which should have done nothing else before.
//!
//! The clocks run from the end of the warm-up to the end of the measured part; laying out, warming up and collecting
//! results are outside. Time per packet-hop is user CPU time of all threads over packets pushed onto links.

use super::cases::Case;
use crate::about::VERSION;
use crate::clock;
use crate::failure::Failure;
use crate::machine::{peak_resident_bytes, resident_bytes};
use forebay_record::{RunRecord, hex};
use forebay_scenario::model::Scenario;
use forebay_sim::{EngineStats, Options, Simulation, Watch};
use forebay_units::Time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a bench says. The first ten keys keep their names and meanings for tools.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchResult {
    /// The bench.
    pub name: String,
    /// Hosts of the fabric.
    pub hosts: u32,
    /// Threads of the simulation.
    pub threads: usize,
    /// Packets that crossed a link in the measured part.
    pub packet_hops: u64,
    /// User CPU time of the measured part, over that, in ns.
    pub ns_per_packet_hop: f64,
    /// The most memory that the process had.
    pub peak_rss_bytes: u64,
    /// Peak memory less the memory before laying out, divided by the hosts.
    pub bytes_per_host: f64,
    /// What carried the data, as the run had it.
    pub transport: String,
    /// Whether flows and ports were counted.
    pub statistics: bool,
    /// Digest of the whole run, 16 hex digits.
    pub digest: String,

    /// Wall-clock time of the measured part.
    pub wall_seconds: f64,
    /// User CPU time of the measured part.
    pub user_seconds: f64,
    /// User CPU time for one unit of virtual time.
    pub cpu_per_simulated: f64,
    /// Time to lay out, by the wall clock.
    pub build_seconds: f64,
    /// Events of all shards, and windows, warm-up included.
    pub events: u64,
    pub windows: u64,
    /// Events of the busiest shard over their mean, warm-up included.
    pub imbalance: f64,
    /// Bytes of a full data packet, header included.
    pub mtu: u32,
    /// Virtual time of the measured part, of one repetition.
    pub simulated_us: f64,
    /// Virtual time before it.
    pub warmup_us: f64,
    /// How often the measured part ran, all of it counted: short ones are repeated.
    pub repetitions: u32,
    /// Payload delivered over virtual time and hosts, warm-up included, in Gb/s.
    pub goodput_per_host_gbps: f64,
    /// Packets refused, and segments sent again, warm-up included.
    pub drops: u64,
    pub retransmits: u64,
    /// Version of the program.
    pub version: String,
}

/// A measured part shorter than this is repeated, if the bench may be.
const AT_LEAST: Duration = Duration::from_millis(1000);
const MOST_REPETITIONS: u32 = 50;

/// The clocks over all repetitions.
#[derive(Default)]
struct Clocks {
    wall: Duration,
    user: Duration,
    hops: u64,
    build: Duration,
    repetitions: u32,
}

/// Measures it.
pub fn measure(case: &Case, threads: usize) -> Result<BenchResult, Failure> {
    let loaded = forebay_scenario::text(&case.name, &case.scenario())?;
    let scenario = loaded.scenario;
    let before = resident_bytes().unwrap_or(0);
    let options = Options { threads, ..Options::default() };
    let mut clocks = Clocks::default();
    let (mut record, execution) = once(case, &scenario, options, &mut clocks)?;
    let short = |clocks: &Clocks| clocks.wall < AT_LEAST && clocks.repetitions < MOST_REPETITIONS;
    while case.repeats && short(&clocks) {
        record.flows.clear();
        let (again, _) = once(case, &scenario, options, &mut clocks)?;
        if again.digest != record.digest {
            return Err(Failure::Run(format!(
                "{}: two runs of the same scenario differ ({} and {}); please report this",
                case.name,
                hex(record.digest),
                hex(again.digest)
            )));
        }
        record = again;
    }
    if case.family.is_host() && record.memory.iter().all(|m| m.read_bytes.get() == 0) {
        return Err(Failure::Run(format!("{}: nothing went through the host's memory", case.name)));
    }
    let peak = peak_resident_bytes().unwrap_or(0);
    let hops = clocks.hops.max(1) as f64;
    let ends = record.end.as_secs_f64();
    let simulated = (ends - case.warmup.as_secs_f64()).max(0.0);
    Ok(BenchResult {
        name: case.name.clone(),
        hosts: record.hosts.len() as u32,
        threads,
        packet_hops: clocks.hops,
        ns_per_packet_hop: clocks.user.as_secs_f64() * 1e9 / hops,
        peak_rss_bytes: peak,
        bytes_per_host: peak.saturating_sub(before) as f64 / f64::from(case.hosts),
        transport: format!("{}/{}", scenario.transport.kind(), scenario.transport.law),
        statistics: counted(&record),
        digest: hex(record.digest),
        wall_seconds: clocks.wall.as_secs_f64(),
        user_seconds: clocks.user.as_secs_f64(),
        cpu_per_simulated: clocks.user.as_secs_f64()
            / (simulated * f64::from(clocks.repetitions)).max(1e-9),
        build_seconds: clocks.build.as_secs_f64() / f64::from(clocks.repetitions),
        events: execution.events.iter().sum(),
        windows: execution.windows,
        imbalance: imbalance(&execution),
        mtu: case.mtu,
        simulated_us: simulated * 1e6,
        warmup_us: case.warmup.as_secs_f64() * 1e6,
        repetitions: clocks.repetitions,
        goodput_per_host_gbps: record.totals.delivered_bytes as f64 * 8.0
            / 1e9
            / ends
            / f64::from(case.hosts),
        drops: record.ports.iter().map(|port| port.dropped_packets).sum(),
        retransmits: record.flows.iter().map(|flow| u64::from(flow.retransmits)).sum(),
        version: VERSION.into(),
    })
}

fn once(
    case: &Case,
    scenario: &Scenario,
    options: Options,
    clocks: &mut Clocks,
) -> Result<(RunRecord, EngineStats), Failure> {
    let watch = Watch::default();
    let began = clock::now();
    let mut simulation = Simulation::new(scenario, scenario.seeds[0], options)
        .map_err(|refusal| Failure::Run(format!("{}: {refusal}", case.name)))?;
    clocks.build += began.elapsed();
    simulation.advance(Time::ZERO + case.warmup, &watch);
    let hops = simulation.packet_hops();
    let (wall, user) = (clock::now(), clock::user_cpu().unwrap_or_default());
    simulation.advance(Time::MAX, &watch);
    clocks.user += clock::user_cpu().unwrap_or_default().saturating_sub(user);
    clocks.wall += wall.elapsed();
    clocks.hops += simulation.packet_hops() - hops;
    clocks.repetitions += 1;
    let outcome = simulation.finish();
    if let Some(stall) = outcome.stall {
        return Err(Failure::Run(format!("{} stalled: {stall}", case.name)));
    }
    Ok((outcome.record, outcome.execution))
}

/// Whether the run left statistics: a row for each flow that started, and ports that counted what they sent.
fn counted(record: &RunRecord) -> bool {
    let sent: u64 = record.ports.iter().map(|port| port.tx_packets).sum();
    !record.flows.is_empty() && sent > 0 && record.totals.delivered_segments > 0
}

fn imbalance(execution: &EngineStats) -> f64 {
    let sum: u64 = execution.events.iter().sum();
    let most = execution.events.iter().copied().max().unwrap_or(0);
    if sum == 0 { 1.0 } else { most as f64 * execution.events.len() as f64 / sum as f64 }
}
