//! Routes: every pair is joined, both directions share links where asked, choices are even, dead cables are avoided.

use crate::common::{FORMS, Wires, packet, plain, ps};
use forebay_engine::{Emitter, LinkId, NodeId, Slab};
use forebay_net::{
    Cable, Fabric, Form, PathCounts, Paths, PortFault, PortSettings, Routes, RoutingPolicy, Switch,
    SwitchSettings,
};
use forebay_settings::{DeadPort, WireSettings};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{BitsPerSec, Span, Time};
use forebay_wire::{Ecn, HostAddr, Packet};

fn cable(a: u32, b: u32) -> Cable {
    Cable {
        a: NodeId(a),
        b: NodeId(b),
        rate: BitsPerSec::from_gbps(100),
        delay: Span::from_us(1),
        gap: Span::ZERO,
        loss: 0.0,
    }
}

/// `leaves` of `per` hosts under `spines`.
fn leaf_spine(leaves: u32, spines: u32, per: u32) -> Fabric {
    let hosts = leaves * per;
    let mut cables: Vec<Cable> = (0..hosts).map(|h| cable(h, hosts + h / per)).collect();
    for l in 0..leaves {
        cables.extend((0..spines).map(|s| cable(hosts + l, hosts + leaves + s)));
    }
    Fabric::new(hosts + leaves + spines, hosts, cables, Span::ZERO, &[])
}

/// A three-tier fat tree of k-port switches.
fn fat_tree(k: u32) -> Fabric {
    let (half, hosts) = (k / 2, k * k * k / 4);
    let (edges, aggs) = (hosts, hosts + k * half);
    let cores = aggs + k * half;
    let mut cables: Vec<Cable> = (0..hosts).map(|h| cable(h, edges + h / half)).collect();
    for pod in 0..k {
        for e in 0..half {
            cables.extend((0..half).map(|a| cable(edges + pod * half + e, aggs + pod * half + a)));
        }
        for a in 0..half {
            cables.extend((0..half).map(|c| cable(aggs + pod * half + a, cores + a * half + c)));
        }
    }
    Fabric::new(cores + half * half, hosts, cables, Span::ZERO, &[])
}

/// Cables that a packet with the number of a path crosses.
fn walk_numbered(
    fabric: &Fabric,
    routes: &[Routes],
    src: u32,
    dst: u32,
    number: u16,
) -> Option<Vec<u32>> {
    walk_by(fabric, (src, dst), |at, to| {
        routes[at].port(to.tor, to.port, 0, false, || 0, || Some(number))
    })
}

/// Cables that a packet crosses; `None` if some switch has no route.
fn walk(
    fabric: &Fabric,
    routes: &[Routes],
    src: u32,
    dst: u32,
    flow: u32,
    reverse: bool,
    nth: u64,
) -> Option<Vec<u32>> {
    walk_by(fabric, (src, dst), |at, to| {
        routes[at].port(to.tor, to.port, flow, reverse, || nth, || None)
    })
}

/// Cables that a packet crosses, where `port` says by which port a switch forwards.
fn walk_by(
    fabric: &Fabric,
    (src, dst): (u32, u32),
    port: impl Fn(usize, HostAddr) -> Option<u16>,
) -> Option<Vec<u32>> {
    let to: HostAddr = fabric.addr(dst);
    let mut at = NodeId(src);
    let mut cables = Vec::new();
    while at != NodeId(dst) {
        let port = match fabric.is_host(at) {
            true => 0,
            false => port((at.0 - fabric.hosts()) as usize, to)?,
        };
        let direction = fabric.ports_of(at)[usize::from(port)];
        cables.push(direction.cable);
        at = direction.peer;
        assert!(cables.len() <= 16, "no loops");
    }
    Some(cables)
}

#[test]
fn symmetric_paths_are_each_others_reverse() {
    for (fabric, longest) in [(fat_tree(8), 6), (leaf_spine(6, 5, 4), 4)] {
        let routes = Routes::all(&fabric, Paths::SymmetricHash, 7, &|_| true);
        let mut rng = Stream::new(1, 0, Purpose::Test);
        let mut seen = 0;
        for flow in 0..10_000 {
            let src = rng.below(u64::from(fabric.hosts())) as u32;
            let dst = (src + 1 + rng.below(u64::from(fabric.hosts()) - 1) as u32) % fabric.hosts();
            let there = walk(&fabric, &routes, src, dst, flow, false, 0).unwrap();
            let mut back = walk(&fabric, &routes, dst, src, flow, true, 0).unwrap();
            back.reverse();
            assert_eq!(there, back, "flow {flow} from {src} to {dst}");
            assert!(there.len() <= longest);
            seen += usize::from(there.len() == longest);
        }
        assert!(seen > 5_000, "most pairs lie far apart");
    }
}

/// Counts per choice lie within what chance allows: five standard deviations each.
fn even(counts: &[u64]) {
    let n: u64 = counts.iter().sum();
    let k = counts.len() as f64;
    let sigma = (n as f64 * (k - 1.0)).sqrt() / k;
    for count in counts {
        assert!((*count as f64 - n as f64 / k).abs() < 5.0 * sigma, "{counts:?}");
    }
}

#[test]
fn hashed_flows_spread_evenly_at_every_height() {
    for paths in [Paths::Hash, Paths::SymmetricHash] {
        let fabric = fat_tree(8);
        let routes = Routes::all(&fabric, paths, 3, &|_| true);
        let mut load = vec![0u64; fabric.cables().len()];
        // From host 0 to the last: 4 choices at the edge switch, 4 at each aggregation switch.
        for flow in 0..40_000 {
            for cable in walk(&fabric, &routes, 0, fabric.hosts() - 1, flow, false, 0).unwrap() {
                load[cable as usize] += 1;
            }
        }
        let used: Vec<u64> = load.iter().copied().filter(|l| *l > 0 && *l < 40_000).collect();
        // 4 + 16 cables up, as many down: the path through a core is fixed by the two choices up.
        let (agg, core): (Vec<u64>, Vec<u64>) = used.iter().partition(|l| **l > 5_000);
        assert_eq!((agg.len(), core.len()), (8, 32), "{used:?}");
        even(&agg[..4]);
        even(&agg[4..]);
        even(&core[..16]);
    }
}

#[test]
fn the_two_directions_of_plain_ecmp_choose_on_their_own() {
    let fabric = leaf_spine(2, 8, 1);
    let routes = Routes::all(&fabric, Paths::Hash, 3, &|_| true);
    let same = (0..8_000).filter(|flow| {
        let mut back = walk(&fabric, &routes, 1, 0, *flow, true, 0).unwrap();
        back.reverse();
        walk(&fabric, &routes, 0, 1, *flow, false, 0).unwrap() == back
    });
    let same = same.count() as f64;
    assert!((same - 1_000.0).abs() < 5.0 * (8_000.0f64 * 7.0 / 64.0).sqrt(), "{same} of 8000");
}

#[test]
fn spraying_is_uniform_and_memoryless() {
    for spines in [2u32, 5, 8] {
        let fabric = leaf_spine(2, spines, 1);
        let routes = Routes::all(&fabric, Paths::Spray, 11, &|_| true);
        let tor = &routes[0];
        let to = fabric.addr(1);
        let mut counts = vec![0u64; spines as usize];
        let mut repeats = 0;
        let mut last = u16::MAX;
        let n = 50_000;
        for nth in 0..n {
            let port = tor.port(to.tor, to.port, 3, false, || nth, || None).unwrap();
            counts[usize::from(port) - 1] += 1;
            repeats += u64::from(port == last);
            last = port;
        }
        even(&counts);
        even(&[repeats, n - repeats].map(|_| n / 2)); // of equal parts, trivially
        let p = 1.0 / f64::from(spines);
        let sigma = (n as f64 * p * (1.0 - p)).sqrt();
        assert!((repeats as f64 - n as f64 * p).abs() < 5.0 * sigma, "{repeats} repeats of {n}");
    }
}

/// Leaf 0 of two, which has `spines` uplinks behind as many hosts.
fn adaptive_leaf(spines: u32, form: Form, hold: bool) -> (Switch, Fabric) {
    let fabric = leaf_spine(2, spines, spines);
    let routes = Routes::all(&fabric, Paths::Adaptive, 11, &|_| true).remove(0);
    let dead_port = if hold { DeadPort::Hold } else { DeadPort::Drop };
    let wire = WireSettings { dead_port, ..WireSettings::default() };
    let ports = fabric.ports_of(NodeId(2 * spines)).iter();
    let ports = ports.map(|d| PortSettings { link: d.link, form, wire, ..plain() }).collect();
    let (shared, ingress, classes, samples) = (None, None, Vec::new(), None);
    (Switch::new(SwitchSettings { routes, ports, shared, ingress, classes, samples }), fabric)
}

#[test]
fn the_shortest_queue_is_taken_and_ties_are_drawn_evenly() {
    let fabric = leaf_spine(2, 5, 1);
    let middle = fabric.ports_of(NodeId(2))[3].cable;
    for cut in [false, true] {
        let routes = Routes::all(&fabric, Paths::Adaptive, 11, &|c| !cut || c != middle);
        let to = fabric.addr(1).tor;
        assert!(routes[0].is_adaptive(3));
        assert_eq!(routes[0].port(to, 0, 3, false, || 7, || None), None, "queues decide");
        let mut counts = [0u64; 6];
        for nth in 0..20_000 {
            let queues = [0, 70, 20, 20, 90, 20]; // of port 0, which leads to a host
            let port = routes[0].shortest(to, nth, |port| queues[usize::from(port)]).unwrap();
            counts[usize::from(port)] += 1;
        }
        assert_eq!([counts[0], counts[1], counts[4]], [0; 3]);
        match cut {
            true => even(&[counts[2], counts[5]]),
            false => even(&[counts[2], counts[3], counts[5]]),
        }
    }
}

/// As many packets of one size as there are uplinks come at once, just as the last have left. Each uplink gets one of them, so no queue is ever
/// longer than a packet; random choices have queues of several.
#[test]
fn packets_that_come_together_take_an_uplink_each() {
    for form in FORMS {
        let (mut switch, fabric) = adaptive_leaf(4, form, false);
        let mut wires = Wires::default();
        for seq in 0..500 {
            for flow in 0..4 {
                let mut one = packet(flow, seq, 1_000, Ecn::NotEct);
                one.dst = fabric.addr(4 + flow);
                switch.arrive(ps(seq * 800_000), flow, &mut one, &mut wires); // a packet at 10 Gb/s
            }
        }
        switch.depart(ps(500 * 800_000), &mut wires);
        let uplinks = || switch.ports()[4..].iter();
        assert!(uplinks().all(|port| port.highest() == 1_000), "{form:?}");
        assert!(uplinks().all(|port| port.counters().tx_packets == 500), "{form:?}");
        assert_eq!(switch.unroutable(), 0);
    }
}

/// Late or in time: when a queue is served does not show in the choice.
#[test]
fn adaptive_choices_do_not_depend_on_when_queues_are_served() {
    let ran = |form| {
        let (mut switch, fabric) = adaptive_leaf(3, form, false);
        let mut wires = Wires::default();
        let mut rng = Stream::new(4, 0, Purpose::Test);
        let mut now = 0;
        for seq in 0..3_000 {
            now += rng.below(300_000); // four thirds of what three uplinks carry
            let mut one = packet(seq as u32 % 7, seq, 64 + rng.below(1_437) as u16, Ecn::NotEct);
            one.dst = fabric.addr(3 + rng.below(3) as u32);
            switch.arrive(ps(now), 0, &mut one, &mut wires);
        }
        switch.depart(ps(now + 1_000_000_000), &mut wires);
        wires.arrive_before(ps(now + 1_000_000_000));
        let mut arrived: Vec<_> =
            wires.arrived.iter().map(|(link, at, packet)| (*link, *at, packet.seq)).collect();
        arrived.sort_unstable();
        arrived
    };
    let [any, queued, naive] = FORMS.map(ran);
    assert_eq!(any.len(), 3_000);
    assert!(any == queued && any == naive);
}

/// A queue that grows no longer is no invitation: nothing goes to a port whose link is down, though routes still have it.
#[test]
fn a_dead_uplink_is_never_the_shortest() {
    for (form, hold) in [(Form::Any, true), (Form::Any, false), (Form::Naive, true)] {
        let (mut switch, fabric) = adaptive_leaf(3, form, hold);
        let mut wires = Wires::default();
        switch.fault(ps(0), 4, PortFault::Down, Vec::new());
        for seq in 0..300 {
            let mut one = packet(0, seq, 1_000, Ecn::NotEct);
            one.dst = fabric.addr(3);
            switch.arrive(ps(seq), 0, &mut one, &mut wires);
        }
        let dead = &switch.ports()[4];
        assert_eq!((dead.waiting(), dead.counters().lost_packets), (0, 0), "{form:?}, {hold}");
        let queue = |port: usize| switch.ports()[port].queue(ps(300));
        assert!(queue(3).abs_diff(queue(5)) <= 1_000, "{} and {} B", queue(3), queue(5));
    }
}

/// The cables of a numbered path and the count of such paths, by reading the number digit by digit.
fn read(fabric: &Fabric, routes: &[Routes], dst: u32, at: NodeId, number: u32) -> (Vec<u32>, u32) {
    let to = fabric.addr(dst);
    let here = &routes[(at.0 - fabric.hosts()) as usize];
    let directions = fabric.ports_of(at);
    if here.tor() == Some(to.tor) {
        return (vec![directions[usize::from(to.port)].cable], 1);
    }
    let choices = here.choices(to.tor);
    let beyond = |port: u16| read(fabric, routes, dst, directions[usize::from(port)].peer, 0).1;
    let paths = choices.iter().map(|port| beyond(*port)).max().unwrap();
    let digit = (number / paths) as usize % choices.len();
    let next = directions[usize::from(choices[digit])];
    let (mut cables, _) = read(fabric, routes, dst, next.peer, number % paths);
    cables.insert(0, next.cable);
    (cables, paths * choices.len() as u32)
}

#[test]
fn numbers_name_every_shortest_path_once() {
    for (fabric, far) in [(fat_tree(4), 4), (fat_tree(8), 16), (leaf_spine(3, 5, 2), 5)] {
        let routes = Routes::all(&fabric, Paths::Source, 7, &|_| true);
        let counts = PathCounts::of(&routes);
        for (src, dst) in [(0, 1), (0, fabric.hosts() - 1), (fabric.hosts() - 1, 2)] {
            let n = counts.between(fabric.addr(src).tor, fabric.addr(dst).tor);
            assert!(n == far || fabric.addr(src).tor == fabric.addr(dst).tor && n == 1);
            let mut seen: Vec<Vec<u32>> = Vec::new();
            for number in 0..n {
                let path = walk_numbered(&fabric, &routes, src, dst, number).unwrap();
                let home = fabric.ports_of(NodeId(src))[0].peer;
                assert_eq!(path[1..], read(&fabric, &routes, dst, home, number.into()).0);
                assert!(!seen.contains(&path));
                seen.push(path);
            }
        }
    }
}

/// A number is a path even where switches have lost some of theirs.
#[test]
fn every_number_is_a_path_after_a_failure() {
    let fabric = fat_tree(4);
    let dead = fabric.ports_of(NodeId(16))[2].cable; // from an edge switch up
    let routes = Routes::all(&fabric, Paths::Source, 9, &|cable| cable != dead);
    for (src, dst) in [(0, 15), (15, 0), (0, 2), (3, 1)] {
        for number in 0..u16::MAX {
            let path = walk_numbered(&fabric, &routes, src, dst, number).unwrap();
            assert!(!path.contains(&dead));
        }
    }
}

/// Each flow of a mixed fabric goes where it would if all flows chose as it does.
#[test]
fn flows_that_choose_differently_do_not_disturb_each_other() {
    let fabric = fat_tree(4);
    let all = [Paths::Hash, Paths::SymmetricHash, Paths::Spray];
    let of_flow = |flow: u32| all[flow as usize % 3];
    for usual in all {
        let policy = RoutingPolicy::by_flow(usual, (0..300).map(of_flow).collect());
        let mixed = Routes::all(&fabric, policy, 9, &|_| true);
        let [hash, symmetric, spray] = all.map(|paths| Routes::all(&fabric, paths, 9, &|_| true));
        for flow in 0..400 {
            let alone = match if flow < 300 { of_flow(flow) } else { usual } {
                Paths::Hash => &hash,
                Paths::SymmetricHash => &symmetric,
                Paths::Spray | Paths::Source | Paths::Adaptive => &spray,
            };
            let (src, dst, nth) = (flow % 16, (flow + 1 + flow % 15) % 16, u64::from(flow));
            for (src, dst, reverse) in [(src, dst, false), (dst, src, true)] {
                let path = |routes| walk(&fabric, routes, src, dst, flow, reverse, nth);
                assert_eq!(path(&mixed), path(alone), "flow {flow}, usual {usual:?}");
            }
        }
    }
}

#[test]
fn routes_around_a_dead_cable_avoid_it_and_lose_nobody() {
    for paths in [Paths::Hash, Paths::SymmetricHash, Paths::Spray] {
        let fabric = fat_tree(4);
        let mut rng = Stream::new(5, 0, Purpose::Test);
        let switch_cables: Vec<u32> = (0..fabric.cables().len() as u32)
            .filter(|c| !fabric.is_host(fabric.cable(*c).a))
            .collect();
        for _ in 0..40 {
            let dead = switch_cables[rng.below(switch_cables.len() as u64) as usize];
            let routes = Routes::all(&fabric, paths, 9, &|c| c != dead);
            for flow in 0..200 {
                let src = rng.below(16) as u32;
                let dst = (src + 1 + rng.below(15) as u32) % 16;
                let path = walk(&fabric, &routes, src, dst, flow, false, u64::from(flow));
                assert!(!path.expect("one dead cable cuts nobody off").contains(&dead));
            }
        }
    }
}

/// Equal ports that are in a row are kept otherwise than those with a gap; which they are must not show.
#[test]
fn ports_with_a_gap_between_them_are_chosen_evenly() {
    let fabric = leaf_spine(2, 5, 1);
    let middle = fabric.ports_of(NodeId(2))[3].cable;
    for paths in [Paths::Hash, Paths::SymmetricHash, Paths::Spray] {
        let routes = Routes::all(&fabric, paths, 11, &|c| c != middle);
        let to = fabric.addr(1);
        assert_eq!(routes[0].choices(to.tor), [1, 2, 4, 5]);
        assert_eq!(routes[1].choices(fabric.addr(0).tor).len(), 4);
        let mut counts = [0u64; 6];
        for flow in 0..20_000u32 {
            let nth = || u64::from(flow);
            let port = routes[0].port(to.tor, to.port, flow, false, nth, || None).unwrap();
            counts[usize::from(port)] += 1;
        }
        assert_eq!((counts[0], counts[3]), (0, 0), "{paths:?}");
        even(&[counts[1], counts[2], counts[4], counts[5]]);
    }
}

struct Nowhere(u64, Slab);

impl Emitter<Packet> for Nowhere {
    fn push(&mut self, _link: LinkId, _at: Time, _packet: &Packet) {
        self.0 += 1;
    }

    fn slab(&mut self) -> &mut Slab {
        &mut self.1
    }

    fn done(&mut self) {}

    fn begins(&mut self) {}

    fn ends(&mut self) {}
}

#[test]
fn what_cannot_be_reached_is_counted() {
    let fabric = leaf_spine(2, 2, 1);
    // Both cables of leaf 1 are dead: host 1 is cut off, host 0 is not.
    let cut = |c: u32| {
        let ends = fabric.cable(c);
        ends.a != NodeId(3) || fabric.is_host(ends.b) || ends.b.0 < 4
    };
    let routes = Routes::all(&fabric, Paths::Hash, 1, &cut);
    assert_eq!(walk(&fabric, &routes, 0, 1, 5, false, 0), None);
    let ports = fabric.ports_of(NodeId(2)).iter();
    let ports = ports.map(|d| forebay_net::PortSettings { link: d.link, ..plain() }).collect();
    let settings = SwitchSettings {
        routes: routes[0].clone(),
        ports,
        shared: None,
        ingress: None,
        classes: Vec::new(),
        samples: None,
    };
    let mut switch = Switch::new(settings);
    let mut out = Nowhere(0, Slab::default());
    for seq in 0..10 {
        let mut one = packet(0, seq, 100, Ecn::NotEct);
        one.dst = fabric.addr((seq % 2) as u32);
        switch.arrive(ps(seq), 0, &mut one, &mut out);
    }
    assert_eq!((switch.unroutable(), switch.routed(), out.0), (5, 10, 5));
}
