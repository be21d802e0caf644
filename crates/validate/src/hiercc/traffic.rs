//! Figure 5: flows of a published distribution between hosts of different racks, under every scheme.

use super::lab::{is_host, longest, longest_voq};
use super::law::voq_bound;
use super::setup::{BUNDLES, C0, LINE, NAMED, PACKET, Scheme, Setup, Wiring, host};
use crate::bench::{self, mean, run_seed};
use crate::jobs::Cores;
use crate::measured::MeasuredRows;
use crate::order::{Samples, beyond};
use forebay_record::FlowRow;
use forebay_scenario::cdf;
use forebay_units::Time;
use forebay_units::random::{Purpose, Stream};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The sizes.
const SIZES: &str = "cachefollower";

/// Hosts, and hosts of a rack.
const HOSTS: u64 = 320;
const RACK: u64 = 16;

/// Seconds after the last arrival by which all flows should be over.
const DRAIN: f64 = 100e-3;

/// Load and seconds of arrivals of rows that are no part of figure 5.
const SOME: (f64, f64) = (0.5, 2e-3);

/// What reading 17 compares.
pub(super) const OWN: [Scheme; 4] =
    [Scheme::HierCc(BUNDLES[2]), Scheme::HpccOwn, Scheme::DcqcnOwn, Scheme::TimelyOwn];

/// What reading 20 compares.
pub(super) const CODE: [Scheme; 4] =
    [Scheme::HierCc(NAMED), Scheme::Timely, Scheme::Dcqcn, Scheme::ExpressPass];

/// All other schemes, the dearest first.
pub(super) const SCHEMES: [Scheme; 8] = [
    Scheme::HierCc(BUNDLES[0]),
    Scheme::HierCc(BUNDLES[1]),
    Scheme::HierCc(BUNDLES[2]),
    Scheme::Hpcc,
    Scheme::Dcqcn,
    Scheme::Timely,
    Scheme::ExpressPass,
    Scheme::ExpressPassFrames,
];

/// How much of the figure is run.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    pub loads: Vec<f64>,
    pub seeds: u64,
    /// Seconds of arrivals.
    pub arrivals: f64,
}

impl Extent {
    pub fn new(quick: bool) -> Self {
        if quick {
            Self { loads: vec![0.3, 0.8], seeds: 1, arrivals: 1e-3 }
        } else {
            Self { loads: vec![0.3, 0.4, 0.5, 0.6, 0.7, 0.8], seeds: 1, arrivals: 20e-3 }
        }
    }

    /// Extent of reading 17.
    pub fn own() -> Self {
        Self { loads: vec![0.3, 0.4, 0.5, 0.6, 0.7, 0.8], seeds: 3, arrivals: 5e-3 }
    }

    /// In words.
    pub fn said(&self) -> String {
        let loads: Vec<String> = self.loads.iter().map(f64::to_string).collect();
        let seeds = match self.seeds {
            1 => "seed 1".into(),
            seeds => format!("seeds 1 to {seeds}"),
        };
        format!("loads {}; {} ms of arrivals, {seeds}", loads.join(", "), self.arrivals * 1e3)
    }
}

/// One simulation, in seconds and bytes.
#[derive(Clone, Debug)]
struct TrafficRun {
    fcts: Vec<f64>,
    unfinished: usize,
    lost: f64,
    /// Longest queue of any switch, those by destination included.
    longest: f64,
    /// Longest queue of any port to a host.
    down: f64,
    /// Longest queue of any port from switch to switch.
    core: f64,
    /// Longest queue by destination.
    voq: f64,
    aggregates: Vec<Aggregate>,
    /// Bytes of each flow.
    sizes: Vec<f64>,
}

/// What a rack sends to a host from when its first flow there begins until none is under way.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Aggregate {
    bytes: f64,
    /// s.
    life: f64,
}

/// What one scheme did at one load, over all seeds.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub scheme: Scheme,
    pub load: f64,
    /// Mean and 99th percentile of FCT, s.
    pub mean: f64,
    pub p99: f64,
    /// Flows beyond that percentile.
    beyond: usize,
    /// Mean and 99th percentile by seed.
    by_seed: Vec<[f64; 2]>,
    unfinished: usize,
    lost: f64,
    pub longest: f64,
    down: f64,
    core: f64,
    voq: f64,
    /// Medians of the bytes of aggregates and of flows.
    medians: [f64; 2],
}

/// All of the figure.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub extent: Extent,
    pub points: Vec<Point>,
}

/// Poisson arrivals between hosts of different racks, as a list of flows.
pub(super) fn flows(load: f64, seed: u64, arrivals: f64) -> String {
    flows_to(RACK, load, seed, arrivals)
}

/// The same, to so many hosts of each rack: `load` is that of their links.
fn flows_to(receivers: u64, load: f64, seed: u64, arrivals: f64) -> String {
    let sizes = cdf::by_name(SIZES).expect("it is packaged");
    let racks = HOSTS / RACK;
    let rate = load * (racks * receivers) as f64 * LINE / (8.0 * sizes.mean());
    let stream = |purpose| Stream::new(seed, 0, purpose);
    let mut gaps = stream(Purpose::Arrivals);
    let mut draws = stream(Purpose::Sizes);
    let mut pairs = stream(Purpose::Pairs);
    let mut text = String::from("[[traffic]]\nkind = \"list\"\nflows = [\n");
    let mut at = 0.0;
    loop {
        at += gaps.exponential() / rate;
        if at >= arrivals {
            break;
        }
        let from = pairs.below(HOSTS);
        let away = pairs.below((racks - 1) * receivers);
        let to = (from / RACK + 1 + away / receivers) % racks * RACK + away % receivers;
        text += &format!(
            "{{ from = \"{}\", to = \"{}\", size = \"{}B\", at = \"{}ps\" }},\n",
            host(from as u32),
            host(to as u32),
            sizes.sample(draws.unit()).get(),
            (at * 1e12) as u64
        );
    }
    text + "]\n"
}

fn one(scheme: Scheme, load: f64, seed: u64, arrivals: f64) -> TrafficRun {
    seen(Setup::new(scheme, Wiring::Twenty, String::new()), load, seed, arrivals)
}

/// Mean and 99th percentile of FCT of a setup without traffic of its own, s.
pub(super) fn times(setup: Setup, load: f64, arrivals: f64) -> [f64; 2] {
    let fcts = seen(setup, load, 1, arrivals).fcts;
    [mean(&fcts), Samples::new(fcts).percentile(9_900).value]
}

fn seen(setup: Setup, load: f64, seed: u64, arrivals: f64) -> TrafficRun {
    let setup = Setup { rest: flows(load, bench::seed(seed), arrivals), ..setup };
    of_text(&setup.text(), seed, arrivals)
}

fn of_text(text: &str, seed: u64, arrivals: f64) -> TrafficRun {
    let seen = run_seed("hiercc", text, seed, 0.0, arrivals + DRAIN);
    let mut fcts = Vec::new();
    let mut unfinished = 0;
    for flow in &seen.record.flows {
        let fct = flow.fct().map_or(seen.after.at.since(flow.start), |fct| fct);
        unfinished += usize::from(flow.delivered.is_none());
        fcts.push(fct.as_secs_f64());
    }
    let most = |down: bool| {
        let ports = seen.record.ports.iter().filter(|p| !is_host(&p.node));
        let of = ports.filter(|p| is_host(&p.peer) == down);
        of.map(|p| p.max_queue.get()).max().unwrap_or(0) as f64
    };
    let flows = &seen.record.flows;
    TrafficRun {
        aggregates: aggregates(flows),
        sizes: flows.iter().map(|flow| flow.size.get() as f64).collect(),
        fcts,
        unfinished,
        lost: seen.lost(),
        longest: longest(&seen),
        down: most(true),
        core: most(false),
        voq: longest_voq(&seen),
    }
}

/// All of a run, in no order.
fn aggregates(flows: &[FlowRow]) -> Vec<Aggregate> {
    let mut open: BTreeMap<(u32, u32), (Time, Time, f64)> = BTreeMap::new();
    let ended = |(since, until, bytes): (Time, Time, f64)| Aggregate {
        bytes,
        life: until.since(since).as_secs_f64(),
    };
    let mut all = Vec::new();
    let mut flows: Vec<&FlowRow> = flows.iter().collect();
    flows.sort_by_key(|flow| flow.start);
    for flow in flows {
        let (size, done) = (flow.size.get() as f64, flow.delivered.unwrap_or(Time::MAX));
        let begun = (flow.start, done, 0.0);
        let one = open.entry((flow.src / RACK as u32, flow.dst)).or_insert(begun);
        if one.2 > 0.0 && flow.start > one.1 {
            all.push(ended(std::mem::replace(one, begun)));
        }
        (one.1, one.2) = (one.1.max(done), one.2 + size);
    }
    all.extend(open.into_values().map(ended));
    all
}

/// Enters for how long aggregates last, among all hosts and to one host of each rack.
pub(super) fn lives(measured: &mut MeasuredRows) {
    for (receivers, end) in [(RACK, ""), (1, "-fixed")] {
        let rest = flows_to(receivers, SOME.0, bench::seed(1), SOME.1);
        let setup = Setup::new(Scheme::HierCc(NAMED), Wiring::Twenty, rest);
        let one = of_text(&setup.text(), 1, SOME.1);
        let median = |all: Vec<f64>| Samples::new(all).percentile(5_000).value * 1e6;
        let life = median(one.aggregates.iter().map(|of| of.life).collect());
        let counts = [one.aggregates.len(), one.fcts.len()];
        let fct = median(one.fcts);
        let remark = format!(
            "{} aggregates of {} flows, {life:.0} us over {fct:.0} us",
            counts[0], counts[1]
        );
        measured.insert_saying(format!("text-aggregate-life{end}"), life / fct, remark);
    }
}

/// Enters what queues that the hosts of a rack or a pod share keep of the bounds: section 4 of the paper.
pub(super) fn shared(measured: &mut MeasuredRows) {
    for queue_for in ["rack", "pod"] {
        let rest = flows(SOME.0, bench::seed(1), SOME.1);
        let text = Setup::new(Scheme::HierCc(NAMED), Wiring::Twenty, rest).text();
        let law = "hierarchical = { law = \"hiercc\", ";
        assert!(text.contains(law), "{text}");
        let text = text.replace(law, &format!("{law}queue_for = \"{queue_for}\", "));
        let one = of_text(&text, 1, SOME.1);
        let remark = format!("{} flows, {} not done", one.fcts.len(), one.unfinished);
        measured.insert_saying(format!("text-queues-{queue_for}-drops"), one.lost, remark);
        let bound = one.down / (19.0 * (C0 + PACKET));
        measured.insert(format!("text-queues-{queue_for}-bound"), bound);
    }
}

impl Figure {
    /// Runs it under these schemes.
    pub fn run(cores: &Cores<'_>, extent: Extent, schemes: &[Scheme]) -> Self {
        let found: Mutex<Vec<(Scheme, usize, u64, TrafficRun)>> = Mutex::new(Vec::new());
        let mut calls = Vec::new();
        for seed in 1..=extent.seeds {
            for (i, load) in extent.loads.iter().enumerate().rev() {
                for &scheme in schemes {
                    let (found, arrivals) = (&found, extent.arrivals);
                    calls.push(move || {
                        let one = one(scheme, *load, seed, arrivals);
                        found.lock().expect("entering does not panic").push((scheme, i, seed, one));
                    });
                }
            }
        }
        cores.call(calls);
        let mut found = found.into_inner().expect("every worker has ended");
        found.sort_by_key(|one| one.2);
        let mut points = Vec::new();
        for &scheme in schemes {
            for (i, load) in extent.loads.iter().enumerate() {
                let of = found.iter().filter(|one| one.0 == scheme && one.1 == i);
                points.push(Point::new(scheme, *load, of.map(|one| &one.3).collect()));
            }
        }
        Self { extent, points }
    }

    /// The points of a scheme, by load.
    pub fn of(&self, scheme: Scheme) -> Vec<&Point> {
        self.points.iter().filter(|point| point.scheme == scheme).collect()
    }
}

impl Point {
    fn new(scheme: Scheme, load: f64, seeds: Vec<&TrafficRun>) -> Self {
        let stats = |fcts: Vec<f64>| {
            let mean = mean(&fcts);
            [mean, Samples::new(fcts).percentile(9_900).value]
        };
        let all = stats(seeds.iter().flat_map(|one| one.fcts.iter().copied()).collect());
        let most = |of: fn(&TrafficRun) -> f64| seeds.iter().map(|one| of(one)).fold(0.0, f64::max);
        let count: usize = seeds.iter().map(|one| one.fcts.len()).sum();
        Self {
            scheme,
            load,
            beyond: beyond(count, 9_900),
            mean: all[0],
            p99: all[1],
            by_seed: seeds.iter().map(|one| stats(one.fcts.clone())).collect(),
            unfinished: seeds.iter().map(|one| one.unfinished).sum(),
            lost: seeds.iter().map(|one| one.lost).sum(),
            longest: most(|one| one.longest),
            down: most(|one| one.down),
            core: most(|one| one.core),
            voq: most(|one| one.voq),
            medians: {
                let median = |of: fn(&TrafficRun) -> Vec<f64>| {
                    let all = seeds.iter().flat_map(|one| of(one)).collect();
                    Samples::new(all).percentile(5_000).value
                };
                [
                    median(|one| one.aggregates.iter().map(|of| of.bytes).collect()),
                    median(|one| one.sizes.clone()),
                ]
            },
        }
    }

    /// The mean (0) or the 99th percentile (1), s.
    pub fn stat(&self, which: usize) -> f64 {
        [self.mean, self.p99][which]
    }
}

/// Enters every row of the figure.
pub(super) fn measure(figure: &Figure, measured: &mut MeasuredRows) {
    let said = figure.extent.said();
    for (which, panel) in ["fig5a", "fig5b"].into_iter().enumerate() {
        for bundle in BUNDLES {
            let ours = figure.of(Scheme::HierCc(bundle));
            for other in [Scheme::Hpcc, Scheme::Timely, Scheme::Dcqcn, Scheme::ExpressPassFrames] {
                let (gain, remark) = best(&ours, &figure.of(other), which);
                let id = match other {
                    Scheme::ExpressPassFrames => {
                        format!("{panel}-over-expresspass-{bundle}-epframe")
                    }
                    _ => format!("{panel}-over-{}-{bundle}", other.name()),
                };
                let remark = format!("{said}: {remark}");
                enter(measured, id, gain, (which, [&ours, &figure.of(other)]), remark);
            }
            let ratio = geometric(&figure.of(Scheme::Hpcc), &ours, which);
            let id = format!("{panel}-order-hiercc-hpcc-{bundle}");
            enter(measured, id, ratio, (which, [&ours, &figure.of(Scheme::Hpcc)]), said.clone());
        }
        let pairs: &[(&str, Scheme, Scheme)] = match panel {
            "fig5a" => &[
                ("order-hpcc-timely", Scheme::Timely, Scheme::Hpcc),
                ("order-timely-dcqcn", Scheme::Dcqcn, Scheme::Timely),
                ("order-timely-expresspass-epframe", Scheme::ExpressPassFrames, Scheme::Timely),
                ("order-expresspass-dcqcn-epframe", Scheme::Dcqcn, Scheme::ExpressPassFrames),
            ],
            _ => &[
                ("same-hpcc-timely", Scheme::Timely, Scheme::Hpcc),
                ("order-hpcc-dcqcn", Scheme::Dcqcn, Scheme::Hpcc),
                ("order-timely-dcqcn", Scheme::Dcqcn, Scheme::Timely),
                ("order-dcqcn-expresspass-epframe", Scheme::ExpressPassFrames, Scheme::Dcqcn),
            ],
        };
        for (name, over, under) in pairs {
            let points = [figure.of(*over), figure.of(*under)];
            let ratio = geometric(&points[0], &points[1], which);
            let of = (which, [&points[0][..], &points[1]]);
            enter(measured, format!("{panel}-{name}"), ratio, of, said.clone());
        }
    }
    for bundle in BUNDLES {
        queues(figure, bundle, &said, measured);
    }
    if let Some(point) = figure.of(Scheme::HierCc(NAMED)).last() {
        let [aggregate, flow] = point.medians.map(|bytes| bytes / 1e3);
        let remark = format!("{said}: {aggregate:.0} KB over {flow:.0} KB at load {}", point.load);
        measured.insert_saying("fig5-aggregate-size", aggregate / flow, remark);
    }
}

/// Enters the rows of reading 20.
pub(super) fn measure_code(figure: &Figure, measured: &mut MeasuredRows) {
    let said = figure.extent.said();
    let [ours, timely, dcqcn, theirs] = CODE.map(|scheme| figure.of(scheme));
    for (which, panel) in ["fig5a", "fig5b"].into_iter().enumerate() {
        let (gain, best) = best(&ours, &theirs, which);
        let by_load: Vec<String> = ours
            .iter()
            .zip(&theirs)
            .map(|(a, b)| format!("{:.0}", less(a.stat(which), b.stat(which))))
            .collect();
        let remark = format!("{said}: {best}; by load {} %", by_load.join(", "));
        let id = format!("{panel}-over-expresspass-epcode");
        enter(measured, id, gain, (which, [&ours, &theirs]), remark);
    }
    for (id, which, over, under) in [
        ("fig5a-order-timely-expresspass-epcode", 0, &theirs, &timely),
        ("fig5a-order-expresspass-dcqcn-epcode", 0, &dcqcn, &theirs),
        ("fig5b-order-dcqcn-expresspass-epcode", 1, &theirs, &dcqcn),
    ] {
        let ratio = geometric(over, under, which);
        enter(measured, id.into(), ratio, (which, [&over[..], under]), said.clone());
    }
}

/// Enters the rows of reading 17, with what is gained at each load.
pub(super) fn measure_own(figure: &Figure, measured: &mut MeasuredRows) {
    let said = figure.extent.said();
    let ours = figure.of(OWN[0]);
    let [_, hpcc, dcqcn, timely] = OWN.map(|scheme| figure.of(scheme));
    for (which, panel) in ["fig5a", "fig5b"].into_iter().enumerate() {
        for (name, other) in [("hpcc", &hpcc), ("timely", &timely), ("dcqcn", &dcqcn)] {
            let (gain, best) = best(&ours, other, which);
            let by_load: Vec<String> = ours
                .iter()
                .zip(other)
                .map(|(a, b)| format!("{:.0}", less(a.stat(which), b.stat(which))))
                .collect();
            let remark = format!("{said}: {best}; by load {} %", by_load.join(", "));
            let of = (which, [&ours[..], other]);
            enter(measured, format!("{panel}-over-{name}-own"), gain, of, remark);
        }
        let mut pairs =
            vec![("order-hiercc-hpcc", &hpcc, &ours), ("order-timely-dcqcn", &dcqcn, &timely)];
        if panel == "fig5a" {
            pairs.push(("order-hpcc-timely", &timely, &hpcc));
        } else {
            pairs.extend([
                ("same-hpcc-timely", &timely, &hpcc),
                ("order-hpcc-dcqcn", &dcqcn, &hpcc),
            ]);
        }
        for (name, over, under) in pairs {
            let of = (which, [&over[..], under]);
            let ratio = geometric(over, under, which);
            enter(measured, format!("{panel}-{name}-own"), ratio, of, said.clone());
        }
    }
}

/// Enters a comparison of two schemes by their means (0) or 99th percentiles (1).
fn enter(
    measured: &mut MeasuredRows,
    id: String,
    value: f64,
    (which, schemes): (usize, [&[&Point]; 2]),
    remark: String,
) {
    let beyond = schemes.into_iter().flatten().map(|point| point.beyond).min();
    match which {
        1 => measured.insert_tail(id, value, beyond.unwrap_or(0), remark),
        _ => measured.insert_saying(id, value, remark),
    }
}

/// Losses and queues.
fn queues(figure: &Figure, bundle: &'static str, said: &str, measured: &mut MeasuredRows) {
    let ours = figure.of(Scheme::HierCc(bundle));
    for point in &ours {
        let remark = format!(
            "{said}: longest queue between switches {:.0} KB, of a down port {:.0} KB; {} flows not done",
            point.core / 1e3,
            point.down / 1e3,
            point.unfinished
        );
        let id = format!("fig5-drops-{}-{bundle}", point.load);
        measured.insert_saying(id, point.lost, remark);
    }
    let down = ours.iter().map(|point| point.down).fold(0.0, f64::max);
    let id = format!("fig5-bound-{bundle}");
    measured.insert_saying(id, down / (19.0 * (C0 + PACKET)), said.into());
    let voq = ours.iter().map(|point| point.voq).fold(0.0, f64::max);
    let id = format!("fig5-voq-bound-{bundle}");
    measured.insert_saying(id, voq / voq_bound(RACK as f64), said.into());
    let dcqcn = figure.of(Scheme::Dcqcn);
    let ratios = dcqcn.iter().zip(&ours).map(|(d, h)| (d.longest / h.longest, d, h));
    if let Some((ratio, d, h)) = ratios.max_by(|a, b| a.0.total_cmp(&b.0)) {
        let remark = format!(
            "{said}: at load {}, {:.0} KB over {:.0} KB",
            d.load,
            d.longest / 1e3,
            h.longest / 1e3
        );
        measured.insert_saying(format!("text-queue-traffic-{bundle}"), ratio, remark);
    }
}

/// The most, over the loads, by which `ours` is lower, per cent; and at which load, with the range over seeds.
fn best(ours: &[&Point], other: &[&Point], which: usize) -> (f64, String) {
    let (gain, load) = most(ours, other, which);
    let there = |point: &&&Point| point.load == load;
    let (Some(a), Some(b)) = (ours.iter().find(there), other.iter().find(there)) else {
        return (f64::NAN, String::new());
    };
    let seeds: Vec<f64> =
        a.by_seed.iter().zip(&b.by_seed).map(|(x, y)| less(x[which], y[which])).collect();
    let low = seeds.iter().copied().fold(f64::MAX, f64::min);
    let high = seeds.iter().copied().fold(f64::MIN, f64::max);
    let text = format!(
        "at load {load}, {:.3} ms to {:.3} ms; {low:.0} to {high:.0} % by seed",
        a.stat(which) * 1e3,
        b.stat(which) * 1e3
    );
    (gain, text)
}

/// The most, over the loads, by which `ours` is lower, per cent, and the load.
pub(super) fn most(ours: &[&Point], other: &[&Point], which: usize) -> (f64, f64) {
    let gains = ours.iter().zip(other).map(|(a, b)| (less(a.stat(which), b.stat(which)), a.load));
    gains.max_by(|x, y| x.0.total_cmp(&y.0)).unwrap_or((f64::NAN, f64::NAN))
}

/// By how much `a` is less than `b`, per cent.
fn less(a: f64, b: f64) -> f64 {
    (1.0 - a / b) * 100.0
}

/// Geometric mean over the loads of one scheme over another.
fn geometric(over: &[&Point], under: &[&Point], which: usize) -> f64 {
    let logs: Vec<f64> =
        over.iter().zip(under).map(|(a, b)| (a.stat(which) / b.stat(which)).ln()).collect();
    mean(&logs).exp()
}

/// Share of the flows of a distribution under a size, per cent.
pub(super) fn share_under(sizes: &str, bytes: u64) -> f64 {
    let sizes = cdf::by_name(sizes).expect("it is packaged");
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if sizes.sample(middle).get() < bytes { low = middle } else { high = middle }
    }
    low * 100.0
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::setup::{RECEIVER, long};
    use super::*;
    use crate::bench::run;

    /// A figure of means and 99th percentiles in ms, by scheme and load.
    pub fn figure(loads: &[f64], of: &[(Scheme, &[[f64; 2]])]) -> Figure {
        let extent = Extent { loads: loads.to_vec(), seeds: 1, arrivals: 20e-3 };
        let point = |scheme, load, ms: [f64; 2]| {
            let [mean, p99] = ms.map(|ms| ms / 1e3);
            Point { mean, p99, by_seed: vec![[mean, p99]], ..Point::new(scheme, load, Vec::new()) }
        };
        let points = of.iter().flat_map(|(scheme, values)| {
            loads.iter().zip(*values).map(|(load, ms)| point(*scheme, *load, *ms))
        });
        Figure { extent, points: points.collect() }
    }

    /// Hosts 0 and 1 share a rack, host 16 does not.
    #[test]
    fn an_aggregate_lasts_while_one_of_its_flows_does() {
        let mut row = run("hiercc", &tiny(), 0.0, 1e-3).record.flows.remove(0);
        let mut flow = |src, us: [u64; 2], kb: u64| {
            (row.src, row.dst) = (src, 40);
            row.start = Time::from_ps(us[0] * 1_000_000);
            row.delivered = Some(Time::from_ps(us[1] * 1_000_000));
            row.size = forebay_units::Bytes::new(kb * 1000);
            row
        };
        let flows = [
            flow(0, [0, 10], 1),
            flow(1, [5, 20], 2),
            flow(16, [6, 30], 4),
            flow(0, [15, 18], 8),
            flow(1, [21, 25], 16),
        ];
        let mut found = aggregates(&flows);
        found.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
        let found = found.iter().map(|of| (of.bytes, (of.life * 1e6).round()));
        let expected = [(4e3, 24.0), (11e3, 20.0), (16e3, 4.0)];
        assert_eq!(found.collect::<Vec<_>>(), expected, "bytes and us");
    }

    fn tiny() -> String {
        let rest = super::super::setup::bursts(&[host(64)], "1KB", &["0s"]);
        Setup::new(Scheme::Hpcc, Wiring::Twenty, rest).text()
    }

    #[test]
    fn the_best_load_is_where_most_is_gained() {
        let (ours, other) = (Scheme::HierCc(BUNDLES[2]), Scheme::Hpcc);
        let values: [&[[f64; 2]]; 2] =
            [&[[1.0, 4.0], [3.0, 5.0], [2.0, 9.0]], &[[1.1, 8.0], [4.0, 6.0], [2.2, 9.0]]];
        let figure = figure(&[0.3, 0.5, 0.8], &[(ours, values[0]), (other, values[1])]);
        let (ours, other) = (figure.of(ours), figure.of(other));
        assert_eq!(most(&ours, &other, 0), (25.0, 0.5));
        assert_eq!(most(&ours, &other, 1), (50.0, 0.3));
        let text = "at load 0.5, 3.000 ms to 4.000 ms; 25 to 25 % by seed";
        assert_eq!(best(&ours, &other, 0), (25.0, text.into()));
    }

    /// Data one way and ACKs of the other fill `fill` of a link: HPCC adds telemetry of 42 B to both. SIGCOMM 2019, section 4; U is
    /// `eta` + `w_ai` / (B T), 0.2 % more than `eta`.
    #[test]
    fn with_data_both_ways_a_link_carries_less_under_hpcc() {
        let there = host(64);
        let back =
            format!("[[traffic]]\nkind = \"long\"\nfrom = [\"{RECEIVER}\"]\nto = \"{there}\"\n");
        let schemes = [(Scheme::Hpcc, 0.95, 1090.0 + 106.0), (Scheme::Dcqcn, 1.0, 1048.0 + 64.0)];
        for (scheme, fill, packet_and_ack) in schemes {
            let setup = Setup::new(scheme, Wiring::Twenty, long([there.clone()]) + &back);
            let seen = run("hiercc", &setup.text(), 1e-3, 3e-3);
            for (before, after) in seen.before.senders.iter().zip(&seen.after.senders) {
                let payload = (after.acked - before.acked) as f64 * 8.0 / seen.seconds();
                let expected = fill * LINE * 1000.0 / packet_and_ack;
                let off = (payload / expected - 1.0).abs();
                assert!(off < 0.005, "{scheme:?}: {payload} is not {expected}");
            }
            assert_eq!(seen.after.senders.len(), 2);
        }
    }
}
