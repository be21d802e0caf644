//! What bounds sending besides the window: the receiver, the application, lost and stretched ACKs.

use crate::common::{Fate, MSS, Pipe, at_us, config, start, us};
use forebay_laws::flow::FlowParams;
use forebay_settings::{HostSettings, QueueLength};
use forebay_transport::{FlowSpec, TcpConfig, TcpReceiver, TcpSender};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Flags, FlowId, HostAddr, Kind, Packet};

const RTT: Span = Span::from_us(100);

#[test]
fn the_receive_window_bounds_the_flight() {
    // Whole segments and not, around the 16 bits of the field in TCP, and above the 64 MiB that 16 bits of KiB can say.
    let few =
        [2 * MSS, 2 * MSS + 1, 32 * 1024, 45 * MSS - 1, 45 * MSS, 46 * MSS, 77 * MSS, 4_000_000];
    for window in few.into_iter().chain([100_000_000]) {
        let mut cfg = config("reno");
        cfg.receive_window = Some(Bytes::new(window));
        cfg.initial_window = QueueLength::Bytes(Bytes::new(window / 2));
        let mut pipe = Pipe::new(cfg, "reno", Bytes::new(3 * window), RTT);
        let mut most = 0;
        while !pipe.sender.finished() {
            pipe.step();
            most = most.max(pipe.sender.totals().inflight.get());
        }
        assert_eq!(most, window / MSS * MSS);
        assert!(pipe.acks.iter().all(|(_, ack)| ack.window() == Some(window)));
    }
}

/// The application reads all of a window in each round trip, so the next is twice that and 16 segments.
#[test]
fn an_autotuned_window_follows_what_was_read_up_to_its_limit() {
    let mut cfg = config("reno");
    cfg.initial_window = QueueLength::Bytes(Bytes::new(4_000 * MSS));
    cfg.receive_window = Some(Bytes::new(32 << 10));
    cfg.receive_window_max = Some(Bytes::new(512 << 10));
    let mut pipe = Pipe::new(cfg, "reno", Bytes::new(4_000 * MSS), RTT);
    pipe.finish();
    let windows: Vec<u64> = pipe.acks.iter().map(|(_, ack)| ack.window().unwrap()).collect();
    assert!(windows.is_sorted(), "it never shrinks");
    let mut steps = windows;
    steps.dedup();
    assert_eq!((steps[0], steps[steps.len() - 1]), (32 << 10, 512 << 10));
    for pair in steps.windows(2) {
        // A round trip ends with a segment, so it may have read two more than fit the window.
        let most = 2 * (pair[0] + 2 * MSS) + 16 * MSS;
        assert!(pair[1] <= most, "{steps:?}");
        let full = pair[0] * 1_024 / MSS * MSS;
        let least = ((2 * full + 16 * MSS) >> 10).min(512);
        assert!(pair[1] >= least * 9 / 10, "{steps:?}");
    }
    assert!(steps.len() <= 6, "{steps:?}");
    assert_eq!(pipe.sender.timeouts(), 0);
}

#[test]
fn a_window_below_a_segment_still_lets_one_through() {
    let mut cfg = config("reno");
    cfg.receive_window = Some(Bytes::new(1_500));
    let mut pipe = Pipe::new(cfg, "reno", Bytes::new(20 * MSS), RTT);
    pipe.finish();
    assert_eq!(pipe.sender.timeouts(), 0);
}

/// Linux compares the window with twice the packets that were out after a send, not with what is in flight at the ACK. 9,000 B are seven packets, so
/// that ten packets grow to 14 (`tcp_is_cwnd_limited`: cwnd < 2 * max_packets_out).
#[test]
fn slow_start_grows_to_twice_the_packets_that_were_out() {
    for (size, grown) in [(9_000, 14), (5 * MSS, 10), (5 * MSS + 1, 12), (8 * MSS, 16)] {
        let mut pipe = Pipe::new(config("reno"), "reno", Bytes::new(size), RTT);
        pipe.finish();
        assert_eq!(pipe.sender.cwnd(), Bytes::new(grown * MSS), "{size} B");
    }
}

#[test]
fn an_unfilled_window_does_not_grow() {
    let law = FlowParams::new("reno").unwrap();
    let mut pipe = Pipe::with_spec(config("reno"), &law, Bytes::new(4 * MSS), true, RTT);
    let first = pipe.sender.cwnd();
    for k in 1..100 {
        pipe.run_until(at_us(120 * k));
        pipe.sender.app_write(Bytes::new(4 * MSS), false);
    }
    pipe.run_until(at_us(20_000));
    assert_eq!(pipe.sender.acked(), Bytes::new(400 * MSS));
    assert_eq!(pipe.sender.cwnd(), first);
    assert_eq!(pipe.sender.totals().srtt, RTT);
}

#[test]
fn a_window_that_was_full_once_stops_growing_when_it_is_full_no_more() {
    let law = FlowParams::new("reno").unwrap();
    let mut pipe =
        Pipe::with_spec(config("reno"), &law, Bytes::new(40 * MSS), true, RTT).drop_data(&[3]); // out of slow start
    pipe.run_until(at_us(3_000));
    let before = pipe.sender.cwnd();
    assert!(before >= Bytes::new(5 * MSS));
    for k in 0..200 {
        pipe.sender.app_write(Bytes::new(MSS), false);
        pipe.run_until(at_us(3_000 + 110 * (k + 1)));
    }
    assert!(pipe.sender.cwnd() <= before + Bytes::new(MSS), "{before} {}", pipe.sender.cwnd());
}

#[test]
fn short_writes_travel_as_short_segments() {
    let law = FlowParams::new("reno").unwrap();
    let mut pipe = Pipe::with_spec(config("reno"), &law, Bytes::new(100), true, RTT);
    for k in 1..50 {
        pipe.run_until(at_us(7 * k));
        pipe.sender.app_write(Bytes::new(100 + 37 * k), k == 49);
    }
    pipe.finish();
    assert!(pipe.sent.iter().any(|s| s.len < 200) && pipe.sent.iter().any(|s| s.len == MSS));
    assert!(pipe.sent.last().unwrap().flags.has(Flags::FIN));
    assert_eq!(pipe.sent.iter().filter(|s| s.flags.has(Flags::FIN)).count(), 1);
    assert!(pipe.receiver.complete());
}

/// When the ACKs of single segments that arrive at these times leave, in ms; their way takes `way_ms`.
fn ack_times(cfg: &TcpConfig, way_ms: u64, arrivals: &[u64]) -> Vec<f64> {
    let mut receiver = TcpReceiver::new(cfg, FlowId(0), HostAddr { tor: 0, port: 0 });
    let mut acks = Vec::new();
    for (k, at) in (0..).zip(arrivals) {
        let now = at_us(at * 1_000);
        if receiver.deadline() <= now {
            acks.push(us(receiver.deadline()) / 1e3);
            receiver.on_deadline(cfg, receiver.deadline()).expect("it is due");
        }
        let stamp = ((at - way_ms) * 1_000_000) as u32;
        let packet = Packet { seq: 100 * k, size: 152, stamp, ..Packet::default() };
        if receiver.on_data(cfg, now, &packet)[1].is_some() {
            acks.push(*at as f64);
        }
    }
    if receiver.deadline() < Time::MAX {
        acks.push(us(receiver.deadline()) / 1e3);
    }
    acks
}

fn delaying() -> TcpConfig {
    config("reno").with(|of| (of.delayed_ack, of.quick_acks) = (true, 0))
}

#[test]
fn the_time_for_which_an_ack_waits_is_a_setting_and_ends_on_a_tick() {
    let cfg = |timeout, tick_ms| {
        delaying().with(|of| {
            of.delayed_ack_timeout = Span::from_ms(timeout);
            of.timer_tick = Span::from_ms(tick_ms);
        })
    };
    assert_eq!(ack_times(&cfg(40, 0), 0, &[1]), [41.0]);
    assert_eq!(ack_times(&cfg(25, 0), 0, &[1]), [26.0]);
    assert_eq!(ack_times(&cfg(40, 10), 0, &[1]), [50.0], "100 Hz: the end of the fifth jiffy");
    assert_eq!(ack_times(&cfg(40, 4), 0, &[3]), [44.0], "250 Hz");
}

#[test]
fn the_delayed_ack_timer_adapts_within_a_round_trip() {
    let cfg = delaying().with(|of| of.adaptive_delayed_ack = true);
    // Close together, and wherever the round trip is short: 40 ms.
    assert_eq!(ack_times(&cfg, 1, &[1, 101, 201]), [41.0, 141.0, 241.0]);
    // A wait that runs out doubles: 80 ms, then 160 ms, of which a segment after 100 ms takes half and adds the gap.
    assert_eq!(ack_times(&cfg, 100, &[100, 200, 300]), [140.0, 280.0, 480.0]);
    // The round trip bounds it.
    assert_eq!(ack_times(&cfg, 30, &[100, 200, 300]), [140.0, 260.0, 360.0]);
    // An ACK that waits leaves at the earlier time, and with the next segment where less than a quarter of the wait is left.
    assert_eq!(ack_times(&cfg, 100, &[100, 125]), [140.0]);
    assert_eq!(ack_times(&cfg, 100, &[100, 135]), [135.0]);
}

#[test]
fn after_a_gap_longer_than_a_timeout_acks_leave_at_once() {
    let cfg = delaying().with(|of| (of.adaptive_delayed_ack, of.quick_acks) = (true, 2));
    assert_eq!(
        ack_times(&cfg, 1, &[1, 2, 3, 300, 301, 302]),
        [1.0, 2.0, 43.0, 300.0, 301.0, 342.0]
    );
    let cfg = cfg.with(|of| of.adaptive_delayed_ack = false);
    assert_eq!(ack_times(&cfg, 1, &[1, 2, 3, 300]), [1.0, 2.0, 43.0, 340.0]);
}

#[test]
fn delayed_acks_follow_the_two_segment_rule() {
    let mut cfg = config("reno");
    cfg.delayed_ack = true;
    let receive = |cfg: &forebay_transport::TcpConfig| {
        TcpReceiver::new(cfg, FlowId(0), HostAddr { tor: 0, port: 0 })
    };
    let mut receiver = receive(&cfg);
    let packet = |k: u64| Packet {
        seq: k * MSS,
        size: (MSS + 52) as u16,
        stamp: k as u32,
        ..Packet::default()
    };
    for k in 0..16 {
        assert!(receiver.on_data(&cfg, at_us(k), &packet(k))[1].is_some(), "quick ACK {k}");
    }
    assert_eq!(receiver.on_data(&cfg, at_us(20), &packet(16)), [None, None]);
    assert_eq!(receiver.deadline(), at_us(40_020));
    let ack = receiver.on_data(&cfg, at_us(30), &packet(17))[1].unwrap();
    assert_eq!((ack.seq, ack.stamp), (18 * MSS, 16), "echoes the first segment it covers");
    assert_eq!(receiver.deadline(), Time::MAX);
    assert_eq!(receiver.on_data(&cfg, at_us(40), &packet(18)), [None, None]);
    assert_eq!(receiver.on_deadline(&cfg, at_us(40_039)), None);
    assert_eq!(receiver.on_deadline(&cfg, at_us(40_040)).unwrap().seq, 19 * MSS);
    // A hole: at once, and with what was received.
    let ack = receiver.on_data(&cfg, at_us(41_000), &packet(20))[1].unwrap();
    assert_eq!((ack.seq, ack.sacks), (19 * MSS, 1));
    assert_eq!((u64::from(ack.ext[0].start), u64::from(ack.ext[0].end)), (MSS, 2 * MSS));
    // Filled: at once.
    let ack = receiver.on_data(&cfg, at_us(41_001), &packet(19))[1].unwrap();
    assert_eq!((ack.seq, ack.sacks), (21 * MSS, 0));
    // The end of the flow: at once.
    cfg.quick_acks = 0;
    let mut receiver = receive(&cfg);
    let fin = Packet { flags: Flags::FIN, ..packet(0) };
    assert!(receiver.on_data(&cfg, at_us(0), &fin)[1].is_some());
    assert!(receiver.complete());
    // After a duplicate: at once, sixteen times with its own.
    cfg.quick_acks = 16;
    let mut receiver = receive(&cfg);
    for k in 0..20 {
        receiver.on_data(&cfg, at_us(k), &packet(k));
    }
    assert!(receiver.on_data(&cfg, at_us(30), &packet(0))[1].is_some());
    for k in 20..35 {
        assert!(receiver.on_data(&cfg, at_us(k + 20), &packet(k))[1].is_some());
    }
    assert!(receiver.on_data(&cfg, at_us(60), &packet(35))[1].is_none());
    // A receiver whose window opens for long acknowledges at once for so long, but no longer after a duplicate.
    cfg.quick_acks = 300;
    let mut receiver = receive(&cfg);
    for k in 0..300 {
        assert!(receiver.on_data(&cfg, at_us(k), &packet(k))[1].is_some(), "quick ACK {k}");
    }
    assert!(receiver.on_data(&cfg, at_us(300), &packet(300))[1].is_none());
    assert!(receiver.on_data(&cfg, at_us(301), &packet(0))[1].is_some());
    for k in 301..316 {
        assert!(receiver.on_data(&cfg, at_us(k + 1), &packet(k))[1].is_some());
    }
    assert!(receiver.on_data(&cfg, at_us(317), &packet(316))[1].is_none());
}

#[test]
fn duplicates_are_reported_wherever_they_lie() {
    let cfg = config("reno");
    let mut receiver = TcpReceiver::new(&cfg, FlowId(0), HostAddr { tor: 0, port: 0 });
    let mut take = |k: u64| {
        let size = (MSS + 52) as u16;
        let packet = Packet { seq: k * MSS, size, ..Packet::default() };
        receiver.on_data(&cfg, Time::ZERO, &packet)[1].unwrap()
    };
    take(0);
    take(1);
    let ack = take(0);
    assert!(ack.flags.has(Flags::DSACK));
    let m = MSS as u32;
    assert_eq!((ack.ext[0].start, ack.ext[0].end), (2 * m, m));
    take(4);
    let ack = take(4);
    assert!(ack.flags.has(Flags::DSACK));
    // Above the ACK's `seq`, distances below it are negative.
    assert_eq!((ack.ext[0].start as i32, ack.ext[0].end as i32), (-2 * m as i32, -3 * m as i32));
    assert_eq!((ack.sacks, ack.ext[1].start, ack.ext[1].end), (2, 2 * m, 3 * m));
}

#[test]
fn lost_acks_cost_nothing_but_clocking() {
    let mut cfg = config("reno");
    cfg.initial_window = QueueLength::Bytes(Bytes::new(40 * MSS));
    let mut pipe = Pipe::new(cfg, "reno", Bytes::new(2_000 * MSS), RTT)
        .nic(100)
        .ack(|_, n| if n % 4 == 3 { Fate::Pass } else { Fate::Drop });
    pipe.finish();
    assert_eq!(pipe.sender.retransmits(), 0);
    assert_eq!(pipe.sender.timeouts(), 0);
}

#[test]
fn stretch_acks_grow_the_window_as_much() {
    let spec = FlowSpec {
        flow: FlowId(0),
        src: HostAddr::default(),
        dst: HostAddr::default(),
        size: Bytes::MAX,
        open: false,
        paths: 1,
        handshake: None,
    };
    let law = FlowParams::new("reno").unwrap();
    let cfg = config("reno");
    let grown = |stretch: u64| {
        let mut sender = TcpSender::new(&cfg, spec, &law, start(&cfg), Time::ZERO);
        let mut acked = 0;
        for k in 1..400u64 {
            while sender.next_packet(&cfg, at_us(100 * k)).is_some() {}
            let nxt = sender.totals().nxt;
            while acked < nxt {
                acked = (acked + stretch * MSS).min(nxt);
                let ack =
                    Packet { kind: Kind::Ack, seq: acked, word: u16::MAX, ..Packet::default() };
                sender.on_ack(&cfg, at_us(100 * k + 50), &ack);
            }
            if k == 4 {
                break;
            }
        }
        sender.cwnd().get() / MSS
    };
    assert_eq!(grown(1), 160);
    assert_eq!(grown(8), 160);
    assert_eq!(grown(45), 160);
}

#[test]
fn pacing_shuts_and_opens_the_gate() {
    // No registered law paces yet; what is not set costs nothing.
    let mut pipe = Pipe::new(config("reno"), "reno", Bytes::new(20 * MSS), RTT);
    pipe.pump();
    assert_eq!(pipe.sent.len(), 10);
    assert!(pipe.sent.iter().all(|s| s.at == Time::ZERO));
    pipe.finish();
}

/// A receive window of 45 segments. Linux since 3.16 lets slow start reach twice what was in flight; before, it ended where an
/// ACK found more than 3 segments of room: 45 + 3, and the one by which the last ACK before grew it. With TSO, where the
/// room was a third of the window.
#[test]
fn a_window_that_the_receiver_limits_stops_where_its_kernel_stopped_it() {
    let reached = |gentle_growth: bool, tso: bool| {
        let receive_window = Some(Bytes::new(64 << 10));
        let host = HostSettings { tso, ..HostSettings::IDEAL };
        let cfg = TcpConfig { host, ..config("reno") }.with(|of| {
            (of.gentle_growth, of.receive_window) = (gentle_growth, receive_window);
        });
        let mut pipe = Pipe::new(cfg, "reno", Bytes::new(4_000 * MSS), RTT).nic(100);
        pipe.finish();
        pipe.sender.cwnd().get() / MSS
    };
    assert_eq!(reached(true, false), 90);
    assert_eq!(reached(false, false), 49);
    let by_tso = reached(false, true);
    assert!((66..=69).contains(&by_tso), "{by_tso}");
}
