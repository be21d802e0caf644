//! A switch alone, with packets put into it by hand: a test source.

use forebay_engine::{Emitter, LinkId, NodeId, Slab};
use forebay_net::{
    Cable, Fabric, Form, Paths, PortSettings, Routes, SharedBuffer, Switch, SwitchSettings,
};
use forebay_units::{BitsPerSec, Span, Time};
use forebay_wire::{FlowId, HostAddr, Packet};

/// A switch with `ports` ports of one rate, one host behind each.
pub(crate) struct Bench {
    pub switch: Switch,
    addrs: Vec<HostAddr>,
}

impl Bench {
    pub fn new(ports: u32, rate: BitsPerSec, shared: Option<SharedBuffer>) -> Self {
        let cable = |host: u32| Cable {
            a: NodeId(host),
            b: NodeId(ports),
            rate,
            delay: Span::ZERO,
            gap: Span::ZERO,
            loss: 0.0,
        };
        let cables = (0..ports).map(cable).collect();
        let fabric = Fabric::new(ports + 1, ports, cables, Span::ZERO, &[]);
        let routes = Routes::all(&fabric, Paths::Hash, 0, &|_| true).remove(0);
        let port = |link: LinkId| PortSettings {
            rate,
            flight: Span::ZERO,
            link,
            limit: None,
            marking: None,
            classes: 1,
            rules: Default::default(),
            wire: Default::default(),
            loss: 0.0,
            key: 0,
            form: Form::Any,
            telemetry: None,
            shaper: None,
            credits: None,
        };
        let settings = fabric.ports_of(NodeId(ports)).iter().map(|d| port(d.link)).collect();
        let switch = Switch::new(SwitchSettings {
            routes,
            ports: settings,
            shared,
            ingress: None,
            classes: Vec::new(),
            samples: None,
        });
        let addrs = (0..ports).map(|host| fabric.addr(host)).collect();
        Self { switch, addrs }
    }

    /// A packet of `size` bytes for the host behind `port` arrives at `now`.
    pub fn arrive(&mut self, now: Time, port: usize, size: u16, out: &mut Departures) {
        let mut packet =
            Packet { flow: FlowId(port as u32), dst: self.addrs[port], size, ..Packet::default() };
        self.switch.arrive(now, 0, &mut packet, out);
    }
}

/// Hears of packets that leave.
#[derive(Default)]
pub(crate) struct Departures {
    /// When the last bit of the last one left.
    pub last: Time,
    slab: Slab,
}

impl Emitter<Packet> for Departures {
    fn push(&mut self, _link: LinkId, at: Time, _packet: &Packet) {
        self.last = at;
    }

    fn slab(&mut self) -> &mut Slab {
        &mut self.slab
    }

    fn done(&mut self) {}

    fn begins(&mut self) {}

    fn ends(&mut self) {}
}
