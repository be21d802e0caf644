//! The glue between a host's path to memory, its stack, and the law that rules over antagonists.

use super::control::{Control, LawHost, Registers, control};
use super::flow_map::FlowMap;
use super::{Common, Host};
use crate::options::SimError;
use forebay_engine::Emitter;
use forebay_host::memory::settings::{ReaderSettings, SmtOrder};
use forebay_host::memory::{
    Handling, MemoryPath, Nics, PacketInMemory, PathState, ReadBytes, Refusal, Totals,
};
use forebay_laws::host::{Echo, LawReadings, Side};
use forebay_net::trace;
use forebay_record::why::MemoryArrival;
use forebay_scenario::model;
use forebay_transport::Arrival;
use forebay_units::{Bytes, Time};
use forebay_wire::{Ecn, FlowId, Kind, Packet};
use std::ops::Range;

/// A path to memory, as a simulation runs it: of a host, or of a machine, where it goes from one NIC to the other.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(super) path: MemoryPath,
    sides: Nics<NicSide>,
    core_of: FlowMap, // core that reads a flow
    cores: u32,       // flows that have one
    reads_placed: bool,
    assembles: bool,
    landings: Option<Vec<MemoryArrival>>, // since they were last taken, where flows are followed
}

/// What a NIC has for itself beside its part of the path.
#[derive(Clone, Debug)]
pub(crate) struct NicSide {
    control: Option<Control>,
    marked: u64,
    warmup: Time, // until it has been reached
    warm: Snapshot,
    brake: Option<Brake>,
}

/// A NIC that pauses its switch rather than drop.
#[derive(Clone, Copy, Debug)]
struct Brake {
    above: u64, // bytes in its buffer
    classes: u8,
}

impl Brake {
    /// The switch goes on when the buffer holds this share of the threshold. Assumption: NICs do not say.
    const RESUME: u64 = 2;

    /// Classes that the switch has to pause with so much in the buffer, while `paused` are.
    fn stops(&self, buffered: u64, paused: u8) -> u8 {
        let enough = if paused != 0 { self.above / Self::RESUME } else { self.above };
        if buffered > enough { self.classes } else { 0 }
    }
}

impl NicSide {
    /// Of a NIC at which nothing has happened.
    ///
    /// # Errors
    /// If there is no such law, or a parameter of it, or its agent refuses.
    pub(crate) fn new(
        of: &model::Memory,
        warmup: Time,
        seed: u64,
        whose: LawHost<'_>,
    ) -> Result<Self, SimError> {
        let control = of.acting_control().map(|c| control(c, &of.settings, seed, whose));
        Ok(Self {
            control: control.transpose()?,
            marked: 0,
            warmup,
            warm: Snapshot::default(),
            brake: None,
        })
    }

    /// When something of its own is due.
    #[inline]
    fn due(&self) -> Time {
        self.control.as_ref().map_or(Time::MAX, Control::due).min(self.warmup)
    }

    /// Has the NIC stop these classes of its switch while its buffer holds more than `bytes`, until it holds half of that.
    pub(crate) fn pause_above(&mut self, bytes: Bytes, classes: u8) {
        self.brake = Some(Brake { above: bytes.get(), classes });
    }
}

/// One host's path to memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryState {
    /// Index of the host.
    pub host: u32,
    /// Up to when the rest is true: at most a step before the instant of the inspection.
    pub at: Time,
    /// Lines in IIO slots, summed over nanoseconds.
    pub occupancy: f64,
    /// Lines that entered them.
    pub entered: f64,
    /// Bytes of frames in the NIC buffer.
    pub buffered: u64,
    /// Wait of writes for admission to memory, in ns.
    pub wait_ns: f64,
    /// Throttle level in force.
    pub level: u8,
}

/// Totals at an instant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub at: Time,
    pub path: Totals,
    /// Payload that applications have read.
    pub read_bytes: u64,
    /// Data packets that got a mark on their way up; a merged one counts once.
    pub marked: u64,
    /// Level writes that the control began.
    pub level_writes: u64,
}

impl Memory {
    /// An idle host, or an idle machine with so many NICs, of which the first is at hand.
    ///
    /// # Panics
    /// If there are none.
    pub(crate) fn new(nics: Vec<(&model::Memory, NicSide)>) -> Box<Self> {
        let settings: Vec<_> = nics.iter().map(|(of, _)| &of.settings).collect();
        let reads_placed = settings[0].readers.reads_placed;
        let queue = settings[0].ddio.and_then(|ddio| ddio.queue);
        let assembles = queue.is_some_and(|queue| queue.assemble.is_some());
        let mut path = MemoryPath::of_nics(&settings);
        for (nic, (of, _)) in nics.iter().enumerate().rev() {
            path.hand(nic);
            path.set_level(Time::ZERO, of.level.unwrap_or(0));
        }
        let mut sides = nics.into_iter().map(|(_, side)| side);
        let first = sides.next().expect("a host has a NIC");
        let sides = Nics::new(first, sides.collect());
        let core_of = FlowMap::new();
        let landings = None;
        Box::new(Self { path, sides, core_of, cores: 0, reads_placed, assembles, landings })
    }

    /// From here on it is about this NIC.
    pub(crate) fn hand(&mut self, nic: usize) {
        self.path.hand(nic);
        self.sides.hand(nic);
    }

    /// The side of the NIC at hand.
    #[inline]
    fn side(&self) -> &NicSide {
        &self.sides.at_hand
    }

    #[inline]
    fn side_mut(&mut self) -> &mut NicSide {
        &mut self.sides.at_hand
    }

    /// Time of the next call, once an event is over; [`Time::MAX`] on a machine of several NICs, whose owner calls.
    #[inline]
    pub(super) fn due(&mut self) -> Time {
        let due = self.path.due();
        if self.sides.others().is_empty() { due.min(self.side().due()) } else { Time::MAX }
    }

    /// When something is due, at whichever NIC, since the last event.
    pub(crate) fn due_at_any(&self) -> Time {
        let due = self.path.settled_due().min(self.side().due());
        self.sides.others().iter().fold(due, |due, side| due.min(side.due()))
    }

    /// Deals threads to `flows` in their order, where the settings say which flows share a core; else each gets one in turn as its data arrives.
    pub(crate) fn deal(&mut self, flows: &[FlowId], readers: &ReaderSettings) {
        let (order, of) = (readers.smt_order, flows.len() as u32);
        if readers.smt != 2 || order == SmtOrder::Entry {
            return;
        }
        for (at, flow) in (0..).zip(flows) {
            self.core_of.set(*flow, order.thread(at, of, readers.cores));
        }
        self.cores = of;
    }

    /// The core that reads a flow; each flow gets one, in turn.
    fn core(&mut self, flow: FlowId) -> u32 {
        if let Some(core) = self.core_of.get(flow) {
            return core;
        }
        let core = self.cores;
        self.cores += 1;
        self.core_of.set(flow, core);
        core
    }

    /// Whether a core reads what its NIC wrote, which it copies to the application or not.
    #[inline]
    pub(super) fn reads(&self, copies: bool) -> bool {
        copies || self.reads_placed
    }

    /// The mark that the control puts on a packet on its way up, or out.
    pub(super) fn mark(&mut self, side: Side, packet: &mut Packet) {
        let this = self.side_mut();
        let echo = this.control.as_ref().map_or(Echo::Off, |control| control.echo(side));
        let marks = match echo {
            Echo::Off => false,
            Echo::Capable => packet.ecn == Ecn::Ect,
            Echo::All => packet.ecn != Ecn::Ce,
        };
        if marks {
            packet.ecn = Ecn::Ce;
            this.marked += 1;
        }
    }

    /// How the path stands.
    pub(crate) fn now(&self) -> PathState {
        self.path.now()
    }

    /// What the control's law has made of its readings.
    pub(crate) fn watched(&self) -> Option<LawReadings> {
        self.side().control.as_ref().and_then(|control| control.watched(Side::Receive))
    }

    /// Notes how a packet came to memory, from now on.
    pub(crate) fn note_landings(&mut self) {
        self.landings = Some(Vec::new());
    }

    /// What was noted since the last time.
    pub(crate) fn take_landings(&mut self) -> Vec<MemoryArrival> {
        self.landings.as_mut().map(std::mem::take).unwrap_or_default()
    }

    #[inline]
    fn note(
        &mut self,
        landed: Time,
        PacketInMemory { arrived: came, entered, packet }: &PacketInMemory,
    ) {
        let Some(landings) = &mut self.landings else { return };
        let (came, entered) = (*came, (*entered).clamp(*came, landed));
        let before = entered.since(Time::ZERO).saturating_sub(self.path.crossing(packet));
        let first = (Time::ZERO + before).max(came);
        landings.push(MemoryArrival { flow: packet.flow.0, came, first, entered, landed });
    }

    /// Totals at an instant, at which applications have read so much.
    pub(crate) fn snapshot(&self, at: Time, read_bytes: u64) -> Snapshot {
        let side = self.side();
        let level_writes = side.control.as_ref().map_or(0, Control::writes);
        let (at, path) = self.path.totals_at(at);
        Snapshot { at, path, read_bytes, marked: side.marked, level_writes }
    }
}

impl Host {
    /// Gives the host a path to memory.
    pub fn with_memory(&mut self, memory: Box<Memory>) {
        self.memory = Some(memory);
        self.settle_next();
    }

    /// Takes the path to memory away, for another NIC of the machine.
    pub fn take_memory(&mut self) -> Option<Box<Memory>> {
        self.memory.take()
    }

    /// Brings it back. Nothing has been decided about this host meanwhile.
    pub fn give_memory(&mut self, memory: Box<Memory>) {
        self.memory = Some(memory);
    }

    /// A packet for the stack comes from the cable.
    pub(super) fn offer(&mut self, now: Time, packet: &Packet, out: &mut impl Emitter<Packet>) {
        let Some(memory) = &mut self.memory else { return };
        let common = &self.common;
        let understands = || nak(common, packet).is_some();
        if let Some(refusal) = memory.path.refuse(now, packet, understands) {
            trace(&mut self.digest, now, NOT_READY, packet);
            out.slab().release(packet.int_slot());
            if refusal == Refusal::Nak
                && let Some(nak) = nak(&self.common, packet)
            {
                self.nic.enqueue(now, &nak);
            }
            return;
        }
        if !memory.path.offer(now, packet) {
            trace(&mut self.digest, now, NIC_DROP, packet);
            out.slab().release(packet.int_slot());
        }
        self.brake(now, out);
    }

    /// Sends a PFC frame to the switch where the fill of the NIC buffer crosses a threshold.
    #[inline]
    fn brake(&mut self, now: Time, out: &mut impl Emitter<Packet>) {
        let Some(memory) = &self.memory else { return };
        let Some(brake) = &memory.side().brake else { return };
        let paused = self.nic.port.pausing_peer();
        let stops = brake.stops(memory.path.buffered(), paused);
        if stops != paused && self.nic.port.alive() {
            self.nic.port.send_pause(now, stops, out);
        }
    }

    /// Something on the path is due.
    pub(super) fn memory_due(&mut self, now: Time, out: &mut impl Emitter<Packet>) {
        let Some(memory) = &mut self.memory else { return };
        let warmup = memory.side().warmup;
        if warmup <= now {
            let warm = memory.snapshot(warmup, self.receive.bytes);
            let side = memory.side_mut();
            (side.warm, side.warmup) = (warm, Time::MAX);
        }
        if memory.path.due() <= now {
            memory.path.advance(now);
        }
        if let Some(control) = &mut memory.sides.at_hand.control {
            control.run(now, &mut Registers(&mut memory.path));
        }
        while let Some(landed) = self.memory.as_mut().and_then(|m| m.path.take_packet()) {
            let PacketInMemory { arrived, packet, .. } = landed;
            trace(&mut self.digest, now, IN_MEMORY, &packet);
            if let Some(memory) = &mut self.memory {
                memory.note(now, &landed);
            }
            if self.interrupts(packet.flow) {
                self.hold(now, arrived, &packet, out);
            } else {
                let newest = Arrival { at: arrived, stamp: packet.stamp };
                self.climb(now, newest, packet, 1, out);
            }
        }
        while let Some(read) = self.memory.as_mut().and_then(|m| m.path.take_read()) {
            self.read(now, read, out);
        }
        self.brake(now, out);
    }

    /// The NIC reads a packet that it is to send from `start` on.
    pub(super) fn fetch(&mut self, start: Time, packet: &mut Packet) {
        let Some(memory) = &mut self.memory else { return };
        memory.path.send(start, u64::from(packet.size));
        if packet.kind == Kind::Data {
            memory.mark(Side::Send, packet);
        }
    }

    /// The stack takes `frames` packets that became one.
    pub(super) fn climb(
        &mut self,
        now: Time,
        newest: Arrival,
        mut packet: Packet,
        frames: u32,
        out: &mut impl Emitter<Packet>,
    ) {
        if let Some(memory) = &mut self.memory {
            memory.path.replenish(frames);
            if packet.kind == Kind::Data {
                memory.mark(Side::Receive, &mut packet);
            }
        }
        self.take(now, newest, &packet, out);
    }

    /// Notes that these bytes of a flow are in order and wait for their application.
    pub(super) fn await_reading(&mut self, now: Time, flow: FlowId, part: Range<u64>, mss: u64) {
        let service = self.hold_core(flow, part.end);
        let fragments = self.has_fragments(flow, mss);
        let follows = self.memory.as_ref().is_some_and(|memory| memory.path.follows_buffers());
        let traffic = if follows { self.common.flows[flow.0 as usize].traffic } else { 0 };
        if let Some(memory) = &mut self.memory {
            let bytes = part.end - part.start;
            let core = memory.core(flow);
            memory.path.claim(flow.0, part.end);
            let read = ReadBytes { flow: flow.0, bytes, upto: part.end };
            let packets = bytes.div_ceil(mss) as u32;
            let handling = Handling { packets, service, fragments, traffic };
            memory.path.deliver(now, core, read, handling);
        }
    }

    /// Whether messages of a flow have more than one packet of `mss` bytes, and cores assemble such; of a connection, whether the largest have.
    fn has_fragments(&self, flow: FlowId, mss: u64) -> bool {
        if !self.memory.as_ref().is_some_and(|memory| memory.assembles) {
            return false;
        }
        let largest = match self.common.sizes_of(flow) {
            Some(sizes) => sizes.largest(),
            None => self.common.flows[flow.0 as usize].size,
        };
        largest.get() > mss
    }

    /// What came of a flow's data that begins in `part` is not for its application: it came twice, was discarded, or RDMA placed it.
    #[inline]
    pub(super) fn forget(&mut self, now: Time, flow: FlowId, part: Range<u64>) {
        if let Some(memory) = &mut self.memory {
            memory.path.release(now, flow.0, part);
        }
    }

    /// An application has read.
    fn read(&mut self, now: Time, read: ReadBytes, out: &mut impl Emitter<Packet>) {
        let flow = FlowId(read.flow);
        self.receive.bytes += read.bytes;
        let slot = self.receive.of.get(flow).expect("a flow stays until all of it was read");
        let receiving = &mut self.receive.slots[slot as usize];
        receiving.receiver.on_read(now, read.bytes, &mut self.nic.at(now));
        let all_read = read.upto == receiving.receiver.delivered().get();
        if all_read && receiving.receiver.complete() {
            self.complete(now, flow, slot, out);
            out.ends();
        } else {
            self.bytes_delivered(now, flow, read.upto, out);
        }
    }

    /// How the path to memory stands.
    pub fn memory_state(&self, host: u32) -> Option<MemoryState> {
        let path = &self.memory.as_ref()?.path;
        let (occupancy, entered) = path.write_counters();
        let now = path.now();
        Some(MemoryState {
            host,
            at: path.at(),
            occupancy,
            entered,
            buffered: now.buffered,
            wait_ns: now.wait,
            level: now.level,
        })
    }

    /// Totals at the end of the warm-up and at `end`.
    pub fn memory_totals(&self, end: Time) -> Option<[Snapshot; 2]> {
        let memory = self.memory.as_ref()?;
        let last = memory.snapshot(end, self.receive.bytes);
        // A run that was cut short inside the warm-up has measured nothing.
        let side = memory.side();
        let first = if side.warmup == Time::MAX { &side.warm } else { &last };
        Some([first.clone(), last])
    }

    /// Path to memory of the host, where it is modelled.
    pub fn memory(&self) -> Option<&Memory> {
        self.memory.as_deref()
    }
}

/// The RNR NAK that tells the sender of data that no receive buffer is posted; none if its transport has no such thing.
#[cold]
fn nak(common: &Common, data: &Packet) -> Option<Packet> {
    let spec = common.flows[data.flow.0 as usize];
    let transport = &common.profiles[usize::from(spec.traffic)].transport;
    transport.not_ready(data, common.addrs[spec.src as usize])
}

/// A packet that the NIC had no room for, in a digest beside deliveries and what switches drop.
const NIC_DROP: u8 = 6;

/// A packet that reached memory, likewise.
const IN_MEMORY: u8 = 7;

/// Data for which no receive buffer was posted, likewise.
const NOT_READY: u8 = 8;
