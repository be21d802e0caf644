//! `[[fabric.shaper]]`: token buckets at ports.

use crate::judge::Judge;
use crate::model::Scenario;
use crate::plan::{Plan, matches, port_ends};
use crate::quantity::QueueLength;
use forebay_units::{BitsPerSec, Bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A token bucket at ports, as tbf of Linux: a packet leaves, at the rate of the link, once the bucket holds as many tokens as the packet has bytes on
/// the wire.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Shaper {
    /// A port, `leaf[0]->spine[1]`, of a switch or a host's NIC; all ports of a node, `leaf[0]`; either with `*` as an index. Later entries
    /// win.
    #[serde(rename = "where")]
    pub place: String,
    /// Rate at which tokens come, in bytes of the wire.
    pub rate: BitsPerSec,
    /// Most tokens, which the bucket has at the start: bytes that leave at the rate of the link after a rest. No less than the largest packet
    /// on the wire.
    pub burst: Bytes,
    /// Limit of the queue at the port, in bytes or packets. Not at hosts, where packets wait in their flows. Default:
    /// fabric.switch.port_limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueLength>,
}

impl Shaper {
    /// Whether this holds for the port of `node` toward `peer`.
    pub fn covers(&self, node: &str, peer: &str) -> bool {
        let (from, to) = port_ends(&self.place);
        matches(from, node) && to.is_none_or(|to| matches(to, peer))
    }
}

/// What is wrong with the shapers of a scenario.
pub(crate) fn check(judge: &mut Judge<'_>, scenario: &Scenario, plan: &Plan) {
    let overhead = scenario.fabric.wire_overhead;
    let largest = scenario.all_transports().map(|one| one.largest_packet()).max();
    let largest = largest.unwrap_or_default().saturating_add(overhead);
    for (i, shaper) in scenario.fabric.shapers.iter().enumerate() {
        let path = format!("fabric.shaper[{i}]");
        let at = |key: &str| format!("{path}.{key}");
        judge.rate(&at("rate"), shaper.rate);
        if shaper.burst < largest {
            let text = format!(
                "is less than the largest packet, {largest} on the wire, which would never leave; write burst = \"{largest}\" or more"
            );
            judge.wrong(&at("burst"), text);
        }
        let ports = plan.ports_like(&shaper.place);
        if ports.is_empty() {
            judge.no_such_port(&at("where"), &shaper.place, plan);
        }
        let host = ports.iter().find(|(node, _)| (*node as usize) < plan.hosts);
        if let (Some((host, _)), Some(_)) = (host, shaper.limit) {
            let text = format!(
                "means nothing at {}, a host, whose packets wait in their flows; leave it out",
                plan.names[*host as usize]
            );
            judge.wrong(&at("limit"), text);
        }
    }
    if !scenario.fabric.shapers.is_empty() && scenario.fabric.switch.hierarchical.is_some() {
        let text = "leaves credits the rates of the cables; leave out one of shaper and fabric.switch.hierarchical";
        judge.say("fabric.shaper", text);
    }
}
