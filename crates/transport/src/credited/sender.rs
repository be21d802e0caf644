//! Sender half: a packet for each credit.

use super::early::EarlyStop;
use super::unscheduled::UnscheduledPackets;
use super::{CreditedConfig, EARLY_STOP, LAST_RESORT, PROBE, REQUEST, STOP, patience};
use crate::FlowSpec;
use crate::half::SenderHalf;
use crate::writes::Writes;
use forebay_laws::flow::{IntHop, Totals};
use forebay_units::{Bytes, Time};
use forebay_wire::{Ecn, Flags, Kind, MessageTag, Packet};
use std::collections::VecDeque;

/// Sender half of a flow.
#[derive(Clone, Debug)]
pub struct CreditedSender {
    spec: FlowSpec,
    totals: Totals,
    control: Option<u16>,          // a request or a stop that leaves next
    credits: VecDeque<(u16, u32)>, // number and clock of credits that have come and release a packet each
    credited: bool,                // a credit has come since the last request
    sent: u64,                     // first byte that was never sent
    unscheduled: Option<Box<UnscheduledPackets>>, // where packets leave before the first credit
    early: Option<Box<EarlyStop>>, // where a sender stops its receiver early
    heard: Time,                   // last credit or NACK, or last expiry of the timer
    doublings: u32,
    used: u64, // credits that released a packet
    complete: bool,
    retransmits: u64,
    timeouts: u64,
    writes: Option<Box<Writes>>, // of a stream, whose messages go one after another
}

impl CreditedSender {
    /// A flow that requests credits, or a stream without messages.
    pub(super) fn new(cfg: &CreditedConfig, spec: FlowSpec, now: Time) -> Self {
        if spec.size > Bytes::ZERO {
            return Self::message(cfg, spec, now);
        }
        let writes = Some(Box::default());
        Self { control: None, complete: true, writes, ..Self::message(cfg, spec, now) }
    }

    fn message(cfg: &CreditedConfig, spec: FlowSpec, now: Time) -> Self {
        let budget = cfg.unscheduled.get();
        Self {
            spec,
            totals: Totals::default(),
            control: Some(REQUEST),
            credits: VecDeque::new(),
            credited: false,
            sent: 0,
            unscheduled: cfg.protects().then(|| UnscheduledPackets::new(budget).into()),
            early: cfg.early_stop.then(|| EarlyStop::new(cfg.asks_after_stop).into()),
            heard: now,
            doublings: 0,
            used: 0,
            complete: false,
            retransmits: 0,
            timeouts: 0,
            writes: None,
        }
    }

    /// The next message of a stream that has nothing under way, if one waits.
    fn begin_write(&mut self, cfg: &CreditedConfig, now: Time) {
        let Some(size) = self.writes.as_mut().and_then(|writes| writes.begin()) else { return };
        *self = Self {
            totals: Totals { una: 0, nxt: 0, ..self.totals },
            used: self.used,
            retransmits: self.retransmits,
            timeouts: self.timeouts,
            writes: self.writes.take(),
            ..Self::message(cfg, FlowSpec { size, open: false, ..self.spec }, now)
        };
    }

    /// The message is complete; of a stream, another may follow.
    fn complete(&mut self, cfg: &CreditedConfig, now: Time) {
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

    fn request(&mut self) {
        (self.control, self.credited) = (Some(REQUEST), false);
    }

    /// Payload of the message that has not left.
    fn to_send(&self) -> u64 {
        self.spec.size.get() - self.totals.nxt
    }

    /// Whether a credit would release a packet.
    fn has_work(&self) -> bool {
        self.to_send() > 0 || self.unscheduled.as_ref().is_some_and(|of| of.has_work())
    }

    /// Whether a packet may leave without a credit.
    fn leaves_unscheduled(&self) -> bool {
        self.to_send() > 0 && self.unscheduled.as_ref().is_some_and(|of| of.is_open())
    }

    /// Whether a probe leaves next.
    fn has_probe(&self) -> bool {
        self.unscheduled.as_ref().is_some_and(|of| of.has_probe())
    }

    /// First byte of the packet that a credit releases: what is lost, what is new, what is unanswered.
    fn released(&mut self, cfg: &CreditedConfig) -> u64 {
        let (new, mss) = (self.to_send() > 0, cfg.mss.get());
        let again = self.unscheduled.as_mut().and_then(|of| match of.take_lost() {
            None if !new => of.take_unknown(),
            lost => lost,
        });
        again.map_or(self.totals.nxt, |number| number * mss)
    }

    /// The packet of data that begins at a byte; it was sent before, or is the next. `word` and `stamp` are those of its credit.
    fn data(&mut self, cfg: &CreditedConfig, seq: u64, ecn: Ecn, credit: (u16, u32)) -> Packet {
        let payload = (self.spec.size.get() - seq).min(cfg.mss.get());
        if seq == self.totals.nxt {
            self.totals.nxt += payload;
        }
        self.totals.sent += payload;
        let again = seq < self.sent;
        self.retransmits += u64::from(again);
        self.sent = self.sent.max(self.totals.nxt);
        let last = seq + payload == self.spec.size.get() && !self.spec.open;
        Packet {
            flow: self.spec.flow,
            dst: self.spec.dst,
            size: (payload + cfg.header.get()) as u16,
            class: cfg.data_class,
            ecn,
            flags: Flags::NONE.with_if(last, Flags::FIN).with_if(again, Flags::RETRANSMIT),
            stamp: credit.1,
            word: credit.0,
            seq,
            ..Packet::default()
        }
    }

    /// The receiver may stop its credits: nothing is left to send.
    fn stop(&mut self) {
        if !self.has_work() && !self.spec.open && !self.complete {
            self.control = Some(STOP);
            self.credits.clear();
        }
    }

    /// A credit comes. The receiver may stop its credits if those under way release all that is left.
    fn stop_early(&mut self, cfg: &CreditedConfig, now: Time) {
        let waiting = self.credits.len() as u64;
        let left = self.to_send().div_ceil(cfg.mss.get()).saturating_sub(waiting);
        let again = self.unscheduled.as_ref().is_some_and(|of| of.has_work());
        let Some(early) = &mut self.early else { return };
        if !self.credited {
            early.begin(now, now.since(self.heard));
        } else if !again && left > 0 && early.on_credit(now, left) {
            self.control = Some(EARLY_STOP);
        }
    }

    /// The receiver has an unscheduled packet, or all of them that it will get.
    fn on_ack(&mut self, now: Time, packet: &Packet) {
        self.totals.una = self.totals.una.max(packet.seq);
        let had_work = self.has_work();
        let Some(of) = &mut self.unscheduled else { return };
        match packet.word {
            PROBE => of.answered_below(packet.stamp.into()),
            _ => of.acked(packet.stamp.into()),
        }
        if had_work {
            self.stop();
        } else if let Some(early) = self.early.as_mut().filter(|_| of.has_work()) {
            early.works_again(now);
        }
    }

    /// The receiver misses what begins at `seq`: all from there on, or where packets leave before the first credit, `stamp` bytes.
    fn on_nack(&mut self, cfg: &CreditedConfig, packet: &Packet) {
        let stopped = !self.has_work();
        self.totals.una = self.totals.una.max(packet.seq);
        let nxt = self.totals.nxt;
        match &mut self.unscheduled {
            None => self.totals.nxt = nxt.min(packet.seq),
            Some(of) => {
                let end = nxt.min(packet.seq + u64::from(packet.stamp));
                let mss = cfg.mss.get();
                of.missed(packet.seq / mss..end.div_ceil(mss));
            }
        }
        if stopped {
            self.request();
        }
    }

    /// What leaves next of the message: a request or a stop, what needs no credit, a probe, or what a credit releases.
    fn next_of_message(&mut self, cfg: &CreditedConfig, now: Time) -> Option<Packet> {
        if let Some(word) = self.control.take() {
            self.heard = now; // its answer is due from now on
            if let Some(early) = self.early.as_mut().filter(|_| word == EARLY_STOP) {
                early.left(now);
            }
            let (flow, dst) = (self.spec.flow, self.spec.dst);
            let control = cfg.control(Kind::Want, flow, dst);
            return Some(Packet { seq: self.totals.nxt, word, ..control });
        }
        if self.leaves_unscheduled() {
            let packet = self.data(cfg, self.totals.nxt, Ecn::NotEct, (0, 0));
            let last = self.to_send() == 0;
            let payload = u64::from(packet.size) - cfg.header.get();
            self.unscheduled.as_mut()?.sent(payload, last);
            return Some(packet);
        }
        if let Some(end) = self.unscheduled.as_mut().and_then(|of| of.take_probe()) {
            let probe = cfg.control(Kind::Want, self.spec.flow, self.spec.dst);
            let seq = (end * cfg.mss.get()).min(self.spec.size.get());
            return Some(Packet { seq, word: PROBE, ..probe });
        }
        let credit = self.credits.pop_front()?;
        self.used += 1;
        let seq = self.released(cfg);
        let packet = self.data(cfg, seq, cfg.ecn(), credit);
        self.stop();
        Some(packet)
    }
}

impl SenderHalf<CreditedConfig> for CreditedSender {
    fn message(&self) -> u32 {
        self.tag().map_or(0, |tag| tag.number)
    }

    #[inline]
    fn ready(&self, _cfg: &CreditedConfig) -> bool {
        !self.complete
            && (self.control.is_some()
                || self.leaves_unscheduled()
                || self.has_probe()
                || (!self.credits.is_empty() && self.has_work()))
    }

    fn next_class(&self, cfg: &CreditedConfig) -> u8 {
        cfg.data_class
    }

    fn next_packet(&mut self, cfg: &CreditedConfig, now: Time) -> Option<Packet> {
        if !self.ready(cfg) {
            return None;
        }
        let packet = self.next_of_message(cfg, now)?;
        Some(packet.about(self.tag()))
    }

    fn on_answer(
        &mut self,
        cfg: &CreditedConfig,
        now: Time,
        _arrived: Time,
        packet: &Packet,
        _hops: &[IntHop],
    ) {
        if self.writes.is_some() && packet.message() != self.tag() {
            return; // of an earlier message
        }
        match packet.kind {
            Kind::Ack if packet.flags.has(Flags::FIN) => self.complete(cfg, now),
            Kind::Ack => self.on_ack(now, packet),
            Kind::Grant if !self.has_work() => {}
            Kind::Grant => {
                self.credits.push_back((packet.word, packet.stamp));
                if self.early.is_some() {
                    self.stop_early(cfg, now);
                }
                (self.heard, self.doublings, self.credited) = (now, 0, true);
                if let Some(of) = self.unscheduled.as_mut().filter(|of| of.is_open()) {
                    of.close();
                }
            }
            Kind::Nack => {
                self.heard = now;
                self.on_nack(cfg, packet);
            }
            _ => {}
        }
    }

    #[inline]
    fn deadline(&self) -> Time {
        let waits = self.control.is_none() && !self.complete;
        match waits {
            false => Time::MAX,
            true if self.credited && self.has_work() => {
                let again = self.early.as_ref().and_then(|early| early.asks_again(self.heard));
                again.unwrap_or(self.heard + LAST_RESORT)
            }
            true => self.heard + patience(self.doublings),
        }
    }

    fn on_deadline(&mut self, _cfg: &CreditedConfig, now: Time) {
        if now < self.deadline() {
            return;
        }
        self.heard = now;
        self.doublings += 1;
        self.timeouts += 1;
        match self.has_work() {
            false => self.control = Some(STOP),
            true => self.request(),
        }
    }

    fn app_write(&mut self, cfg: &CreditedConfig, now: Time, bytes: Bytes, last: bool) {
        let Some(writes) = &mut self.writes else { return };
        writes.add(bytes, last);
        if self.complete {
            self.begin_write(cfg, now);
        }
    }

    fn finished(&self) -> bool {
        self.complete && self.writes.as_ref().is_none_or(|writes| writes.is_over())
    }

    fn idle(&self) -> bool {
        self.complete // a stream that has more would have begun it
    }

    fn acked(&self) -> Bytes {
        let Some(writes) = &self.writes else { return Bytes::new(self.totals.una) };
        Bytes::new(writes.done() + if self.complete { 0 } else { self.totals.una })
    }

    fn inflight(&self, _cfg: &CreditedConfig) -> Option<Bytes> {
        None
    }

    fn unsent(&self) -> u64 {
        let waiting = self.writes.as_ref().map_or(0, |writes| writes.waiting());
        self.to_send() + waiting
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
        self.used
    }
}
