//! The plant alone: frames at a steady rate into a host, each copied by one of four cores, and no transport.

use crate::measured::MeasuredRows;
use forebay_host::memory::settings::{AntagonistSettings, DdioSettings, LINE};
use forebay_host::memory::{
    Handling, MemoryPath, MemorySettings, PacketInMemory, ReadBytes, Totals,
};
use forebay_units::{Span, Time};
use forebay_wire::{FlowId, Packet};

/// A full packet, and what it takes of PCIe: frame, completion and descriptor in lines of 64 bytes.
const PACKET: u16 = 4000;
const PAYLOAD: u64 = 3948;
const LINES: u64 = 65;

/// Cells whose root the modelling note gives: cores of MApp and level.
const CELLS: [(u32, u8); 5] = [(2, 0), (3, 0), (3, 1), (3, 2), (3, 3)];

/// What a steady supply of frames gives.
struct SupplyResult {
    wait: f64,      // ns
    drain: f64,     // Gb/s on PCIe
    occupancy: f64, // lines
    mapp: f64,      // GB/s
}

/// All its rows.
pub(super) fn measure(all: &mut MeasuredRows) {
    for (cores, level) in CELLS {
        // A frame every 300 ns is 107 Gb/s of goodput: more than any cell drains.
        let fed = feed(&host(false, cores), level, Some(Span::from_ns(300)));
        for (what, value) in [
            ("wait", fed.wait),
            ("drain", fed.drain),
            ("goodput", fed.drain * (PAYLOAD * 8) as f64 / (LINES * LINE * 8) as f64),
            ("mapp", fed.mapp),
        ] {
            all.insert(format!("plant-{cores}x-{level}-{what}"), value);
        }
    }
    for cores in 1..=3 {
        let alone = feed(&host(false, cores), 0, None);
        all.insert(format!("plant-mapp-{cores}x"), alone.mapp);
    }
    let spacing = Span::from_ps(LINES * LINE * 8 * 1_000_000 / 103_000);
    for (id, ddio) in [("plant-idle-off", false), ("plant-idle-on", true)] {
        all.insert(id, feed(&host(ddio, 0), 0, Some(spacing)).occupancy);
    }
    all.insert("plant-step", release());
}

fn host(ddio: bool, cores: u32) -> MemorySettings {
    let antagonist = AntagonistSettings { cores, ..AntagonistSettings::default() };
    MemorySettings {
        ddio: ddio.then(DdioSettings::default),
        antagonists: if cores > 0 { vec![antagonist] } else { Vec::new() },
        ..MemorySettings::default()
    }
}

/// A host, and a source of frames for four flows in turn.
struct Source {
    path: MemoryPath,
    spacing: Option<Span>,
    next: Time,
    flow: u32,
}

impl Source {
    fn new(settings: &MemorySettings, spacing: Option<Span>) -> Self {
        let next = spacing.map_or(Time::MAX, |spacing| Time::ZERO + spacing);
        Self { path: MemoryPath::new(settings), spacing, next, flow: 0 }
    }

    /// Runs until `end`, and inspects the path after every move.
    fn run(&mut self, end: Time, mut inspect: impl FnMut(Time, &MemoryPath)) {
        let mut now = Time::ZERO;
        while now < end {
            now = self.path.due().min(self.next).min(end);
            self.path.advance(now);
            if now == self.next {
                self.flow = (self.flow + 1) % 4;
                let flow = FlowId(self.flow);
                self.path.offer(now, &Packet { flow, size: PACKET, ..Packet::default() });
                self.next = self.spacing.map_or(Time::MAX, |spacing| now + spacing);
            }
            while let Some(PacketInMemory { packet, .. }) = self.path.take_packet() {
                self.path.replenish(1);
                let read = ReadBytes { flow: packet.flow.0, bytes: PAYLOAD, upto: 0 };
                self.path.deliver(now, packet.flow.0, read, Handling::of(1));
            }
            while self.path.take_read().is_some() {}
            inspect(now, &self.path);
        }
    }
}

/// 4 ms, of which the second half counts.
fn feed(settings: &MemorySettings, level: u8, spacing: Option<Span>) -> SupplyResult {
    let mut source = Source::new(settings, spacing);
    source.path.set_level(Time::ZERO, level);
    let half = Time::ZERO + Span::from_ms(2);
    let end = Time::ZERO + Span::from_ms(4);
    source.run(half, |_, _| {});
    let from = source.path.totals();
    source.run(end, |_, _| {});
    let to = source.path.totals();
    let ns = end.since(half).as_ps() as f64 * 1e-3;
    let mapp = |of: &Totals| {
        of.antagonist_read.iter().chain(&of.antagonist_written).sum::<f64>() * LINE as f64
    };
    SupplyResult {
        wait: (to.wait - from.wait) / ns,
        drain: (to.entered - from.entered) * (LINE * 8) as f64 / ns,
        occupancy: (to.occupancy - from.occupancy) / ns,
        mapp: (mapp(&to) - mapp(&from)) / ns,
    }
}

/// How long after level 4 is in force fewer than 70 lines are in slots, in us, at 3x with 83 Gb/s offered and nothing in the NIC
/// buffer: half a millisecond at level 3 keeps up with these.
fn release() -> f64 {
    let spacing = Span::from_ps(LINES * LINE * 8 * 1_000_000 / 83_000);
    let mut source = Source::new(&host(false, 3), Some(spacing));
    source.path.set_level(Time::ZERO, 3);
    let at = Time::ZERO + Span::from_us(500);
    source.run(at, |_, _| {});
    source.path.set_level(at, 4);
    let mut below = None;
    source.run(at + Span::from_us(100), |now, path| {
        if below.is_none() && path.now().inside < 70.0 {
            below = Some(now.since(at).as_ps() as f64 * 1e-6);
        }
    });
    below.unwrap_or(f64::INFINITY)
}
