//! `forebay why` and `output.why`: the same parts, which add up, and a report that shows them.

use crate::common::{SMALL, Scratch};
use serde_json::Value;
use std::collections::BTreeMap;

/// Of each flow of a table, its key, what a column adds up to.
fn sums(csv: &str, column: &str) -> BTreeMap<u64, u64> {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let at = |name: &str| header.iter().position(|one| *one == name).unwrap();
    let (flow, value) = (at("flow"), at(column));
    let mut sums = BTreeMap::new();
    for line in lines.filter(|line| !line[value].is_empty()) {
        *sums.entry(line[flow].parse().unwrap()).or_default() +=
            line[value].parse::<u64>().unwrap();
    }
    sums
}

#[test]
fn a_run_explains_itself_as_it_is_explained_later() {
    let here = Scratch::new();
    let one_seed = SMALL.replace("seeds = [1, 2, 3]\n", "");
    here.write("plain.toml", &one_seed);
    here.write("asks.toml", &format!("{one_seed}why = {{ flows = \"all\" }}\n"));
    here.run(&["run", "plain.toml", "--out", "plain", "--quiet"]).ends(0);
    here.run(&["run", "asks.toml", "--out", "asks", "--quiet"]).ends(0);
    let digest = |run: &str| {
        let summary: Value =
            serde_json::from_str(&here.read(&format!("{run}/summary.json"))).unwrap();
        summary["digest"].clone()
    };
    assert_eq!(digest("plain"), digest("asks"), "whoever asks gets the same run");
    assert!(!here.has("plain/why.csv") && !here.read("plain/report.html").contains("id=\"why\""));
    let report = here.read("asks/report.html");
    assert!(report.contains("id=\"why\"") && report.contains("<details class=\"why\""));

    let (flows, why) = (here.read("asks/flows.csv"), here.read("asks/why.csv"));
    assert!(why.starts_with("seed,flow,part,port,behind_flow,part_ps\n"), "{why}");
    assert_eq!(sums(&why, "part_ps"), sums(&flows, "fct_ps"));

    // Flow by flow, and later, it is the same table.
    let said = here.run(&["why", "plain", "--size", "1B.."]).ends(0);
    assert!(
        said.out.contains("sending and propagation.") && said.out.contains("mean FCT"),
        "{}",
        said.out
    );
    assert_eq!(here.read("plain/why.csv"), why);
    let one = here.run(&["why", "plain", "--flow", "0", "--json"]).ends(0);
    let one: Value = serde_json::from_str(&one.out).unwrap();
    let parts = one["flows"][0]["parts"].as_array().unwrap();
    let sum: u64 = parts.iter().map(|part| part["part_ps"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), one["flows"][0]["fct_ps"].as_u64());
    assert_eq!(here.read("plain/why.csv"), why, "what is known already stays");
    assert!(here.read("plain/report.html").contains("id=\"why\""));
}

#[test]
fn whoever_asks_for_what_is_not_there_is_told_so() {
    let here = Scratch::new();
    let asks = |flows: &str| format!("{SMALL}why = {{ flows = {flows} }}\n");
    for (flows, said) in [
        (
            "\"fastest 1 %\"",
            "output.why.flows: \"fastest 1 %\" names no flows; write \"all\", \"slowest 1 %\"",
        ),
        ("\"slowest 0 %\"", "names no flows"),
        ("[]", "output.why.flows: explains nothing; write \"slowest 1 %\""),
        ("[1, 1]", "output.why.flows: names flow 1 twice; write it once"),
    ] {
        here.write("asks.toml", &asks(flows));
        let ran = here.run(&["run", "asks.toml", "--out", "asks", "--quiet"]).ends(2);
        assert!(ran.err.contains(said) && ran.err.lines().count() == 1, "{}", ran.err);
    }
    here.write("asks.toml", &asks("[999999]"));
    let ran = here.run(&["run", "asks.toml", "--out", "asks", "--quiet"]).ends(0);
    assert!(
        ran.err.contains("output.why explains nothing: none of these flows is complete"),
        "{}",
        ran.err
    );
    assert!(!here.has("asks/why.csv"));
    let ran = here.run(&["why", "asks", "--flow", "999999"]).ends(2);
    assert!(ran.err.contains("there is no flow 999999"), "{}", ran.err);
    let ran = here.run(&["why", "nowhere"]).ends(2);
    assert!(ran.err.contains("is not a results directory"), "{}", ran.err);
}

#[test]
fn one_packet_is_followed_and_what_is_not_there_is_named() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    let asks = |flow: &str, packet: &str, more: &[&str]| {
        let ask = ["trace", "small.toml", "--flow", flow, "--packet", packet];
        here.run(&[&ask[..], more].concat())
    };
    let said = asks("0", "1", &[]).ends(0);
    assert!(
        said.out.starts_with("packet 1 of flow 0, ") && said.out.contains("reached "),
        "{}",
        said.out
    );
    let json: Value = serde_json::from_str(&asks("0", "1", &["--json"]).ends(0).out).unwrap();
    let (copy, ps) = (&json["copies"][0], |value: &Value| value.as_u64().unwrap());
    let hops = copy["hops"].as_array().unwrap();
    assert!(hops.len() > 1 && ps(&json["first_byte"]) == 0, "{json}");
    for hop in &hops[1..] {
        assert_eq!(ps(&hop["came_ps"]) + ps(&hop["waited_ps"]), ps(&hop["sent_from_ps"]));
    }
    let last = hops.last().unwrap();
    assert!(ps(&copy["arrived_ps"]) > ps(&last["sent_until_ps"]), "{json}");

    for (flow, packet, said) in [
        ("999999", "1", "--flow 999999: there is no such flow; this run has "),
        ("0", "999999", "--packet 999999: there is no such packet; flow 0 sent "),
        ("0", "0", "packets are numbered 1, 2, 3"),
        ("-1", "1", "-1"),
    ] {
        let ran = asks(flow, packet, &[]).ends(2);
        assert!(ran.err.contains(said), "{}", ran.err);
    }
}

#[test]
fn an_rpc_is_explained_and_adds_up() {
    let here = Scratch::new();
    let star = "version = 1\nstop = { time = \"3s\" }\n[fabric]\nkind = \"star\"\nhosts = 2\n\
                host_link = { rate = \"10Gbps\", delay = \"1us\" }\n[transport]\nkind = \"tcp\"\nlaw = \"reno\"\n";
    let rpc = "[[traffic]]\nkind = \"rpc\"\nfrom = [\"host[0]\"]\nto = [\"host[1]\"]\nrequest = \"10KB\"\n\
               response = \"100KB\"\nservice = \"5us\"\ncount = 3\n";
    here.write("rpc.toml", &format!("{star}{rpc}"));
    here.run(&["run", "rpc.toml", "--out", "a", "--quiet"]).ends(0);
    let said = here.run(&["why", "a", "--rpc", "2"]).ends(0).out;
    assert!(said.starts_with("RPC 2, 10 KB for 100 KB host[0] -> host[1]: "), "{said}");
    assert!(said.contains("\nserver ") && said.contains("\nlatency "), "{said}");
    let json = here.run(&["why", "a", "--rpc", "2", "--json"]).ends(0).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    let rpc = &json["rpcs"][0];
    let parts = rpc["parts"].as_array().unwrap();
    let sum: u64 = parts.iter().map(|part| part["part_ps"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), rpc["latency_ps"].as_u64());
    let service = parts.iter().find(|part| part["part"] == "service").unwrap();
    assert_eq!(service["part_ps"].as_u64(), Some(5_000_000));
    // Without options it is the slowest of them, in a table of their own.
    let said = here.run(&["why", "a"]).ends(0).out;
    assert!(said.starts_with("slowest 1 % of RPCs: ") && said.contains("\nlatency "), "{said}");
    let why = here.read("a/why_rpcs.csv");
    assert!(why.starts_with("seed,rpc,part,port,behind_flow,part_ps\n"), "{why}");
    assert!(!here.has("a/why.csv") && here.read("a/report.html").contains("id=\"why\""));
    let ran = here.run(&["why", "a", "--rpc", "3"]).ends(2);
    assert!(
        ran.err.contains("--rpc 3: there is no such RPC; this run has 3, 0 to 2"),
        "{}",
        ran.err
    );
}

#[test]
fn a_flow_that_waited_for_others_says_so() {
    let here = Scratch::new();
    let star = "version = 1\nstop = { time = \"1s\" }\n[fabric]\nkind = \"star\"\nhosts = 4\n\
                host_link = { rate = \"10Gbps\", delay = \"1us\" }\n[transport]\nkind = \"tcp\"\nlaw = \"reno\"\n";
    let chain = "[[traffic]]\nkind = \"list\"\ncontrol_delay = \"2us\"\nflows = [\n\
        { from = \"host[0]\", to = \"host[1]\", size = \"10KB\", at = \"5us\", fires = \"one\" },\n\
        { from = \"host[1]\", to = \"host[2]\", size = \"10KB\", after = \"one\", fires = \"two\" },\n\
        { from = \"host[2]\", to = \"host[3]\", size = \"10KB\", after = \"two\", compute = \"5us\" },\n]\n";
    here.write("chain.toml", &format!("{star}{chain}"));
    here.run(&["run", "chain.toml", "--out", "a", "--quiet"]).ends(0);
    let said = here.run(&["why", "a", "--flow", "2"]).ends(0).out;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in [
        "Flow 2 waited for flow 1, host[1] -> host[2]: it began 7.00 us after the delivery.",
        "Flow 1 waited for flow 0, host[0] -> host[1]: it began 2.00 us after the delivery.",
        "The first of this chain, flow 0, began at 5.00 us.",
    ] {
        assert!(said.contains(sentence), "{said}");
    }
    let json = here.run(&["why", "a", "--flow", "2", "--json"]).ends(0).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["flows"][0]["waited_for"], 1);
    let first = here.run(&["why", "a", "--flow", "0"]).ends(0).out;
    assert!(!first.contains("waited for flow"), "{first}");
}
