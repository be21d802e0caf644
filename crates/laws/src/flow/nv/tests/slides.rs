//! The variant of 2010.

use super::*;

const SLIDES: (&str, &str) = ("variant", "2010");

fn state(rig: &Rig<Nv>) -> &Slopes {
    match &rig.law.form {
        Form::Slides(nv) => nv,
        Form::Mainline(_) => panic!("these tests are of the slides"),
    }
}

/// Largest slope 1 / 100 us; then 100 packets in 200 us, 50 of which the empty path would hold.
fn congested(pairs: &[(&str, &str)]) -> Rig<Nv> {
    let mut all = std::vec![SLIDES];
    all.extend(pairs);
    let mut rig = nv(&all, 100);
    under_way(&mut rig);
    sample(&mut rig, 100, 1);
    rig
}

#[test]
fn a_share_of_what_exceeds_the_prediction_goes_after_twenty_samples() {
    // pred_cwnd = 50; 100 is more than 50 + 6; (100 - 50) * 38 / 128 = 14. The first sample is one of the 20.
    let mut rig = congested(&[]);
    assert_eq!(samples_until_change(&mut rig, 200, 100), Some(19));
    assert_eq!((rig.cwnd, rig.ssthresh), (86.0, 56.0));
    assert!(!state(&rig).allowed);
}

#[test]
fn pad_share_bound_and_gates_can_be_set() {
    for (name, value, samples, cwnd) in [
        ("pad", "49", Some(19), 86.0),
        ("pad", "50", None, 100.0),
        ("cong_dec_mult", "64", Some(19), 75.0),
        ("min_cwnd", "95", Some(19), 95.0),
        ("decision_samples", "5", Some(4), 86.0),
        ("decision_rtts", "40", Some(40), 86.0), // the first begins them,
    ] {
        let mut rig = congested(&[(name, value)]);
        assert_eq!(samples_until_change(&mut rig, 200, 100), samples, "{name} = {value}");
        assert_eq!(rig.cwnd, cwnd, "{name} = {value}");
    }
}

#[test]
fn without_a_queue_bic_may_grow() {
    let mut rig = congested(&[]);
    samples_until_change(&mut rig, 200, 100);
    rig.totals.cwnd_limited = true;
    // 86 packets in 100 us: the path holds them all. Decided after 20 samples, then grown by BIC.
    let grown = samples_until_change(&mut rig, 100, 86).expect("grows");
    assert!(state(&rig).allowed && (20..=30).contains(&grown), "{grown}");
    assert_eq!(rig.cwnd, 87.0);
}

/// rate / in flight is 1 / RTT: what was in flight does not matter, so the least RTT is all that is kept.
#[test]
fn the_largest_slope_is_the_inverse_of_the_least_rtt() {
    let mut rig = nv(&[SLIDES], 100);
    under_way(&mut rig);
    for (rtt, packets, least) in [(200, 100, 200), (300, 1, 200), (100, 1, 100), (100, 100, 100)] {
        sample(&mut rig, rtt, packets);
        assert_eq!(state(&rig).least_rtt, least);
    }
}

#[test]
fn the_slope_is_forgotten_every_refresh() {
    let mut rig = congested(&[("slope_refresh", "1s")]);
    rig.now = Time::ZERO + Span::from_ms(999);
    sample(&mut rig, 200, 100);
    assert_eq!(state(&rig).least_rtt, 100);
    rig.now = Time::ZERO + Span::from_secs(1);
    sample(&mut rig, 200, 100);
    assert_eq!(state(&rig).least_rtt, 200);
    assert_eq!(state(&rig).max_rate, 100 * MSS * 1_000_000 / 200, "from the same time on");
    // A queue that stood through the refresh is part of the path now: nothing is cut.
    assert_eq!(samples_until_change(&mut rig, 200, 100), None);
}

/// The best rate decides: one sample in twenty that saw a fast moment hides the queue of the others.
#[test]
fn one_lucky_sample_hides_a_queue() {
    let mut rig = congested(&[]);
    sample(&mut rig, 110, 100);
    assert_eq!((0..18).map(|_| sample(&mut rig, 200, 100)).count(), 18);
    assert_eq!(rig.cwnd, 98.0, "pred_cwnd is 90 instead of 50: 10 * 38 / 128 = 2");
}

#[test]
fn loss_is_bics() {
    let mut rig = congested(&[]);
    rig.enter(CaState::Recovery);
    assert_eq!(rig.ssthresh, 79.0);
    rig.leave(CaState::Recovery);
    assert_eq!(rig.cwnd, 79.0);
    let mut rig = nv(&[SLIDES], 10);
    rig.enter(CaState::Recovery);
    assert_eq!(rig.ssthresh, 5.0, "a small window is halved");
}

/// Round trips of 200 us, as in `congested`: all of the other 100 us on the way back, or all of them on the way there.
#[test]
fn a_queue_of_acks_is_none_where_the_way_back_is_taken_out() {
    let at = |rig: &mut Rig<Nv>, forward: u64, back: u64| {
        let [forward, backward] = [forward, back].map(Span::from_us);
        rig.delay = Some(DelaySplit { forward, backward, ..DelaySplit::default() });
    };
    for (reverse, forward, cut) in
        [("counted", 50, Some(19)), ("removed", 50, None), ("removed", 150, Some(19))]
    {
        let mut rig = nv(&[SLIDES, ("reverse_delay", reverse)], 100);
        under_way(&mut rig);
        at(&mut rig, 50, 50);
        sample(&mut rig, 100, 1);
        at(&mut rig, forward, 200 - forward);
        assert_eq!(samples_until_change(&mut rig, 200, 100), cut, "{reverse} {forward}");
    }
    // Clocks that differ by 7 s move from one part to the other what no RTT shows.
    let mut rig = nv(&[SLIDES, ("reverse_delay", "removed")], 100);
    for (forward, back) in [(50, 50), (60, 90), (50, 40)] {
        rig.delay = Some(DelaySplit { forward: Span::from_us(forward), ..DelaySplit::default() });
        sample(&mut rig, forward + back, 1);
    }
    assert_eq!(state(&rig).least_rtt, 90, "the least way there and the least way back");
}
