//! `[[traffic]]`: sources of flows, one type for the file, the checked scenario and the resolved file.

mod list;
mod rpc;

pub use list::{DPORT, ListedFlow};
pub use rpc::{Pairs, Rpc, Wait, pairs};

use crate::cdf::{Cdf, Sizes};
use crate::judge::Judge;
use crate::names::{OneOrMore, one_or_more};
use crate::params::{self, Param};
use crate::plan::Plan;
use crate::problem::{grouped, memory_text, or_list};
use crate::stop::Stop;
use crate::transport::{Recovery, Transport};
use crate::tree::{did_you_mean, shorten};
use forebay_laws::flow::FlowParams;
use forebay_units::{Bytes, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One source of flows.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Traffic {
    /// No flow starts before. Default: 0s.
    #[serde(default)]
    pub start: Time,
    /// No flow starts from here on. Default: the end of the run.
    #[serde(default = "never", skip_serializing_if = "is_never")]
    pub until: Time,
    /// Transport of these flows: a name in `[transports]`. Default: `[transport]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Law of these flows. Default: the law of the transport.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub law: Option<String>,
    /// Traffic class of data, below fabric.switch.classes. Default: the class of the transport.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 7))]
    pub class: Option<u8>,
    /// Parameters of the law of these flows. They override the parameters of the transport, which apply to flows of the same law.
    #[serde(default, with = "params", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, Param>>")]
    pub params: Vec<(String, String)>,
    /// What flows there are.
    #[serde(flatten)]
    pub kind: TrafficKind,
}

/// Kinds of traffic.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TrafficKind {
    /// Open loop: Poisson arrivals between uniformly random pairs of different hosts.
    Poisson {
        /// Flow sizes: a published distribution ("websearch"), a file ("sizes.csv"), one size ("64KB"), a range ("1KB..64KB", uniform)
        /// or a table.
        #[schemars(with = "Sizes")]
        sizes: Cdf,
        /// Offered load as a share of the reference: above 0, at most 1.
        load: f64,
        /// Reference of the load. Default: "host".
        #[serde(default)]
        load_ref: LoadRef,
    },
    /// Many senders answer one receiver at once.
    Incast {
        /// How many senders, chosen at random: 1 to all other hosts.
        #[schemars(range(min = 1))]
        fan_in: u32,
        /// Bytes of each answer.
        size: Bytes,
        /// The receiver. Default: a random host for each round.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        /// How many rounds. Default: 1.
        #[serde(default = "one")]
        #[schemars(range(min = 1))]
        rounds: u32,
        /// Time between the starts of rounds. Default: each begins when the last has been delivered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        every: Option<Span>,
        /// Without `every`: time from the last delivery of a round to the start of the next. Default: 1us (our choice).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        control_delay: Option<Span>,
    },
    /// Every host sends to one other, and every host receives from one other.
    Permutation {
        /// Bytes of each flow.
        size: Bytes,
    },
    /// Every host sends to every other.
    AllToAll {
        /// Bytes of each flow.
        size: Bytes,
    },
    /// Flows without an end, from each of `from` to its partner in `to`.
    Long {
        /// Sending hosts: names, or patterns with `*` as an index.
        #[serde(deserialize_with = "one_or_more")]
        #[schemars(with = "OneOrMore")]
        from: Vec<String>,
        /// Receiving hosts: as many names, or one for all.
        #[serde(deserialize_with = "one_or_more")]
        #[schemars(with = "OneOrMore")]
        to: Vec<String>,
        /// Time between the starts of one flow and the next. Default: 0s.
        #[serde(default)]
        stagger: Span,
    },
    /// Requests and responses over connections that stay open, each in a closed loop: a client sends its next request when
    /// the response to an earlier one has arrived.
    Rpc(Box<Rpc>),
    /// A list of flows, in this file or in a CSV file. No jitter is added to their starts.
    List {
        /// The flows.
        #[serde(default)]
        flows: Vec<ListedFlow>,
        /// A CSV file with the columns from, to, size, at and where needed sport, dport, after, fires; its path is relative to
        /// this file. Not with flows.
        #[serde(default, skip_serializing)]
        file: Option<String>,
        /// From the last delivery that fires a trigger until the senders that wait for it learn of it. Default: 1us (our
        /// choice).
        #[serde(default = "control_delay")]
        control_delay: Span,
    },
}

/// Reference of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadRef {
    /// The sum of the hosts' link rates.
    #[default]
    Host,
    /// The rate at which the tightest tier between racks would be full.
    Core,
}

fn one() -> u32 {
    1
}

pub(crate) fn never() -> Time {
    Time::MAX
}

pub(crate) fn is_never(time: &Time) -> bool {
    *time == Time::MAX
}

/// Time from the last delivery of a round of a closed loop to the next. Our choice: one way across a rack row.
pub(crate) fn control_delay() -> Span {
    Span::from_us(1)
}

/// More flows than this in one run are refused with a forecast.
pub(crate) const MOST_FLOWS: u128 = 50_000_000;
/// Memory of a flow: its entry in the table and its row in the results. Assumption: about 160 B.
const FLOW_MEMORY: u128 = 160;
/// The sentence that refuses too many flows.
pub(crate) fn too_many(flows: u128) -> String {
    let memory = memory_text(flows.saturating_mul(FLOW_MEMORY));
    format!(
        "makes about {} flows, which would need about {memory} of memory; at most {} are possible, so shorten \
         the run or lower the load",
        grouped(flows),
        grouped(MOST_FLOWS)
    )
}

/// What entries are held against.
pub(crate) struct Around<'a> {
    /// When the run ends.
    pub stop: Stop,
    /// Classes of switches.
    pub classes: u8,
    /// The transport of traffic that names none.
    pub transport: &'a Transport,
    /// Transports with names.
    pub transports: &'a BTreeMap<String, Transport>,
    /// Nodes and cables.
    pub plan: &'a Plan,
    hosts: BTreeSet<&'a str>,
}

impl<'a> Around<'a> {
    pub fn new(
        (stop, classes): (Stop, u8),
        (transport, transports): (&'a Transport, &'a BTreeMap<String, Transport>),
        plan: &'a Plan,
    ) -> Self {
        let hosts = plan.names[..plan.hosts].iter().map(String::as_str).collect();
        Self { stop, classes, transport, transports, plan, hosts }
    }

    /// Whether a host is called so.
    fn knows(&self, name: &str) -> bool {
        self.hosts.contains(name)
    }
}

/// Checks all entries, and puts files and patterns in their place.
pub(crate) fn check(entries: &mut [Traffic], judge: &mut Judge<'_>, around: &Around<'_>) {
    if entries.len() > 65_535 {
        let n = entries.len();
        return judge.say("traffic", format!("has {n} entries; at most 65535 are possible"));
    }
    if entries.is_empty() {
        let text = "is empty, so nothing would be sent; write at least one [[traffic]]";
        judge.say("traffic", text);
    }
    for (i, entry) in entries.iter_mut().enumerate() {
        entry.check(judge, &format!("traffic[{i}]"), around);
    }
}

impl Traffic {
    fn check(&mut self, judge: &mut Judge<'_>, path: &str, around: &Around<'_>) {
        let at = |key: &str| format!("{path}.{key}");
        judge.class_exists(&at("class"), self.class.unwrap_or(0), around.classes);
        let (start, stop) = (self.start, around.stop);
        if start >= stop.time {
            let text = format!("is not before the end of the run, stop.time = {}", stop.time);
            judge.wrong(&at("start"), text);
        } else if self.until <= start {
            let text = format!("is not after start, {start}; write a later time");
            judge.wrong(&at("until"), text);
        }
        let (common_path, common) = self.its_transport(judge, path, around);
        if let (Some(law), Some(tcp)) = (&self.law, common.tcp())
            && let (Some(kernel), true) = (tcp.kernel, *law != common.law)
        {
            kernel.fill_params(tcp, law, &mut self.params);
        }
        if common.receiver_driven().is_some() {
            self.check_received(judge, path, &common_path);
        } else {
            self.check_law(judge, path, &common_path, common);
        }
        if common.rdma().is_some_and(|r| r.recovery == Recovery::GoBackZero)
            && let TrafficKind::Rpc(_) = self.kind
        {
            let text = format!(
                "has streams, which never end, and {common_path}.recovery = \"go-back-0\" would send all of one again; write \"go-back-n\" there"
            );
            return judge.say(&at("kind"), text);
        }
        self.kind.check(judge, path, around);
        if common.receiver_driven().is_some() {
            self.check_message_sizes(judge, path);
        }
    }

    /// Each write of an RPC is a message, whose header has four bytes for its size.
    fn check_message_sizes(&self, judge: &mut Judge<'_>, path: &str) {
        let TrafficKind::Rpc(rpc) = &self.kind else { return };
        let most = f64::from(u32::MAX);
        for (key, sizes) in [("request", Some(&rpc.request)), ("response", rpc.response.as_ref())] {
            let largest = sizes.and_then(|sizes| sizes.points.last());
            if largest.is_some_and(|(bytes, _)| *bytes > most) {
                let text = "has more than 4 GiB, the most that a message of a receiver-driven transport can have; write less, or kind = \"tcp\" or \"rdma\"";
                judge.wrong(&format!("{path}.{key}"), text);
            }
        }
    }

    /// Messages to one host share its law, and both ends know their size.
    fn check_received(&self, judge: &mut Judge<'_>, path: &str, common_path: &str) {
        let keys = [
            ("law", self.law.is_some()),
            ("params", !self.params.is_empty()),
            ("class", self.class.is_some()),
        ];
        for (key, _) in keys.into_iter().filter(|(_, given)| *given) {
            let text = format!(
                "a receiver-driven transport has one {key} for all of its messages; write {common_path}.{key}"
            );
            judge.say(&format!("{path}.{key}"), text);
        }
    }

    /// The path of the transport, and what stands there; `[transport]` if there is none of that name.
    fn its_transport<'a>(
        &self,
        judge: &mut Judge<'_>,
        path: &str,
        around: &Around<'a>,
    ) -> (String, &'a Transport) {
        let usual = ("transport".to_string(), around.transport);
        let Some(name) = &self.transport else { return usual };
        if let Some(found) = around.transports.get(name) {
            return (crate::transport::path(name), found);
        }
        let names = || around.transports.keys().map(String::as_str);
        let text = match around.transports.is_empty() {
            true => format!(
                "no transport is called {0:?}; write [transports.{0}], or leave this out for [transport]",
                shorten(name)
            ),
            false => format!(
                "no transport is called {:?}; write {}{}",
                shorten(name),
                or_list(names()),
                did_you_mean(name, names())
            ),
        };
        judge.say(&format!("{path}.transport"), text);
        usual
    }

    /// The law and its parameters, on top of those of the transport `common`.
    fn check_law(&self, judge: &mut Judge<'_>, path: &str, common_path: &str, common: &Transport) {
        let mut law = match &self.law {
            Some(law) => judge.law(&format!("{path}.law"), law),
            None => FlowParams::new(&common.law).ok(),
        };
        if let Some(law) = law.as_mut().filter(|law| law.name() == common.law) {
            for (key, text) in &common.params {
                let _ = law.set(key, text); // what is wrong with it has been said
            }
        }
        judge.params(&format!("{path}.params"), law.as_mut(), &self.params);
        if let (Some(law), true) = (law, self.law.is_some() || !self.params.is_empty())
            && common.tcp().is_some()
        {
            let key = if self.law.is_some() { "law" } else { "params" };
            judge.served(&format!("{path}.{key}"), common_path, &law);
        }
    }
}

impl TrafficKind {
    fn check(&mut self, judge: &mut Judge<'_>, path: &str, around: &Around<'_>) {
        let at = |key: &str| format!("{path}.{key}");
        match self {
            Self::Poisson { sizes, load, load_ref } => {
                judge.load(path, *load, *load_ref, around.plan);
                sizes.check(judge, &at("sizes"));
            }
            Self::Incast { fan_in, size, to, rounds, every, control_delay: delay } => {
                if let Some(name) = to {
                    judge.host(&at("to"), name, around);
                }
                judge.flow_size(&at("size"), *size);
                judge.incast(path, *fan_in, *rounds, around.plan);
                if let (Some(_), Some(_)) = (&every, &delay) {
                    let text = "belongs to rounds that wait for each other; leave out it or every";
                    judge.say(&at("control_delay"), text);
                }
                match every {
                    Some(every) => judge.span(&at("every"), *every),
                    None => {
                        judge.span(&at("control_delay"), *delay.get_or_insert(control_delay()));
                    }
                }
            }
            Self::Permutation { size } => judge.flow_size(&at("size"), *size),
            Self::AllToAll { size } => {
                judge.flow_size(&at("size"), *size);
                let n = around.plan.hosts as u128;
                if n * (n - 1) > MOST_FLOWS {
                    judge.say(path, too_many(n * (n - 1)));
                }
            }
            Self::Long { from, to, stagger } => {
                judge.short(&at("stagger"), *stagger);
                judge.hosts(&at("from"), from, around);
                judge.hosts(&at("to"), to, around);
                check_pairs(judge, &at("to"), from, to);
            }
            Self::Rpc(rpc) => rpc.check(judge, path, around),
            Self::List { flows, file, control_delay } => {
                judge.span(&at("control_delay"), *control_delay);
                list::check(judge, path, (flows, file), around);
            }
        }
    }
}

/// Each of `from` to its partner in `to`; one alone is the partner of all.
fn check_pairs(judge: &mut Judge<'_>, path: &str, from: &[String], to: &mut Vec<String>) {
    if let [one] = &to[..] {
        *to = vec![one.clone(); from.len()];
    }
    if from.len() != to.len() {
        let (there, here) = (to.len(), from.len());
        let text =
            format!("names {there} hosts for the {here} of from; write as many, or one for all");
        judge.wrong(path, text);
    }
    for (i, (a, b)) in from.iter().zip(to).enumerate() {
        if a == b {
            judge.say(path, format!("flow {i} goes from {a:?} to itself; write another host"));
        }
    }
}

impl Judge<'_> {
    fn host(&mut self, path: &str, name: &str, around: &Around<'_>) {
        if !around.knows(name) {
            self.no_such_node(path, name, around.plan, true);
        }
    }

    /// Puts names in the place of patterns, in canonical order within each.
    fn hosts(&mut self, path: &str, names: &mut Vec<String>, around: &Around<'_>) {
        let mut all = Vec::new();
        for (i, name) in names.iter().enumerate() {
            if name.contains('*') {
                let before = all.len();
                let found = around.plan.nodes_like(name).filter(|n| *n < around.plan.hosts);
                all.extend(found.map(|n| around.plan.names[n].clone()));
                if all.len() > before {
                    continue;
                }
            } else if around.knows(name) {
                all.push(name.clone());
                continue;
            }
            let path = self.one_or_more(path, i);
            self.no_such_node(&path, name, around.plan, true);
        }
        if names.is_empty() {
            self.say(path, "is empty; write at least one host");
        }
        *names = all;
    }

    fn load(&mut self, path: &str, load: f64, load_ref: LoadRef, plan: &Plan) {
        let key = format!("{path}.load");
        if load <= 0.0 || load.is_nan() {
            self.wrong(&key, "offers nothing; write a share above 0, at most 1");
        } else if load > 1.0 {
            self.wrong(&key, "is more than all of the reference; write a share above 0, at most 1");
        }
        let host_cables = || plan.cables.iter().filter(|c| (c.a as usize) < plan.hosts);
        let one_rack =
            host_cables().all(|c| host_cables().next().is_some_and(|first| first.b == c.b));
        if load_ref == LoadRef::Core && one_rack {
            let text = "needs hosts under more than one switch; write \"host\"";
            self.wrong(&format!("{path}.load_ref"), text);
        }
    }

    fn incast(&mut self, path: &str, fan_in: u32, rounds: u32, plan: &Plan) {
        let others = plan.hosts as i64 - 1;
        if i64::from(fan_in) > others {
            let text = format!("is more than the {others} other hosts; write at most {others}");
            self.wrong(&format!("{path}.fan_in"), text);
        }
        let flows = u128::from(rounds) * u128::from(fan_in);
        if flows > MOST_FLOWS {
            self.say(&format!("{path}.rounds"), too_many(flows));
        }
    }
}
