//! A host model with every line for itself: queues, credits and tokens, and one event for each change of a line.
//!
//! Model card
//! - Frames stand in the NIC buffer. The link takes the head one's lines one after the other, each when a slot is free; the
//!   first of every `tlp_payload` bytes carries the header of its transaction packet. The slot is taken when the line
//!   starts on the link, so the wire is part of `l_0`. Room in the buffer comes back line by line.
//! - A line reaches the controller `l_0` later and stands in one line with the writes that cores posted. The controller
//!   serves one line at a time for `64 B / C`, reads first, writes by arrival. A write is admitted when its service begins:
//!   then its slot is free, and the packet is delivered when all its lines and those of all packets before it are in.
//! - An antagonist's core has tokens, one for each line in flight (of 18.7, the last rests so long between two reads that it
//!   counts 0.7). A token issues a read, which comes back after its latency, and posts the write that belongs to it.
//! - A core that copies does the packet's protocol work and then reads its lines, in one of two ways ([`Copying`]). Evenly: one line
//!   every `latency / lines_in_flight`, and what a line's bytes take, which lies between its reads (note, equation 5, spreads a packet's
//!   reads over all the work on it); the next packet's turn comes when the last one is on its way. In bunches, the other extreme: after the
//!   work for all its bytes all that may be in flight at once, and one more for each that returns; the next packet's turn comes when the
//!   last one is back.
//! - Not from queues: the latency of a read. It is the plant's law, `unloaded + a rho / (1 - rho_r) + g W`, evaluated for every
//!   read with what this model measures itself: loads are lines served in the last [`WINDOW`], `W` is what the line of writes
//!   that stands at that instant needs to be served. A read returns after that or after its service, whichever is later;
//!   those of antagonists are scattered about the law.
//! - Not from queues: whether a line hits the cache under DDIO. It is the plant's law again, drawn for every line.
//! - Leaves out: the limit on posted writes.
//!
//! Times are whole picoseconds; service and link times are rounded to them (1 in 10,000).

use super::drive::{Host, Seen};
use forebay_host::memory::settings::{Actuator, Copying, LINE};
use forebay_host::memory::{MemorySettings, ReadBytes};
use forebay_units::{Span, Time};
use forebay_wire::Packet;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Over which loads are measured: an exponential filter of 300 ns has the same mean age.
const WINDOW: Span = Span::from_ns(600);

/// By how much, at most, an antagonist's read is faster or slower than the law says. Without it, reads that began together
/// return together for ever.
const SPREAD: f64 = 0.25;

/// A read that hits the cache.
const HIT: Span = Span::from_ns(20);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    LinkFree,
    /// A line of this packet reached the controller, or the cache, which has room for it.
    AtController(u64),
    InCache(u64),
    ServerFree,
    Issue(usize, usize),
    Returned(Reader),
    Works(usize, bool),
    Pauses(bool),
    Copies(usize),
    CopiesNext(usize),
}

/// The reader of a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Reader {
    Antagonist(usize, usize),
    Copy(usize),
}

/// The writer of a line.
#[derive(Clone, Copy, Debug)]
enum Writer {
    Antagonist,
    Nic(u64),
}

struct Frame {
    packet: Packet,
    size: u64,
    lines: u64,
}

struct Landing {
    packet: Packet,
    missing: u64,
}

#[derive(Default)]
struct Antagonist {
    group: usize,
    socket: u8,
    works: bool,
    issued: Vec<Time>,
    parked: Vec<usize>,
    owed: u32, // thousandths of a write
}

#[derive(Default)]
struct Core {
    waiting: VecDeque<(ReadBytes, u32)>,
    to_issue: u64,
    in_flight: u32,
    rest: u64, // of a line, in bytes / 1,000
}

pub struct LineExact {
    set: MemorySettings,
    now: Time,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    numbered: u64,
    // NIC, link, slots
    buffer: VecDeque<Frame>,
    buffered: u64,
    link_busy: bool,
    tlp_bytes: u32,
    inside: u64,
    taken: u32,
    landing: VecDeque<Landing>,
    first_landing: u64,
    // Cache
    longest: u64,
    drawn: u64,
    // Controller
    reads: VecDeque<(Reader, Time)>,
    writes: VecDeque<Writer>,
    serving: bool,
    served: VecDeque<(Time, bool)>,
    served_reads: u64,
    // Cores
    antagonists: Vec<Antagonist>,
    level: u8,
    paused: bool,
    cores: Vec<Core>,
    in_use: usize,
    unread: u64,
    finished: VecDeque<ReadBytes>,
    seen: Seen,
}

impl LineExact {
    pub fn new(settings: &MemorySettings) -> Self {
        let sockets = u32::from(settings.throttle.slowing.max(1));
        let mut antagonists = Vec::new();
        for (group, of) in settings.antagonists.iter().enumerate() {
            let tokens = of.lines_in_flight_milli.div_ceil(1000) as usize;
            for i in 0..of.cores {
                let (socket, issued) = ((i % sockets) as u8, vec![Time::ZERO; tokens]);
                let parked = (0..tokens).collect();
                antagonists.push(Antagonist {
                    group,
                    socket,
                    issued,
                    parked,
                    ..Antagonist::default()
                });
            }
        }
        let cores = (0..settings.readers.cores).map(|_| Core::default()).collect();
        let mut model = Self {
            set: settings.clone(),
            now: Time::ZERO,
            events: BinaryHeap::new(),
            numbered: 0,
            buffer: VecDeque::new(),
            buffered: 0,
            link_busy: false,
            tlp_bytes: 0,
            inside: 0,
            taken: 0,
            landing: VecDeque::new(),
            first_landing: 0,
            longest: 0,
            drawn: 0,
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            serving: false,
            served: VecDeque::new(),
            served_reads: 0,
            antagonists,
            level: 0,
            paused: false,
            cores,
            in_use: 0,
            unread: 0,
            finished: VecDeque::new(),
            seen: Seen::default(),
        };
        for (group, of) in settings.antagonists.iter().enumerate() {
            model.at(of.start, Event::Works(group, true));
        }
        model
    }

    fn at(&mut self, after: Span, event: Event) {
        self.numbered += 1;
        self.events.push(Reverse((self.now + after, self.numbered, event)));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::LinkFree => {
                self.link_busy = false;
                self.send_line();
            }
            Event::AtController(packet) => {
                self.writes.push_back(Writer::Nic(packet));
                self.serve();
            }
            Event::InCache(packet) => self.release(packet),
            Event::ServerFree => {
                self.serving = false;
                self.serve();
            }
            Event::Issue(core, token) => self.issue(core, token),
            Event::Returned(Reader::Antagonist(core, token)) => {
                self.antagonist_returned(core, token)
            }
            Event::Returned(Reader::Copy(core)) => self.copy_returned(core),
            Event::Works(group, on) => self.works(group, on),
            Event::Pauses(on) => self.pauses(on),
            Event::Copies(core) => self.copy(core),
            Event::CopiesNext(core) => self.copy_next(core),
        }
    }

    // ---- NIC, link and slots

    fn send_line(&mut self) {
        let ready = !self.link_busy
            && self.inside < u64::from(self.set.iio.slots)
            && self.taken < self.set.nic.descriptors;
        if !ready {
            return;
        }
        let Some(frame) = self.buffer.front_mut() else { return };
        let total = frame.size.div_ceil(LINE) + 2; // completion entry and descriptor
        if frame.lines == 0 {
            self.landing.push_back(Landing { packet: frame.packet, missing: total });
        }
        frame.lines += 1;
        self.buffered -= LINE.min(frame.size.saturating_sub((frame.lines - 1) * LINE));
        if frame.lines == total {
            self.taken += 1;
            self.buffer.pop_front();
        }
        let packet = self.first_landing + self.landing.len() as u64 - 1;
        self.inside += 1;
        self.link_busy = true;
        let on_wire = self.time_on_wire();
        self.at(on_wire, Event::LinkFree);
        let misses = self.misses();
        match self.set.ddio {
            None => self.at(self.set.iio.latency, Event::AtController(packet)),
            Some(ddio) if misses => self.at(ddio.hit + ddio.eviction, Event::AtController(packet)),
            Some(ddio) => self.at(ddio.hit, Event::InCache(packet)),
        }
    }

    fn time_on_wire(&mut self) -> Span {
        let pcie = &self.set.pcie;
        let header = if self.tlp_bytes == 0 { pcie.tlp_overhead } else { 0 };
        self.tlp_bytes = (self.tlp_bytes + LINE as u32) % pcie.tlp_payload;
        let rate = pcie.rate.get() * u64::from(1000 - pcie.management_permille) / 1000;
        let bits = (LINE + u64::from(header)) * 8;
        Span::from_ps((bits as f64 * 1e12 / rate as f64).round() as u64)
    }

    /// A line of this packet has left its slot.
    fn release(&mut self, packet: u64) {
        self.inside -= 1;
        self.seen.left += 1.0;
        self.landing[(packet - self.first_landing) as usize].missing -= 1;
        self.send_line();
    }

    // ---- Cache

    /// Share of lines for which the cycle of buffers leaves no room.
    fn miss_share(&self) -> f64 {
        let Some(ddio) = &self.set.ddio else { return 1.0 };
        let buffer = self.longest.next_multiple_of(2048);
        let cycle = self.in_use as u64 * u64::from(ddio.buffers) * buffer + self.unread;
        let room = ddio.cache.get() * u64::from(ddio.ways) / u64::from(ddio.cache_ways);
        (1.0 - room as f64 / cycle.max(1) as f64).max(0.0)
    }

    /// Draws for one line.
    fn misses(&mut self) -> bool {
        self.draw() < self.miss_share()
    }

    /// From 0 to 1.
    fn draw(&mut self) -> f64 {
        self.drawn += 1;
        let mut word = self.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word >> 11) as f64 / (1u64 << 53) as f64
    }

    // ---- Controller

    fn service(&self) -> Span {
        let picoseconds = LINE as f64 * 1e12 / self.set.controller.bytes_per_sec as f64;
        Span::from_ps(picoseconds.round() as u64)
    }

    fn serve(&mut self) {
        if self.serving {
            return;
        }
        let service = self.service();
        let is_read = !self.reads.is_empty();
        if let Some((reader, back)) = self.reads.pop_front() {
            let back = back.max(self.now + service);
            self.at(back.since(self.now), Event::Returned(reader));
        } else {
            match self.writes.pop_front() {
                None => return,
                Some(Writer::Antagonist) => {}
                Some(Writer::Nic(packet)) => {
                    self.release(packet);
                }
            }
        }
        self.served.push_back((self.now, is_read));
        self.served_reads += u64::from(is_read);
        self.serving = true;
        self.at(service, Event::ServerFree);
    }

    /// The law of a read's latency, for one that is issued at this instant.
    fn read_latency(&mut self, unloaded: Span) -> Span {
        while let Some((at, is_read)) = self.served.front()
            && *at + WINDOW <= self.now
        {
            self.served_reads -= u64::from(*is_read);
            self.served.pop_front();
        }
        let service = self.service().as_ps() as f64;
        let share = service / WINDOW.as_ps() as f64;
        let load = (self.served.len() as f64 * share).min(1.0);
        let left = 1.0 - (self.served_reads as f64 * share).min(0.95);
        let wait = self.writes.len() as f64 * service / left;
        let controller = &self.set.controller;
        let queueing = controller.read_queueing.as_ps() as f64 * load / left;
        let drain = wait * f64::from(controller.read_share_permille) * 1e-3;
        unloaded + Span::from_ps((queueing + drain) as u64)
    }

    // ---- Antagonists

    fn works(&mut self, group: usize, on: bool) {
        if let Some((work, rest)) = self.set.antagonists[group].rests {
            self.at(if on { work } else { rest }, Event::Works(group, !on));
        }
        for core in 0..self.antagonists.len() {
            if self.antagonists[core].group == group {
                self.antagonists[core].works = on;
            }
        }
        self.resume();
    }

    fn pauses(&mut self, on: bool) {
        let throttle = &self.set.throttle;
        let (step, steps) = (self.level.saturating_sub(throttle.slowing), throttle.pausing);
        self.paused = step == steps || (step > 0 && on);
        if step > 0 && step < steps {
            let stopped = throttle.pause_period * u64::from(step) / u64::from(steps);
            let until = if on { stopped } else { throttle.pause_period.saturating_sub(stopped) };
            self.at(until, Event::Pauses(!on));
        }
        self.resume();
    }

    /// Parked tokens of cores that may work issue again, spread over a latency.
    fn resume(&mut self) {
        for core in 0..self.antagonists.len() {
            if !self.antagonists[core].works || self.paused {
                continue;
            }
            let parked = std::mem::take(&mut self.antagonists[core].parked);
            let unloaded = self.unloaded(core);
            let all = self.antagonists[core].issued.len() as u64;
            for token in parked {
                self.at(unloaded * token as u64 / all, Event::Issue(core, token));
            }
        }
    }

    fn unloaded(&self, core: usize) -> Span {
        let controller = &self.set.controller;
        match self.set.antagonists[self.antagonists[core].group].local {
            true => controller.local_read,
            false => controller.remote_read,
        }
    }

    fn issue(&mut self, core: usize, token: usize) {
        if !self.antagonists[core].works || self.paused {
            self.antagonists[core].parked.push(token);
            return;
        }
        let unloaded = self.unloaded(core);
        let latency = self.read_latency(unloaded);
        let throttle = &self.set.throttle;
        let level = u64::from(self.level.min(throttle.slowing));
        let levels = u64::from(throttle.slowing);
        let latency = match throttle.actuator {
            _ if level == 0 => latency,
            Actuator::Sockets if self.antagonists[core].socket < self.level => {
                latency + throttle.delay
            }
            Actuator::Sockets => latency,
            Actuator::Delay => latency + throttle.delay * (9 * level).div_ceil(levels) / 9,
            Actuator::Cap => latency.max(unloaded * (levels + 1) / (levels + 1 - level)),
        };
        let spread = SPREAD * (2.0 * self.draw() - 1.0);
        let latency = Span::from_ps((latency.as_ps() as f64 * (1.0 + spread)) as u64);
        self.antagonists[core].issued[token] = self.now;
        self.reads.push_back((Reader::Antagonist(core, token), self.now + latency));
        self.serve();
    }

    fn antagonist_returned(&mut self, core: usize, token: usize) {
        let antagonist = &mut self.antagonists[core];
        let group = &self.set.antagonists[antagonist.group];
        self.seen.antagonist += 1.0;
        antagonist.owed += group.writes_permille;
        while antagonist.owed >= 1000 {
            antagonist.owed -= 1000;
            self.seen.antagonist += 1.0;
            self.writes.push_back(Writer::Antagonist);
        }
        let whole = u64::from(group.lines_in_flight_milli) - token as u64 * 1000;
        let took = self.now.since(antagonist.issued[token]);
        let rest = if whole >= 1000 { Span::ZERO } else { took * (1000 - whole) / whole };
        self.at(rest, Event::Issue(core, token));
        self.serve();
    }

    // ---- Cores that run the stack and copy

    fn begin(&mut self, core: usize) {
        let Some((read, packets)) = self.cores[core].waiting.front() else { return };
        let set = &self.set.readers;
        let protocol = set.per_packet * u64::from(*packets);
        let bytes = set.per_kilobyte * read.bytes / 1000;
        let first = match self.set.readers.copying {
            Copying::Evenly => protocol,
            Copying::InBunches => protocol + bytes,
        };
        self.at(first, Event::Copies(core));
    }

    /// Protocol work is done.
    fn copy(&mut self, core: usize) {
        let of = &mut self.cores[core];
        let bytes = of.waiting[0].0.bytes * u64::from(self.set.readers.reads_permille) + of.rest;
        (of.to_issue, of.rest) = (bytes / (LINE * 1000), bytes % (LINE * 1000));
        match self.set.readers.copying {
            Copying::Evenly => self.copy_next(core),
            Copying::InBunches => {
                for _ in 0..of.to_issue.min(u64::from(self.set.readers.lines_in_flight)) {
                    self.copy_line(core);
                }
            }
        }
    }

    /// The next line of an even copy, or none.
    fn copy_next(&mut self, core: usize) {
        if self.cores[core].to_issue == 0 {
            return self.copied(core);
        }
        let latency = self.copy_line(core);
        let set = &self.set.readers;
        let bytes = set.per_kilobyte * LINE / u64::from(set.reads_permille);
        self.at(latency / u64::from(set.lines_in_flight) + bytes, Event::CopiesNext(core));
    }

    /// Reads a line; returns how long it takes.
    fn copy_line(&mut self, core: usize) -> Span {
        self.cores[core].to_issue -= 1;
        self.cores[core].in_flight += 1;
        if !self.misses() {
            self.at(HIT, Event::Returned(Reader::Copy(core)));
            return HIT;
        }
        let latency = self.read_latency(self.set.controller.local_read);
        self.reads.push_back((Reader::Copy(core), self.now + latency));
        self.serve();
        latency
    }

    fn copy_returned(&mut self, core: usize) {
        self.cores[core].in_flight -= 1;
        if self.set.readers.copying == Copying::InBunches {
            match (self.cores[core].to_issue, self.cores[core].in_flight) {
                (0, 0) => self.copied(core),
                (0, _) => {}
                _ => drop(self.copy_line(core)),
            }
        }
    }

    fn copied(&mut self, core: usize) {
        let (read, _) = self.cores[core].waiting.pop_front().expect("what was copied");
        self.unread -= read.bytes;
        self.finished.push_back(read);
        self.begin(core);
    }
}

impl Host for LineExact {
    fn due(&mut self) -> Time {
        self.events.peek().map_or(Time::MAX, |Reverse((at, ..))| *at)
    }

    fn advance(&mut self, now: Time) {
        while let Some(Reverse((at, _, event))) = self.events.peek().copied()
            && at <= now
        {
            self.events.pop();
            self.seen.occupancy += (self.inside * at.since(self.now).as_ps()) as f64 * 1e-3;
            self.now = at;
            self.handle(event);
        }
        self.seen.occupancy += (self.inside * now.since(self.now).as_ps()) as f64 * 1e-3;
        self.now = now;
    }

    fn offer(&mut self, packet: &Packet) -> bool {
        let size = u64::from(packet.size) + 14;
        self.seen.arrived += 1;
        self.longest = self.longest.max(u64::from(packet.size));
        if self.buffered + size > self.set.nic.buffer.get() {
            self.seen.dropped += 1;
            return false;
        }
        self.buffered += size;
        self.buffer.push_back(Frame { packet: *packet, size, lines: 0 });
        self.send_line();
        true
    }

    fn take_packet(&mut self) -> Option<Packet> {
        if self.landing.front()?.missing > 0 {
            return None;
        }
        self.first_landing += 1;
        self.landing.pop_front().map(|landing| landing.packet)
    }

    fn deliver(&mut self, core: u32, read: ReadBytes, packets: u32) {
        self.taken -= packets;
        let core = core as usize % self.cores.len();
        self.in_use = self.in_use.max(core + 1);
        self.unread += read.bytes;
        self.cores[core].waiting.push_back((read, packets));
        if self.cores[core].waiting.len() == 1 {
            self.begin(core);
        }
        self.send_line();
    }

    fn take_read(&mut self) -> Option<ReadBytes> {
        self.finished.pop_front()
    }

    fn set_level(&mut self, level: u8) {
        self.level = level;
        self.events.retain(|Reverse((_, _, event))| !matches!(event, Event::Pauses(_)));
        self.pauses(true);
    }

    fn seen(&self) -> Seen {
        self.seen
    }
}
