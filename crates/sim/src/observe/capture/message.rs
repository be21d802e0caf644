//! Packets of receiver-driven transports as UDP datagrams.

use super::{TapRecord, ports};
use forebay_record::capture::{MessageBits, MessageFrame, MessageKind};
use forebay_scenario::workload::FlowSpec;
use forebay_transport::Config;
use forebay_wire::{Flags, Kind};

/// A packet as it stands in a file.
pub(super) fn frame(seen: &TapRecord, flow: &FlowSpec, cfg: &Config) -> MessageFrame {
    let packet = &seen.packet;
    let kind = match packet.kind {
        Kind::Trimmed => MessageKind::Trimmed,
        Kind::Returned => MessageKind::Returned,
        Kind::Ack => MessageKind::Ack,
        Kind::Nack => MessageKind::Nack,
        Kind::Want => MessageKind::Want,
        Kind::Grant => MessageKind::Grant,
        _ => MessageKind::Data,
    };
    let payload = match kind {
        MessageKind::Data => u64::from(packet.size).saturating_sub(cfg.header().get()) as u16,
        _ => 0,
    };
    let ends = (flow.src, flow.dst);
    let (src, dst) = if packet.kind.is_answer() { (ends.1, ends.0) } else { ends };
    MessageFrame {
        at: seen.at,
        inbound: seen.inbound,
        src,
        dst,
        src_port: ports(packet.flow.0).0,
        kind,
        bits: MessageBits {
            fin: packet.flags.has(Flags::FIN),
            again: packet.flags.has(Flags::RETRANSMIT),
            resend: packet.flags.has(Flags::RESEND),
            core: packet.flags.has(Flags::CORE),
        },
        flow: packet.flow.0,
        seq: packet.seq,
        stamp: packet.stamp,
        word: packet.word,
        payload,
        size: packet.size,
        ecn: packet.ecn as u8,
        class: packet.class,
        drops: seen.drops,
    }
}
