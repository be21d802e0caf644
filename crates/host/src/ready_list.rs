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
}

/// Flows that may send, by slot. The caller keeps each slot in at most once.
#[derive(Clone, Debug, Default)]
pub struct ReadyList {
    order: PullOrder,
    slots: VecDeque<u32>,
}

impl ReadyList {
    /// An empty list.
    pub fn new(order: PullOrder) -> Self {
        Self { order, slots: VecDeque::new() }
    }

    /// Whether no flow is ready.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// A flow became ready.
    #[inline]
    pub fn add(&mut self, slot: u32) {
        self.slots.push_back(slot);
    }

    /// Takes the flow to pull from. `left` tells the bytes a flow has still to send.
    #[inline]
    pub fn take(&mut self, left: impl Fn(u32) -> u64) -> Option<u32> {
        if self.order == PullOrder::Srpt && self.slots.len() > 1 {
            let (at, _) = self.slots.iter().enumerate().min_by_key(|(_, slot)| left(**slot))?;
            return self.slots.remove(at);
        }
        self.slots.pop_front()
    }

    /// Puts a flow back that was pulled from and is still ready.
    #[inline]
    pub fn put_back(&mut self, slot: u32) {
        match self.order {
            PullOrder::RoundRobin => self.slots.push_back(slot),
            PullOrder::Fifo | PullOrder::Srpt => self.slots.push_front(slot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pulls(order: PullOrder) -> Vec<u32> {
        let mut left = [3u64, 1, 2];
        let mut list = ReadyList::new(order);
        (0..3).for_each(|slot| list.add(slot));
        let mut pulled = Vec::new();
        while let Some(slot) = list.take(|slot| left[slot as usize]) {
            pulled.push(slot);
            left[slot as usize] -= 1;
            if left[slot as usize] > 0 {
                list.put_back(slot);
            }
        }
        pulled
    }

    #[test]
    fn each_order_pulls_as_it_says() {
        assert_eq!(pulls(PullOrder::RoundRobin), [0, 1, 2, 0, 2, 0]);
        assert_eq!(pulls(PullOrder::Fifo), [0, 0, 0, 1, 2, 2]);
        assert_eq!(pulls(PullOrder::Srpt), [1, 2, 2, 0, 0, 0]);
    }
}
