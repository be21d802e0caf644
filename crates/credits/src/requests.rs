//! Requests that are posted or wait for credits, of all connections of one sender, in memory of a size given at the start.
//!
//! Each connection keeps two queues. A queue is two indices; its requests are linked through the pool.
//!
//! Invariant: a slot is free or in one queue. A pool with a limit never allocates after its start.

use alloc::vec::Vec;
use forebay_units::{Span, Time};

/// No slot.
const NONE: u32 = u32::MAX;

/// Running totals of the connections whose requests are kept here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Requests that the application made.
    pub requests: u64,
    /// Requests that had to wait for credits.
    pub blocked: u64,
    /// Time that they waited, all together. Requests that still wait count nothing.
    pub waited: Span,
    /// Most credits that one connection ever had outstanding.
    pub most_outstanding: u64,
}

/// A request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// When it was made; once it is posted, when it was posted.
    pub at: Time,
    /// Bytes of it.
    pub bytes: u64,
    /// Name that the application gave it.
    pub token: u64,
}

#[derive(Clone, Debug)]
struct Slot {
    of: Request,
    next: u32, // in its queue, or among the free ones
}

/// A pool of requests.
#[derive(Clone, Debug)]
pub struct Requests {
    slots: Vec<Slot>,
    free: u32,
    kept: u32,
    most: u32,
    pub(crate) counts: Counts,
}

/// Requests of one connection, oldest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    head: u32,
    tail: u32, // means nothing while `head` is `NONE`
}

impl Default for Queue {
    fn default() -> Self {
        Self { head: NONE, tail: NONE }
    }
}

impl Queue {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }
}

impl Requests {
    /// A pool of at most `most` requests. All memory is taken now.
    pub fn new(most: u32) -> Self {
        let most = most.min(NONE - 1);
        let slots = Vec::with_capacity(most as usize);
        Self { slots, free: NONE, kept: 0, most, counts: Counts::default() }
    }

    /// A pool that grows as needed.
    pub fn growing() -> Self {
        Self { slots: Vec::new(), most: NONE - 1, ..Self::new(0) }
    }

    /// Requests that are posted or wait.
    pub fn len(&self) -> u32 {
        self.kept
    }

    /// Whether no request is posted or waits.
    pub fn is_empty(&self) -> bool {
        self.kept == 0
    }

    /// Whether there is no room for another request.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.kept >= self.most
    }

    /// Totals since the start.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// # Panics
    /// If the pool is full.
    #[inline]
    pub(crate) fn push(&mut self, queue: &mut Queue, of: Request) {
        assert!(!self.is_full(), "the caller has looked for room");
        self.kept += 1;
        let at = if self.free == NONE {
            self.slots.push(Slot { of, next: NONE });
            self.slots.len() as u32 - 1
        } else {
            let at = self.free;
            let slot = &mut self.slots[at as usize];
            self.free = slot.next;
            *slot = Slot { of, next: NONE };
            at
        };
        self.link(queue, at);
    }

    #[inline]
    fn link(&mut self, queue: &mut Queue, at: u32) {
        if queue.is_empty() {
            queue.head = at;
        } else {
            self.slots[queue.tail as usize].next = at;
        }
        queue.tail = at;
    }

    #[inline]
    pub(crate) fn front(&self, queue: &Queue) -> Option<&Request> {
        // `NONE` is beyond every slot.
        self.slots.get(queue.head as usize).map(|slot| &slot.of)
    }

    #[inline]
    pub(crate) fn pop(&mut self, queue: &mut Queue) -> Option<Request> {
        let at = queue.head;
        let slot = self.slots.get_mut(at as usize)?;
        queue.head = slot.next;
        slot.next = self.free;
        self.free = at;
        self.kept -= 1;
        Some(slot.of)
    }

    /// Moves the oldest request of one queue to the end of another, at time `now`. Returns it as it was.
    #[inline]
    pub(crate) fn shift(&mut self, from: &mut Queue, to: &mut Queue, now: Time) -> Option<Request> {
        let at = from.head;
        let slot = self.slots.get_mut(at as usize)?;
        from.head = slot.next;
        slot.next = NONE;
        let was = slot.of;
        slot.of.at = now;
        self.link(to, at);
        Some(was)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(token: u64) -> Request {
        Request { at: Time::ZERO, bytes: 64, token }
    }

    #[test]
    fn a_pool_with_a_limit_takes_its_memory_at_the_start() {
        let mut pool = Requests::new(3);
        let room = pool.slots.capacity();
        let (mut a, mut b) = (Queue::default(), Queue::default());
        for round in 0..10 {
            pool.push(&mut a, request(round));
            pool.push(&mut b, request(100 + round));
            pool.push(&mut a, request(200 + round));
            assert!(pool.is_full());
            assert_eq!(pool.pop(&mut a).map(|of| of.token), Some(round));
            assert_eq!(
                pool.shift(&mut a, &mut b, Time::ZERO).map(|of| of.token),
                Some(200 + round)
            );
            assert_eq!(pool.pop(&mut b).map(|of| of.token), Some(100 + round));
            assert_eq!(pool.pop(&mut b).map(|of| of.token), Some(200 + round));
            assert!(pool.is_empty() && a.is_empty() && b.is_empty());
            assert_eq!(pool.pop(&mut a), None);
        }
        assert_eq!((pool.slots.capacity(), pool.slots.len()), (room, 3));
    }
}
