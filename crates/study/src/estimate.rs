//! What a run will cost, before it runs: flows, packet-hops, seconds, bytes.
//!
//! First a forecast from means: offered payload (never more than the hosts' links carry in the time), the mean length
//! of a shortest path, one ACK per segment or per two. It knows nothing of losses. Then a [`Pilot`] corrects it: the first part of the
//! first seed, which is simulated. The time per packet-hop is a typical one for the size of the fabric; [`NS_PER_HOP`] says where it
//! comes from.

mod most;
mod overflow;
mod pilot;
mod rpc;
mod samples;

pub use overflow::overflow;
pub use pilot::Pilot;

use crate::sweep;
use forebay_scenario::model::{Scenario, TrafficKind, Transport};
use forebay_scenario::plan::Plan;
use forebay_scenario::workload::{Hosts, forecast};
use forebay_units::human;
use std::collections::{BTreeSet, VecDeque};

/// Hosts, and nanoseconds of CPU per packet-hop up to there: the budgets of the design document, which hold on a
/// shared two-core server; larger fabrics miss the caches more often.
const NS_PER_HOP: [(f64, f64); 3] = [(128.0, 45.0), (1024.0, 60.0), (8192.0, 100.0)];

/// Measured: what a process has with the smallest run, its report included (25 to 95 MB); what a busy host costs with its share of the fabric and of
/// packets in flight (25 to 60 KB at 128 to 8,192 hosts); what a flow costs while it waits in the table; and what it costs
/// when rows, summary and report are made of it at the end.
const BYTES_OF_PROGRAM: f64 = 95e6;
const BYTES_PER_HOST: f64 = 40e3;
const BYTES_PER_FLOW: f64 = 40.0;
const BYTES_PER_RECORDED_FLOW: f64 = 630.0;
/// Measured with three million flows of two bytes: 7.2 s of CPU and 2.0 GB.
const NS_PER_FLOW: f64 = 2300.0;
/// Rows of the tables, about: names and a dozen numbers each.
const FLOW_ROW: f64 = 115.0;
const PORT_ROW: f64 = 130.0;
const RPC_ROW: f64 = 90.0;
/// A row of links over time, which has up to 200 intervals.
const LINKS_ROW: f64 = 3e3;
/// Rows of links, about, where a fabric is drawn in groups.
const MOST_BUNDLES: f64 = 400.0;
/// CPU of the second run of output.why: of a packet-hop, for each packet that stands in the queue meanwhile. Measured: 175 us behind 1,500.
const NS_PER_QUEUED: f64 = 117.0;
/// CPU to take, keep and write one sample.
const NS_PER_SAMPLE: f64 = 200.0;
/// From the types: a connection has two flows, their senders and receivers, and two applications; an RPC is a row of 48 B,
/// once more while rows are collected, and its latency and slowdown while the summary is made.
const BYTES_PER_CONNECTION: f64 = 2e3;
const BYTES_PER_RECORDED_RPC: f64 = 130.0;

/// The forecast for one seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Finite flows.
    pub flows: f64,
    /// Flows without an end.
    pub endless: f64,
    /// RPCs.
    pub rpcs: f64,
    /// Payload that will cross the fabric.
    pub payload: f64,
    /// Mean links of a path.
    pub hops: f64,
    /// Packets times links, ACKs and credits included.
    pub packet_hops: f64,
    /// When the run ends, in seconds of virtual time.
    pub end_s: f64,
    /// Longest round trip of an empty path, in seconds.
    pub trip_s: f64,
    /// Whether a pilot ran to the end, so that packet-hops and rows are those of the first seed.
    pub exact: bool,
    /// CPU seconds on one thread: packet-hops, flows, samples, and the second run of output.why.
    pub cpu_s: f64,
    /// Of these, seconds of packet-hops alone.
    pub hops_s: f64,
    /// The rate assumed for that.
    pub ns_per_hop: f64,
    /// Bytes while the simulation goes on.
    pub bytes: f64,
    /// Bytes of its results, which are kept until all seeds are written.
    pub result_bytes: f64,
    /// Rows of samples.
    pub samples: f64,
    /// Rows of all tables.
    pub rows: f64,
    /// Bytes of them on disk.
    pub disk: f64,
    /// Rows that no seed has more of.
    pub rows_most: f64,
    /// Bytes of as many.
    pub disk_most: f64,
    why: bool,
    queued: f64, // packets at a port where many stand
}

/// Rows of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub samples: f64,
    pub links: f64,
    pub all: f64,
}

/// Events of a pilot: a fifth of a second.
const BUDGET: u64 = 1_000_000;
/// Larger fabrics take longer to lay out than a pilot is worth.
const MOST_HOSTS: usize = 10_000;
/// Samples in memory, and rows of them.
const BYTES_PER_SAMPLE: f64 = 40.0;
const SAMPLE_ROW: f64 = 60.0;

impl Estimate {
    /// Forecasts one seed from a pilot; from means alone where the fabric is too large for one.
    pub fn measured(scenario: &Scenario, plan: &Plan) -> Self {
        Self::within(scenario, plan, BUDGET)
    }

    /// Forecasts one seed from a pilot of at most `budget` events.
    pub fn within(scenario: &Scenario, plan: &Plan, budget: u64) -> Self {
        let mut all = Self::of(scenario, plan);
        if plan.hosts <= MOST_HOSTS
            && all.flows + all.endless < 1e6
            && let Ok(pilot) = Pilot::run(scenario, plan, budget)
        {
            pilot.correct(scenario, &mut all);
            all.fill_time();
        }
        all
    }

    /// Rows, and what they take on disk and in memory.
    fn fill_rows(&mut self, rows: Rows) {
        (self.samples, self.rows) = (rows.samples, rows.all.min(self.rows_most));
        let others = (rows.all - rows.samples - rows.links).max(0.0);
        let disk = rows.samples * SAMPLE_ROW + others * FLOW_ROW + rows.links * LINKS_ROW;
        self.disk = disk.min(self.disk_most);
        self.result_bytes = self.flows * BYTES_PER_RECORDED_FLOW
            + self.rpcs * BYTES_PER_RECORDED_RPC
            + rows.samples * BYTES_PER_SAMPLE;
    }

    /// Seconds of what there is to do.
    fn fill_time(&mut self) {
        self.hops_s = self.packet_hops * self.ns_per_hop / 1e9;
        let again = match self.why {
            true => self.hops_s + self.packet_hops * self.queued * NS_PER_QUEUED / 1e9,
            false => 0.0,
        };
        self.cpu_s =
            self.hops_s + again + (self.flows * NS_PER_FLOW + self.samples * NS_PER_SAMPLE) / 1e9;
    }

    /// Forecasts one seed from means.
    pub fn of(scenario: &Scenario, plan: &Plan) -> Self {
        let hosts = Hosts::of_plan(plan, &scenario.fabric.topology);
        let seconds = scenario.stop.time.as_secs_f64();
        let line: f64 = hosts.rates.iter().map(|rate| rate.get() as f64 / 8.0).sum();
        let share = |one: &Transport| {
            let (mss, header) = (one.mss.get() as f64, one.header.get() as f64);
            mss / (mss + header)
        };
        let mut all = Self { hops: mean_hops(plan), ..Self::default() };
        let mut segments = 0.0;
        for (traffic, flows) in scenario.traffic.iter().zip(forecast(scenario, &hosts)) {
            let flows = flows as f64;
            let transport = scenario.transport_of(traffic);
            let (mss, goodput) = (transport.mss.get() as f64, share(transport));
            let active = traffic.until.min(scenario.stop.time).since(traffic.start).as_secs_f64();
            if let TrafficKind::Rpc(one) = &traffic.kind {
                let rpcs = rpc::of(one, plan, &hosts, active, all.hops, goodput);
                let connections = flows / 2.0;
                match one.count {
                    Some(_) => all.flows += connections,
                    None => all.endless += connections,
                }
                all.bytes += connections * BYTES_PER_CONNECTION;
                all.rpcs += rpcs.count;
                all.payload += rpcs.count * rpcs.payload;
                segments += rpcs.count * (rpcs.payload / mss + 1.0);
                continue;
            }
            let payload = match traffic.kind.mean_size() {
                None => {
                    all.endless += flows;
                    flows.min(hosts.names.len() as f64) * line / hosts.names.len() as f64
                        * active
                        * goodput
                }
                Some(mean) => {
                    all.flows += flows;
                    flows * mean
                }
            };
            all.payload += payload;
            // A last segment is short: half a segment more for each flow.
            segments += payload / mss + flows / 2.0;
        }
        let most = line * seconds * scenario.all_transports().map(share).fold(0.0, f64::max);
        if all.payload > most {
            segments *= most / all.payload;
            all.payload = most;
        }
        let acks =
            if scenario.transport.tcp().is_some_and(|tcp| tcp.delayed_ack) { 0.5 } else { 1.0 };
        all.packet_hops = segments * all.hops * (1.0 + acks);
        all.ns_per_hop = ns_per_hop(hosts.names.len() as f64);
        all.trip_s = 2.0 * longest_delay(plan, all.hops);
        all.end_s = match scenario.stop.flows && all.endless == 0.0 {
            true => ends(scenario, &all, line).min(seconds),
            false => seconds,
        };
        all.bytes += hosts.names.len() as f64 * BYTES_PER_HOST + all.flows * BYTES_PER_FLOW;
        all.result_bytes = all.flows * BYTES_PER_RECORDED_FLOW + all.rpcs * BYTES_PER_RECORDED_RPC;
        let samples = samples::of(scenario, plan, &all);
        let ports = plan.cables.len() as f64 * 2.0;
        all.samples = samples.rows;
        let links = ports.min(MOST_BUNDLES);
        let fixed = hosts.names.len() as f64 + 1.0 + ports + links;
        all.rows = samples.rows + all.flows + 2.0 * all.endless + all.rpcs + fixed;
        all.disk = samples.disk
            + (all.flows + all.endless) * FLOW_ROW
            + ports * PORT_ROW
            + links * LINKS_ROW
            + all.rpcs * RPC_ROW;
        all.result_bytes += samples.memory;
        all.why = scenario.output.why.is_some();
        all.queued = queued(scenario);
        (all.rows_most, all.disk_most) = most::rows(scenario, plan, &hosts);
        (all.rows, all.disk) = (all.rows.min(all.rows_most), all.disk.min(all.disk_most));
        all.fill_time();
        all
    }

    /// Bytes of a run of so many seeds, some of them at once.
    pub fn memory(&self, seeds: usize, at_once: usize) -> f64 {
        let at_once = at_once.min(seeds);
        BYTES_OF_PROGRAM + at_once as f64 * self.bytes + seeds as f64 * self.result_bytes
    }
}

/// What a machine has free for new work, where that is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Bytes of memory.
    pub memory: Option<f64>,
    /// Bytes that the limit of its address space leaves a process.
    pub space: Option<f64>,
    /// Bytes on the file system of the results.
    pub disk: Option<f64>,
    /// Name of the place of the results, for sentences.
    pub place: String,
}

/// What work will need of a machine, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Needs {
    /// Memory of all processes together.
    pub memory: f64,
    /// Memory of the largest process.
    pub process: f64,
    /// Files of results.
    pub disk: f64,
}

impl Needs {
    /// Of one process with so many seeds, some of them at once.
    pub fn of_run(estimate: &Estimate, seeds: usize, at_once: usize) -> Self {
        let memory = estimate.memory(seeds, at_once);
        Self { memory, process: memory, disk: estimate.disk * seeds as f64 }
    }

    /// Of runs of a sweep, a process each, so many at once. Of many points it looks at some.
    pub fn of_sweep(plan: &sweep::Plan, todo: &[&sweep::Run], at_once: usize) -> Self {
        let left: BTreeSet<&str> = todo.iter().map(|run| run.hash.as_str()).collect();
        let runs = |point: &sweep::Point| {
            point.runs.iter().filter(|run| left.contains(run.as_str())).count()
        };
        let points: Vec<&sweep::Point> = plan.points.iter().filter(|one| runs(one) > 0).collect();
        let step = points.len().div_ceil(MOST_POINTS).max(1);
        let mut needs = Self::default();
        for from in (0..points.len()).step_by(step) {
            // Not each at the same place of its stride: values of a key repeat.
            let shift = forebay_units::math::mix(from as u64) % step as u64;
            let point = points[(from + shift as usize).min(points.len() - 1)];
            let fabric = Plan::of(&point.scenario.fabric);
            let estimate = Estimate::of(&point.scenario, &fabric);
            needs.process = needs.process.max(estimate.memory(1, 1));
            needs.disk += estimate.disk * (runs(point) * step) as f64;
        }
        needs.memory = needs.process * at_once.min(todo.len()) as f64;
        needs
    }
}

/// Points of a sweep that are forecast.
const MOST_POINTS: usize = 200;

impl Machine {
    /// The forecast of a pilot in place of that from means, where there is memory to lay the fabric out.
    pub fn measured(&self, scenario: &Scenario, plan: &Plan, means: Estimate) -> Estimate {
        let free = [self.memory, self.space].into_iter().flatten().fold(f64::INFINITY, f64::min);
        match means.memory(1, 1) < free {
            true => Estimate::measured(scenario, plan),
            false => means,
        }
    }

    /// Sentences if work may want more memory or more room on disk than there is now.
    pub fn too_small(&self, needs: &Needs) -> Vec<String> {
        let more = |bytes: f64, free: Option<f64>| free.filter(|free| bytes > *free);
        let less = "fewer simulations at a time (jobs), a shorter run, fewer samples or a lower load need less";
        let by_memory = more(needs.memory, self.memory).map(|free| {
            format!(
                "this will need about {} of memory and {} are free; {less}",
                human::bytes_f(needs.memory),
                human::bytes_f(free)
            )
        });
        let by_space = more(needs.process, self.space).map(|left| {
            format!(
                "this will need about {} of memory in one process and the limit of its address space leaves {}; raise the limit (ulimit -v), or {less}",
                human::bytes_f(needs.process),
                human::bytes_f(left)
            )
        });
        let by_disk = more(needs.disk, self.disk).map(|free| {
            format!(
                "this will write about {} and {} are free at {}; samples further apart (output) or a shorter run need less",
                human::bytes_f(needs.disk),
                human::bytes_f(free),
                self.place
            )
        });
        by_memory.into_iter().chain(by_space).chain(by_disk).collect()
    }

    /// Warnings of work that starts although there is too little. `starts`: words that have it start, unless it was told so.
    ///
    /// # Errors
    /// Why it does not start.
    pub fn gate(&self, needs: &Needs, told: bool, starts: &str) -> Result<Vec<String>, String> {
        let too_small = self.too_small(needs);
        match too_small.first() {
            Some(why) if !told => Err(format!("{why}; {starts} starts it all the same")),
            _ => Ok(too_small),
        }
    }

    /// A sentence if the samples of a run are so many that neither memory nor disk can ever hold them. They are counted
    /// exactly, unless flows may end the run.
    pub fn hopeless(&self, scenario: &Scenario, estimate: &Estimate) -> Option<String> {
        let (memory, disk) = (self.memory?, self.disk?);
        let surely = !scenario.stop.flows || estimate.endless > 0.0;
        (surely && estimate.disk > 10.0 * memory.max(disk)).then(|| {
            format!(
                "output: {} samples ({}) do not fit this machine, which has {} of memory and {} of disk free; write a longer \
                 \"every\", fewer places, or a shorter stop.time",
                human::si(estimate.samples),
                human::bytes_f(estimate.disk),
                human::bytes_f(memory),
                human::bytes_f(disk),
            )
        })
    }
}

/// Seconds of a path of so many links with the longest delays.
fn longest_delay(plan: &Plan, hops: f64) -> f64 {
    let of = |host: bool| {
        let cables = plan.cables.iter().filter(|c| ((c.a as usize) < plan.hosts) == host);
        cables.map(|cable| cable.link.delay.as_secs_f64()).fold(0.0, f64::max)
    };
    2.0 * of(true) + (hops - 2.0).max(0.0) * of(false)
}

/// When all finite flows have ended, in seconds: after the last has begun, a few round trips of slow start, and their bytes at the
/// rate of the hosts together.
fn ends(scenario: &Scenario, all: &Estimate, line: f64) -> f64 {
    let last = |traffic: &forebay_scenario::model::Traffic| {
        let end = traffic.until.min(scenario.stop.time);
        traffic.kind.last_start(traffic.start, end).as_secs_f64()
    };
    let last = scenario.traffic.iter().map(last).fold(0.0, f64::max);
    let mean = all.payload / all.flows.max(1.0);
    let rounds = 2.0 + (mean / 15_000.0).max(1.0).log2();
    last + rounds * all.trip_s + 2.0 * all.payload / line.max(1.0)
}

/// Packets that stand at a port where traffic is explained: a mark's worth of queue, of packets as small as the flows.
fn queued(scenario: &Scenario) -> f64 {
    let packets = |traffic: &forebay_scenario::model::Traffic| {
        let transport = scenario.transport_of(traffic);
        let mean = traffic.kind.mean_size().unwrap_or(0.0);
        let payload = if mean > 0.0 { mean.min(transport.mss.get() as f64) } else { 1_000.0 };
        30_000.0 / (payload + transport.header.get() as f64)
    };
    scenario.traffic.iter().map(packets).fold(1.0, f64::max)
}

/// Between the points a straight line in the logarithm of the hosts.
fn ns_per_hop(hosts: f64) -> f64 {
    let points = NS_PER_HOP;
    let hosts = hosts.clamp(points[0].0, points[points.len() - 1].0);
    let upper = points.iter().position(|p| hosts <= p.0).unwrap_or(points.len() - 1).max(1);
    let ((a, p), (b, q)) = (points[upper - 1], points[upper]);
    p + (q - p) * (hosts / a).ln() / (b / a).ln()
}

/// Mean links of a shortest path between two different hosts, from up to 32 sources spread over all, fewer on huge fabrics.
fn mean_hops(plan: &Plan) -> f64 {
    let nodes = plan.names.len();
    let mut near: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    for cable in &plan.cables {
        near[cable.a as usize].push(cable.b);
        near[cable.b as usize].push(cable.a);
    }
    let sources = (4_000_000 / nodes.max(1)).clamp(4, 32);
    let step = plan.hosts.div_ceil(sources).max(1);
    let (mut sum, mut pairs) = (0u64, 0u64);
    for source in (0..plan.hosts).step_by(step) {
        let mut distance = vec![u32::MAX; nodes];
        distance[source] = 0;
        let mut queue = VecDeque::from([source as u32]);
        while let Some(node) = queue.pop_front() {
            for next in &near[node as usize] {
                if distance[*next as usize] == u32::MAX {
                    distance[*next as usize] = distance[node as usize] + 1;
                    queue.push_back(*next);
                }
            }
        }
        for (host, links) in distance[..plan.hosts].iter().enumerate() {
            if host != source && *links != u32::MAX {
                sum += u64::from(*links);
                pairs += 1;
            }
        }
    }
    if pairs == 0 { 0.0 } else { sum as f64 / pairs as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(text: &str) -> Estimate {
        let scenario = forebay_scenario::text("x.toml", text).unwrap().scenario;
        Estimate::of(&scenario, &Plan::of(&scenario.fabric))
    }

    const STAR: &str = "version = 1\nstop = { time = \"1ms\" }\n[fabric]\nkind = \"star\"\nhosts = 4\n\
        host_link = { rate = \"100Gbps\", delay = \"1us\" }\n[transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n\
        mss = \"1000B\"\n";

    #[test]
    fn samples_are_counted_exactly_and_hopeless_ones_are_said() {
        let one = |output: &str| {
            let text = format!(
                "{STAR}[[traffic]]\nkind = \"permutation\"\nsize = \"100KB\"\n[output]\n{output}\n"
            );
            // Flows may end a run before its time, and then samples are not certain.
            let text = text.replace("\"1ms\" }", "\"1ms\", flows = \"ignore\" }");
            let scenario = forebay_scenario::text("x.toml", &text).unwrap().scenario;
            let estimate = Estimate::of(&scenario, &Plan::of(&scenario.fabric));
            let (memory, disk) = (Some(1e9), Some(1e10));
            let machine = Machine { memory, disk, place: ".".into(), ..Machine::default() };
            let said = machine.hopeless(&scenario, &estimate);
            (estimate, said)
        };
        // Four ports of the switch and the goodput of all hosts, at 0, 10 us ... 990 us.
        let (every_10us, said) = one("queues = { every = \"10us\" }");
        assert_eq!((every_10us.samples, said), (500.0, None));
        let none = one("").0;
        let more = every_10us.disk - none.disk;
        assert!(more > 500.0 * 30.0 && more < 500.0 * 80.0, "{more}");
        assert_eq!(none.samples, 0.0);
        assert!(every_10us.cpu_s > none.cpu_s && every_10us.result_bytes > none.result_bytes);
        let (fine, said) = one("queues = { every = \"1ps\" }");
        let said = said.expect("5 billion samples of a millisecond");
        assert!(fine.samples == 5e9 && said.starts_with("output: 5G samples ("), "{said}");
    }

    #[test]
    fn small_flows_cost_more_than_their_packets() {
        let e = estimate(&format!("{STAR}[[traffic]]\nkind = \"all-to-all\"\nsize = \"2B\"\n"));
        assert!(e.cpu_s > e.flows * 2e-6, "{e:?}");
    }

    #[test]
    fn a_permutation_on_a_star_is_counted_exactly() {
        let e = estimate(&format!("{STAR}[[traffic]]\nkind = \"permutation\"\nsize = \"100KB\"\n"));
        assert_eq!((e.flows, e.hops), (4.0, 2.0));
        assert!((e.packet_hops - (400.0 + 2.0) * 2.0 * 2.0).abs() < 1e-6, "{e:?}");
    }

    #[test]
    fn nobody_sends_more_than_the_links_carry() {
        let e = estimate(&format!("{STAR}[[traffic]]\nkind = \"permutation\"\nsize = \"1TB\"\n"));
        assert!(e.payload <= 4.0 * 12.5e9 * 1e-3, "{e:?}");
        assert!(e.payload > 3.5 * 12.5e9 * 1e-3, "{e:?}");
    }

    #[test]
    fn memory_counts_simulations_at_once_and_results_of_all_seeds() {
        let e = Estimate { bytes: 1e6, result_bytes: 1e5, ..Estimate::default() };
        assert_eq!(e.memory(1, 8), 95e6 + 1e6 + 1e5);
        assert_eq!(e.memory(10, 2), 95e6 + 2e6 + 1e6);
        let (memory, disk) = (Some(1e9), Some(1e9));
        let machine = Machine { memory, disk, place: "there".into(), ..Machine::default() };
        let needs = |all| Needs { memory: all, process: all, disk: all };
        assert!(machine.too_small(&needs(1.0)).is_empty());
        let said = machine.too_small(&needs(1e18));
        assert!(said[0].contains("(jobs)") && said[1].contains("are free at there"), "{said:?}");
    }

    #[test]
    fn time_per_hop_grows_with_the_fabric() {
        assert_eq!(ns_per_hop(16.0), 45.0);
        assert_eq!(ns_per_hop(128.0), 45.0);
        assert_eq!(ns_per_hop(1024.0), 60.0);
        assert!((60.0..100.0).contains(&ns_per_hop(3000.0)));
        assert_eq!(ns_per_hop(1e6), 100.0);
    }

    /// One sentence, wherever work is begun: what it needs, what there is, and what starts it all the same.
    #[test]
    fn work_that_needs_more_than_there_is_does_not_start_unless_told_so() {
        let place = "here".to_string();
        let (memory, space, disk) = (Some(1e9), Some(5e8), Some(1e9));
        let machine = Machine { memory, space, disk, place };
        let needs = |memory, process, disk| Needs { memory, process, disk };
        let said = |needs: Needs| machine.gate(&needs, false, "--now").unwrap_err();
        assert_eq!(machine.gate(&needs(1e9, 5e8, 1e9), false, "--now"), Ok(Vec::new()));
        let memory = said(needs(1.1e9, 1e8, 1.0));
        assert!(
            memory.starts_with("this will need about 1.1 GB of memory and 1 GB are free;"),
            "{memory}"
        );
        assert!(memory.ends_with("; --now starts it all the same"), "{memory}");
        let process = said(needs(6e8, 6e8, 1.0));
        assert!(process.contains("in one process") && process.contains("(ulimit -v)"), "{process}");
        let disk = said(needs(1.0, 1.0, 2e9));
        assert!(disk.contains("will write about 2 GB and 1 GB are free at here"), "{disk}");
        let told = machine.gate(&needs(2e9, 2e9, 2e9), true, "--now").unwrap();
        assert_eq!(told.len(), 3, "{told:?}");
        let unknown = Machine::default();
        assert_eq!(unknown.gate(&needs(1e18, 1e18, 1e18), false, "--now"), Ok(Vec::new()));
    }

    const SWEPT: &str = "[[traffic]]\nkind = \"permutation\"\nsize = \"1MB\"\n[output]\nqueues = { every = \"100ns\" }\n";

    fn load(keys: &str, settings: &[(String, String)]) -> forebay_scenario::LoadedScenario {
        forebay_scenario::text_with("x.toml", &format!("{STAR}{SWEPT}[sweep]\n{keys}\n"), settings)
            .unwrap()
    }

    /// A sweep over these keys, with three seeds.
    fn planned(keys: &str) -> sweep::Plan {
        #[derive(Debug)]
        struct NoForecast;
        impl From<crate::expect::Problems> for NoForecast {
            fn from(_: crate::expect::Problems) -> Self {
                Self
            }
        }
        // A point without the sweep that it is of, which would be read once more for each.
        let make = |point: &[(String, String)]| {
            let alone = [point, &[("sweep".into(), "{}".into())]].concat();
            Ok::<_, NoForecast>(load(keys, &alone))
        };
        let seeds = Some(&[1, 2, 3][..]);
        sweep::Plan::of(load(keys, &[]), &[], seeds, Vec::new(), "x", make).unwrap()
    }

    fn of_hosts(hosts: &str) -> Estimate {
        let settings = [("fabric.hosts".into(), hosts.into())];
        let scenario = load("\"fabric.hosts\" = [4, 64]", &settings).scenario;
        Estimate::of(&scenario, &Plan::of(&scenario.fabric))
    }

    /// A sweep has a process for each run at a time, and files of all.
    #[test]
    fn a_sweep_needs_the_memory_of_its_largest_runs_at_once_and_the_disk_of_all() {
        let plan = planned("\"fabric.hosts\" = [4, 64]");
        let todo: Vec<&sweep::Run> = plan.runs.iter().collect();
        let (small, large) = (of_hosts("4"), of_hosts("64"));
        let needs = Needs::of_sweep(&plan, &todo, 2);
        assert_eq!((needs.process, needs.memory), (large.memory(1, 1), 2.0 * large.memory(1, 1)));
        let disk = 3.0 * (small.disk + large.disk);
        assert!((needs.disk / disk - 1.0).abs() < 1e-9, "{} of {disk}", needs.disk);
        // What is done already needs nothing.
        let rest = Needs::of_sweep(&plan, &todo[..2], 8);
        assert_eq!(rest.process, small.memory(1, 1));
        assert_eq!(rest.memory, 2.0 * rest.process);
        assert!((rest.disk / (2.0 * small.disk) - 1.0).abs() < 1e-9, "{}", rest.disk);
    }

    /// Of 202 points 101 are looked at, and every second one is small.
    #[test]
    fn a_large_sweep_is_not_looked_at_in_step_with_its_keys() {
        let delays: Vec<String> = (1..=101).map(|us| format!("\"{us}us\"")).collect();
        let delays = delays.join(", ");
        let plan = planned(&format!(
            "\"fabric.host_link.delay\" = [{delays}]\n\"fabric.hosts\" = [4, 64]"
        ));
        let todo: Vec<&sweep::Run> = plan.runs.iter().collect();
        let (needs, large) = (Needs::of_sweep(&plan, &todo, 1), of_hosts("64"));
        assert!(needs.process > 0.9 * large.memory(1, 1), "{} bytes", needs.process);
        let disk = |one: &sweep::Point| {
            3.0 * Estimate::of(&one.scenario, &Plan::of(&one.scenario.fabric)).disk
        };
        let disk: f64 = plan.points.iter().map(disk).sum();
        assert!((needs.disk / disk - 1.0).abs() < 0.25, "{} of {disk}", needs.disk);
    }
}
