//! Files of forks of the public HPCC simulator, and of others of its family: read as their own code reads them, or refused with
//! the true cause. Right values are from that code (`docs/import.md`), not from ours.

use forebay_scenario::LoadedScenario;
use forebay_scenario::cdf::Cdf;
use forebay_scenario::import::{
    self, CdfForm, Fate, FlowForm, Hpcc, HpccConfig, Import, SIX_COLUMNS, Source,
};
use forebay_scenario::model::{Pause, Routing, Scenario};
use forebay_scenario::workload::{self, Hosts};
use forebay_units::{BitsPerSec, Bytes, Span, Time};

/// Two racks of two hosts: hosts 0 to 3, switches 4 and 5.
const TOPOLOGY: &str = "6 2 5\n4 5\n0 4 25Gbps 1us 0\n1 4 25Gbps 1us 0\n2 5 25Gbps 1us 0\n3 5 25Gbps 1us 0\n4 5 100Gbps 1us 0\n";
const FLOWS: &str = "2\n0 2 3 100 10000 2\n1 3 3 100 20000 2.5\n";
const CONFIG: &str = "CC_MODE 1\nPACKET_PAYLOAD_SIZE 1000\nSIMULATOR_STOP_TIME 3\nKMAX_MAP 2 25000000000 400 100000000000 1600\nKMIN_MAP 2 25000000000 100 100000000000 400\nPMAX_MAP 2 25000000000 0.2 100000000000 0.2\n";

fn source<'a>(name: &'a str, text: &'a str) -> Source<'a> {
    Source { name, text }
}

fn told(
    topology: &str,
    flows: &str,
    config: &str,
    flow_form: Option<FlowForm>,
) -> Result<Import, String> {
    let read = || HpccConfig::parse(source("config.txt", config));
    let config = (!config.is_empty()).then(read).transpose().map_err(|e| e.to_string())?;
    let files = Hpcc {
        topology: source("topology.txt", topology),
        flows: source("flow.txt", flows),
        config: config.as_ref(),
        paths: None,
        start_at: None,
        flow_form,
    };
    import::hpcc("made", &files).map_err(|e| e.to_string())
}

fn made(topology: &str, flows: &str, config: &str) -> Result<Import, String> {
    told(topology, flows, config, None)
}

#[track_caller]
fn loaded(made: &Import) -> LoadedScenario {
    made.load().unwrap_or_else(|error| panic!("{error}\n{}", made.files[0].1))
}

#[track_caller]
fn scenario(topology: &str, flows: &str, config: &str) -> Scenario {
    loaded(&made(topology, flows, config).unwrap()).scenario
}

/// Sender, receiver, bytes, start, source port and destination port of each flow.
#[track_caller]
fn rows(made: &Import) -> Vec<(u32, u32, u64, u64, u16, u16)> {
    let scenario = loaded(made).scenario;
    let flows = workload::flows(&scenario, &Hosts::of(&scenario), 1).unwrap().flows;
    flows.iter().map(|f| (f.src, f.dst, f.size.get(), f.start.as_ps(), f.sport, f.dport)).collect()
}

fn said(made: &Import, fate: Fate) -> String {
    let notes = made.notes.iter().filter(|note| note.fate == fate);
    notes.map(|note| format!("{}: {}\n", note.place, note.text)).collect()
}

#[track_caller]
fn refused(made: Result<Import, String>, place: &str, part: &str) {
    let error = made.expect_err("refused");
    assert!(error.starts_with(place) && error.contains(part), "{error}");
}

const S: u64 = 1_000_000_000_000;

/// SimAI and astra-sim write this for "until all flows are done".
#[test]
fn a_stop_time_beyond_the_longest_run_is_the_longest_run() {
    let config = CONFIG.replace("STOP_TIME 3", "STOP_TIME 40000000000000.00");
    let made = made(TOPOLOGY, FLOWS, &config).unwrap();
    let stop = loaded(&made).scenario.stop;
    assert_eq!(stop.time, Time::ZERO + Span::from_secs(86_400));
    assert!(stop.flows, "{stop:?}");
    let changed = said(&made, Fate::Changed);
    assert!(
        changed
            .contains("config.txt:3: SIMULATOR_STOP_TIME: stop.time = \"86400s\", the longest run"),
        "{changed}"
    );
    for wrong in ["0", "-1", "nan", "soon"] {
        let config = CONFIG.replace("STOP_TIME 3", &format!("STOP_TIME {wrong}"));
        refused(self::made(TOPOLOGY, FLOWS, &config), "config.txt:3", "write seconds above 0");
    }
    let late = FLOWS.replace("2.5", "86401");
    refused(
        self::made(TOPOLOGY, &late, CONFIG),
        "flow.txt:3",
        "\"86401\" is after the longest run",
    );
}

/// PowerTCP: nodes, switches, ToR switches, links; Reverie: and two rates; sizes have 64 bits there.
#[test]
fn the_first_line_of_powertcp_and_reverie_has_four_and_six_numbers() {
    let plain = scenario(TOPOLOGY, FLOWS, CONFIG);
    for head in ["6 2 2 5", "6 2 2 5 25000000000 100000000000"] {
        let topology = TOPOLOGY.replace("6 2 5", head);
        let endless = FLOWS.replace("10000", "1000000000000");
        let made = made(&topology, &endless, CONFIG).unwrap();
        assert_eq!(loaded(&made).scenario.fabric, plain.fabric, "{head}");
        assert_eq!(rows(&made)[0].2, 1_000_000_000_000, "{head}");
        let changed = said(&made, Fate::Changed);
        assert!(
            !changed.contains("32 bits") && changed.contains("transport.law = \"powertcp\""),
            "{changed}"
        );
    }
    // One switch: the fourth number might be the first switch, were the second line not there.
    let star = "3 1 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n";
    let made = made(star, "1\n0 1 3 100 1000 2\n", "").unwrap();
    let plan = forebay_scenario::plan::Plan::of(&loaded(&made).scenario.fabric);
    assert_eq!((plan.hosts, plan.names.len(), plan.cables.len()), (2, 3, 2));
    let odd = TOPOLOGY.replace("6 2 5", "6 2 2 5 1");
    refused(
        self::made(&odd, FLOWS, ""),
        "topology.txt:1",
        "the first line has 5 words; write three (nodes, switches, links)",
    );
}

/// SimAI: nodes, GPUs of a server, NVSwitches, switches, links, kind of GPU. A GPU has NVLinks and a NIC.
#[test]
fn servers_of_simai_are_read_where_a_host_has_one_link() {
    let one = TOPOLOGY.replace("6 2 5", "6 1 0 2 5 H100");
    assert_eq!(scenario(&one, FLOWS, CONFIG).fabric, scenario(TOPOLOGY, FLOWS, CONFIG).fabric);
    let two = "6 2 1 1 8 H100\n4 5\n0 4 2880Gbps 0.000025ms 0\n0 5 400Gbps 0.0005ms 0\n";
    refused(
        made(two, FLOWS, ""),
        "topology.txt:4",
        "host 0 has a second link here, the first on line 3, as the GPUs of SimAI have NVLinks beside their NIC",
    );
}

/// `DoParse` of ns-3: digits and points alone are bit/s.
#[test]
fn a_rate_without_a_unit_is_bits_a_second() {
    for rate in ["25000000000", "25000000000.0", "25Gb/s", "3125MB/s"] {
        let topology = TOPOLOGY.replace("25Gbps", rate);
        let made = made(&topology, FLOWS, CONFIG).unwrap();
        let link = loaded(&made).scenario.fabric.host_link;
        assert_eq!(link.rate, BitsPerSec::from_gbps(25), "{rate}");
    }
    refused(
        made(&TOPOLOGY.replace("100Gbps", "1e11"), FLOWS, ""),
        "topology.txt:7",
        "\"1e11\" is not a rate",
    );
}

/// `traffic_gen.py` writes and `network-load-balance.cc` reads: sender, receiver, priority group, bytes, start. Ports are counted
/// for each sender from 10000 and for each receiver from 100, and a size of 0 is one byte.
#[test]
fn flows_of_conweave_have_five_columns() {
    let flows = "4\n0 2 3 10000 2.000000212\n1 2 3 20000 2.000000300\n0 3 3 0 2.1\n0 2 3 7 3\n";
    let made = made(TOPOLOGY, flows, "").unwrap();
    assert_eq!(
        rows(&made),
        [
            (0, 2, 10_000, 2 * S + 212_000, 10_000, 100),
            (1, 2, 20_000, 2 * S + 300_000, 10_000, 101),
            (0, 3, 1, 2_100 * S / 1000, 10_001, 100),
            (0, 2, 7, 3 * S, 10_002, 102),
        ]
    );
    let whole = "2\n0 2 3 10000 2\n1 3 3 20000 2\n";
    assert_eq!(
        rows(&self::made(TOPOLOGY, whole, "").unwrap())[1].2,
        20_000,
        "starts of whole seconds"
    );
    let mixed = "3\n0 2 3 10000 2\n1 3 3 100 20000 2\n1 3 3 20000 2\n";
    refused(
        self::made(TOPOLOGY, mixed, ""),
        "flow.txt:3",
        "the line has 6 columns, and line 2 has 5",
    );
    let cut = "2\n0 2 3 10000 2\n1 3 3 20000";
    refused(
        self::made(TOPOLOGY, cut, ""),
        "flow.txt:3",
        "the file ends before the start of a flow (1 of 2 are there)",
    );
}

/// The notes of ns3-rdma's flow.txt: "src dst priority packet# start_time end_time".
#[test]
fn flows_of_the_oldest_form_count_packets_and_have_an_end() {
    for (packets, start, end) in [
        ("300000", "2", "9"),
        ("300", "2.0", "9.5"),
        ("300", "0.00", "9.5"),
        ("65536", "2", "3"),
        ("65536", "2", "100000"),
    ] {
        let flows = format!("2\n0 2 3 {packets} {start} {end}\n1 3 3 {packets} {start} {end}\n");
        let made =
            made(TOPOLOGY, &flows, &CONFIG.replace("PAYLOAD_SIZE 1000", "PAYLOAD_SIZE 1500"))
                .unwrap();
        let expected = packets.parse::<u64>().unwrap() * 1500;
        let at = (start.parse::<f64>().unwrap() * 1e12) as u64;
        assert_eq!(
            rows(&made).iter().map(|row| (row.2, row.3)).collect::<Vec<_>>(),
            [(expected, at); 2]
        );
        let changed = said(&made, Fate::Changed);
        assert!(
            changed.contains("flow.txt:1: six columns, the form of ns3-rdma (DCQCN)"),
            "{changed}"
        );
    }
    // Small numbers fit both forms: nobody but the user knows.
    let both = "2\n0 2 3 300 2 9\n1 3 3 300 2 9\n";
    refused(
        made(TOPOLOGY, both, ""),
        "flow.txt:2",
        "--flow-columns port,bytes,start or --flow-columns packets,start,end",
    );
    let [hpcc, oldest] =
        SIX_COLUMNS.map(|(_, form)| rows(&told(TOPOLOGY, both, "", Some(form)).unwrap())[0]);
    assert_eq!((hpcc.2, hpcc.3, hpcc.5), (2, 9 * S, 300));
    assert_eq!((oldest.2, oldest.3), (300_000, 2 * S));
    refused(
        made(TOPOLOGY, "1\n0 2 3 300000 2.5 2.0\n", ""),
        "flow.txt:2",
        "\"2.0\" is before the start of the flow",
    );
    // Flows of the HPCC form stay what they are, whatever their ports.
    assert_eq!(rows(&made(TOPOLOGY, "1\n0 2 3 70000 3000 2\n", "").unwrap())[0].2, 3_000);
    assert_eq!(rows(&made(TOPOLOGY, "2\n0 2 3 100 9 2\n0 3 3 100 5000 2\n", "").unwrap())[0].2, 9);
}

/// m3 and Parsimon: the number of the flow is first; sizes have 64 bits, buffers are KiB.
#[test]
fn flows_of_m3_begin_with_their_number() {
    let flows = "2\n0 0 2 3 100 5000000000 2\n1 1 3 3 100 20000 2.5\n";
    let config = format!(
        "{CONFIG}ENABLE_PFC 1.0\nBUFFER_SIZE 3000.0\nFIXED_WIN 18000\nBASE_RTT 14400\nHAS_WIN 1\n"
    );
    let made = made(TOPOLOGY, flows, &config).unwrap();
    assert_eq!(rows(&made)[0], (0, 2, 5_000_000_000, 2 * S, 10_000, 100));
    let text = &made.files[0].1;
    for line in
        ["buffer = { size = \"3000KiB\" }", "max_inflight = \"18000B\"", "base_rtt = \"14400ns\""]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    let other = "2\n0 2 3 100 10000 2 3\n1 3 3 100 20000 2 3\n";
    refused(
        self::made(TOPOLOGY, other, ""),
        "flow.txt:2",
        "the line has 7 columns; a flow has six",
    );
}

/// ConWeave, m3 and LIBRA turn PFC of all ports on and off by this key.
#[test]
fn enable_pfc_is_what_it_says() {
    let pause = |config: &str| scenario(TOPOLOGY, FLOWS, config).fabric.switch.pause;
    assert_eq!(pause(&format!("ENABLE_PFC 0\n{CONFIG}")), Pause::Off);
    assert_eq!(pause(&format!("{CONFIG}ENABLE_PFC 0.0\n")), Pause::Off);
    assert_eq!(pause(&format!("ENABLE_PFC 1\n{CONFIG}")), pause(CONFIG));
    assert_ne!(pause(CONFIG), Pause::Off);
    let made = made(TOPOLOGY, FLOWS, &format!("ENABLE_PFC 0\n{CONFIG}")).unwrap();
    let carried = said(&made, Fate::Carried);
    assert!(
        carried.contains("config.txt:1: ENABLE_PFC 0: fabric.switch.pause = \"off\""),
        "{carried}"
    );
}

/// IRN of ConWeave and of ns3-tlt-rdma: selective repeat and a window of one BDP, timeouts of 454 us and 1350 us.
#[test]
fn enable_irn_is_selective_repeat() {
    let irn = |more: &str| made(TOPOLOGY, FLOWS, &format!("{CONFIG}HAS_WIN 0\n{more}")).unwrap();
    let text = irn("ENABLE_IRN 1\n").files[0].1.clone();
    for line in [
        "recovery = \"selective\"",
        "max_inflight = \"bdp\"",
        "timeout = \"1350us\"",
        "rto_low = \"454us\"",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let free = irn("ENABLE_IRN 1\nIRN_NO_BDPFC 1\n");
    assert!(free.files[0].1.contains("max_inflight = \"none\""), "{}", free.files[0].1);
    loaded(&free);
    // HAS_WIN is about the law's own window, with IRN as well.
    for (mode, has, window) in [(8, 0, "none"), (8, 1, "fixed"), (1, 1, "fixed")] {
        let config = CONFIG.replace("CC_MODE 1", &format!("CC_MODE {mode}"));
        let text = format!("{config}HAS_WIN {has}\nENABLE_IRN 1\n");
        let made = made(TOPOLOGY, FLOWS, &text).unwrap();
        assert!(made.files[0].1.contains(&format!("window = \"{window}\"")), "{}", made.files[0].1);
        assert!(made.files[0].1.contains("max_inflight = \"bdp\""), "{}", made.files[0].1);
        loaded(&made);
    }
    let off = irn("ENABLE_IRN 0\nIRN_NO_BDPFC 0\n");
    assert!(off.files[0].1.contains("recovery = \"go-back-n\""));
}

#[test]
fn settings_of_forks_are_carried_over_or_told() {
    let timely = CONFIG.replace(
        "CC_MODE 1",
        "CC_MODE 7\nTIMELY_T_HIGH 121182\nTIMELY_T_LOW 50897\nTIMELY_BETA 0.8\nMAX_RATE 100000Mb/s",
    );
    let made = made(TOPOLOGY, FLOWS, &timely).unwrap();
    for param in ["t_high = \"121182ns\"", "t_low = \"50897ns\"", "beta = 0.8"] {
        assert!(made.files[0].1.contains(param), "{param}: {}", made.files[0].1);
    }
    loaded(&made);
    assert!(!said(&made, Fate::Left).contains("MAX_RATE"), "{}", said(&made, Fate::Left));
    let more = format!(
        "LB_MODE 9\nCONWEAVE_PATH_PAUSE_TIME 16\nMAX_RATE 10Gbps\nLOAD 50\nENABLE_TLT 1\nVOQ_MON_FILE a\nMY_OWN 3\n{CONFIG}"
    );
    let made = self::made(TOPOLOGY, FLOWS, &more).unwrap();
    let left = said(&made, Fate::Left);
    for one in [
        "config.txt:1: LB_MODE 9 (ConWeave): forebay has none such",
        "config.txt:2: CONWEAVE_PATH_PAUSE_TIME 16",
        "config.txt:3: MAX_RATE 10Gbps",
        "config.txt:5: ENABLE_TLT 1",
        "config.txt:7: \"MY_OWN 3\" begins with an unknown key; it is not read, as there",
        "VOQ_MON_FILE: forebay writes its own tables",
    ] {
        assert!(left.contains(one), "{one}: {left}");
    }
    let quiet = more.replace("LB_MODE 9", "LB_MODE 0");
    let left = said(&self::made(TOPOLOGY, FLOWS, &quiet).unwrap(), Fate::Left);
    assert!(!left.contains("LB_MODE") && !left.contains("CONWEAVE"), "{left}");
    let ends = CONFIG.replace("SIMULATOR_STOP_TIME 3", "FLOWGEN_STOP_TIME 2.6");
    assert_eq!(scenario(TOPOLOGY, FLOWS, &ends).stop.time, Time::ZERO + Span::from_ms(12_600));
    // The longest run is a day, and a window is a packet at least.
    let ends = CONFIG.replace("SIMULATOR_STOP_TIME 3", "FLOWGEN_STOP_TIME 86400");
    assert_eq!(scenario(TOPOLOGY, FLOWS, &ends).stop.time, Time::ZERO + Span::from_secs(86_400));
    let least =
        self::made(TOPOLOGY, FLOWS, &format!("{CONFIG}HAS_WIN 1\nFIXED_WIN 500\n")).unwrap();
    assert!(least.files[0].1.contains("max_inflight = \"1000B\""), "{}", least.files[0].1);
    loaded(&least);
}

/// `switch-mmu.cc` of ConWeave: 0 means 375 KB for each port.
#[test]
fn a_buffer_of_zero_is_sized_by_ports() {
    let made = made(TOPOLOGY, FLOWS, &format!("{CONFIG}BUFFER_SIZE 0\n")).unwrap();
    assert!(made.files[0].1.contains("buffer = { size = \"1125KB\" }"), "{}", made.files[0].1);
    assert!(said(&made, Fate::Changed).contains("for 3 ports"));
}

/// `rdma-hw.cc` has no branch for other modes: senders keep the rate of their link, and marks change nothing. Mode 10 is HPCC-PINT.
#[test]
fn a_mode_that_is_no_law_keeps_the_line_rate() {
    let made = made(TOPOLOGY, FLOWS, &CONFIG.replace("CC_MODE 1", "CC_MODE 12")).unwrap();
    let scenario = loaded(&made).scenario;
    assert_eq!(scenario.transport.law, "dcqcn");
    assert!(scenario.fabric.switch.ecn.of_port().is_none(), "{:?}", scenario.fabric.switch.ecn);
    assert!(said(&made, Fate::Changed).contains("CC_MODE 12 does not name a law of the original"));
    let pint = self::made(TOPOLOGY, FLOWS, &CONFIG.replace("CC_MODE 1", "CC_MODE 10")).unwrap();
    assert_eq!(loaded(&pint).scenario.transport.law, "hpcc");
    assert!(said(&pint, Fate::Changed).contains("HPCC-PINT"));
}

/// ns3-rdma: the sender of the DCQCN paper, marks in packets of 1030 B, buffers of 9 MB, a hash or a draw for paths.
#[test]
fn a_config_of_the_oldest_form_is_the_dcqcn_paper() {
    let config = "FLOW_LEVEL_ECMP 1\nPACKET_PAYLOAD_SIZE 1000\nSIMULATOR_STOP_TIME 3.01\nCNP_INTERVAL 50\nALPHA_RESUME_INTERVAL 55\nCLAMP_TARGET_RATE 1\nRP_TIMER 60\nBYTE_COUNTER 300000000\nDCTCP_GAIN 0.00390625\nKMAX 1000\nKMIN 40\nPMAX 0.5\nFAST_RECOVERY_TIMES 5\nRATE_AI 40Mb/s\nRATE_HAI 200Mb/s\nL2_WAIT_FOR_ACK 0\nTCP_FLOW_FILE none.txt\n";
    let flows = "1\n0 2 3 10000 2.0 9.5\n";
    let made = made(TOPOLOGY, flows, config).unwrap();
    let text = &made.files[0].1;
    for part in [
        "timers = \"paper\"",
        "cnp_interval = \"50us\"",
        "alpha_timer = \"55us\"",
        "increase_timer = \"60us\"",
        "byte_counter = \"300MB\"",
        "g = 0.00390625",
        "recovery_steps = 5",
        "r_ai = \"40Mbps\"",
        "kmin = \"41200B\", kmax = \"1030KB\", pmax = 0.5",
        "buffer = { size = \"9MB\" }",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(loaded(&made).scenario.fabric.routing, Routing::Ecmp);
    assert!(said(&made, Fate::Left).contains("TCP_FLOW_FILE none.txt: flows of TCP are not read"));
    let packets = config.replace("FLOW_LEVEL", "PACKET_LEVEL");
    assert_eq!(scenario(TOPOLOGY, flows, &packets).fabric.routing, Routing::Spray);
}

#[test]
fn a_file_in_the_wrong_place_is_named() {
    refused(made(CONFIG, FLOWS, ""), "topology.txt:1", "this looks like a config file (--config)");
    refused(made(FLOWS, FLOWS, ""), "topology.txt:1", "this looks like a flow file (--flows)");
    refused(made(TOPOLOGY, TOPOLOGY, ""), "flow.txt:1", "this looks like a topology (--topology)");
    refused(made(TOPOLOGY, CONFIG, ""), "flow.txt:1", "this looks like a config file");
    refused(made(TOPOLOGY, "3\n0 1 2\n", ""), "flow.txt:1", "this looks like a trace file");
    let fct = "0b000001 0b000201 10000 100 10000 2000000000 5000 4000\n";
    refused(made(TOPOLOGY, fct, ""), "flow.txt:1", "this looks like an FCT file, a result");
    refused(made(TOPOLOGY, FLOWS, TOPOLOGY), "config.txt:1", "has no key of a config file");
    let four = TOPOLOGY.replace(" 1us 0\n", " 1us\n");
    refused(made(&four, FLOWS, ""), "topology.txt:3", "the line has 4 columns; a link has five");
    let maps = CONFIG.replace("KMAX_MAP 2 25000000000 400", "KMAX_MAP 1 25000000000 400");
    let left = said(&made(TOPOLOGY, FLOWS, &maps).unwrap(), Fate::Left);
    assert!(left.contains("config.txt:4: KMAX_MAP promises fewer entries than follow; \"100000000000 1600\" is not read"), "{left}");
}

/// Whether the import draws lines, and its points.
fn sizes(text: &str, form: CdfForm) -> (bool, Vec<(f64, f64)>, Import) {
    let made = import::cdf("made", source("sizes.txt", text), form).unwrap();
    loaded(&made);
    let lines = made.files[0].1.contains("mode = \"lin\"");
    let cdf = Cdf::parse("made", &made.files[1].1, lines).unwrap();
    (lines, cdf.points, made)
}

/// HomaSimulation writes the mean in the first line; `MsgSizeDistributions.cc` draws the first size whose probability is not below
/// the draw: 0.5 * 100 + 0.15 * 1448 + 0.1 * 10,000 + 0.249 * 100,000 + 0.001 * 1,000,000 = 27,167.2.
#[test]
fn a_mean_in_the_first_line_tells_steps_from_lines() {
    let steps = "27168.2\n100  0.5\n1448  0.65\n10000  0.75\n100000  0.999\n1000000  1.0\n";
    let (lines, points, made) = sizes(steps, CdfForm::default());
    assert!(!lines && points.len() == 5);
    let first = made.notes[0].to_string();
    assert!(first.contains("5 points, a step at each, mean 27167 B"), "{first}");
    // Half of all sizes from 0 to 1000 and half from 1000 to 2000, rounded up: 1000.5.
    let (lines, ..) = sizes("1000.5\n0 0\n1000 0.5\n2000 1\n", CdfForm::default());
    assert!(lines);
    let (lines, _, made) = sizes("5000\n100 0.5\n1000 1\n", CdfForm::default());
    let changed = said(&made, Fate::Changed);
    assert!(
        lines && changed.contains("the first line says 5000, perhaps the mean: straight lines"),
        "{changed}"
    );
    let (lines, ..) = sizes(steps, CdfForm { lines: Some(true), packet: None });
    assert!(lines, "a user's word wins");
}

/// The web search distribution of DCTCP in packets, as HomaSimulation has it: mean 1622.94 packets.
#[test]
fn a_file_that_counts_packets_is_recognised() {
    let packets = "1622.94\n6 0.15\n13 0.2\n19 0.3\n33 0.4\n53 0.53\n133 0.6\n667 0.7\n1333 0.8\n3333 0.9\n6667 0.97\n20000 1\n";
    let (lines, points, made) = sizes(packets, CdfForm::default());
    assert!(!lines);
    assert_eq!((points[0].0, points[10].0), (6.0 * 1460.0, 29_200_000.0));
    let changed = said(&made, Fate::Changed);
    assert!(
        changed.contains(
            "sizes are packets of 1460 B: the points are those of websearch_dctcp_packets"
        ),
        "{changed}"
    );
    let bytes = sizes(packets, CdfForm { lines: None, packet: Some(Bytes::new(1)) }).1;
    assert_eq!(bytes[10].0, 20_000.0, "a user's word wins");
    // A mean in bytes over sizes in packets: 0.5 * 2 + 0.5 * 30 packets of 1500 B.
    let (lines, points, made) = sizes("24000\n2 0.5\n30 1\n", CdfForm::default());
    assert!(!lines && points[1].0 == 45_000.0, "{points:?}");
    assert!(said(&made, Fate::Changed).contains("sizes are packets of 1500 B"));
    // Nothing tells: read as bytes, and said.
    let (.., made) = sizes("1 0.5\n40 0.9\n9000 1\n", CdfForm::default());
    let changed = said(&made, Fate::Changed);
    assert!(changed.contains("if they are packets, write --packet 1460B"), "{changed}");
    assert!(
        !said(&sizes("1460 0.5\n30000 1\n", CdfForm::default()).2, Fate::Changed)
            .contains("packet")
    );
}

/// A scenario that names such a file has to say how it is meant.
#[test]
fn a_file_whose_mean_is_that_of_steps_is_not_drawn_by_lines_in_silence() {
    let steps = "27168.2\n100  0.5\n1448  0.65\n10000  0.75\n100000  0.999\n1000000  1.0\n";
    let made = import::cdf("made", source("sizes.txt", steps), CdfForm::default()).unwrap();
    let folder = std::env::temp_dir().join(format!("forebay-steps-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("sizes.txt"), steps).unwrap();
    let load = |sizes: &str| {
        let table = "{ file = \"sizes.csv\", mode = \"step\" }";
        std::fs::write(folder.join("s.toml"), made.files[0].1.replace(table, sizes)).unwrap();
        forebay_scenario::load(&folder.join("s.toml")).map_err(|error| error.to_string())
    };
    for silent in ["\"sizes.txt\"", "{ file = \"sizes.txt\" }"] {
        let why = load(silent).map(drop).unwrap_err();
        assert!(
            why.contains("the mean is 27168.2, which is that of steps (27167.2")
                && why
                    .contains("write { file = \"sizes.txt\", mode = \"step\" }, or mode = \"lin\""),
            "{why}"
        );
    }
    for mode in ["step", "lin"] {
        load(&format!("{{ file = \"sizes.txt\", mode = \"{mode}\" }}")).unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
