//! Known answers of HandleAckDctcp in rdma-hw.cc of the public HPCC simulator.

extern crate std;

use super::*;
use crate::flow::AckSample;
use proptest::prelude::*;

const MTU: u64 = 1000;

/// A flow of 100 Gb/s whose path has 13 us, so that a step is 1 KB per 13 us.
struct Rig {
    law: DctcpRate,
    totals: Totals,
    last: Acts<FlowAct>,
}

impl Rig {
    fn new(params: DctcpRateParams) -> Self {
        let at = Start { mss: Bytes::new(MTU), ..crate::testing::at(10) };
        let mut last = Acts::default();
        let law = DctcpRate::start(&Arc::new(params), at, &mut last);
        Self { law, totals: Totals { nxt: 10 * MTU, ..Totals::default() }, last }
    }

    /// An ACK up to packet `una`, while packets up to `nxt` have been sent; returns the rate in Mb/s.
    fn ack(&mut self, una: u64, nxt: u64, ece: bool) -> f64 {
        (self.totals.una, self.totals.nxt) = (una * MTU, nxt * MTU);
        let sample = &AckSample::default();
        let acked = Bytes::new(MTU);
        let event = FlowEvent::Ack { acked, ece, sample, delay: None, hops: &[] };
        self.event(event);
        self.law.rate / 1e6
    }

    fn event(&mut self, event: FlowEvent<'_>) {
        self.last = Acts::default();
        self.law.step(Time::ZERO, FlowSeen { totals: &self.totals, event }, &mut self.last);
    }
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9 * b.abs(), "{a} is not {b}");
}

/// 1,000 B in 13 us: 615.38 Mb/s, the script's 615.
const STEP: f64 = 8e3 / 13.0;

/// Round trips of ten packets without a mark, from half the link's rate. The first begins with the first ACK and is one too.
#[test]
fn a_round_trip_without_marks_adds_a_segment_per_rtt() {
    let mut rig = Rig::new(DctcpRateParams::default());
    rig.law.rate = 50e9;
    near(rig.ack(1, 10, false), 50_000.0 + STEP);
    for una in 2..=10 {
        near(rig.ack(una, una + 10, false), 50_000.0 + STEP);
    }
    near(rig.ack(11, 21, false), 50_000.0 + 2.0 * STEP);
    let set = DctcpRateParams {
        r_ai: Rate(Some(BitsPerSec::new(1_000_000_000))),
        ..DctcpRateParams::default()
    };
    let mut rig = Rig::new(set);
    rig.law.rate = 50e9;
    near(rig.ack(1, 10, false), 51_000.0);
}

/// Alpha is one: the first mark halves. Until packet 14, the newest sent by then, is acknowledged nothing cuts and nothing grows.
/// The round trip up to packet 10 has 11 packets by the estimate and 6 marks, so that alpha is 15/16 + 1/16 6/11 and
/// the next cut, with the first marked ACK beyond 14, takes half of that.
#[test]
fn a_mark_cuts_once_per_round_trip_by_half_of_alpha() {
    let mut rig = Rig::new(DctcpRateParams::default());
    let start = 100_000.0;
    near(rig.ack(1, 10, false), start);
    for una in 2..=4 {
        near(rig.ack(una, 10 + una, false), start);
    }
    near(rig.ack(4, 14, true), start / 2.0);
    for una in 5..=9 {
        near(rig.ack(una, 10 + una, true), start / 2.0);
    }
    near(rig.ack(10, 20, false), start / 2.0);
    near(rig.ack(11, 21, false), start / 2.0);
    let alpha = 15.0 / 16.0 + 6.0 / 11.0 / 16.0;
    near(rig.law.alpha, alpha);
    near(rig.ack(14, 24, true), start / 2.0);
    near(rig.ack(15, 25, true), start / 2.0 * (1.0 - alpha / 2.0));
    // Acknowledged up to 21: that is no more than the round trip's end, 22 is. The reduction lasts until 26.
    near(rig.ack(22, 32, false), start / 2.0 * (1.0 - alpha / 2.0));
    near(rig.law.alpha, alpha * 15.0 / 16.0 + 2.0 / 11.0 / 16.0);
    near(rig.ack(33, 43, false), start / 2.0 * (1.0 - alpha / 2.0) + STEP);
}

/// The window is B T times the rate's share of the link's.
#[test]
fn the_window_follows_the_rate() {
    let windows = |window| {
        let mut rig = Rig::new(DctcpRateParams { window, ..DctcpRateParams::default() });
        let of = |acts: &Acts<FlowAct>| {
            acts.iter().find_map(|act| match act {
                FlowAct::Window(Window::UNBOUNDED) => Some(0),
                FlowAct::Window(window) => Some(window.bytes().get()),
                _ => None,
            })
        };
        let start = of(&rig.last);
        rig.ack(1, 10, true);
        (start, of(&rig.last))
    };
    assert_eq!(windows(Cap::Variable), (Some(162_500), Some(81_250)));
    assert_eq!(windows(Cap::Fixed), (Some(162_500), None));
    assert_eq!(windows(Cap::None), (Some(0), None));
}

#[test]
fn a_loss_leaves_rate_and_window_alone() {
    let mut rig = Rig::new(DctcpRateParams::default());
    rig.event(FlowEvent::Enter(CaState::Recovery));
    let window = FlowAct::window(Bytes::new(162_500));
    assert!(rig.last.iter().eq([FlowAct::Ssthresh(Bytes::MAX), window]), "{:?}", rig.last);
    near(rig.law.rate, 100e9);
}

/// Flows of one port of 100 Gb/s that marks above 300 KB, in steps of 1 us with an echo 13 us later: from unequal rates to equal ones
/// within a tenth. They cut together and climb back by 2.46 Gb/s per round trip, so that the queue runs empty at times: the port
/// carries 98.4 %.
#[test]
fn flows_share_a_port_that_marks() {
    let mut rigs: std::vec::Vec<_> = (0..4).map(|_| Rig::new(DctcpRateParams::default())).collect();
    for (rig, gbps) in rigs.iter_mut().zip([70.0, 20.0, 7.0, 3.0]) {
        rig.law.rate = gbps * 1e9;
    }
    let (mut queue, mut acked) = (0.0f64, [0.0f64; 4]);
    let mut marks = std::collections::VecDeque::from(std::vec![false; 13]);
    let (mut sums, mut carried) = ([0.0; 4], 0.0);
    let steps = 100_000;
    for step in 0..steps {
        let offered: f64 = rigs.iter().map(|rig| rig.law.rate / 8e6).sum();
        let sent = (queue + offered).min(12_500.0);
        queue += offered - sent;
        marks.push_back(queue > 300e3);
        let ece = marks.pop_front().expect("thirteen of them");
        for (i, rig) in rigs.iter_mut().enumerate() {
            acked[i] += rig.law.rate / 8e6 / MTU as f64;
            let una = acked[i] as u64;
            let flight = (rig.law.rate / 8e6 * (13.0 + queue / 12_500.0)) as u64 / MTU;
            if una * MTU > rig.totals.una {
                rig.ack(una, una + flight, ece);
            }
            sums[i] += if step > steps / 2 { rig.law.rate / 1e9 } else { 0.0 };
        }
        carried += if step > steps / 2 { sent } else { 0.0 };
    }
    let half = f64::from(steps / 2);
    let shares: std::vec::Vec<f64> = sums.iter().map(|sum| sum / half).collect();
    assert!(shares.iter().all(|share| (22.5..=27.5).contains(share)), "{shares:?}");
    assert!(carried / half > 0.98 * 12_500.0, "{}", carried / half);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Alpha is a share, the rate is within its bounds, and only a mark lowers it.
    #[test]
    fn alpha_and_rate_keep_their_bounds(
        acks in prop::collection::vec((1u64..50, 0u64..100, any::<bool>()), 1..200),
    ) {
        let mut rig = Rig::new(DctcpRateParams::default());
        let (mut una, mut before) = (0, 100_000.0);
        for (more, flight, ece) in acks {
            una += more;
            let rate = rig.ack(una, una + flight, ece);
            prop_assert!((100.0..=100_000.0).contains(&rate) && (0.0..=1.0).contains(&rig.law.alpha));
            prop_assert!(ece || rate >= before);
            before = rate;
        }
    }
}
