//! What kinds of traffic make: a table of flows, and what starts those without a time of their own.

use super::op::{Op, OpList, Ops, Program, Signal, Step, WaitList};
use super::{Hosts, MOST_FLOWS, too_many};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Bytes, Span, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Destination port of a flow that names none, as in the flow files of the public HPCC simulator.
pub const DPORT: u16 = 100;

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

/// All flows of one seed, and what starts them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Flows, sorted by start, then source, destination and entry. Those that programs start come last, by entry; after them connections
    /// that stay open, and streams of RPCs.
    pub flows: Vec<FlowSpec>,
    /// Index of the first flow that is a connection which stays open, or a stream of one.
    pub first_stream: u32,
    /// Programs, by entry and host. Flows with a start are a program that the table says: each waits for its time.
    pub programs: Vec<Program>,
    /// Control links that their signals take: from and to with the least delay, sorted.
    pub control: Vec<(u32, u32, Span)>,
    /// Connections that carry RPCs, by entry and pair.
    pub connections: Vec<Connection>,
    /// What random draws know each flow by: see [`Table::number`]. Empty where that is the index of every flow.
    pub numbers: Vec<u64>,
    /// What a reader of the results should know: a tier offered more than it carries, entries cut short.
    pub warnings: Vec<String>,
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
    made: &'a mut LaidOutFlows,
    first_connection: Option<u32>,
    connections: u32, // of this entry, so far
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
        self.made.table.flows.len().is_multiple_of(CHECK_EVERY) && !(self.wanted)()
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

    /// Adds a flow, which starts by itself if it has a start. The answer is its name in steps.
    pub fn push(&mut self, flow: FlowSpec) -> u32 {
        self.made.table.flows.push(flow);
        self.made.table.flows.len() as u32 - 1
    }

    /// Adds a connection that stays open. The answer is its number among those of this entry, which is its name in a lazy program.
    pub fn connection(&mut self, src: u32, dst: u32) -> u32 {
        let at = self.push(self.flow(src, dst, Bytes::ZERO, Time::MAX));
        self.first_connection.get_or_insert(at);
        self.connections += 1;
        self.connections - 1
    }

    /// Adds a lazy program of `host`. Lay out the connections of the entry before. The program names them and has `ahead` operations read that have not begun. A run that
    /// ends with its flows waits for its last operation.
    pub fn program(&mut self, host: u32, ahead: u32, ops: Box<dyn Ops>) {
        self.striped_program(host, ahead, 1, ops);
    }

    /// Adds a lazy program of `host`, as [`Layout::program`] does. Each message is split over `stripes` connections that follow each other.
    pub fn striped_program(&mut self, host: u32, ahead: u32, stripes: u8, ops: Box<dyn Ops>) {
        let (traffic, first) = (self.entry, self.first_connection.unwrap_or(0));
        let awaited = true;
        self.made.programs.push(Program { host, traffic, first, stripes, ahead, awaited, ops });
    }

    /// Lets a lazy program of host `from` notify host `to`, each time with this delay or more.
    pub fn control_link(&mut self, from: u32, to: u32, delay: Span) {
        self.made.control_link(from, to, delay);
    }

    /// Adds operations of `host`, in the order of a program that is read at once, or with `ahead` operations that have not begun.
    pub(super) fn steps(&mut self, host: u32, ahead: u32, steps: Vec<Step>) {
        self.made.steps.push(Draft { host, traffic: self.entry, ahead, steps });
    }

    /// The delivery of a flow helps to fire a trigger. `None`: the flow is left out, so the trigger never fires.
    pub(super) fn fires(&mut self, name: &str, flow: Option<u32>) {
        self.made.triggers.fires.entry((self.entry, name.into())).or_default().push(flow);
    }

    /// A flow starts once a trigger has fired: its host learns of that `control_delay` later, and computes before it sends. The trigger is one
    /// of this entry, or else of all others that fire it.
    pub(super) fn starts_after(
        &mut self,
        name: &str,
        flow: u32,
        (control_delay, compute): (Span, Span),
    ) {
        let (entry, until) = (self.entry, self.end);
        let wait = Wait { flow, control_delay, compute, until };
        self.made.triggers.waits.entry((entry, name.into())).or_default().push(wait);
    }

    /// A start with jitter, unless the entry is over by then.
    pub fn push_jittered(&mut self, src: u32, dst: u32, size: Bytes, start: Time) {
        let start = start.saturating_add(self.jitter(src));
        if start < self.end {
            self.push(self.flow(src, dst, size, start));
        }
    }

    /// Adds a connection that carries RPCs.
    pub(super) fn connect(&mut self, connection: Connection) {
        self.made.table.connections.push(connection);
    }

    /// Says something to a reader of the results.
    pub fn warn(&mut self, text: String) {
        self.made.table.warnings.push(format!("traffic[{}]: {text}", self.entry));
    }

    /// Says so when flows of this entry were left out because they start outside its time.
    pub fn note_missing(&mut self, wanted: usize) {
        let own = |f: &&FlowSpec| f.traffic == self.entry;
        let made = self.made.table.flows.iter().rev().take_while(own).count();
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
    made: LaidOutFlows,
    count: u128, // flows, by the forecasts
}

impl<'a> Entries<'a> {
    /// No entries yet.
    pub fn new(hosts: &'a Hosts, seed: u64, wanted: &'a dyn Fn() -> bool) -> Self {
        Self { hosts, seed, wanted, made: LaidOutFlows::default(), count: 0 }
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
            made: &mut self.made,
            first_connection: None,
            connections: 0,
            wanted: self.wanted,
        }
    }

    /// Flows laid out so far.
    pub fn laid_out(&self) -> u128 {
        (self.made.table.flows.len() + 2 * self.made.table.connections.len()) as u128
    }

    /// Counts the flows that an entry will make.
    ///
    /// # Errors
    /// If all entries together make more than [`MOST_FLOWS`].
    pub fn count(&mut self, entry: usize, flows: u128) -> Result<(), Error> {
        self.count += flows;
        if self.count > MOST_FLOWS {
            return Err(Error { key: format!("traffic[{entry}]"), text: too_many(self.count) });
        }
        Ok(())
    }

    /// The table of all entries; `None` if it is no longer wanted.
    pub fn table(self) -> Option<Table> {
        let mut table = self.made.table();
        table.number_flows();
        ((self.wanted)() && table.number_ports(self.wanted)).then_some(table)
    }
}

/// What entries have made so far. Flows are called by the order in which they were made.
#[derive(Default)]
struct LaidOutFlows {
    table: Table,
    programs: Vec<Program>,
    steps: Vec<Draft>,
    triggers: Triggers,
    control: BTreeMap<(u32, u32), Span>,
}

/// A program that is laid out step by step.
struct Draft {
    host: u32,
    traffic: u16,
    ahead: u32,
    steps: Vec<Step>,
}

/// Flows that fire triggers, and flows that wait for them, by entry and name.
#[derive(Default)]
struct Triggers {
    fires: BTreeMap<(u16, String), Vec<Option<u32>>>,
    waits: BTreeMap<(u16, String), Vec<Wait>>,
}

/// A flow that waits for a trigger.
#[derive(Clone, Copy)]
struct Wait {
    flow: u32,
    control_delay: Span,
    compute: Span,
    until: Time,
}

impl LaidOutFlows {
    fn control_link(&mut self, from: u32, to: u32, delay: Span) {
        if from != to {
            let least = self.control.entry((from, to)).or_insert(delay);
            *least = delay.min(*least);
        }
    }

    /// All of it, with the flows in their places.
    fn table(mut self) -> Table {
        let triggers = std::mem::take(&mut self.triggers);
        self.steps.extend(triggers.programs(&self.table.flows));
        for draft in std::mem::take(&mut self.steps) {
            for step in &draft.steps {
                if let Op::Signal(signal) = step.op {
                    self.control_link(draft.host, signal.to, signal.delay);
                }
            }
            let Draft { host, traffic, ahead, steps } = draft;
            let ops = Box::new(OpList { steps, next: 0 });
            let (first, stripes, awaited) = (0, 1, false);
            self.programs.push(Program { host, traffic, first, stripes, ahead, awaited, ops });
        }
        let Self { mut table, mut programs, control, .. } = self;
        if programs.is_empty() {
            table.flows.sort_unstable_by_key(order);
        } else {
            let places = place(&mut table.flows);
            programs.iter_mut().for_each(|program| program.ops.place(&mut program.first, &places));
            programs.sort_by_key(|program| (program.traffic, program.host));
        }
        let is_stream = |flow: &&FlowSpec| flow.size == Bytes::ZERO;
        let streams = table.flows.iter().rev().take_while(is_stream).count();
        table.first_stream = (table.flows.len() - streams) as u32;
        table.programs = programs;
        table.control = control.into_iter().map(|((from, to), delay)| (from, to, delay)).collect();
        table.add_streams();
        table
    }
}

/// Sorts flows: those with a start by that, then those that programs start, then connections that stay open. The answer is the place of each.
fn place(flows: &mut Vec<FlowSpec>) -> Vec<u32> {
    let mut sorted: Vec<u32> = (0..flows.len() as u32).collect();
    sorted.sort_unstable_by_key(|made| {
        let flow = &flows[*made as usize];
        let key = (flow.start != Time::MAX).then(|| order(flow));
        (key.is_none(), flow.size == Bytes::ZERO, key, *made)
    });
    let mut places = vec![0; flows.len()];
    sorted.iter().zip(0..).for_each(|(made, place)| places[*made as usize] = place);
    *flows = sorted.into_iter().map(|made| flows[made as usize]).collect();
    places
}

impl Triggers {
    /// Programs of the hosts that take part. A trigger whose flows go to several hosts meets at one of them: half of its delay passes on
    /// the way there, the rest on the way to the senders.
    fn programs(self, flows: &[FlowSpec]) -> Vec<Draft> {
        let Self { fires, waits } = self;
        let mut by_name: BTreeMap<&str, Vec<Option<u32>>> = BTreeMap::new();
        for ((_, name), flows) in &fires {
            by_name.entry(name).or_default().extend(flows);
        }
        let mut all: BTreeMap<(u16, u32), Vec<Step>> = BTreeMap::new();
        for (number, (key, waits)) in (0..).zip(waits) {
            let of = fires.get(&key).or_else(|| by_name.get(key.1.as_str()));
            let fired: Option<Vec<u32>> = of.into_iter().flatten().copied().collect();
            let traffic = key.0;
            let Some(fired) = fired.filter(|fired| !fired.is_empty()) else { continue };
            let mut by_host: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for flow in fired {
                by_host.entry(flows[flow as usize].dst).or_default().push(flow);
            }
            let (met, go) = (2 * number, 2 * number + 1);
            let Wait { control_delay, until, .. } = waits[0];
            let least = Span::from_ps(1);
            let hosts = by_host.len() as u32;
            let there = if hosts > 1 { (control_delay / 2).max(least) } else { Span::ZERO };
            let back = control_delay.saturating_sub(there).max(least);
            let at = *by_host.keys().next().expect("a trigger has flows");
            for (host, flows) in &by_host {
                let steps = all.entry((traffic, *host)).or_default();
                steps.extend(takes(flows.iter().copied()));
                if hosts > 1 {
                    let (tag, delay, before) = (met, there, Time::MAX);
                    let signal = Signal { to: at, traffic, tag, delay, before };
                    steps.push(Step { op: Op::Signal(signal), after: WaitList::op(1) });
                }
            }
            let senders: BTreeSet<u32> = waits.iter().map(|w| flows[w.flow as usize].src).collect();
            for (nth, to) in (1..).zip(senders) {
                let (tag, delay, before) = (go, back, latest(until, back));
                let op = Op::Signal(Signal { to, traffic, tag, delay, before });
                let after =
                    if hosts > 1 { WaitList::signal(met, hosts) } else { WaitList::op(nth) };
                all.entry((traffic, at)).or_default().push(Step { op, after });
            }
            for wait in waits {
                let flow = &flows[wait.flow as usize];
                let op = Op::Send { on: wait.flow, bytes: flow.size };
                let steps = all.entry((traffic, flow.src)).or_default();
                let mut after = WaitList::signal(go, 1);
                if wait.compute > Span::ZERO {
                    steps.push(Step { op: Op::Compute(wait.compute), after });
                    after = WaitList::op(1);
                }
                steps.push(Step { op, after });
            }
        }
        let draft = |((traffic, host), steps)| Draft { host, traffic, ahead: u32::MAX, steps };
        all.into_iter().map(draft).collect()
    }
}

/// Takes flows, each after the one before: the last of these operations is over when all have been delivered.
pub(super) fn takes(flows: impl Iterator<Item = u32>) -> impl Iterator<Item = Step> {
    let take = |(nth, on): (u32, u32)| Step {
        op: Op::Recv { on, bytes: Bytes::MAX },
        after: WaitList::op(nth.min(1)),
    };
    (0..).zip(flows).map(take)
}

/// Time before which a delivery must be so that its successors, notified `delay` later, begin before `until`.
pub(super) fn latest(until: Time, delay: Span) -> Time {
    Time::from_ps(until.as_ps().saturating_sub(delay.as_ps()))
}

impl Table {
    /// Gives each connection that carries RPCs its two places among the flows.
    fn add_streams(&mut self) {
        let Self { flows, connections, .. } = self;
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
}
