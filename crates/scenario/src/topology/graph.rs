//! Named hosts, switches and cables.

use super::{Draft, DraftCable, MOST_PORTS, Shape};
use crate::judge::Judge;
use crate::tree::did_you_mean;
use forebay_units::{BitsPerSec, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Named nodes and cables. Every host has exactly one cable, to a switch.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Graph {
    /// Names of the hosts. Each has exactly one cable, to a switch.
    pub hosts: Vec<String>,
    /// Names of the switches.
    pub switches: Vec<String>,
    /// Cables.
    pub cables: Vec<Cable>,
}

/// One cable of a graph.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Cable {
    /// One end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// Rate. Default: the rate of host_link or fabric_link, by what the ends are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitsPerSec>,
    /// Propagation delay. Default: the delay of host_link or fabric_link, by what the ends are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
}

impl Shape for Graph {
    fn check(&self, judge: &mut Judge<'_>) {
        let Self { hosts, switches, cables } = self;
        judge.forecast("fabric.hosts", hosts.len() as u128, cables.len() as u128);
        let names = judge.graph_names(hosts, switches);
        if hosts.len() < 2 {
            let text = format!("{} hosts cannot send to each other; write 2 or more", hosts.len());
            judge.say("fabric.hosts", text);
        }
        let mut degree: BTreeMap<&str, u64> = BTreeMap::new();
        let mut joined = BTreeSet::new();
        for (i, cable) in cables.iter().enumerate() {
            *degree.entry(&cable.a).or_default() += 1;
            *degree.entry(&cable.b).or_default() += 1;
            let first = joined.insert(((&cable.a).min(&cable.b), (&cable.a).max(&cable.b)));
            cable.check(judge, &format!("fabric.cables[{i}]"), &names, first);
        }
        let degree = |name: &String| degree.get(name.as_str()).copied().unwrap_or(0);
        for (i, host) in hosts.iter().enumerate().filter(|(_, host)| degree(host) != 1) {
            let n = degree(host);
            let text = format!("{host:?} has {n} cables; give it exactly one, to a switch");
            judge.say(&format!("fabric.hosts[{i}]"), text);
        }
        for (i, switch) in switches.iter().enumerate().filter(|(_, s)| degree(s) > MOST_PORTS) {
            let n = degree(switch);
            let text = format!("{switch:?} has {n} cables; at most {MOST_PORTS} are possible");
            judge.say(&format!("fabric.switches[{i}]"), text);
        }
        if switches.len() as u64 > MOST_PORTS {
            let n = switches.len();
            let text = format!("{n} switches are too many; write at most {MOST_PORTS}");
            judge.say("fabric.switches", text);
        }
    }

    /// Ends that do not exist were refused before; here they are left out.
    fn lay_out(&self) -> Draft {
        let sorted = |names: &[String]| {
            let mut names = names.to_vec();
            names.sort();
            names
        };
        let (hosts, switches) = (sorted(&self.hosts), sorted(&self.switches));
        let find = |name: &String| {
            let host = hosts.binary_search(name).ok();
            host.or_else(|| switches.binary_search(name).ok().map(|s| hosts.len() + s))
        };
        let cable = |c: &Cable| {
            let (a, b) = (find(&c.a)?, find(&c.b)?);
            Some(DraftCable { ends: (a.min(b), a.max(b)), rate: c.rate, delay: c.delay })
        };
        let mut cables: Vec<_> = self.cables.iter().filter_map(cable).collect();
        cables.sort_by_key(|c| c.ends);
        Draft { hosts, switches, cables }
    }

    fn title(&self) -> String {
        "graph".into()
    }

    fn above_racks(&self) -> &'static str {
        "between the racks"
    }
}

impl Cable {
    /// Says what is wrong with the cable at `path`. `names`: those of all nodes, with whether each is a host; `first`: no cable before
    /// it joins its ends.
    fn check(&self, judge: &mut Judge<'_>, path: &str, names: &BTreeMap<&str, bool>, first: bool) {
        for (end, name) in [("a", &self.a), ("b", &self.b)] {
            if !names.contains_key(name.as_str()) {
                let close = did_you_mean(name, names.keys().copied());
                let text = format!("{name:?} is neither in hosts nor in switches{close}");
                judge.say(&format!("{path}.{end}"), text);
            }
        }
        let (a, b) = (self.a.as_str(), self.b.as_str());
        if a == b {
            judge.say(path, format!("joins {a:?} to itself; write two different ends"));
        } else if !first {
            let text =
                format!("joins {a:?} and {b:?} a second time; give one cable the sum of the rates");
            judge.say(path, text);
        }
        if names.get(a) == Some(&true) && names.get(b) == Some(&true) {
            let text = format!("joins the hosts {a:?} and {b:?}; a host's cable goes to a switch");
            judge.say(path, text);
        }
        if let Some(rate) = self.rate {
            judge.rate(&format!("{path}.rate"), rate);
        }
        if let Some(delay) = self.delay {
            judge.delay(&format!("{path}.delay"), delay);
        }
    }
}

impl Judge<'_> {
    /// Names, with whether each is a host.
    fn graph_names<'n>(
        &mut self,
        hosts: &'n [String],
        switches: &'n [String],
    ) -> BTreeMap<&'n str, bool> {
        let mut names = BTreeMap::new();
        for (list, is_host, all) in [("hosts", true, hosts), ("switches", false, switches)] {
            for (i, name) in all.iter().enumerate() {
                let path = format!("fabric.{list}[{i}]");
                let fine = |c: char| c.is_alphanumeric() || "_.[]".contains(c);
                if name.is_empty() || !name.chars().all(fine) {
                    let text = format!(
                        "{name:?} is not a name; use letters, digits, and _ . [ ] (a - joins the ends of a cable)"
                    );
                    self.say(&path, text);
                }
                if names.insert(name.as_str(), is_host).is_some() {
                    self.say(&path, format!("{name:?} stands twice; give each node its own name"));
                }
            }
        }
        names
    }
}
