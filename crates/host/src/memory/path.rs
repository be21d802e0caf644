//! The stages together: who moves first in a step, and when something happens next.
//!
//! A path serves one NIC, or several of one machine. Then one of them is at hand: calls that are about a NIC are about that one.

use super::antagonists::Antagonists;
use super::chance::Chance;
use super::controller::{Controller, Demand};
use super::iio::PacketInMemory;
use super::limit::Limit;
use super::llc::Llc;
use super::nic::{Nic, Shared, add_others, step_others};
use super::nics::Nics;
use super::readers::{CopyRate, Handling, ReadBytes, Readers};
use super::receive_queue::{QueueTotals, Refusal};
use super::{MemorySettings, STEP, float, lines, whole};
use forebay_units::{Span, Time};
use forebay_wire::Packet;
use std::ops::Range;

/// The longest where lines go to the cache, and are in slots for half the time.
const STEP_TO_CACHE: Span = Span::from_ns(110);

/// Share by which the state may still move in a [`STEP`] when nothing is carried and the path goes to sleep.
const SETTLED: f64 = 1e-7;

/// Running totals, to be read as differences: of one NIC, but for antagonists, levels and the wait. Lines are of 64 bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Frames that came from the cable.
    pub arrived: u64,
    /// Frames that the NIC buffer had no room for.
    pub dropped: u64,
    /// Lines that entered IIO slots.
    pub entered: f64,
    /// Lines that left them.
    pub left: f64,
    /// Lines in slots, summed over nanoseconds.
    pub occupancy: f64,
    /// Lines that the NIC wrote to memory.
    pub dma: f64,
    /// Lines that copying read from memory.
    pub copied: f64,
    /// Lines that the NIC read to send.
    pub sent: f64,
    /// Lines that were written, copied and sent for the machine's other NICs, if it has any.
    pub others: Option<f64>,
    /// Lines that each antagonist read, as the reads left.
    pub antagonist_read: Vec<f64>,
    /// Lines that each antagonist wrote, as the writes were posted.
    pub antagonist_written: Vec<f64>,
    /// Of both, lines that memory has not served yet.
    pub antagonist_waiting: Vec<f64>,
    /// Time that reader cores worked, all together, in ns.
    pub reading: f64,
    /// Time with frames in the NIC buffer, in ns.
    pub backlog: f64,
    /// Time in which slots held the NIC back, in ns.
    pub full: f64,
    /// Write-admission wait, summed over nanoseconds, in ns x ns.
    pub wait: f64,
    /// Time at each throttle level, in ns.
    pub levels: Vec<f64>,
    /// Time for which each of [`Limit::ALL`] set the pace, in ns.
    pub limits: [f64; Limit::ALL.len()],
    /// Most bytes that the NIC buffer ever held.
    pub most_buffered: u64,
    /// The receive queue and its buffers in the cache, where they are followed.
    pub queue: Option<QueueTotals>,
    /// Buffers that cores read by [`Handling::traffic`], and of these those that were not in the cache; empty where buffers are not followed.
    pub reads_of: Vec<[u64; 2]>,
}

impl Totals {
    /// Lines that memory served for an antagonist.
    pub fn served(&self, antagonist: usize) -> f64 {
        let of = |lines: &[f64]| lines.get(antagonist).copied().unwrap_or(0.0);
        of(&self.antagonist_read) + of(&self.antagonist_written) - of(&self.antagonist_waiting)
    }
}

/// How the path stands at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathState {
    /// Bytes of frames in the NIC buffer.
    pub buffered: u64,
    /// Lines in IIO slots.
    pub inside: f64,
    /// Write-admission wait `W`, in ns.
    pub wait: f64,
    /// Posted writes that wait for admission, in lines.
    pub posted: f64,
    /// How long a slot is held, in ns.
    pub slot_latency: f64,
    /// Bytes that wait for applications.
    pub unread: u64,
    /// Throttle level in force.
    pub level: u8,
}

/// The path to memory of a host, or of several NICs in one machine.
#[derive(Clone, Debug)]
pub struct MemoryPath {
    at: Time,
    due: Time,     // but for deliveries and finished reads
    planned: bool, // `due` and the prices of cores are those of now
    asleep: bool,
    step: Span, // the longest
    nics: Nics<Nic>,
    llc: Llc,
    controller: Controller,
    antagonists: Antagonists,
    readers: Readers,
    local_read: f64, // ns
    wait: f64,
    levels: Vec<f64>,
}

impl MemoryPath {
    /// An idle host at time zero.
    pub fn new(settings: &MemorySettings) -> Self {
        Self::of_nics(&[settings])
    }

    /// An idle machine with as many NICs as there are settings, the first of them at hand. What they share is as the first has it:
    /// see [`MemorySettings::differs`].
    ///
    /// # Panics
    /// If there are none.
    pub fn of_nics(nics: &[&MemorySettings]) -> Self {
        let settings = nics[0];
        let ns = |span: Span| span.as_ps() as f64 * 1e-3;
        let mut antagonists =
            Antagonists::new(&settings.antagonists, settings.throttle, &settings.controller);
        let controller = Controller::new(&settings.controller);
        antagonists.apply(Time::ZERO, &controller);
        let llc = Llc::new(settings.ddio, settings.iommu, ns(settings.iio.latency), nics.len());
        let queue = settings.ddio.and_then(|ddio| ddio.queue);
        let poll = queue.filter(|_| llc.by_buffer()).map(|queue| queue.poll);
        let readers = Readers::new(&settings.readers, nics.len(), poll);
        let mut path = Self {
            at: Time::ZERO,
            due: Time::MAX,
            planned: false,
            asleep: false,
            step: if settings.ddio.is_some() { STEP_TO_CACHE } else { STEP },
            nics: Nics::new(Nic::new(settings), nics[1..].iter().map(|of| Nic::new(of)).collect()),
            llc,
            controller,
            antagonists,
            readers,
            local_read: ns(settings.controller.local_read),
            wait: 0.0,
            levels: vec![0.0; usize::from(settings.throttle.max_level()) + 1],
        };
        path.settle();
        path
    }

    /// From here on calls are about NIC `nic`.
    ///
    /// # Panics
    /// If there is no such NIC.
    pub fn hand(&mut self, nic: usize) {
        self.nics.hand(nic);
    }

    #[inline]
    fn nic(&self) -> &Nic {
        &self.nics.at_hand
    }

    /// Up to when everything has moved.
    pub fn at(&self) -> Time {
        self.at
    }

    /// When [`MemoryPath::advance`] has to be called at the latest.
    #[inline]
    pub fn due(&mut self) -> Time {
        self.settle();
        self.settled_due()
    }

    /// Due time if nothing has happened since [`MemoryPath::due`].
    #[inline]
    pub fn settled_due(&self) -> Time {
        debug_assert!(self.planned, "something happened since it was settled");
        if self.readers.has_finished() {
            return self.at;
        }
        let due = self.due.min(self.nic().iio.next_delivery());
        self.nics.others().iter().fold(due, |due, nic| due.min(nic.iio.next_delivery()))
    }

    /// Whether the NIC refuses a packet that comes from the cable, for want of a receive buffer. Then it is not offered. Data whose sender does not
    /// understand an RNR NAK is not refused.
    pub fn refuse(
        &mut self,
        now: Time,
        packet: &Packet,
        understands: impl FnOnce() -> bool,
    ) -> Option<Refusal> {
        self.llc.queue()?;
        self.move_to(now);
        let refusal = self.llc.queue()?.refuse(packet, understands);
        self.planned = false;
        refusal
    }

    /// A packet comes from the cable. False: the NIC dropped it.
    pub fn offer(&mut self, now: Time, packet: &Packet) -> bool {
        let moves = self.asleep || now > self.at;
        self.move_to(now);
        let taken = self.nics.at_hand.iio.offer(now, packet);
        if taken {
            self.llc.see(self.nics.index(), packet);
            self.asleep = false;
        }
        self.planned &= !moves;
        taken
    }

    /// The stack took `packets` from the descriptors.
    pub fn replenish(&mut self, packets: u32) {
        self.nics.at_hand.iio.replenish(packets);
    }

    /// The stack has `read.bytes` in order for an application on core `core`.
    pub fn deliver(&mut self, now: Time, core: u32, read: ReadBytes, handling: Handling) {
        self.move_to(now);
        self.readers.add(core, self.nics.index(), read, handling, &mut self.llc);
        self.wake();
    }

    /// Whether it knows which receive buffers are in the cache.
    #[inline]
    pub fn follows_buffers(&self) -> bool {
        self.llc.by_buffer()
    }

    /// The next delivery of a flow has all of its data that begins before `upto`.
    pub fn claim(&mut self, flow: u32, upto: u64) {
        if let Some(queue) = self.llc.queue() {
            queue.claim(flow, 0..upto);
        }
    }

    /// Releases received data of a flow that begins in `part` and will not be read.
    pub fn release(&mut self, now: Time, flow: u32, part: Range<u64>) {
        if self.llc.queue().is_some_and(|queue| queue.release(flow, part)) {
            self.move_to(now);
            self.wake();
        }
    }

    /// The NIC begins to send a frame of `bytes`.
    pub fn send(&mut self, now: Time, bytes: u64) {
        self.move_to(now);
        let transmit = &mut self.nics.at_hand.transmit;
        let latency = self.controller.read_latency(transmit.unloaded());
        transmit.send(now, bytes, latency);
        self.wake();
    }

    /// When the next frame may leave, as far as memory goes.
    #[inline]
    pub fn send_free(&self) -> Time {
        self.nic().transmit.free()
    }

    /// The NIC requests this throttle level from `now` on. The strongest that any NIC requests is in force.
    pub fn set_level(&mut self, now: Time, level: u8) {
        self.move_to(now);
        self.nics.at_hand.level = level;
        let strongest = self.nics.others().iter().fold(level, |most, nic| most.max(nic.level));
        self.antagonists.set_level(now, strongest, &self.controller);
        self.wake();
    }

    /// Brings everything to `now`, which is not after [`MemoryPath::due`].
    #[inline]
    pub fn advance(&mut self, now: Time) {
        self.move_to(now);
        self.planned = false;
    }

    #[inline]
    fn move_to(&mut self, now: Time) {
        if now > self.at {
            self.settle();
            let dt = now.since(self.at).as_ps();
            if self.asleep {
                self.coast(dt as f64 * 1e-3);
            } else {
                self.step(dt);
            }
            self.at = now;
        }
        if now >= self.antagonists.next_phase() {
            self.antagonists.apply(now, &self.controller);
            self.asleep = false;
        }
    }

    /// A packet that is in memory by the time of the last advance.
    #[inline]
    pub fn take_packet(&mut self) -> Option<PacketInMemory> {
        if self.llc.by_buffer() {
            return self.take_in_buffers();
        }
        self.nics.at_hand.iio.deliver(self.at)
    }

    /// How long the lines of a packet take to cross PCIe.
    pub fn crossing(&self, packet: &Packet) -> Span {
        self.nics.at_hand.iio.crossing(packet)
    }

    #[inline(never)]
    fn take_in_buffers(&mut self) -> Option<PacketInMemory> {
        let landed = self.nics.at_hand.iio.deliver(self.at)?;
        self.llc.land(self.nics.index(), &landed.packet);
        Some(landed)
    }

    /// A read, of what the NIC received, that is done by the time of the last advance.
    #[inline]
    pub fn take_read(&mut self) -> Option<ReadBytes> {
        self.readers.finish(self.nics.index())
    }

    fn wake(&mut self) {
        self.asleep = false;
        self.planned = false;
    }

    /// Plans once what several calls at an instant have changed: most events make some three.
    #[inline]
    fn settle(&mut self) {
        if !self.planned {
            self.plan();
        }
    }

    fn plan(&mut self) {
        self.planned = true;
        let mut due = self.antagonists.next_phase();
        if !self.asleep {
            due = due.min(self.at + self.step);
            let memory = self.controller.read_latency(self.local_read)
                - self.controller.between_bunches(self.readers.bunch() * self.llc.missing());
            let left = self.readers.price(memory, &self.llc) * 1e3;
            // A stage that ends later than this step does not matter here.
            if left < STEP.as_ps() as f64 {
                due = due.min(self.at + Span::from_ps(whole(left) + 1));
            }
        }
        self.due = due;
    }

    /// Moves everything by `dt` ps, with the rates of its beginning.
    fn step(&mut self, dt: u64) {
        let ns = float(dt) * 1e-3;
        let wait = self.controller.wait();
        self.wait += wait * ns;
        self.levels[usize::from(self.antagonists.level())] += ns;
        self.llc.walk(ns, self.readers.in_use());
        let holds = self.llc.holds();
        let nics = &mut self.nics;
        let mut dma = nics.at_hand.dma_demand(self.at, dt, holds, &self.controller);
        if !nics.others().is_empty() {
            let others = nics.others_mut();
            add_others(others, self.at, dt, holds, &self.controller, &mut dma);
        }
        let draw = self.antagonists.draw(self.at, dt, &self.controller);
        let CopyRate { reads: copy_reads, written } = self.readers.step(ns, &mut self.llc);
        self.count_copied(copy_reads, ns);
        let mut written = written;
        if self.llc.by_buffer() {
            self.llc.pass(ns);
            self.hold_back();
            written += self.llc.bring(self.antagonists.cached()) / ns;
        }
        // Copies come one by one, as a mean between evenly and all of a window at once. Lines of the NIC come evenly from its link, and chance
        // is in which of them the cache takes.
        let by_chance = dma.inside * (1.0 - holds.miss);
        let slot = holds.evicting + wait;
        let others = copy_reads + by_chance / slot;
        let demand = Demand {
            reads: draw.reads + copy_reads + dma.sending + written,
            posted: draw.posted,
            posting: draw.posting,
            joining: dma.joining,
            waiting: dma.waiting,
            chance: Chance {
                variance: draw.variance + others,
                round: draw.round
                    + copy_reads * self.controller.read_latency(self.local_read)
                    + by_chance,
            },
        };
        let served = draw.served + others;
        let beside_antagonists = copy_reads + dma.sending + dma.joining + written;
        let before = self.controller.state();
        let line = self.controller.step(ns, demand);
        let shared = Shared {
            holds,
            landing: self.llc.landing(wait),
            llc: &self.llc,
            readers: &self.readers,
            line,
            chance: Chance { variance: served, round: served * slot },
        };
        self.nics.at_hand.step(self.at, dt, shared);
        if !self.nics.others().is_empty() {
            step_others(self.nics.others_mut(), self.at, dt, shared);
        }
        self.antagonists.serve([self.controller.behind(), self.posted()]);
        self.llc.update(self.readers.in_use(), self.readers.unread());
        let idle = self.nic().is_idle()
            && self.readers.is_idle()
            && self.nics.others().iter().all(Nic::is_idle);
        // A copy or a frame that ended in this step still counts among the lines requested.
        let settled = SETTLED * float(dt) / STEP.as_ps() as f64;
        self.asleep = idle
            && beside_antagonists == 0.0
            && self.controller.moved_since(before) < settled
            && self.antagonists.is_settled(SETTLED, &self.controller);
    }

    /// Frames without receive buffers wait in their NICs.
    fn hold_back(&mut self) {
        let (llc, at_hand) = (&self.llc, self.nics.index());
        self.nics.at_hand.iio.without_buffers = llc.without_buffers(at_hand);
        for (i, nic) in self.nics.others_mut().iter_mut().enumerate() {
            nic.iio.without_buffers = llc.without_buffers(i + usize::from(i >= at_hand));
        }
    }

    /// Copying read `lines` per ns for `ns`.
    #[inline]
    fn count_copied(&mut self, lines: f64, ns: f64) {
        if self.nics.others().is_empty() {
            self.nics.at_hand.copied += lines * ns;
            return;
        }
        let at_hand = self.nics.index();
        let copied = |nic: usize| self.readers.rate(nic) * ns;
        self.nics.at_hand.copied += copied(at_hand);
        for (i, nic) in self.nics.others_mut().iter_mut().enumerate() {
            nic.copied += copied(i + usize::from(i >= at_hand));
        }
    }

    /// Only antagonists work, as evenly as they did.
    fn coast(&mut self, ns: f64) {
        self.wait += self.controller.wait() * ns;
        self.nics.at_hand.rest(ns);
        self.nics.others_mut().iter_mut().for_each(|nic| nic.rest(ns));
        self.levels[usize::from(self.antagonists.level())] += ns;
        self.llc.pass(ns);
        self.antagonists.coast(ns, &self.controller);
    }

    /// Bytes of frames in the NIC buffer.
    #[inline]
    pub fn buffered(&self) -> u64 {
        self.nic().iio.buffered()
    }

    /// Lines that cores posted and that wait for memory.
    fn posted(&self) -> f64 {
        let others: f64 = self.nics.others().iter().map(|nic| nic.iio.waiting()).sum();
        (self.controller.line() - self.nic().iio.waiting() - others).max(0.0)
    }

    /// How it stands at the last advance.
    pub fn now(&self) -> PathState {
        let wait = self.controller.wait();
        PathState {
            buffered: self.nic().iio.buffered(),
            inside: self.nic().iio.inside(),
            wait,
            posted: self.posted(),
            slot_latency: self.llc.slot_latency(wait),
            unread: self.readers.unread(),
            level: self.antagonists.level(),
        }
    }

    /// Lines in slots summed over nanoseconds, and lines that entered: what counters of writes show.
    #[inline]
    pub fn write_counters(&self) -> (f64, f64) {
        self.nic().write_counters()
    }

    /// Counters of the lines that the NIC reads to send.
    #[inline]
    pub fn read_counters(&self) -> (f64, f64) {
        self.nic().transmit.counters()
    }

    /// Frames that the NIC dropped, frames that found no receive buffer, and lines that memory moved for everybody: what counters of the machine
    /// show.
    pub fn machine_counters(&self) -> (u64, u64, f64) {
        let starved = self.llc.totals().map_or(0, |queue| queue.waited + queue.refused);
        let antagonists = self.antagonists.read.iter().chain(&self.antagonists.written);
        let served = antagonists.sum::<f64>() - self.antagonists.waiting().sum::<f64>();
        let moved = self.nic().traffic() + self.others().unwrap_or(0.0) + served;
        (self.nic().iio.dropped, starved, moved)
    }

    /// Totals up to `now`, or, while something moves, up to the last advance, within a [`STEP`] of it; and up to when they
    /// are. Changes nothing, so that who looks and when makes no difference.
    pub fn totals_at(&self, now: Time) -> (Time, Totals) {
        if !self.asleep || now <= self.at {
            return (self.at, self.totals());
        }
        let ns = now.since(self.at).as_ps() as f64 * 1e-3;
        let mut then = self.totals();
        then.wait += self.controller.wait() * ns;
        then.limits[Limit::Senders as usize] += ns;
        then.levels[usize::from(self.antagonists.level())] += ns;
        if let (Some(queue), Some(state)) = (&mut then.queue, self.llc.state()) {
            queue.states[state as usize] += ns;
        }
        for (group, read, written) in self.antagonists.coasting(ns, &self.controller) {
            then.antagonist_read[group] += read;
            then.antagonist_written[group] += written;
        }
        (now, then)
    }

    fn others(&self) -> Option<f64> {
        let others = self.nics.others();
        (!others.is_empty()).then(|| others.iter().map(Nic::traffic).sum())
    }

    /// Totals up to the last advance.
    pub fn totals(&self) -> Totals {
        let nic = self.nic();
        let [_, entered, left] = nic.iio.units();
        Totals {
            arrived: nic.iio.arrived,
            dropped: nic.iio.dropped,
            entered: lines(entered),
            left: lines(left),
            occupancy: nic.iio.occupancy(),
            dma: nic.dma,
            copied: nic.copied,
            sent: nic.transmit.counters().1,
            others: self.others(),
            antagonist_read: self.antagonists.read.clone(),
            antagonist_written: self.antagonists.written.clone(),
            antagonist_waiting: self.antagonists.waiting().collect(),
            reading: self.readers.busy(self.nics.index()),
            backlog: nic.backlog,
            full: nic.full,
            wait: self.wait,
            levels: self.levels.clone(),
            limits: nic.limits,
            most_buffered: nic.iio.most_buffered(),
            queue: self.llc.totals(),
            reads_of: self.llc.reads_of().to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::{AntagonistSettings, LINE};
    use super::*;
    use forebay_wire::FlowId;

    fn with_antagonists(cores: u32) -> MemorySettings {
        let antagonists = vec![AntagonistSettings { cores, ..AntagonistSettings::default() }];
        MemorySettings { antagonists, ..MemorySettings::default() }
    }

    /// Offers full packets of 4,000 B at `spacing` for `time`, of four flows in turn, each read by a core of its own, and
    /// tells what happened in the second half.
    fn fed(settings: &MemorySettings, level: u8, spacing: Span, time: Span) -> (Totals, Totals) {
        let mut path = MemoryPath::new(settings);
        path.set_level(Time::ZERO, level);
        let mut packet = Packet { size: 4000, ..Packet::default() };
        let end = Time::ZERO + time;
        let half = Time::ZERO + time / 2;
        let (mut next, mut first) = (Time::ZERO + spacing, None);
        loop {
            let stop = if first.is_none() { half } else { end };
            let now = path.due().min(next).min(stop);
            path.advance(now);
            match &first {
                None if now == half => first = Some(path.totals()),
                Some(first) if now == end => return (first.clone(), path.totals()),
                _ => {}
            }
            if now == next {
                packet.flow = FlowId((packet.flow.0 + 1) % 4);
                path.offer(now, &packet);
                next = now + spacing;
            }
            while let Some(PacketInMemory { packet, .. }) = path.take_packet() {
                path.replenish(1);
                let read = ReadBytes { flow: packet.flow.0, bytes: 3948, upto: 0 };
                path.deliver(now, read.flow, read, Handling::of(1));
            }
            while path.take_read().is_some() {}
        }
    }

    /// Lines per ns to GB/s.
    fn gigabytes(from: f64, to: f64, span: Span) -> f64 {
        (to - from) * LINE as f64 / (span.as_ps() as f64 * 1e-3)
    }

    /// Paper 2.2: what an antagonist alone draws with one, two and three cores.
    #[test]
    fn a_antagonist_alone() {
        for (cores, published) in [(1, 16.0), (2, 28.7), (3, 34.8)] {
            let time = Span::from_us(400);
            let (a, b) = fed(&with_antagonists(cores), 0, Span::from_ms(1), time);
            let total = |t: &Totals| t.antagonist_read[0] + t.antagonist_written[0];
            let drawn = gigabytes(total(&a), total(&b), time / 2);
            assert!((drawn / published - 1.0).abs() < 0.005, "{cores} cores: {drawn} GB/s");
        }
    }

    /// Paper, figure 8: 65 lines at 103 Gb/s on PCIe.
    #[test]
    fn an_idle_host_at_line_rate() {
        let spacing = Span::from_ps(65 * 512 * 1_000_000 / 103_000);
        let time = Span::from_us(400);
        let (a, b) = fed(&MemorySettings::default(), 0, spacing, time);
        let span = (time / 2).as_ps() as f64 * 1e-3;
        let occupancy = (b.occupancy - a.occupancy) / span;
        assert!((occupancy - 65.0).abs() < 0.5, "{occupancy} lines");
        let rate = (b.entered - a.entered) * 512.0 / span;
        assert!((rate - 103.0).abs() < 0.5, "{rate} Gb/s");
        assert_eq!(b.dropped, 0);
    }

    /// Note, section 9: roots of the balance of memory, which nothing but the plant enters.
    #[test]
    fn a_backlog_drains_at_slots_by_latency() {
        let published = [
            (2, 0, 423.0, 63.8, 19.0),
            (3, 0, 730.0, 45.2, 23.6),
            (3, 1, 567.0, 53.5, 21.6),
            (3, 2, 402.0, 65.7, 18.5),
            (3, 3, 245.0, 83.9, 14.0),
        ];
        for (cores, level, wait, drain, antagonist) in published {
            let time = Span::from_ms(2);
            let (a, b) = fed(&with_antagonists(cores), level, Span::from_ns(300), time);
            let span = (time / 2).as_ps() as f64 * 1e-3;
            let total = |t: &Totals| t.antagonist_read[0] + t.antagonist_written[0];
            let found = [
                (wait, (b.wait - a.wait) / span),
                (drain, (b.entered - a.entered) * 512.0 / span),
                (antagonist, gigabytes(total(&a), total(&b), time / 2)),
            ];
            // The note's wait is that of a smooth supply of copies; ours come in packets, for which it allows 2 %.
            for ((published, found), tolerance) in found.into_iter().zip([0.02, 0.01, 0.01]) {
                let off = (found / published - 1.0).abs();
                assert!(off < tolerance, "{cores} cores, level {level}: {found}, not {published}");
            }
        }
    }

    /// One stage at a time is made too small for what comes, and is the one that is named.
    #[test]
    fn the_stage_that_is_too_small_sets_the_pace() {
        use super::super::settings::{IioSettings, NicSettings, PcieSettings, ReaderSettings};
        use forebay_units::BitsPerSec;
        let base = || MemorySettings::default();
        let slow = BitsPerSec::from_gbps(50);
        let cases = [
            (Limit::Senders, base()),
            (Limit::Copying, {
                let readers = ReaderSettings { cores: 1, ..ReaderSettings::default() };
                MemorySettings { readers, ..base() }
            }),
            (Limit::Pcie, {
                let pcie = PcieSettings { rate: slow, ..PcieSettings::default() };
                MemorySettings { pcie, ..base() }
            }),
            (Limit::Slots, {
                let iio = IioSettings { slots: 30, ..IioSettings::default() };
                MemorySettings { iio, ..base() }
            }),
            (Limit::Memory, with_antagonists(3)),
            (Limit::Descriptors, {
                let nic = NicSettings { descriptors: 1, ..NicSettings::default() };
                let latency = Span::from_us(6);
                let iio = IioSettings { slots: 10_000, latency, ..IioSettings::default() };
                MemorySettings { nic, iio, ..base() }
            }),
        ];
        for (limit, settings) in cases {
            let time = Span::from_ms(1);
            let (a, b) = fed(&settings, 0, Span::from_ns(325), time);
            let ns = (time / 2).as_ps() as f64 * 1e-3;
            let share = |of: Limit| (b.limits[of as usize] - a.limits[of as usize]) / ns;
            let all: f64 = Limit::ALL.into_iter().map(share).sum();
            assert!((all - 1.0).abs() < 1e-3, "{limit:?}: {all}");
            assert!(share(limit) > 0.9, "{limit:?}: {:?}", Limit::ALL.map(share));
        }
    }
}
