//! A network that has nothing but links of ranks: executes a schedule in time.
//!
//! A rank's link sends one message after another, in the order in which they begin. A message arrives some time after its last byte was
//! sent. A send is over when its message has arrived.

use forebay_jobs::{Op, Schedule, Step, Steps};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// What differs between networks, rank by rank.
pub struct Network {
    /// Time per byte, in ps.
    pub byte: Vec<u64>,
    /// Time between the last byte and the arrival, in ps.
    pub alpha: Vec<u64>,
}

impl Network {
    /// The same of each rank.
    pub fn even(ranks: u32, byte: u64, alpha: u64) -> Self {
        Self { byte: vec![byte; ranks as usize], alpha: vec![alpha; ranks as usize] }
    }
}

/// Operations of a rank on a channel, read as far ahead as is said.
struct Program {
    steps: Steps,
    waiting: VecDeque<(usize, Step)>,
    done: Vec<bool>,
}

#[derive(Default)]
struct Connection {
    arrived: usize,
    recvs: VecDeque<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrive { from: u32, to: u32, channel: u32, place: usize },
    Finish { program: usize, place: usize },
}

struct Run<'a> {
    network: &'a Network,
    channels: u32,
    ahead: usize,
    programs: Vec<Program>,
    connections: BTreeMap<(u32, u32, u32), Connection>,
    free: Vec<u64>, // when a rank's link has sent everything
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    nth: u64,
}

/// Completion time in ps; operations are read so far ahead.
pub fn completion(schedule: &Schedule, network: &Network, ahead: u64) -> u64 {
    let channels = schedule.channels();
    let steps = (0..schedule.ranks())
        .flat_map(|rank| (0..channels).map(move |channel| schedule.steps(rank, channel)));
    let programs = steps.map(|steps| Program { steps, waiting: VecDeque::new(), done: Vec::new() });
    let mut run = Run {
        network,
        channels,
        ahead: usize::try_from(ahead).unwrap_or(usize::MAX),
        programs: programs.collect(),
        connections: BTreeMap::new(),
        free: vec![0; schedule.ranks() as usize],
        events: BinaryHeap::new(),
        nth: 0,
    };
    (0..run.programs.len()).for_each(|program| run.go_on(0, program));
    let mut last = 0;
    while let Some(Reverse((now, _, event))) = run.events.pop() {
        last = now;
        match event {
            Event::Finish { program, place } => run.end(now, program, place),
            Event::Arrive { from, to, channel, place } => {
                run.end(now, (from * channels + channel) as usize, place);
                run.connections.entry((from, to, channel)).or_default().arrived += 1;
                run.receive(now, (from, to, channel));
            }
        }
    }
    for program in &run.programs {
        assert!(
            program.waiting.is_empty() && program.done.iter().all(|done| *done),
            "all operations end"
        );
    }
    last
}

impl Run<'_> {
    /// Begins what can begin, and reads on.
    fn go_on(&mut self, now: u64, program: usize) {
        let mut nth = 0;
        loop {
            let one = &mut self.programs[program];
            if nth == one.waiting.len() {
                if nth >= self.ahead {
                    return;
                }
                let Some(step) = one.steps.next() else { return };
                one.waiting.push_back((one.done.len(), step));
                one.done.push(false);
            }
            let (place, step) = one.waiting[nth];
            let over = |back: u32| back == 0 || one.done[place - back as usize];
            if !step.after.into_iter().all(over) {
                nth += 1;
                continue;
            }
            one.waiting.remove(nth);
            self.start(now, program, place, step.op);
            nth = 0; // something may be over at once
        }
    }

    fn start(&mut self, now: u64, program: usize, place: usize, op: Op) {
        let rank = program as u32 / self.channels;
        match op {
            Op::Compute(span) if span.as_ps() == 0 => self.programs[program].done[place] = true,
            Op::Compute(span) => self.at(now + span.as_ps(), Event::Finish { program, place }),
            Op::Send { to, channel, bytes, .. } => {
                let free = &mut self.free[rank as usize];
                *free = now.max(*free) + bytes.get() * self.network.byte[rank as usize];
                let arrival = *free + self.network.alpha[rank as usize];
                self.at(arrival, Event::Arrive { from: rank, to, channel, place });
            }
            Op::Recv { from, channel, .. } => {
                let connection = self.connections.entry((from, rank, channel)).or_default();
                if connection.arrived > 0 && connection.recvs.is_empty() {
                    connection.arrived -= 1;
                    self.programs[program].done[place] = true;
                } else {
                    connection.recvs.push_back(place);
                }
            }
        }
    }

    fn at(&mut self, time: u64, event: Event) {
        self.nth += 1;
        self.events.push(Reverse((time, self.nth, event)));
    }

    fn receive(&mut self, now: u64, key: (u32, u32, u32)) {
        loop {
            let connection = self.connections.entry(key).or_default();
            if connection.arrived == 0 {
                return;
            }
            let Some(place) = connection.recvs.pop_front() else { return };
            connection.arrived -= 1;
            self.end(now, (key.1 * self.channels + key.2) as usize, place);
        }
    }

    fn end(&mut self, now: u64, program: usize, place: usize) {
        self.programs[program].done[place] = true;
        self.go_on(now, program);
    }
}
