//! Credits of one connection: charges its requests, and holds back those that do not fit.
//!
//! The owner calls an account before a request is posted, and for each that came back. A request takes one credit for each
//! line of the receiver's cache that it fills. Requests go in the order in which the application made them. A request above the
//! whole limit goes when nothing is outstanding, and alone.
//! Where the receiver counts active connections alone ([`Account::counts_active`]), it announces their number with the credits
//! that it returns. A connection that was idle for [`ACTIVE`] goes back to its share among all until it is notified again.
//!
//! Source: CARC (APNet 2025), section 4, "Credit-Based Rate Control".
//! Invariant: credits outstanding are at most the largest limit so far, unless one oversized request is alone.

use crate::requests::{Queue, Request, Requests};
use forebay_laws::Acts;
use forebay_laws::pool::{Pool, PoolAct, PoolEvent, PoolParams, PoolSeen, PoolStart, PoolTotals};
use forebay_units::{Bytes, Span, Time};

/// Wakes after which a law without requests moves no more. At CARC's default gain, a quarter of the way each, nothing is left by then; at 1 % a third is.
const MOST_WAKES: u32 = 100;

/// How long a connection counts as active after the receiver has read something of it.
///
/// Assumption: 10 ms (sheet).
pub const ACTIVE: Span = Span::from_ms(10);

/// Decision about a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Post {
    /// Post the request now: its credits are charged.
    Go,
    /// Wait for credits: a later call releases the request.
    Wait,
    /// There is no room for another request that waits or is posted. Nothing has changed.
    Full,
}

/// The peer returned more credits than are outstanding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForgedReturn;

/// A pool law with the requests of its connection. The owner calls [`Account::wake`] at [`Account::due`].
#[derive(Clone, Debug)]
pub struct Account {
    law: Pool,
    limit: u64,
    due: Time,
    outstanding: u64, // credits
    completed: u64,   // bytes
    posted: Queue,
    blocked: Queue,
    last: Time,       // of the last post
    waiting: u32,     // requests in `blocked`
    lines: u32,       // of the cache
    shift: u32,       // binary logarithm of the bytes of a line
    connections: u32, // that share it, as the law was last notified
    all: u32, // that share it where none is idle, if the receiver counts those that are not; else 0
    returned: u32, // credits of all requests that came back, of which the low bits are kept
}

/// Bytes of an account beyond its law.
pub const ACCOUNT_STATE: usize = size_of::<Account>() - size_of::<Pool>();

impl Account {
    /// A connection without requests, at `now`. A line of the cache has a power of two of bytes; another number is rounded up.
    pub fn new(params: &PoolParams, now: Time, at: PoolStart) -> Self {
        let mut acts = Acts::default();
        let law = params.start(now, at, &mut acts);
        let shift = at.line.get().max(1).next_power_of_two().trailing_zeros();
        let mut account = Self {
            law,
            limit: 0,
            due: Time::MAX,
            outstanding: 0,
            completed: 0,
            posted: Queue::default(),
            blocked: Queue::default(),
            last: now,
            waiting: 0,
            lines: lines(at.llc, shift),
            shift,
            connections: at.connections,
            all: 0,
            returned: 0,
        };
        account.apply(&acts);
        account
    }

    /// The receiver shares its cache among active connections. There are at most as many as it has at the start.
    #[must_use]
    pub fn counts_active(self) -> Self {
        Self { all: self.connections, ..self }
    }

    /// The receiver announces that so many active connections share its cache. One that is idle is none of these.
    pub fn announced(
        &mut self,
        requests: &mut Requests,
        now: Time,
        connections: u32,
        post: impl FnMut(Request),
    ) {
        if !self.is_idle(now) {
            self.share_with(now, connections);
            self.release(requests, now, post);
        }
    }

    /// The receiver's cache is of another size now. The law starts again from the new share; requests stay as they are.
    pub(crate) fn resize(&mut self, params: &PoolParams, now: Time, at: PoolStart) {
        let mut acts = Acts::default();
        self.law = params.start(now, at, &mut acts);
        self.lines = lines(at.llc, self.shift);
        self.connections = at.connections;
        self.due = Time::MAX;
        self.apply(&acts);
    }

    /// Whether the receiver no longer counts this connection, if it counts active ones.
    fn is_idle(&self, now: Time) -> bool {
        self.all > 0 && self.outstanding == 0 && now.since(self.last) >= ACTIVE
    }

    pub(crate) fn share_with(&mut self, now: Time, connections: u32) {
        if connections != self.connections {
            self.connections = connections;
            self.notify(now, PoolEvent::Connections(connections));
        }
    }

    /// The application makes a request.
    #[inline]
    pub fn request(&mut self, requests: &mut Requests, now: Time, bytes: u64, token: u64) -> Post {
        if requests.is_full() {
            return Post::Full;
        }
        requests.counts.requests += 1;
        if self.due <= now || self.all > 0 {
            self.refresh(now);
        }
        let of = Request { at: now, bytes, token };
        let credits = self.credits(bytes);
        if self.blocked.is_empty() && self.fits(credits) {
            requests.push(&mut self.posted, of);
            self.charge(requests, now, credits);
            return Post::Go;
        }
        requests.push(&mut self.blocked, of);
        self.waiting += 1;
        requests.counts.blocked += 1;
        Post::Wait
    }

    /// The oldest posted request came back, and its credits with it. `post` gets the requests to be posted now, in order.
    /// Returns the request that came back.
    pub fn complete(
        &mut self,
        requests: &mut Requests,
        now: Time,
        post: impl FnMut(Request),
    ) -> Option<Request> {
        let done = self.take_back(requests, now);
        self.release(requests, now, post);
        done
    }

    /// The receiver has consumed the first `upto` bytes of all requests, which gives back the credits of those that are whole.
    pub fn consumed(
        &mut self,
        requests: &mut Requests,
        now: Time,
        upto: u64,
        post: impl FnMut(Request),
    ) {
        while let Some(oldest) = requests.front(&self.posted)
            && self.completed + oldest.bytes <= upto
        {
            self.take_back(requests, now);
        }
        self.release(requests, now, post);
    }

    /// The receiver has returned so many credits since the connection began, of which `counter` has the low 32 bits.
    /// A counter that came late or twice changes nothing. `back` gets the requests that came back with it.
    ///
    /// # Errors
    /// If more credits came back than are outstanding. Nothing has changed then.
    #[inline]
    pub(crate) fn counted(
        &mut self,
        requests: &mut Requests,
        now: Time,
        counter: u32,
        mut back: impl FnMut(Request),
    ) -> Result<(), ForgedReturn> {
        let more = counter.wrapping_sub(self.returned).cast_signed();
        if more <= 0 {
            return Ok(());
        }
        if u64::from(more.cast_unsigned()) > self.outstanding {
            return Err(ForgedReturn);
        }
        let mut left = u64::from(more.cast_unsigned());
        while let Some(oldest) = requests.front(&self.posted) {
            let credits = self.credits(oldest.bytes);
            if credits > left {
                break;
            }
            left -= credits;
            if let Some(done) = requests.pop(&mut self.posted) {
                self.came_back(now, &done, credits);
                back(done);
            }
        }
        Ok(())
    }

    /// The oldest posted request came back; nothing is released.
    #[inline]
    pub(crate) fn take_one_back(&mut self, requests: &mut Requests, now: Time) -> Option<Request> {
        self.take_back(requests, now)
    }

    #[inline]
    fn take_back(&mut self, requests: &mut Requests, now: Time) -> Option<Request> {
        let done = requests.pop(&mut self.posted)?;
        self.came_back(now, &done, self.credits(done.bytes));
        Some(done)
    }

    #[inline]
    fn came_back(&mut self, now: Time, done: &Request, credits: u64) {
        self.outstanding -= credits;
        self.completed += done.bytes;
        self.returned = self.returned.wrapping_add(credits as u32);
        let latency = now.since(done.at);
        self.notify(now, PoolEvent::Completed { bytes: Bytes::new(done.bytes), latency });
    }

    /// The time has come to [`Account::due`]. Calling earlier changes nothing.
    pub fn wake(&mut self, requests: &mut Requests, now: Time, post: impl FnMut(Request)) {
        if self.woken(now) {
            self.release(requests, now, post);
        }
    }

    #[inline]
    pub(crate) fn woken(&mut self, now: Time) -> bool {
        let due = now >= self.due;
        if due {
            self.due = Time::MAX;
            self.notify(now, PoolEvent::Wake);
        }
        due
    }

    /// When to call [`Account::wake`]; [`Time::MAX`]: not before the next request, since nothing is under way.
    pub fn due(&self) -> Time {
        let idle = self.outstanding == 0 && self.blocked.is_empty();
        if idle { Time::MAX } else { self.due }
    }

    /// Catches up with the time in which nothing was under way.
    #[cold]
    fn refresh(&mut self, now: Time) {
        self.catch_up(now);
        if self.is_idle(now) {
            self.share_with(now, self.all);
        }
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

    /// Credits that the law has added to the connection's share of the cache, or taken off.
    pub fn delta(&self) -> i64 {
        let share = (self.lines / self.connections.max(1)).max(1);
        i64::try_from(i128::from(self.limit) - i128::from(share)).unwrap_or(i64::MAX)
    }

    /// When the request was made that has waited longest for credits, if any waits.
    pub fn blocked_since(&self, requests: &Requests) -> Option<Time> {
        requests.front(&self.blocked).map(|oldest| oldest.at)
    }

    /// How the connection stands.
    pub fn totals(&self) -> PoolTotals {
        PoolTotals {
            outstanding: self.outstanding,
            completed: self.completed,
            blocked: self.waiting,
        }
    }

    /// Credits that all requests took that were ever posted, the low 32 bits.
    pub(crate) fn charged(&self) -> u32 {
        self.returned.wrapping_add(self.outstanding as u32)
    }

    /// Bytes of a line, and lines of the cache.
    pub(crate) fn cache(&self) -> (u32, u32) {
        (1 << self.shift, self.lines)
    }

    /// Credits that a request takes: its lines, rounded up, and at least one, so that a request of no bytes comes back as well.
    #[inline]
    pub fn credits(&self, bytes: u64) -> u64 {
        // Lines of all known caches are powers of two, and a shift takes a tenth of a division.
        (bytes.saturating_sub(1) >> self.shift) + 1
    }

    #[inline]
    fn fits(&self, credits: u64) -> bool {
        let outstanding = self.outstanding;
        outstanding == 0 || outstanding.saturating_add(credits) <= self.limit
    }

    #[inline]
    fn charge(&mut self, requests: &mut Requests, now: Time, credits: u64) {
        self.outstanding += credits;
        let most = &mut requests.counts.most_outstanding;
        *most = self.outstanding.max(*most);
        self.last = now;
    }

    /// Whether a request waits whose credits are there.
    #[inline]
    pub(crate) fn has_ready(&self, requests: &Requests) -> bool {
        requests.front(&self.blocked).is_some_and(|oldest| self.fits(self.credits(oldest.bytes)))
    }

    /// Charges the oldest request that waits, if its credits are there.
    #[inline]
    pub(crate) fn release_one(&mut self, requests: &mut Requests, now: Time) -> Option<Request> {
        if !self.has_ready(requests) {
            return None;
        }
        let of = requests.shift(&mut self.blocked, &mut self.posted, now)?;
        self.waiting -= 1;
        requests.counts.waited += now.since(of.at);
        self.charge(requests, now, self.credits(of.bytes));
        Some(of)
    }

    fn release(&mut self, requests: &mut Requests, now: Time, mut post: impl FnMut(Request)) {
        while let Some(of) = self.release_one(requests, now) {
            post(of);
        }
    }

    /// Forgets all requests: `lost` gets those that were posted, then those that waited.
    pub(crate) fn clear(&mut self, requests: &mut Requests, mut lost: impl FnMut(Request)) {
        for queue in [&mut self.posted, &mut self.blocked] {
            while let Some(of) = requests.pop(queue) {
                lost(of);
            }
        }
        (self.outstanding, self.waiting) = (0, 0);
    }

    #[inline(always)] // the event is known where it is called, and most of a law falls away
    fn notify(&mut self, now: Time, event: PoolEvent) {
        let mut acts = Acts::default();
        self.law.step(now, PoolSeen { totals: &self.totals(), event }, &mut acts);
        if !acts.is_empty() {
            self.apply(&acts);
        }
    }

    fn apply(&mut self, acts: &Acts<PoolAct>) {
        for act in acts.iter() {
            match act {
                PoolAct::Limit(limit) => self.limit = limit,
                PoolAct::WakeAt(at) => self.due = self.due.min(at),
                _ => unreachable!("the actions of this version are above"),
            }
        }
    }
}

/// Lines of a cache, at most all that 32 bits count.
fn lines(llc: Bytes, shift: u32) -> u32 {
    u32::try_from(llc.get() >> shift).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
