//! The dilemma of proactive congestion control (APNet 2023): six schemes on one oversubscribed fabric.
//!
//! Readings, experiments and the rule of table 1 stand at the top of `validation/pcc-dilemma/rows.toml`.

mod experiments;
mod pictures;
mod sensitivity;
mod setup;
mod table;

use crate::jobs::Cores;
use crate::measured::MeasuredRows;
use crate::row::Row;
use experiments::{Experiment, ExperimentRun, Extent, Flow, INCASTS, Runs, Workload};
pub(crate) use sensitivity::sensitivity;
use setup::{PRODUCT, SCHEMES, Scheme};

/// Schemes of table 1.
const PROACTIVE: [Scheme; 4] = [Scheme::ExpressPass, Scheme::Aeolus, Scheme::Ndp, Scheme::Homa];

/// Parts: what each needs is run for it alone.
const PARTS: [&str; 7] = ["core", "nonblocking", "host", "buffer", "incast", "tiny", "trims"];

pub(crate) fn parts() -> Vec<&'static str> {
    PARTS.to_vec()
}

/// The part that a row belongs to: one of them is in its id.
pub(crate) fn part_of(row: &Row) -> &str {
    PARTS[1..].iter().find(|part| row.id.contains(*part)).unwrap_or(&PARTS[0])
}

/// The part that an experiment belongs to. [`Experiment::Core`] of Web Server is the first point of part "buffer", too.
fn belongs(experiment: Experiment, part: &str) -> bool {
    match experiment {
        Experiment::Core(Workload::WebServer) => part == "core" || part == "buffer",
        Experiment::NonBlocking(_) => part == "nonblocking",
        Experiment::Host(_) => part == "host",
        Experiment::Buffer(_) => part == "buffer",
        Experiment::Incast(_) => part == "incast",
        Experiment::Tiny => part == "tiny",
        _ => part == "core",
    }
}

/// Everything, or one part. `quick` has a tenth of the arrivals and one seed.
pub(crate) fn measure(
    cores: &Cores<'_>,
    part: Option<&str>,
    quick: bool,
    draw: bool,
) -> (MeasuredRows, Vec<(String, String)>) {
    let parts = PARTS.into_iter().filter(|name| part.is_none_or(|part| part == *name));
    let parts: Vec<&str> = parts.collect();
    let wanted = |one: &Experiment| parts.iter().any(|part| belongs(*one, part));
    let experiments: Vec<Experiment> = Experiment::all().into_iter().filter(wanted).collect();
    let runs = Runs::new(cores, Extent::new(quick), &experiments);
    let mut measured = MeasuredRows::new();
    if parts.iter().any(|part| matches!(*part, "core" | "nonblocking" | "host")) {
        traffic(&runs, &mut measured);
    }
    for part in parts {
        match part {
            "buffer" => buffer(&runs, &mut measured),
            "incast" => incast(&runs, &mut measured),
            "tiny" => cells(&runs, "tiny", &[Experiment::Tiny], &mut measured),
            "trims" => measured.extend(cores.run(vec![Box::new(trims)])),
            _ => {}
        }
        let of: Vec<Experiment> =
            experiments.iter().copied().filter(|one| belongs(*one, part)).collect();
        drops(&runs, part, &of, &mut measured);
    }
    let pictures = if draw { pictures::all(&runs, &measured) } else { Vec::new() };
    (measured, pictures)
}

/// Rows of E1 to E3 and E7, as far as those have been run.
fn traffic(runs: &Runs, measured: &mut MeasuredRows) {
    use Workload::{CacheFollower, WebSearch, WebServer};
    for workload in [CacheFollower, WebSearch] {
        let name = workload.name();
        let of = [
            ("core", Experiment::Core(workload)),
            ("host", Experiment::Host(workload)),
            ("nonblocking", Experiment::NonBlocking(workload)),
        ];
        for (end, experiment) in of {
            if let Some((ratio, remark)) = over_the_best(runs, experiment) {
                measured.insert_saying(format!("ndp-{name}-{end}"), ratio, remark);
            }
        }
    }
    let of = |workload| over_the_best(runs, Experiment::Core(workload));
    if let [Some(large), Some(larger), Some(small)] = [CacheFollower, WebSearch, WebServer].map(of)
    {
        let remark = format!(
            "Cache Follower {:.1}, Web Search {:.1}, Web Server {:.1}",
            large.0, larger.0, small.0
        );
        measured.insert_saying("ndp-workloads-core", large.0.min(larger.0) / small.0, remark);
    }
    let homa = over_the_others(runs, Experiment::Core(WebServer), Scheme::Homa);
    if let Some((ratio, remark)) = homa {
        measured.insert_saying("homa-webserver-core", ratio, remark);
    }
    let lost = [
        ("core", Experiment::Core(WebServer)),
        ("host", Experiment::Host(WebServer)),
        ("datamining", Experiment::Core(Workload::DataMining)),
    ];
    for (end, experiment) in lost {
        let Some(one) = runs.of(experiment, Scheme::Homa) else { continue };
        let (dropped, sent) = (one.dropped_bytes, one.sent_bytes);
        let remark = format!(
            "{:.2} of {:.0} MB; {}",
            dropped / 1e6,
            sent / 1e6,
            said(runs, experiment, one)
        );
        measured.insert_saying(format!("homa-loss-{end}"), 100.0 * dropped / sent, remark);
    }
    let levels = [
        Experiment::Core(WebSearch),
        Experiment::Levels(4),
        Experiment::Levels(2),
        Experiment::Levels(1),
    ];
    let small = |flow: &Flow| (flow.size <= 10_000).then_some(flow.fct);
    if let Some(tails) = tails(runs, Scheme::Homa, &levels, small) {
        tails.enter("homa-levels", tails.least_step(), runs, measured);
    }
    let mut network = experiments::WORKLOADS.map(Experiment::Core).to_vec();
    network.push(Experiment::HalfLoad);
    cells(runs, "network", &network, measured);
    for scheme in [Scheme::ExpressPass, Scheme::Aeolus, Scheme::Dcqcn, Scheme::Hpcc] {
        let Some(one) = runs.of(Experiment::Core(WebServer), scheme) else { continue };
        let mean = one.uplinks.iter().sum::<f64>() / one.uplinks.len() as f64;
        let remark = said(runs, Experiment::Core(WebServer), one);
        measured.insert_saying(format!("uplink-{}", scheme.name()), mean, remark);
    }
}

/// Rows of E5.
fn incast(runs: &Runs, measured: &mut MeasuredRows) {
    let points = INCASTS.map(Experiment::Incast);
    cells(runs, "incast", &points, measured);
    let lost = |point: &Experiment| {
        let one = runs.of(*point, Scheme::Homa)?;
        Some((100.0 * one.dropped_bytes / one.sent_bytes, said(runs, *point, one)))
    };
    let lost: Vec<(f64, String)> = points.iter().filter_map(lost).collect();
    if let Some(most) = lost.iter().map(|one| one.0).max_by(f64::total_cmp) {
        let each: Vec<String> =
            lost.iter().map(|(lost, of)| format!("{lost:.2} % in {of}")).collect();
        measured.insert_saying("homa-loss-incast", most, each.join("; "));
    }
}

/// How often a data packet of NDP is trimmed, in the short run of E1, and what a host holds beyond gaps there.
fn trims(measured: &mut MeasuredRows) {
    let one = Experiment::Core(Workload::CacheFollower).sampled(Scheme::Ndp);
    let remark = format!("{} trims, {} packets of payload", one.trimmed, one.packets);
    measured.insert_saying("ndp-trims", one.trimmed / one.packets, remark);
    let remark = format!("{:.0} KB, sampled every 10 us", one.beyond_gaps / 1e3);
    measured.insert_saying("ndp-reorder-trims", one.beyond_gaps / PRODUCT, remark);
}

/// Rows of E4.
fn buffer(runs: &Runs, measured: &mut MeasuredRows) {
    let all = [
        Experiment::Core(Workload::WebServer),
        Experiment::Buffer(16),
        Experiment::Buffer(8),
        Experiment::Buffer(4),
        Experiment::Buffer(2),
    ];
    for scheme in PROACTIVE {
        let Some(tails) = tails(runs, scheme, &all, |flow| Some(flow.fct)) else { continue };
        let id = format!("table1-buffer-{}", scheme.name());
        tails.enter(&id, tails.seconds[2] / tails.seconds[0], runs, measured);
        match scheme {
            Scheme::Homa => {
                let step = tails.least_step();
                let happened = [tails.largest_change(), 0.0];
                let remark = tails.said(runs);
                measured.insert_of("homa-buffer-monotone", step, ("change", happened), remark);
            }
            Scheme::ExpressPass => {
                tails.enter("expresspass-buffer", tails.largest_change(), runs, measured);
            }
            _ => {}
        }
    }
}

/// 99th percentiles of a scheme in several experiments, the first being what the others are compared with.
struct Tails {
    seconds: Vec<f64>,
    beyond: usize,
}

fn tails(
    runs: &Runs,
    scheme: Scheme,
    of: &[Experiment],
    value: impl Fn(&Flow) -> Option<f64> + Copy,
) -> Option<Tails> {
    let all = of.iter().map(|one| Some(runs.of(*one, scheme)?.p99(value)));
    let all: Vec<(f64, usize)> = all.collect::<Option<_>>()?;
    let beyond = all.iter().map(|tail| tail.1).min().unwrap_or(0);
    Some(Tails { seconds: all.into_iter().map(|tail| tail.0).collect(), beyond })
}

impl Tails {
    /// The least ratio of one to the one before.
    fn least_step(&self) -> f64 {
        self.seconds.windows(2).map(|two| two[1] / two[0]).fold(f64::INFINITY, f64::min)
    }

    /// The largest change from the first, per cent.
    fn largest_change(&self) -> f64 {
        let changes = self.seconds.iter().map(|one| (one / self.seconds[0] - 1.0) * 100.0);
        changes.max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(f64::NAN)
    }

    fn said(&self, runs: &Runs) -> String {
        let each: Vec<String> = self.seconds.iter().map(|s| format!("{:.1}", s * 1e6)).collect();
        format!("{}: {} us", runs.extent.said(), each.join(", "))
    }

    fn enter(&self, id: &str, value: f64, runs: &Runs, measured: &mut MeasuredRows) {
        measured.insert_tail(id, value, self.beyond, self.said(runs));
    }
}

/// A line of table 1: for each of the four schemes the worst, over some experiments, of mean and 99th percentile of slowdown over
/// the median of all six schemes.
fn cells(runs: &Runs, line: &str, of: &[Experiment], measured: &mut MeasuredRows) {
    for scheme in PROACTIVE {
        let ratios = of.iter().map(|experiment| over_the_median(runs, *experiment, scheme));
        let Some(ratios) = ratios.collect::<Option<Vec<_>>>() else { continue };
        let each: Vec<String> = ratios.iter().map(|one| format!("{:.2}", one.0)).collect();
        let worst = ratios.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((ratio, beyond, mut remark)) = worst {
            if each.len() > 1 {
                remark += &format!("; by experiment {}", each.join(", "));
            }
            measured.insert_tail(format!("table1-{line}-{}", scheme.name()), ratio, beyond, remark);
        }
    }
}

/// The worse of mean and 99th percentile of slowdown over the median of six schemes, with the samples beyond the percentile.
fn over_the_median(
    runs: &Runs,
    experiment: Experiment,
    scheme: Scheme,
) -> Option<(f64, usize, String)> {
    let stats = SCHEMES.map(|scheme| {
        let one = runs.of(experiment, scheme)?;
        let (tail, beyond) = one.p99(|flow| Some(flow.slowdown));
        Some((scheme, one.mean(|flow| flow.slowdown), tail, beyond))
    });
    let stats: Vec<_> = stats.into_iter().collect::<Option<_>>()?;
    let beyond = stats.iter().map(|stat| stat.3).min()?;
    let own = stats.iter().find(|stat| stat.0 == scheme)?;
    let mean = own.1 / median(stats.iter().map(|stat| stat.1).collect());
    let tail = own.2 / median(stats.iter().map(|stat| stat.2).collect());
    let said = said(runs, experiment, runs.of(experiment, scheme)?);
    let remark = format!("slowdown {:.2} in the mean, p99 {:.2}, in {said}", own.1, own.2);
    Some((mean.max(tail), beyond, remark))
}

/// Of an even number of values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2 - 1] + values[values.len() / 2]) / 2.0
}

/// Mean FCT of NDP over the least of the five other schemes.
fn over_the_best(runs: &Runs, experiment: Experiment) -> Option<(f64, String)> {
    over_the_others(runs, experiment, Scheme::Ndp)
}

/// Mean FCT of a scheme over the least of the five others.
fn over_the_others(runs: &Runs, experiment: Experiment, of: Scheme) -> Option<(f64, String)> {
    let means = SCHEMES.map(|scheme| Some((runs.of(experiment, scheme)?.mean(|f| f.fct), scheme)));
    let means: Vec<(f64, Scheme)> = means.into_iter().collect::<Option<_>>()?;
    let own = means.iter().find(|one| one.1 == of)?.0;
    let others = means.iter().filter(|one| one.1 != of);
    let (best, scheme) = others.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let said = said(runs, experiment, runs.of(experiment, of)?);
    let remark =
        format!("{:.1} us over {:.1} us of {}; {said}", own * 1e6, best * 1e6, scheme.name());
    Some((own / best, remark))
}

/// Rows of what must not be lost, for the parts that have them.
fn drops(runs: &Runs, part: &str, of: &[Experiment], measured: &mut MeasuredRows) {
    if matches!(part, "tiny" | "trims") {
        return;
    }
    for scheme in [Scheme::ExpressPass, Scheme::Aeolus] {
        let took_part = of.iter().filter(|one| one.schemes().contains(&scheme));
        let lost: Vec<f64> =
            took_part.filter_map(|one| Some(runs.of(*one, scheme)?.dropped)).collect();
        if !lost.is_empty() {
            measured.insert(format!("drops-{}-{part}", scheme.name()), lost.iter().sum());
        }
    }
}

/// Which runs, how many flows, and how many of them did not end.
fn said(runs: &Runs, experiment: Experiment, one: &ExperimentRun) -> String {
    format!(
        "{experiment:?}, {}: {} flows, {} not done",
        runs.extent.said(),
        one.flows.len(),
        one.unfinished
    )
}
