//! All tables of a run: one type for the file, the checked scenario and the resolved file.

use crate::expect::Expect;
use crate::fabric::{Fabric, Routing};
use crate::faults::Fault;
use crate::host::Host;
use crate::output::Output;
use crate::stop::{self, Stop};
use crate::traffic::Traffic;
use crate::transport::Transport;
use forebay_laws::Laws;
use forebay_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A Forebay scenario: one file that defines a run completely.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(title = "Forebay scenario")]
pub(crate) struct File {
    /// Version of this grammar: 1.
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
    #[serde(flatten)]
    pub scenario: Scenario,
    /// Key paths and the values each takes in turn: "traffic[0].load" = [0.3, 0.5]. A sweep runs every combination. A value that is a table may
    /// have a `label`, its name in tables and pictures: "fabric.switch.ecn" = ["off", { label = "shallow", kmin = "20KB", kmax = "40KB" }].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<BTreeMap<String, Vec<serde_json::Value>>>,
    /// Bands that results must lie in; they make a scenario a test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Expect>,
}

/// A whole run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Scenario {
    /// Title for people. Default: the name of the file.
    #[serde(default)]
    pub name: String,
    /// Seeds, one independent simulation each: a list, or how many (5 means 1 to 5). Default: [1].
    #[serde(default = "stop::first_seed", deserialize_with = "stop::seeds")]
    #[schemars(with = "Option<stop::Seeds>")]
    pub seeds: Vec<u64>,
    /// When a simulation ends.
    pub stop: Stop,
    /// Nodes and cables.
    pub fabric: Fabric,
    /// Hosts.
    #[serde(default)]
    pub host: Host,
    /// Transport of all traffic that names no other.
    pub transport: Transport,
    /// Other transports, by names that traffic may say: `[transports.storage]`. The same keys, and defaults of their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub transports: BTreeMap<String, Transport>,
    /// Sources of flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<Traffic>,
    /// Changes of the fabric during the run.
    #[serde(default, rename = "fault", skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Time series, captures and logs beyond flows and counters.
    #[serde(default)]
    pub output: Output,
    /// Laws that the names of laws mean; not a key. The loader fills it in.
    #[serde(skip)]
    pub laws: Laws,
}

impl Scenario {
    /// The transport of the flows of an entry.
    pub fn transport_of(&self, entry: &Traffic) -> &Transport {
        let named = |name: &String| self.transports.get(name);
        entry.transport.as_ref().and_then(named).unwrap_or(&self.transport)
    }

    /// All transports, that of entries which name none first.
    pub fn all_transports(&self) -> impl Iterator<Item = &Transport> {
        core::iter::once(&self.transport).chain(self.transports.values())
    }

    /// Size of the largest packet of any transport.
    pub fn largest_packet(&self) -> Bytes {
        self.all_transports().map(Transport::largest_packet).max().unwrap_or(Bytes::ZERO)
    }

    /// Path choice of the flows of an entry.
    pub fn routing_of(&self, entry: &Traffic) -> Routing {
        self.transport_of(entry).routing.unwrap_or(self.fabric.routing)
    }

    /// Whether packets of some flow choose their paths one by one.
    pub fn sprays(&self) -> bool {
        self.traffic.iter().any(|entry| self.routing_of(entry).is_per_packet())
    }

    /// The law of the flows of an entry.
    pub fn law_of<'a>(&'a self, entry: &'a Traffic) -> &'a String {
        entry.law.as_ref().unwrap_or(&self.transport_of(entry).law)
    }
}
