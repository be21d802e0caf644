use super::*;
use crate::testing::{MSS, Rig};
use forebay_units::Span;
use proptest::prelude::*;

const RTT: Span = Span::from_ms(100);

fn bic(delack_comp: DelackComp, segments: u64) -> Rig<Bic> {
    Rig::new(&BicParams { delack_comp, ..BicParams::default() }, segments)
}

/// In avoidance at `cwnd`, the last loss having come at `last_max`.
fn searching(delack_comp: DelackComp, last_max: u64, cwnd: u64) -> Rig<Bic> {
    let mut rig = bic(delack_comp, last_max);
    lose(&mut rig);
    hold(&mut rig, cwnd);
    rig
}

/// In avoidance at this window.
fn hold(rig: &mut Rig<Bic>, cwnd: u64) {
    rig.law.window.set_threshold(cwnd * MSS, &mut Acts::default());
    rig.law.window.set_window(cwnd * MSS, &mut Acts::default());
    rig.cwnd = cwnd as f64;
    rig.fill();
}

fn lose(rig: &mut Rig<Bic>) {
    rig.enter(CaState::Recovery);
    rig.leave(CaState::Recovery);
    rig.fill();
}

/// Windows after each of so many round trips, ACKs covering `k` segments.
fn windows(rig: &mut Rig<Bic>, rounds: usize, k: u64) -> std::vec::Vec<f64> {
    let round = |_| {
        rig.round_in(RTT, k);
        rig.cwnd
    };
    (0..rounds).map(round).collect()
}

extern crate std;

/// Worked out by hand per round trip, which is one ACK for each window. Where every
/// packet is acknowledged, the distance is looked at within the round trip too, and is a few less.
#[test]
fn the_search_from_800_to_1000_takes_its_published_round_trips() {
    for (acked, off) in [(1_000, 1.0), (1, 4.0)] {
        let w = windows(&mut searching(DelackComp::Paper, 1000, 800), 60, acked);
        for (rtt, cwnd) in [(1, 816.0), (9, 944.0), (15, 989.0), (17, 993.0)] {
            assert!(
                (w[rtt - 1] - cwnd).abs() <= off,
                "{rtt} round trips: {} of {cwnd}",
                w[rtt - 1]
            );
        }
        let reached = 1 + w.iter().position(|w| *w >= 1000.0).expect("reached");
        assert!((52..=57).contains(&reached), "{reached} round trips");
    }
}

#[test]
fn beyond_the_last_maximum_it_probes_ever_faster() {
    // Up to last_max + 4 one in five round trips, then (cwnd - last_max) / 3, then 16.
    let mut rig = searching(DelackComp::Paper, 1000, 1000);
    let w = windows(&mut rig, 60, 1);
    assert!((w[9] - 1002.0).abs() <= 1.0 && (w[19] - 1004.0).abs() <= 1.0, "{w:?}");
    let growth = |a: f64, b: f64| b - a;
    let at = w.iter().position(|w| *w >= 1021.0).expect("reached");
    let step = growth(w[at], w[at + 1]);
    assert!((6.0..=10.0).contains(&step), "a third of 21 or a little more: {step}");
    assert!((growth(w[58], w[59]) - 16.0).abs() <= 1.0, "{w:?}");
}

#[test]
fn a_loss_keeps_four_fifths_or_half_of_a_small_window() {
    for (cwnd, kept) in [(1000, 799.0), (100, 79.0), (15, 11.0), (14, 7.0), (5, 2.0), (2, 2.0)] {
        let mut rig = bic(DelackComp::Linux, cwnd);
        lose(&mut rig);
        assert_eq!((rig.cwnd, rig.law.growth.last_max), (kept, cwnd));
    }
}

#[test]
fn fast_convergence_remembers_less_than_was_lost() {
    let mut rig = searching(DelackComp::Linux, 1000, 900);
    lose(&mut rig);
    assert_eq!((rig.cwnd, rig.law.growth.last_max), (719.0, 809), "900 (1024 + 819) / 2048");
    let mut rig = searching(DelackComp::Linux, 1000, 1000);
    lose(&mut rig);
    assert_eq!(rig.law.growth.last_max, 1000, "at the old maximum nothing was lost to anybody");
    let params = BicParams { fast_convergence: false, ..BicParams::default() };
    let mut rig: Rig<Bic> = Rig::new(&params, 1000);
    lose(&mut rig);
    lose(&mut rig);
    assert_eq!(rig.law.growth.last_max, 799);
}

#[test]
fn one_episode_cuts_once_and_remembers_once() {
    let mut rig = bic(DelackComp::Linux, 1000);
    rig.enter(CaState::Cwr);
    rig.enter(CaState::Recovery);
    assert_eq!((rig.ssthresh, rig.law.growth.last_max), (799.0, 1000));
}

#[test]
fn a_timeout_forgets_the_maximum() {
    let mut rig = searching(DelackComp::Paper, 1000, 900);
    rig.enter(CaState::Loss);
    assert_eq!((rig.ssthresh, rig.law.growth.last_max), (719.0, 0));
    rig.leave(CaState::Loss);
    // From the threshold on, at least a twentieth per round trip.
    hold(&mut rig, 720);
    let w = windows(&mut rig, 2, 1);
    assert!((w[0] / 720.0 - 1.05).abs() < 0.005, "{w:?}");
}

#[test]
fn a_small_window_grows_like_reno_whatever_acks_cover() {
    for comp in [DelackComp::Linux, DelackComp::Paper] {
        for k in [1, 2, 10] {
            let w = windows(&mut searching(comp, 100, 10), 5, k);
            assert_eq!(w, [11.0, 12.0, 13.0, 14.0, 15.0], "{comp} {k}");
        }
    }
}

/// Linux's mean starts at two packets per ACK and is worked out in whole sixteenths: 32, then 31, from
/// which one packet per ACK takes nothing more.
#[test]
fn one_packet_per_ack_leaves_the_mean_at_31_sixteenths() {
    let mut rig = bic(DelackComp::Linux, 100);
    (0..100).for_each(|_| rig.ack(MSS, false));
    assert_eq!(rig.law.growth.delayed_ack, 31);
}

/// Two packets per ACK: half as many ACKs as packets.
#[test]
fn slow_start_counts_acks_in_old_kernels() {
    for (comp, after) in
        [(DelackComp::Legacy, 150.0), (DelackComp::Linux, 200.0), (DelackComp::Paper, 200.0)]
    {
        assert_eq!(windows(&mut bic(comp, 100), 1, 2), [after], "{comp}");
    }
}

/// Growth over one round trip in the linear part, 16 by the paper.
#[test]
fn stretch_acks_grow_as_the_switch_says() {
    let growth = |comp, k: u32| {
        let mut rig = searching(comp, 40_000, 8_000);
        rig.law.growth.delayed_ack = 16 * k;
        windows(&mut rig, 1, u64::from(k))[0] - 8_000.0
    };
    for k in [2u32, 8, 44] {
        let linux = growth(DelackComp::Linux, k);
        let expected = 16.0 * f64::from(k);
        assert!((linux / expected - 1.0).abs() < 0.1, "linux, {k}: {linux} of {expected}");
        for comp in [DelackComp::Legacy, DelackComp::Paper] {
            let grown = growth(comp, k);
            assert!((15.0..=17.5).contains(&grown), "{comp}, {k}: {grown}");
        }
    }
}

#[test]
fn the_initial_threshold_ends_slow_start() {
    let params = BicParams { initial_ssthresh: Packets::new(100), ..BicParams::default() };
    let mut rig: Rig<Bic> = Rig::new(&params, 10);
    assert_eq!(rig.ssthresh, 100.0);
    (0..4).for_each(|_| rig.round_in(RTT, 1));
    // The last round trip delivers 80: 20 up to the threshold, 60 at one for each 100 / 16 * 16 / 31 = 3.
    assert_eq!(rig.cwnd, 120.0);
}

/// Within 1/32 s and at one window the divisor stays what it was, in ticks of the kernel's clock.
#[test]
fn the_divisor_is_worked_out_anew_by_the_clock_of_the_kernel() {
    for (hz, stale_ms, fresh_ms) in [(Hz::Thousand, 31, 32), (Hz::Hundred, 39, 40)] {
        let mut rig = searching(DelackComp::Paper, 1000, 800);
        rig.law.growth.params.hz = hz;
        rig.ack(MSS, false);
        let before = rig.law.growth.cnt;
        rig.law.growth.last_max = 803; // as if the search were almost over
        rig.now = Time::ZERO + Span::from_ms(stale_ms);
        rig.ack(MSS, false);
        assert_eq!(rig.law.growth.cnt, before, "{hz}");
        rig.now = Time::ZERO + Span::from_ms(fresh_ms);
        rig.ack(MSS, false);
        assert_eq!(rig.law.growth.cnt, 800 * 20 / 4, "{hz}");
    }
}

/// Lost ACKs are stretch ACKs: what the next one covers is not lost.
#[test]
fn a_lost_ack_loses_no_growth() {
    let mut all = searching(DelackComp::Paper, 1000, 800);
    let mut some = searching(DelackComp::Paper, 1000, 800);
    for _ in 0..400 {
        all.ack(MSS, false);
        all.ack(MSS, false);
        some.ack(2 * MSS, false);
    }
    assert!((all.cwnd - some.cwnd).abs() <= 1.0, "{} {}", all.cwnd, some.cwnd);
}

/// Data beyond a hole counts when it arrives, not when the hole is filled.
#[test]
fn reordering_neither_gains_nor_loses() {
    let mut rig = searching(DelackComp::Paper, 1000, 800);
    rig.totals.state = CaState::Disorder;
    for _ in 0..100 {
        rig.totals.delivered += MSS;
        rig.ack_event(0, false);
    }
    rig.totals.delivered += MSS;
    rig.totals.una += 101 * MSS;
    rig.ack_event(101 * MSS, false);
    assert_eq!((rig.cwnd, rig.law.growth.delayed_ack), (800.0, DELAYED_ACK));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Growth per round trip is never above `max_increment` where the paper says so, whatever the search.
    #[test]
    fn growth_keeps_its_cap(last_max in 200u64..3_000, below in 0u64..150, rounds in 1usize..30) {
        let mut rig = searching(DelackComp::Paper, last_max, last_max - below);
        let mut before = rig.cwnd;
        for w in windows(&mut rig, rounds, 1) {
            // cwnd / 16 is rounded down, so that a window of 15 mod 16 gains up to a sixteenth more.
            prop_assert!((0.0..=18.0).contains(&(w - before)), "{before} to {w}");
            before = w;
        }
    }
}
