//! Captures: watching changes nothing, what is seen is what the ports counted, and times are exact.

use crate::common::random::draw;
use crate::common::{MOST_HOPS, of_all, run, run_if_short, scenario};
use forebay_record::capture::{
    CapturedPort, Frame, MessageFrame, Note, PauseFrame, PortTotals, RoceFrame, RoceKind, Sink,
};
use forebay_record::{PortRow, RunRecord};
use forebay_scenario::model::{Capture, Direction, Scenario};
use forebay_scenario::plan::Plan;
use forebay_sim::{Options, Outputs, Watch, simulate_into};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Bytes, Span, Time};

/// Keeps what it is given.
#[derive(Default)]
struct Kept {
    ports: Vec<CapturedPort>,
    hosts: Vec<(u32, String)>,
    frames: Vec<Vec<Frame>>,
    roce: Vec<Vec<RoceFrame>>,
    messages: Vec<Vec<MessageFrame>>,
    pauses: Vec<Vec<PauseFrame>>,
    totals: Vec<PortTotals>,
    settled: usize,
    most: usize, // takes no more after so many settlements
}

impl Sink for Kept {
    fn begin(&mut self, ports: Vec<CapturedPort>, hosts: &[(u32, String)]) {
        self.frames = vec![Vec::new(); ports.len()];
        self.pauses = vec![Vec::new(); ports.len()];
        self.roce = vec![Vec::new(); ports.len()];
        self.messages = vec![Vec::new(); ports.len()];
        (self.ports, self.hosts) = (ports, hosts.to_vec());
    }

    fn frame(&mut self, port: usize, frame: &Frame) {
        self.frames[port].push(*frame);
    }

    fn roce(&mut self, port: usize, frame: &RoceFrame) {
        self.roce[port].push(*frame);
    }

    fn message(&mut self, port: usize, frame: &MessageFrame) {
        self.messages[port].push(*frame);
    }

    fn pause(&mut self, port: usize, frame: &PauseFrame) {
        self.pauses[port].push(*frame);
    }

    fn settle(&mut self) -> bool {
        self.settled += 1;
        self.settled <= self.most
    }

    fn end(&mut self, port: usize, totals: PortTotals) {
        assert_eq!(port, self.totals.len());
        self.totals.push(totals);
    }
}

fn real(frames: &[Frame]) -> impl Iterator<Item = &Frame> {
    frames.iter().filter(|f| f.note == Note::Nothing)
}

/// Captures go here, and nothing else is written.
fn taken(kept: &mut Kept) -> Outputs<'_> {
    Outputs { captures: Some(kept), ..Outputs::default() }
}

fn captured(scenario: &Scenario, seed: u64, options: Options) -> (RunRecord, Kept) {
    let mut kept = Kept { most: usize::MAX, ..Kept::default() };
    let outcome =
        simulate_into(scenario, seed, options, &Watch::default(), taken(&mut kept)).unwrap();
    (outcome.record, kept)
}

fn of(place: &str) -> Capture {
    Capture {
        place: place.into(),
        direction: Direction::Both,
        snap: Bytes::new(96),
        from: Time::ZERO,
        until: Time::MAX,
        packets: None,
    }
}

/// Every port of every node.
fn everywhere(scenario: &Scenario) -> Vec<Capture> {
    Plan::of(&scenario.fabric).names.iter().map(|name| of(name)).collect()
}

fn same_results(one: &RunRecord, other: &RunRecord) {
    assert_eq!(one.digest, other.digest);
    assert_eq!((&one.flows, &one.ports, one.end), (&other.flows, &other.ports, other.end));
    assert_eq!((&one.series, one.totals), (&other.series, other.totals));
}

fn row<'a>(record: &'a RunRecord, port: &CapturedPort) -> &'a PortRow {
    record.ports.iter().find(|r| r.node == port.node && r.peer == port.peer).unwrap()
}

/// A frame but for when and where it was seen, and for its mark.
fn identity(frame: &Frame) -> (u16, u16, u32, u32, u32) {
    (frame.src_port, frame.dst_port, frame.seq, frame.ack, frame.stamps.0 ^ frame.stamps.1)
}

#[test]
fn watching_every_port_of_random_scenarios_changes_nothing_and_sees_everything() {
    let (mut frames, mut lossy, mut pauses, mut messages, mut threaded) = (0, 0, 0, 0, 0);
    for case in 0..24 {
        let seed = Stream::new(case, 1, Purpose::Test).key();
        let drawn = draw(seed, 0);
        // Those beyond the ones to try serve until a cable has lost something.
        let loses = drawn.faulty || drawn.lossy;
        if case >= u64::from(of_all(24)) && (lossy > 0 || !loses) {
            continue;
        }
        let mut scenario = scenario(&drawn.text);
        // Frames are kept, 100 bytes and more for each hop.
        let Some(plain) = run_if_short(&scenario, MOST_HOPS / 8) else { continue };
        let plain = plain.record;
        scenario.output.captures = everywhere(&scenario);
        let (record, kept) = captured(&scenario, 1, Options::default());
        same_results(&plain, &record);
        if drawn.text.contains("kind = \"receiver-driven\"") {
            for (i, port) in kept.ports.iter().enumerate() {
                let sent = kept.messages[i].iter().filter(|f| !f.inbound).count() as u64;
                let tcp = real(&kept.frames[i]).filter(|f| !f.inbound).count() as u64;
                assert_eq!(
                    sent + tcp,
                    row(&record, port).tx_packets,
                    "case {case}, {}",
                    port.name()
                );
                messages += sent;
            }
            continue;
        }
        for (i, port) in kept.ports.iter().enumerate() {
            let counted = row(&record, port);
            let sent: Vec<&Frame> = real(&kept.frames[i]).filter(|f| !f.inbound).collect();
            assert_eq!(sent.len() as u64, counted.tx_packets, "case {case}, {}", port.name());
            assert!(kept.frames[i].is_sorted_by_key(|f| f.at), "case {case}, {}", port.name());
            assert!(sent.last().is_none_or(|f| f.at < record.end));
            assert_eq!(kept.totals[i].dropped, counted.dropped_packets);
            let reported = sent.iter().map(|f| u64::from(f.drops)).sum::<u64>()
                + kept.pauses[i].iter().map(|f| u64::from(f.drops)).sum::<u64>();
            assert!(reported <= counted.dropped_packets);
            let (said, heard): (Vec<&PauseFrame>, Vec<&PauseFrame>) =
                kept.pauses[i].iter().partition(|f| !f.inbound);
            let counts = (counted.pause_frames_sent, counted.pause_frames_received);
            assert_eq!((said.len() as u64, heard.len() as u64), counts, "case {case}");
            pauses += said.len();
            let peer = kept.ports.iter().position(|p| p.node == port.peer && p.peer == port.node);
            let came: Vec<&Frame> =
                real(&kept.frames[peer.unwrap()]).filter(|f| f.inbound).collect();
            // What arrives has left, in this order; what is missing was lost or is on its way.
            let mut left = sent.iter();
            for frame in &came {
                let twin = left.find(|f| identity(f) == identity(frame));
                let twin = twin.expect("nothing arrives that has not left");
                assert!(twin.at < frame.at && twin.ecn == frame.ecn);
            }
            if !drawn.faulty && !drawn.lossy {
                let missing = &sent[came.len()..];
                assert_eq!(counted.lost_packets, 0);
                let longest = missing.first().map_or(Span::ZERO, |f| record.end.since(f.at));
                assert!(longest < Span::from_ms(500), "only what is on its way is missing");
            }
            frames += sent.len();
            lossy += usize::from(counted.lost_packets > 0 && came.len() < sent.len());
        }
        if threaded == 0 || case % 8 == 0 {
            threaded += 1;
            for threads in [2, 3] {
                let options = Options { threads, ..Options::default() };
                assert_eq!(captured(&scenario, 1, options).1.frames, kept.frames);
            }
            let options = Options { cut: Some(Span::from_ms(100)), ..Options::default() };
            assert_eq!(captured(&scenario, 1, options).1.frames, kept.frames, "contracted");
        }
    }
    assert!(
        frames > 15_000 && lossy > 0 && pauses > 0 && messages > 300,
        "{frames} frames, {lossy} lossy ports, {pauses} pause frames, {messages} messages: too calm"
    );
}

const LONE: &str = r#"
version = 1
name = "lone"
seeds = [1]
stop = { time = "1ms" }
[transport]
kind = "tcp"
law = "dctcp"
mss = "1000B"
class = 5
[fabric]
kind = "dumbbell"
left = 1
right = 1
host_link = { rate = "100Gbps", delay = "1us" }
bottleneck = { rate = "10Gbps", delay = "3us" }
wire_overhead = "24B"
[fabric.switch]
latency = "300ns"
classes = 8
[[traffic]]
kind = "list"
flows = [{ from = "left.host[0]", to = "right.host[0]", size = "2500B", at = "7us" }]
"#;

#[test]
fn a_lone_flow_is_stamped_to_the_picosecond() {
    let mut scenario = scenario(LONE);
    let places = ["left.host[0]", "left->right", "right->left", "right.host[0]->right"];
    scenario.output.captures = places.map(of).to_vec();
    let (record, kept) = captured(&scenario, 1, Options::default());
    let names: Vec<String> = kept.ports.iter().map(CapturedPort::name).collect();
    assert_eq!(names, ["left.host[0]->left", "left->right", "right->left", "right.host[0]->right"]);
    assert_eq!(kept.hosts, [(0, "left.host[0]".to_string()), (1, "right.host[0]".to_string())]);
    let times = |port: usize, inbound: bool| -> Vec<u64> {
        real(&kept.frames[port]).filter(|f| f.inbound == inbound).map(|f| f.at.as_ps()).collect()
    };
    // 1000 B + 52 B of header + 24 B of overhead take 86.08 ns at 100 Gb/s and 860.8 ns at 10 Gb/s; the last packet has
    // 500 B, an ACK 64 B in all. A frame is complete before its gap of 12 B, so it arrives 0.96 ns or 9.6 ns earlier.
    let (full, last, ack) = (1_076 * 80, 576 * 80, 88 * 80);
    let gap = 12 * 80;
    let start = 7_000_000;
    assert_eq!(times(0, false), [start, start + full, start + 2 * full]);
    // At `left` a packet has come when its last bit has, 300 ns before it can leave.
    let queued = start + full - gap + 1_000_000 + 300_000;
    let bottleneck = [queued, queued + 10 * full, queued + 20 * full];
    assert_eq!(times(1, false), bottleneck);
    let came = bottleneck.map(|at| at - 10 * gap + 3_000_000);
    assert_eq!(times(2, true), [came[0] + 10 * full, came[1] + 10 * full, came[2] + 10 * last]);
    let at_host = |came: u64, size: u64| came + 300_000 + size - gap + 1_000_000;
    let received: Vec<u64> = times(2, true)
        .into_iter()
        .zip([full, full, last])
        .map(|(at, size)| at_host(at, size))
        .collect();
    assert_eq!(times(3, true), received);
    assert_eq!(times(3, false), received, "ACKs leave as soon as data has come");
    // And the RTT from the sender's frames is the sender's own: start to last ACK.
    let back = times(0, true);
    assert_eq!(*back.last().unwrap(), record.flows[0].acked.unwrap().as_ps());
    let hop = ack - gap + 1_000_000 + 300_000;
    let slow = 10 * (ack - gap) + 3_000_000 + 300_000;
    assert_eq!(back[0], received[0] + hop + slow + ack - gap + 1_000_000);
    assert!(kept.frames.iter().flatten().filter(|f| f.payload > 0).all(|f| f.class == 5));
}

#[test]
fn segments_say_what_tcp_would() {
    let mut scenario = scenario(LONE);
    scenario.output.captures = vec![of("left.host[0]")];
    let (_, kept) = captured(&scenario, 1, Options::default());
    let frames = &kept.frames[0];
    let synthetic: Vec<(bool, bool, u32, u32, bool)> = frames
        .iter()
        .filter(|f| f.note == Note::Synthetic { flow: 0 })
        .map(|f| (f.bits.syn, f.bits.ack, f.seq, f.ack, f.inbound))
        .collect();
    let expected =
        [(true, false, 0, 0, false), (true, true, 0, 1, true), (false, true, 1, 1, false)];
    assert_eq!(synthetic, expected);
    assert_eq!(frames[0].at.as_ps(), 7_000_000 - 1_000, "1 ns before the first data");
    assert!(frames[..3].iter().all(|f| f.note != Note::Nothing), "and before everything else");
    let data: Vec<(u32, u16, bool)> =
        real(frames).filter(|f| !f.inbound).map(|f| (f.seq, f.payload, f.bits.fin)).collect();
    assert_eq!(data, [(1, 1000, false), (1001, 1000, false), (2001, 500, true)]);
    let acks: Vec<u32> = real(frames).filter(|f| f.inbound).map(|f| f.ack).collect();
    assert_eq!(acks, [1001, 2001, 2502], "the last one takes in the FIN");
    let ports: Vec<(u32, u32, u16, u16)> =
        frames.iter().map(|f| (f.src, f.dst, f.src_port, f.dst_port)).collect();
    assert_eq!(ports[0], (0, 1, 49_152, 49_152));
    assert!(frames.iter().all(|f| f.inbound == (f.src == 1)));
}

#[test]
fn loss_is_seen_between_two_ends_and_in_sack_blocks() {
    let text = LONE
        .replace("2500B", "2MB")
        .replace("stop = { time = \"1ms\" }", "stop = { time = \"500ms\" }")
        .replace(
            "[fabric.switch]",
            "[[fabric.override]]\nwhere = \"left-right\"\nloss = 0.02\n[fabric.switch]",
        );
    let mut scenario = scenario(&text);
    scenario.output.captures = vec![of("left->right"), of("right->left"), of("left.host[0]")];
    let (record, kept) = captured(&scenario, 1, Options::default());
    let sent = real(&kept.frames[0]).filter(|f| !f.inbound).count();
    let came = real(&kept.frames[1]).filter(|f| f.inbound).count();
    let lost = row(&record, &kept.ports[0]).lost_packets;
    assert!(lost > 10 && sent - came == lost as usize, "{sent} left, {came} came, {lost} lost");
    // Every SACK block lies above the ACK, but for a DSACK, and ends where a segment does.
    let flow = record.flows[0];
    let mut blocks = 0;
    for frame in real(&kept.frames[2]).filter(|f| f.inbound) {
        for (i, (start, end)) in frame.sacks[..usize::from(frame.sack_count)].iter().enumerate() {
            let duplicate = i == 0 && *start < frame.ack;
            assert!(start < end && (duplicate || *start > frame.ack), "{frame:?}");
            assert!(start % 1000 == 1 && *end <= 2_000_001);
            blocks += 1;
        }
    }
    assert!(blocks > 20);
    // A segment below the highest before it is one that was sent again.
    let (mut highest, mut again) = (0, 0);
    for frame in real(&kept.frames[2]).filter(|f| !f.inbound) {
        again += u32::from(frame.seq < highest);
        highest = highest.max(frame.seq + u32::from(frame.payload));
    }
    assert_eq!(again, flow.retransmits);
}

#[test]
fn a_window_a_direction_and_a_limit_choose() {
    let mut scenario = scenario(&LONE.replace("2500B", "200KB"));
    scenario.output.captures = vec![of("left->right")];
    let whole = captured(&scenario, 1, Options::default()).1.frames.remove(0);
    let (from, until) = (whole[40].at, whole[140].at);
    let chosen =
        Capture { direction: Direction::In, from, until, packets: Some(25), ..of("left->right") };
    scenario.output.captures = vec![chosen];
    let (_, kept) = captured(&scenario, 1, Options::default());
    let expected: Vec<Frame> =
        whole.into_iter().filter(|f| f.inbound && from <= f.at && f.at < until).take(25).collect();
    assert_eq!(expected.len(), 25);
    assert_eq!(kept.frames[0], expected);
}

#[test]
fn a_sink_that_takes_no_more_ends_the_run() {
    let mut scenario = scenario(&LONE.replace("2500B", "20MB").replace("1ms", "16ms"));
    scenario.output.captures = vec![of("left->right")];
    let mut kept = Kept { most: 0, ..Kept::default() };
    let watch = Watch::default();
    let outcome =
        simulate_into(&scenario, 1, Options::default(), &watch, taken(&mut kept)).unwrap();
    assert!(outcome.record.interrupted && outcome.record.end < Time::ZERO + Span::from_ms(10));
    assert_eq!(kept.totals.len(), 1, "what there is is closed");
}

/// Two senders at line rate share a port, in a switch with little room that pauses them.
const PAUSED: &str = r#"
version = 1
name = "paused"
seeds = [1]
stop = { time = "20ms", flows = "all" }
[transport]
kind = "tcp"
law = "reno"
[fabric]
kind = "star"
hosts = 3
host_link = { rate = "10Gbps", delay = "1us" }
wire_overhead = "24B"
[fabric.switch]
latency = "300ns"
pause = { xoff = "20KB" }
[[traffic]]
kind = "list"
flows = [
  { from = "host[1]", to = "host[0]", size = "1MB" },
  { from = "host[2]", to = "host[0]", size = "1MB" },
]
"#;

#[test]
fn pause_frames_stop_and_let_go_in_turn_and_silence_data() {
    let mut scenario = scenario(PAUSED);
    scenario.output.captures = vec![of("tor->host[1]"), of("host[1]")];
    let (record, kept) = captured(&scenario, 1, Options::default());
    let (said, heard) = (&kept.pauses[0], &kept.pauses[1]);
    assert!(said.len() > 4 && said.len() as u64 == row(&record, &kept.ports[0]).pause_frames_sent);
    // 64 B and 12 B of preamble and FCS take 60.8 ns, the cable 1 us.
    let flight = Span::from_ps(76 * 800) + Span::from_us(1);
    for (i, (said, heard)) in said.iter().zip(heard).enumerate() {
        assert!(!said.inbound && heard.inbound);
        assert_eq!((said.src, said.stop), (3, i % 2 == 0), "the switch comes after three hosts");
        assert_eq!(heard, &PauseFrame { at: said.at + flight, inbound: true, ..*said });
    }
    // Nothing begins to leave the host between a frame that stops it and the next one.
    for pair in heard.chunks_exact(2) {
        let silent = |f: &&Frame| !f.inbound && pair[0].at < f.at && f.at < pair[1].at;
        assert_eq!(real(&kept.frames[1]).find(silent), None);
    }
}

/// Closed-loop calls over four connections, and a cable that loses the beginning of a stream.
const CALLS: &str = r#"
version = 1
name = "calls"
seeds = [1]
stop = { time = "40ms" }
[transport]
kind = "tcp"
law = "reno"
rto_min = "2ms"
initial_window = "20 packets"
[fabric]
kind = "star"
hosts = 5
host_link = { rate = "10Gbps", delay = "1us" }
[[fabric.override]]
where = "tor-host[0]"
loss = 0.3
[[traffic]]
kind = "rpc"
from = "host[*]"
to = "host[0]"
pairs = "all"
request = "20KB"
response = "64B"
"#;

#[test]
fn streams_of_a_connection_never_close_and_acknowledge_no_more_than_was_sent() {
    let mut scenario = scenario(CALLS);
    scenario.output.captures = vec![of("host[0]"), of("host[1]"), of("host[2]")];
    let (_, kept) = captured(&scenario, 1, Options::default());
    let ack_of_nothing = kept.frames[0].iter().filter(|f| !f.bits.syn && f.payload == 0);
    assert!(ack_of_nothing.filter(|f| f.ack == 1 && f.sack_count > 0).count() > 0, "too calm");
    for frames in &kept.frames {
        assert!(frames.iter().all(|f| !f.bits.fin));
        let mut sent = std::collections::BTreeMap::new();
        for frame in frames {
            let end = sent.entry((frame.src_port, frame.dst_port)).or_insert(1);
            *end = (*end).max(frame.seq + u32::from(frame.payload));
            let other = *sent.get(&(frame.dst_port, frame.src_port)).unwrap_or(&1);
            assert!(frame.ack <= other, "{frame:?} acknowledges what has not been seen");
        }
    }
}

/// Two queue pairs into one port that marks and pauses, a cable that loses, and TCP between the same hosts.
const QUEUE_PAIRS: &str = r#"
version = 1
name = "queue-pairs"
seeds = [1]
stop = { time = "40ms" }
[fabric]
kind = "star"
hosts = 3
host_link = { rate = "100Gbps", delay = "1us" }
[[fabric.override]]
where = "tor-host[0]"
loss = 0.002
[fabric.switch]
classes = 3
buffer = { size = "400KB" }
pause = { classes = [1] }
ecn = { kmin = "20KB", kmax = "80KB", pmax = 0.1 }
[transport]
kind = "tcp"
law = "reno"
[transports.verbs]
kind = "rdma"
law = "dcqcn"
class = 1
ack_class = 2
ack_every = 4
[[traffic]]
kind = "list"
flows = [
    { from = "host[1]", to = "host[0]", size = "1999998B" },
    { from = "host[2]", to = "host[0]", size = "3MB" },
]
transport = "verbs"
[[traffic]]
kind = "list"
flows = [{ from = "host[1]", to = "host[0]", size = "200KB" }]
"#;

#[test]
fn packets_of_queue_pairs_say_what_rocev2_would() {
    let mut scenario = scenario(QUEUE_PAIRS);
    let plain = run(&scenario, 1, Options::default()).record;
    scenario.output.captures = everywhere(&scenario);
    let (record, kept) = captured(&scenario, 1, Options::default());
    same_results(&plain, &record);
    let sent = |frames: &[RoceFrame]| -> Vec<RoceFrame> {
        frames.iter().filter(|f| !f.inbound).copied().collect()
    };
    for (i, port) in kept.ports.iter().enumerate() {
        let counted = row(&record, port);
        let tcp = real(&kept.frames[i]).filter(|f| !f.inbound).count() as u64;
        assert_eq!(sent(&kept.roce[i]).len() as u64 + tcp, counted.tx_packets, "{}", port.name());
        assert!(kept.roce[i].is_sorted_by_key(|f| f.at));
    }
    let at = |name: &str| kept.ports.iter().position(|p| p.name() == name).unwrap();
    let mut naks = 0;
    for flow in record.flows.iter().filter(|flow| flow.traffic == 0) {
        let size = flow.size.get();
        let host = at(&format!("host[{}]->tor", flow.src));
        let mine: Vec<RoceFrame> = sent(&kept.roce[host]);
        // In the order of their numbers, as often as they were sent; each number stands for 1000 B.
        let (mut next, mut bytes, mut again) = (0, 0, 0);
        for frame in &mine {
            let RoceKind::Send { first, last, ack_request, payload } = frame.kind else { panic!() };
            assert!(frame.number <= next, "no number is left out");
            assert_eq!((first, frame.src, frame.dst), (frame.number == 0, flow.src, 0));
            assert_eq!(last, u64::from(frame.number + 1) == size.div_ceil(1000));
            assert!(!last || ack_request);
            if frame.number == next {
                (next, bytes) = (next + 1, bytes + u64::from(payload));
            } else {
                again += 1;
            }
        }
        assert_eq!((bytes, again), (size, flow.retransmits));
        // What the receiver answers; the last ACK is for the last packet, and for the message.
        let answers = sent(&kept.roce[at("host[0]->tor")]);
        let answers: Vec<_> = answers.iter().filter(|f| f.dst == flow.src).collect();
        let acks = answers.iter().filter_map(|f| match f.kind {
            RoceKind::Ack { messages, .. } => Some((f.number, messages)),
            _ => None,
        });
        let acks: Vec<_> = acks.collect();
        assert_eq!(acks.last(), Some(&(next - 1, 1)));
        assert!(acks.is_sorted() && acks.iter().filter(|ack| ack.1 == 1).count() < 10);
        assert!(acks.len() < mine.len() / 2, "an ACK speaks for several");
        let numbers = |kind: fn(&RoceKind) -> bool| {
            let of = answers.iter().filter(move |f| kind(&f.kind));
            of.map(|f| f.number).collect::<Vec<_>>()
        };
        let missing = numbers(|kind| matches!(kind, RoceKind::Nak { .. }));
        let came = |number| {
            let frames = kept.roce[at("host[0]->tor")].iter().filter(|f| f.inbound);
            frames.filter(|f| f.src == flow.src && f.number == number).map(|f| f.at).max()
        };
        for nak in answers.iter().filter(|f| matches!(f.kind, RoceKind::Nak { .. })) {
            assert!(came(nak.number) > Some(nak.at), "{} comes after it was asked for", nak.number);
        }
        assert!(!numbers(|kind| *kind == RoceKind::Cnp).is_empty());
        naks += missing.len();
    }
    assert!(naks > 0 && kept.pauses.iter().any(|frames| !frames.is_empty()), "{naks}: too calm");
}
