//! Wraps, idleness, other ways.

use super::*;
use forebay_units::random::{Purpose, Stream};
use forebay_units::{BitsPerSec, Bytes};

const RATE: BitsPerSec = BitsPerSec::from_gbps(100);
const BYTE: u64 = 80; // ps
const MS: u64 = 1_000_000_000; // ps

fn rates() -> Rates {
    Rates::covering([BitsPerSec::from_gbps(10), BitsPerSec::from_gbps(40)]).unwrap()
}

/// What a port of 100 Gb/s says at `at` ps, having sent `bytes`.
fn word(at: u64, bytes: u64, queue: u64) -> u64 {
    let span = |bytes: u64| Span::from_ps(bytes * BYTE);
    Hop::new(2, Time::from_ps(at), span(bytes), span(queue)).word()
}

/// An ACK that arrives `delay` ps after its data left the port.
fn ack(all: &mut Telemetry, at: u64, delay: u64, bytes: u64) -> Option<IntHop> {
    read(all, at + delay, &[word(at, bytes, 0)]).first().copied()
}

fn read(all: &mut Telemetry, now: u64, words: &[u64]) -> Vec<IntHop> {
    all.read(&rates(), Time::from_ps(now), words, &mut Heard::default()).to_vec()
}

#[test]
fn changes_neither_wrap_nor_drift() {
    for seed in 0..20 {
        let mut rng = Stream::new(seed, 0, Purpose::Test);
        let mut all = Telemetry::default();
        let (mut at, mut bytes) = (rng.below(100 * MS), rng.below(1 << 40));
        let began = (at, bytes);
        let first = ack(&mut all, at, 0, bytes).unwrap();
        assert!(!first.is_known());
        let (mut passed, mut sent) = (0, 0);
        for _ in 0..2_000 {
            // Gaps of up to 40 ms, most of them short; any part of the wire is used.
            let gap = rng.below(40 * MS) >> rng.below(20);
            let part = if rng.below(3) == 0 { gap } else { rng.below(gap + 1) };
            at += gap;
            bytes += part / BYTE;
            let delay = rng.below(6 * MS);
            let got = ack(&mut all, at, delay, bytes);
            let Some(hop) = got else {
                assert!(gap < 1_000, "a nanosecond has passed");
                continue;
            };
            passed += hop.passed.as_ps();
            sent += hop.sent.get();
            assert!(passed.abs_diff(at - began.0) < 1_000, "at {at}");
            assert!(sent.abs_diff(bytes - began.1) < 512, "sent {bytes}");
            assert_eq!(hop.rate, RATE);
        }
        assert!(at - began.0 > 100 * MS, "both have wrapped often");
    }
}

#[test]
fn a_queue_is_told_in_its_units() {
    let mut all = Telemetry::default();
    let of_10 = |at_ns, queue| Hop { code: 5, at_ns, queue, ..Hop::default() }.word();
    read(&mut all, 0, &[word(0, 0, 1_000), of_10(0, 3)]);
    let hops = read(&mut all, MS, &[word(MS, 0, 650), of_10(1_000_000, 7)]);
    let queues: Vec<_> = hops.iter().map(|hop| hop.queue.map(Bytes::get)).collect();
    assert_eq!(queues, [[960, 640], [96, 224]], "units of 320 B and of 32 B");
    assert_eq!(hops[1].rate, BitsPerSec::from_gbps(10));
}

#[test]
fn after_long_idleness_the_next_ack_is_a_first_one() {
    let mut all = Telemetry::default();
    ack(&mut all, 0, 0, 0).unwrap();
    ack(&mut all, MS, 0, 5_000_000).unwrap();
    // Its time stamp has wrapped, but not what can have been sent meanwhile.
    let after = ack(&mut all, 41 * MS, 0, 5_000_000 + 400_000_000).unwrap();
    assert_eq!(after.passed, Span::from_ms(40));
    assert!(after.sent.get().abs_diff(400_000_000) < 512);
    // Beyond that the number of wraps is unknown.
    assert_eq!(ack(&mut all, 84 * MS, 0, 405_000_000 + (512 << 20)), None);
    let again = ack(&mut all, 85 * MS, 0, 406_000_000 + (512 << 20)).unwrap();
    assert_eq!(again.passed, Span::from_ms(1));
    assert!(again.sent.get().abs_diff(1_000_000) < 512);
}

#[test]
fn more_than_fits_came_another_way() {
    let mut all = Telemetry::default();
    ack(&mut all, 0, 0, 1_000_000).unwrap();
    // 10 us of wire are 125,000 B, half as many again under a clock of whole ns, and rounding may add less than a unit.
    assert!(ack(&mut all, 10_000_000, 0, 1_187_500).is_some());
    assert_eq!(ack(&mut all, 20_000_000, 0, 1_376_100), None);
    assert!(ack(&mut all, 30_000_000, 0, 1_500_000).is_some(), "the other way from then on");
    assert_eq!(ack(&mut all, 40_000_000, 0, 900_000), None, "it has not sent less than nothing");
}

#[test]
fn an_ack_that_was_overtaken_says_nothing_and_spoils_nothing() {
    let mut all = Telemetry::default();
    ack(&mut all, 0, 0, 0).unwrap();
    let before = ack(&mut all, 2_000_000, 0, 10_000).unwrap();
    assert_eq!(ack(&mut all, 1_000_000, 1_100_000, 5_000), None);
    let last = ack(&mut all, 3_000_000, 0, 20_000).unwrap();
    assert_eq!(before.passed + last.passed, Span::from_us(3));
    assert!((before.sent + last.sent).get().abs_diff(20_000) < 512);
}

#[test]
fn a_new_rate_begins_anew() {
    let mut all = Telemetry::default();
    ack(&mut all, 0, 0, 0).unwrap();
    ack(&mut all, 10_000_000, 0, 100_000).unwrap();
    // 40 Gb/s: 200 ps for a byte, units of 204.8 B.
    let slower = |at: u64, bytes: u64| {
        Hop::new(6, Time::from_ps(at), Span::from_ps(bytes * 200), Span::ZERO).word()
    };
    assert!(read(&mut all, 20_000_000, &[slower(20_000_000, 150_000)]).is_empty());
    let hops = read(&mut all, 30_000_000, &[slower(30_000_000, 190_000)]);
    assert_eq!(hops[0].rate, BitsPerSec::from_gbps(40));
    assert_eq!(hops[0].passed, Span::from_us(10));
    assert!(hops[0].sent.get().abs_diff(40_000) < 205);
}

#[test]
fn a_path_of_another_length_begins_anew() {
    let mut all = Telemetry::default();
    let hop = |at: u64| word(at, at / BYTE, 0);
    let mut known = |at: u64, words: &[u64]| -> Vec<bool> {
        read(&mut all, at, words).iter().map(IntHop::is_known).collect()
    };
    assert_eq!(known(MS, &[hop(0), hop(10)]), [false; 2]);
    assert_eq!(known(2 * MS, &[hop(MS)]), [false]);
    assert_eq!(known(3 * MS, &[hop(2 * MS)]), [true]);
    assert_eq!(known(4 * MS, &[hop(3 * MS), hop(3 * MS)]), [false; 2]);
    assert_eq!(known(5 * MS, &[hop(4 * MS), hop(3 * MS)]), [true, false]);
    assert_eq!(known(6 * MS, &[0; 9]), [false; MAX_HOPS], "and no more than that");
}
