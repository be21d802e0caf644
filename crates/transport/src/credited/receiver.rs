//! Receiver half: credits at the rate that the law sets, and what came of them.

use super::{CREDIT, CREDIT_JITTER, CreditedConfig, EARLY_STOP, PROBE, REQUEST, STOP, patience};
use crate::bits::Bits;
use crate::half::{CreditState, HostHalf, HostStart, PacketSink, ReceiverHalf};
use crate::receiver::Arrival;
use forebay_laws::Acts;
use forebay_laws::credit::{Credit, CreditAct, CreditEvent, CreditSeen, CreditStart, CreditTotals};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{Ecn, Flags, FlowId, HostAddr, Kind, MessageTag, Packet};
use std::ops::Range;

/// What receivers of one host have in common: its link.
#[derive(Clone, Debug)]
pub struct CreditedHost {
    pub(super) at: HostStart,
}

impl HostHalf<CreditedConfig> for CreditedHost {
    #[inline]
    fn deadline(&self) -> Time {
        Time::MAX
    }

    fn on_deadline(&mut self, _cfg: &CreditedConfig, _now: Time, _sink: &mut impl PacketSink) {}
}

/// Receiver half of a flow, or of a stream: of one message after another.
#[derive(Clone, Debug)]
pub struct CreditedReceiver {
    flow: FlowId,
    sender: HostAddr,
    seed: u64,
    size: u64,                 // of a stream: of the message under way
    tag: Option<MessageTag>,   // of that
    before: u64,               // delivered of the messages of a stream before that
    next: u64,                 // first byte that is missing
    clock: Option<Box<Clock>>, // once credits were requested, until all is there
    sent: u32,                 // credits that no clock counts any more
    nack_due: Time,            // repetition of a NACK whose hole is still there
    nacks: u32,                // in a row
    backward: u64,
    there: Option<Box<Reassembly>>, // where packets leave before the first credit
}

/// Most holes that a receiver names at a time.
const MOST_HOLES: usize = 16;

/// Packets of a flow that are there, and where the next is due that a credit releases for the first time.
#[derive(Clone, Debug, Default)]
struct Reassembly {
    packets: Bits,
    next: u64,              // number of the first packet that is missing
    scheduled: Option<u64>, // number; once a probe says how many came unscheduled
}

impl Reassembly {
    /// Packets that are missing of those that were sent, by runs.
    fn holes(&self) -> Vec<Range<u64>> {
        let (mut from, end) = (self.next, self.scheduled.unwrap_or(0));
        let mut holes = Vec::new();
        while from < end && holes.len() < MOST_HOLES {
            let upto = self.packets.next_in(from).unwrap_or(end).min(end);
            holes.push(from..upto);
            from = self.packets.next_out(upto);
        }
        holes
    }

    /// A packet arrives. Returns packets that were scheduled before it and are missing.
    fn take(&mut self, number: u64, scheduled: bool) -> Option<Range<u64>> {
        if number >= self.next {
            self.packets.add(number);
            self.next = self.packets.next_out(self.next);
            self.packets.forget_below(self.next);
        }
        let due = self.scheduled.as_mut().filter(|due| scheduled && number >= **due)?;
        let hole = *due..number;
        *due = number + 1;
        (!hole.is_empty()).then_some(hole)
    }
}

/// Credits of a flow.
#[derive(Clone, Debug)]
struct Clock {
    law: Credit,
    totals: CreditTotals,
    rate: BitsPerSec,
    due: Time,     // of the next credit; never while the sender has nothing to send
    number: u64,   // of the next credit
    expected: u16, // number that the next data packet echoes if no credit is lost
    key: u64,      // of jitter
}

impl Clock {
    /// Credits for a flow of which so many packets are missing.
    fn new(cfg: &CreditedConfig, at: HostStart, seed: u64, packets: u64, now: Time) -> Self {
        let (of, whole) = cfg.share;
        let most = u128::from(at.line_rate.get()) * u128::from(of) / u128::from(whole.max(1));
        let most = BitsPerSec::new((most as u64).max(1));
        let mut acts = Acts::default();
        let law = cfg.law.start(now, CreditStart { most, size: CREDIT, packets, seed }, &mut acts);
        let totals = CreditTotals::default();
        let key = Stream::new(seed, 0, Purpose::Jitter).key();
        let mut clock = Self { law, totals, rate: most, due: now, number: 0, expected: 0, key };
        clock.obey(&acts);
        clock
    }

    fn tell(&mut self, now: Time, event: CreditEvent) {
        let mut acts = Acts::default();
        self.law.step(now, CreditSeen { totals: &self.totals, event }, &mut acts);
        self.obey(&acts);
    }

    fn obey(&mut self, acts: &Acts<CreditAct>) {
        for act in acts.iter() {
            if let CreditAct::Rate(rate) = act {
                self.rate = rate;
            }
        }
    }

    /// The credit that is due, and when the next one is: 10 % earlier or later than at the rate.
    fn credit(&mut self, cfg: &CreditedConfig, now: Time) -> Packet {
        self.tell(now, CreditEvent::Credit);
        let mut draws = Stream::new(self.key, self.number, Purpose::Jitter);
        let gap = self.rate.time_for(CREDIT).as_ps();
        self.due = now + Span::from_ps(gap - gap / 10 + draws.below(gap / 5 + 1));
        let wire = CREDIT.get() - CREDIT_JITTER + draws.below(2 * CREDIT_JITTER + 1);
        let number = self.number as u16;
        self.number += 1;
        Packet {
            size: wire.saturating_sub(cfg.overhead.get()).max(1) as u16,
            kind: Kind::Grant,
            class: cfg.credit_class,
            ecn: cfg.ecn(),
            stamp: clock_ns(now),
            word: number,
            ..Packet::default()
        }
    }

    /// A packet of data echoes the number and the clock of its credit. False: the number is older than one that came before.
    fn on_echo(&mut self, now: Time, packet: &Packet) -> bool {
        let gap = packet.word.wrapping_sub(self.expected);
        if gap > u16::MAX / 2 {
            return false;
        }
        self.totals.answered += u64::from(gap) + 1;
        self.totals.lost += u64::from(gap);
        self.expected = packet.word.wrapping_add(1);
        let trip = Span::from_ns(clock_ns(now).wrapping_sub(packet.stamp).into());
        self.totals.rtt = match self.totals.rtt {
            Span::ZERO => trip,
            before => (before * 4 + trip) / 5,
        };
        true
    }
}

fn clock_ns(now: Time) -> u32 {
    (now.as_ps() / 1_000) as u32
}

impl CreditedReceiver {
    /// A flow of which nothing has arrived.
    pub(super) fn new(
        cfg: &CreditedConfig,
        flow: FlowId,
        sender: HostAddr,
        size: Bytes,
        seed: u64,
    ) -> Self {
        let there = cfg.protects().then(Box::default);
        let (nack_due, size) = (Time::MAX, size.get());
        Self {
            flow,
            sender,
            seed,
            size,
            tag: None,
            before: 0,
            next: 0,
            clock: None,
            sent: 0,
            nack_due,
            nacks: 0,
            backward: 0,
            there,
        }
    }

    /// Whether all of the flow is there, or of a stream, of its message under way.
    fn is_whole(&self) -> bool {
        self.next == self.size
    }

    /// A control packet to the sender without meaning yet.
    fn control(&self, cfg: &CreditedConfig, kind: Kind) -> Packet {
        cfg.control(kind, self.flow, self.sender).about(self.tag)
    }

    /// The last ACK of so many bytes.
    fn last_ack(&self, cfg: &CreditedConfig, tag: Option<MessageTag>, size: u64) -> Packet {
        let ack = cfg.control(Kind::Ack, self.flow, self.sender).about(tag);
        Packet { seq: size, flags: ack.flags.with(Flags::FIN), ..ack }
    }

    /// Whether a packet is of the message under way, or begins the next. Of one that is complete, the last ACK was lost.
    fn is_of_this(
        &mut self,
        cfg: &CreditedConfig,
        tag: MessageTag,
        sink: &mut impl PacketSink,
    ) -> bool {
        if self.tag.is_none_or(|last| tag.number > last.number) {
            let before = self.before + self.next;
            let next =
                Self::new(cfg, self.flow, self.sender, Bytes::new(tag.size.into()), self.seed);
            *self =
                Self { tag: Some(tag), before, sent: self.sent, backward: self.backward, ..next };
        } else if self.tag != Some(tag) || self.is_whole() {
            sink.send(&self.last_ack(cfg, Some(tag), tag.size.into()));
            return false;
        }
        true
    }

    /// Requests what is missing: the first byte, and all after it; or each hole.
    fn nack(&mut self, cfg: &CreditedConfig, now: Time, sink: &mut impl PacketSink) {
        match self.there.as_ref().map(|there| there.holes()) {
            Some(holes) => self.request(cfg, now, &holes, sink),
            None => {
                self.expect_again(now);
                let nack = self.control(cfg, Kind::Nack);
                sink.send(&Packet { seq: self.next, ..nack });
            }
        }
    }

    /// Requests packets that are missing.
    fn request(
        &mut self,
        cfg: &CreditedConfig,
        now: Time,
        holes: &[Range<u64>],
        sink: &mut impl PacketSink,
    ) {
        self.expect_again(now);
        let mss = cfg.mss.get();
        for hole in holes {
            let (seq, end) = (hole.start * mss, self.size.min(hole.end * mss));
            let stamp = u32::try_from(end - seq).unwrap_or(u32::MAX);
            let nack = self.control(cfg, Kind::Nack);
            sink.send(&Packet { seq, stamp, ..nack });
        }
    }

    fn expect_again(&mut self, now: Time) {
        self.nack_due = now + patience(self.nacks);
        self.nacks += 1;
    }

    fn send_credit(&mut self, cfg: &CreditedConfig, now: Time, sink: &mut impl PacketSink) {
        let (flow, dst) = (self.flow, self.sender);
        if let Some(clock) = &mut self.clock {
            let credit = clock.credit(cfg, now);
            sink.send(&Packet { flow, dst, ..credit }.about(self.tag));
        }
    }

    fn on_want(
        &mut self,
        cfg: &CreditedConfig,
        host: &CreditedHost,
        now: Time,
        packet: &Packet,
        sink: &mut impl PacketSink,
    ) {
        let word = packet.word;
        if word == PROBE {
            self.on_probe(cfg, packet.seq, sink);
        } else if word == REQUEST {
            let (seed, packets) = (self.seed, (self.size - self.next).div_ceil(cfg.mss.get()));
            let fresh = || Clock::new(cfg, host.at, seed, packets, now).into();
            let clock = self.clock.get_or_insert_with(fresh);
            let stopped = clock.due == Time::MAX;
            if stopped {
                clock.tell(now, CreditEvent::Request { packets });
            }
            if clock.number == 0 || stopped {
                self.send_credit(cfg, now, sink);
            }
        } else if word == STOP || word == EARLY_STOP {
            if let Some(clock) = &mut self.clock {
                clock.due = Time::MAX;
            }
            if word == EARLY_STOP {
                return; // what is missing is still to come
            }
            if let Some(there) = &mut self.there {
                there.scheduled = Some(self.size.div_ceil(cfg.mss.get()));
            }
            if self.nack_due == Time::MAX {
                self.nack(cfg, now, sink); // it sent all, and something is missing
            }
        }
    }

    /// Unscheduled packets end before the byte `seq`.
    fn on_probe(&mut self, cfg: &CreditedConfig, seq: u64, sink: &mut impl PacketSink) {
        let end = seq.div_ceil(cfg.mss.get());
        if let Some(there) = &mut self.there {
            there.scheduled.get_or_insert(end);
        }
        if !self.is_whole() {
            self.ack(cfg, end, PROBE, sink);
        }
    }

    /// Answers packet `number`, or with [`PROBE`] those below.
    fn ack(&self, cfg: &CreditedConfig, number: u64, word: u16, sink: &mut impl PacketSink) {
        let ack = self.control(cfg, Kind::Ack);
        sink.send(&Packet { seq: self.next, stamp: number as u32, word, ..ack });
    }

    /// A packet of a flow whose packets leave before the first credit, too.
    fn on_packet(
        &mut self,
        cfg: &CreditedConfig,
        now: Time,
        packet: &Packet,
        sink: &mut impl PacketSink,
    ) {
        let (number, scheduled) = (packet.seq / cfg.mss.get(), packet.ecn != Ecn::NotEct);
        let Some(there) = &mut self.there else { return };
        let hole = there.take(number, scheduled);
        let next = (there.next * cfg.mss.get()).min(self.size);
        if next > self.next {
            (self.nack_due, self.nacks) = (Time::MAX, 0);
        }
        self.next = next;
        if let Some(hole) = hole {
            self.request(cfg, now, &[hole], sink);
        }
        if !scheduled && !self.is_whole() {
            self.ack(cfg, number, 0, sink);
        }
    }

    fn on_payload(
        &mut self,
        cfg: &CreditedConfig,
        now: Time,
        packet: &Packet,
        sink: &mut impl PacketSink,
    ) {
        let scheduled = !cfg.protects() || packet.ecn != Ecn::NotEct;
        if let Some(clock) = self.clock.as_mut().filter(|_| scheduled) {
            self.backward += u64::from(!clock.on_echo(now, packet));
        }
        if self.there.is_some() {
            return self.on_packet(cfg, now, packet, sink);
        }
        let payload = u64::from(packet.size) - cfg.header.get();
        if packet.seq == self.next {
            self.next += payload;
            (self.nack_due, self.nacks) = (Time::MAX, 0);
        } else if packet.seq > self.next && self.nack_due == Time::MAX {
            self.nack(cfg, now, sink);
        }
    }
}

impl ReceiverHalf<CreditedConfig> for CreditedReceiver {
    fn on_data(
        &mut self,
        cfg: &CreditedConfig,
        host: &mut CreditedHost,
        now: Time,
        _newest: Arrival,
        packet: &Packet,
        sink: &mut impl PacketSink,
    ) {
        if let Some(tag) = packet.message()
            && !self.is_of_this(cfg, tag, sink)
        {
            return;
        }
        match packet.kind {
            Kind::Want => self.on_want(cfg, host, now, packet, sink),
            Kind::Data => self.on_payload(cfg, now, packet, sink),
            _ => {}
        }
        if self.is_whole() {
            self.sent = self.credits_sent(None) as u32;
            self.clock = None;
            sink.send(&self.last_ack(cfg, self.tag, self.size));
        }
    }

    #[inline]
    fn deadline(&self) -> Time {
        self.clock.as_ref().map_or(Time::MAX, |clock| clock.due).min(self.nack_due)
    }

    fn on_deadline(&mut self, cfg: &CreditedConfig, now: Time, sink: &mut impl PacketSink) {
        if self.clock.as_ref().is_some_and(|clock| clock.due <= now) {
            self.send_credit(cfg, now, sink);
        }
        if self.nack_due <= now {
            self.nack(cfg, now, sink);
        }
    }

    fn ack_due(&self) -> Time {
        Time::MAX
    }

    fn delivered(&self) -> Bytes {
        Bytes::new(self.before + self.next)
    }

    fn complete(&self) -> bool {
        self.tag.is_none() && self.is_whole()
    }

    fn credits_sent(&self, _host: Option<&CreditedHost>) -> u64 {
        u64::from(self.sent) + self.clock.as_ref().map_or(0, |clock| clock.number)
    }

    fn credits_backward(&self) -> u64 {
        self.backward
    }

    fn credit_state(&self, cfg: &CreditedConfig, _host: Option<&CreditedHost>) -> CreditState {
        let kept = self.there.as_ref().map_or(0, |there| there.packets.count_from(there.next));
        CreditState {
            credited: self.clock.as_ref().is_some_and(|clock| clock.due != Time::MAX),
            waiting: Bytes::ZERO,
            beyond_gap: Bytes::new((kept * cfg.mss.get()).min(self.size - self.next)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_laws::credit::CreditParams;
    use std::collections::BTreeMap;

    fn config() -> CreditedConfig {
        CreditedConfig {
            law: CreditParams::new("expresspass").expect("a law"),
            mss: Bytes::new(1_460),
            header: Bytes::new(40),
            ack_size: Bytes::new(46),
            overhead: Bytes::new(38),
            data_class: 0,
            credit_class: 1,
            share: (84, 1_622),
            early_stop: false,
            asks_after_stop: false,
            unscheduled: Bytes::ZERO,
        }
    }

    /// Data packets that echo an older credit than one before did, of 2,000 packets whose credits take `back` microseconds to the sender, one of them on each of so many paths in turn,
    /// and which answer at once over a path of 10 us.
    fn backward(back: &[u64]) -> u64 {
        let cfg = config();
        let at = HostStart { line_rate: BitsPerSec::from_gbps(10), now: Time::ZERO, seed: 7 };
        let mut host = CreditedHost { at };
        let size = Bytes::new(3_000 * 1_460);
        let mut receiver = CreditedReceiver::new(&cfg, FlowId(0), HostAddr::default(), size, 7);
        let mut hand =
            |receiver: &mut CreditedReceiver, now: Time, packet: Packet, sent: &mut Vec<Packet>| {
                let newest = Arrival { at: now, ..Arrival::default() };
                receiver.on_data(&cfg, &mut host, now, newest, &packet, sent);
            };
        let mut sent = Vec::new();
        let request =
            Packet { word: REQUEST, ..cfg.control(Kind::Want, FlowId(0), HostAddr::default()) };
        hand(&mut receiver, Time::ZERO, request, &mut sent);
        let mut echoes = BTreeMap::new(); // data on its way, by arrival
        let (mut credits, mut bytes) = (0, 0);
        while credits < 2_000 {
            let next = echoes.first_key_value().map_or(Time::MAX, |((at, _), _)| *at);
            let now = receiver.deadline().min(next);
            if next <= now {
                let (_, (word, stamp)) = echoes.pop_first().expect("it is due");
                let data = Packet {
                    kind: Kind::Data,
                    size: 1_500,
                    seq: bytes,
                    word,
                    stamp,
                    ..Packet::default()
                };
                bytes += 1_460;
                hand(&mut receiver, now, data, &mut sent);
            } else {
                receiver.on_deadline(&cfg, now, &mut sent);
            }
            for credit in sent.drain(..).filter(|packet| packet.kind == Kind::Grant) {
                let trip = Span::from_us(back[credits % back.len()] + 10);
                echoes.insert((now + trip, credits), (credit.word, credit.stamp));
                credits += 1;
            }
        }
        receiver.credits_backward()
    }

    /// Of 100 packets 90 are there, the sender stops its receiver, and asks again. Under `"code"` ten packets start at 10/40 of alpha, an eighth of the most:
    /// credits of 84 B are 10.38 us apart on a link of 10 Gb/s, with 10 % of jitter. Under `"paper"` the rate goes on, at alpha or above: at most 2.6 us.
    #[test]
    fn a_request_after_a_stop_starts_with_the_packets_that_are_left() {
        for (form, gap) in [("code", 9_342_000..=11_420_000), ("paper", 1_000_000..=2_855_000)] {
            let mut law = CreditParams::new("expresspass").expect("a law");
            law.set("form", form).expect("a form");
            let cfg = CreditedConfig { law, ..config() };
            let at = HostStart { line_rate: BitsPerSec::from_gbps(10), now: Time::ZERO, seed: 7 };
            let mut host = CreditedHost { at };
            let size = Bytes::new(100 * 1_460);
            let mut receiver = CreditedReceiver::new(&cfg, FlowId(0), HostAddr::default(), size, 7);
            let (mut now, mut sent) = (Time::ZERO, Vec::new());
            let want = |word| {
                let packet = cfg.control(Kind::Want, FlowId(0), HostAddr::default());
                Packet { word, ..packet }
            };
            let mut hand = |receiver: &mut CreditedReceiver, now, packet: &Packet, sent: &mut _| {
                let newest = Arrival { at: now, ..Arrival::default() };
                receiver.on_data(&cfg, &mut host, now, newest, packet, sent);
            };
            hand(&mut receiver, now, &want(REQUEST), &mut sent);
            for number in 0..90 {
                let credit = sent.pop().expect("a credit");
                now += Span::from_us(1);
                let data = Packet {
                    kind: Kind::Data,
                    size: 1_500,
                    seq: number * 1_460,
                    word: credit.word,
                    stamp: credit.stamp,
                    ..Packet::default()
                };
                hand(&mut receiver, now, &data, &mut sent);
                now = receiver.deadline();
                receiver.on_deadline(&cfg, now, &mut sent);
            }
            hand(&mut receiver, now, &want(EARLY_STOP), &mut sent);
            assert_eq!(receiver.deadline(), Time::MAX, "{form}: it stops");
            now += Span::from_us(50);
            hand(&mut receiver, now, &want(REQUEST), &mut sent);
            let apart = receiver.deadline().since(now).as_ps();
            assert!(gap.contains(&apart), "{form}: {apart} ps");
        }
    }

    /// Credits and data that keep to their links come in order. Where every other credit takes 50 us longer, its data shows it.
    #[test]
    fn credits_on_other_paths_than_their_data_show_as_numbers_that_go_back() {
        assert_eq!(backward(&[10]), 0);
        assert!(backward(&[10, 60]) > 500, "{}", backward(&[10, 60]));
    }
}
