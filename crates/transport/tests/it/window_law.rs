//! Reno's square-root law: under periodic loss with probability p the mean window is sqrt(1.5 / p)
//! segments, and delayed ACKs do not lower it.

use crate::common::{Fate, MSS, Pipe, config};
use forebay_units::{Bytes, Span, Time};

/// Mean window in segments over a long run in which every `period`th new segment is lost.
fn mean_window(period: u64, delayed: bool) -> f64 {
    let rtt = Span::from_ms(1);
    let mut cfg = config("reno");
    cfg.delayed_ack = delayed;
    let mut fresh = 0u64;
    let mut pipe = Pipe::new(cfg, "reno", Bytes::MAX, rtt).nic(100).data(move |packet, _| {
        if packet.flags.has(forebay_wire::Flags::RETRANSMIT) {
            return Fate::Pass;
        }
        fresh += 1;
        if fresh.is_multiple_of(period) { Fate::Drop } else { Fate::Pass }
    });
    let warm = Time::ZERO + Span::from_ms(400);
    pipe.run_until(warm);
    let acked = pipe.sender.acked();
    let run = rtt * 3_000;
    pipe.run_until(warm + run);
    assert_eq!(pipe.sender.timeouts(), 0);
    assert_eq!(pipe.sender.undos(), 0);
    // A window per round trip; the round trip is the pipe's plus the serialisation of little.
    (pipe.sender.acked().get() - acked.get()) as f64 / MSS as f64 / (run / rtt) as f64
}

/// Mean window by counting round trips of one cycle in whole segments: from h = floor(W/2) the window grows by
/// one per round trip up to W; the round trip in which the loss shows sends what PRR lets go, about h,
/// and does not grow. The continuous law leaves both out, which matters for small windows only.
fn counted(period: u64) -> f64 {
    let cycle = |w: u64| (w / 2..=w).sum::<u64>() + w / 2;
    let top = (2..).find(|w| cycle(w + 1) > period).unwrap();
    let rounds = (top - top / 2 + 2) as f64 + (period - cycle(top)) as f64 / (top + 1) as f64;
    period as f64 / rounds
}

#[test]
fn mean_window_follows_the_square_root_of_loss() {
    for (period, expected) in [(1_000, 38.7), (10_000, 122.5)] {
        for delayed in [false, true] {
            let mean = mean_window(period, delayed);
            println!("period {period}, delayed {delayed}: {mean:.2} of {expected}");
            assert!((mean / expected - 1.0).abs() < 0.1, "{period} {delayed}: {mean}");
        }
    }
}

#[test]
fn small_windows_follow_the_law_in_whole_segments() {
    for delayed in [false, true] {
        let mean = mean_window(100, delayed);
        let expected = counted(100);
        println!("period 100, delayed {delayed}: {mean:.2} of {expected:.2} (continuous: 12.2)");
        assert!((mean / expected - 1.0).abs() < 0.06, "{delayed}: {mean} of {expected}");
    }
}
