//! Queue pairs over one cable: times, losses and repairs.
//!
//! Sources: Mittal et al., SIGCOMM 2018 (IRN); Zhu et al., SIGCOMM 2015 (DCQCN); the public HPCC simulator for go-back-N.

use forebay_laws::Start;
use forebay_laws::flow::{Echo, FlowParams, Needs};
use forebay_settings::{InflightCap, QueueLength, Recovery};
use forebay_transport::rdma::{QpReceiver, QpSender, RdmaConfig};
use forebay_transport::{Arrival, FlowSpec};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{Ecn, Flags, FlowId, HostAddr, Kind, Packet};
use proptest::prelude::*;
use std::collections::BTreeMap;

const LINE: BitsPerSec = BitsPerSec::from_gbps(100);
const DELAY: Span = Span::from_us(2);

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn start(base_rtt: Span) -> Start {
    Start {
        mss: Bytes::new(1_000),
        initial_window: Bytes::new(1_000),
        line_rate: LINE,
        base_rtt: Some(base_rtt),
        seed: 0,
    }
}

fn law(name: &str) -> FlowParams {
    FlowParams::new(name).unwrap()
}

/// Packets of 1,000 B with a header of 48 B.
fn config() -> RdmaConfig {
    RdmaConfig { header: Bytes::new(48), ..RdmaConfig::default() }
}

/// With at most so many bytes under way.
fn capped(cfg: RdmaConfig, bytes: u64) -> RdmaConfig {
    cfg.with(|of| of.max_inflight = InflightCap::Fixed(Bytes::new(bytes)))
}

fn qp(cfg: &RdmaConfig, name: &str, size: u64) -> QpSender {
    qp_under(cfg, &law(name), size)
}

fn qp_under(cfg: &RdmaConfig, law: &FlowParams, size: u64) -> QpSender {
    let spec = FlowSpec {
        flow: FlowId(0),
        src: HostAddr::default(),
        dst: HostAddr::default(),
        size: Bytes::new(size),
        open: false,
        paths: 1,
        handshake: None,
    };
    QpSender::new(cfg, spec, law, start(Span::from_us(9)), Time::ZERO)
}

/// What happens to a packet on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Arrives,
    Marked,
    Lost,
    /// The packet arrives this much later.
    Late(Span),
}

/// Two hosts and a cable. `fate` decides over each packet by how many have left before it in its direction.
struct Cable<F> {
    cfg: RdmaConfig,
    sender: QpSender,
    receiver: QpReceiver,
    fate: F,
    flying: BTreeMap<(Time, u64), Packet>,
    left: [u64; 2],
    free: Time,
    pub now: Time,
    /// Everything that arrived, in order.
    pub seen: Vec<(Time, Packet)>,
    pub done: Option<Time>,
}

impl<F: FnMut(&Packet, u64) -> Fate> Cable<F> {
    fn new(cfg: RdmaConfig, name: &str, size: u64, fate: F) -> Self {
        let cfg = RdmaConfig { needs: law(name).needs(), ..cfg };
        Self {
            sender: qp(&cfg, name, size),
            receiver: QpReceiver::new(FlowId(0), HostAddr::default()),
            cfg,
            fate,
            flying: BTreeMap::new(),
            left: [0; 2],
            free: Time::ZERO,
            now: Time::ZERO,
            seen: Vec::new(),
            done: None,
        }
    }

    fn fly(&mut self, from: Time, mut packet: Packet) {
        let way = usize::from(packet.kind.is_answer());
        let n = self.left[way];
        self.left[way] += 1;
        let later = match (self.fate)(&packet, n) {
            Fate::Lost => return,
            Fate::Late(by) => by,
            Fate::Marked => {
                packet.ecn = Ecn::Ce;
                Span::ZERO
            }
            Fate::Arrives => Span::ZERO,
        };
        self.flying.insert((from + DELAY + later, self.left[0] + self.left[1]), packet);
    }

    /// Runs until the sender has every byte acknowledged, or until `end`.
    fn run(&mut self, end: Time) {
        while self.done.is_none() && self.now <= end {
            let pull =
                if self.sender.ready(&self.cfg) { self.free.max(self.now) } else { Time::MAX };
            let arrival = self.flying.first_key_value().map_or(Time::MAX, |(key, _)| key.0);
            let next = pull.min(arrival).min(self.sender.deadline());
            assert!(next != Time::MAX, "nothing will ever happen again");
            self.now = next.max(self.now);
            if pull <= self.now {
                let packet = self.sender.next_packet(&self.cfg, self.now).expect("it was ready");
                self.free = self.now + LINE.time_for(Bytes::new(packet.size.into()));
                self.fly(self.free, packet);
            } else if arrival <= self.now {
                let (_, packet) = self.flying.pop_first().unwrap();
                self.seen.push((self.now, packet));
                self.arrive(packet);
            } else {
                self.sender.on_deadline(&self.cfg, self.now);
            }
            let totals = self.sender.totals();
            assert!(totals.una <= totals.nxt && totals.inflight.get() <= totals.nxt - totals.una);
            assert!(self.sender.acked() <= self.receiver.delivered());
            if self.sender.finished() {
                self.done = Some(self.now);
            }
        }
    }

    fn arrive(&mut self, packet: Packet) {
        if packet.kind.is_answer() {
            return self.sender.on_answer(&self.cfg, self.now, self.now, &packet, &[]);
        }
        let newest = Arrival { at: self.now, stamp: packet.stamp };
        for answer in
            self.receiver.on_data(&self.cfg, self.now, newest, &packet).into_iter().flatten()
        {
            self.fly(self.now, answer);
        }
    }

    fn kinds(&self, kind: Kind) -> Vec<Time> {
        self.seen.iter().filter(|(_, p)| p.kind == kind).map(|(at, _)| *at).collect()
    }
}

fn whole(_: &Packet, _: u64) -> Fate {
    Fate::Arrives
}

#[test]
fn a_lone_flow_of_any_size_leaves_back_to_back() {
    for size in [1, 999, 1_000, 1_001, 64_000, 1_000_000] {
        let mut cable = Cable::new(config(), "dcqcn", size, whole);
        cable.run(at(1_000_000));
        let packets = size.div_ceil(1_000);
        let wire = Bytes::new(size + 48 * packets);
        let exact = Time::ZERO + LINE.time_for(wire) + DELAY * 2;
        assert_eq!(cable.done, Some(exact), "{size} B");
        assert_eq!((cable.sender.retransmits(), cable.sender.timeouts()), (0, 0));
    }
}

/// When the first thousand packets of a flow of this rate leave, in ps.
fn departures(rate: BitsPerSec) -> Vec<u64> {
    // TIMELY sets a rate and nothing else; its start says which.
    let cfg = config();
    let mut params = law("timely");
    params.set("start", &format!("{}", rate.get() as f64 / LINE.get() as f64)).unwrap();
    let spec = FlowSpec {
        flow: FlowId(0),
        src: HostAddr::default(),
        dst: HostAddr::default(),
        size: Bytes::MAX,
        open: false,
        paths: 1,
        handshake: None,
    };
    let mut sender = QpSender::new(&cfg, spec, &params, start(Span::from_us(9)), Time::ZERO);
    let (mut now, mut left) = (Time::ZERO, Vec::new());
    while left.len() < 1_000 {
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
fn a_rate_spaces_packets_without_drift() {
    let rate = BitsPerSec::new(7_000_000_000);
    for (i, at) in departures(rate).iter().enumerate() {
        let exact = i as u128 * 1_048 * 8_000_000_000_000 / u128::from(rate.get());
        assert_eq!(u128::from(*at), exact, "packet {i}");
    }
}

#[test]
fn a_cut_moves_the_departure_that_is_pending() {
    // The paper's DCQCN halves its rate with the first CNP: the packet after it leaves 1,048 B at 50 Gb/s after the one before.
    let mut paper = law("dcqcn");
    paper.set("timers", "paper").unwrap();
    let cfg = RdmaConfig { needs: paper.needs(), ..config() };
    let mut sender = qp_under(&cfg, &paper, 1 << 40);
    let cnp = Packet { kind: Kind::Cnp, ..Packet::default() };
    assert!(sender.next_packet(&cfg, at(1)).is_some());
    sender.on_answer(&cfg, at(1), at(1), &cnp, &[]);
    assert!(
        sender.next_packet(&cfg, at(1)).is_some(),
        "what left at the rate of the link shut no gate"
    );
    let gap = BitsPerSec::from_gbps(50).time_for(Bytes::new(1_048));
    assert!(!sender.ready(&cfg));
    assert_eq!(sender.deadline(), at(1) + gap);
    sender.on_answer(&cfg, at(1), at(1), &cnp, &[]);
    let rate = sender.rate();
    assert!(rate < BitsPerSec::from_gbps(50));
    assert_eq!(sender.deadline(), at(1) + rate.time_for(Bytes::new(1_048)), "and is moved");
    sender.on_deadline(&cfg, at(1) + gap);
    assert!(!sender.ready(&cfg), "the old time is not its time any more");
}

#[test]
fn cnps_keep_their_interval_and_are_no_acks() {
    let mark = |packet: &Packet, _| match packet.kind {
        Kind::Data => Fate::Marked,
        _ => Fate::Arrives,
    };
    let mut cable = Cable::new(config(), "dcqcn", 10_000_000, mark);
    cable.run(at(300));
    let cnps = cable.kinds(Kind::Cnp);
    assert_eq!(cnps.len(), 6, "at 4, 54 ... 254 us, and {cnps:?}");
    assert!(cnps.windows(2).all(|pair| pair[1].since(pair[0]) >= Span::from_us(50)));
    let every = cnps.windows(2).all(|pair| pair[1].since(pair[0]) < Span::from_us(60));
    assert!(every, "and one per interval while marks go on: {cnps:?}");
    let marked = |(_, p): &(Time, Packet)| p.kind == Kind::Ack && p.flags.has(Flags::ECE);
    assert!(!cable.seen.iter().any(marked), "marks do not come back twice");
}

#[test]
fn go_back_n_reports_a_gap_once_and_sends_everything_from_it_again() {
    let lose = |packet: &Packet, n| match packet.kind {
        Kind::Data if n == 10 => Fate::Lost,
        _ => Fate::Arrives,
    };
    let mut cable = Cable::new(config(), "dcqcn", 200_000, lose);
    cable.run(at(1_000_000));
    assert_eq!(cable.kinds(Kind::Nack).len(), 1);
    // Between the loss and the rewind: the time of one round trip and the packet after the lost one.
    let round = (DELAY * 2 + LINE.time_for(Bytes::new(1_048))).as_ps();
    let flight = round / LINE.time_for(Bytes::new(1_048)).as_ps() + 1;
    let again = cable.sender.retransmits();
    assert!(again.abs_diff(flight) <= 1, "{again} packets again, {flight} under way");
    assert_eq!(cable.sender.timeouts(), 0);
}

/// Answers carry the stamp of what they answer, so a repetition measures the round trip, and an answer to what it repeats does not.
#[test]
fn repetitions_measure_the_round_trip() {
    let first_lost = |packet: &Packet, n| match packet.kind {
        Kind::Data if n == 0 => Fate::Lost,
        _ => Fate::Arrives,
    };
    let mut cable = Cable::new(config(), "timely", 10_000, first_lost);
    cable.run(at(1_000_000));
    let sender = &cable.sender;
    assert_eq!((sender.retransmits(), sender.timeouts()), (10, 0));
    let size = Bytes::new(1_000) + cable.cfg.header;
    assert_eq!(sender.totals().srtt, DELAY * 2 + LINE.time_for(size));

    let answer_late = |packet: &Packet, n| match packet.kind {
        Kind::Ack if n == 0 => Fate::Late(Span::from_us(3_999)),
        _ => Fate::Arrives,
    };
    let mut cable = Cable::new(config(), "timely", 1_000, answer_late);
    cable.run(at(1_000_000));
    assert_eq!((cable.sender.retransmits(), cable.sender.timeouts()), (1, 1));
    assert_eq!(cable.sender.totals().min_rtt, Span::MAX);
}

#[test]
fn a_lost_nack_is_told_again_and_a_lost_tail_times_out() {
    let lose = |packet: &Packet, n| match packet.kind {
        Kind::Data if n == 10 => Fate::Lost,
        Kind::Nack => Fate::Late(Span::from_ms(30)),
        _ => Fate::Arrives,
    };
    let cfg = config().with(|of| (of.timeout, of.rto_low) = (Span::from_ms(20), Span::from_ms(20)));
    let mut cable = Cable::new(cfg.clone(), "dcqcn", 100_000_000, lose);
    cable.run(at(3_000));
    // 500 us later the gap is reported again; that NACK is late as well, and so on.
    let answers = cable.left[1]; // ten of them are ACKs
    assert!((15..=17).contains(&answers), "{answers} answers in 3 ms");

    let tail = |packet: &Packet, n| match packet.kind {
        Kind::Data if n == 9 => Fate::Lost,
        _ => Fate::Arrives,
    };
    for recovery in [Recovery::GoBackN, Recovery::Selective] {
        let cfg = config().with(|of| of.recovery = recovery);
        let mut cable = Cable::new(cfg, "dcqcn", 10_000, tail);
        cable.run(at(1_000_000));
        assert_eq!((cable.sender.timeouts(), cable.sender.retransmits()), (1, 1), "{recovery:?}");
        let late = cable.done.unwrap().since(Time::ZERO);
        assert!(late > Span::from_ms(4) && late < Span::from_us(4_020), "{recovery:?}: {late}");
    }
}

/// Ten packets, of which the fifth is lost: with go-back-0 all ten are sent again, from the first number on.
#[test]
fn go_back_0_sends_the_whole_message_again() {
    let fifth = |packet: &Packet, n| match packet.kind {
        Kind::Data if n == 4 => Fate::Lost,
        _ => Fate::Arrives,
    };
    for (recovery, again) in [(Recovery::GoBackN, 6), (Recovery::GoBackZero, 10)] {
        let cfg = config().with(|of| of.recovery = recovery);
        let mut cable = Cable::new(cfg, "dcqcn", 10_000, fifth);
        cable.run(at(1_000));
        assert!(cable.done.is_some() && cable.receiver.complete());
        assert_eq!((cable.sender.retransmits(), cable.sender.timeouts()), (again, 0));
        assert_eq!(
            (cable.sender.acked().get(), cable.receiver.delivered().get()),
            (10_000, 10_000)
        );
        let seen = cable.seen.iter().filter(|(_, packet)| packet.kind == Kind::Data);
        let seqs: Vec<u64> = seen.map(|(_, packet)| packet.seq / 1_000).collect();
        let from = 10 - again;
        let expected: Vec<u64> = (0..4).chain(5..10).chain(from..10).collect();
        assert_eq!(seqs, expected, "{recovery:?}");
        let fins = cable.seen.iter().filter(|(_, packet)| packet.flags.has(Flags::FIN)).count();
        assert_eq!(fins, 2);
    }
}

/// The livelock of Guo et al., SIGCOMM 2016, section 4.1: messages of 4 MB in packets of 1 KB, of which every 256th is dropped, never end with
/// go-back-0, though the link is busy all the time, and do with go-back-N.
#[test]
fn every_256th_packet_lost_is_a_livelock_with_go_back_0() {
    let every = |packet: &Packet, n: u64| match packet.kind {
        Kind::Data if n % 256 == 255 => Fate::Lost,
        _ => Fate::Arrives,
    };
    for (recovery, ends) in [(Recovery::GoBackN, true), (Recovery::GoBackZero, false)] {
        let cfg =
            config().with(|of| (of.recovery, of.nack_interval) = (recovery, Span::from_us(20)));
        let mut cable = Cable::new(cfg, "dcqcn", 4_000_000, every);
        cable.run(at(50_000));
        assert_eq!(cable.done.is_some(), ends, "{recovery:?}");
        if !ends {
            // 50 ms of 1048 B at 100 Gb/s; a packet is lost before the 256th.
            assert!(cable.left[0] > 550_000, "{} packets", cable.left[0]);
            assert!(cable.receiver.delivered().get() < 256_000);
        }
    }
}

/// Share of transmissions that were new, with packets lost at random.
fn efficiency(recovery: Recovery, loss: f64, window: u64) -> f64 {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let lose = move |packet: &Packet, _| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let unlucky = ((state >> 11) as f64) < loss * (1u64 << 53) as f64;
        if packet.kind == Kind::Data && unlucky { Fate::Lost } else { Fate::Arrives }
    };
    let cfg = config().with(|of| {
        of.recovery = recovery;
        of.max_inflight = InflightCap::Fixed(Bytes::new(window * 1_000));
        (of.timeout, of.rto_low) = (Span::from_us(320), Span::from_us(320));
        of.nack_interval = Span::from_us(40);
    });
    let size = 40_000_000;
    let mut cable = Cable::new(cfg, "dcqcn", size, lose);
    cable.run(at(10_000_000));
    assert!(cable.done.is_some());
    (size / 1_000) as f64 / cable.left[0] as f64
}

#[test]
fn efficiency_under_random_loss_is_that_of_the_formulas() {
    // A cable of two times 2 us at 100 Gb/s, with the packet that shows it: 50 to 51 packets between a loss and its repair.
    let w = 50.0;
    for p in [1e-3, 1e-2] {
        let formula = (1.0 - p) / (1.0 - p + w * p);
        let go_back_n = efficiency(Recovery::GoBackN, p, 110);
        assert!((go_back_n / formula - 1.0).abs() < 0.05, "p {p}: {go_back_n} for {formula}");
        let selective = efficiency(Recovery::Selective, p, 110);
        assert!((selective / (1.0 - p) - 1.0).abs() < 0.002, "p {p}: {selective}");
    }
}

#[test]
fn selective_repeat_sends_only_what_is_missing_and_bounds_the_flight() {
    let lose = |packet: &Packet, n| match packet.kind {
        Kind::Data if [10, 12, 13, 30].contains(&n) => Fate::Lost,
        _ => Fate::Arrives,
    };
    let cfg = config().with(|of| {
        (of.recovery, of.max_inflight) = (Recovery::Selective, InflightCap::Bdp);
        (of.timeout, of.rto_low) = (Span::from_us(320), Span::from_us(100));
        of.rto_low_packets = 3;
    });
    let mut cable = Cable::new(cfg, "dcqcn", 500_000, lose);
    cable.run(at(1_000_000));
    assert_eq!((cable.sender.retransmits(), cable.sender.timeouts()), (4, 0));
    let most = 9 * 100_000 / 8; // 9 us at 100 Gb/s
    let mut acked = 0;
    for (_, packet) in &cable.seen {
        if packet.kind.is_answer() {
            acked = acked.max(packet.seq);
        } else {
            assert!(packet.seq + 1_000 <= acked + most, "{} with {acked} acknowledged", packet.seq);
        }
    }
}

/// Packets that leave before anything is answered.
fn first_flight(sender: &mut QpSender, cfg: &RdmaConfig) -> u64 {
    (0..).take_while(|_| sender.next_packet(cfg, at(1)).is_some()).count() as u64
}

#[test]
fn the_cap_counts_the_packet_that_leaves() {
    for (cap, packets) in [(1, 1), (999, 1), (5_000, 5), (5_001, 5), (5_999, 5), (6_000, 6)] {
        let cfg = capped(config(), cap);
        let mut sender = qp(&cfg, "reno", 1_000_000);
        assert_eq!(first_flight(&mut sender, &cfg), packets, "{cap} B may be under way");
    }
}

/// Slow start ends at twice what is in flight, as in Linux; beyond that a window must be full to grow.
#[test]
fn a_window_above_the_cap_does_not_grow() {
    let cfg = capped(config(), 10_000)
        .with(|of| of.initial_window = Some(QueueLength::Bytes(Bytes::new(1_000))));
    let mut cable = Cable::new(cfg, "reno", 4_000_000, whole);
    cable.run(at(1_000_000));
    let window = cable.sender.window().get();
    assert!((10_000..=20_000).contains(&window), "{window} B");
}

#[test]
fn the_shorter_timeout_is_for_few_packets_and_no_more() {
    for few in 0..5 {
        let (timeout, timeout_few) = (Span::from_ms(4), Span::from_us(100));
        let cfg = config()
            .with(|of| (of.rto_low_packets, of.timeout, of.rto_low) = (few, timeout, timeout_few));
        let mut sender = qp(&cfg, "dcqcn", 4_000);
        assert_eq!(first_flight(&mut sender, &cfg), 4);
        for (acked, left) in [(1, 3), (2, 2), (3, 1)] {
            let ack = Packet { kind: Kind::Ack, seq: acked * 1_000, ..Packet::default() };
            sender.on_answer(&cfg, at(5), at(5), &ack, &[]);
            let waits = if left <= few { timeout_few } else { timeout };
            assert_eq!(sender.deadline(), at(5) + waits, "{left} under way, few = {few}");
        }
    }
}

/// Offsets of segments have 32 bits: a sender whose answers take long must not go round.
#[test]
fn no_queue_pair_has_more_than_2_gib_without_an_answer() {
    let cfg = RdmaConfig { mtu: Bytes::new(60_000), ..config() };
    for cap in [InflightCap::None, InflightCap::Fixed(Bytes::new(1 << 40))] {
        let cfg = cfg.clone().with(|of| of.max_inflight = cap);
        let mut sender = qp(&cfg, "dcqcn", 8_000_000_000);
        let mut now = 1;
        let sent = std::iter::from_fn(|| {
            now += 1_000;
            sender.next_packet(&cfg, at(now))
        });
        let last = sent.last().expect("it sends");
        let end = last.seq + 60_000;
        assert!((1 << 31) - 60_000 < end && end <= 1 << 31, "{end}");
    }
}

#[test]
fn of_what_is_sent_again_the_last_packet_asks_for_an_ack() {
    let cfg =
        capped(config(), 5_000).with(|of| (of.recovery, of.ack_every) = (Recovery::Selective, 16));
    let mut sender = qp(&cfg, "dcqcn", 1_000_000);
    let flight: Vec<Packet> = (0..5).filter_map(|_| sender.next_packet(&cfg, at(1))).collect();
    // The fourth packet came and none before it: three are missing, and the cap lets nothing new go.
    let newest = Arrival { at: at(3), stamp: flight[3].stamp };
    let mut receiver = QpReceiver::new(FlowId(0), HostAddr::default());
    for answer in receiver.on_data(&cfg, at(3), newest, &flight[3]).iter().flatten() {
        sender.on_answer(&cfg, at(5), at(5), answer, &[]);
    }
    let again: Vec<(u64, bool)> = (0..3)
        .filter_map(|_| sender.next_packet(&cfg, at(5)))
        .map(|packet| (packet.seq, packet.flags.has(Flags::PSH)))
        .collect();
    assert_eq!(again, [(0, false), (1_000, false), (2_000, true)]);
    assert!(!sender.ready(&cfg));
}

#[test]
fn acks_may_speak_for_several_packets_but_never_stall_a_window() {
    let cfg = config().with(|of| of.ack_every = 16);
    let mut cable = Cable::new(cfg.clone(), "dcqcn", 1_000_000, whole);
    cable.run(at(1_000_000));
    assert!(cable.left[1] <= 64 && cable.sender.timeouts() == 0, "{} ACKs", cable.left[1]);
    let narrow = capped(cfg, 5_000);
    let mut cable = Cable::new(narrow, "dcqcn", 1_000_000, whole);
    cable.run(at(1_000_000));
    assert_eq!(cable.sender.timeouts(), 0, "the last packet of a window requests its ACK");
}

#[test]
fn exact_echo_and_rounds_reach_a_law_of_marks() {
    // Every packet of the first window is marked: DCTCP, which starts with alpha = 1, halves once.
    let mark = |packet: &Packet, n| match packet.kind {
        Kind::Data if n < 112 => Fate::Marked,
        _ => Fate::Arrives,
    };
    let mut cable = Cable::new(config(), "dctcp", 1_000_000, mark);
    let before = cable.sender.window().get();
    assert_eq!(before, 9 * 100_000 / 8, "starts with a bandwidth-delay product");
    cable.run(at(6));
    let after = cable.sender.window().get();
    assert!(after.abs_diff(before / 2) < 2_000, "{before} to {after}");
    assert_eq!(cable.cfg.needs, Needs { echo: Echo::Exact, own_cwr: true, ..Needs::NONE });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// With any loss, delay or reordering every byte arrives, and the sender learns of it.
    #[test]
    fn everything_arrives(
        fates in prop::collection::vec(0..20u8, 200..400),
        size in 1..200_000u64,
        recovery in prop::sample::select(vec![Recovery::GoBackN, Recovery::GoBackZero, Recovery::Selective]),
        name in prop::sample::select(vec!["dcqcn", "timely", "swift", "dctcp", "reno"]),
        ack_every in 1..20u32,
        cap in 1..60u64,
    ) {
        let fate = |_: &Packet, n: u64| match fates.get(n as usize) {
            Some(0 | 1) => Fate::Lost,
            Some(2) => Fate::Late(Span::from_us(3)),
            Some(3) => Fate::Late(Span::from_us(700)),
            Some(4 | 5) => Fate::Marked,
            _ => Fate::Arrives,
        };
        let cfg = capped(config(), cap * 1_000).with(|of| {
            (of.timeout, of.rto_low) = (Span::from_us(400), Span::from_us(300));
            (of.recovery, of.rto_low_packets, of.ack_every) = (recovery, 3, ack_every);
        });
        let mut cable = Cable::new(cfg, name, size, fate);
        cable.run(at(60_000_000));
        prop_assert!(cable.done.is_some(), "not done after a minute");
        prop_assert_eq!(cable.receiver.delivered().get(), size);
        prop_assert!(cable.receiver.complete());
        prop_assert_eq!(cable.sender.totals().inflight, Bytes::ZERO);
        if recovery != Recovery::GoBackZero {
            prop_assert_eq!(cable.sender.totals().delivered, size);
        }
    }
}

/// Messages of these sizes, posted at once on a stream that ends with them.
fn posted<F: FnMut(&Packet, u64) -> Fate>(cfg: RdmaConfig, messages: &[u64], fate: F) -> Cable<F> {
    let mut cable = Cable::new(cfg, "dcqcn", 0, fate);
    let spec = FlowSpec {
        flow: FlowId(0),
        src: HostAddr::default(),
        dst: HostAddr::default(),
        size: Bytes::ZERO,
        open: true,
        paths: 1,
        handshake: None,
    };
    cable.sender =
        QpSender::new(&cable.cfg, spec, &law("dcqcn"), start(Span::from_us(9)), Time::ZERO);
    for (i, bytes) in messages.iter().enumerate() {
        cable.sender.app_write(&cable.cfg, Bytes::new(*bytes), i + 1 == messages.len());
    }
    cable.run(at(60_000_000));
    cable
}

/// Three messages of 256 B and one of 2,500 B: six packets, none with bytes of two.
#[test]
fn messages_share_no_packet() {
    let cable = posted(config(), &[256, 256, 2_500, 256], whole);
    let data = cable.seen.iter().filter(|(_, packet)| packet.kind == Kind::Data);
    let packets: Vec<_> =
        data.map(|(_, packet)| (packet.seq, u64::from(packet.size) - 48)).collect();
    let expected = [(0, 256), (256, 256), (512, 1_000), (1_512, 1_000), (2_512, 500), (3_012, 256)];
    assert_eq!(packets, expected);
    assert!(cable.receiver.complete());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Sent again or not, a packet begins where its message does or a whole number of full packets later, and ends with it or is full.
    #[test]
    fn messages_share_no_packet_however_often_they_are_sent(
        fates in prop::collection::vec(0..20u8, 100..200),
        messages in prop::collection::vec(1..4_000u64, 1..60),
        recovery in prop::sample::select(vec![Recovery::GoBackN, Recovery::Selective]),
    ) {
        let fate = |_: &Packet, n: u64| match fates.get(n as usize) {
            Some(0 | 1) => Fate::Lost,
            Some(3) => Fate::Late(Span::from_us(700)),
            _ => Fate::Arrives,
        };
        let few = Span::from_us(300);
        let cfg = config().with(|of| (of.recovery, of.timeout, of.rto_low) = (recovery, few, few));
        let cable = posted(cfg, &messages, fate);
        prop_assert!(cable.done.is_some() && cable.receiver.complete());
        let mut end = 0;
        let ends: Vec<_> = messages.iter().map(|bytes| { end += bytes; end }).collect();
        for (_, packet) in cable.seen.iter().filter(|(_, packet)| packet.kind == Kind::Data) {
            let of = ends.partition_point(|&end| end <= packet.seq);
            let begin = ends[of] - messages[of];
            let upto = packet.seq + u64::from(packet.size) - 48;
            prop_assert_eq!((packet.seq - begin) % 1_000, 0);
            prop_assert!(upto == ends[of] || (upto < ends[of] && packet.size == 1_048));
        }
    }
}
