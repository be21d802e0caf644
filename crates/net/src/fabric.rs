//! Nodes and cables, numbered: which port leads where, and which link that is for the engine.

use forebay_engine::{LinkId, LinkSpec, NodeId};
use forebay_units::{BitsPerSec, Span};
use forebay_wire::HostAddr;
use std::borrow::Cow;

/// A cable between two nodes, the same both ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cable {
    /// One end.
    pub a: NodeId,
    /// The other.
    pub b: NodeId,
    /// Rate.
    pub rate: BitsPerSec,
    /// Propagation delay.
    pub delay: Span,
    /// Time of the gap after a frame. The wire is busy with it when the frame is complete already. Less than `delay`, or both are zero.
    pub gap: Span,
    /// Share of packets lost at random.
    pub loss: f64,
}

/// One direction of a cable, seen from the port that sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Direction {
    /// The node at the other end.
    pub peer: NodeId,
    /// The engine's name of this direction.
    pub link: LinkId,
    /// Index of the cable.
    pub cable: u32,
    /// From the end of a transmission to the arrival at the peer: propagation plus the peer's ingress latency, less the gap that
    /// ends each transmission.
    pub flight: Span,
    /// The gap that ends each transmission.
    pub gap: Span,
}

impl Cable {
    /// From the end of a transmission, gap included, to the arrival of the frame at the other end.
    pub fn flight(&self) -> Span {
        self.delay.saturating_sub(self.gap)
    }
}

/// A fabric, numbered. Port `p` of a node leads to its `p`-th neighbour in canonical order, and ingress port `p` is the
/// other direction of the same cable; ingress ports beyond those are control links.
///
/// Hosts may be NICs of one machine. The engine has one node for all of them, their home, with the ingress ports of the first, then of the next.
#[derive(Clone, Debug)]
pub struct Fabric {
    hosts: u32,
    cables: Vec<Cable>,
    ports: Vec<Direction>,
    first_port: Vec<u32>, // by node, and one more
    links: Vec<LinkSpec>,
    homes: Vec<NodeId>, // by host; empty where every host is a machine by itself
    control: Vec<(NodeId, NodeId, LinkId)>, // sorted
    tors: Vec<NodeId>,
    addrs: Vec<HostAddr>,
}

impl Fabric {
    /// Numbers a fabric of `nodes` nodes, the first `hosts` of which are hosts with one cable each, to a switch.
    /// `latency` is the ingress latency of every switch; `control` are control links, from and to with their delay.
    ///
    /// # Panics
    /// If a host has no cable or more than one, or two cables join the same two nodes: scenarios are checked.
    pub fn new(
        nodes: u32,
        hosts: u32,
        cables: Vec<Cable>,
        latency: Span,
        control: &[(NodeId, NodeId, Span)],
    ) -> Self {
        Self::with_machines((nodes, hosts), Vec::new(), cables, latency, control)
    }

    /// Numbers a fabric with machines: `homes[h]` is the first host of the machine that host `h` is a NIC of, which is `h` itself for a
    /// host by itself. Empty where all are.
    ///
    /// # Panics
    /// As [`Fabric::new`].
    pub fn with_machines(
        (nodes, hosts): (u32, u32),
        homes: Vec<NodeId>,
        cables: Vec<Cable>,
        latency: Span,
        control: &[(NodeId, NodeId, Span)],
    ) -> Self {
        let home = |node: NodeId| homes.get(node.0 as usize).copied().unwrap_or(node);
        let ingress = |to: NodeId| if to.0 < hosts { Span::ZERO } else { latency };
        // Every direction, as (receiver, 0 for cables or 1 for control links, sender): the order of links, but for machines.
        let mut order: Vec<(NodeId, u8, NodeId, u32)> =
            Vec::with_capacity(2 * cables.len() + control.len());
        for (i, cable) in (0u32..).zip(&cables) {
            order.push((cable.b, 0, cable.a, i));
            order.push((cable.a, 0, cable.b, i));
        }
        for (i, (from, to, _)) in (0u32..).zip(control) {
            order.push((*to, 1, *from, i));
        }
        order.sort_unstable_by_key(|o| (home(o.0), *o));
        let same =
            |w: &[(NodeId, u8, NodeId, u32)]| (w[0].0, w[0].1, w[0].2) == (w[1].0, w[1].1, w[1].2);
        assert!(!order.windows(2).any(same), "two nodes are joined by one cable at most");
        let busy = |cable: &Cable| cable.rate.get() as f64 / (8.0 * TYPICAL_PACKET);
        let links: Vec<LinkSpec> = order
            .iter()
            .map(|(to, kind, from, i)| {
                let (lookahead, busy_rate) = match kind {
                    0 => (cables[*i as usize].flight() + ingress(*to), busy(&cables[*i as usize])),
                    _ => (control[*i as usize].2, 0.0),
                };
                LinkSpec { from: home(*from), to: home(*to), lookahead, busy_rate }
            })
            .collect();
        // A port is the reverse of an ingress port, so ports come in the order of ingress ports.
        let link_of = |from: NodeId, to: NodeId| {
            let at =
                order.partition_point(|o| (home(o.0), o.0, o.1, o.2) < (home(to), to, 0, from));
            LinkId(at as u32)
        };
        let mut ports = Vec::with_capacity(2 * cables.len());
        let mut first_port = vec![0u32; nodes as usize + 1];
        let mut by_node = Cow::Borrowed(&order);
        if !homes.is_empty() {
            by_node.to_mut().sort_unstable();
        }
        for (node, _, peer, i) in by_node.iter().filter(|o| o.1 == 0) {
            let cable = &cables[*i as usize];
            let (flight, gap) = (cable.flight() + ingress(*peer), cable.gap);
            let link = link_of(*node, *peer);
            ports.push(Direction { peer: *peer, link, cable: *i, flight, gap });
            first_port[node.0 as usize + 1] += 1;
        }
        for n in 0..nodes as usize {
            first_port[n + 1] += first_port[n];
        }
        let mut control: Vec<_> = (0u32..)
            .zip(&order)
            .filter(|(_, o)| o.1 == 1)
            .map(|(link, o)| (o.2, o.0, LinkId(link)))
            .collect();
        control.sort_unstable();
        let mut fabric = Self {
            hosts,
            cables,
            ports,
            first_port,
            links,
            homes,
            control,
            tors: Vec::new(),
            addrs: Vec::new(),
        };
        fabric.place_hosts();
        fabric
    }

    fn place_hosts(&mut self) {
        let switch_of = |host: u32| {
            let ports = self.ports_of(NodeId(host));
            assert!(ports.len() == 1, "a host has one cable");
            ports[0].peer
        };
        let homes: Vec<NodeId> = (0..self.hosts).map(switch_of).collect();
        let mut tors = homes.clone();
        tors.sort_unstable();
        tors.dedup();
        let addr = |host: u32| {
            let home = homes[host as usize];
            let tor = tors.binary_search(&home).expect("every home is a rack switch") as u16;
            let at = self.ports_of(home).binary_search_by_key(&NodeId(host), |d| d.peer);
            HostAddr { tor, port: at.expect("a cable has two ends") as u16 }
        };
        self.addrs = (0..self.hosts).map(addr).collect();
        self.tors = tors;
    }

    /// How many hosts there are; they are the first nodes.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.first_port.len() as u32 - 1
    }

    /// The ports of a node, in order.
    #[inline]
    pub fn ports_of(&self, node: NodeId) -> &[Direction] {
        &self.ports[self.first_port[node.0 as usize] as usize
            ..self.first_port[node.0 as usize + 1] as usize]
    }

    /// The link that arrives at ingress port `port` of a node, by the cable of its port of that number.
    ///
    /// # Panics
    /// If it has no such port.
    pub fn in_link(&self, node: NodeId, port: usize) -> LinkId {
        let peer = self.ports_of(node)[port].peer;
        let back = self.ports_of(peer).iter().find(|back| back.peer == node);
        back.expect("a cable has two ends").link
    }

    /// The engine's node that a node is part of: the first NIC of its machine, for a host; itself, for a switch.
    pub fn home(&self, node: NodeId) -> NodeId {
        self.homes.get(node.0 as usize).copied().unwrap_or(node)
    }

    /// In-ports of a host, control links among them.
    pub fn in_ports(&self, host: NodeId) -> u32 {
        let control = self.control.iter().filter(|link| link.1 == host).count();
        (self.ports_of(host).len() + control) as u32
    }

    /// A cable.
    pub fn cable(&self, index: u32) -> &Cable {
        &self.cables[index as usize]
    }

    /// All cables, in the order given.
    pub fn cables(&self) -> &[Cable] {
        &self.cables
    }

    /// All directed links, in the engine's order and between its nodes.
    pub fn links(&self) -> &[LinkSpec] {
        &self.links
    }

    /// The control link between two nodes.
    pub fn control_link(&self, from: NodeId, to: NodeId) -> Option<LinkId> {
        let at = self.control.binary_search_by_key(&(from, to), |c| (c.0, c.1)).ok()?;
        Some(self.control[at].2)
    }

    /// Switches with hosts, in canonical order: `HostAddr::tor` indexes them.
    pub fn tors(&self) -> &[NodeId] {
        &self.tors
    }

    /// Address of a host.
    pub fn addr(&self, host: u32) -> HostAddr {
        self.addrs[host as usize]
    }

    /// Whether a node is a host.
    pub fn is_host(&self, node: NodeId) -> bool {
        node.0 < self.hosts
    }
}

/// Packet size for the guess how many events a busy link makes.
const TYPICAL_PACKET: f64 = 4_096.0;
