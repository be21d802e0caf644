//! Taps of captures: nodes with a tap on some of their ports.
//!
//! A tapped node is a node whose `Emitter` passes through its tap, so other nodes pay nothing. Egress ports with a tap serve
//! every departure as an explicit one: what they push has begun transmission, and no fault takes it back.
//! Invariant: a tap changes no result, and what it sees depends neither on threads nor on windows.

use super::watch::{Watch, WatchedOut};
use crate::world::InnerNode;
use forebay_engine::{Emitter, InFlight, LinkId, NodeId};
use forebay_net::{Fabric, LinkLeftovers, PortFault};
use forebay_record::capture::CapturedPort;
use forebay_scenario::model::{Direction, Scenario};
use forebay_scenario::pause::PauseSetup;
use forebay_scenario::plan::Plan;
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{Flags, Kind, Packet};

/// A node with a tap.
#[derive(Clone, Debug)]
pub(crate) struct TappedNode<N> {
    pub node: N,
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
    pub(super) index: usize, // among the node's ports, and in-ports
    pub(super) node: NodeId,
    pub(super) peer: NodeId,
    link: LinkId,
    pub(super) latency: Span, // from the last bit's arrival to the node's event
    rate: BitsPerSec,
    overhead: u64,
    inbound: bool,
    outbound: bool,
    handshakes: bool,
    pub(super) from: Time,
    pub(super) until: Time,
    pub(super) left: u64,
    dropped: u64,  // by its queue, so far
    reported: u64, // of those, as frames have reported
    pub(super) seen: Vec<TapRecord>,
}

/// What there is of a packet, in the order in which it stands in a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Part {
    Syn,
    SynAck,
    HandshakeAck,
    Inbound,
    Outbound,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TapRecord {
    pub(super) at: Time,
    pub(super) part: Part,
    pub(super) inbound: bool, // the packet; a synthetic SYN-ACK goes the other way
    pub(super) drops: u32,
    pub(super) packet: Packet,
}

/// How long before the first data its synthetic SYN is stamped: the least that readers tell from nothing, since a
/// handshake of no duration counts as unknown (and out-of-order is then guessed from 3 ms on).
pub(super) const SYN_BEFORE: Span = Span::from_ns(1);

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
                times.map(|(at, part)| TapRecord { at, part, inbound, drops: 0, packet: *packet });
            self.seen.extend(seen);
        }
        self.seen.push(TapRecord { at, part, inbound, drops, packet: *packet });
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
    fn sent(&mut self, link: LinkId, at: Time, packet: &Packet, _: &dyn Emitter<Packet>) {
        if let Some(port) = self.out_port(link) {
            port.sent(at, packet);
        }
    }
}

impl<N: InnerNode> TappedNode<N> {
    pub fn arrive(
        &mut self,
        now: Time,
        port: u32,
        packet: &mut Packet,
        out: &mut dyn Emitter<Packet>,
    ) {
        let Self { node, tap } = self;
        tap.came(now, port, packet);
        node.arrive(now, port, packet, &mut WatchedOut { out, watch: tap });
        for port in &mut tap.ports {
            port.dropped = node.ports()[port.index].counters().refused();
        }
    }

    pub fn timer(&mut self, now: Time, out: &mut dyn Emitter<Packet>) {
        let Self { node, tap } = self;
        node.timer(now, &mut WatchedOut { out, watch: tap });
    }

    pub fn depart(&mut self, now: Time, out: &mut dyn Emitter<Packet>) {
        let Self { node, tap } = self;
        node.depart(now, &mut WatchedOut { out, watch: tap });
    }

    pub fn fault(
        &mut self,
        now: Time,
        port: usize,
        change: PortFault,
        flying: Vec<InFlight<Packet>>,
    ) -> LinkLeftovers {
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
    pub(super) at: Vec<(NodeId, usize)>,
    pub(super) ports: Vec<CapturedPort>,
    taps: Vec<(NodeId, Tap)>,
    pub(super) lossless: Option<u8>, // classes that are paused one by one
}

impl Taps {
    /// The taps of a scenario.
    pub fn plan(scenario: &Scenario, plan: &Plan, fabric: &Fabric) -> Self {
        let lossless = PauseSetup::of(scenario, plan).and_then(|pausing| pausing.classes());
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
                    overhead: scenario.fabric.wire.overhead.get(),
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

    /// The tap of a node, if it is to have one.
    pub fn take(&mut self, id: NodeId) -> Option<Tap> {
        let at = self.taps.iter().position(|t| t.0 == id)?;
        Some(self.taps.swap_remove(at).1)
    }
}
