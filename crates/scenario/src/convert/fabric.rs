//! Shape, links, switches, overrides and faults.

use super::Judge;
use crate::model::{
    Cable, Change, DeadPort, EcnMarking, Fabric, Fault, Link, MarkAt, NotEct, Override,
    QueueLength, Release, Routing, SharedBuffer, Stop, Switch, Topology, Transport,
};
use crate::plan::{Place, Plan};
use crate::quantity::Length;
use crate::raw;
use forebay_units::{BitsPerSec, Bytes, Span};
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
/// Longest cable: a light second and more.
const LONGEST: Span = Span::from_secs(10);

/// DCTCP's step, for each 10 Gb/s: the convention of the public HPCC simulator.
const ECN_K_PER_10G: u64 = 30_000;
/// Buffer of a switch in the evaluation of HPCC (SIGCOMM 2019).
const BUFFER: Bytes = Bytes::new(32_000_000);
/// Choudhury and Hahne's threshold with its usual factor for lossy traffic.
const ALPHA: f64 = 1.0;

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
            self.say(&path, format!("{n} makes no fabric; write 1 or more"));
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
                format!("{hosts} hosts would need about {memory} of memory; write a fabric of at most {MOST_HOSTS} hosts"),
            );
        } else if cables > MOST_CABLES {
            let memory = memory_text(cables * CABLE_MEMORY);
            self.say(
                path,
                format!("{cables} cables between switches would need about {memory} of memory; write a fabric of at most {MOST_CABLES}"),
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

    fn rate(&mut self, path: &str, rate: BitsPerSec) {
        if rate.get() == 0 {
            self.say(
                path,
                "\"0bps\" never sends; write a rate above 0 (a [[fault]] takes a cable down)",
            );
        } else if rate > BitsPerSec::from_gbps(1_000_000) {
            self.say(path, format!("{rate} is more than 1000Tbps; write for instance \"100Gbps\""));
        }
    }

    fn delay(&mut self, path: &str, delay: Span) {
        if delay > LONGEST {
            self.say(
                path,
                format!("{delay} is longer than any cable; write at most \"{LONGEST}\""),
            );
        }
    }

    fn link(&mut self, path: &str, link: &raw::Link) -> Link {
        self.rate(&format!("{path}.rate"), link.rate.0);
        self.delay(&format!("{path}.delay"), link.delay.0);
        Link { rate: link.rate.0, delay: link.delay.0 }
    }

    /// All of `[fabric]`. Without a topology, only for its findings.
    pub(super) fn fabric(
        &mut self,
        f: &raw::Fabric,
        topology: Option<Topology>,
        transport: &Transport,
    ) -> Fabric {
        let host_link = self.link("fabric.host_link", &f.host_link);
        let alias = match &f.shape {
            raw::Shape::Dumbbell { bottleneck, .. } => {
                bottleneck.as_ref().map(|l| ("bottleneck", l))
            }
            raw::Shape::LeafSpine { spine_link, .. } => {
                spine_link.as_ref().map(|l| ("spine_link", l))
            }
            _ => None,
        };
        if let (Some((alias, _)), Some(_)) = (alias, &f.fabric_link) {
            self.say(
                &format!("fabric.{alias}"),
                "and fabric_link say the same thing twice; write one of them",
            );
        }
        let fabric_link = match (alias, &f.fabric_link) {
            (Some((key, link)), _) => self.link(&format!("fabric.{key}"), link),
            (None, Some(link)) => self.link("fabric.fabric_link", link),
            (None, None) => host_link,
        };
        let reroute_after = f.reroute_after.map(|r| r.0);
        if let Some(span) = reroute_after {
            self.short("fabric.reroute_after", span);
        }
        let wire_overhead = f.wire_overhead.map_or(Bytes::ZERO, |b| b.0);
        if wire_overhead.get() > 1_000 {
            self.say(
                "fabric.wire_overhead",
                format!("{wire_overhead} per packet is too much; Ethernet adds \"24B\""),
            );
        }
        let topology = topology.unwrap_or(Topology::Star { hosts: 2 });
        let marked =
            if matches!(topology, Topology::Dumbbell { .. }) { fabric_link } else { host_link };
        let switch = self.switch(f.switch.as_ref(), &topology, marked.rate, transport);
        let overrides = f.overrides.iter().enumerate().map(|(i, o)| self.setting(i, o)).collect();
        Fabric {
            topology,
            host_link,
            fabric_link,
            routing: match f.routing {
                None | Some(raw::Routing::Ecmp) => Routing::Ecmp,
                Some(raw::Routing::EcmpSymmetric) => Routing::EcmpSymmetric,
                Some(raw::Routing::Spray) => Routing::Spray,
            },
            reroute_after,
            dead_port: match f.dead_port {
                None | Some(raw::DeadPort::Drop) => DeadPort::Drop,
                Some(raw::DeadPort::Hold) => DeadPort::Hold,
            },
            switch,
            wire_overhead,
            overrides,
        }
    }

    fn switch(
        &mut self,
        switch: Option<&raw::Switch>,
        topology: &Topology,
        rate: BitsPerSec,
        transport: &Transport,
    ) -> Switch {
        let default = raw::Switch::default();
        let s = switch.unwrap_or(&default);
        let latency = s.latency.map_or(Span::ZERO, |l| l.0);
        self.delay("fabric.switch.latency", latency);
        let packet = transport.mss.saturating_add(transport.header);
        let mut port_limit = s.port_limit.map(|l| l.0);
        self.holds_a_packet("fabric.switch.port_limit", port_limit, packet);
        let pool = match &s.buffer {
            Some(raw::Buffer::Pool(pool)) => Some(pool),
            _ => None,
        };
        let shared_buffer = match &s.buffer {
            None if port_limit.is_some() => None,
            None => Some(SharedBuffer { size: BUFFER, alpha: Some(ALPHA) }),
            Some(raw::Buffer::Word(_)) => None,
            Some(raw::Buffer::Pool(pool)) => self.pool(pool, packet),
        };
        if let Some(pool) = pool
            && pool.policy == Some(raw::Policy::Static)
        {
            if port_limit.is_some() {
                self.say(
                    "fabric.switch.port_limit",
                    "and the policy \"static\" both limit a port; write one of them",
                );
            }
            let share = Bytes::new(pool.size.0.get() / most_ports(topology));
            port_limit = Some(QueueLength::Bytes(share));
            self.holds_a_packet("fabric.switch.buffer.size", port_limit, packet);
        }
        Switch {
            latency,
            shared_buffer,
            port_limit,
            ecn: self.ecn(s.ecn.as_ref(), rate),
            classes: s.classes.unwrap_or(1) as u8,
            release: match s.release {
                None | Some(raw::Release::Fluid) => Release::Fluid,
                Some(raw::Release::Start) => Release::Start,
            },
        }
    }

    fn holds_a_packet(&mut self, path: &str, limit: Option<QueueLength>, packet: Bytes) {
        let short = match limit {
            Some(QueueLength::Bytes(bytes)) => bytes < packet,
            Some(QueueLength::Packets(n)) => n == 0,
            None => false,
        };
        if short {
            self.say(path, format!("leaves a port less than one packet of {packet}, so nothing would pass; write more"));
        }
    }

    fn pool(&mut self, pool: &raw::Pool, packet: Bytes) -> Option<SharedBuffer> {
        self.holds_a_packet(
            "fabric.switch.buffer.size",
            Some(QueueLength::Bytes(pool.size.0)),
            packet,
        );
        let policy = pool.policy.unwrap_or(raw::Policy::DynamicThreshold);
        let path = "fabric.switch.buffer.alpha";
        match pool.alpha {
            Some(alpha) if policy != raw::Policy::DynamicThreshold => {
                self.say(
                    path,
                    format!(
                        "{alpha} means nothing here; it belongs to policy \"dynamic-threshold\""
                    ),
                );
            }
            Some(alpha) if alpha <= 0.0 || alpha > 1e6 => {
                self.say(
                    path,
                    format!("{alpha} is out of range; write a number above 0, for instance 1"),
                );
            }
            _ => {}
        }
        match policy {
            raw::Policy::DynamicThreshold => {
                Some(SharedBuffer { size: pool.size.0, alpha: Some(pool.alpha.unwrap_or(ALPHA)) })
            }
            raw::Policy::Shared => Some(SharedBuffer { size: pool.size.0, alpha: None }),
            raw::Policy::Static => None,
        }
    }

    fn ecn(&mut self, ecn: Option<&raw::Ecn>, rate: BitsPerSec) -> Option<EcnMarking> {
        let path = "fabric.switch.ecn";
        let step = |k| (k, k);
        let default_k = || {
            let k = u128::from(rate.get()) * u128::from(ECN_K_PER_10G) / 10_000_000_000;
            QueueLength::Bytes(Bytes::new((k as u64).max(1)))
        };
        let m = match ecn {
            Some(raw::Ecn::Word(raw::NoEcn::Off)) => return None,
            Some(raw::Ecn::Marking(marking)) => Some(marking),
            None => None,
        };
        let length = |l: Option<Length>| l.map(|l| l.0);
        let (k, min, max) =
            m.map_or((None, None, None), |m| (length(m.k), length(m.kmin), length(m.kmax)));
        let (kmin, kmax) = match (k, min, max) {
            (None, None, None) => step(default_k()),
            (Some(k), None, None) => step(k),
            (None, Some(kmin), Some(kmax)) => (kmin, kmax),
            (Some(_), _, _) => {
                self.say(
                    &format!("{path}.k"),
                    "is a step, kmin and kmax are a ramp; write one or the other",
                );
                step(default_k())
            }
            _ => {
                self.say(path, "has half a ramp; write kmin and kmax, or k alone for a step");
                step(default_k())
            }
        };
        let ordered = match (kmin, kmax) {
            (QueueLength::Bytes(a), QueueLength::Bytes(b)) => a <= b,
            (QueueLength::Packets(a), QueueLength::Packets(b)) => a <= b,
            _ => {
                self.say(
                    &format!("{path}.kmax"),
                    "and kmin are not both bytes or both packets; write both in one of them",
                );
                true
            }
        };
        if !ordered {
            self.say(&format!("{path}.kmax"), "is less than kmin; a ramp goes up");
        }
        let pmax = m.and_then(|m| m.pmax).unwrap_or(1.0);
        self.share(&format!("{path}.pmax"), pmax);
        Some(EcnMarking {
            kmin,
            kmax,
            pmax,
            at: match m.and_then(|m| m.at) {
                None | Some(raw::MarkAt::Enqueue) => MarkAt::Enqueue,
                Some(raw::MarkAt::Dequeue) => MarkAt::Dequeue,
            },
            not_ect: match m.and_then(|m| m.not_ect) {
                None | Some(raw::NotEct::Pass) => NotEct::Pass,
                Some(raw::NotEct::Drop) => NotEct::Drop,
            },
        })
    }

    fn setting(&mut self, i: usize, o: &raw::Override) -> Override {
        let path = format!("fabric.override[{i}]");
        if let Some(rate) = o.rate {
            self.rate(&format!("{path}.rate"), rate.0);
        }
        if let Some(delay) = o.delay {
            self.delay(&format!("{path}.delay"), delay.0);
        }
        if let Some(loss) = o.loss {
            self.share(&format!("{path}.loss"), loss);
        }
        if o.rate.is_none() && o.delay.is_none() && o.port_limit.is_none() && o.loss.is_none() {
            self.say(&path, "changes nothing; write a rate, a delay, a port_limit or a loss");
        }
        Override {
            place: o.place.clone(),
            rate: o.rate.map(|r| r.0),
            delay: o.delay.map(|d| d.0),
            port_limit: o.port_limit.map(|l| l.0),
            loss: o.loss,
        }
    }

    /// Every override must be about something.
    pub(super) fn overrides(&mut self, fabric: &Fabric, plan: &Plan) {
        for (i, o) in fabric.overrides.iter().enumerate() {
            let place = Place::parse(&o.place);
            if !plan.cables.iter().any(|c| place.covers(plan, *c)) {
                let example = plan.cables.last().map(|c| plan.cable_name(*c)).unwrap_or_default();
                let text = format!(
                    "{:?} matches no node and no cable; write for instance {:?} or {example:?}",
                    o.place, plan.names[plan.hosts]
                );
                self.say(&format!("fabric.override[{i}].where"), text);
            }
        }
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

    /// Faults in file order; each `for` adds the fault that undoes it.
    pub(super) fn faults(&mut self, faults: &[raw::Fault], stop: Stop, plan: &Plan) -> Vec<Fault> {
        let mut all = Vec::new();
        for (i, fault) in faults.iter().enumerate() {
            let path = format!("fault[{i}]");
            let Some(cable) = plan.cable(&fault.link) else {
                let example = plan.cables.last().map(|c| plan.cable_name(*c)).unwrap_or_default();
                self.say(
                    &format!("{path}.link"),
                    format!("{:?} is no cable; write for instance {example:?}", fault.link),
                );
                continue;
            };
            let Some(change) = self.change(&path, fault) else { continue };
            let at = fault.at.0;
            if at >= stop.time {
                let text =
                    format!("{at} is not before the end of the run, stop.time = {}", stop.time);
                self.say(&format!("{path}.at"), text);
            }
            let link = plan.cable_name(cable);
            all.push(Fault { at, link: link.clone(), change });
            if let Some(lasts) = fault.lasts {
                self.span(&format!("{path}.for"), lasts.0);
                let undo = match change {
                    Change::Down => Change::Up,
                    Change::Up => {
                        self.say(
                            &format!("{path}.for"),
                            "means nothing with change = \"up\"; leave it out",
                        );
                        continue;
                    }
                    Change::Rate(_) => Change::Rate(cable.link.rate),
                    Change::Loss(_) => Change::Loss(cable.loss),
                };
                all.push(Fault { at: at.saturating_add(lasts.0), link, change: undo });
            }
        }
        all
    }

    fn change(&mut self, path: &str, fault: &raw::Fault) -> Option<Change> {
        let kind = fault.change.unwrap_or(match (fault.rate, fault.loss) {
            (Some(_), _) => raw::Change::Rate,
            (None, Some(_)) => raw::Change::Loss,
            (None, None) => raw::Change::Down,
        });
        let word = match kind {
            raw::Change::Down => "down",
            raw::Change::Up => "up",
            raw::Change::Rate => "rate",
            raw::Change::Loss => "loss",
        };
        if fault.rate.is_some() && kind != raw::Change::Rate {
            self.say(
                &format!("{path}.rate"),
                format!(
                    "means nothing with change = {word:?}; leave it out, or add a fault of its own"
                ),
            );
        }
        if fault.loss.is_some() && kind != raw::Change::Loss {
            self.say(
                &format!("{path}.loss"),
                format!(
                    "means nothing with change = {word:?}; leave it out, or add a fault of its own"
                ),
            );
        }
        match (kind, fault.rate, fault.loss) {
            (raw::Change::Down, ..) => Some(Change::Down),
            (raw::Change::Up, ..) => Some(Change::Up),
            (raw::Change::Rate, Some(rate), _) => {
                self.rate(&format!("{path}.rate"), rate.0);
                Some(Change::Rate(rate.0))
            }
            (raw::Change::Loss, _, Some(loss)) => {
                self.share(&format!("{path}.loss"), loss);
                Some(Change::Loss(loss))
            }
            _ => {
                self.say(path, format!("change = {word:?} needs a new {word}; write {word} = ..."));
                None
            }
        }
    }
}

/// Ports of the switch that has most, by shape.
fn most_ports(topology: &Topology) -> u64 {
    match topology {
        Topology::Dumbbell { left, right } => u64::from(*left.max(right)) + 1,
        Topology::Star { hosts } => u64::from(*hosts),
        Topology::LeafSpine { leaves, spines, hosts_per_leaf } => {
            u64::from(*leaves).max(u64::from(*spines) + u64::from(*hosts_per_leaf))
        }
        Topology::FatTree { k, .. } => u64::from(*k),
        Topology::Graph { switches, cables, .. } => {
            let degree =
                |s: &String| cables.iter().filter(|c| c.a == *s || c.b == *s).count() as u64;
            switches.iter().map(degree).max().unwrap_or(0).max(1)
        }
    }
}

/// `36.6 GB`, for forecasts.
pub(crate) fn memory_text(bytes: u128) -> String {
    let units = ["B", "KB", "MB", "GB", "TB", "PB"];
    let mut scale = 1u128;
    let mut unit = 0;
    while bytes / scale >= 1000 && unit + 1 < units.len() {
        scale *= 1000;
        unit += 1;
    }
    format!("{:.1} {}", bytes as f64 / scale as f64, units[unit])
}
