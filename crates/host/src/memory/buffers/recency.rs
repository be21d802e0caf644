//! Buffers of one kind of way, from the oldest to the youngest.
//!
//! Form: a doubly linked list over dense numbers, so that a buffer moves to the young end without a search.

/// No buffer.
pub(super) const NONE: u32 = u32::MAX;

/// The list, with links by buffer.
#[derive(Clone, Debug)]
pub(super) struct Recency {
    links: Vec<Link>,
    oldest: u32,
    youngest: u32,
    len: u32,
    capacity: u32,
}

/// Neighbours of a buffer in the list, and the access that made it young.
#[derive(Clone, Copy, Debug)]
struct Link {
    older: u32,
    younger: u32,
    stamp: u64,
}

const ALONE: Link = Link { older: NONE, younger: NONE, stamp: 0 };

impl Recency {
    /// An empty list of at most `capacity` among `0..buffers`.
    pub(super) fn new(buffers: u32, capacity: u32) -> Self {
        let links = vec![ALONE; buffers as usize];
        Self { links, oldest: NONE, youngest: NONE, len: 0, capacity }
    }

    /// Numbers one more buffer, which is not in the list.
    pub(super) fn add(&mut self) {
        self.links.push(ALONE);
    }

    /// Number of buffers in the list.
    pub(super) const fn len(&self) -> u32 {
        self.len
    }

    /// Whether another buffer fits only in the place of one.
    pub(super) const fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// The oldest buffer, or [`NONE`].
    pub(super) const fn oldest(&self) -> u32 {
        self.oldest
    }

    /// The access that made a buffer in the list young.
    pub(super) fn stamp(&self, buffer: u32) -> u64 {
        self.links[buffer as usize].stamp
    }

    /// Adds a buffer as the youngest.
    #[inline]
    pub(super) fn insert(&mut self, buffer: u32, stamp: u64) {
        let older = self.youngest;
        self.links[buffer as usize] = Link { older, younger: NONE, stamp };
        match older {
            NONE => self.oldest = buffer,
            _ => self.links[older as usize].younger = buffer,
        }
        self.youngest = buffer;
        self.len += 1;
    }

    /// Removes a buffer that is in the list.
    #[inline]
    pub(super) fn remove(&mut self, buffer: u32) {
        let Link { older, younger, .. } = self.links[buffer as usize];
        match older {
            NONE => self.oldest = younger,
            _ => self.links[older as usize].younger = younger,
        }
        match younger {
            NONE => self.youngest = older,
            _ => self.links[younger as usize].older = older,
        }
        self.len -= 1;
    }
}
