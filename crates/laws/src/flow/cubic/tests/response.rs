//! What a law makes of losses: mean windows under a loss of one packet in 1/p, and shares of flows that lose
//! together.

use super::*;

/// Mean window over time of a flow that loses one packet in `1/p`, acknowledged once per round trip, beginning
/// with a loss at `peak`. It is near the answer: with such regular losses the curve comes to rest slowly.
fn mean_window(pairs: &[(&str, &str)], peak: u64, rtt: Span, one_in: u64) -> f64 {
    // A single flow has no other flow to make room for, and regular losses would make it do so by a hair.
    let mut all = std::vec![("fast_convergence", "false")];
    all.extend(pairs);
    let mut rig = cubic(&all, peak);
    lose(&mut rig);
    let (mut area, mut rounds, mut losses) = (0.0, 0.0, 0);
    let mut next = rig.totals.delivered / MSS + one_in;
    while losses < 60 {
        run(&mut rig, rtt, rtt, u64::MAX / MSS);
        area += rig.cwnd;
        rounds += 1.0;
        if rig.totals.delivered / MSS >= next {
            next += one_in;
            losses += 1;
            lose(&mut rig);
        }
    }
    area / rounds
}

/// RFC 9438 section 5.1: 1.054 (RTT / p)^(3/4) packets, 0.925 of the window at each loss.
#[test]
fn the_mean_window_under_loss_is_that_of_the_standard() {
    let rtt = Span::from_ms(100);
    for form in FORMS {
        for (one_in, peak, expected) in [(1_000_000, 6407, 5926.0), (10_000, 203, 187.0)] {
            let mean = mean_window(&[("form", form)], peak, rtt, one_in);
            assert!((mean / expected - 1.0).abs() < 0.03, "{form}, 1 in {one_in}: {mean}");
        }
    }
}

/// Where time is short the window is Reno's: AIMD(0.529, 0.7) has Reno's response, sqrt(1.5 / p).
///
/// The kernel looks at the Reno-like flow when the window changed or 1/32 s passed. A window that rests,
/// as after a loss, so waits 32 round trips of a millisecond and then catches up: a sixth is lost to it.
#[test]
fn short_round_trips_get_the_window_of_reno() {
    let rtt = Span::from_ms(1);
    for (form, expected) in [("rfc9438", 122.5), ("linux", 104.5)] {
        let mean = mean_window(&[("form", form)], 144, rtt, 10_000);
        assert!((mean / expected - 1.0).abs() < 0.02, "{form}: {mean}");
        let alone = mean_window(&[("form", form), ("tcp_friendliness", "false")], 144, rtt, 10_000);
        assert!(alone < 0.5 * mean, "{form}: {alone} without the Reno-like flow");
    }
}

/// Windows depend on time alone: flows that lose together hold the same whatever their RTT, so that rates go as
/// 1 / RTT, 10 to 1 here, where Reno's go as its square.
#[test]
fn windows_of_flows_that_lose_together_do_not_depend_on_their_rtt() {
    for form in FORMS {
        // Without what compares windows of two losses, which a hair decides.
        let alone = [("form", form), ("tcp_friendliness", "false"), ("fast_convergence", "false")];
        let (mut near, mut far) = (cubic(&alone, 1_000), cubic(&alone, 1_000));
        for epoch in 0..20 {
            lose(&mut near);
            lose(&mut far);
            let span = Span::from_secs(8 + epoch % 5);
            run(&mut near, span, Span::from_ms(20), u64::MAX / MSS);
            run(&mut far, span, Span::from_ms(200), u64::MAX / MSS);
            let ratio = near.cwnd / far.cwnd;
            assert!((ratio - 1.0).abs() < 0.03, "{form}, {epoch}: {} {}", near.cwnd, far.cwnd);
        }
    }
}

/// The Reno-like flow adds 8/15 of a segment per round trip in Linux, for good; in the standard 0.529 until it is
/// back at the window before the loss, then 1.
#[test]
fn the_reno_like_flow_adds_half_a_segment_and_in_the_standard_one_beyond_the_loss() {
    // From 700 to 1000 in 570 round trips of a millisecond; K is 9 s, so the curve itself adds little.
    let growth = |form, from: usize, to: usize| {
        let mut rig = cubic(&[("form", form)], 1000);
        lose(&mut rig);
        let windows: Vec<_> = (0..=to)
            .map(|_| {
                run(&mut rig, Span::from_ms(1), Span::from_ms(1), 1);
                rig.cwnd
            })
            .collect();
        (windows[to] - windows[from]) / (to - from) as f64
    };
    for (form, from, to, expected) in [
        ("linux", 64, 544, 8.0 / 15.0),
        ("rfc9438", 64, 544, 0.529),
        ("linux", 640, 1120, 8.0 / 15.0),
        ("rfc9438", 640, 1120, 1.0),
    ] {
        let grown = growth(form, from, to);
        assert!((grown / expected - 1.0).abs() < 0.06, "{form}, {from}: {grown} of {expected}");
    }
}
