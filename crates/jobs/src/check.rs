//! A check of schedules: who has contributed to each byte of each rank, after any order of deliveries.
//!
//! Messages carry contributors in place of data. An operation begins as soon as what it waits for is over, so a wait that is missing shows.
//! Between that, the caller chooses the order of everything that a network decides.

use crate::kinds::Operation;
use crate::op::{DataUse, Op, Step};
use crate::schedule::Schedule;
use forebay_units::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

/// What may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The oldest message on its way arrives.
    Deliver {
        /// Sender.
        from: u32,
        /// Receiver.
        to: u32,
        /// Channel.
        channel: u32,
    },
    /// The sender hears of the oldest message that arrived.
    Acknowledge {
        /// Sender.
        from: u32,
        /// Receiver.
        to: u32,
        /// Channel.
        channel: u32,
    },
    /// The oldest computation of a rank on a channel ends.
    Finish {
        /// Rank.
        rank: u32,
        /// Channel.
        channel: u32,
    },
}

/// A fault of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A contribution comes twice.
    Twice {
        /// Rank that receives it.
        rank: u32,
        /// Contributor.
        of: u32,
        /// Byte and channel.
        at: (u64, u32),
    },
    /// Data is replaced by data that does not hold it.
    Lost {
        /// Rank that receives it.
        rank: u32,
        /// Byte and channel.
        at: (u64, u32),
    },
    /// A rank sends what it does not have.
    Nothing {
        /// Rank.
        rank: u32,
        /// Receiver.
        to: u32,
        /// Byte and channel.
        at: (u64, u32),
    },
    /// Data changes while it is on its way.
    Changed {
        /// Rank.
        rank: u32,
        /// Receiver.
        to: u32,
        /// Byte and channel.
        at: (u64, u32),
    },
    /// A receipt does not match the message.
    Differs {
        /// Receipt.
        recv: Op,
        /// Message.
        sent: Op,
    },
    /// An operation of a connection may begin before an earlier one.
    Overtakes {
        /// Rank.
        rank: u32,
        /// Operation.
        op: Op,
    },
    /// Messages that nobody receives.
    Left {
        /// Sender, receiver, channel.
        connection: (u32, u32, u32),
        /// How many.
        messages: usize,
    },
    /// Operations that never end.
    Stuck {
        /// Rank of the first of them.
        rank: u32,
        /// The first of them.
        op: Op,
        /// Operations that never end, in all.
        count: usize,
    },
    /// A rank ends without a contribution.
    Missing {
        /// Rank.
        rank: u32,
        /// Contributor.
        of: u32,
        /// Byte and channel.
        at: (u64, u32),
    },
    /// A wait for something before the first operation.
    Before {
        /// Rank.
        rank: u32,
        /// Place of the operation.
        place: usize,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Twice { rank, of, at: (byte, channel) } => {
                write!(f, "rank {rank} gets byte {byte} of rank {of} twice on channel {channel}")
            }
            Self::Lost { rank, at: (byte, channel) } => {
                write!(
                    f,
                    "rank {rank} loses byte {byte} of channel {channel} to data that does not hold it"
                )
            }
            Self::Nothing { rank, to, at: (byte, channel) } => {
                write!(
                    f,
                    "rank {rank} sends byte {byte} of channel {channel} to rank {to} before it has it"
                )
            }
            Self::Changed { rank, to, at: (byte, channel) } => {
                write!(
                    f,
                    "rank {rank} changes byte {byte} of channel {channel} on its way to rank {to}"
                )
            }
            Self::Differs { recv, sent } => write!(f, "{recv} does not match {sent}"),
            Self::Overtakes { rank, op } => {
                write!(f, "rank {rank}: {op} may begin before an earlier one of its connection")
            }
            Self::Left { connection: (from, to, channel), messages } => {
                write!(
                    f,
                    "rank {to} does not receive {messages} messages of rank {from} on channel {channel}"
                )
            }
            Self::Stuck { rank, op, count } => {
                write!(f, "rank {rank} waits for ever: {op}; {count} operations never end")
            }
            Self::Missing { rank, of, at: (byte, channel) } => {
                write!(f, "rank {rank} ends without byte {byte} of rank {of} on channel {channel}")
            }
            Self::Before { rank, place } => {
                write!(f, "operation {place} of rank {rank} waits for one before the first")
            }
        }
    }
}

impl std::error::Error for Fault {}

/// Executes a schedule in an order of events, which is chosen among those that are possible; never from none.
///
/// # Errors
/// The first fault.
pub fn check(schedule: &Schedule, order: impl FnMut(&[Event]) -> usize) -> Result<(), Fault> {
    check_steps(schedule, |rank, channel| schedule.steps(rank, channel), order)
}

/// Executes operations of a rank and a channel as those of a schedule.
///
/// # Errors
/// The first fault.
pub fn check_steps<S: IntoIterator<Item = Step>>(
    schedule: &Schedule,
    steps: impl Fn(u32, u32) -> S,
    mut order: impl FnMut(&[Event]) -> usize,
) -> Result<(), Fault> {
    let mut run = Run::new(schedule, steps)?;
    run.begin()?;
    while !run.events.is_empty() {
        let nth = order(&run.events).min(run.events.len() - 1);
        run.happen(nth)?;
    }
    run.judge()
}

/// Ranks whose data is in a byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Contributors(Vec<u64>);

impl Contributors {
    fn one(rank: u32) -> Self {
        let mut words = vec![0; rank as usize / 64 + 1];
        words[rank as usize / 64] = 1 << (rank % 64);
        Self(words)
    }

    fn first(mut words: impl Iterator<Item = u64>) -> Option<u32> {
        let nth =
            words.by_ref().map(u64::trailing_zeros).enumerate().find(|(_, zeros)| *zeros < 64);
        nth.map(|(word, zeros)| word as u32 * 64 + zeros)
    }

    /// One that is in both.
    fn common(&self, other: &Self) -> Option<u32> {
        Self::first(self.0.iter().zip(&other.0).map(|(a, b)| a & b))
    }

    /// One that is here and not there.
    fn without(&self, other: &Self) -> Option<u32> {
        let there = other.0.iter().copied().chain(std::iter::repeat(0));
        Self::first(self.0.iter().zip(there).map(|(a, b)| a & !b))
    }

    fn add(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
}

/// Operations of a rank on a channel.
struct Program {
    rank: u32,
    channel: u32,
    steps: Vec<Step>,
    left: Vec<u8>,          // waits that are not over
    waiting: Vec<Vec<u32>>, // operations that wait for this one
    over: usize,            // operations that are over
    done: Vec<bool>,        // by operation
    computing: VecDeque<usize>,
    turns: BTreeMap<(bool, u32), VecDeque<usize>>, // operations of a connection that have not begun
}

/// A message on its way.
struct Message {
    op: Op,
    data: Vec<Contributors>, // by segment
}

#[derive(Default)]
struct Connection {
    flight: VecDeque<(usize, Message)>, // with the place of its operation
    arrived: VecDeque<usize>,           // and not acknowledged
    inbox: VecDeque<Message>,
    recvs: VecDeque<usize>,
}

struct Run<'a> {
    schedule: &'a Schedule,
    cuts: Vec<Vec<u64>>, // by channel: first bytes of segments, and the end
    data: Vec<Vec<Contributors>>, // by rank and channel, by segment
    programs: Vec<Program>, // by rank and channel
    connections: BTreeMap<(u32, u32, u32), Connection>,
    events: Vec<Event>,
}

impl<'a> Run<'a> {
    fn new<S: IntoIterator<Item = Step>>(
        schedule: &'a Schedule,
        steps: impl Fn(u32, u32) -> S,
    ) -> Result<Self, Fault> {
        let channels = schedule.channels();
        let mut cuts: Vec<BTreeSet<u64>> = (0..channels)
            .map(|channel| {
                (0..=schedule.parts.count())
                    .map(|part| schedule.parts.start(part, channel))
                    .collect()
            })
            .collect();
        let mut programs = Vec::new();
        for rank in 0..schedule.ranks() {
            for channel in 0..channels {
                let program =
                    Program::new(rank, channel, steps(rank, channel).into_iter().collect())?;
                for step in &program.steps {
                    if let Op::Send { at, bytes, channel, .. }
                    | Op::Recv { at, bytes, channel, .. } = step.op
                    {
                        cuts[channel as usize].extend([at, at + bytes.get()]);
                    }
                }
                programs.push(program);
            }
        }
        let cuts: Vec<Vec<u64>> = cuts.into_iter().map(|cuts| cuts.into_iter().collect()).collect();
        let mut run = Self {
            schedule,
            cuts,
            data: Vec::new(),
            programs,
            connections: BTreeMap::new(),
            events: Vec::new(),
        };
        run.data = run.each_segment(|run, rank, part| run.at_first(rank, part));
        Ok(run)
    }

    /// Something for each segment of each rank and channel, from its rank and part.
    fn each_segment(
        &self,
        make: impl Fn(&Self, u32, u32) -> Contributors,
    ) -> Vec<Vec<Contributors>> {
        let mut all = Vec::new();
        for program in &self.programs {
            let cuts = &self.cuts[program.channel as usize];
            let mut part = 0;
            let segments = cuts[..cuts.len() - 1].iter().map(|at| {
                while part + 1 < self.schedule.parts.count()
                    && self.schedule.parts.start(part + 1, program.channel) <= *at
                {
                    part += 1;
                }
                make(self, program.rank, part)
            });
            all.push(segments.collect());
        }
        all
    }

    fn at_first(&self, rank: u32, part: u32) -> Contributors {
        let has = match self.schedule.operation() {
            Operation::AllReduce | Operation::ReduceScatter => true,
            Operation::AllGather | Operation::AllToAll => rank == part,
            Operation::Broadcast => rank == self.schedule.root,
        };
        if has { Contributors::one(rank) } else { Contributors::default() }
    }

    fn at_last(&self, rank: u32, part: u32) -> Contributors {
        let all = || {
            let mut all = Contributors::default();
            (0..self.schedule.ranks()).for_each(|rank| all.add(&Contributors::one(rank)));
            all
        };
        match self.schedule.operation() {
            Operation::AllReduce => all(),
            Operation::ReduceScatter | Operation::AllToAll if rank == part => all(),
            Operation::ReduceScatter | Operation::AllToAll => Contributors::default(),
            Operation::AllGather => Contributors::one(part),
            Operation::Broadcast => Contributors::one(self.schedule.root),
        }
    }

    fn index(&self, rank: u32, channel: u32) -> usize {
        (rank * self.schedule.channels() + channel) as usize
    }

    fn segments(&self, channel: u32, at: u64, bytes: Bytes) -> std::ops::Range<usize> {
        let cuts = &self.cuts[channel as usize];
        let place = |at: u64| cuts.partition_point(|cut| *cut < at);
        place(at)..place(at + bytes.get())
    }

    fn begin(&mut self) -> Result<(), Fault> {
        for program in 0..self.programs.len() {
            for place in 0..self.programs[program].steps.len() {
                if self.programs[program].left[place] == 0
                    && self.programs[program].steps[place].after == [0, 0]
                {
                    self.start(program, place)?;
                }
            }
        }
        Ok(())
    }

    /// Begins an operation.
    fn start(&mut self, program: usize, place: usize) -> Result<(), Fault> {
        self.programs[program].take_turn(place)?;
        let (rank, op) = (self.programs[program].rank, self.programs[program].steps[place].op);
        match op {
            Op::Compute(_) => {
                let Program { channel, computing, .. } = &mut self.programs[program];
                computing.push_back(place);
                if computing.len() == 1 {
                    self.events.push(Event::Finish { rank, channel: *channel });
                }
                Ok(())
            }
            Op::Send { to, channel, .. } => {
                let data = self.outgoing(program, op)?;
                let connection = self.connections.entry((rank, to, channel)).or_default();
                connection.flight.push_back((place, Message { op, data }));
                if connection.flight.len() == 1 {
                    self.events.push(Event::Deliver { from: rank, to, channel });
                }
                Ok(())
            }
            Op::Recv { from, channel, .. } => {
                let key = (from, rank, channel);
                self.connections.entry(key).or_default().recvs.push_back(place);
                self.receive(key)
            }
        }
    }

    /// Data of a send, as it is now.
    fn outgoing(&self, program: usize, op: Op) -> Result<Vec<Contributors>, Fault> {
        let Op::Send { to, channel, at, bytes, .. } = op else { return Ok(Vec::new()) };
        let (rank, segments) = (self.programs[program].rank, self.segments(channel, at, bytes));
        if self.schedule.operation() == Operation::AllToAll {
            return Ok(segments.map(|_| Contributors::one(rank)).collect());
        }
        let data = &self.data[self.index(rank, channel)][segments.clone()];
        if let Some(nothing) = data.iter().position(|one| *one == Contributors::default()) {
            let byte = self.cuts[channel as usize][segments.start + nothing];
            return Err(Fault::Nothing { rank, to, at: (byte, channel) });
        }
        Ok(data.to_vec())
    }

    /// Something happens.
    fn happen(&mut self, nth: usize) -> Result<(), Fault> {
        match self.events[nth] {
            Event::Finish { rank, channel } => {
                let program = self.index(rank, channel);
                let computing = &mut self.programs[program].computing;
                let place = computing.pop_front();
                if computing.is_empty() {
                    self.events.swap_remove(nth);
                }
                place.map_or(Ok(()), |place| self.end(program, place))
            }
            Event::Acknowledge { from, to, channel } => {
                let program = self.index(from, channel);
                let connection = self.connections.entry((from, to, channel)).or_default();
                let place = connection.arrived.pop_front();
                if connection.arrived.is_empty() {
                    self.events.swap_remove(nth);
                }
                place.map_or(Ok(()), |place| self.end(program, place))
            }
            Event::Deliver { from, to, channel } => {
                let connection = self.connections.entry((from, to, channel)).or_default();
                let flown = connection.flight.pop_front();
                if connection.flight.is_empty() {
                    self.events.swap_remove(nth);
                }
                flown.map_or(Ok(()), |(place, message)| {
                    self.deliver((from, to, channel), place, message)
                })
            }
        }
    }

    fn deliver(
        &mut self,
        key: (u32, u32, u32),
        place: usize,
        message: Message,
    ) -> Result<(), Fault> {
        let (from, to, channel) = key;
        if self.outgoing(self.index(from, channel), message.op)? != message.data {
            let Op::Send { at, .. } = message.op else { return Ok(()) };
            return Err(Fault::Changed { rank: from, to, at: (at, channel) });
        }
        let connection = self.connections.entry(key).or_default();
        connection.inbox.push_back(message);
        connection.arrived.push_back(place);
        if connection.arrived.len() == 1 {
            self.events.push(Event::Acknowledge { from, to, channel });
        }
        self.receive(key)
    }

    /// Hands messages that arrived to receipts that have begun.
    fn receive(&mut self, key: (u32, u32, u32)) -> Result<(), Fault> {
        loop {
            let connection = self.connections.entry(key).or_default();
            if connection.inbox.is_empty() || connection.recvs.is_empty() {
                return Ok(());
            }
            let (Some(message), Some(place)) =
                (connection.inbox.pop_front(), connection.recvs.pop_front())
            else {
                return Ok(());
            };
            let program = self.index(key.1, key.2);
            self.take(program, place, &message)?;
            self.end(program, place)?;
        }
    }

    fn take(&mut self, program: usize, place: usize, message: &Message) -> Result<(), Fault> {
        let rank = self.programs[program].rank;
        let recv = self.programs[program].steps[place].op;
        let (
            Op::Recv { part, at, bytes, channel, take, .. },
            Op::Send { part: sent_part, at: sent_at, bytes: sent_bytes, .. },
        ) = (recv, message.op)
        else {
            return Ok(());
        };
        if (part, at, bytes) != (sent_part, sent_at, sent_bytes) {
            return Err(Fault::Differs { recv, sent: message.op });
        }
        let adds = take == DataUse::Reduce || self.schedule.operation() == Operation::AllToAll;
        let index = self.index(rank, channel);
        for (segment, new) in self.segments(channel, at, bytes).zip(&message.data) {
            let at = (self.cuts[channel as usize][segment], channel);
            let own = &mut self.data[index][segment];
            if adds {
                if let Some(of) = own.common(new) {
                    return Err(Fault::Twice { rank, of, at });
                }
                own.add(new);
            } else if own.without(new).is_some() {
                return Err(Fault::Lost { rank, at });
            } else if new.without(own).is_none() {
                let of = new.common(own).unwrap_or_default();
                return Err(Fault::Twice { rank, of, at });
            } else {
                *own = new.clone();
            }
        }
        Ok(())
    }

    /// Ends an operation, and begins those that waited for it.
    fn end(&mut self, program: usize, place: usize) -> Result<(), Fault> {
        let one = &mut self.programs[program];
        one.done[place] = true;
        one.over += 1;
        for waiting in std::mem::take(&mut one.waiting[place]) {
            let left = &mut self.programs[program].left[waiting as usize];
            *left -= 1;
            if *left == 0 {
                self.start(program, waiting as usize)?;
            }
        }
        Ok(())
    }

    /// Judges the end.
    fn judge(&self) -> Result<(), Fault> {
        let count: usize =
            self.programs.iter().map(|program| program.steps.len() - program.over).sum();
        for program in &self.programs {
            if let Some(place) = program.done.iter().position(|done| !done) {
                return Err(Fault::Stuck {
                    rank: program.rank,
                    op: program.steps[place].op,
                    count,
                });
            }
        }
        if let Some((key, left)) = self.connections.iter().find(|(_, one)| !one.inbox.is_empty()) {
            return Err(Fault::Left { connection: *key, messages: left.inbox.len() });
        }
        let wanted = self.each_segment(|run, rank, part| run.at_last(rank, part));
        for ((program, wanted), got) in self.programs.iter().zip(&wanted).zip(&self.data) {
            for (nth, (wanted, got)) in wanted.iter().zip(got).enumerate() {
                if let Some(of) = wanted.without(got) {
                    let byte = self.cuts[program.channel as usize][nth];
                    return Err(Fault::Missing {
                        rank: program.rank,
                        of,
                        at: (byte, program.channel),
                    });
                }
            }
        }
        Ok(())
    }
}

impl Program {
    fn new(rank: u32, channel: u32, steps: Vec<Step>) -> Result<Self, Fault> {
        let mut waiting = vec![Vec::new(); steps.len()];
        let mut left = vec![0; steps.len()];
        let mut turns: BTreeMap<(bool, u32), VecDeque<usize>> = BTreeMap::new();
        for (place, step) in steps.iter().enumerate() {
            for back in step.after.into_iter().filter(|back| *back > 0) {
                let on = place.checked_sub(back as usize).ok_or(Fault::Before { rank, place })?;
                waiting[on].push(place as u32);
                left[place] += 1;
            }
            match step.op {
                Op::Send { to, .. } => turns.entry((true, to)).or_default().push_back(place),
                Op::Recv { from, .. } => turns.entry((false, from)).or_default().push_back(place),
                Op::Compute(_) => {}
            }
        }
        let done = vec![false; steps.len()];
        Ok(Self {
            rank,
            channel,
            steps,
            left,
            waiting,
            over: 0,
            done,
            computing: VecDeque::new(),
            turns,
        })
    }

    /// Operations of a connection begin in their order.
    fn take_turn(&mut self, place: usize) -> Result<(), Fault> {
        let op = self.steps[place].op;
        let key = match op {
            Op::Send { to, .. } => (true, to),
            Op::Recv { from, .. } => (false, from),
            Op::Compute(_) => return Ok(()),
        };
        let turn = self.turns.get_mut(&key).and_then(VecDeque::pop_front);
        if turn == Some(place) { Ok(()) } else { Err(Fault::Overtakes { rank: self.rank, op }) }
    }
}
