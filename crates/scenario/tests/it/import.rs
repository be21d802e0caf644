//! Files of other simulators: what is read, what is said about what is wrong, and that nothing is lost on the way there and back.

use crate::programs::waits;
use forebay_scenario::import::{
    self, Command, Fate, Flow, Flows, Hpcc, HpccConfig, Htsim, Import, Link, Paths, Source,
    Topology,
};
use forebay_scenario::model::{BaseRtt, Clock, MarkAt, NextHops, Pause, Release, Routing};
use forebay_scenario::workload::{self, Hosts, Table};
use forebay_scenario::{LoadedScenario, export, text};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use proptest::prelude::*;

const TOPOLOGY: &str = include_str!("../data/hpcc-topology.txt");
const FLOWS: &str = include_str!("../data/hpcc-flows.txt");
const CONFIG: &str = include_str!("../data/hpcc-config.txt");
const PATHS: &str = include_str!("../data/hpcc-paths.csv");
const MATRIX: &str = include_str!("../data/htsim.cm");
const TOPO: &str = include_str!("../data/htsim.topo");

fn source<'a>(name: &'a str, text: &'a str) -> Source<'a> {
    Source { name, text }
}

fn hpcc(
    topology: &str,
    flows: &str,
    config: Option<&str>,
    paths: Option<&str>,
) -> Result<Import, String> {
    let config = config.map(|text| HpccConfig::parse(source("config.txt", text)));
    let config = config.transpose().map_err(|e| e.to_string())?;
    let files = Hpcc {
        topology: source("topology.txt", topology),
        flows: source("flow.txt", flows),
        config: config.as_ref(),
        paths: paths.map(|text| source("paths.csv", text)),
        start_at: None,
        flow_form: None,
    };
    import::hpcc("made", &files).map_err(|e| e.to_string())
}

fn htsim(matrix: &str, topo: Option<&str>) -> Result<Import, String> {
    htsim_with(matrix, topo, Command::default())
}

fn htsim_with(matrix: &str, topo: Option<&str>, command: Command<'_>) -> Result<Import, String> {
    let topo = topo.map(|text| source("a.topo", text));
    let files = Htsim { matrix: source("a.cm", matrix), topology: topo, command };
    import::htsim("made", &files).map_err(|e| e.to_string())
}

/// Reads an import back from a folder, as a user does.
fn load(made: &Import) -> LoadedScenario {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let n = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("forebay-import-{}-{n}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in &made.files {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let loaded = forebay_scenario::load(&folder.join("scenario.toml")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    loaded
}

fn table(loaded: &LoadedScenario) -> Table {
    let hosts = Hosts::of(&loaded.scenario);
    workload::flows(&loaded.scenario, &hosts, 1).unwrap()
}

fn notes(made: &Import, fate: Fate) -> Vec<String> {
    made.notes
        .iter()
        .filter(|n| n.fate == fate)
        .map(|n| format!("{}: {}", n.place, n.text))
        .collect()
}

#[track_caller]
fn says(found: Result<Import, String>, expected: &str) {
    assert_eq!(found.map(|made| made.files[0].1.clone()), Err(expected.into()));
}

#[test]
fn everything_of_a_topology_and_its_flows_is_in_the_scenario() {
    let made = hpcc(TOPOLOGY, FLOWS, Some(CONFIG), Some(PATHS)).unwrap();
    let loaded = load(&made);
    let plan = forebay_scenario::plan::Plan::of(&loaded.scenario.fabric);
    assert_eq!((plan.hosts, plan.names.len(), plan.cables.len()), (8, 12, 12));
    let cable = |name: &str| plan.cable(name).unwrap();
    assert_eq!(cable("host[07]-switch[09]").link.delay, Span::from_ns(1500));
    assert_eq!(cable("switch[08]-switch[10]").link.rate, BitsPerSec::from_gbps(100));
    assert_eq!(cable("host[03]-switch[08]").loss, 0.0001);
    let flows = table(&loaded).flows;
    let rows: Vec<_> =
        flows.iter().map(|f| (f.src, f.dst, f.size.get(), f.sport, f.dport)).collect();
    assert_eq!(
        rows,
        [
            (0, 4, 200_000, 10_000, 100),
            (1, 4, 200_000, 10_000, 100),
            (5, 0, 30_000, 10_000, 101),
            (2, 6, 2_001, 10_000, 100), // the first from 2 to 6, though the second of host 2
            (2, 7, 1_000, 10_000, 100),
            (3, 5, 1, 10_000, 7_000),
        ]
    );
    assert_eq!(flows[5].start, Time::from_ps(2_000_010_500_000));
    let paths = loaded.scenario.fabric.paths.all();
    assert_eq!((paths[0].flow, &paths[0].ack[1][..]), (0, "switch[10]"));
    assert_eq!((paths[1].flow, &paths[1].data[1][..]), (3, "switch[10]"), "flow 4 of the file");
    let transport = &loaded.scenario.transport;
    assert_eq!(transport.law, "dctcp-rate");
    assert_eq!(
        [transport.mss, transport.header, transport.ack_size],
        [1000, 48, 60].map(Bytes::new)
    );
    let ecn = loaded.scenario.fabric.switch.ecn.of_port().unwrap();
    for (gbps, kmin, kmax) in [(25, 100_000, 400_000), (100, 400_000, 1_600_000)] {
        let bytes = |n| forebay_scenario::model::QueueLength::Bytes(Bytes::new(n));
        assert_eq!(ecn.thresholds(BitsPerSec::from_gbps(gbps)), (bytes(kmin), bytes(kmax)));
    }
    let left = notes(&made, Fate::Left);
    for said in [
        "config.txt:19: \"MY_OWN_KEY 7 8\"",
        "config.txt: FCT_OUTPUT_FILE: forebay writes its own tables",
    ] {
        assert!(left.iter().any(|note| note.starts_with(said)), "{said}: {left:#?}");
    }
    let unused = "config.txt: USE_DYNAMIC_PFC_THRESHOLD, RATE_AI: change nothing in this file";
    assert!(notes(&made, Fate::Carried).iter().any(|note| note.starts_with(unused)), "{left:#?}");
    let numbers = &made.files.iter().find(|(name, _)| name == "numbers.csv").unwrap().1;
    assert!(numbers.starts_with("flow,source_flow,source_line,sport,dport\n0,0,2,10000,100\n"));
    assert!(numbers.contains("\n3,4,6,10000,100\n"), "{numbers}");
}

/// `third.cc`: `maxRtt` is twice the delays and one payload at each link of the longest path; headroom is three times rate
/// times delay; a packet leaves the queue as its transmission starts (`SwitchNotifyDequeue`); switches are listed downwards;
/// a port for each flow of a pair of hosts.
#[test]
fn what_the_source_works_out_is_written() {
    let scenario =
        |config: &str| load(&hpcc(TOPOLOGY, FLOWS, Some(config), None).unwrap()).scenario;
    let s = scenario(CONFIG);
    // host 0 to 7: 1 + 2 + 2 + 1.5 us each way, 320 ns at 25 Gb/s twice, 80 ns at 100 Gb/s twice.
    assert_eq!(s.transport.rdma().unwrap().base_rtt, BaseRtt::Fixed(Span::from_ns(13_000 + 800)));
    assert_eq!(s.fabric.switch.ports.release, Release::Start);
    assert_eq!(s.fabric.next_hops, Some(NextHops::Descending));
    let pause = format!("{:?}", s.fabric.switch.pause);
    assert!(pause.contains("ThreeDelays"), "{pause}");
    // At switches ACKs ride with their data whatever ACK_HIGH_PRIO says: nothing sets `AckHighPrio` there.
    let first = scenario(&CONFIG.replace("HIGH_PRIO 0", "HIGH_PRIO 1"));
    assert_eq!((first.fabric.switch.classes, first.transport.ack_class), (1, 0));
}

/// `rdma-hw.cc`: `HandleAckDctcp` (a rate that grows by DCTCP_RATE_AI), `UpdateRateTimely` (six samples, once per round trip).
#[test]
fn laws_of_the_source_have_its_settings() {
    let params = |config: &str| {
        load(&hpcc(TOPOLOGY, FLOWS, Some(config), None).unwrap()).scenario.transport.params
    };
    let pair = |key: &str, value: &str| (key.to_string(), value.to_string());
    let dctcp = params(CONFIG);
    for one in [
        pair("g", "0.0625"),
        pair("r_ai", "1Gbps"),
        pair("r_min", "100Mbps"),
        pair("window", "fixed"),
    ] {
        assert!(dctcp.contains(&one), "{one:?} {dctcp:?}");
    }
    let own = params(
        &CONFIG
            .replace("RATE_AI 40Mb/s", "DCTCP_RATE_AI 615Mb/s")
            .replace("HAS_WIN 1", "HAS_WIN 0"),
    );
    assert!(
        own.contains(&pair("r_ai", "615Mbps")) && own.contains(&pair("window", "none")),
        "{own:?}"
    );
    // `UpdateRateHp` adds a rate: 40 Mb/s in the round trip of 13.8 us are 69 B, 13 Mb/s are 22.425 B.
    let hpcc = CONFIG.replace("CC_MODE 8", "CC_MODE 3").replace("RATE_AI 40", "RATE_AI 13");
    assert!(params(&hpcc).contains(&pair("w_ai", "13Mbps")), "{:?}", params(&hpcc));
    let timely = params(
        &CONFIG.replace("CC_MODE 8", "CC_MODE 7").replace("MIN_RATE", "RATE_HAI 200Mb/s\nMIN_RATE"),
    );
    for one in [
        pair("per", "rtt"),
        pair("hai_after", "6"),
        pair("hai_below", "true"),
        pair("hai_factor", "5"),
    ] {
        assert!(timely.contains(&one), "{one:?} {timely:?}");
    }
}

#[test]
fn a_second_flow_of_a_pair_has_the_next_port() {
    let flows = "4\n0 4 3 100 10 0\n0 5 3 100 10 0\n0 4 3 100 10 1\n1 4 3 100 10 1\n";
    let rows = table(&load(&hpcc(TOPOLOGY, flows, None, None).unwrap())).flows;
    let rows: Vec<_> = rows.iter().map(|f| (f.src, f.dst, f.sport)).collect();
    assert_eq!(rows, [(0, 4, 10_000), (0, 5, 10_000), (0, 4, 10_001), (1, 4, 10_000)]);
}

#[test]
fn everything_can_be_moved_to_the_start() {
    let config = CONFIG.replace("LINK_DOWN 0 0 0", "LINK_DOWN 100 8 10");
    let config = HpccConfig::parse(source("config.txt", &config)).unwrap();
    let at = |start_at| {
        let files = Hpcc {
            topology: source("topology.txt", TOPOLOGY),
            flows: source("flow.txt", FLOWS),
            config: Some(&config),
            paths: None,
            start_at,
            flow_form: None,
        };
        import::hpcc("made", &files).map_err(|e| e.to_string())
    };
    let [there, here] = [None, Some(Time::ZERO)].map(|start| load(&at(start).unwrap()));
    let two = Span::from_secs(2);
    let starts = |of: &LoadedScenario| table(of).flows.iter().map(|f| f.start).collect::<Vec<_>>();
    assert_eq!(starts(&here).iter().map(|t| *t + two).collect::<Vec<_>>(), starts(&there));
    assert_eq!(here.scenario.stop.time + two, there.scenario.stop.time);
    assert_eq!(here.scenario.faults[0].at + two, there.scenario.faults[0].at);
    says(
        at(Some(Time::from_ps(3_000_000_000_000))),
        "flow.txt:1: the first flow starts at 2s; write --start-at 2s or less",
    );
}

/// The samples that docs/import.md pastes: what is left out of them matters.
#[test]
fn the_shipped_samples_are_carried_over() {
    let config = include_str!("../../../../scenarios/import/hpcc/config.txt");
    let topology = include_str!("../../../../scenarios/import/hpcc/topology.txt");
    let flows = include_str!("../../../../scenarios/import/hpcc/flow.txt");
    let made = hpcc(topology, flows, Some(config), None).unwrap();
    load(&made);
    let left = notes(&made, Fate::Left);
    let keys: Vec<&str> = left.iter().map(|note| note.split(": ").nth(1).unwrap()).collect();
    let follows = [
        "what follows the 10 links is not read, as there",
        "what follows the 5 flows is not read, as there",
    ];
    assert_eq!(keys, [follows[0], follows[1], "TRACE_FILE, FCT_OUTPUT_FILE"], "{left:#?}");
    // The default of the source is 1, too, where the file has no such key.
    assert!(made.files[0].1.contains("int_multi = 1\n"), "{}", made.files[0].1);
    load(
        &htsim(
            include_str!("../../../../scenarios/import/htsim/permutation.cm"),
            Some(include_str!("../../../../scenarios/import/htsim/leaf-spine.topo")),
        )
        .unwrap(),
    );
}

/// A file may hold anything; a terminal that shows what became of it is not driven by that.
#[test]
fn a_note_stays_on_its_line() {
    let note =
        import::Note { place: "a:1".into(), fate: Fate::Left, text: "x\0\n\u{1b}[2J".into() };
    assert_eq!(note.to_string(), "left out a:1: x\\0\\n\\u{1b}[2J");
}

#[test]
fn an_export_imports_to_the_same_scenario() {
    let first = hpcc(TOPOLOGY, FLOWS, Some(CONFIG), None).unwrap();
    let loaded = load(&first);
    let topology = export::topology(&loaded.scenario).text();
    let flows = export::flows(&loaded.scenario, &table(&loaded)).text();
    let again = hpcc(&topology, &flows, Some(CONFIG), None).unwrap();
    assert_eq!(load(&again).scenario, loaded.scenario);
    let third = load(&again);
    assert_eq!(export::topology(&third.scenario).text(), topology);
    assert_eq!(export::flows(&third.scenario, &table(&third)).text(), flows);
}

#[test]
fn ends_of_lines_and_marks_of_editors_change_nothing() {
    let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let unix = hpcc(TOPOLOGY, FLOWS, Some(CONFIG), Some(PATHS)).unwrap();
    let same =
        hpcc(&windows(TOPOLOGY), &windows(FLOWS), Some(&windows(CONFIG)), Some(&windows(PATHS)));
    assert_eq!(same.unwrap(), unix);
    assert_eq!(
        htsim(&windows(MATRIX), Some(&windows(TOPO))).unwrap(),
        htsim(MATRIX, Some(TOPO)).unwrap()
    );
}

#[test]
fn groups_become_classes_that_pause_and_mark_one_by_one() {
    let flows = FLOWS.replace("5 0 3 101", "5 0 1 101");
    let made =
        hpcc(TOPOLOGY, &flows, Some(&CONFIG.replace("HIGH_PRIO 0", "HIGH_PRIO 1")), None).unwrap();
    let scenario = load(&made).scenario;
    let classes: Vec<_> = scenario.traffic.iter().map(|t| t.class).collect();
    assert_eq!(classes, [Some(1), Some(3)]);
    assert_eq!((scenario.fabric.switch.classes, scenario.transport.ack_class), (4, 1));
    assert_eq!(scenario.fabric.switch.pause.classes(), Some(0b1010));
    assert_eq!(scenario.fabric.switch.class_weights(), [0, 1, 0, 1, 0, 0, 0, 0]);
    assert!(
        scenario.fabric.switch.class_ecn()[3].is_some()
            && scenario.fabric.switch.class_ecn()[2].is_none()
    );
}

/// Bytes as the public simulator counts them: 48 B of headers on data; ACKs of 46 B of fields, padded to 60 B; 42 B of telemetry (HPCC) or a
/// stamp of 8 B (TIMELY) on both.
#[test]
fn what_the_source_sends_is_what_is_sent() {
    let of = |mode: &str| {
        let config = CONFIG.replace("CC_MODE 8", &format!("CC_MODE {mode}"));
        let config = config.replace("L2_ACK_INTERVAL 1\n", "L2_ACK_INTERVAL 4001\nGLOBAL_T 0\n");
        let made = hpcc(TOPOLOGY, FLOWS, Some(&config), None).unwrap();
        load(&made).scenario
    };
    for (mode, law, header, ack, telemetry) in [
        ("3", "hpcc", 48, 46, Some(42)),
        ("7", "timely", 56, 60, None),
        ("1", "dcqcn", 48, 60, None),
    ] {
        let scenario = of(mode);
        let transport = &scenario.transport;
        let rdma = *transport.rdma().unwrap();
        assert_eq!(transport.law, law);
        assert_eq!((transport.header.get(), transport.ack_size.get()), (header, ack), "{law}");
        assert!(telemetry.is_none_or(|bytes| rdma.telemetry.get() == bytes), "{law}");
        assert_eq!(rdma.ack_every, 5, "4001 B are five packets of 1000 B");
        assert_eq!(rdma.base_rtt, BaseRtt::Path);
        assert_eq!(scenario.fabric.routing, Routing::EcmpMurmur3);
        assert_eq!(scenario.fabric.wire.clock, Clock::TruncateNs);
        assert_eq!(scenario.fabric.switch.ecn.of_port().unwrap().at, MarkAt::Dequeue);
    }
}

#[test]
fn a_buffer_without_room_for_headroom_gives_a_scenario_that_runs_all_the_same() {
    let long = TOPOLOGY.replace("0.002ms", "10ms");
    let made = hpcc(&long, FLOWS, Some(CONFIG), None).unwrap();
    assert_eq!(load(&made).scenario.fabric.switch.pause, Pause::Off);
    assert!(
        notes(&made, Fate::Left).iter().any(|note| note.contains("PFC: the buffer cannot hold"))
    );
}

#[test]
fn sizes_of_more_than_32_bits_and_of_none_are_told() {
    let flows = "3\n0 4 3 100 5000000000 0\n0 5 3 100 0 0\n1 5 3 70000 10 0\n";
    let made = hpcc(TOPOLOGY, flows, None, None).unwrap();
    let all = table(&load(&made)).flows;
    assert_eq!(all.iter().map(|f| f.size.get()).collect::<Vec<_>>(), [5_000_000_000, 10]);
    assert_eq!(all[1].dport, 4_464, "70000 in 16 bits");
    let changed = notes(&made, Fate::Changed);
    assert!(
        changed[0].starts_with("flow.txt:2: flow 0: all 5000000000 B are sent"),
        "{changed:#?}"
    );
    assert!(
        notes(&made, Fate::Left)
            .iter()
            .any(|n| n == "flow.txt:3: flow 1 sends 0 B and would never be over")
    );
}

#[test]
fn what_is_wrong_with_a_topology_is_one_sentence() {
    let with = |from: &str, to: &str| hpcc(&TOPOLOGY.replacen(from, to, 1), FLOWS, None, None);
    for (from, to, expected) in [
        (
            "12 4 12",
            "12 4 13",
            "topology.txt:16: \"nodes,\" is not one end of a link (12 of 13 are there); write a number",
        ),
        (
            "12 4 12",
            "12 40 12",
            "topology.txt:1: 40 of 12 nodes cannot be switches; the first line is nodes, switches, links",
        ),
        ("8 9 10 11\n", "8 9 10 10\n", "topology.txt:2: switch 10 is listed twice; write it once"),
        (
            "0 8 25Gbps",
            "0 80 25Gbps",
            "topology.txt:3: node 80 does not exist; the first line promises 12 nodes, so write 0 to 11",
        ),
        (
            "0 8 25Gbps",
            "0 8 fast",
            "topology.txt:3: \"fast\" is not a rate; write for instance 100Gbps",
        ),
        ("0.001ms", "-1ms", "topology.txt:3: \"-1ms\" is not a delay; write for instance 0.001ms"),
        ("0.0001", "2", "topology.txt:6: the error rate is 2; write a number from 0 to 1"),
        (
            "1 8 25Gbps",
            "0 9 25Gbps",
            "topology.txt:4: host 0 has a second link here, the first on line 3; only hosts with one link can be carried over",
        ),
        (
            "1 8 25Gbps",
            "1 2 25Gbps",
            "topology.txt:4: the link joins the hosts 1 and 2; a host's link goes to a switch",
        ),
        (
            "9 11 100Gbps",
            "10 9 100Gbps",
            "topology.txt:14: the link joins 10 and 9 a second time, first on line 13; write one link with the sum of the rates",
        ),
        (
            "9 11 100Gbps",
            "9 9 100Gbps",
            "topology.txt:14: the link joins node 9 to itself; write two different ends",
        ),
    ] {
        says(with(from, to), expected);
    }
    let cut = &TOPOLOGY[..TOPOLOGY.find("6 9 25").unwrap() + "6 9 25Gbps".len()];
    says(
        hpcc(cut, FLOWS, None, None),
        "topology.txt:9: the file ends before the delay of a link (6 of 12 are there); is it cut off?",
    );
    says(
        hpcc("", FLOWS, None, None),
        "topology.txt:1: the file ends before the number of nodes; is it cut off?",
    );
}

#[test]
fn what_is_wrong_with_flows_is_one_sentence() {
    let with = |from: &str, to: &str| hpcc(TOPOLOGY, &FLOWS.replacen(from, to, 1), None, None);
    for (from, to, expected) in [
        (
            "0 4 3",
            "0 44 3",
            "flow.txt:2: flow 0: host 44 does not exist; the topology has 12 nodes, so write 0 to 11",
        ),
        ("0 4 3", "0 9 3", "flow.txt:2: flow 0: node 9 is a switch; flows go from host to host"),
        ("0 4 3", "4 4 3", "flow.txt:2: flow 0 goes from host 4 to itself; write another host"),
        ("0 4 3", "0 4 9", "flow.txt:2: \"9\" is not a priority group; write 0 to 7"),
        ("200000 2\n", "-1 2\n", "flow.txt:2: \"-1\" is not a size; write a whole number of bytes"),
        (
            "200000 2\n",
            "200000 soon\n",
            "flow.txt:2: \"soon\" is not a start; write seconds, for instance 2.000001",
        ),
    ] {
        says(with(from, to), expected);
    }
    let cut = &FLOWS[..FLOWS.find("2.000001").unwrap()];
    says(
        hpcc(TOPOLOGY, cut, None, None),
        "flow.txt:4: the file ends before the start of a flow (2 of 6 are there); is it cut off?",
    );
    says(
        hpcc(TOPOLOGY, "0\n", None, None),
        "flow.txt:1: the file has no flow that sends anything; a scenario needs at least one",
    );
}

#[test]
fn what_is_wrong_with_paths_is_one_sentence() {
    let with = |paths: &str| hpcc(TOPOLOGY, FLOWS, None, Some(paths));
    says(
        with("9,8 9\n"),
        "paths.csv:1: flow 9 does not exist; the flow file has 6 flows, so write 0 to 5",
    );
    says(
        with("0,8 7\n"),
        "paths.csv:1: \"7\" is not the number of a switch; write one of the second line of the topology",
    );
    says(
        with("x,8 9\n"),
        "paths.csv:1: \"x\" is not the number of a flow; write a whole number from 0",
    );
    let gap = with("# one\n0,8 9,\n").unwrap_err();
    assert!(gap.contains("\"paths.csv\" line 2: flow 0, data: no cable joins \"switch[08]\" and \"switch[09]\", so the path does not connect"), "{gap}");
}

#[test]
fn settings_that_make_no_sense_are_one_sentence() {
    let with =
        |from: &str, to: &str| hpcc(TOPOLOGY, FLOWS, Some(&CONFIG.replacen(from, to, 1)), None);
    says(
        with("PAYLOAD_SIZE 1000", "PAYLOAD_SIZE 0"),
        "config.txt:3: PACKET_PAYLOAD_SIZE 0: write a payload from 1 to 65000",
    );
    says(
        with("STOP_TIME 2.5", "STOP_TIME never"),
        "config.txt:8: SIMULATOR_STOP_TIME never: write seconds above 0",
    );
    says(
        with("PMAX_MAP 2 25000000000 0.2", "PMAX_MAP 2 25000000000 20"),
        "config.txt:23: PMAX_MAP: 20 is out of range; write a number from 0 to 1",
    );
    says(
        with("BUFFER_SIZE 16\n", "BUFFER_SIZE"),
        "config.txt:24: the file ends before the value of BUFFER_SIZE; is it cut off?",
    );
}

#[test]
fn connections_triggers_and_links_of_htsim_are_in_the_scenario() {
    let made = htsim(MATRIX, Some(TOPO)).unwrap();
    let loaded = load(&made);
    let table = table(&loaded);
    let starts: Vec<_> =
        table.flows.iter().map(|f| (f.src, f.dst, f.start, f.size.get())).collect();
    assert_eq!(starts[0], (0, 4, Time::ZERO, 100_000));
    assert_eq!(starts[1], (2, 6, Time::ZERO, 3_000_000_000), "beyond 31 bits");
    assert_eq!(starts[3], (1, 5, Time::from_ps(2_000_000), 50_000), "starts are in ps");
    let who = |flow: &u32| table.flows[*flow as usize].src;
    let found = waits(&table);
    let waits: Vec<(u32, Vec<u32>)> =
        found.iter().map(|(flow, of)| (who(flow), of.iter().map(who).collect())).collect();
    assert_eq!(waits, [(4, vec![0, 1]), (5, vec![4]), (6, vec![4])]);
    let plan = forebay_scenario::plan::Plan::of(&loaded.scenario.fabric);
    assert_eq!(plan.cable("tor[0]-agg[1]").unwrap().link.delay, Span::from_ns(500));
    assert_eq!(plan.cables.len(), 8 + 4);
}

/// Three tiers: the numbers of switches and the ends of links by the formulas of `fat_tree_topology.cpp`, worked out by hand
/// for 16 hosts in four pods of two ToR and two aggregation switches.
#[test]
fn a_fat_tree_by_its_number_of_nodes_alone() {
    let made = htsim("Nodes 16\nConnections 1\n0->15 start 0 size 1000\n", None).unwrap();
    let plan = forebay_scenario::plan::Plan::of(&load(&made).scenario.fabric);
    assert_eq!((plan.hosts, plan.names.len()), (16, 16 + 8 + 8 + 4));
    for there in
        ["host[05]-tor[2]", "tor[2]-agg[3]", "agg[3]-core[1]", "agg[3]-core[3]", "agg[2]-core[0]"]
    {
        assert!(plan.cable(there).is_some(), "{there}");
    }
    for not in ["tor[2]-agg[4]", "agg[3]-core[0]", "host[05]-tor[1]"] {
        assert!(plan.cable(not).is_none(), "{not}");
    }
    let gone = "Nodes 16\nConnections 1\nFailures 1\nfailure switch_type AGG switch_id 3 link_id 1\n0->15 start 0 size 1000\n";
    let plan = forebay_scenario::plan::Plan::of(&load(&htsim(gone, None).unwrap()).scenario.fabric);
    assert!(plan.cable("agg[3]-core[3]").is_none() && plan.cable("agg[3]-core[1]").is_some());
}

#[test]
fn each_end_of_a_multishot_starts_one_more() {
    let chain = "Nodes 16\nConnections 4\nTriggers 1\n0->1 id 1 start 0 size 9 send_done_trigger 7\n\
        0->2 id 2 trigger 7 size 9 send_done_trigger 7\n0->3 id 3 trigger 7 size 9 send_done_trigger 7\n\
        0->4 id 4 trigger 7 size 9\ntrigger id 7 multishot\n";
    let made = htsim(chain, None).unwrap();
    let table = table(&load(&made));
    let waits: Vec<(u32, Vec<u32>)> =
        waits(&table).into_iter().map(|(flow, of)| (flow, of.into_iter().collect())).collect();
    assert_eq!(waits, [(1, vec![0]), (2, vec![1]), (3, vec![2])]);
}

#[test]
fn what_is_wrong_with_a_matrix_is_one_sentence() {
    let with = |from: &str, to: &str| htsim(&MATRIX.replacen(from, to, 1), Some(TOPO));
    for (from, to, expected) in [
        (
            "Connections 7",
            "Connections 8",
            "a.cm:3: Connections 8 is promised, 7 are there; is the file cut off?",
        ),
        ("0->4", "0->8", "a.cm:5: host 8 does not exist; Nodes is 8, so write 0 to 7"),
        ("0->4", "4->4", "a.cm:5: the connection goes from host 4 to itself; write another host"),
        (
            "start 0",
            "begin 0",
            "a.cm:5: \"begin\" is not a key of a connection; the keys are start, size, id, trigger, send_done_trigger, recv_done_trigger, prio, addon",
        ),
        (
            "start 0 ",
            "",
            "a.cm:5: the connection has neither start nor trigger; write start and picoseconds, or trigger and its id",
        ),
        (
            "size 100000",
            "size big",
            "a.cm:5: size \"big\" is not a whole number; write for instance size 1",
        ),
        (
            "4->0 id 4 trigger 1",
            "4->0 id 4 trigger 9",
            "a.cm:8: trigger 9 is named and not described; add a line trigger id 9 oneshot",
        ),
        (
            "id 2 oneshot",
            "id 1 oneshot",
            "a.cm:13: trigger 1 is on line 12 already; write another id",
        ),
        (
            "trigger id 2 oneshot",
            "trigger id 2",
            "a.cm:13: the trigger has no kind; write oneshot, multishot or barrier",
        ),
        ("Nodes 8", "Nodes 9", "a.cm:1: Nodes 9 is more than the topology has, 8"),
    ] {
        says(with(from, to), expected);
    }
    says(htsim("", None), "a.cm:1: the file ends without Nodes; is it cut off?");
    says(
        htsim("Nodes 17\nConnections 1\n0->1 start 0 size 1\n", None),
        "a.cm:1: 17 nodes do not make a fat tree, which has 16, 54, 128 or another k * k * k / 4 hosts; name a .topo file too",
    );
    let topo = |from: &str, to: &str| htsim(MATRIX, Some(&TOPO.replacen(from, to, 1)));
    says(topo("Tiers 2", "Tiers 4"), "a.topo:3: 4 tiers are not possible; write 2 or 3");
    says(
        topo("Radix_Down 2", "Radix_Down 3"),
        "a.topo:13: tier 1 has a fraction of a switch: uplinks of tier 0 over pods times Radix_Down of tier 1; change one of them",
    );
    says(
        topo("Downlink_Latency_ns 500", ""),
        "a.topo:13: tier 1 has no Downlink_Latency_ns; is the file cut off?",
    );
}

/// 100 packets and a byte are 101 packets; a queue of 35 packets of 4,000 B holds 34 with their headers, so says `memFromPkt`.
#[test]
fn the_command_line_of_htsim_is_in_the_scenario() {
    let matrix = "Nodes 16\nConnections 1\n0->15 start 0 size 400001\n";
    let command = Command {
        transport: Some("ndp"),
        cwnd: Some(50),
        queue: Some(35),
        mtu: Some(4000),
        strategy: Some("rand"),
        end: Some(300),
        hop_latency: Some(0.5),
        linkspeed: Some(40_000),
        ..Command::default()
    };
    let made = htsim_with(matrix, None, command).unwrap();
    let loaded = load(&made);
    assert_eq!(table(&loaded).flows[0].size.get(), 404_000);
    let text = &made.files[0].1;
    for line in [
        "stop = { time = \"300us\", flows = \"all\" }",
        "fabric_link = { rate = \"40Gbps\", delay = \"500ns\" }",
        "routing = \"spray\"",
        "{ class = 0, size = \"34 packets\", over = { trim_to = \"64B\", class = 1 } }",
        "{ class = 1, size = \"280KB\" }",
        "window = \"50 packets\"",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let left = notes(&made, Fate::Left);
    assert!(left.is_empty(), "{left:?}");
}

/// Numbers that are hashed to paths once are carried over where the command says how many there are.
#[test]
fn numbers_of_paths_of_htsim_are_in_the_scenario() {
    let matrix = "Nodes 16\nConnections 1\n0->15 start 0 size 400000\n";
    let text = |strategy, paths| {
        let command = Command { transport: Some("ndp"), strategy, paths, ..Command::default() };
        let made = htsim_with(matrix, None, command).unwrap();
        load(&made);
        made.files[0].1.clone()
    };
    let hashed = text(Some("ecmp_host"), Some(128));
    assert!(hashed.contains("routing = \"source\"") && hashed.contains("path_numbers = 128"));
    for other in [text(Some("ecmp_host"), None), text(Some("rand"), Some(128))] {
        assert!(other.contains("routing = \"spray\"") && !other.contains("path_numbers"));
    }
}

#[test]
fn what_is_wrong_with_the_command_line_of_htsim_is_one_sentence() {
    let usual = Command { transport: Some("ndp"), strategy: Some("perm"), ..Command::default() };
    let says_of = |command| {
        let made = htsim_with(MATRIX, Some(TOPO), command);
        made.expect_err("an error")
    };
    for (command, expected) in [
        (
            Command { cwnd: Some(0), ..usual },
            "--cwnd: 0 packets are not possible; write 1 to 60000",
        ),
        (
            Command { mtu: Some(70_000), ..usual },
            "--mtu: 70000 bytes are not possible; write 1 to 60000",
        ),
        (
            Command { queue: Some(1), ..usual },
            "-q: 1 packet has no room for its header; write 2 or more",
        ),
        (Command { end: Some(0), ..usual }, "--end: 0 us are not possible; write 1 to 2147483647"),
        (
            Command { transport: Some("eqds"), ..usual },
            "--transport: \"eqds\" is not carried over; write ndp, or leave the flag out for DCTCP in its place",
        ),
        (
            Command { transport: None, ..usual },
            "--strat: goes with a transport; add --transport ndp",
        ),
        (
            Command { strategy: None, ..usual },
            "--strat: is missing; write one of perm, rand, pull, ecmp, ecmp_host",
        ),
        (
            Command { strategy: Some("ecmp_ar"), ..usual },
            "--strat: \"ecmp_ar\" is not carried over; write one of perm, rand, pull, ecmp, ecmp_host",
        ),
    ] {
        assert_eq!(says_of(command), expected);
    }
    let says_without_topology =
        |command| htsim_with("Nodes 16\nConnections 1\n0->1 start 0 size 1\n", None, command);
    for (command, expected) in [
        (
            Command { linkspeed: Some(2500), ..Command::default() },
            "--linkspeed: 2500 Mb/s is not a whole number of Gb/s; write for instance 100000 for 100 Gb/s",
        ),
        (
            Command { hop_latency: Some(f64::NAN), ..Command::default() },
            "--hop-latency: NaN us is not a whole number of nanoseconds; write for instance 0.5 for 500 ns",
        ),
    ] {
        says(says_without_topology(command), expected);
    }
    assert_eq!(
        says_of(Command { linkspeed: Some(1000), ..Command::default() }),
        "--linkspeed: a.topo says it for each tier; leave the flag out"
    );
}

/// `1 + 2 + 2 + 1` us both ways, 1000 B at 25, 100, 100 and 25 Gb/s, and the bytes with a header of 48 B for each packet: by hand
/// from `qp_finish` of the source.
#[test]
fn ideal_times_are_those_of_the_source() {
    let (topology, _) = Topology::parse(source("t", TOPOLOGY)).unwrap();
    let mut paths = Paths::of(&topology, 1000);
    assert_eq!(paths.standalone(3, 5, 1), Some(12_000 + 320 + 80 + 80 + 320 + 15)); // 49 B: 15.68 ns
    assert_eq!(paths.standalone(0, 4, 200_000), Some(12_800 + (200_000 + 200 * 48) * 8 / 25));
    assert_eq!(paths.standalone(0, 1, 1_001), Some(4_000 + 640 + (1_001 + 96) * 8 / 25));
    assert_eq!(paths.standalone(0, 7, 1_000), Some(13_000 + 800 + 335), "1500 ns at the last link");
    assert_eq!(paths.longest_round_trip(), 13_800);
}

#[test]
fn a_distribution_is_read_in_either_order_and_scale() {
    let plain = "1000 0.15\n20000 0.5\n1000000 1\n";
    let made = |text: &str| {
        import::cdf("made", source("sizes.txt", text), import::CdfForm::default()).unwrap()
    };
    let expected = made(plain).files;
    let percent_first = include_str!("../data/percent-first.txt");
    let headed = "bytes,cdf\r\n1000,15\r\n20000,50\r\n1000000,100\r\n";
    let counted = "3\n1000\t0 0.15\n20000\t0 0.5\n1000000\t0 1\n";
    let commented = "// sizes\n# more\n\n1000;0.15\n20000;0.5\n1000000;1";
    for text in [percent_first, headed, counted, commented] {
        assert_eq!(made(text).files[1], expected[1], "{text}");
    }
    load(&made(plain));
    let wrong =
        import::cdf("made", source("sizes.txt", "1 0.5\n2 x\n"), import::CdfForm::default())
            .unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "sizes.txt:2: \"2 x\" is not two numbers, bytes and cumulative probability"
    );
    // Flows of a few bytes: a shorter run, and the file that the sentence is about is the one that was read.
    let tiny = made("1 0.5\n2 1\n");
    let scenario = load(&tiny);
    assert_eq!(scenario.scenario.stop.time, Time::ZERO + Span::from_us(10));
    let said: Vec<String> = tiny.notes.iter().map(ToString::to_string).collect();
    assert!(
        said.iter().any(|note| note
            .contains("the run is 10us and not 10ms long, which would be 667 million flows")),
        "{said:?}"
    );
    let huge =
        import::cdf("made", source("sizes.txt", "1 0.5\n2e15 1\n"), import::CdfForm::default())
            .unwrap_err()
            .to_string();
    assert!(huge.starts_with("sizes.txt") && !huge.contains("scenario.toml"), "{huge}");
    let short =
        import::cdf("made", source("sizes.txt", "1 0.5\n2 0.9\n"), import::CdfForm::default())
            .unwrap_err();
    assert!(short.to_string().contains("ends at probability 0.9"), "{short}");
}

#[test]
fn explicit_paths_of_a_scenario_are_checked_one_by_one() {
    const BASE: &str = "version = 1\nstop = { time = \"1ms\" }\n[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\n\
        host_link = { rate = \"100Gbps\", delay = \"1us\" }\npaths = PATHS\n[transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n\
        [[traffic]]\nkind = \"list\"\nflows = [{ from = \"leaf[0].host[0]\", to = \"leaf[1].host[0]\", size = \"1KB\" }]\n";
    let said = |paths: &str| match text("a.toml", &BASE.replace("PATHS", paths)) {
        Ok(_) => "nothing".into(),
        Err(e) => e.to_string().split_once(": ").unwrap().1.to_string(),
    };
    let path = |switches: &str| format!("[{{ flow = 0, data = [{switches}] }}]");
    assert_eq!(said(&path("\"leaf[0]\", \"spine[1]\", \"leaf[1]\"")), "nothing");
    assert_eq!(
        said(&path("\"leaf[0]\", \"leaf[1]\"")),
        "fabric.paths[0]: flow 0, data: no cable joins \"leaf[0]\" and \"leaf[1]\", so the path does not connect"
    );
    assert_eq!(
        said(&path("\"leaf[0]\", \"spine[1]\"")),
        "fabric.paths[0]: flow 0, data: no cable joins \"spine[1]\" and \"leaf[1].host[0]\", so the path does not connect"
    );
    assert_eq!(
        said(&path("\"leaf[0]\", \"spine[9]\"")),
        "fabric.paths[0]: flow 0, data: no switch is called \"spine[9]\"; did you mean \"spine[0]\"?"
    );
    assert_eq!(
        said("[{ flow = 3, data = [\"leaf[0]\"] }]"),
        "fabric.paths[0]: there is no flow 3 with seed 1, whose flows are 0 to 0"
    );
    assert_eq!(said("[{ flow = 0 }]"), "fabric.paths[0]: flow 0 has no switches; name them");
}

#[test]
fn triggers_that_cannot_fire_are_refused() {
    const BASE: &str = "version = 1\nstop = { time = \"1ms\" }\n[fabric]\nkind = \"star\"\nhosts = 3\n\
        host_link = { rate = \"100Gbps\", delay = \"1us\" }\n[transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n\
        [[traffic]]\nkind = \"list\"\nflows = [{ from = \"host[0]\", to = \"host[1]\", size = \"1KB\" }, FLOW]\n";
    let said = |flow: &str| {
        let flow = format!("{{ from = \"host[1]\", to = \"host[2]\", size = \"1KB\", {flow} }}");
        let error = text("a.toml", &BASE.replace("FLOW", &flow)).unwrap_err().to_string();
        error.split_once(": ").unwrap().1.to_string()
    };
    assert_eq!(
        said("after = \"x\""),
        "traffic[0]: flow 1 waits for the trigger \"x\", which no flow fires; name it in fires"
    );
    assert_eq!(
        said("after = \"x\", fires = \"x\""),
        "traffic[0]: flow 1 waits for the trigger \"x\", which in the end waits for that flow; break the circle"
    );
    assert_eq!(
        said("compute = \"1us\""),
        "traffic[0].flows[1].compute: flow 1 computes for 1us, but waits for nothing; write after, or a later at"
    );
    // Triggers of other lists count, if none of the own list has that name.
    let lists = |[first, second]: [&str; 2]| {
        let flow = |keys: &str| {
            format!("{{ from = \"host[1]\", to = \"host[2]\", size = \"1KB\", {keys} }}")
        };
        let second = format!("[[traffic]]\nkind = \"list\"\nflows = [{}]\n", flow(second));
        match text("a.toml", &(BASE.replace("FLOW", &flow(first)) + &second)) {
            Ok(_) => "nothing".into(),
            Err(error) => error.to_string().split_once(": ").unwrap().1.to_string(),
        }
    };
    assert_eq!(lists(["fires = \"x\"", "after = \"x\""]), "nothing");
    assert_eq!(
        lists(["fires = \"x\", after = \"y\"", "after = \"x\", fires = \"z\""]),
        "traffic[0]: flow 1 waits for the trigger \"y\", which no flow fires; name it in fires"
    );
    assert_eq!(
        lists(["fires = \"x\", after = \"y\"", "after = \"x\", fires = \"y\""]),
        "traffic[0]: flow 1 waits for the trigger \"y\", which in the end waits for that flow; break the circle"
    );
    let two = said("after = \"x\", at = \"1us\"");
    let expected = "\"1us\" and after = \"x\" are two ways to start; write one of them";
    assert!(two.ends_with(&format!("traffic[0].flows[1].at: {expected}")), "{two}");
}

fn topology() -> impl Strategy<Value = Topology> {
    (2..30u32, 1..6u32, prop::collection::vec((1..400u64, 0..5_000u64, 0..3u32), 36)).prop_map(
        |(hosts, switches, links)| {
            let link = |a, b, i: usize| {
                let (gbps, ns, loss) = links[i % links.len()];
                let loss = f64::from(loss) / 1000.0;
                Link { a, b, rate: BitsPerSec::from_gbps(gbps), delay: Span::from_ns(ns), loss }
            };
            let mut all: Vec<Link> =
                (0..hosts).map(|h| link(h, hosts + h % switches, h as usize)).collect();
            all.extend((1..switches).map(|s| link(hosts + s - 1, hosts + s, s as usize)));
            Topology {
                nodes: hosts + switches,
                switches: (hosts..hosts + switches).collect(),
                links: all,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    /// What is written is read back, and what is imported and exported is what was there: links and flows come in an order
    /// of our own.
    #[test]
    fn nothing_is_lost_there_and_back(
        topology in topology(),
        flows in prop::collection::vec((any::<u32>(), any::<u32>(), 1..1u64 << 40, 0..9_000_000u64), 1..20),
    ) {
        let text = topology.text();
        let (read, _) = Topology::parse(source("t", &text)).unwrap();
        prop_assert_eq!(&read, &topology);
        let hosts = topology.nodes - topology.switches.len() as u32;
        let mut flows: Vec<Flow> = flows.into_iter().map(|(a, b, size, ps)| {
            let (src, other) = (a % hosts, b % (hosts - 1));
            let dst = other + u32::from(other >= src);
            Flow { src, dst, pg: 3, dport: 100, size, start: Time::from_ps(ps) }
        }).collect();
        flows.sort_by_key(|f| (f.start, f.src));
        let flows = Flows(flows);
        let (same, ..) = Flows::parse(source("f", &flows.text()), &topology).unwrap();
        prop_assert_eq!(&same, &flows);
        let made = hpcc(&text, &flows.text(), None, None).map_err(TestCaseError::fail)?;
        let loaded = load(&made);
        prop_assert_eq!(&export::flows(&loaded.scenario, &table(&loaded)), &flows);
        let sorted = |topology: &Topology| {
            let mut links = topology.links.clone();
            links.iter_mut().for_each(|l| (l.a, l.b) = (l.a.min(l.b), l.a.max(l.b)));
            links.sort_by_key(|l| (l.a, l.b));
            links
        };
        prop_assert_eq!(sorted(&export::topology(&loaded.scenario)), sorted(&topology));
    }

    /// Importing any files gives one sentence with file and line, or a scenario that can be read.
    #[test]
    fn any_edit_ends_in_a_scenario_or_a_sentence(
        which in 0..6usize,
        edits in prop::collection::vec((0..5usize, any::<usize>(), 0..WORDS.len()), 1..4),
    ) {
        let mut files = [TOPOLOGY, FLOWS, CONFIG, PATHS, MATRIX, TOPO].map(String::from);
        edits.iter().for_each(|edit| apply(&mut files[which], *edit));
        let made = match which {
            0..4 => hpcc(&files[0], &files[1], Some(&files[2]), Some(&files[3])),
            _ => htsim(&files[4], Some(&files[5])),
        };
        judge(made)?;
    }

    #[test]
    fn any_text_ends_in_a_scenario_or_a_sentence(file in "([0-9a-zA-Z>. \\-\n\r]|\\PC){0,120}", which in 0..7usize) {
        judge(match which {
            0 => hpcc(&file, FLOWS, None, None),
            1 => hpcc(TOPOLOGY, &file, None, None),
            2 => hpcc(TOPOLOGY, FLOWS, Some(&file), None),
            3 => hpcc(TOPOLOGY, FLOWS, None, Some(&file)),
            4 => htsim(&file, None),
            5 => htsim(MATRIX, Some(&file)),
            _ => import::cdf("made", source("sizes.txt", &file), import::CdfForm::default()).map_err(|e| e.to_string()),
        })?;
    }
}

fn judge(made: Result<Import, String>) -> Result<(), TestCaseError> {
    match made {
        Ok(made) => drop(load(&made)),
        Err(text) => {
            let first = text.lines().next().unwrap_or_default();
            let place = first.split(": ").next().unwrap_or_default();
            prop_assert!(place.contains('.') && first.len() < 2_000, "{}", text);
        }
    }
    Ok(())
}

const WORDS: &[&str] = &[
    "",
    "0",
    "-1",
    "1",
    "7",
    "8",
    "255",
    "65536",
    "4294967296",
    "18446744073709551616",
    "1e308",
    "nan",
    "x",
    "0->0",
    "100Gbps",
    "1ps",
    "barrier",
    "id",
    "size",
    "switch_id",
];

/// Puts a word for another, cuts, repeats a line, drops one, or adds a letter.
fn apply(text: &mut String, (how, at, word): (usize, usize, usize)) {
    let lines: Vec<String> = text.lines().map(String::from).collect();
    let line = at % lines.len().max(1);
    match how {
        0 => {
            let words: Vec<&str> = text.split(' ').collect();
            let i = at % words.len();
            *text = words
                .iter()
                .enumerate()
                .map(|(j, w)| if i == j { WORDS[word] } else { w })
                .collect::<Vec<_>>()
                .join(" ");
        }
        1 => {
            let mut end = at % (text.len() + 1);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
        }
        2 => *text = lines.iter().chain(lines.get(line)).cloned().collect::<Vec<_>>().join("\n"),
        3 => {
            *text = lines
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != line)
                .map(|(_, l)| l.clone())
                .collect::<Vec<_>>()
                .join("\n")
        }
        _ => text.insert_str(0, WORDS[word]),
    }
}

/// More with `PROPTEST_CASES`.
fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}
