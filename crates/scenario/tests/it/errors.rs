//! What people read when something is wrong. Each row: an edit of a small scenario, and the sentences.

use forebay_scenario::{load, text, text_with};
use std::path::Path;

const BASE: &str = r#"version = 1
name = "small"
seeds = [1, 2]
stop = { time = "4ms" }

[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_link = { rate = "100Gbps", delay = "1us" }

[fabric.switch]
ecn = { k = "300KB" }

[transport]
kind = "tcp"
law = "dctcp"

[[traffic]]
kind = "poisson"
sizes = "websearch"
load = 0.5

[output]
warmup = "500us"
"#;

/// The sentences for one edit, without the name of the file.
fn said(from: &str, to: &str) -> String {
    assert!(BASE.contains(from), "{from:?} is not in the base");
    let file = BASE.replacen(from, to, 1);
    match text("a.toml", &file) {
        Ok(_) => "nothing".into(),
        Err(e) => e.to_string().replace("a.toml:", ""),
    }
}

#[track_caller]
fn golden(rows: &[(&str, &str, &str)]) {
    let mut wrong = String::new();
    for (from, to, expected) in rows {
        let found = said(from, to);
        if found != *expected {
            wrong.push_str(&format!("({from:?}, {to:?},\n {found:?}),\n"));
        }
    }
    assert!(wrong.is_empty(), "these are said now:\n{wrong}");
}

#[test]
fn the_base_is_right() {
    assert_eq!(said("small", "small"), "nothing");
}

#[test]
fn quantities() {
    golden(&[
        (
            "\"100Gbps\"",
            "\"100\"",
            "11:22: fabric.host_link.rate: \"100\" has no unit; write for instance \"100Gbps\"",
        ),
        (
            "\"100Gbps\"",
            "100",
            "11:22: fabric.host_link.rate: 100 has no unit; write for instance \"100Gbps\"",
        ),
        (
            "\"100Gbps\"",
            "\"100us\"",
            "11:22: fabric.host_link.rate: \"100us\" has a unit that does not fit here; use one of bps, Kbps, Mbps, Gbps, Tbps",
        ),
        (
            "\"100Gbps\"",
            "\"fast\"",
            "11:22: fabric.host_link.rate: \"fast\" is not a non-negative decimal number with a unit; write for instance \"100Gbps\"",
        ),
        (
            "\"100Gbps\"",
            "\"-1Gbps\"",
            "11:22: fabric.host_link.rate: \"-1Gbps\" is not a non-negative decimal number with a unit; write for instance \"100Gbps\"",
        ),
        (
            "\"100Gbps\"",
            "\"0Gbps\"",
            "11:22: fabric.host_link.rate: \"0Gbps\" never sends; write a rate above 0 (a [[fault]] takes a cable down)",
        ),
        (
            "\"100Gbps\"",
            "\"99999999Tbps\"",
            "11:22: fabric.host_link.rate: \"99999999Tbps\" is too large; write at most \"1000Tbps\"",
        ),
        (
            "\"100Gbps\"",
            "\"1e30bps\"",
            "11:22: fabric.host_link.rate: \"1e30bps\" has an exponent; write the number out in digits, for instance \"100Gbps\"",
        ),
        (
            "\"100Gbps\"",
            "\"100GBps\"",
            "11:22: fabric.host_link.rate: \"100GBps\" counts bytes (B), where rates count bits; write 8 times as many bits with one of bps, Kbps, Mbps, Gbps, Tbps",
        ),
        (
            "\"4ms\"",
            "\"3000000000s\"",
            "4:17: stop.time: \"3000000000s\" is too large; write at most \"86400s\"",
        ),
        (
            "\"100Gbps\"",
            "[1]",
            "11:22: fabric.host_link.rate: a list does not fit; write for instance \"100Gbps\"",
        ),
        (
            "\"1us\"",
            "\"1h\"",
            "11:41: fabric.host_link.delay: \"1h\" has a unit that does not fit here; use one of ps, ns, us, ms, s",
        ),
        (
            "\"1us\"",
            "\"11s\"",
            "11:41: fabric.host_link.delay: \"11s\" is longer than any cable; write at most \"10s\"",
        ),
        // There and back over four cables: 8 s. Over 530 ms each: 4.24 s.
        (
            "\"1us\"",
            "\"1s\"",
            "11:41: fabric.host_link.delay: \"1s\" makes round trips of 8.00 s, and time stamps of packets repeat after 4.29 s; write shorter delays",
        ),
        ("\"1us\"", "\"530ms\"", "nothing"),
        (
            "\"1us\"",
            "\"0.0001ns\"",
            "11:41: fabric.host_link.delay: \"0.0001ns\" is finer than the smallest unit, \"1ps\"",
        ),
        (
            "\"300KB\"",
            "\"300 pkts\"",
            "14:13: fabric.switch.ecn.k: \"300 pkts\" has a unit that does not fit here; use one of packets, B, KB, MB, GB, TB, KiB, MiB, GiB, TiB",
        ),
        (
            "\"300KB\"",
            "\"1.5 packets\"",
            "14:13: fabric.switch.ecn.k: \"1.5 packets\" is not a whole number of packets; write for instance \"250 packets\"",
        ),
        (
            "\"4ms\"",
            "\"0ms\"",
            "4:17: stop.time: \"0ms\" does nothing; write a time above 0, for instance \"10us\"",
        ),
        ("\"4ms\"", "4e-3", "4:17: stop.time: 0.004 has no unit; write for instance \"10us\""),
        (
            "\"4ms\"",
            "2020-01-01",
            "4:17: stop.time: 2020-01-01 does not fit; write for instance \"10us\"",
        ),
        (
            "\"500us\"",
            "\"4ms\"",
            "26:10: output.warmup: \"4ms\" leaves nothing of a run of 4ms; write less",
        ),
    ]);
}

#[test]
fn keys_and_words() {
    golden(&[
        ("leaves", "leavse", "8:1: fabric.leavse: unknown key; did you mean \"leaves\"?"),
        (
            "spines",
            "hosts-per-leaf",
            "6:1: fabric.spines: is missing; write for instance spines = 8\n9:1: fabric.hosts-per-leaf: unknown key; did you mean \"hosts_per_leaf\"?",
        ),
        (
            "warmup",
            "colour = 1\nwarmup",
            "26:1: output.colour: unknown key; this table takes capture, flows, format, law_log, memory, queues, steps, warmup or why",
        ),
        ("version = 1", "", "1:1: version: is missing; write for instance version = 1"),
        ("version = 1", "version = 2", "1:11: version: 2 is out of range; only 1 is known"),
        (
            "stop = { time = \"4ms\" }",
            "",
            "1:1: stop: is missing; write for instance stop = { time = \"20ms\" }",
        ),
        (
            "stop = { time = \"4ms\" }",
            "stop = \"4ms\"",
            "4:8: stop: \"4ms\" does not fit; write a table such as { time = \"10us\" }",
        ),
        (
            "stop = { time = \"4ms\" }",
            "stop = { tme = \"4ms\", flows = \"al\" }",
            "4:10: stop.tme: unknown key; did you mean \"time\"?\n4:31: stop.flows: \"al\" is not known; write \"all\" or \"ignore\"; did you mean \"all\"?",
        ),
        (
            "kind = \"leaf-spine\"",
            "",
            "6:1: fabric.kind: is missing; write \"dumbbell\", \"star\", \"leaf-spine\", \"fat-tree\", \"clos\" or \"graph\"",
        ),
        (
            "kind = \"leaf-spine\"",
            "kind = \"leafspine\"",
            "7:8: fabric.kind: \"leafspine\" is not known; write \"dumbbell\", \"star\", \"leaf-spine\", \"fat-tree\", \"clos\" or \"graph\"; did you mean \"leaf-spine\"?",
        ),
        (
            "kind = \"leaf-spine\"",
            "kind = \"star\"",
            "6:1: fabric.hosts: is missing; write for instance hosts = 8\n8:1: fabric.leaves: belongs to kind \"leaf-spine\", not to \"star\"; leave it out\n9:1: fabric.spines: belongs to kind \"leaf-spine\", not to \"star\"; leave it out\n10:1: fabric.hosts_per_leaf: belongs to kind \"leaf-spine\", not to \"star\"; leave it out",
        ),
        (
            "kind = \"leaf-spine\"",
            "kind = 7",
            "7:8: fabric.kind: 7 does not fit; write \"dumbbell\", \"star\", \"leaf-spine\", \"fat-tree\", \"clos\" or \"graph\"",
        ),
        (
            "kind = \"tcp\"",
            "kind = \"RoCEv2\"",
            "17:8: transport.kind: \"RoCEv2\" is not known; write \"tcp\", \"rdma\" or \"receiver-driven\"; here that is \"rdma\"",
        ),
        (
            "kind = \"tcp\"",
            "kind = \"quic\"",
            "17:8: transport.kind: \"quic\" is not known; write \"tcp\", \"rdma\" or \"receiver-driven\"",
        ),
        ("[transport]", "[transprot]", "16:2: transprot: unknown key; did you mean \"transport\"?"),
        (
            "[[traffic]]",
            "[traffic]",
            "20:1: traffic: is one table; write [[traffic]], in double brackets, once for each",
        ),
        (
            "{ k = \"300KB\" }",
            "\"on\"",
            "14:7: fabric.switch.ecn: \"on\" does not fit; write \"off\", a table such as { k = \"300KB\" } or a list in [ ]",
        ),
        ("name = \"small\"", "name = 3", "2:8: name: 3 does not fit; write a text in quotes"),
    ]);
}

/// The registry grows, so its lists are not spelled here.
#[test]
fn laws_and_their_parameters() {
    let law = said("\"dctcp\"", "\"dtcp\"");
    assert!(law.starts_with("18:7: transport.law: no law is called \"dtcp\"; write reno"), "{law}");
    assert!(law.ends_with("; did you mean \"dctcp\"?"), "{law}");
    let law = said("\"dctcp\"", "\"expresspass\"");
    assert!(law.contains("\"expresspass\" is a law of receivers; write reno"), "{law}");
    assert!(law.ends_with("or kind = \"receiver-driven\""), "{law}");
    let law = said("\"dctcp\"", "\"hostcc\"");
    assert!(law.contains("\"hostcc\" is a law for host.memory.control; write reno"), "{law}");
    let law = said("\"dctcp\"", "\"hiercc\"");
    assert!(law.contains("\"hiercc\" is a law for fabric.switch.hierarchical; write"), "{law}");
    let law = said("\"dctcp\"", "\"carc\"");
    assert!(law.contains("\"carc\" is a law for pool of an rpc entry; write reno"), "{law}");
    let law = said("[transport]", "[host.memory.control]\nlaw = \"dctcp\"\n[transport]");
    assert!(law.contains("\"dctcp\" is a law for transport.law; write hostcc or nicdrop"), "{law}");
    let value = said("\"dctcp\"", "\"dctcp\"\nparams = { g = 0.3 }");
    assert!(
        value.starts_with("19:16: transport.params.g: \"0.3\" does not fit; dctcp.g takes"),
        "{value}"
    );
    let param = said("\"dctcp\"", "\"dctcp\"\nparams = { gg = 1 }");
    assert!(
        param.starts_with("19:17: transport.params.gg: dctcp has no parameter of this name"),
        "{param}"
    );
    for (from, sentence) in [
        (
            "\"nv\"\nparams = { variant = \"2009\" }",
            "19:22: transport.params.variant: \"2009\" does not fit; nv.variant takes \"mainline\" or \"2010\"",
        ),
        (
            "\"nv\"\nparams = { pad = -1 }",
            "19:18: transport.params.pad: \"-1\" does not fit; nv.pad takes \"auto\" or a whole number of packets from 0 to 65535",
        ),
        (
            "\"nv\"\nparams = { base_rtt = 100 }",
            "19:23: transport.params.base_rtt: \"100\" does not fit; nv.base_rtt takes \"none\" or a time of a microsecond or more, such as \"100us\"",
        ),
        (
            "\"cubic\"\nparams = { hz = 512 }",
            "19:17: transport.params.hz: \"512\" does not fit; cubic.hz takes \"1000\" or \"250\" or \"300\" or \"100\"",
        ),
        (
            "\"bic\"\nparams = { beta = 0.8 }",
            "19:19: transport.params.beta: \"0.8\" does not fit; bic.beta takes a whole number of 1024ths from 1 to 1023",
        ),
    ] {
        assert_eq!(said("\"dctcp\"", from), sentence);
    }
    let own = said("load = 0.5", "load = 0.5\nlaw = \"remo\"");
    assert!(own.ends_with("; did you mean \"reno\"?"), "{own}");
    let own_param = said("load = 0.5", "load = 0.5\nparams = { gg = 1 }");
    assert!(
        own_param.contains("traffic[0].params.gg: dctcp has no parameter of this name"),
        "{own_param}"
    );
}

/// A law that TCP cannot serve says what is missing and what would do, wherever it is chosen.
#[test]
fn laws_that_tcp_does_not_serve() {
    let law = said("\"dctcp\"", "\"dcqcn\"");
    assert!(
        law.starts_with(
            "18:7: transport.law: \"dcqcn\" needs congestion notification packets (CNPs), which receivers of kind \
             \"tcp\" do not send; write transport.kind = \"rdma\", or law = reno, dctcp"
        ),
        "{law}"
    );
    let form = said("\"dctcp\"", "\"powertcp\"");
    assert!(
        form.starts_with(
            "18:7: transport.law: \"powertcp\" needs telemetry of each hop (INT), which packets of kind \"tcp\" do not \
             carry; write transport.kind = \"rdma\", params = { form = \"delay\" }, or law = reno, dctcp"
        ),
        "{form}"
    );
    let own = said("load = 0.5", "load = 0.5\nlaw = \"dcqcn\"");
    assert!(own.contains("traffic[0].law: \"dcqcn\" needs congestion"), "{own}");
}

/// Each kind of transport has keys of its own, and bounds on them.
#[test]
fn keys_of_the_other_transport() {
    let tcp = said("kind = \"tcp\"", "kind = \"tcp\"\ntimeout = \"1ms\"");
    assert_eq!(
        tcp,
        "18:1: transport.timeout: belongs to kind \"rdma\", not to \"tcp\"; leave it out"
    );
    let rdma = |line: &str| said("kind = \"tcp\"", &format!("kind = \"rdma\"\n{line}"));
    assert_eq!(
        rdma("rto_min = \"1ms\""),
        "18:1: transport.rto_min: belongs to kind \"tcp\", not to \"rdma\"; leave it out"
    );
    assert_eq!(
        rdma("max_inflight = \"100B\""),
        "18:16: transport.max_inflight: \"100B\" is less than one packet of 1KB; write \"bdp\", \"none\" or more"
    );
    assert_eq!(
        rdma("timeout = \"0s\""),
        "18:11: transport.timeout: \"0s\" does nothing; write a time above 0, for instance \"10us\""
    );
    assert_eq!(
        rdma("telemetry = \"1KB\""),
        "18:13: transport.telemetry: \"1KB\" is not a size of a header; write for instance \"42B\""
    );
    assert_eq!(
        rdma("ack_every = 0"),
        "18:13: transport.ack_every: 0 is out of range; write 1 to 65535"
    );
    assert!(
        rdma("cnp_class = 5").contains("transport.cnp_class: 5 needs 6 classes"),
        "{}",
        rdma("cnp_class = 5")
    );
    let zero = "kind = \"rdma\"\nrecovery = \"go-back-0\"";
    let rpc = "[[traffic]]\nkind = \"rpc\"\nfrom = \"leaf[0].host[0]\"\nto = \"leaf[1].host[0]\"\nrequest = \"1KB\"\n";
    let file = BASE.replace("kind = \"tcp\"", zero);
    assert!(text("a.toml", &file).is_ok());
    let e = text("a.toml", &(file + rpc)).unwrap_err().to_string();
    assert!(
        e.contains("traffic[1].kind: has streams, which never end, and transport.recovery"),
        "{e}"
    );
    let racks = "hierarchical = { law = \"hiercc\" }\n[[output.capture]]\nwhere = \"leaf[0]\"\n";
    let e = said("ecn = { k = \"300KB\" }", racks);
    assert!(e.contains("output.capture[0]: cannot write credits, which no protocol has"), "{e}");
}

/// A NIC that pauses must be heard by its switch, and keep room for what is on its way.
#[test]
fn nics_that_pause() {
    let nic = |more: &str| {
        said(
            "ecn = { k = \"300KB\" }",
            &format!("ecn = \"off\"\n{more}\n[host.memory]\npause_above = \"384KB\""),
        )
    };
    assert_eq!(
        nic(""),
        "17:15: host.memory.pause_above: no port of the fabric pauses; write fabric.switch.pause = { classes = [0] }, or leave it out"
    );
    let room = nic("buffer = { size = \"8MB\" }\npause = { classes = [0] }");
    assert!(
        room.contains(
            "host.memory.pause_above: 384KB leaves 0B of the NIC buffer of leaf[0].host[0] for the"
        ) && room.contains("that may arrive after a pause; write nic_buffer = "),
        "{room}"
    );
    let own =
        "\n[[host.override]]\nwhere = \"leaf[1].host[2]\"\nmemory = { pause_above = \"383KB\" }";
    let one = said(
        "ecn = { k = \"300KB\" }",
        &format!(
            "ecn = \"off\"\nbuffer = {{ size = \"8MB\" }}\npause = {{ classes = [0] }}\n{own}"
        ),
    );
    assert!(
        one.starts_with("20:26: host.override[0].memory.pause_above: 383KB leaves 1KB of the NIC buffer of leaf[1].host[2]"),
        "{one}"
    );
}

#[test]
fn numbers() {
    golden(&[
        ("leaves = 2", "leaves = 0", "8:10: fabric.leaves: 0 is too few; write 1 or more"),
        ("leaves = 2", "leaves = 2.5", "8:10: fabric.leaves: 2.5 is not a whole number"),
        (
            "leaves = 2",
            "leaves = 1e3",
            "8:10: fabric.leaves: 1000 is written with a point or an exponent; write 1000",
        ),
        (
            "leaves = 2",
            "leaves = 1_000_000_000_000",
            "8:10: fabric.leaves: 1,000,000,000,000 hosts would need about 36.6 PB of memory; write a fabric of at most 1,048,576 hosts",
        ),
        (
            "leaves = 2",
            "leaves = 99999999999999999999",
            "8:10: fabric.leaves: 100000000000000000000 is too large",
        ),
        (
            "leaves = 2",
            "leaves = 65_536",
            "8:10: fabric.leaves: 65536 is more than a switch has ports for; write at most 65535",
        ),
        (
            "hosts_per_leaf = 4",
            "hosts_per_leaf = 65_534",
            "10:18: fabric.hosts_per_leaf: 65534 hosts and 2 spines make 65536 ports of a leaf; at most 65535 are possible",
        ),
        (
            "leaves = 2",
            "leaves = 300_000",
            "8:10: fabric.leaves: 300000 is more than a switch has ports for; write at most 65535",
        ),
        (
            "leaves = 2\nspines = 2",
            "leaves = 40_000\nspines = 40_000",
            "8:10: fabric.leaves: 1,600,000,000 cables between switches would need about 6.6 TB of memory; write a fabric of at most 4,194,304",
        ),
        (
            "load = 0.5",
            "load = 1.5",
            "23:8: traffic[0].load: 1.5 is more than all of the reference; write a share above 0, at most 1",
        ),
        (
            "load = 0.5",
            "load = 0",
            "23:8: traffic[0].load: 0 offers nothing; write a share above 0, at most 1",
        ),
        (
            "load = 0.5",
            "load = -0.5",
            "23:8: traffic[0].load: -0.5 offers nothing; write a share above 0, at most 1",
        ),
        ("load = 0.5", "load = nan", "23:8: traffic[0].load: NaN is not a finite number"),
        (
            "load = 0.5",
            "load = \"half\"",
            "23:8: traffic[0].load: \"half\" does not fit; write a number",
        ),
        (
            "seeds = [1, 2]",
            "seeds = []",
            "3:9: seeds: is empty; write at least one seed, for instance seeds = [1]",
        ),
        (
            "seeds = [1, 2]",
            "seeds = [7, 7]",
            "3:13: seeds[1]: 7 stands twice; equal seeds give equal results, so write each once",
        ),
        ("seeds = [1, 2]", "seeds = 0", "3:9: seeds: 0 is out of range; write 1 to 100000"),
        ("seeds = [1, 2]", "seeds = [-1]", "3:10: seeds[0]: -1 is out of range; write 0 or more"),
        (
            "seeds = [1, 2]",
            "seeds = \"many\"",
            "3:9: seeds: \"many\" does not fit; write a whole number or a list in [ ]",
        ),
        (
            "\"4ms\"",
            "\"10000s\"",
            "20:1: traffic[0]: makes about 292,396,828 flows, which would need about 46.8 GB of memory; at most 50,000,000 are possible, so shorten the run or lower the load",
        ),
        (
            "\"tcp\"",
            "\"tcp\"\nclass = 2",
            "18:9: transport.class: 2 needs 3 classes; write fabric.switch.classes = 3",
        ),
        (
            "\"tcp\"",
            "\"tcp\"\nmtu = \"40B\"",
            "18:7: transport.mtu: \"40B\" leaves no payload beside the header of 52B; write for instance \"1500B\"",
        ),
        (
            "\"tcp\"",
            "\"tcp\"\nmtu = \"1500B\"\nmss = \"1448B\"",
            "18:7: transport.mtu: 1500B and mss say the same thing twice; write one of them",
        ),
        (
            "\"tcp\"",
            "\"tcp\"\nmss = \"64KiB\"",
            "18:7: transport.mss: \"64KiB\" makes packets of 65588B; at most 65535B fit, header included",
        ),
        (
            "\"tcp\"",
            "\"tcp\"\ninitial_window = \"0 packets\"",
            "18:18: transport.initial_window: \"0 packets\" is less than one segment of 1448B; write for instance \"10 packets\"",
        ),
    ]);
}

#[test]
fn switches() {
    golden(&[
        (
            "{ k = \"300KB\" }",
            "{ k = \"300KB\", kmin = \"1KB\" }",
            "14:13: fabric.switch.ecn.k: \"300KB\" is a step, kmin and kmax are a ramp; write one or the other",
        ),
        (
            "{ k = \"300KB\" }",
            "{ kmin = \"1KB\" }",
            "14:7: fabric.switch.ecn: has half a ramp; write kmin and kmax, or k alone for a step",
        ),
        (
            "{ k = \"300KB\" }",
            "{ kmin = \"3KB\", kmax = \"1KB\" }",
            "14:30: fabric.switch.ecn.kmax: \"1KB\" is less than kmin, \"3KB\"; a ramp goes up",
        ),
        (
            "{ k = \"300KB\" }",
            "{ kmin = \"3KB\", kmax = \"9 packets\" }",
            "14:30: fabric.switch.ecn.kmax: \"9 packets\" and kmin are not both bytes or both packets; write both in one of them",
        ),
        (
            "{ k = \"300KB\" }",
            "{ kmin = \"1KB\", kmax = \"3KB\", pmax = 20 }",
            "14:44: fabric.switch.ecn.pmax: 20 is not a probability; write a number from 0 to 1",
        ),
        (
            "ecn",
            "buffer = { size = \"100B\" }\necn",
            "14:19: fabric.switch.buffer.size: \"100B\" holds no packet of 1500B, so nothing would pass; write more",
        ),
        (
            "ecn",
            "buffer = { size = \"1MB\", policy = \"shared\", alpha = 1 }\necn",
            "14:53: fabric.switch.buffer.alpha: 1 means nothing here; it belongs to policy \"dynamic-threshold\"",
        ),
        (
            "ecn",
            "buffer = { size = \"1MB\", alpha = 0 }\necn",
            "14:34: fabric.switch.buffer.alpha: 0 is out of range; write a number above 0, for instance 1",
        ),
        (
            "ecn",
            "buffer = { size = \"1MB\", policy = \"static\" }\nport_limit = \"1MB\"\necn",
            "15:14: fabric.switch.port_limit: \"1MB\" and the policy \"static\" both limit a port; write one of them",
        ),
        (
            "ecn",
            "port_limit = \"0 packets\"\necn",
            "14:14: fabric.switch.port_limit: \"0 packets\" holds no packet of 1500B, so nothing would pass; write more",
        ),
        (
            "ecn",
            "classes = 2\nlimits = [{ class = 2, size = \"9KB\" }]\necn",
            "15:21: fabric.switch.limits[0].class: 2 needs 3 classes; write fabric.switch.classes = 3",
        ),
        (
            "ecn",
            "limits = [{ class = 0, size = \"9KB\" }, { class = 0, size = \"8 packets\" }]\necn",
            "14:50: fabric.switch.limits[1].class: 0 has a limit already; write it once",
        ),
        (
            "ecn",
            "limits = [{ class = 0, size = \"1KB\" }]\necn",
            "14:31: fabric.switch.limits[0].size: \"1KB\" holds no packet of 1500B, so nothing would pass; write more",
        ),
        (
            "ecn",
            "classes = 2\nlimits = [{ class = 1, size = \"9KB\", over = { trim_to = \"64B\", class = 1 } }]\necn",
            "15:72: fabric.switch.limits[0].over.class: 1 is not above class 1, whose data headers have to overtake; write 2 or more",
        ),
        (
            "ecn",
            "limits = [{ class = 0, size = \"9KB\", over = { trim_to = \"64B\", class = 1 } }]\necn",
            "14:72: fabric.switch.limits[0].over.class: 1 needs 2 classes; write fabric.switch.classes = 2",
        ),
        (
            "ecn",
            "classes = 2\nlimits = [{ class = 0, size = \"9KB\", over = { trim_to = \"2KB\", class = 1 } }]\necn",
            "15:57: fabric.switch.limits[0].over.trim_to: \"2KB\" is not a part of a packet of 1500B; write \"64B\"",
        ),
        (
            "ecn",
            "classes = 2\nlimits = [{ class = 0, size = \"9KB\", over = { trim_to = \"20B\", class = 1 } }]\necn",
            "15:57: fabric.switch.limits[0].over.trim_to: \"20B\" cuts into headers of 52B; write \"52B\"",
        ),
        (
            "ecn",
            "classes = 2\nlimits = [{ class = 0, size = \"9KB\", over = { trim_to = \"64B\", class = 1, coin = 2 } }]\necn",
            "15:82: fabric.switch.limits[0].over.coin: 2 is out of range; write 0 to 1",
        ),
        (
            "ecn",
            "classes = 2\nlimits = [{ class = 0, size = \"1 packet\", over = { trim_to = \"64B\", class = 1 } }]\necn",
            "15:31: fabric.switch.limits[0].size: \"1 packet\" leaves no packet to trim behind the one in transmission; write \"2 packets\" or more",
        ),
        (
            "ecn",
            "classes = 2\nbuffer = { size = \"1MB\" }\nlimits = [{ class = 0, size = \"9KB\", over = { trim_to = \"64B\", class = 1 } }]\necn",
            "15:10: fabric.switch.buffer: would drop packets before their class could trim them; write buffer = \"none\"",
        ),
        (
            "ecn",
            "pause = { classes = [1] }\nclasses = 2\nlimits = [{ class = 0, size = \"9KB\", over = { trim_to = \"64B\", class = 1 } }]\necn",
            "16:10: fabric.switch.limits: and pause both answer full queues; leave out over or pause",
        ),
        (
            "ecn",
            "pause = { classes = [0] }\nclasses = 2\nlimits = [{ class = 0, size = \"9KB\", over = { trim_to = \"64B\", class = 1 } }]\necn",
            "16:10: fabric.switch.limits: and pause both answer full queues; leave out over or pause",
        ),
        (
            "ecn",
            "wrr = { high = 10, low = 1 }\necn",
            "14:7: fabric.switch.wrr: are of two classes; write fabric.switch.classes = 2",
        ),
        (
            "ecn",
            "classes = 2\nwrr = { high = 10, low = 1 }\nweights = [{ class = 0, weight = 3 }, { class = 1, weight = 1 }]\necn",
            "15:7: fabric.switch.wrr: and weights both order classes; write one of them",
        ),
        (
            "k = \"300KB\"",
            "k = \"6KB\", ect = \"pass\"",
            "14:26: fabric.switch.ecn.ect: \"pass\" leaves a rule that does nothing; write not_ect = \"drop\", or leave ect out",
        ),
        (
            "k = \"300KB\"",
            "k = \"6KB\", not_ect = \"drop\", ect = \"pass\", at = \"dequeue\"",
            "14:44: fabric.switch.ecn.ect: \"pass\" leaves a rule that does nothing; write at = \"enqueue\", or leave ect out",
        ),
        (
            "ecn",
            "return_to_sender = true\necn",
            "14:20: fabric.switch.return_to_sender: is about trimmed packets; write over = { trim_to = \"64B\", class = 1 } in fabric.switch.limits",
        ),
        (
            "ecn",
            "return_to_sender = true\nclasses = 2\nlimits = [{ class = 0, size = \"9KB\", over = { trim_to = \"64B\", class = 1 } }]\necn",
            "14:20: fabric.switch.return_to_sender: needs a limit that headers may meet; write { class = 1, size = \"33KB\" } in fabric.switch.limits",
        ),
        (
            "ecn",
            "buffer = { size = \"1MB\", policy = \"shared\", threshold = \"queue\" }\necn",
            "14:57: fabric.switch.buffer.threshold: \"queue\" means nothing here; it belongs to policy \"dynamic-threshold\" without pause",
        ),
        (
            "ecn",
            "classes = 2\nweights = [{ class = 0, weight = 3 }, { class = 2, weight = 1 }]\necn",
            "15:49: fabric.switch.weights[1].class: 2 needs 3 classes; write fabric.switch.classes = 3",
        ),
        (
            "ecn",
            "classes = 2\nweights = [{ class = 0, weight = 3 }, { class = 0, weight = 1 }]\necn",
            "15:49: fabric.switch.weights[1].class: 0 has a weight already; write it once",
        ),
        (
            "ecn",
            "classes = 2\nweights = [{ class = 0, weight = 3 }]\necn",
            "15:11: fabric.switch.weights: has fewer than two classes, so there is nothing to share; write two or more, or leave it out",
        ),
        (
            "ecn",
            "classes = 2\nweights = [{ class = 0, weight = 101 }, { class = 1, weight = 1 }]\necn",
            "15:34: fabric.switch.weights[0].weight: 101 is out of range; write 1 to 100",
        ),
        (
            "ecn",
            "classes = 2\ncredits = { class = 2 }\necn",
            "15:21: fabric.switch.credits.class: 2 needs 3 classes; write fabric.switch.classes = 3",
        ),
        (
            "ecn",
            "classes = 3\ncredits = { class = 1 }\necn",
            "15:21: fabric.switch.credits.class: 1 is not the highest class, and credits go before all others; write 2",
        ),
        (
            "ecn",
            "classes = 2\ncredits = { class = 1, share = \"5%\" }\necn",
            "15:32: fabric.switch.credits.share: \"5%\" is not a fraction of two whole numbers; write for instance \"84/1622\"",
        ),
        (
            "ecn",
            "classes = 2\ncredits = { class = 1, share = \"3/2\" }\necn",
            "15:32: fabric.switch.credits.share: \"3/2\" is not a part of a link; write for instance \"84/1622\"",
        ),
        (
            "ecn",
            "classes = 2\ncredits = { class = 1, burst = \"60B\" }\necn",
            "15:32: fabric.switch.credits.burst: \"60B\" is less than a credit, 64B on the wire; write more",
        ),
        (
            "ecn",
            "classes = 2\nlimits = [{ class = 1, size = \"9KB\" }]\ncredits = { class = 1 }\necn",
            "16:11: fabric.switch.credits.limit: and fabric.switch.limits both limit class 1; leave out one of them",
        ),
        (
            "ecn",
            "classes = 2\nweights = [{ class = 0, weight = 1 }, { class = 1, weight = 1 }]\ncredits = { class = 1 }\necn",
            "16:21: fabric.switch.credits.class: and fabric.switch.weights both say when class 1 goes; leave out one of them",
        ),
        (
            "ecn",
            "classes = 2\ncredits = { class = 1 }\npause = \"on\"\necn",
            "15:11: fabric.switch.credits: and pause both hold packets back; leave out one of them",
        ),
        (
            "ecn",
            "classes = 9\necn",
            "14:11: fabric.switch.classes: 9 is out of range; write 1 to 8",
        ),
    ]);
}

#[test]
fn places() {
    golden(&[
        (
            "[output]",
            "[[fabric.override]]\nwhere = \"leaf[9]\"\nrate = \"1Gbps\"\n[output]",
            "26:9: fabric.override[0].where: \"leaf[9]\" matches no node and no cable; write for instance \"leaf[0]\" or \"leaf[1]-spine[1]\"",
        ),
        (
            "[output]",
            "[[fabric.override]]\nwhere = \"leaf[0]\"\n[output]",
            "25:1: fabric.override[0]: changes nothing; write a rate, a delay, a port_limit, a loss or pause",
        ),
        (
            "[output]",
            "[[fabric.override]]\nwhere = \"leaf[*]\"\nloss = 2\n[output]",
            "27:8: fabric.override[0].loss: 2 is not a probability; write a number from 0 to 1",
        ),
        (
            "[output]",
            "[[fault]]\nat = \"1ms\"\nlink = \"leaf[0]-spine[7]\"\n[output]",
            "27:8: fault[0].link: \"leaf[0]-spine[7]\" is not a cable; write for instance \"leaf[1]-spine[1]\"",
        ),
        (
            "[output]",
            "[[fault]]\nat = \"9ms\"\nlink = \"leaf[0]-spine[1]\"\n[output]",
            "26:6: fault[0].at: 9ms is not before the end of the run, stop.time = 4ms",
        ),
        (
            "[output]",
            "[[fault]]\nat = \"1ms\"\nlink = \"leaf[0]-spine[1]\"\nchange = \"rate\"\n[output]",
            "25:1: fault[0]: change = \"rate\" needs a new rate; write rate = ...",
        ),
        (
            "[output]",
            "[[fault]]\nat = \"1ms\"\nlink = \"leaf[0]-spine[1]\"\nchange = \"up\"\nfor = \"1ms\"\n[output]",
            "29:7: fault[0].for: \"1ms\" means nothing with change = \"up\"; leave it out",
        ),
        (
            "[transport]",
            "[[fabric.shaper]]\nwhere = \"leaf[0]->spine[0]\"\nrate = \"1Gbps\"\nburst = \"1KB\"\n[transport]",
            "19:9: fabric.shaper[0].burst: \"1KB\" is less than the largest packet, 1500B on the wire, which would never leave; write burst = \"1500B\" or more",
        ),
        (
            "[transport]",
            "[[fabric.shaper]]\nwhere = \"leaf[0]-spine[0]\"\nrate = \"1Gbps\"\nburst = \"16KB\"\n[transport]",
            "17:9: fabric.shaper[0].where: \"leaf[0]-spine[0]\" is a cable, which has two ends; write \"leaf[0]->spine[0]\" or \"spine[0]->leaf[0]\"",
        ),
        (
            "[transport]",
            "[[fabric.shaper]]\nwhere = \"leaf[1].host[*]\"\nrate = \"1Gbps\"\nburst = \"16KB\"\nlimit = \"9KB\"\n[transport]",
            "20:9: fabric.shaper[0].limit: \"9KB\" means nothing at leaf[1].host[0], a host, whose packets wait in their flows; leave it out",
        ),
        (
            "law = \"dctcp\"",
            "law = \"dctcp\"\ntimer_tick = \"4us\"",
            "19:14: transport.timer_tick: \"4us\" is not a tick of a kernel; write \"100us\" or more, for instance \"4ms\"",
        ),
        (
            "law = \"dctcp\"",
            "law = \"dctcp\"\ntimer_tick = \"1s\"",
            "19:14: transport.timer_tick: \"1s\" is longer than in any kernel; write at most \"100ms\"",
        ),
        (
            "law = \"dctcp\"",
            "law = \"dctcp\"\ndelayed_ack_timeout = \"1s\"",
            "19:23: transport.delayed_ack_timeout: \"1s\" is longer than in any kernel; write at most \"500ms\"",
        ),
        (
            "[output]",
            "[[fault]]\nat = \"1ms\"\nlink = \"leaf[0]->spine[1]\"\n[output]",
            "27:8: fault[0].link: \"leaf[0]->spine[1]\" is one direction, and change = \"down\" is of both; write link = \"leaf[0]-spine[1]\"",
        ),
        (
            "[output]",
            "[[fault]]\nat = \"1ms\"\nlink = \"leaf[0]-spine[1]\"\ndrop = [7]\n[output]",
            "27:8: fault[0].link: \"leaf[0]-spine[1]\" has two directions, and drop counts the packets of one; write link = \"leaf[0]->spine[1]\" or \"spine[1]->leaf[0]\"",
        ),
        (
            "[output]",
            "[[fault]]\nat = \"1ms\"\nlink = \"leaf[0]->spine[1]\"\nchange = \"drop\"\n[output]",
            "25:1: fault[0]: change = \"drop\" needs the numbers of packets; write for instance drop = [1, 2]",
        ),
        (
            "[output]",
            "[[fault]]\nat = \"1ms\"\nlink = \"leaf[0]->spine[1]\"\ndrop = [0]\n[output]",
            "28:9: fault[0].drop[0]: 0 is too few; write 1 or more",
        ),
        (
            "[output]",
            "[[fault]]\nat = \"1ms\"\nlink = \"leaf[0]->spine[1]\"\ndrop = [7]\nflow = 4000000000\n[output]",
            "29:8: fault[0].flow: there is no flow 4000000000 with seed 2, whose flows are 0 to 114",
        ),
        (
            "[output]",
            "[[fault]]\nat = \"1ms\"\nlink = \"leaf[0]->spine[1]\"\nloss = 0.1\nflow = 4\n[output]",
            "29:8: fault[0].flow: 4 means nothing with change = \"loss\"; leave it out, or add a fault of its own",
        ),
        (
            "[output]",
            "[output]\nqueues = { every = \"1us\", where = [\"leaf[0]\", \"lef[1]\"] }",
            "26:47: output.queues.where[1]: no node is called \"lef[1]\"; they go from leaf[0].host[0] to spine[1]; did you mean \"leaf[1]\"?",
        ),
        (
            "[output]",
            "[output]\nflows = { every = \"1us\", where = \"spine[0]\" }",
            "26:34: output.flows.where: no host is called \"spine[0]\"; they go from leaf[0].host[0] to leaf[1].host[3]",
        ),
        (
            "[output]",
            "[output]\nflows = { every = \"1us\", most = 0 }",
            "26:33: output.flows.most: 0 is too few; write 1 or more",
        ),
        (
            "[output]",
            "[[traffic]]\nkind = \"incast\"\nfan_in = 8\nsize = \"1MB\"\n[output]",
            "27:10: traffic[1].fan_in: 8 is more than the 7 other hosts; write at most 7",
        ),
        (
            "[output]",
            "[[traffic]]\nkind = \"incast\"\nfan_in = 2\nsize = \"1MB\"\nto = \"leaf[0].host[9]\"\n[output]",
            "29:6: traffic[1].to: no host is called \"leaf[0].host[9]\"; they go from leaf[0].host[0] to leaf[1].host[3]; did you mean \"leaf[0].host[0]\"?",
        ),
        (
            "[output]",
            "[[traffic]]\nkind = \"long\"\nfrom = \"leaf[0].host[*]\"\nto = [\"leaf[1].host[0]\", \"leaf[1].host[1]\"]\n[output]",
            "28:6: traffic[1].to: the list names 2 hosts for the 4 of from; write as many, or one for all",
        ),
        (
            "[output]",
            "[[traffic]]\nkind = \"list\"\nflows = [{ from = \"leaf[0].host[0]\", to = \"leaf[0].host[0]\", size = \"0B\" }]\n[output]",
            "27:10: traffic[1].flows[0]: flow 0 goes from \"leaf[0].host[0]\" to itself; write another host\n27:69: traffic[1].flows[0].size: \"0B\" is not a flow; write 1B or more",
        ),
        (
            "[output]",
            "[[traffic]]\nkind = \"list\"\nflows = [{ from = \"leaf[0].host[0]\", to = \"x\", size = \"1B\", at = \"4ms\" }]\n[output]",
            "27:43: traffic[1].flows[0].to: no host is called \"x\"; they go from leaf[0].host[0] to leaf[1].host[3]\n27:66: traffic[1].flows[0].at: flow 0 starts at 4ms, not before the end of the run, stop.time = 4ms",
        ),
        (
            "[output]",
            "[[traffic]]\nkind = \"list\"\n[output]",
            "25:1: traffic[1]: needs either flows or a file; write for instance file = \"flows.csv\"",
        ),
        (
            "[output]",
            "[[traffic]]\nkind = \"list\"\nfile = \"none.csv\"\n[output]",
            "27:8: traffic[1].file: \"none.csv\" is missing; check the path",
        ),
        (
            "load = 0.5",
            "load = 0.5\nstart = \"3ms\"\nuntil = \"2ms\"",
            "25:9: traffic[0].until: \"2ms\" is not after start, 3ms; write a later time",
        ),
    ]);
}

#[test]
fn sizes() {
    golden(&[
        (
            "\"websearch\"",
            "\"web-search\"",
            "22:9: traffic[0].sizes: no distribution is called \"web-search\"; did you mean \"websearch\"?",
        ),
        (
            "\"websearch\"",
            "\"64\"",
            "22:9: traffic[0].sizes: \"64\" has no unit; write for instance \"64KiB\"",
        ),
        (
            "\"websearch\"",
            "\"none.csv\"",
            "22:9: traffic[0].sizes: \"none.csv\" is missing; check the path",
        ),
        (
            "\"websearch\"",
            "{ points = [] }",
            "22:9: traffic[0].sizes: has no points; write pairs of bytes and cumulative probability",
        ),
        (
            "\"websearch\"",
            "{ points = [[100, 0.5], [50, 1]] }",
            "22:9: traffic[0].sizes: is not monotone: at point 2 the size falls from 100 to 50; sort the points",
        ),
        (
            "\"websearch\"",
            "{ points = [[100, 0.5], [150, 0.4]] }",
            "22:9: traffic[0].sizes: is not monotone: at point 2 the probability falls from 0.5 to 0.4; sort the points",
        ),
        (
            "\"websearch\"",
            "{ points = [[100, 0.5], [150, 0.9]] }",
            "22:9: traffic[0].sizes: ends at probability 0.9; the last point must have 1 (or 100 per cent)",
        ),
        (
            "\"websearch\"",
            "{ points = [[100, 0.5], [150]] }",
            "22:33: traffic[0].sizes.points[1]: is a list of length 1; write 2 values",
        ),
        (
            "\"websearch\"",
            "{ points = [[-1, 0.5], [150, 1]] }",
            "22:9: traffic[0].sizes: point 1: -1 is not a size from 0 to 1e15 bytes",
        ),
        (
            "\"websearch\"",
            "{ name = \"mine\" }",
            "22:9: traffic[0].sizes: needs either points or a file; write for instance points = [[1000, 0.5], [100000, 1]]",
        ),
    ]);
}

const GRAPH: &str = r#"version = 1
stop = { time = "1ms" }
[fabric]
kind = "graph"
hosts = ["a", "b", "c"]
switches = ["s", "t"]
host_link = { rate = "1Gbps", delay = "1us" }
cables = [
  { a = "a", b = "s" },
  { a = "b", b = "s" },
  { a = "c", b = "t" },
  { a = "s", b = "t" },
]
[transport]
kind = "tcp"
law = "reno"
[[traffic]]
kind = "permutation"
size = "1MB"
"#;

#[test]
fn graphs() {
    let rows: &[(&str, &str, &str)] = &[
        ("s", "s", "nothing"),
        (
            "  { a = \"s\", b = \"t\" },\n",
            "",
            "8:10: fabric.cables: no path leads from \"a\" to \"c\"; add a cable between their switches",
        ),
        (
            "b = \"t\" },\n  { a = \"s\"",
            "b = \"x\" },\n  { a = \"s\"",
            "11:18: fabric.cables[2].b: \"x\" is neither in hosts nor in switches",
        ),
        (
            "{ a = \"b\", b = \"s\" }",
            "{ a = \"b\", b = \"c\" }",
            "5:20: fabric.hosts[2]: \"c\" has 2 cables; give it exactly one, to a switch\n10:3: fabric.cables[1]: joins the hosts \"b\" and \"c\"; a host's cable goes to a switch",
        ),
        (
            "{ a = \"s\", b = \"t\" }",
            "{ a = \"s\", b = \"s\" }",
            "12:3: fabric.cables[3]: joins \"s\" to itself; write two different ends",
        ),
        (
            "{ a = \"s\", b = \"t\" }",
            "{ a = \"t\", b = \"c\" }",
            "5:20: fabric.hosts[2]: \"c\" has 2 cables; give it exactly one, to a switch\n12:3: fabric.cables[3]: joins \"t\" and \"c\" a second time; give one cable the sum of the rates",
        ),
        (
            "\"b\", \"c\"]",
            "\"b\", \"c\", \"b\"]",
            "5:25: fabric.hosts[3]: \"b\" stands twice; give each node its own name",
        ),
        (
            "\"b\", \"c\"]",
            "\"b-1\", \"c\"]",
            "5:15: fabric.hosts[1]: \"b-1\" is not a name; use letters, digits, and _ . [ ] (a - joins the ends of a cable)\n5:15: fabric.hosts[1]: \"b-1\" has 0 cables; give it exactly one, to a switch\n10:9: fabric.cables[1].a: \"b\" is neither in hosts nor in switches",
        ),
    ];
    let mut wrong = String::new();
    for (from, to, expected) in rows {
        let found = match text("a.toml", &GRAPH.replacen(from, to, 1)) {
            Ok(_) => "nothing".into(),
            Err(e) => e.to_string().replace("a.toml:", ""),
        };
        if found != *expected {
            wrong.push_str(&format!("({from:?}, {to:?},\n {found:?}),\n"));
        }
    }
    assert!(wrong.is_empty(), "these are said now:\n{wrong}");
}

#[test]
fn shapes() {
    let shape = |shape: &str| {
        said("kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4", shape)
    };
    let rows = [
        (
            "kind = \"fat-tree\"\nk = 5",
            "8:5: fabric.k: 5 cannot be split into ports up and down; write an even number, 4 or more",
        ),
        (
            "kind = \"fat-tree\"\nk = 4\ntiers = 4",
            "9:9: fabric.tiers: 4 is not possible; write 2 or 3",
        ),
        (
            "kind = \"fat-tree\"\nk = 1000",
            "8:5: fabric.k: 250,000,000 hosts would need about 9.2 TB of memory; write a fabric of at most 1,048,576 hosts",
        ),
        (
            "kind = \"star\"\nhosts = 1",
            "8:9: fabric.hosts: 1 host has no other host to send to; write 2 or more",
        ),
        (
            "kind = \"dumbbell\"\nleft = 0\nright = 70000",
            "8:8: fabric.left: 0 is too few; write 1 or more",
        ),
        (
            "kind = \"dumbbell\"\nleft = 1\nright = 70000",
            "9:9: fabric.right: 70000 is more than a switch has ports for; write at most 65534",
        ),
    ];
    let wrong: Vec<_> =
        rows.iter().filter(|(s, e)| shape(s) != *e).map(|(s, _)| (s, shape(s))).collect();
    assert!(wrong.is_empty(), "these are said now:\n{wrong:?}");
}

#[test]
fn settings() {
    let set = |key: &str, value: &str| match text_with("a.toml", BASE, &[(key, value)]) {
        Ok(_) => "nothing".into(),
        Err(e) => e.to_string(),
    };
    let rows = [
        ("traffic[0].load", "0.7", "nothing"),
        ("transport.law", "reno", "nothing"),
        ("fabric.host_link.rate", "25Gbps", "nothing"),
        ("fabric.spine_link", "{ rate = \"1Gbps\", delay = \"1us\" }", "nothing"),
        ("host.nic", "fifo", "nothing"),
        (
            "traffic[0].load",
            "2",
            "--set traffic[0].load=2: traffic[0].load: 2 is more than all of the reference; write a share above 0, at most 1",
        ),
        (
            "traffic[1].load",
            "0.7",
            "--set traffic[1].load=0.7: traffic: has one entry, [0], and no [1]",
        ),
        (
            "traffic.load",
            "0.7",
            "--set traffic.load=0.7: traffic: is a list and has no key \"load\"; write for instance traffic[0].load",
        ),
        ("fabric[0]", "0.7", "--set fabric[0]=0.7: fabric: is not a list, so it takes no [index]"),
        (
            "stop.time.x",
            "0.7",
            "--set stop.time.x=0.7: stop.time: is a text and has no key \"x\"; if it may be a table, set it whole: stop.time={ x = 0.7 }",
        ),
        (
            "fabric.leavse",
            "3",
            "--set fabric.leavse=3: fabric.leavse: unknown key; did you mean \"leaves\"?",
        ),
        (
            "fabric.leaves",
            "",
            "--set fabric.leaves=: fabric.leaves: \"\" does not fit; write a whole number",
        ),
        (
            "stop.time",
            "5",
            "--set stop.time=5: stop.time: 5 has no unit; write for instance \"10us\"",
        ),
        (
            "a..b",
            "5",
            "--set a..b=5: \"a..b\" is not the path of a key; write for instance traffic[0].load",
        ),
        (
            "traffic[x]",
            "5",
            "--set traffic[x]=5: \"traffic[x]\" is not the path of a key; write for instance traffic[0].load",
        ),
    ];
    let wrong: Vec<_> = rows
        .iter()
        .filter(|(k, v, e)| set(k, v) != *e)
        .map(|(k, v, _)| (k, v, set(k, v)))
        .collect();
    assert!(wrong.is_empty(), "these are said now:\n{wrong:?}");
}

#[test]
fn sweeps_and_bands() {
    golden(&[
        (
            "\"dctcp\"",
            "\"dctcp\"\nreceive_window = \"1MB\"\nreceive_window_max = \"64KB\"",
            "20:22: transport.receive_window_max: \"64KB\" is less than the window begins with, 1MB; write more",
        ),
        (
            "\"dctcp\"",
            "\"dctcp\"\nreceive_window = \"2GiB\"",
            "19:18: transport.receive_window: \"2GiB\" is more than TCP can say; write at most \"1GiB\"",
        ),
        ("[output]", "[sweep]\n\"traffic[0].load\" = [0.1, 0.2]\n[output]", "nothing"),
        // A key that only the sweep gives is not missing.
        ("law = \"dctcp\"\n", "[sweep]\n\"transport.law\" = [\"reno\", \"dctcp\"]\n", "nothing"),
        ("load = 0.5", "[sweep]\n\"traffic[0].load\" = [0.1, 0.2]", "nothing"),
        (
            "law = \"dctcp\"\n",
            "[sweep]\n\"transport.law\" = []\n",
            "16:1: transport.law: is missing; write for instance law = \"dctcp\"",
        ),
        (
            "[output]",
            "[sweep]\n\"traffic[0].load\" = [0.1, \"x\"]\n[output]",
            "26:27: sweep.\"traffic[0].load\": the value \"x\": traffic[0].load: \"x\" does not fit; write a number",
        ),
        (
            "[output]",
            "[sweep]\n\"traffic[0].laod\" = [0.1]\n[output]",
            "26:22: sweep.\"traffic[0].laod\": the value 0.1: traffic[0].laod: unknown key; did you mean \"load\"?",
        ),
        (
            "[output]",
            "[sweep]\n\"traffic[0].load\" = []\n[output]",
            "26:21: sweep.\"traffic[0].load\": is empty; write at least one value",
        ),
        (
            "[output]",
            "[sweep]\n\"traffic[0].load\" = 1\n[output]",
            "26:21: sweep.\"traffic[0].load\": 1 does not fit; write a list in [ ]",
        ),
        (
            "[output]",
            "[sweep]\n\"fabric.switch.ecn\" = [{ label = 3, kmin = \"20KB\", kmax = \"40KB\" }]\n[output]",
            "26:34: sweep.\"fabric.switch.ecn\": the label 3 is a whole number; write a text in quotes",
        ),
        (
            "[output]",
            "[sweep]\n\"fabric.switch.ecn\" = [{ label = \" \", kmin = \"20KB\", kmax = \"40KB\" }]\n[output]",
            "26:34: sweep.\"fabric.switch.ecn\": the label is empty; write a name",
        ),
        (
            "[output]",
            "[sweep]\n\"transport.params\" = [{ label = \"a\", g = 0.1 }, { label = \"a\", g = 0.2 }]\n[output]",
            "26:59: sweep.\"transport.params\": two values have the label \"a\"; write another name",
        ),
        (
            "[output]",
            "[[expect]]\nmetric = \"flows.slowdown.p99\"\n[output]",
            "25:1: expect[0]: sets no band; write min, max or both",
        ),
        (
            "[output]",
            "[[expect]]\nmetric = \"flows.slowdown.p99\"\nmin = 2\nmax = 1\n[output]",
            "25:1: expect[0]: min 2 is above max 1",
        ),
        (
            "[output]",
            "[[expect]]\nmetric = \"flows.completed\"\nwhere = \"size 100KB\"\nmin = 1\n[output]",
            "27:9: expect[0].where: \"size 100KB\" has no comparison; write for instance \"size < 100KB\" or \"traffic == 0 and start >= 1ms\"",
        ),
        (
            "[output]",
            "[[expect]]\nmetric = \"flows.completed\"\nwhere = \"start > 1ms and size < 100\"\nmin = 1\n[output]",
            "27:9: expect[0].where: \"size < 100\" is not understood: \"100\" has no unit; write for instance \"64KiB\"",
        ),
        (
            "[output]",
            "[[expect]]\nmetric = \"flows.completed\"\nwhere = \"colour == red\"\nmin = 1\n[output]",
            "27:9: expect[0].where: \"colour == red\" begins with \"colour\", not size, start, traffic, src or dst; write for instance \"size < 100KB\" or \"traffic == 0 and start >= 1ms\"",
        ),
        (
            "[output]",
            "[[expect]]\nmetric = \"flows.completed\"\nwhere = \"src < a\"\nmin = 1\n[output]",
            "27:9: expect[0].where: \"src < a\" compares names, which takes == or !=; write for instance \"size < 100KB\" or \"traffic == 0 and start >= 1ms\"",
        ),
    ]);
}

#[test]
fn files() {
    let folder = std::env::temp_dir().join(format!("forebay-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    let said = |name: &str| {
        let e = load(&folder.join(name)).unwrap_err().to_string();
        e.replace(&*folder.to_string_lossy(), "DIR")
    };
    write("latin.toml", b"name = \"caf\xe9\"");
    write("broken.toml", b"a = [1,\n");
    write("twice.toml", b"a = 1\na = 2\n");
    write("sizes.csv", b"# mine\nbytes,percent\n0,0\n1000 50\n9000;100\n");
    write("bad.csv", b"bytes,p\n1000,0.5\n2000,half\n");
    write("flows.csv", b"from,to,size,at\nleaf[0].host[0],leaf[1].host[3],1MB,1us\n");
    write("noat.csv", b"from,to,size\n");
    write("semi.csv", b"from;to;size;at\nhost[0];host[1];1KB;0us\n");
    write("unit.csv", b"from,to,size,at\nleaf[0].host[0],leaf[1].host[3],1MB,7\n");
    write("own.toml", BASE.replace("websearch", "sizes.csv").as_bytes());
    write("badsizes.toml", BASE.replace("websearch", "bad.csv").as_bytes());
    let list = |file: &str| format!("{BASE}[[traffic]]\nkind = \"list\"\nfile = \"{file}\"\n");
    write("list.toml", list("flows.csv").as_bytes());
    write(
        "strange.csv",
        b"from,to,size,at\n# two hosts\nleaf[0].host[0],leaf[1].host[3],1MB,1us\nhost[0],leaf[1].host[3],0B,1us\n",
    );
    write("strange.toml", list("strange.csv").as_bytes());
    let why = load(&folder.join("strange.toml")).unwrap_err().to_string();
    let lines: Vec<&str> = why.lines().filter(|l| l.contains("\"strange.csv\" line 4: ")).collect();
    assert!(lines.len() == 2 && lines[0].contains("no host is called \"host[0]\""), "{why}");
    assert!(lines[1].contains("0B is not a size of a flow"), "{why}");
    // All mistakes of a table at once, in the order of its lines; quotation marks around cells are those of a spreadsheet.
    write(
        "many.csv",
        b"\"from\",\"to\",\"size\",\"at\"\n\"leaf[0].host[0]\",leaf[1].host[3],1000,1us\nhost[0],leaf[1].host[3],1MB,1us\n\
          leaf[0].host[0],leaf[0].host[0],1MB,1us\nleaf[0].host[0],leaf[1].host[3],1MB\n",
    );
    write("many.toml", list("many.csv").as_bytes());
    let why = load(&folder.join("many.toml")).unwrap_err().to_string();
    let expected = [
        "line 2, size: \"1000\" has no unit; if these are bytes, write 1000B",
        "line 3: no host is called \"host[0]\"",
        "line 4: flow 2 goes from \"leaf[0].host[0]\" to itself; write another host",
        "line 5: has 3 columns, the header has 4",
    ];
    let lines: Vec<&str> = why.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{why}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.contains(&format!("traffic[1].file: \"many.csv\" {expected}")), "{why}");
    }
    for (name, text, expected) in [
        ("json.toml", "{\"version\": 1}", "this looks like JSON, and a scenario is TOML"),
        (
            "yaml.toml",
            "version: 1\nfabric:\n  kind: star\n",
            "this looks like YAML, and a scenario is TOML",
        ),
        (
            "table.toml",
            "seed,flow,traffic\n1,0,0\n",
            "this looks like a table (CSV), and a scenario is TOML",
        ),
    ] {
        write(name, text.as_bytes());
        let why = load(&folder.join(name)).unwrap_err().to_string();
        assert!(why.contains("not valid TOML: ") && why.ends_with(expected), "{why}");
    }
    std::fs::create_dir_all(folder.join("run")).unwrap();
    write("run/resolved.toml", BASE.as_bytes());
    let why = load(&folder.join("run")).unwrap_err().to_string();
    assert!(
        why.contains("/run: is the folder of a run; its scenario is ")
            && why.ends_with("/run/resolved.toml"),
        "{why}"
    );
    write("device.toml", list("/dev/zero").as_bytes());
    let why = load(&folder.join("device.toml")).unwrap_err().to_string();
    assert!(
        why.contains("\"/dev/zero\" is a device or a pipe; write the path of a regular file"),
        "{why}"
    );
    let why = load(Path::new("/dev/zero")).unwrap_err().to_string();
    assert_eq!(why, "/dev/zero: is too big; at most 16777216 bytes are read");
    write("noat.toml", list("noat.csv").as_bytes());
    write("semi.toml", list("semi.csv").as_bytes());
    write("unit.toml", list("unit.csv").as_bytes());
    write("folder.toml", list(".").as_bytes());
    let own = load(&folder.join("own.toml")).unwrap();
    let list = load(&folder.join("list.toml")).unwrap();
    let rows = [
        ("none.toml", "DIR/none.toml: is missing; check the path"),
        ("", "DIR/: is a folder; write the path of a file"),
        ("latin.toml", "DIR/latin.toml: is not UTF-8 text (byte 12); save it as UTF-8"),
        ("broken.toml", "DIR/broken.toml:1:8: not valid TOML: unclosed array, expected `]`"),
        ("twice.toml", "DIR/twice.toml:2:1: not valid TOML: duplicate key"),
        (
            "badsizes.toml",
            "DIR/badsizes.toml:22:9: traffic[0].sizes: \"bad.csv\" line 3: \"2000,half\" is not two numbers, bytes and cumulative probability",
        ),
        (
            "noat.toml",
            "DIR/noat.toml:29:8: traffic[1].file: \"noat.csv\" has no column \"at\"; its first line must be from,to,size,at",
        ),
        (
            "semi.toml",
            "DIR/semi.toml:29:8: traffic[1].file: \"semi.csv\" has no column \"from\" (columns end with commas, not semicolons); its first line must be from,to,size,at",
        ),
        (
            "unit.toml",
            "DIR/unit.toml:29:8: traffic[1].file: \"unit.csv\" line 2, at: \"7\" has no unit; write for instance \"1us\"",
        ),
        (
            "folder.toml",
            "DIR/folder.toml:29:8: traffic[1].file: \".\" is a folder; write the path of a file",
        ),
    ];
    let wrong: Vec<_> =
        rows.iter().filter(|(n, e)| said(n) != *e).map(|(n, _)| (n, said(n))).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(wrong.is_empty(), "these are said now:\n{wrong:?}");
    let resolved = forebay_scenario::resolved(&own.scenario);
    assert_eq!(
        text("r.toml", &resolved).unwrap().scenario,
        own.scenario,
        "needs no file beside it"
    );
    let resolved = forebay_scenario::resolved(&list.scenario);
    assert_eq!(
        text("r.toml", &resolved).unwrap().scenario,
        list.scenario,
        "needs no file beside it"
    );
}

#[test]
fn a_flood_of_mistakes_is_cut() {
    let file: String = (0..5_000).map(|i| format!("key{i} = 1\n")).collect();
    let e = text("a.toml", &file).unwrap_err();
    assert_eq!(e.problems.len(), 100);
    assert!(e.to_string().ends_with("\nand many more like these"));
}

#[test]
fn the_core_of_one_rack_is_refused() {
    let core = BASE
        .replace("leaves = 2", "leaves = 1")
        .replace("load = 0.5", "load = 0.5\nload_ref = \"core\"");
    let e = text("a.toml", &core).unwrap_err().to_string();
    assert!(e.contains("load_ref: \"core\" needs hosts under more than one switch"), "{e}");
}

#[test]
fn a_missing_file_is_named_whole() {
    let e = load(Path::new("no/such.toml")).unwrap_err();
    assert_eq!(e.to_string(), "no/such.toml: is missing; check the path");
}

/// What is said of tables put before `[transport]`.
#[track_caller]
fn golden_before_transport(rows: &[(&str, &str)]) {
    let files: Vec<String> = rows.iter().map(|r| format!("{}\n[transport]\n", r.0)).collect();
    let rows: Vec<_> =
        files.iter().zip(rows).map(|(f, r)| ("[transport]\n", &f[..], r.1)).collect();
    golden(&rows);
}

#[test]
fn hosts() {
    golden_before_transport(&[
        ("[host]\nrx_frames = 0", "17:13: host.rx_frames: 0 is out of range; write 1 to 1000000"),
        (
            "[host]\nrx_frames = 16",
            "17:13: host.rx_frames: 16 alone would leave the last packets waiting for ever; write rx_usecs = \"8us\" as well",
        ),
        (
            "[host]\nrx_usecs = \"-8us\"",
            "17:12: host.rx_usecs: \"-8us\" is not a non-negative decimal number with a unit; write for instance \"1us\"",
        ),
        (
            "[host]\nrx_usecs = 8",
            "17:12: host.rx_usecs: 8 has no unit; write for instance \"10us\"",
        ),
        (
            "[host]\nrx_usecs = \"2s\"",
            "17:12: host.rx_usecs: \"2s\" is longer than any host waits; write at most \"1s\"",
        ),
        (
            "[host]\ngro = true",
            "17:7: host.gro: true merges nothing where every packet is taken at once; write rx_usecs = \"8us\" as well",
        ),
        ("[host]\ngro = true\nrx_usecs = \"8us\"\nrx_frames = 16", "nothing"),
        (
            "[host]\nprofile = \"windows\"",
            "17:11: host.profile: \"windows\" is not known; write \"ideal\" or \"linux\"",
        ),
        ("[host]\nprofile = \"linux\"\nrx_usecs = \"0us\"", "nothing"),
        (
            "[host]\ngso_max = \"1000B\"",
            "17:11: host.gso_max: 1KB holds less than one segment; write gso_max = \"1448B\" or more",
        ),
        (
            "[host]\ngso_max = \"1MB\"",
            "17:11: host.gso_max: \"1MB\" is more than Linux allows; write at most \"512KiB\"",
        ),
        ("[host]\ntso = true\ngso_max = \"1500B\"", "nothing"),
        (
            "[host]\ntx_queues = \"one\"",
            "17:13: host.tx_queues: \"one\" changes nothing where packets leave one by one; write tso = true as well",
        ),
        ("[host]\nprofile = \"linux\"\ntx_queues = \"one\"", "nothing"),
        (
            "[host]\npacing = \"fq\"\nnic = \"srpt\"",
            "18:7: host.nic: \"srpt\" is an order of its own, as pacing = \"fq\" is; leave out nic, or pace by \"internal\"",
        ),
        (
            "[[host.override]]\nwhere = \"leaf[9].host[0]\"\nprofile = \"linux\"",
            "17:9: host.override[0].where: no host is called \"leaf[9].host[0]\"; they go from leaf[0].host[0] to leaf[1].host[3]; did you mean \"leaf[0].host[0]\"?",
        ),
        (
            "[[host.override]]\nwhere = \"leaf[*].host[0]\"",
            "16:1: host.override[0]: changes nothing; write for instance profile = \"linux\"",
        ),
        (
            "[[host.override]]\nwhere = \"leaf[*].host[0]\"\nrx_frames = 4",
            "18:13: host.override[0].rx_frames: 4 alone would leave the last packets waiting for ever; write rx_usecs = \"8us\" as well",
        ),
        (
            "[[host.override]]\nwhere = \"spine[0]\"\ndelayed_ack = true",
            "17:9: host.override[0].where: no host is called \"spine[0]\"; they go from leaf[0].host[0] to leaf[1].host[3]",
        ),
    ]);
}

/// Hosts that are NICs of one machine.
#[test]
fn machines() {
    let machine = |nics: &str, rest: &str| {
        format!("[host.memory]\n{rest}\n[[host.machine]]\nnics = [{nics}]\n[transport]\n")
    };
    let [a, b] = ["\"leaf[0].host[0]\"", "\"leaf[1].host[0]\""];
    let both = format!("{a}, {b}");
    let own = |key: &str| format!("[[host.override]]\nwhere = {b}\nmemory = {{ {key} }}");
    let rows = [
        (machine(&both, ""), "nothing"),
        (machine(&both, &own("iio_slots = 40, nic_buffer = \"1MB\"")), "nothing"),
        (
            machine(a, ""),
            "19:8: host.machine[0].nics: needs two hosts or more; one by itself has one NIC without being named here",
        ),
        (
            machine(&format!("{a}, {a}"), ""),
            "19:28: host.machine[0].nics[1]: \"leaf[0].host[0]\" is named twice; a host has one NIC",
        ),
        (
            machine(&format!("{both}]\n[[host.machine]]\nnics = [{b}, \"leaf[1].host[1]\""), ""),
            "21:9: host.machine[1].nics[0]: \"leaf[1].host[0]\" is a NIC of host.machine[0] already; leave it out of one of them",
        ),
        (
            machine(&format!("{a}, \"leaf[*].host[1]\""), ""),
            "19:28: host.machine[0].nics[1]: no host is called \"leaf[*].host[1]\"; they go from leaf[0].host[0] to leaf[1].host[3]; did you mean \"leaf[0].host[1]\"?",
        ),
        (
            machine(&both, &own("bandwidth = \"100Gbps\"")),
            "21:28: host.machine[0].nics[1]: \"leaf[1].host[0]\" has not the memory controller of leaf[0].host[0], which NICs of one machine share; write it in [host.memory], for both",
        ),
        (
            format!("[[host.machine]]\nnics = [{both}]\n[transport]\n"),
            "17:9: host.machine[0].nics[0]: \"leaf[0].host[0]\" has no path to memory that it could share; write [host.memory] as well\n17:28: host.machine[0].nics[1]: \"leaf[1].host[0]\" has no path to memory that it could share; write [host.memory] as well",
        ),
    ];
    let rows: Vec<_> = rows.iter().map(|(to, said)| ("[transport]\n", &to[..], *said)).collect();
    golden(&rows);
}

#[test]
fn pause() {
    let ecn = "ecn = { k = \"300KB\" }";
    golden(&[
        (
            ecn,
            "pause = \"yes\"",
            "14:9: fabric.switch.pause: \"yes\" does not fit; write \"on\", \"off\", a table such as { reserved = \"64KB\" } or a list in [ ]",
        ),
        (
            ecn,
            "pause = { headroom = \"some\" }",
            "14:22: fabric.switch.pause.headroom: \"some\" is not a non-negative decimal number with a unit; write for instance \"64KiB\"",
        ),
        (
            ecn,
            "pause = { xoff = \"9KB\", alpha = 1.0 }",
            "14:33: fabric.switch.pause.alpha: 1 means nothing here; it belongs to xoff = \"dynamic\"",
        ),
        (
            ecn,
            "pause = { alpha = 0.0 }",
            "14:19: fabric.switch.pause.alpha: 0 is out of range; write a number above 0, for instance 0.125",
        ),
        (
            ecn,
            "pause = \"on\"\nbuffer = { size = \"100KB\" }",
            "15:19: fabric.switch.buffer.size: the buffer of 100KB cannot hold what the 6 ingress ports of leaf[0] keep for themselves, 177390B of headroom and 24KB of reserve; write at least \"201390B\"",
        ),
        (
            ecn,
            "pause = { headroom = \"10MB\" }",
            "14:9: fabric.switch.pause: the buffer of 32MB cannot hold what the 6 ingress ports of leaf[0] keep for themselves, 60MB of headroom and 24KB of reserve; write at least \"60024KB\"",
        ),
        (
            ecn,
            "pause = \"on\"\nbuffer = \"none\"",
            "15:10: fabric.switch.buffer: \"none\" leaves nothing to share out; write a buffer, or pause = { xoff = \"100KB\" }",
        ),
        (ecn, "pause = { xoff = \"9KB\" }\nbuffer = \"none\"", "nothing"),
        (
            ecn,
            "classes = 3\npause = { classes = [1] }\nlimits = [{ class = 2, size = \"9KB\" }, { class = 1, size = \"9KB\" }]",
            "16:50: fabric.switch.limits[1].class: 1 is lossless, and a limit drops what pause is to save; leave the limit out or the class out of pause",
        ),
        (
            ecn,
            "classes = 2\npause = \"on\"\nlimits = [{ class = 1, size = \"9KB\" }]",
            "16:21: fabric.switch.limits[0].class: 1 is lossless, and a limit drops what pause is to save; leave the limit out or the class out of pause",
        ),
        (
            ecn,
            "pause = \"on\"\nport_limit = \"100KB\"",
            "15:14: fabric.switch.port_limit: \"100KB\" drops what pause is to save; write pause = { xoff = \"100KB\" } for a limit of each port",
        ),
        (
            ecn,
            "pause = \"on\"\nbuffer = { size = \"4MB\", policy = \"static\" }",
            "15:35: fabric.switch.buffer.policy: \"static\" drops what pause is to save; write pause = { xoff = \"100KB\" } for a limit of each port",
        ),
        (
            ecn,
            "[[fabric.override]]\nwhere = \"leaf[0]\"\npause = \"on\"\n[[fabric.override]]\nwhere = \"leaf[1]\"\nport_limit = \"9KB\"",
            "19:14: fabric.override[1].port_limit: \"9KB\" drops what pause is to save; write one of them",
        ),
    ]);
}

#[test]
fn pause_by_class() {
    let ecn = "ecn = { k = \"300KB\" }";
    golden(&[
        (
            ecn,
            "pause = { classes = [3] }",
            "14:21: fabric.switch.pause.classes: 3 needs 4 classes; write fabric.switch.classes = 4",
        ),
        (
            ecn,
            "classes = 4\npause = { classes = [] }",
            "15:21: fabric.switch.pause.classes: pauses nothing; write the classes that must not be dropped, for instance [3]",
        ),
        (
            ecn,
            "classes = 4\npause = { classes = [9] }",
            "15:22: fabric.switch.pause.classes[0]: 9 is out of range; write 0 to 7",
        ),
        (
            ecn,
            "classes = 4\npause = { classes = [0, 3] }\nbuffer = { size = \"100KB\" }",
            "16:19: fabric.switch.buffer.size: the buffer of 100KB cannot hold what the 6 ingress ports of leaf[0] keep for themselves, each for 2 classes, 354780B of headroom and 48KB of reserve; write at least \"402780B\"",
        ),
        (
            ecn,
            "classes = 4\npause = { classes = [3], headroom = \"9KB\" }",
            "15:37: fabric.switch.pause.headroom: is 9KB for leaf[0] on cable leaf[0].host[0]-leaf[0], where 29565B may arrive after a pause; write at least \"29565B\" or \"auto\" (or short_headroom = \"warn\" to see what is lost)",
        ),
        (
            ecn,
            "classes = 4\npause = { classes = [3], headroom = \"9KB\", short_headroom = \"warn\" }",
            "nothing",
        ),
        (
            ecn,
            "[[fabric.override]]\nwhere = \"leaf[0]-spine[1]\"\ndelay = \"100ns\"\n[[fabric.override]]\nwhere = \"leaf[0]\"\npause = { headroom = \"three-delays\" }",
            "19:22: fabric.override[1].pause.headroom: is 3750B for leaf[0] on cable leaf[0]-spine[1], where 7065B may arrive after a pause; write at least \"7065B\" or \"auto\" (or short_headroom = \"warn\" to see what is lost)",
        ),
        (
            ecn,
            "classes = 4\npause = { classes = [3] }\n[[fabric.override]]\nwhere = \"leaf[0]\"\npause = \"on\"",
            "18:9: fabric.override[0].pause.classes: is not what fabric.switch.pause.classes says; write the same classes everywhere",
        ),
        (
            ecn,
            "pause = { watchdog = { after = \"200ms\" } }",
            "14:22: fabric.switch.pause.watchdog: the table means nothing here; it belongs to pause by class: write classes, for instance [3]",
        ),
        (
            ecn,
            "classes = 4\npause = { classes = [3], watchdog = { after = \"0s\", action = \"panic\" } }",
            "15:62: fabric.switch.pause.watchdog.action: \"panic\" is not known; write \"drop\" or \"ignore\"",
        ),
        (
            ecn,
            "classes = 4\npause = { classes = [3], watchdog = { after = \"0s\", action = \"ignore\" } }",
            "15:47: fabric.switch.pause.watchdog.after: \"0s\" ends every pause at once; write for instance \"200ms\"",
        ),
        (
            ecn,
            "pause = { classes = [0], short_headroom = \"maybe\" }",
            "14:43: fabric.switch.pause.short_headroom: \"maybe\" is not known; write \"refuse\" or \"warn\"",
        ),
    ]);
}

#[test]
fn pause_of_single_classes() {
    let ecn = "ecn = { k = \"300KB\" }";
    golden(&[
        (
            ecn,
            "classes = 4\npause = [{ classes = [2] }, { classes = [3], xoff = \"90KB\", reserved = \"0B\" }]",
            "nothing",
        ),
        (
            ecn,
            "classes = 4\npause = [{ xoff = \"90KB\" }]",
            "15:10: fabric.switch.pause[0].classes: is missing; write for instance classes = [...]",
        ),
        (
            ecn,
            "classes = 4\npause = []",
            "15:9: fabric.switch.pause: pauses nothing; write the classes that must not be dropped, for instance [3]",
        ),
        (
            ecn,
            "classes = 4\npause = [{ classes = [2] }, { classes = [] }]",
            "15:41: fabric.switch.pause[1].classes: pauses nothing; write the classes that must not be dropped, for instance [3]",
        ),
        (
            ecn,
            "classes = 4\npause = [{ classes = [2, 3] }, { classes = [1, 3] }]",
            "15:44: fabric.switch.pause[1].classes: has class 3 a second time; write it once",
        ),
        (
            ecn,
            "classes = 4\npause = [{ classes = [2] }, { classes = [5] }]",
            "15:41: fabric.switch.pause[1].classes: 5 needs 6 classes; write fabric.switch.classes = 6",
        ),
        (
            ecn,
            "classes = 4\npause = [{ classes = [2] }, { classes = [3], xoff = \"9KB\", alpha = 1.0 }]",
            "15:68: fabric.switch.pause[1].alpha: 1 means nothing here; it belongs to xoff = \"dynamic\"",
        ),
        (
            ecn,
            "classes = 4\npause = [{ classes = [2], headroom = \"9KB\", short_headroom = \"warn\" }, { classes = [3], headroom = \"20KB\" }]",
            "15:100: fabric.switch.pause[1].headroom: is 20KB for leaf[0] on cable leaf[0].host[0]-leaf[0] in class 3, where 29565B may arrive after a pause; write at least \"29565B\" or \"auto\" (or short_headroom = \"warn\" to see what is lost)",
        ),
        (
            ecn,
            "classes = 4\npause = [{ classes = [0] }, { classes = [3], reserved = \"1KB\" }]\nbuffer = { size = \"100KB\" }",
            "16:19: fabric.switch.buffer.size: the buffer of 100KB cannot hold what the 6 ingress ports of leaf[0] keep for themselves, each for 2 classes, 354780B of headroom and 30KB of reserve; write at least \"384780B\"",
        ),
        (
            ecn,
            "classes = 4\npause = { classes = [3] }\n[[fabric.override]]\nwhere = \"leaf[0]\"\npause = [{ classes = [3] }, { classes = [2] }]",
            "18:9: fabric.override[0].pause: is not what fabric.switch.pause.classes says; write the same classes everywhere",
        ),
        (
            ecn,
            "classes = 4\npause = [{ classes = [2] }, { classes = [3], watchdog = { after = \"0s\" } }]",
            "15:67: fabric.switch.pause[1].watchdog.after: \"0s\" ends every pause at once; write for instance \"200ms\"",
        ),
    ]);
}

#[test]
fn classes_of_traffic() {
    let load = "load = 0.5";
    golden(&[
        (
            load,
            "load = 0.5\nclass = 2",
            "24:9: traffic[0].class: 2 needs 3 classes; write fabric.switch.classes = 3",
        ),
        (load, "load = 0.5\nclass = 8", "24:9: traffic[0].class: 8 is out of range; write 0 to 7"),
    ]);
}

#[test]
fn marks_by_class() {
    let ecn = "ecn = { k = \"300KB\" }";
    golden(&[
        (ecn, "ecn = []", "nothing"),
        (ecn, "classes = 4\necn = [{ classes = [3], k = \"9KB\" }]", "nothing"),
        (
            ecn,
            "ecn = [{ classes = [3], k = \"9KB\" }]",
            "14:20: fabric.switch.ecn[0].classes: 3 needs 4 classes; write fabric.switch.classes = 4",
        ),
        (
            ecn,
            "classes = 4\necn = [{ classes = [], k = \"9KB\" }]",
            "15:20: fabric.switch.ecn[0].classes: marks nothing; write the classes to mark, for instance [3]",
        ),
        (
            ecn,
            "classes = 4\necn = [{ k = \"9KB\" }]",
            "15:8: fabric.switch.ecn[0].classes: is missing; write for instance classes = [...]",
        ),
        (
            ecn,
            "classes = 4\necn = [{ classes = [1], k = \"9KB\" }, { classes = [2, 1], kmin = \"9KB\" }]",
            "15:38: fabric.switch.ecn[1]: has half a ramp; write kmin and kmax, or k alone for a step\n15:50: fabric.switch.ecn[1].classes: marks class 1 a second time; write it once",
        ),
    ]);
}

/// One `rpc` entry in the place of the base's traffic, and the sentences.
#[test]
fn rpcs_that_make_no_sense() {
    let said = |keys: &str| -> String {
        let base = "kind = \"poisson\"\nsizes = \"websearch\"\nload = 0.5";
        let sentences = said(base, &format!("kind = \"rpc\"\n{keys}"));
        // Line and column are those of any key; errors of other tests hold them.
        let text =
            |line: &str| line.split_once(": ").map_or(line.into(), |(_, text)| text.to_string());
        sentences.lines().map(text).collect::<Vec<String>>().join("\n")
    };
    let pair = "from = \"leaf[0].host[0]\"\nto = \"leaf[1].host[0]\"\n";
    let with = |keys: &str| said(&format!("{pair}request = \"1MB\"\n{keys}"));
    assert_eq!(with(""), "nothing");
    let rows = [
        (
            with("response = \"0B\"\nservice = \"1us\""),
            "service: precedes a response, and a one-way RPC has none; leave it out",
        ),
        (with("outstanding = 0"), "outstanding: 0 is too few; write 1 or more"),
        (
            with("pool = { law = \"crac\" }"),
            "pool.law: no law of role pool is called \"crac\"; write carc; did you mean \"carc\"?",
        ),
        (
            with("pool = { law = \"carc\", fragment = \"63B\" }"),
            "pool: shares the cache of leaf[1].host[0], which has none; write host.memory with ddio = true for it\n\
             traffic[0].pool.fragment: \"63B\" is less than a line of the cache, which is one credit; write \"64B\" or more",
        ),
        (
            with("pool = { law = \"carc\" }"),
            "pool: shares the cache of leaf[1].host[0], which has none; write host.memory with ddio = true for it",
        ),
        (
            with("pool = { law = \"carc\", cache = \"63B\" }\n[host.memory]\nddio = true"),
            "pool.cache: \"63B\" holds no line, which is one credit; write \"64B\" or more",
        ),
        (
            with(
                "pool = { law = \"carc\", cache = \"2MiB\" }\n[host.memory]\nddio = true\ncache = \"1MiB\"",
            ),
            "pool.cache: \"2MiB\" is more than the cache of leaf[1].host[0]; write at most \"1MiB\", or leave it out",
        ),
        (
            with(
                "connections = 17\npool = { law = \"carc\", cache = \"1KiB\" }\n[host.memory]\nddio = true",
            ),
            "pool: shares 16 lines of the cache of leaf[1].host[0] among 17 connections, less than one for each; write fewer connections, or a larger cache",
        ),
        (
            with(&format!(
                "connections = 9\npool = {{ law = \"carc\", cache = \"1KiB\" }}\n[[traffic]]\nkind = \"rpc\"\n{pair}request = \"1KB\"\nconnections = 8\n\
                 pool = {{ law = \"carc\", cache = \"1MiB\" }}\n[host.memory]\nddio = true"
            )),
            "pool: shares 16 lines of the cache of leaf[1].host[0] among 17 connections, less than one for each; write fewer connections, or a larger cache",
        ),
        (
            with(
                "transport = \"rdma\"\npool = { law = \"carc\" }\n[host.memory]\nddio = true\ncache_model = \"buffers\"\n\
                 rq = { depth = 4096, buffer = \"4KiB\" }\n[transports.rdma]\nkind = \"rdma\"\nlaw = \"dcqcn\"",
            ),
            "pool: bounds what waits for cores of leaf[1].host[0], and none of them reads what RDMA places; write read_placed = true in its host.memory",
        ),
        (with("connections = -1"), "connections: -1 is too few; write 1 or more"),
        (with("count = 0"), "count: 0 is too few; write 1 or more"),
        (
            with("outstanding = 100000000"),
            "outstanding: 100000000 is too many; write at most 1,048,576",
        ),
        (
            with("connections = 10000\ncount = 10000"),
            "count: 10000 over 10,000 connections is more than 50,000,000 RPCs, and each leaves a row; write fewer",
        ),
        (
            with("think = \"-1us\""),
            "think: \"-1us\" is not a non-negative decimal number with a unit; write for instance \"1us\"",
        ),
        (
            with("think = { exponential = \"0s\" }"),
            "think.exponential: \"0s\" does nothing; write a time above 0, for instance \"10us\"",
        ),
        (
            with("think = { mean = \"1us\" }"),
            "think.exponential: is missing; write for instance exponential = \"10us\"\ntraffic[0].think.mean: unknown key; this table takes exponential",
        ),
        (
            with("response = \"8MB..1MB\""),
            "response: \"8MB..1MB\" is not a range; write a size of 1B or more, then a larger one",
        ),
        (
            with("response = \"1MB..8\""),
            "response: \"8\" has no unit; write for instance \"64KiB\"",
        ),
        (
            said(&format!("{pair}request = \"0B\"\nresponse = \"0B\"")),
            "request: \"0B\" gives the server no request; write 1B or more, for instance \"64B\"",
        ),
        (
            said(&format!("{pair}request = \"webserch\"")),
            "request: no distribution is called \"webserch\"; did you mean \"websearch\"?",
        ),
        (said(pair), "request: is missing; write for instance request = \"...\""),
        (
            said("from = \"leaf[0].host[0]\"\nto = \"leaf[0].host[0]\"\nrequest = \"1KB\""),
            "to: makes \"leaf[0].host[0]\" the server of itself; write another host",
        ),
        (
            said(
                "from = \"leaf[0].host[0]\"\nto = \"leaf[0].host[0]\"\npairs = \"all\"\nrequest = \"1KB\"",
            ),
            "to: names no host but the client itself; write another",
        ),
        (
            said(
                "from = \"leaf[0].host[*]\"\nto = \"leaf[1].host[0]\"\npairs = \"mesh\"\nrequest = \"1KB\"",
            ),
            "pairs: \"mesh\" is not known; write \"matched\" or \"all\"",
        ),
        (
            said(
                "from = \"leaf[0].host[*]\"\nto = [\"leaf[1].host[0]\", \"leaf[1].host[1]\"]\nrequest = \"1KB\"",
            ),
            "to: names 2 servers for the 4 clients of from; write as many, or one for all, or pairs = \"all\"",
        ),
        (
            said("from = \"leaf[0].host[9]\"\nto = \"leaf[1].host[0]\"\nrequest = \"1KB\""),
            "from: no host is called \"leaf[0].host[9]\"; they go from leaf[0].host[0] to leaf[1].host[3]; did you mean \"leaf[0].host[0]\"?",
        ),
    ];
    for (found, expected) in rows {
        assert_eq!(found, format!("traffic[0].{expected}"));
    }
}

#[test]
fn captures() {
    const AT: &str = "[output]\n";
    let with = |rest: &str| format!("[output]\ncapture = [{rest}]\n");
    let rows = [
        "{ where = \"leaf[0]->spine[*]\" }, { where = \"leaf[*].host[2]\", snap = \"66B\", from = \"1ms\", until = \"2ms\", direction = \"in\", packets = 5 }",
        "{ where = \"leaf[0]->spine[2]\" }",
        "{ where = \"leaf[0]->leaf[1]\" }",
        "{ where = \"leaf[0]-spine[1]\" }",
        "{ where = \"laef[0].host[1]\" }",
        "{ where = \"leaf[0]\" }, { where = \"leaf[*]->spine[1]\" }",
        "{ where = \"leaf[0]\", snap = \"65B\" }",
        "{ where = \"leaf[0]\", from = \"4ms\" }",
        "{ where = \"leaf[0]\", from = \"2ms\", until = \"2ms\" }",
        "{ where = \"leaf[0]\", direction = \"up\" }",
        "{ where = \"leaf[0]\", packets = 0 }",
        "{ direction = \"in\" }",
    ];
    let found: Vec<String> = rows.iter().map(|row| said(AT, &with(row))).collect();
    let expected = [
        "nothing",
        "26:22: output.capture[0].where: no node is called \"spine[2]\"; they go from leaf[0].host[0] to spine[1]; did you mean \"spine[0]\"?",
        "26:22: output.capture[0].where: \"leaf[0]->leaf[1]\" is not a port: no cable joins the two; the ports of leaf[0] go from leaf[0]->leaf[0].host[0] to leaf[0]->spine[1]; did you mean \"leaf[0]->spine[1]\"?",
        "26:22: output.capture[0].where: \"leaf[0]-spine[1]\" is a cable, which has two ends; write \"leaf[0]->spine[1]\" or \"spine[1]->leaf[0]\"",
        "26:22: output.capture[0].where: no node is called \"laef[0].host[1]\"; they go from leaf[0].host[0] to spine[1]; did you mean \"leaf[0].host[1]\"?",
        "26:45: output.capture[1].where: \"leaf[*]->spine[1]\" captures leaf[0]->spine[1], as output.capture[0] does; write each port once",
        "26:40: output.capture[0].snap: \"65B\" cuts into the headers of a packet; write at least \"66B\"",
        "26:40: output.capture[0].from: \"4ms\" is not before the end of the run, stop.time = 4ms",
        "26:55: output.capture[0].until: \"2ms\" is not after from = 2ms; write a later time",
        "26:45: output.capture[0].direction: \"up\" is not known; write \"in\", \"out\" or \"both\"",
        "26:43: output.capture[0].packets: 0 is too few; write 1 or more",
        "26:12: output.capture[0].where: is missing; write for instance where = \"...\"",
    ];
    assert_eq!(found, expected);
}

/// `[host.memory]` with these lines in it.
fn memory(lines: &str) -> String {
    said("[transport]", &format!("[host.memory]\n{lines}\n[transport]"))
}

#[test]
fn hosts_that_nobody_can_build() {
    let rows: &[(&str, &str)] = &[
        (
            "iio_slots = 0",
            "17:13: host.memory.iio_slots: 0 lets nothing through: no PCIe credit, no packet; write at least 1",
        ),
        (
            "pcie_rate = \"1kbps\"",
            "17:13: host.memory.pcie_rate: \"1kbps\" is slower than a packet per second; write at least \"1Mbps\"",
        ),
        (
            "bandwidth = \"1kbps\"",
            "17:13: host.memory.bandwidth: \"1kbps\" is slower than a packet per second; write at least \"1Mbps\"",
        ),
        (
            "nic_buffer = \"2KB\"",
            "17:14: host.memory.nic_buffer: \"2KB\" holds less than the largest frame; write at least \"64KiB\"",
        ),
        (
            "nic_buffer = \"70KB\"\nnic_refuse_below = \"80KB\"",
            "18:20: host.memory.nic_refuse_below: \"80KB\" is more than the NIC buffer, so that it takes nothing; write at most \"70KB\"",
        ),
        (
            "nic_buffer = 384",
            "17:14: host.memory.nic_buffer: 384 has no unit; write for instance \"64KB\"",
        ),
        (
            "ddio = true\nddio_ways = 12",
            "18:13: host.memory.ddio_ways: gives the NIC 12 of 11 ways; write at most 11",
        ),
        (
            "ddio = true\ncache_model = \"buffers\"",
            "18:15: host.memory.cache_model: \"buffers\" needs a receive queue; write for instance rq = { depth = 8192, buffer = \"2KiB\" }",
        ),
        (
            "ddio = true\nrq = { depth = 8192, buffer = \"2KiB\" }",
            "18:6: host.memory.rq: has no effect without cache_model = \"buffers\"; write that as well",
        ),
        (
            "ddio = true\ncache_model = \"buffers\"\nrq = { depth = 31, buffer = \"2KiB\" }",
            "19:16: host.memory.rq.depth: 31 holds less than the largest frame; write at least 32",
        ),
        (
            "ddio = true\ncache_model = \"buffers\"\nrq = { depth = 8192, buffer = \"32B\" }",
            "19:31: host.memory.rq.buffer: \"32B\" is not a buffer of a frame; write from \"64B\" to \"64KiB\"",
        ),
        (
            "ddio = true\ncache = \"11KiB\"\ncache_model = \"buffers\"\nrq = { depth = 8192, buffer = \"2049B\" }",
            "20:31: host.memory.rq.buffer: \"2049B\" is more than the NIC's ways hold; write at most \"2KiB\"",
        ),
        (
            "ddio = true\ncache = \"351B\"\ncache_model = \"buffers\"\nrq = { depth = 8192, buffer = \"2KiB\" }",
            "18:9: host.memory.cache: \"351B\" leaves the NIC's ways less than a line of 64B; write at least \"352B\"",
        ),
        (
            "ddio = true\ncache_model = \"buffers\"\nrq = { depth = 8192, buffer = \"2KiB\", assemble = \"2047B\" }",
            "19:50: host.memory.rq.assemble: \"2047B\" holds no buffer of 2KiB; write at least \"2KiB\", or leave it out where cores copy nothing",
        ),
        ("cores = 0", "17:9: host.memory.cores: 0 is out of range; write 1 to 4096"),
        (
            "cores = 3\nsmt = 2",
            "17:9: host.memory.cores: 3 counts threads, two to a core with smt = 2; write 4",
        ),
        (
            "smt_order = \"mixed\"",
            "17:13: host.memory.smt_order: has no effect where each core has one thread; write smt = 2 as well",
        ),
        (
            "ddio = true\ncache_latency = \"2ms\"",
            "18:17: host.memory.cache_latency: \"2ms\" is not a latency of hardware; write from \"1ns\" to \"1ms\"",
        ),
        (
            "cache_latency = \"30ns\"",
            "17:17: host.memory.cache_latency: has no effect without DDIO; write ddio = true as well",
        ),
        (
            "ddio_ways = 4",
            "17:13: host.memory.ddio_ways: has no effect without DDIO; write ddio = true as well",
        ),
        ("level = 5", "17:9: host.memory.level: 5 is above the strongest level, which is 4"),
        ("level = -1", "17:9: host.memory.level: -1 is out of range; write 0 to 255"),
        (
            "level = 3\ncontrol = { law = \"hostcc\" }",
            "17:9: host.memory.level: is set by the control; leave out one of them",
        ),
        (
            "antagonist = [{ cores = 3, on = \"2ms\" }]",
            "17:33: host.memory.antagonist[0].on: needs a rest; write off as well",
        ),
        (
            "antagonist = [{ cores = -1 }]",
            "17:25: host.memory.antagonist[0].cores: -1 is out of range; write 0 to 4096",
        ),
        ("antagonist = [{ cores = 0 }]", "nothing"),
        ("antagonist = [{ cores = 2, trace = [[0, 8.0], [500.5, 24]] }]", "nothing"),
        (
            "antagonist = [{ cores = 2, trace = \"nowhere/\" }]",
            "17:36: host.memory.antagonist[0].trace: \"nowhere/signals.csv\" is missing; check the path",
        ),
        (
            "antagonist = [{ cores = 2, trace = [] }]",
            "17:36: host.memory.antagonist[0].trace: has 0 steps; write for instance [[0, 8.0], [500, 24.0]]",
        ),
        (
            "antagonist = [{ cores = 2, trace = [[5, 8.0], [5, 9.0]] }]",
            "17:36: host.memory.antagonist[0].trace: step 1 begins at 5 us, which is not after the one before it; write for instance [[0, 8.0], [500, 24.0]]",
        ),
        (
            "antagonist = [{ cores = 2, trace = [[0, -1]] }]",
            "17:36: host.memory.antagonist[0].trace: step 0 has -1 GB/s; write from 0 to 10000",
        ),
        (
            "antagonist = [{ cores = 2, on = \"1ms\", off = \"1ms\", trace = [[0, 1]] }]",
            "17:61: host.memory.antagonist[0].trace: says when the cores rest; leave out on and off",
        ),
        ("level = 3\ncontrol = { law = \"hostcc\", enabled = false }", "nothing"),
        ("read_share = 0", "nothing"),
        ("read_share = 0\nantagonist = [{ cores = 0 }]", "nothing"),
        ("read_share = 0\nposted_limit = 9\nantagonist = [{ cores = 9 }]", "nothing"),
        (
            "read_share = 0\nantagonist = [{ cores = 9 }]",
            "17:14: host.memory.read_share: 0 leaves nothing that holds back writes beyond what memory can serve; write read_share = 0.001 or more, or posted_limit = 64",
        ),
        (
            "antagonist = [{ cores = 1, on = \"1ns\", off = \"1us\" }]",
            "17:33: host.memory.antagonist[0].on: \"1ns\" is shorter than memory can resolve; write at least \"100ns\"",
        ),
        (
            "control = { law = \"hostcc\", params = { target = 80 } }",
            "17:49: host.memory.control.params.target: \"80\" does not fit; hostcc.target takes a rate with its unit, such as \"84Gbps\"",
        ),
        (
            "iio_latency = \"1s\"",
            "17:15: host.memory.iio_latency: \"1s\" is not a latency of hardware; write from \"1ns\" to \"1ms\"",
        ),
        (
            "iommu_walk = \"1s\"",
            "17:14: host.memory.iommu_walk: \"1s\" is too long; write at most \"1ms\"",
        ),
        (
            "iommu_page = \"2MiB\"",
            "17:14: host.memory.iommu_page: has no effect without an IOMMU; write iommu_walk as well, for instance \"300ns\"",
        ),
        (
            "iommu_walk = \"300ns\"\niommu_page = \"64B\"",
            "18:14: host.memory.iommu_page: \"64B\" is not a page; write from \"4KiB\" to \"1GiB\"",
        ),
        ("iommu_walk = \"300ns\"\niommu_entries = 0", "nothing"),
    ];
    let mut wrong = String::new();
    for (lines, expected) in rows {
        let found = memory(lines);
        if found != *expected {
            wrong.push_str(&format!("({lines:?},\n {found:?}),\n"));
        }
    }
    assert!(wrong.is_empty(), "these are said now:\n{wrong}");
}

#[test]
fn samples_of_paths_to_memory() {
    let sampled = |memory: &str, samples: &str| {
        said("[output]", &format!("{memory}\n[output]\nmemory = {{ {samples} }}"))
    };
    let host = "[host.memory]";
    let rows: &[(&str, &str, &str)] = &[
        (host, "every = \"1us\"", "nothing"),
        (host, "every = \"1us\", where = \"leaf[*].host[0]\"", "nothing"),
        (
            "",
            "every = \"1us\"",
            "27:10: output.memory: samples nothing: no host's path to memory is modelled; write [host.memory] as well",
        ),
        (
            host,
            "every = \"10ns\"",
            "27:20: output.memory.every: \"10ns\" is shorter than a step of the model; write at least \"150ns\"",
        ),
        (
            host,
            "every = \"1us\", where = \"leaf[0].host[9]\"",
            "27:35: output.memory.where: no host is called \"leaf[0].host[9]\"; they go from leaf[0].host[0] to leaf[1].host[3]; did you mean \"leaf[0].host[0]\"?",
        ),
        (
            "[[host.override]]\nwhere = \"leaf[0].host[0]\"\nmemory = {}",
            "every = \"1us\", where = \"leaf[1].host[0]\"",
            "29:35: output.memory.where: samples nothing: its path to memory is not modelled; write [host.memory] as well",
        ),
    ];
    let mut wrong = String::new();
    for (memory, samples, expected) in rows {
        let found = sampled(memory, samples);
        if found != *expected {
            wrong.push_str(&format!("({memory:?}, {samples:?},\n {found:?}),\n"));
        }
    }
    assert!(wrong.is_empty(), "these are said now:\n{wrong}");
}

#[test]
fn logs_of_laws() {
    let logged = |memory: &str, log: &str| {
        said("[output]", &format!("{memory}\n[output]\nlaw_log = {{ {log} }}"))
    };
    let ruled = "[host.memory]\n[host.memory.control]\nlaw = \"hostcc\"";
    let flows = (0..257).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let rows: &[(&str, &str, &str)] = &[
        ("", "flows = [0, 7]", "nothing"),
        (ruled, "hosts = \"leaf[*].host[0]\"", "nothing"),
        ("", "", "27:11: output.law_log: logs nothing; write flows = [0], or hosts = \"host[0]\""),
        ("", "flows = [3, 4, 3]", "27:21: output.law_log.flows: names flow 3 twice; write it once"),
        ("", "flows = 3", "27:21: output.law_log.flows: 3 does not fit; write a list in [ ]"),
        (
            "",
            "connections = [3, 3]",
            "27:27: output.law_log.connections: names connection 3 twice; write it once\n\
             27:27: output.law_log.connections: logs nothing: no connection has a law; write pool = { law = \"carc\" } in an entry of kind \"rpc\"",
        ),
        (
            "",
            "hosts = \"leaf[0].host[0]\"",
            "27:21: output.law_log.hosts: logs nothing: no law controls its memory; write [host.memory.control] as well",
        ),
        (
            ruled,
            "hosts = \"leaf[0].host[9]\"",
            "29:21: output.law_log.hosts: no host is called \"leaf[0].host[9]\"; they go from leaf[0].host[0] to leaf[1].host[3]; did you mean \"leaf[0].host[0]\"?",
        ),
        (
            "",
            &format!("flows = [{flows}]"),
            "27:11: output.law_log: makes 257 logs, each a file; write at most 256",
        ),
    ];
    let every = |memory: &str, value: &str| {
        said("[output]", &format!("{memory}\n[output]\nlaw_log = {value}"))
    };
    assert_eq!((every(ruled, "true"), every("", "false")), ("nothing".into(), "nothing".into()));
    assert_eq!(
        every("", "true"),
        "27:11: output.law_log: logs nothing: no law controls a host; write [host.memory.control] as well, or flows = [0]"
    );
    let mut wrong = String::new();
    for (memory, log, expected) in rows {
        let found = logged(memory, log);
        if found != *expected {
            wrong.push_str(&format!("({memory:?}, {log:?},\n {found:?}),\n"));
        }
    }
    assert!(wrong.is_empty(), "these are said now:\n{wrong}");
}

/// Racks that queue by destination.
#[test]
fn hierarchical_switches() {
    let ecn = "ecn = { k = \"300KB\" }";
    let said = |value: &str| said(ecn, &format!("{ecn}\nhierarchical = {{ {value} }}"));
    assert_eq!(said("law = \"hiercc\""), "nothing");
    for (value, expected) in [
        (
            "law = \"hierc\"",
            "15:24: fabric.switch.hierarchical.law: no law of role group is called \"hierc\"; write hiercc; did you mean \"hiercc\"?",
        ),
        (
            "law = \"hiercc\", params = { beta = 2 }",
            "15:52: fabric.switch.hierarchical.params.beta: \"2\" does not fit; hiercc.beta takes a share from 0.001 to 0.999",
        ),
        (
            "law = \"hiercc\", advance = \"1KB\"",
            "15:44: fabric.switch.hierarchical.advance: \"1KB\" lets no packet of 1500B go; write at least \"1500B\"",
        ),
        (
            "law = \"hiercc\", credit = \"20KB\"",
            "15:43: fabric.switch.hierarchical.credit: \"20KB\" is not a size of a credit; write more than nothing and at most advance, \"10KB\"",
        ),
        (
            "law = \"hiercc\", request_timeout = \"0ns\"",
            "15:52: fabric.switch.hierarchical.request_timeout: \"0ns\" does nothing; write a time above 0, for instance \"10us\"",
        ),
        (
            "law = \"hiercc\", pod_advance = \"25KB\"",
            "15:48: fabric.switch.hierarchical.pod_advance: is of queues for other pods; write queue_for = \"pod\" as well",
        ),
        (
            "law = \"hiercc\", credit_pace = 1.02",
            "15:48: fabric.switch.hierarchical.credit_pace: 1.02 is not a share of a port's rate; write a number from 0.01 to 1",
        ),
        (
            "law = \"hiercc\", queue_for = \"pod\"",
            "15:46: fabric.switch.hierarchical.queue_for: \"pod\" needs a fabric of several pods; write \"rack\" or \"host\"",
        ),
        (
            "law = \"hiercc\" }\npause = \"on\"\nlatency = \"0ns\" # {",
            "15:16: fabric.switch.hierarchical: and pause both hold packets back; leave out one of them",
        ),
    ] {
        assert_eq!(said(value), expected, "{value}");
    }
}

/// A law that sends at the switch's rate needs a switch that sends rates.
#[test]
fn explicit_flows_need_a_switch_that_tells() {
    let tcp = "kind = \"tcp\"\nlaw = \"dctcp\"";
    let alone = said(tcp, "kind = \"rdma\"\nlaw = \"explicit\"");
    assert!(
        alone.contains("transport.law: \"explicit\" sends at the rate that a switch sends it"),
        "{alone}"
    );
    let alone = said(tcp, "kind = \"tcp\"\nlaw = \"explicit\"");
    assert!(alone.contains("\"explicit\" needs a rate from the switch"), "{alone}");
    let both = BASE.replace(tcp, "kind = \"rdma\"\nlaw = \"hpcc\"");
    let both =
        both.replace("[transport]", "[fabric.switch.hierarchical]\nlaw = \"hiercc\"\n[transport]");
    let both = text("a.toml", &both).expect_err("tags and telemetry").to_string();
    assert!(both.contains("tags packets where \"hpcc\" has its telemetry"), "{both}");
}

#[test]
fn racks_that_queue_by_destination_tag_no_messages_of_rpcs() {
    let both = "version = 1\nstop = { time = \"1ms\" }\n[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\n\
                host_link = { rate = \"10Gbps\", delay = \"1us\" }\n[fabric.switch]\nhierarchical = { law = \"hiercc\" }\n\
                [transport]\nkind = \"receiver-driven\"\nlaw = \"homa\"\npriorities = 1\nrouting = \"source\"\n\
                [[traffic]]\nkind = \"rpc\"\nfrom = [\"leaf[0].host[0]\"]\nto = [\"leaf[1].host[0]\"]\npairs = \"all\"\nrequest = \"40KB\"\n";
    let both = text("a.toml", both).expect_err("tags and messages").to_string();
    assert!(both.contains("number their messages; leave out one of them"), "{both}");
}

/// Transports with names, and traffic that says one.
#[test]
fn transports_by_name() {
    const TRAFFIC: &str = "load = 0.5\n";
    let named = |keys: &str, entry: &str| {
        said(TRAFFIC, &format!("{TRAFFIC}{entry}\n[transports.storage]\n{keys}\n"))
    };
    let dcqcn = "kind = \"rdma\"\nlaw = \"dcqcn\"";
    assert_eq!(named(dcqcn, "transport = \"storage\""), "nothing");
    assert_eq!(
        said(TRAFFIC, &format!("{TRAFFIC}transport = \"storage\"\n")),
        "24:13: traffic[0].transport: no transport is called \"storage\"; write [transports.storage], or leave this out for [transport]"
    );
    for (keys, entry, expected) in [
        (
            dcqcn,
            "transport = \"storge\"",
            "24:13: traffic[0].transport: no transport is called \"storge\"; write storage; did you mean \"storage\"?",
        ),
        (
            "kind = \"rdma\"\nlaw = \"dcqcn\"\nrto_min = \"1ms\"",
            "",
            "28:1: transports.storage.rto_min: belongs to kind \"tcp\", not to \"rdma\"; leave it out",
        ),
        (
            "kind = \"rdma\"\nlaw = \"dcqcn\"\ncnp_class = 3",
            "",
            "28:13: transports.storage.cnp_class: 3 needs 4 classes; write fabric.switch.classes = 4",
        ),
        (
            "kind = \"rdma\"",
            "",
            "25:1: transports.storage.law: is missing; write for instance law = \"dctcp\"",
        ),
    ] {
        assert_eq!(named(keys, entry), expected);
    }
    let tcp = named("kind = \"tcp\"\nlaw = \"dcqcn\"", "");
    assert!(tcp.starts_with("27:7: transports.storage.law: \"dcqcn\" needs congestion"), "{tcp}");
    assert!(tcp.contains("write transports.storage.kind = \"rdma\""), "{tcp}");
    let law = named("kind = \"tcp\"\nlaw = \"reno\"", "transport = \"storage\"\nlaw = \"hpcc\"");
    assert!(law.contains("write transports.storage.kind = \"rdma\""), "{law}");
}

#[test]
fn receiver_driven_transports() {
    let tcp = "kind = \"tcp\"\nlaw = \"dctcp\"";
    let driven = |lines: &str| said(tcp, &format!("kind = \"receiver-driven\"\n{lines}"));
    let spray = "routing = \"spray\"";
    for (lines, expected) in [
        ("law = \"dctcp\"".into(), "\"dctcp\" is a law of senders; write"),
        ("law = \"nd\"".into(), "no law of receivers is called \"nd\"; write"),
        (
            "law = \"ndp\"".into(),
            "\"ndp\" takes all paths, packet by packet; write transport.routing = \"spray\", or \"source\"",
        ),
        (
            format!("law = \"ndp\"\n{spray}\nwindow = \"100B\""),
            "\"100B\" is less than one segment of 1436B",
        ),
        (
            format!("law = \"homa\"\n{spray}"),
            "8 from class 0 up need 8 classes; write fabric.switch.classes = 8, or fewer priorities",
        ),
        (
            format!("law = \"homa\"\n{spray}\npriorities = 2\nunscheduled_priorities = 2"),
            "2 of 2 priorities leave none for granted data; write at most 1, or more priorities",
        ),
        (
            format!("law = \"homa\"\n{spray}\npriorities = 4\ncutoffs = [\"1KB\"]"),
            "stands without unscheduled_priorities; write transport.unscheduled_priorities = 2 as well",
        ),
        (
            format!(
                "law = \"homa\"\n{spray}\npriorities = 4\nunscheduled_priorities = 3\ncutoffs = [\"1KB\"]"
            ),
            "is a list of length 1; write 2 sizes, one fewer than unscheduled_priorities",
        ),
        (
            format!(
                "law = \"homa\"\n{spray}\npriorities = 4\nunscheduled_priorities = 3\ncutoffs = [\"2KB\", \"1KB\"]"
            ),
            "does not ascend; write the smallest size first",
        ),
        (
            format!(
                "law = \"ndp\"\n{spray}\n[[traffic]]\nkind = \"permutation\"\nsize = \"1MB\"\nclass = 0"
            ),
            "a receiver-driven transport has one class for all of its messages; write transport.class",
        ),
        (
            format!("law = \"ndp\"\n{spray}"),
            "\"ndp\" learns of losses from headers whose payload a switch cut off; write { class = 0, size = \"8 packets\", over = { trim_to = \"64B\", class = 1 } } in fabric.switch.limits, or fabric.switch.buffer = \"none\" for queues without an end",
        ),
        (
            format!(
                "law = \"homa\"\n{spray}\nunscheduled_priorities = 5\nparams = {{ overcommit = 4 }}"
            ),
            "lets 4 messages send at a time, and at most 3 of 8 priorities are for granted data; let 3 send, or write more priorities",
        ),
        (
            format!("law = \"homa\"\n{spray}\npriorities = 1\nparams = {{ tail_boost = true }}"),
            "boosts the end of messages into a higher class, and with one priority there is none; leave tail_boost out, or write more priorities",
        ),
        (
            format!("law = \"homa\"\n{spray}\nparams = {{ oldest_share = 0.6 }}"),
            "does not fit; homa.oldest_share takes a share from 0.0 to 0.5",
        ),
        (
            format!("law = \"ndp\"\n{spray}\nparams = {{ path_penalty = true }}"),
            "transport.params: path_penalty is about paths that senders number; write transport.routing = \"source\", or leave it out",
        ),
        (
            format!("law = \"ndp\"\n{spray}\nparams = {{ path_numbers = 128 }}"),
            "transport.params: path_numbers is about paths that senders number; write transport.routing = \"source\", or leave it out",
        ),
        (
            "law = \"ndp\"\nrouting = \"source\"\nparams = { path_numbers = 128, path_penalty = true }".into(),
            "transport.params: path_penalty and path_numbers both say which path is next; leave one of them out",
        ),
        (
            "law = \"expresspass\"\nrouting = \"spray\"".into(),
            "needs credits and data on the same links",
        ),
        (
            format!("law = \"homa\"\n{spray}\npriorities = 1\n[output.law_log]\nflows = [0]"),
            "logs laws of flows, and here each receiving host has one; write output.law_log.hosts",
        ),
        (
            "law = \"expresspass\"\nrouting = \"source\"".into(),
            "needs credits and data on the same links",
        ),
        (
            "law = \"expresspass\"\nwindow = \"9KB\"".into(),
            "means nothing under \"expresspass\", where each packet has a credit; leave it out, or write transport.selective_drop = true",
        ),
        (
            "law = \"expresspass\"\nmax_retries = 5".into(),
            "means nothing under \"expresspass\", whose senders request credits for ever; leave it out",
        ),
        (
            "law = \"expresspass\"\nselective_drop = true".into(),
            "is about packets that switches drop first; write fabric.switch.ecn = [{ classes = [0], k = \"6KB\", not_ect = \"drop\", ect = \"pass\" }]",
        ),
        (
            format!("law = \"ndp\"\n{spray}\nselective_drop = true"),
            "is about packets that switches drop first; write fabric.switch.ecn = [{ classes = [0], k",
        ),
    ] {
        let found = driven(&lines);
        assert!(found.contains(expected), "{lines}\nsays now: {found}");
    }
    let homa = "kind = \"receiver-driven\"\nlaw = \"homa\"\nrouting = \"spray\"\npriorities = 1";
    let of = |request: &str| {
        let rpc = format!(
            "[[traffic]]\nkind = \"rpc\"\nfrom = \"leaf[0].host[0]\"\nto = \"leaf[1].host[1]\"\nrequest = \"{request}\"\n"
        );
        let file = BASE.replacen(tcp, homa, 1) + &rpc;
        text("a.toml", &file).map_or_else(|e| e.to_string(), |_| "nothing".into())
    };
    assert!(
        of("5GB").contains("request: \"5GB\" is too much for a message of a receiver-driven"),
        "{}",
        of("5GB")
    );
    assert_eq!(of("4GB"), "nothing");
    assert_eq!(of("4294967295B"), "nothing");
    assert!(of("4GiB").contains("which has less than 4 GiB"), "{}", of("4GiB"));
    let found = said(tcp, &format!("{tcp}\nrouting = \"source\""));
    let expected = "senders of \"dctcp\" number no paths, as \"source\" needs it; write transport.routing = \"spray\"";
    assert!(found.contains(expected), "says now: {found}");
}

#[test]
fn symmetric_paths_need_switches_that_hash_alike() {
    let hash = |routing: &str, seed: &str| {
        format!("routing = \"{routing}\"\nhash_seed = \"{seed}\"\nhost_link")
    };
    let said = |routing: &str, seed: &str| said("host_link", &hash(routing, seed));
    assert_eq!(
        said("ecmp-symmetric", "per-switch"),
        "12:13: fabric.hash_seed: \"per-switch\" has the two directions of a flow choose apart, which \"ecmp-symmetric\" is to prevent; write \"per-tier\" or \"same\", or routing = \"ecmp\""
    );
    for (routing, seed) in [
        ("ecmp-symmetric", "per-tier"),
        ("ecmp-symmetric", "same"),
        ("ecmp", "per-switch"),
        ("ecmp", "per-tier"),
        ("ecmp", "same"),
        ("spray", "same"), // not used, so that routing alone can be swept
    ] {
        assert_eq!(said(routing, seed), "nothing", "{routing}, {seed}");
    }
}
