//! Which flow the NIC pulls from next, in one of the orders of [`NicOrder`].
//!
//! Source of "round-robin": the NIC of the HPCC simulator (`RdmaEgressQueue::GetNextQindex`, github.com/alibaba-edu/High-Precision-Congestion-Control).
//! Deviation: a new flow takes the place of a finished one, if there is any. With "srpt", ties go to the flow that became ready first.

mod cycle;
mod fair_queue;

use cycle::{FIT, Levels};
use fair_queue::{FairFlows, FairQueue};
use forebay_settings::NicOrder;
use forebay_units::Time;
use std::collections::VecDeque;

/// Flows that may send, by slot. The caller keeps each slot in at most once.
///
/// A caller that has several lists, for instance one per class, keeps the other [`ReadyFlows`] and exchanges them
/// ([`ReadyList::exchange`]). All flows, in whichever list, have their ranks and their credit here.
#[derive(Clone, Debug, Default)]
pub struct ReadyList {
    flows: ReadyFlows,
    fair: Option<Box<FairFlows>>, // `Fq` only
    order: NicOrder,
    first: i64,       // turn of the slot put back last
    last: i64,        // turn of the slot added last
    ranks: Vec<Rank>, // by slot; `Srpt` only
}

/// The flows of one list, in a form that fits the order.
///
/// Most hosts have few flows and serve them in a cycle. Then a word of bits is all.
#[derive(Clone, Debug, Default)]
pub struct ReadyFlows {
    top: u64,                   // topmost word of the cycle; otherwise zero if no flow is ready
    rest: Option<Box<Backlog>>, // none: a cycle of slots that fit the word
    cursor: u32,                // the slot after the one that was served last
}

#[derive(Clone, Debug)]
enum Backlog {
    Cycle(Levels),
    Queue(VecDeque<u32>),
    Heap(Heap),
    Fair(FairQueue),
}

/// A binary heap of slots. Their ranks say where each one is.
#[derive(Clone, Debug, Default)]
struct Heap {
    slots: Vec<u32>,
    // The first slot was taken. It stays there until the next call: a flow that is put back at once is the shortest still, and nothing moves.
    taken: bool,
}

/// Rank of a slot. The least rank has its turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Rank {
    left: u64, // bytes to send
    turn: i64, // of equals, the least goes first
    at: u32,   // place in the heap, where it is in one
}

impl ReadyFlows {
    /// None, in this order. `class` is the number of their list; lists of one NIC have different ones.
    fn new(order: NicOrder, class: u8) -> Self {
        let rest = match order {
            NicOrder::RoundRobin => None,
            NicOrder::Fifo | NicOrder::Push => Some(Backlog::Queue(VecDeque::new())),
            NicOrder::Srpt => Some(Backlog::Heap(Heap::default())),
            NicOrder::Fq => Some(Backlog::Fair(FairQueue::of_class(class))),
        };
        Self { rest: rest.map(Box::new), ..Self::default() }
    }

    /// Whether no flow is ready.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.top == 0
    }

    /// After a change of what is no cycle.
    #[inline]
    fn settle(&mut self) {
        self.top = match self.rest.as_deref() {
            Some(Backlog::Queue(slots)) => u64::from(!slots.is_empty()),
            Some(Backlog::Heap(heap)) => u64::from(heap.slots.len() > usize::from(heap.taken)),
            Some(Backlog::Fair(queue)) => u64::from(!queue.is_empty()),
            None | Some(Backlog::Cycle(_)) => self.top,
        };
    }

    fn heap(&mut self) -> &mut Heap {
        match self.rest.as_deref_mut() {
            Some(Backlog::Heap(heap)) => heap,
            _ => unreachable!("only SRPT has a heap"),
        }
    }
}

impl ReadyList {
    /// An empty list. `packet`: size of a full packet on the wire; only `Fq` uses it. With `Push`, packets wait elsewhere and this list is first come, first
    /// served.
    pub fn new(order: NicOrder, packet: u32) -> Self {
        let fair = (order == NicOrder::Fq).then(|| Box::new(FairFlows::new(packet)));
        Self { order, flows: ReadyFlows::new(order, 0), fair, ..Self::default() }
    }

    /// Lists of classes, so many, in the order of this one. From now on what this one has only waits to be [taken out](ReadyList::unsort) and
    /// [moved](ReadyList::move_to) into one of them.
    pub fn split(&mut self, classes: usize) -> Vec<ReadyFlows> {
        if self.order != NicOrder::Srpt {
            self.flows = ReadyFlows::new(NicOrder::Fifo, 0);
        }
        (0..classes).map(|class| ReadyFlows::new(self.order, class as u8)).collect()
    }

    /// Whether no flow is ready.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Whether the order depends on the bytes that flows have left, changes of which the caller reports to [`ReadyList::update`].
    #[inline]
    pub fn ranks(&self) -> bool {
        self.order == NicOrder::Srpt
    }

    /// Whether the order depends on why flows wait, which the caller reports to [`ReadyList::wait`].
    #[inline]
    pub fn asks_why(&self) -> bool {
        self.fair.is_some()
    }

    /// A flow became ready. `left` gives the bytes that it has still to send.
    #[inline]
    pub fn add(&mut self, now: Time, slot: u32, left: impl FnOnce() -> u64) {
        if self.fits(slot) {
            self.flows.top |= 1 << slot;
            return;
        }
        if self.ranks() {
            self.last += 1;
            self.rank(slot, left(), self.last);
        }
        self.join(now, slot);
    }

    /// Puts a flow back that was pulled from and is still ready. `left` gives the bytes that it has still to send.
    #[inline]
    pub fn put_back(&mut self, slot: u32, left: impl FnOnce() -> u64) {
        if self.fits(slot) {
            self.flows.top |= 1 << slot;
            return;
        }
        if self.ranks() {
            self.first -= 1;
            return self.rejoin_heap(slot, Rank { left: left(), turn: self.first, at: 0 });
        }
        self.rejoin(slot);
    }

    /// Whether the topmost word is all that a cycle with this slot needs.
    #[inline]
    fn fits(&self, slot: u32) -> bool {
        self.flows.rest.is_none() & (slot < FIT)
    }

    /// A flow that was pulled from waits, because it has nothing to send or because pacing holds it.
    #[inline]
    pub fn wait(&mut self, slot: u32, paced: bool) {
        if let Some(fair) = &mut self.fair {
            fair.wait(slot, paced);
        }
    }

    /// A flow that was taken sends nothing now, because its class is paused. It is added again when it may go on.
    pub fn put_aside(&mut self, slot: u32) {
        if let Some(Backlog::Fair(queue)) = self.flows.rest.as_deref_mut() {
            fair(&mut self.fair).put_aside(queue, slot);
        }
    }

    /// The bytes that a flow has still to send are `left` now. False if the flow is not in this list.
    pub fn update(&mut self, slot: u32, left: u64) -> bool {
        if slot as usize >= self.ranks.len() {
            return false;
        }
        self.drop_taken();
        let rank = &mut self.ranks[slot as usize];
        if self.flows.heap().slots.get(rank.at as usize) != Some(&slot) {
            return false;
        }
        if rank.left == left {
            return true;
        }
        rank.left = left;
        let at = rank.at as usize;
        let at = self.sift_up(at);
        self.sift_down(at);
        true
    }

    /// Takes the flow to pull from.
    #[inline]
    pub fn take(&mut self, now: Time) -> Option<u32> {
        if self.flows.is_empty() {
            return None;
        }
        match self.flows.rest {
            None => Some(cycle::take(&mut self.flows.top, self.flows.cursor)),
            Some(_) => self.take_of_rest(now),
        }
    }

    #[inline(never)]
    fn take_of_rest(&mut self, now: Time) -> Option<u32> {
        let ReadyFlows { top, rest, cursor } = &mut self.flows;
        let slot = match rest.as_deref_mut()? {
            Backlog::Cycle(levels) => return levels.take(top, *cursor),
            Backlog::Queue(slots) => slots.pop_front(),
            Backlog::Heap(_) => return self.take_shortest(),
            Backlog::Fair(queue) => fair(&mut self.fair).take(queue, now),
        };
        self.flows.settle();
        slot
    }

    /// A flow that was taken sends as many bytes on the wire as `bytes` gives.
    #[inline]
    pub fn charge(&mut self, slot: u32, bytes: impl FnOnce() -> u64) {
        self.flows.cursor = slot + 1;
        if let Some(fair) = &mut self.fair {
            fair.charge(slot, bytes());
        }
    }

    /// Another flow has this slot now.
    pub fn renew(&mut self, slot: u32) {
        if let Some(fair) = &mut self.fair {
            fair.renew(slot);
        }
    }

    /// Has other flows ready instead of these. The caller keeps those, which were in such a list before.
    #[inline]
    pub fn exchange(&mut self, flows: &mut ReadyFlows) {
        std::mem::swap(&mut self.flows, flows);
    }

    /// Takes out a flow that waits to be sorted into one of the lists of classes.
    #[inline]
    pub fn unsort(&mut self) -> Option<u32> {
        if self.flows.is_empty() { None } else { self.take_of_rest(Time::ZERO) }
    }

    /// Moves a slot that was in this list, and is in none, into one that the caller keeps.
    pub fn move_to(&mut self, flows: &mut ReadyFlows, now: Time, slot: u32) {
        self.exchange(flows);
        self.join(now, slot);
        self.exchange(flows);
    }

    /// A slot that has its rank, if it needs one, joins the list.
    #[inline(never)]
    fn join(&mut self, now: Time, slot: u32) {
        let ReadyFlows { top, rest, .. } = &mut self.flows;
        match rest.as_deref_mut() {
            None if slot < FIT => *top |= 1 << slot,
            None => {
                let mut levels = Levels::default();
                levels.insert(top, slot);
                *rest = Some(Box::new(Backlog::Cycle(levels)));
            }
            Some(Backlog::Cycle(levels)) => levels.insert(top, slot),
            Some(Backlog::Queue(slots)) => slots.push_back(slot),
            Some(Backlog::Heap(_)) => self.join_heap(slot),
            Some(Backlog::Fair(queue)) => fair(&mut self.fair).add(queue, now, slot),
        }
        self.flows.settle();
    }

    /// Puts back the slot that was taken last.
    #[inline(never)]
    fn rejoin(&mut self, slot: u32) {
        match self.flows.rest.as_deref_mut() {
            Some(Backlog::Queue(slots)) => slots.push_front(slot),
            Some(Backlog::Fair(queue)) => fair(&mut self.fair).put_back(queue, slot),
            None | Some(Backlog::Cycle(_) | Backlog::Heap(_)) => {
                return self.join(Time::ZERO, slot);
            }
        }
        self.flows.settle();
    }

    fn rank(&mut self, slot: u32, left: u64, turn: i64) {
        let slot = slot as usize;
        if self.ranks.len() <= slot {
            self.ranks.resize(slot + 1, Rank::default());
        }
        self.ranks[slot] = Rank { left, turn, at: 0 };
    }

    fn join_heap(&mut self, slot: u32) {
        self.drop_taken();
        let slots = &mut self.flows.heap().slots;
        slots.push(slot);
        let last = slots.len() - 1;
        self.sift_up(last);
    }

    /// A slot with a new rank that was taken last, most often.
    #[inline(never)]
    fn rejoin_heap(&mut self, slot: u32, rank: Rank) {
        let heap = self.flows.heap();
        if heap.taken && heap.slots[0] == slot {
            heap.taken = false;
            let was = std::mem::replace(&mut self.ranks[slot as usize], rank);
            if was < rank {
                self.sift_down(0);
            }
        } else {
            self.ranks[slot as usize] = rank;
            self.join_heap(slot);
        }
        self.flows.top = 1;
    }

    fn take_shortest(&mut self) -> Option<u32> {
        self.drop_taken();
        let heap = self.flows.heap();
        let shortest = *heap.slots.first()?;
        heap.taken = true;
        let more = heap.slots.len() > 1;
        self.flows.top = u64::from(more);
        Some(shortest)
    }

    /// Removes the slot that was taken last, if it was not put back.
    fn drop_taken(&mut self) {
        let heap = self.flows.heap();
        if heap.taken {
            heap.taken = false;
            heap.slots.swap_remove(0);
            self.sift_down(0);
        }
    }

    /// Moves the slot at this place up to where it belongs, and says where that is.
    fn sift_up(&mut self, mut at: usize) -> usize {
        let (heap, ranks) = (&mut self.flows.heap().slots, &mut self.ranks);
        let rank_at = |heap: &[u32], ranks: &[Rank], at: usize| ranks[heap[at] as usize];
        while at > 0 && rank_at(heap, ranks, at) < rank_at(heap, ranks, (at - 1) / 2) {
            heap.swap(at, (at - 1) / 2);
            ranks[heap[at] as usize].at = at as u32;
            at = (at - 1) / 2;
        }
        ranks[heap[at] as usize].at = at as u32;
        at
    }

    /// Moves the slot at this place down to where it belongs.
    fn sift_down(&mut self, mut at: usize) {
        let (heap, ranks) = (&mut self.flows.heap().slots, &mut self.ranks);
        let rank_at = |heap: &[u32], ranks: &[Rank], at: usize| ranks[heap[at] as usize];
        loop {
            let below = 2 * at + 1..heap.len().min(2 * at + 3);
            let least = below.min_by_key(|i| rank_at(heap, ranks, *i));
            let Some(least) =
                least.filter(|least| rank_at(heap, ranks, *least) < rank_at(heap, ranks, at))
            else {
                break;
            };
            heap.swap(at, least);
            ranks[heap[at] as usize].at = at as u32;
            at = least;
        }
        if let Some(slot) = heap.get(at) {
            ranks[*slot as usize].at = at as u32;
        }
    }
}

/// Flows of a list in the order of `fq`.
fn fair(flows: &mut Option<Box<FairFlows>>) -> &mut FairFlows {
    flows.as_deref_mut().expect("a list in this order has its flows from the start")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pulls(order: NicOrder) -> Vec<u32> {
        let mut left = [3u64, 1, 2];
        let mut list = ReadyList::new(order, 200);
        (0..3).for_each(|slot| list.add(Time::ZERO, slot, || left[slot as usize]));
        let mut pulled = Vec::new();
        while let Some(slot) = list.take(Time::ZERO) {
            pulled.push(slot);
            list.charge(slot, || 1_000 * (u64::from(slot) + 1));
            left[slot as usize] -= 1;
            if left[slot as usize] > 0 {
                list.put_back(slot, || left[slot as usize]);
            } else {
                list.wait(slot, false);
            }
        }
        pulled
    }

    #[test]
    fn each_order_pulls_as_it_says() {
        assert_eq!(pulls(NicOrder::RoundRobin), [0, 1, 2, 0, 2, 0]);
        assert_eq!(pulls(NicOrder::Fifo), [0, 0, 0, 1, 2, 2]);
        assert_eq!(pulls(NicOrder::Srpt), [1, 2, 2, 0, 0, 0]);
        // 1,000, 2,000 and 3,000 bytes a packet. Each flow starts with 2,000 bytes of credit, and gets 400 more in each round.
        assert_eq!(pulls(NicOrder::Fq), [0, 0, 1, 2, 0, 2]);
    }

    proptest! {
        /// Against a list that is searched from its front, as it was once: adds, pulls, and bytes that grow and shrink.
        #[test]
        fn the_heap_pulls_as_a_search_does(steps in proptest::collection::vec((0u8..4, 0u32..12, 0u64..6), 0..200)) {
            let mut left = [0u64; 12];
            let mut list = ReadyList::new(NicOrder::Srpt, 0);
            let mut searched: VecDeque<u32> = VecDeque::new();
            for (what, slot, bytes) in steps {
                let waits = searched.contains(&slot);
                if what == 0 {
                    let shortest = (0..searched.len()).min_by_key(|i| left[searched[*i] as usize]);
                    let expected = shortest.and_then(|i| searched.remove(i));
                    prop_assert_eq!(list.take(Time::ZERO), expected);
                    if let Some(slot) = expected.filter(|_| bytes > 2) {
                        left[slot as usize] -= left[slot as usize].min(1);
                        searched.push_front(slot);
                        list.put_back(slot, || left[slot as usize]);
                    }
                } else if what == 1 && !waits {
                    left[slot as usize] = bytes;
                    searched.push_back(slot);
                    list.add(Time::ZERO, slot, || bytes);
                } else {
                    left[slot as usize] = bytes;
                    prop_assert_eq!(list.update(slot, bytes), waits);
                }
                prop_assert_eq!(list.is_empty(), searched.is_empty());
            }
        }
    }

    /// A flow that its pacing holds for a moment keeps its place, and one that comes in between has its turn where the cycle gets to it.
    #[test]
    fn a_flow_that_waits_a_moment_keeps_its_place_in_the_cycle() {
        let mut list = ReadyList::new(NicOrder::RoundRobin, 0);
        let mut send = |ready: &[u32]| {
            ready.iter().for_each(|slot| list.add(Time::ZERO, *slot, || 0));
            let slot = list.take(Time::ZERO).unwrap();
            list.charge(slot, || 1_000);
            slot
        };
        assert_eq!(send(&[0, 1, 2, 3]), 0);
        assert_eq!(send(&[]), 1);
        assert_eq!(send(&[0]), 2);
        assert_eq!(send(&[1]), 3);
        assert_eq!(send(&[3]), 0);
        assert_eq!(send(&[2, 0]), 1);
        assert_eq!([(); 3].map(|()| send(&[])), [2, 3, 0]);
    }

    /// A flow that is passed over, because its class is paused, is next as soon as it may go on.
    #[test]
    fn a_pause_does_not_move_the_cycle_on() {
        let mut list = ReadyList::new(NicOrder::RoundRobin, 0);
        (0..3).for_each(|slot| list.add(Time::ZERO, slot, || 0));
        let first = list.take(Time::ZERO).unwrap();
        list.charge(first, || 1_000);
        let held = [(); 2].map(|()| list.take(Time::ZERO).unwrap());
        assert_eq!((first, held), (0, [1, 2]));
        list.add(Time::ZERO, 0, || 0);
        held.iter().rev().for_each(|slot| list.add(Time::ZERO, *slot, || 0));
        assert_eq!(list.take(Time::ZERO), Some(1));
    }

    /// Flows move between lists that the caller keeps, and those that became ready first stay before others of equal length.
    #[test]
    fn ranks_go_along_into_other_lists() {
        let mut list = ReadyList::new(NicOrder::Srpt, 0);
        let [mut kept] = <[_; 1]>::try_from(list.split(1)).unwrap();
        [5, 2, 5, 2].iter().zip(0..).for_each(|(left, slot)| list.add(Time::ZERO, slot, || *left));
        let mut all = Vec::new();
        all.extend(core::iter::from_fn(|| list.unsort()));
        all.into_iter().rev().for_each(|slot| list.move_to(&mut kept, Time::ZERO, slot));
        assert!(list.is_empty() && !list.update(0, 1), "0 is in the other list");
        list.exchange(&mut kept);
        assert!(list.update(2, 1));
        assert_eq!([(); 4].map(|_| list.take(Time::ZERO)), [Some(2), Some(1), Some(3), Some(0)]);
    }
}
