//! The metrics that runs are compared by, and what a difference is worth.

use super::{OfSeed, Side};
use crate::metrics::{self, Metric, traffic_entry};
use crate::pairs::{MOST_SEEDS, PairVerdict, PairedValues, paired};
use forebay_record::{Estimate, FlowClass, MIN_SEEDS_FOR_CI, Summary};
use forebay_units::human;

/// Which way a metric gets better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Delays, drops.
    Lower,
    /// Throughput, fairness.
    Higher,
    /// Neither: it explains others.
    Neither,
}

impl Direction {
    /// Word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::Neither => "neither",
        }
    }
}

/// What a difference is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// No seed differs.
    Same,
    /// The interval leaves zero out.
    Better,
    /// Likewise.
    Worse,
    /// Likewise, of a metric that is better neither way.
    Higher,
    /// Likewise.
    Lower,
    /// The interval has zero in it. So many seeds would be enough if the difference is what it seems; `None`: more than [`MOST_SEEDS`].
    TooFew(Option<usize>),
    /// Of too few seeds; so many.
    NoInterval(usize),
    /// The run that looks better leaves out flows or RPCs that had not finished.
    Unfinished,
}

impl Word {
    /// For tables.
    pub fn text(self) -> String {
        let fixed = match self {
            Self::TooFew(Some(n)) => return format!("needs about {n} seeds"),
            Self::TooFew(None) => {
                return format!("needs over {} seeds", human::count(MOST_SEEDS as u64));
            }
            Self::Same => "same",
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::NoInterval(0) => "no common seed",
            Self::NoInterval(1) => "one seed: no interval",
            Self::NoInterval(_) => "two seeds: no interval",
            Self::Unfinished => "unfinished left out",
        };
        fixed.into()
    }

    /// In JSON, one of a fixed set.
    pub fn key(self) -> String {
        match self {
            Self::TooFew(_) => "too few seeds".into(),
            other => other.text(),
        }
    }

    /// Whether the seeds are enough to call it a difference.
    pub fn is_told(self) -> bool {
        matches!(self, Self::Better | Self::Worse | Self::Higher | Self::Lower)
    }
}

/// A number of a run against that of the first run, over the seeds that both have.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedDifference {
    /// Seeds.
    pub pairs: usize,
    /// Mean of the differences.
    pub difference: f64,
    /// Mean of the differences as a share of the mean of the first run; `None` where that is zero.
    pub share: Option<f64>,
    /// 95 % confidence interval of the share, by Student's t on the logarithm of the ratio of both means. Never below -1. `None` where
    /// one of the means is zero.
    pub ci95_share: Option<[f64; 2]>,
    /// 95 % confidence interval of the difference. Where there is no ratio: of the mean of the differences, and no end takes the other run below zero.
    pub ci95: Option<[f64; 2]>,
    /// Logarithm of the ratio over its standard deviation (as Cohen's d of pairs); where there is no ratio the mean of the differences over
    /// theirs. `None` of too few seeds, or where they do not vary.
    pub effect: Option<f64>,
    /// What it is worth.
    pub word: Word,
}

/// A number of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Across seeds.
    pub estimate: Estimate,
    /// Whether it leaves out more than 1 % of the flows or RPCs, which had not finished.
    pub censored: bool,
    /// Against the first run; `None` for that one, and where either has no value.
    pub against: Option<PairedDifference>,
    /// Whether it is the best, or cannot be told from the best.
    pub best: bool,
}

/// A metric and what it came to in each run.
pub struct MetricValues {
    /// As in `forebay list metrics`, with the size class or the traffic entry in brackets where it is of one:
    /// `flows.slowdown.p99[10-100 KB]`.
    pub name: String,
    /// Heading of the rows around it.
    pub group: &'static str,
    /// For people.
    pub title: String,
    /// Which way it gets better.
    pub better: Direction,
    /// How its values are written.
    pub write: fn(f64) -> String,
    /// One for each run.
    pub cells: Vec<Cell>,
}

impl MetricValues {
    /// The runs that have a value, best first.
    pub fn ranked(&self) -> Vec<usize> {
        let mean = |i: usize| self.cells[i].estimate.mean;
        let mut all: Vec<usize> = (0..self.cells.len()).filter(|i| mean(*i).is_some()).collect();
        all.sort_by(|a, b| mean(*a).unwrap_or(0.0).total_cmp(&mean(*b).unwrap_or(0.0)));
        if self.better == Higher {
            all.reverse();
        }
        all
    }

    /// Whether it is zero in all runs.
    pub fn is_zero(&self) -> bool {
        self.cells.iter().all(|cell| cell.estimate.mean.is_none_or(|mean| mean == 0.0))
    }
}

/// Metrics that a headline can be about, the first that all runs have.
pub const HEADLINES: [&str; 5] = [
    "collective.completion_us.mean",
    "flows.slowdown.p99",
    "rpc.latency_us.p99",
    "memory.goodput_gbps",
    "goodput_per_receiver_gbps",
];

const FLOWS: &str = "Flow completion";
const RPCS: &str = "RPCs";
const COLLECTIVES: &str = "Collectives";
const NETWORK: &str = "Network";
const HOSTS: &str = "Receiving hosts";

type Row = (&'static str, &'static str, &'static str, Direction, fn(f64) -> String);

/// Before which row fairness stands.
const FAIRNESS_BEFORE: &str = "carried_load";

/// After which row the size classes stand.
const CLASSES_AFTER: &str = "flows.slowdown.mean";

/// After which row the collectives of each entry stand.
const ENTRIES_AFTER: &str = "collective.completion_us.mean";

use Direction::{Higher, Lower, Neither};

const ROWS: [Row; 39] = [
    (COLLECTIVES, "collective.completion_us.mean", "completion time", Lower, human::micros),
    (COLLECTIVES, "collective.completion_us.p99", "p99 completion time", Lower, human::micros),
    (COLLECTIVES, "collective.busbw_gbps", "bus bandwidth", Higher, human::gbps),
    (FLOWS, "flows.slowdown.p99", "p99 slowdown", Lower, human::sig3),
    (FLOWS, "flows.slowdown.p50", "p50 slowdown", Lower, human::sig3),
    (FLOWS, "flows.slowdown.mean", "mean slowdown", Lower, human::sig3),
    (FLOWS, "flows.fct_us.p99", "p99 FCT", Lower, human::micros),
    (FLOWS, "flows.fct_us.p50", "p50 FCT", Lower, human::micros),
    (FLOWS, "flows.not_finished_share", "flows not finished", Lower, human::percent),
    (FLOWS, "incast.completion_us.p99", "p99 incast completion", Lower, human::micros),
    (FLOWS, "incast.completion_us.p50", "p50 incast completion", Lower, human::micros),
    (RPCS, "rpc.latency_us.p99", "p99 latency", Lower, human::micros),
    (RPCS, "rpc.latency_us.p999", "p99.9 latency", Lower, human::micros),
    (RPCS, "rpc.latency_us.p50", "p50 latency", Lower, human::micros),
    (RPCS, "rpc.rpcs_per_s", "RPCs per second", Higher, human::si),
    (RPCS, "rpc.jain_fairness", "fairness of connections (Jain)", Higher, human::sig3),
    (NETWORK, "goodput_per_receiver_gbps", "goodput per receiver", Higher, human::gbps),
    (NETWORK, "carried_load", "load carried", Higher, human::percent),
    (NETWORK, "max_queue_bytes", "largest queue", Lower, human::bytes_f),
    (NETWORK, "drop_rate", "packets dropped", Lower, human::percent),
    (NETWORK, "mark_rate", "packets marked", Neither, human::percent),
    (NETWORK, "trims", "packets trimmed", Neither, human::si),
    (NETWORK, "credits_wasted", "credits wasted", Lower, human::si),
    (NETWORK, "retransmit_rate", "segments sent again", Lower, human::percent),
    (NETWORK, "timeouts", "timeouts", Lower, human::si),
    (NETWORK, "loss_rate", "packets lost to faults", Neither, human::percent),
    (NETWORK, "paused_share", "senders paused", Lower, human::percent),
    (NETWORK, "paused_us", "ports paused, all together", Lower, human::micros),
    (NETWORK, "lossless_drops", "drops in spite of pauses", Lower, human::si),
    (HOSTS, "memory.goodput_gbps", "goodput to applications", Higher, human::gbps),
    (HOSTS, "memory.nic_drop_share", "packets dropped by NICs", Lower, human::percent),
    (
        HOSTS,
        "memory.nic_backlog_share",
        "time with packets in the NIC buffer",
        Lower,
        human::percent,
    ),
    (HOSTS, "memory.iio_occupancy", "lines in IIO slots", Neither, human::sig3),
    (HOSTS, "memory.write_wait_ns", "wait of writes for memory, ns", Lower, human::sig3),
    (
        HOSTS,
        "memory.network_gigabytes_per_s",
        "memory traffic of the network, GB/s",
        Neither,
        human::sig3,
    ),
    (
        HOSTS,
        "memory.antagonist_gigabytes_per_s",
        "memory traffic of antagonists, GB/s",
        Higher,
        human::sig3,
    ),
    (HOSTS, "memory.mean_level", "throttle level", Neither, human::sig3),
    (HOSTS, "memory.reader_cores", "cores that read", Neither, human::sig3),
    (HOSTS, "memory.cache_miss_share", "reads that missed the cache", Lower, human::percent),
];

/// Every metric that some run has a value for.
pub(super) fn measured(sides: &[Side]) -> Vec<MetricValues> {
    let mut all = Vec::new();
    let metrics = metrics::all();
    for (group, name, title, better, write) in ROWS {
        let metric =
            metrics.iter().find(|one| one.name == name).expect("it is one, as a test holds");
        let title = title.to_string();
        let read = |one: &OfSeed| value(metric, &one.summary);
        all.push(MetricValues {
            name: name.into(),
            group,
            title,
            better,
            write,
            cells: cells(sides, better, read),
        });
        if name == CLASSES_AFTER {
            all.extend(size_classes(sides));
        }
        if name == ENTRIES_AFTER {
            all.extend(entries(sides));
        }
    }
    let evenly = all.iter().position(|one: &MetricValues| one.name == FAIRNESS_BEFORE).unwrap_or(0);
    all.insert(evenly, fairness(sides));
    all.retain(|one| one.cells.iter().any(|cell| cell.estimate.mean.is_some()));
    all
}

/// How evenly endless flows share, which no summary has.
fn fairness(sides: &[Side]) -> MetricValues {
    MetricValues {
        name: "flows.jain_fairness".into(),
        group: NETWORK,
        title: "fairness of flows (Jain)".into(),
        better: Higher,
        write: human::sig3,
        cells: cells(sides, Higher, |one| Some((one.fairness?, false))),
    }
}

fn value(metric: &Metric, summary: &Summary) -> Option<(f64, bool)> {
    let value = metric.value(summary);
    Some((value.mean?, value.censored))
}

/// The 99th percentile of each size class, where there are several.
fn size_classes(sides: &[Side]) -> Vec<MetricValues> {
    let mut names: Vec<(Option<u64>, String)> = Vec::new();
    for class in sides.iter().flat_map(|side| &side.summary.size_classes) {
        if names.iter().all(|(_, name)| *name != class.name) {
            names.push((class.above_bytes, class.name.clone()));
        }
    }
    names.sort();
    if names.len() < 2 {
        return Vec::new();
    }
    let one = |(_, name): (_, String)| {
        let of = |class: &&FlowClass| class.name == name;
        let read = |one: &OfSeed| {
            let class = one.summary.size_classes.iter().find(of)?;
            Some((class.slowdown.p99.mean?, class.censored))
        };
        MetricValues {
            cells: cells(sides, Lower, read),
            group: FLOWS,
            title: format!("p99 slowdown, {name}"),
            name: format!("flows.slowdown.p99[{name}]"),
            better: Lower,
            write: human::sig3,
        }
    };
    names.into_iter().map(one).collect()
}

/// The mean completion time of the collectives of each traffic entry, where several make some.
fn entries(sides: &[Side]) -> Vec<MetricValues> {
    let of = |summary: &Summary, name: &str| {
        let all = summary.collective.iter().flat_map(|all| &all.traffic_classes);
        let found = all.into_iter().find(|class| traffic_entry(&class.name) == name)?;
        Some((found.completion_us.mean.mean?, found.censored))
    };
    let mut names: Vec<&str> = Vec::new();
    let classes = sides.iter().filter_map(|side| side.summary.collective.as_ref());
    for class in classes.flat_map(|all| &all.traffic_classes) {
        if !names.contains(&traffic_entry(&class.name)) {
            names.push(traffic_entry(&class.name));
        }
    }
    let one = |name: &str| MetricValues {
        cells: cells(sides, Lower, |one| of(&one.summary, name)),
        group: COLLECTIVES,
        title: format!("completion time, {name}"),
        name: format!("{ENTRIES_AFTER}[{name}]"),
        better: Lower,
        write: human::micros,
    };
    names.into_iter().map(one).collect()
}

type BySeed = Vec<(u64, f64)>;

fn cells(
    sides: &[Side],
    better: Direction,
    read: impl Fn(&OfSeed) -> Option<(f64, bool)>,
) -> Vec<Cell> {
    let mut all: Vec<(BySeed, Cell)> = Vec::new();
    for side in sides {
        let of: Vec<(u64, Option<(f64, bool)>)> =
            side.by_seed.iter().map(|one| (one.seed, read(one))).collect();
        let by_seed: BySeed =
            of.iter().filter_map(|(seed, v)| Some((*seed, v.as_ref()?.0))).collect();
        let censored = of.iter().any(|(_, v)| v.is_some_and(|(_, censored)| censored));
        let estimate = Estimate::new(of.into_iter().map(|(_, v)| v.map(|(v, _)| v)).collect());
        let against = all
            .first()
            .and_then(|(first, cell)| against(first, &by_seed, better, [cell.censored, censored]));
        all.push((by_seed, Cell { estimate, censored, against, best: false }));
    }
    best(&mut all, better);
    all.into_iter().map(|(_, cell)| cell).collect()
}

/// Marks the best, and those that cannot be told from it; none where too few seeds say so, or where all are alike.
fn best(all: &mut [(BySeed, Cell)], better: Direction) {
    if better == Neither
        || all.iter().any(|(_, cell)| cell.censored || cell.estimate.mean.is_none())
    {
        return;
    }
    let sign = if better == Lower { 1.0 } else { -1.0 };
    let mean = |(_, cell): &(BySeed, Cell)| cell.estimate.mean.map_or(f64::MAX, |mean| mean * sign);
    let Some(least) = all.iter().min_by(|a, b| mean(a).total_cmp(&mean(b))).map(|of| of.0.clone())
    else {
        return;
    };
    let alike: Vec<bool> = all
        .iter()
        .map(|(by_seed, _)| {
            let word = against(&least, by_seed, better, [false; 2]).map(|against| against.word);
            matches!(word, Some(Word::Same | Word::TooFew(_)))
        })
        .collect();
    if alike.iter().all(|alike| *alike) || least.len() < MIN_SEEDS_FOR_CI {
        return;
    }
    all.iter_mut().zip(alike).for_each(|((_, cell), alike)| cell.best = alike);
}

/// Compares the values of two runs over the seeds that both have; `None` where either has no value at all. `censored`: of the first,
/// and of the other.
fn against(
    first: &BySeed,
    other: &BySeed,
    better: Direction,
    censored: [bool; 2],
) -> Option<PairedDifference> {
    let at = |seed: u64| first.iter().find(|(s, _)| *s == seed).map(|(_, value)| *value);
    let pairs: Vec<(f64, f64)> =
        other.iter().filter_map(|(seed, value)| Some((at(*seed)?, *value))).collect();
    let found = match paired(&pairs) {
        Some(found) => found,
        None => {
            let mean = |of: &BySeed| Estimate::new(of.iter().map(|(_, v)| Some(*v)).collect()).mean;
            let (base, other) = (mean(first)?, mean(other)?);
            let (ci95, ci95_share, effect, says) = (None, None, None, PairVerdict::NoInterval);
            PairedValues { base, difference: other - base, ci95, ci95_share, effect, says }
        }
    };
    let PairedValues { base, difference, ci95_share, ci95, effect, says } = found;
    let word = match says {
        PairVerdict::Same => Word::Same,
        PairVerdict::NoInterval => Word::NoInterval(pairs.len()),
        PairVerdict::TooFew(needed) => Word::TooFew(needed),
        PairVerdict::Differ => match (better, difference > 0.0) {
            (Neither, true) => Word::Higher,
            (Neither, false) => Word::Lower,
            (Lower, true) | (Higher, false) if censored[0] => Word::Unfinished,
            (Lower, false) | (Higher, true) if censored[1] => Word::Unfinished,
            (Lower, true) | (Higher, false) => Word::Worse,
            (Lower, false) | (Higher, true) => Word::Better,
        },
    };
    let share = (base != 0.0).then(|| difference / base.abs());
    Some(PairedDifference { pairs: pairs.len(), difference, share, ci95_share, ci95, effect, word })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeds(values: &[f64]) -> BySeed {
        (1..).zip(values.iter().copied()).collect()
    }

    #[test]
    fn every_row_is_a_metric() {
        for (_, name, ..) in ROWS {
            assert!(metrics::by_name(name).is_some(), "{name}");
        }
        assert!(HEADLINES.iter().all(|name| ROWS.iter().any(|row| row.1 == *name)));
    }

    #[test]
    fn words_know_which_way_is_better() {
        let (low, high) = (seeds(&[1.0, 1.1, 0.9]), seeds(&[5.0, 5.2, 4.9]));
        let word = |a, b, better| against(a, b, better, [false; 2]).unwrap().word;
        assert_eq!(word(&low, &high, Lower), Word::Worse);
        assert_eq!(word(&low, &high, Higher), Word::Better);
        assert_eq!(word(&high, &low, Lower), Word::Better);
        assert_eq!(word(&low, &high, Neither), Word::Higher);
        assert_eq!(word(&low, &low, Lower), Word::Same);
    }

    #[test]
    fn completion_times_are_compared_entry_by_entry() {
        use forebay_record::{CollectiveRow, RunRecord, RunStart};
        use forebay_units::{Bytes, Span, Time};
        let row = |traffic: u16, us: u64| CollectiveRow {
            traffic,
            ranks: 2,
            bytes: Bytes::new(1_000),
            end: Some(Time::ZERO + Span::from_us(us)),
            ..CollectiveRow::default()
        };
        let side = |name: &str, us: [u64; 2]| {
            let about = RunStart {
                seeds: vec![1],
                traffic: vec!["all-reduce".into(), "broadcast".into()],
                ..RunStart::default()
            };
            let collectives = vec![row(0, us[0]), row(1, us[1])];
            let run = RunRecord { seed: 1, collectives, ..RunRecord::default() };
            Side::new(name.into(), String::new(), about, vec![run])
        };
        let all = measured(&[side("a", [10, 20]), side("b", [10, 40])]);
        let means = |name: &str| -> Vec<Option<f64>> {
            let cells = all.iter().filter(|one| one.name == name).flat_map(|one| &one.cells);
            cells.map(|cell| cell.estimate.mean).collect()
        };
        assert_eq!(means("collective.completion_us.mean"), [Some(15.0), Some(25.0)]);
        assert_eq!(means("collective.completion_us.mean[traffic[0]]"), [Some(10.0), Some(10.0)]);
        assert_eq!(means("collective.completion_us.mean[traffic[1]]"), [Some(20.0), Some(40.0)]);
    }

    #[test]
    fn too_few_seeds_have_no_interval_and_no_verdict() {
        for (n, text) in [(1, "one seed: no interval"), (2, "two seeds: no interval")] {
            let (first, other) = (seeds(&[1.0, 2.0][..n]), seeds(&[5.0, 7.0][..n]));
            let a = against(&first, &other, Lower, [false; 2]).unwrap();
            assert_eq!((a.ci95, a.effect, a.word.text()), (None, None, text.to_string()));
        }
        let apart = against(&vec![(1, 2.0)], &vec![(2, 3.0)], Lower, [false; 2]).unwrap();
        assert_eq!((apart.pairs, apart.difference), (0, 1.0));
        assert_eq!(apart.word.text(), "no common seed");
    }

    #[test]
    fn what_leaves_flows_out_is_never_called_better() {
        let (low, high) = (seeds(&[1.0, 1.1, 0.9]), seeds(&[5.0, 5.2, 4.9]));
        let word = |a, b, censored| against(a, b, Lower, censored).unwrap().word;
        assert_eq!(word(&high, &low, [false, true]), Word::Unfinished);
        assert_eq!(word(&low, &high, [true, false]), Word::Unfinished);
        // It leaves flows out, and is worse all the same.
        assert_eq!(word(&low, &high, [false, true]), Word::Worse);
    }
}
