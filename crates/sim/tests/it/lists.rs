//! Listed flows that start each other, and flows that take paths of their own.

use crate::common::{run, scenario};
use forebay_record::FlowRow;
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, twin};
use forebay_units::{Span, Time};

fn with(fabric: &str, rest: &str) -> Scenario {
    scenario(&format!(
        "version = 1\nname = \"t\"\nseeds = [1]\nstop = {{ time = \"20ms\" }}\n{fabric}\n\
         [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\nmss = \"4000B\"\nrto_min = \"1ms\"\n{rest}"
    ))
}

const STAR: &str = r#"[fabric]
kind = "star"
hosts = 6
host_link = { rate = "100Gbps", delay = "1us" }"#;

/// `leaf[0..2]` of two hosts under three spines.
const LEAVES: &str = r#"[fabric]
kind = "leaf-spine"
leaves = 2
spines = 3
hosts_per_leaf = 2
host_link = { rate = "100Gbps", delay = "1us" }"#;

/// The rows, after every way to run the scenario has given the same digest.
fn rows(scenario: &Scenario) -> Vec<FlowRow> {
    let expected = run(scenario, 1, Options::default()).record;
    for threads in [1, 2, 4] {
        let other = run(scenario, 1, Options { threads, ..Options::default() }).record;
        assert_eq!(other.digest, expected.digest, "{threads} threads");
        assert_eq!(other.flows, expected.flows);
    }
    for explicit_ports in [false, true] {
        let other = twin::reference(scenario, 1, explicit_ports).unwrap();
        assert_eq!(other.digest, expected.digest, "reference engine, {explicit_ports}");
        assert_eq!(other.flows, expected.flows);
    }
    expected.flows
}

fn delivered(rows: &[FlowRow], flow: usize) -> Time {
    rows[flow].delivered.expect("it had the time")
}

#[test]
fn a_triggered_flow_starts_the_stated_delay_after_the_delivery() {
    let chain = with(
        STAR,
        r#"[[traffic]]
kind = "list"
control_delay = "3us"
flows = [
    { from = "host[0]", to = "host[1]", size = "100KB", at = "5us", fires = "one" },
    { from = "host[1]", to = "host[2]", size = "10KB", after = "one", fires = "two" },
    { from = "host[4]", to = "host[0]", size = "10KB", after = "two" },
]"#,
    );
    let rows = rows(&chain);
    assert_eq!(rows[0].start, Time::ZERO + Span::from_us(5));
    assert_eq!(rows[1].start, delivered(&rows, 0) + Span::from_us(3));
    assert_eq!(rows[2].start, delivered(&rows, 1) + Span::from_us(3));
}

#[test]
fn a_barrier_over_several_receivers_waits_for_the_last_of_them() {
    let barrier = with(
        STAR,
        r#"[[traffic]]
kind = "list"
control_delay = "3us"
flows = [
    { from = "host[0]", to = "host[1]", size = "1MB", fires = "all" },
    { from = "host[1]", to = "host[2]", size = "10KB", fires = "all" },
    { from = "host[2]", to = "host[3]", size = "2MB", fires = ["all", "last"] },
    { from = "host[2]", to = "host[4]", size = "10KB", fires = "all" },
    { from = "host[3]", to = "host[0]", size = "10KB", after = "all" },
    { from = "host[5]", to = "host[0]", size = "10KB", after = "all" },
    { from = "host[4]", to = "host[0]", size = "10KB", after = "last" },
]"#,
    );
    let rows = rows(&barrier);
    let last = (0..4).map(|flow| delivered(&rows, flow)).max().unwrap();
    assert_eq!(last, delivered(&rows, 2));
    for flow in [4, 5, 6] {
        assert_eq!(rows[flow].start, last + Span::from_us(3), "flow {flow}");
    }
}

#[test]
fn triggers_of_different_delays_may_share_links() {
    let list = |delay: &str, at: &str| {
        format!(
            r#"[[traffic]]
kind = "list"
control_delay = "{delay}"
flows = [
    {{ from = "host[0]", to = "host[1]", size = "50KB", at = "{at}", fires = "x" }},
    {{ from = "host[3]", to = "host[2]", size = "70KB", at = "{at}", fires = "x" }},
    {{ from = "host[4]", to = "host[5]", size = "10KB", after = "x" }},
]
"#
        )
    };
    let both = with(STAR, &format!("{}{}", list("2us", "0s"), list("9us", "1us")));
    let rows = rows(&both);
    for (entry, delay) in [(0, Span::from_us(2)), (1, Span::from_us(9))] {
        let of = |row: &&FlowRow| row.traffic == entry;
        let (waits, fire): (Vec<&FlowRow>, Vec<&FlowRow>) =
            rows.iter().filter(of).partition(|row| row.src == 4);
        let last = fire.iter().filter_map(|row| row.delivered).max().unwrap();
        assert_eq!(waits[0].start, last + delay, "entry {entry}");
    }
}

#[test]
fn a_list_waits_for_others_and_computes_before_it_sends() {
    let both = with(
        STAR,
        r#"[[traffic]]
kind = "list"
flows = [
    { from = "host[0]", to = "host[1]", size = "50KB", fires = ["loaded", "own"] },
    { from = "host[4]", to = "host[5]", size = "10KB", after = "own" },
]
[[traffic]]
kind = "list"
flows = [{ from = "host[2]", to = "host[3]", size = "900KB", fires = ["loaded", "own"] }]
[[traffic]]
kind = "list"
control_delay = "2us"
flows = [{ from = "host[1]", to = "host[0]", size = "10KB", after = "loaded", compute = "12345678ps" }]"#,
    );
    let rows = rows(&both);
    let of = |src: u32| rows.iter().find(|row| row.src == src).unwrap();
    let last = [0, 2].map(|src| of(src).delivered.unwrap()).into_iter().max().unwrap();
    assert_eq!(last, of(2).delivered.unwrap());
    assert_eq!(of(1).start, last + Span::from_us(2) + Span::from_ps(12_345_678));
    // A trigger of the entry itself goes before those of others.
    assert_eq!(of(4).start, of(0).delivered.unwrap() + Span::from_us(1));
    let record = run(&both, 1, Options::default()).record;
    assert_eq!(record.waited, [(of(4).flow, of(0).flow), (of(1).flow, of(2).flow)]);
}

/// Packets that each spine sent, by spine: data down one way, ACKs down the other.
fn through(scenario: &Scenario, leaf: &str) -> Vec<u64> {
    let record = run(scenario, 1, Options::default()).record;
    (0..3)
        .map(|spine| {
            let name = format!("spine[{spine}]");
            let port = record.ports.iter().find(|p| p.node == name && p.peer == leaf);
            port.expect("every spine has one").tx_packets
        })
        .collect()
}

const FLOW: &str = r#"[[traffic]]
kind = "list"
flows = [{ from = "leaf[0].host[0]", to = "leaf[1].host[1]", size = "400KB" }]"#;

#[test]
fn packets_go_where_their_path_says_both_ways() {
    for (data, ack) in [(0, 2), (1, 1), (2, 0)] {
        let paths = format!(
            "{LEAVES}\npaths = [{{ flow = 0, data = [\"leaf[0]\", \"spine[{data}]\", \"leaf[1]\"], \
             ack = [\"leaf[1]\", \"spine[{ack}]\", \"leaf[0]\"] }}]"
        );
        let scenario = with(&paths, FLOW);
        rows(&scenario);
        let (down, back) = (through(&scenario, "leaf[1]"), through(&scenario, "leaf[0]"));
        for spine in 0..3 {
            assert_eq!(down[spine] > 0, spine == data, "data of {data} at {spine}: {down:?}");
            assert_eq!(back[spine] > 0, spine == ack, "ACKs of {ack} at {spine}: {back:?}");
        }
    }
}

#[test]
fn a_path_over_a_dead_cable_is_left_out_when_routes_are_made_anew() {
    let paths = format!(
        "{LEAVES}\nreroute_after = \"10us\"\n\
         paths = [{{ flow = 0, data = [\"leaf[0]\", \"spine[1]\", \"leaf[1]\"] }}]"
    );
    let fault = "[[fault]]\nat = \"20us\"\nlink = \"leaf[0]-spine[1]\"\n";
    let scenario = with(&paths, &format!("{FLOW}\n{fault}"));
    let rows = rows(&scenario);
    assert!(rows[0].delivered.is_some(), "it went another way");
    let down = through(&scenario, "leaf[1]");
    assert!(down[0] + down[2] > 0, "{down:?}");
}

/// All flows of a fabric choose as their transport does, and a fabric where that is the rule of all is no other.
#[test]
fn a_transport_has_a_routing_of_its_own() {
    let traffic = "\n[[traffic]]\nkind = \"all-to-all\"\nsize = \"300KB\"\n";
    for routing in ["ecmp-symmetric", "spray", "ecmp-murmur3"] {
        let own = with(LEAVES, &format!("routing = \"{routing}\"{traffic}"));
        let of_fabric = with(&format!("{LEAVES}\nrouting = \"{routing}\""), traffic);
        let digest = |scenario| run(scenario, 1, Options::default()).record.digest;
        assert_eq!(rows(&own).len(), 12);
        assert_eq!(digest(&own), digest(&of_fabric), "{routing}");
        assert_ne!(digest(&own), digest(&with(LEAVES, traffic)), "{routing} is not ecmp");
    }
}

/// Two flows between the same leaves: one is sprayed over all spines, the other keeps its path.
#[test]
fn flows_of_one_fabric_may_be_routed_differently() {
    let both = with(
        LEAVES,
        r#"[transports.sprayed]
kind = "tcp"
law = "dctcp"
mss = "4000B"
routing = "spray"
[[traffic]]
kind = "list"
transport = "sprayed"
flows = [{ from = "leaf[0].host[0]", to = "leaf[1].host[0]", size = "1MB", at = "0us" }]
[[traffic]]
kind = "list"
flows = [{ from = "leaf[0].host[1]", to = "leaf[1].host[1]", size = "100MB", at = "1ms" }]"#,
    );
    assert_eq!(rows(&both).len(), 2);
    let by = |us| {
        let mut one = both.clone();
        one.stop.time = Time::ZERO + Span::from_us(us);
        through(&one, "leaf[1]")
    };
    let (first, both) = (by(900), by(5_000));
    assert!(first.iter().all(|packets| *packets > 50), "{first:?}");
    let more = first.iter().zip(&both).filter(|(first, both)| **both > **first);
    assert_eq!(more.count(), 1, "{first:?} {both:?}");
}

/// Worked out by hand from the description of the hash (`forebay-net`, `murmur3.rs`) with another implementation of
/// murmur3-32: host 0 is 11.0.0.1, host 3 is 11.0.3.1, ports 10000 and 100, the leaf of the sender is number 4, that of the
/// receiver 5, and both have three spines to choose from.
#[test]
fn the_hash_of_the_public_simulator_chooses_as_it_does_there() {
    let data = murmur3([0x0b00_0001, 0x0b00_0301, 10_000 | 100 << 16], 4) % 3;
    let ack = murmur3([0x0b00_0301, 0x0b00_0001, 100 | 10_000 << 16], 5) % 3;
    assert!(data != 1 || ack != 1, "one of them goes another way if the list is turned round");
    for (order, mirrored) in [("", false), ("next_hops = \"descending\"", true)] {
        let scenario = with(&format!("{LEAVES}\nrouting = \"ecmp-murmur3\"\n{order}"), FLOW);
        rows(&scenario);
        let (down, back) = (through(&scenario, "leaf[1]"), through(&scenario, "leaf[0]"));
        for spine in 0..3 {
            let there = if mirrored { 2 - spine } else { spine };
            assert_eq!(down[spine as usize] > 0, there == data, "{order} {down:?}");
            assert_eq!(back[spine as usize] > 0, there == ack, "{order} {back:?}");
        }
    }
}

fn murmur3(words: [u32; 3], seed: u32) -> u32 {
    let mut h = seed;
    for word in words {
        h ^= word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        h = h.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    h ^= 12;
    h ^= h >> 16;
    h = h.wrapping_mul(0x85eb_ca6b);
    h ^= h >> 13;
    h = h.wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

/// A lone flow of n packets at 25 Gb/s: with a clock of whole nanoseconds each of 4,052 B takes 1,296 ns, not 1,296.64.
#[test]
fn a_clock_of_nanoseconds_cuts_each_transmission() {
    let flow = "[[traffic]]\nkind = \"list\"\nflows = [{ from = \"host[0]\", to = \"host[1]\", size = \"8000B\" }]";
    for (clock, each) in [("exact", 1_296_640), ("truncate-ns", 1_296_000)] {
        let star = STAR.replace("100Gbps", "25Gbps");
        let scenario = with(&format!("{star}\nclock = \"{clock}\""), flow);
        let rows = rows(&scenario);
        let expected = Time::from_ps(3 * each) + Span::from_us(2);
        assert_eq!(delivered(&rows, 0), expected, "{clock}");
    }
}
