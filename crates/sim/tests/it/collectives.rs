//! Collectives: their known times and bytes, bounds on any of them, and faults in any step.

use crate::common::{agreed, run, scenario};
use forebay_record::why::{Part, Path, path};
use forebay_record::{CollectiveRow, ProgramWait, RunRecord};
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, Outputs, Watch, simulate_into};
use forebay_units::random::{Purpose, Stream};
use std::collections::BTreeSet;

/// Hosts around one switch, 100 Gb/s and 1 us: a full packet of 1,044 B takes 83.52 ns, and an ACK 5.12 ns.
fn star(hosts: u32, collective: &str, rest: &str) -> Scenario {
    // The buffer does not have the headroom of many ports.
    let pause = if hosts < 100 { "on" } else { "off" };
    let ranks = if collective.contains("ranks = ") { "" } else { "ranks = \"host[*]\"\n" };
    scenario(&format!(
        "version = 1\nname = \"t\"\nseeds = [1]\nstop = {{ time = \"2s\", flows = \"all\" }}\n\
         [fabric]\nkind = \"star\"\nhosts = {hosts}\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
         [fabric.switch]\npause = \"{pause}\"\necn = {{ k = \"400KB\" }}\n\
         [transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nmss = \"1000B\"\nheader = \"44B\"\n\
         [[traffic]]\nkind = \"collective\"\n{ranks}{collective}\n{rest}"
    ))
}

fn one(record: &RunRecord) -> CollectiveRow {
    assert_eq!(record.collectives.len(), 1);
    record.collectives[0]
}

/// Completion time in ps.
fn took(scenario: &Scenario) -> u64 {
    let record = run(scenario, 1, Options::default()).record;
    one(&record).completion().expect("it ended").as_ps()
}

/// Equal to a recurrence over packets: 42 packets and more take
/// 88,640 k + 1,955,520 ps, since ACKs share the link; up to 26 take 83,520 k + 2,083,520 ps.
#[test]
fn one_step_of_a_ring_takes_the_time_of_its_packets() {
    for (packets, time) in [
        (1u64, 2_167_040),
        (26, 4_255_040),
        (27, 4_343_680),
        (100, 10_819_520),
        (1_000, 90_595_520),
    ] {
        let bytes = 2_000 * packets;
        for op in ["reduce-scatter", "all-gather", "all-to-all"] {
            let text = format!("op = \"{op}\"\nbytes = \"{bytes}B\"");
            assert_eq!(took(&star(2, &text, "")), time, "{op} of {packets} packets");
        }
    }
}

/// A short last packet of p bytes takes (1000 - p) 80 ps off: 1 MiB takes 94,904,960 ps.
#[test]
fn the_rounds_of_a_ring_take_a_step_each() {
    for ranks in [4u64, 8, 16] {
        let text = format!("op = \"all-reduce\"\nbytes = \"{}B\"", ranks << 20);
        let steps = 2 * (ranks - 1);
        let time = took(&star(ranks as u32, &text, ""));
        let step = 94_904_960;
        // A later step begins 5.12 ns after the delivery that lets it, behind an ACK. ACKs under way change its end by less than a packet.
        assert!(time.abs_diff(steps * step) < steps * 83_520, "{ranks} ranks: {time}");
    }
}

/// Each rank serves its peers in turn, from the next one on, so that no two send to one host at once: (n - 1) k packets take
/// 88,640 (n - 1) k + 1,955,520 ps.
#[test]
fn an_all_to_all_at_once_takes_the_time_of_one_long_step() {
    for ranks in [4u64, 8] {
        let bytes = ranks * 100_000;
        let text = format!("op = \"all-to-all\"\nalgorithm = \"direct\"\nbytes = \"{bytes}B\"");
        let time = took(&star(ranks as u32, &text, ""));
        assert_eq!(time, 88_640 * (ranks - 1) * 100 + 1_955_520, "{ranks} ranks");
    }
}

#[test]
fn all_ranks_together_send_the_bytes_of_the_closed_form_and_no_less_time_is_possible() {
    for algorithm in ["ring", "direct", "halving-doubling"] {
        let bytes = 800_000u64;
        let text =
            format!("op = \"all-reduce\"\nalgorithm = \"{algorithm}\"\nbytes = \"{bytes}B\"");
        let record = agreed(&star(8, &text, ""));
        assert_eq!(record.totals.delivered_bytes, 2 * 7 * bytes, "{algorithm}");
        let row = one(&record);
        assert_eq!((row.bytes.get(), row.ranks, row.done), (bytes, 8, 8));
        let time = row.completion().unwrap().as_ps();
        assert!(time >= 2 * 7 * bytes * 80 / 8, "{algorithm}: {time}");
        // bus bandwidth = 2 (n - 1)/n S/t
        let busbw = 2.0 * 7.0 / 8.0 * bytes as f64 * 8_000.0 / time as f64;
        assert!((row.busbw_gbps().unwrap() - busbw).abs() < 1e-9 && busbw < 100.0, "{busbw}");
    }
}

/// Operation, algorithm, ranks, bytes, channels and how messages go, from one number.
fn drawn(seed: u64) -> (Scenario, u64, u64) {
    let mut draws = Stream::new(seed, 0, Purpose::Test);
    let mut of = |n: u64| draws.below(n);
    let ops = ["all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all"];
    let op = ops[of(5) as usize];
    let algorithms = ["ring", "direct", "halving-doubling"];
    let algorithm =
        algorithms[of(if op.starts_with('b') || op.ends_with("to-all") { 2 } else { 3 }) as usize];
    let ranks = match algorithm {
        "halving-doubling" if op != "all-reduce" => 2 << of(4),
        _ => 2 + of(39),
    };
    let bytes = [0, 1, ranks - 1, 1 + of(100_000), 1 + of(1_000_000)][of(5) as usize];
    let mut text = format!(
        "op = \"{op}\"\nalgorithm = \"{algorithm}\"\nbytes = \"{bytes}B\"\nchannels = {}\n",
        1 + of(3)
    );
    let keys = [
        "connections = 2\n",
        "connections = 3\nspread = \"split\"\n",
        "message = \"3000B\"\nwindow = \"6000B\"\n",
        "message = \"5000B\"\nconnections = 2\nwindow = \"20KB\"\nstep_delay = \"100ns\"\n",
        "repeat = 3\ngap = \"1us\"\n",
        "step_delay = \"1us\"\nstart_delay = \"2us\"\nmessage = \"10KB\"\n",
        "",
    ];
    text.push_str(keys[of(7) as usize]);
    let repeat = if text.contains("repeat") { 3 } else { 1 };
    let factor = if op == "all-reduce" { 2 } else { 1 };
    let whole = match (bytes, op, algorithm) {
        (0, "broadcast", _) => 1,
        (0, _, "halving-doubling") => 1 << ranks.ilog2(),
        (0, ..) => ranks,
        (bytes, ..) => bytes,
    };
    let sent = repeat * factor * (ranks - 1) * whole;
    let (over, under) = if op == "broadcast" { (1, 1) } else { (factor * (ranks - 1), ranks) };
    let least = bytes * over * 80 / under;
    (star(ranks as u32, &text, ""), sent, least)
}

#[test]
fn any_collective_ends_with_its_bytes_and_takes_the_least_time_or_more() {
    for seed in 0..crate::common::of_all(90) {
        let (scenario, sent, least) = drawn(seed.into());
        let record = run(&scenario, 1, Options::default()).record;
        let title = scenario.traffic[0].kind.title();
        assert_eq!(record.totals.delivered_bytes, sent, "{seed}: {title}");
        let repeat = if title.contains(" x ") { 3 } else { 1 };
        assert_eq!(record.collectives.len(), repeat, "{seed}: {title}");
        for row in &record.collectives {
            let time = row.completion().unwrap_or_else(|| panic!("{seed}: {title}: {row:?}"));
            assert!(time.as_ps() >= least, "{seed}: {title}: {row:?}");
        }
        let digest =
            |threads: usize| run(&scenario, 1, Options { threads, ..<_>::default() }).record.digest;
        if seed % 4 == 0 {
            assert_eq!([digest(2), digest(4)], [record.digest; 2], "{seed}: {title}");
        }
    }
}

/// Eight pairs of ranks, a flow each, on eight uplinks chosen by a hash: the flows on the fullest uplink share it, and the others wait for
/// nobody. A packet takes 83.52 ns.
#[test]
fn hashed_flows_take_as_many_times_the_ideal_as_there_are_flows_on_the_fullest_link() {
    let pairs: Vec<String> =
        (0..8).map(|n| format!("[\"leaf[0].host[{n}]\", \"leaf[1].host[{n}]\"]")).collect();
    let mut seen = BTreeSet::new();
    for law in ["fixed", "swift"] {
        let scenario = scenario(&format!(
            "version = 1\nname = \"t\"\nseeds = [1]\nstop = {{ time = \"1s\", flows = \"all\" }}\n\
             [fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 8\nhosts_per_leaf = 8\n\
             host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\nfabric_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             [fabric.switch]\nbuffer = {{ size = \"64MB\" }}\npause = \"on\"\n\
             [transport]\nkind = \"rdma\"\nlaw = \"{law}\"\nmss = \"1000B\"\nheader = \"44B\"\n\
             [[traffic]]\nkind = \"collective\"\nop = \"broadcast\"\nbytes = \"4MB\"\nranks = [{}]\n",
            pairs.join(", ")
        ));
        for seed in 1..=3 {
            let record = run(&scenario, seed, Options::default()).record;
            let up = record
                .ports
                .iter()
                .filter(|port| port.node == "leaf[0]" && port.peer.starts_with("spine"));
            let flows = up.map(|port| port.tx_packets.div_ceil(4_000)).max().unwrap();
            let took = record.collectives.iter().map(|row| row.completion().unwrap().as_ps());
            let ratio = took.max().unwrap() as f64 / (4_000 * 83_520) as f64;
            assert!((ratio / flows as f64 - 1.0).abs() < 0.1, "{law}, {seed}: {flows}, {ratio}");
            seen.insert(flows);
        }
    }
    assert!(seen.iter().all(|flows| *flows > 1) && seen.len() > 1, "{seen:?}");
}

#[test]
fn connections_outlive_collectives_and_have_a_row_each() {
    let text = "op = \"all-reduce\"\nbytes = \"400KB\"\nrepeat = 3\ngap = \"5us\"\nconnections = 2\nmessage = \"50KB\"";
    let record = agreed(&star(4, text, ""));
    assert_eq!((record.flows.len(), record.connections.len(), record.rpcs.len()), (8, 8, 0));
    let bytes: u64 = record.connections.iter().map(|row| row.request_bytes.get()).sum();
    assert_eq!(bytes, 3 * 2 * 3 * 400_000);
    assert!(record.connections.iter().all(|row| row.done == record.collectives[2].end));
    for pair in record.collectives.windows(2) {
        // Each rank waits for its own end and the gap.
        assert!(pair[1].start.as_ps() >= pair[0].start.as_ps() + 5_000_000);
        assert!(pair[1].end > pair[0].end);
    }
}

#[test]
fn groups_run_collectives_of_their_own() {
    let groups = "op = \"all-reduce\"\nbytes = \"100KB\"\nranks = [[\"host[0]\", \"host[1]\"], [\"host[2]\", \"host[3]\", \"host[0]\"]]";
    let record = agreed(&star(4, groups, ""));
    let rows: Vec<_> =
        record.collectives.iter().map(|row| (row.group, row.ranks, row.done)).collect();
    assert_eq!(rows, [(0, 2, 2), (1, 3, 3)]);
    assert_eq!(record.totals.delivered_bytes, 2 * 100_000 + 2 * 2 * 100_000);
}

#[test]
fn a_delay_of_steps_and_of_the_start_adds_up() {
    let plain = took(&star(4, "op = \"reduce-scatter\"\nbytes = \"400KB\"", ""));
    let delays =
        "op = \"reduce-scatter\"\nbytes = \"400KB\"\nstart_delay = \"7us\"\nstep_delay = \"3us\"";
    // Two of three steps wait for data. Nothing else is on the way meanwhile, so that the ACK that a step waits behind has left.
    let time = took(&star(4, delays, ""));
    assert!(time.abs_diff(plain + 7_000_000 + 2 * 3_000_000) <= 3 * 88_640, "{plain} {time}");
}

#[test]
fn a_window_of_one_message_waits_for_the_receiver_to_post_its_buffer() {
    // 10 messages of one packet each. The receiver knows of each after `FIRST`, and the sender 1 us later.
    let first = 2 * (1_000_000 + 83_520);
    let text = "op = \"broadcast\"\nbytes = \"10KB\"\nmessage = \"1000B\"\nwindow = \"1000B\"";
    assert_eq!(took(&star(2, text, "")), 10 * first + 9 * 1_000_000);
    let wide = text.replace("window = \"1000B\"", "window = \"10KB\"");
    assert_eq!(took(&star(2, &wide, "")), first + 9 * 83_520);
}

/// Two messages of 10 packets, which wait for the same begin. The root begins again when the last packet of the second one is acknowledged.
#[test]
fn sends_that_wait_for_the_same_begin_go_out_in_the_order_of_listing() {
    let text = "op = \"broadcast\"\nbytes = \"20KB\"\nmessage = \"10KB\"\nrepeat = 2\nstep_delay = \"100ns\"";
    for more in ["", "\nwindow = \"40KB\""] {
        let record = agreed(&star(2, &format!("{text}{more}"), ""));
        let ends: Vec<u64> =
            record.collectives.iter().map(|row| row.end.expect("it ended").as_ps()).collect();
        let delivered = 2 * (1_000_000 + 83_520) + 19 * 83_520;
        let acknowledged = delivered + 2 * (1_000_000 + 5_120);
        assert_eq!(ends, [delivered, acknowledged + delivered], "{more}");
    }
}

/// Four racks of two hosts: faults have somewhere to be.
fn racks(collective: &str, transport: &str, rest: &str) -> Scenario {
    scenario(&format!(
        "version = 1\nname = \"t\"\nseeds = [1]\nstop = {{ time = \"2s\", flows = \"all\" }}\n\
         [fabric]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 2\n\
         host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\nfabric_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
         [fabric.switch]\nbuffer = {{ size = \"4MB\" }}\necn = {{ k = \"100KB\" }}\n\
         [transport]\n{transport}\n\
         [[traffic]]\nkind = \"collective\"\nop = \"all-reduce\"\nranks = \"leaf[*].host[*]\"\n{collective}\n{rest}"
    ))
}

const TCP: &str = "kind = \"tcp\"\nlaw = \"dctcp\"\nrto_min = \"1ms\"";
const RDMA: &str = "kind = \"rdma\"\nlaw = \"dcqcn\"\ntimeout = \"200us\"";

/// Three cores of a server take 24 GB/s of its memory for 60 us of a ring on a lossless fabric, in one step after the other.
#[test]
fn every_rank_ends_and_no_byte_is_lost_whatever_step_a_pause_storm_comes_in() {
    let text = |memory: &str| {
        format!(
            "version = 1\nname = \"t\"\nseeds = [1]\nstop = {{ time = \"2s\", flows = \"all\" }}\n\
             [fabric]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 2\n\
             host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\nfabric_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             [fabric.switch]\nclasses = 2\nbuffer = {{ size = \"4MB\" }}\necn = {{ k = \"400KB\" }}\n\
             pause = {{ classes = [0], xoff = \"50KB\" }}\n{memory}\
             [transport]\nkind = \"rdma\"\nlaw = \"fixed\"\nack_class = 1\n\
             [[traffic]]\nkind = \"collective\"\nop = \"all-reduce\"\nranks = \"leaf[*].host[*]\"\n\
             bytes = \"4MB\"\nmessage = \"100KB\"\n"
        )
    };
    let quiet = run(&scenario(&text("")), 1, Options::default()).record;
    assert_eq!(quiet.ports.iter().map(|port| port.paused.as_ps()).sum::<u64>(), 0);
    let end = one(&quiet).end.unwrap().as_ps() / 1_000;
    for tenth in [0u64, 2, 5, 8] {
        let at = end * tenth / 10;
        let memory = format!(
            "[[host.override]]\nwhere = \"leaf[1].host[0]\"\n[host.override.memory]\npause_above = \"64KB\"\n\
             antagonist = [{{ cores = 3, start = \"{at}ns\", trace = [[0, 24.0], [60, 0.0]] }}]\n"
        );
        let record = agreed(&scenario(&text(&memory)));
        let row = one(&record);
        assert_eq!((row.done, record.totals.delivered_bytes), (8, 2 * 7 * 4_000_000), "{at}");
        assert!(row.end > one(&quiet).end, "{at}");
        let paused = |peer: &str| {
            let ports = record.ports.iter().filter(|port| port.node == peer);
            ports.map(|port| port.paused.as_ps()).sum::<u64>()
        };
        assert!(paused("leaf[1]") > 0, "{at}");
        assert!(record.ports.iter().all(|port| port.dropped_packets == 0), "{at}");
    }
}

#[test]
fn every_rank_ends_and_no_byte_is_lost_whatever_step_a_fault_comes_in() {
    for (algorithm, transport) in [("ring", RDMA), ("direct", TCP), ("halving-doubling", TCP)] {
        let text = format!("algorithm = \"{algorithm}\"\nbytes = \"800KB\"\nmessage = \"50KB\"\n");
        let quiet = run(&racks(&text, transport, ""), 1, Options::default()).record;
        let end = one(&quiet).end.unwrap().as_ps() / 1_000;
        for tenth in [0u64, 2, 5, 8] {
            let at = end * tenth / 10;
            for fault in [
                format!("link = \"leaf[1]-spine[0]\"\nat = \"{at}ns\"\nfor = \"30us\""),
                format!("link = \"leaf[0]-leaf[0].host[1]\"\nat = \"{at}ns\"\nfor = \"20us\""),
                format!("link = \"leaf[2]-spine[1]\"\nat = \"{at}ns\"\nloss = 0.02"),
            ] {
                let scenario = racks(&text, transport, &format!("[[fault]]\n{fault}\n"));
                let record = run(&scenario, 1, Options::default()).record;
                let row = one(&record);
                assert_eq!(row.done, 8, "{algorithm}: {fault}");
                assert_eq!(record.totals.delivered_bytes, 2 * 7 * 800_000, "{algorithm}: {fault}");
            }
        }
    }
}

/// The critical path of the last collective of a run.
fn critical(scenario: &Scenario) -> (CollectiveRow, Path) {
    let plain = run(scenario, 1, Options::default()).record;
    let flows: Vec<u32> = plain.flows.iter().map(|row| row.flow).collect();
    let outputs = Outputs { follow: Some(&flows), steps: true, ..Outputs::default() };
    let outcome =
        simulate_into(scenario, 1, Options::default(), &Watch::default(), outputs).unwrap();
    assert_eq!(outcome.record.digest, plain.digest, "what is logged changes nothing");
    let row = *outcome.record.collectives.last().unwrap();
    let log = outcome.followed.unwrap();
    (row, path(&log, &outcome.record, &row).expect("it ended"))
}

#[test]
fn the_parts_of_a_critical_path_add_up_to_the_completion_time_and_none_is_unknown() {
    let mut seen = BTreeSet::new();
    let star = [
        "algorithm = \"ring\"\nbytes = \"400KB\"",
        "algorithm = \"ring\"\nbytes = \"400KB\"\nmessage = \"20KB\"\nconnections = 2\nrepeat = 2\ngap = \"3us\"",
        "algorithm = \"ring\"\nbytes = \"400KB\"\nmessage = \"10KB\"\nwindow = \"20KB\"\nstep_delay = \"2us\"\nstart_delay = \"1us\"",
        "algorithm = \"direct\"\nbytes = \"400KB\"\nconnections = 3\nspread = \"split\"",
        "algorithm = \"halving-doubling\"\nbytes = \"400KB\"\nchannels = 2\nstep_delay = \"500ns\"",
    ]
    .map(|text| self::star(8, &format!("op = \"all-reduce\"\n{text}"), ""));
    let rounds = self::star(5, "op = \"all-to-all\"\nbytes = \"250KB\"\nrepeat = 2", "");
    let loss = "[[fault]]\nlink = \"leaf[0]-spine[0]\"\nat = \"1us\"\nloss = 0.03\n";
    let lossy = racks("bytes = \"400KB\"\n", TCP, loss);
    for scenario in star.into_iter().chain([rounds, lossy]) {
        let title = scenario.traffic[0].kind.title();
        let (row, path) = critical(&scenario);
        let mut at = row.start;
        for one in &path.pieces {
            assert_eq!(one.piece.from, at, "{title}: {one:?}");
            assert_ne!(one.piece.part, Part::Unexplained, "{title}: {one:?}");
            at = one.piece.to;
            seen.insert(one.piece.part);
        }
        assert_eq!(Some(at), row.end, "{title}");
        // An all-reduce of a ring of n ranks has 2 (n - 1) messages one after the other.
        let hops = path.hops.iter().filter(|hop| hop.flow.is_some()).count();
        if title == "all-reduce of 400KB over 8 ranks, ring" {
            assert!(hops >= 14, "{title}: {hops}");
        }
    }
    for part in [Part::Serialization, Part::Propagation, Part::Compute, Part::Posting] {
        assert!(seen.contains(&part), "{part:?} of {seen:?}");
    }
}

#[test]
fn the_critical_path_of_a_ring_on_a_quiet_star_is_a_message_for_each_step() {
    let (row, path) = critical(&star(4, "op = \"all-reduce\"\nbytes = \"400KB\"", ""));
    let hops: Vec<u64> = path.hops.iter().map(|hop| hop.bytes).collect();
    assert_eq!(hops, [100_000; 6]);
    let total = |part: Part| -> u64 {
        let of = path.pieces.iter().filter(|one| one.piece.part == part);
        of.map(|one| one.piece.span().as_ps()).sum()
    };
    // Each step crosses two cables of 1 us.
    assert_eq!(total(Part::Propagation), 6 * 2_000_000);
    // And sends 100 packets of 83.52 ns over the first, the last of them over the second as well.
    assert_eq!(total(Part::Serialization), 6 * 101 * 83_520);
    let all = row.completion().unwrap().as_ps();
    assert_eq!(total(Part::Nic), all - 6 * (2_000_000 + 101 * 83_520));
}

/// A ring of four servers. The memory of host[1] takes less than its link brings.
fn slow_server(marks: &str, memory: &str) -> Scenario {
    scenario(&format!(
        "version = 1\nname = \"t\"\nseeds = [1]\nstop = {{ time = \"1s\", flows = \"all\" }}\n\
         [fabric]\nkind = \"star\"\nhosts = 4\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
         [fabric.switch]\nclasses = 2\nbuffer = {{ size = \"8MB\" }}\npause = {{ classes = [0] }}\n{marks}\
         [[host.override]]\nwhere = \"host[1]\"\n[host.override.memory]\n{memory}\
         antagonist = [{{ cores = 3 }}]\n\
         [transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nmss = \"4096B\"\nack_every = 4\nack_class = 1\n\
         [[traffic]]\nkind = \"collective\"\nop = \"all-reduce\"\nranks = \"host[*]\"\nbytes = \"16MiB\"\nmessage = \"1MiB\"\n"
    ))
}

/// A NIC that pauses its switch lets a queue grow there, whose marks cut the rate. hostCC marks at the host, where no queue has grown.
#[test]
fn pacing_on_a_critical_path_names_the_port_or_the_host_whose_marks_cut_the_rate() {
    let switch = "ecn = { kmin = \"100KB\", kmax = \"400KB\", pmax = 0.2 }\n";
    let pauses = slow_server(switch, "pause_above = \"192KB\"\n");
    let high = "ecn = { k = \"4MB\" }\n";
    let marks = slow_server(high, "pause_above = \"192KB\"\ncontrol = { law = \"hostcc\" }\n");
    for (scenario, by) in [(pauses, "tor->host[1]"), (marks, "host[1]")] {
        let (row, path) = critical(&scenario);
        let pacing = path.pieces.iter().filter(|one| one.piece.part == Part::Pacing);
        let pacing: u64 = pacing.map(|one| one.piece.span().as_ps()).sum();
        let cuts: Vec<(&str, u64)> =
            path.cuts.iter().map(|cut| (cut.by.as_str(), cut.span.as_ps())).collect();
        assert_eq!(cuts, [(by, pacing)]);
        let all = row.completion().unwrap();
        assert!(pacing > all.as_ps() / 100, "{by}: {pacing}");
        // The port rests while its NIC pauses it.
        let paused = path.cuts[0].paused;
        assert_eq!(paused.is_some_and(|span| span > all / 5), by.contains("->"), "{paused:?}");
    }
}

/// The traffic of GPT-13B on 128 GPUs with steps of 200 to 300 packets instead of 406,000 and 203,000. Each packet more takes 22,160 ps in
/// each of 15 steps: a data packet of 1,044 B and its ACK of 64 B at 400 Gb/s.
#[test]
fn each_packet_more_of_the_job_of_eight_rails_takes_its_time_in_each_step() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/performance/gpt13b.toml");
    let whole = std::fs::read_to_string(file).expect("it is there");
    let ends = |packets: u64| {
        let text = whole
            .replace("\"406000000B\"", &format!("\"{}B\"", 1_000 * packets))
            .replace("\"203000000B\"", &format!("\"{}B\"", 1_000 * packets))
            .replace("\"136ms\"", "\"200us\"");
        let record = run(&scenario(&text), 1, Options::default()).record;
        let spans = record.collectives.iter().map(|row| row.completion().expect("it ended"));
        spans.map(|span| span.as_ps()).collect::<Vec<u64>>()
    };
    let (short, long) = (ends(200), ends(300));
    assert_eq!((short.len(), long.len()), (16, 16));
    // The eight rails do not know of each other.
    assert!(short[..8].iter().all(|took| *took == short[0]), "{short:?}");
    for (short, long) in short.iter().zip(&long) {
        // ACKs under way at the end of a step change it by less than a packet, as in `the_rounds_of_a_ring_take_a_step_each`.
        assert!((long - short).abs_diff(15 * 100 * 22_160) < 15 * 22_160, "{short} {long}");
    }
}

/// A message on each of two channels, split into a packet on each of two connections: flow k of 0 to 3 delivers at 2,167,040 + 83,520 k ps.
#[test]
fn a_split_message_waits_for_the_part_that_is_missing() {
    let text = "op = \"broadcast\"\nbytes = \"4KB\"\nchannels = 2\nconnections = 2\nspread = \"split\"\nrepeat = 2";
    let until = |ps: u64| {
        let mut scenario = star(2, text, "");
        scenario.stop.time = forebay_units::Time::from_ps(ps);
        let outcome = run(&scenario, 1, Options::default());
        let waits: Vec<ProgramWait> =
            outcome.record.programs.iter().filter_map(|row| row.waits_for).collect();
        (waits, outcome.warnings.join("\n"))
    };
    let (waits, said) = until(2_360_000);
    // The second collective of a channel waits for both channels.
    let sent = [ProgramWait::Acks(0), ProgramWait::Acks(2)];
    assert_eq!(waits, [sent[0], sent[1], ProgramWait::Signal, ProgramWait::Data(3)]);
    assert!(said.contains("waits for a message of host[0] that is under way, on flow 3"), "{said}");
    assert!(!said.contains("missing"), "{said}");
    let (waits, said) = until(2_100_000);
    assert_eq!(waits, [sent[0], sent[1], ProgramWait::Data(0), ProgramWait::Data(2)]);
    assert!(said.contains("; 1 more message is missing"), "{said}");
}

#[test]
fn a_collective_that_cannot_go_on_says_who_waits_for_whom() {
    let down = "[[fault]]\nlink = \"leaf[1]-leaf[1].host[0]\"\nat = \"30us\"\n";
    let mut scenario = racks("bytes = \"800KB\"\n", RDMA, down);
    scenario.stop.time = forebay_units::Time::from_ps(20_000_000_000);
    let outcome = run(&scenario, 1, Options::default());
    let row = one(&outcome.record);
    assert!(row.end.is_none() && row.done < 8, "{row:?}");
    let said = outcome.warnings.iter().find(|text| text.contains("had not ended"));
    let said = said.unwrap_or_else(|| panic!("{:?}", outcome.warnings));
    // Nothing comes to or from leaf[1].host[0] any more: it, or the rank behind it, waits for a message that has begun.
    assert!(
        said.contains("leaf[1].host[0] waits for a message of leaf[0].host[1]")
            || said.contains("leaf[1].host[1] waits for a message of leaf[1].host[0]"),
        "{said}"
    );
}
