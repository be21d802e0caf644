//! What a user gets to read for each kind of mistake: one line that says where, which key, what was found and what to
//! write instead; exit code 2, nothing on stdout, nothing left on disk.

use crate::common::Scratch;

const GOOD: &str = r#"version = 1
stop = { time = "2ms" }

[fabric]
kind = "star"
hosts = 8
host_link = { rate = "10Gbps", delay = "1us" }

[transport]
kind = "tcp"
law = "dctcp"

[[traffic]]
kind = "poisson"
sizes = "websearch"
load = 0.5
"#;

/// Each mistake: what to replace by what, and what the line says.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "hosts = 8",
        "hosts = 8\nhots = 3",
        "bad.toml:7:1: fabric.hots: unknown key; did you mean \"hosts\"?",
    ),
    (
        "10Gbps",
        "10us",
        "fabric.host_link.rate: \"10us\" has a unit that does not fit here; use one of bps",
    ),
    ("\"10Gbps\"", "10", "fabric.host_link.rate: 10 has no unit; write for instance \"100Gbps\""),
    ("\"dctcp\"", "\"dctpc\"", "transport.law: no law is called \"dctpc\"; write reno"),
    ("load = 0.5", "load = 1.5", "traffic[0].load: 1.5 is more than all of the reference"),
    ("load = 0.5", "load = -0.5", "traffic[0].load: "),
    ("load = 0.5", "load = nan", "traffic[0].load: NaN is not a finite number"),
    ("hosts = 8", "hosts = 0", "fabric.hosts: 0 is too few"),
    ("hosts = 8", "hosts = -8", "fabric.hosts: -8 is too few"),
    ("\"2ms\"", "\"-2ms\"", "stop.time: \"-2ms\" is not a non-negative decimal number"),
    ("\"2ms\"", "\"4000s\"", "at most 50,000,000 are possible"),
    (
        "\"websearch\"",
        "{ points = [[100, 0.5], [50, 1.0]] }",
        "traffic[0].sizes: is not monotone: at point 2",
    ),
    ("\"websearch\"", "\"websaerch\"", "traffic[0].sizes: "),
    (
        "kind = \"poisson\"\nsizes = \"websearch\"\nload = 0.5",
        "kind = \"list\"\nflows = [{ from = \"host[0]\", to = \"host[0]\", size = \"1KB\" }]",
        "goes from \"host[0]\" to itself",
    ),
    (
        "kind = \"poisson\"\nsizes = \"websearch\"\nload = 0.5",
        "kind = \"list\"\nflows = [{ from = \"host[0]\", to = \"host[9]\", size = \"1KB\" }]",
        "no host is called \"host[9]\"",
    ),
    (
        "kind = \"star\"\nhosts = 8",
        "kind = \"graph\"\nhosts = [\"a\", \"b\"]\nswitches = [\"x\", \"y\"]\n\
         cables = [{ a = \"a\", b = \"x\" }, { a = \"b\", b = \"y\" }]",
        "fabric.cables: no path leads from \"a\" to \"b\"",
    ),
    ("hosts = 8", "hosts = = 8", "bad.toml:6:9: not valid TOML"),
    (
        "load = 0.5",
        "load = 0.5\n[[expect]]\nmetric = \"flows.slowness\"\nmax = 1",
        "bad.toml:18:10: expect[0].metric: \"flows.slowness\" is not a metric",
    ),
];

#[test]
fn every_mistake_is_one_line_with_place_key_and_remedy() {
    let here = Scratch::new();
    for (find, replace, says) in MISTAKES {
        assert!(GOOD.contains(find), "{find}");
        // The flood of flows needs small ones.
        let good = if replace.contains("4000s") {
            GOOD.replace("\"websearch\"", "\"1B\"")
        } else {
            GOOD.into()
        };
        here.write("bad.toml", &good.replace(find, replace));
        for verb in ["check", "run", "sweep"] {
            let ran = here.run(&[verb, "bad.toml"]).ends(2);
            assert_eq!(ran.out, "", "{verb}: {replace}");
            assert_eq!(ran.err.lines().count(), 1, "{verb}: {replace}: {}", ran.err);
            assert!(ran.err.starts_with("bad.toml"), "{verb}: {}", ran.err);
            assert!(ran.err.contains(says), "{verb}: {replace}: {}", ran.err);
        }
        assert!(!here.has("results"), "{replace}: nothing is left behind");
    }
    here.write("bad.toml", GOOD);
    here.run(&["run", "bad.toml"]).ends(0);
}

#[test]
fn links_without_delay_run_as_one_process() {
    let here = Scratch::new();
    here.write("zero.toml", &GOOD.replace("\"1us\"", "\"0ns\""));
    let check = here.run(&["check", "zero.toml"]).ends(0);
    assert!(check.out.contains("1 logical process"), "{}", check.out);
    here.run(&["run", "zero.toml"]).ends(0);
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let here = Scratch::new();
    let missing = here.run(&["run", "missing.toml"]).ends(2);
    assert_eq!(missing.err, "missing.toml: is missing; check the path\n");
    let folder = here.run(&["run", "."]).ends(2);
    assert_eq!(folder.err, ".: is a folder; write the path of a file\n");
    std::fs::write(here.path.join("binary.toml"), [0xff, 0xfe, 0x00]).unwrap();
    let binary = here.run(&["check", "binary.toml"]).ends(2);
    assert!(binary.err.contains("is not UTF-8 text"), "{}", binary.err);
}

/// Each said something that misled, or nothing about what was meant.
#[test]
fn what_is_typed_wrongly_is_named_with_what_to_write() {
    let here = Scratch::new();
    here.write("good.toml", GOOD);
    let cases: [(&[&str], &str); 17] = [
        (
            &["import", "netbox", "x.json"],
            "error: forebay import has no command \"netbox\"; use one of ns3-hpcc, htsim, cdf",
        ),
        (
            &["import", "htsimm", "x.cm"],
            "has no command \"htsimm\"; did you mean \"htsim\"? use one of",
        ),
        (
            &["trace", "good.toml", "--flow", "abc", "--packet", "1"],
            "flows are numbered 0, 1, 2, as in flows.csv",
        ),
        (&["run", "good.toml", "--law-log", "x"], "flows are numbered 0, 1, 2"),
        (&["why", "r", "--rpc", "x"], "RPCs are numbered 0, 1, 2, as the rows of rpcs.csv"),
        (
            &["why", "r", "--size", "1MB..10KB"],
            "no size is in it; write the smaller end first, 10KB..1MB",
        ),
        (&["why", "r", "--size", "1..10KB"], "\"1\" has no unit"),
        (&["why", "r", "--size", "1MB"], "write FROM..TO with units"),
        (
            &["watch", "good.toml", "--every", "soon"],
            "\"soon\" is not a non-negative decimal number with a unit",
        ),
        (&["watch", "good.toml", "--every", "1ps"], "--every 1ps would print "),
        (
            &["run", "good.toml", "--out", "-x"],
            "--out needs a value, and -x looks like an option; if it is the value, write --out=-x",
        ),
        (&["explain", "slowdon"], "did you mean \"slowdown\"?"),
        (&["explain", "transport.lwa"], "did you mean \"transport.law\"?"),
        (
            &["new", "web-serch"],
            "there is no preset \"web-serch\"; did you mean \"websearch\"? (forebay list presets)",
        ),
        (&["laws", "dctpc"], "there is no law \"dctpc\"; did you mean \"dctcp\"? use one of"),
        (&["run", "good.toml", "--set", "transport.kind=roce"], "here that is \"rdma\""),
        (
            &["run", "good.toml", "--set", "traffic[0].sizes.file=c.txt"],
            "traffic[0].sizes={ file = \"c.txt\" }",
        ),
    ];
    for (args, says) in cases {
        let ran = here.run(args).ends(2);
        assert!(ran.err.contains(says), "{args:?}: {}", ran.err);
        assert!(
            !ran.err.contains("-- -x") && !ran.err.contains("did you mean \"import\""),
            "{}",
            ran.err
        );
    }
    for args in [
        &["new", "incast", "--out", "no/such/i.toml"][..],
        &["export", "flows", "good.toml", "--out", "no/such/i.toml"],
    ] {
        let ran = here.run(args).ends(1);
        assert_eq!(
            ran.err,
            "error: cannot write no/such/i.toml: there is no folder no/such; make it first\n"
        );
    }
}

#[test]
fn an_import_does_not_write_into_a_run() {
    let here = Scratch::new();
    here.write("good.toml", GOOD);
    here.write("sizes.txt", "1000 0.5\n2000 1\n");
    here.run(&["run", "good.toml", "--out", "good"]).ends(0);
    for force in [&["--force"][..], &[]] {
        let ran =
            here.run(&[&["import", "cdf", "sizes.txt", "--out", "good"], force].concat()).ends(2);
        assert_eq!(ran.err, "error: good holds the results of a run; name another folder\n");
    }
    assert!(!here.has("good/scenario.toml") && !here.has("good/import.txt"));
    // And a run's folder stands for its scenario where that is what a verb takes.
    here.run(&["trace", "good", "--flow", "0", "--packet", "1"]).ends(0);
    let run = here.run(&["run", "good"]).ends(2);
    assert_eq!(run.err, "good: is the folder of a run; its scenario is good/resolved.toml\n");
}

#[test]
fn settings_are_judged_like_the_file() {
    let here = Scratch::new();
    here.write("good.toml", GOOD);
    for (set, says) in [
        ("traffic[0].load=2", "--set traffic[0].load=2: traffic[0].load: 2"),
        ("transport.lwa=reno", "--set transport.lwa=reno: "),
        ("stop.time=5", "stop.time: 5 has no unit"),
        ("traffic[7].load=0.1", "--set traffic[7].load=0.1: "),
    ] {
        let ran = here.run(&["run", "good.toml", "--set", set]).ends(2);
        assert!(ran.err.contains(says), "{set}: {}", ran.err);
    }
    let ran = here.run(&["run", "good.toml", "--set", "nonsense"]).ends(2);
    assert!(ran.err.contains("write KEY=VALUE"), "{}", ran.err);
    for (args, says) in [
        (&["rnu", "good.toml"][..], "there is no command \"rnu\"; did you mean \"run\"?"),
        (&["run", "good.toml", "--seeds", "1..5"], "write whole numbers from 0 on, with commas"),
        (&["run", "good.toml", "--threads", "-1"], "write a whole number from 1 to 1024"),
    ] {
        let ran = here.run(args).ends(2);
        assert!(ran.err.contains(says) && !ran.err.contains("-- -1"), "{args:?}: {}", ran.err);
    }
    for args in [
        &["run"][..],
        &["rnu"],
        &["run", "good.toml", "--threads", "0"],
        &["run", "a", "--preset", "b"],
    ] {
        let ran = here.run(args).ends(2);
        assert_eq!(ran.out, "", "{args:?}");
    }
}
