//! Inspection of a simulation between two steps: what every port, switch and host has counted, and what is on every cable.
//!
//! For tests and for figures over time. Invariant: an inspection changes no result.

use crate::host::MemoryState;
use crate::world::{AnyNode, World, machines};
use forebay_engine::{EngineAccess, InFlight, NodeId};
use forebay_net::{PauseCounters, Port, PortCounters, Tor, TorCounters};
use forebay_transport::Sender;
use forebay_units::{BitsPerSec, Span, Time};
use forebay_wire::{HostAddr, Packet};

/// Everything at one instant: what happened before it, nothing of what happens at it.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The instant.
    pub at: Time,
    /// Every egress port, in canonical order.
    pub ports: Vec<PortState>,
    /// Every host, in canonical order.
    pub hosts: Vec<HostState>,
    /// Every switch, in canonical order.
    pub switches: Vec<SwitchState>,
    /// Every switch of a rack that queues by destination, in canonical order.
    pub racks: Vec<RackState>,
    /// Every path to memory that is modelled, in the order of hosts.
    pub memories: Vec<MemoryState>,
    /// Every flow that has started and is not finished, by host and in the order of their starts there.
    pub senders: Vec<SenderState>,
}

/// One egress port, and the direction of cable behind it.
#[derive(Clone, Debug)]
pub struct PortState {
    /// Index of the node that sends: hosts first, then switches.
    pub node: u32,
    /// Index of the node at the other end.
    pub peer: u32,
    /// Rate in force.
    pub rate: BitsPerSec,
    /// Whether the link is up.
    pub alive: bool,
    /// Queue in wire bytes, as marks, limits and samples see it.
    pub queue: u64,
    /// Packets whose transmission has not begun.
    pub waiting_packets: u64,
    /// Bytes of these packets, without wire overhead.
    pub waiting_bytes: u64,
    /// Counters; `tx_*` are of packets whose transmission has begun.
    pub counters: PortCounters,
    /// Pause frames, and time paused.
    pub pauses: PauseCounters,
    /// Classes that the peer has stopped, one bit each.
    pub stopped: u8,
    /// Classes that this port pauses at the peer, likewise.
    pub pausing_peer: u8,
    /// What has begun transmission and not yet arrived: time of arrival and packet, in order. Pause frames among them.
    pub flying: Vec<(Time, Packet)>,
}

/// One host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostState {
    /// Packets that have arrived over its cable, ACKs included.
    pub arrived: u64,
    /// Data segments among them.
    pub segments: u64,
    /// Payload handed to applications.
    pub delivered_bytes: u64,
}

/// One switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchState {
    /// Packets that have arrived.
    pub routed: u64,
    /// Of those, packets that had no route.
    pub unroutable: u64,
    /// Bytes that the shared buffer counts, an upper bound; 0 without one.
    pub shared_used: u64,
    /// Size of the shared buffer; 0 without one.
    pub shared_size: u64,
    /// Bytes held on account of in-ports, an upper bound; 0 if none pauses.
    pub held: u64,
}

/// The queues by destination of one rack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RackState {
    /// Index of the switch among all nodes.
    pub node: u32,
    /// Counters.
    pub counters: TorCounters,
    /// Every queue that something was ever sent to, in order of destinations.
    pub queues: Vec<VoqState>,
}

/// One queue by destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoqState {
    /// The destination; of a queue that hosts share, port 0 of the first rack of them.
    pub to: HostAddr,
    /// Bytes that wait.
    pub queue: u64,
    /// Bytes that have left.
    pub sent: u64,
    /// Bytes that credits have come for.
    pub credited: u64,
}

/// The sending half of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderState {
    /// Number of the flow.
    pub flow: u32,
    /// Index of the host that sends it.
    pub host: u32,
    /// Window in use, in bytes of payload.
    pub cwnd: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Span,
    /// Payload acknowledged in order.
    pub acked: u64,
    /// Segments sent again so far.
    pub retransmits: u64,
}

/// How things stand at `at`, up to which everything has been handled.
pub(crate) fn inspect(
    world: &World,
    engine: &mut impl EngineAccess<AnyNode>,
    at: Time,
) -> Inspection {
    let fabric = &world.fabric;
    let mut found = Inspection {
        at,
        ports: Vec::new(),
        hosts: Vec::new(),
        switches: Vec::new(),
        racks: Vec::new(),
        memories: Vec::new(),
        senders: Vec::new(),
    };
    for n in 0..fabric.nodes() {
        for (p, direction) in fabric.ports_of(NodeId(n)).iter().enumerate() {
            let link = engine.drain_link(direction.link);
            for one in &link {
                engine.push_link(direction.link, one);
            }
            let port = &machines::node(engine, fabric, NodeId(n)).ports()[p];
            found.ports.push(port_state(n, direction.peer.0, port, at, link));
        }
        let node = machines::node(engine, fabric, NodeId(n));
        found.hosts.extend(node.host().map(|host| HostState {
            arrived: host.arrived(),
            segments: host.delivered_segments(),
            delivered_bytes: host.delivered_bytes(),
        }));
        if let Some(host) = node.host() {
            found.memories.extend(host.memory_state(n));
            let senders = host.unfinished().map(|(sent, tcp)| sender_state(n, sent.flow, tcp));
            found.senders.extend(senders);
        }
        found.switches.extend(node.switch().map(|switch| {
            let shared = switch.shared().map_or((0, 0), |s| (s.used().get(), s.size().get()));
            SwitchState {
                routed: switch.routed(),
                unroutable: switch.unroutable(),
                shared_used: shared.0,
                shared_size: shared.1,
                held: switch.held().get(),
            }
        }));
        found.racks.extend(node.tor().map(|tor| rack_state(n, tor)));
    }
    engine.refresh();
    found
}

fn rack_state(node: u32, tor: &Tor) -> RackState {
    let queues = tor.voqs().map(|(to, voq)| VoqState {
        to,
        queue: voq.queue().get(),
        sent: voq.sent(),
        credited: voq.credited(),
    });
    RackState { node, counters: tor.counters(), queues: queues.collect() }
}

fn sender_state(host: u32, flow: u32, sender: &Sender) -> SenderState {
    SenderState {
        flow,
        host,
        cwnd: sender.window().get(),
        srtt: sender.totals().srtt,
        acked: sender.acked().get(),
        retransmits: sender.retransmits(),
    }
}

fn port_state(
    node: u32,
    peer: u32,
    port: &Port,
    at: Time,
    link: Vec<InFlight<Packet>>,
) -> PortState {
    let (unsent, _) = port.unsent(at, &link);
    let counted = port.counters();
    let counters = PortCounters {
        tx_packets: counted.tx_packets - unsent.tx_packets,
        tx_bytes: counted.tx_bytes - unsent.tx_bytes,
        ..counted
    };
    let flying = link.len() - unsent.tx_packets as usize;
    PortState {
        node,
        peer,
        rate: port.settings().rate,
        alive: port.alive(),
        queue: port.queue(at),
        waiting_packets: port.waiting() + unsent.tx_packets,
        waiting_bytes: port.waiting_bytes() + unsent.tx_bytes,
        counters,
        pauses: port.pauses(at),
        stopped: port.paused_classes(),
        pausing_peer: port.pausing_peer(),
        flying: link[..flying].iter().map(|one| (one.at, one.item)).collect(),
    }
}
