//! Sender half: a message, and the credit that it has.

use super::paths::PathOrder;
use super::scores::Fate;
use super::{GrantedConfig, LAST_RESORT, LIVES, PATH};
use crate::FlowSpec;
use crate::bits::Bits;
use crate::half::SenderHalf;
use crate::lost::LostPackets;
use crate::writes::Writes;
use forebay_laws::flow::{IntHop, Totals};
use forebay_units::{Bytes, Time};
use forebay_wire::{Ecn, Flags, Kind, MessageTag, Packet};

/// Doublings of the last resort at most: 10 s.
const MOST_DOUBLINGS: u32 = 10;

/// Bits of an answer's `word` that are the priority.
const PRIORITY: u8 = (1 << PATH) - 1;

/// Sender half of a message.
#[derive(Clone, Debug)]
pub struct GrantedSender {
    spec: FlowSpec,
    paths: PathOrder,
    totals: Totals,
    una: u64,          // number of the first packet that is not acknowledged
    nxt: u64,          // number of the first packet that was never sent
    acked: Bits,       // from `una` on
    lost: LostPackets, // known to be, and not sent again since
    unscheduled: u64,  // payload that needs no credit
    credit: u64,       // payload in all, `unscheduled` included
    spent: u64,        // of that
    unanswered: u64,   // packets on their way, as far as answers tell
    returned: u64,     // packets that came back and whose credit is still counted as spent
    forced: bool,      // a packet leaves whatever the credit
    probe: bool,       // a probe leaves next
    complete: bool,
    priority: u8, // of what is sent on credit
    heard: Time,  // last answer, or last resort
    gave_up: bool,
    doublings: u32, // last resorts since the last answer
    retransmits: u64,
    timeouts: u64,
    used: u32,                   // grants that brought credit
    writes: Option<Box<Writes>>, // of a stream, whose messages go one after another
}

impl GrantedSender {
    /// A message that may send what needs no credit, or a stream without any.
    pub(super) fn new(cfg: &GrantedConfig, spec: FlowSpec, seed: u64, now: Time) -> Self {
        let stream = spec.size == Bytes::ZERO;
        let paths = match cfg.path_numbers {
            0 if cfg.scores_paths => PathOrder::scored(seed, spec.paths),
            0 => PathOrder::new(seed, spec.paths),
            numbers => PathOrder::drawn(seed, spec.paths, numbers),
        };
        Self {
            complete: stream,
            writes: stream.then(Box::default),
            ..Self::message(cfg, spec, paths, now)
        }
    }

    fn message(cfg: &GrantedConfig, spec: FlowSpec, paths: PathOrder, now: Time) -> Self {
        let unscheduled = cfg.unscheduled(spec.size).get();
        Self {
            spec,
            paths,
            totals: Totals::default(),
            una: 0,
            nxt: 0,
            acked: Bits::default(),
            lost: LostPackets::default(),
            unscheduled,
            credit: unscheduled,
            spent: 0,
            unanswered: 0,
            returned: 0,
            forced: false,
            probe: false,
            complete: false,
            priority: 0,
            heard: now,
            gave_up: false,
            doublings: 0,
            retransmits: 0,
            timeouts: 0,
            used: 0,
            writes: None,
        }
    }

    /// The next message of a stream that has nothing under way, if one waits.
    fn begin_write(&mut self, cfg: &GrantedConfig, now: Time) {
        let Some(size) = self.writes.as_mut().and_then(|writes| writes.begin()) else { return };
        let spec = FlowSpec { size, open: false, ..self.spec };
        *self = Self {
            totals: Totals { una: 0, nxt: 0, ..self.totals },
            retransmits: self.retransmits,
            timeouts: self.timeouts,
            used: self.used,
            writes: self.writes.take(),
            ..Self::message(
                cfg,
                spec,
                std::mem::replace(&mut self.paths, PathOrder::new(0, 1)),
                now,
            )
        };
    }

    /// The message is complete; of a stream, another may follow.
    fn complete(&mut self, cfg: &GrantedConfig, now: Time) {
        self.complete = true;
        self.totals.una = self.spec.size.get();
        if let Some(writes) = &mut self.writes {
            writes.end();
            self.begin_write(cfg, now);
        }
    }

    /// What packets are about, where the flow is a stream.
    fn tag(&self) -> Option<MessageTag> {
        self.writes.as_ref().map(|writes| writes.message())
    }

    /// Number of the packet that leaves next.
    fn next(&self) -> Option<u64> {
        if !self.forced && self.spent >= self.credit || self.complete {
            return None;
        }
        if let Some(lost) = self.lost.first() {
            return Some(lost);
        }
        (self.totals.nxt < self.spec.size.get()).then_some(self.nxt)
    }

    /// Whether a packet leaves without a grant.
    fn is_unscheduled(&self, cfg: &GrantedConfig, number: u64) -> bool {
        number == self.nxt && number * cfg.mss.get() < self.unscheduled
    }

    /// The probe behind what left unasked: `seq` is the first byte that did not.
    fn take_probe(&mut self, cfg: &GrantedConfig) -> Packet {
        self.probe = false;
        let probe = cfg.answer(Kind::Want, self.spec.flow, self.spec.dst);
        let class = cfg.unscheduled_class(self.spec.size.get());
        Packet { class, seq: self.totals.nxt, ..probe }.about(self.tag())
    }

    fn class(&self, cfg: &GrantedConfig, number: u64) -> u8 {
        let size = self.spec.size.get();
        let tail = || size - number * cfg.mss.get() <= cfg.tail.get();
        match self.is_unscheduled(cfg, number) || tail() {
            true => cfg.unscheduled_class(size),
            false => cfg.scheduled_class(self.priority),
        }
    }

    fn lose(&mut self, number: u64) {
        let sent = (self.una..self.nxt).contains(&number) && !self.acked.has(number);
        if sent {
            self.lost.add(number);
        }
    }

    /// A packet has arrived whole.
    fn ack(&mut self, cfg: &GrantedConfig, number: u64) {
        if !(self.una..self.nxt).contains(&number) || !self.acked.add(number) {
            return;
        }
        self.lost.remove(number);
        let size = self.spec.size.get();
        self.totals.delivered += cfg.payload(number, size);
        self.una = self.acked.next_out(self.una);
        self.totals.una = (self.una * cfg.mss.get()).min(size);
        self.acked.forget_below(self.una);
        self.lost.forget_below(self.una);
    }

    /// Notes what became of a packet, where paths are scored.
    #[inline]
    fn score(&mut self, answer: &Packet, fate: Fate) {
        let Some(scores) = self.paths.scores() else { return };
        let path = if fate == Fate::Returned { answer.word } else { answer.word >> PATH };
        scores.note(path, fate);
    }

    /// One packet fewer is on its way. The last one's answer gives back the credit of one that was returned: nothing else will.
    fn answered(&mut self, cfg: &GrantedConfig) {
        self.unanswered = self.unanswered.saturating_sub(1);
        if self.unanswered == 0 && self.returned > 0 {
            self.returned -= 1;
            self.spent = self.spent.saturating_sub(cfg.mss.get());
        }
    }
}

impl SenderHalf<GrantedConfig> for GrantedSender {
    fn message(&self) -> u32 {
        self.tag().map_or(0, |tag| tag.number)
    }

    #[inline]
    fn ready(&self, _cfg: &GrantedConfig) -> bool {
        self.probe || self.next().is_some()
    }

    fn next_class(&self, cfg: &GrantedConfig) -> u8 {
        if self.probe {
            return cfg.unscheduled_class(self.spec.size.get());
        }
        self.next().map_or(cfg.data_class, |number| self.class(cfg, number))
    }

    fn next_packet(&mut self, cfg: &GrantedConfig, now: Time) -> Option<Packet> {
        if self.probe {
            return Some(self.take_probe(cfg));
        }
        let number = self.next()?;
        if self.una == self.nxt {
            self.heard = now; // answers are due from now on
        }
        let (class, again) = (self.class(cfg, number), number < self.nxt);
        let unscheduled = self.is_unscheduled(cfg, number);
        let size = self.spec.size.get();
        let payload = cfg.payload(number, size);
        self.probe = cfg.settings.selective_drop
            && unscheduled
            && (number + 1) * cfg.mss.get() >= self.unscheduled;
        if again {
            self.lost.remove(number);
            self.retransmits += 1;
        } else {
            self.nxt += 1;
            self.totals.nxt += payload;
        }
        if !std::mem::take(&mut self.forced) {
            self.spent += payload;
        }
        self.unanswered += 1;
        self.totals.sent += payload;
        let seq = number * cfg.mss.get();
        let last = seq + payload == size && !self.spec.open;
        let flags = Flags::FROM.with_if(last, Flags::FIN).with_if(again, Flags::RETRANSMIT);
        let packet = Packet {
            flow: self.spec.flow,
            dst: self.spec.dst,
            size: (payload + cfg.header.get()) as u16,
            class,
            ecn: if unscheduled { Ecn::NotEct } else { cfg.ecn() },
            flags,
            stamp: self.spec.src.word(),
            word: self.paths.next(),
            seq,
            ..Packet::default()
        };
        Some(packet.about(self.tag()))
    }

    fn on_answer(
        &mut self,
        cfg: &GrantedConfig,
        now: Time,
        _arrived: Time,
        packet: &Packet,
        _hops: &[IntHop],
    ) {
        if self.writes.is_some() && packet.message() != self.tag() {
            return; // of an earlier message
        }
        (self.heard, self.doublings) = (now, 0);
        let number = u64::from(packet.stamp);
        match packet.kind {
            Kind::Ack if packet.flags.has(Flags::FIN) => return self.complete(cfg, now),
            Kind::Ack => {
                self.score(packet, Fate::Arrived);
                self.ack(cfg, number);
            }
            Kind::Nack => {
                self.score(packet, Fate::Cut);
                self.lose(number);
            }
            Kind::Returned => {
                self.score(packet, Fate::Returned);
                self.lose(packet.seq / cfg.mss.get());
                self.returned += 1;
                return self.answered(cfg);
            }
            Kind::Grant if packet.flags.has(Flags::RESEND) => {
                let from = packet.seq / cfg.mss.get();
                let upto = cfg.packets(packet.seq + number).min(self.nxt);
                return (from..upto).for_each(|number| self.lose(number));
            }
            _ => {}
        }
        if packet.seq >= self.credit {
            self.used += u32::from(packet.kind == Kind::Grant && packet.seq > self.credit);
            (self.credit, self.priority) = (packet.seq, packet.word as u8 & PRIORITY);
        }
        if packet.kind != Kind::Grant {
            self.answered(cfg);
        }
    }

    fn busy(&self, cfg: &GrantedConfig) -> Option<Packet> {
        let waits = cfg.law.wants().1.busy && self.next().is_some();
        let may_end = cfg.max_retries() > 0 && self.writes.is_none() && !self.complete;
        let busy = cfg.answer(Kind::Want, self.spec.flow, self.spec.dst);
        let flags = busy.flags.with(if waits { Flags::RESEND } else { LIVES });
        (waits || may_end).then(|| Packet { flags, ..busy }.about(self.tag()))
    }

    #[inline]
    fn deadline(&self) -> Time {
        if self.complete || self.una == self.nxt {
            return Time::MAX; // nothing of it can be missing
        }
        self.heard + LAST_RESORT * (1 << self.doublings.min(MOST_DOUBLINGS))
    }

    fn on_deadline(&mut self, cfg: &GrantedConfig, now: Time) {
        if now < self.deadline() {
            return;
        }
        if cfg.max_retries() > 0 && self.doublings >= cfg.max_retries() && self.writes.is_none() {
            (self.complete, self.gave_up, self.probe) = (true, true, false);
            return;
        }
        self.heard = now;
        self.doublings = self.doublings.saturating_add(1);
        self.timeouts += 1;
        self.lose(self.una);
        self.forced = true;
    }

    fn app_write(&mut self, cfg: &GrantedConfig, now: Time, bytes: Bytes, last: bool) {
        let Some(writes) = &mut self.writes else { return };
        writes.add(bytes, last);
        if self.complete {
            self.begin_write(cfg, now);
        }
    }

    fn finished(&self) -> bool {
        self.complete && self.writes.as_ref().is_none_or(|writes| writes.is_over())
    }

    fn gave_up(&self) -> bool {
        self.gave_up
    }

    fn idle(&self) -> bool {
        self.complete // a stream that has more would have begun it
    }

    fn acked(&self) -> Bytes {
        let Some(writes) = &self.writes else { return Bytes::new(self.totals.una) };
        Bytes::new(writes.done() + if self.complete { 0 } else { self.totals.una })
    }

    fn inflight(&self, cfg: &GrantedConfig) -> Option<Bytes> {
        cfg.law.wants().1.acks.then(|| cfg.mss * self.unanswered)
    }

    fn unsent(&self) -> u64 {
        let waiting = self.writes.as_ref().map_or(0, |writes| writes.waiting());
        self.spec.size.get() - self.totals.nxt + waiting
    }

    fn totals(&self) -> &Totals {
        &self.totals
    }

    fn retransmits(&self) -> u64 {
        self.retransmits
    }

    fn timeouts(&self) -> u64 {
        self.timeouts
    }

    fn credits_used(&self) -> u64 {
        self.used.into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::config;
    use super::*;
    use forebay_wire::{FlowId, HostAddr};

    /// Of ten packets three leave unasked, in class 6. Grants name class 1; with a tail of 2,500 B the last two packets, of 2,000 B, are in class 6 as well.
    #[test]
    fn the_tail_of_a_message_rides_in_the_class_of_its_beginning() {
        let classes = |tail: u64| -> Vec<u8> {
            let cfg = GrantedConfig {
                priorities: 5,
                cutoffs: Some(vec![Bytes::new(2_000), Bytes::new(20_000)]),
                tail: Bytes::new(tail),
                ..config()
            };
            let (flow, src, dst) = (FlowId(0), HostAddr::default(), HostAddr::default());
            let spec = FlowSpec {
                flow,
                src,
                dst,
                size: Bytes::new(10_000),
                open: false,
                paths: 1,
                handshake: None,
            };
            let mut sender = GrantedSender::new(&cfg, spec, 7, Time::ZERO);
            let grant = Packet { seq: 10_000, word: 1, ..cfg.answer(Kind::Grant, flow, dst) };
            sender.on_answer(&cfg, Time::ZERO, Time::ZERO, &grant, &[]);
            let packets = std::iter::from_fn(|| sender.next_packet(&cfg, Time::ZERO));
            packets.map(|packet| packet.class).collect()
        };
        assert_eq!(classes(0), [6, 6, 6, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(classes(2_500), [6, 6, 6, 1, 1, 1, 1, 1, 6, 6]);
    }
}
