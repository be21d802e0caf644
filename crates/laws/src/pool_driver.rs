//! Driver of a pool law: charges requests of one connection to its credits, and holds back those that do not fit.
//!
//! Its owner calls it before a request is posted, and for each that came back. A request takes a credit for each
//! line of the receiver's cache that it fills. Requests go in the order in which the application made them; a request above the whole limit goes
//! when nothing is outstanding, and alone.
//! Where the receiver counts active connections alone ([`PoolDriver::counts_active`]), it announces their number with the credits that it returns; a
//! connection that was idle for [`ACTIVE`] goes back to its share among all until it is notified again.
//!
//! Source: CARC (APNet 2025), section 4, "Credit-Based Rate Control".
//! Invariant: credits outstanding are at most the largest limit so far, unless one oversized request is alone.

use crate::Acts;
use crate::pool::{Pool, PoolAct, PoolEvent, PoolParams, PoolSeen, PoolStart, PoolTotals};
use alloc::collections::VecDeque;
use forebay_units::{Bytes, Span, Time};

/// Wakes after which a law without requests moves no more. At CARC's default gain, a quarter of the way each, nothing is left by then; at 1 % a third is.
const MOST_WAKES: u32 = 100;

/// How long a connection counts as active after the receiver has read something of it.
///
/// Assumption: 10 ms (sheet).
pub const ACTIVE: Span = Span::from_ms(10);

/// Running totals of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Requests that the application made.
    pub requests: u64,
    /// Requests that had to wait for credits.
    pub blocked: u64,
    /// Time that they waited, all together; of those that wait still, nothing.
    pub waited: Span,
    /// Most credits that were ever outstanding.
    pub most_outstanding: u64,
}

/// A request that is posted.
#[derive(Clone, Copy, Debug)]
struct Posted {
    at: Time,
    bytes: u64,
    end: u64, // in the stream of all requests
}

/// A request that waits for credits.
#[derive(Clone, Copy, Debug)]
struct Blocked {
    since: Time,
    bytes: u64,
}

/// A pool law with the requests of its connection. The owner calls [`PoolDriver::wake`] at [`PoolDriver::due`].
#[derive(Clone, Debug)]
pub struct PoolDriver {
    law: Pool,
    line: u64,
    limit: u64,
    due: Time,
    totals: PoolTotals,
    posted: VecDeque<Posted>,
    blocked: VecDeque<Blocked>,
    sent: u64, // bytes of all requests posted so far
    counts: Counts,
    lines: u64,       // of the cache
    connections: u32, // that share it, as the law was last notified
    all: Option<u32>, // that share it where none is idle, if the receiver counts those that are not
    last: Time,       // of the last post
}

impl PoolDriver {
    /// A connection without requests, at `now`.
    pub fn new(params: &PoolParams, now: Time, at: PoolStart) -> Self {
        let mut acts = Acts::default();
        let law = params.start(now, at, &mut acts);
        let mut driver = Self {
            law,
            line: at.line.get().max(1),
            limit: 0,
            due: Time::MAX,
            totals: PoolTotals::default(),
            posted: VecDeque::new(),
            blocked: VecDeque::new(),
            sent: 0,
            counts: Counts::default(),
            lines: at.llc.get() / at.line.get().max(1),
            connections: at.connections,
            all: None,
            last: now,
        };
        driver.apply(&acts);
        driver
    }

    /// The receiver shares its cache among active connections; those that it may have are so many as it has at the start.
    #[must_use]
    pub fn counts_active(self) -> Self {
        Self { all: Some(self.connections), ..self }
    }

    /// The receiver announces that so many active connections share its cache. One that is idle is none of these.
    pub fn announced(&mut self, now: Time, connections: u32, post: impl FnMut(u64)) {
        if !self.is_idle(now) {
            self.share_with(now, connections);
            self.release(now, post);
        }
    }

    /// Whether the receiver no longer counts this connection, if it counts active ones.
    fn is_idle(&self, now: Time) -> bool {
        self.all.is_some() && self.totals.outstanding == 0 && now.since(self.last) >= ACTIVE
    }

    fn share_with(&mut self, now: Time, connections: u32) {
        if connections != self.connections {
            self.connections = connections;
            self.notify(now, PoolEvent::Connections(connections));
        }
    }

    /// The application makes a request of `bytes`. True: it is to be posted now; else it waits, and a later call releases it.
    pub fn request(&mut self, now: Time, bytes: u64) -> bool {
        self.counts.requests += 1;
        self.catch_up(now);
        if let Some(all) = self.all.filter(|_| self.is_idle(now)) {
            self.share_with(now, all);
        }
        if self.blocked.is_empty() && self.fits(bytes) {
            self.post(now, bytes);
            return true;
        }
        self.blocked.push_back(Blocked { since: now, bytes });
        self.totals.blocked += 1;
        self.counts.blocked += 1;
        false
    }

    /// The oldest posted request came back, and its credits with it. `post` gets the sizes of requests to be posted now, in order.
    ///
    /// # Panics
    /// If none is posted.
    pub fn complete(&mut self, now: Time, post: impl FnMut(u64)) {
        self.take_back(now);
        self.release(now, post);
    }

    /// The receiver has consumed the first `upto` bytes of all requests, which gives back the credits of those that are whole.
    pub fn consumed(&mut self, now: Time, upto: u64, post: impl FnMut(u64)) {
        while self.posted.front().is_some_and(|oldest| oldest.end <= upto) {
            self.take_back(now);
        }
        self.release(now, post);
    }

    fn take_back(&mut self, now: Time) {
        let done = self.posted.pop_front().expect("what comes back was posted");
        self.totals.outstanding -= self.credits(done.bytes);
        self.totals.completed += done.bytes;
        let latency = now.since(done.at);
        self.notify(now, PoolEvent::Completed { bytes: Bytes::new(done.bytes), latency });
    }

    /// The time has come to [`PoolDriver::due`]. Calling earlier changes nothing.
    pub fn wake(&mut self, now: Time, post: impl FnMut(u64)) {
        if now >= self.due {
            self.due = Time::MAX;
            self.notify(now, PoolEvent::Wake);
            self.release(now, post);
        }
    }

    /// When to call [`PoolDriver::wake`]; [`Time::MAX`]: not before the next request, since nothing is under way.
    pub fn due(&self) -> Time {
        let idle = self.totals.outstanding == 0 && self.blocked.is_empty();
        if idle { Time::MAX } else { self.due }
    }

    /// Wakes the law as often as it wanted while nothing was under way, the last [`MOST_WAKES`] times at most.
    fn catch_up(&mut self, now: Time) {
        for left in (0..MOST_WAKES).rev() {
            if self.due > now {
                return;
            }
            let at = if left == 0 { now } else { self.due };
            self.due = Time::MAX;
            self.notify(at, PoolEvent::Wake);
        }
    }

    /// Most credits that may be outstanding.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Connections that share the receiver's cache, as far as this one knows.
    pub fn connections(&self) -> u32 {
        self.connections
    }

    /// What the law has added to the connection's share of the cache, or taken off.
    pub fn delta(&self) -> i64 {
        let share = (self.lines / u64::from(self.connections.max(1))).max(1);
        i64::try_from(i128::from(self.limit) - i128::from(share)).unwrap_or(i64::MAX)
    }

    /// When the request was made that has waited longest for credits, if any waits.
    pub fn blocked_since(&self) -> Option<Time> {
        self.blocked.front().map(|oldest| oldest.since)
    }

    /// How the connection stands.
    pub fn totals(&self) -> &PoolTotals {
        &self.totals
    }

    /// Totals since the start.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    fn credits(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.line)
    }

    fn fits(&self, bytes: u64) -> bool {
        let outstanding = self.totals.outstanding;
        outstanding == 0 || outstanding.saturating_add(self.credits(bytes)) <= self.limit
    }

    fn post(&mut self, now: Time, bytes: u64) {
        self.totals.outstanding += self.credits(bytes);
        self.counts.most_outstanding = self.counts.most_outstanding.max(self.totals.outstanding);
        self.sent += bytes;
        self.last = now;
        self.posted.push_back(Posted { at: now, bytes, end: self.sent });
    }

    fn release(&mut self, now: Time, mut post: impl FnMut(u64)) {
        while let Some(&Blocked { since, bytes }) = self.blocked.front()
            && self.fits(bytes)
        {
            self.blocked.pop_front();
            self.totals.blocked -= 1;
            self.counts.waited += now.since(since);
            self.post(now, bytes);
            post(bytes);
        }
    }

    fn notify(&mut self, now: Time, event: PoolEvent) {
        let mut acts = Acts::default();
        self.law.step(now, PoolSeen { totals: &self.totals, event }, &mut acts);
        self.apply(&acts);
    }

    fn apply(&mut self, acts: &Acts<PoolAct>) {
        for act in acts.iter() {
            match act {
                PoolAct::Limit(limit) => self.limit = limit,
                PoolAct::WakeAt(at) => self.due = self.due.min(at),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const LINE: u64 = 64;

    fn driver(llc: u64, connections: u32) -> PoolDriver {
        let at = PoolStart {
            llc: Bytes::new(llc),
            line: Bytes::new(LINE),
            connections,
            base_rtt: Some(Span::from_us(10)),
            seed: 1,
        };
        PoolDriver::new(&PoolParams::new("carc").unwrap(), Time::ZERO, at)
    }

    /// Twelve MiB over so many connections, and a request of 7.9 MB: one credit fewer than it takes, and it goes alone.
    #[test]
    fn a_request_above_the_whole_limit_goes_alone() {
        let long = 7_900_000;
        for (connections, credits, alone) in
            [(1, 196_608, false), (2, 98_304, true), (8, 24_576, true), (16, 12_288, true)]
        {
            let mut driver = driver(12 << 20, connections);
            assert_eq!(driver.limit(), credits);
            assert!(driver.request(Time::ZERO, long), "nothing is outstanding");
            assert_eq!(driver.request(Time::ZERO, 100), !alone);
            assert_eq!(driver.totals().outstanding, 123_438 + u64::from(!alone) * 2);
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
        assert_eq!(driver.counts().blocked, 2);
        assert_eq!(driver.counts().waited, Span::from_ps(2));
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
                while driver.totals().outstanding > 0 {
                    now += Span::from_us(10);
                    driver.wake(now, |_| {});
                    driver.complete(now, |_| {});
                }
            }
            (driver, now)
        };
        for us in [5, 15, 55, 10_000] {
            let ((mut asleep, now), (mut awake, _)) = (busy(), busy());
            assert!(asleep.limit() > 12_288, "it has more than its share");
            assert_eq!(asleep.due(), Time::MAX);
            let then = now + Span::from_us(us);
            while awake.due <= then {
                awake.wake(awake.due, |_| {});
            }
            for driver in [&mut asleep, &mut awake] {
                driver.request(then, LINE);
            }
            assert_eq!(asleep.limit(), awake.limit(), "after {us} us");
            assert!(asleep.due() < Time::MAX);
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
            assert_eq!((driver.totals().outstanding, posted), (out, again), "{upto}");
        }
        driver.consumed(Time::from_ps(2), 12 * LINE, |_| posted += 1);
        assert_eq!((driver.totals().outstanding, driver.totals().completed), (0, 12 * LINE));
    }

    /// Where the receiver counts active connections, a lone one gets all of the cache once that is announced, and is back at its share among all
    /// when it was idle for 10 ms: others may have taken its place meanwhile. Without that it keeps what it was announced.
    #[test]
    fn an_idle_connection_goes_back_to_its_share_among_all() {
        for (active, after) in [(true, 1_000), (false, 10_000)] {
            let alone = driver(10_000 * LINE, 10);
            let mut driver = if active { alone.counts_active() } else { alone };
            assert!(driver.request(Time::ZERO, 1_000 * LINE));
            assert!(!driver.request(Time::ZERO, 9_000 * LINE), "its share is 1,000");
            let mut posted = Vec::new();
            driver.announced(Time::from_ps(1), 1, |bytes| posted.push(bytes));
            assert_eq!(
                (driver.limit(), driver.delta(), &posted[..]),
                (10_000, 0, &[9_000 * LINE][..])
            );
            let done = Time::from_ps(2);
            driver.consumed(done, 10_000 * LINE, |_| {});
            let almost = Time::ZERO + ACTIVE;
            assert!(driver.request(almost, LINE));
            assert_eq!(driver.connections(), 1, "it was idle for a little less");
            driver.consumed(almost, 10_001 * LINE, |_| {});
            assert!(driver.request(almost + ACTIVE, LINE));
            assert_eq!(driver.connections(), if active { 10 } else { 1 });
            assert_eq!(driver.limit(), after);
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
            let mut largest = driver.limit();
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
                largest = largest.max(driver.limit());
                let out: u64 = posted[back..].iter().map(|bytes| bytes.div_ceil(LINE)).sum();
                prop_assert_eq!(driver.totals().outstanding, out);
                prop_assert!(out <= largest || posted.len() - back == 1, "{} of {}", out, largest);
                prop_assert_eq!(driver.totals().blocked as usize, made.len() - posted.len());
            }
            while back < posted.len() {
                back += 1;
                now += Span::from_ns(100);
                driver.complete(now, |bytes| posted.push(bytes));
            }
            prop_assert_eq!(driver.totals().outstanding, 0);
            prop_assert_eq!(made, posted);
        }
    }
}
