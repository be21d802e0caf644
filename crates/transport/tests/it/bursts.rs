//! Super-packets: their size, when they wait, and what the scoreboard notes of them. Numbers by hand from
//! Linux `tcp_tso_autosize`.

use crate::common::{MSS, Pipe, config};
use forebay_laws::flow::{CaState, FlowParams};
use forebay_settings::{HostSettings, Pacing, QueueLength};
use forebay_transport::{FlowSpec, TcpConfig, TcpSender};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Flags, FlowId, HostAddr, Kind, Packet};

fn tso(law: &str, window: u64) -> TcpConfig {
    let host = HostSettings { tso: true, gso_max: Bytes::new(65_536), ..HostSettings::IDEAL };
    TcpConfig { host, ..config(law) }
        .with(|of| of.initial_window = QueueLength::Bytes(Bytes::new(window * MSS)))
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

struct Ends {
    cfg: TcpConfig,
    tcp: TcpSender,
}

impl Ends {
    fn new(cfg: TcpConfig, segments: u64) -> Self {
        let size = Bytes::new(segments * MSS);
        let spec = FlowSpec {
            flow: FlowId(1),
            src: HostAddr::default(),
            dst: HostAddr::default(),
            size,
            open: false,
            paths: 1,
            handshake: None,
        };
        let law = FlowParams::new("reno").unwrap();
        let tcp = TcpSender::new(&cfg, spec, &law, crate::common::start(&cfg), Time::ZERO);
        Self { cfg, tcp }
    }

    /// Segments of each super-packet that leaves at `now`.
    fn send(&mut self, now: Time) -> Vec<u64> {
        let mut sizes = Vec::new();
        while self.tcp.ready(&self.cfg) {
            sizes.push(self.tcp.next_burst(&self.cfg, now).unwrap().payload / MSS);
        }
        sizes
    }

    fn ack(&mut self, now: Time, segments: u64) {
        let window = u16::MAX;
        let ack =
            Packet { kind: Kind::Ack, seq: segments * MSS, word: window, ..Packet::default() };
        self.tcp.on_ack(&self.cfg, now, &ack);
    }
}

#[test]
fn a_short_path_sends_64_kb_but_never_more_than_half_the_window() {
    assert_eq!(Ends::new(tso("reno", 10), 1000).send(at(0)), [5, 5]);
    assert_eq!(Ends::new(tso("reno", 44), 1000).send(at(0)), [22, 22]);
    assert_eq!(Ends::new(tso("reno", 200), 1000).send(at(0)), [45, 45, 45, 45, 20]);
    assert_eq!(Ends::new(tso("reno", 40), 13).send(at(0)), [13], "no more than there is");
}

#[test]
fn a_long_path_sends_a_millisecond_but_two_segments_at_least() {
    for (rtt_us, window, segments) in [
        // (64 KiB >> rtt / 512 us) + 2 * twice the window / rtt / 1024, in segments:
        (100, 100, 45), // 65536 + 2 * 200 * 1448 / 100 us / 1024 is far above the most
        (4_200, 40, 37), // 65536 / 2^8 + 2 * 80 * 1448 / 4.2 ms / 1024 = 256 + 53869 = 37.4 segments
        (5_200, 40, 30), // 65536 / 2^10 + 2 * 80 * 1448 / 5.2 ms / 1024 = 64 + 43509 = 30.1
        (80_000, 40, 2), // 2 * 80 * 1448 / 80 ms / 1024 = 2828
    ] {
        let mut ends = Ends::new(tso("reno", window), 10_000);
        ends.send(at(0));
        ends.ack(at(rtt_us), window);
        let first = ends.send(at(rtt_us))[0];
        assert_eq!(first, segments, "{rtt_us} us, {window} segments");
    }
}

#[test]
fn a_rest_waits_for_a_third_of_the_window() {
    let mut ends = Ends::new(tso("reno", 30), 10_000);
    assert_eq!(ends.send(at(0)), [15, 15]);
    // In slow start each ACK of one segment frees two. The head left long ago, as half a round trip counts.
    let mut sent = Vec::new();
    for k in 1..=6 {
        ends.ack(at(100), k);
        sent.push(ends.send(at(100)));
        let room = ends.tcp.cwnd().get() - ends.tcp.totals().inflight.get();
        let waiting = sent.last().unwrap().is_empty();
        assert_eq!(waiting, room > 0, "ready is polled until it says no");
    }
    // 2 k of 30 + k: a third at k = 6, when 12 of 36 are free.
    assert_eq!(sent, [vec![], vec![], vec![], vec![], vec![], vec![12]]);
    assert!(ends.tcp.totals().cwnd_limited, "waiting is the window's doing");
}

#[test]
fn nothing_waits_while_the_next_ack_is_far_away() {
    let mut ends = Ends::new(tso("reno", 30), 10_000);
    ends.send(at(0));
    ends.ack(at(100), 30);
    assert_eq!(ends.send(at(100)), [30, 30], "60 segments, in halves");
    // Half a round trip has not passed since the head left: ACKs of it are not due.
    ends.ack(at(140), 31);
    assert_eq!(ends.send(at(140)), [2]);
    ends.ack(at(160), 32);
    assert_eq!(ends.send(at(160)), [0u64; 0]);
}

#[test]
fn segments_of_a_super_packet_left_together() {
    let mut pipe =
        Pipe::new(tso("reno", 20), "reno", Bytes::new(20 * MSS), Span::from_us(100)).nic(10);
    pipe.finish();
    assert_eq!(pipe.bursts.len(), 2);
    // 1,500 B at 10 Gb/s are 1.2 us; the tenth segment arrives 12 us after its super-packet left.
    assert_eq!(
        pipe.bursts[1].0,
        Time::ZERO + Span::from_ns(12_000),
        "the wire was busy until then"
    );
    let first = pipe.acks[0].0;
    assert_eq!(first, Time::ZERO + Span::from_ns(101_200));
    assert_eq!(pipe.sender.totals().min_rtt, Span::from_ns(101_200));
    let srtt = pipe.sender.totals().srtt;
    assert!(srtt > Span::from_ns(104_000), "later segments count from the same start: {srtt}");
}

#[test]
fn one_lost_segment_of_a_super_packet_is_sent_alone() {
    let mut pipe = Pipe::new(tso("reno", 40), "reno", Bytes::new(400 * MSS), Span::from_us(100))
        .nic(100)
        .drop_data(&[5]);
    pipe.finish();
    assert_eq!(pipe.sends_of(5 * MSS).len(), 2);
    assert_eq!(pipe.sent.len(), 401);
    assert_eq!(pipe.sender.totals().state, CaState::Open);
}

#[test]
fn the_stack_spreads_a_window_over_its_round_trip() {
    let host = HostSettings { pacing: Pacing::Internal, ..HostSettings::IDEAL };
    let cfg = TcpConfig { host, ..config("reno") };
    let mut ends = Ends::new(cfg, 10_000);
    // Ten segments leave at once: the gate knows no round-trip time yet.
    assert_eq!(ends.send(at(0)).len(), 10);
    ends.ack(at(100), 10);
    // 20 segments per 100 us, twice as fast in slow start: 2.5 us each.
    for k in 0..20u64 {
        let now = at(100) + Span::from_ns(2_500) * k;
        assert_eq!(ends.send(now).len(), 1, "one, then the gate is shut");
        if k < 19 {
            assert_eq!(ends.tcp.deadline(), now + Span::from_ns(2_500));
        }
        ends.tcp.on_deadline(&ends.cfg, now + Span::from_ns(2_499));
        assert!(!ends.tcp.ready(&ends.cfg), "a picosecond early is early");
        ends.tcp.on_deadline(&ends.cfg, now + Span::from_ns(2_500));
    }
    assert!(!ends.tcp.ready(&ends.cfg), "the window is full");
}

#[test]
fn past_slow_start_the_window_is_stretched_by_a_fifth() {
    let host = HostSettings { pacing: Pacing::Internal, ..HostSettings::IDEAL };
    let cfg = TcpConfig { host, ..config("reno") };
    let size = Bytes::new(3_000 * MSS);
    let mut pipe = Pipe::new(cfg, "reno", size, Span::from_us(100)).nic(100).drop_data(&[300]);
    let mut seen = 0;
    while !pipe.sender.finished() {
        let before = pipe.sent.len();
        pipe.pump();
        let t = *pipe.sender.totals();
        let reduced = pipe.sender.ssthresh() < Bytes::MAX && t.state == CaState::Open;
        if reduced && pipe.sent.len() == before + 1 && t.nxt < size.get() {
            let window = pipe.sender.cwnd().get().max(t.nxt - t.una);
            let gap = MSS * t.srtt.as_ps() * 10 / (window * 12);
            assert_eq!(pipe.sender.deadline().since(pipe.now).as_ps(), gap);
            seen += 1;
        }
        assert!(pipe.step());
    }
    assert!(seen > 100, "{seen}");
}

/// Linux since 5.5 sets PSH on what is more than one segment; since 6.6 a reader that is never behind acknowledges it.
#[test]
fn the_odd_end_of_a_super_packet_is_acknowledged_at_once() {
    let acks = |psh: bool, window: u64| {
        let cfg = tso("reno", window);
        let cfg = TcpConfig { host: HostSettings { psh, ..cfg.host }, ..cfg }
            .with(|of| (of.delayed_ack, of.quick_acks) = (true, 0));
        let mut pipe = Pipe::new(cfg, "reno", Bytes::new(1_000 * MSS), Span::from_us(100)).nic(10);
        pipe.run_until(at(70)); // the first window has arrived, its ACKs have not
        let pushed = pipe.arrived.iter().filter(|(_, p)| p.flags.has(Flags::PSH)).count();
        pipe.run_until(at(130));
        (pushed, pipe.acks.len(), pipe.acks.last().unwrap().1.seq / MSS)
    };
    // Two super-packets of five: segments 5 and 10 are odd ends.
    assert_eq!(acks(true, 10), (2, 6, 10));
    assert_eq!(acks(false, 10), (0, 5, 10));
    // One segment is no super-packet.
    assert_eq!(acks(true, 3), (0, 1, 2));
}
