//! `[output] law_log`: laws that write down what they saw and did.

use crate::host::Host;
use crate::judge::Judge;
use crate::names::{OneOrMore, one_or_more};
use crate::plan::{Plan, matches};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;

/// Laws whose events and actions are logged, a file each and per seed, which `forebay laws replay` steps through again.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct LawLog {
    /// Flows whose law is logged, by their numbers in `flows.csv`. A connection has two flows: requests, then responses. With `expresspass` the log has
    /// the law of the flow's credits; on a connection this law starts again for each message, in the same log. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<u32>,
    /// Hosts whose laws are logged: names, or patterns with `*` as an index. The laws are the host law (`host.memory.control`) and the law that
    /// grants or pulls (`homa`, `ndp`). Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_more")]
    #[schemars(with = "Option<OneOrMore>")]
    pub hosts: Vec<String>,
    /// Connections of RPCs whose pool law is logged (`pool`), by their numbers in `connections.csv`. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<u32>,
}

/// Stands for every host that a law controls, until the hosts are known.
const EVERY: &str = "*";

/// The table, or `true` for the laws of every host.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum AllOrSome {
    /// The laws of every host that has one.
    All(bool),
    /// Laws that are named.
    Some(LawLog),
}

pub(super) fn all_or_some<'de, D: Deserializer<'de>>(from: D) -> Result<Option<LawLog>, D::Error> {
    Ok(match AllOrSome::deserialize(from)? {
        AllOrSome::All(true) => Some(LawLog { hosts: vec![EVERY.into()], ..LawLog::default() }),
        AllOrSome::All(false) => None,
        AllOrSome::Some(log) => Some(log),
    })
}

/// Most logs of one seed, each of which is a file.
const MOST: usize = 256;

impl LawLog {
    /// Whether the law of the host with this name is logged.
    pub fn has_host(&self, name: &str) -> bool {
        self.hosts.iter().any(|pattern| matches(pattern, name))
    }

    pub(super) fn check(
        &mut self,
        judge: &mut Judge<'_>,
        plan: &Plan,
        (host, grants): (&Host, bool),
    ) {
        let names = &plan.names[..plan.hosts];
        // A host that grants has that law, too.
        let ruled = |name: &String| {
            grants || host.memory_at(name).is_some_and(|m| m.acting_control().is_some())
        };
        if self.hosts == [EVERY] {
            self.hosts = names.iter().filter(|name| ruled(name)).cloned().collect();
            if self.hosts.is_empty() {
                let text = "logs nothing: no law controls a host; write [host.memory.control] as well, or flows = [0]";
                judge.say("output.law_log", text);
                return;
            }
        }
        for (i, name) in self.hosts.iter().enumerate() {
            let path = judge.one_or_more("output.law_log.hosts", i);
            let mut meant = plan.nodes_like(name).filter(|node| *node < plan.hosts).peekable();
            if meant.peek().is_none() {
                judge.no_such_node(&path, name, plan, true);
            } else if !meant.any(|node| ruled(&names[node])) {
                let text =
                    "logs nothing: no law controls its memory; write [host.memory.control] as well";
                judge.say(&path, text);
            }
        }
        for (numbers, key, what) in
            [(&self.flows, "flows", "flow"), (&self.connections, "connections", "connection")]
        {
            let mut taken = BTreeSet::new();
            if let Some(again) = numbers.iter().find(|number| !taken.insert(**number)) {
                let text = format!("names {what} {again} twice; write it once");
                judge.say(&format!("output.law_log.{key}"), text);
            }
        }
        let hosts = names.iter().filter(|name| self.has_host(name) && ruled(name)).count();
        let numbered = self.flows.len() + self.connections.len();
        let logs = numbered + hosts;
        if numbered == 0 && self.hosts.is_empty() {
            judge.say("output.law_log", "logs nothing; write flows = [0], or hosts = \"host[0]\"");
        } else if logs > MOST {
            let text = format!("makes {logs} logs, each a file; write at most {MOST}");
            judge.say("output.law_log", text);
        }
    }
}
