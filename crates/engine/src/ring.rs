//! FIFO rings of timed items, in chunks from one free list.
//!
//! A ring is queue and wire in one: what has been pushed and has not arrived. Chunks are recycled last in, first
//! out, so the ones in use stay in cache, and an empty ring holds no chunk.

use forebay_units::Time;

const CHUNK: usize = 8;
const NONE: u32 = u32::MAX;

/// An item and when it arrives.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub(crate) struct Entry<I> {
    pub at: Time,
    pub item: I,
}

#[derive(Clone, Copy)]
struct Chunk<I> {
    slots: [Entry<I>; CHUNK],
    next: u32,
}

/// The free list that the rings of one shard share.
pub(crate) struct Pool<I> {
    chunks: Vec<Chunk<I>>,
    free: u32,
}

/// One link's ring, with what a push needs to know about the receiving side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring {
    pub head_at: Time, // `Time::MAX` when empty
    head: u32,
    tail: u32,
    len: u32,
    pub process: u32, // of the receiving node, in its shard
    pub shard: u16,   // that owns it
    head_pos: u8,
    tail_pos: u8,
}

impl Ring {
    pub fn new(process: u32, shard: u16) -> Self {
        Self {
            head_at: Time::MAX,
            head: NONE,
            tail: NONE,
            len: 0,
            process,
            shard,
            head_pos: 0,
            tail_pos: 0,
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> u32 {
        self.len
    }
}

impl<I: Copy + Default> Pool<I> {
    pub fn new() -> Self {
        Self { chunks: Vec::new(), free: NONE }
    }

    #[inline]
    fn take(&mut self) -> u32 {
        if self.free != NONE {
            let chunk = self.free;
            self.free = self.chunks[chunk as usize].next;
            return chunk;
        }
        self.grow()
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let chunk = u32::try_from(self.chunks.len()).expect("fewer than 2^32 chunks fit in memory");
        self.chunks.push(Chunk { slots: [Entry::default(); CHUNK], next: NONE });
        chunk
    }

    /// Adds at the tail. `at` is not before the tail's.
    #[inline(always)]
    pub fn push(&mut self, ring: &mut Ring, at: Time, item: &I) {
        if ring.len == 0 {
            let chunk = self.take();
            (ring.head, ring.tail, ring.head_pos, ring.tail_pos) = (chunk, chunk, 0, 0);
            ring.head_at = at;
        } else if usize::from(ring.tail_pos) == CHUNK {
            let chunk = self.take();
            self.chunks[ring.tail as usize].next = chunk;
            (ring.tail, ring.tail_pos) = (chunk, 0);
        }
        let slot = &mut self.chunks[ring.tail as usize].slots[usize::from(ring.tail_pos) % CHUNK];
        slot.at = at;
        slot.item = *item;
        ring.tail_pos += 1;
        ring.len += 1;
    }

    /// Takes the head of a ring that is not empty.
    #[inline(always)]
    pub fn pop(&mut self, ring: &mut Ring) -> I {
        let chunk = ring.head;
        let page = &mut self.chunks[chunk as usize];
        let item = page.slots[usize::from(ring.head_pos) % CHUNK].item;
        ring.head_pos += 1;
        ring.len -= 1;
        if ring.len == 0 {
            page.next = self.free;
            self.free = chunk;
            ring.head_at = Time::MAX;
        } else if usize::from(ring.head_pos) == CHUNK {
            (ring.head, ring.head_pos) = (page.next, 0);
            page.next = self.free;
            self.free = chunk;
            ring.head_at = self.chunks[ring.head as usize].slots[0].at;
        } else {
            ring.head_at = page.slots[usize::from(ring.head_pos) % CHUNK].at;
        }
        item
    }

    /// Bytes held by chunks, free ones included.
    pub fn bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Chunk<I>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_fifo_and_share_chunks() {
        let mut pool = Pool::<u64>::new();
        let mut rings = [Ring::new(0, 0), Ring::new(1, 0)];
        let (mut pushed, mut popped) = ([0u64; 2], [0u64; 2]);
        for step in 0..10_000u64 {
            let which = (forebay_units::math::mix(step) % 2) as usize;
            if forebay_units::math::mix(step + 77) % 5 < 3 {
                pool.push(&mut rings[which], Time::from_ps(pushed[which]), &pushed[which]);
                pushed[which] += 1;
            } else if rings[which].len() > 0 {
                assert_eq!(rings[which].head_at, Time::from_ps(popped[which]));
                assert_eq!(pool.pop(&mut rings[which]), popped[which]);
                popped[which] += 1;
            }
        }
        for which in 0..2 {
            while rings[which].len() > 0 {
                assert_eq!(pool.pop(&mut rings[which]), popped[which]);
                popped[which] += 1;
            }
            assert_eq!(pushed[which], popped[which]);
            assert_eq!(rings[which].head_at, Time::MAX);
        }
        let held = pool.chunks.len();
        for i in 0..(held * CHUNK) as u64 {
            pool.push(&mut rings[0], Time::from_ps(i), &i);
        }
        assert_eq!(pool.chunks.len(), held, "emptied rings give their chunks back");
    }
}
