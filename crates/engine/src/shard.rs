//! One shard: its nodes, and what one window means for each of its processes.

use crate::agenda::{Agenda, MOST_SOURCES, Source};
use crate::link::LinkId;
use crate::link_rings::{LinkRings, NOBODY};
use crate::node::{LAST_STAGE, Node, Visitor};
use crate::plan::Side;
use forebay_units::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The order key of an event inside a contracted process: time, class, node, in-port or link.
type Key = (Time, Class, u32, u32);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Class {
    Departure,
    Arrival,
    Timer,
}

/// A node's place in its shard.
#[derive(Clone, Copy)]
pub(crate) struct InLinks {
    pub first: u32, // its in-links are [first, end)
    pub end: u32,
}

/// Nodes `[first, end)` of the shard.
#[derive(Clone, Copy)]
pub(crate) struct Process {
    pub first: u32,
    pub end: u32,
    pub side: Side,
    pub heap: bool, // more than one node, or one with a link to itself
}

/// A turn of both sides has two phases.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// All even processes, and the odd ones that hear of their own place only.
    Most,
    /// The other odd processes.
    Last,
}

pub(crate) struct Shard<N: Node> {
    pub nodes: Vec<N>,
    pub in_links: Vec<InLinks>,
    pub processes: Vec<Process>,
    pub last: u32, // processes from this one on run only after all even ones, everywhere
    pub rings: LinkRings<N::Item>,
    pub node_of_link: Vec<u32>, // local index; meaningful for this shard's in-links only
    pub reported: u64,          // of its events
    stages: u32,                // of prefetching
    tree: Box<Tree>,
    heap: BinaryHeap<Reverse<Key>>,
    agenda: Agenda,
    first_place: Vec<usize>,    // of each node's links in it
    planned: Vec<(Time, Time)>, // earliest (departure, timer) that the heap holds for each node of the process
}

impl<N: Node> Shard<N> {
    pub fn new(
        nodes: Vec<N>,
        in_links: Vec<InLinks>,
        processes: Vec<Process>,
        last: u32,
        rings: LinkRings<N::Item>,
        node_of_link: Vec<u32>,
    ) -> Self {
        Self {
            stages: stages(nodes.len()),
            nodes,
            in_links,
            processes,
            last,
            rings,
            node_of_link,
            reported: 0,
            tree: Box::new(Tree::new()),
            heap: BinaryHeap::new(),
            agenda: Agenda::default(),
            first_place: Vec::new(),
            planned: Vec::new(),
        }
    }

    /// Handles every event of the processes of a phase from `start` to the end of each one's side.
    pub fn window(&mut self, phase: Phase, start: Time, ends: [Time; 2]) {
        let (from, to) = match phase {
            Phase::Most => (0, self.last),
            Phase::Last => (self.last, self.processes.len() as u32),
        };
        let end = ends[0].max(ends[1]);
        for group in from / 64..to.div_ceil(64) {
            if self.rings.group_next(group as usize) >= end {
                continue;
            }
            for process in from.max(group * 64)..to.min(group * 64 + 64) {
                for stage in 0..self.stages {
                    self.prefetch(process + self.stages - stage, ends, stage);
                }
                let Process { first, side, heap, .. } = self.processes[process as usize];
                let end = ends[side as usize];
                if self.rings.next(process) < end {
                    if heap {
                        self.run_contracted(process, start, end);
                    } else {
                        self.run_node(process, first, start, end);
                    }
                }
            }
            self.rings.settle_group(group as usize);
        }
    }

    /// Prefetches what a process will need soon: its rings and nodes first, then what they point to.
    #[inline]
    fn prefetch(&self, process: u32, ends: [Time; 2], stage: u32) {
        let Some(Process { first: local, side, .. }) = self.processes.get(process as usize) else {
            return;
        };
        if self.rings.next(process) < ends[*side as usize] {
            let ins = self.in_links[*local as usize];
            if stage < 2 {
                self.rings.prefetch(ins.first, ins.end, stage == 1);
            }
            self.nodes[*local as usize].prefetch(stage, &self.rings);
        }
    }

    /// Recomputes when each process has work, after nodes or links were changed from outside.
    pub fn refresh(&mut self) {
        for process in 0..self.processes.len() as u32 {
            let next = self.next_of(process);
            self.rings.set_next(process, next);
        }
        for group in 0..self.rings.groups() {
            self.rings.settle_group(group);
        }
    }

    fn next_of(&self, process: u32) -> Time {
        let Process { first, end, .. } = self.processes[process as usize];
        (first..end)
            .map(|local| {
                let (node, ins) = (&self.nodes[local as usize], self.in_links[local as usize]);
                let head = self
                    .rings
                    .filled(ins.first, ins.end)
                    .map(|link| self.rings.head_at(link))
                    .min();
                node.next_timer().min(node.next_departure()).min(head.unwrap_or(Time::MAX))
            })
            .min()
            .unwrap_or(Time::MAX)
    }

    /// A process of one node.
    fn run_node(&mut self, process: u32, local: u32, start: Time, end: Time) {
        let ins = self.in_links[local as usize];
        let links = ins.end - ins.first;
        if links > MOST_LEAVES as u32 {
            return self.run_group(process, start, end);
        }
        let Self { nodes, rings, tree, .. } = self;
        let node = &mut nodes[local as usize];
        rings.set_next(process, Time::MAX);
        let visit = Merge { rings, tree, ins, process, start, end };
        if links == 1 {
            node.dispatch(Leaf(visit));
        } else {
            node.dispatch(visit);
        }
    }

    /// A contracted process.
    #[cold]
    fn run_contracted(&mut self, process: u32, start: Time, end: Time) {
        let Process { first, end: last, .. } = self.processes[process as usize];
        let links = (first..last).map(|local| self.in_links[local as usize]);
        let sources = links.map(|ins| ins.end - ins.first + 2).sum::<u32>();
        match sources <= MOST_SOURCES {
            true => self.run_few(process, sources, start, end),
            false => self.run_group(process, start, end),
        }
    }

    /// A group of nodes with few sources of events.
    fn run_few(&mut self, process: u32, sources: u32, start: Time, end: Time) {
        let Process { first, end: last, .. } = self.processes[process as usize];
        let Self { nodes, in_links, rings, agenda, node_of_link, first_place, .. } = self;
        rings.watch(process);
        agenda.begin(sources, start, end);
        first_place.clear();
        for local in first..last {
            agenda.add(Source::Departure { local }, nodes[local as usize].next_departure());
        }
        for local in first..last {
            let ins = in_links[local as usize];
            let mut place = None;
            for link in ins.first..ins.end {
                let source = Source::Link { local, link };
                place.get_or_insert(agenda.add(source, rings.head_at(LinkId(link))));
            }
            first_place.push(place.unwrap_or(0));
        }
        let mut timers = usize::MAX;
        for local in first..last {
            let timer = nodes[local as usize].next_timer();
            timers = timers.min(agenda.add(Source::Timer { local }, timer));
        }
        while let Some((at, source, place)) = agenda.first() {
            let local = match source {
                Source::Departure { local } => {
                    nodes[local as usize].depart(at, rings);
                    local
                }
                Source::Link { local, link } => {
                    let mut item = N::Item::default();
                    agenda.set(place, rings.pop(LinkId(link), &mut item));
                    rings.events += 1;
                    let port = link - in_links[local as usize].first;
                    arrive(&mut nodes[local as usize], at, port, &mut item, rings);
                    local
                }
                Source::Timer { local } => {
                    rings.events += 1;
                    nodes[local as usize].timer(at, rings);
                    local
                }
            };
            let (node, nth) = (&nodes[local as usize], (local - first) as usize);
            agenda.set(nth, node.next_departure());
            agenda.set(timers + nth, node.next_timer());
            while let Some(link) = rings.refilled.pop() {
                let local = node_of_link[link.0 as usize];
                let place = first_place[(local - first) as usize]
                    + (link.0 - in_links[local as usize].first) as usize;
                agenda.set(place, rings.head_at(link));
            }
        }
        rings.watch(NOBODY);
        let next = self.next_of(process);
        self.rings.set_next(process, next);
    }

    /// Runs a group of nodes with a plain heap of link heads, timers and departures.
    fn run_group(&mut self, process: u32, start: Time, end: Time) {
        let Process { first, end: last, .. } = self.processes[process as usize];
        self.rings.watch(process);
        self.heap.clear();
        self.planned.clear();
        self.planned.resize((last - first) as usize, (Time::MAX, Time::MAX));
        for local in first..last {
            let ins = self.in_links[local as usize];
            for link in self.rings.filled(ins.first, ins.end) {
                let at = self.rings.head_at(link);
                if at < end {
                    self.heap.push(Reverse((at, Class::Arrival, local, link.0)));
                }
            }
            self.plan_node(first, local, end);
        }
        while let Some(Reverse((at, class, local, link))) = self.heap.pop() {
            debug_assert!(at >= start && at < end);
            let node = &mut self.nodes[local as usize];
            let planned = &mut self.planned[(local - first) as usize];
            // What was planned again for an earlier time has stayed in the heap; it must not be planned anew each time.
            let stale = match class {
                Class::Departure => at != planned.0,
                Class::Arrival => false,
                Class::Timer => at != planned.1,
            };
            if stale {
                continue;
            }
            match class {
                Class::Departure => {
                    planned.0 = Time::MAX;
                    if node.next_departure() == at {
                        node.depart(at, &mut self.rings);
                    }
                }
                Class::Arrival => {
                    let mut item = N::Item::default();
                    let head_at = self.rings.pop(LinkId(link), &mut item);
                    if head_at < end {
                        self.heap.push(Reverse((head_at, Class::Arrival, local, link)));
                    }
                    self.rings.events += 1;
                    let port = link - self.in_links[local as usize].first;
                    arrive(node, at, port, &mut item, &mut self.rings);
                }
                Class::Timer => {
                    planned.1 = Time::MAX;
                    if node.next_timer() == at {
                        self.rings.events += 1;
                        node.timer(at, &mut self.rings);
                    }
                }
            }
            self.plan_node(first, local, end);
            while let Some(link) = self.rings.refilled.pop() {
                let at = self.rings.head_at(link);
                if at < end {
                    self.heap.push(Reverse((
                        at,
                        Class::Arrival,
                        self.node_of_link[link.0 as usize],
                        link.0,
                    )));
                }
            }
        }
        self.rings.watch(NOBODY);
        let next = self.next_of(process);
        self.rings.set_next(process, next);
    }

    fn plan_node(&mut self, first: u32, local: u32, end: Time) {
        let node = &self.nodes[local as usize];
        let planned = &mut self.planned[(local - first) as usize];
        let (departure, timer) = (node.next_departure(), node.next_timer());
        if departure < end && departure < planned.0 {
            planned.0 = departure;
            self.heap.push(Reverse((departure, Class::Departure, local, 0)));
        }
        if timer < end && timer < planned.1 {
            planned.1 = timer;
            self.heap.push(Reverse((timer, Class::Timer, local, 0)));
        }
    }
}

/// A tournament of the heads of a node's links: those that arrive in the window take slots, from 0 on. The game of slots 2i and
/// 2i + 1 has number `slots / 2 + i`, and its winner meets others in the game of half that number, up to game 1.
struct Tree {
    losers: [u64; MOST_LEAVES], // of each game; of game 0, where a single slot plays, none
    winners: [u64; MOST_LEAVES], // likewise, of the first round only
    keys: [u64; MOST_LEAVES],   // by slot, likewise
    links: [LinkId; MOST_LEAVES], // by slot
}

impl Tree {
    fn new() -> Self {
        Self {
            losers: [u64::MAX; MOST_LEAVES],
            winners: [0; MOST_LEAVES],
            keys: [0; MOST_LEAVES],
            links: [LinkId(0); MOST_LEAVES],
        }
    }

    /// Plays all games of `slots`, a power of two, of which the first `due` have keys; the answer is the winner.
    #[inline]
    fn begin(&mut self, due: usize, slots: usize) -> u64 {
        if slots == 1 {
            return if due == 0 { u64::MAX } else { self.keys[0] };
        }
        let games = slots / 2;
        for i in 0..games {
            let key =
                |slot: usize| if slot < due { self.keys[slot % MOST_LEAVES] } else { u64::MAX };
            let (one, other) = (key(2 * i), key(2 * i + 1));
            self.winners[(games + i) % MOST_LEAVES] = one.min(other);
            self.losers[(games + i) % MOST_LEAVES] = one.max(other);
        }
        for game in (1..games).rev() {
            let (one, other) = (self.winners[2 * game], self.winners[2 * game + 1]);
            self.winners[game] = one.min(other);
            self.losers[game] = one.max(other);
        }
        self.winners[1]
    }

    /// Plays the games of one of `slots`, whose key has become this; the answer is the winner.
    #[inline(always)]
    fn replay(&mut self, mut winner: u64, slot: usize, slots: usize) -> u64 {
        let mut game = (slots + slot) / 2 % MOST_LEAVES;
        loop {
            let rival = &mut self.losers[game];
            (winner, *rival) = (winner.min(*rival), winner.max(*rival));
            game /= 2;
            if game == 0 {
                return winner;
            }
        }
    }
}

/// A visit to a node: a tournament of the heads of its links, timers in between, deferred departures at the end.
struct Merge<'a, I> {
    rings: &'a mut LinkRings<I>,
    tree: &'a mut Tree,
    ins: InLinks,
    process: u32,
    start: Time,
    end: Time,
}

impl<I: Copy + Default + Send> Visitor<I> for Merge<'_, I> {
    #[inline]
    fn visit<N: Node<Item = I>>(self, node: &mut N) {
        let Self { rings, tree, ins, start, end, .. } = self;
        let mut later = Time::MAX; // earliest arrival of the links that have none before `end`
        let mut due = 0;
        rings.heads(ins.first, ins.end, |link, at| {
            if at < end {
                tree.links[due % MOST_LEAVES] = link;
                tree.keys[due % MOST_LEAVES] = key(at, start, due);
                due += 1;
            } else {
                later = later.min(at);
            }
        });
        // As many slots as a full tree has, so that every path is as long as the next one, which a processor learns.
        let slots = due.next_power_of_two().min(MOST_LEAVES);
        let mut winner = tree.begin(due.min(MOST_LEAVES), slots);

        let mut item = I::default();
        // What arrives at the time of a timer comes before it.
        let before = |timer: Time| {
            let until = end.min(timer.saturating_add(Span::from_ps(1)));
            until.since(start).as_ps().min(FARTHEST) << SLOT_BITS
        };
        let mut until = before(node.next_timer());
        loop {
            if winner < until {
                rings.events += 1;
                let arrival = start + Span::from_ps(winner >> SLOT_BITS);
                let slot = (winner & SLOT_MASK) as usize;
                let link = tree.links[slot % MOST_LEAVES];
                winner = tree.replay(key(rings.pop(link, &mut item), start, slot), slot, slots);
                node.arrive(arrival, link.0 - ins.first, &mut item, rings);
                if N::ARRIVALS_SET_TIMERS {
                    until = before(node.next_timer());
                }
            } else {
                let timer = node.next_timer();
                if timer >= end {
                    break;
                }
                rings.events += 1;
                node.timer(timer, rings);
                until = before(node.next_timer());
            }
        }
        let arrival = start + Span::from_ps(winner >> SLOT_BITS); // beyond any window if there is no winner
        if winner >> SLOT_BITS == FARTHEST {
            // No link has more, or none for minutes.
            let heads = rings.filled(ins.first, ins.end).map(|link| rings.head_at(link));
            later = heads.min().unwrap_or(Time::MAX);
        } else {
            later = later.min(arrival);
        }
        finish(node, rings, self.process, end, later);
    }
}

/// A visit to a node with one in-link, as most hosts are: nothing to merge.
struct Leaf<'a, I>(Merge<'a, I>);

impl<I: Copy + Default + Send> Visitor<I> for Leaf<'_, I> {
    #[inline]
    fn visit<N: Node<Item = I>>(self, node: &mut N) {
        let Merge { rings, ins, end, .. } = self.0;
        let link = LinkId(ins.first);
        let mut item = I::default();
        let mut arrival = rings.head_at(link);
        loop {
            let timer = node.next_timer();
            if timer < arrival && timer < end {
                node.timer(timer, rings);
            } else if arrival < end {
                let now = arrival;
                arrival = rings.pop(link, &mut item);
                arrive(node, now, 0, &mut item, rings);
            } else {
                break;
            }
            rings.events += 1;
        }
        finish(node, rings, self.0.process, end, arrival);
    }
}

/// The end of a visit: what departs before `end`, and when the process has work again if nothing arrives before `later`.
#[inline(always)]
fn finish<N: Node>(
    node: &mut N,
    rings: &mut LinkRings<N::Item>,
    process: u32,
    end: Time,
    later: Time,
) {
    if node.next_departure() < end {
        node.depart(end - Span::from_ps(1), rings);
    }
    rings.wake(process, later.min(node.next_timer()).min(node.next_departure()));
}

/// [`Node::arrive`] out of line, for where its code need not be repeated.
#[inline(never)]
fn arrive<N: Node>(
    node: &mut N,
    now: Time,
    port: u32,
    item: &mut N::Item,
    rings: &mut LinkRings<N::Item>,
) {
    node.arrive(now, port, item, rings);
}

/// Stages of prefetching that pay for so many nodes: none while all of them stay in a core's own cache, the nodes' own
/// state while it stays in the shared one, and beyond that also where they will push.
fn stages(nodes: usize) -> u32 {
    match nodes {
        0..512 => 0,
        512..1024 => 3,
        _ => LAST_STAGE + 1,
    }
}

/// In-links that a tournament takes; a node with more is run like a contracted process.
const MOST_LEAVES: usize = 1024;

const SLOT_BITS: u32 = 16;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;

/// Time from the start of the window, or `FARTHEST` if it is later, then the in-port: one word, so that the tournament
/// compares once per level.
#[inline]
fn key(at: Time, start: Time, slot: usize) -> u64 {
    (at.as_ps() - start.as_ps()).min(FARTHEST) << SLOT_BITS | slot as u64
}

/// Ends of windows are nearer.
const FARTHEST: u64 = u64::MAX >> SLOT_BITS;
