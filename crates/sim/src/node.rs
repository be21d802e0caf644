//! The two kinds of node, told apart by `match`.

use crate::host::Host;
use forebay_engine::{Lanes, Node, Out, prefetch_all};
use forebay_net::{Port, Switch};
use forebay_units::Time;
use forebay_wire::Packet;

/// A node of a simulation.
#[derive(Clone, Debug)]
pub(crate) enum AnyNode {
    Host(Box<Host>),
    Switch(Box<Switch>),
}

impl Node for AnyNode {
    type Item = Packet;

    #[inline]
    fn next_timer(&self) -> Time {
        match self {
            Self::Host(host) => host.next_timer(),
            Self::Switch(switch) => switch.next_timer(),
        }
    }

    #[inline]
    fn next_departure(&self) -> Time {
        match self {
            Self::Host(_) => Time::MAX, // its pulls may set timers, so they are timers themselves
            Self::Switch(switch) => switch.next_departure(),
        }
    }

    // The switch's path becomes part of the engine's loop; the host's is a call.
    #[inline(always)]
    fn arrive<O: Out<Packet>>(&mut self, now: Time, port: u32, packet: &mut Packet, out: &mut O) {
        match self {
            Self::Host(host) => host.arrive(now, packet, out),
            Self::Switch(switch) => switch.arrive(now, port, packet, out),
        }
    }

    fn timer<O: Out<Packet>>(&mut self, now: Time, out: &mut O) {
        match self {
            Self::Host(host) => host.timer(now, out),
            Self::Switch(switch) => switch.timer(now, out),
        }
    }

    #[inline]
    fn prefetch(&self, stage: u32, lanes: &Lanes<Packet>) {
        match (self, stage) {
            (Self::Host(host), 0) => prefetch_all(&**host),
            (Self::Host(host), 1) => host.prefetch(),
            (Self::Switch(switch), 0) => prefetch_all(&**switch),
            (Self::Switch(switch), 1) => switch.prefetch(),
            (_, 2) => self.out_ports().for_each(|port| lanes.prefetch_ring(port.link())),
            (_, _) => self.out_ports().for_each(|port| lanes.prefetch_tail(port.link())),
        }
    }

    fn depart<O: Out<Packet>>(&mut self, now: Time, out: &mut O) {
        match self {
            Self::Host(_) => {}
            Self::Switch(switch) => switch.depart(now, out),
        }
    }
}

impl AnyNode {
    fn out_ports(&self) -> std::slice::Iter<'_, Port> {
        match self {
            Self::Host(host) => std::slice::from_ref(host.port()).iter(),
            Self::Switch(switch) => switch.ports().iter(),
        }
    }

    pub fn host(&self) -> Option<&Host> {
        match self {
            Self::Host(host) => Some(host),
            Self::Switch(_) => None,
        }
    }

    pub fn switch(&self) -> Option<&Switch> {
        match self {
            Self::Host(_) => None,
            Self::Switch(switch) => Some(switch),
        }
    }
}
