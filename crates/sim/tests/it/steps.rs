//! Steps of collectives as lists of flows, to the picosecond; and flows that share an uplink.
//!
//! Literals come from the rules of a NIC and of a link alone: a data packet of 1,044 B takes 83,520 ps at 100 Gb/s, an ACK of 64 B
//! takes 5,120 ps, each of two links has a delay of 1 us. A NIC sends ACKs first, then a packet of each flow in turn.

use crate::common::{run, scenario};
use forebay_record::FlowRow;
use forebay_scenario::model::Scenario;
use forebay_sim::Options;
use std::fmt::Write as _;

const DATA: u64 = 83_520;
const ACK: u64 = 5_120;
const LINK: u64 = 1_000_000;

/// Flows of so many bytes, which begin together around one switch.
fn star(hosts: u64, law: &str, flows: impl Iterator<Item = (u64, u64, u64)>) -> Scenario {
    let mut list = String::new();
    for (from, to, bytes) in flows {
        let _ = write!(
            list,
            "{{ from = \"host[{from}]\", to = \"host[{to}]\", size = \"{bytes}B\" }}, "
        );
    }
    scenario(&format!(
        "version = 1\nname = \"t\"\nseeds = [1]\nstop = {{ time = \"1s\" }}\n\
         [fabric]\nkind = \"star\"\nhosts = {hosts}\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
         [fabric.switch]\nbuffer = {{ size = \"32MB\" }}\npause = \"on\"\necn = {{ k = \"400KB\" }}\n\
         [transport]\nkind = \"rdma\"\n{law}\nmss = \"1000B\"\nheader = \"44B\"\nack_size = \"64B\"\n\
         [[traffic]]\nkind = \"list\"\nflows = [{list}]\n"
    ))
}

fn flows(scenario: &Scenario, seed: u64) -> Vec<FlowRow> {
    run(scenario, seed, Options::default()).record.flows
}

/// The last delivery.
fn last(scenario: &Scenario) -> u64 {
    let ends = flows(scenario, 1).into_iter().map(|row| row.delivered.expect("it had the time"));
    ends.max().expect("flows").as_ps()
}

/// Each host sends to the next one and receives from the one before.
fn step(hosts: u64, bytes: u64) -> u64 {
    last(&star(hosts, "law = \"dcqcn\"", (0..hosts).map(|host| (host, (host + 1) % hosts, bytes))))
}

#[test]
fn a_step_of_a_ring_takes_its_packets_and_the_acks_of_what_comes_in() {
    // Up to 26 packets leave before the first ACK has to.
    for (packets, ps) in [(1, 2_167_040), (2, 2_250_560), (10, 2_918_720), (26, 4_255_040)] {
        assert_eq!(step(8, packets * 1_000), ps, "{packets} packets");
        assert_eq!(ps, 2 * (LINK + DATA) + (packets - 1) * DATA);
    }
    // Then one of each. While data still comes as fast as a link can, a second ACK is due after 16 packets.
    for (packets, ps) in [(27, 4_343_680), (41, 5_584_640)] {
        assert_eq!(step(8, packets * 1_000), ps, "{packets} packets");
        assert_eq!(ps, 88_640 * packets + 1_950_400);
    }
    for (packets, ps) in [(42, 5_678_400), (333, 31_472_640), (1_000, 90_595_520)] {
        assert_eq!(step(8, packets * 1_000), ps, "{packets} packets");
        assert_eq!(ps, 88_640 * packets + 1_955_520);
    }
    for hosts in [2, 3, 16] {
        assert_eq!(step(hosts, 100_000), 10_819_520, "{hosts} hosts");
    }
    // 1 MiB: the last packet has 576 bytes, each of which takes 80 ps.
    assert_eq!(step(16, 1 << 20), 88_640 * 1_049 + 1_955_520 - (1_000 - 576) * 80);
}

/// Flows of one instant begin in the order of their destinations, so at first all hosts send to host[0].
#[test]
fn an_all_to_all_at_once_takes_its_packets_their_acks_and_the_first_collisions() {
    let all = |hosts: u64, packets: u64| {
        let pairs = (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to)));
        let pairs = pairs.filter(|(from, to)| from != to);
        last(&star(hosts, "law = \"dcqcn\"", pairs.map(|(from, to)| (from, to, packets * 1_000))))
    };
    for (hosts, packets, collisions) in
        [(3, 50, 2_044_160), (8, 50, 2_446_400), (8, 100, 2_446_400), (16, 50, 3_104_320)]
    {
        let bytes = (hosts - 1) * packets * 88_640;
        assert_eq!(all(hosts, packets), bytes + collisions, "{hosts} hosts, {packets} packets");
    }
}

#[test]
fn a_flow_of_a_fixed_window_takes_line_rate_or_its_window_in_each_round_trip() {
    let alone =
        |packets: u64, law: &str| last(&star(2, law, std::iter::once((0, 1, packets * 1_000))));
    // 4 MB are less than the usual window of 4 MiB.
    assert_eq!(alone(4_000, "law = \"fixed\""), 2 * (LINK + DATA) + 3_999 * DATA);
    // Ten packets of each round trip, of which the last begin after two.
    let trip = 2 * (LINK + DATA) + 2 * (LINK + ACK);
    let of_ten = alone(30, "law = \"fixed\"\nparams = { window = \"10KB\" }");
    assert_eq!(of_ten, 11_273_280);
    assert_eq!(of_ten, 2 * trip + 9 * DATA + 2 * (LINK + DATA));
}

/// Of the uplinks of one leaf, most flows on one; and the time of the slowest flow, by that on an empty fabric.
fn shared_uplink(law: &str, seed: u64) -> (u64, f64) {
    const PACKETS: u64 = 1_000;
    let mut list = String::new();
    for i in 0..8 {
        let _ = write!(
            list,
            "{{ from = \"leaf[0].host[{i}]\", to = \"leaf[1].host[{i}]\", size = \"4096KB\" }}, "
        );
    }
    let scenario = scenario(&format!(
        "version = 1\nname = \"t\"\nseeds = [1]\nstop = {{ time = \"1s\" }}\n\
         [fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 8\nhosts_per_leaf = 8\n\
         host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\nfabric_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
         [fabric.switch]\nbuffer = {{ size = \"32MB\" }}\npause = \"on\"\n\
         [transport]\nkind = \"rdma\"\nlaw = \"{law}\"\nmss = \"4096B\"\n\
         [[traffic]]\nkind = \"list\"\nflows = [{list}]\n"
    ));
    let record = run(&scenario, seed, Options::default()).record;
    let up =
        record.ports.iter().filter(|port| port.node == "leaf[0]" && port.peer.contains("spine"));
    let most = up.map(|port| port.tx_packets / PACKETS).max().expect("uplinks");
    let slowest = record.flows.iter().map(|row| {
        let took = row.delivered.expect("it had the time").since(row.start);
        took.as_ps() as f64 / row.ideal.as_ps() as f64
    });
    (most, slowest.fold(0.0, f64::max))
}

#[test]
fn hashed_flows_take_as_many_times_the_ideal_as_share_the_fullest_uplink() {
    for law in ["fixed", "swift"] {
        let mut seen = [false; 9];
        for seed in 1..=8 {
            let (flows, slowdown) = shared_uplink(law, seed);
            seen[flows as usize] = true;
            let of = slowdown / flows as f64;
            assert!((0.9..=1.1).contains(&of), "{law}, seed {seed}: {flows} flows, {slowdown}");
        }
        assert!(seen[2] && seen[3] && seen[4], "{law}: two, three and four share an uplink");
    }
}
