//! Columns: lists of numbers of runs, by name.

use forebay_record::columns::{memory_columns, memory_numbers};
use forebay_record::{
    CollectiveRow, ConnectionRow, FlowRow, MemoryRow, PortRow, RunRecord, Series,
};
use forebay_scenario::expect::{Condition, Operand, Rows};
use forebay_scenario::plan::matches;
use forebay_sim::{Inspection, PortState, RackState, SenderState, VoqState};
use forebay_units::{Bytes, Time};
use std::cmp::Ordering;

/// How things stood in one simulation when its measured part began, at some looks, and at its end.
#[derive(Clone, Debug)]
pub struct Window {
    /// At the end of the warm-up.
    pub before: Inspection,
    /// Columns of some instants after it: the values at one, then those at the next.
    pub looks: Vec<(Column, Vec<f64>)>,
    /// At the end of the run.
    pub after: Inspection,
    /// Seconds from the end of the warm-up to `stop.time`.
    pub seconds: f64,
    /// Names of nodes: hosts, then switches.
    pub names: Vec<String>,
}

/// A list of numbers of each run. Its order is that of the tables of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// `flows.NAME` or `flows(CONDITIONS).NAME`: flows with an end that began after the warm-up.
    Flows(Vec<Condition>, &'static str),
    /// `rpcs.NAME` or `rpcs(CONDITIONS).NAME`: RPCs that were issued after the warm-up and are over.
    Rpcs(Vec<Condition>, &'static str),
    /// `connections.NAME`: connections of RPCs, after the warm-up.
    Connections(&'static str),
    /// `port(NODE->PEER).NAME`: over the whole run. `*` stands for an index, and alone for all ports.
    Port(String, &'static str),
    /// `memory(HOST).NAME`: a column of `memory.csv`, of hosts whose path to memory is modelled.
    Memory(String, &'static str),
    /// `memory(HOST).cache_miss_share`: share of the receive buffers read that were not in the cache; `cache_miss_share(ENTRY)`: of those with
    /// data of one `[[traffic]]` entry.
    CacheMissShare(String, Option<usize>),
    /// `series(NAME)`: samples of all series of this name over the whole run. `*` stands for an index.
    WholeSeries(String),
    /// `window.seconds`: length of the measured part, one number.
    Seconds,
    /// `window.flows.NAME`: flows that are not over at the end, in the measured part.
    WindowFlows(&'static str),
    /// `window.port(NODE->PEER).NAME`: in the measured part.
    WindowPort(String, &'static str),
    /// `window.host(NAME).NAME`: in the measured part.
    WindowHost(String, &'static str),
    /// `window.series(NAME)`: samples of all series of this name in the measured part.
    Series(String),
    /// `window.times(NAME)`: seconds of these samples.
    Times(String),
    /// `window.means(NAME)`: mean of each of these series in the measured part.
    Means(String),
    /// `looks.port(NODE->PEER).NAME`: at each look, ports within it.
    LookPort(String, &'static str),
    /// `looks.host(NAME).NAME`: at each look, hosts within it.
    LookHost(String, &'static str),
    /// `looks.seconds`: from the end of the warm-up to each look.
    LookSeconds,
    /// `looks.at_s`: the time of each look.
    LookTime,
    /// `looks.voqs.NAME`: of all queues by destination together, at each look.
    LookVoqs(&'static str),
    /// `racks.NAME`: switches that queue by destination, over the whole run.
    Racks(&'static str),
    /// `window.voqs.NAME`: queues by destination, in the measured part.
    WindowVoqs(&'static str),
}

/// A pattern that all ports match.
const ALL_PORTS: &str = "*";

type Of<T> = (&'static str, fn(&T) -> u64);

/// Of a flow and the end of its run.
type OfFlow = (&'static str, fn(&FlowRow, Time) -> f64);

/// Of a connection.
type OfConnection = (&'static str, fn(&ConnectionRow) -> f64);

/// Of an RPC that is over: its latency.
const RPCS: [&str; 1] = ["latency_us"];

/// Of connections of RPCs.
const CONNECTIONS: [OfConnection; 1] = [
    // Requests and responses in order at their ends.
    ("delivered_bytes", |of| (of.request_bytes.get() + of.response_bytes.get()) as f64),
];

/// Of flows.
const FLOWS: [OfFlow; 12] = [
    // FCT; of a flow that is not over, its age.
    ("elapsed_s", elapsed),
    // FCT of the same flow alone.
    ("ideal_s", |flow, _| flow.ideal.as_secs_f64()),
    ("slowdown", |flow, end| {
        flow.slowdown().unwrap_or_else(|| elapsed(flow, end) / flow.ideal.as_secs_f64())
    }),
    // When the receiver had all of it; the end of the run if it had not.
    ("ended_at_s", |flow, end| flow.delivered.unwrap_or(end).as_secs_f64()),
    // When the sender had its last ACK; infinite if it has not.
    ("acked_at_s", |flow, _| flow.acked.map_or(f64::INFINITY, Time::as_secs_f64)),
    // When the receiver had its last byte; infinite if it has not.
    ("delivered_at_s", |flow, _| flow.delivered.map_or(f64::INFINITY, Time::as_secs_f64)),
    ("start_s", |flow, _| flow.start.as_secs_f64()),
    ("size_bytes", |flow, _| flow.size.get() as f64),
    ("retransmits", |flow, _| f64::from(flow.retransmits)),
    ("timeouts", |flow, _| f64::from(flow.timeouts)),
    // Numbers of the hosts, from 0.
    ("src", |flow, _| f64::from(flow.src)),
    ("dst", |flow, _| f64::from(flow.dst)),
];

fn elapsed(flow: &FlowRow, end: Time) -> f64 {
    flow.fct().unwrap_or_else(|| end.since(flow.start)).as_secs_f64()
}

/// Of ports over the whole run.
const PORTS: [Of<PortRow>; 11] = [
    ("max_queue_bytes", |port| port.max_queue.get()),
    ("tx_packets", |port| port.tx_packets),
    ("tx_bytes", |port| port.tx_bytes.get()),
    ("dropped_packets", |port| port.dropped_packets),
    ("dropped_bytes", |port| port.dropped_bytes.get()),
    // Of these packets, those that a marking rule dropped since they were not ECN-capable.
    ("dropped_unscheduled", |port| port.dropped_unscheduled),
    ("lost_packets", |port| port.lost_packets),
    ("marked_packets", |port| port.marked_packets),
    ("trimmed_packets", |port| port.trimmed_packets),
    ("pause_frames_sent", |port| port.pause_frames_sent),
    ("lossless_drops", |port| port.lossless_drops),
];

/// Counters of ports, since the end of the warm-up.
const COUNTERS: [Of<PortState>; 6] = [
    ("tx_packets", |port| port.counters.tx_packets),
    ("tx_bytes", |port| port.counters.tx_bytes),
    ("dropped_packets", |port| port.counters.dropped_packets),
    ("lost_packets", |port| port.counters.lost_packets),
    ("marked_packets", |port| port.counters.marked_packets),
    ("trimmed_packets", |port| port.counters.trimmed_packets),
];

/// Ports as they are at one instant.
const STATES: [Of<PortState>; 3] = [
    ("queue_bytes", |port| port.queue),
    // Since the beginning of the run.
    ("sent_bytes", |port| port.counters.tx_bytes),
    // 1 if it has paused its peer.
    ("pauses_peer", |port| u64::from(port.pausing_peer != 0)),
];

/// Of flows that are not over, since the end of the warm-up.
const SENDERS: [Of<SenderState>; 2] =
    [("acked_bytes", |sender| sender.acked), ("retransmits", |sender| sender.retransmits)];

/// Of hosts, since the end of the warm-up: payload that their applications got, and bytes that their NICs have sent.
const HOSTS: [&str; 2] = ["delivered_bytes", "sent_bytes"];

/// Of switches that queue by destination, over the whole run.
const RACKS: [Of<RackState>; 2] = [
    // Longest queue.
    ("longest_voq_bytes", |rack| rack.counters.longest.get()),
    // Most that a queue had sent beyond its credits.
    ("ahead_bytes", |rack| rack.counters.ahead.get()),
];

/// Of queues by destination, since the end of the warm-up.
const VOQS: [Of<VoqState>; 2] =
    [("sent_bytes", |voq| voq.sent), ("credited_bytes", |voq| voq.credited)];

/// Of all queues by destination at one instant: the longest, and what they have sent since the beginning of the run.
const ALL_VOQS: [Of<Inspection>; 2] = [
    ("longest_bytes", |seen| voqs(seen).map(|voq| voq.queue).max().unwrap_or(0)),
    ("sent_bytes", |seen| voqs(seen).map(|voq| voq.sent).sum()),
];

fn voqs(seen: &Inspection) -> impl Iterator<Item = &VoqState> {
    seen.racks.iter().flat_map(|rack| &rack.queues)
}

/// A step of a path, `window` or `port(tor->host[0])`: name and argument.
pub(super) type Step = (String, Option<String>);

fn named<T>(table: &[(&'static str, T)], name: &str) -> Option<&'static str> {
    table.iter().map(|row| row.0).find(|known| *known == name)
}

fn read<T: Copy>(table: &[(&'static str, T)], name: &str) -> Option<T> {
    table.iter().find(|row| row.0 == name).map(|row| row.1)
}

/// Whether all conditions hold for a flow between these hosts.
pub(super) fn chosen_flow(conditions: &[Condition], flow: &FlowRow, hosts: &[String]) -> bool {
    let ends = (flow.src, flow.dst);
    conditions.iter().all(|one| holds(one, (flow.size, flow.start), flow.traffic, ends, hosts))
}

/// Whether all conditions hold for a collective. None that is about hosts does.
pub(super) fn chosen_collective(conditions: &[Condition], of: &CollectiveRow) -> bool {
    conditions.iter().all(|condition| {
        condition.operator.holds(match &condition.value {
            Operand::Size(size) => of.bytes.cmp(size),
            Operand::Start(start) => of.start.cmp(start),
            Operand::Traffic(traffic) => u64::from(of.traffic).cmp(traffic),
            Operand::Source(_) | Operand::Destination(_) => return false,
        })
    })
}

/// Whether a condition is about the hosts of a flow, which a collective does not have.
pub(crate) fn is_by_host(condition: &Condition) -> bool {
    matches!(condition.value, Operand::Source(_) | Operand::Destination(_))
}

/// Whether a condition holds for what has this size and start, is of this traffic and goes from one host to another.
fn holds(
    condition: &Condition,
    (size, start): (Bytes, Time),
    traffic: u16,
    (src, dst): (u32, u32),
    hosts: &[String],
) -> bool {
    let named = |pattern: &str, host: u32| {
        if matches(pattern, &hosts[host as usize]) { Ordering::Equal } else { Ordering::Less }
    };
    condition.operator.holds(match &condition.value {
        Operand::Size(of) => size.cmp(of),
        Operand::Start(of) => start.cmp(of),
        Operand::Traffic(of) => u64::from(traffic).cmp(of),
        Operand::Source(pattern) => named(pattern, src),
        Operand::Destination(pattern) => named(pattern, dst),
    })
}

/// The conditions of a column; `None` if they are not understood.
fn conditions(text: Option<&str>) -> Option<Vec<Condition>> {
    let Some(text) = text else { return Some(Vec::new()) };
    let rows = Rows::from(text.to_string());
    Some(rows.conditions().to_vec()).filter(|all| !all.is_empty())
}

impl Column {
    /// The column of this path.
    pub(super) fn of(path: &[Step]) -> Option<Self> {
        let steps: Vec<(&str, Option<&str>)> =
            path.iter().map(|(name, argument)| (name.as_str(), argument.as_deref())).collect();
        let host = |name: &str| HOSTS.into_iter().find(|known| *known == name);
        Some(match steps[..] {
            [("flows", of), (name, None)] => Self::Flows(conditions(of)?, named(&FLOWS, name)?),
            [("rpcs", of), (name, None)] => {
                Self::Rpcs(conditions(of)?, RPCS.into_iter().find(|known| *known == name)?)
            }
            [("connections", None), (name, None)] => Self::Connections(named(&CONNECTIONS, name)?),
            [("racks", None), (name, None)] => Self::Racks(named(&RACKS, name)?),
            [("window", None), ("voqs", None), (name, None)] => {
                Self::WindowVoqs(named(&VOQS, name)?)
            }
            [("looks", None), ("at_s", None)] => Self::LookTime,
            [("looks", None), ("voqs", None), (name, None)] => {
                Self::LookVoqs(named(&ALL_VOQS, name)?)
            }
            [("port", Some(of)), (name, None)] => Self::Port(of.into(), named(&PORTS, name)?),
            [("memory", Some(of)), ("cache_miss_share", None)] => {
                Self::CacheMissShare(of.into(), None)
            }
            [("memory", Some(of)), ("cache_miss_share", Some(entry))] => {
                Self::CacheMissShare(of.into(), Some(entry.parse().ok()?))
            }
            [("memory", Some(of)), (name, None)] => {
                Self::Memory(of.into(), memory_columns().find(|known| *known == name)?)
            }
            [("series", Some(of))] => Self::WholeSeries(of.into()),
            [("window", None), ("seconds", None)] => Self::Seconds,
            [("window", None), ("flows", None), (name, None)] => {
                Self::WindowFlows(named(&SENDERS, name)?)
            }
            [("window", None), ("port", Some(of)), (name, None)] => {
                Self::WindowPort(of.into(), named(&COUNTERS, name)?)
            }
            [("window", None), ("host", Some(of)), (name, None)] => {
                Self::WindowHost(of.into(), host(name)?)
            }
            [("window", None), ("series", Some(of))] => Self::Series(of.into()),
            [("window", None), ("times", Some(of))] => Self::Times(of.into()),
            [("window", None), ("means", Some(of))] => Self::Means(of.into()),
            [("looks", None), ("seconds", None)] => Self::LookSeconds,
            [("looks", None), ("port", Some(of)), (name, None)] => {
                let known = named(&STATES, name).or_else(|| named(&COUNTERS, name));
                Self::LookPort(of.into(), known?)
            }
            [("looks", None), ("host", Some(of)), (name, None)] => {
                Self::LookHost(of.into(), host(name)?)
            }
            _ => return None,
        })
    }

    /// All columns, for sentences.
    pub fn all() -> String {
        let names = |of: &mut dyn Iterator<Item = &'static str>| of.collect::<Vec<_>>().join(" | ");
        let counters = names(&mut COUNTERS.iter().map(|row| row.0));
        let states = names(&mut STATES.iter().map(|row| row.0));
        let hosts = HOSTS.join(" | ");
        [
            format!("(flows | flows(CONDITIONS)).({})", names(&mut FLOWS.iter().map(|row| row.0))),
            format!("(rpcs | rpcs(CONDITIONS)).({})", RPCS.join(" | ")),
            format!("connections.({})", names(&mut CONNECTIONS.iter().map(|row| row.0))),
            format!("port(NODE->PEER).({})", names(&mut PORTS.iter().map(|row| row.0))),
            "memory(HOST).COLUMN of memory.csv".into(),
            "memory(HOST).(cache_miss_share | cache_miss_share(ENTRY))".into(),
            "series(NAME)".into(),
            "window.seconds".into(),
            format!("window.flows.({})", names(&mut SENDERS.iter().map(|row| row.0))),
            format!("window.port(NODE->PEER).({counters})"),
            format!("window.host(HOST).({hosts})"),
            "window.(series | times | means)(NAME)".into(),
            format!("looks.port(NODE->PEER).({states} | {counters})"),
            format!("looks.host(HOST).({hosts})"),
            "looks.(seconds | at_s)".into(),
            format!("looks.voqs.({})", names(&mut ALL_VOQS.iter().map(|row| row.0))),
            format!("window.voqs.({})", names(&mut VOQS.iter().map(|row| row.0))),
            format!("racks.({})", names(&mut RACKS.iter().map(|row| row.0))),
        ]
        .join(", ")
    }

    /// Whether it is a list.
    pub(super) fn is_list(&self) -> bool {
        *self != Self::Seconds
    }

    /// Whether conditions can choose among its rows.
    pub(super) fn is_of_flows(&self) -> bool {
        use Column::{Connections, Flows, Rpcs, WindowFlows};
        matches!(self, Flows(..) | Rpcs(..) | Connections(_) | WindowFlows(_))
    }

    /// Whether it needs more than the record of a run: how things were at the end of the warm-up or at a look.
    pub(super) fn needs_window(&self) -> bool {
        use Column::{CacheMissShare, Connections, Flows, Memory, Port, Rpcs, WholeSeries};
        !matches!(
            self,
            Flows(..)
                | Rpcs(..)
                | Connections(_)
                | Port(..)
                | Memory(..)
                | CacheMissShare(..)
                | WholeSeries(_)
        )
    }

    /// Whether it is of looks.
    pub(super) fn is_of_looks(&self) -> bool {
        use Column::{LookHost, LookPort, LookSeconds, LookTime, LookVoqs};
        matches!(self, LookPort(..) | LookHost(..) | LookSeconds | LookTime | LookVoqs(_))
    }

    /// Its values at one look, of a run that stood like `before` at the end of the warm-up.
    pub fn look(&self, names: &[String], before: &Inspection, at: &Inspection) -> Vec<f64> {
        match self {
            Self::LookPort(pattern, name) => ports(names, (before, at), (pattern, name)),
            Self::LookHost(pattern, name) => hosts(names, (before, at), (pattern, name)),
            Self::LookSeconds => vec![at.at.since(before.at).as_secs_f64()],
            Self::LookTime => vec![at.at.as_secs_f64()],
            Self::LookVoqs(name) => {
                vec![read(&ALL_VOQS, name).expect("it was named from the table")(at) as f64]
            }
            _ => Vec::new(),
        }
    }

    /// The values of one run. The error says what the run does not have.
    pub(super) fn values(
        &self,
        (run, warmup): (&RunRecord, Time),
        window: Option<&Window>,
        rows: &[Condition],
    ) -> Result<Vec<f64>, String> {
        let keeps = |flow: &FlowRow| chosen_flow(rows, flow, &run.hosts);
        let window = || {
            window.ok_or_else(|| {
                "is known of the experiments of a suite only; write a metric or a column of flows"
                    .to_string()
            })
        };
        let found = match self {
            Self::Flows(own, name) => {
                let of = read(&FLOWS, name).expect("it was named from the table");
                let counted = |flow: &&FlowRow| !flow.is_endless() && flow.start >= warmup;
                let keeps = |flow: &&FlowRow| keeps(flow) && chosen_flow(own, flow, &run.hosts);
                let flows = run.flows.iter().filter(counted).filter(keeps);
                // None is a list, too: of no flows.
                return Ok(flows.map(|flow| of(flow, run.end)).collect());
            }
            Self::Rpcs(own, _) => {
                let of = run.rpcs.iter().filter(|rpc| rpc.issued >= warmup);
                let kept = of.filter(|rpc| {
                    let of = &run.connections[rpc.connection as usize];
                    let (what, ends) = ((rpc.request, rpc.issued), (of.client, of.server));
                    rows.iter().chain(own).all(|one| holds(one, what, of.traffic, ends, &run.hosts))
                });
                let over = kept.filter_map(|rpc| rpc.latency());
                return Ok(over.map(|latency| latency.as_ps() as f64 / 1e6).collect());
            }
            Self::Connections(name) => {
                let value = read(&CONNECTIONS, name).expect("it was named from the table");
                let kept = run.connections.iter().filter(|of| {
                    let (what, ends) = ((of.request_bytes, of.start), (of.client, of.server));
                    rows.iter().all(|one| holds(one, what, of.traffic, ends, &run.hosts))
                });
                return Ok(kept.map(value).collect());
            }
            Self::Port(pattern, name) => {
                let of = read(&PORTS, name).expect("it was named from the table");
                let is = |port: &&PortRow| {
                    pattern == ALL_PORTS
                        || matches(pattern, &format!("{}->{}", port.node, port.peer))
                };
                run.ports.iter().filter(is).map(|port| of(port) as f64).collect()
            }
            Self::CacheMissShare(pattern, entry) => {
                let of = |host: &MemoryRow| {
                    let Some(entry) = entry else { return host.miss_share() };
                    let reads = host.cache_reads_of.get(*entry).copied().unwrap_or(0.0);
                    host.cache_misses_of.get(*entry).copied().unwrap_or(0.0) / reads.max(1.0)
                };
                run.memory.iter().filter(|host| matches(pattern, &host.host)).map(of).collect()
            }
            Self::Memory(pattern, name) => {
                let hosts = run.memory.iter().filter(|row| matches(pattern, &row.host));
                hosts.flat_map(|row| memory_numbers(name, run, row)).collect()
            }
            Self::Seconds => vec![window()?.seconds],
            Self::WindowFlows(name) => {
                let of = read(&SENDERS, name).expect("it was named from the table");
                let window = window()?;
                let before = |flow: u32| window.before.senders.iter().find(|s| s.flow == flow);
                let row = |flow: u32| run.flows.iter().find(|row| row.flow == flow);
                let senders = window.after.senders.iter();
                let kept = senders.filter(|s| row(s.flow).is_none_or(&keeps));
                return Ok(kept
                    .map(|sender| (of(sender) - before(sender.flow).map_or(0, of)) as f64)
                    .collect());
            }
            Self::WindowPort(pattern, name) => {
                let Window { names, before, after, .. } = window()?;
                ports(names, (before, after), (pattern, name))
            }
            Self::WindowHost(pattern, name) => {
                let Window { names, before, after, .. } = window()?;
                hosts(names, (before, after), (pattern, name))
            }
            Self::WindowVoqs(name) => {
                let of = read(&VOQS, name).expect("it was named from the table");
                let Window { before, after, .. } = window()?;
                // A queue that is new since the warm-up had sent nothing.
                let earlier = |rack: &RackState, to| {
                    let rack = before.racks.iter().find(|other| other.node == rack.node);
                    rack.and_then(|rack| rack.queues.iter().find(|voq| voq.to == to)).map_or(0, of)
                };
                let each = after.racks.iter().flat_map(|rack| {
                    rack.queues.iter().map(move |voq| (of(voq) - earlier(rack, voq.to)) as f64)
                });
                each.collect()
            }
            Self::Racks(name) => {
                let of = read(&RACKS, name).expect("it was named from the table");
                window()?.after.racks.iter().map(|rack| of(rack) as f64).collect()
            }
            Self::WholeSeries(name) => {
                series(run, name).flat_map(|series| series.values.iter().copied()).collect()
            }
            Self::Series(name) | Self::Times(name) => {
                window()?;
                let times = matches!(self, Self::Times(_));
                let late = series(run, name).flat_map(|series| late(series, warmup));
                late.map(|(at, value)| if times { at } else { value }).collect()
            }
            Self::Means(name) => {
                window()?;
                let mean = |series| {
                    let (sum, n) = late(series, warmup)
                        .fold((0.0, 0.0), |(sum, n), (_, value)| (sum + value, n + 1.0));
                    sum / n
                };
                series(run, name).map(mean).collect()
            }
            Self::LookPort(..)
            | Self::LookHost(..)
            | Self::LookSeconds
            | Self::LookTime
            | Self::LookVoqs(_) => {
                let looks = window()?.looks.iter().find(|(column, _)| column == self);
                looks.map(|(_, values)| values.clone()).unwrap_or_default()
            }
        };
        match found.is_empty() {
            true => Err("matches nothing of the run; check the name".into()),
            false => Ok(found),
        }
    }
}

/// The series of a run of this name.
fn series<'a>(run: &'a RunRecord, name: &'a str) -> impl Iterator<Item = &'a Series> {
    run.series.iter().filter(move |series| matches(name, &series.name))
}

/// Its samples from the end of the warm-up on: seconds, value.
fn late(series: &Series, warmup: Time) -> impl Iterator<Item = (f64, f64)> {
    let points = series.at.iter().zip(&series.values).filter(move |(at, _)| **at >= warmup);
    points.map(|(at, value)| (at.as_secs_f64(), *value))
}

/// A counter of ports between two instants, or their state at the later one.
fn ports(
    names: &[String],
    (before, at): (&Inspection, &Inspection),
    (pattern, name): (&str, &str),
) -> Vec<f64> {
    let port_name =
        |port: &PortState| format!("{}->{}", names[port.node as usize], names[port.peer as usize]);
    let both = before.ports.iter().zip(&at.ports);
    let of = both.filter(|(_, port)| pattern == ALL_PORTS || matches(pattern, &port_name(port)));
    of.map(|(before, port)| match (read(&STATES, name), read(&COUNTERS, name)) {
        (Some(state), _) => state(port) as f64,
        (None, Some(count)) => (count(port) - count(before)) as f64,
        (None, None) => unreachable!("it was named from the tables"),
    })
    .collect()
}

/// A counter of hosts between two instants.
fn hosts(
    names: &[String],
    (before, at): (&Inspection, &Inspection),
    (pattern, name): (&str, &str),
) -> Vec<f64> {
    let count = |look: &Inspection, host: usize| match name {
        "delivered_bytes" => look.hosts[host].delivered_bytes,
        _ => {
            let own = |port: &&PortState| port.node as usize == host;
            look.ports.iter().filter(own).map(|port| port.counters.tx_bytes).sum()
        }
    };
    let hosts = (0..at.hosts.len()).filter(|host| matches(pattern, &names[*host]));
    hosts.map(|host| (count(at, host) - count(before, host)) as f64).collect()
}
