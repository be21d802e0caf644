//! The critical path of a collective: from its end back to its begin, over operations of ranks and the messages between them.
//!
//! A receipt is followed over its message to the send that began it. A send, or a computation, goes back to the operation that let it begin.
//! The pieces of messages are those of flows, see `chain`.
//!
//! Invariant: the pieces tile the time from the begin of the collective to its end, without gap or overlap.

use super::chain::{Piece, StreamMessage};
use super::index::Index;
use super::log::Log;
use super::marks::{Marker, Marks, RateCut, cuts};
use crate::part::{Family, Part};
use crate::rows::{CollectiveRow, RunRecord, StepCause, StepKind, StepRow, Subject, WhyRow};
use forebay_units::{Span, Time};
use std::collections::BTreeMap;

/// An operation on the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathHop {
    /// The host that waited for it: of a message the receiver, of an acknowledgement the sender.
    pub host: u32,
    /// What it was: a message that was received or acknowledged, a computation or a signal.
    pub kind: StepKind,
    /// Connection of the message.
    pub flow: Option<u32>,
    /// Payload.
    pub bytes: u64,
    /// When it began.
    pub from: Time,
    /// When it was over.
    pub to: Time,
}

/// A stretch of the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathPiece {
    /// Host that it was spent at, or for; `None` of the path between hosts.
    pub host: Option<u32>,
    /// Connection of the message.
    pub flow: Option<u32>,
    /// What it was.
    pub piece: Piece,
    /// Of pacing: what had marked packets of the connection last; `None` if nothing had.
    pub marked: Option<Marker>,
}

/// The critical path of a collective, in the order of time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Path {
    /// Operations that took time.
    pub hops: Vec<PathHop>,
    /// From the begin to the end, each beginning where the one before ends.
    pub pieces: Vec<PathPiece>,
    /// What made senders on the path pace, the marker that cost most first.
    pub cuts: Vec<RateCut>,
}

impl Path {
    /// Rows of the pieces. Those without a message are of no flow.
    pub fn rows(&self, log: &Log) -> Vec<WhyRow> {
        let row = |one: &PathPiece| WhyRow {
            of: Subject::Flow(one.flow.unwrap_or(u32::MAX)),
            part: one.piece.part,
            port: one.piece.link.map_or_else(String::new, |link| log.port(link)),
            behind: one.piece.behind,
            span: one.piece.span(),
        };
        self.pieces.iter().map(row).collect()
    }

    /// Time spent at each host, or for it, the one that cost most first.
    pub fn hosts(&self) -> Vec<(u32, Span)> {
        let mut all: BTreeMap<u32, Span> = BTreeMap::new();
        for one in &self.pieces {
            if let Some(host) = one.host {
                *all.entry(host).or_default() += one.piece.span();
            }
        }
        let mut all: Vec<(u32, Span)> = all.into_iter().collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.1)); // stable
        all
    }
}

/// Operations, and the messages of each connection.
struct Steps<'a> {
    all: &'a [StepRow],
    first: BTreeMap<(u32, u32), usize>,      // by host and program
    sends: BTreeMap<u32, Vec<Share>>,        // by connection, in their order
    receipts: BTreeMap<(usize, u32), usize>, // by operation and connection: which message
    signals: BTreeMap<(u16, u32, u32), Vec<(Time, usize)>>, // by entry, host and name: when each came, and who sent it
}

/// A message, or its part on one connection.
#[derive(Clone, Copy)]
struct Share {
    step: usize,
    bytes: (u64, u64),
}

impl<'a> Steps<'a> {
    fn of(all: &'a [StepRow]) -> Self {
        let mut first = BTreeMap::new();
        let mut sends: BTreeMap<u32, Vec<Share>> = BTreeMap::new();
        let mut receipts = BTreeMap::new();
        let mut received: BTreeMap<u32, usize> = BTreeMap::new();
        let mut signals: BTreeMap<(u16, u32, u32), Vec<(Time, usize)>> = BTreeMap::new();
        for (at, one) in all.iter().enumerate().filter(|one| one.1.kind == StepKind::Signal) {
            if let (Some((to, tag, delay)), Some(begun)) = (one.signal, one.begun) {
                signals.entry((one.traffic, to, tag)).or_default().push((begun + delay, at));
            }
        }
        signals.values_mut().for_each(|all| all.sort_unstable());
        let mut order: Vec<usize> = (0..all.len()).collect();
        for (at, one) in all.iter().enumerate() {
            first.entry((one.host, one.program)).or_insert(at);
        }
        // Two operations of a connection take their turns as they begin.
        order.retain(|at| all[*at].begun.is_some() && all[*at].flow.is_some());
        order.sort_by_key(|at| (all[*at].begun, *at)); // `Walk` searches sends by that
        for at in order {
            let one = &all[at];
            let flows = one.flow.into_iter().flat_map(|flow| {
                (0..one.stripes.max(1)).map(move |nth| (flow + u32::from(nth), nth))
            });
            for (flow, nth) in flows.filter(|(_, nth)| *nth == 0 || one.share(*nth) > 0) {
                if one.kind == StepKind::Send {
                    let before = sends.entry(flow).or_default();
                    let upto = before.last().map_or(0, |last| last.bytes.1);
                    before.push(Share { step: at, bytes: (upto, upto + one.share(nth)) });
                } else {
                    let nth = received.entry(flow).or_default();
                    receipts.insert((at, flow), *nth);
                    *nth += 1;
                }
            }
        }
        Self { all, first, sends, receipts, signals }
    }

    /// All messages.
    fn messages(&self) -> impl Iterator<Item = StreamMessage> {
        self.sends.iter().flat_map(move |(flow, all)| {
            (0..all.len()).filter_map(move |nth| Some(self.message(*flow, nth)?.0))
        })
    }

    /// Message `nth` of a connection, and the operation that sends it.
    fn message(&self, flow: u32, nth: usize) -> Option<(StreamMessage, usize)> {
        let one = self.sends.get(&flow)?.get(nth)?;
        let written = self.all[one.step].begun?;
        let number = nth as u32 + 1;
        Some((StreamMessage { stream: flow, number, bytes: one.bytes, written }, one.step))
    }

    /// The signal that an operation waits for: when it came, and the operation that sent it.
    fn signal(&self, at: usize) -> Option<(Time, usize)> {
        let one = &self.all[at];
        let (to, tag, _) = one.signal?;
        self.signals.get(&(one.traffic, to, tag))?.get(one.count.checked_sub(1)? as usize).copied()
    }

    /// An operation of the same program, by its place.
    fn of_program(&self, at: usize, number: u32) -> Option<usize> {
        let one = &self.all[at];
        let other = self.first.get(&(one.host, one.program))? + number as usize;
        let is_it = |other: &StepRow| (other.host, other.program) == (one.host, one.program);
        self.all.get(other).filter(|other| is_it(other)).map(|_| other)
    }
}

/// Where the walk is.
#[derive(Clone, Copy)]
enum WalkPosition {
    Over(usize),
    Begun(usize),
}

struct Walk<'a> {
    log: &'a Log,
    steps: Steps<'a>,
    index: Index<'a>,
    start: Time,
    at: Time, // everything from here on is told
    path: Path,
    marks: BTreeMap<u32, Marks>, // by connection, of those that paced
}

/// The critical path of a collective of a run whose operations were logged and whose connections were followed; `None` if the collective has no
/// end there.
pub fn path(log: &Log, run: &RunRecord, of: &CollectiveRow) -> Option<Path> {
    let (start, end) = (of.start, of.end?);
    let steps = Steps::of(&run.steps);
    let is_end = |one: &StepRow| {
        one.kind == StepKind::End
            && (one.traffic, one.over) == (of.traffic, Some(end))
            && one.collective == Some((of.group, of.number))
            && Some(one.host) == of.last
    };
    let last = run.steps.iter().position(is_end)?;
    let index = StreamMessage::index(log, steps.messages());
    let path = Path::default();
    let marks = BTreeMap::new();
    let mut walk = Walk { log, steps, index, start, at: end, path, marks };
    let mut at = Some(WalkPosition::Over(last));
    while let Some(now) = at.filter(|_| walk.at > start) {
        at = match now {
            WalkPosition::Over(step) => walk.over(step),
            WalkPosition::Begun(step) => walk.begun(step),
        };
    }
    let rest =
        Piece { part: Part::Unexplained, link: None, behind: None, from: start, to: walk.at };
    walk.take(vec![rest], (None, None));
    walk.path.pieces.reverse();
    walk.path.hops.reverse();
    let mut spans: BTreeMap<Marker, Span> = BTreeMap::new();
    for (marker, one) in walk.path.pieces.iter().filter_map(|one| Some((one.marked?, one))) {
        *spans.entry(marker).or_default() += one.piece.span();
    }
    walk.path.cuts = cuts(log, &walk.index, spans, (start, end));
    Some(walk.path)
}

impl Walk<'_> {
    /// Adds pieces that end now, in the order of time; those before the begin of the collective are cut off.
    fn take(&mut self, pieces: Vec<Piece>, (flow, ends): (Option<u32>, Option<[u32; 2]>)) {
        for mut piece in pieces.into_iter().rev() {
            piece.from = piece.from.max(self.start);
            piece.to = piece.to.min(self.at);
            if piece.to <= piece.from {
                continue;
            }
            self.at = piece.from;
            let host = ends.and_then(|[from, to]| match piece.part.family() {
                Family::Sender | Family::Repair => Some(from),
                Family::Host => Some(to),
                Family::Path | Family::Queues | Family::Pauses => None,
            });
            let marked = flow.filter(|_| piece.part == Part::Pacing);
            let marked = marked.and_then(|flow| self.marked(flow, piece.to));
            self.path.pieces.push(PathPiece { host, flow, piece, marked });
        }
    }

    /// What had marked packets of a connection last.
    fn marked(&mut self, flow: u32, by: Time) -> Option<Marker> {
        let of = self.log.stream(flow)?;
        let (log, index) = (self.log, &self.index);
        self.marks.entry(flow).or_insert_with(|| Marks::of(log, index, of)).last(by)
    }

    fn hop(&mut self, host: u32, kind: StepKind, message: Option<(u32, u64)>, from: Time) {
        let (flow, bytes) = message.map_or((None, 0), |(flow, bytes)| (Some(flow), bytes));
        let (from, to) = (from.max(self.start), self.at);
        self.path.hops.push(PathHop { host, kind, flow, bytes, from, to });
    }

    /// An operation was over: what it was busy with.
    fn over(&mut self, step: usize) -> Option<WalkPosition> {
        let one = self.steps.all[step];
        let begun = one.begun?;
        if begun >= self.at {
            return Some(WalkPosition::Begun(step));
        }
        match one.kind {
            StepKind::Recv => {
                let flow = one.last?;
                let nth = *self.steps.receipts.get(&(step, flow))?;
                let (sent, by) = self.steps.message(flow, nth)?;
                let pieces = sent.delivered(self.log, &self.index, self.at)?;
                let from = self.steps.all[by].host;
                let bytes = sent.bytes.1 - sent.bytes.0;
                self.hop(one.host, one.kind, Some((flow, bytes)), sent.written);
                self.take(pieces, (Some(flow), Some([from, one.host])));
                Some(WalkPosition::Begun(by))
            }
            StepKind::Send => {
                let flow = one.last?;
                let sends = self.steps.sends.get(&flow)?;
                let turn = |step: usize| (self.steps.all[step].begun, step);
                let nth = sends.binary_search_by_key(&turn(step), |sent| turn(sent.step)).ok()?;
                let (sent, _) = self.steps.message(flow, nth)?;
                let pieces = sent.acknowledged(self.log, &self.index, self.at)?;
                let bytes = sent.bytes.1 - sent.bytes.0;
                self.hop(one.host, one.kind, Some((flow, bytes)), sent.written);
                self.take(pieces, (Some(flow), Some([one.host, one.host])));
                Some(WalkPosition::Begun(step))
            }
            _ => {
                let (part, to) = (Part::Compute, self.at);
                self.hop(one.host, one.kind, None, begun);
                let piece = Piece { part, link: None, behind: None, from: begun, to };
                self.take(vec![piece], (None, Some([one.host; 2])));
                Some(WalkPosition::Begun(step))
            }
        }
    }

    /// An operation began: what let it do so.
    fn begun(&mut self, step: usize) -> Option<WalkPosition> {
        let one = self.steps.all[step];
        match one.cause {
            StepCause::Step(number) => {
                let other = self.steps.of_program(step, number)?;
                if self.steps.all[other].over == one.begun {
                    return Some(WalkPosition::Over(other));
                }
            }
            StepCause::Signal => {
                let (came, by) = self.steps.signal(step)?;
                if Some(came) == one.begun {
                    let sent = self.steps.all[by];
                    let from = sent.begun?;
                    if came > from {
                        self.hop(one.host, StepKind::Signal, None, from);
                    }
                    let (part, to) = (Part::Posting, came);
                    let piece = Piece { part, link: None, behind: None, from, to };
                    self.take(vec![piece], (None, Some([one.host; 2])));
                    return Some(WalkPosition::Begun(by));
                }
            }
            StepCause::Nothing => {}
        }
        // What it waits for was over before it was read: an operation before it began just then.
        let before = (0..one.number).rev().filter_map(|number| self.steps.of_program(step, number));
        let mut with = before.filter(|other| self.steps.all[*other].begun == one.begun);
        with.next().map(WalkPosition::Begun)
    }
}
