//! Nodes and cables, numbered: which port leads where, and which link that is for the engine.

use forebay_engine::{LinkId, LinkSpec, NodeId};
use forebay_units::{BitsPerSec, Span};
use forebay_wire::HostAddr;

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
    /// From the last bit sent to the arrival at the peer: propagation plus the peer's ingress latency.
    pub flight: Span,
}

/// A fabric, numbered. Port `p` of a node leads to its `p`-th neighbour in canonical order, and in-port `p` is the
/// other direction of the same cable; in-ports beyond those are control links.
#[derive(Clone, Debug)]
pub struct Fabric {
    hosts: u32,
    cables: Vec<Cable>,
    ports: Vec<Direction>,
    first_port: Vec<u32>, // by node, and one more
    links: Vec<LinkSpec>,
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
        let ingress = |to: NodeId| if to.0 < hosts { Span::ZERO } else { latency };
        // Every direction, as (receiver, 0 for cables or 1 for control links, sender): the order of links.
        let mut order: Vec<(NodeId, u8, NodeId, u32)> =
            Vec::with_capacity(2 * cables.len() + control.len());
        for (i, cable) in (0u32..).zip(&cables) {
            order.push((cable.b, 0, cable.a, i));
            order.push((cable.a, 0, cable.b, i));
        }
        for (i, (from, to, _)) in (0u32..).zip(control) {
            order.push((*to, 1, *from, i));
        }
        order.sort_unstable();
        let same =
            |w: &[(NodeId, u8, NodeId, u32)]| (w[0].0, w[0].1, w[0].2) == (w[1].0, w[1].1, w[1].2);
        assert!(!order.windows(2).any(same), "two nodes are joined by one cable at most");
        let busy = |cable: &Cable| cable.rate.get() as f64 / (8.0 * TYPICAL_PACKET);
        let links: Vec<LinkSpec> = order
            .iter()
            .map(|(to, kind, from, i)| {
                let (lookahead, busy_rate) = match kind {
                    0 => (cables[*i as usize].delay + ingress(*to), busy(&cables[*i as usize])),
                    _ => (control[*i as usize].2, 0.0),
                };
                LinkSpec { from: *from, to: *to, lookahead, busy_rate }
            })
            .collect();
        // A port is the reverse of an in-port, so ports come in the order of in-ports.
        let link_of = |from: NodeId, to: NodeId| {
            let at = order.partition_point(|o| (o.0, o.1, o.2) < (to, 0, from));
            LinkId(at as u32)
        };
        let mut ports = Vec::with_capacity(2 * cables.len());
        let mut first_port = vec![0u32; nodes as usize + 1];
        for (node, kind, peer, i) in &order {
            if *kind == 0 {
                let flight = cables[*i as usize].delay + ingress(*peer);
                ports.push(Direction {
                    peer: *peer,
                    link: link_of(*node, *peer),
                    cable: *i,
                    flight,
                });
                first_port[node.0 as usize + 1] += 1;
            }
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
    pub fn ports_of(&self, node: NodeId) -> &[Direction] {
        &self.ports[self.first_port[node.0 as usize] as usize
            ..self.first_port[node.0 as usize + 1] as usize]
    }

    /// The link that arrives at in-port `port` of a node: links are numbered by receiver and in-port.
    pub fn in_link(&self, node: NodeId, port: usize) -> LinkId {
        let first = self.links.partition_point(|link| link.to < node);
        LinkId((first + port) as u32)
    }

    /// A cable.
    pub fn cable(&self, index: u32) -> &Cable {
        &self.cables[index as usize]
    }

    /// All cables, in the order given.
    pub fn cables(&self) -> &[Cable] {
        &self.cables
    }

    /// All directed links, in the engine's order.
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
