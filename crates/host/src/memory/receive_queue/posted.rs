//! Buffers posted for data to come: in one queue for all flows, or in one for each.
//!
//! Invariant: buffers posted and taken of a queue are its depth and what the stack posted beyond it.

use super::super::buffers::{BufferCache, PostedBuffers, Reuse};
use std::collections::BTreeMap;

/// The queues of a host.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    depth: u32,
    reuse: Reuse,
    of_flow: Option<BTreeMap<u32, u32>>, // none: all flows share the first queue
    queues: Vec<Queue>,
    owner: Vec<u32>, // queue by buffer, where there is one for each flow
}

#[derive(Clone, Debug)]
struct Queue {
    flow: u32, // whose it is, if flows share none
    posted: PostedBuffers,
    taken: u32,
}

impl Queues {
    /// Full ones, whose buffers are the first of the cache.
    pub(super) fn new(depth: u32, reuse: Reuse, shared: bool) -> Self {
        let all = || Queue { flow: 0, posted: PostedBuffers::new(0..depth, reuse), taken: 0 };
        Self {
            depth,
            reuse,
            of_flow: (!shared).then(BTreeMap::new),
            queues: if shared { vec![all()] } else { Vec::new() },
            owner: Vec::new(),
        }
    }

    /// The queue of a flow, whose buffers are added to the cache if the flow is new.
    #[inline]
    pub(super) fn of(&mut self, flow: u32, cache: &mut BufferCache) -> u32 {
        let Some(of_flow) = &mut self.of_flow else { return 0 };
        let queues = &mut self.queues;
        *of_flow.entry(flow).or_insert_with(|| {
            let number = queues.len() as u32;
            let first = cache.add_several(self.depth);
            let buffers = first..first + self.depth;
            self.owner.resize(buffers.end as usize, number);
            queues.push(Queue { flow, posted: PostedBuffers::new(buffers, self.reuse), taken: 0 });
            number
        })
    }

    /// Posted buffers of a queue.
    #[inline]
    pub(super) fn posted(&self, queue: u32) -> usize {
        self.queues[queue as usize].posted.len()
    }

    /// Takes a posted buffer, or one that the stack posts beyond the depth; and whether it is such.
    #[inline]
    pub(super) fn take(&mut self, queue: u32, cache: &mut BufferCache) -> (u32, bool) {
        let of = &mut self.queues[queue as usize];
        of.taken += 1;
        if let Some(buffer) = of.posted.take() {
            return (buffer, false);
        }
        let buffer = cache.add();
        if self.of_flow.is_some() {
            self.owner.resize(buffer as usize + 1, queue);
        }
        (buffer, true)
    }

    /// Posts a buffer again.
    #[inline]
    pub(super) fn give_back(&mut self, buffer: u32) {
        let queue = if self.of_flow.is_some() { self.owner[buffer as usize] } else { 0 };
        let queue = &mut self.queues[queue as usize];
        queue.posted.give_back(buffer);
        queue.taken -= 1;
    }

    /// The flow that owns the queue (`None` if flows share queues), and the number of buffers taken.
    pub(super) fn taken(&self, queue: u32) -> (Option<u32>, u32) {
        let of = &self.queues[queue as usize];
        (self.of_flow.is_some().then_some(of.flow), of.taken)
    }

    /// Buffers of all queues, but for what the stack posted beyond their depth.
    pub(super) fn depth(&self) -> u32 {
        self.depth.saturating_mul(self.queues.len().max(1) as u32)
    }
}
