//! Flows that share one queue.

use super::*;

fn set(pairs: &[(&str, &str)]) -> FlowParams {
    let mut params = FlowParams::new("nv").expect("registered");
    for (name, text) in pairs {
        params.set(name, text).expect("a value");
    }
    params
}

/// Packets in the queue per flow, and the bytes that each delivered, once `flows` have settled. Round trips are
/// whole microseconds, 100 on an empty path.
///
/// While the link is busy a round trip takes the sum of the windows, so `cwnd (1 - base / rtt)` over all
/// flows is what the windows hold beyond the path. The mean queue has half of the packet in transmission on top.
fn balance(flows: u32, per_packet: Span, pairs: &[(&str, &str)]) -> (f64, Vec<u64>) {
    let base = Span::from_us(100);
    let mut path = Bottleneck::new(base.saturating_sub(per_packet), per_packet);
    (0..flows).for_each(|_| path.join(&set(pairs)));
    path.run(Span::from_ms(300));
    let before = path.delivered();
    let queue = path.run(Span::from_ms(200)) - 0.5;
    let delivered = path.delivered().iter().zip(before).map(|(now, then)| now - then).collect();
    let beyond = path.windows().iter().sum::<f64>() - base.as_secs_f64() / per_packet.as_secs_f64();
    assert!((queue - beyond).abs() < 0.5, "the windows rest: {queue} {beyond}");
    (beyond / f64::from(flows), delivered)
}

/// N flows that know the base RTT hold 8N to 10N packets whatever the rate, here 2.9 and 11.6 Gb/s.
#[test]
fn flows_that_know_the_base_rtt_hold_eight_to_ten_packets_each() {
    for (flows, per_packet) in [(1, 4_000), (4, 4_000), (16, 4_000), (4, 1_000), (16, 1_000)] {
        let (queue, delivered) =
            balance(flows, Span::from_ns(per_packet), &[("base_rtt", "100us")]);
        assert!((8.0..=10.0).contains(&queue), "{flows} at {per_packet} ns: {queue}");
        let capacity = 200_000_000 / per_packet * MSS;
        assert!(delivered.iter().sum::<u64>() * 100 >= capacity * 99, "the link is full");
    }
}

/// RTTs lose up to a microsecond to the clock, which makes the best rate too good by what a flow sends in one.
#[test]
fn the_clock_adds_at_most_what_a_flow_sends_in_a_microsecond() {
    for per_packet in [1_200, 250, 120] {
        let (queue, _) = balance(1, Span::from_ns(per_packet), &[("base_rtt", "100us")]);
        let most = 10.0 + 1_000.0 / per_packet as f64;
        assert!((8.0..=most).contains(&queue), "{per_packet}: {queue}");
    }
}

#[test]
fn a_larger_pad_holds_a_larger_queue() {
    for (pad, most) in [("3", 3.0), ("20", 20.0)] {
        let (queue, _) = balance(1, Span::from_us(1), &[("base_rtt", "100us"), ("pad", pad)]);
        assert!((most - 2.0..=most).contains(&queue), "{pad}: {queue}");
    }
}

/// Three flows, a fifth of a second apart; their windows and the mean queue after so long.
fn joining(pairs: &[(&str, &str)], then: Span) -> (Vec<f64>, f64) {
    let mut path = Bottleneck::new(Span::from_us(99), Span::from_us(1));
    for _ in 0..3 {
        path.join(&set(pairs));
        path.run(Span::from_ms(200));
    }
    path.run(then);
    (path.windows(), path.run(Span::from_ms(100)))
}

/// The best rate is kept until a decision, and between `pad - pad_buffer` and `pad` there is none: without
/// noise a flow at rest never sees that others took half of its rate, and holds far more than the pad.
#[test]
fn a_flow_at_rest_does_not_notice_one_that_joins() {
    let (windows, queue) = joining(&[("base_rtt", "100us")], Span::from_secs(2));
    assert_eq!(windows[0], 110.0, "as when it was alone");
    assert!(windows[1] < 45.0 && windows[2] < 45.0, "{windows:?}");
    assert!(queue > 3.0 * 10.0, "{queue}");
}

/// Renewed while the queue stands, the reference contains it, and each flow adds its pad again.
#[test]
fn without_a_base_rtt_the_queue_grows_with_every_renewal() {
    let often = ("reset_period", "1s");
    let queue = |ms, pairs: &[_]| joining(pairs, Span::from_ms(ms)).1;
    let (early, late) = (queue(100, &[often]), queue(4_000, &[often]));
    assert!(late > early + 20.0, "{early} {late}");
    let known = [often, ("base_rtt", "100us")];
    assert_eq!(queue(100, &known), queue(4_000, &known));
}

/// The slides' variant fills the link too, and holds a queue that the pad bounds up to what BIC adds in the
/// round trip before a decision, `max_increment` by the paper and 31/16 of that in Linux.
#[test]
fn the_slides_fill_the_link_with_a_bounded_queue() {
    let (queue, delivered) = mean_of_slides("6");
    assert!(delivered as f64 > 0.99 * 200_000.0 * MSS as f64, "{delivered}");
    assert!((6.0..6.0 + 31.0).contains(&queue), "{queue}");
    let (larger, _) = mean_of_slides("40");
    assert!((queue + 24.0..queue + 44.0).contains(&larger), "{queue} {larger}");
}

/// One flow of 2010 that meets an empty path: mean queue in packets and bytes in 200 ms.
fn mean_of_slides(pad: &str) -> (f64, u64) {
    let mut path = Bottleneck::new(Span::from_us(99), Span::from_us(1));
    path.join(&set(&[("variant", "2010"), ("pad", pad)]));
    path.run(Span::from_ms(300));
    let before = path.delivered()[0];
    let queue = path.run(Span::from_ms(200));
    (queue, path.delivered()[0] - before)
}
