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
#[derive(Clone, Debug, Default)]
pub struct ReadyList {
    order: PullOrder,
    slots: VecDeque<u32>,
    credits: Vec<i64>, // by slot; `Fair` only
}

impl ReadyList {
    /// An empty list.
    pub fn new(order: PullOrder) -> Self {
        Self { order, slots: VecDeque::new(), credits: Vec::new() }
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
        match self.order {
            PullOrder::RoundRobin | PullOrder::Fifo => self.slots.pop_front(),
            PullOrder::Srpt => self.take_shortest(left),
            PullOrder::Fair { quantum } => self.take_fair(i64::from(quantum)),
        }
    }

    fn take_shortest(&mut self, left: impl Fn(u32) -> u64) -> Option<u32> {
        let (at, _) = self.slots.iter().enumerate().min_by_key(|(_, slot)| left(**slot))?;
        self.slots.remove(at)
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

    /// A flow sends as many bytes on the wire as `bytes` tells.
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

    /// Has other flows ready instead of these. The caller keeps those.
    #[inline]
    pub fn exchange(&mut self, slots: &mut VecDeque<u32>) {
        std::mem::swap(&mut self.slots, slots);
    }

    /// Puts a flow back that was pulled from and is still ready.
    #[inline]
    pub fn put_back(&mut self, slot: u32) {
        match self.order {
            PullOrder::RoundRobin => self.slots.push_back(slot),
            PullOrder::Fifo | PullOrder::Srpt | PullOrder::Fair { .. } => {
                self.slots.push_front(slot)
            }
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
            list.charge(slot, || 1_000 * (u64::from(slot) + 1));
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
        // 1000, 2000 and 3000 bytes a packet; a flow with credit left goes on, one in debt waits for a second quantum.
        assert_eq!(pulls(PullOrder::Fair { quantum: 1_500 }), [0, 0, 1, 2, 0, 2]);
    }
}
