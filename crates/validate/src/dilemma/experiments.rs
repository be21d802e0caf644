//! Which runs there are, and what one of them leaves.

use super::setup::{HEADER, HOSTS, LINE, PAYLOAD, RACK, SCHEMES, Scheme, Setup, alone};
use crate::bench::{BenchRun, Times, run_looking};
use crate::jobs::Cores;
use crate::order::Samples;
use forebay_record::{FlowRow, Quantity};
use forebay_sim::Inspection;
use forebay_units::Time;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A distribution of flow sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Workload {
    WebServer,
    CacheFollower,
    WebSearch,
    DataMining,
}

pub(super) const WORKLOADS: [Workload; 4] =
    [Workload::DataMining, Workload::WebSearch, Workload::CacheFollower, Workload::WebServer];

impl Workload {
    /// As scenarios and ids of rows have it.
    pub fn name(self) -> &'static str {
        match self {
            Workload::WebServer => "webserver",
            Workload::CacheFollower => "cachefollower",
            Workload::WebSearch => "websearch",
            Workload::DataMining => "datamining",
        }
    }

    /// As pictures have it.
    pub fn title(self) -> &'static str {
        match self {
            Workload::WebServer => "Web Server",
            Workload::CacheFollower => "Cache Follower",
            Workload::WebSearch => "Web Search",
            Workload::DataMining => "Data Mining",
        }
    }

    /// Milliseconds of arrivals in a whole run.
    fn span(self) -> f64 {
        match self {
            Workload::WebServer => 10.0,
            Workload::CacheFollower => 20.0,
            Workload::WebSearch => 30.0,
            Workload::DataMining => 60.0,
        }
    }
}

/// What is run: the experiments of `validation/pcc-dilemma/rows.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Experiment {
    /// E1 under bundle core.
    Core(Workload),
    /// E1 under bundle host.
    Host(Workload),
    /// E2.
    NonBlocking(Workload),
    /// E3.
    HalfLoad,
    /// E4, MB.
    Buffer(u32),
    /// E5.
    Incast(Incast),
    /// E6.
    Tiny,
    /// E7.
    Levels(u8),
}

/// Senders that answer at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Incast {
    /// Senders for each receiver.
    pub senders: u32,
    /// Answer of each, KB.
    pub kb: u32,
    /// Receivers at once: a random host, or so many hosts of the first rack.
    pub receivers: u32,
}

/// The points of E5.
pub(super) const INCASTS: [Incast; 5] = [
    Incast { senders: 64, kb: 64, receivers: 1 },
    Incast { senders: 159, kb: 64, receivers: 1 },
    Incast { senders: 159, kb: 500, receivers: 1 },
    Incast { senders: 128, kb: 64, receivers: 8 },
    Incast { senders: 144, kb: 64, receivers: 16 },
];

impl Incast {
    /// `[[traffic]]`: rounds follow each other, or begin together where there are several receivers.
    fn traffic(self) -> String {
        let Self { senders, kb, receivers } = self;
        let one =
            format!("[[traffic]]\nkind = \"incast\"\nfan_in = {senders}\nsize = \"{kb}KB\"\n");
        match receivers {
            1 if kb > 64 => format!("{one}rounds = 4\n"),
            1 => format!("{one}rounds = 20\n"),
            _ => (0..receivers)
                .map(|host| {
                    format!("{one}rounds = 4\nevery = \"20ms\"\nto = \"leaf[0].host[{host}]\"\n")
                })
                .collect(),
        }
    }
}

/// How much of everything is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub seeds: u64,
    /// Arrivals last so many times less.
    shorter: f64,
}

impl Extent {
    pub fn new(quick: bool) -> Self {
        match quick {
            true => Self { seeds: 1, shorter: 10.0 },
            false => Self { seeds: 2, shorter: 1.0 },
        }
    }

    /// In words.
    pub fn said(self) -> String {
        match self.shorter {
            1.0 => format!("seeds 1 to {}", self.seeds),
            by => format!("seed 1, arrivals of a {by}th of the time"),
        }
    }
}

impl Experiment {
    /// All, the longest first.
    pub fn all() -> Vec<Self> {
        use Workload::{CacheFollower, WebSearch, WebServer};
        let mut all: Vec<Self> = WORKLOADS.into_iter().map(Self::Core).collect();
        all.extend([WebSearch, CacheFollower].map(Self::NonBlocking));
        all.push(Self::HalfLoad);
        all.extend([4, 2, 1].map(Self::Levels));
        all.extend([WebSearch, CacheFollower, WebServer].map(Self::Host));
        all.extend([16, 8, 4, 2].map(Self::Buffer));
        all.extend(INCASTS.map(Self::Incast));
        all.push(Self::Tiny);
        all
    }

    /// Schemes that take part.
    pub fn schemes(self) -> Vec<Scheme> {
        let proactive = |scheme: &Scheme| !matches!(scheme, Scheme::Dcqcn | Scheme::Hpcc);
        match self {
            Self::Levels(_) => vec![Scheme::Homa],
            Self::Buffer(_) => SCHEMES.into_iter().filter(proactive).collect(),
            _ => SCHEMES.to_vec(),
        }
    }

    /// Seconds of arrivals; 0 where rounds follow each other.
    pub fn arrivals(self, extent: Extent) -> f64 {
        let ms = match self {
            Self::Core(workload) => workload.span(),
            // As many bytes as E1 has.
            Self::NonBlocking(workload) => workload.span() / 4.0,
            Self::HalfLoad => Workload::WebSearch.span() / 4.0,
            Self::Levels(_) => Workload::WebSearch.span(),
            Self::Host(_) => 2.0,
            Self::Buffer(_) => Workload::WebServer.span(),
            Self::Incast(_) => return 0.0,
            Self::Tiny => 1.0,
        };
        ms / extent.shorter * 1e-3
    }

    pub fn setup(self, scheme: Scheme, extent: Extent) -> Setup {
        let until = format!("{}us", (self.arrivals(extent) * 1e6).round());
        let poisson = |sizes: &str, load: f64, of: &str| {
            format!(
                "[[traffic]]\nkind = \"poisson\"\nsizes = \"{sizes}\"\nload = {load}\nload_ref = \"{of}\"\nuntil = \"{until}\"\n"
            )
        };
        let one_to_four = |traffic| Setup::new(scheme, traffic);
        match self {
            Self::Core(workload) => one_to_four(poisson(workload.name(), 0.8, "core")),
            Self::Host(workload) => one_to_four(poisson(workload.name(), 0.8, "host")),
            Self::NonBlocking(workload) => {
                Setup { cores: 16, ..one_to_four(poisson(workload.name(), 0.8, "host")) }
            }
            Self::HalfLoad => Setup { cores: 16, ..one_to_four(poisson("websearch", 0.5, "host")) },
            Self::Buffer(buffer) => {
                Setup { buffer, ..one_to_four(poisson("webserver", 0.8, "core")) }
            }
            Self::Levels(levels) => {
                Setup { levels, ..one_to_four(poisson("websearch", 0.8, "core")) }
            }
            Self::Tiny => one_to_four(poisson("1000B", 0.8, "core")),
            Self::Incast(incast) => one_to_four(incast.traffic()),
        }
    }

    /// The short run of E1, with samples of what hosts hold beyond gaps.
    pub fn sampled(self, scheme: Scheme) -> ExperimentRun {
        let extent = Extent::new(true);
        let mut setup = self.setup(scheme, extent);
        setup.traffic += "[output]\nqueues = { every = \"10us\", where = \"leaf[0]\" }\n";
        ExperimentRun::of(&setup, 1, self.arrivals(extent))
    }

    pub fn run(self, scheme: Scheme, seed: u64, extent: Extent) -> ExperimentRun {
        ExperimentRun::of(&self.setup(scheme, extent), seed, self.arrivals(extent))
    }
}

/// A counted flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// Bytes.
    pub size: u64,
    /// s; its age if it has not ended.
    pub fct: f64,
    pub slowdown: f64,
}

/// One run, or several pooled.
#[derive(Clone, Debug, Default)]
pub(super) struct ExperimentRun {
    pub flows: Vec<Flow>,
    pub unfinished: usize,
    /// Bytes of packets that left hosts: an answer of 46 B counts little.
    pub sent_bytes: f64,
    /// Bytes of these packets that ports dropped.
    pub dropped_bytes: f64,
    /// Packets that the payload of all flows fills, and how often such a packet was trimmed.
    pub packets: f64,
    pub trimmed: f64,
    /// Packets dropped, but for credits and unscheduled packets that a rule drops on purpose.
    pub dropped: f64,
    /// Payload of flows that have begun and not ended, at [`INSTANTS`] instants of three spans; a row for each run.
    pub backlog: Vec<Vec<f64>>,
    /// Most payload that a host held beyond gaps in its flows, where this was sampled; bytes.
    pub beyond_gaps: f64,
    /// Payload on the uplinks of racks while flows arrive, as a share of their rate; a value for each run.
    pub uplinks: Vec<f64>,
}

impl ExperimentRun {
    /// Runs a setting with flows that arrive for `arrivals` s, or in rounds if that is 0.
    pub fn of(setup: &Setup, seed: u64, arrivals: f64) -> Self {
        let end = if arrivals > 0.0 { 3.0 * arrivals } else { 1.0 };
        let at = Time::from_ps((arrivals * 1e12).round() as u64);
        let mut full = None;
        let looks = (arrivals > 0.0).then_some(at);
        let times = Times::by_flows(0.1 * arrivals, end);
        let seen = run_looking("pcc-dilemma", &setup.text(), seed, times, looks, |then| {
            full = Some(then.clone());
        });
        Self::new(&seen, full.as_ref())
    }

    fn new(seen: &BenchRun, full: Option<&Inspection>) -> Self {
        let mut one = Self { dropped: seen.lost() - seen.lost_unscheduled(), ..Self::default() };
        for port in &seen.after.ports {
            one.dropped_bytes += port.counters.dropped_bytes as f64;
            one.trimmed += port.counters.trimmed_packets as f64;
            if port.node < HOSTS {
                one.sent_bytes += port.counters.tx_bytes as f64;
            }
        }
        let gaps = seen.record.series.iter().filter(|s| s.quantity == Quantity::BeyondGaps);
        one.beyond_gaps = gaps.flat_map(|s| s.values.iter().copied()).fold(0.0, f64::max);
        for row in &seen.record.flows {
            one.packets += row.size.get().div_ceil(PAYLOAD) as f64;
            if row.start.as_secs_f64() < seen.warm() {
                continue;
            }
            one.unfinished += usize::from(row.delivered.is_none());
            let fct = row.fct().unwrap_or(seen.after.at.since(row.start)).as_secs_f64();
            let size = row.size.get();
            one.flows.push(Flow { size, fct, slowdown: fct / alone(row.src, row.dst, size) });
        }
        one.uplinks.extend(full.map(|full| uplinks(&seen.before, full)));
        one.backlog
            .extend(full.map(|full| backlog(&seen.record.flows, 3.0 * full.at.as_secs_f64())));
        one
    }

    fn add(&mut self, other: &Self) {
        self.flows.extend_from_slice(&other.flows);
        self.unfinished += other.unfinished;
        self.sent_bytes += other.sent_bytes;
        self.dropped_bytes += other.dropped_bytes;
        self.dropped += other.dropped;
        self.packets += other.packets;
        self.trimmed += other.trimmed;
        self.beyond_gaps = self.beyond_gaps.max(other.beyond_gaps);
        self.uplinks.extend_from_slice(&other.uplinks);
        self.backlog.extend_from_slice(&other.backlog);
    }

    /// Mean of something of the flows.
    pub fn mean(&self, of: impl Fn(&Flow) -> f64) -> f64 {
        self.flows.iter().map(of).sum::<f64>() / self.flows.len() as f64
    }

    /// 99th percentile of something of those flows that it is asked of, and how many lie beyond.
    pub fn p99(&self, of: impl Fn(&Flow) -> Option<f64>) -> (f64, usize) {
        let samples = Samples::new(self.flows.iter().filter_map(of).collect());
        (samples.percentile(9_900).value, samples.beyond(9_900))
    }
}

/// Instants at which a run's backlog is taken.
pub(super) const INSTANTS: usize = 60;

/// Payload of flows that have begun and not ended, at equal steps up to `end`, s.
fn backlog(flows: &[FlowRow], end: f64) -> Vec<f64> {
    let under_way = |flow: &&FlowRow, at: f64| {
        flow.start.as_secs_f64() <= at && flow.delivered.is_none_or(|done| done.as_secs_f64() > at)
    };
    let held = |step: usize| {
        let at = end * (step + 1) as f64 / INSTANTS as f64;
        let flows = flows.iter().filter(|flow| under_way(flow, at));
        flows.map(|flow| flow.size.get() as f64).sum()
    };
    (0..INSTANTS).map(held).collect()
}

/// Payload from racks to cores between two instants, over what the cables carry. Answers of 46 B count 6 of them.
fn uplinks(before: &Inspection, after: &Inspection) -> f64 {
    let racks = HOSTS..HOSTS + HOSTS / RACK;
    let up = |port: &&forebay_sim::PortState| racks.contains(&port.node) && port.peer >= racks.end;
    let sum = |of: &Inspection| {
        let ports = of.ports.iter().filter(up);
        let bytes = ports.map(|p| p.counters.tx_bytes - HEADER * p.counters.tx_packets);
        bytes.sum::<u64>() as f64
    };
    let cables = after.ports.iter().filter(up).count() as f64;
    (sum(after) - sum(before)) * 8.0 / (cables * LINE * after.at.since(before.at).as_secs_f64())
}

/// Everything that was run.
pub(super) struct Runs {
    pub extent: Extent,
    found: BTreeMap<(Experiment, Scheme), ExperimentRun>,
}

impl Runs {
    /// Runs some experiments.
    pub fn new(cores: &Cores<'_>, extent: Extent, experiments: &[Experiment]) -> Self {
        let found: Mutex<BTreeMap<(Experiment, Scheme, u64), ExperimentRun>> = Mutex::default();
        let mut calls = Vec::new();
        for experiment in experiments {
            for scheme in experiment.schemes() {
                for seed in 1..=extent.seeds {
                    let found = &found;
                    calls.push(move || {
                        let one = experiment.run(scheme, seed, extent);
                        let key = (*experiment, scheme, seed);
                        found.lock().expect("entering does not panic").insert(key, one);
                    });
                }
            }
        }
        cores.call(calls);
        let mut pooled: BTreeMap<(Experiment, Scheme), ExperimentRun> = BTreeMap::new();
        for ((experiment, scheme, _), one) in found.into_inner().expect("every worker has ended") {
            pooled.entry((experiment, scheme)).or_default().add(&one);
        }
        Self { extent, found: pooled }
    }

    /// All seeds of one experiment under one scheme; `None` if the scheme is not there.
    pub fn of(&self, experiment: Experiment, scheme: Scheme) -> Option<&ExperimentRun> {
        self.found.get(&(experiment, scheme))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_scenario::model::Scenario;

    /// The scenarios that docs/papers/pcc-dilemma.md shows cells of table 1 with are those of the suite.
    #[test]
    fn shipped_cells_are_runs_of_the_suite() {
        let load = |text: &str| -> Scenario {
            forebay_scenario::text("x", text).unwrap_or_else(|error| panic!("{error}")).scenario
        };
        let cells = [
            ("tiny-aeolus", Experiment::Tiny, Scheme::Aeolus),
            ("core-homa", Experiment::Core(Workload::WebServer), Scheme::Homa),
            ("incast-homa", Experiment::Incast(INCASTS[0]), Scheme::Homa),
            ("incast-ndp", Experiment::Incast(INCASTS[0]), Scheme::Ndp),
        ];
        for (name, experiment, scheme) in cells {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/dilemma/");
            let text = std::fs::read_to_string(format!("{folder}{name}.toml")).unwrap();
            let shipped = load(&text);
            let setup = experiment.setup(scheme, Extent::new(false)).text();
            let mut ours = load(&format!("version = 1\nstop = {{ time = \"1s\" }}\n{setup}"));
            // The suite says by itself when a run ends, and which seeds there are.
            (ours.name, ours.seeds) = (shipped.name.clone(), shipped.seeds.clone());
            ours.stop = shipped.stop;
            assert_eq!(ours, shipped, "{name}");
        }
    }
}
