//! Hosts that send at the rate of their switch, and the racks that send rates.

use forebay_engine::reference::Reference;
use forebay_engine::{Emitter, EngineAccess, LinkId, Node, NodeId};
use forebay_laws::group::{GroupParams, GroupStart};
use forebay_net::{
    Cable, CreditSettings, FULL_RATE, Fabric, Form, Paths, Peer, PortSettings, Routes, Switch,
    SwitchSettings, Tor, TorCounters, TorSettings, VoqSettings, VoqTotals,
};
use forebay_settings::{PortRules, Requests, WireSettings};
use forebay_units::{BitsPerSec, Bytes, Serializer, Span, Time};
use forebay_wire::{Flags, FlowId, HostAddr, Kind, Packet};
use std::collections::BTreeMap;

const PAYLOAD: u64 = 1_000;
const HEADER: u64 = 48;
const PER_RACK: usize = 16;

pub fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// A set of readings.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    pub requests: Requests,
    params: &'static [(&'static str, &'static str)],
}

impl Bundle {
    pub const LITERAL: Self = Self {
        requests: Requests::Sent,
        params: &[("n_estimate", "ratio"), ("resume", "previous"), ("after_resume", "update")],
    };
    pub const RECOMMENDED: Self =
        Self { requests: Requests::Demand, params: &[("n_estimate", "ratio")] };
    pub const COUNT: Self = Self { requests: Requests::Demand, params: &[] };

    pub fn requesting(self, requests: Requests) -> Self {
        Self { requests, ..self }
    }
}

#[derive(Clone, Debug)]
struct Flow {
    id: FlowId,
    to: HostAddr,
    left: u64,
    rate: BitsPerSec,
    stopped: bool,
    next: Time,
    request_at: Time,
}

/// A host with a NIC of 25 Gb/s that takes turns among its flows.
pub struct Host {
    link: LinkId,
    line: BitsPerSec,
    request_interval: Span,
    flows: Vec<Flow>,
    turn: usize,
    busy: Time,
    addr: HostAddr,
    answers: bool,
    received: BTreeMap<FlowId, (u64, u64)>, // size, payload
}

impl Host {
    fn ready(&self, flow: &Flow) -> Option<Time> {
        (!flow.stopped && flow.left > 0).then(|| flow.next.max(self.busy))
    }

    /// Data says in `stamp` whose it is.
    fn answer(&mut self, now: Time, packet: &Packet, out: &mut impl Emitter<Packet>) {
        let dst = HostAddr::of_word(packet.stamp);
        let ack = Packet { kind: Kind::Ack, flow: packet.flow, dst, size: 84, ..Packet::default() };
        self.busy = self.busy.max(now) + self.line.time_for(Bytes::new(ack.size.into()));
        out.push(self.link, self.busy, &ack);
    }

    fn obey(&mut self, now: Time, packet: &Packet) {
        let (rate, to) = (BitsPerSec::new(packet.seq), HostAddr::of_word(packet.stamp));
        for flow in &mut self.flows {
            let all = packet.flow == FlowId::ALL && flow.to == to;
            if all || packet.flow == flow.id {
                match rate.get() {
                    0 => flow.stopped = true,
                    _ if all => {
                        (flow.stopped, flow.rate) = (false, rate);
                        flow.next = flow.next.max(now);
                    }
                    _ if !flow.stopped => flow.rate = rate,
                    _ => {}
                }
            }
        }
    }
}

pub enum Any {
    Host(Host),
    Tor(Box<Tor>),
    Spine(Box<Switch>),
}

impl Node for Any {
    type Item = Packet;

    fn next_timer(&self) -> Time {
        match self {
            Self::Host(host) => {
                host.flows.iter().filter_map(|flow| host.ready(flow)).min().unwrap_or(Time::MAX)
            }
            Self::Tor(tor) => tor.next_timer(),
            Self::Spine(spine) => spine.next_timer(),
        }
    }

    fn next_departure(&self) -> Time {
        match self {
            Self::Host(_) => Time::MAX,
            Self::Tor(tor) => tor.next_departure(),
            Self::Spine(spine) => spine.next_departure(),
        }
    }

    fn arrive<O: Emitter<Packet>>(
        &mut self,
        now: Time,
        port: u32,
        packet: &mut Packet,
        out: &mut O,
    ) {
        match self {
            Self::Host(host) if packet.kind == Kind::RackRate => host.obey(now, packet),
            Self::Host(_) if packet.kind == Kind::Ack => {}
            Self::Host(host) => {
                assert_eq!((packet.kind, packet.sacks), (Kind::Data, 0), "tags stay in the fabric");
                let got = host.received.entry(packet.flow).or_default();
                got.0 += u64::from(packet.size);
                got.1 += u64::from(packet.size) - HEADER;
                if host.answers {
                    host.answer(now, packet, out);
                }
            }
            Self::Tor(tor) => Node::arrive(&mut **tor, now, port, packet, out),
            Self::Spine(spine) => spine.arrive(now, port, packet, out),
        }
    }

    fn timer<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        let host = match self {
            Self::Host(host) => host,
            Self::Tor(tor) => return Node::timer(&mut **tor, now, out),
            Self::Spine(spine) => return spine.timer(now, out),
        };
        let count = host.flows.len();
        let due = |i: &usize| host.ready(&host.flows[*i]).is_some_and(|at| at <= now);
        let Some(chosen) = (0..count).map(|i| (host.turn + i) % count).find(due) else { return };
        host.turn = (chosen + 1) % count;
        let line = host.line;
        let flow = &mut host.flows[chosen];
        let payload = flow.left.min(PAYLOAD);
        let size = payload + HEADER;
        flow.left -= payload;
        flow.next = now + Serializer::new(flow.rate.min(line)).take(size);
        let requests = now >= flow.request_at;
        if requests {
            flow.request_at = (now + Span::from_ps(1)).round_up(host.request_interval);
        }
        let flags = Flags::NONE.with_if(requests, Flags::RATE_REQUEST);
        let (size, stamp) = (size as u16, host.addr.word());
        let packet =
            Packet { flow: flow.id, dst: flow.to, size, flags, stamp, ..Packet::default() };
        host.busy = now + line.time_for(Bytes::new(size.into()));
        out.push(host.link, host.busy, &packet);
    }

    fn depart<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        match self {
            Self::Host(_) => {}
            Self::Tor(tor) => Node::depart(&mut **tor, now, out),
            Self::Spine(spine) => spine.depart(now, out),
        }
    }
}

/// What each queue is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queues {
    Hosts,
    Racks,
    /// Of two: rack 0, and all others.
    Pods,
}

impl Queues {
    fn shared(self, of: u16, to: u16) -> Option<u16> {
        match self {
            Self::Hosts => None,
            Self::Racks => Some(to),
            Self::Pods => ((of == 0) != (to == 0)).then_some(to.min(1)),
        }
    }
}

/// One queue of a rack, in bytes.
pub struct Queue {
    pub queue: u64,
    /// Sent ahead of credits.
    pub ahead: u64,
    /// Totals by host, with what the port of each has given.
    pub parts: Vec<(VoqTotals, u64)>,
}

/// Racks of 16 hosts under one spine.
pub struct World {
    engine: Reference<Any>,
    fabric: Fabric,
    hosts: u32,
    flows: Vec<(u32, u32, u64)>, // from, to, size
    now: Time,
}

impl World {
    pub fn new(bundle: Bundle, advance: Bytes, racks: u32) -> Self {
        Self::with(bundle, advance, racks, 0.0, Queues::Hosts)
    }

    /// Of what crosses between two switches, this share is lost.
    pub fn losing(bundle: Bundle, advance: Bytes, racks: u32, loss: f64) -> Self {
        Self::with(bundle, advance, racks, loss, Queues::Hosts)
    }

    /// Hosts share queues.
    pub fn sharing(bundle: Bundle, advance: Bytes, racks: u32, queues: Queues) -> Self {
        Self::with(bundle, advance, racks, 0.0, queues)
    }

    fn with(bundle: Bundle, advance: Bytes, racks: u32, loss: f64, queues: Queues) -> Self {
        let hosts = racks * PER_RACK as u32;
        let tor = |rack: u32| NodeId(hosts + rack);
        let spine = NodeId(hosts + racks);
        let link = |a, b, gbps| Cable {
            a,
            b,
            rate: BitsPerSec::from_gbps(gbps),
            delay: Span::from_us(1),
            gap: Span::ZERO,
            loss: 0.0,
        };
        let mut cables: Vec<Cable> =
            (0..hosts).map(|h| link(NodeId(h), tor(h / PER_RACK as u32), 25)).collect();
        cables.extend((0..racks).map(|rack| link(tor(rack), spine, 400)));
        let fabric = Fabric::new(hosts + racks + 1, hosts, cables, Span::ZERO, &[]);
        let mut routes = Routes::all(&fabric, Paths::Hash, 1, &|_| true).into_iter();
        let line = BitsPerSec::from_gbps(25);
        let host = |h: u32| {
            Any::Host(Host {
                link: fabric.ports_of(NodeId(h))[0].link,
                line,
                request_interval: Span::from_us(10),
                flows: Vec::new(),
                turn: 0,
                busy: Time::ZERO,
                addr: fabric.addr(h),
                answers: false,
                received: BTreeMap::new(),
            })
        };
        let mut nodes: Vec<Any> = (0..hosts).map(host).collect();
        let mut law = GroupParams::new("hiercc").expect("registered");
        for (name, value) in bundle.params {
            law.set(name, value).expect("a reading");
        }
        for s in 0..=racks {
            let node = NodeId(hosts + s);
            let settings = SwitchSettings {
                routes: routes.next().expect("one each"),
                ports: fabric.ports_of(node).iter().map(|d| port(&fabric, d, loss)).collect(),
                shared: None,
                ingress: None,
                samples: None,
                classes: Vec::new(),
            };
            let switch = Switch::new(settings);
            if node == spine {
                nodes.push(Any::Spine(Box::new(switch)));
                continue;
            }
            let credit = CreditSettings {
                bytes: 1_000,
                rate: line,
                pace: FULL_RATE,
                round_trip: Span::from_us(12),
                patience: Span::from_us(100),
            };
            let leads = |d: &forebay_net::Direction| (d.peer.0 < hosts).then_some(credit);
            let settings = TorSettings {
                rack: s as u16,
                hosts: fabric.ports_of(node).iter().map(leads).collect(),
                voq: VoqSettings {
                    advance,
                    requests: bundle.requests,
                    seen_for: Span::from_us(20),
                    free: 0,
                },
                peers: (0..racks as u16)
                    .map(|rack| Peer { shared: queues.shared(s as u16, rack), advance })
                    .collect(),
                law: law.clone(),
                at: GroupStart { line_rate: line, hop_rtt: Span::from_us(2), seed: 1 },
                request_timeout: Span::from_us(100),
                message_size: 84,
            };
            nodes.push(Any::Tor(Box::new(Tor::new(switch, settings))));
        }
        let engine = Reference::new(nodes, fabric.links());
        Self { engine, fabric, hosts, flows: Vec::new(), now: Time::ZERO }
    }

    pub fn host(&self, rack: usize, nth: usize) -> u32 {
        (rack * PER_RACK + nth) as u32
    }

    /// A flow of so many bytes; they are numbered from 0.
    pub fn flow(&mut self, from: u32, to: u32, size: u64, start: Time) {
        let id = FlowId(self.flows.len() as u32);
        self.flows.push((from, to, size));
        let flow = Flow {
            id,
            to: self.fabric.addr(to),
            left: size,
            rate: BitsPerSec::from_gbps(25),
            stopped: false,
            next: start,
            request_at: Time::ZERO,
        };
        let Any::Host(host) = self.engine.node_mut(NodeId(from)) else { return };
        host.flows.push(flow);
        self.engine.refresh();
    }

    /// Flows of a host request their rate so often.
    pub fn request_interval(&mut self, host: u32, span: Span) {
        if let Any::Host(host) = self.engine.node_mut(NodeId(host)) {
            host.request_interval = span;
        }
    }

    /// A host acknowledges each packet of data.
    pub fn answer_from(&mut self, host: u32) {
        if let Any::Host(host) = self.engine.node_mut(NodeId(host)) {
            host.answers = true;
        }
    }

    pub fn run(&mut self, until: Time) {
        self.engine.advance(until, None);
        self.now = until;
    }

    fn got(&mut self, flow: u32) -> (u64, u64) {
        let to = self.flows[flow as usize].1;
        match self.engine.node_mut(NodeId(to)) {
            Any::Host(host) => host.received.get(&FlowId(flow)).copied().unwrap_or_default(),
            _ => (0, 0),
        }
    }

    /// Bytes of whole packets.
    pub fn received(&mut self, flow: u32) -> u64 {
        self.got(flow).0
    }

    pub fn received_payload(&mut self, flow: u32) -> u64 {
        self.got(flow).1
    }

    pub fn is_complete(&mut self, flow: u32) -> bool {
        self.got(flow).1 == self.flows[flow as usize].2
    }

    fn tor(&mut self, rack: usize) -> &mut Tor {
        match self.engine.node_mut(NodeId(self.hosts + rack as u32)) {
            Any::Tor(tor) => tor,
            _ => panic!("no rack"),
        }
    }

    /// Bytes that wait at a rack for a host, and bytes that may still go.
    pub fn voq(&mut self, rack: usize, to: u32) -> (u64, u64) {
        let to = self.fabric.addr(to);
        self.tor(rack).voq(to).map_or((0, 0), |voq| (voq.queue().get(), voq.credit_left(to)))
    }

    /// All queues of a rack.
    pub fn queues(&mut self, rack: usize) -> Vec<Queue> {
        let seen: Vec<(Bytes, Bytes, Vec<VoqTotals>)> = self
            .tor(rack)
            .voqs()
            .map(|(_, voq)| (voq.queue(), voq.ahead(), voq.totals().collect()))
            .collect();
        let mut given = |of: VoqTotals| {
            let credits = self.tor(of.to.tor.into()).credits(of.to.port).expect("a host");
            (of, credits.given(rack as u16))
        };
        seen.into_iter()
            .map(|(queue, ahead, parts)| Queue {
                queue: queue.get(),
                ahead: ahead.get(),
                parts: parts.into_iter().map(&mut given).collect(),
            })
            .collect()
    }

    pub fn longest(&mut self, rack: usize) -> u64 {
        self.tor(rack).counters().longest.get()
    }

    pub fn counters(&mut self, rack: usize) -> TorCounters {
        self.tor(rack).counters()
    }

    /// The queue of the port that leads to a host.
    pub fn down_queue(&mut self, host: u32) -> u64 {
        let (addr, now) = (self.fabric.addr(host), self.now);
        self.tor(usize::from(addr.tor)).switch().ports()[usize::from(addr.port)].queue(now)
    }

    pub fn dropped(&mut self) -> u64 {
        (self.hosts..self.fabric.nodes())
            .map(|node| match self.engine.node_mut(NodeId(node)) {
                Any::Host(_) => 0,
                Any::Tor(tor) => drops(tor.switch()),
                Any::Spine(spine) => drops(spine),
            })
            .sum()
    }

    /// Whether no host has anything to do.
    pub fn is_at_rest(&mut self) -> bool {
        (0..self.fabric.nodes()).all(|node| {
            let node = self.engine.node_mut(NodeId(node));
            node.next_timer() == Time::MAX && node.next_departure() == Time::MAX
        })
    }
}

fn drops(switch: &Switch) -> u64 {
    let ports = switch.ports().iter().map(|port| port.counters().dropped_packets);
    ports.sum::<u64>() + switch.unroutable()
}

fn port(fabric: &Fabric, direction: &forebay_net::Direction, loss: f64) -> PortSettings {
    let to_a_host = direction.peer.0 < fabric.hosts();
    PortSettings {
        rate: fabric.cable(direction.cable).rate,
        flight: direction.flight,
        link: direction.link,
        limit: None,
        marking: None,
        classes: 8,
        rules: PortRules::default(),
        wire: WireSettings::default(),
        loss: if to_a_host { 0.0 } else { loss },
        key: direction.link.0.into(),
        form: Form::Any,
        telemetry: None,
        shaper: None,
        credits: None,
    }
}
