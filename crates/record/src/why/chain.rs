//! The walk backward from the event that completed a flow to its start.
//!
//! A packet that arrived is followed to the host that sent it, hop by hop. At a sender the walk goes back to the event that let
//! the packet leave: the start of the flow, a timer, or an answer, which is followed to the receiver, and there to the data that it
//! answers, and so on. A round trip that a sender waited for is made of queueing, named as such, and of the rest, named by what
//! made the sender wait. A repair goes back to the copy before it: what lies between is the wait for the repair. The time in which the flow's own packets left is serialization, wherever the sender could send.

use super::index::{Index, Message, OfFlow};
use super::log::{
    FollowedFlow, HostStages, Log, NodeArrival, NodeDeparture, Role, SenderEvent, Waits,
};
use crate::part::{Part, Repair};
use forebay_units::{Span, Time};

/// A stretch of a completion time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// What it went to.
    pub part: Part,
    /// The link whose port it was spent at, of queueing, pauses and the NIC.
    pub link: Option<u32>,
    /// The flow whose packets were sent there meanwhile, of queueing and the NIC, where it is known.
    pub behind: Option<u32>,
    /// Begin.
    pub from: Time,
    /// End.
    pub to: Time,
}

impl Piece {
    /// Length of the piece.
    pub fn span(&self) -> Span {
        self.to.since(self.from)
    }
}

/// A completion time in pieces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimeParts {
    /// The flow.
    pub flow: FollowedFlow,
    /// From its start to its completion, each beginning where the one before ends.
    pub pieces: Vec<Piece>,
}

impl TimeParts {
    /// What went to a part in all.
    pub fn total(&self, part: Part) -> Span {
        self.pieces.iter().filter(|one| one.part == part).map(Piece::span).sum()
    }

    /// The completion time.
    pub fn fct(&self) -> Span {
        self.flow.done.since(self.flow.start)
    }
}

/// Where the time of every flow of a log went.
pub fn explain(log: &Log) -> Vec<TimeParts> {
    let index = Index::of(log, &[]);
    let one =
        |flow: &FollowedFlow| TimeParts { flow: *flow, pieces: pieces(log, &index, (flow, 0)) };
    log.flows.iter().map(one).collect()
}

/// From the start of a flow, or of a message of a stream, to its completion.
fn pieces(log: &Log, index: &Index<'_>, of: (&FollowedFlow, u32)) -> Vec<Piece> {
    let mut walk = Walk::new(log, index, of);
    walk.go();
    walk.end(Part::Unexplained)
}

/// An RPC to explain: two stretches of bytes, each on its stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// Index among the RPCs of the run.
    pub rpc: u32,
    /// Which one of its connection, from 1 on.
    pub number: u32,
    /// Streams of its connection, of requests and of responses.
    pub streams: [u32; 2],
    /// Bytes of each stream up to the end of its request, and of its response.
    pub upto: [u64; 2],
    /// Bytes of its request, and of its response: none, if it is one-way.
    pub size: [u64; 2],
    /// When its client issued it.
    pub issued: Time,
    /// When its client had the response, or of a one-way RPC the last acknowledgement.
    pub completed: Time,
}

/// Where the time of RPCs went, each from its issue to its completion; `None` where the log does not have it.
///
/// The response is followed back to the server's write, the request from the server's hands to the client's write: what lies between is
/// the server's work, and what comes before it a wait for credits of the server's cache, or for messages before it. Of a one-way RPC the ACK
/// is followed back to the server.
pub fn explain_calls(log: &Log, calls: &[Call]) -> Vec<Option<Vec<Piece>>> {
    let ways = calls.iter().flat_map(|call| [0, 1].map(|i| RpcDirection::of(log, call, i)));
    let messages: Vec<Message> = ways.flatten().filter_map(|way| way.message).collect();
    let index = Index::of(log, &messages);
    calls.iter().map(|call| of_call(log, &index, call)).collect()
}

/// A message on a stream that stays open.
#[derive(Clone, Copy)]
pub(super) struct StreamMessage {
    /// The stream.
    pub stream: u32,
    /// Which one of its stream, from 1 on.
    pub number: u32,
    /// Where it begins and ends in its stream.
    pub bytes: (u64, u64),
    /// When it was written.
    pub written: Time,
}

impl StreamMessage {
    fn way(&self, log: &Log) -> Option<RpcDirection> {
        let flow = *log.stream(self.stream)?;
        let message = Message { stream: self.stream, number: self.number, bytes: self.bytes };
        Some(match flow.on_credit {
            true => {
                RpcDirection { flow, message: Some(message), upto: self.bytes.1 - self.bytes.0 }
            }
            false => RpcDirection { flow, message: None, upto: self.bytes.1 },
        })
    }

    /// An index of a log with these messages.
    pub fn index<'a>(log: &'a Log, all: impl Iterator<Item = Self>) -> Index<'a> {
        let messages: Vec<Message> = all.filter_map(|one| one.way(log)?.message).collect();
        Index::of(log, &messages)
    }

    /// From the write to `done`, when the application at the receiver had all of it.
    pub fn delivered(&self, log: &Log, index: &Index<'_>, done: Time) -> Option<Vec<Piece>> {
        let way = self.way(log)?;
        Some(way.pieces(log, index, way.within(self.written, done)))
    }

    /// From the write to `done`, when its sender had the last acknowledgement.
    pub fn acknowledged(&self, log: &Log, index: &Index<'_>, done: Time) -> Option<Vec<Piece>> {
        let way = self.way(log)?;
        let came = way.came(index)?.clamp(self.written, done);
        // Reading by cores is no part of an acknowledgement.
        let mut there = way.within(self.written, came);
        there.host[1].memory = false;
        let mut all = way.pieces(log, index, there);
        let flow = way.within(came, done);
        let mut walk = Walk::new(log, index, (&flow, way.number()));
        walk.acknowledgement();
        all.extend(walk.end(Part::Unexplained));
        Some(all)
    }
}

/// One way of an RPC.
struct RpcDirection {
    flow: FollowedFlow,
    message: Option<Message>, // where its stream is one of messages
    upto: u64,                // where it ends, as its index counts
}

impl RpcDirection {
    fn of(log: &Log, call: &Call, i: usize) -> Option<Self> {
        let (flow, upto, size) = (*log.stream(call.streams[i])?, call.upto[i], call.size[i]);
        let bytes = (upto - size, upto);
        let message = Message { stream: flow.flow, number: call.number, bytes };
        Some(match flow.on_credit {
            true => Self { flow, message: (size > 0).then_some(message), upto: size },
            false => Self { flow, message: None, upto },
        })
    }

    fn number(&self) -> u32 {
        self.message.map_or(0, |message| message.number)
    }

    /// When its last byte had been written at the sender; of a message, when that began.
    fn written(&self, index: &Index<'_>) -> Option<Time> {
        let events = &index.flow(self.flow.flow, self.number()).events;
        let mut all = events.iter();
        let one =
            if self.flow.on_credit { all.next() } else { all.find(|one| one.written >= self.upto) };
        Some(one?.at)
    }

    /// When its receiver had all of it.
    fn came(&self, index: &Index<'_>) -> Option<Time> {
        let received = &index.flow(self.flow.flow, self.number()).received;
        Some(received.iter().find(|one| one.upto >= self.upto)?.at)
    }

    /// The flow, as if it began and ended with this message.
    fn within(&self, start: Time, done: Time) -> FollowedFlow {
        FollowedFlow { size: self.upto, start, done, ..self.flow }
    }

    /// The parts of its time.
    fn pieces(&self, log: &Log, index: &Index<'_>, flow: FollowedFlow) -> Vec<Piece> {
        match flow.done > flow.start {
            true => pieces(log, index, (&flow, self.number())),
            false => Vec::new(),
        }
    }
}

fn of_call(log: &Log, index: &Index<'_>, call: &Call) -> Option<Vec<Piece>> {
    let part = |part: Part, from: Time, to: Time| {
        (to > from).then_some(Piece { part, link: None, behind: None, from, to })
    };
    let request = RpcDirection::of(log, call, 0)?;
    let response = if call.size[1] > 0 { Some(RpcDirection::of(log, call, 1)?) } else { None };
    // Before the write of a response its request has come.
    let begun = match &response {
        Some(response) => response.written(index)?.clamp(call.issued, call.completed),
        None => call.completed,
    };
    let came = request.came(index)?.clamp(call.issued, begun);
    let handed = request.written(index)?.clamp(call.issued, came);
    let before = if request.flow.on_credit { Part::Order } else { Part::Credit };
    let mut all: Vec<Piece> = part(before, call.issued, handed).into_iter().collect();
    // Reading by cores is part of the server's work.
    let mut asked = request.within(handed, came);
    asked.host[1].memory = false;
    all.extend(request.pieces(log, index, asked));
    match response {
        Some(response) => {
            all.extend(part(Part::Service, came, begun));
            all.extend(response.pieces(log, index, response.within(begun, call.completed)));
        }
        None => {
            let flow = request.within(came, call.completed);
            let mut walk = Walk::new(log, index, (&flow, request.number()));
            walk.acknowledgement();
            all.extend(walk.end(Part::Service));
        }
    }
    Some(all)
}

struct Walk<'a> {
    log: &'a Log,
    index: &'a Index<'a>,
    key: (u32, u32), // flow and message
    of: &'a OfFlow,
    flow: &'a FollowedFlow,
    at: Time, // everything from here on is told
    pieces: Vec<Piece>,
}

/// Event that let a sender send.
enum Cause {
    /// A packet of data that came to the receiver, whose answer released it.
    Data(NodeDeparture),
    /// No event: the sender could send from the start.
    Start,
    /// The log does not tell.
    Unknown,
}

impl<'a> Walk<'a> {
    fn new(log: &'a Log, index: &'a Index<'a>, (flow, message): (&'a FollowedFlow, u32)) -> Self {
        let of = index.flow(flow.flow, message);
        let key = (flow.flow, message);
        Self { log, index, key, of, flow, at: flow.done, pieces: Vec::new() }
    }

    /// All pieces, in the order of time; what is left before them is `rest`.
    fn end(mut self, rest: Part) -> Vec<Piece> {
        self.reach(self.flow.start, rest, None);
        self.pieces.reverse();
        self.pieces
    }

    /// Goes back over the ACK that completed what was sent, to the host that sent it.
    fn acknowledgement(&mut self) {
        let came = self.of.answers.partition_point(|one| one.at <= self.at);
        let answers = &self.of.answers[..came];
        let covers = |one: &&NodeArrival| one.role == Role::Ack && one.id.seq >= self.flow.size;
        let last = match self.flow.on_credit {
            true => answers.last(),
            false => answers.iter().find(covers),
        };
        let Some(last) = last.copied() else { return };
        self.climb(last.at, 0, Part::Ring);
        self.trip(&last, None);
    }

    fn go(&mut self) {
        let Some(mut packet) = self.completion() else { return };
        while self.at > self.flow.start {
            match self.cause(&packet) {
                Cause::Data(earlier) => packet = earlier,
                Cause::Start => return self.send_until(self.flow.start, Part::Nic),
                Cause::Unknown => return,
            }
        }
    }

    /// Adds what happened back to `from`.
    fn reach(&mut self, from: Time, part: Part, link: Option<u32>) {
        self.reach_behind(from, part, link, None);
    }

    /// Adds what happened back to `from`, behind packets of a flow.
    fn reach_behind(&mut self, from: Time, part: Part, link: Option<u32>, behind: Option<u32>) {
        let from = from.max(self.flow.start);
        if from >= self.at {
            return;
        }
        let to = std::mem::replace(&mut self.at, from);
        match self.pieces.last_mut() {
            Some(last) if (last.part, last.link, last.behind) == (part, link, behind) => {
                last.from = from;
            }
            _ => self.pieces.push(Piece { part, link, behind, from, to }),
        }
    }

    /// From the completion to the transmission of the packet that completed the flow.
    fn completion(&mut self) -> Option<NodeDeparture> {
        let size = self.flow.size;
        let in_order = self.of.received.iter().find(|one| one.upto >= size)?.at;
        if self.flow.host[1].memory {
            self.reach(in_order, Part::Copy, None);
        }
        let last = self.data_until(in_order, size)?;
        self.climb(last.at, 1, Part::Ring);
        self.trip(&last, None)
    }

    /// The data on which a receiver had everything below `upto` at `at`.
    fn data_until(&self, at: Time, upto: u64) -> Option<NodeArrival> {
        let came = self.of.data.partition_point(|one| one.at <= at);
        let before = &self.of.data[..came];
        let fits = |one: &&NodeArrival| one.id.seq < upto || self.flow.on_credit;
        before.iter().rev().find(fits).or(before.last()).copied()
    }

    /// Time between the cable and the stack of a host, back to `at`.
    fn climb(&mut self, at: Time, host: usize, otherwise: Part) {
        let HostStages { ring, memory } = self.flow.host[host];
        let node = if host == 0 { self.flow.src } else { self.flow.dst };
        // A packet that came to memory later cannot be what a flow waited for; whether the log has it depends on the end of the log.
        let landing = self.index.landing(self.flow.flow, node, at);
        if let Some(landing) = landing.filter(|one| memory && one.landed <= self.at) {
            self.reach(landing.landed, if ring { Part::Ring } else { Part::Iio }, None);
            self.reach(landing.entered, Part::Iio, None);
            self.reach(landing.first, Part::Pcie, None);
            return self.reach(at, Part::NicBuffer, None);
        }
        let part = match (ring, memory) {
            (_, true) => Part::Memory,
            (true, false) => Part::Ring,
            (false, false) => otherwise,
        };
        self.reach(at, part, None);
    }

    /// The way of a packet back to the host that sent it. `held`: what its sender waited for meanwhile, unless it completed the flow.
    fn trip(&mut self, arrived: &NodeArrival, held: Option<Part>) -> Option<NodeDeparture> {
        let (mut at, mut link) = (arrived.at, arrived.link);
        loop {
            let LinkOf { from: node, flight, gap } = self.link(link);
            let before = |span| Time::ZERO + at.since(Time::ZERO).saturating_sub(span);
            let end = before(flight);
            let left = *self.index.left(self.key, link, end)?;
            // The frame was complete before the gap that ends its transmission.
            self.reach(before(flight + gap), held.unwrap_or(Part::Propagation), None);
            let start = left.start();
            if node == self.flow.src || node == self.flow.dst {
                self.reach(start, held.unwrap_or(Part::Serialization), None);
                return Some(left);
            }
            let (mut left, mut start) = (left, start);
            let mut arrival = self.index.arrived(self.key, node, left.id, end)?;
            self.reach(start.max(arrival.0), held.unwrap_or(Part::Serialization), None);
            // Behind its own flow's packet it does not queue, it is sent.
            while let Some(own) = self
                .index
                .left(self.key, link, start)
                .filter(|own| arrival.0 < start && own.role == left.role)
            {
                (left, start) = (*own, own.start());
                arrival = self.index.arrived(self.key, node, left.id, left.end)?;
                self.reach(start.max(arrival.0), held.unwrap_or(Part::Serialization), None);
            }
            let (came, over) = arrival;
            self.wait_at(came, link, left.class, Part::Queue);
            (at, link) = (came, over);
        }
    }

    fn link(&self, link: u32) -> LinkOf {
        let of = self.log.links[link as usize];
        LinkOf { from: of.from, flight: of.flight, gap: of.gap }
    }

    /// A wait at a port back to `from`: paused, or `part`.
    fn wait_at(&mut self, from: Time, link: u32, class: u8, part: Part) {
        let from = from.max(self.flow.start);
        let latest = self.at;
        for (begins, ends) in self.index.paused(link, class, from, self.at) {
            self.wait_behind(ends, link, part, latest);
            self.reach(begins, Part::Pause, Some(link));
        }
        self.wait_behind(from, link, part, latest);
    }

    /// A wait at a port back to `from`, packet by packet that it sent meanwhile, the last one by `latest`.
    fn wait_behind(&mut self, from: Time, link: u32, part: Part, latest: Time) {
        while self.at > from.max(self.flow.start) {
            let (since, behind) = self.index.sent_before(link, self.at, latest);
            self.reach_behind(since.max(from), part, Some(link), behind);
        }
    }

    /// Time back to `from` in which the flow's own packets left, and else `rest`: where that is the NIC, it may have been paused.
    fn send_until(&mut self, from: Time, rest: Part) {
        let from = from.max(self.flow.start);
        let (link, class) =
            self.of.sent.first().map_or((None, 0), |one| (Some(one.link), one.class));
        while self.at > from {
            let begun = self.of.sent.partition_point(|one| one.start() < self.at);
            let own = begun.checked_sub(1).map(|i| self.of.sent[i]).filter(|one| one.end > from);
            let gap_from = own.map_or(from, |one| one.end.max(from));
            match (rest, link) {
                (Part::Nic, Some(link)) => self.wait_at(gap_from, link, class, rest),
                _ => self.reach(gap_from, rest, None),
            }
            let Some(own) = own else { break };
            let before = self.at;
            self.reach(own.start().max(from), Part::Serialization, None);
            if self.at == before && own.start() >= before {
                break;
            }
        }
        self.reach(from, rest, None);
    }

    /// Goes back from a packet's transmission to what let it leave.
    fn cause(&mut self, packet: &NodeDeparture) -> Cause {
        let handed = self.handed(packet);
        self.send_until(handed, Part::Nic);
        if let Some(lost) = self.copy_before(packet) {
            return self.repair(handed, lost);
        }
        let events = &self.of.events;
        let mut below = events.partition_point(|one| one.at <= handed);
        loop {
            let Some(i) = events[..below].iter().rposition(|one| one.before != Waits::Nic) else {
                return Cause::Start;
            };
            let event = events[i];
            self.send_until(event.at, Part::Nic);
            let expired = match () {
                () if event.timeout => Some(Repair::Timeout),
                () if event.probe => Some(Repair::Probe),
                () => None,
            };
            let until = if let Some(timer) = expired {
                let armed = i.checked_sub(1);
                self.reach(self.time_of(armed), Part::Repair(timer), None);
                armed
            } else if event.before == Waits::Pacing {
                let shut = events[..i].iter().rposition(|one| one.before != Waits::Pacing);
                self.send_until(self.time_of(shut), Part::Pacing);
                shut
            } else if let Some(answer) = self.answer(&event) {
                return self.round_trip(&event, &answer);
            } else {
                let before = i.checked_sub(1);
                self.reach(self.time_of(before), self.held_by(event.before), None);
                before
            };
            match until {
                Some(i) => below = i + 1,
                None => return Cause::Start,
            }
        }
    }

    /// The copy of a packet of data that left before it.
    fn copy_before(&self, packet: &NodeDeparture) -> Option<NodeDeparture> {
        if !packet.resent {
            return None;
        }
        let of = |one: &&NodeDeparture| one.id.seq == packet.id.seq;
        let sooner = self.of.sent.partition_point(|one| one.end < packet.end);
        self.of.sent[..sooner].iter().rev().find(of).copied()
    }

    /// From the departure of a repair back to that of the copy before it.
    fn repair(&mut self, handed: Time, lost: NodeDeparture) -> Cause {
        let events = &self.of.events;
        let below = events.partition_point(|one| one.at <= handed);
        let above = events.partition_point(|one| one.at <= lost.end);
        let between = &events[above.min(below)..below];
        let released = between.iter().rfind(|one| one.before != Waits::Nic);
        let at = released.map_or(handed, |one| one.at);
        let came = self.of.answers.partition_point(|one| one.at <= at);
        let since = self.of.answers.partition_point(|one| one.at <= lost.end).min(came);
        let answers = &self.of.answers[since..came];
        let kind = match answers.last().map(|one| one.role) {
            _ if between.iter().any(|one| one.timeout) => Repair::Timeout,
            _ if between.iter().any(|one| one.probe) => Repair::Probe,
            Some(Role::Nack) => Repair::Nack,
            Some(Role::Request) => Repair::Request,
            // The answer that says what was lost is not the one that gives credit for it.
            _ if self.flow.on_credit => match answers.iter().any(|one| one.role == Role::Nack) {
                true => Repair::Nack,
                false => Repair::Request,
            },
            _ => Repair::Fast,
        };
        self.send_until(at, Part::Nic);
        self.reach(lost.end, Part::Repair(kind), None);
        Cause::Data(lost)
    }

    /// When a packet left its transport for the NIC.
    fn handed(&self, packet: &NodeDeparture) -> Time {
        let start = packet.start();
        if !self.flow.queued_in_nic {
            return start;
        }
        let events = &self.of.events;
        let found = if packet.resent {
            let before = self.of.sent.iter().take_while(|one| one.end < packet.end);
            let nth = before.filter(|one| one.resent).count() as u64;
            events.iter().find(|one| one.resent > nth)
        } else {
            events.iter().find(|one| one.sent > packet.id.seq)
        };
        found.map_or(start, |one| one.at.min(start))
    }

    fn time_of(&self, event: Option<usize>) -> Time {
        event.map_or(self.flow.start, |i| self.of.events[i].at)
    }

    fn held_by(&self, wait: Waits) -> Part {
        match wait {
            Waits::Nic => Part::Nic,
            Waits::Application => Part::Application,
            Waits::Pacing => Part::Pacing,
            Waits::Congestion | Waits::Receiver if self.flow.on_credit => Part::Credit,
            Waits::Congestion => Part::Window,
            Waits::Receiver => Part::ReceiveWindow,
        }
    }

    /// The answer that an event was about: one that came then, or that came before and had to climb.
    fn answer(&self, event: &SenderEvent) -> Option<NodeArrival> {
        let came = self.of.answers.partition_point(|one| one.at <= event.at);
        let newest = *self.of.answers[..came].last()?;
        let HostStages { ring, memory } = self.flow.host[0];
        (newest.at == event.at || ring || memory).then_some(newest)
    }

    /// From an event back over the answer that caused it to the transmission of the data that it answered.
    fn round_trip(&mut self, event: &SenderEvent, answer: &NodeArrival) -> Cause {
        let held = self.held_by(event.before);
        self.climb(answer.at, 0, held);
        let Some(left) = self.trip(answer, Some(held)) else { return Cause::Unknown };
        let Some(data) = self.answered(&left) else { return Cause::Unknown };
        self.climb(data.at, 1, held);
        match self.trip(&data, Some(held)) {
            Some(data) => Cause::Data(data),
            None => Cause::Unknown,
        }
    }

    /// The data that an answer was about: what completed the bytes that it was the first to acknowledge, or what came last before it left.
    fn answered(&self, answer: &NodeDeparture) -> Option<NodeArrival> {
        let start = answer.start();
        let first = self.of.first_ack(answer.id.seq) == Some(answer.id);
        let received = &self.of.received;
        let acknowledged = received.get(received.partition_point(|one| one.upto < answer.id.seq));
        match acknowledged.filter(|one| first && answer.role == Role::Ack && one.at <= start) {
            Some(one) => self.data_until(one.at, answer.id.seq),
            None => self.data_until(start, u64::MAX),
        }
    }
}

/// Of a link, what the walk looks at.
struct LinkOf {
    from: u32,
    flight: Span,
    gap: Span,
}
