//! Packets of queue pairs as RoCEv2 frames.

use super::{TapRecord, ports};
use forebay_record::capture::{RoceFrame, RoceKind};
use forebay_scenario::workload::FlowSpec;
use forebay_transport::Config;
use forebay_wire::{Flags, Kind, Packet};

/// Numbers of queue pairs below are special (InfiniBand: management), and so is the highest of 24 bits.
const FIRST_QUEUE_PAIR: u32 = 2;
const QUEUE_PAIRS: u32 = 0x00ff_ffff - FIRST_QUEUE_PAIR;

/// A packet as it stands in a file. A flow is one message; one without an end has no last packet.
pub(super) fn frame(seen: &TapRecord, flow: &FlowSpec, cfg: &Config, ack_every: u32) -> RoceFrame {
    let packet = &seen.packet;
    let answers = packet.kind.is_answer();
    let ends = (flow.src, flow.dst);
    let (src, dst) = if answers { (ends.1, ends.0) } else { ends };
    let mtu = cfg.mss().get();
    // The first packet that is missing; the last of the flow counts though it may be short.
    let next = packet.seq.div_ceil(mtu) as u32;
    let size = flow.size.get();
    let messages = u32::from(size > 0 && packet.seq == size);
    let (kind, number) = match packet.kind {
        Kind::Ack => {
            let congested = packet.flags.has(Flags::ECE);
            (RoceKind::Ack { congested, messages }, next.wrapping_sub(1))
        }
        Kind::Nack => (RoceKind::Nak { messages }, next),
        Kind::Cnp => (RoceKind::Cnp, 0),
        _ => (send(packet, cfg, ack_every), (packet.seq / mtu) as u32),
    };
    RoceFrame {
        at: seen.at,
        inbound: seen.inbound,
        src,
        dst,
        src_port: ports(packet.flow.0).0,
        queue_pair: FIRST_QUEUE_PAIR + packet.flow.0 % QUEUE_PAIRS,
        number,
        kind,
        ecn: packet.ecn as u8,
        class: packet.class,
        drops: seen.drops,
    }
}

fn send(packet: &Packet, cfg: &Config, ack_every: u32) -> RoceKind {
    let flags = packet.flags;
    let end_of_burst = [Flags::FIN, Flags::PSH, Flags::RETRANSMIT];
    RoceKind::Send {
        first: packet.seq == 0,
        last: flags.has(Flags::FIN),
        ack_request: ack_every == 1 || end_of_burst.iter().any(|flag| flags.has(*flag)),
        payload: u64::from(packet.size).saturating_sub(cfg.header().get()) as u16,
    }
}
