//! Drives two models of a host with the same packets, readers and level writes.

use forebay_host::memory::settings::LINE;
use forebay_host::memory::{Handling, MemoryPath, ReadBytes};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{FlowId, Packet};
use std::fmt;

/// What of a packet is header.
const HEADER: u64 = 52;

/// Flows, each with a core of its own.
const FLOWS: u32 = 4;

/// Running totals. Lines are of 64 bytes, times in ns.
#[derive(Clone, Copy, Default, Debug)]
pub struct Seen {
    pub arrived: u64,
    pub dropped: u64,
    pub left: f64,
    /// Lines x ns.
    pub occupancy: f64,
    /// Lines that antagonists read and wrote.
    pub antagonist: f64,
}

/// A model of a host. All but `advance` happens at the instant of the last `advance`.
pub trait Host {
    fn due(&mut self) -> Time;
    fn advance(&mut self, now: Time);
    fn offer(&mut self, packet: &Packet) -> bool;
    fn take_packet(&mut self) -> Option<Packet>;
    /// Gives the packets' descriptors back, too.
    fn deliver(&mut self, core: u32, read: ReadBytes, packets: u32);
    fn take_read(&mut self) -> Option<ReadBytes>;
    fn set_level(&mut self, level: u8);
    fn seen(&self) -> Seen;
}

/// The plant, which gets the time with every call.
pub struct Plant {
    path: MemoryPath,
    now: Time,
}

impl Plant {
    pub fn new(path: MemoryPath) -> Self {
        Self { path, now: Time::ZERO }
    }
}

impl Host for Plant {
    fn due(&mut self) -> Time {
        self.path.due()
    }

    fn advance(&mut self, now: Time) {
        self.now = now;
        self.path.advance(now);
    }

    fn offer(&mut self, packet: &Packet) -> bool {
        self.path.offer(self.now, packet)
    }

    fn take_packet(&mut self) -> Option<Packet> {
        self.path.take_packet().map(|landed| landed.packet)
    }

    fn deliver(&mut self, core: u32, read: ReadBytes, packets: u32) {
        self.path.replenish(packets);
        self.path.deliver(self.now, core, read, Handling::of(packets));
    }

    fn take_read(&mut self) -> Option<ReadBytes> {
        self.path.take_read()
    }

    fn set_level(&mut self, level: u8) {
        self.path.set_level(self.now, level);
    }

    fn seen(&self) -> Seen {
        let totals = self.path.totals();
        Seen {
            arrived: totals.arrived,
            dropped: totals.dropped,
            left: totals.left,
            occupancy: totals.occupancy,
            antagonist: totals.antagonist_read.iter().chain(&totals.antagonist_written).sum(),
        }
    }
}

/// What comes to the host: `burst` bytes at a time at `line`, the instants so far apart that `average` comes in all.
/// Rates are of lines on PCIe, as the paper's signals are.
#[derive(Clone, Copy)]
pub struct Load {
    pub average: BitsPerSec,
    pub line: BitsPerSec,
    pub burst: Bytes,
    /// Size of a packet, IP header included.
    pub packet: u64,
    /// Bytes of a flow that may be unread before its sender waits.
    pub window: u64,
    pub level: u8,
    /// Not measured.
    pub warm_up: Span,
    pub measured: Span,
}

impl Load {
    /// One packet after the other.
    pub fn steady(gigabits: u64) -> Self {
        let average = BitsPerSec::new(gigabits * 1_000_000_000);
        let (burst, packet, window) = (Bytes::new(0), 4000, u64::MAX);
        let (warm_up, measured) = (Span::from_us(300), Span::from_us(600));
        Self { average, line: average, burst, packet, window, level: 0, warm_up, measured }
    }

    /// When the `n`-th packet comes.
    fn arrival(&self, n: u64) -> Time {
        let in_burst = (self.burst.get() / self.packet).max(1);
        let bits = (self.packet + 14).div_ceil(LINE) * LINE * 8 + 2 * LINE * 8;
        let apart = |packets: u64, rate: BitsPerSec| {
            let ps = u128::from(packets * bits) * 1_000_000_000_000 / u128::from(rate.get());
            Span::from_ps(ps as u64)
        };
        let start = apart(n / in_burst * in_burst, self.average);
        Time::ZERO + start + apart(n % in_burst + 1, self.line)
    }
}

/// What a host did in the measured time.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Gb/s on PCIe.
    pub drain: f64,
    /// GB/s.
    pub antagonist: f64,
    /// Gb/s that applications read.
    pub goodput: f64,
    /// Mean lines in slots.
    pub occupancy: f64,
    pub arrived: u64,
    pub dropped: u64,
    /// Mean time of a packet from the cable to memory, us.
    pub to_memory: f64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { drain, antagonist, goodput, occupancy, arrived, dropped, to_memory } = self;
        write!(f, "{drain:5.1} Gb/s, {antagonist:4.1} GB/s, {goodput:5.1} Gb/s read, ")?;
        write!(f, "{occupancy:4.1} lines, {dropped} of {arrived} dropped, {to_memory:.2} us")
    }
}

/// Runs `host` under `load`.
pub fn drive(host: &mut impl Host, load: &Load) -> Outcome {
    host.set_level(load.level);
    let (begin, end) = (Time::ZERO + load.warm_up, Time::ZERO + load.warm_up + load.measured);
    let mut before = None;
    let mut unread = [0; FLOWS as usize];
    let (mut flow, mut n, mut read, mut packets, mut delay) = (0, 0, 0, 0u64, 0.0);
    loop {
        let next = load.arrival(n);
        let stop = if before.is_none() { begin } else { end };
        let now = host.due().min(next).min(stop);
        host.advance(now);
        if now == stop {
            let Some(before) = before else {
                before = Some(host.seen());
                (read, packets, delay) = (0, 0, 0.0);
                continue;
            };
            return outcome(&before, &host.seen(), load.measured, read, delay / packets as f64);
        }
        if now == next {
            n += 1;
            let mut flows = (0..FLOWS).map(|i| (flow + i) % FLOWS);
            if let Some(open) = flows.find(|f| unread[*f as usize] < load.window) {
                let (size, seq) = (load.packet as u16, now.as_ps());
                host.offer(&Packet { flow: FlowId(open), size, seq, ..Packet::default() });
                flow = (open + 1) % FLOWS;
            }
        }
        while let Some(packet) = host.take_packet() {
            packets += 1;
            delay += now.since(Time::from_ps(packet.seq)).as_ps() as f64 * 1e-6;
            let (flow, bytes) = (packet.flow.0, u64::from(packet.size) - HEADER);
            unread[flow as usize] += bytes;
            host.deliver(flow, ReadBytes { flow, bytes, upto: 0 }, 1);
        }
        while let Some(done) = host.take_read() {
            unread[done.flow as usize] -= done.bytes;
            read += done.bytes;
        }
    }
}

fn outcome(before: &Seen, after: &Seen, span: Span, read: u64, to_memory: f64) -> Outcome {
    let ns = span.as_ps() as f64 * 1e-3;
    let line = LINE as f64;
    Outcome {
        drain: (after.left - before.left) * line * 8.0 / ns,
        antagonist: (after.antagonist - before.antagonist) * line / ns,
        goodput: read as f64 * 8.0 / ns,
        occupancy: (after.occupancy - before.occupancy) / ns,
        arrived: after.arrived - before.arrived,
        dropped: after.dropped - before.dropped,
        to_memory,
    }
}
