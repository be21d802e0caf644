//! Machines with two NICs on one memory.

use crate::common::{run, scenario};
use forebay_record::capture::{
    CapturedPort, Frame, MessageFrame, PauseFrame, PortTotals, RoceFrame, Sink,
};
use forebay_record::{MemoryRow, RunRecord};
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, Outputs, Simulation, Watch, simulate_into, twin};
use forebay_units::{Span, Time};

/// Two flows from each of `host[2]` and `host[3]` into the NICs `to`, 3 ms, of which 1 ms is warm-up.
fn text(to: [u32; 2], rest: &str) -> String {
    format!(
        r#"
version = 1
stop = {{ time = "3ms" }}
[fabric]
kind = "star"
hosts = 4
host_link = {{ rate = "100Gbps", delay = "9us" }}
[host]
profile = "linux"
rx_usecs = "4us"
[host.memory]
{rest}
[transport]
kind = "tcp"
law = "dctcp"
mtu = "4000B"
[[traffic]]
kind = "long"
from = ["host[2]", "host[2]"]
to = "host[{}]"
[[traffic]]
kind = "long"
from = ["host[3]", "host[3]"]
to = "host[{}]"
[output]
warmup = "1ms"
"#,
        to[0], to[1]
    )
}

const MACHINE: &str = "[[host.machine]]\nnics = [\"host[0]\", \"host[1]\"]";
const ANTAGONIST: &str = "[[host.memory.antagonist]]\ncores = 2";
const ANTAGONIST3: &str = "[[host.memory.antagonist]]\ncores = 3";
const CONTROL: &str = "[host.memory.control]\nlaw = \"hostcc\"";

fn record(to: [u32; 2], rest: &[&str]) -> RunRecord {
    run(&scenario(&text(to, &rest.join("\n"))), 1, Options::default()).record
}

/// Gb/s that applications read.
fn goodput(row: &MemoryRow) -> f64 {
    row.read_bytes.get() as f64 * 8e3 / row.span.as_ps() as f64
}

/// GB/s of a NIC: what it writes and reads, and what is copied of it.
fn network(row: &MemoryRow) -> f64 {
    (row.dma + row.copied + row.sent) * 64e3 / row.span.as_ps() as f64
}

fn antagonists(row: &MemoryRow) -> f64 {
    row.antagonists.iter().sum::<f64>() * 64e3 / row.span.as_ps() as f64
}

/// To the bit: the same deliveries, the same totals.
#[test]
fn one_nic_of_two_that_works_alone_is_a_host_by_itself() {
    for nic in [0, 1] {
        let alone = record([nic, nic], &[ANTAGONIST]);
        let machine = record([nic, nic], &[ANTAGONIST, MACHINE]);
        assert_eq!(machine.digest, alone.digest);
        assert_eq!(machine.flows, alone.flows);
        assert_eq!(machine.memory[nic as usize], alone.memory[nic as usize]);
    }
}

/// Memory is full, what it gives is shared alike, and one NIC's books say what the other's do.
#[test]
fn two_nics_share_what_memory_gives() {
    let apart = record([0, 1], &[ANTAGONIST]);
    let shared = record([0, 1], &[ANTAGONIST, MACHINE]);
    let [a, b] = [&shared.memory[0], &shared.memory[1]];
    assert!((goodput(a) / goodput(b) - 1.0).abs() < 0.05, "{} {}", goodput(a), goodput(b));
    assert!(
        goodput(a) + goodput(b) < 0.85 * (goodput(&apart.memory[0]) + goodput(&apart.memory[1]))
    );
    assert!(antagonists(a) < 0.8 * antagonists(&apart.memory[0]));
    assert_eq!(antagonists(a), antagonists(b), "they have the same antagonists");
    let all = network(a) + network(b) + antagonists(a);
    assert!((all / 34.8 - 1.0).abs() < 0.005, "{all} GB/s");
    assert!((a.other_nics_gigabytes() - network(b)).abs() < 1e-6);
    assert!((b.other_nics_gigabytes() - network(a)).abs() < 1e-6);
    assert_eq!(apart.memory[0].other_nics, 0.0);
}

/// What is in front of the memory is each NIC's own.
#[test]
fn a_nic_with_fewer_slots_gets_less() {
    let slots = "[[host.override]]\nwhere = \"host[1]\"\n[host.override.memory]\niio_slots = 40";
    let record = record([0, 1], &[ANTAGONIST3, slots, MACHINE]);
    let [a, b] = [&record.memory[0], &record.memory[1]];
    assert!(b.occupancy < 40.0 + 1e-9 && a.occupancy > 50.0, "{} {}", a.occupancy, b.occupancy);
    assert!(goodput(b) < 0.75 * goodput(a), "{} {}", goodput(a), goodput(b));
}

/// Each NIC has a law; antagonists are at the strongest level that one requests, and each row says so.
#[test]
fn a_law_at_each_nic_and_one_level() {
    let idle = record([0, 0], &[CONTROL, ANTAGONIST3, MACHINE]);
    let [busy, quiet] = [&idle.memory[0], &idle.memory[1]];
    // Within a step of 2 ms: the warm-up ends at each NIC with the last step that the path has taken.
    assert!(busy.levels.iter().zip(&quiet.levels).all(|(a, b)| (a - b).abs() < 1e-4));
    assert!(busy.mean_level() > 2.0 && busy.marked > 0);
    assert_eq!((quiet.level_writes, quiet.marked, quiet.arrived > 0), (0, 0, false));
    let both = record([0, 1], &[CONTROL, ANTAGONIST3, MACHINE]);
    assert!(both.memory[..2].iter().all(|row| row.marked > 0));
    assert!(both.memory[0].mean_level() > 2.0);
}

/// The result, equal for every order of events: threads, explicit ports, the reference engine.
fn agreed(scenario: &Scenario) -> RunRecord {
    let record = run(scenario, 1, Options::default()).record;
    for options in [
        Options { threads: 2, ..Options::default() },
        Options { threads: 4, ..Options::default() },
        Options { cut: Some(Span::from_us(50)), ..Options::default() },
        Options { explicit_ports: true, ..Options::default() },
    ] {
        let other = run(scenario, 1, options).record;
        same(&other, &record, &format!("{options:?}"));
    }
    for explicit in [false, true] {
        let other = twin::reference(scenario, 1, explicit).unwrap();
        same(&other, &record, &format!("the reference, ports explicit: {explicit}"));
    }
    record
}

fn same(other: &RunRecord, record: &RunRecord, how: &str) {
    assert_eq!(other.digest, record.digest, "{how}");
    assert_eq!(other.memory, record.memory, "{how}");
    assert_eq!(other.flows, record.flows, "{how}");
    assert_eq!(other.rpcs, record.rpcs, "{how}");
}

#[test]
fn a_machine_is_the_same_on_any_engine() {
    let plain = text([0, 1], &[ANTAGONIST, MACHINE].join("\n"));
    let control = text([0, 1], &[CONTROL, ANTAGONIST3, MACHINE].join("\n"));
    let fault = "[[fault]]\nlink = \"host[1]-tor\"\nat = \"1.5ms\"\nfor = \"200us\"\n";
    let samples = control.clone() + "memory = { every = \"10us\" }\n";
    let far = control.replace(
        "kind = \"star\"\nhosts = 4",
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 2",
    );
    let far = ["leaf[0].host[0]", "leaf[1].host[0]", "leaf[0].host[1]", "leaf[1].host[1]"]
        .iter()
        .enumerate()
        .fold(far, |text, (i, name)| text.replace(&format!("\"host[{i}]\""), &format!("{name:?}")));
    for text in [plain, control.clone(), control.clone() + fault, far] {
        let record = agreed(&scenario(&text));
        assert_eq!(record.memory.iter().filter(|row| row.other_nics > 0.0).count(), 2, "{text}");
    }
    let (unseen, seen) = (agreed(&scenario(&control)), agreed(&scenario(&samples)));
    assert_eq!((seen.digest, &seen.memory), (unseen.digest, &unseen.memory));
    for (row, series) in seen.memory.iter().zip(&seen.memory_series) {
        let late = series.samples.iter().filter(|s| s.at.since(Time::ZERO) > Span::from_ms(1));
        let others: Vec<f32> = late.filter_map(|s| s.other_nics).collect();
        let mean =
            if others.is_empty() { 0.0 } else { others.iter().sum::<f32>() / others.len() as f32 };
        assert!((f64::from(mean) - row.other_nics_gigabytes()).abs() < 0.05, "{mean}");
    }
}

/// A star of `host[0]` and `host[1]`, which are a machine under three cores of an antagonist, and of two hosts who send.
fn star(memory: &str, transport: &str, traffic: &str) -> Scenario {
    scenario(&format!(
        r#"
version = 1
stop = {{ time = "80ms" }}
[fabric]
kind = "star"
hosts = 4
host_link = {{ rate = "100Gbps", delay = "1us" }}
[fabric.switch]
classes = 2
buffer = {{ size = "4MB" }}
pause = {{ classes = [0] }}
[host.memory]
{memory}
{ANTAGONIST3}
{MACHINE}
[transport]
{transport}
{traffic}
"#
    ))
}

/// Bytes that applications at a NIC have read are those that its flows brought, and each frame that came was read or dropped.
fn books_are_kept(record: &RunRecord) {
    for (nic, row) in record.memory[..2].iter().enumerate() {
        let flows = record.flows.iter().filter(|flow| flow.dst == nic as u32);
        let brought: u64 = flows.map(|flow| flow.size.get()).sum();
        assert_eq!(row.read_bytes.get(), brought, "host[{nic}]");
        assert!(brought > 0 && row.dropped_in_all == row.dropped);
    }
    assert!(record.flows.iter().all(|flow| flow.acked.is_some()));
}

const TO_BOTH: &str = r#"
[[traffic]]
kind = "list"
flows = [
    { from = "host[2]", to = "host[0]", size = "1MB" }, { from = "host[3]", to = "host[1]", size = "1MB" },
    { from = "host[3]", to = "host[0]", size = "700KB" }, { from = "host[2]", to = "host[1]", size = "500KB" },
    { from = "host[0]", to = "host[3]", size = "300KB" }, { from = "host[1]", to = "host[0]", size = "300KB" }]
"#;

/// NICs that do not pause drop a third of what comes, and go-back-N brings all of it again.
#[test]
fn queue_pairs_of_a_machine_are_the_same_on_any_engine() {
    for law in ["dcqcn", "timely", "hpcc"] {
        let transport = format!("kind = \"rdma\"\nlaw = \"{law}\"\ncnp_class = 1");
        let record = agreed(&star("", &transport, TO_BOTH));
        books_are_kept(&record);
        assert!(record.memory[..2].iter().all(|row| row.other_nics > 0.0));
        // HPCC's window is a round trip's worth, less than the NIC buffer holds.
        assert!(record.memory[..2].iter().all(|row| (row.dropped > 0) == (law != "hpcc")), "{law}");
    }
}

/// What takes TIMELY 45 ms is neither a timeout nor a repetition that is lost: a NIC buffer that fills makes a gradient of four, which takes
/// the rate to its least in one step, and from there it rises by 10 Mb/s for each 64 KB, of what is sent again as well.
#[test]
fn queue_pairs_under_timely_wait_for_their_rate() {
    for least in [100, 1_000] {
        let params = format!("params = {{ r_min = \"{least}Mbps\" }}");
        let transport = format!("kind = \"rdma\"\nlaw = \"timely\"\ncnp_class = 1\n{params}");
        let record = run(&star("", &transport, TO_BOTH), 1, Options::default()).record;
        books_are_kept(&record);
        assert!(record.flows.iter().all(|flow| flow.timeouts == 0));
        // A megabyte in packets with 44 B of header, as if the rate were the least from the first byte on.
        let rate = |step: u32| f64::from(least + 10 * step) * 1e6;
        let whole: f64 = (0..15).map(|step| 64e3 * 8.0 * 1.044 / rate(step)).sum::<f64>()
            + 40e3 * 8.0 * 1.044 / rate(15);
        let last = record.flows.iter().filter_map(|flow| flow.acked).max().unwrap();
        let took = last.since(Time::ZERO).as_secs_f64();
        assert!(took > 0.8 * whole && took < whole, "{took} of {whole} s");
    }
}

/// NICs of one machine pause their switch each for its own buffer, and drop nothing: one alone without pauses does.
#[test]
fn nics_of_a_machine_pause_their_switch_each_for_itself() {
    let transport =
        "kind = \"rdma\"\nlaw = \"timely\"\ncnp_class = 1\nparams = { r_min = \"50Gbps\" }";
    let small = "nic_buffer = \"100KB\"";
    let drops = agreed(&star(small, transport, TO_BOTH));
    assert!(drops.memory[..2].iter().all(|row| row.dropped_in_all > 0));
    let record = agreed(&star(&format!("{small}\npause_above = \"60KB\""), transport, TO_BOTH));
    books_are_kept(&record);
    for (nic, row) in record.memory[..2].iter().enumerate() {
        assert_eq!(row.dropped_in_all, 0);
        let name = format!("host[{nic}]");
        let own = record.ports.iter().find(|port| port.node == name).unwrap();
        let tor = record.ports.iter().find(|port| port.peer == name).unwrap();
        assert!(own.pause_frames_sent > 2, "{own:?}");
        assert_eq!(own.pause_frames_sent % 2, 0, "each pause has its end");
        assert_eq!(own.pause_frames_sent, tor.pause_frames_received);
    }
    // One that has little to take never fills, though it shares a memory with one that does.
    let one = "[[traffic]]\nkind = \"list\"\nflows = [{ from = \"host[2]\", to = \"host[0]\", size = \"5MB\" }, \
               { from = \"host[3]\", to = \"host[0]\", size = \"5MB\" }, \
               { from = \"host[3]\", to = \"host[1]\", size = \"20KB\" }]";
    let record = agreed(&star(&format!("{small}\npause_above = \"60KB\""), transport, one));
    let sent = |name| record.ports.iter().find(|port| port.node == name).unwrap().pause_frames_sent;
    assert!(sent("host[0]") > 2 && sent("host[1]") == 0);
    books_are_kept(&record);
}

/// Calls from elsewhere to both NICs, from a NIC to elsewhere, and from one NIC to the other.
#[test]
fn rpcs_of_a_machine_are_the_same_on_any_engine() {
    let rpc = |from: u32, to: u32, request: &str, response: &str| {
        format!(
            "[[traffic]]\nkind = \"rpc\"\nfrom = \"host[{from}]\"\nto = \"host[{to}]\"\nconnections = 2\n\
             request = \"{request}\"\nresponse = \"{response}\"\ncount = 20\n"
        )
    };
    let traffic = rpc(2, 0, "32KB", "128B")
        + &rpc(3, 1, "8KB", "64KB")
        + &rpc(0, 3, "128B", "32KB")
        + &rpc(0, 1, "16KB", "16KB");
    let record = agreed(&star("", "kind = \"tcp\"\nlaw = \"dctcp\"", &traffic));
    assert_eq!(record.rpcs.len(), 4 * 2 * 20);
    assert!(record.rpcs.iter().all(|rpc| rpc.latency() > Some(rpc.ideal)));
    let bytes = |request: u64, response: u64| 2 * 20 * 1000 * (request + response);
    // Requests to the first, and responses to its own calls; requests from it and from outside to the second.
    let read = record.memory[..2].iter().map(|row| row.read_bytes.get());
    assert_eq!(read.collect::<Vec<_>>(), [bytes(32, 32 + 16), bytes(8, 16)]);
}

/// Looking at NICs between steps finds each with the path to memory, and changes nothing; nor do captures.
#[test]
fn a_look_finds_both_nics() {
    let text = text([0, 1], &[CONTROL, ANTAGONIST3, MACHINE].join("\n"));
    let scenario = scenario(&text);
    let unseen = run(&scenario, 1, Options::default()).record;
    let mut simulation = Simulation::new(&scenario, 1, Options::default()).unwrap();
    for us in (0..3000).step_by(37) {
        simulation.advance(Time::ZERO + Span::from_us(us), &Watch::default());
        let state = simulation.inspect();
        let hosts: Vec<u32> = state.memories.iter().map(|memory| memory.host).collect();
        assert_eq!(hosts, [0, 1, 2, 3]);
        assert_eq!(state.memories[0].wait_ns, state.memories[1].wait_ns);
        assert!(us < 1000 || state.memories[0].entered != state.memories[1].entered);
        assert_eq!(state.ports.iter().filter(|port| port.node < 4).count(), 4);
    }
    simulation.advance(Time::MAX, &Watch::default());
    assert_eq!(simulation.finish().record.digest, unseen.digest);
    let capture = text_with_capture(&text);
    let mut sink = Frames(0);
    let outputs = Outputs { captures: Some(&mut sink), ..Outputs::default() };
    let taped = simulate_into(&capture, 1, Options::default(), &Watch::default(), outputs);
    assert_eq!(taped.unwrap().record.digest, unseen.digest);
    assert!(sink.0 > 1000, "{} frames", sink.0);
}

fn text_with_capture(text: &str) -> Scenario {
    scenario(&format!("{text}capture = [{{ where = \"host[1]\" }}]\n"))
}

/// Counts frames.
struct Frames(u64);

impl Sink for Frames {
    fn begin(&mut self, _: Vec<CapturedPort>, _: &[(u32, String)]) {}

    fn frame(&mut self, _: usize, _: &Frame) {
        self.0 += 1;
    }

    fn roce(&mut self, _: usize, _: &RoceFrame) {}

    fn message(&mut self, _: usize, _: &MessageFrame) {}

    fn pause(&mut self, _: usize, _: &PauseFrame) {}

    fn settle(&mut self) -> bool {
        true
    }

    fn end(&mut self, _: usize, _: PortTotals) {}
}
