//! Known answers of SIGCOMM 2019, algorithm 1, and the fixed points that follow from it.

extern crate std;

use super::*;
use crate::flow::{AckSample, Totals};
use proptest::prelude::*;

const T: Span = Span::from_us(13);
const LINE: BitsPerSec = BitsPerSec::from_gbps(100);

/// Bytes of 100 Gb/s in 13 us.
const BDP: f64 = 162_500.0;

struct Rig {
    law: Hpcc,
    totals: Totals,
    hop: IntHop,
}

impl Rig {
    fn new(params: HpccParams) -> Self {
        let at = Start { line_rate: LINE, base_rtt: Some(T), ..crate::testing::at(10) };
        let law = Hpcc::start(&Arc::new(params), at, &mut Acts::default());
        let totals = Totals { nxt: 20_000, ..Totals::default() };
        Self { law, totals, hop: IntHop { rate: LINE, ..IntHop::default() } }
    }

    /// An ACK up to `una`, whose hop has sent so much since the last ACK and has this queue.
    fn ack(&mut self, una: u64, gap: Span, sent: u64, queue: u64) -> Acts<FlowAct> {
        let queue = [self.hop.queue[1], Bytes::new(queue)];
        self.hop = IntHop { passed: gap, sent: Bytes::new(sent), queue, ..self.hop };
        self.totals.una = una;
        self.acked(&[self.hop])
    }

    fn acked(&mut self, hops: &[IntHop]) -> Acts<FlowAct> {
        let acked = Bytes::new(1000);
        let sample = &AckSample::default();
        let event = FlowEvent::Ack { acked, ece: false, sample, delay: None, hops };
        let mut acts = Acts::default();
        self.law.step(Time::ZERO, FlowSeen { totals: &self.totals, event }, &mut acts);
        acts
    }
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-6 * b.abs() + 1e-6, "{a} is not {b}");
}

/// Queue 146,250 B = 0.9 BDP, port busy all the time: u = 0.9 + 1 = 1.9, and 1.9 / 0.95 = 2. Every ACK of the
/// round trip: W = 162,500 / 2 + 80 = 81,330 B, since the reference stays put; the ACK beyond it moves the
/// reference once. Rate = 81,330 * 8 / 13 us = 50,049,230,769 bit/s (rounded down).
#[test]
fn every_ack_of_a_round_trip_gives_the_same_window() {
    let mut rig = Rig::new(HpccParams::default());
    near(rig.law.window, BDP);
    assert!(rig.ack(1000, Span::ZERO, 0, 146_250).is_empty(), "the first ACK only stores");
    let mut gap = T; // one gap of T makes U = u at once; the others then keep it
    for una in (2000..=20_000).step_by(1000) {
        let acts = rig.ack(una, gap, LINE.bytes_in(gap).get(), 146_250);
        let acts: std::vec::Vec<_> = acts.iter().collect();
        let [FlowAct::Window(window), FlowAct::Rate(rate)] = acts[..] else { panic!("{acts:?}") };
        assert_eq!(window.bytes(), Bytes::new(81_330), "{una}");
        assert!(rate.get().abs_diff(50_049_230_769) < 1000, "{rate}");
        assert_eq!(rig.law.reference, BDP);
        gap = Span::from_ns(100);
    }
    rig.ack(21_000, gap, LINE.bytes_in(gap).get(), 146_250);
    near(rig.law.reference, 81_330.0);
}

/// Below eta five round trips add, the sixth follows U; with `max_stage` 0 the first does.
#[test]
fn additions_end_after_so_many_round_trips() {
    for (max_stage, adds) in [(5, 5), (0, 0)] {
        let params = HpccParams { max_stage: Stages::new(max_stage), ..HpccParams::default() };
        let mut rig = Rig::new(params);
        rig.law.reference = 10_000.0;
        rig.totals.nxt = 0;
        rig.ack(0, Span::ZERO, 0, 0);
        let half = LINE.bytes_in(T).get() / 2;
        let mut expected = 10_000.0;
        for una in 1..=adds {
            rig.ack(una, T, half, 0);
            expected += 80.0;
            near(rig.law.window, expected);
        }
        rig.ack(adds + 1, T, half, 0);
        near(rig.law.window, expected / (0.5 / 0.95) + 80.0);
    }
}

/// rdma-hw.cc adds a rate: 12.8 Mb/s in 13 us are 20.8 B, and not 20. Whole bytes are added as they are.
#[test]
fn an_increase_by_rate_keeps_fractions_of_a_byte() {
    for (text, more) in [("12.8Mbps", 20.8), ("50Mbps", 81.25), ("80B", 80.0)] {
        let w_ai = Increase::parse(text).unwrap();
        assert_eq!(std::format!("{w_ai}"), text.replace("12.8Mbps", "12800Kbps"));
        let mut rig = Rig::new(HpccParams { w_ai, ..HpccParams::default() });
        rig.law.reference = 10_000.0;
        rig.ack(0, Span::ZERO, 0, 0);
        rig.ack(1, T, LINE.bytes_in(T).get() / 2, 0);
        near(rig.law.window, 10_000.0 + more);
    }
    for text in ["80", "", "80us", "-80B"] {
        assert_eq!(Increase::parse(text), None, "{text}");
    }
}

/// rdma-queue-pair.cc: U is one before anything is measured. A tenth of T later, at half the port's rate, it is 0.9 + 0.1 / 2 =
/// 0.95, no less than eta, so that the window follows it at once; from zero it is 0.05, and the window only adds.
#[test]
fn a_flow_begins_as_if_it_had_filled_its_path() {
    let first = |params: HpccParams| {
        let mut rig = Rig::new(params);
        let before = rig.law.u;
        rig.law.reference = 100_000.0;
        rig.ack(1000, Span::ZERO, 0, 0);
        let gap = Span::from_ns(1300);
        rig.ack(2000, gap, 8125, 0);
        (before, rig.law.u, rig.law.window)
    };
    let (before, u, window) = first(HpccParams::default());
    assert_eq!(before, 1.0);
    near(u, 0.95);
    near(window, 100_000.0 / (u / 0.95) + 80.0);
    let (before, u, window) =
        first(HpccParams { u_start: Load::new(0.0), ..HpccParams::default() });
    assert_eq!(before, 0.0);
    near(u, 0.05);
    near(window, 100_080.0);
    // At the port's rate U stays one: the first window is 5 % below B T.
    let mut rig = Rig::new(HpccParams::default());
    rig.ack(1000, Span::ZERO, 0, 0);
    rig.ack(2000, Span::from_ns(1300), 16_250, 0);
    near(rig.law.window, BDP * 0.95 + 80.0);
}

/// Of two samples the shorter queue counts, and of several hops the fullest.
#[test]
fn a_burst_and_an_idle_hop_do_not_count() {
    let mut rig = Rig::new(HpccParams::default());
    rig.ack(0, Span::ZERO, 0, 0);
    rig.ack(1, T, 162_500, 1_000_000);
    near(rig.law.u, 1.0);
    rig.ack(2, T, 162_500, 162_500);
    near(rig.law.u, 2.0);
    let unknown = IntHop { passed: Span::ZERO, ..rig.hop };
    rig.acked(&[unknown, unknown]);
    near(rig.law.u, 2.0); // another path
    let idle = IntHop { sent: Bytes::ZERO, queue: [Bytes::new(162_500), Bytes::ZERO], ..rig.hop };
    let busy = IntHop { sent: Bytes::new(81_250), ..idle };
    rig.acked(&[idle, busy, unknown]);
    near(rig.law.u, 0.5);
}

/// N flows of one port in steps of T: what does not fit the pipe is the queue.
fn settle(flows: usize, windows: &[f64], rounds: usize) -> (f64, f64, std::vec::Vec<f64>) {
    let mut rigs: std::vec::Vec<_> = (0..flows).map(|_| Rig::new(HpccParams::default())).collect();
    for (rig, window) in rigs.iter_mut().zip(windows) {
        (rig.law.window, rig.law.reference) = (*window, *window);
    }
    rigs.iter_mut().for_each(|rig| drop_acts(rig.ack(0, Span::ZERO, 0, 0)));
    let (mut queue, mut u) = (0.0, 0.0);
    for round in 1..=rounds as u64 {
        let offered: f64 = rigs.iter().map(|rig| rig.law.window).sum();
        queue = (offered - BDP).max(0.0);
        u = offered.min(BDP) / BDP;
        for rig in &mut rigs {
            (rig.totals.nxt, rig.totals.una) = (round, round);
            rig.law.last_update = round - 1;
            drop_acts(rig.ack(round, T, offered.min(BDP) as u64, queue as u64));
        }
    }
    (u, queue, rigs.iter().map(|rig| rig.law.window).collect())
}

fn drop_acts(acts: Acts<FlowAct>) {
    assert!(acts.iter().count() <= 2);
}

/// U = eta + N W_AI / (B T) = 0.9505 for one flow; beyond 101 flows the rest is queue, 31.9 KB for 500.
#[test]
fn the_fixed_point_is_eta_and_what_is_added() {
    let mean = |flows, rounds| {
        let share = BDP / flows as f64;
        let (mut u, mut queue, n) = (0.0, 0.0, 12usize);
        for more in 0..n {
            let (a, b, _) = settle(flows, &std::vec![share; flows], rounds + more);
            u += a / n as f64;
            queue += b / n as f64;
        }
        (u, queue)
    };
    let (u, queue) = mean(1, 200);
    assert!((u - 0.9505).abs() < 2e-3 && queue == 0.0, "{u} {queue}");
    let (u, queue) = mean(500, 200);
    assert!(u > 0.999 && (queue / 31_875.0 - 1.0).abs() < 0.02, "{u} {queue}");
}

/// Near the fixed point the difference of two windows loses 0.00104 of itself per round trip.
#[test]
fn two_flows_become_equal_slowly() {
    let apart = |rounds| {
        let (_, _, windows) = settle(2, &[0.9 * 0.95 * BDP, 0.1 * 0.95 * BDP], rounds);
        (windows[0] - windows[1]) / (windows[0] + windows[1])
    };
    let after = apart(1340);
    assert!((0.15..=0.27).contains(&after), "60/40 is 0.2: {after}");
    assert!(apart(100) > 0.6, "{}", apart(100));
}

#[test]
fn a_loss_changes_nothing() {
    let mut rig = Rig::new(HpccParams::default());
    let mut acts = Acts::default();
    let event = FlowEvent::Enter(CaState::Recovery);
    rig.law.step(Time::ZERO, FlowSeen { totals: &rig.totals, event }, &mut acts);
    let window = FlowAct::window(Bytes::new(162_500));
    let expected = [FlowAct::Ssthresh(Bytes::new(162_500)), window, FlowAct::Rate(LINE)];
    assert!(acts.iter().eq(expected), "{acts:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Windows stay between their bounds, and within a round trip a larger U never leaves a larger window.
    #[test]
    fn windows_keep_their_bounds(
        acks in prop::collection::vec((1u64..20_000, 0u64..200_000, 0u64..1_000_000), 2..100),
    ) {
        let mut rig = Rig::new(HpccParams::default());
        for (i, (ns, sent, queue)) in acks.into_iter().enumerate() {
            rig.ack(i as u64 * 1000, Span::from_ns(ns), sent, queue);
            prop_assert!((162.0..=BDP).contains(&rig.law.window), "{}", rig.law.window);
            prop_assert!(rig.law.reference <= BDP && rig.law.u >= 0.0);
            let mut window = |u| {
                rig.law.u = u;
                rig.law.stage = 9;
                rig.law.compute(false);
                rig.law.window
            };
            prop_assert!(window(1.5) <= window(1.2));
            rig.law.stage = 0;
        }
    }
}
