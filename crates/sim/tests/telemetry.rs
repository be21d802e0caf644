//! Laws that live on telemetry, from ports to windows: where they come to rest.
//!
//! Source: the HPCC sheet, sections 6 and 7.

mod common;

use common::scenario;
use forebay_sim::{Options, PortLook, Simulation, Watch};
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
        let look = simulation.look();
        let to_host = |port: &&PortLook| port.node == hosts as u32 && port.peer == 0;
        let port = look.ports.iter().find(to_host).expect("a star has such a port").clone();
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
