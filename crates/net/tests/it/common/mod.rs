//! One switch with its cables, driven by hand.
#![allow(dead_code)]

use forebay_engine::{Emitter, InFlight, LinkId, NodeId, Slab};
use forebay_net::{
    CLASSES, Cable, ClassPolicy, Fabric, Form, IngressPool, LinkLeftovers, Paths, PortFault,
    PortSettings, Routes, SharedBuffer, Switch, SwitchSettings,
};
use forebay_settings::{PortRules, QueueLength, WireSettings};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{Ecn, Flags, FlowId, IntRecords, Packet};
use std::collections::{BTreeMap, VecDeque};

/// A length of queue in bytes.
pub fn bytes(length: u64) -> QueueLength {
    QueueLength::Bytes(Bytes::new(length))
}

/// Wires that add so many bytes to each packet.
pub fn wire(overhead: u64) -> WireSettings {
    WireSettings { overhead: Bytes::new(overhead), ..WireSettings::default() }
}

/// All ways to keep a queue. None may change a result.
pub const FORMS: [Form; 3] = [Form::Any, Form::Queued, Form::Naive];

/// A switch whose port `p` leads to host `p`.
pub struct Bench {
    pub switch: Switch,
    pub fabric: Fabric,
    /// Every port's cable.
    pub wires: Wires,
    /// Packets put in.
    pub offered: u64,
    flight: Span,
}

/// What is on the cables, and what has come out at their ends.
#[derive(Default)]
pub struct Wires {
    flight: Span,
    flying: BTreeMap<u32, VecDeque<InFlight<Packet>>>,
    pub arrived: Vec<(u32, Time, Packet)>,
    /// INT records of each of them, of those that have any.
    pub records: Vec<Vec<u64>>,
    pub slab: Slab,
}

impl Emitter<Packet> for Wires {
    fn push(&mut self, link: LinkId, at: Time, packet: &Packet) {
        let cable = self.flying.entry(link.0).or_default();
        let at = at + self.flight;
        assert!(cable.back().is_none_or(|last| last.at <= at), "a cable is FIFO");
        cable.push_back(InFlight { at, item: *packet, words: None });
    }

    fn slab(&mut self) -> &mut Slab {
        &mut self.slab
    }

    fn done(&mut self) {}

    fn begins(&mut self) {}

    fn ends(&mut self) {}
}

impl Wires {
    /// Takes off what arrives before `now`.
    pub fn arrive_before(&mut self, now: Time) {
        for (link, cable) in &mut self.flying {
            while cable.front().is_some_and(|f| f.at < now) {
                let InFlight { at, item: mut packet, .. } = cable.pop_front().unwrap();
                if packet.has_int_records() {
                    self.records.push(records(&packet, &self.slab));
                    self.slab.release(packet.int_slot());
                    packet.ext = Packet::default().ext;
                }
                packet.ingress = 0; // of the switch, while the packet waits there
                self.arrived.push((*link, at, packet));
            }
        }
    }

    /// The packet takes telemetry, and has these records of other hops.
    pub fn push_records(&mut self, packet: &mut Packet, words: &[u64]) {
        packet.flags = packet.flags.with(Flags::TELEMETRY);
        for word in words {
            if !packet.push_int(*word) {
                let slot = self.slab.allocate();
                packet.spill_int(*word, slot, self.slab.get_mut(slot));
            }
        }
    }

    pub fn flying(&self) -> u64 {
        self.flying.values().map(|c| c.len() as u64).sum()
    }
}

/// INT records of a packet.
pub fn records(packet: &Packet, slab: &Slab) -> Vec<u64> {
    let slot = Some(packet.int_slot()).filter(|slot| *slot != 0).map(|slot| slab.get(slot));
    packet.int_records(slot, &mut IntRecords::default()).to_vec()
}

/// A port of 10 Gb/s with nothing special.
pub fn plain() -> PortSettings {
    PortSettings {
        rate: BitsPerSec::from_gbps(10),
        flight: Span::from_ns(500),
        link: LinkId(0),
        limit: None,
        marking: None,
        classes: 1,
        rules: PortRules::default(),
        wire: WireSettings::default(),
        loss: 0.0,
        key: 0x1234_5678_9abc,
        form: Form::Any,
        telemetry: None,
        shaper: None,
        credits: None,
    }
}

impl Bench {
    /// In-ports that pause, instead of a shared buffer of queues that drop.
    pub fn pausing(ports: u32, settings: PortSettings, ingress: IngressPool) -> Self {
        Self::with(ports, settings, None, Some(ingress), None)
    }

    /// A bench with ports that tell classes apart.
    pub fn by_class(
        ports: u32,
        settings: PortSettings,
        ingress: Option<IngressPool>,
        classes: [ClassPolicy; CLASSES],
    ) -> Self {
        Self::with(ports, settings, None, ingress, Some(classes))
    }

    pub fn new(ports: u32, settings: PortSettings, shared: Option<SharedBuffer>) -> Self {
        Self::with(ports, settings, shared, None, None)
    }

    /// With any of that.
    pub fn with(
        ports: u32,
        settings: PortSettings,
        shared: Option<SharedBuffer>,
        ingress: Option<IngressPool>,
        classes: Option<[ClassPolicy; CLASSES]>,
    ) -> Self {
        let classes = classes.map_or(Vec::new(), |classes| vec![classes; ports as usize]);
        let cable = |host: u32| Cable {
            a: NodeId(host),
            b: NodeId(ports),
            rate: settings.rate,
            delay: settings.flight,
            gap: Span::ZERO,
            loss: 0.0,
        };
        let fabric =
            Fabric::new(ports + 1, ports, (0..ports).map(cable).collect(), Span::ZERO, &[]);
        let routes = Routes::all(&fabric, Paths::Hash, 0, &|_| true).remove(0);
        let directions = fabric.ports_of(NodeId(ports)).iter();
        let ports = directions.map(|d| PortSettings { link: d.link, ..settings }).collect();
        let switch =
            Switch::new(SwitchSettings { routes, ports, shared, ingress, classes, samples: None });
        let wires = Wires { flight: settings.flight, ..Wires::default() };
        Self { switch, fabric, wires, offered: 0, flight: settings.flight }
    }

    pub fn arrive(&mut self, now: Time, port: usize, packet: Packet) {
        self.arrive_from(now, 0, port, packet);
    }

    /// A packet that came in by some port.
    pub fn arrive_from(&mut self, now: Time, ingress_port: u32, port: usize, mut packet: Packet) {
        packet.dst = self.fabric.addr(port as u32);
        self.offered += 1;
        self.switch.arrive(now, ingress_port, &mut packet, &mut self.wires);
    }

    /// The peer of a port says which classes to stop.
    pub fn hear(&mut self, now: Time, port: u32, classes: u8) {
        self.switch.arrive(now, port, &mut Packet::pause(classes), &mut self.wires);
    }

    /// Handles everything before `now`, and takes off the cables what has arrived.
    pub fn run_to(&mut self, now: Time) {
        if now > Time::ZERO {
            self.switch.depart(now - Span::from_ps(1), &mut self.wires);
        }
        self.wires.arrive_before(now);
    }

    /// A fault of one port's cable at a boundary.
    pub fn fault(&mut self, now: Time, port: usize, change: PortFault) {
        self.run_to(now);
        let link = self.switch.ports()[port].settings().link;
        let flying = self.wires.flying.remove(&link.0).unwrap_or_default();
        let LinkLeftovers { back, lost } = self.switch.fault(now, port, change, flying.into());
        self.wires.flying.insert(link.0, back.into());
        lost.iter().for_each(|packet| self.wires.slab.release(packet.int_slot()));
    }

    /// Everything that was put in: waiting, on a cable, arrived, dropped or lost.
    pub fn accounted(&self, now: Time) -> u64 {
        let port = |p: &forebay_net::Port| {
            let counters = p.counters();
            p.waiting() + counters.refused() + counters.lost_packets
        };
        let ports: u64 = self.switch.ports().iter().map(port).sum();
        let _ = now;
        ports + self.wires.flying() + self.wires.arrived.len() as u64 + self.switch.unroutable()
    }
}

pub fn packet(flow: u32, seq: u64, size: u16, ecn: Ecn) -> Packet {
    Packet { flow: FlowId(flow), seq, size, ecn, ..Packet::default() }
}

pub fn ps(ps: u64) -> Time {
    Time::from_ps(ps)
}
