//! From traffic entries to a table of flows.
//!
//! Every entry draws from streams of its own, keyed by (seed, index of the entry, purpose), so a new entry
//! disturbs no other. Floats use `+ - * /` and `units::math::ln` alone, in a fixed order.
//!
//! Load counts payload, as the public HPCC traffic generator does: headers come on top.

mod hosts;
mod list;
mod rpc;

pub use crate::traffic::{DPORT, pairs};
pub use hosts::{Hosts, Tier};
pub use list::Trigger;
pub use rpc::Connection;

use crate::cdf::Cdf;
use crate::scenario::Scenario;
use crate::traffic::too_many;
use crate::traffic::{LoadRef, Traffic, TrafficKind};
use crate::transport::Transport;
use forebay_units::random::{Purpose, Stream};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use std::collections::BTreeMap;
use std::fmt;

/// More flows than this in one run are refused.
pub const MOST_FLOWS: u128 = crate::traffic::MOST_FLOWS;

/// Where each host begins to count source ports (the same simulator, `third.cc`).
pub const FIRST_SPORT: u16 = 10_000;

/// One flow to come. Hosts are indices in canonical order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Payload; `Bytes::MAX` for a flow without an end, zero for a stream of a connection.
    pub size: Bytes,
    /// When the application hands it over; for a triggered flow and for a stream, `Time::MAX`.
    pub start: Time,
    /// Index of its `[[traffic]]` entry.
    pub traffic: u16,
    /// Source port; where none is named, counted by host and entry from [`FIRST_SPORT`], wrapping.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
}

const _: () = assert!(size_of::<FlowSpec>() == 32, "two flows to a cache line");

/// All flows of one seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Flows, sorted by start, then source, destination and entry. Triggered ones come last: those of incasts by entry,
    /// round and source, then listed ones by entry and place in the list; after them the streams of connections.
    pub flows: Vec<FlowSpec>,
    /// Incasts whose rounds wait for each other.
    pub closed_loops: Vec<ClosedLoop>,
    /// What starts the listed flows that wait for others.
    pub triggers: Vec<Trigger>,
    /// Connections that carry RPCs, by entry and pair.
    pub connections: Vec<Connection>,
    /// What random draws know each flow by: see [`Table::number`]. Empty where that is the index of every flow.
    pub numbers: Vec<u64>,
    /// What a reader of the results should know: a tier offered more than it carries, entries cut short.
    pub warnings: Vec<String>,
}

/// An incast whose rounds wait for each other.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedLoop {
    /// Index of its `[[traffic]]` entry.
    pub traffic: u16,
    /// From the last delivery of a round, at its receiver, until the senders of the next learn of it.
    pub control_delay: Span,
    /// No round begins from here on, whatever has been delivered.
    pub until: Time,
    /// Rounds in order. The flows of the first have start times and start by themselves.
    pub rounds: Vec<Round>,
}

/// One round of a closed loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Receiving host.
    pub receiver: u32,
    /// Indices into [`Table::flows`]. From the second round on they are consecutive.
    pub flows: Vec<u32>,
    /// For each of them, how long its sender dawdles after it was notified: seeded jitter below one packet
    /// time. In the first round it is part of the start already.
    pub jitter: Vec<Span>,
}

/// Why there is no table: the traffic entry and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Key path, `traffic[0]`.
    pub key: String,
    /// What is wrong and what to do.
    pub text: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.text)
    }
}

impl std::error::Error for Error {}

fn full_packet(transport: &Transport) -> Bytes {
    transport.mss.saturating_add(transport.header)
}

/// The flows of one seed.
///
/// # Errors
/// A host that `hosts` lacks, or more than [`MOST_FLOWS`] flows.
pub fn flows(scenario: &Scenario, hosts: &Hosts, seed: u64) -> Result<Table, Error> {
    Ok(flows_while(scenario, hosts, seed, &|| true)?.expect("wanted to the end"))
}

/// The flows of one seed; `None` as soon as they are no longer `wanted`, which is checked every few thousand flows.
///
/// # Errors
/// See [`flows`].
pub fn flows_while(
    scenario: &Scenario,
    hosts: &Hosts,
    seed: u64,
    wanted: &dyn Fn() -> bool,
) -> Result<Option<Table>, Error> {
    let mut table = Table { warnings: hosts.overloads(scenario), ..Table::default() };
    let mut made = 0;
    let mut waiting = Vec::new();
    let mut pending = Vec::new();
    for (i, traffic) in scenario.traffic.iter().enumerate() {
        let mut maker = Maker {
            hosts,
            packet: full_packet(scenario.transport_of(traffic)),
            end: traffic.until.min(scenario.stop.time),
            entry: i,
            seed,
            jitter: Stream::new(seed, i as u64, Purpose::Jitter),
            table: &mut table,
            waiting: &mut waiting,
            pending: &mut pending,
            wanted,
        };
        made += maker.forecast(traffic);
        if made > MOST_FLOWS {
            return Err(maker.error(too_many(made)));
        }
        maker.make(traffic)?;
        if !wanted() {
            return Ok(None);
        }
    }
    table.finish(waiting, pending);
    table.number_flows();
    Ok((wanted() && table.number_ports(wanted)).then_some(table))
}

/// How many flows each entry will make: exact for closed forms, expected for Poisson arrivals.
pub fn forecast(scenario: &Scenario, hosts: &Hosts) -> Vec<u128> {
    let (mut table, mut waiting, mut pending) = (Table::default(), Vec::new(), Vec::new());
    let all = scenario.traffic.iter().enumerate();
    all.map(|(entry, traffic)| {
        let end = traffic.until.min(scenario.stop.time);
        let jitter = Stream::new(0, 0, Purpose::Jitter);
        let (table, waiting, pending) = (&mut table, &mut waiting, &mut pending);
        let packet = Bytes::ZERO;
        Maker {
            hosts,
            packet,
            end,
            entry,
            seed: 0,
            jitter,
            table,
            waiting,
            pending,
            wanted: &|| true,
        }
        .forecast(traffic)
    })
    .collect()
}

/// A closed loop before its flows have their places in the table.
struct Waiting {
    traffic: u16,
    control_delay: Span,
    until: Time,
    /// Receiver, and each flow with its jitter; sorted by source.
    rounds: Vec<(u32, Vec<(FlowSpec, Span)>)>,
}

impl Table {
    /// Number of a flow: its entry in the upper half, and below that its place among the flows of that entry. Random draws about a flow
    /// go by this number. So they depend neither on other entries nor on the end of the run, as the index does.
    pub fn number(&self, flow: u32) -> u64 {
        self.numbers.get(flow as usize).copied().unwrap_or(flow.into())
    }

    /// Numbers the flows of each entry in their order. In a longer run an entry of arrivals has more flows, and they come last. An entry
    /// with flows that wait for others has the same flows in both runs. Streams go by the number of their connection.
    fn number_flows(&mut self) {
        let mut next: BTreeMap<u16, u64> = BTreeMap::new();
        let number = |flow: &FlowSpec| {
            let nth = next.entry(flow.traffic).or_default();
            *nth += 1;
            u64::from(flow.traffic) << 32 | (*nth - 1)
        };
        let mut numbers: Vec<u64> = self.flows.iter().map(number).collect();
        for of in &self.connections {
            let first = u64::from(of.traffic) << 32 | u64::from(of.number) << 1;
            (numbers[of.requests as usize], numbers[of.responses as usize]) = (first, first | 1);
        }
        if numbers.iter().zip(0..).any(|(number, index)| *number != index) {
            self.numbers = numbers;
        }
    }

    /// Sorts, and appends the triggered flows.
    fn finish(&mut self, waiting: Vec<Waiting>, pending: Vec<list::Pending>) {
        self.flows.sort_unstable_by_key(order);
        for one in waiting {
            let mut rounds = Vec::with_capacity(one.rounds.len());
            for (i, (receiver, answers)) in one.rounds.into_iter().enumerate() {
                let mut flows = Vec::with_capacity(answers.len());
                for (flow, _) in &answers {
                    if i == 0 {
                        flows.push(self.flows.partition_point(|f| order(f) < order(flow)) as u32);
                    } else {
                        flows.push(self.flows.len() as u32);
                        self.flows.push(*flow);
                    }
                }
                let jitter = answers.iter().map(|(_, jitter)| *jitter).collect();
                rounds.push(Round { receiver, flows, jitter });
            }
            let Waiting { traffic, control_delay, until, .. } = one;
            self.closed_loops.push(ClosedLoop { traffic, control_delay, until, rounds });
        }
        list::add_triggers(self, pending);
        rpc::add_streams(self);
    }

    /// Source ports for flows that name none: counted for each pair of hosts, as the public HPCC simulator does (`third.cc`,
    /// `portNumder`), and for each entry of its own, whose flows also have their own destination port. False where the flows are no
    /// longer wanted.
    fn number_ports(&mut self, wanted: &dyn Fn() -> bool) -> bool {
        let mut next = BTreeMap::new();
        for (i, flow) in self.flows.iter_mut().enumerate() {
            if i.is_multiple_of(CHECK_EVERY) && !wanted() {
                return false;
            }
            let next = next.entry((flow.traffic, flow.src, flow.dst)).or_insert(FIRST_SPORT);
            if flow.sport == 0 {
                flow.sport = *next;
            }
            *next = next.wrapping_add(1);
        }
        true
    }
}

/// Flows between two looks at whether they are still wanted: less than a tenth of a second.
const CHECK_EVERY: usize = 1 << 16;

fn order(f: &FlowSpec) -> (Time, u32, u32, u16, Bytes, u16, u16) {
    (f.start, f.src, f.dst, f.traffic, f.size, f.sport, f.dport)
}

/// Makes the flows of one entry.
struct Maker<'a> {
    hosts: &'a Hosts,
    /// A full packet, for jitter.
    packet: Bytes,
    /// No start from here on.
    end: Time,
    entry: usize,
    seed: u64,
    jitter: Stream,
    table: &'a mut Table,
    waiting: &'a mut Vec<Waiting>,
    pending: &'a mut Vec<list::Pending>,
    /// Whether the flows are still wanted; where not, those of this entry end early.
    wanted: &'a dyn Fn() -> bool,
}

impl Maker<'_> {
    fn error(&self, text: String) -> Error {
        Error { key: format!("traffic[{}]", self.entry), text }
    }

    /// Whether this is a flow at which to look, and the flows are no longer wanted.
    fn is_unwanted(&self) -> bool {
        self.table.flows.len().is_multiple_of(CHECK_EVERY) && !(self.wanted)()
    }

    fn stream(&self, purpose: Purpose) -> Stream {
        Stream::new(self.seed, self.entry as u64, purpose)
    }

    /// Seeded start jitter, below one packet time on the sender's link: flows that start together would
    /// otherwise stay in step, and ties would starve one of them.
    fn jitter(&mut self, src: u32) -> Span {
        let packet_time = self.hosts.rates[src as usize].time_for(self.packet).as_ps();
        Span::from_ps(self.jitter.below(packet_time.clamp(1, 1_000_000_000_000)))
    }

    fn host(&self, name: &str) -> Result<u32, Error> {
        let found = self.hosts.index(name);
        found.ok_or_else(|| self.error(format!("no host is called {name:?}")))
    }

    fn flow(&self, src: u32, dst: u32, size: Bytes, start: Time) -> FlowSpec {
        let traffic = self.entry as u16;
        let dport = DPORT.wrapping_add(traffic);
        FlowSpec { src, dst, size, start, traffic, sport: 0, dport }
    }

    /// A start with jitter, unless the entry is over by then.
    fn push_jittered(&mut self, src: u32, dst: u32, size: Bytes, start: Time) {
        let start = start.saturating_add(self.jitter(src));
        if start < self.end {
            self.table.flows.push(self.flow(src, dst, size, start));
        }
    }

    fn warn(&mut self, text: String) {
        self.table.warnings.push(format!("traffic[{}]: {text}", self.entry));
    }

    fn forecast(&self, traffic: &Traffic) -> u128 {
        let n = self.hosts.names.len() as u128;
        match &traffic.kind {
            TrafficKind::Poisson { sizes, load, load_ref } => {
                let span = self.end.since(traffic.start).as_ps() as f64;
                (span / self.mean_gap(sizes, *load, *load_ref)) as u128
            }
            TrafficKind::Incast { fan_in, every, rounds, .. } => {
                let fit = every.map_or(u128::MAX, |every| {
                    u128::from(self.end.since(traffic.start).as_ps())
                        .div_ceil(u128::from(every.as_ps().max(1)))
                });
                u128::from(*rounds).min(fit) * u128::from(*fan_in)
            }
            TrafficKind::Permutation { .. } => n,
            TrafficKind::AllToAll { .. } => n * (n - 1),
            TrafficKind::Long { from, .. } => from.len() as u128,
            TrafficKind::Rpc(rpc) => rpc::streams(rpc),
            TrafficKind::List { flows, .. } => flows.len() as u128,
        }
    }

    fn make(&mut self, traffic: &Traffic) -> Result<(), Error> {
        let n = self.hosts.names.len() as u32;
        if n < 2 {
            return Err(self.error("needs two hosts or more".into()));
        }
        match &traffic.kind {
            TrafficKind::Poisson { sizes, load, load_ref } => {
                self.poisson(sizes, self.mean_gap(sizes, *load, *load_ref), traffic.start);
            }
            TrafficKind::Incast { fan_in, size, to, every, rounds, control_delay } => {
                let to = to.as_deref().map(|name| self.host(name)).transpose()?;
                let fan_in = (*fan_in).min(n - 1);
                match every {
                    Some(every) => self.incast(traffic.start, fan_in, *size, to, *every, *rounds),
                    None => self.closed_incast(
                        traffic.start,
                        fan_in,
                        *size,
                        to,
                        *rounds,
                        control_delay.unwrap_or_else(crate::traffic::control_delay),
                    ),
                }
            }
            TrafficKind::Permutation { size } => {
                for (src, dst) in
                    derangement(n, &mut self.stream(Purpose::Pairs)).into_iter().enumerate()
                {
                    self.push_jittered(src as u32, dst, *size, traffic.start);
                }
            }
            TrafficKind::AllToAll { size } => {
                for src in 0..n {
                    for dst in (0..n).filter(|dst| *dst != src) {
                        self.push_jittered(src, dst, *size, traffic.start);
                    }
                }
            }
            TrafficKind::Long { from, to, stagger } => {
                for (i, (src, dst)) in from.iter().zip(to).enumerate() {
                    let (src, dst) = (self.host(src)?, self.host(dst)?);
                    let start = traffic.start.saturating_add(stagger.saturating_mul(i as u64));
                    self.push_jittered(src, dst, Bytes::MAX, start);
                }
                self.note_missing(from.len());
            }
            TrafficKind::Rpc(rpc) => self.rpc(rpc, traffic)?,
            TrafficKind::List { flows, control_delay, .. } => {
                self.list(flows, *control_delay, traffic.start)?;
            }
        }
        Ok(())
    }

    /// Says so when flows of this entry were left out because they start outside its time.
    fn note_missing(&mut self, wanted: usize) {
        let made = self
            .table
            .flows
            .iter()
            .rev()
            .take_while(|f| usize::from(f.traffic) == self.entry)
            .count();
        if made < wanted {
            self.warn(format!(
                "{} of {wanted} flows start outside its time or after the run and are left out",
                wanted - made
            ));
        }
    }

    /// Mean gap between arrivals in ps.
    fn mean_gap(&self, sizes: &Cdf, load: f64, load_ref: LoadRef) -> f64 {
        let bytes_per_ps = load * self.hosts.reference(load_ref) / 8e12;
        sizes.mean() / bytes_per_ps
    }

    fn poisson(&mut self, sizes: &Cdf, mean_gap: f64, start: Time) {
        let n = self.hosts.names.len() as u64;
        let mut gaps = self.stream(Purpose::Arrivals);
        let mut draws = self.stream(Purpose::Sizes);
        let mut pairs = self.stream(Purpose::Pairs);
        let mut now = start.as_ps() as f64;
        loop {
            now += gaps.exponential() * mean_gap;
            let at = Time::from_ps(now as u64);
            if at >= self.end || self.is_unwanted() {
                return;
            }
            let src = pairs.below(n) as u32;
            let other = pairs.below(n - 1) as u32;
            let dst = other + u32::from(other >= src);
            let size = sizes.sample(draws.unit());
            self.table.flows.push(self.flow(src, dst, size, at));
        }
    }

    fn incast(
        &mut self,
        start: Time,
        fan_in: u32,
        size: Bytes,
        to: Option<u32>,
        every: Span,
        rounds: u32,
    ) {
        let mut draws = self.stream(Purpose::Pairs);
        for round in 0..rounds {
            let begin = start.saturating_add(every.saturating_mul(round.into()));
            if begin >= self.end {
                return self.warn(format!(
                    "{round} of {rounds} rounds fit the run; the others are left out"
                ));
            }
            let (receiver, senders) = self.cast(fan_in, to, &mut draws);
            for src in senders {
                self.push_jittered(src, receiver, size, begin);
            }
        }
    }

    fn closed_incast(
        &mut self,
        start: Time,
        fan_in: u32,
        size: Bytes,
        to: Option<u32>,
        rounds: u32,
        control_delay: Span,
    ) {
        let mut draws = self.stream(Purpose::Pairs);
        let mut all = Vec::with_capacity(rounds as usize);
        for round in 0..rounds {
            let (receiver, senders) = self.cast(fan_in, to, &mut draws);
            let mut answers = Vec::with_capacity(senders.len());
            for src in senders {
                let jitter = self.jitter(src);
                let at = if round == 0 { start.saturating_add(jitter) } else { Time::MAX };
                answers.push((self.flow(src, receiver, size, at), jitter));
            }
            if round == 0 {
                self.table.flows.extend(answers.iter().map(|(flow, _)| *flow));
            }
            all.push((receiver, answers));
        }
        self.waiting.push(Waiting {
            traffic: self.entry as u16,
            control_delay,
            until: self.end,
            rounds: all,
        });
    }

    /// Receiver and senders of a round, senders in rising order.
    fn cast(&self, fan_in: u32, to: Option<u32>, draws: &mut Stream) -> (u32, Vec<u32>) {
        let n = self.hosts.names.len() as u32;
        let receiver = to.unwrap_or_else(|| draws.below(n.into()) as u32);
        let mut senders = sample(n - 1, fan_in, draws);
        for sender in &mut senders {
            *sender += u32::from(*sender >= receiver);
        }
        (receiver, senders)
    }
}

/// `k` different numbers below `n`, rising. Floyd's method: k draws whatever n is.
fn sample(n: u32, k: u32, draws: &mut Stream) -> Vec<u32> {
    let mut chosen = std::collections::BTreeSet::new();
    for last in n - k..n {
        let candidate = draws.below(u64::from(last) + 1) as u32;
        if !chosen.insert(candidate) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().collect()
}

/// A uniformly random permutation without a fixed point: shuffles until there is none (about e times).
fn derangement(n: u32, draws: &mut Stream) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    loop {
        for i in (1..order.len()).rev() {
            order.swap(i, draws.below(i as u64 + 1) as usize);
        }
        if order.iter().enumerate().all(|(i, to)| i as u32 != *to) {
            return order;
        }
    }
}

/// Rates of hosts as bits per second.
fn bits(rate: BitsPerSec) -> f64 {
    rate.get() as f64
}
