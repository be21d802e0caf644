//! `[[traffic]]`: sources of flows, one type for the file, the checked scenario and the resolved file.

use crate::judge::Judge;
use crate::plan::Plan;
use crate::problem::or_list;
use crate::program::{Surroundings, TrafficKind, check_triggers, is_never, never};
use crate::stop::Stop;
use crate::transport::{Recovery, Transport, TransportKind, fill_params};
use crate::tree::{did_you_mean, shorten};
use forebay_settings::params::{self, Param};
use forebay_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One source of flows.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Traffic {
    /// What flows there are.
    #[serde(flatten)]
    pub kind: TrafficKind,
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
}

/// What entries are held against.
pub(crate) struct TrafficContext<'a> {
    /// Run and fabric.
    pub run: Surroundings<'a>,
    /// Classes of switches.
    pub classes: u8,
    /// The transport of traffic that names none.
    pub transport: &'a Transport,
    /// Transports with names.
    pub transports: &'a BTreeMap<String, Transport>,
}

impl<'a> TrafficContext<'a> {
    pub fn new(
        (stop, classes): (Stop, u8),
        (transport, transports): (&'a Transport, &'a BTreeMap<String, Transport>),
        plan: &'a Plan,
    ) -> Self {
        Self { run: Surroundings::new(stop, plan), classes, transport, transports }
    }
}

/// Checks all entries, and puts files and patterns in their place.
pub(crate) fn check(entries: &mut [Traffic], judge: &mut Judge<'_>, around: &TrafficContext<'_>) {
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
    let mut lists = Vec::new();
    for (i, entry) in entries.iter().enumerate() {
        if let TrafficKind::List(list) = &entry.kind {
            lists.push((i, list));
        }
    }
    check_triggers(judge, &lists);
}

impl Traffic {
    fn check(&mut self, judge: &mut Judge<'_>, path: &str, around: &TrafficContext<'_>) {
        let at = |key: &str| format!("{path}.{key}");
        judge.class_exists(&at("class"), self.class.unwrap_or(0), around.classes);
        let (start, stop) = (self.start, around.run.stop);
        if start >= stop.time {
            let text = format!("is not before the end of the run, stop.time = {}", stop.time);
            judge.wrong(&at("start"), text);
        } else if self.until <= start {
            let text = format!("is not after start, {start}; write a later time");
            judge.wrong(&at("until"), text);
        }
        let (common_path, common) = self.its_transport(judge, path, around);
        if let (Some(law), Some(tcp)) = (&self.law, common.tcp())
            && *law != common.law
        {
            fill_params(tcp, law, &mut self.params);
        }
        if common.receiver_driven().is_some() {
            self.check_received(judge, path, &common_path);
        } else {
            self.check_law(judge, path, &common_path, common);
        }
        if common.rdma().is_some_and(|r| r.recovery == Recovery::GoBackZero)
            && self.kind.keeps_connections()
        {
            let text = format!(
                "has streams, which never end, and {common_path}.recovery = \"go-back-0\" would send all of one again; write \"go-back-n\" there"
            );
            return judge.say(&at("kind"), text);
        }
        if matches!(self.kind, TrafficKind::Collective(_)) && !is_never(&self.until) {
            let text = "ends no collective, which is over when all ranks have their data; leave it out, and write repeat for the number of collectives";
            judge.say(&at("until"), text);
        }
        self.kind.check(judge, path, &around.run);
        if common.receiver_driven().is_some() {
            self.check_message_sizes(judge, path);
        }
    }

    /// Each write on a connection is a message, whose header has four bytes for its size.
    fn check_message_sizes(&self, judge: &mut Judge<'_>, path: &str) {
        let most = f64::from(u32::MAX);
        if let TrafficKind::Collective(collective) = &self.kind {
            let largest = collective.largest_writes().max();
            if let Some(largest) = largest.filter(|bytes| bytes.get() > u32::MAX.into()) {
                let (key, remedy) = match collective.message {
                    Some(_) => ("message", "less"),
                    None => ("bytes", "message"),
                };
                let text = format!(
                    "sends {largest} at once on a connection, and a message of a receiver-driven transport has less than 4 GiB; write {remedy}, for instance \"1MiB\""
                );
                judge.say(&format!("{path}.{key}"), text);
            }
        }
        let TrafficKind::Rpc(rpc) = &self.kind else { return };
        for (key, sizes) in [("request", Some(&rpc.request)), ("response", rpc.response.as_ref())] {
            let largest = sizes.and_then(|sizes| sizes.points.last());
            if largest.is_some_and(|(bytes, _)| *bytes > most) {
                let text = "is too much for a message of a receiver-driven transport, which has less than 4 GiB; write less, or kind = \"tcp\" or \"rdma\"";
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
        around: &TrafficContext<'a>,
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
            None => judge.laws.flow(&common.law).ok(),
        };
        if let Some(law) = law.as_mut().filter(|law| law.name() == common.law) {
            for (key, text) in &common.params {
                let _ = law.set(key, text); // what is wrong with it has been said
            }
        }
        if self.law.is_none() && self.params.is_empty() {
            return; // judged with the transport
        }
        judge.params(&format!("{path}.params"), law.as_mut(), &self.params);
        if let Some(law) = law {
            let key = if self.law.is_some() { "law" } else { "params" };
            let key = format!("{path}.{key}");
            match &common.kind {
                TransportKind::Tcp(_) => judge.served(&key, common_path, &law),
                TransportKind::Rdma(_) if self.law.is_some() => {
                    judge.no_module(&key, common_path, &law)
                }
                _ => {}
            }
        }
    }
}
