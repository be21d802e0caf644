//! What hosts do beyond sending and taking one packet at a time, checked by hand to the picosecond.

use crate::common::{run, scenario};
use forebay_record::RunRecord;
use forebay_sim::Options;

/// A flow of `n` full packets from `host[0]` to each other host of a star, at once, at 100 Gb/s over two cables of 1 us;
/// headers of 64 B.
fn star(hosts: u32, n: u64, host: &str, transport: &str) -> RunRecord {
    let size = n * 4_000;
    let flow = |to| {
        format!("{{ from = \"host[0]\", to = \"host[{to}]\", size = \"{size}B\", at = \"0s\" }},")
    };
    let flows: String = (1..hosts).map(flow).collect();
    let scenario = scenario(&format!(
        r#"
version = 1
stop = {{ time = "100ms" }}
[fabric]
kind = "star"
hosts = {hosts}
host_link = {{ rate = "100Gbps", delay = "1us" }}
{host}
[transport]
kind = "tcp"
law = "reno"
mss = "4000B"
header = "64B"
ack_size = "64B"
initial_window = "1000 packets"
{transport}
[[traffic]]
kind = "list"
flows = [{flows}]
"#
    ));
    run(&scenario, 1, Options::default()).record
}

fn flow(n: u64, host: &str, transport: &str) -> RunRecord {
    let record = star(2, n, host, transport);
    assert_eq!(record.flows[0].retransmits, 0);
    assert_eq!(record.totals.delivered_segments, n);
    record
}

fn delivered(record: &RunRecord) -> u64 {
    record.flows[0].delivered.unwrap().as_ps()
}

fn acked(record: &RunRecord) -> u64 {
    record.flows[0].acked.unwrap().as_ps()
}

/// ACKs that left the receiver.
fn acks(record: &RunRecord) -> u64 {
    record.ports.iter().find(|p| p.node == "host[1]").unwrap().tx_packets
}

const TX: u64 = 4_064 * 80;
const TX_ACK: u64 = 64 * 80;
const D: u64 = 1_000_000;
const US: u64 = 1_000_000;

/// Arrival of the k-th packet, from 1.
fn arrival(k: u64) -> u64 {
    (k + 1) * TX + 2 * D
}

/// From the transmission of one ACK, the wire free, to its arrival.
const BACK: u64 = 2 * (TX_ACK + D);

/// Receive settings of the receiver alone.
fn receiver(keys: &str) -> String {
    format!("[host]\n[[host.override]]\nwhere = \"host[1]\"\n{keys}\n")
}

#[test]
fn an_interrupt_by_time_takes_all_that_waits() {
    let record = flow(4, &receiver("rx_usecs = \"8us\""), "");
    assert_eq!(delivered(&record), arrival(1) + 8 * US);
    assert_eq!(acks(&record), 4, "merging is off, so each segment has its ACK");
    assert_eq!(
        acked(&record),
        arrival(1) + 8 * US + 3 * TX_ACK + BACK,
        "the ACKs leave as a train"
    );
}

#[test]
fn merged_segments_have_one_ack() {
    let record = flow(4, &receiver("rx_usecs = \"8us\"\ngro = true"), "");
    assert_eq!(delivered(&record), arrival(1) + 8 * US);
    assert_eq!(acks(&record), 1);
    assert_eq!(acked(&record), arrival(1) + 8 * US + BACK);
}

#[test]
fn an_interrupt_by_frames_comes_with_the_last_of_them() {
    let record = flow(4, &receiver("rx_usecs = \"8us\"\nrx_frames = 2\ngro = true"), "");
    assert_eq!((delivered(&record), acks(&record)), (arrival(4), 2));
    assert_eq!(acked(&record), arrival(4) + BACK);
    // Three, and then one that waits its time out.
    let record = flow(4, &receiver("rx_usecs = \"8us\"\nrx_frames = 3\ngro = true"), "");
    assert_eq!((delivered(&record), acks(&record)), (arrival(4) + 8 * US, 2));
    // The timer of a batch that frames ended must not end the next one early.
    let record = flow(21, &receiver("rx_usecs = \"8us\"\nrx_frames = 20\ngro = true"), "");
    assert_eq!(delivered(&record), arrival(21) + 8 * US, "not {}", arrival(1) + 8 * US);
}

#[test]
fn a_packet_at_the_instant_of_the_interrupt_still_joins() {
    let wait = 3 * TX;
    let keys = format!("rx_usecs = \"{wait}ps\"\ngro = true");
    let record = flow(4, &receiver(&keys), "");
    assert_eq!((delivered(&record), acks(&record)), (arrival(4), 1));
}

#[test]
fn acks_wait_for_the_interrupt_too() {
    let sender = "[host]\n[[host.override]]\nwhere = \"host[0]\"\nrx_usecs = \"8us\"\ngro = true\n";
    let record = flow(4, sender, "");
    assert_eq!((delivered(&record), acks(&record)), (arrival(4), 4));
    assert_eq!(acked(&record), arrival(1) + BACK + 8 * US, "all four come within 8 us");
}

#[test]
fn a_merged_segment_holds_64_kb() {
    let record = flow(40, &receiver("rx_usecs = \"100us\"\ngro = true"), "");
    assert_eq!(acks(&record), 3, "16 and 16 and 8 packets of 4000 B");
}

#[test]
fn with_a_send_queue_per_flow_super_packets_take_turns_packet_by_packet_and_acks_pass_them() {
    let both =
        |record: &RunRecord| [0, 1].map(|flow| record.flows[flow].delivered.unwrap().as_ps());
    let tso = |more: &str| format!("[host]\ntso = true\n{more}");
    for more in ["", "nic = \"srpt\"", "gso_max = \"20000B\""] {
        let expected = if more.contains("srpt") { 20 } else { 39 };
        assert_eq!(both(&star(3, 20, &tso(more), "")), [arrival(expected), arrival(40)], "{more}");
    }
    assert_eq!(acked(&flow(20, &tso(""), "")), arrival(20) + BACK, "no time is lost");
}

#[test]
fn with_one_send_queue_a_super_packet_leaves_whole_before_the_next_flow_has_its_turn() {
    let both =
        |record: &RunRecord| [0, 1].map(|flow| record.flows[flow].delivered.unwrap().as_ps());
    assert_eq!(both(&star(3, 20, "", "")), [arrival(39), arrival(40)], "packet by packet");
    // 64 KiB hold 16 segments of 4000 B: 16 and 16, then the 4 left of each.
    assert_eq!(
        both(&star(3, 20, "[host]\ntso = true\ntx_queues = \"one\"", "")),
        [arrival(36), arrival(40)]
    );
    assert_eq!(
        both(&star(3, 20, "[host]\ntso = true\ntx_queues = \"one\"\ngso_max = \"20000B\"", "")),
        [arrival(35), arrival(40)],
        "by fives"
    );
    assert_eq!(acked(&flow(20, "[host]\ntso = true", "")), arrival(20) + BACK, "no time is lost");
}

#[test]
fn merged_super_packets_give_one_ack_each() {
    let host =
        "[host]\ntso = true\ngso_max = \"20000B\"\nrx_usecs = \"100us\"\nrx_frames = 5\ngro = true";
    let record = flow(100, host, "");
    assert_eq!(acks(&record), 20, "five packets for one ACK");
}

#[test]
fn gaps_by_chance_add_half_of_the_most_in_the_mean() {
    let late = |host: &str| delivered(&flow(100, host, "")) - arrival(100);
    assert_eq!(late(""), 0);
    // 99 gaps of 500 ns in the mean; four standard deviations of their sum are 11.5 us.
    let extra = late("[host]\ntx_jitter = \"1us\"\n") as f64 / 1e6;
    assert!((extra - 49.5).abs() < 11.5, "{extra} us");
}

#[test]
fn fq_shares_the_nic_by_bytes() {
    let order = |n: u64, host: &str| {
        let record = star(3, n, host, "");
        [0, 1].map(|flow| record.flows[flow].delivered.unwrap().as_ps())
    };
    // A new flow sends ten packets. Fewer than ten are not paced.
    assert_eq!(order(8, "[host]\npacing = \"fq\""), [arrival(8), arrival(16)]);
    assert_eq!(order(8, "[host]\npacing = \"internal\""), [arrival(15), arrival(16)]);
    // Then two of each in turn: the first flow ends two packets before the second.
    assert_eq!(order(16, "[host]\nnic = \"fq\""), [arrival(30), arrival(32)]);
    assert_eq!(order(16, ""), [arrival(31), arrival(32)]);
}

#[test]
fn a_delayed_ack_answers_two_single_segments_and_any_larger_one() {
    // The first 16 are quick, then every second one has an ACK, and the last one has.
    let record = flow(40, "", "delayed_ack = true");
    assert_eq!(acks(&record), 16 + 24 / 2);
    let record = flow(41, "", "delayed_ack = true");
    assert_eq!(acks(&record), 16 + 24 / 2 + 1);
    let pairs = receiver("rx_usecs = \"8us\"\nrx_frames = 2\ngro = true");
    assert_eq!(acks(&flow(40, &pairs, "delayed_ack = true")), 20, "units above one segment");
}

#[test]
fn the_linux_profile_sets_what_is_not_written() {
    let linux = "[host]\nprofile = \"linux\"\n";
    let s = |host: &str, transport: &str| {
        scenario(&format!(
            "version = 1\nstop = {{ time = \"1ms\" }}\n[fabric]\nkind = \"star\"\nhosts = 2\n\
             host_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\n{host}[transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n\
             {transport}[[traffic]]\nkind = \"permutation\"\nsize = \"1MB\"\n"
        ))
    };
    let all = s(linux, "");
    assert!(all.host.settings.gro && all.transport.tcp().unwrap().delayed_ack);
    assert!(all.host.settings.sack_compression && all.host.settings.psh);
    assert_eq!(all.host.settings.rx_usecs.as_ps(), 8 * US);
    let some = s(&format!("{linux}gro = false\n"), "delayed_ack = false\n");
    assert!(!some.host.settings.gro && !some.transport.tcp().unwrap().delayed_ack);
    let one = "[host]\n[[host.override]]\nwhere = \"host[1]\"\nprofile = \"linux\"\n";
    let one = s(one, "");
    assert_eq!(one.host.at("host[0]"), (s("", "").host.settings, None));
    assert_eq!(one.host.at("host[1]"), (all.host.settings, Some(true)));
}
