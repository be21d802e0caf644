//! Hosts whose traffic is of several classes: the NIC serves the highest first.

use crate::common::{run, scenario};
use forebay_record::RunRecord;
use forebay_sim::Options;
use forebay_units::Span;

/// Settings of hosts and transports.
const KINDS: [(&str, &str); 4] = [
    ("", "kind = \"rdma\"\nlaw = \"dcqcn\"\n"),
    ("", "kind = \"rdma\"\nlaw = \"hpcc\"\n"),
    ("[host]\nnic = \"round-robin\"\ntso = true\n", "kind = \"tcp\"\nlaw = \"cubic\"\n"),
    ("[host]\nnic = \"push\"\n", "kind = \"tcp\"\nlaw = \"dctcp\"\n"),
];

/// A star of four hosts of 10 Gb/s with these flows: class, ends, size, start.
fn star((host, transport): (&str, &str), flows: &[(u8, [u8; 2], &str, &str)]) -> RunRecord {
    let entry = |(class, [from, to], size, at): &(u8, [u8; 2], &str, &str)| {
        format!(
            "[[traffic]]\nkind = \"list\"\nclass = {class}\nflows = [\
             {{ from = \"host[{from}]\", to = \"host[{to}]\", size = \"{size}\", at = \"{at}\" }}]\n"
        )
    };
    let traffic: String = flows.iter().map(entry).collect();
    let text = format!(
        "version = 1\nstop = {{ time = \"30ms\" }}\n[fabric]\nkind = \"star\"\nhosts = 4\n\
         host_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\n[fabric.switch]\nclasses = 8\n\
         {host}[transport]\n{transport}ack_class = 7\n{traffic}"
    );
    run(&scenario(&text), 1, Options::default()).record
}

/// Completion times of flows that were done.
fn fcts(record: &RunRecord) -> Vec<Span> {
    record.flows.iter().filter_map(|flow| flow.fct()).collect()
}

/// Paced at the rate of the wire and without a window to wait for, a flow leaves nothing to others.
#[test]
fn the_highest_class_takes_the_wire_and_the_lowest_what_is_left() {
    let of = |classes: &[u8]| {
        let flow = |(to, class): (u8, &u8)| (*class, [0, to], "1MB", "0s");
        let flows: Vec<_> = (1..).zip(classes).map(flow).collect();
        let each: Vec<f64> =
            fcts(&star(KINDS[0], &flows)).iter().map(|fct| fct.as_secs_f64()).collect();
        each
    };
    let alone = of(&[5])[0];
    let [low, high, middle] = of(&[1, 5, 3])[..] else { panic!("all are done") };
    assert_eq!(high, alone);
    let wire = 1_000.0 * 1_044.0 * 8.0 / 10e9; // 1,000 packets with header
    for (fct, before) in [(middle, 1.0), (low, 2.0)] {
        let expected = alone + before * wire;
        assert!((fct / expected - 1.0).abs() < 0.002, "{fct}, not {expected}");
    }
    let shared = of(&[5, 5, 5]);
    assert!(shared.iter().all(|fct| (fct / low - 1.0).abs() < 0.01), "in turn: {shared:?}");
}

/// Unused lanes are as no lanes: what would be in them begins as the run ends.
#[test]
fn a_class_that_nobody_sends_in_changes_nothing() {
    for kind in KINDS {
        let of = |class: u8| {
            let flow = |from, to| (5, [from, to], "1MB", "0s");
            let never = (class, [3, 0], "1MB", "29999us");
            fcts(&star(kind, &[flow(0, 1), flow(0, 2), flow(0, 3), flow(2, 0), flow(3, 1), never]))
        };
        assert_eq!(of(5).len(), 5, "{kind:?}");
        assert_eq!(of(5), of(2), "{kind:?}");
    }
}
