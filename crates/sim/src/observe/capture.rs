//! Captures: what taps saw as TCP segments, packets of queue pairs, those of receiver-driven transports and pause frames.
//!
//! Invariant: what is handed over depends neither on threads nor on windows.

mod message;
mod roce;

use super::tap::{Part, SYN_BEFORE, TapPort, TapRecord, Taps};
use crate::host::Common;
use crate::world::{AnyNode, machines};
use forebay_engine::{EngineAccess, NodeId};
use forebay_net::Fabric;
use forebay_record::capture::{Frame, Note, PauseFrame, PortTotals, Sink, TcpBits, WINDOW_SHIFT};
use forebay_scenario::workload::FlowSpec;
use forebay_transport::Frames;
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{Ecn, Flags, Kind, Packet};
use std::sync::Arc;

/// Hands what the taps of a simulation saw to a sink, again and again, so that little is ever held.
pub(crate) struct Captures<'a> {
    sink: &'a mut dyn Sink,
    at: Vec<(NodeId, usize)>,
    common: Arc<Common>,
    every: Span,
    next: Time,
    lossless: Option<u8>,
}

/// About so many bytes of cable time lie between two handovers.
const BATCH: u64 = 4 << 20;

/// Handovers are no closer than this, whatever the rates.
const LEAST_BATCH: Span = Span::from_us(10);

impl<'a> Captures<'a> {
    pub fn new(
        sink: &'a mut dyn Sink,
        taps: &mut Taps,
        common: &Arc<Common>,
        names: &[String],
    ) -> Self {
        let ports = std::mem::take(&mut taps.ports);
        let rate = ports.iter().fold(0u64, |sum, port| sum.saturating_add(port.rate));
        let every = BitsPerSec::new(rate).time_for(Bytes::new(BATCH)).max(LEAST_BATCH);
        let mut hosts: Vec<u32> = common.flows.iter().flat_map(|f| [f.src, f.dst]).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let named = |host: u32| (host, names[host as usize].clone());
        sink.begin(ports, &hosts.into_iter().map(named).collect::<Vec<_>>());
        let at = std::mem::take(&mut taps.at);
        let (common, lossless) = (Arc::clone(common), taps.lossless);
        Self { sink, at, common, every, next: Time::ZERO + every, lossless }
    }

    /// When frames are to be handed over next.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Hands over what is complete, everything before `now` having been handled. False: the sink takes no more.
    pub fn settle(
        &mut self,
        now: Time,
        fabric: &Fabric,
        engine: &mut impl EngineAccess<AnyNode>,
    ) -> bool {
        if now < self.next {
            return true;
        }
        self.next = now + self.every;
        for i in 0..self.at.len() {
            let (node, place) = self.at[i];
            let port = machines::node(engine, fabric, node).tap_port(place);
            let complete = now.since(Time::ZERO).saturating_sub(port.latency + SYN_BEFORE);
            self.hand_over(i, port, Time::ZERO + complete);
        }
        self.sink.settle()
    }

    /// Hands over the rest. Nothing happens at `end` or after it.
    pub fn end(mut self, end: Time, nodes: &mut [AnyNode]) {
        for i in 0..self.at.len() {
            let (node, place) = self.at[i];
            let node = &mut nodes[node.0 as usize];
            self.hand_over(i, node.tap_port(place), end);
            let index = node.tap_port(place).index;
            let dropped = node.ports()[index].counters().refused();
            self.sink.end(i, PortTotals { dropped, end });
        }
        self.sink.settle();
    }

    /// Everything that port `i` saw before `until`, as far as it is wanted.
    fn hand_over(&mut self, i: usize, port: &mut TapPort, until: Time) {
        port.seen.sort_by_key(|seen| (seen.at, seen.part, seen.packet.flow));
        let complete = port.seen.partition_point(|seen| seen.at < until);
        let (node, peer) = (port.node, port.peer);
        for seen in port.seen.drain(..complete) {
            let wanted = port.left > 0 && seen.at >= port.from && seen.at < port.until;
            if !wanted || !self.crossed_or_shown(&seen) {
                continue;
            }
            port.left -= 1;
            if seen.packet.kind == Kind::Pause {
                let src = if seen.inbound { peer } else { node };
                self.sink.pause(i, &pause(&seen, src, self.lossless));
                continue;
            }
            let flow = &self.common.flows[seen.packet.flow.0 as usize];
            let cfg = &self.common.profiles[usize::from(flow.traffic)].transport;
            match cfg.frames() {
                Frames::Tcp => {
                    let (header, mss) = (cfg.header().get(), cfg.mss().get());
                    self.sink.frame(i, &Segment { flow, header, mss }.frame(&seen));
                }
                Frames::Roce { ack_every } => {
                    self.sink.roce(i, &roce::frame(&seen, flow, cfg, ack_every));
                }
                Frames::Message => self.sink.message(i, &message::frame(&seen, flow, cfg)),
            }
        }
    }

    /// Queue pairs are connected by other means, which are not modelled: they have no handshake to show.
    fn crossed_or_shown(&self, seen: &TapRecord) -> bool {
        let packet = &seen.packet;
        let handshake = !matches!(seen.part, Part::Inbound | Part::Outbound);
        let of_tcp = || {
            let flow = &self.common.flows[packet.flow.0 as usize];
            let profile = &self.common.profiles[usize::from(flow.traffic)];
            profile.transport.frames() == Frames::Tcp
        };
        !handshake || of_tcp()
    }
}

fn pause(seen: &TapRecord, src: NodeId, lossless: Option<u8>) -> PauseFrame {
    PauseFrame {
        at: seen.at,
        inbound: seen.inbound,
        src: src.0,
        stop: seen.packet.seq != 0,
        classes: lossless.map(|lossless| (lossless, seen.packet.seq as u8)),
        drops: seen.drops,
    }
}

/// What a packet of the model does not say of itself.
struct Segment<'a> {
    flow: &'a FlowSpec,
    header: u64,
    mss: u64,
}

/// The initial sequence number of both sides: byte `n` of a flow has the sequence number `n + 1`.
const FIRST: u32 = 0;

/// First port of the range without registrations (RFC 6335, section 6), and how many bits lie above it.
const DYNAMIC: u32 = 49_152;
const PORT_BITS: u32 = 14;

/// The ports of a flow, its sender's first: the low and the high half of its number.
fn ports(flow: u32) -> (u16, u16) {
    let part = |bits: u32| (DYNAMIC + (bits & ((1 << PORT_BITS) - 1))) as u16;
    (part(flow), part(flow >> PORT_BITS))
}

impl Segment<'_> {
    fn frame(&self, seen: &TapRecord) -> Frame {
        let packet = &seen.packet;
        let ports = ports(packet.flow.0);
        let from_sender = !packet.kind.is_answer() && seen.part != Part::SynAck;
        let (src, dst) = (self.flow.src, self.flow.dst);
        let blank = Frame {
            at: seen.at,
            inbound: seen.inbound != (seen.part == Part::SynAck),
            src: if from_sender { src } else { dst },
            dst: if from_sender { dst } else { src },
            src_port: if from_sender { ports.0 } else { ports.1 },
            dst_port: if from_sender { ports.1 } else { ports.0 },
            seq: FIRST + 1,
            ack: FIRST + 1,
            bits: TcpBits { ack: true, ..TcpBits::default() },
            window: u16::MAX,
            stamps: if from_sender { (packet.stamp, 0) } else { (0, packet.stamp) },
            sacks: [(0, 0); 3],
            sack_count: 0,
            mss: u16::try_from(self.mss).unwrap_or(u16::MAX),
            ecn: packet.ecn as u8,
            class: packet.class,
            payload: 0,
            drops: seen.drops,
            note: Note::Nothing,
        };
        match (seen.part, packet.kind) {
            (Part::Inbound | Part::Outbound, Kind::Ack) => self.ack(blank, packet),
            (Part::Inbound | Part::Outbound, _) => self.data(blank, packet),
            (part, _) => handshake(blank, part, packet),
        }
    }

    fn data(&self, blank: Frame, packet: &Packet) -> Frame {
        let fin = packet.flags.has(Flags::FIN);
        let cwr = packet.flags.has(Flags::CWR);
        Frame {
            seq: number(packet.seq),
            bits: TcpBits { fin, psh: fin || packet.flags.has(Flags::PSH), cwr, ..blank.bits },
            payload: u64::from(packet.size).saturating_sub(self.header) as u16,
            ..blank
        }
    }

    fn ack(&self, blank: Frame, packet: &Packet) -> Frame {
        // An ACK of all bytes acknowledges the FIN too, which has a number of its own. Streams without an end have none.
        let (size, next) = (self.flow.size.get(), packet.acknowledged());
        let fin = u64::from(size > 0 && next == size);
        let block = |i: usize| {
            let block = packet.ext[i];
            let below = i == 0 && packet.flags.has(Flags::DSACK);
            let at = |distance: u32| match below {
                true => number(next.wrapping_sub(u64::from(distance))),
                false => number(next + u64::from(distance)),
            };
            (at(block.start), at(block.end))
        };
        Frame {
            ack: number(next + fin),
            bits: TcpBits { ece: packet.flags.has(Flags::ECE), ..blank.bits },
            window: packet.window().map_or(u16::MAX, window_field),
            sacks: [block(0), block(1), block(2)],
            sack_count: packet.sacks.min(3),
            ..blank
        }
    }
}

/// A receive window in units of the window scale, rounded down: what a reader of the file sees is never more than what there is.
fn window_field(window: u64) -> u16 {
    (window >> WINDOW_SHIFT).min(u64::from(u16::MAX - 1)) as u16
}

/// The sequence number of a byte of a flow.
fn number(byte: u64) -> u32 {
    (byte as u32).wrapping_add(FIRST + 1)
}

/// A frame of the handshake that the model leaves out, before a flow's first data.
fn handshake(blank: Frame, part: Part, packet: &Packet) -> Frame {
    let ecn = packet.ecn != Ecn::NotEct;
    let bits = match part {
        Part::Syn => TcpBits { syn: true, ece: ecn, cwr: ecn, ..TcpBits::default() },
        Part::SynAck => TcpBits { syn: true, ece: ecn, ..blank.bits },
        _ => blank.bits,
    };
    Frame {
        seq: if bits.syn { FIRST } else { FIRST + 1 },
        ack: if bits.ack { FIRST + 1 } else { 0 },
        bits,
        ecn: Ecn::NotEct as u8,
        note: Note::Synthetic { flow: packet.flow.0 },
        ..blank
    }
}
