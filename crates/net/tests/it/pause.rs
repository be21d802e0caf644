//! Pause at one switch, by hand: when a frame leaves, and when the next one does.

use crate::common::{Bench, packet, plain, ps};
use forebay_net::{CLASSES, ClassPolicy, Form, IngressPool, PortFault, PortSettings};
use forebay_settings::{IngressAccount, Threshold};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Ecn, Kind, Packet};

/// Three ports of 10 Gb/s, 800 ps a byte; ingress ports pause at 5 kB beyond 1 kB of their own and resume 2 kB below.
fn bench(lossless: Option<u8>) -> Bench {
    let settings = PortSettings { form: Form::Queued, classes: 8, ..plain() };
    let ingress = IngressAccount {
        reserved: Bytes::new(1_000),
        headroom: Some(Bytes::new(3_000)),
        xoff: Threshold::Fixed(Bytes::new(5_000)),
        resume_offset: Bytes::new(2_000),
    };
    let shared = Bytes::new(100_000);
    let pool = IngressPool { shared, ports: vec![[ingress; CLASSES]; 3], lossless, alpha: 1.0 };
    match lossless {
        None => Bench::pausing(3, settings, pool),
        Some(_) => Bench::by_class(3, settings, Some(pool), [ClassPolicy::default(); CLASSES]),
    }
}

/// Two lossless classes: 2 pauses at 5 kB beyond 1 kB and resumes 2 kB below, 4 at 3 kB without a reserve and resumes 1 kB below.
#[test]
fn each_class_pauses_at_thresholds_of_its_own() {
    let settings = PortSettings { form: Form::Queued, classes: 8, ..plain() };
    let account = |reserved, xoff, resume_offset| IngressAccount {
        reserved: Bytes::new(reserved),
        headroom: Some(Bytes::new(3_000)),
        xoff: Threshold::Fixed(Bytes::new(xoff)),
        resume_offset: Bytes::new(resume_offset),
    };
    let mut port = [account(1_000, 5_000, 2_000); CLASSES];
    port[4] = account(0, 3_000, 1_000);
    let (shared, lossless) = (Bytes::new(100_000), Some(1 << 2 | 1 << 4));
    let pool = IngressPool { shared, ports: vec![port; 3], lossless, alpha: 1.0 };
    let mut bench = Bench::by_class(3, settings, Some(pool), [ClassPolicy::default(); CLASSES]);
    let of = |class: u8, seq| Packet { class, ..packet(class.into(), seq, 1_000, Ecn::NotEct) };
    // The first of class 4 is in transmission and released: three are held from the fourth on, which pauses. Of class 2 six are held
    // from the sixth on, 5 kB beyond the reserve.
    for seq in 0..4 {
        bench.arrive(ps(1_000 * seq), 1, of(4, seq));
    }
    for seq in 0..6 {
        bench.arrive(ps(10_000 + 1_000 * seq), 1, of(2, seq));
    }
    bench.run_to(Time::ZERO + Span::from_ms(1));
    // A frame of 64 B takes 51.2 ns, and the next waits for it. Class 4 goes first, a packet every 0.8 us: two are held at 0.8 us,
    // 1 kB below its threshold. Class 2 begins at 3.2 us: three beyond its reserve are held at 4.0 us.
    let both = 1 << 2 | 1 << 4;
    let frames = frames(&bench, 0);
    assert_eq!(
        frames,
        [
            (ps(3_000 + 51_200), 1 << 4),
            (ps(3_000 + 2 * 51_200), both),
            (ps(851_200), 1 << 2),
            (ps(4_051_200), 0),
        ]
    );
    assert_eq!(bench.switch.held(), Bytes::ZERO);
}

/// Pause frames on the cable of a port: when the last bit left, and the classes.
fn frames(bench: &Bench, port: usize) -> Vec<(Time, u64)> {
    let link = bench.switch.ports()[port].settings().link.0;
    let ours = bench.wires.arrived.iter().filter(|(l, _, p)| *l == link && p.kind == Kind::Pause);
    ours.map(|(_, at, p)| (*at - plain().flight, p.seq)).collect()
}

#[test]
fn an_account_resumes_at_its_offset_below_the_threshold() {
    let mut bench = bench(None);
    for seq in 0..6 {
        bench.arrive(ps(0), 1, packet(0, seq, 1_000, Ecn::NotEct));
    }
    // The first of the six is in transmission and released, so five are held: 4 kB beyond the reserve.
    bench.run_to(ps(1_000));
    assert_eq!(frames(&bench, 0), []);
    bench.arrive(ps(1_000), 1, packet(0, 6, 1_000, Ecn::NotEct));
    bench.run_to(Time::ZERO + Span::from_ms(1));
    // 5 kB beyond it at 1 ns; below 3 kB after two more have begun, at 0.8 and 1.6 us. A frame of 64 B takes 51.2 ns.
    assert_eq!(frames(&bench, 0), [(ps(52_200), 255), (ps(1_651_200), 0)]);
    assert_eq!(bench.switch.held(), Bytes::ZERO);
    assert_eq!(bench.switch.ingress(0).headroom_peak, 0);
}

#[test]
fn a_frame_waits_for_the_packet_in_transmission() {
    let mut bench = bench(None);
    bench.arrive(ps(0), 0, packet(1, 0, 1_500, Ecn::NotEct));
    for seq in 0..8 {
        bench.arrive(ps(0), 1, packet(0, seq, 1_000, Ecn::NotEct));
    }
    bench.run_to(Time::ZERO + Span::from_ms(1));
    assert_eq!(frames(&bench, 0)[0], (ps(1_200_000 + 51_200), 255));
}

#[test]
fn what_does_not_fit_the_headroom_is_dropped_and_counted() {
    let mut bench = bench(None);
    for seq in 0..12 {
        bench.arrive(ps(0), 1, packet(0, seq, 1_000, Ecn::NotEct));
    }
    bench.run_to(ps(1_000));
    // One is in transmission, 1 kB reserved, 5 kB shared, 3 kB headroom: ten have a place.
    let counted = bench.switch.ingress(0);
    assert_eq!((counted.headroom_peak, counted.lossless_drops), (3_000, 2));
    assert_eq!(bench.switch.counters(1).dropped_packets, 2);
}

/// In-ports with this pool and account, together or class by class.
fn pausing(shared: u64, [xoff, reserved, headroom]: [u64; 3], lossless: Option<u8>) -> Bench {
    let settings = PortSettings { form: Form::Queued, classes: 8, ..plain() };
    let ingress = IngressAccount {
        reserved: Bytes::new(reserved),
        headroom: Some(Bytes::new(headroom)),
        xoff: Threshold::Fixed(Bytes::new(xoff)),
        resume_offset: Bytes::new(2_000),
    };
    let ports = vec![[ingress; CLASSES]; 3];
    let pool = IngressPool { shared: Bytes::new(shared), ports, lossless, alpha: 1.0 };
    match lossless {
        None => Bench::pausing(3, settings, pool),
        Some(_) => Bench::by_class(3, settings, Some(pool), [ClassPolicy::default(); CLASSES]),
    }
}

#[test]
fn the_packet_that_crosses_the_threshold_pauses_its_sender_with_any_headroom() {
    // One is in transmission, 1 kB reserved, 4 kB of at most 4.5 shared: the seventh crosses. The eighth is for the headroom.
    let cases = [
        // shared, headroom, drops, when the sender may go on: after each 0.8 us 1 kB less is held, and it resumes below 2.5 kB
        (100_000, 0, 1, 2_400_000),
        (100_000, 999, 1, 2_400_000),
        (100_000, 1_000, 1, 2_400_000),
        (100_000, 2_000, 0, 3_200_000),
        (4_000, 0, 2, 1_600_000), // the pool is full, and the seventh is dropped too
    ];
    for (lossless, classes) in [(None, 255), (Some(1), 1)] {
        for (shared, headroom, drops, resumes) in cases {
            let mut bench = pausing(shared, [4_500, 1_000, headroom], lossless);
            for seq in 0..8 {
                bench.arrive(ps(1_000 * seq), 1, packet(0, seq, 1_000, Ecn::NotEct));
            }
            bench.run_to(Time::ZERO + Span::from_ms(1));
            let expected = [(ps(6_000 + 51_200), classes), (ps(resumes + 51_200), 0)];
            assert_eq!(frames(&bench, 0), expected, "{headroom} B of headroom, {shared} B shared");
            assert_eq!(bench.switch.ingress(0).lossless_drops, drops, "{headroom} B of headroom");
            assert_eq!(bench.switch.held(), Bytes::ZERO);
        }
    }
}

#[test]
fn a_sender_whose_packet_finds_the_pool_used_up_by_others_waits_until_it_has_a_place() {
    // Host 0 has 3 kB of a pool of 3 kB, beside a packet in transmission. The first packet of host 1 is dropped.
    let mut bench = pausing(3_000, [5_000, 0, 0], None);
    for seq in 0..4 {
        bench.arrive(ps(1_000 * seq), 2, packet(0, seq, 1_000, Ecn::NotEct));
    }
    bench.arrive_from(ps(5_000), 1, 2, packet(1, 0, 1_000, Ecn::NotEct));
    bench.run_to(Time::ZERO + Span::from_ms(1));
    assert_eq!(frames(&bench, 1), [(ps(5_000 + 51_200), 255), (ps(800_000 + 51_200), 0)]);
    assert_eq!((frames(&bench, 0), bench.switch.ingress(1).lossless_drops), (vec![], 1));
    // A packet that is larger than the pool is dropped, and nothing could end its pause.
    let mut bench = pausing(900, [5_000, 0, 0], None);
    bench.arrive(ps(0), 2, packet(0, 0, 1_000, Ecn::NotEct));
    bench.arrive_from(ps(1_000), 1, 2, packet(1, 0, 1_000, Ecn::NotEct));
    bench.run_to(Time::ZERO + Span::from_ms(1));
    assert_eq!(frames(&bench, 1), []);
}

#[test]
fn a_frame_that_dies_with_its_cable_is_no_lost_packet() {
    let mut bench = bench(None);
    bench.arrive(ps(0), 0, packet(1, 0, 1_000, Ecn::NotEct));
    for seq in 0..8 {
        bench.arrive(ps(0), 1, packet(0, seq, 1_000, Ecn::NotEct));
    }
    // A packet and the frame behind it are on the cable: sent by 0.8 and 0.8512 us, there half a microsecond later.
    bench.fault(ps(900_000), 0, PortFault::Down);
    let port = &bench.switch.ports()[0];
    assert_eq!(port.pauses(ps(900_000)).sent, 1);
    assert_eq!((port.counters().tx_packets, port.counters().lost_packets), (1, 1));
    assert_eq!(bench.accounted(ps(900_000)), bench.offered);
    // What it had to say is said again when the cable is back, if it still holds.
    bench.fault(ps(1_000_000), 0, PortFault::Up);
    bench.run_to(Time::ZERO + Span::from_ms(1));
    assert_eq!(frames(&bench, 0)[0], (ps(1_051_200), 255));
}

#[test]
fn lossless_classes_pause_one_by_one() {
    let mut bench = bench(Some(0xff));
    for seq in 0..8 {
        let mut one = packet(0, seq, 1_000, Ecn::NotEct);
        one.class = 3;
        bench.arrive(ps(0), 1, one);
        one.class = 5;
        bench.arrive(ps(0), 1, one);
    }
    bench.run_to(Time::ZERO + Span::from_ms(1));
    let said: Vec<u64> = frames(&bench, 0).iter().map(|f| f.1).collect();
    assert!(said.contains(&(1 << 3)), "class 3 alone at some time: {said:?}");
    assert_eq!(said.last(), Some(&0));
}
