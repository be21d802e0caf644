//! FIFO rings of timed items, in chunks from one free list.
//!
//! A ring is queue and wire in one: what has been pushed and has not arrived. Chunks are recycled last in, first
//! out, so the ones in use stay in cache.

use crate::prefetch::prefetch_at;
use crate::rare::{missing, rarely};
use forebay_units::{Span, Time};

const CHUNK: u32 = 16;
const NONE: u32 = u32::MAX;

/// An item and when it arrives. Aligned, so that a packet and its time touch one cache line and not two.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
#[repr(align(64))]
pub(crate) struct Entry<I> {
    pub at: Time,
    pub item: I,
}

/// The chunks of all rings of one shard: chunk `c` is slots `[c * CHUNK, (c + 1) * CHUNK)`.
pub(crate) struct Pool<I> {
    slots: Vec<Entry<I>>, // of all chunks, and one behind them, so that each has a next one
    next: Vec<u32>,       // of each chunk: the next one of its ring, or of the free list
    free: u32,
}

/// One link's ring, with what a push needs to know about the receiving side. Two share a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Ring {
    pub head_at: Time, // `Time::MAX` when empty
    pub lookahead: Span,
    head: u32,        // slot of the first entry; `NONE` before the first push
    tail: u32,        // slot of the last entry
    pub process: u32, // of the receiving node, in its shard
    pub shard: u16,   // that owns it
}

const _: () = assert!(size_of::<Ring>() == 32);

impl Ring {
    pub fn new(lookahead: Span, process: u32, shard: u16) -> Self {
        Self { head_at: Time::MAX, lookahead, head: NONE, tail: NONE, process, shard }
    }
}

impl<I: Copy + Default> Pool<I> {
    /// Chunks for so many rings. Room for two each is set aside and not touched: growth would move all there is, and for a while take it
    /// twice.
    pub fn new(rings: usize) -> Self {
        let mut slots = Vec::with_capacity(2 * rings * CHUNK as usize + 1);
        slots.push(Entry::default());
        Self { slots, next: Vec::with_capacity(2 * rings), free: NONE }
    }

    /// The first slot of a fresh chunk.
    #[inline(never)]
    fn take(&mut self) -> u32 {
        let chunk = if self.free == NONE {
            self.slots.resize(self.slots.len() + CHUNK as usize, Entry::default());
            self.next.push(NONE);
            u32::try_from(self.slots.len()).expect("fewer than 2^32 slots fit in memory") / CHUNK
                - 1
        } else {
            let chunk = self.free;
            self.free = self.next[chunk as usize];
            chunk
        };
        chunk * CHUNK
    }

    /// Where the entry after the one in slot `tail` goes: the next slot, or a new chunk.
    #[inline(never)]
    fn extend(&mut self, tail: u32) -> u32 {
        let slot = self.take();
        self.next[(tail / CHUNK) as usize] = slot / CHUNK;
        // It is the next one to be taken; if there is none, the slot is none either.
        self.prefetch_slot((self.free as usize).wrapping_mul(CHUNK as usize));
        slot
    }

    /// Begins an empty ring with its first entry.
    #[inline]
    pub fn begin(&mut self, ring: &mut Ring, at: Time, item: &I) {
        // An empty ring keeps one chunk and starts at its first slot again, which is still in cache.
        ring.tail = if ring.head == NONE { self.take() } else { ring.head };
        ring.head = ring.tail;
        ring.head_at = at;
        self.put(ring.tail, at, item);
    }

    /// Adds at the tail of a ring that is not empty; `at` is not before the tail's.
    #[inline(always)]
    pub fn append(&mut self, ring: &mut Ring, at: Time, item: &I) {
        let next = ring.tail + 1;
        ring.tail = if next.is_multiple_of(CHUNK) {
            rarely();
            self.extend(next - 1)
        } else {
            next
        };
        self.put(ring.tail, at, item);
    }

    #[inline(always)]
    fn put(&mut self, slot: u32, at: Time, item: &I) {
        self.prefetch_slot(slot as usize + 1);
        let Some(slot) = self.slots.get_mut(slot as usize) else { missing() };
        slot.at = at;
        slot.item = *item;
    }

    #[inline(always)]
    fn entry(&self, slot: u32) -> &Entry<I> {
        let Some(entry) = self.slots.get(slot as usize) else { missing() };
        entry
    }

    /// Takes the head of a ring that is not empty, into `item`. False if the ring is empty then.
    #[inline(always)]
    pub fn pop(&mut self, ring: &mut Ring, item: &mut I) -> bool {
        // One check for both: most often the next head is the next slot.
        let head = ring.head as usize;
        let Some([entry, next]) = self.slots.get(head..head + 2) else { missing() };
        *item = entry.item;
        if ring.head == ring.tail {
            ring.head -= ring.head % CHUNK;
            ring.head_at = Time::MAX;
            return false;
        }
        ring.head += 1;
        ring.head_at = next.at;
        if ring.head.is_multiple_of(CHUNK) {
            rarely();
            ring.head = self.release(ring.head / CHUNK - 1);
            ring.head_at = self.entry(ring.head).at;
        }
        self.prefetch_slot(ring.head as usize + 1); // the next pop reads its time
        true
    }

    /// The head of a ring that is not empty.
    #[inline(always)]
    pub fn head(&self, ring: &Ring) -> &I {
        &self.entry(ring.head).item
    }

    /// Shows the entries of a ring that arrive after `after`, in order.
    pub fn later(&self, ring: &Ring, after: Time, mut each: impl FnMut(Time, &I)) {
        if ring.head_at == Time::MAX || self.entry(ring.tail).at <= after {
            return;
        }
        let mut slot = ring.head;
        loop {
            let chunk = slot / CHUNK;
            let last =
                if chunk == ring.tail / CHUNK { ring.tail } else { chunk * CHUNK + CHUNK - 1 };
            if self.entry(last).at > after {
                let entries = &self.slots[slot as usize..=last as usize];
                let later = entries.iter().filter(|entry| entry.at > after);
                later.for_each(|entry| each(entry.at, &entry.item));
            }
            if last == ring.tail {
                return;
            }
            slot = self.next[chunk as usize] * CHUNK;
        }
    }

    /// Prefetches the cache line of a slot, which most often is the next one of a ring.
    #[inline(always)]
    fn prefetch_slot(&self, slot: usize) {
        prefetch_at(&self.slots, slot);
    }

    /// Prefetches the cache lines of a ring's head and of the entry after it.
    #[inline(always)]
    pub fn prefetch(&self, ring: &Ring) {
        self.prefetch_slot(ring.head as usize);
        if (ring.head + 1).is_multiple_of(CHUNK) {
            self.prefetch_chunk_after(ring.head / CHUNK);
        } else {
            self.prefetch_slot(ring.head as usize + 1);
        }
    }

    /// Prefetches the first cache line of the chunk after one; if there is none, for anything.
    #[inline]
    fn prefetch_chunk_after(&self, chunk: u32) {
        self.prefetch_slot(self.next[chunk as usize] as usize * CHUNK as usize);
    }

    /// Prefetches the cache line that the next push most likely writes.
    #[inline(always)]
    pub fn prefetch_tail(&self, ring: &Ring) {
        self.prefetch_slot(ring.tail.wrapping_add(1) as usize);
    }

    /// Frees a chunk that has been read to its end; the answer is the first slot of the next one.
    #[inline(never)]
    fn release(&mut self, chunk: u32) -> u32 {
        let next = std::mem::replace(&mut self.next[chunk as usize], self.free);
        self.free = chunk;
        self.prefetch_chunk_after(next);
        next * CHUNK
    }

    /// Bytes held by chunks, free ones included.
    pub fn bytes(&self) -> usize {
        self.next.len() * CHUNK as usize * size_of::<Entry<I>>()
            + self.next.len() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(pool: &mut Pool<u64>, ring: &mut Ring, nth: u64) {
        match ring.head_at {
            Time::MAX => pool.begin(ring, Time::from_ps(nth), &nth),
            _ => pool.append(ring, Time::from_ps(nth), &nth),
        }
    }

    #[test]
    fn rings_are_fifo_and_share_chunks() {
        let mut pool = Pool::<u64>::new(2);
        let mut rings = [Ring::new(Span::ZERO, 0, 0), Ring::new(Span::ZERO, 1, 0)];
        let (mut pushed, mut popped) = ([0u64; 2], [0u64; 2]);
        for step in 0..10_000u64 {
            let which = (forebay_units::math::mix(step) % 2) as usize;
            if forebay_units::math::mix(step + 77) % 5 < 3 {
                push(&mut pool, &mut rings[which], pushed[which]);
                pushed[which] += 1;
            } else if rings[which].head_at != Time::MAX {
                assert_eq!(rings[which].head_at, Time::from_ps(popped[which]));
                let mut item = 0;
                pool.pop(&mut rings[which], &mut item);
                assert_eq!(item, popped[which]);
                popped[which] += 1;
            }
            if step % 64 == 0 {
                let after = popped[which] + step % 50;
                let mut shown = after + 1;
                pool.later(&rings[which], Time::from_ps(after), |at, item| {
                    assert_eq!((at, *item), (Time::from_ps(shown), shown));
                    shown += 1;
                });
                assert_eq!(shown, pushed[which].max(after + 1));
            }
        }
        for which in 0..2 {
            while rings[which].head_at != Time::MAX {
                let mut item = 0;
                pool.pop(&mut rings[which], &mut item);
                assert_eq!(item, popped[which]);
                popped[which] += 1;
            }
            assert_eq!(pushed[which], popped[which]);
            assert_eq!(rings[which].head_at, Time::MAX);
        }
        let held = pool.next.len();
        for i in 0..((held - 1) * CHUNK as usize) as u64 {
            push(&mut pool, &mut rings[0], i);
        }
        assert_eq!(pool.next.len(), held, "emptied rings give their chunks back but one");
    }
}
