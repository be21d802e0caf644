//! Known answers of SIGCOMM 2015, algorithm 1, and the fixed points of CoNEXT 2016.

extern crate std;

use super::*;
use crate::testing::{MSS, Rig};
use proptest::prelude::*;

/// A step in Mb/s.
const DELTA: f64 = 10.0;

fn timely(params: TimelyParams) -> Rig<Timely> {
    let mut rig: Rig<Timely> = Rig::new(&Arc::new(params), 10);
    rig.law.rate = 5e9;
    rig
}

/// One segment whose last packet took so long, in us, beyond its own transmission; returns the rate in Mb/s.
fn sample(rig: &mut Rig<Timely>, us: f64) -> f64 {
    let ps = (us * 1e6) as u64 + (rig.law.serial * 1e12) as u64;
    rig.sample.rtt = Some(Span::from_ps(ps));
    rig.ack(64_000, false);
    rig.law.rate / 1e6
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-4 * b.abs(), "{a} is not {b}");
}

/// Below `t_low` there is no larger step, however often.
#[test]
fn a_short_round_trip_raises_the_rate_by_delta() {
    let mut rig = timely(TimelyParams::default());
    near(sample(&mut rig, 40.0), 5000.0);
    for n in 1..=10 {
        near(sample(&mut rig, 40.0), 5000.0 + DELTA * f64::from(n));
    }
}

/// A gradient of zero, and from the fifth update on five steps at once.
#[test]
fn a_steady_round_trip_raises_it_faster_from_the_fifth_sample_on() {
    let mut rig = timely(TimelyParams::default());
    sample(&mut rig, 100.0);
    for n in 1..=4 {
        near(sample(&mut rig, 100.0), 5000.0 + DELTA * f64::from(n));
    }
    near(sample(&mut rig, 100.0), 5090.0);
    near(sample(&mut rig, 100.0), 5140.0);
    assert!(sample(&mut rig, 120.0) < 5140.0 * 0.31, "0.875: a gradient of 0.875 takes 0.7");
    near(sample(&mut rig, 100.0) / rig.law.rate * 1e6, 1.0);
    assert_eq!(rig.law.stage, 1, "counted anew");
}

/// 1 - 0.8 (1 - 500/1000).
#[test]
fn a_long_round_trip_cuts_by_its_excess() {
    let mut rig = timely(TimelyParams::default());
    sample(&mut rig, 1000.0);
    near(sample(&mut rig, 1000.0), 3000.0);
    near(sample(&mut rig, 1000.0), 1800.0);
}

/// 2 us more each time are a gradient of 0.1 in the end, and 0.92 of the rate. 5 us once are
/// 0.8 * 0.875 * 5/20; after it the smoothed difference stays above zero, and so the rate still falls.
#[test]
fn a_rising_round_trip_cuts_by_its_slope() {
    let mut rig = timely(TimelyParams::default());
    let mut rtt = 60.0;
    let mut rate = sample(&mut rig, rtt);
    for n in 0..20 {
        rtt += 2.0;
        let next = sample(&mut rig, rtt);
        if n > 10 {
            near(next / rate, 0.92);
        }
        rate = next;
    }
    let mut rig = timely(TimelyParams::default());
    sample(&mut rig, 100.0);
    let once = sample(&mut rig, 105.0);
    near(once, 5000.0 * 0.825);
    near(sample(&mut rig, 105.0), once * (1.0 - 0.8 * 0.125 * 0.875 * 0.25));
}

/// One sample per segment, and none from what was sent twice.
#[test]
fn samples_are_a_segment_apart() {
    let mut rig = timely(TimelyParams { segment: Bytes::new(16 * MSS), ..TimelyParams::default() });
    rig.sample.rtt = Some(Span::from_us(30));
    let mut changes = 0;
    for _ in 0..160 {
        rig.ack(MSS, false);
        changes += usize::from(!rig.last.is_empty());
    }
    assert_eq!(changes, 9, "the first of ten only begins");
    rig.sample.rtt = None;
    rig.ack(64 * MSS, false);
    assert!(rig.last.is_empty());
}

/// rdma-hw.cc: a sample when an ACK is beyond what had been sent at the last one, and none in between.
#[test]
fn per_rtt_a_sample_ends_with_all_that_was_sent_before_it() {
    let mut rig = timely(TimelyParams { per: RttSampling::Rtt, ..TimelyParams::default() });
    rig.sample.rtt = Some(Span::from_us(30));
    let mut ack = |una: u64, nxt: u64| {
        (rig.totals.una, rig.totals.nxt) = (una * MSS, nxt * MSS);
        rig.ack_event(MSS, false);
        (rig.law.rate / 1e6).round()
    };
    assert_eq!(ack(1, 40), 5000.0, "the first only begins");
    assert_eq!(ack(39, 80), 5000.0);
    assert_eq!(ack(40, 80), 5000.0, "not beyond it yet");
    assert_eq!(ack(41, 81), 5010.0);
    assert_eq!(ack(81, 90), 5010.0);
    assert_eq!(ack(82, 90), 5020.0);
}

/// timely.h of eRPC: every ACK counts, by the time since the last one in units of `min_rtt`, at most one.
#[test]
fn per_ack_a_step_is_as_large_as_the_time_since_the_last() {
    let mut rig = timely(TimelyParams { per: RttSampling::Ack, ..TimelyParams::default() });
    let mut ack = |us: u64, rtt: f64| {
        rig.now += Span::from_us(us);
        sample(&mut rig, rtt)
    };
    near(ack(1, 40.0), 5000.0);
    near(ack(5, 40.0), 5000.0 + DELTA / 4.0);
    near(ack(20, 40.0), 5000.0 + DELTA * 1.25);
    near(ack(60, 40.0), 5000.0 + DELTA * 2.25);
    // 1 - 0.8 / 4 (1 - 500/1000).
    near(ack(5, 1000.0), 5022.5 * 0.9);
}

/// rdma-hw.cc: five steps of delta, then larger ones, and below `t_low` as well as for gradients; a cut starts the count anew.
#[test]
fn the_simulators_larger_step_is_the_sixth_and_applies_below_t_low() {
    let (hai_below, hai_after) = (true, Count::new(6));
    let mut rig = timely(TimelyParams { hai_below, hai_after, ..TimelyParams::default() });
    sample(&mut rig, 40.0);
    for n in 1..=5 {
        near(sample(&mut rig, 40.0), 5000.0 + DELTA * f64::from(n));
    }
    near(sample(&mut rig, 40.0), 5050.0 + 5.0 * DELTA);
    near(sample(&mut rig, 40.0), 5100.0 + 5.0 * DELTA);
    let cut = sample(&mut rig, 1000.0);
    near(sample(&mut rig, 40.0), cut + DELTA);
}

/// Flows of one queue of 10 Gb/s, each of which samples it whenever it has sent a segment; returns rates in Gb/s and the
/// queue in KB, both as means over the second half.
fn share(params: TimelyParams, starts: &[f64], ms: u32) -> (std::vec::Vec<f64>, f64) {
    let mut rigs: std::vec::Vec<_> = starts.iter().map(|_| timely(params)).collect();
    for (rig, start) in rigs.iter_mut().zip(starts) {
        rig.law.rate = start * 1e9;
    }
    let (mut queue, mut sent) = (0.0f64, std::vec![0.0; starts.len()]);
    let (mut rates, mut held) = (std::vec![0.0; starts.len()], 0.0);
    let (tick, ticks) = (10e-6, ms * 100);
    for now in 0..ticks {
        let offered: f64 = rigs.iter().map(|rig| rig.law.rate).sum();
        queue = (queue + (offered - 10e9) / 8.0 * tick).max(0.0);
        for (i, rig) in rigs.iter_mut().enumerate() {
            sent[i] += rig.law.rate / 8.0 * tick;
            if sent[i] >= 64e3 {
                sent[i] -= 64e3;
                rig.law.sampled(queue * 8.0 / 10e9, 1.0);
            }
            rates[i] += if now >= ticks / 2 { rig.law.rate / 1e9 } else { 0.0 };
        }
        held += if now >= ticks / 2 { queue / 1e3 } else { 0.0 };
    }
    let half = f64::from(ticks / 2);
    (rates.iter().map(|rate| rate / half).collect(), held / half)
}

/// CoNEXT 2016: q* = 62.5 KB (1 + N delta / (beta_p C)), and equal rates from unequal ones.
#[test]
fn patched_flows_share_and_their_queue_grows_with_their_number() {
    let params = TimelyParams { form: Form::Patched, ..TimelyParams::default() };
    let (rates, queue) = share(params, &[7.0, 3.0], 2_000);
    assert!(rates.iter().all(|rate| (rate - 5.0).abs() < 0.1), "{rates:?}");
    assert!((queue / 78.1 - 1.0).abs() < 0.02, "{queue}");
    let (rates, queue) = share(params, &[1.0; 10], 2_000);
    assert!(rates.iter().all(|rate| (rate - 1.0).abs() < 0.02), "{rates:?}");
    assert!((queue / 140.6 - 1.0).abs() < 0.02, "{queue}");
}

/// Plain flows that begin apart stay apart, though not in the same order.
#[test]
fn plain_flows_do_not_become_equal() {
    let (rates, _) = share(TimelyParams::default(), &[7.0, 3.0], 2_000);
    let (most, least) = (rates[0].max(rates[1]), rates[0].min(rates[1]));
    assert!(most > 1.5 * least, "{rates:?}");
    assert!((most + least - 10.0).abs() < 0.5, "{rates:?}");
}

#[test]
fn a_loss_leaves_rate_and_window_alone() {
    let mut rig = timely(TimelyParams::default());
    rig.enter(CaState::Recovery);
    let expected = [FlowAct::Ssthresh(Bytes::MAX), FlowAct::Window(Window::UNBOUNDED)];
    assert!(rig.last.iter().eq(expected));
    assert_eq!(rig.law.rate, 5e9);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// The rate stays within its bounds; above `t_high` it never rises, below `t_low` it never falls.
    #[test]
    fn the_rate_keeps_its_bounds(
        patched in any::<bool>(),
        samples in prop::collection::vec(0.0f64..2_000.0, 1..100),
    ) {
        let form = if patched { Form::Patched } else { Form::Plain };
        let mut rig = timely(TimelyParams { form, ..TimelyParams::default() });
        let mut before = rig.law.rate / 1e6;
        for us in samples {
            let after = sample(&mut rig, us);
            prop_assert!((100.0..=100_000.0).contains(&after), "{after}");
            prop_assert!(us < 501.0 || after <= before);
            prop_assert!(us > 49.0 || after >= before);
            before = after;
        }
    }
}
