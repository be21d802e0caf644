//! The reference engine: one global heap, every arrival, departure and timer an entry. Slow and obvious.
//!
//! For tests only: the same nodes and links must give the same digest here and in [`crate::Engine`].

use crate::engine::{AdvanceEnd, Goal};
use crate::link::{Emitter, InFlight, LinkId, LinkSpec, NodeId};
use crate::node::{EngineAccess, Node};
use crate::shard::Class;
use crate::slab::Slab;
use forebay_units::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

type Key = (Time, Class, u32, u32, u64); // time, class, node, link, sequence

struct Heap<I> {
    keys: BinaryHeap<Reverse<Key>>,
    items: BTreeMap<u64, I>, // by sequence
    slab: Slab,
    links: Vec<LinkSpec>,
    pushed: u64,
    done: u64,
    begun: u64,
    ended: u64,
}

impl<I: Copy> Heap<I> {
    fn put(&mut self, link: LinkId, at: Time, item: &I) {
        self.pushed += 1;
        self.items.insert(self.pushed, *item);
        let to = self.links[link.0 as usize].to.0;
        self.keys.push(Reverse((at, Class::Arrival, to, link.0, self.pushed)));
    }
}

impl<I: Copy> Emitter<I> for Heap<I> {
    fn push(&mut self, link: LinkId, at: Time, item: &I) {
        self.put(link, at + self.links[link.0 as usize].lookahead, item);
    }

    fn slab(&mut self) -> &mut Slab {
        &mut self.slab
    }

    fn done(&mut self) {
        self.done += 1;
    }

    fn begins(&mut self) {
        self.begun += 1;
    }

    fn ends(&mut self) {
        self.ended += 1;
    }
}

/// A simulation in progress.
pub struct Reference<N: Node> {
    nodes: Vec<N>,
    first_in: Vec<u32>,
    heap: Heap<N::Item>,
}

impl<N: Node> Reference<N> {
    /// As [`crate::Engine::new`].
    pub fn new(nodes: Vec<N>, links: &[LinkSpec]) -> Self {
        let first = |node: u32| links.partition_point(|l| l.to.0 < node) as u32;
        let first_in = (0..nodes.len() as u32).map(first).collect();
        let heap = Heap {
            keys: BinaryHeap::new(),
            items: BTreeMap::new(),
            slab: Slab::default(),
            links: links.to_vec(),
            pushed: 0,
            done: 0,
            begun: 0,
            ended: 0,
        };
        let mut reference = Self { nodes, first_in, heap };
        reference.refresh();
        reference
    }

    fn plan(&mut self, node: u32) {
        let (departure, timer) =
            (self.nodes[node as usize].next_departure(), self.nodes[node as usize].next_timer());
        for (at, class) in [(departure, Class::Departure), (timer, Class::Timer)] {
            if at != Time::MAX {
                self.heap.keys.push(Reverse((at, class, node, 0, 0)));
            }
        }
    }

    /// As [`crate::Engine::advance`].
    pub fn advance(&mut self, until: Time, goal: Option<Goal>) -> AdvanceEnd {
        let mut until = until;
        let mut met = false;
        while let Some(&Reverse((at, class, node, link, sequence))) = self.heap.keys.peek() {
            if at >= until {
                return if met { AdvanceEnd::Done(until) } else { AdvanceEnd::Reached(until) };
            }
            self.heap.keys.pop();
            let target = &mut self.nodes[node as usize];
            match class {
                Class::Departure if target.next_departure() == at => {
                    target.depart(at, &mut self.heap)
                }
                Class::Timer if target.next_timer() == at => target.timer(at, &mut self.heap),
                Class::Arrival => {
                    let mut item =
                        self.heap.items.remove(&sequence).expect("an arrival happens once");
                    target.arrive(
                        at,
                        link - self.first_in[node as usize],
                        &mut item,
                        &mut self.heap,
                    );
                }
                _ => continue, // planned for a time that has since moved
            }
            self.plan(node);
            let all_ended = self.heap.begun == self.heap.ended;
            let is_met = |goal: &Goal| !met && all_ended && self.heap.done >= goal.done;
            if let Some(goal) = goal.filter(is_met) {
                met = true;
                until = until.min((at + forebay_units::Span::from_ps(1)).round_up(goal.grain));
            }
        }
        if met { AdvanceEnd::Done(until) } else { AdvanceEnd::Idle }
    }

    /// All nodes in canonical order.
    pub fn into_nodes(self) -> Vec<N> {
        self.nodes
    }
}

impl<N: Node> EngineAccess<N> for Reference<N> {
    fn node_mut(&mut self, id: NodeId) -> &mut N {
        &mut self.nodes[id.0 as usize]
    }

    fn slab_mut(&mut self, _: NodeId) -> &mut Slab {
        &mut self.heap.slab
    }

    fn drain_link(&mut self, link: LinkId) -> Vec<InFlight<N::Item>> {
        let mine = |key: &Reverse<Key>| key.0.1 == Class::Arrival && key.0.3 == link.0;
        let mut taken: Vec<Key> = self.heap.keys.iter().filter(|k| mine(k)).map(|k| k.0).collect();
        self.heap.keys.retain(|key| !mine(key));
        taken.sort_unstable();
        let Heap { items, slab, .. } = &mut self.heap;
        let mut flying = |key: Key| {
            let mut item = items.remove(&key.4).expect("an arrival happens once");
            let words = slab.detach(N::slot(&mut item));
            InFlight { at: key.0, item, words }
        };
        taken.into_iter().map(&mut flying).collect()
    }

    fn push_link(&mut self, link: LinkId, flying: &InFlight<N::Item>) {
        let mut item = flying.item;
        self.heap.slab.attach(N::slot(&mut item), flying.words.as_ref());
        self.heap.put(link, flying.at, &item);
    }

    fn refresh(&mut self) {
        for node in 0..self.nodes.len() as u32 {
            self.plan(node);
        }
    }
}
