//! The part of the last-level cache that the NIC writes into (DDIO).
//!
//! Models: the NIC cycles through more buffers than its share of the cache holds, so that a line it writes finds the cache
//! full of older lines with probability `miss`, evicts one (a write to memory, which has to be admitted first) and will
//! itself be evicted before it is read. Buffers in the cycle: those of the descriptors of each core in use, and
//! those that hold unread bytes.
//! The walks of an IOMMU are here as well, since they too follow from the buffers in the cycle: pages of more buffers than it caches translations for, each of
//! which it then walks for once in a cycle. All lines of that page's first buffer wait for it; what stands in the mean is spread over all lines.
//! Leaves out: reads of page tables from memory, translations that a driver invalidates, ways, sets and replacement order, and the cache's other users; so `miss` is the share that does not fit. With a
//! [`ReceiveQueue`] both shares are those of its buffers instead.
//!
//! Source: hostCC (SIGCOMM 2023), section 2.1 and figure 3. Buffers one by one: CARC (APNet 2025), section 3.1.

use super::buffers::Congestion;
use super::iio::{HoldTimes, WriteTiming};
use super::receive_queue::{QueueTotals, ReceiveQueue};
use super::settings::{CACHE_LATENCY, CacheModel, DdioSettings, IommuSettings, RING};
use forebay_units::Span;
use forebay_wire::Packet;

/// Of how many lines at a packet's end one that evicts is its slowest.
///
/// Assumption: 20, which take as long on PCIe as an eviction without waiting.
const LINES_BEHIND: f64 = 20.0;

/// Buffers are whole multiples of this, in bytes.
const BUFFER_GRAIN: u64 = 2048;

/// The cache, or its absence.
#[derive(Clone, Debug)]
pub(super) struct Llc {
    ddio: Option<DdioSettings>,
    memory: f64,   // slot latency without DDIO, walks included, ns
    frame: u64,    // the longest frame so far
    evicting: f64, // share of lines written by the NIC that evict another
    missing: f64, // share of lines read by cores that come from memory; with a queue, of the last work that began
    queue: Option<Box<ReceiveQueue>>,
    states: [f64; 4], // time in each of the queue's, ns
    hit: f64,         // under DDIO, walks included, ns
    read_hit: f64,    // of a core's line that is in the cache, ns
    eviction: f64,    // likewise
    iommu: IommuSettings,
    walking: f64, // what walks add to a line's time in its slot, of `memory` and `hit`, ns
    without_walks: [f64; 2], // these without it
}

/// Walks that come to be needed lengthen slots by so much for each ns, so that no line is overtaken by time.
const ONSET: f64 = 0.5;

impl Llc {
    /// The cache of a machine with this number of NICs.
    pub(super) fn new(
        ddio: Option<DdioSettings>,
        iommu: IommuSettings,
        memory: f64,
        nics: usize,
    ) -> Self {
        let queue = ddio.as_ref().and_then(|ddio| {
            let queue = ddio.queue.as_ref().filter(|_| ddio.model == CacheModel::Buffers)?;
            Some(Box::new(ReceiveQueue::new(ddio, queue, nics)))
        });
        let share = if queue.is_some() { 0.0 } else { 1.0 };
        let [hit, eviction] = ddio.map_or([0.0; 2], |ddio| [ddio.hit, ddio.eviction].map(in_ns));
        Self {
            ddio,
            memory,
            frame: 0,
            evicting: share,
            missing: share,
            queue,
            states: [0.0; 4],
            hit,
            read_hit: in_ns(ddio.map_or(CACHE_LATENCY, |ddio| ddio.cache_latency)),
            eviction,
            iommu,
            walking: 0.0,
            without_walks: [memory, hit],
        }
    }

    /// The receive queue, where its buffers are followed one by one.
    #[inline]
    pub(super) fn queue(&mut self) -> Option<&mut ReceiveQueue> {
        self.queue.as_deref_mut()
    }

    /// Whether they are.
    #[inline]
    pub(super) fn by_buffer(&self) -> bool {
        self.queue.is_some()
    }

    /// A frame came to NIC `nic`.
    #[inline]
    pub(super) fn see(&mut self, nic: usize, packet: &Packet) {
        self.frame = self.frame.max(u64::from(packet.size));
        if let Some(queue) = self.queue() {
            queue.write(nic, packet);
            let evicting = queue.evicting();
            self.evicting = evicting;
        }
    }

    /// Frames at the end of the line before NIC `nic` that have no buffers yet.
    #[inline]
    pub(super) fn without_buffers(&self, nic: usize) -> usize {
        self.queue.as_ref().map_or(0, |queue| queue.without_buffers(nic))
    }

    /// A packet of NIC `nic` is in memory.
    #[inline]
    pub(super) fn land(&mut self, nic: usize, packet: &Packet) {
        if let Some(queue) = self.queue() {
            queue.land(nic, packet);
        }
    }

    /// Latency of a line that a core reads and that hits the cache, ns.
    #[inline]
    pub(super) fn read_hit(&self) -> f64 {
        self.read_hit
    }

    /// A core begins to read buffers of which it misses this share.
    pub(super) fn reads_miss(&mut self, share: f64) {
        self.missing = share;
    }

    /// How far unread buffers fill the cache and the queue.
    pub(super) fn state(&self) -> Option<Congestion> {
        self.queue.as_ref().map(|queue| queue.state())
    }

    /// `ns` pass.
    #[inline]
    pub(super) fn pass(&mut self, ns: f64) {
        if let Some(queue) = &self.queue {
            self.states[queue.state() as usize] += ns;
        }
    }

    /// Other programs have brought so many lines into the cache since the beginning. Returns how many more than at the last call left it for memory.
    #[inline]
    pub(super) fn bring(&mut self, lines: f64) -> f64 {
        if lines == 0.0 { 0.0 } else { self.queue().map_or(0.0, |queue| queue.bring(lines)) }
    }

    /// Totals of the receive queue.
    pub(super) fn totals(&self) -> Option<QueueTotals> {
        self.queue.as_ref().map(|queue| queue.totals(self.states))
    }

    /// Buffers that cores read by traffic, and those of them that missed.
    pub(super) fn reads_of(&self) -> &[[u64; 2]] {
        self.queue.as_ref().map_or(&[], |queue| queue.reads_of())
    }

    /// A step of `ns` begins, in which the buffers in use belong to `queues` cores.
    #[inline]
    pub(super) fn walk(&mut self, ns: f64, queues: u32) {
        if self.iommu.walk > Span::ZERO {
            self.walking = self.walks(queues).min(self.walking + ONSET * ns);
            [self.memory, self.hit] = self.without_walks.map(|latency| latency + self.walking);
        }
    }

    /// The buffers in use belong to `queues` cores, and `unread` bytes wait for applications.
    #[inline]
    pub(super) fn update(&mut self, queues: u32, unread: u64) {
        if let Some(queue) = &self.queue {
            self.evicting = queue.evicting();
        } else if let Some(ddio) = &self.ddio {
            let buffer = self.frame.next_multiple_of(BUFFER_GRAIN);
            let footprint = u64::from(queues) * u64::from(ddio.buffers) * buffer + unread;
            let miss = if footprint == 0 {
                0.0
            } else {
                (1.0 - ddio.share() as f64 / footprint as f64).max(0.0)
            };
            (self.evicting, self.missing) = (miss, miss);
        }
    }

    /// What walks add to a line's time in its slot, ns, with the buffers of so many cores.
    fn walks(&self, queues: u32) -> f64 {
        let buffer = self.frame.next_multiple_of(BUFFER_GRAIN).max(1) as f64;
        let page = self.iommu.page.get() as f64;
        let pages = f64::from(queues) * f64::from(RING) * buffer / page;
        let missing = (1.0 - f64::from(self.iommu.entries) / pages).max(0.0);
        missing * (buffer / page).min(1.0) * in_ns(self.iommu.walk)
    }

    /// Share of the lines that cores read of what the NIC wrote that come from memory.
    #[inline]
    pub(super) fn missing(&self) -> f64 {
        self.missing
    }

    /// How long a slot is held, in ns, when admission takes `wait` ns.
    #[inline]
    pub(super) fn slot_latency(&self, wait: f64) -> f64 {
        match &self.ddio {
            None => self.memory + wait,
            Some(_) => self.hit + self.evicting * (self.eviction + wait),
        }
    }

    /// How long either kind of line takes to where it goes.
    #[inline]
    pub(super) fn holds(&self) -> HoldTimes {
        match &self.ddio {
            None => HoldTimes { hit: self.memory, evicting: self.memory, miss: 1.0 },
            Some(_) => {
                let evicting = self.hit + self.eviction;
                HoldTimes { hit: self.hit, evicting, miss: self.evicting }
            }
        }
    }

    /// How a packet's last line goes to memory, or the slowest of its last, where all of the line of writes takes `wait` ns.
    #[inline]
    pub(super) fn landing(&self, wait: f64) -> WriteTiming {
        match &self.ddio {
            None => WriteTiming { reach: self.memory, share: 1.0, wait },
            Some(ddio) => {
                let (hit, eviction) = (ddio.hit.as_ps() as f64, ddio.eviction.as_ps() as f64);
                let share = (self.evicting * LINES_BEHIND).min(1.0);
                WriteTiming { reach: (hit + share * eviction) * 1e-3 + self.walking, share, wait }
            }
        }
    }
}

fn in_ns(span: Span) -> f64 {
    span.as_ps() as f64 * 1e-3
}
