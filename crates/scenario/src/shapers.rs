//! Where shapers stand, and what is wrong with them.

use crate::fabric::Shaper;
use crate::judge::Judge;
use crate::plan::{Plan, matches, port_ends};
use crate::scenario::Scenario;

impl Shaper {
    /// Whether this holds for the port of `node` toward `peer`.
    pub fn covers(&self, node: &str, peer: &str) -> bool {
        let (from, to) = port_ends(&self.place);
        matches(from, node) && to.is_none_or(|to| matches(to, peer))
    }
}

/// What is wrong with the shapers of a scenario.
pub(crate) fn check(judge: &mut Judge<'_>, scenario: &Scenario, plan: &Plan) {
    let overhead = scenario.fabric.wire.overhead;
    let largest = scenario.all_transports().map(|one| one.largest_packet()).max();
    let largest = largest.unwrap_or_default().saturating_add(overhead);
    for (i, shaper) in scenario.fabric.shapers.iter().enumerate() {
        let path = format!("fabric.shaper[{i}]");
        let at = |key: &str| format!("{path}.{key}");
        judge.rate(&at("rate"), shaper.bucket.rate);
        if shaper.bucket.burst < largest {
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
