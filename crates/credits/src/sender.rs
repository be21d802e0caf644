//! The sender's side: holds requests back until the receiver's cache has room for them.
//!
//! Invariant: nothing is allocated after the start. Every call takes constant time, apart from the requests that come back with it.
//! A sender is used by one thread, so there is no lock.

use crate::absurd::ProtocolError;
use crate::account::{ACCOUNT_STATE, Account, ForgedReturn, Post};
use crate::fifo::{LINK_STATE, Timers};
use crate::message::{Message, Shares};
use crate::receiver::HEAL;
use crate::requests::{Counts, Request, Requests};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use forebay_laws::pool::{Pool, PoolParams, PoolStart};
use forebay_units::{Bytes, Span, Time};

/// Pauses between questions for lost credits, each twice as long as the one before.
const PAUSES: usize = 8;

/// Most bytes of a request: 2^31 lines of the least size, less one, so that counters say which one is older.
const MOST_BYTES: u64 = 8 * (i32::MAX as u64);

const NONE: u32 = u32::MAX;

/// A request that may be posted now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReleasedRequest {
    /// Of which connection.
    pub connection: u32,
    /// Name that the application gave the request.
    pub token: u64,
    /// Bytes of it.
    pub bytes: u64,
}

#[derive(Clone, Debug)]
struct Slot {
    account: Option<Account>, // none: free, or the peer does without credits
    moved: Time,              // when credits last came back, or the first request left
    peer: u32,                // the receiver's number; of a free slot, the next free one
    epoch: u16,               // of the last announcement seen
    pause: u8,
    flags: u8,
}

// Flags of a slot.
const LIVE: u8 = 1;
const READY: u8 = 2; // in the list of those that may have something to release
const TELL: u8 = 4; // in the list of those that owe a message
const ANSWER: u8 = 8; // and want an answer

/// Bytes of one connection beyond the state of its law: links of two lists, a timer, and the account.
pub const SENDER_STATE: usize =
    size_of::<Slot>() - size_of::<Pool>() + LINK_STATE + 2 * size_of::<u32>();
const _: () =
    assert!(SENDER_STATE <= 128 && ACCOUNT_STATE < SENDER_STATE, "128 bytes per connection");

/// The sender's side of all its connections.
#[derive(Clone, Debug)]
pub struct Sender {
    law: PoolParams,
    slots: Box<[Slot]>,
    free: u32,
    requests: Requests,
    ready: VecDeque<u32>,
    tell: VecDeque<u32>,
    asks: Timers<PAUSES>,
    base_rtt: Option<Span>,
    next_ask: Time, // no timer of `asks` is due before
    heal: Span,
}

impl Sender {
    /// A sender of at most `connections`, with at most `requests` posted and waiting at once. All memory is taken now.
    pub fn new(law: &PoolParams, connections: u32, requests: u32) -> Self {
        let free = |at: u32| Slot {
            account: None,
            moved: Time::ZERO,
            peer: if at + 1 < connections { at + 1 } else { NONE },
            epoch: 0,
            pause: 0,
            flags: 0,
        };
        let mut slots = Vec::with_capacity(connections as usize);
        slots.extend((0..connections).map(free));
        Self {
            law: law.clone(),
            slots: slots.into_boxed_slice(),
            free: if connections > 0 { 0 } else { NONE },
            requests: Requests::new(requests),
            ready: VecDeque::with_capacity(connections as usize),
            tell: VecDeque::with_capacity(connections as usize),
            asks: Timers::new(connections),
            base_rtt: None,
            next_ask: Time::MAX,
            heal: HEAL,
        }
    }

    /// Another time than [`HEAL`] until a sender asks for credits that it misses.
    #[must_use]
    pub fn with_heal(self, heal: Span) -> Self {
        Self { heal, ..self }
    }

    /// The round trip of the empty path is known, so that laws need not find it.
    #[must_use]
    pub fn with_base_rtt(self, base_rtt: Span) -> Self {
        Self { base_rtt: Some(base_rtt), ..self }
    }

    /// A connection comes, with the first message of its receiver. Returns its number; none if all are taken.
    /// Without a first message the peer does without this library: credits are off, and every request goes.
    ///
    /// # Errors
    /// If the message is no first one.
    pub fn connect(
        &mut self,
        now: Time,
        hello: Option<&Message>,
    ) -> Result<Option<u32>, ProtocolError> {
        let shares = match hello {
            None => None,
            Some(Message::Hello { connection, shares }) => Some((*connection, *shares)),
            Some(_) => return Err(ProtocolError::Unexpected),
        };
        let at = self.free;
        let Some(slot) = self.slots.get_mut(at as usize) else { return Ok(None) };
        self.free = slot.peer;
        let account =
            shares.map(|(_, of)| Account::new(&self.law, now, start(&of, at, self.base_rtt)));
        let (peer, epoch) = shares.map_or((NONE, 0), |(number, of)| (number, of.epoch));
        // It may still be in a list from before.
        let flags = LIVE | slot.flags & (READY | TELL);
        *slot = Slot { account, moved: now, peer, epoch, pause: 0, flags };
        Ok(Some(at))
    }

    /// A connection ended or failed: its credits are free. `lost` gets its requests, those posted first.
    pub fn disconnect(&mut self, connection: u32, lost: impl FnMut(Request)) {
        if !self.is_connected(connection) {
            return;
        }
        let slot = &mut self.slots[connection as usize];
        if let Some(mut account) = slot.account.take() {
            account.clear(&mut self.requests, lost);
        }
        self.asks.clear(connection, usize::from(slot.pause));
        // It may be in a list, which finds nothing to do for it.
        slot.flags &= READY | TELL;
        slot.peer = self.free;
        self.free = connection;
    }

    /// Whether a connection has this number.
    #[inline]
    pub fn is_connected(&self, connection: u32) -> bool {
        self.slots.get(connection as usize).is_some_and(|slot| slot.flags & LIVE > 0)
    }

    /// Credits of a connection; none if they are off.
    pub fn account(&self, connection: u32) -> Option<&Account> {
        self.slots.get(connection as usize)?.account.as_ref()
    }

    /// Totals of all connections.
    pub fn counts(&self) -> &Counts {
        self.requests.counts()
    }

    /// Requests posted and waiting, of all connections.
    pub fn requests(&self) -> u32 {
        self.requests.len()
    }

    /// The application makes a request of `bytes`, and calls it `token`.
    ///
    /// # Panics
    /// If there is no such connection.
    #[inline]
    pub fn post(&mut self, now: Time, connection: u32, bytes: u64, token: u64) -> Post {
        let slot = &mut self.slots[connection as usize];
        let Some(account) = &mut slot.account else { return Post::Go };
        if bytes > MOST_BYTES {
            return Post::Full;
        }
        let first = account.totals().outstanding == 0;
        let post = account.request(&mut self.requests, now, bytes, token);
        if first && post == Post::Go {
            slot.moved = now;
            if !self.asks.is_set(connection) {
                slot.pause = 0;
                self.set_ask(connection, 0, now.saturating_add(self.heal));
            }
        }
        post
    }

    /// A response came, which returns the credits of the oldest request posted. Returns the request's token.
    ///
    /// # Panics
    /// If there is no such connection.
    #[inline]
    pub fn completed(&mut self, now: Time, connection: u32) -> Option<u64> {
        let slot = &mut self.slots[connection as usize];
        let account = slot.account.as_mut()?;
        // Nothing is released here: `poll` does that.
        let done = account.take_one_back(&mut self.requests, now);
        self.moved(now, connection);
        done.map(|of| of.token)
    }

    /// A counter came as immediate data.
    ///
    /// # Errors
    /// If it is absurd: the connection is to be ended.
    ///
    /// # Panics
    /// If there is no such connection.
    #[inline]
    pub fn counter(
        &mut self,
        now: Time,
        connection: u32,
        counter: u32,
    ) -> Result<(), ProtocolError> {
        let slot = &mut self.slots[connection as usize];
        let Some(account) = &mut slot.account else { return Ok(()) };
        let (outstanding, before) = (account.totals().outstanding, account.charged());
        match account.counted(&mut self.requests, now, counter, |_| {}) {
            Err(ForgedReturn) => {
                let returned = counter.wrapping_sub(before.wrapping_sub(outstanding as u32));
                return Err(ProtocolError::Returned { outstanding, returned });
            }
            Ok(()) if account.totals().outstanding == outstanding => return Ok(()),
            Ok(()) => {}
        }
        self.moved(now, connection);
        Ok(())
    }

    /// Credits came back.
    #[inline]
    fn moved(&mut self, now: Time, connection: u32) {
        let slot = &mut self.slots[connection as usize];
        slot.moved = now;
        let Some(account) = &mut slot.account else { return };
        account.woken(now);
        if account.has_ready(&self.requests) && slot.flags & READY == 0 {
            slot.flags |= READY;
            self.ready.push_back(connection);
        }
    }

    /// A message of the receiver.
    ///
    /// # Errors
    /// If it is absurd: the connection is to be ended.
    ///
    /// # Panics
    /// If there is no such connection.
    pub fn message(
        &mut self,
        now: Time,
        connection: u32,
        message: &Message,
    ) -> Result<(), ProtocolError> {
        let Message::Credit { connection: number, returned, shares, acknowledge } = *message else {
            return Err(ProtocolError::Unexpected);
        };
        let slot = &mut self.slots[connection as usize];
        let Some(account) = &slot.account else { return Err(ProtocolError::Unexpected) };
        if number != slot.peer {
            return Err(ProtocolError::Connection);
        }
        if shares.line != account.cache().0 {
            return Err(ProtocolError::Line);
        }
        self.counter(now, connection, returned)?;
        self.shares(now, connection, &shares);
        if acknowledge {
            self.tell(connection, false);
        }
        Ok(())
    }

    fn shares(&mut self, now: Time, connection: u32, of: &Shares) {
        let slot = &mut self.slots[connection as usize];
        let Some(account) = &mut slot.account else { return };
        if of.epoch.wrapping_sub(slot.epoch).cast_signed() <= 0 {
            return;
        }
        slot.epoch = of.epoch;
        if account.cache().1 == of.limit {
            account.share_with(now, of.connections);
        } else {
            account.resize(&self.law, now, start(of, connection, self.base_rtt));
        }
        self.moved(now, connection);
    }

    fn tell(&mut self, connection: u32, answer: bool) {
        let slot = &mut self.slots[connection as usize];
        slot.flags |= if answer { ANSWER } else { 0 };
        if slot.flags & TELL == 0 {
            slot.flags |= TELL;
            self.tell.push_back(connection);
        }
    }

    /// A request that may be posted now, if there is one. Call it again until there is none.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<ReleasedRequest> {
        while let Some(&connection) = self.ready.front() {
            let slot = &mut self.slots[connection as usize];
            let account = slot.account.as_mut();
            if let Some(of) = account.and_then(|of| of.release_one(&mut self.requests, now)) {
                if !self.asks.is_set(connection) {
                    slot.pause = 0;
                    self.set_ask(connection, 0, now.saturating_add(self.heal));
                }
                return Some(ReleasedRequest { connection, token: of.token, bytes: of.bytes });
            }
            slot.flags &= !READY;
            self.ready.pop_front();
        }
        None
    }

    /// A message for a receiver, if one is due: of which connection, and what. Call it again until there is none.
    #[inline]
    pub fn next_message(&mut self, now: Time) -> Option<(u32, Message)> {
        if now < self.next_ask && self.tell.is_empty() {
            return None;
        }
        self.find_message(now)
    }

    fn find_message(&mut self, now: Time) -> Option<(u32, Message)> {
        while let Some((connection, list)) = self.asks.take(now) {
            self.ask(now, connection, list);
        }
        self.next_ask = self.asks.due();
        loop {
            let connection = self.tell.pop_front()?;
            let slot = &mut self.slots[connection as usize];
            let answer = slot.flags & ANSWER > 0;
            slot.flags &= !(TELL | ANSWER);
            let Some(account) = &slot.account else { continue };
            let (posted, epoch) = (account.charged(), slot.epoch);
            return Some((
                connection,
                Message::Ask { connection: slot.peer, posted, epoch, answer },
            ));
        }
    }

    fn set_ask(&mut self, connection: u32, list: usize, due: Time) {
        self.asks.set(connection, list, due);
        self.next_ask = self.next_ask.min(due);
    }

    /// Asks for credits, if none came back for as long as this timer takes.
    fn ask(&mut self, now: Time, connection: u32, list: usize) {
        let slot = &mut self.slots[connection as usize];
        let out = slot.account.as_ref().is_some_and(|of| of.totals().outstanding > 0);
        if !out {
            return;
        }
        let pause = self.heal * (1 << list);
        let quiet = now.since(slot.moved) >= pause;
        let next = if quiet { (list + 1).min(PAUSES - 1) } else { 0 };
        slot.pause = next as u8;
        self.set_ask(connection, next, now.saturating_add(self.heal * (1 << next)));
        if quiet {
            self.tell(connection, true);
        }
    }

    /// When to call [`Sender::next_message`]; [`Time::MAX`]: not before the next request.
    pub fn due(&self) -> Time {
        if self.tell.is_empty() { self.asks.due() } else { Time::ZERO }
    }

    /// Calls the law of a connection, if it wanted to be called by now. Calls for credits that come back do that too.
    pub fn wake(&mut self, now: Time, connection: u32) {
        if let Some(account) = &mut self.slots[connection as usize].account
            && account.woken(now)
            && account.has_ready(&self.requests)
        {
            let slot = &mut self.slots[connection as usize];
            if slot.flags & READY == 0 {
                slot.flags |= READY;
                self.ready.push_back(connection);
            }
        }
    }
}

/// Start of the law of a connection.
fn start(of: &Shares, seed: u32, base_rtt: Option<Span>) -> PoolStart {
    PoolStart {
        llc: Bytes::new(u64::from(of.limit) * u64::from(of.line)),
        line: Bytes::new(u64::from(of.line)),
        connections: of.connections,
        base_rtt,
        seed: seed.into(),
    }
}
