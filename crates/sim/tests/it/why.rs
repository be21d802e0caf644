//! Where completion times go: parts that add up to the picosecond, over random scenarios and in closed forms.

use crate::common::random::draw;
use crate::common::{MOST_HOPS, run, run_if_short, scenario};
use forebay_record::RunRecord;
use forebay_record::why::{
    Log, Part, Piece, Repair, TimeParts, Trace, calls, explain, explain_calls, trace,
};
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, Outputs, Simulation, Watch};
use forebay_units::{Span, Time};
use proptest::prelude::*;

/// All flows of a scenario, followed.
fn followed(scenario: &Scenario, options: Options) -> (RunRecord, Vec<TimeParts>) {
    let (record, log) = logged(scenario, options);
    called(&record, &log);
    (record, explain(&log))
}

/// What each RPC that was answered went through. Checks that its pieces tile its latency.
fn called(record: &RunRecord, log: &Log) -> Vec<Vec<Piece>> {
    let calls = calls(record);
    let all = explain_calls(log, &calls);
    let tile = |(call, pieces): (&forebay_record::why::Call, Option<Vec<Piece>>)| {
        let Some(pieces) = pieces else {
            assert!(log.streams.is_empty(), "its streams were followed");
            return Vec::new();
        };
        let mut at = call.issued;
        for piece in &pieces {
            assert_eq!(piece.from, at, "RPC {}: no gap and no overlap", call.rpc);
            at = piece.to;
        }
        assert_eq!(at, call.completed, "RPC {}", call.rpc);
        pieces
    };
    calls.iter().zip(all).map(tile).collect()
}

fn logged(scenario: &Scenario, options: Options) -> (RunRecord, Log) {
    let all: Vec<u32> = (0..1 << 16).collect();
    let outputs = Outputs { follow: Some(&all), ..Outputs::default() };
    let mut simulation = Simulation::with_outputs(scenario, 1, options, outputs).unwrap();
    simulation.advance(Time::MAX, &Watch::default());
    let outcome = simulation.finish();
    (outcome.record, outcome.followed.unwrap())
}

/// Checks that the pieces of each flow tile its completion time.
fn tiles(record: &RunRecord, all: &[TimeParts]) {
    let complete = record.flows.iter().filter(|row| row.fct().is_some() && !row.is_endless());
    let mut explained = all.iter();
    for row in complete {
        let one = explained.next().expect("every flow that is complete is explained");
        assert_eq!(one.flow.flow, row.flow);
        let mut at = row.start;
        for piece in &one.pieces {
            assert_eq!(piece.from, at, "flow {}: no gap and no overlap", row.flow);
            assert!(piece.to > piece.from);
            at = piece.to;
        }
        assert_eq!(Some(at), row.delivered, "flow {}", row.flow);
        let sum: Span = Part::ALL.iter().map(|part| one.total(*part)).sum();
        assert_eq!(Some(sum), row.fct());
    }
    assert!(explained.next().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parts_add_up_and_following_changes_nothing(seed in any::<u64>().no_shrink()) {
        one(seed);
    }
}

fn one(seed: u64) {
    let drawn = draw(seed, 0);
    let scenario = scenario(&drawn.text);
    let Some(whole) = run_if_short(&scenario, MOST_HOPS) else { return };
    let whole = whole.record;
    let (record, all) = followed(&scenario, Options::default());
    assert_eq!(record.digest, whole.digest, "seed {seed}");
    assert_eq!(record.flows, whole.flows, "seed {seed}");
    tiles(&record, &all);
    let (again, same) = followed(&scenario, Options { threads: 2, ..Options::default() });
    assert_eq!(again.digest, whole.digest, "seed {seed}");
    assert_eq!(same, all, "seed {seed}: parts on two threads");
    // A fault takes from a log who waits, and of one flow more than of all.
    if !all.is_empty() && !drawn.faulty {
        let one = &all[seed as usize % all.len()];
        assert_eq!(
            alone(&scenario, one),
            std::slice::from_ref(one),
            "seed {seed}: alone, and no longer than it takes"
        );
    }
    let lost = all.iter().filter(|one| one.total(Part::Unexplained) > Span::ZERO).count();
    assert!(drawn.faulty || lost == 0, "seed {seed}: {lost} of {} flows", all.len());
}

/// What is said of a flow where it alone is followed, and until its end.
fn alone(scenario: &Scenario, one: &TimeParts) -> Vec<TimeParts> {
    let flows = [one.flow.flow];
    let outputs = Outputs { follow: Some(&flows), ..Outputs::default() };
    let mut simulation =
        Simulation::with_outputs(scenario, 1, Options::default(), outputs).unwrap();
    simulation.advance(one.flow.done + Span::from_ps(1), &Watch::default());
    explain(&simulation.finish().followed.unwrap())
}

#[test]
fn repeated_acks_that_are_alike_leave_a_switch_one_by_one() {
    one(9_294_300_406_750_423_755);
}

#[test]
fn one_seed() {
    if let Some(seed) = std::env::var("FOREBAY_SEED").ok().and_then(|s| s.parse().ok()) {
        println!("{}", draw(seed, 0).text);
        one(seed);
    }
}

/// Parts of each flow, without those that are zero.
fn parts(text: &str) -> (RunRecord, Vec<TimeParts>) {
    let scenario = scenario(text);
    let (record, all) = followed(&scenario, Options::default());
    tiles(&record, &all);
    (record, all)
}

/// A star of hosts at 10 Gb/s, 1 us each, with a switch that takes no time.
fn star(hosts: u32, rest: &str) -> String {
    format!(
        "version = 1\nstop = {{ time = \"3s\" }}\n[fabric]\nkind = \"star\"\nhosts = {hosts}\n\
         host_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\n{rest}"
    )
}

const BIG_WINDOW: &str = "[transport]\nkind = \"tcp\"\nlaw = \"reno\"\ninitial_window = \"4MB\"\n";

#[test]
fn a_flow_alone_sends_and_propagates_and_nothing_else() {
    let traffic = "[[traffic]]\nkind = \"list\"\nflows = [{ from = \"host[0]\", to = \"host[1]\", size = \"300KB\", at = \"7us\" }]\n";
    let (record, all) = parts(&star(2, &format!("{BIG_WINDOW}{traffic}")));
    let (one, row) = (&all[0], &record.flows[0]);
    assert_eq!(row.fct(), Some(row.ideal));
    let links = &scenario(&star(2, &format!("{BIG_WINDOW}{traffic}"))).fabric;
    let flight = Span::from_us(2) + links.switch.latency;
    assert_eq!(one.total(Part::Propagation), flight);
    assert_eq!(one.total(Part::Serialization), row.ideal - flight);
}

#[test]
fn a_small_window_costs_round_trips_and_no_queue() {
    let window = "[transport]\nkind = \"tcp\"\nlaw = \"reno\"\ninitial_window = \"2896B\"\n";
    let traffic = "[[traffic]]\nkind = \"list\"\nflows = [{ from = \"host[0]\", to = \"host[1]\", size = \"14480B\", at = \"0s\" }]\n";
    let (_, all) = parts(&star(2, &format!("{window}{traffic}")));
    let one = &all[0];
    assert_eq!(one.total(Part::Queue) + one.total(Part::Nic), Span::ZERO);
    assert!(one.total(Part::Window) > Span::ZERO);
}

#[test]
fn of_an_incast_all_but_the_ideal_is_queueing_at_the_port_of_the_receiver() {
    let traffic =
        "[[traffic]]\nkind = \"incast\"\nfan_in = 8\nsize = \"57920B\"\nto = \"host[0]\"\n";
    let (record, all) = parts(&star(9, &format!("{BIG_WINDOW}{traffic}")));
    assert_eq!(all.len(), 8);
    for (one, row) in all.iter().zip(&record.flows) {
        let queue = one.total(Part::Queue);
        assert_eq!(queue, row.fct().unwrap() - row.ideal, "flow {}", row.flow);
        let ports: Vec<_> = one.pieces.iter().filter_map(|piece| piece.link).collect();
        assert!(ports.windows(2).all(|pair| pair[0] == pair[1]));
    }
    assert!(all.iter().any(|one| one.total(Part::Queue) > one.flow.ideal * 5));
}

#[test]
fn a_flow_that_loses_its_last_packets_waits_for_a_probe_or_the_timeout() {
    let flow = "[[traffic]]\nkind = \"list\"\nflows = [{ from = \"host[0]\", to = \"host[1]\", size = \"14480B\", at = \"0s\" }]\n";
    for (keys, part) in [("", Repair::Probe), ("tail_loss_probe = false\n", Repair::Timeout)] {
        let drop = "[[fault]]\nat = \"0s\"\nlink = \"host[0]->tor\"\ndrop = [10]\n";
        let (record, all) = parts(&star(2, &format!("{BIG_WINDOW}{keys}{flow}{drop}")));
        let (one, row) = (&all[0], record.flows[0]);
        assert_eq!(row.timeouts, u32::from(part == Repair::Timeout));
        // The flow sends once, waits from the end of its last packet on, and sends that packet again.
        let packet = Span::from_ns(1_200);
        let wait = row.fct().unwrap() - row.ideal - packet;
        assert_eq!(one.total(Part::Repair(part)), wait);
        assert_eq!(one.total(Part::Serialization), packet * 12);
        assert_eq!(one.total(Part::Propagation), Span::from_us(2));
    }
}

#[test]
fn a_paused_flow_shows_its_pause() {
    let pause = "[fabric.switch]\necn = \"off\"\nbuffer = { size = \"400KB\" }\npause = { xoff = \"20KB\" }\n";
    let traffic =
        "[[traffic]]\nkind = \"incast\"\nfan_in = 5\nsize = \"300KB\"\nto = \"host[0]\"\n";
    let (record, all) = parts(&star(6, &format!("{pause}{BIG_WINDOW}{traffic}")));
    for one in &all {
        let port =
            record.ports.iter().find(|p| p.node == format!("host[{}]", one.flow.src)).unwrap();
        // While it was paused the port finished what it was sending; and it may be paused when all has left.
        let pause = one.total(Part::Pause);
        assert!(pause <= port.paused && pause > port.paused * 9 / 10, "{pause} of {}", port.paused);
    }
}

#[test]
fn a_host_whose_memory_is_busy_shows_it() {
    let text = std::fs::read_to_string("../../scenarios/host-congestion.toml").unwrap();
    let text = text.replace("kind = \"long\"", "kind = \"list\"").replace("stop = { time = \"100ms\" }", "stop = { time = \"20ms\" }").replace("from = [\"host[0]\", \"host[0]\", \"host[0]\", \"host[0]\"]\nto = \"host[1]\"", "flows = [{ from = \"host[0]\", to = \"host[1]\", size = \"1MB\", at = \"0s\" }, { from = \"host[0]\", to = \"host[1]\", size = \"1MB\", at = \"0s\" }]").replace("30ms", "1ms");
    let (_, all) = parts(&text);
    for one in &all {
        // A frame of 1,500 B and 14 of its header is 24 lines, and two more: 26 x 64 B at what PCIe carries.
        let [buffer, pcie, iio] =
            [Part::NicBuffer, Part::Pcie, Part::Iio].map(|part| one.total(part));
        assert!(iio > Span::from_ns(100) && pcie > Span::from_ns(50), "{buffer} {pcie} {iio}");
        assert_eq!(one.total(Part::Memory), Span::ZERO);
    }
}

#[test]
fn a_packet_queues_behind_those_that_were_sent_meanwhile() {
    // Two senders at once: the port serves them in turn, and each flow's last packet waits for the other flow alone.
    let flow = |host: u32, size: &str| {
        format!("{{ from = \"host[{host}]\", to = \"host[0]\", size = \"{size}\", at = \"0s\" }}")
    };
    let flows = [flow(1, "57920B"), flow(2, "57920B"), flow(3, "1448B")].join(", ");
    let traffic = format!("[[traffic]]\nkind = \"list\"\nflows = [{flows}]\n");
    for explicit_ports in [false, true] {
        let scenario = scenario(&star(4, &format!("{BIG_WINDOW}{traffic}")));
        let options = Options { explicit_ports, ..Options::default() };
        let (record, all) = followed(&scenario, options);
        tiles(&record, &all);
        let packet = Span::from_ns(1_200);
        let behind = |one: &TimeParts, flow: Option<u32>| -> Span {
            let queued = one.pieces.iter().filter(|piece| piece.part == Part::Queue);
            queued.filter(|piece| piece.behind == flow).map(|piece| piece.span()).sum()
        };
        // Three first packets came together; that of flow 2 was the last in the order of ports.
        assert_eq!((behind(&all[2], Some(0)), behind(&all[2], Some(1))), (packet, packet));
        for one in &all {
            assert_eq!(behind(one, None), Span::ZERO, "flow {}", one.flow.flow);
        }
        // The last packet of flow 0 finds twenty packets of its own and as many of flow 1.
        assert_eq!(
            (behind(&all[0], Some(0)), behind(&all[0], Some(1))),
            (packet * 20, packet * 20)
        );
    }
}

#[test]
fn a_packet_queues_behind_one_that_the_link_then_loses() {
    // Twenty times three senders send a packet each at once, and the last link loses about every other one.
    let flow = |n: u32| {
        format!(
            "{{ from = \"host[{}]\", to = \"host[0]\", size = \"1448B\", at = \"{}us\" }}",
            1 + n % 3,
            100 * (n / 3)
        )
    };
    let flows: Vec<String> = (0..60).map(flow).collect();
    let loss = "[[fabric.override]]\nwhere = \"tor-host[0]\"\nloss = 0.5\n";
    let traffic = format!("[[traffic]]\nkind = \"list\"\nflows = [{}]\n", flows.join(", "));
    let scenario = scenario(&star(4, &format!("{loss}{BIG_WINDOW}{traffic}")));
    for threads in [1, 2, 3] {
        let (record, all) = followed(&scenario, Options { threads, ..Options::default() });
        let lost = |of: u32| record.flows[of as usize].retransmits > 0;
        let mut behind_lost = 0;
        for one in all.iter().filter(|one| !lost(one.flow.flow)) {
            // The port serves them in the order of its senders, each for 1.2 us, whatever becomes of them.
            let (first, own) = (one.flow.flow / 3 * 3, one.flow.flow);
            let queued = one.pieces.iter().filter(|piece| piece.part == Part::Queue);
            let behind: Vec<_> = queued.map(|piece| (piece.behind, piece.span())).collect();
            let expected: Vec<_> =
                (first..own).map(|of| (Some(of), Span::from_ns(1_200))).collect();
            assert_eq!(behind, expected, "flow {own} on {threads} threads");
            behind_lost += u32::from(own > first && lost(first));
        }
        assert!(behind_lost > 4, "{behind_lost} packets came behind one that was lost");
    }
}

/// Parts of a flow that are not zero, without sending and propagation.
fn waits(one: &TimeParts) -> Vec<Part> {
    let path = [Part::Serialization, Part::Propagation];
    let some = |part: &Part| !path.contains(part) && one.total(*part) > Span::ZERO;
    Part::ALL.into_iter().filter(some).collect()
}

#[test]
fn a_queue_pair_that_is_told_of_a_gap_waits_for_the_nack() {
    let transport = "[transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nmss = \"1000B\"\nheader = \"50B\"\nack_size = \"64B\"\n";
    let flow = "[[traffic]]\nkind = \"list\"\nflows = [{ from = \"host[0]\", to = \"host[1]\", size = \"10KB\", at = \"0s\" }]\n";
    let drop = "[[fault]]\nat = \"0s\"\nlink = \"host[0]->tor\"\ndrop = [9]\n";
    let (record, all) = parts(&star(2, &format!("{transport}{flow}{drop}")));
    assert_eq!((record.flows[0].timeouts, waits(&all[0])), (0, vec![Part::Repair(Repair::Nack)]));
    // It goes back to the gap, so that the last packet leaves again, too. That finds the gap: it has one more hop to go when it has left, and the NACK
    // comes back over two.
    let (packet, nack) = (Span::from_ns(840), Span::from_ps(51_200));
    let round_trip = Span::from_us(4) + packet + nack * 2;
    assert_eq!(all[0].total(Part::Repair(Repair::Nack)), round_trip);
    // Ten packets, two of them again, and one hop of the last.
    assert_eq!(all[0].total(Part::Serialization), packet * 13);
}

#[test]
fn a_message_on_credit_waits_a_round_trip_for_it() {
    let switch = "routing = \"ecmp-symmetric\"\n[fabric.switch]\nclasses = 2\necn = \"off\"\ncredits = { class = 1, share = \"84/1622\", burst = \"168B\", limit = \"672B\" }\n";
    let transport = "[transport]\nkind = \"receiver-driven\"\nlaw = \"expresspass\"\nmss = \"1460B\"\nheader = \"40B\"\nack_size = \"46B\"\n";
    let flow = "[[traffic]]\nkind = \"list\"\nflows = [{ from = \"host[0]\", to = \"host[1]\", size = \"1460B\", at = \"0s\" }]\n";
    let (record, all) = parts(&star(2, &format!("{switch}{transport}{flow}")));
    assert_eq!(waits(&all[0]), [Part::Credit]);
    let data = Span::from_ns(1_200) * 2;
    assert_eq!(all[0].total(Part::Serialization), data);
    assert_eq!(all[0].total(Part::Propagation), Span::from_us(2));
    let credit = record.flows[0].fct().unwrap() - data - Span::from_us(2);
    assert!(all[0].total(Part::Credit) == credit && credit > Span::from_us(4), "{credit}");
}

#[test]
fn dcqcn_holds_its_flows_by_pacing_and_nothing_else() {
    let switch = "[fabric.switch]\necn = { kmin = \"5KB\", kmax = \"10KB\", pmax = 1.0 }\n";
    let transport =
        "[transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nmss = \"1000B\"\nheader = \"50B\"\n";
    let traffic = "[[traffic]]\nkind = \"incast\"\nfan_in = 2\nsize = \"1MB\"\nto = \"host[0]\"\n";
    let (_, all) = parts(&star(3, &format!("{switch}{transport}{traffic}")));
    let packet = Span::from_ns(840);
    for one in &all {
        // Two senders share one link: each is held for about as long as it sends, or longer, as DCQCN cuts too deep. At the end hardly
        // a queue is left: a packet of the other flow at most.
        assert!(waits(one).iter().all(|part| [Part::Pacing, Part::Queue].contains(part)));
        assert!(one.total(Part::Queue) <= packet, "flow {}", one.flow.flow);
        assert_eq!(one.total(Part::Serialization), packet * 1001, "flow {}", one.flow.flow);
        assert!(one.total(Part::Pacing) > packet * 800, "flow {}", one.flow.flow);
    }
}

/// One packet of data of a flow, hop by hop.
fn traced(text: &str, flow: u32, nth: usize) -> Trace {
    let outputs = Outputs { follow: Some(&[flow]), details: true, ..Outputs::default() };
    let scenario = scenario(text);
    let mut simulation =
        Simulation::with_outputs(&scenario, 1, Options::default(), outputs).unwrap();
    simulation.advance(Time::MAX, &Watch::default());
    let outcome = simulation.finish();
    assert_eq!(outcome.record.digest, run(&scenario, 1, Options::default()).record.digest);
    trace(&outcome.followed.unwrap(), flow, outcome.record.flows[flow as usize].src, nth).unwrap()
}

#[test]
fn a_packet_is_followed_from_hop_to_hop() {
    let switch = "[fabric.switch]\necn = { k = \"2KB\" }\n";
    let dctcp = BIG_WINDOW.replace("reno", "dctcp");
    let flow = |host: u32| {
        format!("{{ from = \"host[{host}]\", to = \"host[0]\", size = \"2896B\", at = \"0s\" }}")
    };
    let flows = [flow(1), flow(2), flow(3)].join(", ");
    let text =
        star(4, &format!("{switch}{dctcp}[[traffic]]\nkind = \"list\"\nflows = [{flows}]\n"));
    // 1.2 us a packet and hop, 1 us a cable. First packets of three flows come at once, then all second ones, when one has left.
    let ns = |ns: u64| Time::ZERO + Span::from_ns(ns);
    for (nth, seq, came, found, from) in
        [(1, 0, 2_200, 3_000, 4_600), (2, 1448, 3_400, 6_000, 8_200)]
    {
        let found_out = traced(&text, 2, nth);
        let [only] = &found_out.copies[..] else { panic!("{found_out:?}") };
        let [sender, tor] = &only.hops[..] else { panic!("{only:?}") };
        assert_eq!((found_out.seq, only.arrived), (seq, Some((0, ns(from + 2_200)))));
        let sent = sender.left.unwrap();
        assert_eq!((sender.came, sent.end, sent.size), (None, ns(came - 1_000), 1_500));
        assert_eq!((tor.came, tor.found, tor.marked), (Some(ns(came)), Some(found), true));
        assert_eq!(tor.left.map(|left| left.start()), Some(ns(from)));
        assert_eq!(tor.waited(), Some(Span::from_ns(from - came)));
    }
    let first = traced(&text, 0, 1);
    assert!(!first.copies[0].hops[1].marked && first.copies[0].hops[1].found == Some(0));
}

#[test]
fn a_packet_that_is_dropped_or_lost_is_followed_to_its_repair() {
    let flow = |host: u32| {
        format!("{{ from = \"host[{host}]\", to = \"host[0]\", size = \"14480B\", at = \"0s\" }}")
    };
    let flows = [flow(1), flow(2)].join(", ");
    let list = format!("[[traffic]]\nkind = \"list\"\nflows = [{flows}]\n");
    let small =
        "[fabric.switch]\necn = \"off\"\nbuffer = { size = \"9KB\", policy = \"static\" }\n";
    let dropped = traced(&star(3, &format!("{small}{BIG_WINDOW}{list}")), 1, 10);
    let [first, .., last] = &dropped.copies[..] else { panic!("{dropped:?}") };
    assert!(first.hops[1].dropped && first.hops[1].left.is_none() && first.arrived.is_none());
    assert!(last.arrived.is_some() && last.hops[0].left.unwrap().resent);
    let drop = "[[fault]]\nat = \"0s\"\nlink = \"host[2]->tor\"\ndrop = [10]\n";
    let lost = traced(&star(3, &format!("{BIG_WINDOW}{list}{drop}")), 1, 10);
    assert_eq!(lost.copies.len(), 2);
    assert_eq!((lost.copies[0].hops.len(), lost.copies[0].arrived), (1, None));
    assert!(lost.copies[1].arrived.is_some());
}

#[test]
fn an_rpc_is_its_request_the_work_of_the_server_and_its_response() {
    // 10 Gb/s, 1 us each way twice: 1.2 us a packet and hop, 5 us of work; a response of four packets, of which the last waits for none.
    let rpc = "[[traffic]]\nkind = \"rpc\"\nfrom = [\"host[0]\"]\nto = [\"host[1]\"]\n\
               request = \"1448B\"\nresponse = \"5792B\"\nservice = \"5us\"\ncount = 3\n";
    let scenario = scenario(&star(2, &format!("{BIG_WINDOW}{rpc}")));
    let (record, log) = logged(&scenario, Options::default());
    let all = called(&record, &log);
    assert_eq!(all.len(), 3);
    for (pieces, row) in all.iter().zip(&record.rpcs) {
        let total = |part: Part| total(pieces, part);
        let packet = Span::from_ns(1_200);
        assert_eq!(total(Part::Service), Span::from_us(5));
        assert_eq!(total(Part::Propagation), Span::from_us(4));
        assert_eq!(total(Part::Serialization), packet * 2 + packet * 5);
        // That of a response leaves just before the next request, which waits for it.
        let first = row.issued == record.rpcs[0].issued;
        let ack = if first { Span::ZERO } else { Span::from_ps(51_200) };
        assert_eq!(total(Part::Nic), ack);
        assert_eq!(row.latency(), Some(Span::from_us(9) + packet * 7 + ack));
    }
}

/// RPCs of a scenario with the parts of each.
fn rpcs(text: &str) -> (RunRecord, Vec<Vec<Piece>>) {
    let (record, log) = logged(&scenario(text), Options::default());
    let all = called(&record, &log);
    (record, all)
}

fn total(pieces: &[Piece], part: Part) -> Span {
    pieces.iter().filter(|one| one.part == part).map(Piece::span).sum()
}

#[test]
fn a_one_way_rpc_is_its_request_and_the_way_of_its_ack() {
    let rpc = "[[traffic]]\nkind = \"rpc\"\nfrom = [\"host[0]\"]\nto = [\"host[1]\"]\nrequest = \"1448B\"\ncount = 2\n";
    let tcp = format!("{BIG_WINDOW}delayed_ack = false\n");
    let (record, all) = rpcs(&star(2, &format!("{tcp}{rpc}")));
    assert_eq!(all.len(), 2);
    let flight = Span::from_us(4); // two cables there, two back
    assert_eq!(total(&all[0], Part::Propagation), flight);
    assert_eq!(total(&all[0], Part::Serialization), record.rpcs[0].ideal - flight);
}

#[test]
fn an_rpc_of_messages_waits_for_those_before_it() {
    let homa = "routing = \"spray\"\n[fabric.switch]\nclasses = 8\necn = \"off\"\n[transport]\nkind = \"receiver-driven\"\nlaw = \"homa\"\nack_class = 7\n";
    let rpc = "[[traffic]]\nkind = \"rpc\"\nfrom = [\"host[0]\"]\nto = [\"host[1]\"]\nrequest = \"1KB\"\n\
               response = \"2KB\"\nservice = \"5us\"\noutstanding = 2\ncount = 4\n";
    let (_, all) = rpcs(&star(2, &format!("{homa}{rpc}")));
    assert_eq!(all.len(), 4);
    assert_eq!(total(&all[0], Part::Service), Span::from_us(5));
    assert_eq!(total(&all[0], Part::Order), Span::ZERO);
    // The second request leaves when the first is complete at its sender: its ACK has come back.
    assert!(total(&all[1], Part::Order) > Span::from_us(4));
    for pieces in &all {
        assert_eq!(total(pieces, Part::Propagation), Span::from_us(4));
        assert_eq!(total(pieces, Part::Unexplained), Span::ZERO);
    }
}
