//! Known answers of NSDI 2022, algorithms 1 and 2, and the fixed point that follows from them.

extern crate std;

use super::*;
use crate::flow::AckSample;
use proptest::prelude::*;

const T: Span = Span::from_us(20);
const LINE: BitsPerSec = BitsPerSec::from_gbps(100);

/// Bytes of 100 Gb/s in 20 us; beta is a tenth of it.
const BDP: f64 = 250_000.0;
const BETA: f64 = 25_000.0;

struct Rig {
    law: PowerTcp,
    now: Time,
    totals: Totals,
    hop: IntHop,
}

impl Rig {
    fn new(params: PowerTcpParams) -> Self {
        let at = Start { line_rate: LINE, base_rtt: Some(T), ..crate::testing::at(10) };
        let law = PowerTcp::start(&Arc::new(params), at, &mut Acts::default());
        let hop = IntHop { rate: LINE, ..IntHop::default() };
        Self { law, now: Time::ZERO, totals: Totals::default(), hop }
    }

    /// An ACK so long after the last, of a packet sent under this window; its hop has sent so much since and has this queue.
    fn ack(&mut self, gap: Span, sent: f64, queue: f64, old: f64) -> f64 {
        let queue = [self.hop.queue[1], Bytes::new(queue as u64)];
        self.hop = IntHop { passed: gap, sent: Bytes::new(sent as u64), queue, ..self.hop };
        let hops = [self.hop];
        self.acked(&hops, None, old)
    }

    /// An ACK so long after the last, which measured this round-trip time.
    fn rtt(&mut self, gap: Span, rtt: Span, old: f64) -> f64 {
        self.now += gap;
        self.totals.una += 1000;
        self.totals.nxt = self.totals.una;
        self.totals.min_rtt = T;
        self.acked(&[], Some(rtt), old)
    }

    fn acked(&mut self, hops: &[IntHop], rtt: Option<Span>, old: f64) -> f64 {
        let cwnd_at_send = Bytes::new(old as u64);
        let sample = &AckSample { rtt, cwnd_at_send, ..AckSample::default() };
        let acked = Bytes::new(1000);
        let event = FlowEvent::Ack { acked, ece: false, sample, delay: None, hops };
        let mut acts = Acts::default();
        self.law.step(self.now, FlowSeen { totals: &self.totals, event }, &mut acts);
        self.law.window
    }
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-4 * b.abs(), "{a} is not {b}");
}

/// A full link without a queue has a power of one: 0.9 (100,000 + 25,000) + 0.1 250,000 = 137,500 B, paced at
/// 55 Gb/s. The same link with half a product of queue that stands: 1.5.
#[test]
fn a_window_is_what_power_leaves_of_the_old_one() {
    let mut rig = Rig::new(PowerTcpParams::default());
    near(rig.law.window, BDP);
    near(rig.ack(Span::ZERO, 0.0, 0.0, 0.0), BDP); // the first only stores
    near(rig.ack(T, BDP, 0.0, 100_000.0), 137_500.0);
    near(rig.law.power, 1.0);
    let mut rig = Rig::new(PowerTcpParams::default());
    rig.ack(Span::ZERO, 0.0, 125_000.0, 0.0);
    near(rig.ack(T, BDP, 125_000.0, 150_000.0), 0.9 * (100_000.0 + BETA) + 25_000.0);
    near(rig.law.power, 1.5);
}

/// A queue that grows by a product per round trip doubles what comes in: (1 + 1) (1 + 1) = 4. One that drains as fast
/// as the link can has none, though it is full: the window may grow before it is empty, up to what a lone flow holds.
#[test]
fn power_sees_where_a_queue_is_going() {
    let mut rig = Rig::new(PowerTcpParams::default());
    rig.ack(Span::ZERO, 0.0, 0.0, 0.0);
    rig.ack(T, BDP, BDP, 100_000.0);
    near(rig.law.power, 4.0);
    near(rig.ack(T, BDP, 0.0, 100_000.0), BDP + BETA);
    assert!(rig.law.power < 0.01);
}

/// A product of queue drains and nothing comes in: with half the link's rate as the bound, power is 0.5 (0 + 1) and not 0. The same by
/// delay, from 40 to 20 us in 20.
#[test]
fn what_comes_in_counts_as_least_current_at_least() {
    let least_current = Current::new(0.5);
    let params = PowerTcpParams { least_current, ..PowerTcpParams::default() };
    let mut rig = Rig::new(params);
    rig.ack(Span::ZERO, 0.0, BDP, 0.0);
    near(rig.ack(T, BDP, 0.0, 100_000.0), 0.9 * (200_000.0 + BETA) + 0.1 * BDP);
    near(rig.law.power, 0.5);
    let mut rig = Rig::new(PowerTcpParams { form: Form::Delay, ..params });
    rig.rtt(Span::from_us(40), Span::from_us(40), 100_000.0);
    rig.rtt(Span::from_us(20), Span::from_us(20), 100_000.0);
    near(rig.law.power, 0.5);
}

/// Half a round trip moves the smoothed power by half.
#[test]
fn power_is_smoothed_over_a_round_trip() {
    let mut rig = Rig::new(PowerTcpParams::default());
    rig.ack(Span::ZERO, 0.0, 0.0, 0.0);
    rig.ack(T, BDP, 0.0, BDP);
    // Half a product sent, and half a product more in the queue: twice what the link takes, against 1.5.
    rig.ack(T / 2, BDP / 2.0, BDP / 2.0, BDP);
    near(rig.law.power, 0.5 + 0.5 * 2.0 * 1.5);
}

/// Round trips of 30 us on a path of 20: power 1.5. From 20 to 30 us in 30: (1 + 1/3) 1.5 = 2.
#[test]
fn delay_tells_power_too() {
    let params = PowerTcpParams { form: Form::Delay, ..PowerTcpParams::default() };
    let mut rig = Rig::new(params);
    assert!(!rig.law.needs().int);
    near(rig.rtt(Span::from_us(20), Span::from_us(20), 100_000.0), BDP);
    let window = rig.rtt(Span::from_us(30), Span::from_us(30), 100_000.0);
    near(rig.law.power, 2.0);
    near(window, 0.9 * (50_000.0 + BETA) + 0.1 * BDP);
    rig.rtt(Span::from_us(30), Span::from_us(30), 100_000.0);
    near(rig.law.power, 1.5);
    // Within the same round trip: nothing.
    rig.totals.nxt += 5_000;
    let before = rig.rtt(Span::from_us(30), Span::from_us(40), 100_000.0);
    rig.law.by = match rig.law.by {
        RateUpdate::Delay { prev_rtt, prev_at, .. } => {
            RateUpdate::Delay { prev_rtt, prev_at, next: u64::MAX }
        }
        RateUpdate::Hops => unreachable!("by delay"),
    };
    near(rig.rtt(Span::from_us(1), Span::from_us(90), 1000.0), before);
}

/// N equal flows of one port as a fluid, in steps of a twentieth of T: each sends its window per round trip and hears at
/// once of the queue, for packets that left a round trip ago. Returns the queue after each T.
fn queues(flows: usize, window: f64, rounds: usize) -> std::vec::Vec<f64> {
    const STEPS: usize = 20;
    let params = PowerTcpParams { flows: Flows::new(40), ..PowerTcpParams::default() };
    let mut rig = Rig::new(params);
    rig.law.window = window;
    rig.ack(Span::ZERO, 0.0, 0.0, 0.0);
    let mut history = std::vec![window];
    let (mut queue, mut queues) = (0.0f64, std::vec::Vec::new());
    for step in 0..rounds * STEPS {
        let rtt = 1.0 + queue / BDP; // in T
        let offered = rig.law.window * flows as f64 / rtt / STEPS as f64;
        let most = BDP / STEPS as f64;
        let sent = most.min(queue + offered);
        queue = (queue + offered - sent).max(0.0);
        let ago = (rtt * STEPS as f64) as usize;
        let old = history[history.len().saturating_sub(ago).min(history.len() - 1)];
        history.push(rig.ack(T / STEPS as u64, sent, queue, old));
        if step % STEPS == STEPS - 1 {
            queues.push(queue);
        }
    }
    queues
}

/// Windows add up to B T + N beta, so that the queue is N beta: 8 flows at a fortieth of the product each, from
/// either side, and to a fifth within ten round trips.
#[test]
fn the_queue_rests_at_beta_of_each_flow() {
    for window in [60_000.0, 10_000.0] {
        let queue = queues(8, window, 60);
        let rest = 8.0 * BDP / 40.0;
        assert!((queue[59] / rest - 1.0).abs() < 0.01, "{queue:?}");
        assert!((queue[9] / rest - 1.0).abs() < 0.2, "{queue:?}");
    }
}

#[test]
fn without_a_known_path_delay_starts_with_the_transports_window() {
    let at = crate::testing::at(10);
    let params = PowerTcpParams { form: Form::Delay, ..PowerTcpParams::default() };
    let law = PowerTcp::start(&Arc::new(params), at, &mut Acts::default());
    assert_eq!((law.window, law.base), (14_480.0, 0.0));
    let mut rig = Rig { law, ..Rig::new(params) };
    rig.rtt(Span::from_us(30), Span::from_us(30), 14_480.0);
    near(rig.law.base, 20e-6);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Windows stay above nothing and at most where a lone flow rests.
    #[test]
    fn windows_keep_their_bounds(
        acks in prop::collection::vec((1u64..50_000, 0u32..500_000, 0u32..2_000_000, 0u32..500_000), 2..100),
    ) {
        let mut rig = Rig::new(PowerTcpParams::default());
        for (ns, sent, queue, old) in acks {
            let window = rig.ack(Span::from_ns(ns), f64::from(sent), f64::from(queue), f64::from(old));
            prop_assert!((1.0..=BDP + BETA + 1.0).contains(&window), "{window}");
            prop_assert!(rig.law.power >= 0.0);
        }
    }
}
