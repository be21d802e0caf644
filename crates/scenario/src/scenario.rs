//! All tables of a run, checked and with all defaults filled in.

use crate::fabric::{Fabric, Routing};
use crate::faults::Fault;
use crate::model::Host;
use crate::output::Output;
use crate::stop::Stop;
use crate::traffic::Traffic;
use crate::transport::Transport;
use forebay_units::Bytes;

/// A whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Title for people.
    pub name: String,
    /// One independent simulation each.
    pub seeds: Vec<u64>,
    /// When a simulation ends.
    pub stop: Stop,
    /// Nodes and links.
    pub fabric: Fabric,
    /// Hosts.
    pub host: Host,
    /// Transport of all traffic that names none of its own.
    pub transport: Transport,
    /// Transports that traffic may name, sorted by name.
    pub transports: Vec<(String, Transport)>,
    /// Traffic, in file order.
    pub traffic: Vec<Traffic>,
    /// Faults, in file order.
    pub faults: Vec<Fault>,
    /// What to record beyond flows and counters.
    pub output: Output,
}

impl Scenario {
    /// The transport of the flows of an entry.
    pub fn transport_of(&self, entry: &Traffic) -> &Transport {
        let named = |name: &String| self.transports.iter().find(|(other, _)| other == name);
        entry.transport.as_ref().and_then(named).map_or(&self.transport, |(_, transport)| transport)
    }

    /// All transports, that of entries which name none first.
    pub fn all_transports(&self) -> impl Iterator<Item = &Transport> {
        core::iter::once(&self.transport).chain(self.transports.iter().map(|(_, one)| one))
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
        self.traffic.iter().any(|entry| self.routing_of(entry) == Routing::Spray)
    }

    /// The law of the flows of an entry.
    pub fn law_of<'a>(&'a self, entry: &'a Traffic) -> &'a String {
        entry.law.as_ref().unwrap_or(&self.transport_of(entry).law)
    }
}
