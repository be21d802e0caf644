//! Captures: nodes with a tap on some of their ports, and what the tap saw as TCP segments, packets of queue pairs, those of receiver-driven transports and pause frames.
//!
//! A tapped node is a node whose `Out` passes through its tap, so other nodes pay nothing. Egress ports with a tap serve
//! every departure as an explicit one: what they push has begun transmission, and no fault takes it back.
//! Invariant: a tap changes no result, and what it hands over depends neither on threads nor on windows.

mod message;
mod roce;

use crate::host::Common;
use crate::machine;
use crate::node::AnyNode;
use crate::watch::{Watch, WatchedOut};
use forebay_engine::{EngineAccess, Flying, LinkId, Node, NodeId, Out};
use forebay_net::{Fabric, PortFault, Recalled};
use forebay_record::capture::{
    CapturedPort, Frame, Note, PauseFrame, PortTotals, Sink, TcpBits, WINDOW_SHIFT,
};
use forebay_scenario::model::{Direction, Scenario};
use forebay_scenario::pause::Pausing;
use forebay_scenario::plan::Plan;
use forebay_scenario::workload::FlowSpec;
use forebay_transport::Frames;
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{Ecn, Flags, Kind, Packet};
use std::sync::Arc;

/// A node with a tap.
#[derive(Clone, Debug)]
pub(crate) struct Tapped {
    pub node: AnyNode,
    pub tap: Tap,
}

/// What watches some ports of one node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tap {
    ports: Vec<TapPort>,
}

/// One port that is watched.
#[derive(Clone, Debug)]
pub(crate) struct TapPort {
    index: usize, // among the node's ports, and in-ports
    node: NodeId,
    peer: NodeId,
    link: LinkId,
    latency: Span, // from the last bit's arrival to the node's event
    rate: BitsPerSec,
    overhead: u64,
    inbound: bool,
    outbound: bool,
    handshakes: bool,
    from: Time,
    until: Time,
    left: u64,
    dropped: u64,  // by its queue, so far
    reported: u64, // of those, as frames have reported
    seen: Vec<Seen>,
}

/// What there is of a packet, in the order in which it stands in a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Part {
    Syn,
    SynAck,
    HandshakeAck,
    Inbound,
    Outbound,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Time,
    part: Part,
    inbound: bool, // the packet; a synthetic SYN-ACK goes the other way
    drops: u32,
    packet: Packet,
}

/// How long before the first data its synthetic SYN is stamped: the least that readers tell from nothing, since a
/// handshake of no duration counts as unknown (and out-of-order is then guessed from 3 ms on).
const SYN_BEFORE: Span = Span::from_ns(1);

impl TapPort {
    fn push(&mut self, at: Time, part: Part, drops: u32, packet: &Packet) {
        let inbound = part == Part::Inbound;
        let opens = packet.kind == Kind::Data
            && packet.seq == 0
            && !packet.flags.has(Flags::RETRANSMIT)
            && self.handshakes;
        if opens {
            let before = Time::ZERO + at.since(Time::ZERO).saturating_sub(SYN_BEFORE);
            let times = [(before, Part::Syn), (before, Part::SynAck), (at, Part::HandshakeAck)];
            let seen =
                times.map(|(at, part)| Seen { at, part, inbound, drops: 0, packet: *packet });
            self.seen.extend(seen);
        }
        self.seen.push(Seen { at, part, inbound, drops, packet: *packet });
    }

    /// A packet whose transmission ends at `end`.
    fn sent(&mut self, end: Time, packet: &Packet) {
        let wire = Bytes::new(packet.on_wire(self.overhead));
        let start = end - self.rate.time_for(wire);
        let drops = self.dropped - self.reported;
        self.reported = self.dropped;
        self.push(start, Part::Outbound, u32::try_from(drops).unwrap_or(u32::MAX), packet);
    }
}

impl Tap {
    fn out_port(&mut self, link: LinkId) -> Option<&mut TapPort> {
        self.ports.iter_mut().find(|p| p.outbound && p.link == link)
    }

    fn came(&mut self, now: Time, port: u32, packet: &Packet) {
        let port = self.ports.iter_mut().find(|p| p.inbound && p.index == port as usize);
        if let Some(port) = port {
            port.push(now - port.latency, Part::Inbound, 0, packet);
        }
    }
}

impl Watch for Tap {
    fn sent(&mut self, link: LinkId, at: Time, packet: &Packet, _: &dyn Out<Packet>) {
        if let Some(port) = self.out_port(link) {
            port.sent(at, packet);
        }
    }
}

impl Tapped {
    pub fn arrive(&mut self, now: Time, port: u32, packet: &mut Packet, out: &mut dyn Out<Packet>) {
        let Self { node, tap } = self;
        tap.came(now, port, packet);
        node.arrive(now, port, packet, &mut WatchedOut { out, watch: tap });
        for port in &mut tap.ports {
            port.dropped = node.ports()[port.index].counters().refused();
        }
    }

    pub fn timer(&mut self, now: Time, out: &mut dyn Out<Packet>) {
        let Self { node, tap } = self;
        node.timer(now, &mut WatchedOut { out, watch: tap });
    }

    pub fn depart(&mut self, now: Time, out: &mut dyn Out<Packet>) {
        let Self { node, tap } = self;
        node.depart(now, &mut WatchedOut { out, watch: tap });
    }

    pub fn fault(
        &mut self,
        now: Time,
        port: usize,
        change: PortFault,
        flying: Vec<Flying<Packet>>,
    ) -> Recalled {
        let recalled = self.node.fault(now, port, change, flying);
        for port in &mut self.tap.ports {
            port.rate = self.node.ports()[port.index].settings().rate;
        }
        recalled
    }

    /// A captured port, by its place in the tap.
    pub fn port(&mut self, place: usize) -> &mut TapPort {
        &mut self.tap.ports[place]
    }
}

/// Where the taps of a simulation are: node and place in its tap, in the order of the scenario's captures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taps {
    at: Vec<(NodeId, usize)>,
    ports: Vec<CapturedPort>,
    taps: Vec<(NodeId, Tap)>,
    lossless: Option<u8>, // classes that are paused one by one
}

impl Taps {
    /// The taps of a scenario.
    pub fn plan(scenario: &Scenario, plan: &Plan, fabric: &Fabric) -> Self {
        let lossless = Pausing::of(scenario, plan).and_then(|pausing| pausing.classes());
        let mut all = Self { lossless, ..Self::default() };
        // Where paths change from packet to packet, the first one here need not be the first one of its flow.
        let handshakes = !scenario.sprays();
        for capture in &scenario.output.captures {
            for (node, peer) in plan.ports_like(&capture.place) {
                let node = NodeId(node);
                let directions = fabric.ports_of(node);
                let index = directions
                    .iter()
                    .position(|d| d.peer.0 == peer)
                    .expect("a port leads to the other end of its cable");
                let cable = fabric.cable(directions[index].cable);
                let port = TapPort {
                    index,
                    node,
                    peer: directions[index].peer,
                    link: directions[index].link,
                    latency: fabric.links()[fabric.in_link(node, index).0 as usize].lookahead
                        - cable.flight(),
                    rate: cable.rate,
                    overhead: scenario.fabric.wire_overhead.get(),
                    inbound: capture.direction != Direction::Out,
                    outbound: capture.direction != Direction::In,
                    handshakes,
                    from: capture.from,
                    until: capture.until,
                    left: capture.packets.unwrap_or(u64::MAX),
                    dropped: 0,
                    reported: 0,
                    seen: Vec::new(),
                };
                let name = |node: NodeId| plan.names[node.0 as usize].clone();
                all.ports.push(CapturedPort {
                    node: name(node),
                    peer: name(directions[index].peer),
                    rate: cable.rate.get(),
                    snap: capture.snap,
                });
                all.add(node, port);
            }
        }
        all
    }

    fn add(&mut self, node: NodeId, port: TapPort) {
        let at = match self.taps.iter().position(|t| t.0 == node) {
            Some(at) => at,
            None => {
                self.taps.push((node, Tap::default()));
                self.taps.len() - 1
            }
        };
        let ports = &mut self.taps[at].1.ports;
        self.at.push((node, ports.len()));
        ports.push(port);
    }

    /// Whether an egress port is to be watched.
    pub fn watches(&self, node: NodeId, port: usize) -> bool {
        let mine = |p: &TapPort| p.outbound && p.index == port;
        self.taps.iter().any(|(n, tap)| *n == node && tap.ports.iter().any(mine))
    }

    /// A node with its tap, if it is to have one.
    pub fn fit(&mut self, id: NodeId, node: AnyNode) -> AnyNode {
        match self.taps.iter().position(|t| t.0 == id) {
            None => node,
            Some(at) => {
                let tap = self.taps.swap_remove(at).1;
                AnyNode::Tapped(Box::new(Tapped { node, tap }))
            }
        }
    }
}

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
            let port = machine::node(engine, fabric, node).tap_port(place);
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
    fn crossed_or_shown(&self, seen: &Seen) -> bool {
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

fn pause(seen: &Seen, src: NodeId, lossless: Option<u8>) -> PauseFrame {
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
    fn frame(&self, seen: &Seen) -> Frame {
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
