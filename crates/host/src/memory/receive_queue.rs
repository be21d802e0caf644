//! The receive queue of a host, and which of its buffers are in the cache: `cache_model = "buffers"`.
//!
//! Models: flows take buffers from one queue, or each from its own, as their frames come to the NIC; a core that copies reads the buffers of its work as it begins
//! it, and posts them again when it is done. Frames without data for an application, and data that came twice, give theirs
//! back unread. Lines of a frame evict in the share in which its buffers do, spread over the frames on their way into the cache.
//! Where the queue runs out the stack posts another buffer (TCP), or data waits in the NIC or is refused ([`Rnr`]); where all
//! of it holds data behind gaps, another is posted for what waits.
//! Leaves out: buffers filled in part, which take a whole one's place; reads of headers. Lines that a core's read
//! writes back take what memory serves, and wait in no line.
//!
//! Source: CARC (APNet 2025) section 3.1; [`super::buffers`].
//! Invariant: buffers taken less those given back are those of frames on their way, of data out of order, and of work.

mod posted;

use super::buffers::{AccessOutcome, BufferCache, Capacity, Congestion, Counts};
use super::read_latency;
use super::settings::{DdioSettings, LINE, QueueSettings, Rnr};
use forebay_wire::{Kind, Packet};
use posted::Queues;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Running totals of a receive queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueTotals {
    /// Accesses to the cache, in buffers.
    pub counts: Counts,
    /// Time in each of [`Congestion`], S1 first, in ns.
    pub states: [f64; 4],
    /// Buffers that the stack posted beyond the depth of the queue.
    pub extra: u64,
    /// Frames that found no buffer and waited in the NIC for one.
    pub waited: u64,
    /// Frames that found no buffer and were refused.
    pub refused: u64,
    /// Bytes of buffers with unread data, now: the paper's U.
    pub unread: u64,
    /// Bytes of buffers that the ways of the NIC, the cache and the queue hold: its D, S and Q.
    pub bounds: [u64; 3],
}

/// Answer of a NIC to data that it refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// An RNR NAK.
    Nak,
    /// None: the flow has had one, and this is what it sent behind that data.
    Silent,
}

/// Traffic of memory for each line that a core reads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    /// Lines that come from there.
    pub missing: f64,
    /// Lines that a copy goes to and that come from there first.
    pub fetched: f64,
    /// Lines of other buffers that go there to make place.
    pub written: f64,
}

impl Traffic {
    /// How long a line takes, one at a time, where memory takes `memory` ns and the cache `hit`.
    #[inline]
    pub(super) fn latency(&self, memory: f64, hit: f64) -> f64 {
        read_latency(self.missing, memory, hit) + self.fetched * memory
    }
}

/// Buffers beside those that are posted, used in turn: those to which fragments of a flow's messages are copied.
#[derive(Clone, Debug, Default)]
struct Copies {
    buffers: Vec<u32>,
    next: usize,
}

impl Copies {
    /// The next one in turn.
    fn next(&mut self) -> u32 {
        if self.next == self.buffers.len() {
            self.next = 0;
        }
        self.next += 1;
        self.buffers[self.next - 1]
    }
}

/// What is between a NIC's cable and its stack, in order.
#[derive(Clone, Debug, Default)]
struct NicPath {
    frames: VecDeque<BufferNeed>,
    buffers: VecDeque<u32>,        // of those frames
    waiting: VecDeque<(u32, u32)>, // for so many buffers each, and of which queue: frames behind those
}

/// Number of a frame's buffers, and of those that evict.
#[derive(Clone, Copy, Debug)]
struct BufferNeed {
    buffers: u32,
    evicting: u32,
}

/// The queue, and the cache behind it.
#[derive(Clone, Debug)]
pub(super) struct ReceiveQueue {
    size: u64, // of a buffer, bytes
    capacity: Capacity,
    cache: BufferCache,
    queues: Queues,
    ways: Vec<NicPath>,                          // by NIC
    on_the_way: BufferNeed,                      // in all of them
    landed: BTreeMap<u32, VecDeque<(u64, u32)>>, // by flow that ever was: where the data begins, and its buffer
    in_memory: usize,                            // of all flows
    claimed: Vec<u32>,
    copies: BTreeMap<u32, Copies>, // by flow
    copies_of_flow: usize,
    others: Copies, // what other programs bring, more than the cache holds
    brought: u64,   // times that they brought as much as a buffer is
    unread: u32,
    rnr: Option<Rnr>,
    refused: BTreeMap<u32, u64>, // by flow: where the data begins that was refused first
    totals: QueueTotals,         // but for counts and states
    reads_of: Vec<[u64; 2]>,     // by traffic: buffers read, and those of them that missed
}

impl ReceiveQueue {
    /// A full queue of a machine with so many NICs.
    pub(super) fn new(ddio: &DdioSettings, queue: &QueueSettings, nics: usize) -> Self {
        let capacity = queue.capacity(ddio);
        Self {
            size: queue.buffer.get(),
            capacity,
            cache: BufferCache::new(
                capacity,
                if queue.shared { queue.depth } else { 0 },
                queue.refresh,
            ),
            queues: Queues::new(queue.depth, queue.reuse, queue.shared),
            ways: vec![NicPath::default(); nics],
            on_the_way: BufferNeed { buffers: 0, evicting: 0 },
            landed: BTreeMap::new(),
            in_memory: 0,
            claimed: Vec::new(),
            copies: BTreeMap::new(),
            copies_of_flow: queue.assemble.map_or(0, |of| of.get().div_ceil(queue.buffer.get()))
                as usize,
            others: Copies::default(),
            brought: 0,
            unread: 0,
            rnr: queue.rnr,
            refused: BTreeMap::new(),
            totals: QueueTotals::default(),
            reads_of: Vec::new(),
        }
    }

    /// Buffers that a frame takes.
    fn needs(&self, packet: &Packet) -> u32 {
        if self.rnr.is_some() && packet.kind != Kind::Data {
            return 0;
        }
        u64::from(packet.size).div_ceil(self.size).max(1) as u32
    }

    /// Whether a NIC refuses a packet that comes, and what it answers: data without buffers whose sender `understands` an RNR NAK.
    pub(super) fn refuse(
        &mut self,
        packet: &Packet,
        understands: impl FnOnce() -> bool,
    ) -> Option<Refusal> {
        if self.rnr != Some(Rnr::Nak) || packet.kind != Kind::Data {
            return None;
        }
        let flow = packet.flow.0;
        let queue = self.queues.of(flow, &mut self.cache);
        let refusal = match self.refused.get(&flow) {
            Some(first) if packet.seq > *first => Refusal::Silent,
            _ if self.queues.posted(queue) < self.needs(packet) as usize && understands() => {
                self.refused.insert(flow, packet.seq);
                Refusal::Nak
            }
            _ => {
                self.refused.remove(&flow);
                return None;
            }
        };
        self.totals.refused += 1;
        Some(refusal)
    }

    /// A frame comes to NIC `nic`, which writes it into buffers, or holds it until there are some.
    pub(super) fn write(&mut self, nic: usize, packet: &Packet) {
        let buffers = self.needs(packet);
        let queue = if buffers > 0 { self.queues.of(packet.flow.0, &mut self.cache) } else { 0 };
        let few = buffers > 0 && self.queues.posted(queue) < buffers as usize;
        if self.rnr == Some(Rnr::Wait) && (few || !self.ways[nic].waiting.is_empty()) {
            self.ways[nic].waiting.push_back((buffers, queue));
            self.totals.waited += u64::from(buffers > 0);
            self.unblock();
        } else {
            self.fill(nic, buffers, queue);
        }
    }

    /// Frames at the end of the line before NIC `nic` that have no buffers yet.
    pub(super) fn without_buffers(&self, nic: usize) -> usize {
        self.ways[nic].waiting.len()
    }

    /// The next frame of NIC `nic` goes to so many buffers of a queue.
    fn fill(&mut self, nic: usize, buffers: u32, queue: u32) {
        let mut evicting = 0;
        for _ in 0..buffers {
            let (buffer, extra) = self.queues.take(queue, &mut self.cache);
            self.totals.extra += u64::from(extra);
            let evicted = self.cache.nic_write(buffer).evicted;
            evicting += u32::from(evicted.is_some_and(|evicted| evicted.dirty));
            self.ways[nic].buffers.push_back(buffer);
        }
        self.ways[nic].frames.push_back(BufferNeed { buffers, evicting });
        self.on_the_way.buffers += buffers;
        self.on_the_way.evicting += evicting;
        self.unread += buffers;
    }

    /// Share of the lines on their way that evict.
    #[inline]
    pub(super) fn evicting(&self) -> f64 {
        let BufferNeed { buffers, evicting } = self.on_the_way;
        if buffers == 0 { 0.0 } else { f64::from(evicting) / f64::from(buffers) }
    }

    /// The first frame of NIC `nic` is in memory.
    pub(super) fn land(&mut self, nic: usize, packet: &Packet) {
        let way = &mut self.ways[nic];
        let Some(frame) = way.frames.pop_front() else { return };
        self.on_the_way.buffers -= frame.buffers;
        self.on_the_way.evicting -= frame.evicting;
        for buffer in way.buffers.drain(..frame.buffers as usize) {
            if packet.kind == Kind::Data {
                self.landed.entry(packet.flow.0).or_default().push_back((packet.seq, buffer));
                self.in_memory += 1;
            } else {
                self.queues.give_back(buffer);
                self.unread -= 1;
            }
        }
        self.fill_waiting();
    }

    /// Takes buffers of `flow` whose data begins in `part` for the next work.
    pub(super) fn claim(&mut self, flow: u32, part: Range<u64>) {
        let Some(landed) = self.landed.get_mut(&flow) else { return };
        let before = self.claimed.len();
        while let Some(&(begin, buffer)) = landed.front()
            && part.contains(&begin)
        {
            landed.pop_front();
            self.claimed.push(buffer);
        }
        let mut at = 1; // the first stays
        while let Some(&(begin, buffer)) = landed.get(at) {
            if part.contains(&begin) {
                landed.remove(at);
                self.claimed.push(buffer);
            } else {
                at += 1;
            }
        }
        self.in_memory -= self.claimed.len() - before;
    }

    /// Gives back buffers of `flow` whose data begins in `part`, which will not be read. Returns whether frames that waited have buffers now.
    pub(super) fn release(&mut self, flow: u32, part: Range<u64>) -> bool {
        let waiting = self.waiting();
        self.claim(flow, part);
        let mut claimed = std::mem::take(&mut self.claimed);
        self.give_back(&claimed);
        claimed.clear();
        self.claimed = claimed;
        self.unblock();
        self.waiting() < waiting
    }

    /// Frames without buffers before all NICs.
    fn waiting(&self) -> usize {
        self.ways.iter().map(|way| way.waiting.len()).sum()
    }

    /// Where every buffer of a queue holds data behind a gap, none would be given back before the gap is filled: the stack posts another for
    /// the frame that waits first.
    #[inline]
    fn unblock(&mut self) {
        for nic in 0..self.ways.len() {
            if let Some(&(buffers, queue)) = self.ways[nic].waiting.front()
                && self.is_blocked(queue)
            {
                self.ways[nic].waiting.pop_front();
                self.fill(nic, buffers, queue);
            }
        }
    }

    /// Whether all buffers that are taken of a queue hold data behind gaps.
    fn is_blocked(&self, queue: u32) -> bool {
        let (owner, taken) = self.queues.taken(queue);
        let behind_gaps = match owner {
            Some(flow) => self.landed.get(&flow).map_or(0, VecDeque::len),
            None => self.in_memory,
        };
        behind_gaps == taken as usize
    }

    /// Moves what was claimed to the end of `to`. Returns how many these are.
    pub(super) fn take_claimed(&mut self, to: &mut VecDeque<u32>) -> u32 {
        let claimed = self.claimed.len() as u32;
        to.extend(self.claimed.drain(..));
        claimed
    }

    /// A core reads these buffers of `traffic`, and copies them if they are fragments of messages of flow `copied`.
    pub(super) fn read(&mut self, buffers: &[u32], traffic: u16, copied: Option<u32>) -> Traffic {
        let dirty =
            |touch: &AccessOutcome| u32::from(touch.evicted.is_some_and(|evicted| evicted.dirty));
        let (mut missing, mut fetched, mut written) = (0, 0, 0);
        for &buffer in buffers {
            let touch = self.cache.cpu_read(buffer);
            missing += u32::from(!touch.hit);
            written += dirty(&touch);
            if let Some(to) = copied.and_then(|flow| self.copy_of(flow)) {
                let touch = self.cache.cpu_write(to);
                fetched += u32::from(!touch.hit);
                written += dirty(&touch);
            }
        }
        let traffic = usize::from(traffic);
        if self.reads_of.len() <= traffic {
            self.reads_of.resize(traffic + 1, [0; 2]);
        }
        let [read, missed] = &mut self.reads_of[traffic];
        *read += buffers.len() as u64;
        *missed += u64::from(missing);
        let share = |of: u32| f64::from(of) / buffers.len().max(1) as f64;
        Traffic { missing: share(missing), fetched: share(fetched), written: share(written) }
    }

    /// Buffers read by traffic, and of these those that missed.
    pub(super) fn reads_of(&self) -> &[[u64; 2]] {
        &self.reads_of
    }

    /// The buffer to which the next fragment of a flow's messages is copied, where they are.
    fn copy_of(&mut self, flow: u32) -> Option<u32> {
        let most = self.copies_of_flow;
        if most == 0 {
            return None;
        }
        let copies = self.copies.entry(flow).or_default();
        if copies.buffers.len() < most {
            copies.buffers.push(self.cache.add());
        }
        Some(copies.next())
    }

    /// Other programs have brought so many lines into the cache since the beginning, none of them twice. Returns how many lines these pushed out
    /// that go to memory, since the last call.
    pub(super) fn bring(&mut self, lines: f64) -> f64 {
        let of_buffer = self.size.div_ceil(LINE);
        let brought = lines as u64 / of_buffer;
        let more = (brought - self.brought).min(self.capacity.cache.into());
        self.brought = brought;
        let mut dirty = 0;
        for _ in 0..more {
            let others = &mut self.others;
            if others.buffers.len() <= self.capacity.cache as usize {
                others.buffers.push(self.cache.add());
            }
            let touch = self.cache.other_read(others.next());
            dirty += u64::from(touch.evicted.is_some_and(|evicted| evicted.dirty));
        }
        (dirty * of_buffer) as f64
    }

    /// Posts buffers again.
    pub(super) fn give_back(&mut self, buffers: &[u32]) {
        buffers.iter().for_each(|&buffer| self.queues.give_back(buffer));
        self.unread -= buffers.len() as u32;
        self.fill_waiting();
    }

    /// Frames that wait for buffers take those that were posted.
    fn fill_waiting(&mut self) {
        for nic in 0..self.ways.len() {
            while let Some(&(buffers, queue)) = self.ways[nic].waiting.front()
                && (buffers == 0 || self.queues.posted(queue) >= buffers as usize)
            {
                self.ways[nic].waiting.pop_front();
                self.fill(nic, buffers, queue);
            }
        }
    }

    /// How far unread buffers fill ways, cache and queue.
    #[inline]
    pub(super) fn state(&self) -> Congestion {
        Congestion::of(self.unread, self.capacity, self.queues.depth())
    }

    /// Totals so far, with this time in each state.
    pub(super) fn totals(&self, states: [f64; 4]) -> QueueTotals {
        let bytes = |buffers: u32| u64::from(buffers) * self.size.next_multiple_of(LINE);
        QueueTotals {
            counts: *self.cache.counts(),
            states,
            unread: bytes(self.unread),
            bounds: [self.capacity.ddio, self.capacity.cache, self.queues.depth()].map(bytes),
            ..self.totals
        }
    }
}
