//! Rules of one account.

use super::*;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

/// An account with requests of its own.
struct Driver {
    of: Account,
    requests: Requests,
}

impl Driver {
    fn request(&mut self, now: Time, bytes: u64) -> bool {
        let post = self.of.request(&mut self.requests, now, bytes, 0);
        assert_ne!(post, Post::Full);
        post == Post::Go
    }

    fn complete(&mut self, now: Time, mut post: impl FnMut(u64)) {
        self.of.complete(&mut self.requests, now, |of| post(of.bytes)).expect("one is posted");
    }

    fn consumed(&mut self, now: Time, upto: u64, mut post: impl FnMut(u64)) {
        self.of.consumed(&mut self.requests, now, upto, |of| post(of.bytes));
    }

    fn announced(&mut self, now: Time, connections: u32, mut post: impl FnMut(u64)) {
        self.of.announced(&mut self.requests, now, connections, |of| post(of.bytes));
    }

    fn wake(&mut self, now: Time, mut post: impl FnMut(u64)) {
        self.of.wake(&mut self.requests, now, |of| post(of.bytes));
    }
}

const LINE: u64 = 64;

fn driver(llc: u64, connections: u32) -> Driver {
    let at = PoolStart {
        llc: Bytes::new(llc),
        line: Bytes::new(LINE),
        connections,
        base_rtt: Some(Span::from_us(10)),
        seed: 1,
    };
    let of = Account::new(&PoolParams::new("carc").unwrap(), Time::ZERO, at);
    Driver { of, requests: Requests::growing() }
}

/// Twelve MiB over so many connections, and a request of 7.9 MB: one credit fewer than it takes, and it goes alone.
#[test]
fn a_request_above_the_whole_limit_goes_alone() {
    let long = 7_900_000;
    for (connections, credits, alone) in
        [(1, 196_608, false), (2, 98_304, true), (8, 24_576, true), (16, 12_288, true)]
    {
        let mut driver = driver(12 << 20, connections);
        assert_eq!(driver.of.limit(), credits);
        assert!(driver.request(Time::ZERO, long), "nothing is outstanding");
        assert_eq!(driver.request(Time::ZERO, 100), !alone);
        assert_eq!(driver.of.totals().outstanding, 123_438 + u64::from(!alone) * 2);
        let mut posted = Vec::new();
        driver.complete(Time::from_ps(1), |bytes| posted.push(bytes));
        assert_eq!(posted, if alone { vec![100] } else { Vec::new() });
    }
}

/// A byte above a whole number of lines takes one more.
#[test]
fn credits_are_whole_lines() {
    let mut driver = driver(10 * LINE, 1);
    assert!(driver.request(Time::ZERO, 9 * LINE));
    assert!(!driver.request(Time::ZERO, LINE + 1), "two lines, and one is left");
    assert!(!driver.request(Time::ZERO, 1), "nobody overtakes");
    let mut posted = Vec::new();
    driver.complete(Time::from_ps(1), |bytes| posted.push(bytes));
    assert_eq!(posted, [LINE + 1, 1]);
    assert_eq!(driver.requests.counts().blocked, 2);
    assert_eq!(driver.requests.counts().waited, Span::from_ps(2));
}

/// A connection without requests gets no wakes, and the state of its law is as if it had got them.
#[test]
fn an_idle_connection_sleeps() {
    let busy = || {
        let (mut driver, mut now) = (driver(12 << 20, 16), Time::ZERO);
        for _ in 0..40 {
            for _ in 0..3 {
                driver.request(now, 12_288 * LINE);
            }
            while driver.of.totals().outstanding > 0 {
                now += Span::from_us(10);
                driver.wake(now, |_| {});
                driver.complete(now, |_| {});
            }
        }
        (driver, now)
    };
    for us in [5, 15, 55, 10_000] {
        let ((mut asleep, now), (mut awake, _)) = (busy(), busy());
        assert!(asleep.of.limit() > 12_288, "it has more than its share");
        assert_eq!(asleep.of.due(), Time::MAX);
        let then = now + Span::from_us(us);
        while awake.of.due <= then {
            awake.wake(awake.of.due, |_| {});
        }
        for driver in [&mut asleep, &mut awake] {
            driver.request(then, LINE);
        }
        assert_eq!(asleep.of.limit(), awake.of.limit(), "after {us} us");
        assert!(asleep.of.due() < Time::MAX);
    }
}

/// Counts of what was consumed are cumulative: one heals all that were lost before it, and one that comes late changes nothing.
#[test]
fn what_was_consumed_is_counted_from_the_beginning() {
    let mut driver = driver(10 * LINE, 1);
    for _ in 0..12 {
        driver.request(Time::ZERO, LINE);
    }
    let mut posted = 0;
    for (upto, out, again) in [(LINE - 1, 10, 0), (3 * LINE, 9, 2), (2 * LINE, 9, 2)] {
        driver.consumed(Time::from_ps(1), upto, |_| posted += 1);
        assert_eq!((driver.of.totals().outstanding, posted), (out, again), "{upto}");
    }
    driver.consumed(Time::from_ps(2), 12 * LINE, |_| posted += 1);
    assert_eq!((driver.of.totals().outstanding, driver.of.totals().completed), (0, 12 * LINE));
}

/// Where the receiver counts active connections, a lone one gets all of the cache once that is announced, and is back at its share among all
/// when it was idle for 10 ms: others may have taken its place meanwhile. Without that it keeps what it was announced.
#[test]
fn an_idle_connection_goes_back_to_its_share_among_all() {
    for (active, after) in [(true, 1_000), (false, 10_000)] {
        let alone = driver(10_000 * LINE, 10);
        let of = if active { alone.of.counts_active() } else { alone.of };
        let mut driver = Driver { of, ..alone };
        assert!(driver.request(Time::ZERO, 1_000 * LINE));
        assert!(!driver.request(Time::ZERO, 9_000 * LINE), "its share is 1,000");
        let mut posted = Vec::new();
        driver.announced(Time::from_ps(1), 1, |bytes| posted.push(bytes));
        assert_eq!(
            (driver.of.limit(), driver.of.delta(), &posted[..]),
            (10_000, 0, &[9_000 * LINE][..])
        );
        let done = Time::from_ps(2);
        driver.consumed(done, 10_000 * LINE, |_| {});
        let almost = Time::ZERO + ACTIVE;
        assert!(driver.request(almost, LINE));
        assert_eq!(driver.of.connections(), 1, "it was idle for a little less");
        driver.consumed(almost, 10_001 * LINE, |_| {});
        assert!(driver.request(almost + ACTIVE, LINE));
        assert_eq!(driver.of.connections(), if active { 10 } else { 1 });
        assert_eq!(driver.of.limit(), after);
    }
}

proptest! {
    /// For any arrivals: requests go in order, all of them in the end, credits stay within the limit but for one that is alone, and
    /// when all are back nothing is outstanding.
    #[test]
    fn credits_are_kept(
        steps in prop::collection::vec((0..3u8, 1..40_000u64, 0..30_000u64), 1..200),
        lines in 1..2_000u64,
        connections in 1..5u32,
    ) {
        let mut driver = driver(lines * LINE, connections);
        let (mut now, mut made, mut posted, mut back) = (Time::ZERO, Vec::new(), Vec::new(), 0);
        let mut largest = driver.of.limit();
        for (what, bytes, ns) in steps {
            now += Span::from_ns(ns);
            match what {
                0 => {
                    made.push(bytes);
                    if driver.request(now, bytes) {
                        posted.push(bytes);
                    }
                }
                1 if back < posted.len() => {
                    back += 1;
                    driver.complete(now, |bytes| posted.push(bytes));
                }
                _ => driver.wake(now, |bytes| posted.push(bytes)),
            }
            largest = largest.max(driver.of.limit());
            let out: u64 = posted[back..].iter().map(|bytes| bytes.div_ceil(LINE)).sum();
            prop_assert_eq!(driver.of.totals().outstanding, out);
            prop_assert!(out <= largest || posted.len() - back == 1, "{} of {}", out, largest);
            prop_assert_eq!(driver.of.totals().blocked as usize, made.len() - posted.len());
        }
        while back < posted.len() {
            back += 1;
            now += Span::from_ns(100);
            driver.complete(now, |bytes| posted.push(bytes));
        }
        prop_assert_eq!(driver.of.totals().outstanding, 0);
        prop_assert_eq!(made, posted);
    }
}
