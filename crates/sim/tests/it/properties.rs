//! What holds for every scenario: random fabrics, delays, rates, traffic, buffers, marks, classes and faults.
//!
//! A failure prints the seed. `FOREBAY_SEED=<seed> cargo test -p forebay-sim --test properties one_seed` runs all
//! properties on that seed alone, and prints the scenario.

use crate::common::random::{Drawn, draw};
use crate::common::{MOST_HOPS, of_all, run, run_if_short, scenario};
use forebay_record::RunRecord;
use forebay_scenario::model::Scenario;
use forebay_sim::{Inspection, Options, PortState, Simulation, Watch, twin};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Flags, Kind, Packet};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs a check and, if it fails, says how to see it again.
fn repro(seed: u64, check: impl FnOnce(&Drawn, &Scenario)) {
    let drawn = draw(seed, 0);
    let outcome = catch_unwind(AssertUnwindSafe(|| check(&drawn, &scenario(&drawn.text))));
    if let Err(panic) = outcome {
        eprintln!(
            "repro: FOREBAY_SEED={seed} cargo test -p forebay-sim --test properties one_seed"
        );
        resume_unwind(panic);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: of_all(900), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_is_conserved_and_nothing_beats_the_wire(seed in any::<u64>().no_shrink()) {
        repro(seed, invariants);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: of_all(160), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_way_to_run_gives_the_same_digest(seed in any::<u64>().no_shrink()) {
        repro(seed, twins);
    }
}

#[test]
fn one_seed() {
    let Some(seed) = std::env::var("FOREBAY_SEED").ok().and_then(|s| s.parse().ok()) else {
        return;
    };
    let drawn = draw(seed, 0);
    println!("{}", drawn.text);
    invariants(&drawn, &scenario(&drawn.text));
    twins(&drawn, &scenario(&drawn.text));
}

/// Runs in steps and looks at everything in between.
fn invariants(drawn: &Drawn, scenario: &Scenario) {
    let mut rng = Stream::new(drawn.seed, 2, Purpose::Test);
    let mut simulation = Simulation::new(scenario, 1, Options::default()).unwrap();
    let watch = Watch::default();
    let mut order = Order::default();
    let mut before = simulation.inspect();
    let mut at = Time::ZERO;
    loop {
        // Long steps, and short ones in which a queue does not run dry.
        let step = match rng.below(3) {
            0 => 1 + rng.below(20_000_000),
            _ => 1 + rng.below(drawn.stop_ps / 12),
        };
        at = at.saturating_add(Span::from_ps(step));
        let over = simulation.advance(at, &watch);
        let state = simulation.inspect();
        conserved(drawn, &state);
        if !drawn.faulty && !drawn.pauses && !drawn.shaped {
            work_conserving(drawn, &before, &state);
        }
        if drawn.ordered && !drawn.faulty {
            order.check(&state);
        }
        within_limits(drawn, &state);
        before = state;
        if over {
            break;
        }
        if simulation.packet_hops() > MOST_HOPS {
            return;
        }
    }
    let outcome = simulation.finish();
    let whole = run(scenario, 1, Options::default());
    assert_eq!(outcome.record.digest, whole.record.digest, "steps and looks change nothing");
    assert_eq!(outcome.record.flows, whole.record.flows);
    assert_eq!(outcome.record.rpcs, whole.record.rpcs);
    assert_eq!(outcome.record.connections, whole.record.connections);
    assert_eq!(outcome.record.ports, whole.record.ports);
    assert_eq!(outcome.record.series, whole.record.series);
    assert_eq!(outcome.record.end, whole.record.end);

    let record = &whole.record;
    // A run that ends before its stated time has nothing left to do.
    if record.end < scenario.stop.time && !record.stalled && record.connections.is_empty() {
        for flow in record.flows.iter().filter(|flow| flow.gave_up.is_none()) {
            assert!(flow.delivered.is_some(), "flow {} is unread at {}", flow.flow, record.end);
        }
    }
    for flow in record.flows.iter().filter(|f| !f.is_endless()) {
        if let (Some(fct), true) = (flow.fct(), drawn.never_better) {
            assert!(
                fct >= flow.ideal,
                "flow {} took {fct}, less than its ideal {}",
                flow.flow,
                flow.ideal
            );
        }
        let heard = |acked| flow.delivered.is_some_and(|delivered| delivered <= acked);
        assert!(drawn.memory || flow.acked.is_none_or(heard), "what was acknowledged was read");
    }
    rpcs(drawn, record);
    for port in &record.ports {
        if let (Some(limit), false) =
            (drawn.limit_bytes, port.node.contains("host") || port.node.starts_with('h'))
        {
            assert!(
                port.max_queue.get() <= limit,
                "{}->{} held {}",
                port.node,
                port.peer,
                port.max_queue
            );
        }
        if drawn.boundless && !(drawn.pauses && drawn.faulty) {
            assert_eq!(port.dropped_packets, 0, "{}->{} has no limit", port.node, port.peer);
        }
        if !drawn.faulty {
            assert_eq!(port.lost_packets, 0);
            let wire = port.tx_bytes.get() + port.tx_packets * drawn.overhead;
            let possible = port.rate.bytes_in(record.end.since(Time::ZERO)).get() + MAX_WIRE;
            assert!(
                wire <= possible,
                "{}->{} sent {wire} of {possible} bytes",
                port.node,
                port.peer
            );
        }
    }
    every_pause_is_heard(drawn, record);
    paths_to_memory(record);
    if drawn.boundless && !drawn.faulty && record.not_started == 0 {
        let delivered: u64 =
            record.flows.iter().filter(|f| f.delivered.is_some()).map(|f| f.size.get()).sum();
        assert!(delivered <= record.totals.delivered_bytes, "what is complete has been delivered");
    }
}

/// What came over the cable was dropped or went on, and no core does more than there is time for.
fn paths_to_memory(record: &RunRecord) {
    for path in &record.memory {
        assert!(path.dropped <= path.arrived);
        let shares = [path.backlog, path.full, path.levels.iter().sum()];
        assert!(shares.iter().all(|share| (-1e-6..=1.0 + 1e-6).contains(share)), "{path:?}");
        assert!(path.most_buffered.get() <= 384_000);
    }
}

/// A frame that is sent arrives, or is on its way; no port is paused for longer than the run.
fn every_pause_is_heard(drawn: &Drawn, record: &RunRecord) {
    let sent: u64 = record.ports.iter().map(|p| p.pause_frames_sent).sum();
    let heard: u64 = record.ports.iter().map(|p| p.pause_frames_received).sum();
    assert!(heard <= sent && (sent == 0 || drawn.pauses), "{heard} of {sent} frames heard");
    for port in &record.ports {
        assert!(port.paused <= record.end.since(Time::ZERO));
        assert!(port.paused == Span::ZERO || port.pause_frames_received > 0);
        let peer = record.ports.iter().find(|p| p.node == port.peer && p.peer == port.node);
        let peer = peer.expect("a cable has two ends");
        assert!(port.pause_frames_received <= peer.pause_frames_sent);
    }
}

/// RPCs of a connection complete in the order of their issue, none before its time, and no more are under way than may be;
/// every byte delivered on a stream is of one of them.
fn rpcs(drawn: &Drawn, record: &RunRecord) {
    for (c, connection) in (0u32..).zip(&record.connections) {
        let own: Vec<_> = record.rpcs.iter().filter(|r| r.connection == c).collect();
        assert!(
            own.windows(2).all(|p| p[0].issued <= p[1].issued && p[0].completed <= p[1].completed)
        );
        let (mut whole, mut all) = ((0, 0), (0, 0));
        for rpc in &own {
            all = (all.0 + rpc.request.get(), all.1 + rpc.response.get());
            if let Some(latency) = rpc.latency() {
                whole = all;
                assert!(!drawn.never_better || latency >= rpc.ideal, "{rpc:?}");
            }
        }
        // A one-way RPC is over when TCP has it, which may be before its application does.
        whole.0 = if drawn.memory { 0 } else { whole.0 };
        let delivered = (connection.request_bytes.get(), connection.response_bytes.get());
        assert!(
            (whole.0..=all.0).contains(&delivered.0),
            "requests of connection {c}: {delivered:?} {whole:?} {all:?}"
        );
        assert!(
            (whole.1..=all.1).contains(&delivered.1),
            "responses of connection {c}: {delivered:?} {whole:?} {all:?}"
        );
        let complete = own.iter().all(|rpc| rpc.latency().is_some());
        assert!(connection.done.is_none() || (complete && own.last().is_some()));
    }
}

/// No packet is larger on the wire.
const MAX_WIRE: u64 = 4_000 + 64 + 24;

/// Nothing appears or vanishes: in all, at each switch, on each cable.
fn conserved(drawn: &Drawn, state: &Inspection) {
    let hosts = state.hosts.len() as u32;
    let is_host = |node: u32| node < hosts;
    let of_hosts = state.ports.iter().filter(|p| is_host(p.node));
    let injected: u64 = of_hosts.map(|p| p.counters.tx_packets + p.counters.refused()).sum();
    let arrived: u64 = state.hosts.iter().map(|h| h.arrived).sum();
    let held: u64 = state.ports.iter().map(|p| p.waiting_packets + flying(p).count() as u64).sum();
    let gone: u64 =
        state.ports.iter().map(|p| p.counters.refused() + p.counters.lost_packets).sum();
    let unroutable: u64 = state.switches.iter().map(|s| s.unroutable).sum();
    assert_eq!(injected, arrived + held + gone + unroutable, "packets at {}", state.at);
    if drawn.faulty {
        return;
    }
    assert_eq!(unroutable, 0, "everything is reachable");
    let mut in_packets: BTreeMap<u32, u64> = BTreeMap::new();
    let mut in_bytes: BTreeMap<u32, u64> = BTreeMap::new();
    let mut out_packets: BTreeMap<u32, u64> = BTreeMap::new();
    let mut out_bytes: BTreeMap<u32, u64> = BTreeMap::new();
    for port in &state.ports {
        let bytes: u64 = flying(port).map(|p| u64::from(p.size)).sum();
        *in_packets.entry(port.peer).or_default() +=
            port.counters.tx_packets - flying(port).count() as u64;
        *in_bytes.entry(port.peer).or_default() += port.counters.tx_bytes - bytes;
        *out_packets.entry(port.node).or_default() +=
            port.counters.tx_packets + port.waiting_packets + port.counters.refused();
        *out_bytes.entry(port.node).or_default() +=
            port.counters.tx_bytes + port.waiting_bytes + port.counters.dropped_bytes;
        *out_bytes.entry(port.node).or_default() += port.counters.trimmed_bytes;
    }
    for (s, switch) in (hosts..).zip(&state.switches) {
        let (packets, bytes) =
            (in_packets.get(&s).copied().unwrap_or(0), in_bytes.get(&s).copied().unwrap_or(0));
        assert_eq!(switch.routed, packets, "arrivals at switch {s}, {}", state.at);
        assert_eq!(
            out_packets.get(&s).copied().unwrap_or(0),
            packets,
            "packets through switch {s}, {}",
            state.at
        );
        // Credits that were refused are counted, and their bytes are not.
        if state.ports.iter().any(|port| port.node == s && port.counters.dropped_credits > 0) {
            continue;
        }
        assert_eq!(
            out_bytes.get(&s).copied().unwrap_or(0),
            bytes,
            "bytes through switch {s}, {}",
            state.at
        );
    }
    for (h, host) in (0u32..).zip(&state.hosts) {
        assert_eq!(host.arrived, in_packets.get(&h).copied().unwrap_or(0), "arrivals at host {h}");
        assert!(host.segments <= host.arrived);
    }
}

/// Packets on a cable, without pause frames.
fn flying(port: &PortState) -> impl Iterator<Item = &Packet> {
    port.flying.iter().map(|(_, packet)| packet).filter(|packet| packet.kind != Kind::Pause)
}

/// Between two looks a port with a backlog sends at its rate, and none sends faster.
fn work_conserving(drawn: &Drawn, before: &Inspection, after: &Inspection) {
    let span = after.at.since(before.at);
    for (b, a) in before.ports.iter().zip(&after.ports) {
        let wire = |p: &PortState| {
            let bytes = p.counters.tx_bytes + p.waiting_bytes;
            bytes + (p.counters.tx_packets + p.waiting_packets) * drawn.overhead
        };
        if (b.node as usize) < before.hosts.len() {
            continue; // a NIC pulls; its backlog is in the flows
        }
        let capacity = b.rate.bytes_in(span).get();
        let slack = if drawn.release_at_start { MAX_WIRE } else { 2 };
        // What a port took, less by what became of its queue: a queued packet that is trimmed makes both smaller.
        let drained = b.queue + wire(a) - wire(b) - a.queue;
        assert!(
            drained <= capacity + slack,
            "port {}->{} sent {drained} bytes where {capacity} were possible, {} to {}",
            b.node,
            b.peer,
            before.at,
            after.at
        );
        if b.queue >= capacity + slack {
            assert!(
                drained + slack >= capacity,
                "port {}->{} sent {drained} bytes with a backlog, {capacity} were possible, {} to {}",
                b.node,
                b.peer,
                before.at,
                after.at
            );
        }
    }
}

/// New data of one flow never overtakes itself on any cable, and messages of one stream come one after another.
#[derive(Default)]
struct Order {
    last: BTreeMap<(u32, u32, u32), (Time, u32, u64)>, // by sender, receiver and flow: newest arrival seen, its message and its seq
}

impl Order {
    fn check(&mut self, state: &Inspection) {
        for port in &state.ports {
            let mut previous = Time::ZERO;
            for (at, packet) in &port.flying {
                assert!(*at >= previous, "cable {}->{} is FIFO", port.node, port.peer);
                previous = *at;
                if packet.kind != Kind::Data || packet.flags.has(Flags::RETRANSMIT) {
                    continue;
                }
                let key = (port.node, port.peer, packet.flow.0);
                let (seen, before, seq) = self.last.get(&key).copied().unwrap_or_default();
                let message = packet.message().map_or(0, |of| of.number);
                if *at > seen {
                    assert!(
                        (message, packet.seq) > (before, seq) || seen == Time::ZERO,
                        "flow {} overtakes itself on {}->{}: {} after {seq}",
                        packet.flow.0,
                        port.node,
                        port.peer,
                        packet.seq
                    );
                    self.last.insert(key, (*at, message, packet.seq));
                }
            }
        }
    }
}

fn within_limits(drawn: &Drawn, state: &Inspection) {
    for port in state.ports.iter().filter(|p| p.node as usize >= state.hosts.len()) {
        if let Some(limit) = drawn.limit_bytes {
            assert!(port.queue <= limit, "{} of {limit} bytes", port.queue);
        }
        if let Some(limit) = drawn.limit_packets {
            assert!(port.waiting_packets <= limit, "{} of {limit} packets", port.waiting_packets);
        }
    }
    for (s, switch) in (state.hosts.len() as u32..).zip(&state.switches) {
        if switch.shared_size > 0 {
            let held: u64 = state.ports.iter().filter(|p| p.node == s).map(|p| p.queue).sum();
            assert!(
                held <= switch.shared_size,
                "switch {s} holds {held} of {}",
                switch.shared_size
            );
            assert!(held <= switch.shared_used, "the count is an upper bound");
        }
    }
}

/// Threads, cuts, build order, engines, kinds of port: one digest.
fn twins(drawn: &Drawn, first: &Scenario) {
    let Some(expected) = run_if_short(first, MOST_HOPS) else { return };
    let expected = expected.record;
    for (threads, cut) in [
        (2, None),
        (4, None),
        (1, Some(Span::from_ps(1))),
        (2, Some(Span::from_us(5))),
        (1, Some(Span::from_secs(1))),
    ] {
        let other = run(first, 1, Options { threads, cut, explicit_ports: false }).record;
        assert_eq!(other.digest, expected.digest, "{threads} threads, cut {cut:?}");
        assert_eq!(other.flows, expected.flows, "{threads} threads, cut {cut:?}");
        assert_eq!(other.ports, expected.ports, "{threads} threads, cut {cut:?}");
        assert_eq!(other.series, expected.series, "{threads} threads, cut {cut:?}");
        assert_eq!(other.rpcs, expected.rpcs, "{threads} threads, cut {cut:?}");
        assert_eq!(other.connections, expected.connections, "{threads} threads, cut {cut:?}");
    }
    for order in [1, 2] {
        let shuffled = run(&scenario(&draw(drawn.seed, order).text), 1, Options::default()).record;
        assert_eq!(shuffled.digest, expected.digest, "build order {order}");
        assert_eq!(shuffled.flows, expected.flows, "build order {order}");
        assert_eq!(shuffled.rpcs, expected.rpcs, "build order {order}");
        assert_eq!(shuffled.ports, expected.ports, "build order {order}");
    }
    for explicit_ports in [false, true] {
        let other = twin::reference(first, 1, explicit_ports).unwrap();
        assert_eq!(
            other.digest, expected.digest,
            "reference engine, explicit ports: {explicit_ports}"
        );
        assert_eq!(
            other.flows, expected.flows,
            "reference engine, explicit ports: {explicit_ports}"
        );
        assert_eq!(
            other.ports, expected.ports,
            "reference engine, explicit ports: {explicit_ports}"
        );
        assert_eq!(
            other.series, expected.series,
            "reference engine, explicit ports: {explicit_ports}"
        );
        assert_eq!(other.rpcs, expected.rpcs, "reference engine, explicit ports: {explicit_ports}");
    }
    let explicit = run(first, 1, Options { explicit_ports: true, ..Options::default() }).record;
    assert_eq!(explicit.digest, expected.digest, "windowed engine, explicit ports");
}

/// The resolved file of a run is accepted, and runs to the same digest, even where faults outlast the run.
#[test]
fn resolved_files_run_again() {
    let mut outlasting = 0;
    for seed in 0..60 {
        let drawn = draw(seed, 0);
        let lasts = format!("for = \"{}ps\"", drawn.stop_ps);
        let longer =
            |line: &str| if line.starts_with("for = ") { lasts.clone() } else { line.into() };
        let text: Vec<String> = drawn.text.lines().map(longer).collect();
        outlasting += u32::from(text.contains(&lasts));
        let first = scenario(&text.join("\n"));
        let again = scenario(&forebay_scenario::resolved(&first));
        let digest = |scenario| run(scenario, 1, Options::default()).record.digest;
        assert_eq!(digest(&again), digest(&first), "seed {seed}");
    }
    assert!(outlasting >= 10, "{outlasting} runs end before their faults");
}

/// Seeds whose digests two processes have to agree on.
const SHARED: std::ops::Range<u64> = 1_000..1_012;

fn digests() -> Vec<String> {
    let digest = |seed| run(&scenario(&draw(seed, 0).text), 1, Options::default()).record.digest;
    SHARED.map(|seed| format!("digest {seed} {:016x}", digest(seed))).collect()
}

#[test]
fn two_processes_agree() {
    let here = digests();
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "properties::in_another_process", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout).into_owned();
    let there: Vec<&str> = text.lines().filter(|l| l.starts_with("digest ")).collect();
    assert_eq!(there, here);
    let mut distinct = here.clone();
    distinct.iter_mut().for_each(|line| *line = line[line.len() - 16..].to_string());
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), here.len(), "different scenarios have different digests");
}

#[test]
#[ignore = "run by two_processes_agree"]
fn in_another_process() {
    println!("\n{}", digests().join("\n"));
}

/// The scenarios of this file reach what they are meant to test.
#[test]
fn the_random_scenarios_are_not_trivial() {
    let (mut packets, mut drops, mut marks, mut lost, mut done, mut retransmits) =
        (0, 0, 0, 0, 0, 0);
    let (mut paused, mut overflowed, mut trims) = (0, 0, 0);
    let (mut pulls, mut returns, mut credits) = (0, 0, 0);
    for seed in 0..80 {
        let drawn = draw(seed, 0);
        let record = run(&scenario(&drawn.text), 1, Options::default()).record;
        packets += record.totals.packet_hops;
        drops += u32::from(record.ports.iter().any(|p| p.dropped_packets > 0));
        marks += u32::from(record.ports.iter().any(|p| p.marked_packets > 0));
        trims += u32::from(record.ports.iter().any(|p| p.trimmed_packets > 0));
        lost += u32::from(record.ports.iter().any(|p| p.lost_packets > 0));
        done += u32::from(record.flows.iter().any(|f| f.delivered.is_some()));
        retransmits += u32::from(record.flows.iter().any(|f| f.retransmits > 0));
        paused += u32::from(record.ports.iter().any(|p| p.paused > Span::ZERO));
        overflowed += u32::from(record.ports.iter().any(|p| p.lossless_drops > 0));
        assert!(record.ports.iter().all(|p| p.max_queue <= Bytes::new(1 << 30)));
        let received = drawn.received && record.flows.iter().any(|f| f.acked.is_some());
        pulls += u32::from(received);
        returns += u32::from(received && record.ports.iter().any(|p| p.returned_packets > 0));
        credits += u32::from(received && drawn.text.contains("credits = "));
    }
    println!(
        "{packets} packet-hops; of 80 scenarios {drops} drop, {marks} mark, {lost} lose, {done} complete, {retransmits} retransmit, \
         {trims} trim, {paused} pause, {overflowed} of them with too little headroom; {pulls} receiver-driven, {returns} of them return headers, \
         {credits} on metered credits"
    );
    assert!(packets > 80_000, "{packets} packet-hops");
    assert!(paused >= 8 && overflowed >= 2, "{paused} pause, {overflowed} overflow");
    assert!(trims >= 1, "{trims} trim");
    assert!(pulls >= 8 && returns >= 1 && credits >= 1, "{pulls}, {returns}, {credits}");
    assert!(drops >= 8 && marks >= 12 && lost >= 8 && done >= 60 && retransmits >= 12);
}
