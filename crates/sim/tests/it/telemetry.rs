//! Laws that live on telemetry, from ports to windows: where they come to rest.
//!
//! Source: Li et al., SIGCOMM 2019 (HPCC), sections 3 and 5; its public simulator.

use crate::common::{run, scenario};
use forebay_sim::{Options, PortState, Simulation, Watch};
use forebay_units::{Span, Time};

/// `n` hosts send to one over links of `gbps`. Over 2 ms, after 3 ms: the share of its link that is used, and the mean queue of its port.
fn at_rest(n: u64, law: &str, gbps: u64) -> (f64, f64) {
    let flows: String = (1..=n)
        .map(|from| format!("{{ from = \"host[{from}]\", to = \"host[0]\", size = \"1GB\", at = \"{from}us\" }}, "))
        .collect();
    let hosts = n + 1;
    let scenario = scenario(&format!(
        r#"
version = 1
name = "rest"
seeds = [1]
stop = {{ time = "10ms" }}
[fabric]
kind = "star"
hosts = {hosts}
host_link = {{ rate = "{gbps}Gbps", delay = "1us" }}
[fabric.switch]
port_limit = "10MB"
[transport]
kind = "rdma"
mss = "1000B"
base_rtt = "13us"
law = "{law}"
[[traffic]]
kind = "list"
flows = [{flows}]
"#
    ));
    let mut simulation = Simulation::new(&scenario, 1, Options::default()).unwrap();
    let mut look = |at: Span| {
        simulation.advance(Time::ZERO + at, &Watch::default());
        let state = simulation.inspect();
        let to_host = |port: &&PortState| port.node == hosts as u32 && port.peer == 0;
        let port = state.ports.iter().find(to_host).expect("a star has such a port").clone();
        (port.counters.tx_bytes, port.queue)
    };
    let (before, _) = look(Span::from_ms(3));
    let queues: Vec<u64> =
        (1..=200).map(|nth| look(Span::from_ms(3) + Span::from_us(10 * nth)).1).collect();
    let (after, _) = look(Span::from_ms(5));
    let used = (after - before) as f64 * 8.0 / (2e-3 * gbps as f64 * 1e9);
    (used, queues.iter().sum::<u64>() as f64 / queues.len() as f64)
}

#[test]
fn hpcc_rests_at_its_target_without_a_queue() {
    for (n, gbps) in [(1, 100), (2, 100), (8, 100), (8, 40)] {
        let product = 13e-6 * gbps as f64 * 1e9 / 8.0;
        let expected = 0.95 + n as f64 * 80.0 / product;
        let (used, queue) = at_rest(n, "hpcc", gbps);
        // Packets that meet by chance are a queue too, and take their part of U.
        assert!((expected - 0.01..expected + 0.002).contains(&used), "{n} at {gbps}: {used}");
        assert!(queue < 2.0 * 1_100.0, "{n} at {gbps}: {queue} B");
    }
}

#[test]
fn powertcp_rests_with_the_queue_that_it_asks_for() {
    let (used, queue) = at_rest(8, "powertcp", 100);
    assert!(used > 0.99, "{used}");
    assert!(queue > 0.0, "{queue}");
}

/// The INT slots of packets always come back: from queues that drop, cables that lose and die, NICs that drop,
/// and answers that no sender waits for.
#[test]
fn every_room_comes_back() {
    let text = |limit: &str, memory: &str| {
        format!(
            r#"
version = 1
stop = {{ time = "60ms" }}
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 3
host_link = {{ rate = "100Gbps", delay = "1us" }}
fabric_link = {{ rate = "100Gbps", delay = "1us" }}
[fabric.switch]
port_limit = "{limit}"
{memory}
[transport]
kind = "rdma"
law = "hpcc"
timeout = "300us"
[[traffic]]
kind = "incast"
fan_in = 5
size = "100KB"
rounds = 4
[[traffic]]
kind = "list"
flows = [{{ from = "leaf[0].host[0]", to = "leaf[1].host[2]", size = "3MB" }}, {{ from = "leaf[1].host[1]", to = "leaf[0].host[1]", size = "3MB" }}]
[[fault]]
at = "40us"
link = "leaf[0]-spine[1]"
for = "100us"
[[fault]]
at = "50us"
link = "leaf[1].host[0]-leaf[1]"
for = "60us"
[[fault]]
at = "30us"
link = "leaf[1]-spine[0]"
loss = 0.01
for = "300us"
"#
        )
    };
    let slow = "[host.memory]\nnic_buffer = \"64KiB\"\n[[host.memory.antagonist]]\ncores = 12";
    for (limit, memory) in [("40KB", ""), ("1MB", slow)] {
        let scenario = scenario(&text(limit, memory));
        for threads in [1, 2] {
            let outcome = run(&scenario, 1, Options { threads, ..Options::default() });
            let record = &outcome.record;
            assert!(record.flows.iter().all(|flow| flow.acked.is_some()), "all are over");
            let dropped = record.ports.iter().map(|port| port.dropped_packets).sum::<u64>();
            let lost = record.ports.iter().map(|port| port.lost_packets).sum::<u64>();
            let nics = record.memory.iter().map(|row| row.dropped_in_all).sum::<u64>();
            let enough = lost > 10 && if memory.is_empty() { dropped > 10 } else { nics > 10 };
            assert!(enough, "queues dropped {dropped}, NICs {nics}, cables lost {lost}");
            assert_eq!(outcome.execution.slab_slots, 0);
        }
    }
}
