//! A message that arrives: what of it is there, and what it has credit for.

use super::GrantedConfig;
use crate::bits::Bits;
use forebay_laws::grant::{IncomingMessage, MessageId, Order};
use forebay_units::{Bytes, Time};
use forebay_wire::{FlowId, HostAddr, Kind, MessageTag, Packet};

/// Ranges that a receiver requests at a time.
const MOST_GAPS: usize = 16;

/// Doublings at most of the silence after which a receiver requests what is missing.
const MOST_DOUBLINGS: u32 = 5;

/// Payload still to come, and arrival of the first packet: the least is served first.
pub(super) type Rank = (u64, Time);

/// A message that arrives.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub flow: FlowId,
    pub sender: HostAddr,
    pub tag: Option<MessageTag>, // where it is one of a stream
    pub size: Bytes,             // also where `seen.size` is unknown
    pub seen: IncomingMessage, // as the law sees it; `trimmed` is all payload that was credited in vain
    pub closed: bool,          // complete or given up
    pub listed: Option<Rank>,  // among those that the law may grant something
    pub priority: u8,          // of the last grant
    pub grants: u32,           // packets of their own
    quiet_since: Time,         // last arrival, or the grant that ended a time without credit
    there: Bits,               // from `next` on
    next: u64,                 // number of the first packet that is missing
    silences: u32,             // in a row
    unheard: u32,              // of these, since its sender last said that it lives
    written_off: u64,          // at the last of them
    probed: Option<(Time, u64)>, // when packets below this number are there or lost
    parked: u64, // payload that counts as on its way although it is known to be cut off
    round: u64, // credit that was out when the last of it was parked or came back: once all that has come, a round trip is over
}

impl Message {
    /// A message of which nothing has arrived.
    pub fn new(flow: FlowId, sender: HostAddr, size: Bytes, unscheduled: Bytes, now: Time) -> Self {
        let seen = IncomingMessage {
            message: MessageId(0), // until it has a place
            sender: sender.word(),
            size,
            received: Bytes::ZERO,
            trimmed: Bytes::ZERO,
            credited: unscheduled,
            unscheduled,
            since: now,
            last_arrival: now,
        };
        Self {
            flow,
            sender,
            tag: None,
            size,
            seen,
            closed: false,
            listed: None,
            priority: 0,
            grants: 0,
            quiet_since: now,
            there: Bits::default(),
            next: 0,
            silences: 0,
            unheard: 0,
            written_off: 0,
            probed: None,
            parked: 0,
            round: 0,
        }
    }

    /// An answer to its sender without meaning yet.
    #[inline]
    pub fn answer(&self, cfg: &GrantedConfig, kind: Kind) -> Packet {
        cfg.answer(kind, self.flow, self.sender).about(self.tag)
    }

    /// Place in the list where messages are ranked.
    pub fn rank(&self, order: Order) -> Rank {
        let left = if order == Order::Shortest { self.left() } else { 0 };
        (left, self.seen.since)
    }

    /// Whether the law may grant the message something; in turns it may where less than its window is on its way.
    pub fn needs_credit(&self, cfg: &GrantedConfig, order: Order) -> bool {
        let room = || self.seen.under_way() < self.seen.unscheduled.max(cfg.mss);
        let open = !self.closed && self.seen.uncredited() > Bytes::ZERO;
        open && (order != Order::Turns || room())
    }

    /// The message has so much credit now, in all.
    #[inline]
    pub fn grant(&mut self, now: Time, credit: Bytes, priority: u8) {
        if self.seen.under_way() == Bytes::ZERO {
            self.quiet_since = now;
        }
        (self.seen.credited, self.priority) = (credit, priority);
    }

    /// Payload still to come.
    pub fn left(&self) -> u64 {
        self.size.get() - self.seen.received.get()
    }

    /// Payload delivered in order.
    pub fn delivered(&self, cfg: &GrantedConfig) -> u64 {
        (self.next * cfg.mss.get()).min(self.size.get())
    }

    /// Something of the message has arrived.
    pub fn touch(&mut self, now: Time) {
        (self.seen.last_arrival, self.quiet_since) = (now, now);
        (self.silences, self.unheard) = (0, 0);
    }

    /// Takes a packet of so much payload, if it is new: what comes twice was credited in vain.
    pub fn take(&mut self, number: u64, payload: u64) -> bool {
        let new = number >= self.next && self.there.add(number);
        if new {
            self.seen.received += Bytes::new(payload);
            self.next = self.there.next_out(self.next);
            self.there.forget_below(self.next);
        } else {
            self.in_vain(payload);
        }
        new
    }

    /// Whether a packet is there.
    pub fn has(&self, number: u64) -> bool {
        number < self.next || self.there.has(number)
    }

    /// So much of what was credited brought nothing.
    pub fn in_vain(&mut self, payload: u64) {
        self.seen.trimmed = self.seen.trimmed.saturating_add(Bytes::new(payload));
    }

    /// A payload was cut off on the way to a switch: its credit counts as out for now, so that less is on its way in all, but for two packets.
    pub fn park(&mut self, cfg: &GrantedConfig, payload: u64) {
        if self.parked + 2 * cfg.mss.get() >= self.seen.unscheduled.get() {
            return self.in_vain(payload);
        }
        if self.parked == 0 {
            self.round = self.seen.credited.get();
        }
        self.parked += payload;
    }

    /// Whether something is parked that may be due to come back.
    #[inline]
    pub fn has_parked(&self) -> bool {
        self.parked > 0
    }

    /// Gives the credit of one parked packet back a round trip after the last, or all of it where nothing else is on its way.
    #[cold]
    pub fn unpark(&mut self, cfg: &GrantedConfig) {
        let under_way = self.seen.under_way().get();
        let alone = under_way <= self.parked;
        if !alone && self.seen.credited.get() - (under_way - self.parked) < self.round {
            return;
        }
        let back = if alone { self.parked } else { self.parked.min(cfg.mss.get()) };
        self.round = self.seen.credited.get();
        self.parked -= back;
        self.in_vain(back);
    }

    /// When silence has lasted for long: each time twice as long.
    pub fn silent_at(&self, cfg: &GrantedConfig) -> Time {
        if self.closed || self.seen.under_way() == Bytes::ZERO {
            return Time::MAX;
        }
        self.quiet_since + cfg.settings.resend_after * (1 << self.silences.min(MOST_DOUBLINGS))
    }

    /// Whether so many requests in a row brought nothing, not even a sign of life, that the message is given up. One of a stream never is.
    pub fn in_vain_for_long(&self, cfg: &GrantedConfig) -> bool {
        cfg.max_retries() > 0 && self.unheard >= cfg.max_retries() && self.tag.is_none()
    }

    /// The sender lives, and has sent what was requested: the copies are on their way, however long that takes.
    pub fn lives(&mut self) {
        self.unheard = 0;
    }

    /// Gives the message up: what is on its way will not be taken.
    pub fn give_up(&mut self) {
        self.in_vain(self.seen.under_way().get());
        (self.closed, self.parked) = (true, 0);
        self.there = Bits::default();
    }

    /// The sender has not come to send what was written off: it is on its way after all.
    pub fn busy(&mut self, now: Time) {
        self.touch(now);
        let written_off = Bytes::new(std::mem::take(&mut self.written_off));
        self.seen.trimmed = self.seen.trimmed.saturating_sub(written_off);
    }

    /// What left unasked ends below the byte `seq`; what is missing of it then is lost.
    pub fn probe(&mut self, cfg: &GrantedConfig, then: Time, seq: u64) {
        self.probed = (!self.closed).then_some((then, cfg.packets(seq)));
    }

    /// When packets are there or lost, as a probe says.
    pub fn probed_at(&self) -> Time {
        self.probed.filter(|_| !self.closed).map_or(Time::MAX, |(at, _)| at)
    }

    /// Gives up what is missing of what left unasked. Returns its ranges of packets, and its payload.
    pub fn write_off_unscheduled(&mut self, cfg: &GrantedConfig) -> (Vec<(u64, u64)>, Bytes) {
        let end = self.probed.take().map_or(0, |(_, end)| end);
        let gaps = self.gaps(end, usize::MAX);
        let size = self.size.get();
        let payload =
            |(from, upto): &(u64, u64)| size.min(upto * cfg.mss.get()) - from * cfg.mss.get();
        let payload = gaps.iter().map(payload).sum();
        self.in_vain(payload);
        (gaps, Bytes::new(payload))
    }

    /// Gives up what is on its way. Returns ranges of packets that are missing, of those for which there was credit.
    pub fn write_off(&mut self, cfg: &GrantedConfig, now: Time) -> Vec<(u64, u64)> {
        self.written_off = self.seen.under_way().get();
        self.in_vain(self.written_off);
        (self.quiet_since, self.parked) = (now, 0);
        self.silences = self.silences.saturating_add(1);
        self.unheard = self.unheard.saturating_add(1);
        self.gaps(cfg.packets(self.size.min(self.seen.credited).get()), MOST_GAPS)
    }

    /// Ranges of packets below `end` that are missing.
    fn gaps(&self, end: u64, most: usize) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut from = self.next;
        while from < end && gaps.len() < most {
            let upto = self.there.next_in(from).unwrap_or(end).min(end);
            gaps.push((from, upto));
            from = self.there.next_out(upto);
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::config;
    use super::*;

    fn message(cfg: &GrantedConfig, size: u64) -> Message {
        let (size, window) = (Bytes::new(size), cfg.window);
        let mut message = Message::new(FlowId(0), HostAddr::default(), size, window, Time::ZERO);
        message.seen.credited = window;
        message
    }

    /// A window of ten packets, of which four are cut off on the way up: credit comes back for none of them until the six others are there, then for a packet in each round trip.
    #[test]
    fn parked_credit_comes_back_a_packet_in_a_round_trip() {
        let cfg = GrantedConfig { window: Bytes::new(10_000), ..config() };
        let mut message = message(&cfg, 1_000_000);
        (0..4).for_each(|_| message.park(&cfg, 1_000));
        assert_eq!((message.parked, message.seen.under_way()), (4_000, Bytes::new(10_000)));
        for number in 4..10 {
            message.take(number, 1_000);
            if number == 5 {
                message.grant(Time::ZERO, Bytes::new(12_000), 0); // for two that came
            }
            message.unpark(&cfg);
            let back = u64::from(number == 9) * 1_000;
            assert_eq!(message.seen.trimmed, Bytes::new(back), "packet {number}");
        }
        assert_eq!(message.parked, 3_000);
        // Once two more, and nothing else, are there, all of it comes back.
        (0..2).for_each(|number| _ = message.take(number, 1_000));
        message.unpark(&cfg);
        assert_eq!((message.parked, message.seen.under_way()), (0, Bytes::ZERO));
    }

    /// Two packets are on their way whatever is cut off.
    #[test]
    fn a_window_shrinks_to_two_packets() {
        let cfg = GrantedConfig { window: Bytes::new(5_000), ..config() };
        let mut message = message(&cfg, 1_000_000);
        (0..5).for_each(|_| message.park(&cfg, 1_000));
        assert_eq!((message.parked, message.seen.trimmed), (3_000, Bytes::new(2_000)));
    }
}
