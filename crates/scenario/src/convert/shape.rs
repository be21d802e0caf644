//! The shape of the fabric: sizes that can be laid out, names and cables that make sense.

use super::Judge;
use crate::model::{Cable, Clos, Link, Topology};
use crate::plan::Plan;
use crate::problem::{grouped, memory_text};
use crate::raw;
use std::collections::{BTreeMap, BTreeSet};

/// Ports of a switch, and switches with hosts, are numbered in 16 bits.
const MOST_PORTS: i64 = 65_535;
/// More hosts than this are refused with a forecast.
const MOST_HOSTS: u128 = 1 << 20;
/// More cables between switches than this are refused with a forecast.
const MOST_CABLES: u128 = 1 << 22;
/// Memory of a host with its flows: 300 MB for 8,192 hosts (`DESIGN.md`, section 9).
const HOST_MEMORY: u128 = 36_600;
/// Memory of a cable between switches. Assumption: two ports with their rings.
const CABLE_MEMORY: u128 = 4_096;

impl Judge<'_> {
    /// The shape, if its sizes can be laid out.
    pub(super) fn topology(&mut self, fabric: &raw::Fabric) -> Option<Topology> {
        let before = self.findings.len();
        let topology = match &fabric.shape {
            raw::Shape::Dumbbell { left, right, .. } => {
                self.count("left", *left, MOST_PORTS - 1);
                self.count("right", *right, MOST_PORTS - 1);
                Topology::Dumbbell { left: *left as u32, right: *right as u32 }
            }
            raw::Shape::Star { hosts } => {
                self.count("hosts", *hosts, MOST_PORTS);
                if *hosts == 1 {
                    self.say("fabric.hosts", "1 host has nobody to talk to; write 2 or more");
                }
                Topology::Star { hosts: *hosts as u32 }
            }
            raw::Shape::LeafSpine { leaves, spines, hosts_per_leaf, .. } => {
                self.leaf_spine(*leaves, *spines, *hosts_per_leaf)
            }
            raw::Shape::FatTree { tiers, k } => self.fat_tree(tiers.unwrap_or(3), *k),
            raw::Shape::Clos { pods, edges_per_pod, aggs_per_pod, cores, hosts_per_edge } => {
                self.clos(*pods, [*edges_per_pod, *aggs_per_pod, *hosts_per_edge], *cores)
            }
            raw::Shape::Graph { hosts, switches, cables } => {
                self.graph(fabric, hosts, switches, cables)
            }
        };
        (self.findings.len() == before).then_some(topology)
    }

    /// A count of ports or nodes: 1 to `most`.
    fn count(&mut self, key: &str, n: i64, most: i64) {
        let path = format!("fabric.{key}");
        if n < 1 {
            self.say(&path, format!("{n} is too few; write 1 or more"));
        } else if n as u128 > MOST_HOSTS {
            self.forecast(&path, n as u128, 0);
        } else if n > most {
            self.say(
                &path,
                format!("{n} is more than a switch has ports for; write at most {most}"),
            );
        }
    }

    /// Refuses what no memory would hold.
    fn forecast(&mut self, path: &str, hosts: u128, cables: u128) {
        if hosts > MOST_HOSTS {
            let memory = memory_text(hosts * HOST_MEMORY);
            self.say(
                path,
                format!("{} hosts would need about {memory} of memory; write a fabric of at most {} hosts", grouped(hosts), grouped(MOST_HOSTS)),
            );
        } else if cables > MOST_CABLES {
            let memory = memory_text(cables * CABLE_MEMORY);
            self.say(
                path,
                format!("{} cables between switches would need about {memory} of memory; write a fabric of at most {}", grouped(cables), grouped(MOST_CABLES)),
            );
        }
    }

    fn leaf_spine(&mut self, leaves: i64, spines: i64, hosts_per_leaf: i64) -> Topology {
        let before = self.findings.len();
        self.count("leaves", leaves, MOST_PORTS);
        self.count("spines", spines, MOST_PORTS);
        self.count("hosts_per_leaf", hosts_per_leaf, MOST_PORTS);
        if self.findings.len() == before {
            self.forecast(
                "fabric.leaves",
                leaves as u128 * hosts_per_leaf as u128,
                leaves as u128 * spines as u128,
            );
            let ports = hosts_per_leaf + spines;
            if ports > MOST_PORTS {
                self.say(
                    "fabric.hosts_per_leaf",
                    format!("{hosts_per_leaf} hosts and {spines} spines make {ports} ports of a leaf; at most {MOST_PORTS} are possible"),
                );
            }
            if leaves * hosts_per_leaf == 1 {
                self.say("fabric.hosts_per_leaf", "1 host has nobody to talk to; write 2 or more");
            }
        }
        Topology::LeafSpine {
            leaves: leaves as u32,
            spines: spines as u32,
            hosts_per_leaf: hosts_per_leaf as u32,
        }
    }

    fn fat_tree(&mut self, tiers: i64, k: i64) -> Topology {
        if tiers != 2 && tiers != 3 {
            self.say("fabric.tiers", format!("{tiers} is not possible; write 2 or 3"));
        }
        if k < 2 || k % 2 != 0 {
            self.say(
                "fabric.k",
                format!(
                    "{k} cannot be split into ports up and down; write an even number, 4 or more"
                ),
            );
        } else if k > MOST_PORTS {
            self.say(
                "fabric.k",
                format!("{k} is more than a switch has ports; write at most 65534"),
            );
        } else {
            let k = k as u128;
            let (hosts, cables) =
                if tiers == 2 { (k * k / 2, k * k / 2) } else { (k * k * k / 4, k * k * k / 2) };
            self.forecast("fabric.k", hosts, cables);
        }
        Topology::FatTree { tiers: tiers as u8, k: k as u32 }
    }

    fn clos(&mut self, pods: i64, [edges, aggs, hosts]: [i64; 3], cores: i64) -> Topology {
        let before = self.findings.len();
        self.count("pods", pods, MOST_PORTS);
        self.count("edges_per_pod", edges, MOST_PORTS);
        self.count("aggs_per_pod", aggs, MOST_PORTS);
        self.count("hosts_per_edge", hosts, MOST_PORTS);
        self.count("cores", cores, MOST_PORTS * MOST_PORTS);
        if self.findings.len() == before {
            if cores % aggs != 0 {
                let text = format!(
                    "{cores} core switches cannot be split among {aggs} aggregation switches of a pod; write a multiple of {aggs}"
                );
                self.say("fabric.cores", text);
            }
            let racks = pods as u128 * edges as u128;
            let cables = racks * aggs as u128 + pods as u128 * cores as u128;
            self.forecast("fabric.pods", racks * hosts as u128, cables);
            let most = (hosts + aggs).max(edges + cores / aggs).max(pods);
            if most > MOST_PORTS {
                let text = format!("{most} ports are more than a switch has; at most {MOST_PORTS}");
                self.say("fabric.kind", text);
            }
            if racks * hosts as u128 == 1 {
                self.say("fabric.hosts_per_edge", "1 host has nobody to talk to; write 2 or more");
            }
        }
        Topology::Clos(Clos {
            pods: pods as u32,
            edges: edges as u32,
            aggs: aggs as u32,
            cores: cores as u32,
            hosts: hosts as u32,
        })
    }

    fn graph(
        &mut self,
        fabric: &raw::Fabric,
        hosts: &[String],
        switches: &[String],
        cables: &[raw::Cable],
    ) -> Topology {
        self.forecast("fabric.hosts", hosts.len() as u128, cables.len() as u128);
        let names = self.graph_names(hosts, switches);
        if hosts.len() < 2 {
            self.say(
                "fabric.hosts",
                format!("{} hosts have nobody to talk to; write 2 or more", hosts.len()),
            );
        }
        let mut degree: BTreeMap<&str, i64> = BTreeMap::new();
        let mut joined = BTreeSet::new();
        let mut checked = Vec::new();
        for (i, cable) in cables.iter().enumerate() {
            let path = format!("fabric.cables[{i}]");
            let mut known = true;
            for (end, name) in [("a", &cable.a), ("b", &cable.b)] {
                if !names.contains_key(name.as_str()) {
                    let close = crate::tree::did_you_mean(name, names.keys().copied());
                    self.say(
                        &format!("{path}.{end}"),
                        format!("{name:?} is neither in hosts nor in switches{close}"),
                    );
                    known = false;
                }
                *degree.entry(name).or_default() += 1;
            }
            let (a, b) = (cable.a.as_str(), cable.b.as_str());
            if a == b {
                self.say(&path, format!("joins {a:?} to itself; write two different ends"));
            } else if !joined.insert((a.min(b), a.max(b))) {
                self.say(
                    &path,
                    format!(
                        "joins {a:?} and {b:?} a second time; give one cable the sum of the rates"
                    ),
                );
            }
            let host_end = names.get(a) == Some(&true) || names.get(b) == Some(&true);
            if known && names.get(a) == Some(&true) && names.get(b) == Some(&true) {
                self.say(
                    &path,
                    format!("joins the hosts {a:?} and {b:?}; a host's cable goes to a switch"),
                );
            }
            checked.push(self.cable(fabric, cable, host_end, &path));
        }
        for (i, host) in hosts.iter().enumerate() {
            match degree.get(host.as_str()).copied().unwrap_or(0) {
                1 => {}
                n => self.say(
                    &format!("fabric.hosts[{i}]"),
                    format!("{host:?} has {n} cables; give it exactly one, to a switch"),
                ),
            }
        }
        for (i, switch) in switches.iter().enumerate() {
            let n = degree.get(switch.as_str()).copied().unwrap_or(0);
            if n > MOST_PORTS {
                self.say(
                    &format!("fabric.switches[{i}]"),
                    format!("{switch:?} has {n} cables; at most {MOST_PORTS} are possible"),
                );
            }
        }
        if switches.len() as i64 > MOST_PORTS {
            self.say(
                "fabric.switches",
                format!("{} switches are too many; write at most {MOST_PORTS}", switches.len()),
            );
        }
        Topology::Graph { hosts: hosts.to_vec(), switches: switches.to_vec(), cables: checked }
    }

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

    fn cable(
        &mut self,
        fabric: &raw::Fabric,
        cable: &raw::Cable,
        host_end: bool,
        path: &str,
    ) -> Cable {
        let usual = if host_end {
            &fabric.host_link
        } else {
            fabric.fabric_link.as_ref().unwrap_or(&fabric.host_link)
        };
        let link = (cable.rate.is_some() || cable.delay.is_some()).then(|| Link {
            rate: cable.rate.unwrap_or(usual.rate).0,
            delay: cable.delay.unwrap_or(usual.delay).0,
        });
        if let Some(link) = link {
            self.rate(&format!("{path}.rate"), link.rate);
            self.delay(&format!("{path}.delay"), link.delay);
        }
        Cable { a: cable.a.clone(), b: cable.b.clone(), link }
    }

    /// Every host of a graph must reach every other.
    pub(super) fn reachable(&mut self, plan: &Plan) {
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
            self.say(
                "fabric.cables",
                format!(
                    "no path leads from {from:?} to {to:?}; add a cable between their switches"
                ),
            );
        }
    }
}
