//! The path to memory of a congested host, without a transport: how long does a simulated microsecond take?
//!
//! Four flows of 4,000 B packets come at 103 Gb/s beside three cores of an antagonist, for a tenth of a simulated second.
//! `time target/release/examples/memory_path`, or under `valgrind --tool=callgrind` for instructions per step.

use forebay_host::memory::settings::AntagonistSettings;
use forebay_host::memory::{Handling, MemoryPath, MemorySettings, PacketInMemory, ReadBytes};
use forebay_units::{Span, Time};
use forebay_wire::{FlowId, Packet};

fn main() {
    let antagonists = vec![AntagonistSettings { cores: 3, ..AntagonistSettings::default() }];
    let mut path = MemoryPath::new(&MemorySettings { antagonists, ..MemorySettings::default() });
    let mut packet = Packet { size: 4000, ..Packet::default() };
    let apart = Span::from_ps(65 * 512 * 1_000_000 / 103_000);
    let end = Time::ZERO + Span::from_ms(100);
    let (mut next, mut steps, mut packets) = (Time::ZERO + apart, 0u64, 0u64);
    let mut now = Time::ZERO;
    while now < end {
        now = path.due().min(next);
        path.advance(now);
        steps += 1;
        if now == next {
            packet.flow = FlowId((packet.flow.0 + 1) % 4);
            path.offer(now, &packet);
            next += apart;
        }
        while let Some(PacketInMemory { packet, .. }) = path.take_packet() {
            packets += 1;
            path.replenish(1);
            let read = ReadBytes { flow: packet.flow.0, bytes: u64::from(packet.size), upto: 0 };
            path.deliver(now, read.flow, read, Handling::of(1));
        }
        while path.take_read().is_some() {}
    }
    let microseconds = end.as_ps() / 1_000_000;
    println!("{steps} steps and {packets} packets in {microseconds} simulated us");
}
