//! Racks that queue by destination host, and what goes wrong on the cables of hosts.

use crate::common::scenario;
use forebay_record::RunRecord;
use forebay_sim::{Options, RackState, Simulation, Watch};
use forebay_units::Time;
use proptest::prelude::*;

/// Two racks of eight hosts of 25 Gb/s; so many hosts of the first send these bytes to one of the second, `rounds` times. `more` is about the
/// fabric and what fails in it.
fn incast(senders: u32, bytes: u32, rounds: u32, request_timeout: &str, more: &str) -> String {
    let flow = |i: u32| {
        let (host, at) = (i % senders, i / senders * 300);
        format!(
            "{{ from = \"leaf[0].host[{host}]\", to = \"leaf[1].host[0]\", size = \"{bytes}B\", at = \"{at}us\" }},\n"
        )
    };
    let flows: String = (0..senders * rounds).map(flow).collect();
    format!(
        "version = 1\nstop = {{ time = \"1s\" }}\n[output]\nqueues = {{ every = \"20us\" }}\n[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 8\n\
         host_link = {{ rate = \"25Gbps\", delay = \"1us\" }}\nfabric_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
         [fabric.switch]\nhierarchical = {{ law = \"hiercc\", request_timeout = \"{request_timeout}\" }}\n\
         [transport]\nkind = \"rdma\"\nlaw = \"explicit\"\n[[traffic]]\nkind = \"list\"\nflows = [\n{flows}]\n{more}"
    )
}

/// A run, and how often hosts were paused and requested to resume.
fn seen(text: &str, seed: u64) -> (RunRecord, u64, u64) {
    let scenario = scenario(text);
    let mut simulation = Simulation::new(&scenario, seed, Options::default()).unwrap();
    simulation.advance(Time::MAX, &Watch::default());
    let racks = simulation.inspect().racks;
    let sum = |of: fn(&RackState) -> u64| racks.iter().map(of).sum();
    let (stops, requests) = (sum(|rack| rack.counters.stops), sum(|rack| rack.counters.requests));
    (simulation.finish().record, stops, requests)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Stops, words to go on, rates, questions and their answers are lost like all else; no flow waits for ever.
    #[test]
    fn whatever_is_lost_on_the_cables_of_hosts_all_flows_end(
        seed in 1..1_000u64,
        (senders, bytes) in (4..9u32, 20_000..200_000u32),
        loss in 0.002..0.15f64,
        request_timeout in prop::sample::select(vec!["20us", "100us"]),
    ) {
        let lossy = format!("[[fabric.override]]\nwhere = \"leaf[0].host[*]-leaf[0]\"\nloss = {loss}\n");
        let (record, ..) = seen(&incast(senders, bytes, 2, request_timeout, &lossy), seed);
        prop_assert!(record.flows.iter().all(|flow| flow.acked.is_some()));
    }
}

/// While nothing is lost a host that is stopped for less than ten times `request_timeout` requests nothing; the property above would be empty if no host
/// were stopped.
#[test]
fn hosts_are_stopped_and_ask_only_if_that_lasts() {
    let requests = |request_timeout: &str| {
        let (record, stops, requests) = seen(&incast(8, 400_000, 1, request_timeout, ""), 1);
        assert!(stops > 0 && record.flows.iter().all(|flow| flow.acked.is_some()));
        requests
    };
    assert_eq!(requests("100us"), 0);
    assert!(requests("3us") > 0);
}

/// The cable of the receiver is dead for 400 us, in which 1.25 MB would have come: only what had its credit comes, and what may in advance.
#[test]
fn a_dead_cable_draws_no_packets() {
    let down = "[[fault]]\nat = \"100us\"\nlink = \"leaf[1].host[0]-leaf[1]\"\nchange = \"down\"\nfor = \"400us\"\n";
    let (record, ..) = seen(&incast(8, 1_000_000, 1, "100us", down), 1);
    assert!(record.flows.iter().all(|flow| flow.acked.is_some()), "all end");
    let lost: u64 = record.ports.iter().map(|port| port.lost_packets).sum();
    assert!((1..100).contains(&lost), "{lost} packets of 1 KB");
}

/// The cable of the receiver changes from 25 Gb/s to 100 or to 10 after 100 us: from then on credits come as they do where it is so from the start, and
/// at 10 Gb/s no more waits behind it than before.
#[test]
fn credits_follow_the_rate_of_a_cable() {
    let change = |to: &str| {
        format!(
            "[[fault]]\nat = \"100us\"\nlink = \"leaf[1].host[0]-leaf[1]\"\nchange = \"rate\"\nrate = \"{to}\"\n"
        )
    };
    let built = |with: &str| {
        format!("[[fabric.override]]\nwhere = \"leaf[1].host[0]-leaf[1]\"\nrate = \"{with}\"\n")
    };
    let done = |more: &str| {
        let (record, ..) = seen(&incast(8, 1_000_000, 1, "100us", more), 1);
        let ends = record.flows.iter().filter_map(|flow| flow.fct()).max().expect("they end");
        let down = record.ports.iter().find(|p| p.node == "leaf[1]" && p.peer == "leaf[1].host[0]");
        (ends.as_secs_f64(), down.expect("it is there").max_queue.get())
    };
    let (before, queue) = done("");
    for rate in ["100Gbps", "10Gbps"] {
        let ((from_start, _), (changed, queue_after)) = (done(&built(rate)), done(&change(rate)));
        let expected = 100e-6 + from_start * (1.0 - 100e-6 / before);
        let ratio = changed / expected;
        assert!((0.97..1.03).contains(&ratio), "{changed} s at {rate} for {expected}");
        assert!(
            queue_after < queue + 20_000,
            "{queue_after} bytes waited at {rate}, {queue} before"
        );
    }
}
