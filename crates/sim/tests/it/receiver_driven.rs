//! Receiver-driven transports in a fabric: known answers to the picosecond, and that every message ends whatever is lost.

use crate::common::{agreed, run, scenario};
use forebay_record::{FlowRow, Quantity, RunRecord, Series};
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, Simulation, Watch, twin};
use forebay_units::{Span, Time};

/// Six links of 100 Gb/s and 1 us between any two pods.
const FAT_TREE: &str = r#"
[fabric]
kind = "fat-tree"
tiers = 3
k = 4
routing = "spray"
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "100Gbps", delay = "1us" }
[fabric.switch]
buffer = "none"
classes = 2
"#;

const STAR: &str = r#"
[fabric]
kind = "star"
hosts = 13
routing = "spray"
host_link = { rate = "100Gbps", delay = "1us" }
[fabric.switch]
buffer = "none"
classes = 2
"#;

/// Full packets of 4,064 B.
const NDP: &str = r#"
[transport]
kind = "receiver-driven"
law = "ndp"
mss = "4000B"
header = "64B"
ack_class = 1
"#;

const HOMA: &str = r#"
[transport]
kind = "receiver-driven"
law = "homa"
mss = "4000B"
header = "64B"
ack_class = 7
"#;

fn star_of_eight_classes() -> String {
    STAR.replace("classes = 2", "classes = 8")
}

fn with(fabric: &str, transport: &str, traffic: &str) -> Scenario {
    scenario(&format!(
        "version = 1\nname = \"t\"\nseeds = [1]\nstop = {{ time = \"10s\", flows = \"all\" }}\n{fabric}{transport}{traffic}"
    ))
}

fn list(flows: &[(&str, &str, u64)]) -> String {
    let one = |(from, to, size): &(&str, &str, u64)| {
        format!("{{ from = \"{from}\", to = \"{to}\", size = \"{size}B\", at = \"0s\" }}")
    };
    let flows: Vec<String> = flows.iter().map(one).collect();
    format!("[[traffic]]\nkind = \"list\"\nflows = [{}]\n", flows.join(", "))
}

/// A lone NDP flow of n packets with a window of w, over six links: R + max((n-1) tx, R + (n-w-1) g), where R is the time until the first ACK is back, and
/// g = tx / 0.99 the time between two pulls.
///
/// A pull that comes up while an ACK is on the wire waits for that, at most 5.12 ns; so only where the last pull falls
/// clear of ACKs is the sum exact.
#[test]
fn a_lone_ndp_flow_takes_as_long_as_its_window_and_its_pulls() {
    let (tx, control, delay) = (4_064 * 80, 64 * 80, 1_000_000);
    let trip = 6 * (tx + delay) + 6 * (control + delay);
    let mut paced = 0;
    for (n, w) in [
        (1, 44),
        (44, 44),
        (45, 44),
        (100, 50),
        (143, 44),
        (180, 44),
        (260, 44),
        (300, 60),
        (1_000, 50),
    ] {
        let transport = format!("{NDP}window = \"{w} packets\"\n");
        let flow = [("pod[0].edge[0].host[0]", "pod[3].edge[1].host[1]", n * 4_000)];
        let scenario = with(FAT_TREE, &transport, &list(&flow));
        let record = run(&scenario, 1, Options::default()).record;
        let acked = record.flows[0].acked.unwrap().as_ps();
        let pulled = n.saturating_sub(w + 1) * tx * 100 / 99;
        let by_pulls = if n > w { trip + trip + pulled } else { 0 };
        let by_wire = trip + (n - 1) * tx;
        let clear = (12_000..tx - 6_000).contains(&(pulled % tx));
        if by_wire >= by_pulls || clear {
            assert_eq!(acked, by_wire.max(by_pulls), "{n} packets, window {w}");
            paced += u32::from(by_pulls > by_wire);
        }
        let late = acked - by_wire.max(by_pulls);
        assert!(late <= control, "{n} packets, window {w}: {late} ps late");
        assert_eq!((record.flows[0].retransmits, record.flows[0].timeouts), (0, 0));
    }
    assert!(paced > 1, "the pacer has to have its say");
    assert_eq!(trip + 99 * tx, 46_168_320, "100 packets: 46.16832 us");
}

/// The default window is a round trip of 13.98 us in packets of 325.12 ns, which are 43.004.
#[test]
fn the_usual_window_covers_a_round_trip() {
    let flow = [("pod[0].edge[0].host[0]", "pod[3].edge[1].host[1]", 150 * 4_000)];
    let acked = |transport: &str| {
        let record = run(&with(FAT_TREE, transport, &list(&flow)), 1, Options::default()).record;
        record.flows[0].acked
    };
    assert_eq!(acked(NDP), acked(&format!("{NDP}window = \"44 packets\"\n")));
    let short = format!("{NDP}window = \"43 packets\"\n");
    assert_ne!(acked(NDP), acked(&short));
    let warnings = |transport: &str| {
        run(&with(FAT_TREE, transport, &list(&flow)), 1, Options::default()).warnings
    };
    assert_eq!(warnings(NDP), [""; 0]);
    let said = "a window of 172KB is less than a round trip carries, 176KB, so senders wait";
    assert!(warnings(&short)[0].starts_with(said), "{:?}", warnings(&short));
}

/// Twelve senders and a queue that holds all: pulls fill the link, and all senders end within a few packets of each other.
#[test]
fn an_incast_fills_the_link_and_is_fair() {
    let names: Vec<String> = (1..13).map(|i| format!("host[{i}]")).collect();
    let flows: Vec<_> = names.iter().map(|from| (from.as_str(), "host[0]", 100 * 4_000)).collect();
    let record = agreed(&with(STAR, NDP, &list(&flows)));
    let ends: Vec<u64> = record.flows.iter().map(|flow| flow.delivered.unwrap().as_ps()).collect();
    let (first, last) = (*ends.iter().min().unwrap(), *ends.iter().max().unwrap());
    let (tx, trip) = (325_120, 2 * (325_120 + 1_000_000) + 2 * (5_120 + 1_000_000));
    assert!(last > 1_200 * tx, "nothing beats the wire");
    assert!(last < 1_200 * tx * 100 / 99 + trip, "{last} ps");
    assert!(last - first < 30 * tx, "{first} to {last} ps");
}

/// Two packets of queue, two headers, and what finds no room goes back.
const TRIMMED: &str = r#"classes = 2
return_to_sender = true
limits = [
    { class = 0, size = "2 packets", over = { trim_to = "64B", class = 1 } },
    { class = 1, size = "2 packets" },
]
"#;

/// Three messages of 12 packets to one host, of which four packets leave unasked.
fn three_messages(law: &str, fault: &str) -> Scenario {
    let flows = [1, 2, 3].map(|i| (format!("host[{i}]"), 12 * 4_000 - 1_000 * i));
    let flows: Vec<_> =
        flows.iter().map(|(from, size)| (from.as_str(), "host[0]", *size)).collect();
    in_a_star(law, &format!("{}{fault}", list(&flows)))
}

/// Traffic on a star, under a law by a short name. Four packets leave unasked.
fn in_a_star(law: &str, traffic: &str) -> Scenario {
    let window = "window = \"4 packets\"\n";
    let protected = |classes: &str| {
        let rule = format!(
            "classes = 8\necn = [{{ classes = {classes}, k = \"6KB\", not_ect = \"drop\", ect = \"pass\" }}]"
        );
        STAR.replace("classes = 2", &rule)
    };
    let (fabric, transport) = match law {
        "homa" => (star_of_eight_classes(), format!("{HOMA}{window}")),
        "homa, protected" => (
            protected("[0, 1, 2, 3, 4, 5, 6, 7]"),
            format!("{HOMA}{window}selective_drop = true\n"),
        ),
        "homa, 2 tries" => (star_of_eight_classes(), format!("{HOMA}{window}max_retries = 2\n")),
        "ndp, 3 tries" => (STAR.into(), format!("{NDP}{window}max_retries = 3\n")),
        "ndp, protected" => (protected("[0]"), format!("{NDP}{window}selective_drop = true\n")),
        "ndp, trimmed" => (STAR.replace("classes = 2\n", TRIMMED), format!("{NDP}{window}")),
        _ => (STAR.into(), format!("{NDP}{window}")),
    };
    with(&fabric, &transport, traffic)
}

fn all_end(scenario: &Scenario, what: &str) -> RunRecord {
    let record = run(scenario, 1, Options::default()).record;
    for flow in &record.flows {
        assert!(flow.delivered.is_some(), "{what}: flow {} is not delivered", flow.flow);
        assert!(flow.acked.is_some(), "{what}: flow {} is not acknowledged", flow.flow);
    }
    record
}

/// On the receiver's cable, and on that of one sender, each packet in turn is lost: data, ACKs, grants, the last ACK.
#[test]
fn every_message_ends_whatever_packet_is_lost() {
    for law in ["ndp", "ndp, trimmed", "homa", "ndp, protected", "homa, protected"] {
        let (mut late, mut packets) = (0, 0);
        for link in ["host[0]->tor", "tor->host[0]", "host[1]->tor", "tor->host[1]"] {
            for nth in 1..=36 {
                let fault = format!("[[fault]]\nat = \"0s\"\nlink = \"{link}\"\ndrop = [{nth}]\n");
                let what = format!("{law}, packet {nth} of {link}");
                let record = all_end(&three_messages(law, &fault), &what);
                let lost: u64 = record.ports.iter().map(|port| port.lost_packets).sum();
                packets += lost;
                late += u64::from(record.flows.iter().any(|flow| flow.timeouts > 0));
                assert!(record.flows.iter().all(|flow| flow.timeouts <= 1), "{what}");
            }
        }
        assert!(packets > 60, "{law}: {packets} packets lost");
        assert!(late > 0, "{law}: the last ACK was lost, too");
    }
}

/// All that leaves unasked is lost at once, so that the receiver knows nothing of the message; or its last three answers, the final ACK among them.
#[test]
fn every_message_ends_that_loses_its_first_burst_or_its_last_answers() {
    let mut late = 0;
    for law in ["ndp", "ndp, trimmed", "homa", "ndp, protected", "homa, protected"] {
        let whole = all_end(&three_messages(law, ""), law);
        let answers = whole.ports.iter().find(|port| port.node == "tor" && port.peer == "host[1]");
        let last = answers.unwrap().tx_packets;
        let mut lost = |link: &str, which: &[u64]| {
            let fault = format!("[[fault]]\nat = \"0s\"\nlink = \"{link}\"\ndrop = {which:?}\n");
            let record = all_end(&three_messages(law, &fault), &format!("{law}, {which:?}"));
            let flow = record.flows.iter().find(|flow| flow.src == 1).unwrap();
            assert!(flow.timeouts <= 2, "{law}, {which:?}: {} timeouts", flow.timeouts);
            late += u32::from(flow.timeouts > 0);
        };
        // Four packets, and the probe behind them where they are protected.
        lost(
            "host[1]->tor",
            if law.ends_with("protected") { &[1, 2, 3, 4, 5] } else { &[1, 2, 3, 4] },
        );
        lost("tor->host[1]", &[last - 2, last - 1, last]);
    }
    assert!(late >= 5, "{late} of 10 senders repeat");
}

#[test]
fn every_message_ends_under_random_loss_of_everything() {
    for law in ["ndp", "ndp, trimmed", "homa", "ndp, protected", "homa, protected"] {
        for loss in [0.01, 0.1] {
            let losses = format!("[[fabric.override]]\nwhere = \"host[*]\"\nloss = {loss}\n");
            let scenario = three_messages(law, &losses);
            for seed in 1..=10 {
                let record = run(&scenario, seed, Options::default()).record;
                let ended = |flow: &forebay_record::FlowRow| flow.acked.is_some();
                assert!(record.flows.iter().all(ended), "{law}, loss {loss}, seed {seed}");
            }
            agreed(&scenario);
        }
    }
}

/// Nothing of the first message ever arrives: its sender repeats its first packet after 10 ms, and then after twice the time, and gives up when as long again has
/// passed as the next try would take. The other messages end, and so does the run.
#[test]
fn a_sender_without_any_answer_gives_up_after_so_many_tries() {
    let dead = "[[fabric.override]]\nwhere = \"host[1]\"\nloss = 1\n";
    for (law, tries) in [("homa", 5), ("homa, 2 tries", 2), ("ndp, 3 tries", 3)] {
        let record = agreed(&three_messages(law, dead));
        let after = Span::from_ms((0..=tries).map(|n| 10 << n).sum());
        for flow in &record.flows {
            let lost = flow.src == 1;
            assert_eq!(flow.gave_up, lost.then_some(Time::ZERO + after), "{law}, {tries} tries");
            assert_eq!((flow.acked.is_none(), flow.delivered.is_none()), (lost, lost));
            assert_eq!(flow.timeouts, if lost { tries } else { 0 });
        }
        assert!(
            !record.stalled && record.end < Time::ZERO + after + Span::from_ms(60),
            "{}",
            record.end
        );
    }
}

/// A sender is heard no more once its first four packets have left. Its receiver requests what is missing 2.25 ms after the first of them arrived, since it looks for silence an eighth of 2 ms
/// later at the soonest, and then after 4, 8, 16 and 32 ms; each try is a request and a grant. 64 ms later it gives up, so that its sender, which hears the fifth try, hears no more: three times it repeated a packet between
/// tries, and five times after them.
#[test]
fn a_receiver_that_hears_nothing_gives_up_after_so_many_tries() {
    let mute = "[[fault]]\nat = \"1500ns\"\nlink = \"host[1]->tor\"\nloss = 1\n";
    let message = list(&[("host[1]", "host[0]", 12 * 4_000)]);
    let record = agreed(&in_a_star("homa", &format!("{message}{mute}")));
    let flow = record.flows[0];
    let trip = |tx: u64| Span::from_ps(2 * (tx + 1_000_000));
    let fifth = trip(325_120) + Span::from_us(2_250) + Span::from_ms(4 + 8 + 16 + 32);
    let heard = fifth + trip(5_120) + Span::from_ps(5_120);
    assert_eq!(flow.gave_up, Some(Time::ZERO + heard + Span::from_ms(630)));
    assert_eq!((flow.delivered, flow.acked, flow.timeouts), (None, None, 3 + 5));
}

/// Three messages of 100 MB come to one receiver over 10 Gb/s. Those of two stay ahead in every queue, for longer than five requests of the third one's
/// receiver take (126 ms). All packets together take 247 ms, and nothing is lost.
#[test]
fn a_message_whose_packets_wait_behind_others_is_not_given_up() {
    let from = |host: u32, at: u32| {
        format!(
            "{{ from = \"host[{host}]\", to = \"host[0]\", size = \"100MB\", at = \"{at}ns\" }}"
        )
    };
    let flows = [from(1, 0), from(2, 400), from(3, 700)].join(", ");
    let text = format!(
        "version = 1\nstop = {{ time = \"3s\" }}\n[fabric]\nkind = \"star\"\nhosts = 5\nrouting = \"spray\"\n\
         host_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\n[fabric.switch]\nclasses = 8\n\
         [transport]\nkind = \"receiver-driven\"\nlaw = \"homa\"\nack_class = 7\n\
         [[traffic]]\nkind = \"list\"\nflows = [{flows}]\n"
    );
    let record = run(&scenario(&text), 1, Options::default()).record;
    assert_eq!(record.ports.iter().map(|p| p.dropped_packets + p.lost_packets).sum::<u64>(), 0);
    for flow in &record.flows {
        assert_eq!((flow.gave_up, flow.delivered.is_some()), (None, true), "flow {}", flow.flow);
    }
    let last = record.flows.iter().filter_map(|flow| flow.delivered).max().unwrap();
    let least = Span::from_ms(240);
    assert!(last > Time::ZERO + least && last < Time::ZERO + Span::from_ms(260), "{last}");
}

/// Three clients with two requests under way each, of one to six packets: every one is answered, whichever packet is lost, and under random loss.
#[test]
fn every_rpc_ends_whatever_is_lost() {
    let loop_of_six = "[[traffic]]\nkind = \"rpc\"\nfrom = [\"host[1]\", \"host[2]\", \"host[3]\"]\nto = \"host[0]\"\npairs = \"all\"\n\
                       request = \"1B..24KB\"\nresponse = \"1B..24KB\"\noutstanding = 2\ncount = 6\n";
    for law in ["ndp", "ndp, trimmed", "homa", "ndp, protected", "homa, protected"] {
        let answered = |fault: &str, seed: u64| {
            let scenario = in_a_star(law, &format!("{loop_of_six}{fault}"));
            let record = run(&scenario, seed, Options::default()).record;
            let completed = record.rpcs.iter().filter(|rpc| rpc.latency().is_some()).count();
            assert_eq!((completed, record.rpcs.len()), (18, 18), "{law}, {fault}");
            record.ports.iter().map(|port| port.lost_packets).sum::<u64>()
        };
        let mut lost = 0;
        for link in ["host[1]->tor", "tor->host[1]"] {
            for nth in 1..=40 {
                let fault = format!("[[fault]]\nat = \"0s\"\nlink = \"{link}\"\ndrop = [{nth}]\n");
                lost += answered(&fault, 1);
            }
        }
        assert!(lost > 60, "{law}: {lost} packets lost");
        for seed in 1..=5 {
            let loss = "[[fabric.override]]\nwhere = \"host[*]\"\nloss = 0.1\n";
            assert!(answered(loss, seed) > 20, "{law}");
        }
    }
}

/// A round trip's payload leaves unasked, and grants follow without a pause: a message takes as long as its packets back to back. With a tenth less
/// the sender waits.
#[test]
fn a_lone_homa_message_leaves_no_gap_behind_what_it_sends_unasked() {
    let fabric = FAT_TREE.replace("classes = 2", "classes = 8");
    let flow = |n: u64| list(&[("pod[0].edge[0].host[0]", "pod[3].edge[1].host[1]", n * 4_000)]);
    for n in [1, 10, 44, 45, 100, 1_000] {
        let usual = run(&with(&fabric, HOMA, &flow(n)), 1, Options::default()).record.flows[0];
        assert_eq!(usual.fct().unwrap(), usual.ideal, "{n} packets");
        let short = format!("{HOMA}window = \"40 packets\"\n");
        let short = run(&with(&fabric, &short, &flow(n)), 1, Options::default()).record.flows[0];
        assert_eq!(short.fct() > usual.fct(), n > 40, "{n} packets");
    }
}

/// Two long messages come from two hosts; a third host sends a packet while their granted data queues for the receiver. It
/// waits for the packet in transmission alone, where it has a class above; in one class, for the queue.
#[test]
fn a_short_message_passes_long_ones() {
    let short = "[[traffic]]\nkind = \"list\"\nflows = [{ from = \"host[3]\", to = \"host[0]\", size = \"4000B\", at = \"60us\" }]\n";
    let long = list(&[("host[1]", "host[0]", 2_000_000), ("host[2]", "host[0]", 2_000_000)]);
    let waits = |levels: &str| {
        let text = format!("{HOMA}window = \"20 packets\"\n{levels}");
        let record = agreed(&with(&star_of_eight_classes(), &text, &format!("{long}{short}")));
        let flow = record.flows.iter().find(|flow| flow.size.get() == 4_000).unwrap();
        flow.fct().unwrap().as_ps() - flow.ideal.as_ps()
    };
    let packet = (4_064 + 24) * 80;
    assert!(waits("") <= packet, "{} ps", waits(""));
    assert!(waits("priorities = 1\n") > 3 * packet, "{} ps", waits("priorities = 1\n"));
}

/// Senders of n packets each, eight packets of queue and trimming, headers that find no room go back: the pulls of the receiver set the pace, N n tx / 0.99 and a round trip in all,
/// and all senders end together.
#[test]
fn an_ndp_incast_ends_when_its_pulls_do() {
    let switch = "return_to_sender = true\nlimits = [{ class = 0, size = \"8 packets\", over = { trim_to = \"64B\", class = 1 } }, { class = 1, size = \"64KB\" }]\n";
    for senders in [12, 48, 100, 432] {
        let star = STAR.replace("hosts = 13", &format!("hosts = {}", senders + 1));
        let names: Vec<String> = (1..=senders).map(|i| format!("host[{i}]")).collect();
        let flows: Vec<_> =
            names.iter().map(|from| (from.as_str(), "host[0]", 100 * 4_000)).collect();
        let scenario = with(&format!("{star}{switch}"), NDP, &list(&flows));
        let record = run(&scenario, 1, Options::default()).record;
        let mut ends: Vec<u64> =
            record.flows.iter().map(|flow| flow.acked.unwrap().as_ps()).collect();
        ends.sort_unstable();
        let (median, last) = (ends[ends.len() / 2], ends[ends.len() - 1]);
        let (tx, trip) = (325_120, 2 * (325_120 + 1_000_000) + 2 * (5_120 + 1_000_000));
        let wire = senders * 100 * tx;
        let paced = wire * 100 / 99 + trip;
        assert!(last >= wire, "{senders} senders: nothing beats the wire");
        assert!(last.abs_diff(paced) * 100 <= paced, "{senders} senders: {last} ps, not {paced}");
        assert!(median * 100 >= last * 98, "{senders} senders: {median} to {last} ps");
        let timeouts: u64 = record.flows.iter().map(|flow| u64::from(flow.timeouts)).sum();
        assert_eq!(timeouts, 0, "{senders} senders: headers tell of every loss");
    }
}

/// Four paths between two pods: each has one of four packets that follow each other, so it has as many as any other in the end.
#[test]
fn packets_that_number_their_paths_load_all_alike() {
    let source = FAT_TREE.replace("\"spray\"", "\"source\"");
    let flow = [("pod[0].edge[0].host[0]", "pod[3].edge[1].host[1]", 40 * 4_000)];
    let cores = |fabric: &str| {
        let record = agreed(&with(fabric, NDP, &list(&flow)));
        let up = record.ports.iter().filter(|port| port.node.starts_with("core"));
        let bytes: Vec<u64> =
            up.map(|port| port.tx_bytes.get()).filter(|bytes| *bytes > 40_000).collect();
        bytes.iter().map(|bytes| bytes / 4_064).collect::<Vec<u64>>()
    };
    assert_eq!(cores(&source), [10; 4]);
    assert_ne!(cores(FAT_TREE), [10; 4], "chance is not so even");
}

#[test]
fn the_shipped_incast_loses_no_message_and_times_out_nowhere() {
    let scenario = scenario(include_str!("../../../../scenarios/ndp.toml"));
    let record = run(&scenario, 1, Options::default()).record;
    assert!(record.flows.iter().all(|flow| flow.acked.is_some() && flow.timeouts == 0));
    let packets = |flow: &FlowRow| flow.size.get().div_ceil(scenario.transport.mss.get());
    let all: u64 = record.flows.iter().map(packets).sum();
    assert_eq!(record.totals.delivered_segments, all, "a trimmed header is no segment");
}

/// Twelve long messages, of which K may send at a time. Once what they sent unasked is through, at most a round trip's payload of each of them is on its way,
/// and a round trip holds one of these: the queue to the receiver has K - 1 and a packet each at most, and what a window has beyond a round trip. Each packet behind the first
/// window takes a grant, and a message an ACK.
#[test]
fn granted_data_queues_for_no_more_than_overcommitment() {
    let (window, packets, packet) = (15, 200, 4_064);
    let trip = 2 * (80 * packet + 1_000_000) + 2 * (80 * 64 + 1_000_000); // 14.33 packets
    let names: Vec<String> = (1..13).map(|i| format!("host[{i}]")).collect();
    let flows: Vec<_> =
        names.iter().map(|from| (from.as_str(), "host[0]", packets * 4_000)).collect();
    for k in [1, 2, 4, 7] {
        let levels =
            format!("{HOMA}window = \"{window} packets\"\nunscheduled_priorities = {}\n", 8 - k);
        let scenario = with(&star_of_eight_classes(), &levels, &list(&flows));
        let mut simulation = Simulation::new(&scenario, 1, Options::default()).unwrap();
        let mut queue = 0;
        for us in 80..900 {
            simulation.advance(Time::from_ps(us * 1_000_000), &Watch::default());
            let state = simulation.inspect();
            let down = |port: &&forebay_sim::PortState| port.node == 13 && port.peer == 0;
            queue = queue.max(state.ports.iter().find(down).unwrap().queue);
        }
        let record = simulation.finish().record;
        let most = k * window * packet - trip / 80 + k * packet;
        assert!((most - 6_000..=most).contains(&queue), "K = {k}: {queue} B of {most}");
        let receiver = record.ports.iter().find(|port| port.node == "host[0]").unwrap();
        assert_eq!(receiver.tx_packets, 12 * (packets - window) + 12, "K = {k}");
    }
}

/// Samples of those messages: K messages have grants out, and more where the last data of one is on its way; all that does not leave unasked waits for grants at first, and every grant is in some
/// interval. Payload comes in the class that its message's size, or its receiver, gives it.
#[test]
fn samples_show_overcommitment_and_classes_what_they_carry() {
    let (window, packets, k) = (15, 200, 3);
    let names: Vec<String> = (1..13).map(|i| format!("host[{i}]")).collect();
    let flows: Vec<_> =
        names.iter().map(|from| (from.as_str(), "host[0]", packets * 4_000)).collect();
    let levels =
        format!("{HOMA}window = \"{window} packets\"\nunscheduled_priorities = {}\n", 8 - k);
    let output = format!("{}[output]\nqueues = {{ every = \"1us\" }}\n", list(&flows));
    let record =
        run(&with(&star_of_eight_classes(), &levels, &output), 1, Options::default()).record;
    let values = |name: &str| {
        &record
            .series
            .iter()
            .find(|series| series.name == name)
            .unwrap_or_else(|| panic!("{name}"))
            .values
    };
    let most = |name: &str| values(name).iter().copied().fold(0.0, f64::max);
    let with_credit = values("host[0] flows with credit");
    let usual = with_credit.iter().filter(|n| **n == k as f64).count();
    assert!(usual > with_credit.len() / 2, "{k} in {usual} of {}", with_credit.len());
    let granted = 12 * (packets - window) * 4_000;
    let waiting = most("host[0] waiting for credit");
    assert!((0.9..=1.0).contains(&(waiting / granted as f64)), "{waiting} B of {granted}");
    let sent: u64 = record.credits.iter().map(|row| row.sent).sum();
    for name in ["credits sent", "credits used"] {
        let all = values(name).iter().sum::<f64>().round() as u64;
        assert_eq!(all, sent, "{name}");
    }
    let parts = record
        .class_arrivals
        .iter()
        .map(|row| (row.host, row.class, row.unscheduled.get(), row.scheduled.get()));
    assert!(parts.clone().all(|(host, class, unscheduled, scheduled)| {
        host == 0 && if u64::from(class) < k { unscheduled == 0 } else { scheduled == 0 }
    }));
    assert_eq!(parts.clone().map(|part| part.2).sum::<u64>(), 12 * window * 4_000);
    assert_eq!(parts.map(|part| part.3).sum::<u64>(), granted);
}

/// A long message waits for 3.4 ms behind shorter ones of its sender, longer than its receiver waits before it requests what it has credited. The sender is busy, so nothing is sent twice and
/// no more is granted than the message has beyond its first window.
#[test]
fn a_sender_that_serves_shorter_messages_is_busy() {
    let (window, packets) = (15, 2_000);
    let fabric = format!("{}[host]\nnic = \"srpt\"\n", star_of_eight_classes());
    let short: Vec<_> = (2..12).map(|i| (format!("host[{i}]"), 4_000_000)).collect();
    let short: Vec<_> = short.iter().map(|(to, size)| ("host[1]", to.as_str(), *size)).collect();
    let short = list(&short).replace("at = \"0s\"", "at = \"30us\"");
    let long = list(&[("host[1]", "host[0]", packets * 4_000)]);
    let transport = format!("{HOMA}window = \"{window} packets\"\n");
    let record = agreed(&with(&fabric, &transport, &format!("{long}{short}")));
    let long = record.flows.iter().find(|flow| flow.dst == 0).unwrap();
    assert!(long.fct().unwrap() > Span::from_ms(3), "{long:?}");
    assert!(record.flows.iter().all(|flow| (flow.retransmits, flow.timeouts) == (0, 0)));
    let grants = record.credits.iter().find(|row| row.flow == long.flow).unwrap().sent;
    assert_eq!(grants, packets - window);
}

/// One message at a time, the shortest, beside eleven shorter ones: a long message that came first has a twentieth of all grants with a share of 0.05, and without one
/// only those of the time before the others.
#[test]
fn the_oldest_message_is_not_starved() {
    let mut flows = vec![("host[1]".into(), "host[0]", 8_000_000)];
    flows.extend((2..13).map(|i| (format!("host[{i}]"), "host[0]", 4_000_000)));
    let flows: Vec<_> = flows.iter().map(|(from, to, size)| (from.as_str(), *to, *size)).collect();
    let grants = |share: &str| {
        let keys = format!("{HOMA}window = \"15 packets\"\npriorities = 2\n{share}");
        let mut scenario = with(&star_of_eight_classes(), &keys, &list(&flows));
        scenario.stop.time = Time::from_ps(2_000_000_000);
        let credits = agreed(&scenario).credits;
        let all: u64 = credits.iter().map(|row| row.sent).sum();
        (credits.iter().find(|row| row.flow == 0).unwrap().sent, all)
    };
    let (before, all) = grants("");
    assert!(before < 15 && all > 5_500, "{before} of {all}");
    let (oldest, all) = grants("params = { oldest_share = 0.05 }\n");
    assert!((oldest - before).abs_diff(all / 20) <= 2, "{oldest} of {all}, {before} before");
}

/// Queues by class add up to the port's, and explicit queues, where no packet is on the link early, have the same.
#[test]
fn queues_by_class_add_up() {
    let flows = ["host[1]", "host[2]", "host[3]"].map(|from| (from, "host[0]", 200_000));
    let output = format!("{}[output]\nqueues = {{ every = \"300ns\" }}\n", list(&flows));
    let scenario = with(&star_of_eight_classes(), HOMA, &output);
    let record = run(&scenario, 1, Options::default()).record;
    let by_class = || record.series.iter().filter(|one| one.quantity == Quantity::ClassQueue);
    let port = "tor->host[0]";
    let whole = record.series.iter().find(|one| one.name == format!("{port} queue")).unwrap();
    let classes: Vec<&Series> = by_class().filter(|one| one.name.starts_with(port)).collect();
    let busy = |one: &&&Series| one.values.iter().any(|queue| *queue > 4_100.0);
    assert!(classes.iter().filter(busy).count() >= 2, "several classes wait");
    for (i, queue) in whole.values.iter().enumerate() {
        assert_eq!(classes.iter().map(|one| one.values[i]).sum::<f64>(), *queue);
    }
    assert_eq!(twin::reference(&scenario, 1, true).unwrap().series, record.series);
}

/// What a flow without an end has still to send is no number of bytes; its pulls are.
#[test]
fn flows_without_an_end_are_sampled_too() {
    let long =
        "[[traffic]]\nkind = \"long\"\nfrom = [\"host[1]\", \"host[2]\"]\nto = \"host[0]\"\n";
    let output = format!("{long}[output]\nqueues = {{ every = \"1us\" }}\n");
    for (transport, waits) in [(NDP, true), (HOMA, false)] {
        let mut scenario = with(&star_of_eight_classes(), transport, &output);
        (scenario.stop.time, scenario.stop.flows) = (Time::from_ps(100_000_000), false);
        let record = run(&scenario, 1, Options::default()).record;
        let waiting = |series: &Series| series.quantity == Quantity::AwaitsCredit;
        assert_eq!(record.series.iter().any(waiting), waits);
        assert!(record.series.iter().any(|series| series.quantity == Quantity::Credited));
    }
}

/// Twelve senders of a round trip's payload each, and switches that drop what leaves unasked where 6 KB wait: the first round trip brings what the link
/// carries, and K; probes tell the rest, which leaves once more, without a timer of milliseconds.
#[test]
fn a_protected_incast_repairs_what_was_dropped_within_round_trips() {
    let names: Vec<String> = (1..13).map(|i| format!("host[{i}]")).collect();
    let flows: Vec<_> = names.iter().map(|from| (from.as_str(), "host[0]", 15 * 4_000)).collect();
    for law in [NDP.replace("ack_class = 1", "ack_class = 7"), format!("{HOMA}priorities = 1\n")] {
        let rule = "classes = 8\necn = [{ classes = [0], k = \"6KB\", not_ect = \"drop\", ect = \"pass\" }]";
        let star = STAR.replace("classes = 2", rule);
        let scenario = with(&star, &format!("{law}selective_drop = true\n"), &list(&flows));
        let record = agreed(&scenario);
        let down = |port: &&forebay_record::PortRow| port.node == "tor" && port.peer == "host[0]";
        let port = record.ports.iter().find(down).unwrap();
        assert_eq!(port.dropped_packets, port.dropped_unscheduled, "{law}");
        let kept = 12 * 15 - port.dropped_unscheduled;
        let again: u64 = record.flows.iter().map(|flow| u64::from(flow.retransmits)).sum();
        let last = record.flows.iter().map(|flow| flow.acked.unwrap().as_ps()).max().unwrap();
        assert!((15..=17).contains(&kept), "{law}: {kept} packets");
        assert_eq!(again, port.dropped_unscheduled, "{law}");
        let (wire, trip) = (180 * 325_120, 2 * (325_120 + 1_000_000) + 2 * (5_120 + 1_000_000));
        assert!((wire + trip..wire + 4 * trip).contains(&last), "{law}: {last} ps");
        assert!(record.flows.iter().all(|flow| flow.timeouts == 0), "{law}");
    }
}

/// One host sends to four others, and a second host to the last of these: the pulls of each receiver leave in turns, and what the first sender cannot
/// use of its pulls the second one gets. Published for the authors' simulator, 10 Gb/s and a first window of 23 packets: 2.51, 2.51, 2.50, 2.38 and 7.55 Gb/s.
///
/// That simulator of August 2017 has NICs that are first come first served, and spaces pulls by the 9,000 B of payload, while a packet has 9,064 B on the wire. The port to
/// the shared receiver then stays full and trims; packets to it wait there too, so that fewer of this flow's 23 wait in the NIC than of the others, and it gets less.
#[test]
fn an_outcast_beside_an_incast_is_as_published_where_pulls_outrun_the_link() {
    for pace in ["1.0071", "1"] {
        let keys = format!("params = {{ pace = {pace} }}\n");
        let rates = outcast(&keys, "[host]\nnic = \"push\"\n");
        for (rate, published) in rates.into_iter().zip([2.51, 2.51, 2.50, 2.38, 7.55]) {
            assert!((rate - published).abs() <= 0.03 * published, "{pace}: {rates:?} Gb/s");
        }
    }
}

/// With a NIC that takes flows in turns each of the first sender's gets a quarter of its link. Pulls at 0.99 of the link leave the second sender the rest of that.
#[test]
fn an_outcast_beside_an_incast_is_even_where_the_nic_takes_flows_in_turns() {
    let rates = outcast("", "");
    let link = 10.0 * 9_000.0 / 9_064.0;
    let rest = 0.99 * link - link / 4.0;
    for (rate, expected) in rates.into_iter().zip([link / 4.0; 4].into_iter().chain([rest])) {
        assert!((rate - expected).abs() <= 0.003 * expected, "{rates:?} Gb/s, not {expected}");
    }
}

/// Goodput of four flows of one host and of a second host's flow to the last of their receivers, in Gb/s.
fn outcast(keys: &str, host: &str) -> [f64; 5] {
    let star = STAR.replace("hosts = 13", "hosts = 6").replace("100Gbps", "10Gbps");
    let switch = "limits = [{ class = 0, size = \"8 packets\", over = { trim_to = \"64B\", class = 1 } }, { class = 1, size = \"72KB\" }]\n";
    let transport = NDP.replace("4000B", "9000B") + "window = \"23 packets\"\n" + keys;
    let long = |from: u32, to: u32| {
        format!("[[traffic]]\nkind = \"long\"\nfrom = \"host[{from}]\"\nto = \"host[{to}]\"\n")
    };
    let traffic: String = [long(0, 1), long(0, 2), long(0, 3), long(0, 4), long(5, 4)].concat();
    let scenario = with(&format!("{star}{switch}"), &format!("{host}{transport}"), &traffic);
    let mut simulation = Simulation::new(&scenario, 1, Options::default()).unwrap();
    let mut acked = |ms| {
        simulation.advance(Time::ZERO + Span::from_ms(ms), &Watch::default());
        let mut senders = simulation.inspect().senders;
        senders.sort_by_key(|sender| sender.flow);
        senders.iter().map(|sender| sender.acked).collect::<Vec<u64>>()
    };
    let (before, after) = (acked(5), acked(45));
    let mut rates = [0.0; 5];
    // Flows have their numbers by their starts, entries of the traffic theirs by the text.
    for (row, (before, after)) in
        simulation.finish().record.flows.iter().zip(before.iter().zip(&after))
    {
        rates[usize::from(row.traffic)] = (after - before) as f64 * 8.0 / 40e6;
    }
    rates
}

/// Homa beside DCQCN in one lossless class, which granted data shares. A packet of Homa that leaves unasked is in a class above and waits for the packet in transmission
/// alone; DCQCN reacts to marks, loses nothing, and fills the link: all of it ends within 1.8 times what the bytes take.
#[test]
fn homa_beside_dcqcn_keeps_short_messages_short_and_loses_nothing() {
    let lossless = "pause = { classes = [0] }\necn = [{ classes = [0], kmin = \"100KB\", kmax = \"400KB\", pmax = 0.2 }]\n";
    let fabric = star_of_eight_classes()
        .replace("buffer = \"none\"", "buffer = { size = \"16MB\", alpha = 1.0 }");
    let storage =
        "[transports.storage]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nclass = 0\nack_class = 6\n";
    let bulk = list(&[("host[1]", "host[0]", 4_000_000), ("host[2]", "host[0]", 4_000_000)]);
    let homa = "[[traffic]]\nkind = \"list\"\nflows = [{ from = \"host[3]\", to = \"host[0]\", size = \"1MB\", at = \"50us\" }, \
        { from = \"host[4]\", to = \"host[0]\", size = \"4000B\", at = \"60us\" }]\n";
    let traffic = format!("{bulk}transport = \"storage\"\n{homa}");
    let transports = format!("{HOMA}{storage}");
    let record = agreed(&with(&format!("{fabric}{lossless}"), &transports, &traffic));
    let short = record.flows.iter().find(|flow| flow.size.get() == 4_000).unwrap();
    let waits = short.fct().unwrap().as_ps() - short.ideal.as_ps();
    assert!(waits <= (4_064 + 24) * 80, "{waits} ps");
    assert!(record.flows.iter().all(|flow| flow.retransmits == 0 && flow.timeouts == 0));
    assert!(record.ports.iter().all(|port| port.dropped_packets == 0));
    assert!(record.ports.iter().any(|port| port.marked_packets > 0));
    let last = record.flows.iter().map(|flow| flow.fct().unwrap().as_ps()).max().unwrap();
    assert!(last <= 9_004_000 * 80 * 18 / 10, "{last} ps");
}

/// A NIC buffer of 100 KB before busy memory drops what eight senders bring, without a trace, and receivers request it after a silence: all messages end, and each
/// lost packet leaves again.
#[test]
fn messages_end_where_the_nic_of_their_receiver_drops() {
    let names: Vec<String> = (1..9).map(|i| format!("host[{i}]")).collect();
    let flows: Vec<_> = names.iter().map(|from| (from.as_str(), "host[0]", 1_000_000)).collect();
    let memory = "[[host.override]]\nwhere = \"host[0]\"\n[host.override.memory]\nnic_buffer = \"100KB\"\n\
        [[host.override.memory.antagonist]]\ncores = 4\n";
    let trim =
        "limits = [{ class = 0, size = \"8 packets\", over = { trim_to = \"64B\", class = 1 } }]\n";
    for (fabric, transport) in [(format!("{STAR}{trim}"), NDP), (star_of_eight_classes(), HOMA)] {
        let record =
            all_end(&with(&format!("{fabric}{memory}"), transport, &list(&flows)), transport);
        let trims: u64 = record.ports.iter().map(|port| port.trimmed_packets).sum();
        let again: u64 = record.flows.iter().map(|flow| u64::from(flow.retransmits)).sum();
        let dropped: u64 = record.memory.iter().map(|host| host.dropped).sum();
        assert!(dropped > 0, "{transport}");
        assert_eq!(again, dropped + trims, "{transport}");
    }
}

/// One of four uplinks of a rack has a tenth of the rate of the others. A sender that scores its paths takes that one in few rounds: a tenth as much is cut off there, and three flows come within 5 %
/// of what the four uplinks and the pulls of their receivers let through, where they take a third longer otherwise.
#[test]
fn a_sender_that_scores_paths_leaves_out_a_slow_uplink() {
    let text = "[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts_per_leaf = 4\nrouting = \"source\"\nhost_link = { rate = \"100Gbps\", delay = \"1us\" }\n\
                fabric_link = { rate = \"100Gbps\", delay = \"1us\" }\n[[fabric.override]]\nwhere = \"leaf[0]-spine[0]\"\nrate = \"10Gbps\"\n\
                [fabric.switch]\nclasses = 2\nreturn_to_sender = true\n\
                limits = [{ class = 0, size = \"8 packets\", over = { trim_to = \"64B\", class = 1 } }, { class = 1, size = \"64KB\" }]\n";
    let names: Vec<_> =
        (0..3).map(|i| (format!("leaf[0].host[{i}]"), format!("leaf[1].host[{i}]"))).collect();
    let flows: Vec<_> =
        names.iter().map(|(from, to)| (from.as_str(), to.as_str(), 20_000_000)).collect();
    let of = |scores: bool| {
        let params = format!("params = {{ path_penalty = {scores} }}\n");
        let scenario = with(text, &format!("{NDP}{params}"), &list(&flows));
        let record =
            if scores { agreed(&scenario) } else { run(&scenario, 1, Options::default()).record };
        let slow =
            record.ports.iter().find(|port| port.node == "leaf[0]" && port.peer == "spine[0]");
        let last = record.flows.iter().map(|flow| flow.fct().expect("all end").as_secs_f64() * 1e6);
        assert!(record.flows.iter().all(|flow| flow.timeouts == 0));
        (slow.expect("a port").trimmed_packets, last.fold(0.0, f64::max))
    };
    let (alike, scored) = (of(false), of(true));
    assert!(alike.0 > 10 * scored.0 && scored.0 > 100, "{alike:?} and {scored:?}");
    // 5,000 packets of 4,064 B at 0.99 of 100 Gb/s.
    let pulled = 5_000.0 * 0.32512 / 0.99;
    assert!(scored.1 < 1.05 * pulled && alike.1 > 1.25 * pulled, "{alike:?} and {scored:?} us");
}

/// 4:1 uplinks. With the windows of messages shrinking for what was cut off there, it is a tenth as much, and a packet is sent 1.1 times and not 2.6 times; all messages end no later in the mean.
#[test]
fn cuts_on_the_way_up_make_windows_smaller() {
    let core = include_str!("../../../../scenarios/ndp-oversubscribed.toml");
    let of = |backs_off: &str| {
        let set = [("transport.params.core_backoff", backs_off)];
        let loaded = forebay_scenario::text_with("shipped", core, &set);
        let scenario = loaded.unwrap_or_else(|e| panic!("{e}")).scenario;
        let record = if backs_off == "true" {
            agreed(&scenario)
        } else {
            run(&scenario, 1, Options::default()).record
        };
        let again: u32 = record.flows.iter().map(|flow| flow.retransmits).sum();
        let fcts = record.flows.iter().map(|flow| flow.fct().expect("all end").as_secs_f64() * 1e6);
        assert!(record.flows.iter().all(|flow| flow.timeouts == 0));
        (f64::from(again) / 8_000.0, fcts.sum::<f64>() / 32.0)
    };
    let (off, on) = (of("false"), of("true"));
    assert!((1.5..1.7).contains(&off.0) && (0.08..0.15).contains(&on.0), "{off:?} and {on:?}");
    assert!(on.1 < off.1, "{off:?} and {on:?} us");
}

/// What the heads of the shipped scenarios say.
#[test]
fn the_shipped_scenarios_teach_what_they_say() {
    let shipped = |text: &str, set: &[(&str, &str)]| {
        let loaded = forebay_scenario::text_with("shipped", text, set);
        let loaded = loaded.unwrap_or_else(|e| panic!("{e}"));
        run(&loaded.scenario, 1, Options::default()).record
    };
    let fct = |record: &RunRecord| {
        let mut ends: Vec<f64> =
            record.flows.iter().filter_map(|f| Some(f.fct()?.as_secs_f64() * 1e6)).collect();
        ends.sort_by(f64::total_cmp);
        ends
    };
    let incast = shipped(include_str!("../../../../scenarios/ndp-incast.toml"), &[]);
    let ends = fct(&incast);
    let last = ends[ends.len() - 1];
    assert!((3_280.0..3_300.0).contains(&last) && ends[0] > 0.97 * last, "{} to {last}", ends[0]);
    assert!(incast.flows.iter().all(|flow| flow.timeouts == 0 && flow.acked.is_some()));

    let core = include_str!("../../../../scenarios/ndp-oversubscribed.toml");
    let cut = |spines: &str| {
        let record = shipped(core, &[("fabric.spines", spines)]);
        let trims = record
            .ports
            .iter()
            .filter(|port| port.node.starts_with("leaf") && port.peer.starts_with("spine"));
        trims.map(|port| port.trimmed_packets).sum::<u64>()
    };
    let trims = (cut("2"), cut("8"));
    assert!(trims.0 > 50 * trims.1.max(1), "{trims:?}");

    let homa = include_str!("../../../../scenarios/homa-priorities.toml");
    let short = |levels: &str| {
        let record = shipped(homa, &[("transport.priorities", levels)]);
        let short = record.flows.iter().filter(|flow| flow.size.get() <= 10_000);
        let mut slowdowns: Vec<f64> = short.filter_map(|flow| flow.slowdown()).collect();
        slowdowns.sort_by(f64::total_cmp);
        slowdowns[slowdowns.len() * 99 / 100]
    };
    let (one, eight) = (short("1"), short("8"));
    assert!(one > 3.0 * eight, "{one} and {eight}");

    let mixed = shipped(include_str!("../../../../scenarios/homa-beside-dcqcn.toml"), &[]);
    let mean = |traffic: u16| {
        let of = mixed.flows.iter().filter(|flow| flow.traffic == traffic);
        let slowdowns: Vec<f64> = of.map(|flow| flow.slowdown().expect("all end")).collect();
        slowdowns.iter().sum::<f64>() / slowdowns.len() as f64
    };
    assert!(mean(0) < 2.0 && mean(1) > 10.0 * mean(0), "{} and {}", mean(0), mean(1));
    assert_eq!(mixed.ports.iter().map(|port| port.dropped_packets).sum::<u64>(), 0);

    let rpcs = shipped(include_str!("../../../../scenarios/homa-rpc.toml"), &[]).rpcs;
    let mut took: Vec<u64> =
        rpcs.iter().filter_map(|rpc| rpc.latency()).map(|took| took.as_ps()).collect();
    took.sort_unstable();
    assert!((5_400_000..5_600_000).contains(&took[took.len() / 2]), "{}", took[took.len() / 2]);

    let lot = include_str!("../../../../scenarios/expresspass-parking-lot.toml");
    // A seed is worth 2 % (a standard deviation of 0.8 %), so sixteen of them are taken.
    let carried = |set: &[(&str, &str)]| {
        let loaded = forebay_scenario::text_with("shipped.toml", lot, set).unwrap();
        let of_seed = |seed| {
            let record = run(&loaded.scenario, seed, Options::default()).record;
            assert!(record.ports.iter().all(|port| port.dropped_packets == 0));
            let last = record.ports.iter().find(|port| port.node == "s2" && port.peer == "s3");
            last.unwrap().tx_packets as f64 / (770_653.0 * 0.02)
        };
        (1..=16).map(of_seed).sum::<f64>() / 16.0
    };
    let naive = carried(&[("transport.params.alpha", "1"), ("transport.params.target", "1")]);
    let fed_back = carried(&[]);
    assert!((0.925..0.945).contains(&fed_back), "{fed_back}");
    assert!((0.88..0.90).contains(&naive), "{naive}");
}

/// Two flows into a host whose antagonists leave its NIC 6.9 Gb/s of a link of 100.
#[test]
fn a_slow_host_paces_pulls_and_grants_but_not_credits() {
    let ran = |law: &str, routing: &str, switch: &str| {
        let fabric = format!(
            "kind = \"star\"\nhosts = 3\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\nwire_overhead = \"24B\"\nrouting = \"{routing}\"\n\
             [fabric.switch]\n{switch}\
             [[host.override]]\nwhere = \"host[2]\"\n[host.override.memory]\n[[host.override.memory.antagonist]]\ncores = 24\n"
        );
        let flows =
            list(&[("host[0]", "host[2]", 200_000_000), ("host[1]", "host[2]", 200_000_000)]);
        let text = format!(
            "version = 1\nname = \"slow\"\nseeds = [1]\nstop = {{ time = \"10ms\" }}\n[fabric]\n{fabric}\
             [transport]\nkind = \"receiver-driven\"\nlaw = \"{law}\"\n{flows}"
        );
        let record = run(&scenario(&text), 1, Options::default()).record;
        let gbps = record.totals.delivered_bytes as f64 * 8.0 / record.end.as_secs_f64() / 1e9;
        (gbps, record.memory.iter().map(|row| row.dropped_in_all).sum::<u64>())
    };
    let trim = "classes = 2\nlimits = [{ class = 0, size = \"8 packets\", over = { trim_to = \"64B\", class = 1 } }]\n";
    for (law, switch) in [("ndp", trim), ("homa", "classes = 8\n")] {
        let (gbps, dropped) = ran(law, "spray", switch);
        assert!(
            (6.0..7.5).contains(&gbps) && dropped == 0,
            "{law}: {gbps} Gb/s, {dropped} dropped"
        );
    }
    let metered = "classes = 2\ncredits = { class = 1, share = \"84/1622\" }\n";
    let (gbps, dropped) = ran("expresspass", "ecmp-symmetric", metered);
    assert!(gbps < 4.0 && dropped > 1_000, "expresspass: {gbps} Gb/s, {dropped} dropped");
}
