//! DCTCP's sawtooth: queue and marks of one bottleneck over time.

use super::{ms, quiet, scenario, simulation};
use crate::measured::MeasuredRows;
use crate::plot::{Line, Panel, Rule, plot};
use forebay_record::RunRecord;
use forebay_sim::{Inspection, PortState};
use forebay_units::{Span, Time};

pub(super) fn measure(quick: bool, all: &mut MeasuredRows) {
    let span = if quick { 30 } else { 100 };
    for (ids, path) in [
        (TEN_2, Path { flows: 2, ..TEN }),
        (TEN_10, Path { flows: 10, ..TEN }),
        (ONE_2, Path { flows: 2, ..ONE }),
    ] {
        let (record, alpha) = path.run(20, span);
        let queue = path.queue(&record);
        let cycles = cycles(&queue, path.k);
        let round_us = 100.0 + mean(&queue) * 1_500.0 * 8.0 / (path.gbps as f64 * 1e3);
        for (id, value) in ids.into_iter().zip([
            alpha,
            cycles.highest - cycles.lowest,
            cycles.highest,
            cycles.lowest,
            cycles.length_us / round_us,
        ]) {
            all.insert(id, value);
        }
    }
    let many = Path { flows: 100, ..TEN };
    let (record, alpha) = many.run(20, span);
    let queue = many.queue(&record);
    all.insert("dctcp-100-floor", queue.iter().map(|q| q.1).fold(f64::MAX, f64::min));
    all.insert("dctcp-100-standing", mean(&queue));
    all.insert("dctcp-100-alpha", alpha);

    let span = if quick { 200 } else { 1_000 };
    let (dctcp, dctcp_queue) = beside("dctcp", "ecn = { k = \"20 packets\" }", span);
    let (reno, reno_queue) = beside("reno", "ecn = \"off\"", span);
    all.insert("dctcp-1g-goodput", dctcp);
    all.insert("dctcp-1g-versus-reno", dctcp / reno);
    all.insert("dctcp-1g-queue", dctcp_queue);
    all.insert("reno-1g-queue", reno_queue);
}

const TEN_2: [&str; 5] = [
    "dctcp-10g-2-alpha",
    "dctcp-10g-2-amplitude",
    "dctcp-10g-2-qmax",
    "dctcp-10g-2-qmin",
    "dctcp-10g-2-rounds",
];
const TEN_10: [&str; 5] = [
    "dctcp-10g-10-alpha",
    "dctcp-10g-10-amplitude",
    "dctcp-10g-10-qmax",
    "dctcp-10g-10-qmin",
    "dctcp-10g-10-rounds",
];
const ONE_2: [&str; 5] = [
    "dctcp-1g-2-alpha",
    "dctcp-1g-2-amplitude",
    "dctcp-1g-2-qmax",
    "dctcp-1g-2-qmin",
    "dctcp-1g-2-rounds",
];

/// A dumbbell of RTT 100 us, whose bottleneck marks at `k` packets.
#[derive(Clone, Copy)]
struct Path {
    flows: usize,
    k: f64,
    gbps: u64,
    /// Of the bottleneck: with four times 1 us, data and an ACK over a link of this rate and two of ten times it,
    /// the empty path takes 100 us.
    delay_ps: u64,
    sample: &'static str,
}

const TEN: Path = Path { flows: 2, k: 65.0, gbps: 10, delay_ps: 47_249_280, sample: "500ns" };
const ONE: Path = Path { flows: 2, k: 20.0, gbps: 1, delay_ps: 40_492_800, sample: "2us" };

impl Path {
    fn scenario(&self) -> String {
        let Self { flows, k, gbps, delay_ps, sample } = self;
        format!(
            "version = 1\nseeds = [1]\nstop = {{ time = \"2s\" }}\n\
             [output]\nqueues = {{ every = \"{sample}\", where = \"left\" }}\n\
             [fabric]\nkind = \"dumbbell\"\nleft = {flows}\nright = {flows}\n\
             host_link = {{ rate = \"{}Gbps\", delay = \"1us\" }}\n\
             bottleneck = {{ rate = \"{gbps}Gbps\", delay = \"{delay_ps}ps\" }}\n\
             [fabric.switch]\necn = {{ k = \"{k} packets\" }}\n\
             [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n\
             [[traffic]]\nkind = \"long\"\nfrom = \"left.host[*]\"\nto = \"right.host[*]\"\n",
            gbps * 10
        )
    }

    /// The record after warm-up and span, and the share of packets marked in the span.
    fn run(&self, warm_ms: u64, span_ms: u64) -> (RunRecord, f64) {
        let scenario = scenario("sawtooth", &self.scenario());
        let mut simulation = simulation(&scenario);
        simulation.advance(ms(warm_ms), &quiet());
        let before = simulation.inspect();
        simulation.advance(ms(warm_ms + span_ms), &quiet());
        let after = simulation.inspect();
        let alpha = marked_share(&before, &after, self.flows);
        (simulation.finish().record, alpha)
    }

    /// Time in us and queue in packets at the bottleneck, after the warm-up of 20 ms.
    fn queue(&self, record: &RunRecord) -> Vec<(f64, f64)> {
        let series = record
            .series
            .iter()
            .find(|s| s.name == "left->right queue")
            .expect("the bottleneck is sampled");
        let points = series.at.iter().zip(&series.values);
        points
            .filter(|(at, _)| **at >= ms(20))
            .map(|(at, bytes)| (at.as_secs_f64() * 1e6, bytes / 1_500.0))
            .collect()
    }
}

/// The bottleneck's port: from the left switch to the right one.
fn bottleneck(state: &Inspection, flows: usize) -> &PortState {
    let (left, right) = (2 * flows as u32, 2 * flows as u32 + 1);
    state.ports.iter().find(|p| (p.node, p.peer) == (left, right)).expect("a dumbbell has one")
}

fn marked_share(before: &Inspection, after: &Inspection, flows: usize) -> f64 {
    let (b, a) = (bottleneck(before, flows), bottleneck(after, flows));
    let marked = a.counters.marked_packets - b.counters.marked_packets;
    marked as f64 / (a.counters.tx_packets - b.counters.tx_packets) as f64
}

fn mean(queue: &[(f64, f64)]) -> f64 {
    queue.iter().map(|q| q.1).sum::<f64>() / queue.len() as f64
}

/// Means over whole cycles.
struct Cycles {
    highest: f64,
    lowest: f64,
    length_us: f64,
}

/// A cycle begins when the queue reaches `k` after it was two packets or more below.
fn cycles(queue: &[(f64, f64)], k: f64) -> Cycles {
    let mut begins = Vec::new();
    let mut below = false;
    for (i, (_, q)) in queue.iter().enumerate() {
        if below && *q >= k {
            begins.push(i);
        }
        below = *q <= k - 2.0 || (below && *q < k);
    }
    let (mut highest, mut lowest) = (0.0, 0.0);
    for ends in begins.windows(2) {
        let cycle = queue[ends[0]..ends[1]].iter().map(|q| q.1);
        highest += cycle.clone().fold(f64::MIN, f64::max);
        lowest += cycle.fold(f64::MAX, f64::min);
    }
    let n = begins.len().saturating_sub(1) as f64; // none: everything is NaN, which is out
    let time = begins.last().map_or(0.0, |last| queue[*last].0 - queue[begins[0]].0);
    Cycles { highest: highest / n, lowest: lowest / n, length_us: time / n }
}

/// Two flows of a law at 1 Gb/s with Ethernet's bytes: goodput in Mb/s and median queue in packets, from 200 ms on.
fn beside(law: &str, ecn: &str, span_ms: u64) -> (f64, f64) {
    let text = format!(
        "version = 1\nseeds = [1]\nstop = {{ time = \"2s\" }}\n\
         [output]\nqueues = {{ every = \"10us\", where = \"left\" }}\n\
         [fabric]\nkind = \"dumbbell\"\nleft = 2\nright = 2\nwire_overhead = \"24B\"\n\
         host_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\n\
         bottleneck = {{ rate = \"1Gbps\", delay = \"40us\" }}\n\
         [fabric.switch]\nbuffer = \"none\"\nport_limit = \"700KB\"\n{ecn}\n\
         [transport]\nkind = \"tcp\"\nlaw = \"{law}\"\nheader = \"66B\"\n\
         [[traffic]]\nkind = \"long\"\nfrom = \"left.host[*]\"\nto = \"right.host[*]\"\n"
    );
    let scenario = scenario("beside", &text);
    let mut simulation = simulation(&scenario);
    simulation.advance(ms(200), &quiet());
    let before: u64 = simulation.inspect().hosts.iter().map(|h| h.delivered_bytes).sum();
    simulation.advance(ms(200 + span_ms), &quiet());
    let after: u64 = simulation.inspect().hosts.iter().map(|h| h.delivered_bytes).sum();
    let record = simulation.finish().record;
    let series = record.series.iter().find(|s| s.name == "left->right queue");
    let series = series.expect("the bottleneck is sampled");
    let mut queue: Vec<f64> = series
        .at
        .iter()
        .zip(&series.values)
        .filter(|(at, _)| **at >= ms(200))
        .map(|(_, bytes)| bytes / 1_538.0)
        .collect();
    queue.sort_unstable_by(f64::total_cmp);
    ((after - before) as f64 * 8.0 / (span_ms as f64 * 1e3), queue[queue.len() / 2])
}

/// Two flows at 10 Gb/s: the queue, and below it the share of packets marked.
pub(super) fn picture() -> String {
    let path = Path { flows: 2, ..TEN };
    let scenario = scenario("sawtooth", &path.scenario());
    let mut simulation = simulation(&scenario);
    let step = Span::from_us(20);
    let mut at = ms(20);
    simulation.advance(at, &quiet());
    let mut last = simulation.inspect();
    let mut marks = Vec::new();
    while at < ms(23) {
        at += step;
        simulation.advance(at, &quiet());
        let state = simulation.inspect();
        marks.push((us_since_20(at) - 10.0, 100.0 * marked_share(&last, &state, path.flows)));
        last = state;
    }
    let record = simulation.finish().record;
    let queue: Vec<(f64, f64)> =
        path.queue(&record).into_iter().map(|(us, q)| (us - 20_000.0, q)).collect();
    plot(
        "DCTCP: two flows through 10 Gb/s, RTT 100 us, K = 65 packets",
        "time after 20 ms of warm-up (us)",
        (0.0, 3_000.0),
        &[
            Panel {
                label: "queue (packets)",
                range: (0.0, 80.0),
                lines: vec![Line { name: "queue at the bottleneck", points: queue, steps: false }],
                rules: vec![
                    Rule { name: "K", at: 65.0 },
                    Rule { name: "K + N", at: 67.0 },
                    Rule { name: "K + N - A", at: 54.8 },
                ],
            },
            Panel {
                label: "marked (%)",
                range: (0.0, 100.0),
                lines: vec![Line { name: "packets marked, by 20 us", points: marks, steps: true }],
                rules: vec![],
            },
        ],
    )
}

fn us_since_20(at: Time) -> f64 {
    at.since(ms(20)).as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of a cycle of `flows` in step, in whole rounds: a window grows by a packet a round and answers marks a round later. With
    /// `cwr` it does not grow in the round after a cut, and a cut leaves whole packets.
    fn whole_rounds(path: f64, k: f64, flows: f64, cwr: bool) -> f64 {
        let (mut window, mut alpha, mut marked, mut held) = (path / flows, 1.0, 0.0, false);
        let mut cuts = 0.0;
        for round in 0..20_000 {
            if marked > 0.0 && !held {
                window *= 1.0 - alpha / 2.0;
                window = if cwr { f64::floor(window) } else { window };
                held = cwr;
                cuts += f64::from(u8::from(round >= 10_000));
            } else if held {
                held = false;
            } else {
                window += 1.0;
            }
            alpha += (marked - alpha) / 16.0;
            marked = f64::from(u8::from(flows * window - path >= k));
        }
        10_000.0 / cuts
    }

    /// The cause of rows dctcp-*-rounds: equation (9) has 6.1, 2.7 and 2.7 rounds. It leaves out the round in which marks are on their
    /// way, and the one in CWR.
    #[test]
    fn in_whole_rounds_a_cycle_is_longer_than_equation_9() {
        for (path, k, flows, plain, cwr) in [
            (83.33, 65.0, 2.0, 6.13, 7.0),
            (83.33, 65.0, 10.0, 3.21, 4.0),
            (8.33, 20.0, 2.0, 3.17, 4.0),
        ] {
            for (with, expected) in [(false, plain), (true, cwr)] {
                let rounds = whole_rounds(path, k, flows, with);
                assert!((rounds - expected).abs() < 0.02, "{flows} flows: {rounds}, {expected}");
            }
        }
    }

    #[test]
    fn cycles_of_a_known_sawtooth() {
        // From 50 up to 70 in 40 samples, then down at once; K = 65.
        let queue: Vec<(f64, f64)> =
            (0..400).map(|i| (f64::from(i), 50.0 + f64::from(i % 40) * 0.5)).collect();
        let found = cycles(&queue, 65.0);
        assert_eq!((found.highest, found.lowest, found.length_us), (69.5, 50.0, 40.0));
        let flat: Vec<(f64, f64)> = (0..50).map(|i| (f64::from(i), 66.0)).collect();
        assert!(cycles(&flat, 65.0).highest.is_nan(), "a queue that never falls has no cycles");
    }

    /// The right mechanism, not only the right numbers: marks come only while the queue is at K or above, each burst of
    /// them is followed by a cut, and no more than the flows' windows overshoot.
    #[test]
    fn marks_come_when_the_queue_is_at_k_and_the_queue_falls_after_them() {
        let path = Path { flows: 2, ..TEN };
        let scenario = scenario("sawtooth", &path.scenario());
        let mut simulation = simulation(&scenario);
        simulation.advance(ms(20), &quiet());
        let mut last = simulation.inspect();
        let k = 65 * 1_500;
        let (mut bursts, mut since_mark, mut unmarked) = (0, 1_000, 0);
        for step in 1..=10_000u64 {
            simulation.advance(ms(20) + Span::from_us(step), &quiet());
            let state = simulation.inspect();
            let (b, a) = (bottleneck(&last, 2), bottleneck(&state, 2));
            let marked = a.counters.marked_packets - b.counters.marked_packets;
            // A step of 1 us is less than a packet's time: the queue changes by two packets at most.
            let above = b.queue.min(a.queue) > k + 2 * 1_500;
            if marked > 0 {
                assert!(b.queue.max(a.queue) + 2 * 1_500 >= k, "a mark below K at {}", state.at);
                bursts += u32::from(since_mark > 100);
                (since_mark, unmarked) = (0, 0);
            } else {
                // Nothing arrives in some steps, so only a long silence above K would be wrong.
                since_mark += 1;
                unmarked = if above { unmarked + 1 } else { 0 };
                assert!(unmarked < 10, "the queue stands above K without marks at {}", state.at);
            }
            last = state;
        }
        // 10 ms are 100 RTTs, a cycle is about 6.
        assert!((8..=30).contains(&bursts), "{bursts} bursts of marks");
    }
}
