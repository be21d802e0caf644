//! Names of nodes and cables, in canonical order.
//!
//! Order: hosts, then switches, each as its topology lists them (indices rising, outer ones first); in a
//! graph, by name, so that the order of lines in a file changes nothing.

use crate::model::{Clos, Fabric, Link, Topology};

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
        let mut plan = Draft::of(&fabric.topology).finish(fabric);
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

/// Names and ends, before rates.
struct Draft {
    hosts: Vec<String>,
    switches: Vec<String>,
    /// Ends as indices into hosts-then-switches, and the cable's own link.
    cables: Vec<(usize, usize, Option<Link>)>,
}

impl Draft {
    fn of(topology: &Topology) -> Self {
        match topology {
            Topology::Dumbbell { left, right } => dumbbell(*left as usize, *right as usize),
            Topology::Star { hosts } => {
                let n = *hosts as usize;
                let cables = (0..n).map(|h| (h, n, None)).collect();
                Self {
                    hosts: (0..n).map(|h| format!("host[{h}]")).collect(),
                    switches: vec!["tor".into()],
                    cables,
                }
            }
            Topology::LeafSpine { leaves, spines, hosts_per_leaf } => {
                leaf_spine(*leaves as usize, *spines as usize, *hosts_per_leaf as usize)
            }
            Topology::FatTree { tiers: 2, k } => {
                let k = *k as usize;
                leaf_spine(k, k / 2, k / 2)
            }
            Topology::FatTree { k, .. } => clos(Clos::fat_tree(*k)),
            Topology::Clos(shape) => clos(*shape),
            Topology::Graph { hosts, switches, cables } => graph(hosts, switches, cables),
        }
    }

    fn finish(self, fabric: &Fabric) -> Plan {
        let hosts = self.hosts.len();
        let cables = self.cables.into_iter().map(|(a, b, link)| {
            let usual = if a < hosts { fabric.host_link } else { fabric.fabric_link };
            PlannedCable { a: a as u32, b: b as u32, link: link.unwrap_or(usual), loss: 0.0 }
        });
        let cables = cables.collect();
        Plan { names: self.hosts.into_iter().chain(self.switches).collect(), hosts, cables }
    }
}

fn dumbbell(left: usize, right: usize) -> Draft {
    let hosts = (0..left)
        .map(|i| format!("left.host[{i}]"))
        .chain((0..right).map(|j| format!("right.host[{j}]")))
        .collect();
    let n = left + right;
    let mut cables: Vec<_> = (0..n).map(|h| (h, if h < left { n } else { n + 1 }, None)).collect();
    cables.push((n, n + 1, None));
    Draft { hosts, switches: vec!["left".into(), "right".into()], cables }
}

fn leaf_spine(leaves: usize, spines: usize, per_leaf: usize) -> Draft {
    let n = leaves * per_leaf;
    let mut hosts = Vec::with_capacity(n);
    let mut cables = Vec::with_capacity(n + leaves * spines);
    for l in 0..leaves {
        for h in 0..per_leaf {
            cables.push((hosts.len(), n + l, None));
            hosts.push(format!("leaf[{l}].host[{h}]"));
        }
    }
    for l in 0..leaves {
        cables.extend((0..spines).map(|s| (n + l, n + leaves + s, None)));
    }
    let switches = (0..leaves)
        .map(|l| format!("leaf[{l}]"))
        .chain((0..spines).map(|s| format!("spine[{s}]")))
        .collect();
    Draft { hosts, switches, cables }
}

fn clos(Clos { pods, edges, aggs, cores, hosts }: Clos) -> Draft {
    let [pods, edges, aggs, cores, hosts] = [pods, edges, aggs, cores, hosts].map(|n| n as usize);
    let n = pods * edges * hosts;
    let (edge, agg, core) = (n, n + pods * edges, n + pods * (edges + aggs));
    let mut draft = Draft { hosts: Vec::new(), switches: Vec::new(), cables: Vec::new() };
    for p in 0..pods {
        for e in 0..edges {
            for h in 0..hosts {
                draft.cables.push((draft.hosts.len(), edge + p * edges + e, None));
                draft.hosts.push(format!("pod[{p}].edge[{e}].host[{h}]"));
            }
        }
    }
    for p in 0..pods {
        draft.switches.extend((0..edges).map(|e| format!("pod[{p}].edge[{e}]")));
    }
    for p in 0..pods {
        draft.switches.extend((0..aggs).map(|a| format!("pod[{p}].agg[{a}]")));
    }
    draft.switches.extend((0..cores).map(|c| format!("core[{c}]")));
    for p in 0..pods {
        for e in 0..edges {
            let up = |a| (edge + p * edges + e, agg + p * aggs + a, None);
            draft.cables.extend((0..aggs).map(up));
        }
    }
    let group = cores / aggs;
    for p in 0..pods {
        for a in 0..aggs {
            let up = |c| (agg + p * aggs + a, core + a * group + c, None);
            draft.cables.extend((0..group).map(up));
        }
    }
    draft
}

/// Ends that do not exist were refused before; here they are left out.
fn graph(hosts: &[String], switches: &[String], cables: &[crate::model::Cable]) -> Draft {
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        names
    };
    let (hosts, switches) = (sorted(hosts), sorted(switches));
    let find = |name: &String| {
        let host = hosts.binary_search(name).ok();
        host.or_else(|| switches.binary_search(name).ok().map(|s| hosts.len() + s))
    };
    let mut ends: Vec<_> = cables
        .iter()
        .filter_map(|c| {
            let (a, b) = (find(&c.a)?, find(&c.b)?);
            Some((a.min(b), a.max(b), c.link))
        })
        .collect();
    ends.sort_by_key(|c| (c.0, c.1));
    Draft { hosts, switches, cables: ends }
}
