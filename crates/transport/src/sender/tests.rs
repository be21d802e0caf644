//! Rules of the sender that are easiest to see from inside, ACK by ACK.

use super::*;
use forebay_laws::flow::{CaState, FlowAct};
use forebay_units::Bytes;
use forebay_wire::{Flags, Kind, Packet, SackBlock, Stamps};

fn sender(cfg: &TcpConfig) -> TcpSender {
    sender_of(cfg, "reno", Bytes::MAX)
}

fn sender_of(cfg: &TcpConfig, law: &str, size: Bytes) -> TcpSender {
    let at = Start {
        mss: cfg.mss,
        initial_window: cfg.initial_window(),
        line_rate: BitsPerSec::from_gbps(100),
        base_rtt: None,
        seed: 0,
    };
    let spec = FlowSpec {
        flow: FlowId(0),
        src: HostAddr::default(),
        dst: HostAddr::default(),
        size,
        open: false,
        paths: 1,
        handshake: None,
    };
    TcpSender::new(cfg, spec, &FlowParams::new(law).unwrap(), at, Time::ZERO)
}

fn act(sender: &mut TcpSender, act: FlowAct) {
    let mut acts = Acts::default();
    acts.push(act);
    sender.apply(Time::ZERO, &acts);
}

/// Departure times of ten segments, in ps.
fn departures(act_first: FlowAct) -> Vec<u64> {
    let cfg = TcpConfig::default();
    let mut sender = sender(&cfg);
    act(&mut sender, act_first);
    let (mut now, mut left) = (Time::ZERO, Vec::new());
    while left.len() < 10 {
        if sender.next_packet(&cfg, now).is_some() {
            left.push(now.as_ps());
        } else {
            assert!(sender.deadline() > now);
            now = sender.deadline();
            sender.on_deadline(&cfg, now);
        }
    }
    left
}

#[test]
fn a_rate_spaces_segments_without_drift() {
    let rate = 29_999_999_999;
    let left = departures(FlowAct::Rate(BitsPerSec::new(rate)));
    for (i, at) in left.iter().enumerate() {
        let exact = i as u128 * 1500 * 8_000_000_000_000 / u128::from(rate);
        assert_eq!(u128::from(*at), exact);
    }
}

#[test]
fn a_gap_spaces_segments() {
    let left = departures(FlowAct::Gap(Span::from_us(7)));
    assert!(left.iter().enumerate().all(|(i, at)| *at == i as u64 * 7_000_000));
}

#[test]
fn the_end_of_a_gap_opens_the_gate() {
    let cfg = TcpConfig::default();
    let mut sender = sender(&cfg);
    act(&mut sender, FlowAct::Gap(Span::from_us(7)));
    assert!(sender.next_packet(&cfg, Time::ZERO).is_some() && !sender.ready(&cfg));
    act(&mut sender, FlowAct::Gap(Span::from_us(1)));
    assert!(!sender.ready(&cfg), "a shorter one holds from the next segment on");
    act(&mut sender, FlowAct::Gap(Span::ZERO));
    assert!(sender.ready(&cfg));
}

#[test]
fn the_law_is_woken_once_at_the_least_of_its_times() {
    let cfg = TcpConfig::default();
    let mut sender = sender(&cfg);
    let at = |us| Time::ZERO + Span::from_us(us);
    act(&mut sender, FlowAct::WakeAt(at(9)));
    act(&mut sender, FlowAct::WakeAt(at(5)));
    assert_eq!(sender.deadline(), at(5));
    sender.on_deadline(&cfg, at(4));
    assert_eq!(sender.deadline(), at(5));
    sender.on_deadline(&cfg, at(5));
    assert_eq!(sender.deadline(), Time::MAX);
}

#[test]
fn less_than_a_segment_of_window_still_sends_one_at_a_time() {
    let cfg = TcpConfig::default();
    let mut sender = sender(&cfg);
    act(&mut sender, FlowAct::window(Bytes::new(100)));
    assert!(sender.next_packet(&cfg, Time::ZERO).is_some());
    assert!(!sender.ready(&cfg));
}

const MSS: u64 = 1448;

fn at_us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// An ACK up to segment `k`, with blocks in segments relative to it.
fn ack(k: u64, blocks: &[(i64, i64)]) -> Packet {
    let mut ack = Packet {
        kind: Kind::Ack,
        seq: k * MSS,
        word: u16::MAX,
        sacks: blocks.len() as u8,
        ..Packet::default()
    };
    for (to, (start, end)) in ack.ext.iter_mut().zip(blocks) {
        let bytes = |k: &i64| (k * MSS as i64) as u32;
        *to = SackBlock { start: bytes(start), end: bytes(end) };
    }
    ack
}

/// Pulls all that may leave; returns how many segments, and how many of them again.
fn pull(sender: &mut TcpSender, cfg: &TcpConfig, now: Time) -> (usize, usize) {
    let (mut all, mut again) = (0, 0);
    while let Some(packet) = sender.next_packet(cfg, now) {
        all += 1;
        again += usize::from(packet.flags.has(Flags::RETRANSMIT));
    }
    (all, again)
}

#[test]
fn blocks_of_one_ack_are_not_taken_for_reordering() {
    let cfg = TcpConfig::default();
    let mut sender = sender(&cfg);
    pull(&mut sender, &cfg, Time::ZERO);
    sender.on_ack(&cfg, at_us(100), &ack(0, &[(5, 6), (2, 3)]));
    let r = sender.repair.as_ref().unwrap();
    assert!(!r.reord_seen);
    assert_eq!(r.fack, 6 * MSS);
    sender.on_ack(&cfg, at_us(101), &ack(0, &[(5, 6), (2, 4)]));
    assert!(sender.repair.as_ref().unwrap().reord_seen, "segment 3 came after 5");
}

/// Linux: `seq_rtt_us` is of the first segment that an ACK covers, `ca_rtt_us` of the last.
#[test]
fn the_smoothed_rtt_is_of_the_oldest_segment_and_the_least_of_the_newest() {
    let cfg = TcpConfig { timestamps: false, ..TcpConfig::default() };
    let after = |acks: &[(u64, Packet)]| {
        let mut sender = sender(&cfg);
        for k in 0..5 {
            assert!(sender.next_packet(&cfg, at_us(10 * k)).is_some());
        }
        acks.iter().for_each(|(us, packet)| sender.on_ack(&cfg, at_us(*us), packet));
        [sender.totals.srtt, sender.totals.min_rtt].map(Span::as_us)
    };
    assert_eq!(after(&[(100, ack(1, &[]))]), [100, 100]);
    assert_eq!(after(&[(100, ack(3, &[]))]), [100, 80], "covered at once");
    assert_eq!(after(&[(100, ack(0, &[(1, 3)]))]), [90, 80], "SACKed");
    let filled = after(&[(100, ack(0, &[(1, 3)])), (170, ack(4, &[]))]);
    assert_eq!(filled, [90 + (170 - 90) / 8, 80], "the segment of the hole is the oldest");
    let both = after(&[(100, ack(2, &[(1, 2)]))]);
    assert_eq!(both, [100, 70], "what was SACKed left last");
}

/// Linux: `tcp_fastretrans_alert`, which leaves, comes before `tcp_cong_control`, which grows.
#[test]
fn the_ack_that_ends_recovery_grows_the_window() {
    let cfg = TcpConfig { timestamps: false, ..TcpConfig::default() };
    let mut sender = sender(&cfg);
    pull(&mut sender, &cfg, Time::ZERO);
    sender.on_ack(&cfg, at_us(100), &ack(0, &[(1, 4)]));
    assert_eq!(sender.totals.state, CaState::Recovery);
    assert_eq!(pull(&mut sender, &cfg, at_us(100)), (2, 1));
    let five = Bytes::new(5 * MSS);
    assert_eq!(sender.ssthresh(), five);
    sender.on_ack(&cfg, at_us(200), &ack(9, &[]));
    assert_eq!(sender.totals.state, CaState::Recovery, "one is out");
    pull(&mut sender, &cfg, at_us(200));
    let all = sender.totals.nxt / MSS;
    assert_eq!(all - 9, 5, "a window");
    sender.on_ack(&cfg, at_us(300), &ack(all, &[]));
    assert_eq!((sender.totals.state, sender.ssthresh()), (CaState::Open, five));
    assert_eq!(sender.cwnd(), Bytes::new(6 * MSS), "a window's worth was delivered");
}

#[test]
fn the_ack_that_ends_a_reduction_grows_the_window() {
    let needs = FlowParams::new("dctcp").unwrap().needs();
    let cfg = TcpConfig { needs, ..TcpConfig::default() };
    let mut sender = sender_of(&cfg, "dctcp", Bytes::MAX);
    pull(&mut sender, &cfg, Time::ZERO);
    let mut marked = ack(1, &[]);
    marked.flags = Flags::ECE;
    sender.on_ack(&cfg, at_us(100), &marked);
    let cut = sender.cwnd().get();
    assert_eq!(sender.totals.state, CaState::Cwr);
    sender.on_ack(&cfg, at_us(110), &ack(9, &[]));
    assert_eq!((sender.totals.state, sender.cwnd().get()), (CaState::Cwr, cut));
    let (sent, _) = pull(&mut sender, &cfg, at_us(110));
    sender.on_ack(&cfg, at_us(210), &ack(10 + sent as u64, &[]));
    assert_eq!((sender.totals.state, sender.cwnd().get()), (CaState::Open, cut + MSS));
}

#[test]
fn a_dsack_after_reordering_widens_racks_window_once_per_round_trip() {
    let cfg = TcpConfig { timestamps: false, ..TcpConfig::default() };
    let mut sender = sender(&cfg);
    pull(&mut sender, &cfg, Time::ZERO);
    let dsack = |k: u64, start: i64| {
        let mut packet = ack(k, &[(start, start - 1)]);
        packet.flags = Flags::DSACK;
        packet
    };
    sender.on_ack(&cfg, at_us(100), &dsack(1, 1));
    assert_eq!(sender.rack.steps, 1, "no reordering was seen");
    sender.on_ack(&cfg, at_us(101), &ack(1, &[(3, 4)]));
    sender.on_ack(&cfg, at_us(102), &ack(1, &[(2, 4)]));
    assert!(sender.repair.as_ref().unwrap().reord_seen);
    sender.on_ack(&cfg, at_us(103), &dsack(6, 1));
    assert_eq!(sender.rack.steps, 2);
    sender.on_ack(&cfg, at_us(104), &dsack(7, 1));
    assert_eq!(sender.rack.steps, 2, "sent before the last widening");
    pull(&mut sender, &cfg, at_us(104));
    sender.on_ack(&cfg, at_us(204), &dsack(12, 1));
    assert_eq!(sender.rack.steps, 3);
}

#[test]
fn newreno_holds_recovery_until_something_above_is_acknowledged() {
    let cfg = TcpConfig { timestamps: false, ..TcpConfig::default() }.with(|of| of.sack = false);
    let mut sender = sender(&cfg);
    assert_eq!(pull(&mut sender, &cfg, Time::ZERO), (10, 0));
    sender.on_ack(&cfg, at_us(90), &ack(1, &[]));
    for k in 0..3 {
        sender.on_ack(&cfg, at_us(100 + k), &ack(1, &[]));
    }
    assert_eq!(sender.totals.state, CaState::Recovery);
    let (_, again) = pull(&mut sender, &cfg, at_us(103));
    assert_eq!(again, 1);
    for k in 0..7 {
        sender.on_ack(&cfg, at_us(104 + k), &ack(1, &[]));
        pull(&mut sender, &cfg, at_us(104 + k));
    }
    let outstanding = sender.totals.nxt;
    sender.on_ack(&cfg, at_us(200), &ack(10, &[]));
    assert!(outstanding > 10 * MSS && sender.totals.una == 10 * MSS);
    assert_eq!(sender.totals.state, CaState::Recovery, "held");
    for k in 0..4 {
        sender.on_ack(&cfg, at_us(201 + k), &ack(10, &[]));
        assert_eq!(pull(&mut sender, &cfg, at_us(201 + k)).1, 0, "stale duplicates");
    }
    sender.on_ack(&cfg, at_us(210), &ack(11, &[]));
    assert_eq!(sender.totals.state, CaState::Open);
}

#[test]
fn acks_of_what_was_never_sent_are_ignored() {
    let cfg = TcpConfig::default();
    let mut sender = sender(&cfg);
    pull(&mut sender, &cfg, Time::ZERO);
    let before = format!("{sender:?}");
    sender.on_ack(&cfg, at_us(100), &ack(11, &[]));
    assert_eq!(before, format!("{sender:?}"));
}

#[test]
fn the_short_way_takes_no_sample_from_a_retransmission() {
    let needs = FlowParams::new("dctcp").unwrap().needs();
    let cfg = TcpConfig { needs, ..TcpConfig::default() };
    let mut sender = sender_of(&cfg, "dctcp", Bytes::new(10 * MSS));
    pull(&mut sender, &cfg, Time::ZERO);
    let second = Time::ZERO + Span::from_secs(1);
    sender.on_deadline(&cfg, second);
    assert_eq!(pull(&mut sender, &cfg, second), (1, 1), "the probe");
    let mut marked = ack(1, &[]);
    marked.flags = Flags::ECE;
    sender.on_ack(&cfg, second + Span::from_us(100), &marked);
    assert!(sender.calm, "the reduction settled the probe");
    sender.on_ack(&cfg, second + Span::from_us(101), &ack(10, &[]));
    assert!(sender.totals.min_rtt > Span::from_secs(1));
    assert!(sender.finished());
}

#[test]
fn a_further_timeout_cuts_again_only_after_progress() {
    let cfg = TcpConfig { timestamps: false, ..TcpConfig::default() }
        .with(|of| (of.tail_loss_probe, of.frto) = (false, false));
    for progress in [false, true] {
        let mut sender = sender(&cfg);
        pull(&mut sender, &cfg, Time::ZERO);
        let mut now = sender.deadline();
        sender.on_deadline(&cfg, now);
        assert_eq!(sender.ssthresh(), Bytes::new(5 * MSS));
        assert_eq!(pull(&mut sender, &cfg, now), (1, 1));
        if progress {
            now += Span::from_us(100);
            sender.on_ack(&cfg, now, &ack(1, &[]));
            assert_eq!(pull(&mut sender, &cfg, now), (2, 2), "slow start");
        }
        now = sender.deadline();
        sender.on_deadline(&cfg, now);
        let ssthresh = if progress { 2 } else { 5 };
        assert_eq!(sender.ssthresh(), Bytes::new(ssthresh * MSS));
        assert_eq!(sender.cwnd(), Bytes::new(MSS));
        assert_eq!(sender.timeouts(), 2);
    }
}

#[test]
fn a_sample_tells_of_the_time_when_its_segment_left() {
    let cfg = TcpConfig::default();
    let mut sender = sender_of(&cfg, "reno", Bytes::new(4 * MSS));
    sender.open = true;
    pull(&mut sender, &cfg, at_us(10));
    assert!(sender.app_limited, "nothing left to send, and room for more");
    assert!(!sender.board.get(0).app_limited && !sender.board.get(3).app_limited);
    sender.app_write(Bytes::new(100 * MSS), false);
    sender.on_ack(&cfg, at_us(110), &ack(1, &[]));
    assert_eq!(pull(&mut sender, &cfg, at_us(120)).0, 7);
    let segment = *sender.board.get(4);
    assert!(sender.board.get(3).app_limited, "sent while the application's gap was under way");
    let sample = sender.sample(at_us(220), &segment, None);
    assert_eq!(sample.delivered_at_send, MSS);
    assert_eq!(sample.inflight_at_send, Bytes::new(5 * MSS));
    assert_eq!(sample.cwnd_at_send, sender.cwnd());
    // From the delivery known of when it left to its own: the unit is 65.5 ns.
    let interval = sample.interval.as_ps();
    assert!((109_900_000..=110_000_000).contains(&interval), "{interval}");
    sender.on_ack(&cfg, at_us(230), &ack(9, &[]));
    pull(&mut sender, &cfg, at_us(230));
    assert!(!sender.board.get(sender.board.len() - 1).app_limited, "the gap is behind");
}

/// 200 us round trip: 90 forward, 20 held by the receiver, 30 by this host, so 60 for the ACK.
#[test]
fn a_round_trip_is_split_into_what_each_part_took() {
    let mut ack = ack(1, &[]);
    ack.set_stamps(Stamps { forward: 90_000, held: 20_000 });
    let rtt = Some(Span::from_us(200));
    let split = ack::delay_split(at_us(1_030), at_us(1_000), &ack, rtt).unwrap();
    let us = [split.forward, split.backward, split.remote_host, split.local_host].map(Span::as_us);
    assert_eq!((us, split.fabric().as_us()), ([90, 60, 20, 30], 150));
    assert_eq!(
        ack::delay_split(at_us(1_030), at_us(1_000), &ack, None),
        None,
        "of a retransmission"
    );
    assert_eq!(ack::delay_split(at_us(1), at_us(1), &Packet::default(), rtt), None, "nobody asked");
}
