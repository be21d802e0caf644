//! What comparisons with a kernel need: losses that are placed, token buckets.

use crate::common::{run, scenario};
use forebay_record::{PortRow, RunRecord};
use forebay_sim::{Options, twin};
use forebay_units::{Span, Time};

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

/// Runs a scenario on every engine, and on two threads.
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

/// A flow of 20 packets of 1500 B that leave together, with more tables of the fabric.
fn twenty_packets(fabric: &str) -> RunRecord {
    let text = one_flow("");
    let text = text.replace("\"100Mbps\"", "\"1Gbps\"").replace("144800B", "28960B");
    let text = text.replace("[transport]", &format!("{fabric}[transport]"));
    every_way(&text.replace("law =", "initial_window = \"20 packets\"\nlaw ="))
}

fn shaper(place: &str, more: &str) -> String {
    format!(
        "[[fabric.shaper]]\nwhere = \"{place}\"\nrate = \"8Mbps\"\nburst = \"15000B\"\n{more}\n"
    )
}

#[test]
fn a_shaper_lets_a_burst_go_and_then_its_rate() {
    // Three links of 12 us a packet and their delays; the last packet begins when 5 of the 10 above the burst have had their tokens
    // twice over: 20 packets less 10 at a microsecond per byte.
    let path = 3 * 12 + 10 + 1_000 + 10;
    for place in ["left->right", "left.host[0]->left", "right -> right.host[*]", "left.host[0]"] {
        let record = twenty_packets(&shaper(place, ""));
        let delivered = record.flows[0].delivered.unwrap().since(Time::ZERO);
        assert_eq!(delivered, Span::from_us(15_000 + path), "{place}");
        assert_eq!(lost(&record), (0, 0));
    }
    let record = twenty_packets(&shaper("right->left", ""));
    let delivered = record.flows[0].delivered.unwrap().since(Time::ZERO);
    assert_eq!(delivered, Span::from_us(19 * 12 + path), "20 ACKs of 64 B are no burst");
}

#[test]
fn a_shaper_has_a_queue_of_its_own_limit() {
    // 10 packets leave at once, 3 wait.
    let record = twenty_packets(&shaper("left->right", "limit = \"3 packets\""));
    assert_eq!(port(&record, "left", "right").dropped_packets, 7);
    assert!(record.flows[0].acked.is_some());
    let record = twenty_packets(&shaper("left->right", "limit = \"4500B\""));
    assert_eq!(port(&record, "left", "right").dropped_packets, 7);
}

#[test]
fn a_shaper_keeps_its_rate_whatever_the_link_does() {
    let fault = "[[fault]]\nat = \"5ms\"\nlink = \"left-right\"\nrate = \"100Mbps\"\n";
    let text = one_flow(fault).replace("\"100Mbps\" }", "\"1Gbps\" }");
    let record =
        every_way(&text.replace("[transport]", &(shaper("left->right", "") + "[transport]")));
    // 150 kB at 1 MB/s, less the burst.
    let fct = record.flows[0].delivered.unwrap().since(Time::ZERO);
    let off = fct.as_secs_f64() - 0.135;
    assert!((0.0..0.004).contains(&off), "{fct}");
}
