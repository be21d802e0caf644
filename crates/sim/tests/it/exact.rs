//! Exactness, checked from outside: a lone flow on an idle path, to the picosecond.

use crate::common::{run, scenario};
use forebay_record::PortRow;
use forebay_sim::{Options, Simulation, Watch, twin};
use forebay_units::{Span, Time};

const HEAD: &str = r#"
version = 1
name = "lone flow"
seeds = [1]
stop = { time = "100ms" }
[transport]
kind = "tcp"
law = "reno"
mss = "4000B"
header = "64B"
ack_size = "64B"
initial_window = "1000 packets"
delayed_ack = false
"#;

/// `(n-1) tx + h (tx + d) + h (tx_ack + d)`, for n equal packets over h equal links at 100 Gb/s and 1 us.
fn expected_ps(n: u64, h: u64) -> u64 {
    let (tx, tx_ack, d) = (4_064 * 80, 64 * 80, 1_000_000);
    (n - 1) * tx + h * (tx + d) + h * (tx_ack + d)
}

fn lone_flow(fabric: &str, from: &str, to: &str, n: u64, threads: usize) -> (u64, u64, u64) {
    let size = n * 4_000;
    let traffic = format!(
        "[[traffic]]\nkind = \"list\"\nflows = [{{ from = \"{from}\", to = \"{to}\", size = \"{size}B\", at = \"0s\" }}]\n"
    );
    let scenario = scenario(&format!("{HEAD}{fabric}{traffic}"));
    let outcome = run(&scenario, 1, Options { threads, ..Options::default() });
    let flow = outcome.record.flows[0];
    assert_eq!(flow.retransmits, 0);
    (flow.acked.unwrap().as_ps(), flow.delivered.unwrap().as_ps(), flow.ideal.as_ps())
}

const LINKS: &str = r#"
host_link = { rate = "100Gbps", delay = "1us" }
"#;

const FABRIC_LINK: &str = r#"fabric_link = { rate = "100Gbps", delay = "1us" }
"#;

#[test]
fn two_four_and_six_links_finish_to_the_picosecond() {
    let star = format!("[fabric]\nkind = \"star\"\nhosts = 2{LINKS}");
    let leaf_spine = format!(
        "[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1{LINKS}{FABRIC_LINK}"
    );
    let fat_tree = format!("[fabric]\nkind = \"fat-tree\"\ntiers = 3\nk = 4{LINKS}{FABRIC_LINK}");
    let paths = [
        (star, "host[0]", "host[1]", 2),
        (leaf_spine, "leaf[0].host[0]", "leaf[1].host[0]", 4),
        (fat_tree, "pod[0].edge[0].host[0]", "pod[3].edge[1].host[1]", 6),
    ];
    for (fabric, from, to, h) in paths {
        for n in [1, 2, 7, 100, 1_000] {
            for threads in [1, 2] {
                let (acked, delivered, ideal) = lone_flow(&fabric, from, to, n, threads);
                assert_eq!(acked, expected_ps(n, h), "{n} packets over {h} links");
                assert_eq!(delivered, ideal, "the ideal FCT is what an idle fabric gives");
                assert_eq!(delivered, expected_ps(n, h) - h * (64 * 80 + 1_000_000));
            }
        }
    }
}

/// Of 24 B of overhead, 8 B of preamble and 4 B of FCS delay the frame itself, and 12 B of gap the next frame alone.
#[test]
fn a_frame_is_complete_before_the_gap_behind_it() {
    let (slot, frame, ack) = ((4_064 + 24) * 80, (4_064 + 12) * 80, (64 + 12) * 80);
    for (kind, h) in [("star\"\nhosts = 2", 2), ("fat-tree\"\ntiers = 3\nk = 4", 6)] {
        let inner = if h == 6 { FABRIC_LINK } else { "" };
        let fabric = format!("[fabric]\nkind = \"{kind}\nwire_overhead = \"24B\"{LINKS}{inner}");
        let (from, to) = match h {
            6 => ("pod[0].edge[0].host[0]", "pod[3].edge[1].host[1]"),
            _ => ("host[0]", "host[1]"),
        };
        for n in [1, 2, 100] {
            let (acked, delivered, ideal) = lone_flow(&fabric, from, to, n, 1);
            let there = (n - 1) * slot + h * (frame + 1_000_000);
            assert_eq!((delivered, ideal), (there, there), "{n} packets over {h} links");
            assert_eq!(acked, there + h * (ack + 1_000_000));
        }
    }
    // Too little for a gap: all of it delays the frame. And a cable that is too short for a gap takes half of its delay.
    let star = |overhead: u64, delay: u64| {
        let fabric = format!(
            "[fabric]\nkind = \"star\"\nhosts = 2\nwire_overhead = \"{overhead}B\"\nhost_link = {{ rate = \"100Gbps\", delay = \"{delay}ps\" }}\n"
        );
        lone_flow(&fabric, "host[0]", "host[1]", 1, 1).1
    };
    assert_eq!(star(19, 1_000_000), 2 * ((4_064 + 19) * 80 + 1_000_000));
    assert_eq!(star(20, 1_000_000), 2 * ((4_064 + 8) * 80 + 1_000_000));
    assert_eq!(star(24, 2 * 960), 2 * ((4_064 + 12) * 80 + 2 * 960));
    assert_eq!(star(24, 1_000), 2 * ((4_064 + 24) * 80 + 500));
}

#[test]
fn the_ideal_counts_a_short_last_packet_and_a_slow_link() {
    let slow = "[fabric]\nkind = \"dumbbell\"\nleft = 1\nright = 1\nhost_link = { rate = \"100Gbps\", delay = \"300ns\" }\n\
                bottleneck = { rate = \"10Gbps\", delay = \"20us\" }\n";
    for bytes in [1u64, 3_999, 4_000, 4_001, 123_456] {
        let traffic = format!(
            "[[traffic]]\nkind = \"list\"\nflows = [{{ from = \"left.host[0]\", to = \"right.host[0]\", size = \"{bytes}B\", at = \"0s\" }}]\n"
        );
        let flow = run(&scenario(&format!("{HEAD}{slow}{traffic}")), 1, Options::default())
            .record
            .flows[0];
        assert_eq!(flow.delivered.unwrap().as_ps(), flow.ideal.as_ps(), "{bytes} bytes");
    }
}

/// Two spines, of which the first is reached at 10 Gb/s and the second at 30. A flow on one path cannot be faster than the second one allows, wherever
/// it goes itself; packets that take both together cannot be faster than 40 Gb/s.
#[test]
fn the_ideal_is_what_all_paths_of_a_flow_can_give_it() {
    let (tx, d, packet) = (4_064 * 80, 1_000_000, 4_064);
    let fabric = |routing: &str| {
        format!(
            "[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 8\nrouting = \"{routing}\"{LINKS}{FABRIC_LINK}\
             [[fabric.override]]\nwhere = \"leaf[0]-spine[0]\"\nrate = \"10Gbps\"\n[[fabric.override]]\nwhere = \"leaf[0]-spine[1]\"\nrate = \"30Gbps\"\n"
        )
    };
    let flows = |n: u64, of: u64| {
        // So far apart that each is alone.
        let one = |i: u64| {
            format!(
                "{{ from = \"leaf[0].host[{i}]\", to = \"leaf[1].host[{i}]\", size = \"{}B\", at = \"{}us\" }}",
                n * 4_000,
                i * 5_000
            )
        };
        let flows: Vec<String> = (0..of).map(one).collect();
        format!("[[traffic]]\nkind = \"list\"\nflows = [{}]\n", flows.join(", "))
    };
    let of = |routing: &str, head: &str, n: u64| {
        run(&scenario(&format!("{head}{}{}", fabric(routing), flows(n, 8))), 1, Options::default())
            .record
    };
    for n in [1, 2, 500] {
        let third = |rest: u64| 4 * d + 3 * tx + n * packet * 800 / 3 + rest;
        let hashed = of("ecmp", HEAD, n);
        let mut slowdowns: Vec<f64> =
            hashed.flows.iter().filter_map(|flow| flow.slowdown()).collect();
        assert!(hashed.flows.iter().all(|flow| flow.ideal.as_ps() == third(0)), "{n} packets");
        slowdowns.sort_by(f64::total_cmp);
        assert_eq!(slowdowns[0], 1.0, "a flow on the faster path");
        assert!((1.2..3.1).contains(&slowdowns[7]) && slowdowns.len() == 8, "{slowdowns:?}");
        let together = (4 * d + 3 * tx + n * packet * 200).max(4 * d + 3 * tx + packet * 800 / 3);
        let messages = HEAD
            .replace("tcp\"\nlaw = \"reno\"", "receiver-driven\"\nlaw = \"homa\"\npriorities = 1");
        let messages = messages.replace("delayed_ack = false\n", "");
        let messages = messages.replace("initial_window", "window");
        for routing in ["spray", "source"] {
            for flow in of(routing, &messages, n).flows {
                assert_eq!(flow.ideal.as_ps(), together, "{n} packets");
                let slowdown = flow.slowdown().expect("it ends");
                // Packets take both alike, so the slower one has half of them.
                assert!((1.0..2.3).contains(&slowdown), "{n} packets: {slowdown}");
            }
        }
    }
}

/// Four uplinks of 40 Gb/s carry 100 Gb/s together.
#[test]
fn a_sprayed_flow_over_narrow_uplinks_is_as_fast_as_its_receivers_link() {
    let narrow = FABRIC_LINK.replace("100Gbps", "40Gbps");
    let text = format!(
        "{}[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts_per_leaf = 1\nrouting = \"source\"{LINKS}{narrow}\
         [[traffic]]\nkind = \"list\"\nflows = [{{ from = \"leaf[0].host[0]\", to = \"leaf[1].host[0]\", size = \"4MB\", at = \"0s\" }}]\n",
        HEAD.replace("tcp\"\nlaw = \"reno\"", "receiver-driven\"\nlaw = \"homa\"\npriorities = 1")
            .replace("delayed_ack = false\n", "")
            .replace("initial_window", "window")
    );
    let flow = run(&scenario(&text), 1, Options::default()).record.flows[0];
    let (tx, narrow) = (4_064 * 80, 4_064 * 200);
    assert_eq!(flow.ideal.as_ps(), 4_000_000 + tx + 2 * narrow + 1_000 * tx);
    let slowdown = flow.slowdown().expect("it ends");
    assert!((1.0..1.02).contains(&slowdown), "{slowdown}");
}

/// The end of a run is a multiple of the grain, and no step in between, and no fault, moves it.
#[test]
fn an_early_stop_is_a_multiple_of_the_grain_whatever_comes_before_it() {
    let star = format!("[fabric]\nkind = \"star\"\nhosts = 3{LINKS}");
    let traffic = "[[traffic]]\nkind = \"list\"\nflows = [{ from = \"host[0]\", to = \"host[1]\", size = \"4000B\" }]\n";
    let fault = "[[fault]]\nat = \"20us\"\nlink = \"host[2]-tor\"\nrate = \"10Gbps\"\n";
    let head = HEAD.replace("time = \"100ms\"", "time = \"100ms\", grain = \"1ms\"");
    for fault in ["", fault] {
        let scenario = scenario(&format!("{head}{star}{traffic}{fault}"));
        let whole = run(&scenario, 1, Options::default()).record;
        assert_eq!(whole.end, Time::ZERO + Span::from_ms(1));
        let mut stepped = Simulation::new(&scenario, 1, Options::default()).unwrap();
        let mut at = Time::ZERO;
        let mut over = false;
        while !over {
            at += Span::from_us(7);
            over = stepped.advance(at, &Watch::default());
        }
        assert_eq!(stepped.finish().record.end, whole.end);
        assert_eq!(twin::reference(&scenario, 1, false).unwrap().end, whole.end);
    }
}

/// A port that transmits all the time is busy all the time, wherever the run ends: a packet under way counts for the part that has left,
/// with its share of wire overhead.
#[test]
fn a_port_that_never_rests_is_busy_to_the_picosecond() {
    let fabric = r#"[fabric]
kind = "star"
hosts = 2
host_link = { rate = "1Gbps", delay = "1us" }
wire_overhead = "24B"
[[traffic]]
kind = "list"
flows = [{ from = "host[0]", to = "host[1]", size = "4MB", at = "0s" }]
"#;
    for end_us in [5, 100, 333, 1_000] {
        let head = HEAD.replace("100ms", &format!("{end_us}us"));
        let scenario = scenario(&format!("{head}{fabric}"));
        let record = run(&scenario, 1, Options::default()).record;
        assert_eq!(record.end, Time::ZERO + Span::from_us(end_us));
        let sends = |port: &&PortRow| port.node == "host[0]";
        let port = record.ports.iter().find(sends).unwrap();
        assert_eq!(port.busy, Some(Span::from_us(end_us)));
        // 4,064 B and 24 B take 32.704 us: the last packet has begun and is not through.
        assert_eq!(port.tx_packets, (end_us * 1_000).div_ceil(32_704));
        // The switch has the first of it 32.608 us and a delay later, without the gap, and sends until the end.
        let sends = |port: &&PortRow| port.node == "tor" && port.peer == "host[1]";
        let port = record.ports.iter().find(sends).unwrap();
        let late = Span::from_ps(32_608_000 + 1_000_000);
        assert_eq!(port.busy, Some(Span::from_us(end_us).saturating_sub(late)));
    }
}
