//! The run: windows, threads, boundaries.

use crate::barrier::Barrier;
use crate::link::{InFlight, LinkId, LinkSpec, NodeId};
use crate::link_rings::{LinkRings, Outbox};
use crate::node::{EngineAccess, Node};
use crate::plan::{Pace, Plan, PlanError, Tuning};
use crate::ring::Ring;
use crate::shard::{InLinks, Phase, Process, Shard};
use crate::slab::Slab;
use forebay_units::{Span, Time};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Stop early once this many things are done ([`Emitter::done`](crate::Emitter::done)) and nothing that has begun is left to end ([`Emitter::begins`](crate::Emitter::begins)), at the next
/// multiple of `grain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// How many.
    pub done: u64,
    /// A constant of the scenario, so that the end does not depend on windows.
    pub grain: Span,
}

/// How an advance ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdvanceEnd {
    /// Everything before this time has been handled: the time of the call.
    Reached(Time),
    /// The goal was met; everything before this multiple of the grain has been handled.
    Done(Time),
    /// No event is left before the time of the call, or at all.
    Idle,
    /// The watch requested a stop; everything before this time has been handled.
    Stopped(Time),
}

/// What others may see of a run while it goes on, and how they may end it. Never read by a node.
#[derive(Debug, Default)]
pub struct Watch {
    /// Virtual time reached, in ps.
    pub now_ps: AtomicU64,
    /// Things done.
    pub done: AtomicU64,
    /// Items pushed onto links.
    pub pushed: AtomicU64,
    /// Set to end the run at the next window.
    pub stop: AtomicBool,
}

/// Counts of the execution itself. They depend on threads and grouping, so they stay out of results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineStats {
    /// Windows run.
    pub windows: u64,
    /// Events handled by each shard.
    pub events: Vec<u64>,
    /// Logical processes.
    pub processes: usize,
    /// Longest window.
    pub window: Span,
    /// Bytes of rings.
    pub ring_bytes: usize,
    /// Allocated slab slots.
    pub slab_slots: usize,
}

/// A box from each shard to each other: `from * shards + to`.
type Boxes<I> = Vec<Mutex<Outbox<I>>>;

/// A simulation in progress.
pub struct Engine<N: Node> {
    shards: Vec<Mutex<Shard<N>>>,
    mail: [Boxes<N::Item>; 2], // by parity of the turn
    slot_of: Vec<(u16, u32)>,  // node to (shard, local)
    receiver: Vec<NodeId>,     // by link
    pace: Pace,
    phases: &'static [Phase],
    windows: u64,
    processes: usize,
    now: Time,
}

/// Below this many events per window for each thread but the first, one thread runs all shards: a barrier would cost more than it saves.
const TINY_WINDOW: u64 = 64;

impl<N: Node> Engine<N> {
    /// An engine at time zero. `nodes` are in canonical order; `links` are sorted by receiver, then in-port, so
    /// that link `i` of that order is `LinkId(i)`.
    ///
    /// # Errors
    /// See [`PlanError`].
    ///
    /// # Panics
    /// If the links are not sorted by receiver.
    pub fn new(
        nodes: Vec<N>,
        links: &[LinkSpec],
        places: &[u32],
        tuning: Tuning,
    ) -> Result<Self, PlanError> {
        assert!(links.is_sorted_by_key(|l| l.to), "links are numbered by receiver");
        let plan = Plan::new(nodes.len(), links, places, tuning)?;
        let shards = plan.shards;
        let mut ranges = vec![(0u32, 0u32); nodes.len()];
        for chunk in (0u32..).zip(links).collect::<Vec<_>>().chunk_by(|a, b| a.1.to == b.1.to) {
            ranges[chunk[0].1.to.0 as usize] = (chunk[0].0, chunk[chunk.len() - 1].0 + 1);
        }
        let mut to_itself = vec![false; nodes.len()];
        links.iter().filter(|l| l.from == l.to).for_each(|l| to_itself[l.to.0 as usize] = true);
        let mut slot_of = vec![(0u16, 0u32); nodes.len()];
        let mut process_of = vec![(0u32, 0u16); nodes.len()];
        let mut parts: Vec<(Vec<N>, Vec<InLinks>, Vec<Process>)> =
            (0..shards).map(|_| Default::default()).collect();
        let mut firsts = vec![0u32; shards]; // of each shard: how many of its processes do not run last
        let mut nodes: Vec<Option<N>> = nodes.into_iter().map(Some).collect();
        for (p, members) in plan.processes.iter().enumerate() {
            let (shard, side) = (plan.shard[p], plan.side[p]);
            let (placed, in_links, processes) = &mut parts[usize::from(shard)];
            firsts[usize::from(shard)] += u32::from(!plan.last[p]);
            let first = placed.len() as u32;
            for NodeId(node) in members {
                let node = *node as usize;
                slot_of[node] = (shard, placed.len() as u32);
                process_of[node] = (processes.len() as u32, shard);
                in_links.push(InLinks { first: ranges[node].0, end: ranges[node].1 });
                placed.push(nodes[node].take().expect("a node belongs to one process"));
            }
            let heap = members.len() > 1 || to_itself[members[0].0 as usize];
            processes.push(Process { first, end: placed.len() as u32, side, heap });
        }
        let rings: Vec<Ring> = links
            .iter()
            .map(|l| {
                let (process, shard) = process_of[l.to.0 as usize];
                Ring::new(l.lookahead, process, shard)
            })
            .collect();
        let node_of_link: Vec<u32> = links.iter().map(|l| slot_of[l.to.0 as usize].1).collect();
        let shards: Vec<_> = parts
            .into_iter()
            .enumerate()
            .map(|(me, (placed, in_links, processes))| {
                let rings =
                    LinkRings::new(rings.clone(), processes.len(), me as u16, shards, N::slot);
                let last = firsts[me];
                let mut shard =
                    Shard::new(placed, in_links, processes, last, rings, node_of_link.clone());
                shard.refresh();
                Mutex::new(shard)
            })
            .collect();
        let boxes =
            || (0..shards.len() * shards.len()).map(|_| Mutex::new(Outbox::default())).collect();
        Ok(Self {
            mail: [boxes(), boxes()],
            shards,
            slot_of,
            receiver: links.iter().map(|l| l.to).collect(),
            pace: plan.pace,
            phases: match plan.last.contains(&true) {
                true => &[Phase::Most, Phase::Last],
                false => &[Phase::Most],
            },
            windows: 0,
            processes: plan.processes.len(),
            now: Time::ZERO,
        })
    }

    /// Everything before this has been handled.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Handles every event before `until`, or stops early as `goal` or `watch` say. `until` is a forced boundary:
    /// afterwards nodes and links may be changed.
    pub fn advance(&mut self, until: Time, goal: Option<Goal>, watch: &Watch) -> AdvanceEnd {
        let crew = Workers {
            shards: &self.shards,
            mail: &self.mail,
            pace: self.pace,
            phases: self.phases,
            until,
            goal,
            watch,
            barrier: Barrier::new(self.shards.len()),
            reports: [reports(self.shards.len()), reports(self.shards.len())],
            turn: AtomicU64::new(0),
            now: self.now,
        };
        let (ended, windows) = if self.shards.len() == 1 {
            crew.lead()
        } else {
            std::thread::scope(|scope| {
                for me in 1..self.shards.len() {
                    let crew = &crew;
                    scope.spawn(move || crew.follow(me));
                }
                crew.lead()
            })
        };
        self.windows += windows;
        for me in 0..self.shards.len() {
            let mut shard = lock(&self.shards[me]);
            for parity in 0..2 {
                take_mail(&mut shard, &self.mail[parity], me, self.shards.len());
            }
        }
        self.now = match ended {
            AdvanceEnd::Reached(at) | AdvanceEnd::Done(at) | AdvanceEnd::Stopped(at) => at,
            AdvanceEnd::Idle if until == Time::MAX => self.now,
            AdvanceEnd::Idle => until,
        };
        ended
    }

    /// All nodes in canonical order, when the run is over.
    pub fn into_nodes(self) -> Vec<N> {
        let mut placed: Vec<Vec<Option<N>>> = self
            .shards
            .into_iter()
            .map(|s| {
                let shard = s.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
                shard.nodes.into_iter().map(Some).collect()
            })
            .collect();
        let take = |&(shard, local): &(u16, u32)| placed[usize::from(shard)][local as usize].take();
        self.slot_of.iter().map(take).map(|n| n.expect("each node has one slot")).collect()
    }

    /// Counts of the execution so far.
    pub fn stats(&self) -> EngineStats {
        EngineStats {
            windows: self.windows,
            events: self.shards.iter().map(|s| lock(s).rings.events).collect(),
            processes: self.processes,
            window: self.pace.turn,
            ring_bytes: self.shards.iter().map(|s| lock(s).rings.bytes()).sum(),
            slab_slots: self.shards.iter().map(|s| lock(s).rings.slab.allocated()).sum(),
        }
    }

    /// Things done so far ([`Emitter::done`](crate::Emitter::done)).
    pub fn done(&self) -> u64 {
        self.shards.iter().map(|s| lock(s).rings.done).sum()
    }

    /// Items pushed onto links so far.
    pub fn pushed(&self) -> u64 {
        self.shards.iter().map(|s| lock(s).rings.pushed).sum()
    }

    fn owner(&mut self, link: LinkId) -> &mut Shard<N> {
        let (shard, _) = self.slot_of[self.receiver[link.0 as usize].0 as usize];
        exclusive(&mut self.shards[usize::from(shard)])
    }
}

impl<N: Node> EngineAccess<N> for Engine<N> {
    fn node_mut(&mut self, id: NodeId) -> &mut N {
        let (shard, local) = self.slot_of[id.0 as usize];
        &mut exclusive(&mut self.shards[usize::from(shard)]).nodes[local as usize]
    }

    fn slab_mut(&mut self, id: NodeId) -> &mut Slab {
        let (shard, _) = self.slot_of[id.0 as usize];
        &mut exclusive(&mut self.shards[usize::from(shard)]).rings.slab
    }

    fn drain_link(&mut self, link: LinkId) -> Vec<InFlight<N::Item>> {
        self.owner(link).rings.drain(link)
    }

    fn push_link(&mut self, link: LinkId, flying: &InFlight<N::Item>) {
        self.owner(link).rings.put_back(link, flying);
    }

    fn refresh(&mut self) {
        for shard in &mut self.shards {
            exclusive(shard).refresh();
        }
    }
}

/// What a shard reports to the others at the barrier.
#[derive(Default)]
struct Report {
    next_ps: AtomicU64,      // earliest event left, posted mail included
    ends_ps: [AtomicU64; 2], // of the sides, in the window it reports
    done: AtomicU64,
    begun: AtomicU64,
    ended: AtomicU64,
    pushed: AtomicU64,
    events: AtomicU64,
    stop: AtomicBool,
}

impl Report {
    /// Where the sides are.
    fn reached(&self) -> [Time; 2] {
        [0, 1].map(|side: usize| Time::from_ps(self.ends_ps[side].load(Ordering::Relaxed)))
    }
}

fn reports(shards: usize) -> Vec<Report> {
    (0..shards).map(|_| Report::default()).collect()
}

/// One advance, seen by all its threads. Everything here is read in the same state by all of them after a barrier,
/// so each takes the same decision.
struct Workers<'a, N: Node> {
    shards: &'a [Mutex<Shard<N>>],
    mail: &'a [Boxes<N::Item>; 2],
    pace: Pace,
    phases: &'static [Phase],
    until: Time,
    goal: Option<Goal>,
    watch: &'a Watch,
    barrier: Barrier,
    reports: [Vec<Report>; 2], // by parity of the turn
    turn: AtomicU64, // after the tiny windows that the leader ran alone; next written when all have read it
    now: Time,
}

/// What all threads agree to do next.
enum Step {
    Run { window: Window, tiny: bool },
    End(AdvanceEnd),
}

/// Events from `start` to the end of each side.
#[derive(Clone, Copy)]
struct Window {
    start: Time,
    ends: [Time; 2],
}

impl<N: Node> Workers<'_, N> {
    fn lead(&self) -> (AdvanceEnd, u64) {
        for me in 0..self.shards.len() {
            self.report(me, 0, [self.now; 2], &mut lock(&self.shards[me]));
        }
        let _breaker = self.barrier.breaker();
        self.meet();
        let mut turn = 0;
        loop {
            match self.decide(turn) {
                Step::End(ended) => return (ended, turn),
                Step::Run { window, tiny: false } => {
                    turn += 1;
                    self.run(0..1, turn, window, || self.meet());
                    self.meet();
                }
                Step::Run { mut window, tiny: true } => {
                    self.meet(); // all have read the reports that the windows below overwrite
                    loop {
                        turn += 1;
                        self.run(0..self.shards.len(), turn, window, || {});
                        match self.decide(turn) {
                            Step::Run { window: next, tiny: true } => window = next,
                            _ => break,
                        }
                    }
                    self.turn.store(turn, Ordering::Relaxed);
                    self.meet();
                }
            }
            self.show(turn);
        }
    }

    fn follow(&self, me: usize) {
        let _breaker = self.barrier.breaker();
        self.barrier.wait();
        let mut turn = 0;
        loop {
            match self.decide(turn) {
                Step::End(_) => return,
                Step::Run { window, tiny: false } => {
                    turn += 1;
                    self.run(me..me + 1, turn, window, || self.barrier.wait());
                    self.barrier.wait();
                }
                Step::Run { .. } => {
                    self.barrier.wait();
                    self.barrier.wait();
                    turn = self.turn.load(Ordering::Relaxed);
                }
            }
        }
    }

    /// The leader's side of the barrier.
    fn meet(&self) {
        if self.shards.len() > 1 {
            self.barrier.wait();
        }
    }

    /// Window number `turn` of some shards, which all threads `meet` between its phases.
    fn run(&self, mine: Range<usize>, turn: u64, window: Window, meet: impl Fn()) {
        for (nth, phase) in self.phases.iter().enumerate() {
            if nth > 0 {
                meet();
            }
            for me in mine.clone() {
                let mut shard = lock(&self.shards[me]);
                self.phase(me, turn as usize * self.phases.len() + nth, *phase, window, &mut shard);
                if nth + 1 == self.phases.len() {
                    self.report(me, turn, window.ends, &mut shard);
                }
            }
        }
    }

    /// Phase number `nth` of all: mail in, events, mail out.
    fn phase(&self, me: usize, nth: usize, phase: Phase, window: Window, shard: &mut Shard<N>) {
        let count = self.shards.len();
        if count > 1 {
            take_mail(shard, &self.mail[(nth + 1) % 2], me, count);
            shard.rings.posted = Time::MAX;
        }
        shard.window(phase, window.start, window.ends);
        let boxes = &self.mail[nth % 2];
        for to in (0..count).filter(|to| *to != me) {
            if !shard.rings.outbox[to].is_empty() {
                std::mem::swap(&mut *lock(&boxes[me * count + to]), &mut shard.rings.outbox[to]);
            }
        }
    }

    fn report(&self, me: usize, turn: u64, ends: [Time; 2], shard: &mut Shard<N>) {
        let report = &self.reports[turn as usize % 2][me];
        let next = shard.rings.earliest().min(shard.rings.posted);
        report.next_ps.store(next.as_ps(), Ordering::Relaxed);
        for (reported, end) in report.ends_ps.iter().zip(ends) {
            reported.store(end.as_ps(), Ordering::Relaxed);
        }
        report.done.store(shard.rings.done, Ordering::Relaxed);
        report.begun.store(shard.rings.begun, Ordering::Relaxed);
        report.ended.store(shard.rings.ended, Ordering::Relaxed);
        report.pushed.store(shard.rings.pushed, Ordering::Relaxed);
        report.events.store(shard.rings.events - shard.reported, Ordering::Relaxed);
        shard.reported = shard.rings.events;
        if me == 0 {
            report.stop.store(self.watch.stop.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    fn decide(&self, turn: u64) -> Step {
        let reports = &self.reports[turn as usize % 2];
        let next = reports
            .iter()
            .map(|r| r.next_ps.load(Ordering::Relaxed))
            .min()
            .map_or(Time::MAX, Time::from_ps);
        let reached = reports[0].reached();
        let [mut until, mut boundary] = [self.until; 2];
        let mut met = AdvanceEnd::Reached(until);
        if let Some(Goal { done, grain }) = self.goal {
            // Windows also end at every multiple of the grain, so the window in which the last thing was done ends in
            // the grain of that moment, whatever the windows are.
            let all_ended = sum(reports, |r| &r.begun) == sum(reports, |r| &r.ended);
            if all_ended && sum(reports, |r| &r.done) >= done {
                until = until.min(reached[0].max(reached[1]).round_up(grain));
                met = AdvanceEnd::Done(until);
            }
            boundary = until.min(next.saturating_add(Span::from_ps(1)).round_up(grain));
        }
        if reports[0].stop.load(Ordering::Relaxed) && reached[0].max(reached[1]) < until {
            // Both sides stop where the further one is.
            until = reached[0].max(reached[1]);
            boundary = boundary.min(until);
            met = AdvanceEnd::Stopped(until);
        }
        if next >= until {
            return Step::End(if next == Time::MAX && matches!(met, AdvanceEnd::Reached(_)) {
                AdvanceEnd::Idle
            } else {
                met
            });
        }
        // The first window of an advance has no count yet and is run by all.
        let few = TINY_WINDOW * (self.shards.len() as u64 - 1); // none where there is one thread
        let tiny = turn > 0 && sum(reports, |r| &r.events) < few;
        let ends = self.pace.ends(next, reached).map(|end| end.min(boundary));
        Step::Run { window: Window { start: next, ends }, tiny }
    }

    fn show(&self, turn: u64) {
        let reports = &self.reports[turn as usize % 2];
        let [even, odd] = reports[0].reached();
        self.watch.now_ps.store(even.min(odd).as_ps(), Ordering::Relaxed);
        self.watch.done.store(sum(reports, |r| &r.done), Ordering::Relaxed);
        self.watch.pushed.store(sum(reports, |r| &r.pushed), Ordering::Relaxed);
    }
}

fn sum(reports: &[Report], of: fn(&Report) -> &AtomicU64) -> u64 {
    reports.iter().map(|r| of(r).load(Ordering::Relaxed)).sum()
}

fn take_mail<N: Node>(shard: &mut Shard<N>, boxes: &Boxes<N::Item>, me: usize, count: usize) {
    for from in (0..count).filter(|from| *from != me) {
        shard.rings.deliver(&mut lock(&boxes[from * count + me]));
    }
}

/// A panic in one thread ends the run anyway, so a poisoned lock is not a second failure.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn exclusive<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner())
}
