//! `[output]`: what a run records beyond flows and counters, one type for the file, the checked scenario and the resolved file.

mod capture;
mod law_log;
mod why;

pub(crate) use capture::default_snap;
pub use capture::{Capture, Direction};
pub use law_log::LawLog;
pub use why::{WhyFlows, WhyOutput};

use crate::host::Host;
use crate::judge::Judge;
use crate::names::{OneOrMore, one_or_more};
use crate::plan::Plan;
use crate::stop::Stop;
use forebay_host::memory::STEP;
use forebay_units::{Bytes, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time series, captures and logs beyond flows and counters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct Output {
    /// Samples of queue lengths. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<QueueSamples>,
    /// Samples of senders: window, bytes in flight, smoothed round trip, rate. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<FlowSamples>,
    /// Samples of paths to memory: occupancy, bandwidth by owner, drops, levels. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemorySamples>,
    /// Laws whose events and actions are logged; true: the laws of every host that has one. Default: none.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "law_log::all_or_some")]
    #[schemars(with = "Option<law_log::AllOrSome>")]
    pub law_log: Option<LawLog>,
    /// Flows whose completion times are explained, part by part, in `why.csv` and the report (docs/why.md); each seed then runs twice. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<WhyOutput>,
    /// Whether each operation of collectives has a row in steps.csv: when it began, when it was over, and what it waited for last. Default: false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub steps: bool,
    /// Files in which tables are left. Default: "csv".
    #[serde(skip_serializing_if = "TableFormat::is_csv")]
    pub format: TableFormat,
    /// Flows that arrived before this are left out of the statistics. Default: 0s.
    pub warmup: Time,
    /// Ports whose frames are written as pcapng files, for Wireshark. A port may be in one entry only.
    #[serde(rename = "capture", skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<Capture>,
}

/// Files in which tables are left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TableFormat {
    /// CSV alone.
    #[default]
    Csv,
    /// CSV and Parquet files: NAME.parquet, written when the run is over, for each table with rows.
    Parquet,
    /// CSV and Arrow IPC (Feather) files: NAME.arrow, written when the run is over, for each table with rows.
    Arrow,
}

impl TableFormat {
    fn is_csv(&self) -> bool {
        *self == Self::Csv
    }
}

/// Samples of queue lengths.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct QueueSamples {
    /// Interval between samples.
    pub every: Span,
    /// Nodes whose ports are sampled: names, or patterns with `*` as an index. Default: every switch.
    #[serde(rename = "where", default, deserialize_with = "one_or_more")]
    #[schemars(with = "Option<OneOrMore>")]
    pub nodes: Vec<String>,
}

/// Samples of senders.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct FlowSamples {
    /// Interval between samples.
    pub every: Span,
    /// Hosts whose flows are sampled: names, or patterns with `*` as an index. Default: every host.
    #[serde(rename = "where", default, deserialize_with = "one_or_more")]
    #[schemars(with = "Option<OneOrMore>")]
    pub hosts: Vec<String>,
    /// How many flows at most, in order of the flow table. Default: 8, what a figure can show apart.
    #[serde(default = "most_sampled")]
    #[schemars(range(min = 1))]
    pub most: u32,
}

/// Samples of paths to memory.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct MemorySamples {
    /// Interval between samples; 100ns at least, the step of the model.
    pub every: Span,
    /// Hosts with `host.memory` that are sampled: names, or patterns with `*` as an index. Default: every one.
    #[serde(rename = "where", default, deserialize_with = "one_or_more")]
    #[schemars(with = "Option<OneOrMore>")]
    pub hosts: Vec<String>,
}

impl MemorySamples {
    /// The interval at which the host with this name is sampled, if it is.
    pub fn every_at(&self, name: &str) -> Option<Span> {
        let meant = self.hosts.iter().any(|pattern| crate::plan::matches(pattern, name));
        meant.then_some(self.every)
    }
}

fn most_sampled() -> u32 {
    8
}

impl Output {
    /// Says what cannot be recorded, and fills in who is meant where nothing says so.
    pub(crate) fn check(
        &mut self,
        judge: &mut Judge<'_>,
        (stop, default_snap): (Stop, Bytes),
        plan: &Plan,
        (host, grants): (&Host, bool),
    ) {
        if self.warmup >= stop.time {
            let text = format!("leaves nothing of a run of {}; write less", stop.time);
            judge.wrong("output.warmup", text);
        }
        if let Some(queues) = &mut self.queues {
            judge.span("output.queues.every", queues.every);
            let path = "output.queues.where";
            judge.usual(path, &mut queues.nodes, plan.names[plan.hosts..].to_vec());
            for (i, name) in queues.nodes.iter().enumerate() {
                if plan.nodes_like(name).next().is_none() {
                    let path = judge.one_or_more(path, i);
                    judge.no_such_node(&path, name, plan, false);
                }
            }
        }
        if let Some(flows) = &mut self.flows {
            flows.check(judge, plan);
        }
        if let Some(memory) = &mut self.memory {
            memory.check(judge, plan, host);
        }
        if let Some(log) = &mut self.law_log {
            log.check(judge, plan, (host, grants));
        }
        if let Some(why) = &self.why {
            why.check(judge);
        }
        capture::check(&mut self.captures, judge, (stop, default_snap), plan);
    }
}

impl FlowSamples {
    fn check(&mut self, judge: &mut Judge<'_>, plan: &Plan) {
        judge.span("output.flows.every", self.every);
        let path = "output.flows.where";
        judge.usual(path, &mut self.hosts, plan.names[..plan.hosts].to_vec());
        for (i, name) in self.hosts.iter().enumerate() {
            if !plan.nodes_like(name).any(|node| node < plan.hosts) {
                let path = judge.one_or_more(path, i);
                judge.no_such_node(&path, name, plan, true);
            }
        }
    }
}

impl MemorySamples {
    fn check(&mut self, judge: &mut Judge<'_>, plan: &Plan, host: &Host) {
        if self.every < STEP {
            let text = format!("is shorter than a step of the model; write at least \"{STEP}\"");
            judge.wrong("output.memory.every", text);
        }
        let names = &plan.names[..plan.hosts];
        let modelled = |node: usize| host.memory_at(&names[node]).is_some();
        let all = (0..plan.hosts).filter(|n| modelled(*n)).map(|n| names[n].clone());
        judge.usual("output.memory.where", &mut self.hosts, all.collect());
        if self.hosts.is_empty() {
            let text = "samples nothing: no host's path to memory is modelled; write [host.memory] as well";
            judge.say("output.memory", text);
        }
        for (i, name) in self.hosts.iter().enumerate() {
            let path = judge.one_or_more("output.memory.where", i);
            let mut meant = plan.nodes_like(name).filter(|node| *node < plan.hosts).peekable();
            if meant.peek().is_none() {
                judge.no_such_node(&path, name, plan, true);
            } else if !meant.any(modelled) {
                let text = "samples nothing: its path to memory is not modelled; write [host.memory] as well";
                judge.say(&path, text);
            }
        }
    }
}
