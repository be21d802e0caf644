//! Ports: one touch against explicit queues, order, marks, losses.

use crate::common::{Bench, FORMS, bytes, packet, plain, ps, wire};
use forebay_net::{
    CLASSES, ClassPolicy, DropRule, Form, OverflowAction, PortFault, PortSettings, SharedBuffer,
};
use forebay_settings::{
    DeadPort, EcnMarking, Ect, MarkAt, NotEct, QueueLength, Trim, WireSettings,
};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{BitsPerSec, Bytes, Span};
use forebay_wire::{Ecn, Flags, FlowId, Kind, Packet, Rates};
use proptest::prelude::*;

fn of<T: Copy>(rng: &mut Stream, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize]
}

/// Settings that one touch can do, but for telemetry.
fn settings(rng: &mut Stream) -> PortSettings {
    let kmin = rng.below(20_000);
    let step = rng.below(2) == 0;
    let marking = EcnMarking {
        kmin: bytes(kmin),
        kmax: bytes(if step { kmin } else { kmin + 1 + rng.below(20_000) }),
        pmax: of(rng, &[0.05, 0.5, 1.0]),
        at: MarkAt::Enqueue,
        not_ect: if rng.below(3) == 0 { NotEct::Drop } else { NotEct::Pass },
        ect: if rng.below(5) == 0 { Ect::Pass } else { Ect::Mark },
        ..EcnMarking::default()
    };
    PortSettings {
        rate: BitsPerSec::from_gbps(of(rng, &[1, 10, 25, 100])),
        flight: Span::from_ps(of(rng, &[0, 1, 500_000, 40_000_000])),
        limit: of(rng, &[None, Some(bytes(9_000)), Some(bytes(30_001))]),
        marking: of(rng, &[None, Some(marking), Some(marking)]),
        wire: WireSettings {
            overhead: Bytes::new(of(rng, &[0, 24, 7])),
            dead_port: if rng.below(2) == 0 { DeadPort::Hold } else { DeadPort::Drop },
            ..WireSettings::default()
        },
        telemetry: of(rng, &[None, Rates::covering([1, 10, 40].map(BitsPerSec::from_gbps))]),
        shaper: None,
        credits: None,
        ..plain()
    }
}

/// Limits, marks and weights of some classes.
fn policies(rng: &mut Stream) -> [ClassPolicy; CLASSES] {
    let unit =
        of(rng, &[bytes, bytes, bytes, |length: u64| QueueLength::Packets(length as u32 / 1_500)]);
    let weighted = rng.below(2) == 0;
    [(); CLASSES].map(|()| {
        let kmin = rng.below(8_000);
        let marking = EcnMarking {
            kmin: unit(kmin),
            kmax: unit(kmin + 1_500 + rng.below(8_000)),
            pmax: of(rng, &[0.3, 1.0]),
            at: if rng.below(3) == 0 { MarkAt::Dequeue } else { MarkAt::Enqueue },
            not_ect: if rng.below(3) == 0 { NotEct::Drop } else { NotEct::Pass },
            ect: if rng.below(5) == 0 { Ect::Pass } else { Ect::Mark },
            ..EcnMarking::default()
        };
        let limit = unit(1_500 + rng.below(20_000));
        ClassPolicy {
            limit: of(rng, &[None, Some(limit)]),
            marking: of(rng, &[None, Some(marking)]),
            weight: if weighted { rng.below(4) as u8 } else { 0 },
            ..ClassPolicy::default()
        }
    })
}

/// Classes of which the lower ones are trimmed into higher ones, and these drop or return what they have no room for.
fn trimming(classes: u8, rng: &mut Stream) -> [ClassPolicy; CLASSES] {
    let mut all = policies(rng);
    let turns = rng.below(3) == 0;
    for (class, policy) in (0..classes).zip(&mut all) {
        if turns {
            (policy.weight, policy.turn) = (0, rng.below(11) as u8);
        }
        let above = classes - 1 - class;
        policy.over = match rng.below(4) {
            0 => OverflowAction::Drop,
            1 => OverflowAction::Return,
            _ if above == 0 => OverflowAction::Return,
            _ => OverflowAction::Trim {
                how: Trim {
                    trim_to: Bytes::new(64 + rng.below(300)),
                    class: class + 1 + rng.below(above.into()) as u8,
                    coin: of(rng, &[0.0, 0.5, 0.5, 1.0]),
                },
                tells: rng.below(2) == 1,
            },
        };
    }
    all
}

/// Classes of which nothing but strict order and limits counts: that of the highest class in bytes, those of others in bytes or packets.
fn only_limits(classes: u8, rng: &mut Stream) -> [ClassPolicy; CLASSES] {
    let mut all = trimming(classes, rng);
    for policy in &mut all {
        (policy.marking, policy.weight, policy.turn) = (None, 0, 0);
    }
    let limit = bytes(64 + rng.below(6_000));
    all[usize::from(classes) - 1].limit = of(rng, &[None, Some(limit), Some(limit)]);
    all
}

/// What a switch has beyond ports.
#[derive(Clone, Copy, Default)]
struct More {
    policies: bool,
    trims: bool,
    only_limits: bool,
    shared: bool,
}

/// Puts the same arrivals and faults into a port that decides on arrival (one touch; queues that are served late where there are
/// several classes) and into one that serves each departure before it is touched. They must agree all the time. Returns how many
/// packets got through.
fn early_is_explicit(seed: u64, steps: usize, classes: u8, more: More) -> usize {
    let mut rng = Stream::new(seed, 0, Purpose::Test);
    let mut settings = PortSettings { classes, ..settings(&mut rng) };
    let mut apart = Stream::new(seed, 1, Purpose::Test);
    let policies = more.policies.then(|| match (more.trims, more.only_limits) {
        (true, true) => only_limits(classes, &mut apart),
        (true, false) => trimming(classes, &mut apart),
        (false, _) => policies(&mut apart),
    });
    if more.only_limits {
        (settings.marking, settings.telemetry) = (None, None);
    }
    let shared = more.shared.then(|| {
        let size = of(&mut apart, &[20_000, 60_000, 400_000, 1_500_000]);
        let pool =
            SharedBuffer::new(Bytes::new(size), of(&mut apart, &[None, Some(0.25), Some(1.0)]));
        if apart.below(2) == 0 { pool.by_class() } else { pool }
    });
    if more.policies {
        let early = classes > 1 && (more.only_limits || apart.below(2) == 0);
        settings.form = if early { Form::Any } else { Form::Queued };
    }
    let bench = |settings| Bench::with(2, settings, shared, None, policies);
    let mut fast = bench(settings);
    let mut slow = bench(PortSettings { form: Form::Naive, ..settings });
    let byte = settings.rate.whole_ps_per_byte().unwrap();
    let load = 600 + rng.below(1_200); // thousandths
    let mut now = ps(0);
    let mut alive = true;
    for step in 0..steps {
        // About as many bytes as the wire takes; now and then at the same instant.
        let gap = if rng.below(6) == 0 { 0 } else { rng.below(2 * 800 * byte * 1_000 / load) };
        now += Span::from_ps(gap);
        if rng.below(200) == 0 {
            now += Span::from_ps(1); // nothing has been handled at a boundary's own instant
            let change = match rng.below(3) {
                0 => PortFault::Rate(BitsPerSec::from_gbps(of(&mut rng, &[1, 10, 40, 400]))),
                _ if alive => PortFault::Down,
                _ => PortFault::Up,
            };
            alive = match change {
                PortFault::Down => false,
                PortFault::Up => true,
                _ => alive,
            };
            fast.fault(now, 1, change);
            slow.fault(now, 1, change);
        }
        let size = 64 + rng.below(1_437) as u16;
        let ecn = of(&mut rng, &[Ecn::Ect, Ecn::Ect, Ecn::NotEct, Ecn::Ce]);
        let class = if classes > 1 { rng.below(u64::from(classes)) as u8 } else { 0 };
        let mut one = Packet { class, ..packet(step as u32 % 5, step as u64, size, ecn) };
        if more.trims && rng.below(4) > 0 {
            (one.flags, one.stamp) = (Flags::FROM, fast.fabric.addr(0).word());
        }
        let mut words: Option<Vec<u64>> = None;
        if settings.telemetry.is_some() && rng.below(4) > 0 {
            // From a sender, or from other hops; or an answer.
            one.kind = of(&mut rng, &[Kind::Data, Kind::Data, Kind::Ack]);
            words = Some((0..rng.below(6)).map(|nth| step as u64 * 8 + nth).collect());
        }
        if classes == 1 || rng.below(8) == 0 {
            fast.run_to(now);
        }
        slow.run_to(now);
        for bench in [&mut fast, &mut slow] {
            let mut one = one;
            if let Some(words) = &words {
                bench.wires.push_records(&mut one, words);
            }
            bench.arrive(now, 1, one);
        }
        let (f, s) = (&fast.switch.ports()[1], &slow.switch.ports()[1]);
        assert_eq!(f.queue(now), s.queue(now), "queue at step {step}");
        assert_eq!(
            f.counters().dropped_packets,
            s.counters().dropped_packets,
            "drops at step {step}"
        );
        assert_eq!(
            f.counters().marked_packets,
            s.counters().marked_packets,
            "marks at step {step}"
        );
        assert_eq!(f.counters().lost_packets, s.counters().lost_packets, "losses at step {step}");
        assert_eq!(fast.accounted(now), fast.offered, "early, step {step}");
        assert_eq!(slow.accounted(now), slow.offered, "explicit, step {step}");
        if let Some(QueueLength::Bytes(limit)) = settings.limit {
            assert!(f.queue(now) <= limit.get());
        }
    }
    let end = now + Span::from_secs(1);
    fast.fault(end, 1, PortFault::Up);
    slow.fault(end, 1, PortFault::Up);
    let end = end + Span::from_secs(1);
    fast.run_to(end);
    slow.run_to(end);
    for bench in [&mut fast, &mut slow] {
        bench.wires.arrived.sort_by_key(|(link, ..)| *link); // which is looked at when does not matter
    }
    assert_eq!(fast.wires.arrived, slow.wires.arrived, "what arrives, when, and how it is marked");
    assert_eq!(fast.wires.records, slow.wires.records, "its INT records");
    assert_eq!(
        (fast.wires.slab.allocated(), slow.wires.slab.allocated()),
        (0, 0),
        "INT slots are released"
    );
    assert_eq!(fast.switch.digest(), slow.switch.digest());
    assert_eq!(fast.switch.ports()[1].highest(), slow.switch.ports()[1].highest());
    assert_eq!(fast.switch.ports()[1].counters(), slow.switch.ports()[1].counters());
    fast.wires.arrived.len()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_touch_equals_an_explicit_queue(seed in any::<u64>().no_shrink()) {
        early_is_explicit(seed, 2_500, 1, More::default());
    }

    #[test]
    fn queues_served_late_equal_queues_served_in_time(seed in any::<u64>().no_shrink(), classes in 2u8..5) {
        early_is_explicit(seed, 2_500, classes, More::default());
    }

    #[test]
    fn policies_of_classes_do_not_depend_on_when_queues_are_served(seed in any::<u64>().no_shrink(), classes in 2u8..5) {
        early_is_explicit(seed, 2_500, classes, More { policies: true, ..More::default() });
    }

    #[test]
    fn what_is_trimmed_does_not_depend_on_when_queues_are_served(seed in any::<u64>().no_shrink(), classes in 2u8..5) {
        early_is_explicit(seed, 2_500, classes, More { policies: true, trims: true, ..More::default() });
    }

    #[test]
    fn limits_of_classes_do_not_depend_on_what_is_sent_early(seed in any::<u64>().no_shrink(), classes in 2u8..5) {
        early_is_explicit(seed, 2_500, classes, More { policies: true, trims: true, only_limits: true, shared: false });
    }

    #[test]
    fn a_shared_buffer_of_ports_or_classes_does_not_depend_on_it_either(seed in any::<u64>().no_shrink(), classes in 1u8..5, policies: bool) {
        early_is_explicit(seed, 2_500, classes, More { policies, shared: true, ..More::default() });
    }

    /// Against the obvious server: whenever the wire is free, the oldest packet of the highest class that waits.
    #[test]
    fn strict_priorities_go_in_order(seed in any::<u64>().no_shrink()) {
        let mut rng = Stream::new(seed, 0, Purpose::Test);
        let classes = 2 + rng.below(7) as u8;
        let mut bench = Bench::new(2, PortSettings { classes, flight: Span::ZERO, ..plain() }, None);
        let mut waiting: Vec<(u64, Packet)> = Vec::new();
        let mut now = 0;
        for seq in 0..800 {
            now += of(&mut rng, &[0, 51_200, 900_000, 1_200_000, 2_000_000]);
            let size = of(&mut rng, &[64, 700, 1_500]);
            let mut one = packet(0, seq, size, Ecn::NotEct);
            one.class = rng.below(10) as u8;
            bench.arrive(ps(now), 1, one);
            one.class = one.class.min(classes - 1);
            waiting.push((now, one));
        }
        bench.run_to(ps(now + 10_000_000_000));
        let mut free = 0;
        for (_, at, sent) in &bench.wires.arrived {
            // A packet that comes as the wire falls free is there a moment too late, unless nothing else waits.
            let first = waiting.iter().map(|w| w.0).min().unwrap();
            let start = if first < free { free } else { first };
            let there = |w: &&(u64, Packet)| if first < free { w.0 < free } else { w.0 == first };
            let next = waiting.iter().filter(there).map(|w| (w.1.class, u64::MAX - w.1.seq)).max().unwrap();
            let next = if first < free { next } else {
                // An idle wire takes the first that comes.
                let w = waiting.iter().find(|w| w.0 == first).unwrap();
                (w.1.class, u64::MAX - w.1.seq)
            };
            prop_assert_eq!(u64::MAX - next.1, sent.seq);
            free = start + u64::from(sent.size) * 800;
            prop_assert_eq!(at.as_ps(), free, "sent {}", sent.seq);
            waiting.retain(|w| w.1.seq != sent.seq);
        }
        prop_assert!(waiting.is_empty());
    }
}

/// Within five standard deviations of n draws of probability p.
fn near(count: u64, n: u64, p: f64) -> bool {
    let (n, expected) = (n as f64, n as f64 * p);
    (count as f64 - expected).abs() <= 5.0 * (n * p * (1.0 - p)).sqrt() + 1e-9
}

#[test]
fn the_packet_of_a_flow_that_is_to_be_lost_is_the_only_one() {
    // Two flows by turns, numbered from the fault on; packets of both wait in queues then.
    for form in [Form::Queued, Form::Naive] {
        for (flow, lost) in [(Some(1), 15), (Some(0), 14), (None, 12)] {
            let mut bench = Bench::new(2, PortSettings { form, ..plain() }, None);
            for seq in 0..40 {
                if seq == 20 {
                    let rule = DropRule { flow: flow.map(FlowId), nth: 3 };
                    bench.fault(ps(10 * 1_200_000), 1, PortFault::Drop(rule));
                }
                bench.arrive(ps(seq * 600_000), 1, packet(seq as u32 % 2, seq, 1_500, Ecn::Ect));
            }
            bench.run_to(ps(100_000_000));
            let counters = bench.switch.ports()[1].counters();
            assert_eq!((counters.lost_packets, counters.tx_packets), (1, 40));
            let mut there = bench.wires.arrived.iter().map(|(_, _, p)| p.seq);
            assert!(there.all(|seq| seq != lost), "{form:?} {flow:?}");
        }
    }
}

#[test]
fn random_loss_has_its_rate_and_is_independent() {
    for loss in [0.001, 0.01, 0.3, 1.0] {
        let mut bench = Bench::new(2, PortSettings { loss, ..plain() }, None);
        let n = 200_000;
        for seq in 0..n {
            bench.arrive(ps(seq * 2_000_000), 1, packet(0, seq, 1_500, Ecn::Ect));
        }
        bench.run_to(ps(n * 2_000_000 + 1_000_000_000));
        let lost = bench.switch.ports()[1].counters().lost_packets;
        assert!(near(lost, n, loss), "{lost} of {n} at {loss}");
        assert_eq!(lost + bench.wires.arrived.len() as u64, n);
        // Pairs of losses in a row come as often as chance has it.
        let mut there = vec![false; n as usize];
        bench.wires.arrived.iter().for_each(|(_, _, p)| there[p.seq as usize] = true);
        let pairs = there.windows(2).filter(|w| !w[0] && !w[1]).count() as u64;
        assert!(near(pairs, n - 1, loss * loss) || pairs < 5, "{pairs} pairs at {loss}");
    }
}

/// The share of packets marked at a queue that stands still.
fn marked_share(marking: EcnMarking, queue: u64, form: Form) -> (u64, u64) {
    let mut bench = Bench::new(2, PortSettings { marking: Some(marking), form, ..plain() }, None);
    let unmarked = |size: u16| packet(0, 0, size, Ecn::NotEct);
    let mut left = queue;
    while left > 0 {
        let size = left.min(1_000);
        bench.arrive(ps(0), 1, unmarked(size as u16));
        left -= size;
    }
    let n = 40_000;
    for seq in 0..n {
        // One packet comes as one has gone: the queue is as at first.
        let now = ps((seq + 1) * 1_000 * 800);
        bench.switch.depart(now, &mut bench.wires);
        assert_eq!(bench.switch.ports()[1].queue(now), queue - 1_000);
        bench.arrive(now, 1, packet(1, seq, 1_000, Ecn::Ect));
        bench.wires.arrive_before(now);
    }
    bench.run_to(ps((n + 1_000) * 1_000 * 800));
    let marked = bench.wires.arrived.iter().filter(|(_, _, p)| p.ecn == Ecn::Ce).count() as u64;
    assert_eq!(marked, bench.switch.ports()[1].counters().marked_packets);
    (marked, n)
}

#[test]
fn a_ramp_marks_its_share() {
    let length = bytes;
    let ramp = EcnMarking {
        kmin: length(10_000),
        kmax: length(50_000),
        pmax: 0.4,
        ..EcnMarking::default()
    };
    for form in FORMS {
        for (queue, share) in [
            (5_000, 0.0),
            (10_000, 0.0),
            (20_000, 0.1),
            (30_000, 0.2),
            (49_000, 0.39),
            (50_000, 1.0),
            (90_000, 1.0),
        ] {
            let (marked, n) = marked_share(ramp, queue + 1_000, form);
            assert!(near(marked, n, share), "{marked} of {n} at {queue}, {share} expected");
        }
    }
}

#[test]
fn a_step_marks_from_k_on_exactly() {
    let step = |k| EcnMarking { kmin: bytes(k), kmax: bytes(k), ..EcnMarking::default() };
    for form in FORMS {
        let (marked, n) = marked_share(step(20_000), 20_000 + 1_000, form);
        assert_eq!(marked, n, "a packet that finds K is marked");
        let (marked, _) = marked_share(step(20_001), 20_000 + 1_000, form);
        assert_eq!(marked, 0, "one that finds a byte less is not");
    }
}

/// Packets that came without a mark and left with one: of ports without a shared buffer, by every rule, and whatever way packets take through
/// a port.
#[test]
fn each_mark_that_leaves_is_counted_once() {
    let step = EcnMarking { kmin: bytes(4_000), kmax: bytes(4_000), ..EcnMarking::default() };
    let ramp = EcnMarking { kmax: bytes(40_000), pmax: 0.5, ..step };
    let rules = [
        step,
        ramp,
        EcnMarking { at: MarkAt::Dequeue, ..step },
        EcnMarking { not_ect: NotEct::Drop, ..ramp },
        EcnMarking { kmin: QueueLength::Packets(4), kmax: QueueLength::Packets(9), ..ramp },
    ];
    for (form, classes) in [(Form::Any, 1), (Form::Any, 3), (Form::Queued, 1), (Form::Naive, 3)] {
        for (marking, by_class) in rules.iter().flat_map(|rule| [(*rule, false), (*rule, true)]) {
            let settings =
                PortSettings { form, classes, marking: Some(marking), wire: wire(24), ..plain() };
            let mut bench = match by_class && (form, classes) != (Form::Any, 1) {
                true => Bench::by_class(2, settings, None, [ClassPolicy::default(); CLASSES]),
                false => Bench::new(2, settings, None),
            };
            let mut rng = Stream::new(9, 0, Purpose::Test);
            let (mut now, mut came) = (0, Vec::new());
            for seq in 0..2_000 {
                now += rng.below(1_200_000);
                let ecn = of(&mut rng, &[Ecn::Ect, Ecn::Ect, Ecn::NotEct, Ecn::Ce]);
                let (class, size) = (rng.below(3) as u8, 64 + rng.below(1_437) as u16);
                came.push(ecn);
                bench.arrive(ps(now), 1, Packet { class, ..packet(0, seq, size, ecn) });
            }
            bench.run_to(ps(now + 1_000_000_000));
            let is_new = |p: &Packet| p.ecn == Ecn::Ce && came[p.seq as usize] == Ecn::Ect;
            let left = || bench.wires.arrived.iter().map(|(_, _, p)| p).filter(|p| is_new(p));
            let counted = bench.switch.counters(1).marked_packets;
            let what = format!("{form:?}, {classes} classes, by class {by_class}, {marking:?}");
            assert_eq!(counted, left().count() as u64, "{what}");
            assert!(counted > 50, "{counted} marks: {what}");
        }
    }
}

#[test]
fn what_is_not_ecn_capable_is_never_marked() {
    let marking = EcnMarking { kmin: bytes(0), kmax: bytes(0), ..EcnMarking::default() };
    for form in FORMS {
        for not_ect in [NotEct::Pass, NotEct::Drop] {
            let marking = EcnMarking { not_ect, ..marking };
            let mut bench =
                Bench::new(2, PortSettings { marking: Some(marking), form, ..plain() }, None);
            for seq in 0..100 {
                bench.arrive(
                    ps(seq),
                    1,
                    packet(0, seq, 1_500, if seq % 2 == 0 { Ecn::NotEct } else { Ecn::Ect }),
                );
            }
            bench.run_to(ps(1_000_000_000));
            let marked = bench.wires.arrived.iter().filter(|(_, _, p)| p.ecn == Ecn::Ce).count();
            assert_eq!(marked, 50);
            let dropped = bench.switch.ports()[1].counters().dropped_packets;
            assert_eq!(dropped, if not_ect == NotEct::Drop { 50 } else { 0 });
        }
    }
}

#[test]
fn a_limit_in_packets_counts_the_one_being_sent() {
    let mut bench =
        Bench::new(2, PortSettings { limit: Some(QueueLength::Packets(5)), ..plain() }, None);
    for seq in 0..20 {
        bench.arrive(ps(0), 1, packet(0, seq, 1_500, Ecn::NotEct));
    }
    bench.run_to(ps(1_000_000_000));
    assert_eq!(bench.wires.arrived.len(), 5);
    assert_eq!(bench.switch.ports()[1].highest(), 5 * 1_500);
}

#[test]
fn a_byte_limit_is_exact() {
    for form in FORMS {
        for (limit, fit) in [(4_499, 2), (4_500, 3), (4_501, 3)] {
            let limit = Some(bytes(limit));
            let mut bench = Bench::new(2, PortSettings { limit, form, ..plain() }, None);
            for seq in 0..10 {
                bench.arrive(ps(0), 1, packet(0, seq, 1_500, Ecn::NotEct));
            }
            bench.run_to(ps(1_000_000_000));
            assert_eq!(bench.wires.arrived.len(), fit);
        }
    }
}

#[test]
fn packets_leave_back_to_back_and_fly_as_long_as_they_should() {
    for form in FORMS {
        for overhead in [0u64, 24] {
            let settings = PortSettings { form, wire: wire(overhead), ..plain() };
            let mut bench = Bench::new(2, settings, None);
            for seq in 0..100 {
                bench.arrive(ps(0), 1, packet(0, seq, 1_500, Ecn::NotEct));
            }
            bench.run_to(ps(1_000_000_000));
            for (i, (_, at, one)) in (1u64..).zip(&bench.wires.arrived) {
                let rate = BitsPerSec::from_gbps(10);
                let sent = rate.time_for(Bytes::new(i * (1_500 + overhead)));
                assert_eq!(*at, ps(0) + sent + Span::from_ns(500));
                assert_eq!(one.seq, i - 1);
            }
        }
    }
}

/// What is in transmission at a change of rate is sent at the old one, and stays so through the next change.
#[test]
fn a_packet_in_transmission_keeps_its_rate() {
    for form in FORMS {
        let mut bench = Bench::new(2, PortSettings { form, flight: Span::ZERO, ..plain() }, None);
        for seq in 0..3 {
            bench.arrive(ps(0), 1, packet(0, seq, 1_000, Ecn::NotEct)); // 0.8 us each
        }
        bench.fault(ps(100_000), 1, PortFault::Rate(BitsPerSec::from_gbps(100)));
        assert_eq!(bench.switch.ports()[1].queue(ps(200_000)), 750 + 2_000);
        bench.fault(ps(300_000), 1, PortFault::Rate(BitsPerSec::from_gbps(40)));
        assert_eq!(bench.switch.ports()[1].queue(ps(400_000)), 500 + 2_000);
        bench.run_to(ps(10_000_000));
        let at: Vec<u64> = bench.wires.arrived.iter().map(|a| a.1.as_ps()).collect();
        assert_eq!(at, [800_000, 1_000_000, 1_200_000]);
    }
}

#[test]
fn the_random_arrivals_mostly_get_through() {
    let through: usize =
        (0..20).map(|seed| early_is_explicit(seed, 1_000, 1, More::default())).sum();
    assert!((5_000..20_000).contains(&through), "{through} of 20000");
}

/// Runs one seed again: `FOREBAY_SEED=<seed> cargo test -p forebay-net --test ports one_seed`.
#[test]
fn one_seed() {
    let seed = std::env::var("FOREBAY_SEED").ok().and_then(|s| s.parse().ok());
    if let Some(seed) = seed {
        early_is_explicit(seed, 2_500, 1, More::default());
    }
}

/// Selective drop: what is not ECN-capable and finds K bytes is dropped, and nothing else is dropped or marked. So capable packets find as much of
/// the other kind as fills the queue to K, and a packet, however many of these come.
#[test]
fn selective_drop_leaves_what_is_ecn_capable_alone() {
    let k = 6_000;
    let marking = EcnMarking {
        kmin: bytes(k),
        kmax: bytes(k),
        pmax: 1.0,
        at: MarkAt::Enqueue,
        not_ect: NotEct::Drop,
        ect: Ect::Pass,
        ..EcnMarking::default()
    };
    for (form, gap) in FORMS.iter().flat_map(|form| [(*form, 1_300_000), (*form, 300_000)]) {
        let mut alone = Vec::new();
        for crowd in [0, 1, 7, 60] {
            let mut bench =
                Bench::new(2, PortSettings { marking: Some(marking), form, ..plain() }, None);
            for seq in 0..40 {
                for other in 0..crowd {
                    let one = packet(0, 1_000 + seq * 100 + other, 1_500, Ecn::NotEct);
                    bench.arrive(ps(seq * gap), 1, one);
                }
                bench.arrive(ps(seq * gap), 1, packet(0, seq, 1_500, Ecn::Ect));
            }
            bench.run_to(ps(1_000_000_000));
            let counters = bench.switch.ports()[1].counters();
            assert_eq!(counters.dropped_packets, counters.dropped_unscheduled);
            assert_eq!(counters.marked_packets, 0);
            assert_eq!(counters.dropped_unscheduled > 0, crowd > 0, "crowd of {crowd}");
            let capable = bench.wires.arrived.iter().filter(|(_, _, p)| p.ecn == Ecn::Ect);
            let left: Vec<u64> = capable.map(|(_, at, _)| at.as_ps()).collect();
            assert_eq!(left.len(), 40);
            if crowd == 0 {
                alone = left;
                continue;
            }
            for (with, without) in left.iter().zip(&alone) {
                let later = (with - without) / 800;
                assert!(later <= k + 1_500, "{later} B later, crowd of {crowd}");
            }
        }
    }
}
