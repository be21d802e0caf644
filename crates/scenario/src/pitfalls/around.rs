//! What checks of pairs look at: each traffic entry with its transport, law, hosts and round trips.

use super::trips::{Sizes, Trips};
use crate::fabric::Pause;
use crate::plan::{Plan, PlannedCable, covers_port};
use crate::program::{Pairs, TrafficKind};
use crate::quantity::{Measure, QueueLength};
use crate::scenario::Scenario;
use crate::traffic::Traffic;
use crate::transport::{self, Transport};
use crate::workload::Hosts;
use forebay_jobs::{Algorithm, Schedule};
use forebay_laws::Laws;
use forebay_laws::flow::{Echo, FlowParams};
use forebay_units::{BitsPerSec, Bytes, Span, human};
use std::collections::{BTreeMap, BTreeSet};

/// Sources looked at for round trips.
const MOST_SOURCES: usize = 64;

/// A checked scenario, and what follows from it.
pub(super) struct CheckedScenario<'a> {
    pub scenario: &'a Scenario,
    pub plan: &'a Plan,
    pub hosts: Hosts,
    pub trips: Trips<'a>,
    pub entries: Vec<Entry<'a>>,
}

/// One source of flows.
pub(super) struct Entry<'a> {
    /// `traffic[0]`.
    pub at: String,
    pub traffic: &'a Traffic,
    /// `transport`, or `transports.NAME`.
    pub path: String,
    pub transport: &'a Transport,
    /// The law of its senders with its parameters; `None` where receivers have one.
    pub law: Option<FlowParams>,
    /// Most flows at once to one host.
    pub fan_in: u64,
    /// Sender and receiver of each flow, if the entry names them.
    pub ends: Option<Vec<(u32, u32)>>,
    pub trip: Trip,
}

/// Round trips of the flows of an entry on an empty fabric.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trip {
    pub longest: Span,
    pub shortest: Span,
    /// Rate of the slower end of the longest path.
    pub rate: BitsPerSec,
}

impl Trip {
    /// What the longest path carries in its round trip.
    pub fn carries(&self) -> Bytes {
        self.rate.bytes_in(self.longest)
    }
}

impl<'a> CheckedScenario<'a> {
    pub fn new(scenario: &'a Scenario, plan: &'a Plan) -> Self {
        let hosts = Hosts::of_plan(plan, &scenario.fabric.topology);
        let trips = Trips::new(plan, scenario.fabric.switch.latency);
        let mut any: BTreeMap<String, Trip> = BTreeMap::new();
        let all = (0..).zip(&scenario.traffic);
        let entries = all.map(|(i, traffic)| {
            let transport = scenario.transport_of(traffic);
            let path = match &traffic.transport {
                Some(name) if scenario.transports.contains_key(name) => transport::path(name),
                _ => "transport".into(),
            };
            let ends = ends(traffic, &hosts);
            let sizes = sizes(scenario, transport);
            let trip = match &ends {
                Some(ends) => named(&trips, &hosts, ends, sizes),
                None => *any.entry(path.clone()).or_insert_with(|| anywhere(&trips, &hosts, sizes)),
            };
            Entry {
                at: format!("traffic[{i}]"),
                law: law(&scenario.laws, traffic, transport),
                fan_in: fan_in(traffic, &hosts, ends.as_deref()),
                traffic,
                path,
                transport,
                ends,
                trip,
            }
        });
        let entries = entries.collect();
        Self { scenario, plan, hosts, trips, entries }
    }

    /// Whether ports pause rather than drop packets of a class.
    pub fn lossless(&self, class: u8) -> bool {
        self.scenario.fabric.pauses().any(|pause: &Pause| pause.of(class).is_some())
    }

    /// Egress ports of switches: node and cable.
    pub fn switch_ports(&self) -> impl Iterator<Item = (usize, PlannedCable)> + '_ {
        let ends = |c: &PlannedCable| [(c.a as usize, *c), (c.b as usize, *c)];
        self.plan.cables.iter().flat_map(ends).filter(|(node, _)| *node >= self.plan.hosts)
    }

    /// The limit of the queue of a port, and the key that gives it.
    pub fn port_limit(&self, node: usize, cable: PlannedCable) -> Option<(QueueLength, String)> {
        let name = &self.plan.names[node];
        let own = (0..).zip(&self.scenario.fabric.overrides).collect::<Vec<(usize, _)>>();
        let own = own.into_iter().rev().find_map(|(i, o)| {
            let limit = o.port_limit?;
            covers_port(&o.place, self.plan, cable, name)
                .then(|| (limit, format!("fabric.override[{i}].port_limit")))
        });
        let usual = self.scenario.fabric.switch.port_limit;
        own.or(usual.map(|limit| (limit, "fabric.switch.port_limit".into())))
    }

    /// Time from the start of an entry to the end of the run.
    pub fn left(&self, entry: &Entry<'_>) -> Span {
        self.scenario.stop.time.since(entry.traffic.start)
    }
}

impl Entry<'_> {
    /// Class of its data; the lowest where there are several.
    pub fn class(&self) -> u8 {
        self.traffic.class.unwrap_or(self.transport.class)
    }

    /// A full packet.
    pub fn packet(&self) -> Bytes {
        self.transport.mss.saturating_add(self.transport.header)
    }

    /// A length of a queue in bytes.
    pub fn bytes(&self, length: QueueLength) -> Bytes {
        length.payload(self.packet())
    }

    /// What its law asks receivers to echo of marks.
    pub fn echo(&self) -> Echo {
        self.law.as_ref().map_or(Echo::None, |law| law.needs().echo)
    }

    /// A parameter of its law, if the law has it and it reads so.
    pub fn param<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        let law = self.law.as_ref()?;
        let text = law.values().find(|(info, _)| info.name == name)?.1.to_string();
        text.parse().ok()
    }

    /// The name of its law.
    pub fn law_name(&self) -> &str {
        self.traffic.law.as_ref().unwrap_or(&self.transport.law)
    }

    /// The key of its law.
    pub fn law_key(&self) -> String {
        let own = self.traffic.law.is_some();
        format!("{}.law", if own { &self.at } else { &self.path })
    }

    /// Bytes of its largest flow, where the keys say it.
    pub fn size(&self) -> Option<Bytes> {
        self.traffic.kind.largest()
    }
}

/// A time as people read it.
pub(super) fn time(span: Span) -> String {
    human::micros(span.as_ps() as f64 / 1e6)
}

/// At least this long, in one or two digits, as it is written in a file.
pub(super) fn neat(span: Span) -> String {
    let mut step = 1u64;
    while span.as_ps() / step >= 100 {
        step *= 10;
    }
    Span::from_ps(span.as_ps().div_ceil(step) * step).text()
}

fn sizes(scenario: &Scenario, transport: &Transport) -> Sizes {
    let wire = |bytes: Bytes| bytes.saturating_add(scenario.fabric.wire.overhead);
    let data = transport.mss.saturating_add(transport.header);
    Sizes { data: wire(data), ack: wire(transport.ack_size) }
}

/// The law of an entry's senders, with the parameters of its transport and its own.
fn law(laws: &Laws, traffic: &Traffic, transport: &Transport) -> Option<FlowParams> {
    transport.receiver_driven().is_none().then_some(())?;
    let name = traffic.law.as_ref().unwrap_or(&transport.law);
    let mut law = laws.flow(name).ok()?;
    let common = transport.params.iter().filter(|_| *name == transport.law);
    for (key, text) in common.chain(&traffic.params) {
        let _ = law.set(key, text);
    }
    Some(law)
}

/// Sender and receiver of each flow that an entry names.
fn ends(traffic: &Traffic, hosts: &Hosts) -> Option<Vec<(u32, u32)>> {
    let index = |name: &String| hosts.index(name);
    let pair = |(a, b): (&String, &String)| Some((index(a)?, index(b)?));
    match &traffic.kind {
        TrafficKind::List(list) => {
            Some(list.flows.iter().filter_map(|flow| pair((&flow.from, &flow.to))).collect())
        }
        TrafficKind::Long(long) => Some(long.from.iter().zip(&long.to).filter_map(pair).collect()),
        TrafficKind::Rpc(rpc) => {
            let n = rpc.from.len().max(rpc.to.len());
            let all = match rpc.pairs {
                Pairs::Matched => (0..n)
                    .filter_map(|i| {
                        pair((&rpc.from[i % rpc.from.len()], &rpc.to[i % rpc.to.len()]))
                    })
                    .collect(),
                Pairs::All => rpc
                    .from
                    .iter()
                    .flat_map(|a| rpc.to.iter().filter_map(move |b| pair((a, b))))
                    .filter(|(a, b)| a != b)
                    .collect(),
            };
            Some(all)
        }
        TrafficKind::Collective(collective) => {
            let of = |(names, schedule): (&Vec<String>, Schedule)| {
                let hosts: Vec<Option<u32>> = names.iter().map(index).collect();
                let ends = (0..schedule.connections()).filter_map(move |nth| {
                    let (from, to, _) = schedule.ends(nth)?;
                    Some((hosts[from as usize]?, hosts[to as usize]?))
                });
                ends.collect::<Vec<_>>()
            };
            Some(collective.ranks.iter().zip(collective.schedules()).flat_map(of).collect())
        }
        _ => None,
    }
}

/// Most flows at once to one host.
fn fan_in(traffic: &Traffic, hosts: &Hosts, ends: Option<&[(u32, u32)]>) -> u64 {
    let others = (hosts.names.len() as u64).saturating_sub(1);
    let to_one = |ends: &[(u32, u32)]| {
        let mut count: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        ends.iter().for_each(|(src, dst)| _ = count.entry(*dst).or_default().insert(*src));
        count.values().map(|senders| senders.len() as u64).max().unwrap_or(1)
    };
    match (&traffic.kind, ends) {
        (TrafficKind::Incast(incast), _) => u64::from(incast.fan_in).min(others),
        (TrafficKind::AllToAll(_), _) => others,
        // The steps of other algorithms come one after the other: a sender at once for each group of a host.
        (TrafficKind::Collective(collective), _) if collective.algorithm != Algorithm::Direct => {
            let mut groups: BTreeMap<&String, u64> = BTreeMap::new();
            collective
                .ranks
                .iter()
                .flatten()
                .for_each(|name| *groups.entry(name).or_default() += 1);
            groups.into_values().max().unwrap_or(1)
        }
        (TrafficKind::Long(_) | TrafficKind::Rpc(_) | TrafficKind::Collective(_), Some(ends)) => {
            to_one(ends)
        }
        _ => 1,
    }
}

/// Round trips of these flows.
fn named(trips: &Trips<'_>, hosts: &Hosts, ends: &[(u32, u32)], sizes: Sizes) -> Trip {
    let mut by_source: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    ends.iter().for_each(|(src, dst)| _ = by_source.entry(*src).or_default().insert(*dst));
    let all = by_source.into_iter().take(MOST_SOURCES).flat_map(|(src, to)| {
        let found = trips.from(src, sizes);
        to.into_iter().filter_map(move |dst| Some((found[dst as usize]?, (src, dst))))
    });
    over(all, hosts)
}

/// Round trips between the hosts of any two racks.
fn anywhere(trips: &Trips<'_>, hosts: &Hosts, sizes: Sizes) -> Trip {
    let n = hosts.names.len();
    let most = (4_000_000 / n.max(1)).clamp(4, MOST_SOURCES);
    let mut seen = BTreeSet::new();
    let firsts = (0..n as u32).filter(|host| seen.insert(hosts.racks[*host as usize]));
    let sources: Vec<u32> = firsts.collect();
    let step = sources.len().div_ceil(most).max(1);
    let all = sources.into_iter().step_by(step).flat_map(|src| {
        let found = trips.from(src, sizes);
        let others = (0..n as u32).filter(move |dst| *dst != src);
        others.filter_map(move |dst| Some((found[dst as usize]?, (src, dst))))
    });
    over(all, hosts)
}

fn over(all: impl Iterator<Item = ((u32, Span), (u32, u32))>, hosts: &Hosts) -> Trip {
    let none = Trip {
        longest: Span::ZERO,
        shortest: Span::from_ps(u64::MAX),
        rate: BitsPerSec::default(),
    };
    let mut trip = all.fold(none, |trip, ((_, span), (src, dst))| {
        let shortest = trip.shortest.min(span);
        if span <= trip.longest {
            return Trip { shortest, ..trip };
        }
        let rate = hosts.rates[src as usize].min(hosts.rates[dst as usize]);
        Trip { longest: span, shortest, rate }
    });
    trip.shortest = trip.shortest.min(trip.longest);
    trip
}
