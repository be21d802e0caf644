//! Hosts whose path to memory is modelled: what is recorded of them, and that looking changes nothing.

use crate::common::{run, scenario};
use forebay_record::{MemoryRow, RunRecord};
use forebay_sim::Options;
use forebay_units::{Span, Time};

/// Four flows into a host with a busy antagonist, 3 ms, of which 1 ms is warm-up.
fn congested(control: &str, output: &str) -> RunRecord {
    let scenario = scenario(&format!(
        r#"
version = 1
stop = {{ time = "3ms" }}
[fabric]
kind = "star"
hosts = 2
host_link = {{ rate = "100Gbps", delay = "9us" }}
[host]
profile = "linux"
rx_usecs = "4us"
[[host.override]]
where = "host[1]"
[host.override.memory]
nic_buffer = "100KB"
[[host.override.memory.antagonist]]
cores = 2
[[host.override.memory.antagonist]]
cores = 1
on = "300us"
off = "100us"
{control}
[transport]
kind = "tcp"
law = "dctcp"
mtu = "4000B"
[[traffic]]
kind = "long"
from = ["host[0]", "host[0]", "host[0]", "host[0]"]
to = "host[1]"
[output]
warmup = "1ms"
{output}
"#
    ));
    run(&scenario, 1, Options::default()).record
}

const CONTROL: &str = "[host.override.memory.control]\nlaw = \"hostcc\"";

/// Mean latency in us of requests of 64 KB on each connection of the second entry, in a server with these keys of its path to memory.
fn latency_of_requests(keys: &str, connections: u32, seed: u64) -> f64 {
    let scenario = scenario(&format!(
        r#"
version = 1
stop = {{ time = "4ms" }}
[fabric]
kind = "star"
hosts = 2
host_link = {{ rate = "100Gbps", delay = "1us" }}
[[host.override]]
where = "host[1]"
[host.override.memory]
cores = 4
per_kilobyte = "500ns"
ddio = true
{keys}
[transport]
kind = "tcp"
law = "dctcp"
mtu = "4000B"
[[traffic]]
kind = "rpc"
from = "host[0]"
to = "host[1]"
connections = 2
outstanding = 1
request = "100B"
response = "100B"
think = "1ms"
[[traffic]]
kind = "rpc"
from = "host[0]"
to = "host[1]"
connections = {connections}
outstanding = 1
request = "64KB"
response = "100B"
[output]
warmup = "1ms"
"#
    ));
    let record = run(&scenario, seed, Options::default()).record;
    let of = |rpc: &&forebay_record::RpcRow| {
        record.connections[rpc.connection as usize].traffic == 1
            && rpc.issued > Time::from_ps(1_000_000_000)
    };
    let all = record.rpcs.iter().filter(of).filter_map(|rpc| rpc.latency());
    let (sum, n) = all.fold((0.0, 0.0), |(sum, n), l| (sum + l.as_ps() as f64 * 1e-6, n + 1.0));
    sum / n
}

/// A core at its work of 32 us alone, or with a thread beside it that halves its speed: two busy flows share a core, or each has one with a flow that rests.
#[test]
fn which_flows_share_a_core_follows_the_order_of_threads_and_no_seed() {
    let of = |order: &str, seed| {
        let keys = format!("smt = 2\nsmt_share = 0.5\nsmt_order = \"{order}\"");
        latency_of_requests(&keys, 2, seed)
    };
    let [mixed, alike, spread] = ["mixed", "alike", "spread"].map(|order| of(order, 1));
    let longer = alike - mixed;
    assert!((30.0..36.0).contains(&longer), "{mixed} and {alike} us");
    assert!((spread / mixed - 1.0).abs() < 0.02, "{spread} and {mixed} us");
    for (order, first) in [("mixed", mixed), ("alike", alike), ("spread", spread)] {
        for seed in 2..6 {
            let found = of(order, seed);
            assert!((found / first - 1.0).abs() < 0.02, "{order}, seed {seed}: {found} us");
        }
    }
}

/// 64 KB are 1,000 lines, of which a copy reads 1.046 each, 13 at once: 100 ns more for each are 8.05 us.
#[test]
fn a_read_that_hits_the_cache_takes_the_latency_of_the_cache() {
    let of = |latency: &str| {
        let queue = "cache_model = \"buffers\"\nrq = { depth = 1024, buffer = \"4KiB\" }";
        latency_of_requests(&format!("cache_latency = \"{latency}\"\n{queue}"), 1, 1)
    };
    let longer = of("120ns") - of("20ns");
    assert!((longer / 8.05 - 1.0).abs() < 0.03, "{longer} us");
}

#[test]
fn looking_at_a_path_to_memory_changes_nothing() {
    for control in ["", CONTROL] {
        let unseen = congested(control, "");
        assert!(unseen.memory_series.is_empty());
        for every in ["150ns", "1us", "7.3us"] {
            let seen = congested(control, &format!("memory = {{ every = \"{every}\" }}"));
            assert_eq!(seen.digest, unseen.digest, "{every}");
            assert_eq!(seen.memory, unseen.memory, "{every}");
            assert_eq!(seen.totals, unseen.totals, "{every}");
            assert_eq!(seen.memory_series.len(), 1);
        }
    }
}

#[test]
fn a_control_that_is_not_enabled_and_antagonists_without_cores_change_nothing() {
    let off = format!("{CONTROL}\nenabled = false");
    assert_eq!(congested(&off, "").digest, congested("", "").digest);
    assert_ne!(congested(CONTROL, "").digest, congested("", "").digest);
    let none = "[[host.override.memory.antagonist]]\ncores = 0";
    assert_eq!(congested(none, "").digest, congested("", "").digest);
}

/// A law of drops throttles where memory makes the NIC drop, and where slow cores do, with memory as busy, it does not.
#[test]
fn a_law_of_drops_throttles_for_memory_and_not_for_slow_cores() {
    let control = "[host.override.memory.control]\nlaw = \"nicdrop\"\nread = \"10us\"\n\
                   params = { window = \"100us\", lease = \"1ms\" }\n";
    let (alone, ruled) = (congested("", ""), congested(control, ""));
    let (alone, ruled) = (&alone.memory[0], &ruled.memory[0]);
    assert!(ruled.level_writes > 0 && ruled.marked == 0, "{ruled:?}");
    assert!(ruled.goodput_gbps() > 1.3 * alone.goodput_gbps(), "{ruled:?} {alone:?}");

    let memory = format!(
        "per_kilobyte = \"1us\"\nddio = true\ncache_model = \"buffers\"\nnic_buffer = \"64KiB\"\n\
         rq = {{ depth = 16, buffer = \"4KiB\", rnr = \"wait\" }}\n\
         [[host.override.memory.antagonist]]\ncores = 3\n{control}"
    );
    let record = consumed("request = \"400KB\"\ncount = 5\n", &memory, "");
    let row = &record.memory[0];
    assert!(row.dropped > 0 && row.rnr_waited > 0, "{row:?}");
    let busy = row.network_gigabytes() + row.antagonist_gigabytes();
    assert!(busy > 225.0 / 8.0, "{busy} GB/s");
    assert_eq!(row.level_writes, 0, "{row:?}");
}

/// Samples of the whole run add up to its totals, and those after the warm-up to the row.
#[test]
fn samples_add_up() {
    let record = congested("", "memory = { every = \"1us\" }");
    let (row, series) = (&record.memory[0], &record.memory_series[0]);
    assert_eq!((series.host.as_str(), series.samples.len()), ("host[1]", 2_999));
    assert_eq!((series.antagonists, series.by_antagonist.len()), (2, 2 * 2_999));
    let dropped: u64 = series.samples.iter().map(|s| u64::from(s.dropped)).sum();
    assert!(dropped > 0 && row.dropped_in_all - dropped <= 2, "{dropped}, {}", row.dropped_in_all);
    let measured = || series.samples.iter().filter(|s| s.at > Time::from_ps(1_000_000_000));
    let mean = |value: &dyn Fn(usize) -> f32| {
        let first = series.samples.len() - measured().count();
        let sum: f64 = (first..series.samples.len()).map(|i| f64::from(value(i))).sum();
        sum / measured().count() as f64
    };
    let close = |found: f64, exact: f64, what: &str| {
        assert!((found / exact - 1.0).abs() < 0.01, "{what}: {found}, not {exact}");
    };
    close(mean(&|i| series.samples[i].occupancy), row.occupancy, "occupancy");
    close(mean(&|i| series.samples[i].pcie_gbps), row.pcie_gbps(), "PCIe");
    close(mean(&|i| series.samples[i].goodput_gbps), row.goodput_gbps(), "goodput");
    close(mean(&|i| series.samples[i].network), row.network_gigabytes(), "network");
    let owners = |i: usize| series.by_antagonist[2 * i] + series.by_antagonist[2 * i + 1];
    close(mean(&owners), row.antagonist_gigabytes(), "antagonists");
}

/// The second antagonist rests a quarter of its time, and samples know when.
#[test]
fn a_antagonist_that_rests_is_seen_to_rest() {
    let record = congested("", "memory = { every = \"10us\", where = \"host[*]\" }");
    let series = &record.memory_series[0];
    let mut nic_before = 0.0; // Gb/s on PCIe in the sample before
    for (sample, traffic) in series.samples.iter().zip(series.antagonist(1)) {
        let into = (sample.at.as_ps() - 1) / 1_000_000 % 400;
        if into == 309 {
            // The last writes are posted a latency after it has stopped, and then wait for those before them: 0.21 GB/s beside a NIC with
            // nothing to do, and more if the NIC writes, too.
            let least = if nic_before > 20.0 { 0.3 } else { 0.21 };
            assert!(traffic > least && traffic < 0.5, "{:?}: {traffic}", sample.at);
        } else {
            assert_eq!(traffic > 0.0, into < 300, "{:?}: {traffic}", sample.at);
        }
        nic_before = sample.pcie_gbps;
    }
}

/// A host with a control shows what its law holds its signals against, and what these are.
#[test]
fn the_signals_of_a_law_are_recorded_beside_its_targets() {
    let record = congested(CONTROL, "memory = { every = \"10us\" }");
    assert_eq!(record.memory[0].targets, Some([70.0, 84.0]));
    let last = record.memory_series[0].samples.last().unwrap();
    let [lines, gbps] = last.seen.unwrap();
    assert!(lines > 1.0 && lines < 93.0, "{lines}");
    assert!(gbps > 1.0 && gbps < 110.0, "{gbps}");
    assert_eq!(congested("", "").memory[0].targets, None);
}

/// What holds a flow back that leaves the host idle: each of these does by itself.
#[test]
fn senders_say_what_they_wait_for() {
    let waits = |receive_window: &str, size: &str, rate: &str| {
        let text = format!(
            r#"
version = 1
stop = {{ time = "3ms", flows = "ignore" }}
[fabric]
kind = "star"
hosts = 3
host_link = {{ rate = "{rate}", delay = "10us" }}
[host.memory]
[transport]
kind = "tcp"
law = "dctcp"
initial_window = "40KB"
receive_window = "{receive_window}"
[[traffic]]
kind = "list"
flows = [{{ from = "host[0]", to = "host[2]", size = "{size}", at = "0s" }}, {{ from = "host[0]", to = "host[1]", size = "1GB", at = "0s" }}]
[output]
warmup = "1ms"
"#
        );
        let record = run(&scenario(&text), 1, Options::default()).record;
        let [application, congestion, receiver, pacing, nic, pause] = record.memory[2].sender_waits;
        let sum = application + congestion + receiver + pacing + nic;
        assert_eq!(pause, 0.0, "nothing pauses");
        assert!(sum == 0.0 || (sum - 1.0).abs() < 1e-9, "{sum}");
        assert_eq!(record.memory[0].sender_waits, [0.0; 6], "nobody sends to it");
        [application, congestion, receiver, nic]
    };
    let most = |waits: [f64; 4]| (0..4).max_by(|a, b| waits[*a].total_cmp(&waits[*b])).unwrap();
    let receiver = waits("60KB", "1GB", "100Gbps");
    assert_eq!(most(receiver), 2, "{receiver:?}");
    let nic = waits("8MB", "1GB", "1Gbps");
    assert_eq!(most(nic), 3, "{nic:?}");
    assert_eq!(waits("8MB", "1KB", "100Gbps"), [0.0; 4], "it was done before the warm-up");
    let congested = congested("", "").memory[0].sender_waits;
    assert!(congested[1] > 0.5, "a full NIC buffer is a matter of windows: {congested:?}");
}

/// A path on which nothing ever happens still has a row, over all of the time after the warm-up.
#[test]
fn an_idle_host_is_measured_from_the_end_of_its_warm_up() {
    let scenario = scenario(
        r#"
version = 1
stop = { time = "3ms", flows = "ignore" }
[fabric]
kind = "star"
hosts = 3
host_link = { rate = "100Gbps", delay = "1us" }
[host.memory]
[transport]
kind = "tcp"
law = "dctcp"
[[traffic]]
kind = "list"
flows = [{ from = "host[0]", to = "host[1]", size = "1KB", at = "0s" }]
[output]
warmup = "1ms"
"#,
    );
    let record = run(&scenario, 1, Options::default()).record;
    assert_eq!(record.memory.len(), 3);
    for row in &record.memory {
        assert_eq!((row.arrived, row.span.as_us()), (0, 2_000), "{}", row.host);
        assert!((row.limits[0] - 1.0).abs() < 1e-9, "{}: {:?}", row.host, row.limits);
    }
}

/// Queue pairs into a host that is slow to memory, whose NIC may pause its switch.
fn slow_receiver(nic: &str, fault: &str) -> (RunRecord, u64) {
    let scenario = scenario(&format!(
        r#"
version = 1
stop = {{ time = "3ms", flows = "all" }}
[fabric]
kind = "star"
hosts = 3
host_link = {{ rate = "100Gbps", delay = "1us" }}
[fabric.switch]
classes = 2
buffer = {{ size = "4MB" }}
pause = {{ classes = [0] }}
[[host.override]]
where = "host[0]"
[host.override.memory]
{nic}
[[host.override.memory.antagonist]]
cores = 3
[transport]
kind = "rdma"
law = "timely"
cnp_class = 1
params = {{ r_min = "50Gbps" }}
[[traffic]]
kind = "list"
flows = [{{ from = "host[1]", to = "host[0]", size = "5MB" }}, {{ from = "host[2]", to = "host[0]", size = "5MB" }}]
{fault}
"#
    ));
    let seen = agreed(&scenario);
    let dropped = seen.memory.iter().map(|m| m.dropped).sum();
    (seen, dropped)
}

/// The result, equal on one thread and two, with lazy ports and with an event per departure.
fn agreed(scenario: &forebay_scenario::model::Scenario) -> RunRecord {
    let record = run(scenario, 1, Options::default()).record;
    for options in [
        Options { threads: 2, ..Options::default() },
        Options { explicit_ports: true, ..Options::default() },
    ] {
        assert_eq!(run(scenario, 1, options).record.digest, record.digest);
    }
    record
}

#[test]
fn a_nic_that_pauses_its_switch_drops_nothing() {
    let (_, dropped) = slow_receiver("nic_buffer = \"100KB\"", "");
    assert!(dropped > 0, "without pauses its buffer overflows");
    let (record, dropped) = slow_receiver("nic_buffer = \"100KB\"\npause_above = \"60KB\"", "");
    assert_eq!(dropped, 0);
    let nic = record.ports.iter().find(|port| port.node == "host[0]").unwrap();
    let tor = record.ports.iter().find(|port| port.peer == "host[0]").unwrap();
    let [.., busy, paused] = record.memory[0].sender_waits;
    assert!(paused > 0.3 && busy < 0.1, "senders are paused, not busy: {paused} and {busy}");
    assert!(nic.pause_frames_sent > 2 && tor.paused > Span::from_us(10), "{nic:?}");
    assert_eq!(nic.pause_frames_sent % 2, 0, "each pause has its end");
    assert_eq!(nic.pause_frames_sent, tor.pause_frames_received);
    let spread = record.ports.iter().filter(|port| port.node == "tor").map(|p| p.pause_frames_sent);
    assert!(spread.sum::<u64>() > 0, "it spreads to those who send");
    assert!(record.flows.iter().all(|flow| flow.acked.is_some() && flow.retransmits == 0));
}

#[test]
fn a_nic_says_it_again_when_its_cable_has_died() {
    for at in 200..220 {
        let nic = "nic_buffer = \"100KB\"\npause_above = \"60KB\"";
        let down = format!("[[fault]]\nlink = \"host[0]-tor\"\nat = \"{at}us\"\nfor = \"1us\"");
        let (record, dropped) = slow_receiver(nic, &down);
        assert_eq!(dropped, 0, "down at {at} us");
        assert!(record.flows.iter().all(|flow| flow.acked.is_some()), "down at {at} us");
    }
}

/// Swift into a slow host, with this target for what hosts take.
fn swift(endpoint_target: &str) -> MemoryRow {
    let scenario = scenario(&format!(
        r#"
version = 1
stop = {{ time = "20ms" }}
[fabric]
kind = "star"
hosts = 2
host_link = {{ rate = "100Gbps", delay = "9us" }}
[host]
profile = "linux"
rx_usecs = "4us"
[[host.override]]
where = "host[1]"
[host.override.memory]
[[host.override.memory.antagonist]]
cores = 3
[transport]
kind = "tcp"
law = "swift"
params = {{ base_target = "60us", endpoint_target = "{endpoint_target}" }}
mtu = "4000B"
[[traffic]]
kind = "long"
from = ["host[0]", "host[0]", "host[0]", "host[0]"]
to = "host[1]"
[output]
warmup = "5ms"
"#
    ));
    run(&scenario, 1, Options::default()).record.memory.remove(0)
}

/// The NIC's stamps of the host are signal enough for a law of delay: with a target below what the NIC buffer holds (70 us at
/// 43 Gb/s) nothing is dropped, and nothing is lost for it; above it Swift is as deaf to the host as with none.
#[test]
fn stamps_of_nics_tell_laws_of_delay_what_the_host_adds() {
    let [hears, above, deaf] = ["20us", "100us", "1s"].map(swift);
    assert_eq!(hears.dropped, 0);
    assert!(hears.most_buffered.get() < 250_000, "{}", hears.most_buffered);
    assert!(deaf.drop_share() > 0.002, "{}", deaf.drop_share());
    assert_eq!(above, deaf);
    let gain = hears.goodput_gbps() / deaf.goodput_gbps();
    assert!((gain - 1.0).abs() < 0.02, "{gain}");
}

/// Data that the sender knows to have arrived may still wait for a core. FCT ends when the application has read it.
#[test]
fn a_run_that_ends_with_its_flows_waits_until_they_are_read() {
    let flows = "[[traffic]]\nkind = \"list\"\nflows = [{ from = \"host[1]\", to = \"host[0]\", size = \"1MB\" }]\n";
    let rpc = "[[traffic]]\nkind = \"rpc\"\nfrom = \"host[1]\"\nto = \"host[0]\"\nrequest = \"1MB\"\nresponse = \"0B\"\ncount = 1\n";
    for traffic in [flows, rpc] {
        let with = |stop: &str| {
            scenario(&format!(
                r#"
version = 1
stop = {{ time = "20ms", grain = "1us", flows = "{stop}" }}
[fabric]
kind = "star"
hosts = 2
host_link = {{ rate = "100Gbps", delay = "1us" }}
[[host.override]]
where = "host[0]"
[host.override.memory]
per_kilobyte = "8us"
socket_buffer = "6MB"
[transport]
kind = "tcp"
law = "reno"
{traffic}
"#
            ))
        };
        let early = agreed(&with("all"));
        let late = run(&with("ignore"), 1, Options::default()).record;
        let reference = forebay_sim::twin::reference(&with("all"), 1, true).unwrap();
        assert_eq!((reference.digest, reference.end), (early.digest, early.end));
        assert_eq!(early.totals.delivered_bytes, 1_000_000, "read, not only acknowledged");
        assert_eq!(
            early.flows.first().map(|f| f.delivered),
            late.flows.first().map(|f| f.delivered)
        );
        assert_eq!(early.rpcs, late.rpcs);
        let acked = early.flows.first().and_then(|f| f.acked);
        let acked = acked.unwrap_or_else(|| early.rpcs[0].completed);
        assert!(early.end > acked + Span::from_ms(1), "{} and {acked}", early.end);
        assert!(early.end < late.end);
    }
}

/// The scenario `cache-of-buffers`: more waits than the DDIO ways hold, so that a ring above the cache misses every read and a ring that
/// fits it none. Memory sees the difference: 1.046 lines a line read, and what the NIC writes.
#[test]
fn a_ring_above_the_cache_misses_and_one_that_fits_does_not() {
    let text = include_str!("../../../../scenarios/cache-of-buffers.toml");
    let of = |depth: &str| {
        let scenario = scenario(&text.replace("depth = 4096", depth));
        run(&scenario, 1, Options::default()).record.memory.remove(0)
    };
    let (above, fits) = (of("depth = 4096"), of("depth = 512"));
    for row in [&above, &fits] {
        assert!(row.cache_reads > 4500, "{row:?}");
        assert!(row.cache_states[1] > 0.99, "S2: {row:?}");
    }
    assert_eq!(above.cache_misses, [above.cache_reads as f64, 0.0, 0.0]);
    assert_eq!((above.cache_in_place, fits.cache_in_place), (0, fits.cache_writes));
    assert_eq!(fits.cache_misses, [0.0; 3]);
    let copied = above.read_bytes.get() as f64 / 64.0 * 1.046;
    assert!((above.copied / copied - 1.0).abs() < 0.01, "{} of {copied}", above.copied);
    assert!((above.dma / above.entered - 1.0).abs() < 0.01, "{above:?}");
    assert_eq!((fits.copied, fits.dma), (0.0, 0.0));
    assert!(fits.goodput_gbps() > 1.05 * above.goodput_gbps(), "{above:?} {fits:?}");
}

/// RPCs over RDMA to a host whose core reads what is placed; one core, unless `memory` says how many.
fn consumed(keys: &str, memory: &str, transport: &str) -> RunRecord {
    let cores = if memory.contains("cores = ") { "" } else { "cores = 1\n" };
    agreed(&scenario(&format!(
        "version = 1\nstop = {{ time = \"20ms\" }}\n[fabric]\nkind = \"star\"\nhosts = 3\n\
         host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n[[host.override]]\nwhere = \"host[0]\"\n\
         [host.override.memory]\n{cores}read_placed = true\n{memory}\n\
         [transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nmtu = \"4000B\"\n{transport}\
         [[traffic]]\nkind = \"rpc\"\nfrom = [\"host[1]\", \"host[2]\"]\nto = \"host[0]\"\n{keys}"
    )))
}

/// Two clients ask at once. A core that reads and works serves one after the other; a host without a path to memory serves each
/// connection for itself. Work on a request takes the core as much longer as it is written.
#[test]
fn a_service_holds_its_core() {
    let completed = |service: &str| {
        let keys = format!("request = \"256B\"\nservice = \"{service}\"\ncount = 1\n");
        let record = consumed(&keys, "per_packet = \"1us\"\nper_kilobyte = \"0us\"", "");
        let mut ns: Vec<_> =
            record.rpcs.iter().map(|row| row.completed.as_ps() as i64 / 1000).collect();
        ns.sort_unstable();
        (ns, record.memory[0].clone())
    };
    let (soon, row) = completed("0s");
    assert_eq!(row.read_bytes.get(), 512, "the core reads what RDMA places");
    let (late, row) = completed("20us");
    assert!((late[0] - soon[0] - 20_000).abs() < 100, "{soon:?}, {late:?}");
    let each = [&soon, &late].map(|ns| ns[1] - ns[0]);
    assert!((each[0] - 1_050).abs() < 100 && (each[1] - 21_050).abs() < 100, "{each:?}");
    let busy = row.reading * row.span.as_ps() as f64 * 1e-3;
    assert!((busy - 42_100.0).abs() < 200.0, "{busy} ns");
}

/// A receive queue of sixteen buffers before a core that reads 8 Gb/s. Held, data waits in the NIC and is read in order; refused, it is sent
/// again after the timer. Each way all requests are answered, and no buffer is taken beyond the sixteen.
#[test]
fn a_receive_queue_that_runs_out_holds_its_senders() {
    for recovery in ["go-back-n", "selective"] {
        for (rnr, refuses) in [("wait", false), ("nak", true)] {
            let memory = format!(
                "per_kilobyte = \"1us\"\nddio = true\ncache_model = \"buffers\"\nnic_buffer = \"2MB\"\n\
                 rq = {{ depth = 16, buffer = \"4KiB\", rnr = \"{rnr}\" }}"
            );
            let transport = format!("recovery = \"{recovery}\"\nrnr_timer = \"100us\"\n");
            let record = consumed("request = \"400KB\"\ncount = 5\n", &memory, &transport);
            let row = &record.memory[0];
            assert_eq!(record.rpcs.len(), 10, "{recovery}, {rnr}");
            assert!(record.rpcs.iter().all(|rpc| rpc.latency().is_some()));
            assert_eq!(row.read_bytes.get(), 10 * 400_000, "each byte is read once");
            let again: u32 = record.flows.iter().map(|flow| flow.retransmits).sum();
            assert_eq!((again > 0, row.dropped), (refuses, 0), "{recovery}, {rnr}: {again} again");
            assert_eq!((row.rnr_waited > 0, row.rnr_refused > 0), (!refuses, refuses), "{row:?}");
        }
    }
}

/// TCP knows no RNR NAK: its data gets another buffer, as without `rnr`, and none of it is lost to it. RDMA beside it into the same queue is refused as before.
#[test]
fn a_receive_queue_refuses_only_who_understands_it() {
    let record = |transport: &str| {
        agreed(&scenario(&format!(
            "version = 1\nstop = {{ time = \"20ms\" }}\n[fabric]\nkind = \"star\"\nhosts = 3\n\
             host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n[[host.override]]\nwhere = \"host[0]\"\n\
             [host.override.memory]\ncores = 1\nread_placed = true\nper_kilobyte = \"1us\"\nddio = true\ncache_model = \"buffers\"\n\
             nic_buffer = \"2MB\"\nrq = {{ depth = 64, buffer = \"4KiB\", rnr = \"nak\" }}\n\
             [transport]\nkind = \"tcp\"\nlaw = \"reno\"\nmss = \"4000B\"\n\
             [transports.rdma]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nmtu = \"4000B\"\n\
             [[traffic]]\nkind = \"rpc\"\nfrom = [\"host[1]\", \"host[2]\"]\nto = \"host[0]\"\nrequest = \"400KB\"\ncount = 5\n{transport}"
        )))
    };
    let tcp = record("");
    assert_eq!((tcp.rpcs.len(), tcp.memory[0].rnr_refused), (10, 0));
    assert!(tcp.rpcs.iter().all(|rpc| rpc.latency().is_some()), "{:?}", tcp.memory[0]);
    assert!(tcp.flows.iter().all(|flow| flow.retransmits == 0));
    let rdma = record("transport = \"rdma\"\n");
    assert!(rdma.memory[0].rnr_refused > 0 && rdma.rpcs.iter().all(|rpc| rpc.latency().is_some()));
}

/// A receive queue behind a NIC that drops: data that go-back-N discards behind a gap gives its buffer back, or what fills the gap would
/// never find one.
#[test]
fn data_that_is_discarded_holds_no_receive_buffer() {
    for recovery in ["go-back-n", "selective"] {
        let memory = "per_kilobyte = \"1us\"\nddio = true\ncache_model = \"buffers\"\nnic_buffer = \"64KiB\"\n\
                      rq = { depth = 16, buffer = \"4KiB\", rnr = \"wait\" }";
        let transport = format!("recovery = \"{recovery}\"\n");
        let record = consumed("request = \"400KB\"\ncount = 5\n", memory, &transport);
        let row = &record.memory[0];
        assert!(row.dropped > 0, "{row:?}");
        assert!(record.rpcs.iter().all(|rpc| rpc.latency().is_some()), "{recovery}: {row:?}");
        assert_eq!((record.rpcs.len(), row.read_bytes.get()), (10, 10 * 400_000), "{recovery}");
    }
}

/// Requests of 256 B over two connections, many at once: each takes a receive buffer of its own, and a core reads it as one.
#[test]
fn each_request_over_rdma_is_a_message_of_its_own() {
    let memory = "ddio = true\ncache_model = \"buffers\"\n\
                  rq = { depth = 4096, buffer = \"4KiB\", rnr = \"wait\" }";
    let record = consumed("request = \"256B\"\noutstanding = 64\ncount = 640\n", memory, "");
    let row = &record.memory[0];
    assert!(record.rpcs.len() == 1_280 && record.rpcs.iter().all(|rpc| rpc.latency().is_some()));
    assert_eq!(
        (row.cache_writes, row.cache_reads, row.read_bytes.get()),
        (1_280, 1_280, 1_280 * 256)
    );
}

/// Reads and misses of each traffic add up to all. Two requests of 3 MB at once are more than the NIC's ways hold, so a good part has left the cache when
/// their cores come to them; what an echo's own core reads at once has not.
#[test]
fn misses_are_told_apart_by_traffic() {
    let memory = "cores = 3\nper_kilobyte = \"1us\"\nddio = true\ncache = \"12MiB\"\ncache_model = \"buffers\"\n\
                  rq = { depth = 4096, buffer = \"4KiB\", rnr = \"nak\" }";
    let keys = "request = \"3MB\"\noutstanding = 1\n\
                [[traffic]]\nkind = \"rpc\"\nfrom = \"host[1]\"\nto = \"host[0]\"\nrequest = \"256B\"\n";
    let record = consumed(keys, memory, "");
    let row = &record.memory[0];
    let sum = |list: &[f64]| list.iter().sum::<f64>();
    assert_eq!(sum(&row.cache_reads_of), row.cache_reads as f64);
    assert_eq!(sum(&row.cache_misses_of), sum(&row.cache_misses));
    let [long, echo] = [0, 1].map(|i| row.cache_misses_of[i] / row.cache_reads_of[i]);
    assert!(long > 0.25 && echo < 0.02, "{row:?}");
    assert!(row.cache_reads_of[1] > 100.0, "{row:?}");
}

/// Requests of 400 KB to a slow core beside echoes to another: the long ones' buffers run out. In a queue that all share echoes are refused with them; with queues of
/// their own none is, and Q is three queues.
#[test]
fn who_has_a_queue_of_its_own_is_not_refused_for_others() {
    let refused = |shared: bool| {
        let memory = format!(
            "cores = 3\nper_kilobyte = \"2us\"\nddio = true\ncache = \"12MiB\"\ncache_model = \"buffers\"\n\
             rq = {{ depth = 64, buffer = \"4KiB\", rnr = \"nak\", shared = {shared} }}"
        );
        let keys = "request = \"400KB\"\noutstanding = 1\n\
                    [[traffic]]\nkind = \"rpc\"\nfrom = \"host[1]\"\nto = \"host[0]\"\nrequest = \"256B\"\n";
        let record = consumed(keys, &memory, "");
        let again = |traffic: u16| {
            let own = record.connections.iter().filter(|row| row.traffic == traffic);
            let flows = own.map(|row| &record.flows[row.requests as usize]);
            flows.map(|flow| u64::from(flow.retransmits)).sum::<u64>()
        };
        ([again(0), again(1)], record.memory[0].cache_bounds[2])
    };
    let ([long, echo], bound) = refused(true);
    assert!(long > 0 && echo > 0 && bound == 64.0 * 4096.0, "{long}, {echo}, {bound}");
    let ([long, echo], bound) = refused(false);
    assert!(long > 0 && echo == 0 && bound == 3.0 * 64.0 * 4096.0, "{long}, {echo}, {bound}");
}

/// Samples of a cache add up to its totals, and what is unread never exceeds the queue.
#[test]
fn samples_of_a_cache_add_up() {
    let memory = "per_kilobyte = \"1us\"\nddio = true\ncache = \"12MiB\"\ncache_model = \"buffers\"\n\
                  rq = { depth = 1024, buffer = \"4KiB\", rnr = \"nak\" }";
    let keys = "request = \"400KB\"\noutstanding = 8\n[output]\nmemory = { every = \"10us\" }\n";
    let record = consumed(keys, memory, "");
    let (row, series) = (&record.memory[0], &record.memory_series[0]);
    let samples =
        || series.samples.iter().map(|sample| sample.cache.expect("buffers are followed"));
    let reads: u64 = samples().map(|cache| u64::from(cache.reads)).sum();
    let misses: u64 = samples().flat_map(|cache| cache.misses).map(u64::from).sum();
    let missed: f64 = row.cache_misses.iter().sum();
    assert!(missed > 0.0 && row.cache_reads - reads <= 20 && missed - misses as f64 <= 20.0);
    assert_eq!(row.cache_bounds[2], 1024.0 * 4096.0);
    let most = samples().map(|cache| cache.unread).max().unwrap();
    assert!(most > row.cache_bounds[0] as u64 && most <= row.cache_bounds[2] as u64, "{most}");
    let refused: u64 = samples().map(|cache| u64::from(cache.refused)).sum();
    assert!(row.rnr_refused > 0 && row.rnr_refused - refused <= 20, "{refused}");
    assert!(series.samples.iter().all(|sample| sample.credits.is_none()), "there is no pool");
}

/// Two hosts of 25 Gb/s, of which applications read ten packets in 10 us each, however they came.
fn slow_reader(transport: &str, flows: &str) -> RunRecord {
    let text = format!(
        "version = 1\nstop = {{ time = \"10ms\", flows = \"{flows}\" }}\n[fabric]\nkind = \"star\"\nhosts = 2\n\
         host_link = {{ rate = \"25Gbps\", delay = \"19ns\" }}\n[fabric.switch]\nclasses = 2\n\
         [host.memory]\ncores = 1\nper_packet = \"10us\"\nread_placed = true\n[transport]\n{transport}\
         [[traffic]]\nkind = \"list\"\nflows = [{{ from = \"host[0]\", to = \"host[1]\", size = \"14480B\" }}]\n"
    );
    run(&scenario(&text), 1, Options::default()).record
}

#[test]
fn a_run_ends_when_applications_have_read_whatever_the_transport() {
    let homa = "kind = \"receiver-driven\"\nlaw = \"homa\"\nrouting = \"spray\"\npriorities = 1\n";
    let all = [
        homa.to_string(),
        format!("{homa}max_retries = 0\n"),
        "kind = \"rdma\"\nlaw = \"dcqcn\"\nmss = \"1448B\"\ncnp_class = 1\n".to_string(),
        "kind = \"tcp\"\nlaw = \"dctcp\"\n".to_string(),
    ];
    for transport in &all {
        let [early, whole] = ["all", "ignore"].map(|flows| slow_reader(transport, flows));
        let fct = early.flows[0].fct().expect("the application has read it");
        assert_eq!(Some(fct), whole.flows[0].fct(), "{transport}");
        // A packet after the other: 10 us each, and less than 1 us to come and to be copied.
        let packets = if transport.contains("receiver") { 11 } else { 10 };
        let least = Span::from_us(10) * packets;
        assert!(fct > least && fct < least + Span::from_us(7), "{transport} {fct}");
        assert!(early.end >= early.flows[0].delivered.unwrap() && early.end < whole.end);
    }
}

/// A message of 9,000 B has arrived whole and waits for a slow core when its sender, whose ACKs were lost, sends it again.
const SENT_AGAIN: &str = r#"
version = 1
stop = { time = "1200000000ps", grain = "1000ns" }
[fabric]
kind = "leaf-spine"
leaves = 4
spines = 3
hosts_per_leaf = 3
host_link = { rate = "40Gbps", delay = "5000ps" }
fabric_link = { rate = "29999999999bps", delay = "800000ps" }
[fabric.switch]
pause = { xoff = "6284B", headroom = "auto", reserved = "0B", resume_offset = "1248B", short_headroom = "warn", classes = [0] }
[[fabric.override]]
where = "leaf[2].host[2]-leaf[2]"
pause = "off"
[host]
nic = "srpt"
[[host.override]]
where = "leaf[1].host[0]"
[host.override.memory]
read_placed = true
per_packet = "10us"
iio_slots = 1
cores = 1
[transport]
kind = "receiver-driven"
law = "homa"
mss = "900B"
routing = "spray"
window = "42 packets"
resend_after = "12000000ps"
priorities = 1
[[traffic]]
kind = "rpc"
from = ["leaf[0].host[0]", "leaf[0].host[1]", "leaf[0].host[2]", "leaf[1].host[0]", "leaf[1].host[1]", "leaf[1].host[2]", "leaf[2].host[0]", "leaf[2].host[1]", "leaf[2].host[2]", "leaf[3].host[0]", "leaf[3].host[1]", "leaf[3].host[2]"]
to = ["leaf[0].host[0]", "leaf[0].host[1]"]
pairs = "all"
request = "40KB"
[[traffic]]
kind = "rpc"
from = ["leaf[0].host[0]", "leaf[0].host[1]", "leaf[0].host[2]", "leaf[1].host[0]", "leaf[1].host[1]", "leaf[1].host[2]", "leaf[2].host[0]", "leaf[2].host[1]", "leaf[2].host[2]", "leaf[3].host[0]", "leaf[3].host[1]", "leaf[3].host[2]"]
to = ["leaf[0].host[0]", "leaf[0].host[1]"]
pairs = "all"
connections = 2
request = "1B..90KB"
response = "1B..90KB"
[[traffic]]
kind = "list"
flows = [
    { from = "leaf[3].host[1]", to = "leaf[3].host[2]", size = "1B", at = "324245063ps" },
]
[[traffic]]
kind = "poisson"
sizes = "9000B"
load = 0.007000000000
[[fault]]
at = "425450ps"
link = "leaf[0].host[1]-leaf[0]"
"#;

#[test]
fn a_message_that_comes_again_while_it_waits_for_its_reader_is_read_once() {
    let scenario = scenario(SENT_AGAIN);
    let record = run(&scenario, 1, Options::default()).record;
    let reader = "leaf[1].host[0]";
    let path = record.memory.iter().find(|row| row.host == reader).expect("it has a path");
    let here = record.hosts.iter().position(|host| host == reader).expect("a host") as u32;
    let whole = record.flows.iter().filter(|row| row.dst == here && row.delivered.is_some());
    let sizes: u64 = whole.map(|row| row.size.get()).sum();
    assert!(sizes > 0 && path.read_bytes.get() >= sizes, "{} of {sizes}", path.read_bytes);
}
