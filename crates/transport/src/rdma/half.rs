//! RDMA as one of the transports.

use super::{QpReceiver, QpSender, RdmaConfig};
use crate::half::{
    Frames, HostStart, PacketSettings, PacketSink, Prefetch, ReceiverHalf, SenderHalf, Transport,
};
use crate::receiver::{Arrival, send_acks};
use crate::{Burst, FlowSpec, Wait};
use forebay_laws::Start;
use forebay_laws::flow::{FlowParams, IntHop, Needs, SwitchMessage, Totals};
use forebay_settings::Recovery;
use forebay_units::{BitsPerSec, Bytes, Time};
use forebay_wire::{Flags, FlowId, HostAddr, Kind, Packet};

impl Transport for RdmaConfig {
    /// In a box, since queue pairs are larger than TCP's senders, which are to lie close together.
    type Sender = Box<QpSender>;
    type Receiver = QpReceiver;
    type Host = ();

    #[inline]
    fn packets(&self) -> PacketSettings {
        let Self { mtu: mss, header, ack_size, ack_class, data_class, .. } = *self;
        PacketSettings { mss, header, ack_size, ack_class, data_class }
    }

    fn answer_classes(&self) -> u8 {
        1 << self.ack_class | 1 << self.cnp_class
    }

    /// Queue pairs begin with what depends on their path; without a base round-trip time they fall back on this.
    fn initial_window(&self) -> Bytes {
        self.first_window().unwrap_or(self.mtu)
    }

    fn needs(&self) -> &Needs {
        &self.needs
    }

    fn keeps_gaps(&self) -> bool {
        self.recovery == Recovery::Selective
    }

    fn frames(&self) -> Frames {
        Frames::Roce { ack_every: self.ack_every() }
    }

    fn sender(
        &self,
        spec: FlowSpec,
        law: Option<&FlowParams>,
        at: Start,
        now: Time,
    ) -> Box<QpSender> {
        let law = law.expect("senders of queue pairs have a law");
        Box::new(QpSender::new(self, spec, law, at, now))
    }

    fn receiver(&self, flow: FlowId, sender: HostAddr, _size: Bytes, _seed: u64) -> QpReceiver {
        QpReceiver::new(flow, sender)
    }

    fn host(&self, _at: HostStart) {}

    fn not_ready(&self, data: &Packet, sender: HostAddr) -> Option<Packet> {
        Some(Packet {
            flow: data.flow,
            dst: sender,
            size: self.ack_size.get() as u16,
            kind: Kind::Nack,
            class: self.ack_class,
            flags: Flags::NOT_READY,
            stamp: data.stamp,
            word: u16::MAX,
            seq: data.seq,
            ..Packet::default()
        })
    }
}

impl SenderHalf<RdmaConfig> for Box<QpSender> {
    #[inline(always)]
    fn ready(&self, cfg: &RdmaConfig) -> bool {
        (**self).ready(cfg)
    }

    #[inline]
    fn next_class(&self, cfg: &RdmaConfig) -> u8 {
        cfg.data_class
    }

    #[inline]
    fn next_packet(&mut self, cfg: &RdmaConfig, now: Time) -> Option<Packet> {
        (**self).next_packet(cfg, now)
    }

    #[inline]
    fn next_burst(&mut self, cfg: &RdmaConfig, now: Time) -> Option<Burst> {
        (**self).next_burst(cfg, now)
    }

    #[inline(always)]
    fn on_answer(
        &mut self,
        cfg: &RdmaConfig,
        now: Time,
        arrived: Time,
        packet: &Packet,
        hops: &[IntHop],
    ) {
        (**self).on_answer(cfg, now, arrived, packet, hops);
    }

    fn on_switch_message(&mut self, now: Time, message: SwitchMessage) {
        (**self).on_switch_message(now, message);
    }

    #[inline]
    fn deadline(&self) -> Time {
        (**self).deadline()
    }

    #[inline]
    fn on_deadline(&mut self, cfg: &RdmaConfig, now: Time) {
        (**self).on_deadline(cfg, now);
    }

    fn app_write(&mut self, cfg: &RdmaConfig, _now: Time, bytes: Bytes, last: bool) {
        (**self).app_write(cfg, bytes, last);
    }

    #[inline]
    fn finished(&self) -> bool {
        (**self).finished()
    }

    #[inline]
    fn idle(&self) -> bool {
        (**self).idle()
    }

    #[inline]
    fn unsent(&self) -> u64 {
        (**self).unsent()
    }

    #[inline]
    fn acked(&self) -> Bytes {
        (**self).acked()
    }

    fn waits_for(&self, cfg: &RdmaConfig) -> Wait {
        (**self).waits_for(cfg)
    }

    #[inline]
    fn totals(&self) -> &Totals {
        (**self).totals()
    }

    fn window(&self) -> Bytes {
        (**self).window()
    }

    fn rate(&self) -> Option<BitsPerSec> {
        Some((**self).rate())
    }

    fn retransmits(&self) -> u64 {
        (**self).retransmits()
    }

    fn timeouts(&self) -> u64 {
        (**self).timeouts()
    }

    #[inline(always)]
    fn prefetch(&self, memory: &impl Prefetch) {
        memory.prefetch(&**self);
    }

    #[inline(always)]
    fn prefetch_oldest(&self, memory: &impl Prefetch) {
        self.oldest().into_iter().for_each(|segment| memory.prefetch(segment));
    }
}

impl ReceiverHalf<RdmaConfig> for QpReceiver {
    #[inline(always)]
    fn on_data(
        &mut self,
        cfg: &RdmaConfig,
        _host: &mut (),
        now: Time,
        newest: Arrival,
        packet: &Packet,
        sink: &mut impl PacketSink,
    ) {
        send_acks(&self.on_data(cfg, now, newest, packet), sink);
    }

    #[inline]
    fn delivered(&self) -> Bytes {
        self.delivered()
    }

    #[inline]
    fn complete(&self) -> bool {
        self.complete()
    }
}
