//! Our congestion controls in C, as objects, give the same packets as the laws of the same name: one digest for each scenario that is not
//! named with its cause as one that differs.

use forebay_scenario::Loader;
use forebay_sim::{Options, Watch, simulate};

/// A law, and its object with the parameters by which the law does as Linux.
const LAWS: [(&str, &str, &str); 4] = [
    ("reno", "", "reno"),
    ("cubic", "", "cubic"),
    ("dctcp", "params = { alpha = \"linux\", cut = \"packets\", prr_on_ce = true }", "dctcp"),
    ("nv", "", "nv"),
];

const DUMBBELL: &str = r#"
stop = { time = "STOP" }
[fabric]
kind = "dumbbell"
left = PAIRS
right = PAIRS
host_link = { rate = "1Gbps", delay = "1us" }
bottleneck = { rate = "RATE", delay = "DELAY" }
[fabric.switch]
buffer = "none"
port_limit = "LIMIT packets"
ECN
[[traffic]]
kind = "long"
from = "left.host[*]"
to = "right.host[*]"
stagger = "STAGGER"
[transport]
kind = "tcp"
"#;

const RACKS: &str = r#"
stop = { time = "STOP" }
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_link = { rate = "10Gbps", delay = "1us" }
fabric_link = { rate = "10Gbps", delay = "1us" }
[fabric.switch]
buffer = { size = "BUFFER", policy = "dynamic-threshold", alpha = 1 }
ECN
[[traffic]]
TRAFFIC
[transport]
kind = "tcp"
rto_min = "5ms"
"#;

/// Scenarios: a name, the form, and what fills it in. The four called `a kernel's ...` have the paths of `validation/linux/scenarios.toml`.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const CASES: [Case; 24] = [
    ("one flow", DUMBBELL, &[("STOP", "4s")]),
    ("three flows", DUMBBELL, &[("STOP", "3s"), ("PAIRS", "3"), ("STAGGER", "300ms")]),
    (
        "a long path",
        DUMBBELL,
        &[("STOP", "6s"), ("RATE", "50Mbps"), ("DELAY", "20ms"), ("LIMIT", "150")],
    ),
    ("a short queue", DUMBBELL, &[("STOP", "2s"), ("DELAY", "2ms"), ("LIMIT", "20")]),
    ("a long queue", DUMBBELL, &[("STOP", "3s"), ("RATE", "50Mbps"), ("LIMIT", "400")]),
    ("a fast bottleneck", DUMBBELL, &[("STOP", "1s"), ("RATE", "500Mbps"), ("DELAY", "1ms")]),
    ("two flows at once", DUMBBELL, &[("STOP", "2s"), ("PAIRS", "2"), ("LIMIT", "60")]),
    (
        "a slow path",
        DUMBBELL,
        &[("STOP", "5s"), ("RATE", "10Mbps"), ("DELAY", "10ms"), ("LIMIT", "50")],
    ),
    (
        "a path of half a millisecond",
        DUMBBELL,
        &[("STOP", "1s"), ("PAIRS", "2"), ("DELAY", "200us"), ("LIMIT", "50")],
    ),
    (
        "an ACK for each segment",
        DUMBBELL,
        &[("STOP", "2s"), ("delayed_ack = true", "delayed_ack = false")],
    ),
    ("a window of 20", DUMBBELL, &[("STOP", "2s"), ("MORE", "initial_window = \"20 packets\"")]),
    ("super-packets", DUMBBELL, &[("STOP", "2s"), ("MORE", "[host]\ntso = true")]),
    (
        "a kernel's path",
        DUMBBELL,
        &[("STOP", "5s"), ("RATE", "50Mbps"), ("DELAY", "10ms"), ("LIMIT", "160")],
    ),
    (
        "a kernel's short path",
        DUMBBELL,
        &[("STOP", "3s"), ("RATE", "50Mbps"), ("DELAY", "2ms"), ("LIMIT", "64")],
    ),
    (
        "a kernel's slow path",
        DUMBBELL,
        &[("STOP", "20s"), ("RATE", "5Mbps"), ("DELAY", "100ms"), ("LIMIT", "160")],
    ),
    (
        "a kernel's two flows",
        DUMBBELL,
        &[
            ("STOP", "5s"),
            ("PAIRS", "2"),
            ("RATE", "50Mbps"),
            ("DELAY", "10ms"),
            ("LIMIT", "160"),
            ("STAGGER", "500ms"),
        ],
    ),
    ("short flows", RACKS, &[("STOP", "20ms"), ("TRAFFIC", POISSON)]),
    ("many short flows", RACKS, &[("STOP", "10ms"), ("TRAFFIC", POISSON), ("0.4", "0.8")]),
    (
        "short flows over short queues",
        RACKS,
        &[("STOP", "20ms"), ("TRAFFIC", POISSON), ("BUFFER", "100KB")],
    ),
    (
        "shorter flows",
        RACKS,
        &[("STOP", "10ms"), ("TRAFFIC", POISSON), ("websearch", "hadoop_abm")],
    ),
    ("an incast", RACKS, &[("STOP", "40ms"), ("TRAFFIC", INCAST), ("BUFFER", "200KB")]),
    (
        "an incast of short answers",
        RACKS,
        &[("STOP", "20ms"), ("TRAFFIC", INCAST), ("200KB", "30KB"), ("BUFFER", "100KB")],
    ),
    (
        "an incast over a long queue",
        RACKS,
        &[("STOP", "40ms"), ("TRAFFIC", INCAST), ("BUFFER", "2MB")],
    ),
    (
        "an incast without SACK",
        RACKS,
        &[("STOP", "40ms"), ("TRAFFIC", INCAST), ("BUFFER", "200KB"), ("MORE", "sack = false")],
    ),
];

const POISSON: &str = "kind = \"poisson\"\nsizes = \"websearch\"\nload = 0.4";
const INCAST: &str = "kind = \"incast\"\nfan_in = 6\nsize = \"200KB\"\nrounds = 3";

/// What a scenario leaves open.
const USUAL: [(&str, &str); 7] = [
    ("PAIRS", "1"),
    ("RATE", "100Mbps"),
    ("DELAY", "5ms"),
    ("LIMIT", "100"),
    ("STAGGER", "0s"),
    ("BUFFER", "1MB"),
    ("MORE", ""),
];

/// In a reduction Linux has the window of PRR, which a Rust law does not see: the law halves the window that the mark has reduced.
const HALF_OF_PRR: &str = "a loss during the reduction after a mark";
/// For the same reason: in Linux that window can be below the threshold, and HyStart looks at it.
const HYSTART_IN_RECOVERY: &str = "HyStart looks at the window of PRR";
/// An ACK that advances delivers a packet at least, though duplicate ACKs have counted it before.
const ONE_AT_LEAST: &str = "without SACK Linux counts a packet for each ACK that advances";

/// Pairs whose packets differ, with the cause of the first difference.
const DIFFER: [(&str, &str, &str); 9] = [
    ("cubic", "three flows", HYSTART_IN_RECOVERY),
    ("dctcp", "a slow path", HALF_OF_PRR),
    ("dctcp", "short flows over short queues", HALF_OF_PRR),
    ("cubic", "an incast", HYSTART_IN_RECOVERY),
    ("dctcp", "an incast", HALF_OF_PRR),
    ("dctcp", "an incast of short answers", HALF_OF_PRR),
    ("reno", "an incast without SACK", ONE_AT_LEAST),
    ("cubic", "an incast without SACK", ONE_AT_LEAST),
    ("dctcp", "an incast without SACK", ONE_AT_LEAST),
];

/// Digest of a scenario with this transport.
fn digest((_, form, set): &Case, ecn: &str, transport: &str) -> u64 {
    let mut text = format!(
        "version = 1\nname = \"t\"\nseeds = [1]\n{form}delayed_ack = true\n{transport}\nMORE\n"
    );
    for (what, value) in *set {
        assert!(text.contains(what), "{what} is nowhere in\n{text}");
        text = text.replace(what, value);
    }
    for (what, value) in USUAL.iter().chain(&[("ECN", ecn)]) {
        text = text.replace(what, value);
    }
    // In the folder of the objects, so that laws are found there.
    let name = format!("{}/obj/t.toml", env!("CARGO_MANIFEST_DIR"));
    let loaded =
        Loader::default().text::<&str>(&name, &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let done = simulate(&loaded.scenario, 1, Options::default(), &Watch::default());
    done.unwrap_or_else(|e| panic!("{e}")).record.digest
}

#[test]
fn our_own_c_gives_the_packets_of_the_laws() {
    let mut differ = Vec::new();
    for case in &CASES {
        for (law, params, object) in LAWS {
            let ecn = if law == "dctcp" { "ecn = { k = \"20 packets\" }" } else { "ecn = \"off\"" };
            let own = digest(case, ecn, &format!("law = \"{law}\"\n{params}"));
            let other = digest(case, ecn, &format!("law = \"bpf:{object}.bpf.o\""));
            if own != other {
                differ.push((law, case.0));
            }
        }
    }
    let named = DIFFER.map(|(law, case, _)| (law, case));
    assert_eq!(differ, named, "a pair that agrees now leaves the list");
}
