//! Which flow the NIC pulls from next.

use std::collections::VecDeque;

/// Order in which a NIC pulls packets from flows that are ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PullOrder {
    /// One packet of each in turn.
    #[default]
    RoundRobin,
    /// The flow that became ready first sends all it may.
    Fifo,
    /// The flow with the fewest bytes left; of equals, the one that became ready first.
    Srpt,
    /// Bytes in turn, as `fq` of Linux: a flow sends until it has used up its credit, and gets a quantum more when its
    /// turn comes.
    ///
    /// Deviation: no separate list of new flows, which `fq` serves before the others.
    Fair {
        /// Bytes on the wire.
        quantum: u32,
    },
}

/// Flows that may send, by slot. The caller keeps each slot in at most once.
///
/// `slots` is a queue; for [`PullOrder::Srpt`] it is a binary heap, and `ranks` says where in it a slot is. Slots keep their ranks
/// when the caller puts them into a list of its own and back ([`ReadyList::exchange`]).
#[derive(Clone, Debug, Default)]
pub struct ReadyList {
    order: PullOrder,
    slots: VecDeque<u32>,
    credits: Vec<i64>, // by slot; `Fair` only
    ranks: Vec<Rank>,  // by slot; `Srpt` only
    first: i64,        // turn of the slot put back last
    last: i64,         // turn of the slot added last
}

/// Whose turn it is: the least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Rank {
    left: u64, // bytes to send
    turn: i64, // of equals, the least goes first
    at: u32,   // place in the heap, where it is in one
}

impl ReadyList {
    /// An empty list.
    pub fn new(order: PullOrder) -> Self {
        Self { order, ..Self::default() }
    }

    /// Whether no flow is ready.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether the order depends on the bytes that flows have left, changes of which the caller reports to [`ReadyList::update`].
    #[inline]
    pub fn ranks(&self) -> bool {
        self.order == PullOrder::Srpt
    }

    /// A flow became ready. `left` gives the bytes that it has still to send.
    #[inline]
    pub fn add(&mut self, slot: u32, left: impl FnOnce() -> u64) {
        if self.ranks() {
            self.last += 1;
            self.rank(slot, left(), self.last);
        }
        self.join(slot);
    }

    /// Puts a flow back that was pulled from and is still ready. `left` gives the bytes that it has still to send.
    #[inline]
    pub fn put_back(&mut self, slot: u32, left: impl FnOnce() -> u64) {
        match self.order {
            PullOrder::RoundRobin => self.slots.push_back(slot),
            PullOrder::Fifo | PullOrder::Fair { .. } => self.slots.push_front(slot),
            PullOrder::Srpt => {
                self.first -= 1;
                self.rank(slot, left(), self.first);
                self.join(slot);
            }
        }
    }

    /// The bytes that a flow has still to send are `left` now. False if the flow is not in this list.
    pub fn update(&mut self, slot: u32, left: u64) -> bool {
        let Some(rank) = self.ranks.get_mut(slot as usize) else { return false };
        if self.slots.get(rank.at as usize) != Some(&slot) {
            return false;
        }
        rank.left = left;
        let at = rank.at as usize;
        let at = self.sift_up(at);
        self.sift_down(at);
        true
    }

    /// Takes the flow to pull from.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        match self.order {
            PullOrder::RoundRobin | PullOrder::Fifo => self.slots.pop_front(),
            PullOrder::Srpt => self.take_shortest(),
            PullOrder::Fair { quantum } => self.take_fair(i64::from(quantum)),
        }
    }

    fn take_shortest(&mut self) -> Option<u32> {
        let shortest = self.slots.swap_remove_back(0)?;
        self.sift_down(0);
        Some(shortest)
    }

    fn rank(&mut self, slot: u32, left: u64, turn: i64) {
        let slot = slot as usize;
        if self.ranks.len() <= slot {
            self.ranks.resize(slot + 1, Rank::default());
        }
        self.ranks[slot] = Rank { left, turn, at: 0 };
    }

    /// A slot that has its rank, if it needs one, joins the list.
    #[inline]
    fn join(&mut self, slot: u32) {
        self.slots.push_back(slot);
        if self.ranks() {
            self.sift_up(self.slots.len() - 1);
        }
    }

    fn rank_at(&self, at: usize) -> Rank {
        self.ranks[self.slots[at] as usize]
    }

    /// Moves the slot at this place up to where it belongs, and says where that is.
    fn sift_up(&mut self, mut at: usize) -> usize {
        while at > 0 && self.rank_at(at) < self.rank_at((at - 1) / 2) {
            self.slots.swap(at, (at - 1) / 2);
            self.note(at);
            at = (at - 1) / 2;
        }
        self.note(at);
        at
    }

    /// Moves the slot at this place down to where it belongs.
    fn sift_down(&mut self, mut at: usize) {
        loop {
            let below =
                (2 * at + 1..self.slots.len().min(2 * at + 3)).min_by_key(|i| self.rank_at(*i));
            let Some(least) = below.filter(|least| self.rank_at(*least) < self.rank_at(at)) else {
                break;
            };
            self.slots.swap(at, least);
            self.note(at);
            at = least;
        }
        self.note(at);
    }

    /// Notes where a slot is.
    fn note(&mut self, at: usize) {
        if let Some(slot) = self.slots.get(at) {
            self.ranks[*slot as usize].at = at as u32;
        }
    }

    fn take_fair(&mut self, quantum: i64) -> Option<u32> {
        loop {
            let slot = self.slots.pop_front()?;
            let credit = self.credit(slot);
            if *credit > 0 {
                return Some(slot);
            }
            *credit += quantum;
            self.slots.push_back(slot);
        }
    }

    fn credit(&mut self, slot: u32) -> &mut i64 {
        let slot = slot as usize;
        if self.credits.len() <= slot {
            self.credits.resize(slot + 1, 0);
        }
        &mut self.credits[slot]
    }

    /// A flow sends as many bytes on the wire as `bytes` gives.
    #[inline]
    pub fn charge(&mut self, slot: u32, bytes: impl FnOnce() -> u64) {
        if let PullOrder::Fair { .. } = self.order {
            *self.credit(slot) -= bytes() as i64;
        }
    }

    /// Another flow has this slot now.
    pub fn renew(&mut self, slot: u32) {
        if let Some(credit) = self.credits.get_mut(slot as usize) {
            *credit = 0;
        }
    }

    /// Has other flows ready instead of these. The caller keeps those, which were in such a list before.
    #[inline]
    pub fn exchange(&mut self, slots: &mut VecDeque<u32>) {
        std::mem::swap(&mut self.slots, slots);
    }

    /// Moves a slot that was in this list, and is in none, into one that the caller keeps.
    pub fn move_to(&mut self, slots: &mut VecDeque<u32>, slot: u32) {
        self.exchange(slots);
        self.join(slot);
        self.exchange(slots);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pulls(order: PullOrder) -> Vec<u32> {
        let mut left = [3u64, 1, 2];
        let mut list = ReadyList::new(order);
        (0..3).for_each(|slot| list.add(slot, || left[slot as usize]));
        let mut pulled = Vec::new();
        while let Some(slot) = list.take() {
            pulled.push(slot);
            list.charge(slot, || 1_000 * (u64::from(slot) + 1));
            left[slot as usize] -= 1;
            if left[slot as usize] > 0 {
                list.put_back(slot, || left[slot as usize]);
            }
        }
        pulled
    }

    #[test]
    fn each_order_pulls_as_it_says() {
        assert_eq!(pulls(PullOrder::RoundRobin), [0, 1, 2, 0, 2, 0]);
        assert_eq!(pulls(PullOrder::Fifo), [0, 0, 0, 1, 2, 2]);
        assert_eq!(pulls(PullOrder::Srpt), [1, 2, 2, 0, 0, 0]);
        // 1000, 2000 and 3000 bytes a packet; a flow with credit left goes on, one in debt waits for a second quantum.
        assert_eq!(pulls(PullOrder::Fair { quantum: 1_500 }), [0, 0, 1, 2, 0, 2]);
    }

    proptest! {
        /// Against a list that is searched from its front, as it was once: adds, pulls, and bytes that grow and shrink.
        #[test]
        fn the_heap_pulls_as_a_search_does(steps in proptest::collection::vec((0u8..4, 0u32..12, 0u64..6), 0..200)) {
            let mut left = [0u64; 12];
            let mut list = ReadyList::new(PullOrder::Srpt);
            let mut searched: VecDeque<u32> = VecDeque::new();
            for (what, slot, bytes) in steps {
                let waits = searched.contains(&slot);
                if what == 0 {
                    let shortest = (0..searched.len()).min_by_key(|i| left[searched[*i] as usize]);
                    let expected = shortest.and_then(|i| searched.remove(i));
                    prop_assert_eq!(list.take(), expected);
                    if let Some(slot) = expected.filter(|_| bytes > 2) {
                        left[slot as usize] -= left[slot as usize].min(1);
                        searched.push_front(slot);
                        list.put_back(slot, || left[slot as usize]);
                    }
                } else if what == 1 && !waits {
                    left[slot as usize] = bytes;
                    searched.push_back(slot);
                    list.add(slot, || bytes);
                } else {
                    left[slot as usize] = bytes;
                    prop_assert_eq!(list.update(slot, bytes), waits);
                }
                prop_assert_eq!(list.is_empty(), searched.is_empty());
            }
        }
    }

    /// Flows move between lists that the caller keeps, and those that became ready first stay before others of equal length.
    #[test]
    fn ranks_go_along_into_other_lists() {
        let mut list = ReadyList::new(PullOrder::Srpt);
        [5, 2, 5, 2].iter().zip(0..).for_each(|(left, slot)| list.add(slot, || *left));
        let (mut all, mut kept) = (VecDeque::new(), VecDeque::new());
        list.exchange(&mut all);
        all.into_iter().rev().for_each(|slot| list.move_to(&mut kept, slot));
        assert!(list.is_empty() && !list.update(0, 1), "0 is in the other list");
        list.exchange(&mut kept);
        assert!(list.update(2, 1));
        assert_eq!([(); 4].map(|_| list.take()), [Some(2), Some(1), Some(3), Some(0)]);
    }
}
