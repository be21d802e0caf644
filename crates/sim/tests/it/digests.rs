//! A scenario gives the same digest on every thread count, cut, build order and engine, on one-touch ports and on
//! explicit ones, and another digest when anything that matters changes.

use crate::common::{run, scenario};
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, twin};
use forebay_units::Span;

/// Digest of every way to run a scenario; all must agree. `explicit` says whether explicit ports must agree too.
fn agreed(scenario: &Scenario, seed: u64) -> u64 {
    let expected = run(scenario, seed, Options::default());
    let digest = expected.record.digest;
    let (least, most) = (Some(Span::from_ps(1)), Some(Span::from_ms(100)));
    for (threads, cut) in [(1, least), (1, most), (2, None), (2, least), (4, None), (4, most)] {
        let other = run(scenario, seed, Options { threads, cut, explicit_ports: false }).record;
        assert_eq!(other.digest, digest, "{threads} threads, cut {cut:?}");
        assert_eq!(other.flows, expected.record.flows);
        assert_eq!(other.ports, expected.record.ports);
        assert_eq!(other.series, expected.record.series);
    }
    for explicit_ports in [false, true] {
        let other = twin::reference(scenario, seed, explicit_ports).unwrap();
        assert_eq!(other.digest, digest, "reference engine, explicit ports: {explicit_ports}");
        assert_eq!(other.flows, expected.record.flows);
        assert_eq!(other.ports, expected.record.ports, "explicit ports: {explicit_ports}");
        assert_eq!(other.series, expected.record.series, "explicit ports: {explicit_ports}");
    }
    let explicit =
        run(scenario, seed, Options { explicit_ports: true, ..Options::default() }).record;
    assert_eq!(explicit.digest, digest, "windowed engine, explicit ports");
    digest
}

fn base(fabric: &str, rest: &str) -> String {
    format!(
        "version = 1\nname = \"t\"\nseeds = [1]\nstop = {{ time = \"600us\" }}\n\
         [output]\nqueues = {{ every = \"7us\" }}\n{fabric}\n{rest}"
    )
}

const LEAF_SPINE: &str = r#"
[fabric]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 3
host_link = { rate = "100Gbps", delay = "500ns" }
fabric_link = { rate = "100Gbps", delay = "1us" }
"#;

const DCTCP: &str = r#"
[transport]
kind = "tcp"
law = "dctcp"
mss = "1448B"
rto_min = "200us"
[[traffic]]
kind = "poisson"
sizes = "fbhadoop_hpcc"
load = 0.6
[[traffic]]
kind = "incast"
fan_in = 6
size = "60KB"
rounds = 3
"#;

fn shipped(name: &str) -> String {
    std::fs::read_to_string(format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR")))
        .unwrap()
}

#[test]
fn ecmp_with_a_shared_buffer() {
    let switch = "[fabric.switch]\nbuffer = { size = \"300KB\", policy = \"dynamic-threshold\", alpha = 0.5 }\n\
                  ecn = { k = \"60KB\" }\n";
    let scenario = scenario(&base(&format!("{LEAF_SPINE}{switch}"), DCTCP));
    let record = run(&scenario, 1, Options::default()).record;
    let drops: u64 = record.ports.iter().map(|p| p.dropped_packets).sum();
    assert!(drops > 0, "the shared buffer has to refuse something for this test to mean much");
    agreed(&scenario, 1);
}

#[test]
fn spraying_over_ports_with_a_ramp() {
    let fabric =
        LEAF_SPINE.replace("kind = \"leaf-spine\"", "kind = \"leaf-spine\"\nrouting = \"spray\"");
    let switch = "[fabric.switch]\nport_limit = \"200KB\"\necn = { kmin = \"20KB\", kmax = \"80KB\", pmax = 0.3 }\n";
    agreed(&scenario(&base(&format!("{fabric}{switch}"), DCTCP)), 2);
}

#[test]
fn priorities_packet_limits_and_dequeue_marks() {
    let switch = "[fabric.switch]\nport_limit = \"100 packets\"\nclasses = 3\n\
                  ecn = { k = \"20 packets\", at = \"dequeue\" }\nrelease = \"start\"\n";
    let rest = DCTCP.replace("rto_min", "class = 1\nack_class = 2\nrto_min");
    agreed(&scenario(&base(&format!("{LEAF_SPINE}{switch}"), &rest)), 3);
}

#[test]
fn a_three_tier_fat_tree_with_symmetric_paths() {
    let fabric = "[fabric]\nkind = \"fat-tree\"\ntiers = 3\nk = 4\nrouting = \"ecmp-symmetric\"\n\
                  host_link = { rate = \"25Gbps\", delay = \"100ns\" }\nfabric_link = { rate = \"100Gbps\", delay = \"2us\" }\n";
    agreed(&scenario(&base(fabric, DCTCP)), 4);
}

#[test]
fn delays_from_nothing_to_long() {
    let fabric = "[fabric]\nkind = \"dumbbell\"\nleft = 3\nright = 3\nhost_link = { rate = \"40Gbps\", delay = \"0ns\" }\n\
                  bottleneck = { rate = \"10Gbps\", delay = \"30us\" }\n[fabric.switch]\nport_limit = \"100KB\"\n";
    let rest = DCTCP.replace("fan_in = 6", "fan_in = 5").replace("0.6", "0.3");
    agreed(&scenario(&base(fabric, &rest)), 5);
}

const FAULTS: &str = r#"
[[fault]]
at = "100us"
link = "leaf[0]-spine[1]"
change = "down"
for = "150us"
[[fault]]
at = "170us"
link = "leaf[1]-spine[0]"
rate = "25Gbps"
for = "100us"
[[fault]]
at = "200us"
link = "leaf[2].host[0]-leaf[2]"
change = "down"
for = "50us"
[[fault]]
at = "300us"
link = "leaf[2]-spine[0]"
loss = 0.05
for = "100us"
"#;

#[test]
fn faults_of_every_kind() {
    for dead_port in ["drop", "hold"] {
        for reroute in ["", "reroute_after = \"30us\"\n"] {
            let fabric = format!("{LEAF_SPINE}dead_port = \"{dead_port}\"\n{reroute}");
            let scenario = scenario(&base(&fabric, &format!("{DCTCP}{FAULTS}")));
            let lost: u64 = run(&scenario, 6, Options::default())
                .record
                .ports
                .iter()
                .map(|p| p.lost_packets)
                .sum();
            assert!(lost > 0, "the faults have to hit something");
            agreed(&scenario, 6);
        }
    }
}

/// Queues decide about paths, whatever serves them: late or in time, with pauses, losses, meters of tokens and cables that fail.
#[test]
fn adaptive_paths_by_queues_of_every_kind() {
    let classes = DCTCP.replace("rto_min", "class = 1\nack_class = 2\nrto_min");
    let shaper =
        "[[fabric.shaper]]\nwhere = \"leaf[0]->spine[1]\"\nrate = \"20Gbps\"\nburst = \"9KB\"\n";
    for (switch, rest) in [
        ("buffer = \"none\"\n", FAULTS),
        ("buffer = { size = \"400KB\" }\nclasses = 3\n", FAULTS),
        ("classes = 3\nport_limit = \"60 packets\"\nrelease = \"start\"\n", FAULTS),
        ("ecn = \"off\"\nbuffer = { size = \"150KB\" }\npause = \"on\"\n", ""),
        ("port_limit = \"90KB\"\n", shaper),
    ] {
        let traffic = if switch.contains("classes") { &classes } else { DCTCP };
        let fabric = format!("{LEAF_SPINE}routing = \"adaptive\"\n[fabric.switch]\n{switch}");
        agreed(&scenario(&base(&fabric, &format!("{traffic}{rest}"))), 8);
    }
}

#[test]
fn pauses_all_the_time() {
    // Small buffers, an incast and cables that fail: frames go both ways over most cables.
    for (size, pause, faults) in [
        ("150KB", "\"on\"", ""),
        ("420KB", "{ xoff = \"6KB\", headroom = \"60KB\", resume_offset = \"2KB\" }", ""),
        (
            "60KB",
            "{ alpha = 2.0, headroom = \"6KB\", reserved = \"1KB\", short_headroom = \"warn\" }",
            FAULTS,
        ),
    ] {
        let switch = format!(
            "[fabric.switch]\necn = \"off\"\nbuffer = {{ size = \"{size}\" }}\npause = {pause}\n"
        );
        let scenario =
            scenario(&base(&format!("{LEAF_SPINE}{switch}"), &format!("{DCTCP}{faults}")));
        let record = run(&scenario, 7, Options::default()).record;
        let frames: u64 = record.ports.iter().map(|p| p.pause_frames_received).sum();
        assert!(frames > 100, "{frames} pause frames with {pause}");
        assert!(record.series.iter().any(|s| s.name.ends_with("paused")));
        agreed(&scenario, 7);
    }
}

#[test]
fn pauses_class_by_class_all_the_time() {
    // Two lossless classes and one that is dropped, marks on the queues of two of them, a watchdog that fires.
    let classes = DCTCP
        .replace("rto_min", "class = 1\nack_class = 2\nrto_min")
        .replace("kind = \"incast\"", "kind = \"incast\"\nclass = 2\nto = \"leaf[0].host[0]\"")
        + "[[traffic]]\nkind = \"permutation\"\nsize = \"90KB\"\nclass = 0\n";
    for (size, release, keys, faults) in [
        ("280KB", "fluid", "xoff = \"9KB\"", ""),
        (
            "100KB",
            "start",
            "alpha = 2.0, headroom = \"6KB\", reserved = \"1KB\", short_headroom = \"warn\"",
            FAULTS,
        ),
        ("280KB", "fluid", "xoff = \"9KB\", watchdog = { after = \"3us\" }", ""),
        (
            "280KB",
            "fluid",
            "xoff = \"9KB\", watchdog = { after = \"3us\", action = \"ignore\" }",
            FAULTS,
        ),
    ] {
        let switch = format!(
            "[fabric.switch]\nclasses = 3\nrelease = \"{release}\"\n\
             ecn = [{{ classes = [1], k = \"20KB\" }}, {{ classes = [2], kmin = \"5KB\", kmax = \"40KB\", pmax = 0.2, at = \"dequeue\" }}]\n\
             buffer = {{ size = \"{size}\", alpha = 0.5 }}\npause = {{ classes = [0, 2], {keys} }}\n"
        );
        let scenario = scenario(
            &base(&format!("{LEAF_SPINE}{switch}"), &format!("{classes}{faults}"))
                .replace("600us", "350us"),
        );
        let record = run(&scenario, 7, Options::default()).record;
        let frames = |class| -> u64 {
            let of_class = record.class_pauses.iter().filter(|row| row.class == class);
            of_class.map(|row| row.pause_frames_received).sum()
        };
        let marked: u64 = record.ports.iter().map(|p| p.marked_packets).sum();
        let fired: u64 = record.class_pauses.iter().map(|row| row.watchdog_fired).sum();
        println!("{keys}: {} {} frames, {marked} marks, {fired} fired", frames(0), frames(2));
        assert!(frames(0) + frames(2) > 20 && frames(1) == 0, "{keys}");
        assert!(marked > 0 && (fired > 0) == keys.contains("watchdog"));
        agreed(&scenario, 7);
    }
}

/// Racks that queue by destination: credits and rates are timers and packets of switches, stops come in the first window.
#[test]
fn racks_with_credits() {
    let traffic = "[transport]\nkind = \"rdma\"\nlaw = \"explicit\"\n\
                   [[traffic]]\nkind = \"poisson\"\nsizes = \"fbhadoop_hpcc\"\nload = 0.3\n\
                   [[traffic]]\nkind = \"incast\"\nfan_in = 6\nsize = \"300KB\"\nrounds = 2\n";
    let literal =
        "requests = \"sent\", params = { n_estimate = \"ratio\", resume = \"previous\" }, ";
    let fault = "[[fault]]\nat = \"100us\"\nlink = \"leaf[0]-spine[1]\"\nchange = \"down\"\n";
    let loss = "[[fabric.override]]\nwhere = \"leaf[*]-spine[*]\"\nloss = 0.02\n";
    let shared = "queue_for = \"rack\", request_timeout = \"20us\", ";
    let mut digests = Vec::new();
    for (readings, fault) in [("", fault), (literal, ""), (shared, loss)] {
        let switch = format!("[fabric.switch]\nhierarchical = {{ {readings}law = \"hiercc\" }}\n");
        let scenario =
            scenario(&base(&format!("{LEAF_SPINE}{switch}"), &format!("{traffic}{fault}")));
        digests.push(agreed(&scenario, 3));
    }
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 3);
}

#[test]
fn shipped_scenarios_agree_when_shortened() {
    for (name, time) in [
        ("websearch", "150us"),
        ("incast", "1ms"),
        ("permutation", "300us"),
        ("link-failure", "1200us"),
    ] {
        let set = [("stop.time", time), ("output.warmup", "0s")];
        let loaded = forebay_scenario::text_with(name, &shipped(name), &set);
        let loaded = loaded.unwrap_or_else(|e| panic!("{e}"));
        agreed(&loaded.scenario, 1);
    }
}

#[test]
fn the_order_of_lines_in_a_graph_changes_nothing() {
    let graph = |hosts: &str, cables: [&str; 5]| {
        let cables = cables.map(|c| {
            let (a, b) = c.split_once('-').unwrap();
            format!("{{ a = \"{a}\", b = \"{b}\" }}")
        });
        let fabric = format!(
            "[fabric]\nkind = \"graph\"\nhosts = {hosts}\nswitches = [\"s1\", \"s2\"]\ncables = [{}]\n\
             host_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\nfabric_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\n",
            cables.join(", ")
        );
        let rest = "[transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n[[traffic]]\nkind = \"all-to-all\"\nsize = \"30KB\"\n";
        let text = format!(
            "version = 1\nname = \"t\"\nseeds = [1]\nstop = {{ time = \"1ms\" }}\n{fabric}{rest}"
        );
        run(&scenario(&text), 1, Options::default()).record.digest
    };
    let one = graph("[\"a\", \"b\", \"c\", \"d\"]", ["a-s1", "b-s1", "c-s2", "d-s2", "s1-s2"]);
    let two = graph("[\"d\", \"b\", \"a\", \"c\"]", ["s2-s1", "s2-d", "b-s1", "s2-c", "a-s1"]);
    assert_eq!(one, two);
}

#[test]
fn what_matters_changes_the_digest() {
    let with = |k: &str, seed| {
        let switch = format!("[fabric.switch]\necn = {{ k = \"{k}\" }}\n");
        run(&scenario(&base(&format!("{LEAF_SPINE}{switch}"), DCTCP)), seed, Options::default())
            .record
            .digest
    };
    assert_eq!(with("60KB", 1), with("60KB", 1));
    assert_ne!(with("60KB", 1), with("60KB", 2), "another seed is another run");
    assert_ne!(with("60KB", 1), with("61KB", 1), "a few ECN bits differ");
}

const HPCC: &str = r#"
[transport]
kind = "rdma"
law = "hpcc"
mss = "1000B"
[[traffic]]
kind = "poisson"
sizes = "fbhadoop_hpcc"
load = 0.5
[[traffic]]
kind = "incast"
fan_in = 6
size = "60KB"
rounds = 3
"#;

#[test]
fn telemetry_whatever_runs_the_fabric() {
    // Words are part of the digest. Rates that need their own codes, pauses, losses, and hosts in which packets wait.
    let odd = LEAF_SPINE.replace("100Gbps", "40Gbps");
    let pause = "ecn = \"off\"\nbuffer = { size = \"420KB\" }\npause = { xoff = \"6KB\", headroom = \"60KB\" }";
    let ring = "[host]\nrx_usecs = \"3us\"\nrx_jitter = \"1us\"\n";
    for (fabric, switch, rest) in [
        (LEAF_SPINE, "port_limit = \"60KB\"", ring),
        (&odd, "port_limit = \"60KB\"\nclasses = 3\nrelease = \"start\"", FAULTS),
        (LEAF_SPINE, pause, FAULTS),
    ] {
        let transport =
            if rest == FAULTS { format!("{HPCC}{rest}") } else { format!("{rest}{HPCC}") };
        let text = format!("{fabric}[fabric.switch]\n{switch}\n");
        let of = |law: &str| {
            let text = base(&text, &transport.replace("hpcc\"\nmss", law));
            scenario(&text.replace("600us", "350us"))
        };
        let hpcc = agreed(&of("hpcc\"\nmss"), 9);
        assert_ne!(hpcc, run(&of("powertcp\"\nmss"), 9, Options::default()).record.digest);
    }
}

/// A lossless class of queue pairs and a class of TCP that is dropped, through the same ports; marks by class.
const CLASSES: &str = r#"
[fabric.switch]
classes = 3
buffer = { size = "700KB", alpha = 0.5 }
pause = { classes = [1], headroom = "40KB" }
ecn = [{ classes = [0], k = "60KB" }, { classes = [1], kmin = "20KB", kmax = "80KB", pmax = 0.2 }]
[transport]
kind = "tcp"
law = "dctcp"
mss = "960B"
rto_min = "200us"
[transports.storage]
kind = "rdma"
law = "dcqcn"
class = 1
ack_class = 2
[transports.lossy]
kind = "rdma"
law = "timely"
recovery = "selective"
ack_every = 4
[[traffic]]
kind = "poisson"
sizes = "fbhadoop_hpcc"
load = 0.3
[[traffic]]
kind = "incast"
fan_in = 6
size = "60KB"
rounds = 3
transport = "storage"
[[traffic]]
kind = "rpc"
from = "leaf[0].host[*]"
to = "leaf[1].host[*]"
request = "3KB"
response = "20KB"
transport = "lossy"
"#;

#[test]
fn tcp_beside_queue_pairs_whatever_runs_the_fabric() {
    let mixed = base(LEAF_SPINE, CLASSES);
    let digest = agreed(&scenario(&mixed), 5);
    for (from, to) in [("transport = \"lossy\"", ""), ("law = \"dcqcn\"", "law = \"swift\"")] {
        assert!(mixed.contains(from));
        let other = scenario(&mixed.replace(from, to));
        assert_ne!(run(&other, 5, Options::default()).record.digest, digest, "{from}");
    }
    let on_linux = mixed.replace("[transport]", "[host]\nprofile = \"linux\"\n[transport]");
    agreed(&scenario(&on_linux), 5);
    // Classes that share by weight, with the answers strictly before them, where some pause and where none does.
    let weights = "classes = 3\nweights = [{ class = 0, weight = 1 }, { class = 1, weight = 3 }]";
    let shared = mixed.replace("classes = 3", weights);
    let dropped = shared.replace("pause = { classes = [1], headroom = \"40KB\" }", "");
    assert!(dropped.len() < shared.len() && shared.len() > mixed.len());
    for text in [shared, dropped] {
        let strict = run(&scenario(&text.replace(weights, "classes = 3")), 5, Options::default());
        assert_ne!(agreed(&scenario(&text), 5), strict.record.digest);
    }
}

/// NICs with data and answers of several classes, of which the switch stops some.
#[test]
fn nics_that_serve_classes() {
    let traffic = |class: u8, kind: &str| {
        format!("[[traffic]]\nkind = \"{kind}\"\nsize = \"90KB\"\nclass = {class}\n")
    };
    let traffic = [traffic(1, "permutation"), traffic(5, "permutation"), traffic(0, "permutation")]
        .concat()
        + &traffic(5, "incast")
        + "fan_in = 6\nrounds = 2\n";
    let pause = "pause = [{ classes = [1], xoff = \"9KB\" }, { classes = [5], xoff = \"20KB\" }]\n";
    for (nic, transport) in [
        ("round-robin", "kind = \"rdma\"\nlaw = \"hpcc\"\n"),
        ("round-robin", "kind = \"rdma\"\nlaw = \"dcqcn\"\ncnp_class = 6\n"),
        ("srpt", "kind = \"tcp\"\nlaw = \"dctcp\"\n"),
        ("fq", "kind = \"tcp\"\nlaw = \"dctcp\"\n"),
        ("push", "kind = \"tcp\"\nlaw = \"cubic\"\n"),
    ] {
        for (pause, faults) in [("", ""), (pause, ""), (pause, FAULTS)] {
            let switch = format!("[fabric.switch]\nclasses = 8\n{pause}");
            let fabric = format!("{LEAF_SPINE}{switch}[host]\nnic = \"{nic}\"\n");
            let keys = format!("[transport]\n{transport}ack_class = 3\n{traffic}{faults}");
            agreed(&scenario(&base(&fabric, &keys)), 1);
        }
    }
}

/// A transport is the same whether it has a name or not.
#[test]
fn all_traffic_over_a_named_transport_is_as_over_that_alone() {
    const OTHER: &str = "kind = \"tcp\"\nlaw = \"reno\"\nmss = \"700B\"\n";
    for keys in [
        "kind = \"rdma\"\nlaw = \"hpcc\"\nbase_rtt = \"path\"\n",
        "kind = \"rdma\"\nlaw = \"swift\"\nrecovery = \"selective\"\n",
        "kind = \"tcp\"\nlaw = \"cubic\"\ndelayed_ack = true\nmss = \"1400B\"\n",
    ] {
        let traffic = "[[traffic]]\nkind = \"poisson\"\nsizes = \"fbhadoop_hpcc\"\nload = 0.5\n";
        let switch = "[fabric.switch]\nport_limit = \"90KB\"\n";
        let fabric = format!("{LEAF_SPINE}{switch}");
        let alone = scenario(&base(&fabric, &format!("[transport]\n{keys}{traffic}")));
        let named = format!(
            "[transport]\n{OTHER}[transports.one]\n{keys}[transports.zero]\n{OTHER}{traffic}transport = \"one\"\n"
        );
        let named = scenario(&base(&fabric, &named));
        let of = |scenario: &Scenario| run(scenario, 3, Options::default()).record;
        let (alone, named) = (of(&alone), of(&named));
        assert_eq!((alone.digest, &alone.flows), (named.digest, &named.flows), "{keys}");
        assert!(alone.flows.len() > 30);
    }
}
