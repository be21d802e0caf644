//! The links that arrive at one shard, and the post to the others.

use crate::link::{Emitter, InFlight, LinkId};
use crate::prefetch::prefetch;
use crate::rare::{missing, rarely};
use crate::ring::{Pool, Ring};
use crate::slab::{Slab, SlotOf, SlotWords};
use forebay_units::Time;

/// An item on its way to another shard.
#[derive(Clone, Copy)]
pub(crate) struct CrossShardItem<I> {
    pub link: LinkId,
    pub at: Time,
    pub item: I,
}

/// What one shard sends to another.
#[derive(Default)]
pub(crate) struct Outbox<I> {
    mail: Vec<CrossShardItem<I>>,
    words: Vec<(usize, SlotWords)>, // of the letters of these numbers
}

impl<I> Outbox<I> {
    pub fn is_empty(&self) -> bool {
        self.mail.is_empty()
    }
}

/// All rings of a shard, which processes have work and when, and outboxes to the other shards.
pub struct LinkRings<I> {
    rings: Vec<Ring>, // by link; those of other shards stay empty and only say where to post
    pool: Pool<I>,
    pub(crate) slab: Slab,
    slot_of: SlotOf<I>, // where an item keeps the number of its slot
    filled: Vec<u64>,   // bit per link: its ring is not empty
    me: u16,
    popped: LinkId, // of which an item was taken last
    /// Earliest event of each process, or earlier.
    next: Vec<Time>,
    /// Least of each 64 of them, or earlier.
    next_of_64: Vec<Time>,
    pub(crate) outbox: Vec<Outbox<I>>, // by shard
    /// Earliest arrival posted since the outboxes were last taken.
    pub(crate) posted: Time,
    /// The process that runs events in heap order just now, and the links of it that were filled meanwhile.
    watched: u32,
    pub(crate) refilled: Vec<LinkId>,
    pub(crate) done: u64,
    pub(crate) begun: u64, // things that must end
    pub(crate) ended: u64, // of those, also of what began in another shard
    pub(crate) pushed: u64,
    pub(crate) events: u64, // arrivals and timers that the shard has handled
}

/// No process is watched.
pub(crate) const NOBODY: u32 = u32::MAX;

impl<I: Copy + Default> LinkRings<I> {
    pub(crate) fn new(
        rings: Vec<Ring>,
        processes: usize,
        me: u16,
        shards: usize,
        slot_of: SlotOf<I>,
    ) -> Self {
        Self {
            filled: vec![0; rings.len().div_ceil(64)],
            pool: Pool::new(rings.iter().filter(|ring| ring.shard == me).count()),
            slab: Slab::default(),
            slot_of,
            rings,
            me,
            popped: LinkId(0),
            next: vec![Time::ZERO; processes],
            next_of_64: vec![Time::ZERO; processes.div_ceil(64)],
            outbox: (0..shards).map(|_| Outbox::default()).collect(),
            posted: Time::MAX,
            watched: NOBODY,
            refilled: Vec::new(),
            done: 0,
            begun: 0,
            ended: 0,
            pushed: 0,
            events: 0,
        }
    }

    #[inline(always)]
    fn fill(&mut self, link: LinkId, at: Time, item: &I) {
        let ring = &mut self.rings[link.0 as usize];
        if ring.head_at == Time::MAX {
            self.begin(link, at, item);
        } else {
            self.pool.append(ring, at, item);
        }
    }

    /// Sends onto a link that is empty.
    #[inline]
    fn begin(&mut self, link: LinkId, at: Time, item: &I) {
        let ring = &mut self.rings[link.0 as usize];
        let process = ring.process;
        self.pool.begin(ring, at, item);
        self.filled[link.0 as usize / 64] |= 1 << (link.0 % 64);
        if process == self.watched {
            self.refill(link);
        } else {
            self.wake(process, at);
        }
    }

    #[cold]
    fn refill(&mut self, link: LinkId) {
        self.refilled.push(link);
    }

    #[inline(never)]
    fn post(&mut self, shard: u16, link: LinkId, at: Time, item: &I) {
        self.posted = self.posted.min(at);
        let mut item = *item;
        let words = self.slab.detach((self.slot_of)(&mut item));
        let Outbox { mail, words: all } = &mut self.outbox[usize::from(shard)];
        all.extend(words.map(|words| (mail.len(), words)));
        mail.push(CrossShardItem { link, at, item });
    }

    /// Process `process` has something to do at `at`.
    #[inline]
    pub(crate) fn wake(&mut self, process: u32, at: Time) {
        // Two minima rather than one test: which way it goes is anybody's guess.
        let next = &mut self.next[process as usize];
        *next = at.min(*next);
        let group = &mut self.next_of_64[process as usize / 64];
        *group = at.min(*group);
    }

    /// Mail from another shard, which is emptied.
    pub(crate) fn deliver(&mut self, post: &mut Outbox<I>) {
        let mut words = post.words.drain(..).peekable();
        for (nth, CrossShardItem { link, at, mut item }) in post.mail.drain(..).enumerate() {
            if let Some((_, words)) = words.next_if(|(of, _)| *of == nth) {
                self.slab.attach((self.slot_of)(&mut item), Some(&words));
            }
            self.fill(link, at, &item);
        }
    }

    /// Puts back what was drained.
    pub(crate) fn put_back(&mut self, link: LinkId, flying: &InFlight<I>) {
        let mut item = flying.item;
        self.slab.attach((self.slot_of)(&mut item), flying.words.as_ref());
        self.fill(link, flying.at, &item);
    }

    /// Takes the head of a link that has one, into `item`; the answer is when the next one arrives.
    #[inline(always)]
    pub(crate) fn pop(&mut self, link: LinkId, item: &mut I) -> Time {
        let Some(ring) = self.rings.get_mut(link.0 as usize) else { missing() };
        self.popped = link;
        if self.pool.pop(ring, item) {
            return ring.head_at;
        }
        self.filled[link.0 as usize / 64] &= !(1 << (link.0 % 64));
        Time::MAX
    }

    #[inline]
    pub(crate) fn head_at(&self, link: LinkId) -> Time {
        self.rings[link.0 as usize].head_at
    }

    /// Calls `each` with the links in `[first, end)`, ascending, and the arrival of each one's head; an empty ring may be left out, or
    /// come with `Time::MAX`. Reads the rings themselves where most are filled, and the bits where few are.
    #[inline(always)]
    pub(crate) fn heads(&self, first: u32, end: u32, mut each: impl FnMut(LinkId, Time)) {
        let few = end - first > 4 && self.filled[first as usize / 64].count_ones() < 16;
        if few {
            for link in self.filled(first, end) {
                each(link, self.head_at(link));
            }
        } else {
            for (link, ring) in (first..end).zip(&self.rings[first as usize..end as usize]) {
                each(LinkId(link), ring.head_at);
            }
        }
    }

    /// Prefetches the cache lines of the rings in `[first, end)`, or of their heads.
    #[inline]
    pub(crate) fn prefetch(&self, first: u32, end: u32, heads: bool) {
        let rings = &self.rings[first as usize..end as usize];
        if heads {
            rings
                .iter()
                .filter(|ring| ring.head_at != Time::MAX)
                .for_each(|ring| self.pool.prefetch(ring));
        } else {
            rings.iter().step_by(2).for_each(prefetch);
        }
    }

    /// Prefetches the cache line of the ring of a link that will be pushed onto.
    #[inline]
    pub fn prefetch_ring(&self, link: LinkId) {
        prefetch(&self.rings[link.0 as usize]);
    }

    /// Prefetches the cache line that the next push onto a link writes.
    #[inline]
    pub fn prefetch_tail(&self, link: LinkId) {
        self.pool.prefetch_tail(&self.rings[link.0 as usize]);
    }

    /// The links in `[first, end)` whose rings are not empty, ascending.
    #[inline]
    pub(crate) fn filled(&self, first: u32, end: u32) -> FilledLinks<'_> {
        let word = first / 64;
        let bits =
            self.filled.get(word as usize).copied().unwrap_or(0) & (u64::MAX << (first % 64));
        FilledLinks { words: &self.filled, word, bits, end }
    }

    pub(crate) fn watch(&mut self, process: u32) {
        self.watched = process;
        self.refilled.clear();
    }

    pub(crate) fn set_next(&mut self, process: u32, at: Time) {
        self.next[process as usize] = at;
    }

    #[inline]
    pub(crate) fn next(&self, process: u32) -> Time {
        self.next[process as usize]
    }

    pub(crate) fn group_next(&self, group: usize) -> Time {
        self.next_of_64[group]
    }

    pub(crate) fn groups(&self) -> usize {
        self.next_of_64.len()
    }

    /// Makes a group's summary exact again.
    pub(crate) fn settle_group(&mut self, group: usize) {
        let from = group * 64;
        let to = (from + 64).min(self.next.len());
        self.next_of_64[group] = self.next[from..to].iter().copied().min().unwrap_or(Time::MAX);
    }

    pub(crate) fn earliest(&self) -> Time {
        self.next_of_64.iter().copied().min().unwrap_or(Time::MAX)
    }

    /// Takes everything off a link, in order.
    pub(crate) fn drain(&mut self, link: LinkId) -> Vec<InFlight<I>> {
        let mut all = Vec::new();
        while self.head_at(link) != Time::MAX {
            let at = self.head_at(link);
            let mut item = I::default();
            self.pop(link, &mut item);
            let words = self.slab.detach((self.slot_of)(&mut item));
            all.push(InFlight { at, item, words });
        }
        all
    }

    pub(crate) fn bytes(&self) -> usize {
        self.pool.bytes() + self.slab.bytes() + self.rings.len() * size_of::<Ring>()
    }
}

impl<I: Copy + Default> Emitter<I> for LinkRings<I> {
    #[inline(always)]
    fn push(&mut self, link: LinkId, at: Time, item: &I) {
        self.pushed += 1;
        let Some(ring) = self.rings.get_mut(link.0 as usize) else { missing() };
        let at = at + ring.lookahead;
        if ring.head_at != Time::MAX {
            return self.pool.append(ring, at, item);
        }
        rarely();
        match ring.shard {
            shard if shard == self.me => self.begin(link, at, item),
            shard => self.post(shard, link, at, item), // its rings stay empty here
        }
    }

    #[inline(always)]
    fn slab(&mut self) -> &mut Slab {
        &mut self.slab
    }

    #[inline(always)]
    fn next(&self) -> Option<&I> {
        let Some(ring) = self.rings.get(self.popped.0 as usize) else { missing() };
        (ring.head_at != Time::MAX).then(|| self.pool.head(ring))
    }

    fn flying(&self, link: LinkId, after: Time, each: &mut dyn FnMut(Time, &I)) -> bool {
        let Some(ring) = self.rings.get(link.0 as usize) else { missing() };
        if ring.shard != self.me {
            return false;
        }
        let left = |at: Time| Time::ZERO + at.since(Time::ZERO).saturating_sub(ring.lookahead);
        self.pool
            .later(ring, after.saturating_add(ring.lookahead), |at, item| each(left(at), item));
        true
    }

    #[inline]
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

/// Iterator over the links of a range whose rings are not empty.
pub(crate) struct FilledLinks<'a> {
    words: &'a [u64],
    word: u32,
    bits: u64,
    end: u32,
}

impl Iterator for FilledLinks<'_> {
    type Item = LinkId;

    #[inline]
    fn next(&mut self) -> Option<LinkId> {
        while self.bits == 0 {
            self.word += 1;
            if self.word * 64 >= self.end {
                return None;
            }
            self.bits = self.words[self.word as usize];
        }
        let link = self.word * 64 + self.bits.trailing_zeros();
        self.bits &= self.bits - 1;
        (link < self.end).then_some(LinkId(link))
    }
}
