//! Classes at one switch, by hand: shares of the pool, marks on the queue of a class, pauses and watchdogs of a class.

use crate::common::{Bench, bytes, packet, plain, ps};
use forebay_net::{CLASSES, ClassPolicy, Form, IngressPool, PortSettings};
use forebay_settings::{
    EcnMarking, IngressAccount, MarkAt, QueueLength, Threshold, Watchdog, WatchdogAction,
};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Ecn, Packet};

const POOL: u64 = 1_000_000;

fn settings() -> PortSettings {
    PortSettings { form: Form::Queued, classes: 8, ..plain() }
}

fn of_class(class: u8, seq: u64, size: u16, ecn: Ecn) -> Packet {
    Packet { class, ..packet(u32::from(class), seq, size, ecn) }
}

fn pool(ports: usize, alpha: f64, headroom: Option<u64>, lossless: u8) -> IngressPool {
    let ingress = IngressAccount {
        reserved: Bytes::ZERO,
        headroom: headroom.map(Bytes::new),
        xoff: Threshold::Dynamic(alpha),
        resume_offset: Bytes::ZERO,
    };
    let shared = Bytes::new(POOL);
    IngressPool { shared, ports: vec![[ingress; CLASSES]; ports], lossless: Some(lossless), alpha }
}

/// What `n` ingress ports hold of a pool, all of them together, that never stop sending to a port that is stopped.
fn held_when_full(alpha: f64, n: u32, headroom: Option<u64>, lossless: u8) -> u64 {
    let pool = pool(n as usize + 1, alpha, headroom, lossless);
    let mut bench =
        Bench::by_class(n + 1, settings(), Some(pool), [ClassPolicy::default(); CLASSES]);
    bench.hear(ps(0), n, 0xff);
    for round in 0..POOL / 1_000 {
        for from in 0..n {
            let one = of_class(3, round, 1_000, Ecn::NotEct);
            bench.arrive_from(ps(round), from, n as usize, one);
        }
    }
    bench.run_to(ps(POOL));
    bench.switch.held().get()
}

/// Each of `n` saturated ingress ports takes alpha / (1 + alpha n) of the pool: Choudhury and Hahne, IEEE/ACM ToN 1998.
#[test]
fn shares_of_the_pool_are_those_of_the_dynamic_threshold() {
    for (alpha, free) in [
        (0.125, [0.889, 0.8, 0.5]),
        (0.5, [0.667, 0.5, 0.2]),
        (1.0, [0.5, 0.333, 0.111]),
        (8.0, [0.111, 0.059, 0.015]),
    ] {
        for (n, free) in [1, 2, 8].into_iter().zip(free) {
            let held = held_when_full(alpha, n, Some(0), 1 << 3) as f64;
            // Within a packet of each, and what rounding to three digits leaves open.
            let off = (held - (1.0 - free) * POOL as f64).abs();
            let slack = 1_000.0 * f64::from(n) + 0.0006 * POOL as f64;
            assert!(
                off <= slack,
                "alpha {alpha}, {n} ingress ports hold {held}, {free} was to be free"
            );
        }
    }
}

#[test]
fn a_class_that_is_dropped_has_a_queue_within_the_threshold_too() {
    // The ingress ports alone would take 8/9 of the pool; the queue that they share may take half of it.
    let held = held_when_full(1.0, 8, None, 1 << 5);
    assert!((499_000..=500_000).contains(&held), "{held}");
}

fn marks(at: MarkAt) -> [ClassPolicy; CLASSES] {
    let mut policies = [ClassPolicy::default(); CLASSES];
    let step = EcnMarking { kmin: bytes(3_000), kmax: bytes(3_000), at, ..EcnMarking::default() };
    policies[2].marking = Some(step);
    policies[1].marking =
        Some(EcnMarking { kmin: QueueLength::Packets(2), kmax: QueueLength::Packets(2), ..step });
    policies
}

#[test]
fn a_class_has_a_limit_of_its_own() {
    // With the packet in transmission: three of 1,500 B, less what is gone of the first; or two packets.
    for (limit, fit) in [(bytes(4_500), 3), (QueueLength::Packets(2), 2)] {
        for form in [Form::Queued, Form::Naive] {
            let mut policies = [ClassPolicy::default(); CLASSES];
            policies[2].limit = Some(limit);
            let mut bench = Bench::by_class(2, PortSettings { form, ..settings() }, None, policies);
            for seq in 0..9 {
                bench.arrive(ps(seq), 1, of_class(2, seq, 1_500, Ecn::Ect));
                bench.arrive(ps(seq), 1, of_class(3, seq, 1_500, Ecn::Ect));
            }
            bench.run_to(Time::ZERO + Span::from_ms(1));
            let arrived =
                |class| bench.wires.arrived.iter().filter(|(_, _, p)| p.class == class).count();
            assert_eq!((arrived(2), arrived(3)), (fit, 9), "{limit:?}");
            assert_eq!(bench.switch.ports()[1].counters().dropped_packets, 9 - fit as u64);
        }
    }
}

/// Sequence numbers of a class that left with a mark.
fn marked(bench: &Bench, class: u8) -> Vec<u64> {
    let all = bench.wires.arrived.iter().map(|(_, _, packet)| packet);
    all.filter(|p| p.class == class && p.ecn == Ecn::Ce).map(|p| p.seq).collect()
}

#[test]
fn the_queue_of_a_class_alone_marks_it() {
    for (at, of_2, of_1) in [
        // Joining: the fourth of class 2 finds three, the third of class 1 two. Later the first of class 2 is in transmission, so that
        // the fourth finds three less what is gone of that one.
        (MarkAt::Enqueue, vec![3, 4, 5, 104], vec![2, 3]),
        // Leaving: what comes of class 2 later stays behind all six, the third of class 1 leaves one behind. Later the first leaves
        // at once, the second three.
        (MarkAt::Dequeue, vec![0, 1, 2, 3, 4, 5, 101], vec![0, 1]),
    ] {
        let mut bench = Bench::by_class(2, settings(), None, marks(at));
        for seq in 0..9 {
            bench.arrive(ps(seq), 1, of_class(0, seq, 1_000, Ecn::Ect)); // a long queue of a class without a rule
        }
        for seq in 0..6 {
            bench.arrive(ps(10 + seq), 1, of_class(2, seq, 1_000, Ecn::Ect));
        }
        for seq in 0..4 {
            bench.arrive(ps(20 + seq), 1, of_class(1, seq, 1_000, Ecn::Ect));
        }
        for seq in 0..9 {
            bench.arrive(ps(30 + seq), 1, of_class(2, 10 + seq, 1_000, Ecn::NotEct));
        }
        let later = Time::ZERO + Span::from_ms(1);
        bench.run_to(later);
        for seq in 100..105 {
            bench.arrive(later + Span::from_ps(seq), 1, of_class(2, seq, 1_000, Ecn::Ect));
        }
        bench.run_to(later + Span::from_ms(1));
        assert!(marked(&bench, 0).is_empty());
        assert_eq!((marked(&bench, 2), marked(&bench, 1)), (of_2, of_1));
    }
}

fn watched(drops: bool) -> Bench {
    let action = if drops { WatchdogAction::Drop } else { WatchdogAction::Ignore };
    let watchdog = Some(Watchdog { after: Span::from_us(10), action });
    watched_by([watchdog; CLASSES])
}

fn watched_by(watchdog: [Option<Watchdog>; CLASSES]) -> Bench {
    let classes = watchdog.map(|watchdog| ClassPolicy { watchdog, ..ClassPolicy::default() });
    let pool = pool(3, 1.0, Some(100_000), 0xff);
    Bench::by_class(3, settings(), Some(pool), classes)
}

/// When packets of a class had left, in us.
fn left(bench: &Bench, class: u8) -> Vec<u64> {
    let ours = bench.wires.arrived.iter().filter(|(_, _, p)| p.class == class && p.size != 64);
    ours.map(|(_, at, _)| (*at - plain().flight).as_ps() / 1_000_000).collect()
}

#[test]
fn a_watchdog_ends_a_pause_that_lasts_and_no_other() {
    for drops in [false, true] {
        let mut bench = watched(drops);
        let us = |us: u64| ps(us * 1_000_000);
        bench.hear(us(0), 1, 1 << 3 | 1 << 5);
        for seq in 0..4 {
            bench.arrive(us(1), 1, of_class(3, seq, 1_250, Ecn::NotEct));
            bench.arrive(us(1), 1, of_class(5, seq, 1_250, Ecn::NotEct));
        }
        // Class 5 is let go after 6 us, and stopped again: 10 us begin anew.
        bench.hear(us(6), 1, 1 << 3);
        bench.hear(us(8), 1, 1 << 3 | 1 << 5);
        bench.arrive(us(9), 1, of_class(5, 9, 1_250, Ecn::NotEct));
        bench.run_to(us(15));
        // A packet takes 1 us; two of class 5 left from 6 to 8 us, the third had begun as the frame came.
        let (of_3, of_5) = (left(&bench, 3), left(&bench, 5));
        assert_eq!(of_5[..3], [7, 8, 9]);
        let counted = |class| bench.switch.ports()[1].class_counters(class, us(15)).unwrap();
        assert_eq!((counted(3).watchdog_fired, counted(5).watchdog_fired), (1, 0));
        assert_eq!(counted(3).watchdog_drops, if drops { 4 } else { 0 });
        assert_eq!(of_3, if drops { vec![] } else { vec![11, 12, 13, 14] });
        // It lasts until the peer lets go: what comes is dropped, or sent at once.
        bench.arrive(us(16), 1, of_class(3, 4, 1_250, Ecn::NotEct));
        bench.run_to(us(20));
        assert_eq!(left(&bench, 3).len(), if drops { 0 } else { 5 });
        assert_eq!(bench.switch.counters(1).dropped_packets, if drops { 5 + 2 } else { 0 });
        bench.hear(us(21), 1, 0);
        bench.arrive(us(21), 1, of_class(3, 5, 1_250, Ecn::NotEct));
        bench.hear(us(23), 1, 1 << 3);
        bench.arrive(us(24), 1, of_class(3, 6, 1_250, Ecn::NotEct));
        bench.run_to(us(30));
        assert_eq!(
            left(&bench, 3).len(),
            if drops { 1 } else { 6 },
            "stopped anew, it waits again"
        );
        bench.run_to(us(40));
        assert_eq!(bench.switch.held(), Bytes::ZERO);
        assert_eq!(bench.accounted(us(40)), bench.offered);
    }
}

/// Class 3 waits 4 us and drops, class 5 waits 10 us and sends all the same, class 6 waits for ever.
#[test]
fn each_class_has_a_watchdog_of_its_own() {
    let us = |us: u64| ps(us * 1_000_000);
    let mut watchdogs = [None; CLASSES];
    watchdogs[3] = Some(Watchdog { after: Span::from_us(4), action: WatchdogAction::Drop });
    watchdogs[5] = Some(Watchdog { after: Span::from_us(10), action: WatchdogAction::Ignore });
    let mut bench = watched_by(watchdogs);
    bench.hear(us(1), 1, 1 << 3 | 1 << 5 | 1 << 6);
    for class in [3, 5, 6] {
        for seq in 0..2 {
            bench.arrive(us(2), 1, of_class(class, seq, 1_250, Ecn::NotEct));
        }
    }
    let dropped = [-1, 1].map(|later| {
        bench.run_to(ps(us(5).as_ps().wrapping_add_signed(later)));
        bench.switch.counters(1).dropped_packets
    });
    assert_eq!(dropped, [0, 2], "4 us after it was stopped");
    bench.run_to(us(60));
    // A packet takes 1 us, from 11 us on.
    assert_eq!([3, 5, 6].map(|class| left(&bench, class)), [vec![], vec![12, 13], vec![]]);
    let counted = [3, 5, 6].map(|class| {
        let one = bench.switch.ports()[1].class_counters(class, us(60)).unwrap();
        (one.watchdog_fired, one.watchdog_drops)
    });
    assert_eq!(counted, [(1, 2), (1, 0), (0, 0)]);
    bench.hear(us(61), 1, 0);
    bench.run_to(us(70));
    assert_eq!(left(&bench, 6), [62, 63]);
    assert_eq!(bench.accounted(us(70)), bench.offered);
}

#[test]
fn each_class_counts_its_own_pauses() {
    let mut bench = watched(false);
    let us = |us: u64| ps(us * 1_000_000);
    for (at, classes) in [(1, 0b11), (3, 0b10), (4, 0b11), (9, 0b00)] {
        bench.hear(us(at), 2, classes);
    }
    let counted = |class| bench.switch.ports()[2].class_counters(class, us(20)).unwrap().pauses;
    assert_eq!((counted(0).received, counted(0).paused), (4, Span::from_us(7)));
    assert_eq!((counted(1).received, counted(1).paused), (2, Span::from_us(8)));
    assert!((2..CLASSES).all(|class| counted(class).received == 0));
    assert_eq!(bench.switch.ports()[2].pauses(us(20)).paused, Span::from_us(8));
}
