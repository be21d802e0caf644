//! A last-level cache of receive buffers, replaced least recently used first.
//!
//! Models: buffers of one size that are in the cache whole or not at all. A write of the NIC updates a resident buffer in place;
//! else the buffer takes the place of the oldest in the DDIO ways. A read of the CPU hits a resident buffer; else the buffer is
//! fetched into any way, where the oldest of all leaves. Buffers that were written leave at the price of a write to memory.
//! Leaves out: sets (misses are within 2 points of a cache of lines in sets, within 3.5 with [`Reuse::Lifo`] and [`Refresh::Both`]), prefetching, hashed and adaptive replacement, and buffers that are filled in part.
//!
//! Source: CARC (APNet 2025) section 3.1 and figure 3. Open in the paper: whether a read makes a buffer young ([`Refresh`]), and
//! the order in which freed buffers are posted again ([`Reuse`]).
//! Invariants: at most `cache` buffers are resident, at most `ddio` of them in DDIO ways; hits and misses add up to reads; each
//! buffer that left unread is missed at its next read, unless a write comes first.

mod recency;

use recency::{NONE, Recency};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Size of a cache and of its DDIO ways, in buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// Buffers that the whole cache holds: S.
    pub cache: u32,
    /// Buffers that the DDIO ways hold: D, one or more and at most S.
    pub ddio: u32,
}

/// Accesses that make a resident buffer the youngest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Refresh {
    /// Writes only: buffers leave in the order in which they were written or fetched.
    #[default]
    Write,
    /// Writes and reads: a buffer that was just read outlives those that wait, so that S1 ends near D / 2.
    Both,
}

/// Cause of an eviction: which side needs the place of the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A write of the NIC: RNIC eviction in the paper's words.
    Nic,
    /// A read or a write of the CPU: CPU eviction.
    Cpu,
}

/// A buffer that left the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EvictedBuffer {
    /// The buffer.
    pub buffer: u32,
    /// Whether the application has yet to read its content: useful data in the paper's words.
    pub unread: bool,
    /// Whether its content has to be written to memory.
    pub dirty: bool,
}

/// Outcome of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessOutcome {
    /// Whether the buffer was resident.
    pub hit: bool,
    /// The buffer that made place.
    pub evicted: Option<EvictedBuffer>,
}

/// Running totals, in buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Writes of the NIC.
    pub writes: u64,
    /// Writes of the NIC that found their buffer resident.
    pub in_place: u64,
    /// Reads of the CPU.
    pub reads: u64,
    /// Reads that found their buffer resident.
    pub hits: u64,
    /// Reads that missed a buffer which a write of the NIC had evicted.
    pub missed_after_nic: u64,
    /// Reads that missed a buffer which the CPU had evicted.
    pub missed_after_cpu: u64,
    /// Reads that missed a buffer which had never been in the cache.
    pub missed_cold: u64,
    /// Buffers that were evicted before the application read them.
    pub evicted_unread: u64,
    /// Buffers that were written to memory as they left.
    pub written_back: u64,
}

impl Counts {
    /// Reads that missed a buffer which a write of the NIC had evicted, which the CPU had, and which had never been there.
    pub const fn missed_by_cause(&self) -> [u64; 3] {
        [self.missed_after_nic, self.missed_after_cpu, self.missed_cold]
    }

    /// Reads that missed.
    pub fn misses(&self) -> u64 {
        self.missed_by_cause().iter().sum()
    }
}

/// The cache. An access takes the same time whatever the number of buffers.
#[derive(Clone, Debug)]
pub struct BufferCache {
    refresh: Refresh,
    entries: Vec<Entry>, // by buffer
    ddio: Recency,
    others: Recency,
    clock: u64, // accesses so far: what orders the two lists
    counts: Counts,
}

/// What is known of a buffer, resident or not.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    place: Place,
    unread: bool,
    dirty: bool,
}

/// Where a buffer's content is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Place {
    #[default]
    Never,
    Ddio,
    Others,
    Gone(Cause),
}

impl BufferCache {
    /// An empty cache for buffers `0..buffers`.
    ///
    /// # Panics
    /// If the DDIO ways hold no buffer, or more than the cache.
    pub fn new(capacity: Capacity, buffers: u32, refresh: Refresh) -> Self {
        let Capacity { cache, ddio } = capacity;
        assert!((1..=cache).contains(&ddio), "DDIO ways hold 1 to {cache} buffers, not {ddio}");
        Self {
            refresh,
            entries: vec![Entry::default(); buffers as usize],
            ddio: Recency::new(buffers, ddio),
            others: Recency::new(buffers, cache - ddio),
            clock: 0,
            counts: Counts::default(),
        }
    }

    /// Adds a buffer, which has never been in the cache.
    pub fn add(&mut self) -> u32 {
        self.entries.push(Entry::default());
        self.ddio.add();
        self.others.add();
        self.entries.len() as u32 - 1
    }

    /// Adds so many buffers, which have never been in the cache. Returns the number of the first.
    pub fn add_several(&mut self, buffers: u32) -> u32 {
        let first = self.entries.len() as u32;
        (0..buffers).for_each(|_| _ = self.add());
        first
    }

    /// The NIC writes a message into `buffer`.
    #[inline]
    pub fn nic_write(&mut self, buffer: u32) -> AccessOutcome {
        self.counts.writes += 1;
        let hit = self.is_resident(buffer);
        let evicted = if hit {
            self.counts.in_place += 1;
            self.make_young(buffer);
            None
        } else {
            let oldest = self.ddio.is_full().then(|| self.ddio.oldest());
            let evicted = oldest.map(|oldest| self.evict(oldest, Cause::Nic));
            self.place(buffer, Place::Ddio);
            evicted
        };
        let entry = &mut self.entries[buffer as usize];
        (entry.unread, entry.dirty) = (true, true);
        AccessOutcome { hit, evicted }
    }

    /// The application reads `buffer`.
    #[inline]
    pub fn cpu_read(&mut self, buffer: u32) -> AccessOutcome {
        self.counts.reads += 1;
        let was = self.entries[buffer as usize].place;
        match was {
            Place::Ddio | Place::Others => self.counts.hits += 1,
            Place::Gone(Cause::Nic) => self.counts.missed_after_nic += 1,
            Place::Gone(Cause::Cpu) => self.counts.missed_after_cpu += 1,
            Place::Never => self.counts.missed_cold += 1,
        }
        let touch = self.cpu_access(buffer, self.refresh == Refresh::Both);
        self.entries[buffer as usize].unread = false;
        touch
    }

    /// The application writes `buffer`, a copy or data of its own.
    #[inline]
    pub fn cpu_write(&mut self, buffer: u32) -> AccessOutcome {
        let touch = self.cpu_access(buffer, true);
        self.entries[buffer as usize].dirty = true;
        touch
    }

    /// Another program reads `buffer`, which it alone uses, and which counts as no read.
    #[inline]
    pub fn other_read(&mut self, buffer: u32) -> AccessOutcome {
        self.cpu_access(buffer, true)
    }

    /// Totals since the beginning.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Number of resident buffers.
    pub const fn resident(&self) -> u32 {
        self.ddio.len() + self.others.len()
    }

    /// Whether `buffer` is in the cache.
    pub fn is_resident(&self, buffer: u32) -> bool {
        matches!(self.entries[buffer as usize].place, Place::Ddio | Place::Others)
    }

    /// Finds or fetches a buffer for the CPU.
    #[inline]
    fn cpu_access(&mut self, buffer: u32, refresh: bool) -> AccessOutcome {
        if self.is_resident(buffer) {
            if refresh {
                self.make_young(buffer);
            }
            return AccessOutcome { hit: true, evicted: None };
        }
        let (place, evicted) = self.place_anywhere();
        self.place(buffer, place);
        AccessOutcome { hit: false, evicted }
    }

    /// Finds a place for the CPU: a free one outside the DDIO ways, a free one in them, or that of the oldest buffer.
    fn place_anywhere(&mut self) -> (Place, Option<EvictedBuffer>) {
        if !self.others.is_full() {
            return (Place::Others, None);
        }
        if !self.ddio.is_full() {
            return (Place::Ddio, None);
        }
        let (in_ddio, elsewhere) = (self.ddio.oldest(), self.others.oldest());
        let take_ddio =
            elsewhere == NONE || self.ddio.stamp(in_ddio) < self.others.stamp(elsewhere);
        let (place, oldest) =
            if take_ddio { (Place::Ddio, in_ddio) } else { (Place::Others, elsewhere) };
        (place, Some(self.evict(oldest, Cause::Cpu)))
    }

    /// Puts a buffer into a free place, as the youngest.
    fn place(&mut self, buffer: u32, place: Place) {
        self.clock += 1;
        let list = if place == Place::Ddio { &mut self.ddio } else { &mut self.others };
        list.insert(buffer, self.clock);
        self.entries[buffer as usize] = Entry { place, ..self.entries[buffer as usize] };
    }

    /// Makes a resident buffer the youngest where it is.
    fn make_young(&mut self, buffer: u32) {
        self.clock += 1;
        let list = self.list(buffer);
        list.remove(buffer);
        let clock = self.clock;
        self.list(buffer).insert(buffer, clock);
    }

    /// Removes a resident buffer.
    fn evict(&mut self, buffer: u32, cause: Cause) -> EvictedBuffer {
        self.list(buffer).remove(buffer);
        let entry = &mut self.entries[buffer as usize];
        let evicted = EvictedBuffer { buffer, unread: entry.unread, dirty: entry.dirty };
        *entry = Entry { place: Place::Gone(cause), unread: entry.unread, dirty: false };
        self.counts.evicted_unread += u64::from(evicted.unread);
        self.counts.written_back += u64::from(evicted.dirty);
        evicted
    }

    /// The list that holds a resident buffer.
    fn list(&mut self, buffer: u32) -> &mut Recency {
        match self.entries[buffer as usize].place {
            Place::Ddio => &mut self.ddio,
            _ => &mut self.others,
        }
    }
}

/// Order in which freed buffers are posted again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reuse {
    /// The buffer that was freed first: a ring.
    #[default]
    Fifo,
    /// The buffer that was freed last, which is the likeliest to be resident.
    Lifo,
}

/// Buffers that are posted for messages to come.
#[derive(Clone, Debug)]
pub struct PostedBuffers {
    reuse: Reuse,
    free: VecDeque<u32>,
}

impl PostedBuffers {
    /// All of `buffers`, in order of number.
    pub fn new(buffers: std::ops::Range<u32>, reuse: Reuse) -> Self {
        Self { reuse, free: buffers.collect() }
    }

    /// Takes a buffer for a message; none if the queue has run out.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        self.free.pop_front()
    }

    /// Posts a buffer again that the application has read.
    #[inline]
    pub fn give_back(&mut self, buffer: u32) {
        match self.reuse {
            Reuse::Fifo => self.free.push_back(buffer),
            Reuse::Lifo => self.free.push_front(buffer),
        }
    }

    /// Number of posted buffers.
    pub fn len(&self) -> usize {
        self.free.len()
    }

    /// Whether the next message finds no buffer.
    pub fn is_empty(&self) -> bool {
        self.free.is_empty()
    }
}

/// Degree of I/O congestion by unread data U, against the DDIO ways D, the cache S and the receive queues Q.
///
/// Source: CARC (APNet 2025) figure 4.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Congestion {
    /// U is below D, or as much: what waits is in the DDIO ways.
    S1,
    /// U is above D and at most S: misses end once all buffers in the cycle are resident, if those fit.
    S2,
    /// U is above S: what waits evicts itself.
    S3,
    /// U is Q: no receive buffer is left and the sender is held.
    S4,
}

impl Congestion {
    /// The state with `unread` buffers of `queues`.
    ///
    /// Deviation: the paper has S2 from U = D on; D unread buffers are still all resident, so that S1 includes the bound. S likewise.
    pub const fn of(unread: u32, capacity: Capacity, queues: u32) -> Self {
        if unread >= queues {
            Self::S4
        } else if unread > capacity.cache {
            Self::S3
        } else if unread > capacity.ddio {
            Self::S2
        } else {
            Self::S1
        }
    }
}

#[cfg(test)]
mod tests;
