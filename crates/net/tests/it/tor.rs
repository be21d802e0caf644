//! Racks that queue by destination, whole: hosts that obey their switch, two or more racks and a switch between them.

mod hosts;

use self::hosts::{Bundle, Queue, Queues, World, us};
use forebay_settings::Requests;
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Bytes, Span, Time};

/// 16 hosts to a rack; rack 0 is the receivers'. Links of 1 us: hosts at 25 Gb/s, switches at 100 Gb/s. From ToR to ToR and back 4 us.
fn world(bundle: Bundle, advance: u64) -> World {
    World::new(bundle, Bytes::new(advance), 3)
}

/// Bytes per second of the wire as Gb/s.
fn gbps(bytes: u64, span: Span) -> f64 {
    bytes as f64 * 8.0 / span.as_secs_f64() / 1e9
}

/// Mean queue in KB, its bounds, and Gb/s at the host, from 1 to 3 ms, of flows that begin together.
fn settle(bundle: Bundle, flows: usize, request_interval: Span) -> (f64, (u64, u64), f64) {
    let mut world = world(bundle, 40_000);
    let to = world.host(0, 0);
    for i in 0..flows {
        let from = world.host(1, i);
        world.request_interval(from, request_interval);
        world.flow(from, to, u64::MAX, Time::ZERO);
    }
    let all = |world: &mut World| (0..flows as u32).map(|flow| world.received(flow)).sum::<u64>();
    world.run(us(1_000));
    let before = all(&mut world);
    let mut queues = Vec::new();
    for step in 1..=2_000 {
        world.run(us(1_000 + step));
        queues.push(world.voq(1, to).0);
    }
    let mean = queues.iter().sum::<u64>() as f64 / queues.len() as f64 / 1e3;
    let bounds = (queues.iter().min(), queues.iter().max());
    let bounds = (*bounds.0.expect("samples"), *bounds.1.expect("samples"));
    assert_eq!(world.dropped(), 0);
    (mean, bounds, gbps(all(&mut world) - before, Span::from_us(2_000)))
}

/// With flows counted, Q rests at q0 = 20 KB and the port is full (HierCC, APNet 2021, section 3.3). In packets of 1048 B that holds for few
/// flows: a host gets its rate with its own packets, which at an eighth of the port are 2.7 us apart and after a cut 10 us, so
/// that eight flows need to request more often than the paper has them, and sixteen ring whatever they do.
#[test]
fn counted_flows_rest_at_q0_and_fill_the_port() {
    for (flows, request_interval) in [(2, 10), (4, 10), (8, 2)] {
        let seen = settle(Bundle::COUNT, flows, Span::from_us(request_interval));
        assert!((seen.0 / 20.0 - 1.0).abs() < 0.05 && seen.2 > 24.9, "{flows}: {seen:?}");
        assert!(seen.1.0 > 5_000 && seen.1.1 < 35_000, "{flows}: {seen:?}");
    }
    let (mean, bounds, rate) = settle(Bundle::COUNT, 16, Span::from_us(1));
    assert!(mean > 40.0 && bounds.0 == 0 && rate > 24.9, "{mean} {bounds:?} {rate}");
}

/// Section 8.13: a resume at the rate before the stop is the burst again, so the queue never comes down to where the law would hold it.
#[test]
fn with_the_rate_before_the_stop_a_burst_never_ends() {
    for flows in [4, 8, 16] {
        let (mean, bounds, rate) = settle(Bundle::LITERAL, flows, Span::from_us(10));
        assert!(
            bounds.0 > 38_000 && mean > 60.0 && rate > 24.9,
            "{flows}: {mean} {bounds:?} {rate}"
        );
    }
}

/// Section 11.2: requesting what was sent makes a window, C0 over the round trip of the switches; requesting what came fills the port.
#[test]
fn one_rack_gets_its_window_or_the_port() {
    for (requests, advance, least, most) in [
        (Requests::Sent, 10_000, 18.0, 20.0),
        (Requests::Sent, 40_000, 24.9, 25.01),
        (Requests::Demand, 10_000, 24.9, 25.01),
    ] {
        let mut world = world(Bundle::COUNT.requesting(requests), advance);
        let to = world.host(0, 0);
        (0..2).for_each(|i| world.flow(world.host(1, i), to, u64::MAX, Time::ZERO));
        world.run(us(500));
        let before = world.received(0) + world.received(1);
        world.run(us(1_500));
        let rate = gbps(world.received(0) + world.received(1) - before, Span::from_us(1_000));
        assert!((least..=most).contains(&rate), "{requests:?} {advance}: {rate}");
    }
}

/// Section 11.4: racks with one and with three flows share one to three, so each flow gets a quarter.
#[test]
fn flows_of_different_racks_get_the_same() {
    let mut world = world(Bundle::COUNT, 10_000);
    let to = world.host(0, 0);
    world.flow(world.host(1, 0), to, u64::MAX, Time::ZERO);
    (0..3).for_each(|i| world.flow(world.host(2, i), to, u64::MAX, Time::ZERO));
    world.run(us(1_000));
    let before: Vec<u64> = (0..4).map(|flow| world.received(flow)).collect();
    world.run(us(5_000));
    for flow in 0..4 {
        let rate = gbps(world.received(flow) - before[flow as usize], Span::from_us(4_000));
        assert!((rate / 6.25 - 1.0).abs() < 0.05, "{flow}: {rate}");
    }
}

/// Section 11.5 and the traffic of figure 4: a long flow, 15 of 75 KB at 1 ms. The queue by destination stays below 70 KB and what 16
/// hosts have under way when it gets there: 2 us at line rate, a packet in transmission at either end, and what they send
/// while the word is; so 8 packets of each. The down port stays below C0 and a packet; nothing is lost and all is delivered.
#[test]
fn a_burst_is_stopped_in_time_and_nothing_is_lost() {
    for bundle in [Bundle::LITERAL, Bundle::RECOMMENDED, Bundle::COUNT] {
        let mut world = world(bundle, 10_000);
        let to = world.host(0, 0);
        world.flow(world.host(1, 0), to, u64::MAX, Time::ZERO);
        (1..16).for_each(|i| world.flow(world.host(1, i), to, 75_000, us(1_000)));
        let mut down = 0;
        for step in 0..2_000 {
            world.run(us(2 * step));
            down = down.max(world.down_queue(to));
        }
        let longest = world.longest(1);
        assert!(
            longest > 70_000 && longest <= 70_000 + (1 + 16 * 8) * 1_048,
            "{bundle:?}: {longest}"
        );
        assert!(down <= 10_000 + 1_060, "{bundle:?}: {down}");
        (1..16).for_each(|flow| assert_eq!(world.received_payload(flow), 75_000, "{bundle:?}"));
        assert_eq!(world.dropped(), 0);
        assert!(
            world.counters(1).stops >= 1 && world.counters(1).stops == world.counters(1).resumes
        );
    }
}

/// A receiver that sends as well: answers to it share its port with what two racks send. Credits count them, so that the queue stays
/// under what two racks may send in advance and a packet of each, and the port stays full.
#[test]
fn answers_to_the_receiver_take_their_share_of_its_port() {
    for bundle in [Bundle::LITERAL.requesting(Requests::Demand), Bundle::RECOMMENDED, Bundle::COUNT]
    {
        let mut world = world(bundle, 10_000);
        let to = world.host(0, 0);
        world.flow(world.host(1, 0), to, u64::MAX, Time::ZERO);
        world.flow(world.host(2, 0), to, u64::MAX, Time::ZERO);
        world.flow(to, world.host(1, 5), u64::MAX, Time::ZERO);
        world.answer_from(world.host(1, 5));
        let mut longest = 0;
        for step in 0..1_500 {
            world.run(us(2 * step));
            longest = longest.max(world.down_queue(to));
        }
        assert!(longest <= 2 * (10_000 + 1_060), "{bundle:?}: {longest}");
        let data = world.received(0) + world.received(1);
        let answers = world.received(2) / 1_048 * 84;
        let rate = gbps(data + answers, Span::from_us(3_000));
        assert!(rate > 24.6, "{bundle:?}: {rate}");
    }
}

/// Nothing is lost, so no request is repeated, though a rack waits for credits all the time.
#[test]
fn who_gets_credits_does_not_ask() {
    let mut world = world(Bundle::COUNT, 10_000);
    let to = world.host(0, 0);
    (0..4).for_each(|i| world.flow(world.host(1 + i % 2, i), to, u64::MAX, Time::ZERO));
    world.run(us(3_000));
    assert_eq!((world.counters(1).requests, world.counters(2).requests), (0, 0));
}

/// Between switches one packet of twenty is lost, or one of two: data, credits, and repeated requests. Every queue comes to its
/// end, no credit came that was not given, and in the end no queue waits for anything.
#[test]
fn queues_drain_whatever_is_lost() {
    for (bundle, loss) in [
        (Bundle::LITERAL, 0.05),
        (Bundle::LITERAL, 0.5),
        (Bundle::COUNT, 0.05),
        (Bundle::COUNT, 0.5),
    ] {
        let mut world = World::losing(bundle, Bytes::new(10_000), 3, loss);
        for i in 0..16 {
            let to = world.host(0, i % 3);
            world.flow(world.host(1, i), to, 200_000, us(i as u64));
            world.flow(world.host(2, i), to, 30_000, us(100 + i as u64));
        }
        world.run(us(60_000));
        assert!(world.is_at_rest(), "{bundle:?}, {loss}");
        assert!(world.counters(1).requests > 0, "{bundle:?}, {loss}");
        for Queue { queue, parts, .. } in (1..3).flat_map(|rack| world.queues(rack)) {
            assert_eq!(queue, 0, "{bundle:?}, {loss}");
            for (of, given) in parts {
                assert!(of.credited <= given, "{bundle:?}, {loss}: {given} for {of:?}");
            }
        }
    }
}

/// For any sharing of queues: at every microsecond no queue has sent more ahead of credits than it may, credits that came were given, what
/// was given was requested, and no port holds more than all racks may send in advance, or what it sends in a round trip, and a
/// packet of each. In the end all of it was given, and all that was sent has arrived.
#[test]
fn bounds_hold_whoever_shares_a_queue() {
    const ADVANCE: u64 = 10_000;
    for queues in [Queues::Hosts, Queues::Racks, Queues::Pods] {
        for (seed, bundle) in [(1, Bundle::LITERAL), (2, Bundle::RECOMMENDED), (3, Bundle::COUNT)] {
            let mut rng = Stream::new(seed, 0, Purpose::Test);
            let mut world = World::sharing(bundle, Bytes::new(ADVANCE), 3, queues);
            for _ in 0..300 {
                let from = rng.below(48) as u32;
                let to = (from + 16 + rng.below(32) as u32) % 48 / 4 * 4;
                let (size, at) = (1 + rng.below(60_000), us(rng.below(1_000)));
                world.flow(from, to, size, at);
            }
            let most = (3 * ADVANCE).max(37_500) + 4 * 1_060;
            for step in 0..6_000 {
                world.run(us(step));
                for Queue { ahead, parts, .. } in (0..3).flat_map(|rack| world.queues(rack)) {
                    assert!(ahead <= ADVANCE, "{queues:?}, {bundle:?}: {ahead} ahead");
                    for (of, given) in parts {
                        assert!(of.credited <= given, "{queues:?}, {bundle:?}: {of:?}, {given}");
                        assert!(
                            given < of.requested + 1_000,
                            "{queues:?}, {bundle:?}: {of:?}, {given}"
                        );
                    }
                }
                for host in 0..48 {
                    let down = world.down_queue(host);
                    assert!(down <= most, "{queues:?}, {bundle:?}: {down} at {host}");
                }
            }
            assert!(world.is_at_rest(), "{queues:?}, {bundle:?}");
            for Queue { queue, parts, .. } in (0..3).flat_map(|rack| world.queues(rack)) {
                assert_eq!(queue, 0);
                for (of, given) in parts {
                    assert_eq!(
                        (of.credited, of.sent),
                        (given, of.arrived),
                        "{queues:?}, {bundle:?}"
                    );
                    assert!(of.credited >= of.requested, "{queues:?}, {bundle:?}: {of:?}");
                }
            }
            assert!((0..300).all(|flow| world.is_complete(flow)), "{queues:?}, {bundle:?}");
            assert_eq!(world.dropped(), 0);
        }
    }
}

/// What sharing a queue costs: one flow to a host of its own stands behind others to a host that three racks send to. With a queue of its
/// own it has its port for itself.
#[test]
fn a_flow_waits_behind_others_in_a_shared_queue() {
    let rate = |queues| {
        let mut world = World::sharing(Bundle::COUNT, Bytes::new(10_000), 4, queues);
        let (busy, idle) = (world.host(0, 0), world.host(0, 1));
        for rack in 1..4 {
            (0..4).for_each(|i| world.flow(world.host(rack, i), busy, u64::MAX, Time::ZERO));
        }
        let victim = 12;
        world.flow(world.host(1, 8), idle, u64::MAX, Time::ZERO);
        world.run(us(1_000));
        let before = world.received(victim);
        world.run(us(3_000));
        gbps(world.received(victim) - before, Span::from_us(2_000))
    };
    let (own, shared) = (rate(Queues::Hosts), rate(Queues::Racks));
    assert!(own > 24.0, "{own}");
    // The rack has a third of the busy port for four flows, and its fifth no more than one of them.
    assert!(shared < 25.0 / 3.0 / 4.0 * 1.5, "{shared}");
}

/// A rack's own traffic takes the same queues, and needs no credit of its own to travel.
#[test]
fn a_rack_credits_itself() {
    let mut world = world(Bundle::COUNT, 10_000);
    let to = world.host(1, 5);
    (0..4).for_each(|i| world.flow(world.host(1, i), to, 500_000, Time::ZERO));
    world.run(us(1_000));
    (0..4).for_each(|flow| assert_eq!(world.received_payload(flow), 500_000));
    assert_eq!(world.counters(1).credits, 0);
    assert_eq!(world.dropped(), 0);
}

/// When no host sends any more, credits are as at the start, no queue holds anything and no timer runs.
#[test]
fn everything_comes_to_rest() {
    for bundle in [Bundle::LITERAL, Bundle::RECOMMENDED, Bundle::COUNT] {
        let mut world = world(bundle, 10_000);
        for i in 0..16 {
            let to = world.host(0, i % 3);
            world.flow(world.host(1, i), to, 40_000 + 1_000 * i as u64, us(i as u64));
            world.flow(world.host(2, i), to, 3_000, us(100 + i as u64));
        }
        world.run(us(20_000));
        assert!(world.is_at_rest(), "{bundle:?}");
        (0..3).for_each(|i| {
            let (queue, left) = world.voq(1, world.host(0, i));
            assert_eq!(queue, 0);
            assert!((10_000..11_000).contains(&left), "{bundle:?}: {left}");
        });
        assert!((0..32).all(|flow| world.is_complete(flow)));
    }
}
