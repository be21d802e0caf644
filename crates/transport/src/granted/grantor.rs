//! What the messages that end at one host have in common: the law that gives credit, and the clock of silence.

use super::message::{Message, Rank};
use super::{GrantedConfig, PATH};
use crate::half::{CLASSES, ClassPayload, CreditState, HostHalf, HostStart, PacketSink};
use forebay_laws::Acts;
use forebay_laws::grant::{
    Grant, GrantAct, GrantEvent, GrantSeen, GrantStart, IncomingMessage, MessageId, Order,
};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Flags, Kind, Packet};
use std::collections::VecDeque;

/// Most messages that a law is shown, which serves those at the head. In turns it needs no more than it can serve in a step.
const SHOWN: usize = 64;
const SHOWN_IN_TURNS: usize = 4;

/// Part of a round trip for which a probe waits for packets on other paths. Assumption: the source has one path, and no such wait.
const REORDER: u64 = 4;

/// A receiving host.
#[derive(Clone, Debug)]
pub struct Grantor {
    law: Grant,
    order: Order,
    acks: bool,
    echo: u16,     // bits of the number of a packet's path that its answer has
    reorder: Span, // from a probe until what is missing counts as lost
    messages: Vec<Message>,
    arrived: [ClassPayload; CLASSES],
    free: Vec<u32>,
    ranks: Vec<(Rank, u32)>, // messages that need credit, the best first, where order is by a rank
    turns: VecDeque<u32>,    // the same in turns: of these, those that may have some now
    shown: Vec<IncomingMessage>, // for the law
    probes: VecDeque<(Time, u32)>, // messages whose probes have come, by when packets are there or lost
    wake: Time,                    // of the law
    silence: Time,                 // no message is silent before
}

impl Grantor {
    /// A host without messages.
    pub(super) fn new(cfg: &GrantedConfig, at: HostStart) -> Self {
        let mut acts = Acts::default();
        let start = GrantStart {
            mss: cfg.mss,
            packet: cfg.mss + cfg.header + cfg.overhead,
            line_rate: at.line_rate,
            rtt_bytes: cfg.window,
            priorities: cfg.priorities,
            seed: at.seed,
        };
        let law = cfg.law.start(at.now, start, &mut acts);
        let (order, needs) = law.wants();
        let mut host = Self {
            law,
            order,
            acks: needs.acks,
            echo: if cfg.scores_paths { u16::MAX << PATH } else { 0 },
            reorder: at.line_rate.time_for(cfg.window) / REORDER,
            messages: Vec::new(),
            arrived: Default::default(),
            free: Vec::new(),
            ranks: Vec::new(),
            turns: VecDeque::new(),
            shown: Vec::new(),
            probes: VecDeque::new(),
            wake: Time::MAX,
            silence: Time::MAX,
        };
        for act in acts.iter() {
            if let GrantAct::WakeAt(at) = act {
                host.wake = host.wake.min(at);
            }
        }
        host
    }

    /// A message of which the first packet arrives.
    pub(super) fn open(
        &mut self,
        cfg: &GrantedConfig,
        now: Time,
        message: Message,
        sink: &mut impl PacketSink,
    ) -> MessageId {
        let id = self.free.pop().unwrap_or(self.messages.len() as u32);
        match self.messages.get_mut(id as usize) {
            Some(place) => *place = message,
            None => {
                if self.messages.is_empty() {
                    self.messages.reserve_exact(1); // many hosts never have two
                }
                self.messages.push(message);
            }
        }
        let message = MessageId(id);
        self.messages[id as usize].seen.message = message;
        self.silence = self.silence.min(now + cfg.settings.resend_after);
        self.list(cfg, id, false);
        self.step(cfg, now, GrantEvent::Opened { message }, None, sink);
        message
    }

    /// A packet of a message arrives, whole or as a header. Returns the payload delivered in order.
    pub(super) fn on_packet(
        &mut self,
        cfg: &GrantedConfig,
        now: Time,
        id: MessageId,
        packet: &Packet,
        sink: &mut impl PacketSink,
    ) -> u64 {
        let place = id.0 as usize;
        let message = &mut self.messages[place];
        if message.closed {
            return message.delivered(cfg); // it was given up
        }
        message.touch(now);
        let number = packet.seq / cfg.mss.get();
        let bytes = cfg.payload(number, message.size.get());
        let whole = packet.kind == Kind::Data;
        let new = whole && message.take(number, bytes);
        match whole {
            true => {
                let class = &mut self.arrived[usize::from(packet.class)];
                let unasked = packet.seq < message.seen.unscheduled.get();
                let part = if unasked { &mut class.unscheduled } else { &mut class.scheduled };
                *part += Bytes::new(bytes);
            }
            false if packet.flags.has(Flags::CORE) => message.park(cfg, bytes),
            false => message.in_vain(bytes),
        }
        if message.has_parked() {
            message.unpark(cfg);
        }
        let there = whole || message.has(number);
        let (delivered, left) = (message.delivered(cfg), message.left());
        message.closed = left == 0;
        self.list(cfg, id.0, false);
        let bytes = Bytes::new(bytes);
        let event = match whole {
            true => GrantEvent::Data { message: id, bytes: if new { bytes } else { Bytes::ZERO } },
            false => GrantEvent::Trimmed { message: id, bytes },
        };
        self.step(cfg, now, event, self.acks.then_some(id), sink);
        let message = &self.messages[place];
        if self.acks || left == 0 {
            let kind = if there { Kind::Ack } else { Kind::Nack };
            let answer = message.answer(cfg, kind);
            sink.send(&Packet {
                seq: message.seen.credited.get(),
                stamp: number as u32,
                word: u16::from(message.priority) | packet.word << PATH & self.echo,
                flags: answer.flags.with_if(left == 0, Flags::FIN),
                ..answer
            });
        }
        if left == 0 {
            self.step(cfg, now, GrantEvent::Closed { message: id }, None, sink);
            self.free.push(id.0);
        }
        delivered
    }

    /// A sender has sent what leaves unasked, up to the byte `seq`; soon what is missing of it is lost.
    pub(super) fn on_probe(&mut self, cfg: &GrantedConfig, now: Time, id: MessageId, seq: u64) {
        let message = &mut self.messages[id.0 as usize];
        message.touch(now);
        message.probe(cfg, now + self.reorder, seq);
        self.probes.push_back((now + self.reorder, id.0));
    }

    /// The sender of a message has not come to send what was requested: its credit is not lost.
    pub(super) fn on_busy(&mut self, cfg: &GrantedConfig, now: Time, id: MessageId) {
        self.messages[id.0 as usize].busy(now);
        self.list(cfg, id.0, false);
    }

    /// The sender of a message answers a request, and has nothing left to spend: what it sent is on its way.
    pub(super) fn on_sign_of_life(&mut self, id: MessageId) {
        self.messages[id.0 as usize].lives();
    }

    /// One event of the law. Credit for the message that is just being answered rides on the answer.
    fn step(
        &mut self,
        cfg: &GrantedConfig,
        now: Time,
        mut event: GrantEvent,
        answered: Option<MessageId>,
        sink: &mut impl PacketSink,
    ) {
        let until = self.law.waits_until();
        if now < until && self.wake <= until {
            return; // all that the law could do now is planned
        }
        loop {
            let mut acts = Acts::default();
            self.show();
            let oldest = if self.law.serves_oldest() { self.oldest(cfg) } else { None };
            let seen = GrantSeen { open: &self.shown, oldest, event };
            self.law.step(now, seen, &mut acts);
            for act in acts.iter() {
                match act {
                    GrantAct::Grant { message, credit, priority } => {
                        self.grant(cfg, now, message, credit, priority);
                        if answered != Some(message) {
                            self.send_grant(cfg, message, sink);
                        }
                    }
                    GrantAct::Resend { message, from, upto } => {
                        self.request(cfg, message, from.get(), upto.get(), sink);
                    }
                    GrantAct::WakeAt(at) => self.wake = self.wake.min(at),
                    _ => unreachable!("the actions of this version are above"),
                }
            }
            if !acts.is_full() {
                return;
            }
            event = GrantEvent::More;
        }
    }

    /// A message has credit; its next turn comes behind all others.
    fn grant(
        &mut self,
        cfg: &GrantedConfig,
        now: Time,
        id: MessageId,
        credit: Bytes,
        priority: u8,
    ) {
        let message = &mut self.messages[id.0 as usize];
        message.grant(now, credit, priority);
        self.silence = self.silence.min(now + cfg.settings.resend_after);
        self.list(cfg, id.0, true);
    }

    /// Grants of a message that were packets of their own; of one that is complete, until another takes its place.
    pub(super) fn grants_of(&self, id: MessageId) -> u32 {
        self.messages[id.0 as usize].grants
    }

    /// How an open message stands.
    pub(super) fn state_of(&self, cfg: &GrantedConfig, id: MessageId) -> CreditState {
        let message = &self.messages[id.0 as usize];
        if message.closed {
            return CreditState::default();
        }
        let seen = &message.seen;
        let room = seen.unscheduled.max(cfg.mss).saturating_sub(seen.under_way());
        let left = message.size.saturating_add(seen.trimmed).saturating_sub(seen.credited);
        CreditState {
            credited: seen.credited > seen.unscheduled && seen.under_way() > Bytes::ZERO,
            waiting: match self.order {
                Order::Turns => room.min(left),
                _ if message.size == Bytes::MAX => Bytes::ZERO, // it has no end
                _ => left,
            },
            beyond_gap: seen.received.saturating_sub(Bytes::new(message.delivered(cfg))),
        }
    }

    fn send_grant(&mut self, cfg: &GrantedConfig, id: MessageId, sink: &mut impl PacketSink) {
        let message = &mut self.messages[id.0 as usize];
        message.grants += 1;
        let grant = message.answer(cfg, Kind::Grant);
        let (seq, word) = (message.seen.credited.get(), u16::from(message.priority));
        sink.send(&Packet { seq, word, ..grant });
    }

    /// Requests bytes of a message again.
    fn request(
        &self,
        cfg: &GrantedConfig,
        id: MessageId,
        from: u64,
        upto: u64,
        sink: &mut impl PacketSink,
    ) {
        let message = &self.messages[id.0 as usize];
        let request = message.answer(cfg, Kind::Grant);
        let stamp = u32::try_from(upto - from).unwrap_or(u32::MAX);
        sink.send(&Packet {
            seq: from,
            stamp,
            flags: request.flags.with(Flags::RESEND),
            ..request
        });
    }

    /// Lists a message where the law finds it, or not, after a change. In turns a message keeps its place until it `had_turn`.
    fn list(&mut self, cfg: &GrantedConfig, id: u32, had_turn: bool) {
        let message = &mut self.messages[id as usize];
        let needs = message.needs_credit(cfg, self.order);
        if self.order == Order::Turns {
            if message.listed.is_some() && needs && (!had_turn || self.turns.len() == 1) {
                return; // behind all others is where it is
            }
            if message.listed.is_some() && (had_turn || !needs) {
                message.listed = None;
                if self.turns.front() == Some(&id) {
                    self.turns.pop_front();
                } else {
                    let at = self.turns.iter().position(|other| *other == id);
                    at.and_then(|at| self.turns.remove(at));
                }
            }
            if needs && message.listed.is_none() {
                message.listed = Some(Rank::default());
                self.turns.push_back(id);
            }
            return;
        }
        let rank = needs.then(|| message.rank(self.order));
        let listed = std::mem::replace(&mut message.listed, rank);
        if let Some(Ok(at)) = listed.map(|rank| self.ranks.binary_search(&(rank, id))) {
            self.ranks.remove(at);
        }
        if let Some(rank) = rank {
            let at = self.ranks.partition_point(|other| *other < (rank, id));
            self.ranks.insert(at, (rank, id));
        }
    }

    /// Of listed messages of which less than a window is on its way, the oldest.
    #[cold]
    fn oldest(&self, cfg: &GrantedConfig) -> Option<IncomingMessage> {
        let listed = self.ranks.iter().map(|(_, id)| self.messages[*id as usize].seen);
        let open = listed.filter(|seen| seen.under_way() < cfg.window);
        open.min_by_key(|seen| (seen.since, seen.message))
    }

    /// Copies the head of the list for the law, at most one message per sender.
    fn show(&mut self) {
        self.shown.clear();
        let messages = &self.messages;
        match self.order {
            Order::Turns => {
                for place in 0..self.turns.len().min(SHOWN_IN_TURNS) {
                    self.shown.push(messages[self.turns[place] as usize].seen);
                }
            }
            Order::Shortest | Order::Oldest => {
                for (_, id) in &self.ranks {
                    let seen = messages[*id as usize].seen;
                    if self.shown.iter().all(|shown| shown.sender != seen.sender) {
                        self.shown.push(seen);
                    }
                    if self.shown.len() == SHOWN {
                        break;
                    }
                }
            }
        }
    }
}

impl HostHalf<GrantedConfig> for Grantor {
    fn arrived(&self) -> Option<&[ClassPayload; CLASSES]> {
        Some(&self.arrived)
    }

    #[inline]
    fn deadline(&self) -> Time {
        let probe = self.probes.front().map_or(Time::MAX, |(at, _)| *at);
        self.wake.min(self.silence).min(probe)
    }

    fn on_deadline(&mut self, cfg: &GrantedConfig, now: Time, sink: &mut impl PacketSink) {
        if self.wake <= now {
            self.wake = Time::MAX;
            self.step(cfg, now, GrantEvent::Wake, None, sink);
        }
        while let Some((at, id)) = self.probes.front().copied().filter(|(at, _)| *at <= now) {
            self.probes.pop_front();
            if self.messages[id as usize].probed_at() == at {
                self.request_unscheduled(cfg, now, id, sink);
            }
        }
        if self.silence <= now {
            self.silence = Time::MAX;
            self.repair(cfg, now, sink);
        }
    }
}

impl Grantor {
    /// A probe came a reorder window ago: what is missing of what left unasked is written off, and requested.
    fn request_unscheduled(
        &mut self,
        cfg: &GrantedConfig,
        now: Time,
        id: u32,
        sink: &mut impl PacketSink,
    ) {
        let (message, mss) = (MessageId(id), cfg.mss.get());
        let (gaps, bytes) = self.messages[id as usize].write_off_unscheduled(cfg);
        if gaps.is_empty() {
            return;
        }
        self.list(cfg, id, false);
        for (from, upto) in gaps {
            self.request(cfg, message, from * mss, upto * mss, sink);
        }
        self.step(cfg, now, GrantEvent::Trimmed { message, bytes }, None, sink);
    }

    /// A message has been silent for so many requests that it is given up. Its place stays taken: packets of it may still come, and find nothing.
    fn give_up(&mut self, cfg: &GrantedConfig, now: Time, id: u32, sink: &mut impl PacketSink) {
        self.messages[id as usize].give_up();
        self.list(cfg, id, false);
        self.step(cfg, now, GrantEvent::Closed { message: MessageId(id) }, None, sink);
    }

    /// Looks for messages of which nothing arrives: what is on its way is written off, and what is missing requested.
    #[cold]
    fn repair(&mut self, cfg: &GrantedConfig, now: Time, sink: &mut impl PacketSink) {
        let mut next = Time::MAX;
        for id in 0..self.messages.len() as u32 {
            let silent = self.messages[id as usize].silent_at(cfg) <= now;
            if silent && self.messages[id as usize].in_vain_for_long(cfg) {
                self.give_up(cfg, now, id, sink);
            } else if silent {
                let message = MessageId(id);
                let gaps = self.messages[id as usize].write_off(cfg, now);
                self.list(cfg, id, false);
                for (from, upto) in gaps {
                    let mss = cfg.mss.get();
                    self.request(cfg, message, from * mss, upto * mss, sink);
                }
                self.step(cfg, now, GrantEvent::Silent { message }, None, sink);
            }
            next = next.min(self.messages[id as usize].silent_at(cfg));
        }
        // Messages that are silent at about the same time are looked at together.
        let soonest = now + cfg.settings.resend_after / 8;
        self.silence = self.silence.min(if next == Time::MAX { next } else { next.max(soonest) });
    }
}
