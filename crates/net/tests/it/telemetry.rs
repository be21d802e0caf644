//! In-band telemetry: what ports record, and that it reaches the other end whatever runs the fabric.

use crate::common::{Bench, bytes, packet, plain, ps, records, wire};
use forebay_engine::reference::Reference;
use forebay_engine::{
    Digest, Emitter, Engine, EngineAccess, LinkId, Node, NodeId, Tuning, Watch, combine,
};
use forebay_net::{
    CLASSES, Cable, Fabric, Form, IngressPool, LinkLeftovers, Paths, Port, PortFault, PortSettings,
    Routes, SharedBuffer, Switch, SwitchSettings,
};
use forebay_settings::{EcnMarking, IngressAccount, MarkAt, QueueLength, Threshold};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{Ecn, Flags, FlowId, Hop, Kind, Packet, Rates};
use std::collections::VecDeque;

fn of<T: Copy>(rng: &mut Stream, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize]
}

fn telling(gbps: u64) -> PortSettings {
    let rate = BitsPerSec::from_gbps(gbps);
    PortSettings { rate, telemetry: Rates::covering([rate]), flight: Span::ZERO, ..plain() }
}

fn asking(seq: u64, size: u16) -> Packet {
    Packet { flags: Flags::TELEMETRY, ..packet(0, seq, size, Ecn::Ect) }
}

/// One factor for all ports: units are bytes, whatever the rate of the port.
#[test]
fn one_factor_of_units_holds_at_every_rate() {
    for (gbps, multi) in [(100, 1), (400, 1), (400, 4), (25, 7)] {
        let rate = BitsPerSec::from_gbps(gbps);
        let telemetry = Rates::covering([rate]).map(|rates| rates.with_multi(multi));
        let mut bench = Bench::new(2, PortSettings { telemetry, ..telling(gbps) }, None);
        // All arrive while the first one is sent, which finds nothing and leaves three behind.
        let sizes = [4_000, 3_000, 2_000, 1_000];
        (0u64..).zip(sizes).for_each(|(n, size)| bench.arrive(ps(n * 100), 1, asking(n, size)));
        bench.run_to(Time::from_ps(10_000_000));
        let codes = Rates::covering([rate]).unwrap();
        let (mut sent, mut queue) = (0, [0, 3_000, 1_000, 0].into_iter());
        for (size, words) in sizes.into_iter().zip(&bench.wires.records) {
            let record = Hop::of(words[0]);
            let behind = queue.next().unwrap();
            assert_eq!(record.code, codes.code(rate).unwrap());
            assert_eq!(u64::from(record.sent), sent / (128 * u64::from(multi)), "{gbps} Gb/s");
            assert_eq!(u64::from(record.queue), behind / (80 * u64::from(multi)), "{gbps} Gb/s");
            sent += u64::from(size);
        }
        assert_eq!(bench.wires.records.len(), 4);
    }
}

#[test]
fn a_word_tells_of_the_departure_and_not_of_the_visit() {
    // 1,000 B at 100 Gb/s take 80 ns. Units there: 512 B sent, 320 B of queue.
    let mut bench =
        Bench::new(2, PortSettings { classes: 2, wire: wire(24), ..telling(100) }, None);
    let sizes = [1_000, 2_000, 3_000, 4_000];
    for (n, size) in (0u64..).zip(sizes) {
        // The third one overtakes the second.
        let class = u8::from(n == 2);
        bench.arrive(ps(n * 10_000), 1, Packet { class, ..asking(n, size) });
    }
    bench.run_to(Time::from_ps(10_000_000));
    let wire = |size: u64| size + 24;
    let mut now = Span::ZERO;
    let mut sent = 0;
    let order = [(0, 0), (2, wire(2_000) + wire(4_000)), (1, wire(4_000)), (3, 0)];
    for (((_, _, got), words), (seq, queue)) in
        bench.wires.arrived.iter().zip(&bench.wires.records).zip(order)
    {
        assert_eq!((got.seq, words.len()), (seq, 1));
        let expected = Hop {
            code: 2,
            at_ns: (now.as_ps() / 1_000) as u32,
            sent: (sent / 512) as u32,
            queue: (queue / 320) as u32,
        };
        assert_eq!(Hop::of(words[0]), expected);
        sent += wire(u64::from(got.size));
        now += Span::from_ps(wire(u64::from(got.size)) * 80);
    }
    assert_eq!(bench.wires.records.len(), 4);
}

#[test]
fn only_data_that_asks_is_told_and_only_by_five() {
    let mut bench = Bench::new(2, telling(10), None);
    let answer = Packet { kind: Kind::Ack, ..asking(0, 64) };
    let silent = packet(0, 1, 64, Ecn::Ect);
    let before: [(_, &[u64]); 4] = [
        (answer, &[11, 12, 13]),
        (silent, &[]),
        (asking(2, 64), &[11, 12, 13, 14, 15]),
        (asking(3, 64), &[11, 12, 13]),
    ];
    for (n, (mut one, words)) in (0..).zip(before) {
        if !words.is_empty() {
            bench.wires.push_records(&mut one, words);
        }
        bench.arrive(ps(n), 1, one);
    }
    bench.run_to(Time::from_ps(1_000_000));
    let told = &bench.wires.records;
    assert_eq!(told.iter().map(Vec::len).collect::<Vec<_>>(), [3, 5, 4], "none for the silent one");
    assert_eq!((&told[0][..], &told[1][..]), (&[11, 12, 13][..], &[11, 12, 13, 14, 15][..]));
    let fourth = Hop::of(told[2][3]);
    // At 10 Gb/s, the first of three other rates: three packets of 64 B have gone, 51.2 ns each, and a unit is 51.2 B.
    assert_eq!((fourth.code, fourth.at_ns, fourth.sent, fourth.queue), (5, 153, 3, 0));
    assert_eq!(told[2][..3], [11, 12, 13]);
    assert_eq!(bench.wires.slab.allocated(), 0);
}

#[test]
fn a_new_rate_is_told_with_its_code() {
    let [usual, odd] = [100, 33].map(BitsPerSec::from_gbps);
    let telemetry = Rates::covering([usual, odd]);
    let mut bench = Bench::new(2, PortSettings { telemetry, ..telling(100) }, None);
    bench.arrive(ps(0), 1, asking(0, 1_000));
    bench.fault(ps(1_000_000), 1, PortFault::Rate(odd));
    bench.arrive(ps(2_000_000), 1, asking(1, 1_000));
    bench.run_to(Time::from_ps(9_000_000));
    let hops: Vec<Hop> = bench.wires.records.iter().map(|words| Hop::of(words[0])).collect();
    assert_eq!(hops.iter().map(|hop| hop.code).collect::<Vec<_>>(), [2, 5]);
    // 1,000 B are 242.4 ns of the new rate.
    assert_eq!((hops[1].at_ns, hops[1].sent), (2_000, 5));
}

/// Sends data with telemetry, at random, and answers with its records.
struct Talker {
    port: Port,
    link: LinkId,
    hosts: Vec<forebay_wire::HostAddr>,
    me: u32,
    rng: Stream,
    next: Time,
    waiting: VecDeque<Packet>,
    since: Time,
    digest: Digest,
    heard: u64,
    hops: u64,
}

impl Talker {
    fn queue(&mut self, now: Time, packet: Packet) {
        if self.waiting.is_empty() {
            self.since = now;
        }
        self.waiting.push_back(packet);
    }

    fn pull_at(&self) -> Time {
        match self.waiting.is_empty() || !self.port.open() {
            true => Time::MAX,
            false => self.port.busy().max(self.since),
        }
    }

    fn pull(&mut self, now: Time, out: &mut impl Emitter<Packet>) {
        while self.pull_at() <= now {
            let start = self.pull_at();
            let packet = self.waiting.pop_front().unwrap();
            assert!(self.port.send_pulled(start, &packet, out), "hosts lose nothing");
        }
    }

    fn speak(&mut self, now: Time) {
        self.next = now + Span::from_ns(self.rng.below(1_500));
        let to = self.rng.below(self.hosts.len() as u64) as u32;
        if to == self.me {
            return;
        }
        let flags = of(&mut self.rng, &[Flags::NONE, Flags::TELEMETRY, Flags::TELEMETRY]);
        let one = Packet {
            flow: FlowId(self.me << 8 | to),
            dst: self.hosts[to as usize],
            size: 64 + self.rng.below(4_000) as u16,
            class: self.rng.below(3) as u8,
            ecn: Ecn::Ect,
            flags,
            seq: self.rng.below(1 << 40),
            ..Packet::default()
        };
        self.queue(now, one);
    }
}

impl Node for Talker {
    type Item = Packet;

    fn next_timer(&self) -> Time {
        self.next.min(self.pull_at())
    }

    fn next_departure(&self) -> Time {
        Time::MAX
    }

    fn arrive<O: Emitter<Packet>>(&mut self, now: Time, _: u32, packet: &mut Packet, out: &mut O) {
        self.pull(now, out);
        if packet.kind == Kind::Pause {
            self.port.on_pause(now, packet.seq as u8);
            self.since = self.since.max(now);
            return;
        }
        self.heard += 1;
        self.digest.add(now.as_ps(), packet.seq);
        if packet.has_int_records() {
            let words = records(packet, out.slab());
            self.hops += words.len() as u64;
            words.iter().for_each(|word| self.digest.add(packet.seq, *word));
        }
        if packet.kind == Kind::Data {
            let back = Packet {
                kind: Kind::Ack,
                size: 106,
                dst: self.hosts[(packet.flow.0 >> 8) as usize],
                ..*packet
            };
            self.queue(now, back);
        } else {
            out.slab().release(packet.int_slot());
        }
        self.pull(now, out);
    }

    fn timer<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        self.pull(now, out);
        if self.next <= now {
            self.speak(now);
        }
        self.pull(now, out);
        self.next = self.next.max(now + Span::from_ps(1));
    }

    fn depart<O: Emitter<Packet>>(&mut self, _: Time, _: &mut O) {}
}

enum Either {
    Talker(Box<Talker>),
    Switch(Box<Switch>),
}

impl Node for Either {
    type Item = Packet;

    fn slot(packet: &mut Packet) -> Option<&mut u32> {
        packet.int_slot_mut()
    }

    fn next_timer(&self) -> Time {
        match self {
            Self::Talker(talker) => talker.next_timer(),
            Self::Switch(switch) => switch.next_timer(),
        }
    }

    fn next_departure(&self) -> Time {
        match self {
            Self::Talker(talker) => talker.next_departure(),
            Self::Switch(switch) => switch.next_departure(),
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
            Self::Talker(talker) => talker.arrive(now, port, packet, out),
            Self::Switch(switch) => switch.arrive(now, port, packet, out),
        }
    }

    fn timer<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        match self {
            Self::Talker(talker) => talker.timer(now, out),
            Self::Switch(switch) => switch.timer(now, out),
        }
    }

    fn depart<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        match self {
            Self::Talker(talker) => talker.depart(now, out),
            Self::Switch(switch) => switch.depart(now, out),
        }
    }
}

/// Four hosts on two racks, or two at the ends of a chain; and what is the same for both ways of serving ports.
fn network(seed: u64, explicit: bool) -> (Fabric, Vec<Either>) {
    let mut rng = Stream::new(seed, 1, Purpose::Test);
    let racks = !seed.is_multiple_of(3);
    let hosts = if racks { 4 } else { 2 };
    let ends: Vec<(u32, u32)> = match racks {
        true => vec![(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7)],
        false => vec![(0, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 1)],
    };
    let rates = [10, 25, 40, 33].map(BitsPerSec::from_gbps);
    let delay = [1, 30, 400, 2_000][seed as usize % 4];
    let cable = |(a, b): (u32, u32)| Cable {
        a: NodeId(a),
        b: NodeId(b),
        rate: of(&mut rng, &rates),
        delay: Span::from_ns(1 + rng.below(delay)),
        gap: Span::ZERO,
        loss: 0.0,
    };
    let cables = ends.into_iter().map(cable).collect();
    let fabric = Fabric::new(8, hosts, cables, Span::ZERO, &[]);
    let lengths =
        [[QueueLength::Packets(2), QueueLength::Packets(20)], [bytes(2_000), bytes(20_000)]];
    let [kmin, kmax] = of(&mut rng, &lengths);
    let at_dequeue =
        EcnMarking { kmin, kmax, pmax: 0.5, at: MarkAt::Dequeue, ..EcnMarking::default() };
    let marking = of(&mut rng, &[None, Some(at_dequeue)]);
    let limit = of(&mut rng, &[None, Some(bytes(20_000)), Some(QueueLength::Packets(9))]);
    let loss = of(&mut rng, &[0.0, 0.0, 0.1]);
    let classes = 1 + rng.below(3) as u8;
    let pauses = rng.below(3) == 0;
    let shares = !pauses && rng.below(3) == 0;
    let settings = |node: u32, port: usize| {
        let direction = fabric.ports_of(NodeId(node))[port];
        let switch = !fabric.is_host(NodeId(node));
        PortSettings {
            rate: fabric.cable(direction.cable).rate,
            flight: direction.flight,
            link: direction.link,
            key: u64::from(direction.link.0),
            marking: marking.filter(|_| switch),
            limit: limit.filter(|_| switch),
            loss: if switch { loss } else { 0.0 },
            classes: if switch { classes } else { 1 },
            form: match switch {
                true if explicit => Form::Naive,
                true if pauses => Form::Queued,
                _ => Form::Any,
            },
            telemetry: Rates::covering(rates).filter(|_| switch),
            ..plain()
        }
    };
    let addrs: Vec<_> = (0..hosts).map(|host| fabric.addr(host)).collect();
    let talker = |me: u32| {
        let port = settings(me, 0);
        Either::Talker(Box::new(Talker {
            port: Port::new(port),
            link: port.link,
            hosts: addrs.clone(),
            me,
            rng: Stream::new(seed, u64::from(me) + 2, Purpose::Test),
            next: Time::ZERO,
            waiting: VecDeque::new(),
            since: Time::ZERO,
            digest: Digest::default(),
            heard: 0,
            hops: 0,
        }))
    };
    let ingress = IngressAccount {
        reserved: Bytes::new(2_000),
        headroom: Some(Bytes::new(40_000)),
        xoff: Threshold::Fixed(Bytes::new(9_000)),
        resume_offset: Bytes::new(2_000),
    };
    let mut nodes: Vec<Either> = (0..hosts).map(talker).collect();
    for (node, routes) in (hosts..8).zip(Routes::all(&fabric, Paths::Hash, seed, &|_| true)) {
        let ports = fabric.ports_of(NodeId(node)).len();
        let pool = || IngressPool {
            shared: Bytes::new(100_000),
            ports: vec![[ingress; CLASSES]; ports],
            lossless: None,
            alpha: 1.0,
        };
        nodes.push(Either::Switch(Box::new(Switch::new(SwitchSettings {
            routes,
            ports: (0..ports).map(|port| settings(node, port)).collect(),
            shared: shares.then(|| SharedBuffer::new(Bytes::new(60_000), Some(1.0))),
            ingress: pauses.then(pool),
            classes: Vec::new(),
            samples: None,
        }))));
    }
    (fabric, nodes)
}

/// A cable between switches gets slower.
fn slow_down(seed: u64, fabric: &Fabric, now: Time, engine: &mut impl EngineAccess<Either>) {
    let cable = (seed % 2) as u32 + 4;
    for node in [fabric.cable(cable).a, fabric.cable(cable).b] {
        let ports = fabric.ports_of(node);
        let port = ports.iter().position(|d| d.cable == cable).unwrap();
        let flying = engine.drain_link(ports[port].link);
        let Either::Switch(switch) = engine.node_mut(node) else { panic!("a cable of switches") };
        let rate = PortFault::Rate(BitsPerSec::from_gbps(10));
        let LinkLeftovers { back, lost } = switch.fault(now, port, rate, flying);
        assert!(lost.is_empty(), "a cable that gets slower loses nothing");
        for one in back {
            engine.push_link(ports[port].link, &one);
        }
    }
    engine.refresh();
}

/// Hash of all that was heard and told; packets heard, words heard.
fn heard(nodes: Vec<Either>) -> (u64, u64, u64) {
    let (mut packets, mut words) = (0, 0);
    let digests: Vec<Digest> = nodes
        .into_iter()
        .map(|node| match node {
            Either::Talker(talker) => {
                packets += talker.heard;
                words += talker.hops;
                assert_eq!(talker.link, talker.port.link());
                talker.digest
            }
            Either::Switch(switch) => switch.digest(),
        })
        .collect();
    (combine(digests), packets, words)
}

const HALF: Time = Time::from_ps(40_000_000);
const END: Time = Time::from_ps(80_000_000);

fn referred(seed: u64, explicit: bool) -> (u64, u64, u64) {
    let (fabric, nodes) = network(seed, explicit);
    let mut reference = Reference::new(nodes, fabric.links());
    reference.advance(HALF, None);
    slow_down(seed, &fabric, HALF, &mut reference);
    reference.advance(END, None);
    heard(reference.into_nodes())
}

#[test]
fn words_arrive_whatever_runs_the_fabric() {
    let mut most = 0;
    for seed in 0..24 {
        let expected = referred(seed, true);
        assert!(expected.1 > 50 && expected.2 > expected.1, "{expected:?}");
        most = most.max(expected.2 * 10 / expected.1);
        assert_eq!(referred(seed, false), expected, "seed {seed}, late");
        for (threads, cut) in [(1, None), (2, None), (4, None), (1, Some(Span::from_us(5)))] {
            for explicit in [false, true] {
                let (fabric, nodes) = network(seed, explicit);
                let places: Vec<u32> = (0..nodes.len() as u32).collect();
                let tuning = Tuning { threads, cut };
                let mut engine = Engine::new(nodes, fabric.links(), &places, tuning).unwrap();
                engine.advance(HALF, None, &Watch::default());
                slow_down(seed, &fabric, HALF, &mut engine);
                engine.advance(END, None, &Watch::default());
                let got = heard(engine.into_nodes());
                assert_eq!(got, expected, "seed {seed}, {threads} threads, cut {cut:?}");
            }
        }
    }
    assert!(most >= 30, "chains of six switches give most packets five records");
}
