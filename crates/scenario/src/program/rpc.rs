//! Traffic of kind `rpc`: counts, sizes, who talks to whom, and from when on.

use super::{Connection, Error, Kind, Layout, MOST_FLOWS, Surroundings};
use crate::cdf::{Cdf, Sizes};
use crate::judge::Judge;
use crate::names::{OneOrMore, one_or_more};
use crate::problem::grouped;
use forebay_laws::RoleName;
use forebay_settings::params::{self, Param};
use forebay_units::{Bytes, Span, human};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// Closed loops of RPCs. A connection makes one after another, `outstanding` of them at once, and keeps its congestion
/// window over all of them.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Rpc {
    /// Clients: names, or patterns with `*` as an index.
    #[serde(deserialize_with = "one_or_more")]
    #[schemars(with = "OneOrMore")]
    pub from: Vec<String>,
    /// Servers: names, or patterns with `*` as an index.
    #[serde(deserialize_with = "one_or_more")]
    #[schemars(with = "OneOrMore")]
    pub to: Vec<String>,
    /// Pairs of clients and servers. Default: "matched".
    #[serde(default)]
    pub pairs: Pairs,
    /// Connections of each pair of client and server. Default: 1.
    #[serde(default = "super::one")]
    #[schemars(range(min = 1))]
    pub connections: u32,
    /// RPCs that a connection has under way at once. Default: 1.
    #[serde(default = "super::one")]
    #[schemars(range(min = 1))]
    pub outstanding: u32,
    /// Payload of a request: one size ("1MB"), a range ("1MB..8MB", uniform), a published distribution, a file or a table.
    #[schemars(with = "Sizes")]
    pub request: Cdf,
    /// Payload of a response, with the forms of request. Default: 64B (our choice). "0B": one-way; an RPC is complete when its request is
    /// acknowledged.
    #[serde(
        default = "acknowledgement",
        serialize_with = "one_way_too",
        deserialize_with = "some"
    )]
    #[schemars(with = "Option<Sizes>")]
    pub response: Option<Cdf>,
    /// From a response to the next request in its place. Default: 0s.
    #[serde(default)]
    pub think: Wait,
    /// Time from the last byte of a request to the first byte of its response. A connection serves one request at a time. If the server has
    /// a memory model, one of its cores works for this time. Default: 0s.
    #[serde(default)]
    pub service: Wait,
    /// How many RPCs each connection makes. Default: without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub count: Option<u64>,
    /// Law that bounds how much of a connection's requests its server has not consumed, for instance { law = "carc" }; servers need a
    /// host.memory with ddio = true. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolControl>,
}

/// A pool law with its parameters: credits of a receiver's cache.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "Pool")]
pub struct PoolControl {
    /// Name of a law in `forebay laws` of role pool.
    pub law: String,
    /// Whether the law acts; with false requests are posted as without this table, so that a sweep can compare both. Default: true.
    #[serde(default = "params::yes")]
    pub enabled: bool,
    /// Parameters of the law, by their names in `forebay laws`. Default: as published.
    #[serde(default, with = "params", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, Param>>")]
    pub params: Vec<(String, String)>,
    /// Bytes of the pieces in which larger requests are posted and charged, 64B or more. Then servers return credits in messages of their
    /// own as they read, as they do for one-way RPCs. Default: requests are charged whole, and responses return their credits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragment: Option<Bytes>,
    /// Bytes of the server's cache that connections share, 64B or more. Default: all of it, host.memory.cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Bytes>,
    /// Whether only active connections share the cache. A connection is active if the server read from it in the last 10 ms. Servers then
    /// return credits in messages of their own, which carry the number of active connections. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub active_only: bool,
}

/// Pairs of clients and servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// Each of `from` to its partner in `to`, or all with the only one.
    #[default]
    Matched,
    /// Each of `from` to each of `to` but itself.
    All,
}

/// A time that passes at an end of a connection: always the same ("2us"), or random ({ exponential = "2us" }).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// Exponentially distributed with this mean.
    Exponential(Span),
    /// Always this long.
    #[serde(untagged)]
    Fixed(Span),
}

impl Default for Wait {
    fn default() -> Self {
        Self::Fixed(Span::ZERO)
    }
}

impl Wait {
    /// The shortest it can be.
    pub fn least(self) -> Span {
        match self {
            Self::Fixed(span) => span,
            Self::Exponential(_) => Span::ZERO,
        }
    }

    /// Mean wait.
    pub fn mean(self) -> Span {
        match self {
            Self::Fixed(span) | Self::Exponential(span) => span,
        }
    }

    fn check(self, judge: &mut Judge<'_>, path: &str) {
        match self {
            Self::Fixed(span) => judge.short(path, span),
            Self::Exponential(mean) => judge.span(&format!("{path}.exponential"), mean),
        }
    }
}

/// The response where none is given. Our choice: a short acknowledgement by the application.
fn acknowledgement() -> Option<Cdf> {
    Some(Cdf::fixed(Bytes::new(64)))
}

fn some<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Cdf>, D::Error> {
    Cdf::deserialize(from).map(Some)
}

/// No response is one of "0B".
fn one_way_too<S: Serializer>(response: &Option<Cdf>, to: S) -> Result<S::Ok, S::Error> {
    match response {
        Some(sizes) => sizes.serialize(to),
        None => Bytes::ZERO.serialize(to),
    }
}

/// More RPCs than this under way on one connection are taken for a mistake.
const MOST_OUTSTANDING: u64 = 1 << 20;

impl Rpc {
    /// The pool whose law acts.
    pub fn acting_pool(&self) -> Option<&PoolControl> {
        self.pool.as_ref().filter(|pool| pool.enabled)
    }

    /// Whether servers return credits in messages of their own: responses return those of whole requests, and say nothing else.
    pub fn returns_credits_in_messages(&self) -> bool {
        let in_messages = |pool: &PoolControl| pool.fragment.is_some() || pool.active_only;
        self.acting_pool().is_some_and(|pool| in_messages(pool) || self.response.is_none())
    }

    fn check_partners(&self, judge: &mut Judge<'_>, path: &str) {
        let (from, to) = (&self.from, &self.to);
        if from.is_empty() || to.is_empty() {
            return;
        }
        match self.pairs {
            Pairs::All if from.iter().all(|a| to.iter().all(|b| a == b)) => {
                judge.say(path, "names no host but the client itself; write another");
            }
            Pairs::Matched if from.len() != to.len() && from.len() > 1 && to.len() > 1 => {
                let (servers, clients) = (to.len(), from.len());
                let text = format!(
                    "names {servers} servers for the {clients} clients of from; write as many, or one for all, or pairs = \"all\""
                );
                judge.say(path, text);
            }
            Pairs::Matched => {
                let one = |of: &[String], i: usize| of[if of.len() == 1 { 0 } else { i }].clone();
                let n = from.len().max(to.len());
                if let Some(i) = (0..n).find(|i| one(from, *i) == one(to, *i)) {
                    let name = one(from, i);
                    let text = format!("makes {name:?} the server of itself; write another host");
                    judge.say(path, text);
                }
            }
            Pairs::All => {}
        }
    }
}

impl Kind for Rpc {
    fn check(&mut self, judge: &mut Judge<'_>, path: &str, around: &Surroundings<'_>) {
        let at = |name: &str| format!("{path}.{name}");
        judge.hosts(&at("from"), &mut self.from, around);
        judge.hosts(&at("to"), &mut self.to, around);
        self.check_partners(judge, &at("to"));
        let most = MOST_FLOWS as u64;
        let counts = [
            ("connections", Some(u64::from(self.connections)), most),
            ("outstanding", Some(u64::from(self.outstanding)), MOST_OUTSTANDING),
            ("count", self.count, most),
        ];
        for (name, value, most) in counts {
            if value.is_some_and(|n| n > most) {
                let text = format!("is too many; write at most {}", grouped(most.into()));
                judge.wrong(&at(name), text);
            }
        }
        if self.request.is_nothing() {
            let text = "gives the server no request; write 1B or more, for instance \"64B\"";
            judge.wrong(&at("request"), text);
        } else {
            self.request.check(judge, &at("request"));
        }
        self.response = self.response.take().filter(|response| !response.is_nothing());
        if let Some(response) = &mut self.response {
            response.check(judge, &at("response"));
        }
        self.think.check(judge, &at("think"));
        self.service.check(judge, &at("service"));
        if self.response.is_none() && self.service != Wait::default() {
            let text = "precedes a response, and a one-way RPC has none; leave it out";
            judge.say(&at("service"), text);
        }
        if let Some(pool) = &self.pool {
            pool.check(judge, &at("pool"));
        }
        let all = pairs(self).saturating_mul(self.connections.into());
        if let Some(each) = self.count
            && all.saturating_mul(each.into()) > MOST_FLOWS
            && each <= most
        {
            let text = format!(
                "over {} connections is more than {} RPCs, and each leaves a row; write fewer",
                grouped(all),
                grouped(MOST_FLOWS)
            );
            judge.wrong(&at("count"), text);
        }
    }

    fn title(&self) -> String {
        let response = match &self.response {
            None => "one-way".into(),
            Some(sizes) => format!("{} back", sizes.name),
        };
        let outstanding = match self.outstanding {
            1 => String::new(),
            n => format!(", {n} at once"),
        };
        let connections = pairs(self) as usize * self.connections as usize;
        format!(
            "rpc of {}, {response}, on {}{outstanding}",
            self.request.name,
            human::counted(connections, "connection")
        )
    }

    /// Two streams of each connection.
    fn forecast(&self, _layout: &Layout<'_>) -> u128 {
        2 * pairs(self) * u128::from(self.connections)
    }

    fn mean_size(&self) -> Option<f64> {
        None
    }

    fn lay_out(&self, layout: &mut Layout<'_>) -> Result<(), Error> {
        let index = |names: &[String]| -> Result<Vec<u32>, Error> {
            names.iter().map(|name| layout.host(name)).collect()
        };
        let (from, to) = (index(&self.from)?, index(&self.to)?);
        let mut number = 0;
        let mut left_out = 0;
        let mut connect = |layout: &mut Layout<'_>, client: u32, server: u32| {
            for _ in 0..self.connections {
                let start = layout.start.saturating_add(layout.jitter(client));
                number += 1;
                if start >= layout.end {
                    left_out += 1;
                    continue;
                }
                layout.connect(Connection {
                    traffic: layout.entry(),
                    number: number - 1,
                    client,
                    server,
                    start,
                    until: layout.until,
                    requests: 0,
                    responses: 0,
                });
            }
        };
        match self.pairs {
            Pairs::Matched => {
                let one = |of: &[u32], i: usize| of[if of.len() == 1 { 0 } else { i }];
                for i in 0..from.len().max(to.len()) {
                    connect(layout, one(&from, i), one(&to, i));
                }
            }
            Pairs::All => {
                for client in &from {
                    for server in to.iter().filter(|server| *server != client) {
                        connect(layout, *client, *server);
                    }
                }
            }
        }
        if left_out > 0 {
            layout.warn(format!(
                "{left_out} of {number} connections begin after its end and are left out"
            ));
        }
        Ok(())
    }
}

impl PoolControl {
    fn check(&self, judge: &mut Judge<'_>, path: &str) {
        let at = |key: &str| format!("{path}.{key}");
        if self.fragment.is_some_and(|piece| piece < Bytes::new(64)) {
            let text =
                "is less than a line of the cache, which is one credit; write \"64B\" or more";
            judge.wrong(&at("fragment"), text);
        }
        if self.cache.is_some_and(|cache| cache < Bytes::new(64)) {
            let text = "holds no line, which is one credit; write \"64B\" or more";
            judge.wrong(&at("cache"), text);
        }
        match judge.laws.pool(&self.law) {
            Ok(mut law) => judge.set_params(&at("params"), &mut law, &self.params),
            Err(_) => judge.no_such_law(&at("law"), RoleName::Pool, &self.law),
        }
    }
}

/// How many pairs of client and server an entry names.
pub fn pairs(rpc: &Rpc) -> u128 {
    match rpc.pairs {
        Pairs::Matched => rpc.from.len().max(rpc.to.len()) as u128,
        Pairs::All => {
            let mut servers: BTreeMap<&str, u128> = BTreeMap::new();
            rpc.to.iter().for_each(|name| *servers.entry(name).or_default() += 1);
            let own = |name: &String| servers.get(name.as_str()).copied().unwrap_or(0);
            let selves: u128 = rpc.from.iter().map(own).sum();
            (rpc.from.len() as u128 * rpc.to.len() as u128) - selves
        }
    }
}
