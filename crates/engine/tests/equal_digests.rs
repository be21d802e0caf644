//! Random networks of toy nodes: the windowed engine on any threads and any cut, against the global heap.

use forebay_engine::reference::Reference;
use forebay_engine::{
    AdvanceEnd, Digest, Emitter, Engine, EngineAccess, Goal, LinkId, LinkSpec, Node, NodeId,
    SlotWords, Tuning, Watch, combine,
};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Span, Time};
use proptest::prelude::*;

/// What travels.
#[derive(Clone, Copy, Default)]
struct Ball {
    word: u64,
    slot: u32,
}

/// Forwards each item over a link chosen by its own history, after a service time; now and then makes one itself.
#[derive(Clone)]
struct Toy {
    outs: Vec<(LinkId, Span)>,
    busy: Vec<Time>,
    deferred: Vec<(Time, usize, u64)>, // departures to come: start, out, item
    timers: Vec<Time>,
    tick: u64, // ps; coarse ticks make events meet at one instant
    digest: Digest,
    handled: u64,
}

impl Toy {
    fn service(&self, word: u64) -> Span {
        Span::from_ps((1 + word % (5_000 / self.tick)) * self.tick)
    }

    fn send(&mut self, now: Time, word: u64, out: &mut impl Emitter<Ball>) {
        if self.outs.is_empty() {
            return;
        }
        let which = (word % self.outs.len() as u64) as usize;
        let start = now.max(self.busy[which]);
        self.busy[which] = start + self.service(word);
        if word.is_multiple_of(3) {
            self.deferred.push((start, which, word));
        } else {
            self.depart(start, out); // keeps the link FIFO
            push(self.outs[which].0, self.busy[which], word, out);
        }
    }
}

/// What is in the slot of an item: one in four has one.
fn words_of(word: u64) -> Option<SlotWords> {
    word.is_multiple_of(4).then(|| [0, 1, 2, 3].map(|nth| Stream::at(word, nth)))
}

fn push(link: LinkId, at: Time, word: u64, out: &mut impl Emitter<Ball>) {
    let mut ball = Ball { word, slot: 0 };
    if let Some(words) = words_of(word) {
        ball.slot = out.slab().allocate();
        *out.slab().get_mut(ball.slot) = words;
    }
    out.push(link, at, &ball);
}

impl Node for Toy {
    type Item = Ball;

    fn slot(ball: &mut Ball) -> Option<&mut u32> {
        Some(&mut ball.slot)
    }

    fn next_timer(&self) -> Time {
        self.timers.iter().copied().min().unwrap_or(Time::MAX)
    }

    fn next_departure(&self) -> Time {
        self.deferred.iter().map(|d| d.0).min().unwrap_or(Time::MAX)
    }

    fn arrive<O: Emitter<Ball>>(&mut self, now: Time, port: u32, ball: &mut Ball, out: &mut O) {
        let Ball { word: item, slot } = *ball;
        let next = out.next().map(|ball| ball.slot);
        out.slab().prefetch(next.unwrap_or(0));
        assert_eq!((slot != 0).then(|| *out.slab().get(slot)), words_of(item));
        out.slab().release(slot);
        self.depart(now, out);
        self.digest.add(now.as_ps(), item ^ (u64::from(port) << 32));
        self.handled += 1;
        if self.handled.is_multiple_of(7) {
            out.done();
        }
        let word = Stream::at(item, self.handled);
        if word % 16 < 15 {
            self.send(now, word, out);
        }
        if word.is_multiple_of(5) {
            let wait = 1 + word % (1_000 / self.tick);
            self.timers.push(now + Span::from_ps(wait * self.tick));
        }
    }

    fn timer<O: Emitter<Ball>>(&mut self, now: Time, out: &mut O) {
        self.depart(now, out);
        self.timers.retain(|t| *t != now);
        self.digest.add(now.as_ps(), 1);
        self.handled += 1;
        self.send(now, Stream::at(self.digest.value(), self.handled), out);
    }

    fn depart<O: Emitter<Ball>>(&mut self, now: Time, out: &mut O) {
        self.deferred.sort_by_key(|d| d.0);
        while let Some(&(start, which, word)) = self.deferred.first().filter(|d| d.0 <= now) {
            self.deferred.remove(0);
            let at = start + self.service(word);
            push(self.outs[which].0, at, word, out);
        }
    }
}

/// A random network: delays from 0 (inside a cluster) to 1 us, links of a node to itself included.
fn network(seed: u64) -> (Vec<Toy>, Vec<LinkSpec>, Vec<u32>) {
    let mut rng = Stream::new(seed, 0, Purpose::Test);
    let nodes = 2 + rng.below(14) as u32;
    let mut links: Vec<LinkSpec> = Vec::new();
    for to in 0..nodes {
        for from in 0..nodes {
            if rng.below(3) == 0 {
                let ns = [0, 1, 3, 50, 1_000][rng.below(5) as usize];
                let lookahead = Span::from_ns(ns);
                links.push(LinkSpec {
                    from: NodeId(from),
                    to: NodeId(to),
                    lookahead,
                    busy_rate: 1e8,
                });
            }
        }
    }
    let tick = [1, 1, 500][seed as usize % 3];
    let toy = |n: u32| {
        let outs: Vec<_> = (0u32..)
            .zip(&links)
            .filter(|(_, l)| l.from.0 == n)
            .map(|(i, l)| (LinkId(i), l.lookahead))
            .collect();
        let timers = vec![Time::from_ps(u64::from(n) * 13 / tick * tick)];
        let busy = vec![Time::ZERO; outs.len()];
        Toy {
            outs,
            busy,
            deferred: Vec::new(),
            timers,
            tick,
            digest: Digest::default(),
            handled: 0,
        }
    };
    ((0..nodes).map(toy).collect(), links, (0..nodes).collect())
}

fn digest(nodes: Vec<Toy>) -> (u64, u64) {
    let handled = nodes.iter().map(|n| n.handled).sum();
    (combine(nodes.into_iter().map(|n| n.digest)), handled)
}

fn windowed(
    seed: u64,
    tuning: Tuning,
    until: Time,
    goal: Option<Goal>,
) -> ((u64, u64), AdvanceEnd) {
    let (nodes, links, places) = network(seed);
    let mut engine = Engine::new(nodes, &links, &places, tuning).unwrap();
    engine.advance(Time::from_ps(until.as_ps() / 3), goal, &Watch::default());
    // A boundary in between changes nothing, nor does a look at what is on links.
    for link in (0..links.len() as u32).map(LinkId) {
        for flying in engine.drain_link(link) {
            assert_eq!((words_of(flying.item.word), flying.item.slot), (flying.words, 0));
            engine.push_link(link, &flying);
        }
    }
    engine.refresh();
    let ended = engine.advance(until, goal, &Watch::default());
    for link in 0..links.len() as u32 {
        engine.drain_link(LinkId(link));
    }
    assert_eq!(engine.stats().slab_slots, 0, "nothing is left that could have one");
    (digest(engine.into_nodes()), ended)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_grouping_gives_the_reference_digest(seed: u64) {
        let until = Time::from_ps(2_000_000);
        let (nodes, links, _) = network(seed);
        let mut reference = Reference::new(nodes, &links);
        reference.advance(until, None);
        let expected = digest(reference.into_nodes());
        for threads in [1, 2, 4] {
            for cut in [None, Some(Span::from_ps(1)), Some(Span::from_ns(10)), Some(Span::from_us(2))] {
                let (got, _) = windowed(seed, Tuning { threads, cut }, until, None);
                prop_assert_eq!(got, expected, "threads {}, cut {:?}", threads, cut);
            }
        }
    }

    #[test]
    fn the_early_stop_does_not_depend_on_windows(seed: u64) {
        let until = Time::from_ps(50_000_000);
        let goal = Some(Goal { done: 20, grain: Span::from_ns(300) });
        let (nodes, links, _) = network(seed);
        let mut reference = Reference::new(nodes, &links);
        let ended = reference.advance(until, goal);
        let expected = digest(reference.into_nodes());
        for threads in [1, 2] {
            for cut in [None, Some(Span::from_ps(1)), Some(Span::from_us(2))] {
                let (nodes, links, places) = network(seed);
                let mut engine = Engine::new(nodes, &links, &places, Tuning { threads, cut }).unwrap();
                prop_assert_eq!(engine.advance(until, goal, &Watch::default()), ended);
                prop_assert_eq!(digest(engine.into_nodes()), expected);
            }
        }
    }
}

/// Threads beyond the logical processes would only wait: there is no shard for them.
#[test]
fn no_more_shards_than_processes() {
    let until = Time::from_ps(2_000_000);
    let (nodes, links, places) = network(3);
    let tuning = Tuning { threads: 1_000, cut: Some(Span::from_ps(1)) };
    let mut engine = Engine::new(nodes, &links, &places, tuning).unwrap();
    engine.advance(until, None, &Watch::default());
    let stats = engine.stats();
    assert_eq!(stats.events.len(), stats.processes, "a shard for each process");
    assert!(stats.processes > 1);
    let alone = windowed(3, Tuning::default(), until, None).0;
    assert_eq!(digest(engine.into_nodes()), alone);
}

#[test]
fn the_test_networks_are_not_trivial() {
    let busy = (0..40)
        .filter(|seed| windowed(*seed, Tuning::default(), Time::from_ps(2_000_000), None).0.1 > 500)
        .count();
    assert!(busy >= 10, "only {busy} of 40 networks handled more than 500 events");
}

#[test]
fn one_changed_word_changes_the_digest() {
    let until = Time::from_ps(2_000_000);
    let run = |flip: bool| {
        let (mut nodes, links, places) = network(3);
        if flip {
            nodes[0].timers = vec![Time::from_ps(1)];
        }
        let mut engine = Engine::new(nodes, &links, &places, Tuning::default()).unwrap();
        engine.advance(until, None, &Watch::default());
        digest(engine.into_nodes()).0
    };
    assert_ne!(run(false), run(true));
}
