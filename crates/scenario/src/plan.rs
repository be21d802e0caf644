//! Names of nodes and cables, in canonical order.
//!
//! Order: hosts, then switches, each as its topology lists them (indices rising, outer ones first); in a
//! graph, by name, so that the order of lines in a file changes nothing.

use crate::fabric::Fabric;
use crate::judge::Judge;
use crate::topology::{Draft, DraftCable, Link, Topology};
use crate::tree::{did_you_mean, shorten};

/// All nodes and cables of a fabric. Hosts come first among the nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Names of the nodes: hosts, then switches.
    pub names: Vec<String>,
    /// How many of them are hosts.
    pub hosts: usize,
    /// Cables; overrides of rate and delay have been applied.
    pub cables: Vec<PlannedCable>,
}

/// One cable of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedCable {
    /// Node index of the end nearer to the hosts: always the host where there is one.
    pub a: u32,
    /// Node index of the other end.
    pub b: u32,
    /// Rate and delay.
    pub link: Link,
    /// Random loss, both ways.
    pub loss: f64,
}

impl Plan {
    /// Lays out a fabric whose sizes have been checked.
    pub fn of(fabric: &Fabric) -> Self {
        let Draft { hosts: names, switches, cables } = fabric.topology.lay_out();
        let hosts = names.len();
        let cable = |cable: DraftCable| {
            let (a, b) = cable.ends;
            let usual = if a < hosts { fabric.host_link } else { fabric.fabric_link };
            let rate = cable.rate.unwrap_or(usual.rate);
            let delay = cable.delay.unwrap_or(usual.delay);
            PlannedCable { a: a as u32, b: b as u32, link: Link { rate, delay }, loss: 0.0 }
        };
        let cables = cables.into_iter().map(cable).collect();
        let names = names.into_iter().chain(switches).collect();
        let mut plan = Self { names, hosts, cables };
        for o in &fabric.overrides {
            let places = Place::parse(&o.place);
            for i in 0..plan.cables.len() {
                if !places.covers(&plan, plan.cables[i]) {
                    continue;
                }
                let cable = &mut plan.cables[i];
                cable.link.rate = o.rate.unwrap_or(cable.link.rate);
                cable.link.delay = o.delay.unwrap_or(cable.link.delay);
                cable.loss = o.loss.unwrap_or(cable.loss);
            }
        }
        plan
    }

    /// `a-b`.
    pub fn cable_name(&self, cable: PlannedCable) -> String {
        format!("{}-{}", self.names[cable.a as usize], self.names[cable.b as usize])
    }

    /// Index of the node of this name.
    pub fn node(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|n| n == name)
    }

    /// The cable of this name, ends in either order.
    pub fn cable(&self, name: &str) -> Option<PlannedCable> {
        let (a, b) = name.split_once('-')?;
        let (a, b) = (self.node(a.trim())? as u32, self.node(b.trim())? as u32);
        self.cables.iter().copied().find(|c| (c.a, c.b) == (a, b) || (c.b, c.a) == (a, b))
    }

    /// The cable of this name, or one direction of it, `a->b`, with the node that sends.
    pub fn link(&self, name: &str) -> Option<(PlannedCable, Option<u32>)> {
        let Some((from, to)) = name.split_once("->") else {
            return Some((self.cable(name)?, None));
        };
        let (from, to) = (self.node(from.trim())? as u32, self.node(to.trim())? as u32);
        let joins = |c: &PlannedCable| (c.a, c.b) == (from, to) || (c.b, c.a) == (from, to);
        Some((self.cables.iter().copied().find(joins)?, Some(from)))
    }

    /// `a-b`, or `a->b` for the direction in which one end sends.
    pub fn link_name(&self, cable: PlannedCable, from: Option<u32>) -> String {
        let Some(from) = from else { return self.cable_name(cable) };
        let to = if from == cable.a { cable.b } else { cable.a };
        format!("{}->{}", self.names[from as usize], self.names[to as usize])
    }

    /// Ports, as node and peer, that a capture's `where` stands for: in canonical order.
    pub fn ports_like(&self, place: &str) -> Vec<(u32, u32)> {
        let (node, peer) = port_ends(place);
        let fits = |(n, p): &(u32, u32)| {
            let to_peer = || peer.is_none_or(|peer| matches(peer, &self.names[*p as usize]));
            matches(node, &self.names[*n as usize]) && to_peer()
        };
        let ends = self.cables.iter().flat_map(|c| [(c.a, c.b), (c.b, c.a)]);
        let mut ports: Vec<(u32, u32)> = ends.filter(fits).collect();
        ports.sort_unstable();
        ports
    }

    /// Nodes that a name or pattern stands for.
    pub fn nodes_like<'a>(&'a self, pattern: &'a str) -> impl Iterator<Item = usize> + 'a {
        (0..self.names.len()).filter(move |i| matches(pattern, &self.names[*i]))
    }
}

/// The ends of a capture's `where`: a port `a->b`, or all ports of a node.
pub(crate) fn port_ends(place: &str) -> (&str, Option<&str>) {
    match place.split_once("->") {
        Some((node, peer)) => (node.trim(), Some(peer.trim())),
        None => (place.trim(), None),
    }
}

/// What an override's `where` stands for.
pub(crate) enum Place<'a> {
    /// All cables of these nodes.
    Node(&'a str),
    /// Cables between such nodes.
    Cable(&'a str, &'a str),
}

impl<'a> Place<'a> {
    pub fn parse(text: &'a str) -> Self {
        match text.split_once('-') {
            Some((a, b)) => Self::Cable(a.trim(), b.trim()),
            None => Self::Node(text.trim()),
        }
    }

    pub fn covers(&self, plan: &Plan, cable: PlannedCable) -> bool {
        let (a, b) = (&plan.names[cable.a as usize], &plan.names[cable.b as usize]);
        match self {
            Self::Node(pattern) => matches(pattern, a) || matches(pattern, b),
            Self::Cable(one, two) => {
                matches(one, a) && matches(two, b) || matches(one, b) && matches(two, a)
            }
        }
    }
}

/// Whether an override's `where` stands for the egress port of `node` onto `cable`: the node itself, or the cable.
pub fn covers_port(place: &str, plan: &Plan, cable: PlannedCable, node: &str) -> bool {
    match Place::parse(place) {
        Place::Node(pattern) => matches(pattern, node),
        place @ Place::Cable(..) => place.covers(plan, cable),
    }
}

/// Whether `name` is as `pattern` says, where `*` stands for an index (one or more digits).
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(before) else { return false };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    digits > 0 && matches(after, &rest[digits..])
}

/// Every override must be about something, and in a graph every host must reach every other.
pub(crate) fn check(judge: &mut Judge<'_>, fabric: &Fabric, plan: &Plan) {
    for (i, o) in fabric.overrides.iter().enumerate() {
        let place = Place::parse(&o.place);
        if !plan.cables.iter().any(|c| place.covers(plan, *c)) {
            let example = plan.cables.last().map(|c| plan.cable_name(*c)).unwrap_or_default();
            let text = format!(
                "{:?} matches no node and no cable; write for instance {:?} or {example:?}",
                o.place, plan.names[plan.hosts]
            );
            judge.say(&format!("fabric.override[{i}].where"), text);
        }
    }
    if matches!(fabric.topology, Topology::Graph(_)) {
        check_reachable(judge, plan);
    }
}

/// Every host must reach every other.
fn check_reachable(judge: &mut Judge<'_>, plan: &Plan) {
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); plan.names.len()];
    for cable in &plan.cables {
        next[cable.a as usize].push(cable.b);
        next[cable.b as usize].push(cable.a);
    }
    let mut seen = vec![false; plan.names.len()];
    let mut todo = vec![0u32];
    while let Some(node) = todo.pop() {
        if !std::mem::replace(&mut seen[node as usize], true) {
            todo.extend(&next[node as usize]);
        }
    }
    if let Some(lost) = (0..plan.hosts).find(|h| !seen[*h]) {
        let (from, to) = (&plan.names[0], &plan.names[lost]);
        let text =
            format!("no path leads from {from:?} to {to:?}; add a cable between their switches");
        judge.say("fabric.cables", text);
    }
}

impl Judge<'_> {
    /// A name or pattern that fits nothing, with what would.
    pub fn no_such_node(&mut self, path: &str, name: &str, plan: &Plan, hosts_only: bool) {
        self.say(path, Self::no_node_text(name, plan, hosts_only));
    }

    /// Sentence that no node has this name, with the names that exist.
    pub fn no_node_text(name: &str, plan: &Plan, hosts_only: bool) -> String {
        let known = &plan.names[..if hosts_only { plan.hosts } else { plan.names.len() }];
        let what = if hosts_only { "host" } else { "node" };
        let close = did_you_mean(name, known.iter().take(4096).map(String::as_str));
        let (first, last) = (&known[0], &known[known.len() - 1]);
        format!("no {what} is called {:?}; they go from {first} to {last}{close}", shorten(name))
    }

    /// A place that is no port, with what would be one.
    pub fn no_such_port(&mut self, path: &str, place: &str, plan: &Plan) {
        if let Some(cable) = plan.cable(place) {
            let [a, b] = [cable.a, cable.b].map(|n| &plan.names[n as usize]);
            let text = format!(
                "{place:?} is a cable, which has two ends; write \"{a}->{b}\" or \"{b}->{a}\""
            );
            return self.say(path, text);
        }
        let (node, peer) = port_ends(place);
        let known = |name: &str| plan.nodes_like(name).next();
        let (Some(node), Some(peer)) = (known(node), peer) else {
            let name = node.to_string();
            return self.no_such_node(path, &name, plan, false);
        };
        if known(peer).is_none() {
            let name = peer.to_string();
            return self.no_such_node(path, &name, plan, false);
        }
        let mine = plan.ports_like(&plan.names[node]);
        let names: Vec<String> = mine
            .iter()
            .map(|(n, p)| format!("{}->{}", plan.names[*n as usize], plan.names[*p as usize]))
            .collect();
        let close = did_you_mean(place, names.iter().map(String::as_str));
        let (first, last) = (&names[0], &names[names.len() - 1]);
        self.say(
            path,
            format!("{:?} is not a port: no cable joins the two; the ports of {} go from {first} to {last}{close}", shorten(place), plan.names[node]),
        );
    }
}
