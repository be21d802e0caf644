//! From the file as written to the checked model: defaults, ranges, and what must fit together.
//!
//! Invariant: a `Scenario` made here can be laid out and run; whatever cannot is a sentence.

mod capture;
mod fabric;
mod faults;
mod hierarchical;
mod host;
mod memory;
mod paths;
mod pause;
mod switch;

use crate::check::Finding;
use crate::model::{FlowSamples, Host, Output, Scenario, Stop, Topology};
use crate::plan::Plan;
use crate::problem::or_list;
use crate::raw;
use crate::traffic::{self, Around};
use crate::transport;
use crate::tree::{Document, did_you_mean, shorten};
use forebay_laws::flow::{FlowParams, LAWS};
use forebay_laws::params::{LawInfo, ParamError};
use forebay_units::{Bytes, Span, Time};

/// Longest run, delay or interval that a scenario may ask for: far beyond any use, far below 64 bits.
const DAY: Span = Span::from_secs(86_400);

/// Grain of the early stop. Our choice: well below any flow's life, well above a packet's.
const GRAIN: Span = Span::from_us(1);
/// Flows sampled unless a number is given: what a figure can show apart.
const MOST_SAMPLED: i64 = 8;
/// Reads a file named in a scenario. The error is the end of a sentence, `is missing ...`.
pub(crate) type ReadFile<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// Collects sentences while the model is made.
pub(crate) struct Judge<'a> {
    pub document: &'a Document<'a>,
    pub read_file: &'a ReadFile<'a>,
    pub findings: Vec<Finding>,
}

/// The model of a document, if nothing is wrong with it.
pub(crate) fn convert(file: &raw::File, stem: &str, judge: &mut Judge<'_>) -> Option<Scenario> {
    let seeds = judge.seeds(file.seeds.as_ref());
    let stop = judge.stop(&file.stop);
    let waits = host::delayed_ack(file.host.as_ref());
    let mut transport = file.transport.clone();
    transport.check(judge, "transport", waits);
    let mut transports: Vec<_> = file.transports.clone().into_iter().collect();
    for (name, one) in &mut transports {
        one.check(judge, &transport::path(name), waits);
    }
    let before = judge.findings.len();
    file.fabric.shape.check(judge);
    let fits = judge.findings.len() == before;
    let fabric = judge.fabric(&file.fabric, fits, &transport);
    if !judge.findings.is_empty() {
        return None;
    }
    transport.check_classes(judge, "transport", fabric.switch.classes);
    for (name, one) in &transports {
        one.check_classes(judge, &transport::path(name), fabric.switch.classes);
    }
    let plan = Plan::of(&fabric);
    judge.overrides(&fabric, &plan);
    if matches!(fabric.topology, Topology::Graph(_)) {
        crate::topology::check_reachable(judge, &plan);
    }
    let paths = transports.iter().map(|(name, _)| transport::path(name));
    let mut paths = paths.chain(["transport".into()]);
    let said = paths.any(|path| judge.given(&format!("{path}.delayed_ack")));
    let mss = transports.iter().map(|(_, one)| one.mss).fold(transport.mss, Bytes::max);
    let host = judge.hosts_of(file.host.as_ref(), (mss, said), &plan);
    let faults = judge.faults(&file.fault, stop, &plan);
    let mut traffic = file.traffic.clone();
    let around = Around::new((stop, fabric.switch.classes), (&transport, &transports), &plan);
    traffic::check(&mut traffic, judge, &around);
    let all = transports.iter().map(|(_, one)| one).chain([&transport]);
    let snap = capture::default_snap(all);
    let output = judge.output(file.output.as_ref(), (stop, snap), &plan, &host);
    if fabric.hierarchical.is_some() && !output.captures.is_empty() {
        judge.say(
            "output.capture[0]",
            "cannot write credits, which no protocol has; leave it out with fabric.switch.hierarchical",
        );
    }
    let mut scenario = Scenario {
        name: file.name.clone().unwrap_or_else(|| stem.into()),
        seeds,
        stop,
        fabric,
        host,
        transport,
        transports,
        traffic,
        faults,
        output,
    };
    judge.pause(&file.fabric, &scenario, &plan);
    judge.hierarchical_alone(&scenario);
    if judge.findings.is_empty() {
        traffic::check_forecast(judge, &scenario, &plan);
    }
    if let Some(paths) = file.fabric.paths.as_ref().filter(|_| judge.findings.is_empty()) {
        scenario.fabric.paths = judge.paths(paths, &scenario, &plan);
    }
    judge.findings.is_empty().then_some(scenario)
}

impl Judge<'_> {
    /// Whether the key at `path` was written.
    pub fn given(&self, path: &str) -> bool {
        self.document.shown(path).is_some()
    }

    /// Gives a key that was not written at `path` its default.
    pub fn usual<T>(&self, path: &str, key: &mut T, default: T) {
        if !self.given(path) {
            *key = default;
        }
    }

    /// Notes a sentence about the key at `path`.
    pub fn say(&mut self, path: &str, text: impl Into<String>) {
        self.findings.push((self.document.find(path), path.into(), text.into()));
    }

    /// Notes a sentence that begins with the value at `path`, as it was written.
    pub fn wrong(&mut self, path: &str, text: impl std::fmt::Display) {
        let value = self.document.shown(path).map(|value| format!("{value} ")).unwrap_or_default();
        self.say(path, format!("{value}{text}"));
    }

    fn seeds(&mut self, seeds: Option<&raw::Seeds>) -> Vec<u64> {
        let seeds: Vec<u64> = match seeds {
            None => vec![1],
            Some(raw::Seeds::Count(n)) => (1..=*n as u64).collect(),
            Some(raw::Seeds::List(list)) => list.iter().map(|s| *s as u64).collect(),
        };
        if seeds.is_empty() {
            self.say("seeds", "is empty; write at least one seed, for instance seeds = [1]");
        }
        let mut seen = std::collections::BTreeSet::new();
        for (i, seed) in seeds.iter().enumerate() {
            if !seen.insert(seed) {
                self.wrong(
                    &format!("seeds[{i}]"),
                    "stands twice; equal seeds give equal results, so write each once",
                );
            }
        }
        seeds
    }

    fn stop(&mut self, stop: &raw::Stop) -> Stop {
        let grain = stop.grain.map_or(GRAIN, |g| g.0);
        let time = stop.time.0;
        self.span("stop.time", Span::from_ps(time.as_ps()));
        self.span("stop.grain", grain);
        if time > Time::ZERO && grain > time.since(Time::ZERO) {
            self.wrong(
                "stop.grain",
                format!("is longer than stop.time, {time}; write a part of it"),
            );
        }
        Stop {
            time,
            flows: stop.flows.unwrap_or(raw::StopFlows::All) == raw::StopFlows::All,
            grain,
        }
    }

    /// A span must be above zero and below a day.
    pub fn span(&mut self, path: &str, span: Span) {
        if span == Span::ZERO {
            self.wrong(path, "does nothing; write a time above 0, for instance \"10us\"");
        }
        self.short(path, span);
    }

    pub fn short(&mut self, path: &str, span: Span) {
        if span > DAY {
            self.wrong(path, "is more than a day of virtual time; write at most \"86400s\"");
        }
    }

    fn share(&mut self, path: &str, share: f64) {
        if !(0.0..=1.0).contains(&share) {
            self.wrong(path, "is not a probability; write a number from 0 to 1");
        }
    }

    /// The law of this name with its published defaults, or a sentence.
    pub fn law(&mut self, path: &str, law: &str) -> Option<FlowParams> {
        let known = FlowParams::new(law).ok();
        if known.is_none() {
            let names = || LAWS.iter().map(|law| law.name);
            let close = did_you_mean(law, names());
            let (law, names) = (shorten(law), or_list(names()));
            let text = if forebay_laws::host::LAWS.iter().any(|host| host.name == law) {
                format!("{law:?} is a law for host.memory.control; write {names} for flows")
            } else if forebay_laws::group::LAWS.iter().any(|group| group.name == law) {
                format!("{law:?} is a law for fabric.switch.hierarchical; write {names} for flows")
            } else {
                format!("no law is called {law:?}; write {names}{close}")
            };
            self.say(path, text);
        }
        known
    }

    /// Sets parameters in the law, each one that it takes.
    pub fn params(
        &mut self,
        place: &str,
        law: Option<&mut FlowParams>,
        params: &[(String, String)],
    ) {
        if let Some(law) = law {
            self.set_params(place, law.info(), params, |key, text| law.set(key, text));
        }
    }

    /// Sets each parameter, and says which the law does not take.
    fn set_params(
        &mut self,
        place: &str,
        law: &LawInfo,
        params: &[(String, String)],
        mut set: impl FnMut(&str, &str) -> Result<(), ParamError>,
    ) {
        for (key, text) in params {
            let mut path = String::from(place);
            crate::tree::push_key(&mut path, key);
            match set(key, text) {
                Ok(()) => {}
                Err(e @ ParamError::BadValue { .. }) => {
                    self.say(&path, format!("{:?} does not fit; {e}", shorten(text)));
                }
                Err(e) => {
                    let close = did_you_mean(key, law.params.iter().map(|p| p.name));
                    self.say(&path, format!("{e}{close}"));
                }
            }
        }
    }

    fn output(
        &mut self,
        output: Option<&raw::Output>,
        (stop, default_snap): (Stop, Bytes),
        plan: &Plan,
        host: &Host,
    ) -> Output {
        let warmup = output.and_then(|o| o.warmup).map_or(Time::ZERO, |w| w.0);
        if warmup >= stop.time {
            self.wrong(
                "output.warmup",
                format!("leaves nothing of a run of {}; write less", stop.time),
            );
        }
        let flows = output.and_then(|o| o.flows.as_ref()).map(|f| self.flow_samples(f, plan));
        let memory = output.and_then(|o| o.memory.as_ref());
        let memory = memory.map(|m| self.memory_samples(m, plan, host));
        let captures =
            output.map_or(Vec::new(), |o| self.captures(&o.capture, (stop, default_snap), plan));
        let Some(queues) = output.and_then(|o| o.queues.as_ref()) else {
            return Output {
                queues_every: None,
                queues_where: Vec::new(),
                flows,
                memory,
                warmup,
                captures,
            };
        };
        self.span("output.queues.every", queues.every.0);
        let queues_where = match &queues.nodes {
            Some(nodes) => nodes.list(),
            None => plan.names[plan.hosts..].to_vec(),
        };
        for (i, name) in queues_where.iter().enumerate() {
            if plan.nodes_like(name).next().is_none() {
                let path = self.one_or_more("output.queues.where", i);
                self.no_such_node(&path, name, plan, false);
            }
        }
        Output { queues_every: Some(queues.every.0), queues_where, flows, memory, warmup, captures }
    }

    fn flow_samples(&mut self, flows: &raw::FlowSamples, plan: &Plan) -> FlowSamples {
        self.span("output.flows.every", flows.every.0);
        let hosts = match &flows.hosts {
            Some(hosts) => hosts.list(),
            None => plan.names[..plan.hosts].to_vec(),
        };
        for (i, name) in hosts.iter().enumerate() {
            if !plan.nodes_like(name).any(|node| node < plan.hosts) {
                let path = self.one_or_more("output.flows.where", i);
                self.no_such_node(&path, name, plan, true);
            }
        }
        let most = flows.most.unwrap_or(MOST_SAMPLED);
        if !(1..=i64::from(u32::MAX)).contains(&most) {
            self.wrong("output.flows.most", "is no number of flows; write 1 or more");
        }
        FlowSamples { every: flows.every.0, hosts, most: most as u32 }
    }

    /// The path of entry `i` of a key that is one text or a list of them.
    pub fn one_or_more(&self, path: &str, i: usize) -> String {
        let inner = format!("{path}[{i}]");
        if self.document.find(&inner) == self.document.find(path) { path.into() } else { inner }
    }

    /// A name or pattern that fits nothing, with what would.
    pub fn no_such_node(&mut self, path: &str, name: &str, plan: &Plan, hosts_only: bool) {
        self.say(path, Self::no_node_text(name, plan, hosts_only));
    }

    /// That no node has this name, and which have.
    pub fn no_node_text(name: &str, plan: &Plan, hosts_only: bool) -> String {
        let known = &plan.names[..if hosts_only { plan.hosts } else { plan.names.len() }];
        let what = if hosts_only { "host" } else { "node" };
        let close = did_you_mean(name, known.iter().take(4096).map(String::as_str));
        let (first, last) = (&known[0], &known[known.len() - 1]);
        format!("no {what} is called {:?}; they go from {first} to {last}{close}", shorten(name))
    }
}
