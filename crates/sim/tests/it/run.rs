//! What a run does beyond moving packets: it ends where it should, says why it is stuck, and can be stopped.

use crate::common::{run, scenario};
use forebay_scenario::model::{QueueLength, Scenario, TransportKind};
use forebay_sim::{Options, Simulation, Watch, simulate};
use forebay_units::{Span, Time};
use std::sync::atomic::Ordering;

const STAR: &str = r#"
[fabric]
kind = "star"
hosts = 4
host_link = { rate = "100Gbps", delay = "1us" }
[transport]
kind = "tcp"
law = "dctcp"
mss = "4000B"
rto_min = "1ms"
"#;

fn with(stop: &str, rest: &str) -> forebay_scenario::model::Scenario {
    scenario(&format!("version = 1\nname = \"t\"\nseeds = [1]\nstop = {stop}\n{STAR}{rest}"))
}

const ONE_FLOW: &str = r#"
[[traffic]]
kind = "list"
flows = [{ from = "host[0]", to = "host[1]", size = "4MB", at = "0s" }]
"#;

#[test]
fn a_run_ends_at_the_multiple_of_the_grain_after_the_last_flow() {
    for grain in [7, 50, 1_000] {
        let stop = format!("{{ time = \"1s\", flows = \"all\", grain = \"{grain}us\" }}");
        let record = run(&with(&stop, ONE_FLOW), 1, Options::default()).record;
        let done = record.flows[0].acked.expect("it had a second");
        assert_eq!(record.end, (done + Span::from_ps(1)).round_up(Span::from_us(grain)));
    }
}

#[test]
fn a_dead_link_is_named_when_nothing_moves_any_more() {
    let fault = "[[fault]]\nat = \"50us\"\nlink = \"host[1]-tor\"\nchange = \"down\"\n";
    let stop = "{ time = \"200s\", flows = \"all\" }";
    let outcome = run(&with(stop, &format!("{ONE_FLOW}{fault}")), 1, Options::default());
    let stall = outcome.stall.expect("it can never finish");
    assert!(outcome.record.stalled);
    assert!(stall.contains("flow 0 from host[0] to host[1]"), "{stall}");
    assert!(stall.contains("tor->host[1]"), "{stall}");
    assert!(
        outcome.record.end < Time::from_ps(60_000_000_000_000),
        "it does not wait for the end of the run"
    );
    assert!(outcome.record.flows[0].timeouts > 3);
    let twin = forebay_sim::twin::reference(&with(stop, &format!("{ONE_FLOW}{fault}")), 1, false);
    let twin = twin.unwrap();
    assert_eq!((twin.end, twin.digest), (outcome.record.end, outcome.record.digest));
}

/// A flow whose retransmission timer, or whose cable, comes back before the end is not stuck, however long that takes.
#[test]
fn an_outage_that_ends_is_no_stall() {
    let stop = "{ time = \"120s\", flows = \"all\" }";
    for seconds in [13, 24, 40] {
        let fault = format!(
            "[[fault]]\nat = \"50us\"\nlink = \"host[1]-tor\"\nchange = \"down\"\nfor = \"{seconds}s\"\n"
        );
        let outcome = run(&with(stop, &format!("{ONE_FLOW}{fault}")), 1, Options::default());
        assert_eq!(outcome.stall, None, "{seconds} s");
        assert!(!outcome.record.stalled);
        let delivered = outcome.record.flows[0].delivered.expect("it was delivered");
        assert!(delivered > Time::ZERO + Span::from_secs(seconds));
        let twin =
            forebay_sim::twin::reference(&with(stop, &format!("{ONE_FLOW}{fault}")), 1, false);
        assert_eq!(twin.unwrap().digest, outcome.record.digest);
    }
}

/// A rack whose uplinks are down: the run ends with flows that nothing is wrong with but that there is no way.
#[test]
fn flows_without_a_path_are_named_when_the_run_ends() {
    let scenario = |faults: &str| {
        scenario(&format!(
            r#"
version = 1
stop = {{ time = "3ms" }}
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_link = {{ rate = "100Gbps", delay = "1us" }}
[transport]
kind = "tcp"
law = "dctcp"
[[traffic]]
kind = "list"
flows = [
  {{ from = "leaf[0].host[0]", to = "leaf[0].host[1]", size = "1KB" }},
  {{ from = "leaf[0].host[1]", to = "leaf[0].host[0]", size = "100MB" }},
  {{ from = "leaf[0].host[1]", to = "leaf[1].host[0]", size = "100MB" }},
  {{ from = "leaf[1].host[1]", to = "leaf[0].host[0]", size = "100MB" }},
]
{faults}"#
        ))
    };
    let down = |spine: u32, how: &str| {
        format!(
            "[[fault]]\nat = \"50us\"\nlink = \"leaf[1]-spine[{spine}]\"\nchange = \"down\"\n{how}"
        )
    };
    let said = |faults: &str| {
        let outcome = run(&scenario(faults), 1, Options::default());
        let mut warnings = outcome.warnings.into_iter();
        warnings.find(|warning| warning.contains("no path"))
    };
    let both = down(0, "") + &down(1, "");
    assert_eq!(
        said(&both).expect("two flows cross"),
        "2 flows are not over and have no path: no cables that are up lead to their receivers when the run ends; \
         the first is flow 2 from leaf[0].host[1] to leaf[1].host[0]"
    );
    assert_eq!(said(""), None);
    assert_eq!(said(&down(0, "")), None, "the other spine is there");
    assert_eq!(
        said(&(down(0, "") + &down(1, "for = \"1ms\"\n"))),
        None,
        "it is back when the run ends"
    );
}

/// A packet that takes 17 s to send is under way for two cables of that time, and nothing else moves meanwhile.
#[test]
fn a_packet_that_is_long_on_the_wire_is_no_stall() {
    let scenario = scenario(
        r#"
version = 1
stop = { time = "200s", flows = "all" }
[fabric]
kind = "star"
hosts = 2
host_link = { rate = "500bps", delay = "1us" }
[transport]
kind = "rdma"
law = "dcqcn"
timeout = "60s"
[[traffic]]
kind = "list"
flows = [{ from = "host[0]", to = "host[1]", size = "1000B", at = "0s" }]
"#,
    );
    let outcome = run(&scenario, 1, Options::default());
    assert_eq!(outcome.stall, None);
    let delivered = outcome.record.flows[0].delivered.expect("it was delivered");
    // With IPv4 (20), UDP (8), BTH (12) and ICRC (4): 1,044 B over each of two cables.
    assert_eq!(delivered.as_ps(), 2 * (1_044 * 8 * 1_000_000_000_000 / 500 + 1_000_000));
    let twin = forebay_sim::twin::reference(&scenario, 1, false).unwrap();
    assert_eq!((twin.end, twin.digest), (outcome.record.end, outcome.record.digest));
}

/// The timer of a queue pair may be longer than anybody's patience.
#[test]
fn a_long_timeout_is_no_stall() {
    let scenario = scenario(
        r#"
version = 1
stop = { time = "100s", flows = "all" }
[fabric]
kind = "star"
hosts = 2
host_link = { rate = "100Gbps", delay = "1us" }
[transport]
kind = "rdma"
law = "dcqcn"
timeout = "60s"
[[traffic]]
kind = "list"
flows = [{ from = "host[0]", to = "host[1]", size = "1KB", at = "0s" }]
[[fault]]
at = "0s"
link = "host[1]-tor"
change = "down"
for = "1ms"
"#,
    );
    let outcome = run(&scenario, 1, Options::default());
    assert_eq!((outcome.stall, outcome.record.flows[0].timeouts), (None, 1));
    assert!(outcome.record.flows[0].delivered.is_some());
}

#[test]
fn a_run_that_is_stopped_leaves_what_it_has() {
    let scenario = with("{ time = \"1s\" }", ONE_FLOW);
    let watch = Watch::default();
    let mut simulation = Simulation::new(&scenario, 1, Options::default()).unwrap();
    assert!(!simulation.advance(Time::from_ps(100_000_000), &watch));
    watch.stop.store(true, Ordering::Relaxed);
    assert!(simulation.advance(Time::MAX, &watch));
    let record = simulation.finish().record;
    assert!(record.interrupted);
    assert_eq!(record.flows.len(), 1);
    assert_eq!(record.flows[0].acked, None);
    assert!(record.totals.delivered_bytes > 0);
}

#[test]
fn simulations_side_by_side_do_not_touch_each_other() {
    let scenario = with(
        "{ time = \"1ms\", flows = \"all\" }",
        "[[traffic]]\nkind = \"poisson\"\nsizes = \"fbhadoop_hpcc\"\nload = 0.5\n",
    );
    let alone: Vec<u64> =
        (1..=4).map(|seed| run(&scenario, seed, Options::default()).record.digest).collect();
    let together: Vec<u64> = std::thread::scope(|scope| {
        let one = |seed| {
            scope.spawn({
                let scenario = &scenario;
                move || {
                    simulate(scenario, seed, Options::default(), &Watch::default())
                        .unwrap()
                        .record
                        .digest
                }
            })
        };
        let running: Vec<_> = (1..=4).map(one).collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
    assert!(alone.windows(2).all(|w| w[0] != w[1]), "seeds differ");
}

fn incast(rest: &str) -> forebay_record::RunRecord {
    let traffic = format!(
        "[[traffic]]\nkind = \"incast\"\nto = \"host[0]\"\nfan_in = 3\nsize = \"40KB\"\nrounds = 5\ncontrol_delay = \"3us\"\n{rest}"
    );
    run(&with("{ time = \"10ms\", flows = \"all\" }", &traffic), 1, Options::default()).record
}

#[test]
fn a_round_of_a_closed_loop_begins_when_the_last_was_delivered_and_told() {
    let record = incast("");
    assert_eq!(record.flows.len(), 15);
    let mut rounds: Vec<_> = record.flows.chunks(3).collect();
    rounds.sort_by_key(|r| r[0].start);
    for pair in rounds.windows(2) {
        let delivered = pair[0].iter().map(|f| f.delivered.unwrap()).max().unwrap();
        for flow in pair[1] {
            let notified = delivered + Span::from_us(3);
            assert!(flow.start >= notified, "{} before {notified}", flow.start);
            assert!(flow.start < notified + Span::from_us(1), "jitter stays below a packet time");
        }
    }
}

#[test]
fn no_round_begins_after_its_traffic_ends() {
    let all = incast("");
    let third = all.flows[6].start;
    let record = incast(&format!("until = \"{}ps\"", third.as_ps() - 1_000_000));
    assert_eq!(record.flows.len(), 6, "two rounds, then the end of that traffic");
    assert_eq!(record.not_started, 9);
}

#[test]
fn srpt_lets_the_short_flow_pass_and_fifo_does_not() {
    let flows = "[[traffic]]\nkind = \"list\"\nflows = [\n\
                 { from = \"host[0]\", to = \"host[1]\", size = \"1MB\", at = \"0s\" },\n\
                 { from = \"host[0]\", to = \"host[2]\", size = \"40KB\", at = \"1us\" }]\n";
    let fct = |nic: &str| {
        let nic = format!("[host]\nnic = \"{nic}\"\n");
        let text = flows.to_string() + &nic;
        let mut s = with("{ time = \"10ms\", flows = \"all\" }", &text);
        first_window(&mut s, 2_000_000);
        run(&s, 1, Options::default()).record.flows[1].fct().unwrap()
    };
    let (fair, fifo, srpt) = (fct("round-robin"), fct("fifo"), fct("srpt"));
    assert!(srpt < fair && fair < fifo, "{srpt:?} {fair:?} {fifo:?}");
}

#[test]
fn routes_heal_after_the_stated_time() {
    let fabric = |reroute: &str| {
        format!(
            "version = 1\nname = \"t\"\nseeds = [1]\nstop = {{ time = \"3ms\", flows = \"all\" }}\n\
             [fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n{reroute}\
             host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\nfabric_link = {{ rate = \"400Gbps\", delay = \"1us\" }}\n\
             [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\nmss = \"4000B\"\nrto_min = \"100us\"\n\
             [[traffic]]\nkind = \"permutation\"\nsize = \"4MB\"\n\
             [[fault]]\nat = \"100us\"\nlink = \"leaf[0]-spine[0]\"\nchange = \"down\"\n"
        )
    };
    let done = |reroute: &str| {
        let record = run(&scenario(&fabric(reroute)), 1, Options::default()).record;
        record.flows.iter().filter(|f| f.acked.is_some()).count()
    };
    assert!(done("") < 8, "flows hashed onto the dead link never finish");
    assert_eq!(done("reroute_after = \"50us\"\n"), 8);
}

#[test]
fn parameters_of_a_traffic_entry_win_over_those_of_the_transport() {
    let digest = |entry: &str, transport: &str| {
        let flow = |from: u8| {
            format!("[[traffic]]\nkind = \"long\"\nfrom = [\"host[{from}]\"]\nto = [\"host[3]\"]\n")
        };
        let mut s = with("{ time = \"2ms\" }", &format!("{}{entry}{}", flow(0), flow(1)));
        s.transport.params = vec![("g".into(), transport.into())];
        run(&s, 1, Options::default()).record.digest
    };
    let plain = digest("", "0.0625");
    assert_eq!(digest("params = { g = 0.0625 }\n", "0.0625"), plain);
    assert_ne!(digest("params = { g = 1 }\n", "0.0625"), plain);
    assert_ne!(digest("params = { g = 1 }\n", "0.0625"), digest("params = { g = 1 }\n", "1"));
    assert_eq!(digest("params = { g = 1 }\n", "1"), digest("", "1"));
}

#[test]
fn samples_of_senders_agree_with_each_other_and_change_nothing() {
    let flow = |from: u8| {
        format!("[[traffic]]\nkind = \"long\"\nfrom = [\"host[{from}]\"]\nto = [\"host[3]\"]\n")
    };
    let flows = flow(0) + &flow(1);
    let run_with = |output: &str| {
        run(&with("{ time = \"2ms\" }", &(flows.clone() + output)), 1, Options::default()).record
    };
    let plain = run_with("");
    let sampled = run_with("[output]\nflows = { every = \"10us\", where = \"host[1]\" }\n");
    assert_eq!(sampled.digest, plain.digest);
    assert!(plain.series.is_empty());
    let names: Vec<&str> = sampled
        .series
        .iter()
        .filter_map(|s| s.name.split_once(" host[1]->host[3] "))
        .map(|n| n.1)
        .collect();
    assert_eq!(names, ["window", "in flight", "RTT", "rate"]);
    let [window, inflight, rtt, rate] = &sampled.series[..] else { unreachable!() };
    assert_eq!(window.at.len(), 199, "one every 10 us between start and end");
    // What is in flight fits the window but for the moments after a cut.
    let over = window.values.iter().zip(&inflight.values).filter(|(w, i)| i > w).count();
    assert!(over < 20, "{over} of 199");
    assert!(rtt.values.iter().all(|us| *us > 1.0), "above the empty path");
    let bits: f64 = rate.values.iter().map(|gbps| gbps * 1e9 * 10e-6).sum();
    let delivered = sampled.totals.delivered_bytes as f64 * 8.0;
    assert!((0.3..0.7).contains(&(bits / delivered)), "one of two flows: {}", bits / delivered);
    let both = run_with("[output]\nflows = { every = \"10us\", most = 1 }\n");
    assert!(both.series.iter().all(|s| s.name.starts_with("flow 0 ")), "the first one only");
}

/// A lone flow of 100 segments, its window open for all: they leave at the same times either way, but a flow that pushes
/// stamps them all at once, so that the last one's RTT holds the time it waited in its own host.
#[test]
fn what_a_flow_pushes_waits_in_its_host_and_counts() {
    let run_with = |nic: &str, tso: bool| {
        let text = format!(
            "[[traffic]]\nkind = \"list\"\nflows = [{{ from = \"host[0]\", to = \"host[1]\", size = \"144800B\", at = \"0s\" }}]\n\
             [host]\nnic = \"{nic}\"\ntso = {tso}\n[output]\nflows = {{ every = \"1us\" }}\n"
        );
        let mut s = with("{ time = \"10ms\", flows = \"all\" }", &text);
        first_window(&mut s, 144_800);
        run(&s, 1, Options::default()).record
    };
    let rtt = |record: &forebay_record::RunRecord| {
        let series = record.series.iter().find(|s| s.name.ends_with(" RTT")).unwrap();
        series.values.iter().copied().fold(0.0, f64::max)
    };
    let (pull, push, bursts) =
        (run_with("round-robin", false), run_with("push", false), run_with("push", true));
    assert_eq!(pull.flows[0].fct(), push.flows[0].fct());
    assert_eq!(push.flows[0].fct(), bursts.flows[0].fct());
    assert_eq!(pull.digest, push.digest, "the same packets at the same times");
    assert!(rtt(&push) > 2.0 * rtt(&pull), "{} {}", rtt(&push), rtt(&pull));
}

#[test]
fn two_laws_share_a_bottleneck() {
    let traffic = "[[traffic]]\nkind = \"long\"\nfrom = [\"host[0]\"]\nto = [\"host[3]\"]\nlaw = \"reno\"\n\
                   [[traffic]]\nkind = \"long\"\nfrom = [\"host[1]\"]\nto = [\"host[3]\"]\n";
    let record = run(&with("{ time = \"5ms\" }", traffic), 1, Options::default()).record;
    let mut entries: Vec<u16> = record.flows.iter().map(|f| f.traffic).collect();
    entries.sort_unstable();
    assert_eq!(entries, [0, 1]);
    let marked: u64 = record.ports.iter().map(|p| p.marked_packets).sum();
    assert!(marked > 0, "DCTCP's packets are marked");
}

/// Cables between switches lose one packet of fifty: data, and the credits of racks that queue by destination. What is lost of credits
/// is requested again, so that every flow comes to its end, and soon.
#[test]
fn flows_end_though_credits_are_lost() {
    for requests in ["sent", "demand"] {
        let text = format!(
            r#"
version = 1
name = "t"
seeds = [1]
stop = {{ time = "40ms", flows = "all", grain = "10us" }}
[fabric]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 3
host_link = {{ rate = "25Gbps", delay = "1us" }}
fabric_link = {{ rate = "100Gbps", delay = "1us" }}
[[fabric.override]]
where = "leaf[*]-spine[*]"
loss = 0.02
[fabric.switch]
hierarchical = {{ law = "hiercc", requests = "{requests}" }}
[transport]
kind = "rdma"
law = "explicit"
recovery = "selective"
[[traffic]]
kind = "all-to-all"
size = "100KB"
"#
        );
        let scenario = scenario(&text);
        let mut simulation = Simulation::new(&scenario, 1, Options::default()).unwrap();
        while !simulation.advance(simulation.now() + Span::from_us(10), &Watch::default()) {
            for voq in simulation.inspect().racks.iter().flat_map(|rack| &rack.queues) {
                assert!(voq.sent <= voq.credited + 10_000, "{requests}: {voq:?}");
            }
        }
        let requested: u64 =
            simulation.inspect().racks.iter().map(|rack| rack.counters.requests).sum();
        let record = simulation.finish().record;
        let lost: u64 = record.ports.iter().map(|port| port.lost_packets).sum();
        let last = record.flows.iter().map(|flow| flow.fct().expect("it ends")).max();
        println!("{requests}: requested {requested} times, {lost} lost, {last:?}");
        assert!(requested > 0 && lost > 100, "{requests}: {requested} {lost}");
        assert!(last < Some(Span::from_ms(5)), "{requests}: {last:?}");
    }
}

/// Sets the first window of TCP.
fn first_window(scenario: &mut Scenario, bytes: u64) {
    let TransportKind::Tcp(tcp) = &mut scenario.transport.kind else { panic!("TCP") };
    tcp.initial_window = QueueLength::Bytes(forebay_units::Bytes::new(bytes));
}
