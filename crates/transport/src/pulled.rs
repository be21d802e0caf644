//! The least receiver-driven transport, for tests: some packets unasked, every other one for a pull of the receiving host.
//!
//! A host sends one pull per `gap`, to its incoming flows in turn. A pull is an ACK; the ACK of a complete flow pulls nothing. Nothing
//! may be lost, and no law runs. It shows what transports of this kind find here: a half per host that has a clock and answers to
//! any flow, and a traffic class per packet.

use crate::FlowSpec;
use crate::half::{
    Frames, HostHalf, HostStart, PacketSettings, PacketSink, ReceiverHalf, SenderHalf, Transport,
};
use crate::receiver::Arrival;
use forebay_laws::Start;
use forebay_laws::flow::{FlowParams, IntHop, Totals};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Flags, FlowId, HostAddr, Kind, Packet};
use std::collections::VecDeque;

/// Settings.
#[derive(Clone, Debug, PartialEq)]
pub struct PulledConfig {
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Header bytes of a data packet.
    pub header: Bytes,
    /// Size of a pull.
    pub ack_size: Bytes,
    /// Packets that leave without a pull.
    pub unasked: u64,
    /// Time between two pulls of a host.
    pub gap: Span,
    /// Traffic class of the first packet, and of all others.
    pub classes: [u8; 2],
}

/// Sender half of a flow.
#[derive(Clone, Debug)]
pub struct PulledSender {
    spec: FlowSpec,
    totals: Totals,
    allowed: u64, // packets that may leave
}

/// Receiver half of a flow.
#[derive(Clone, Debug)]
pub struct PulledReceiver {
    next: u64,
    fin: u64,
    sender: HostAddr,
}

/// What the flows that end at one host share: its pulls.
#[derive(Clone, Debug)]
pub struct Puller {
    waiting: VecDeque<Packet>,
    next: Time,
}

impl Transport for PulledConfig {
    type Sender = PulledSender;
    type Receiver = PulledReceiver;
    type Host = Puller;

    fn packets(&self) -> PacketSettings {
        let Self { mss, header, ack_size, classes: [ack_class, data_class], .. } = *self;
        PacketSettings { mss, header, ack_size, ack_class, data_class }
    }

    fn data_classes(&self) -> u8 {
        self.classes.iter().fold(0, |all, class| all | 1 << class)
    }

    fn initial_window(&self) -> Bytes {
        self.mss
    }

    fn frames(&self) -> Frames {
        Frames::Tcp
    }

    fn sender(
        &self,
        spec: FlowSpec,
        _law: Option<&FlowParams>,
        _at: Start,
        _now: Time,
    ) -> PulledSender {
        PulledSender { spec, totals: Totals::default(), allowed: self.unasked }
    }

    fn receiver(
        &self,
        _flow: FlowId,
        sender: HostAddr,
        _size: Bytes,
        _seed: u64,
    ) -> PulledReceiver {
        PulledReceiver { next: 0, fin: u64::MAX, sender }
    }

    fn host(&self, _at: HostStart) -> Puller {
        Puller { waiting: VecDeque::new(), next: Time::ZERO }
    }
}

impl SenderHalf<PulledConfig> for PulledSender {
    fn ready(&self, _cfg: &PulledConfig) -> bool {
        self.allowed > 0 && self.unsent() > 0
    }

    fn next_class(&self, cfg: &PulledConfig) -> u8 {
        cfg.classes[usize::from(self.totals.nxt > 0)]
    }

    fn next_packet(&mut self, cfg: &PulledConfig, _now: Time) -> Option<Packet> {
        if !self.ready(cfg) {
            return None;
        }
        let (class, seq) = (self.next_class(cfg), self.totals.nxt);
        let len = self.unsent().min(cfg.mss.get());
        self.totals.nxt += len;
        self.allowed -= 1;
        Some(Packet {
            flow: self.spec.flow,
            dst: self.spec.dst,
            size: (len + cfg.header.get()) as u16,
            class,
            flags: Flags::NONE.with_if(self.unsent() == 0, Flags::FIN),
            seq,
            ..Packet::default()
        })
    }

    fn on_answer(
        &mut self,
        _cfg: &PulledConfig,
        _now: Time,
        _arrived: Time,
        packet: &Packet,
        _hops: &[IntHop],
    ) {
        self.totals.una = self.totals.una.max(packet.seq);
        self.allowed += 1;
    }

    fn deadline(&self) -> Time {
        Time::MAX
    }

    fn on_deadline(&mut self, _cfg: &PulledConfig, _now: Time) {}

    fn app_write(&mut self, _cfg: &PulledConfig, _now: Time, bytes: Bytes, _last: bool) {
        self.spec.size = self.spec.size.saturating_add(bytes);
    }

    fn finished(&self) -> bool {
        self.totals.una == self.spec.size.get()
    }

    fn unsent(&self) -> u64 {
        self.spec.size.get() - self.totals.nxt
    }

    fn totals(&self) -> &Totals {
        &self.totals
    }

    fn retransmits(&self) -> u64 {
        0
    }

    fn timeouts(&self) -> u64 {
        0
    }
}

impl ReceiverHalf<PulledConfig> for PulledReceiver {
    fn on_data(
        &mut self,
        cfg: &PulledConfig,
        host: &mut Puller,
        now: Time,
        _newest: Arrival,
        packet: &Packet,
        sink: &mut impl PacketSink,
    ) {
        self.next = packet.seq + u64::from(packet.size) - cfg.header.get();
        if packet.flags.has(Flags::FIN) {
            self.fin = self.next;
        }
        let answer = cfg.ack_again(packet, self.sender, Bytes::new(self.next));
        if self.complete() {
            return sink.send(&answer);
        }
        host.next = host.next.max(now);
        host.waiting.push_back(answer);
    }

    fn delivered(&self) -> Bytes {
        Bytes::new(self.next)
    }

    fn complete(&self) -> bool {
        self.next >= self.fin
    }
}

impl HostHalf<PulledConfig> for Puller {
    fn deadline(&self) -> Time {
        if self.waiting.is_empty() { Time::MAX } else { self.next }
    }

    fn on_deadline(&mut self, cfg: &PulledConfig, now: Time, sink: &mut impl PacketSink) {
        if let Some(pull) = self.waiting.pop_front() {
            debug_assert!(pull.kind == Kind::Ack);
            sink.send(&pull);
            self.next = now + cfg.gap;
        }
    }
}
