//! Known answers of Swift (SIGCOMM 2020), section 3.

use super::*;
use crate::testing::{MSS, Rig};
use proptest::prelude::*;

fn us(n: u64) -> Span {
    Span::from_us(n)
}

/// A target of 50 us, whatever the window.
fn fixed() -> SwiftParams {
    SwiftParams { base_target: us(50), flow_scaling: false, ..SwiftParams::default() }
}

fn swift(params: SwiftParams, segments: u64) -> Rig<Swift> {
    let mut rig = Rig::new(&Arc::new(params), segments);
    rig.totals.srtt = us(60);
    rig
}

/// One ACK of a segment, so long after the last, which found these delays. Returns the window in packets.
fn ack(rig: &mut Rig<Swift>, wait: u64, fabric: u64, hosts: u64) -> f64 {
    rig.now += us(wait);
    rig.delay =
        Some(DelaySplit { forward: us(fabric), remote_host: us(hosts), ..DelaySplit::default() });
    rig.ack(MSS, false);
    rig.cwnd
}

fn gap(rig: &Rig<Swift>) -> Option<Span> {
    rig.last.iter().find_map(|act| match act {
        FlowAct::Gap(gap) => Some(gap),
        _ => None,
    })
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 2e-5 * b.abs().max(1.0), "{a} is not {b}");
}

/// With `fs_range` 100 us.
#[test]
fn the_target_follows_the_window() {
    let mut rig = swift(SwiftParams::default(), 10);
    for (cwnd, more) in
        [(0.1, 100.0), (0.25, 62.0), (1.0, 29.4), (4.0, 13.1), (10.0, 7.06), (100.0, 0.0)]
    {
        rig.law.fabric.cwnd = cwnd;
        let target = rig.law.target(0) * 1e6;
        assert!((target - 20.0 - more).abs() < 0.05, "{cwnd}: {target}");
    }
    for (cwnd, more) in [(0.001, 100.0), (1000.0, 0.0)] {
        rig.law.fabric.cwnd = cwnd;
        near(rig.law.target(0) * 1e6, 20.0 + more);
    }
    near(rig.law.target(4) * 1e6, 20.0 + 4.0 * 3.05);
}

/// Beta 0.8. Delay 100 us: 1 - 0.8 (100-50)/100 = 0.6, so 10 packets become 6; at once again:
/// nothing, it is within one round trip. Delay 250 us: 1 - 0.8 200/250 = 0.36, limited to 0.5: 3 packets.
/// From 0.25 packets, 100 us: 0.15 packets, and a gap of 60 us / 0.15 = 400 us. Below one packet an ACK of one
/// adds a whole one: 0.15 + 1.
#[test]
fn cuts_follow_the_delay_down_to_parts_of_a_packet() {
    let mut rig = swift(fixed(), 10);
    near(ack(&mut rig, 60, 100, 0), 6.0);
    near(ack(&mut rig, 1, 100, 0), 6.0);
    near(ack(&mut rig, 60, 250, 0), 3.0);
    assert_eq!(gap(&rig), None);
    rig.law.fabric.cwnd = 0.25;
    near(ack(&mut rig, 60, 100, 0), 0.15);
    let apart = gap(&rig).expect("paced").as_ps();
    assert!(apart.abs_diff(400_000_000) < 1_000, "{apart}");
    near(ack(&mut rig, 1, 40, 0), 1.15);
    assert_eq!(gap(&rig), Some(Span::ZERO));
    ack(&mut rig, 1, 40, 0);
    assert_eq!(gap(&rig), None, "said once");
}

/// Ten packets acknowledged at ten packets add one, and a delay at the target is no room.
#[test]
fn a_window_gains_ai_per_round_trip_below_its_target() {
    let mut rig = swift(fixed(), 10);
    let mut expected = 10.0;
    for _ in 0..10 {
        expected += 1.0 / expected;
        near(ack(&mut rig, 1, 49, 0), expected);
    }
    assert!((expected - 10.95).abs() < 0.01, "{expected}");
    near(ack(&mut rig, 1, 50, 0), expected);
}

/// The lesser of both windows holds; the hosts' delay is smoothed with 1/8, from its first sample on.
#[test]
fn hosts_have_a_window_of_their_own() {
    let mut rig = swift(fixed(), 10);
    // Hosts at 80, then 240 us: 80 + 160/8 = 100 us, at the target: no growth and a cut by nothing.
    ack(&mut rig, 60, 10, 80);
    near(ack(&mut rig, 1, 10, 240), 10.1);
    // Again: 117.5 us; 1 - 0.8 17.5/117.5.
    near(ack(&mut rig, 60, 10, 240), 10.1 * (1.0 - 0.8 * 17.5 / 117.5));
    assert!(rig.law.fabric.cwnd > 10.2, "the fabric's grew: {}", rig.law.fabric.cwnd);
}

#[test]
fn a_loss_halves_once_per_round_trip_and_an_undo_gives_back() {
    let mut rig = swift(fixed(), 16);
    rig.now += us(60);
    rig.enter(CaState::Recovery);
    assert_eq!((rig.cwnd, rig.ssthresh), (8.0, 8.0));
    rig.now += us(10);
    rig.enter(CaState::Loss);
    assert_eq!(rig.cwnd, 8.0, "the same round trip");
    rig.event(FlowEvent::Undo);
    assert_eq!(rig.cwnd, 16.0);
    rig.now += us(60);
    rig.enter(CaState::Recovery);
    rig.leave(CaState::Recovery);
    rig.event(FlowEvent::Undo);
    assert_eq!(rig.cwnd, 8.0, "what was left is not undone");
}

/// Five timeouts without an ACK between them leave a thousandth of a packet; PRR is given a whole one.
#[test]
fn timeouts_in_a_row_leave_the_least_window() {
    let mut rig = swift(fixed(), 64);
    for expected in [32.0, 16.0, 8.0, 4.0] {
        rig.now += us(60);
        rig.enter(CaState::Loss);
        assert_eq!(rig.cwnd, expected);
    }
    rig.delay = None;
    rig.ack(MSS, false);
    assert_eq!((rig.cwnd, rig.law.timeouts), (4.0, 0), "no delay, no growth");
    for _ in 0..5 {
        rig.enter(CaState::Loss);
    }
    near(rig.cwnd, 0.001);
    assert_eq!(rig.ssthresh, 1.0);
}

/// N flows of one queue that serves a packet in so many us, all of whose ACKs come each round trip. They settle at
/// windows of rate times target over N.
#[test]
fn equal_flows_settle_at_the_target() {
    for (flows, per_packet, cwnd, over) in [(10, 0.328, 15.3, 3.3), (1000, 0.328, 0.153, 328.0)] {
        let params = SwiftParams { max_cwnd: Packets::new(100.0), ..fixed() };
        let mut rig = swift(params, 10);
        let (mut sum, mut rounds, mut most) = (0.0, 0.0, 0.0f64);
        for round in 0..4000 {
            let delay = (f64::from(flows) * rig.law.cwnd() * per_packet).max(20.0);
            rig.totals.srtt = Span::from_ns((delay * 1e3) as u64);
            rig.now += rig.totals.srtt;
            let newly = (rig.law.cwnd() * MSS as f64) as u64;
            rig.delay = Some(DelaySplit { forward: rig.totals.srtt, ..DelaySplit::default() });
            rig.ack(newly.max(1), false);
            if round >= 1000 {
                sum += rig.law.cwnd();
                rounds += 1.0;
                most = most.max(delay);
            }
        }
        assert!(most <= 50.0 + over, "{flows}: overshoot to {most} us");
        let mean: f64 = sum / rounds;
        let least = cwnd * if flows == 10 { 0.9 } else { 0.5 };
        assert!((least..=cwnd * 1.1).contains(&mean), "{flows}: {mean} packets");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// The target falls with the window and stays within its range; no round trip cuts by more than
    /// `max_mdf`, and longer delays never leave a larger window.
    #[test]
    fn longer_delays_leave_less(
        cwnd in 0.001f64..1000.0, more in 1.0f64..10.0, delay in 1u64..5_000, longer in 0u64..5_000,
    ) {
        let mut rig = swift(SwiftParams::default(), 10);
        rig.law.fabric.cwnd = cwnd;
        let mut target = |cwnd| {
            rig.law.fabric.cwnd = cwnd;
            rig.law.target(0)
        };
        let (here, there) = (target(cwnd), target((cwnd * more).min(1000.0)));
        prop_assert!(there <= here && (20e-6..=120.001e-6).contains(&here));
        let after = |delay| {
            let mut rig = swift(SwiftParams::default(), 10);
            rig.law.fabric.cwnd = cwnd;
            ack(&mut rig, 60, delay, 0);
            rig.law.fabric.cwnd
        };
        let (short, long) = (after(delay), after(delay + longer));
        prop_assert!(long <= short);
        prop_assert!(long >= (0.5 * cwnd).max(0.001) - 1e-12);
    }
}
