//! From the file as written to the checked model: defaults, ranges, and what must fit together.
//!
//! Invariant: a `Scenario` made here can be laid out and run; whatever cannot is a sentence.

mod fabric;
mod hierarchical;
mod host;
mod memory;
mod paths;
mod pause;
mod switch;

use crate::check::Finding;
use crate::faults;
use crate::model::{Scenario, Topology};
use crate::output::default_snap;
use crate::plan::Plan;
use crate::problem::or_list;
use crate::raw;
use crate::stop;
use crate::traffic::{self, Around};
use crate::transport;
use crate::tree::{Document, did_you_mean, shorten};
use forebay_laws::flow::{FlowParams, LAWS};
use forebay_laws::params::{LawInfo, ParamError};
use forebay_units::{Bytes, Span};

/// Longest run, delay or interval that a scenario may ask for: far beyond any use, far below 64 bits.
const DAY: Span = Span::from_secs(86_400);

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
    let (seeds, stop) = (file.seeds.clone(), file.stop);
    stop::check_seeds(judge, &seeds);
    stop.check(judge);
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
    let faults = faults::check(&file.fault, judge, (stop, &plan));
    let mut traffic = file.traffic.clone();
    let around = Around::new((stop, fabric.switch.classes), (&transport, &transports), &plan);
    traffic::check(&mut traffic, judge, &around);
    let all = transports.iter().map(|(_, one)| one).chain([&transport]);
    let snap = default_snap(all);
    let mut output = file.output.clone();
    output.check(judge, (stop, snap), &plan, &host);
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

    pub fn share(&mut self, path: &str, share: f64) {
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
