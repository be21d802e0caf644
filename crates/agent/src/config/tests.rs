//! What a configuration may not say, and the sentence for each.

use super::*;
use std::fs;

fn problem(text: &str) -> String {
    parse("agent.toml", text, false).map(|_| ()).expect_err(text)
}

#[test]
fn an_empty_file_observes_and_a_whole_one_reads() {
    let empty = parse("agent.toml", "", false).expect("defaults");
    assert_eq!(
        (empty.mode, empty.every, empty.law.name.as_str()),
        (Mode::Observe, Span::from_ms(1), "hostcc")
    );
    let text = r#"
        mode = "dry-run"
        every = "2ms"
        deadline = "50ms"
        [law]
        name = "hostcc"
        params = { iio_threshold = "70", target = "84Gbps", bandwidth_weight = "auto" }
        [[nic]]
        name = "eth0"
        echo = "tcx"
        share = "50%"
        [[victim]]
        cgroup = "/batch.slice"
        ladder = ["mb:70%", "mb:40%", "mb:10%", "freeze"]
    "#;
    let whole = parse("agent.toml", text, false).expect("it is right");
    assert_eq!((whole.mode, whole.nic.len(), whole.victim[0].ladder.len()), (Mode::DryRun, 1, 4));
    assert_eq!((whole.nic[0].echo, whole.nic[0].share()), (Echo::Tcx, Some(1 << 15)));
}

#[test]
fn the_example_is_right() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/agent.toml");
    let example = load(&path, false).expect("it loads");
    assert_eq!((example.mode, example.victim[0].ladder.len()), (Mode::Observe, 4));
}

#[test]
fn each_mistake_has_place_key_value_and_remedy() {
    for (text, wanted) in [
        ("evry = \"1ms\"", "agent.toml:1:1: evry: unknown key; did you mean \"every\"?"),
        ("every = 1", "agent.toml:1:9: every: 1 has no unit; write for instance"),
        ("every = \"5us\"", "every: \"5us\" is out of bounds; write a time from 10us to 1s"),
        (
            "every = \"10us\"",
            "every: \"10us\" is less than 1ms, so the loop would keep a core busy; name that core with --core N, or write 1ms or more",
        ),
        ("every = \"50ms\"", "deadline: \"50ms\" is less than four periods; write at least 200ms"),
        (
            "mode = \"on\"",
            "mode: \"on\" is not known; write \"observe\", \"dry-run\" or \"enforce\"",
        ),
        (
            "law = { name = \"dctcp\" }",
            "law.name: \"dctcp\": there is no law of this name; use hostcc or nicdrop",
        ),
        ("law.params.target = \"84\"", "law.params.target: \"84\": hostcc.target takes"),
        (
            "law.params.colour = \"1\"",
            "law.params.colour: \"1\": hostcc has no parameter of this name; use",
        ),
        (
            "law.params.mark_all = \"true\"",
            "law.params.mark_all: true would mark packets that are not ECN-capable",
        ),
        ("nic = [{ name = \"a/b\" }]", "nic[0].name: \"a/b\" is not the name of an interface"),
        ("nic = [{ name = \"a\" }, { name = \"a\" }]", "nic[1].name: \"a\" is there twice"),
        (
            "nic = [{ name = \"a\", echo = \"cgroup\" }]",
            "nic[0].cgroup: is missing: echo = \"cgroup\" marks the packets of one; write",
        ),
        (
            "nic = [{ name = \"a\", echo = \"cgroup\", cgroup = \"/a/../b\" }]",
            "nic[0].cgroup: \"/a/../b\" is not a path below the cgroup v2 mount",
        ),
        (
            "nic = [{ name = \"a\", echo = \"tcx\", cgroup = \"/a\" }]",
            "nic[0].cgroup: is for echo = \"cgroup\", this is \"tcx\"; leave it out",
        ),
        (
            "nic = [{ name = \"a\", echo = \"tcx\", share = \"0.5\" }]",
            "nic[0].share: \"0.5\" is not a share of packets; write \"1%\" to \"100%\"",
        ),
        ("nic = [{ name = \"a\", share = \"101%\" }]", "nic[0].share: \"101%\" is not a share"),
        (
            "nic = [{ name = \"a\", echo = \"xdp\" }]",
            "nic[0].echo: \"xdp\" is not known; write \"off\", \"tcx\"",
        ),
        (
            "victim = [{ cgroup = \"/\", ladder = [\"freeze\"] }]",
            "victim[0].cgroup: \"/\" is every process",
        ),
        (
            "victim = [{ cgroup = \"a\", ladder = [\"freeze\"] }]",
            "victim[0].cgroup: \"a\" is not a path below",
        ),
        (
            "victim = [{ cgroup = \"/a/../b\", ladder = [\"freeze\"] }]",
            "victim[0].cgroup: \"/a/../b\" is not a path",
        ),
        ("victim = [{ cgroup = \"/a\" }]", "victim[0].ladder"),
        ("victim = [{ cgroup = \"/a\", ladder = [] }]", "victim[0].ladder"),
        (
            "victim = [{ cgroup = \"/a\", ladder = [\"mb:70\"] }]",
            "victim[0].ladder[0]: \"mb:70\": write \"mb:70%\"",
        ),
        (
            "victim = [{ cgroup = \"/a\", ladder = [\"freeze\", \"cpu:9%\"] }]",
            "victim[0].ladder[1]: \"cpu:9%\": nothing is stronger",
        ),
        (
            "[[victim]]\ncgroup = \"/a\"\nladder = [\"freeze\"]\n[[victim]]\ncgroup = \"/a/b\"\nladder = [\"freeze\"]",
            "victim[1].cgroup: \"/a/b\" and \"/a\" overlap",
        ),
    ] {
        let found = problem(text);
        let whole = found.contains(wanted) && found.starts_with("agent.toml:");
        assert!(whole, "{text}: {found}");
    }
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agent.schema.json");
    let schema = forebay_scenario::schema_of::<Config>();
    let now = serde_json::to_string_pretty(&schema).expect("JSON") + "\n";
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        fs::write(&path, &now).expect("written");
    }
    let published = fs::read_to_string(&path).unwrap_or_default();
    assert!(published == now, "renew it: FOREBAY_BLESS=1 cargo test -p forebay-agent schema");
}
