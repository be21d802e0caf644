//! Our congestion controls in C, as objects, give the same packets as the laws of the same name: one digest for each scenario that is not
//! named as one that differs.

use forebay_scenario::Loader;
use forebay_sim::{Options, Watch, simulate};

/// A law, and its object with the parameters by which the law does as Linux.
const LAWS: [(&str, &str, &str); 4] = [
    ("reno", "", "reno"),
    ("cubic", "", "cubic"),
    ("dctcp", "params = { alpha = \"linux\", cut = \"packets\", prr_on_ce = true }", "dctcp"),
    ("nv", "", "nv"),
];

/// Scenarios without their transports.
const FABRICS: [(&str, &str); 5] = [
    (
        "one flow",
        r#"
stop = { time = "4s" }
[fabric]
kind = "dumbbell"
left = 1
right = 1
host_link = { rate = "1Gbps", delay = "10us" }
bottleneck = { rate = "100Mbps", delay = "5ms" }
[fabric.switch]
buffer = "none"
port_limit = "100 packets"
ECN
[[traffic]]
kind = "long"
from = "left.host[*]"
to = "right.host[*]"
"#,
    ),
    (
        "three flows",
        r#"
stop = { time = "3s" }
[fabric]
kind = "dumbbell"
left = 3
right = 3
host_link = { rate = "1Gbps", delay = "10us" }
bottleneck = { rate = "100Mbps", delay = "5ms" }
[fabric.switch]
buffer = "none"
port_limit = "100 packets"
ECN
[[traffic]]
kind = "long"
from = "left.host[*]"
to = "right.host[*]"
stagger = "300ms"
"#,
    ),
    (
        "a long path",
        r#"
stop = { time = "6s" }
[fabric]
kind = "dumbbell"
left = 1
right = 1
host_link = { rate = "1Gbps", delay = "10us" }
bottleneck = { rate = "50Mbps", delay = "20ms" }
[fabric.switch]
buffer = "none"
port_limit = "150 packets"
ECN
[[traffic]]
kind = "long"
from = "left.host[*]"
to = "right.host[*]"
"#,
    ),
    (
        "short flows",
        r#"
stop = { time = "20ms" }
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_link = { rate = "10Gbps", delay = "1us" }
fabric_link = { rate = "10Gbps", delay = "1us" }
[fabric.switch]
buffer = { size = "1MB", policy = "dynamic-threshold", alpha = 1 }
ECN
[[traffic]]
kind = "poisson"
sizes = "websearch"
load = 0.4
"#,
    ),
    (
        "an incast",
        r#"
stop = { time = "40ms" }
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_link = { rate = "10Gbps", delay = "1us" }
fabric_link = { rate = "10Gbps", delay = "1us" }
[fabric.switch]
buffer = { size = "200KB", policy = "dynamic-threshold", alpha = 1 }
ECN
[[traffic]]
kind = "incast"
fan_in = 6
size = "200KB"
rounds = 3
"#,
    ),
];

/// Pairs whose packets differ, and are not traced yet: several flows share what follows from the first difference.
const DIFFER: [&str; 6] = [
    "cubic, three flows",
    "nv, three flows",
    "nv, a long path",
    "cubic, short flows",
    "nv, short flows",
    "dctcp, an incast",
];

/// Digest of a scenario with this transport.
fn digest(fabric: &str, ecn: &str, transport: &str) -> u64 {
    let text = format!(
        "version = 1\nname = \"t\"\nseeds = [1]\n{}\n[transport]\nkind = \"tcp\"\ndelayed_ack = true\n{transport}\n",
        fabric.replace("ECN", ecn)
    );
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
    for (name, fabric) in FABRICS {
        for (law, params, object) in LAWS {
            let ecn = if law == "dctcp" { "ecn = { k = \"20 packets\" }" } else { "ecn = \"off\"" };
            let own = digest(fabric, ecn, &format!("law = \"{law}\"\n{params}"));
            let other = digest(fabric, ecn, &format!("law = \"bpf:{object}.bpf.o\""));
            if own != other {
                differ.push(format!("{law}, {name}"));
            }
        }
    }
    assert_eq!(differ, DIFFER, "a pair that agrees now leaves the list");
}
