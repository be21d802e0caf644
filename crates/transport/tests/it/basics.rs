//! The loss-free path: growth, completion, delayed ACKs, limits.

use crate::common::{MSS, Pipe, config};
use forebay_units::{Bytes, Span};

#[test]
fn slow_start_doubles_per_round_trip() {
    for delayed in [false, true] {
        let mut cfg = config("reno");
        cfg.delayed_ack = delayed;
        let rtt = Span::from_ms(1);
        let mut pipe = Pipe::new(cfg, "reno", Bytes::MAX, rtt);
        for k in 1..=8u32 {
            pipe.run_until(pipe.now + rtt);
            let expected = 10 * ((1u64 << k) - 1);
            assert_eq!(pipe.sender.acked().get() / MSS, expected, "after {k} round trips");
        }
    }
}

#[test]
fn a_flow_ends_with_its_last_byte() {
    for size in [1, MSS, MSS + 1, 1_000_000] {
        let mut pipe = Pipe::new(config("reno"), "reno", Bytes::new(size), Span::from_us(100));
        pipe.finish();
        assert!(pipe.receiver.complete());
        assert_eq!(pipe.receiver.delivered().get(), size);
        assert_eq!(pipe.sender.totals().inflight, Bytes::ZERO);
        assert_eq!(pipe.sent.len() as u64, size.div_ceil(MSS));
    }
}
