//! A machine with several NICs: hosts that share a memory, together in one node of the engine.
//!
//! Sharing knows no delay, so nothing may happen at one NIC ahead of the other. Each stays a host of its own, with its cable, its flows and
//! its digest; the path to memory goes from hand to hand, and the NIC that an event is about has it.

use super::inner_node::InnerNode;
use crate::host::{Host, Memory};
use forebay_engine::{Emitter, Node, NodeId};
use forebay_net::Fabric;
use forebay_units::Time;
use forebay_wire::Packet;

/// The NICs of a machine; none where they are in another node.
#[derive(Clone, Debug)]
pub(crate) struct Machine<N> {
    nics: Vec<Nic<N>>,
    holder: usize, // of the path to memory
}

#[derive(Clone, Debug)]
struct Nic<N> {
    id: NodeId,
    host: N,       // one, or one with a tap
    first_in: u32, // in-port of the machine that is its first
}

impl<N> Default for Machine<N> {
    fn default() -> Self {
        Self { nics: Vec::new(), holder: 0 }
    }
}

impl<N: InnerNode> Machine<N> {
    /// Puts hosts together that share `memory`, which knows their order.
    pub fn new(hosts: Vec<(NodeId, N)>, mut memory: Box<Memory>, fabric: &Fabric) -> Self {
        let mut first_in = 0;
        let nics = hosts.into_iter().map(|(id, host)| {
            let nic = Nic { id, host, first_in };
            first_in += fabric.in_ports(id);
            nic
        });
        let mut machine = Self { nics: nics.collect(), holder: 0 };
        for nic in 0..machine.nics.len() {
            memory.hand(nic);
            let host = machine.host_mut(nic);
            host.with_memory(memory);
            memory = host.take_memory().expect("it has just been given");
        }
        memory.hand(0);
        machine.host_mut(0).give_memory(memory);
        machine
    }

    /// Hands the path to memory to a NIC.
    fn hand(&mut self, nic: usize) -> &mut N {
        if self.holder != nic {
            let memory = self.host_mut(self.holder).take_memory();
            let mut memory = memory.expect("the holder has it");
            memory.hand(nic);
            self.host_mut(nic).give_memory(memory);
            self.holder = nic;
        }
        &mut self.nics[nic].host
    }

    fn host_mut(&mut self, nic: usize) -> &mut Host {
        self.nics[nic].host.host_mut().expect("a machine consists of hosts")
    }

    /// When something on the path to memory is due.
    fn memory_due(&self) -> Time {
        let holder = self.nics.get(self.holder).and_then(|nic| nic.host.host());
        holder.and_then(Host::memory).map_or(Time::MAX, Memory::due_at_any)
    }

    /// A NIC, with the path to memory.
    pub fn nic(&mut self, id: NodeId) -> &mut N {
        let nic = self.nics.iter().position(|nic| nic.id == id);
        self.hand(nic.expect("its home is this machine"))
    }

    /// NICs with a path to memory each, all of the same state.
    pub fn part(mut self) -> Vec<(NodeId, N)> {
        if !self.nics.is_empty() {
            let memory = self.host_mut(self.holder).take_memory().expect("the holder has it");
            for nic in 0..self.nics.len() {
                let mut own = memory.clone();
                own.hand(nic);
                self.host_mut(nic).give_memory(own);
            }
        }
        self.nics.into_iter().map(|nic| (nic.id, nic.host)).collect()
    }
}

impl<N: InnerNode> Node for Machine<N> {
    type Item = Packet;

    fn next_timer(&self) -> Time {
        self.nics.iter().fold(self.memory_due(), |due, nic| due.min(nic.host.next_timer()))
    }

    fn next_departure(&self) -> Time {
        Time::MAX // as of its hosts
    }

    fn arrive<O: Emitter<Packet>>(
        &mut self,
        now: Time,
        port: u32,
        packet: &mut Packet,
        out: &mut O,
    ) {
        let nic = self.nics.partition_point(|nic| nic.first_in <= port) - 1;
        let port = port - self.nics[nic].first_in;
        self.hand(nic).arrive(now, port, packet, out);
    }

    fn timer<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        for nic in 0..self.nics.len() {
            self.hand(nic).timer(now, out);
        }
    }

    fn depart<O: Emitter<Packet>>(&mut self, _now: Time, _out: &mut O) {}
}
