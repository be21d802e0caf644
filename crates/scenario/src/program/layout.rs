//! What kinds of traffic make: a table of flows, and what starts those without a time of their own.

use super::list::DPORT;
use super::{Hosts, MOST_FLOWS, too_many};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Bytes, Span, Time};
use std::collections::BTreeMap;
use std::fmt;

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
    pub(super) waiting: Vec<Waiting>,
    pub(super) pending: Vec<Pending>,
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

/// A connection that carries RPCs: two streams of bytes, one each way, open from the start to the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Index of its `[[traffic]]` entry.
    pub traffic: u16,
    /// Number of the connection within the entry. Its random draws depend on seed, entry and this number.
    pub number: u32,
    /// Host that sends requests.
    pub client: u32,
    /// Host that answers them.
    pub server: u32,
    /// When it begins: the start of the entry, with jitter.
    pub start: Time,
    /// No RPC begins from here on; `Time::MAX`: until the end of the run.
    pub until: Time,
    /// Stream of requests, as an index into [`Table::flows`].
    pub requests: u32,
    /// Stream of responses, likewise.
    pub responses: u32,
}

/// Flows that start when others have been delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// Index of its `[[traffic]]` entry.
    pub traffic: u16,
    /// From the last delivery, at its receiver, until the senders of `starts` learn of it.
    pub control_delay: Span,
    /// Nothing starts if that delivery is not before this.
    pub until: Time,
    /// Flows that have to be delivered, as indices into [`Table::flows`].
    pub flows: Vec<u32>,
    /// Flows that then start, likewise.
    pub starts: Vec<u32>,
}

/// A closed loop before its flows have their places in the table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Waiting {
    pub traffic: u16,
    pub control_delay: Span,
    pub until: Time,
    /// Receiver, and each flow with its jitter; sorted by source.
    pub rounds: Vec<(u32, Vec<(FlowSpec, Span)>)>,
}

/// A list with triggers before its flows have their places in the table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pending {
    pub control_delay: Span,
    pub until: Time,
    /// In the order of the list, with the trigger that each waits for and those that it fires; none: left out, since it starts outside the
    /// entry's time.
    pub flows: Vec<(Option<FlowSpec>, Option<String>, Vec<String>)>,
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
    fn finish(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let pending = std::mem::take(&mut self.pending);
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
        add_triggers(self, pending);
        add_streams(self);
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

/// Lays out the flows of one entry.
pub struct Layout<'a> {
    /// Hosts of the fabric.
    pub hosts: &'a Hosts,
    /// No flow starts before.
    pub start: Time,
    /// No flow starts from here on: the end of the entry or of the run.
    pub end: Time,
    /// The end of the entry, if it has one.
    pub until: Time,
    packet: Bytes, // a full one, for jitter
    entry: u16,
    seed: u64,
    jitter: Stream,
    table: &'a mut Table,
    /// Whether the flows are still wanted; where not, those of this entry end early.
    wanted: &'a dyn Fn() -> bool,
}

impl Layout<'_> {
    pub(super) fn error(&self, text: String) -> Error {
        Error { key: format!("traffic[{}]", self.entry), text }
    }

    /// Index of the `[[traffic]]` entry.
    pub fn entry(&self) -> u16 {
        self.entry
    }

    /// Whether this is a flow at which to look, and the flows are no longer wanted.
    pub fn is_unwanted(&self) -> bool {
        self.table.flows.len().is_multiple_of(CHECK_EVERY) && !(self.wanted)()
    }

    /// Random numbers of this entry for one purpose.
    pub fn stream(&self, purpose: Purpose) -> Stream {
        Stream::new(self.seed, self.entry.into(), purpose)
    }

    /// Seeded start jitter, below one packet time on the sender's link: flows that start together would
    /// otherwise stay in step, and ties would starve one of them.
    pub fn jitter(&mut self, src: u32) -> Span {
        let packet_time = self.hosts.rates[src as usize].time_for(self.packet).as_ps();
        Span::from_ps(self.jitter.below(packet_time.clamp(1, 1_000_000_000_000)))
    }

    /// Index of the host of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn host(&self, name: &str) -> Result<u32, Error> {
        let found = self.hosts.index(name);
        found.ok_or_else(|| self.error(format!("no host is called {name:?}")))
    }

    /// A flow of this entry.
    pub fn flow(&self, src: u32, dst: u32, size: Bytes, start: Time) -> FlowSpec {
        let dport = DPORT.wrapping_add(self.entry);
        FlowSpec { src, dst, size, start, traffic: self.entry, sport: 0, dport }
    }

    /// Adds a flow that starts by itself.
    pub fn push(&mut self, flow: FlowSpec) {
        self.table.flows.push(flow);
    }

    /// A start with jitter, unless the entry is over by then.
    pub fn push_jittered(&mut self, src: u32, dst: u32, size: Bytes, start: Time) {
        let start = start.saturating_add(self.jitter(src));
        if start < self.end {
            self.push(self.flow(src, dst, size, start));
        }
    }

    /// Adds rounds that wait for each other.
    pub(super) fn wait(&mut self, rounds: Waiting) {
        self.table.waiting.push(rounds);
    }

    /// Adds flows that wait for others.
    pub(super) fn pend(&mut self, flows: Pending) {
        self.table.pending.push(flows);
    }

    /// Adds a connection that carries RPCs.
    pub(super) fn connect(&mut self, connection: Connection) {
        self.table.connections.push(connection);
    }

    /// Says something to a reader of the results.
    pub fn warn(&mut self, text: String) {
        self.table.warnings.push(format!("traffic[{}]: {text}", self.entry));
    }

    /// Says so when flows of this entry were left out because they start outside its time.
    pub fn note_missing(&mut self, wanted: usize) {
        let own = |f: &&FlowSpec| f.traffic == self.entry;
        let made = self.table.flows.iter().rev().take_while(own).count();
        if made < wanted {
            self.warn(format!(
                "{} of {wanted} flows start outside its time or after the run and are left out",
                wanted - made
            ));
        }
    }
}

/// Entries of traffic as they are laid out, one after another.
pub(crate) struct Entries<'a> {
    /// Hosts of the fabric.
    pub hosts: &'a Hosts,
    /// Seed of the run.
    pub seed: u64,
    /// Whether the flows are still wanted, which is checked every few thousand flows.
    pub wanted: &'a dyn Fn() -> bool,
    table: Table,
    made: u128, // flows, by the forecasts
}

impl<'a> Entries<'a> {
    /// No entries yet.
    pub fn new(hosts: &'a Hosts, seed: u64, wanted: &'a dyn Fn() -> bool) -> Self {
        Self { hosts, seed, wanted, table: Table::default(), made: 0 }
    }

    /// The layout of an entry that lasts from `start` to `until`, in a run that ends at `stop`. `packet`: a full one.
    pub fn layout(
        &mut self,
        entry: usize,
        (start, until, stop): (Time, Time, Time),
        packet: Bytes,
    ) -> Layout<'_> {
        Layout {
            hosts: self.hosts,
            start,
            end: until.min(stop),
            until,
            packet,
            entry: entry as u16,
            seed: self.seed,
            jitter: Stream::new(self.seed, entry as u64, Purpose::Jitter),
            table: &mut self.table,
            wanted: self.wanted,
        }
    }

    /// Counts the flows that an entry will make.
    ///
    /// # Errors
    /// If all entries together make more than [`MOST_FLOWS`].
    pub fn count(&mut self, entry: usize, flows: u128) -> Result<(), Error> {
        self.made += flows;
        if self.made > MOST_FLOWS {
            return Err(Error { key: format!("traffic[{entry}]"), text: too_many(self.made) });
        }
        Ok(())
    }

    /// The table of all entries; `None` if it is no longer wanted.
    pub fn table(mut self) -> Option<Table> {
        let table = &mut self.table;
        table.finish();
        table.number_flows();
        ((self.wanted)() && table.number_ports(self.wanted)).then_some(self.table)
    }
}

/// Gives each connection its two places in the table of flows.
fn add_streams(table: &mut Table) {
    let Table { flows, connections, .. } = table;
    for one in connections {
        let mut stream = |src, dst| {
            let traffic = one.traffic;
            let (size, start, sport) = (Bytes::ZERO, Time::MAX, 0);
            flows.push(FlowSpec { src, dst, size, start, traffic, sport, dport: DPORT });
            flows.len() as u32 - 1
        };
        one.requests = stream(one.client, one.server);
        one.responses = stream(one.server, one.client);
    }
}

/// Appends the flows that wait, and says which deliveries start them.
fn add_triggers(table: &mut Table, pending: Vec<Pending>) {
    for Pending { control_delay, until, flows } in pending {
        // Flows with equal keys stand side by side, and are the same but for what they fire.
        let mut taken: BTreeMap<_, u32> = BTreeMap::new();
        let mut triggers: BTreeMap<&str, (bool, Vec<u32>, Vec<u32>)> = BTreeMap::new();
        let mut traffic = 0;
        for (spec, after, fires) in &flows {
            let index = spec.map(|spec| {
                traffic = spec.traffic;
                if after.is_some() {
                    table.flows.push(spec);
                    return table.flows.len() as u32 - 1;
                }
                let nth = taken.entry(order(&spec)).or_insert_with(|| {
                    table.flows.partition_point(|f| order(f) < order(&spec)) as u32
                });
                *nth += 1;
                *nth - 1
            });
            for name in fires {
                let (whole, fire, _) =
                    triggers.entry(name).or_insert((true, Vec::new(), Vec::new()));
                *whole &= index.is_some();
                fire.extend(index);
            }
            if let (Some(name), Some(index)) = (after, index) {
                let (.., starts) = triggers.entry(name).or_insert((true, Vec::new(), Vec::new()));
                starts.push(index);
            }
        }
        let able = triggers
            .into_values()
            .filter(|(whole, flows, starts)| *whole && !flows.is_empty() && !starts.is_empty());
        table.triggers.extend(able.map(|(_, flows, starts)| Trigger {
            traffic,
            control_delay,
            until,
            flows,
            starts,
        }));
    }
}
