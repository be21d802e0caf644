//! The kinds of node, dispatched by `match`.

use super::inner_node::InnerNode;
use super::machine::Machine;
use crate::host::Host;
use crate::observe::follow::{FollowedNode, KindOf};
use crate::observe::tap::{TapPort, TappedNode};
use forebay_engine::{Digest, Emitter, InFlight, LinkRings, Node, Visitor, prefetch_all};
use forebay_net::{LinkLeftovers, Port, PortFault, Routes, Switch, Tor};
use forebay_units::Time;
use forebay_wire::Packet;

/// A node of a simulation.
#[derive(Clone, Debug)]
pub(crate) enum AnyNode {
    Host(Box<Host>),
    Switch(Box<Switch>),
    /// One whose hosts' data is queued by destination.
    Tor(Box<Tor>),
    /// One of the others, some of whose ports are captured.
    Tapped(Box<TappedNode<AnyNode>>),
    /// One of the others, with a log of the flows that are followed.
    Followed(Box<FollowedNode<AnyNode>>),
    /// Hosts that share a memory.
    Machine(Box<Machine<AnyNode>>),
}

impl Node for AnyNode {
    type Item = Packet;

    fn slot(packet: &mut Packet) -> Option<&mut u32> {
        packet.int_slot_mut()
    }

    #[inline]
    fn next_timer(&self) -> Time {
        match self {
            Self::Host(host) => host.next_timer(),
            Self::Switch(switch) => switch.next_timer(),
            Self::Tor(tor) => tor.next_timer(),
            Self::Tapped(tapped) => tapped.node.next_timer(),
            Self::Followed(one) => one.node.next_timer(),
            Self::Machine(machine) => machine.next_timer(),
        }
    }

    #[inline]
    fn next_departure(&self) -> Time {
        match self {
            Self::Host(_) => Time::MAX, // its pulls may set timers, so they are timers themselves
            Self::Switch(switch) => switch.next_departure(),
            Self::Tor(tor) => tor.next_departure(),
            Self::Tapped(tapped) => tapped.node.next_departure(),
            Self::Followed(one) => one.node.next_departure(),
            Self::Machine(machine) => machine.next_departure(),
        }
    }

    #[inline]
    fn arrive<O: Emitter<Packet>>(
        &mut self,
        now: Time,
        port: u32,
        packet: &mut Packet,
        out: &mut O,
    ) {
        match self {
            Self::Host(host) => host.arrive(now, packet, out),
            Self::Switch(switch) => switch.arrive(now, port, packet, out),
            Self::Tor(tor) => tor.arrive(now, port, packet, out),
            Self::Tapped(tapped) => tapped.arrive(now, port, packet, out),
            Self::Followed(one) => one.arrive(now, port, packet, out),
            Self::Machine(machine) => machine.arrive(now, port, packet, out),
        }
    }

    fn timer<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        match self {
            Self::Host(host) => host.timer(now, out),
            Self::Switch(switch) => switch.timer(now, out),
            Self::Tor(tor) => tor.timer(now, out),
            Self::Tapped(tapped) => tapped.timer(now, out),
            Self::Followed(one) => one.timer(now, out),
            Self::Machine(machine) => machine.timer(now, out),
        }
    }

    // The switch's path becomes part of the engine's loop; the host's is a call, and so is all of a visit to the others.
    #[inline]
    fn dispatch(&mut self, visit: impl Visitor<Packet>) {
        match self {
            Self::Host(host) => visit.visit(&mut **host),
            Self::Switch(switch) => visit.visit(&mut **switch),
            Self::Tor(tor) => visit_apart(visit, &mut **tor),
            Self::Tapped(tapped) => visit_apart(visit, &mut **tapped),
            Self::Followed(one) => visit_followed(one, visit),
            Self::Machine(machine) => visit_apart(visit, &mut **machine),
        }
    }

    #[inline]
    fn prefetch(&self, stage: u32, rings: &LinkRings<Packet>) {
        match (self, stage) {
            (Self::Host(host), 0) => prefetch_all(&**host),
            (Self::Host(host), 1) => host.prefetch(),
            (Self::Switch(switch), 0) => prefetch_all(&**switch),
            (Self::Switch(switch), 1) => switch.prefetch(),
            (Self::Tapped(_) | Self::Followed(_) | Self::Tor(_) | Self::Machine(_), _) => {}
            (Self::Switch(switch), 2) => switch.prefetch_queues(),
            (_, 2) => {}
            (_, 3) => {
                if let Self::Switch(switch) = self {
                    switch.prefetch_routes();
                    switch.prefetch_heads();
                }
                self.ports().iter().for_each(|port| rings.prefetch_ring(port.link()));
            }
            (_, _) => self.ports().iter().for_each(|port| rings.prefetch_tail(port.link())),
        }
    }

    fn depart<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        match self {
            Self::Host(_) => {}
            Self::Switch(switch) => switch.depart(now, out),
            Self::Tor(tor) => tor.depart(now, out),
            Self::Tapped(tapped) => tapped.depart(now, out),
            Self::Followed(one) => one.depart(now, out),
            Self::Machine(machine) => machine.depart(now, out),
        }
    }
}

/// Keeps the path of a kind of node out of the engine's loop.
#[cold]
#[inline(never)]
fn visit_apart<N: Node<Item = Packet>>(visit: impl Visitor<Packet>, node: &mut N) {
    visit.visit(node);
}

/// Hands over a followed node as what it is.
#[cold]
#[inline(never)]
fn visit_followed(one: &mut FollowedNode<AnyNode>, visit: impl Visitor<Packet>) {
    match one.node {
        AnyNode::Host(_) => visit.visit(&mut one.known_as::<Host>()),
        AnyNode::Switch(_) => visit.visit(&mut one.known_as::<Switch>()),
        _ => visit.visit(&mut one.known_as::<AnyNode>()),
    }
}

macro_rules! kinds {
    ($($Kind:ident),*) => {$(
        impl KindOf<AnyNode> for $Kind {
            #[inline]
            fn of(node: &AnyNode) -> &Self {
                match node {
                    AnyNode::$Kind(node) => node,
                    _ => unreachable!("a node stays what it is"),
                }
            }

            #[inline]
            fn of_mut(node: &mut AnyNode) -> &mut Self {
                match node {
                    AnyNode::$Kind(node) => node,
                    _ => unreachable!("a node stays what it is"),
                }
            }
        }
    )*};
}

kinds!(Host, Switch);

impl Node for Host {
    type Item = Packet;

    #[inline]
    fn next_timer(&self) -> Time {
        self.next_timer()
    }

    #[inline]
    fn next_departure(&self) -> Time {
        Time::MAX // its pulls may set timers, so they are timers themselves
    }

    #[inline]
    fn arrive<O: Emitter<Packet>>(
        &mut self,
        now: Time,
        _port: u32,
        packet: &mut Packet,
        out: &mut O,
    ) {
        self.arrive(now, packet, out);
    }

    fn timer<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        self.timer(now, out);
    }

    fn depart<O: Emitter<Packet>>(&mut self, _now: Time, _out: &mut O) {}
}

/// A node that is watched keeps the times of the one within, and shows it what comes.
macro_rules! watched {
    ($($Wrapper:ident),*) => {$(
        impl<N: InnerNode> Node for $Wrapper<N> {
            type Item = Packet;

            fn next_timer(&self) -> Time {
                self.node.next_timer()
            }

            fn next_departure(&self) -> Time {
                self.node.next_departure()
            }

            fn arrive<O: Emitter<Packet>>(&mut self, now: Time, port: u32, packet: &mut Packet, out: &mut O) {
                self.arrive(now, port, packet, out);
            }

            fn timer<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
                self.timer(now, out);
            }

            fn depart<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
                self.depart(now, out);
            }
        }
    )*};
}

watched!(TappedNode, FollowedNode);

impl InnerNode for AnyNode {
    fn ports(&self) -> &[Port] {
        self.ports()
    }

    fn host(&self) -> Option<&Host> {
        self.host()
    }

    fn host_mut(&mut self) -> Option<&mut Host> {
        self.host_mut()
    }

    fn fault(
        &mut self,
        now: Time,
        port: usize,
        change: PortFault,
        flying: Vec<InFlight<Packet>>,
    ) -> LinkLeftovers {
        self.fault(now, port, change, flying)
    }
}

impl AnyNode {
    /// Egress ports of the node, in the fabric's order. Those of a machine are its NICs' own.
    pub fn ports(&self) -> &[Port] {
        match self {
            Self::Host(host) => std::slice::from_ref(host.port()),
            Self::Switch(switch) => switch.ports(),
            Self::Tor(tor) => tor.switch().ports(),
            Self::Tapped(tapped) => tapped.node.ports(),
            Self::Followed(one) => one.node.ports(),
            Self::Machine(_) => &[],
        }
    }

    pub fn host(&self) -> Option<&Host> {
        match self {
            Self::Host(host) => Some(host),
            Self::Switch(_) | Self::Tor(_) | Self::Machine(_) => None,
            Self::Tapped(tapped) => tapped.node.host(),
            Self::Followed(one) => one.node.host(),
        }
    }

    pub fn host_mut(&mut self) -> Option<&mut Host> {
        match self {
            Self::Host(host) => Some(host),
            Self::Switch(_) | Self::Tor(_) | Self::Machine(_) => None,
            Self::Tapped(tapped) => tapped.node.host_mut(),
            Self::Followed(one) => one.node.host_mut(),
        }
    }

    pub fn switch(&self) -> Option<&Switch> {
        match self {
            Self::Host(_) | Self::Machine(_) => None,
            Self::Switch(switch) => Some(switch),
            Self::Tor(tor) => Some(tor.switch()),
            Self::Tapped(tapped) => tapped.node.switch(),
            Self::Followed(one) => one.node.switch(),
        }
    }

    /// Queues by destination, if it has such.
    pub fn tor(&self) -> Option<&Tor> {
        match self {
            Self::Tor(tor) => Some(tor),
            Self::Tapped(tapped) => tapped.node.tor(),
            Self::Followed(one) => one.node.tor(),
            Self::Host(_) | Self::Switch(_) | Self::Machine(_) => None,
        }
    }

    /// Hash of all that it delivered, dropped or lost.
    pub fn digest(&self) -> Digest {
        match self {
            Self::Host(host) => host.digest,
            Self::Switch(switch) => switch.digest(),
            Self::Tor(tor) => tor.digest(),
            Self::Tapped(tapped) => tapped.node.digest(),
            Self::Followed(one) => one.node.digest(),
            Self::Machine(_) => Digest::default(), // its NICs have theirs
        }
    }

    /// Applies a fault to an egress port at a forced boundary. `flying` is what was on its link; the answer says what
    /// goes back, and what is lost.
    pub fn fault(
        &mut self,
        now: Time,
        port: usize,
        change: PortFault,
        flying: Vec<InFlight<Packet>>,
    ) -> LinkLeftovers {
        match self {
            Self::Host(host) => host.fault(now, change, flying),
            Self::Switch(switch) => switch.fault(now, port, change, flying),
            Self::Tor(tor) => tor.fault(now, port, change, flying),
            Self::Tapped(tapped) => tapped.fault(now, port, change, flying),
            Self::Followed(one) => one.fault(now, port, change, flying),
            Self::Machine(_) => unreachable!("faults are those of its NICs"),
        }
    }

    /// Replaces the routes of a switch.
    pub fn reroute(&mut self, routes: Routes) {
        match self {
            Self::Host(_) | Self::Machine(_) => {}
            Self::Switch(switch) => switch.reroute(routes),
            Self::Tor(tor) => tor.switch_mut().reroute(routes),
            Self::Tapped(tapped) => tapped.node.reroute(routes),
            Self::Followed(one) => one.node.reroute(routes),
        }
    }

    /// A captured port, by its place in this node's tap.
    ///
    /// # Panics
    /// If the node has no such tap.
    pub fn tap_port(&mut self, place: usize) -> &mut TapPort {
        match self {
            Self::Tapped(tapped) => tapped.port(place),
            _ => unreachable!("only tapped nodes have observations"),
        }
    }
}
