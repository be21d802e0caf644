//! Operations of a rank on a channel, collective after collective.

use crate::program::op::{Mark, Op, Ops, Signal, Step, WaitList};
use forebay_jobs::{self as jobs, Algorithm, Schedule};
use forebay_units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A group of ranks, and its connections.
#[derive(Clone, Debug)]
pub(super) struct RankGroup {
    pub schedule: Schedule,
    /// Hosts, rank by rank.
    pub hosts: Arc<[u32]>,
    /// Number of the group within the entry, and of the signal with which its channels end a collective at a host.
    pub group: u32,
    /// Number of its first connection within the entry.
    pub first: u32,
    /// Connections from a rank to another one, for each channel.
    pub each: u32,
    /// Whether messages take these connections in turn; otherwise each is split over all of them.
    pub turns: bool,
    pub window: Option<Window>,
}

/// Buffers that a receiving rank has posted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// How many messages they hold, 1 or more.
    pub messages: u32,
    /// Time until the sender knows of one that is posted again.
    pub delay: Span,
    /// Signal of that for the first pair of ranks and channel.
    pub tags: u32,
}

impl RankGroup {
    /// Operations that a program reads before they can begin. Those of a window wait for receipts, which may come after what follows them.
    pub fn ahead(&self) -> u32 {
        let messages = self.schedule.most_messages();
        let at_once = match self.schedule.algorithm() {
            Algorithm::Direct => u64::from(self.schedule.ranks()),
            _ => 2,
        };
        let of_window = match self.window {
            Some(_) => messages.saturating_mul(at_once).saturating_mul(2).saturating_add(8),
            None => 0,
        };
        u32::try_from(self.schedule.ahead().saturating_add(of_window)).unwrap_or(u32::MAX)
    }
}

/// When collectives of an entry begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub start: Time,
    /// From the begin of a collective at a rank to its first sends.
    pub delay: Span,
    /// From the end of a collective at a rank to the begin of the next one there.
    pub gap: Span,
    pub repeat: u32,
}

/// Operations of a rank on a channel. A collective begins with a mark and ends with one, when all data for the rank has come on this
/// channel. The next one begins when all channels of the rank have sent and received everything.
#[derive(Clone, Debug)]
pub(super) struct RankOps {
    of: RankGroup,
    rank: u32,
    channel: u32,
    traffic: u16,
    times: Times,
    collective: u32, // number of this one
    place: u32,      // of the next operation
    begins: u32,     // place of the operation that this collective's first sends wait for
    next: RankNext,
    sent: BTreeMap<u64, u32>, // messages so far by pair of ranks, where that matters
    received: BTreeMap<u64, (u32, u32)>, // likewise, and the place of the last signal of a window
    posts: Option<Option<u64>>, // an operation of a window comes next, about the pair of the receipt before
    receipts: BTreeMap<u32, u32>, // place of the last one by connection
    sends: BTreeMap<u32, u32>,  // likewise
    open: VecDeque<u32>,        // places that the next join waits for
}

/// What comes next.
#[derive(Clone, Debug)]
enum RankNext {
    Start,
    Begin,
    Delay,
    Steps(Box<jobs::Steps>),
    Received,
    Ended,
    Over,
}

impl RankOps {
    pub fn new(of: RankGroup, (rank, channel): (u32, u32), traffic: u16, times: Times) -> Self {
        Self {
            of,
            rank,
            channel,
            traffic,
            times,
            collective: 0,
            place: 0,
            begins: 0,
            next: RankNext::Start,
            sent: BTreeMap::new(),
            received: BTreeMap::new(),
            posts: None,
            receipts: BTreeMap::new(),
            sends: BTreeMap::new(),
            open: VecDeque::new(),
        }
    }

    fn back(&self, place: u32) -> u32 {
        self.place - place
    }

    /// At a time, or after all channels have ended the collective before.
    fn start(&self) -> Step {
        if self.collective == 0 {
            return Step { op: Op::At(self.times.start), after: WaitList::NOTHING };
        }
        let ended = self.collective * self.of.schedule.channels();
        Step { op: Op::Compute(self.times.gap), after: WaitList::signal(self.of.group, ended) }
    }

    fn mark(&self, is_end: bool) -> Op {
        Op::Mark(Mark { group: self.of.group, number: self.collective, is_end })
    }

    /// A pair of ranks on this channel.
    fn pair(&self, from: u32, to: u32) -> u64 {
        self.of.schedule.connection(from, to, self.channel).expect("a connection of the schedule")
    }

    /// The connection of message `nth` of a pair.
    fn connection(&self, pair: u64, nth: u32) -> u32 {
        let pair = u32::try_from(pair).expect("connections are flows, of which there are fewer");
        let turn = if self.of.turns { nth % self.of.each } else { 0 };
        self.of.first + pair * self.of.each + turn
    }

    /// Whether messages are counted.
    fn counts(&self) -> bool {
        self.of.window.is_some() || self.of.each > 1 && self.of.turns
    }

    /// An operation of the schedule. A send or a computation that waits for nothing waits for the begin. With a window each is followed by
    /// one that posts a buffer, or does nothing, so distances double.
    fn translated(&mut self, step: jobs::Step) -> Step {
        let width = 1 + u32::from(self.of.window.is_some());
        let back = match step.after {
            [0, 0] if !step.op.is_recv() => [self.back(self.begins), 0],
            back => back.map(|back| width * back),
        };
        let mut after = WaitList::ops(back);
        let mut posts = None;
        let op = match step.op {
            jobs::Op::Send { to, bytes, .. } => {
                let pair = self.pair(self.rank, to);
                let nth = match self.counts() {
                    true => {
                        let sent = self.sent.entry(pair).or_default();
                        *sent += 1;
                        *sent - 1
                    }
                    false => 0,
                };
                if let Some(window) = self.of.window.filter(|window| nth >= window.messages) {
                    after.tag = window.tags + pair as u32;
                    after.count = nth + 1 - window.messages;
                }
                let on = self.connection(pair, nth);
                self.sends.insert(on, self.place);
                Op::Send { on, bytes }
            }
            jobs::Op::Recv { from, bytes, .. } => {
                let pair = self.pair(from, self.rank);
                let nth = match self.counts() {
                    true => {
                        let received = &mut self.received.entry(pair).or_default().0;
                        *received += 1;
                        *received - 1
                    }
                    false => 0,
                };
                let on = self.connection(pair, nth);
                self.receipts.insert(on, self.place);
                posts = Some(pair);
                Op::Recv { on, bytes }
            }
            jobs::Op::Compute(span) => Op::Compute(span),
        };
        self.posts = self.of.window.map(|_| posts);
        Step { op, after }
    }

    /// What follows an operation where there is a window: the buffer of a receipt is posted again, after those before it.
    fn posted(&mut self, window: Window, pair: Option<u64>) -> Step {
        let Some(pair) = pair else {
            return Step { op: Op::Compute(Span::ZERO), after: WaitList::NOTHING };
        };
        let place = self.place;
        let (_, last) = self.received.entry(pair).or_default();
        let before = std::mem::replace(last, place);
        let before = if before == 0 { 0 } else { place - before }; // no signal is the first operation
        let (from, ..) = self.of.schedule.ends(pair).expect("a pair of the schedule");
        let to = self.of.hosts[from as usize];
        let (traffic, tag) = (self.traffic, window.tags + pair as u32);
        let signal = Signal { to, traffic, tag, delay: window.delay, before: Time::MAX };
        Step { op: Op::Signal(signal), after: WaitList::ops([1, before]) }
    }

    /// An operation that waits for all that is open: joins of two first, then `last`. True: this is that.
    fn joined(&mut self, last: Op) -> (Step, bool) {
        let (one, two) = (self.open.pop_front(), self.open.pop_front());
        let after =
            WaitList::ops([one, two].map(|place| place.map_or(0, |place| self.back(place))));
        if self.open.is_empty() {
            return (Step { op: last, after }, true);
        }
        self.open.push_back(self.place);
        (Step { op: Op::Compute(Span::ZERO), after }, false)
    }

    /// All that is sent and received has been listed.
    fn listed(&mut self) -> RankNext {
        self.open = std::mem::take(&mut self.receipts).into_values().collect();
        if self.open.is_empty() {
            self.open.push_back(self.begins);
        }
        RankNext::Received
    }
}

impl Ops for RankOps {
    fn next(&mut self) -> Option<Step> {
        if let (Some(window), Some(pair)) = (self.of.window, self.posts.take()) {
            let step = self.posted(window, pair);
            self.place += 1;
            return Some(step);
        }
        if let RankNext::Steps(steps) = &mut self.next {
            match steps.next() {
                Some(step) => {
                    let step = self.translated(step);
                    self.place += 1;
                    return Some(step);
                }
                None => self.next = self.listed(),
            }
        }
        let step = match self.next {
            RankNext::Start => {
                self.next = RankNext::Begin;
                self.start()
            }
            RankNext::Begin => {
                self.begins = self.place;
                self.next =
                    if self.times.delay > Span::ZERO { RankNext::Delay } else { self.steps() };
                Step { op: self.mark(false), after: WaitList::op(1) }
            }
            RankNext::Delay => {
                self.begins = self.place;
                self.next = self.steps();
                Step { op: Op::Compute(self.times.delay), after: WaitList::op(1) }
            }
            RankNext::Received => {
                let (step, is_last) = self.joined(self.mark(true));
                if is_last {
                    self.open = std::mem::take(&mut self.sends).into_values().collect();
                    self.open.push_back(self.place);
                    let is_over = self.collective + 1 >= self.times.repeat;
                    self.next = if is_over { RankNext::Over } else { RankNext::Ended };
                }
                step
            }
            RankNext::Ended => {
                let to = self.of.hosts[self.rank as usize];
                let (traffic, tag) = (self.traffic, self.of.group);
                let signal = Signal { to, traffic, tag, delay: Span::ZERO, before: Time::MAX };
                let (step, is_last) = self.joined(Op::Signal(signal));
                if is_last {
                    self.collective += 1;
                    self.next = RankNext::Start;
                }
                step
            }
            RankNext::Steps(_) | RankNext::Over => return None,
        };
        self.place += 1;
        Some(step)
    }

    fn copy(&self) -> Box<dyn Ops> {
        Box::new(self.clone())
    }
}

impl RankOps {
    fn steps(&self) -> RankNext {
        RankNext::Steps(Box::new(self.of.schedule.steps(self.rank, self.channel)))
    }
}
