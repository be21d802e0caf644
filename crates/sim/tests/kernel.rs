//! What comparisons with a kernel ask for: losses that are placed.

mod common;

use common::{run, scenario};
use forebay_record::{PortRow, RunRecord};
use forebay_sim::{Options, twin};

/// One flow of 100 packets over a bottleneck, with more tables.
fn one_flow(more: &str) -> String {
    format!(
        r#"version = 1
seeds = [1]
stop = {{ time = "2s" }}
[fabric]
kind = "dumbbell"
left = 1
right = 1
host_link = {{ rate = "1Gbps", delay = "10us" }}
bottleneck = {{ rate = "100Mbps", delay = "1ms" }}
[transport]
kind = "tcp"
law = "reno"
[[traffic]]
kind = "list"
flows = [{{ from = "left.host[0]", to = "right.host[0]", size = "144800B", at = "0s" }}]
{more}"#
    )
}

/// The same run by every engine, and on two threads.
fn every_way(text: &str) -> RunRecord {
    let scenario = scenario(text);
    let record = run(&scenario, 1, Options::default()).record;
    let threads = Options { threads: 2, ..Options::default() };
    assert_eq!(run(&scenario, 1, threads).record.digest, record.digest, "threads\n{text}");
    for explicit in [false, true] {
        let twin = twin::reference(&scenario, 1, explicit).unwrap();
        assert_eq!(twin.digest, record.digest, "twin, explicit {explicit}\n{text}");
    }
    record
}

fn port<'a>(record: &'a RunRecord, node: &str, peer: &str) -> &'a PortRow {
    let wanted = |row: &&PortRow| (&*row.node, &*row.peer) == (node, peer);
    record.ports.iter().find(wanted).expect("there is such a port")
}

/// Lost packets of all ports, and segments sent again.
fn lost(record: &RunRecord) -> (u64, u64) {
    (record.ports.iter().map(|row| row.lost_packets).sum(), record.flows[0].retransmits.into())
}

#[test]
fn the_packets_of_a_flow_that_a_fault_names_are_lost_and_no_others() {
    for (from, to) in [("left.host[0]", "left"), ("left", "right"), ("right", "right.host[0]")] {
        for (numbers, flow, again) in
            [("5", "flow = 0", 1), ("1, 5, 6, 40", "flow = 0", 4), ("100", "", 1)]
        {
            let fault = format!(
                "[[fault]]\nat = \"0s\"\nlink = \"{from}->{to}\"\ndrop = [{numbers}]\n{flow}\n"
            );
            let record = every_way(&one_flow(&fault));
            assert_eq!(lost(&record), (again, again), "{fault}");
            assert_eq!(port(&record, from, to).lost_packets, again, "{fault}");
            assert!(record.flows[0].acked.is_some(), "{fault}");
        }
    }
}

#[test]
fn a_packet_that_is_sent_again_has_a_number_of_its_own() {
    // The last of 100 packets is lost, and so is its repetition, number 101.
    let fault = "[[fault]]\nat = \"0s\"\nlink = \"left->right\"\ndrop = [100, 101]\nflow = 0\n";
    let record = every_way(&one_flow(fault));
    assert_eq!(lost(&record), (2, 2));
    assert_eq!(port(&record, "left", "right").tx_packets, 102);
}

#[test]
fn an_ack_that_is_lost_is_made_up_for_by_the_next() {
    let fault = "[[fault]]\nat = \"0s\"\nlink = \"right->left\"\ndrop = [3]\nflow = 0\n";
    assert_eq!(lost(&every_way(&one_flow(fault))), (1, 0));
}

#[test]
fn packets_are_counted_from_the_time_of_the_fault_on() {
    // The first window has left by then: 10 packets of 120 us each.
    let fault = |at: &str| {
        format!("[[fault]]\nat = \"{at}\"\nlink = \"left->right\"\ndrop = [91]\nflow = 0\n")
    };
    assert_eq!(lost(&every_way(&one_flow(&fault("0s")))), (1, 1));
    assert_eq!(lost(&every_way(&one_flow(&fault("2ms")))), (0, 0));
}

#[test]
fn losses_of_one_direction_leave_the_other_alone() {
    let fault = |link: &str| {
        format!("[[fault]]\nat = \"0s\"\nlink = \"{link}\"\nloss = 1.0\nfor = \"100ms\"\n")
    };
    let record = every_way(&one_flow(&fault("right->left")));
    let (data, acks) = (port(&record, "left", "right"), port(&record, "right", "left"));
    assert_eq!(data.lost_packets, 0);
    assert!(acks.lost_packets > 0, "every ACK of the first 100 ms");
    let record = every_way(&one_flow(&fault("left->right")));
    assert_eq!(port(&record, "right", "left").lost_packets, 0);
    assert!(port(&record, "left", "right").lost_packets >= 10, "the first window");
    let both = every_way(&one_flow(&fault("left-right")));
    assert_eq!(lost(&both), lost(&record), "of a window that is lost nobody hears");
}
