//! The receiver's side: counts what its application has consumed, and returns credits for it.
//!
//! All connections share the limit equally. When a connection comes or goes, or the limit changes, each sender's share changes.
//! A sender that has not yet acknowledged a lower share may still use the higher one, so the receiver keeps back the difference
//! from the credits that it returns. A change of more than an eighth is announced to all; a smaller one travels with the next
//! credit message.
//!
//! Invariant: nothing is allocated after the start. Every call takes constant time, [`Receiver::poll`] at most [`SCAN`] steps.

use crate::absurd::ProtocolError;
use crate::fifo::{LINK_STATE, Timers};
use crate::limit::Limit;
use crate::message::{MOST_LINES, Message, Shares};
use crate::returns::{Returns, Timing};
use alloc::boxed::Box;
use alloc::vec;
use forebay_units::{Span, Time};

/// Connections that one call of [`Receiver::poll`] looks at, at most, to find one that has not been told its share.
pub const SCAN: u32 = 256;

/// Longest that credits wait for company.
///
/// Assumption: 10 us (sheet).
pub const KEEP: Span = Span::from_us(10);

/// Time after which what was lost is sent again.
pub const HEAL: Span = Span::from_ms(10);

const NONE: u32 = u32::MAX;

/// Running totals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiverCounts {
    /// Lines that the application consumed.
    pub consumed: u64,
    /// Explicit messages.
    pub messages: u64,
    /// Of those, repetitions of announcements that were not acknowledged.
    pub repeated: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    returns: Returns, // unit: lines
    consumed: u64,    // lines
    believes: u32,    // largest share that the sender may believe in
    announced: u32,   // share of the last announcement
    epoch: u16,       // of the last announcement
    acked: u16,       // last one that the sender has acknowledged
    state: u32,       // `LIVE`, or the next free slot
}

/// No free slot has this number.
const LIVE: u32 = u32::MAX - 1;

/// Bytes of one connection.
pub const RECEIVER_STATE: usize = size_of::<Slot>() + 2 * LINK_STATE;
const _: () = assert!(RECEIVER_STATE <= 128, "128 bytes per connection");

/// The receiver's side of all its connections.
#[derive(Clone, Debug)]
pub struct Receiver {
    slots: Box<[Slot]>,
    free: u32,
    live: u32,
    limit: Limit,
    share: u32,        // of each connection
    batch: u64,        // an eighth of it
    next: Time,        // no timer is due before, and no announcement to all is under way
    told: u32,         // share of the last announcement to all
    scan: u32,         // next slot of the announcement to all that is under way, if one is
    kept: Timers<1>,   // credits that wait for company
    unseen: Timers<1>, // announcements that are not acknowledged
    timing: Timing,
    heal: Span,
    counts: ReceiverCounts,
}

impl Receiver {
    /// A receiver of at most `most` connections. All memory is taken now.
    pub fn new(limit: Limit, most: u32) -> Self {
        let most = most.min(LIVE - 1);
        let slot = Slot {
            returns: Returns::default(),
            consumed: 0,
            believes: 0,
            announced: 0,
            epoch: 0,
            acked: 0,
            state: NONE,
        };
        let mut slots = vec![slot; most as usize].into_boxed_slice();
        for (at, slot) in slots.iter_mut().enumerate() {
            slot.state = if at as u32 + 1 < most { at as u32 + 1 } else { NONE };
        }
        Self {
            slots,
            free: if most > 0 { 0 } else { NONE },
            live: 0,
            limit,
            share: limit.lines,
            batch: u64::from(limit.lines / 8),
            next: Time::MAX,
            told: limit.lines,
            scan: NONE,
            kept: Timers::new(most),
            unseen: Timers::new(most),
            timing: Timing { keep: KEEP, repeat: HEAL, repeats: 0 },
            heal: HEAL,
            counts: ReceiverCounts::default(),
        }
    }

    /// Other times than [`KEEP`] and [`HEAL`].
    #[must_use]
    pub fn with_times(self, keep: Span, heal: Span) -> Self {
        Self { timing: Timing { keep, ..self.timing }, heal, ..self }
    }

    /// A connection comes. Returns its number and the first message to its sender; none if all numbers are taken.
    pub fn connect(&mut self) -> Option<(u32, Message)> {
        let at = self.free;
        let slot = self.slots.get_mut(at as usize)?;
        self.free = slot.state;
        slot.state = LIVE;
        self.live += 1;
        self.share_again();
        let share = self.share;
        let slot = &mut self.slots[at as usize];
        (slot.believes, slot.announced) = (share, share);
        Some((at, Message::Hello { connection: at, shares: self.shares(0) }))
    }

    /// A connection ended or failed. Its share goes to the others.
    pub fn disconnect(&mut self, connection: u32) {
        if !self.is_connected(connection) {
            return;
        }
        self.kept.clear(connection, 0);
        self.unseen.clear(connection, 0);
        let slot = &mut self.slots[connection as usize];
        *slot = Slot {
            returns: Returns::default(),
            consumed: 0,
            epoch: 0,
            acked: 0,
            state: self.free,
            ..*slot
        };
        self.free = connection;
        self.live -= 1;
        self.share_again();
    }

    /// Whether a connection has this number.
    #[inline]
    pub fn is_connected(&self, connection: u32) -> bool {
        self.slots.get(connection as usize).is_some_and(|slot| slot.state == LIVE)
    }

    /// Connections now.
    pub fn connections(&self) -> u32 {
        self.live
    }

    /// Lines that each connection may fill.
    pub fn share(&self) -> u32 {
        self.share
    }

    /// Totals since the start.
    pub fn counts(&self) -> &ReceiverCounts {
        &self.counts
    }

    /// Another limit from now on, in lines of the size that they had at the start.
    pub fn set_limit(&mut self, limit: Limit) {
        let line = self.limit.line;
        let lines = (limit.bytes() / u64::from(line)).clamp(1, u64::from(MOST_LINES)) as u32;
        self.limit = Limit { lines, line, ..limit };
        self.share_again();
    }

    fn share_again(&mut self) {
        self.share = (self.limit.lines / self.live.max(1)).max(1);
        self.batch = u64::from(self.share / 8);
        if self.share.abs_diff(self.told) > self.told / 8 {
            self.told = self.share;
            self.scan = 0;
            self.next = Time::ZERO;
        }
    }

    fn shares(&self, epoch: u16) -> Shares {
        let Limit { lines, line, .. } = self.limit;
        Shares { limit: lines, connections: self.live.max(1), line, epoch }
    }

    /// Lines of a message, at least one.
    #[inline]
    fn lines(&self, bytes: u64) -> u64 {
        (bytes.saturating_sub(1) >> self.limit.line.trailing_zeros()) + 1
    }

    /// The application has consumed a message of `bytes`. Returns whether a credit message is to leave now; else credits wait for
    /// company, and [`Receiver::poll`] says when they have waited long enough.
    ///
    /// # Panics
    /// If there is no such connection.
    #[inline]
    pub fn completed(&mut self, now: Time, connection: u32, bytes: u64) -> bool {
        let lines = self.lines(bytes);
        self.counts.consumed += lines;
        self.slots[connection as usize].consumed += lines;
        self.look(now, connection)
    }

    /// The application has consumed a message, and its response returns the credits: the sender takes them back when it comes.
    ///
    /// # Panics
    /// If there is no such connection.
    #[inline]
    pub fn answered(&mut self, now: Time, connection: u32, bytes: u64) {
        let lines = self.lines(bytes);
        self.counts.consumed += lines;
        let slot = &mut self.slots[connection as usize];
        slot.consumed += lines;
        slot.returns.read(&self.timing, now, slot.consumed, u64::MAX);
        slot.returns.announce(&self.timing, now);
        self.kept.clear(connection, 0);
    }

    /// Finds how much may be returned.
    #[inline(always)]
    fn look(&mut self, now: Time, connection: u32) -> bool {
        let slot = &mut self.slots[connection as usize];
        let back = u64::from(slot.believes.saturating_sub(self.share));
        let upto = slot.consumed.saturating_sub(back).max(slot.returns.announced());
        let waits = slot.returns.pending(); // and its timer is set, then
        let now_due = slot.returns.read(&self.timing, now, upto, self.batch);
        if !waits && slot.returns.pending() && !self.kept.is_set(connection) {
            let due = now.saturating_add(self.timing.keep);
            self.kept.set(connection, 0, due);
            self.next = self.next.min(due);
        }
        now_due
    }

    /// The counter for the immediate data of a message that is sent anyway. It returns what was consumed so far.
    /// None: the sender is to be told of another share first, by a credit message.
    ///
    /// # Panics
    /// If there is no such connection.
    #[inline]
    pub fn counter(&mut self, now: Time, connection: u32) -> Option<u32> {
        let slot = &self.slots[connection as usize];
        if slot.announced != self.share {
            return None;
        }
        if slot.consumed == slot.returns.announced() {
            return Some(slot.consumed as u32); // nothing is to be returned
        }
        self.look(now, connection);
        let slot = &mut self.slots[connection as usize];
        self.kept.clear(connection, 0);
        Some(slot.returns.announce(&self.timing, now) as u32)
    }

    /// The credit message of a connection, which leaves now.
    ///
    /// # Panics
    /// If there is no such connection.
    pub fn credit_message(&mut self, now: Time, connection: u32) -> Message {
        self.look(now, connection);
        self.kept.clear(connection, 0);
        self.counts.messages += 1;
        let slot = &mut self.slots[connection as usize];
        let returned = slot.returns.announce(&self.timing, now) as u32;
        if slot.announced != self.share {
            slot.announced = self.share;
            slot.believes = slot.believes.max(self.share);
            slot.epoch = slot.epoch.wrapping_add(1);
        }
        let (epoch, acknowledge) = (slot.epoch, slot.epoch != slot.acked);
        if acknowledge && !self.unseen.is_set(connection) {
            let due = now.saturating_add(self.heal);
            self.unseen.set(connection, 0, due);
            self.next = self.next.min(due);
        }
        Message::Credit { connection, returned, shares: self.shares(epoch), acknowledge }
    }

    /// A message of a sender. Returns whether a credit message is to leave now.
    ///
    /// # Errors
    /// If the message is absurd: the connection is to be ended.
    pub fn message(
        &mut self,
        now: Time,
        connection: u32,
        message: &Message,
    ) -> Result<bool, ProtocolError> {
        let Message::Ask { connection: number, epoch, answer, .. } = *message else {
            return Err(ProtocolError::Unexpected);
        };
        if number != connection || !self.is_connected(connection) {
            return Err(ProtocolError::Connection);
        }
        let slot = &mut self.slots[connection as usize];
        if epoch.wrapping_sub(slot.epoch).cast_signed() > 0 {
            return Err(ProtocolError::Epoch);
        }
        if epoch == slot.epoch {
            slot.acked = epoch;
            slot.believes = slot.announced;
            self.unseen.clear(connection, 0);
        }
        Ok(self.look(now, connection) || answer)
    }

    /// A connection whose credit message is to leave now, if there is one. Call it again until there is none.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<u32> {
        if now < self.next { None } else { self.find(now) }
    }

    fn find(&mut self, now: Time) -> Option<u32> {
        if let Some((connection, _)) = self.kept.take(now) {
            return Some(connection);
        }
        if let Some((connection, _)) = self.unseen.take(now) {
            self.counts.repeated += 1;
            return Some(connection);
        }
        for _ in 0..SCAN {
            let Some(slot) = self.slots.get(self.scan as usize) else {
                self.scan = NONE;
                self.next = self.kept.due().min(self.unseen.due());
                return None;
            };
            let at = self.scan;
            self.scan += 1;
            if slot.state == LIVE && slot.announced != self.share {
                return Some(at);
            }
        }
        None
    }

    /// When to call [`Receiver::poll`]; [`Time::MAX`]: not before the next message.
    pub fn due(&self) -> Time {
        if self.scan != NONE { Time::ZERO } else { self.kept.due().min(self.unseen.due()) }
    }
}
