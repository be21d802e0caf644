//! TCP as one of the transports.

use crate::half::{
    Frames, HostStart, PacketSettings, PacketSink, ReceiverHalf, SenderHalf, Transport,
};
use crate::receiver::{Arrival, send_acks};
use crate::{Burst, FlowSpec, TcpConfig, TcpReceiver, TcpSender, Wait};
use forebay_laws::Start;
use forebay_laws::flow::{FlowParams, IntHop, Needs, Totals};
use forebay_laws::kernel::Fault;
use forebay_units::{Bytes, Time};
use forebay_wire::{FlowId, HostAddr, Packet};

impl Transport for TcpConfig {
    type Sender = TcpSender;
    type Receiver = TcpReceiver;
    type Host = ();

    #[inline]
    fn packets(&self) -> PacketSettings {
        let Self { mss, header, ack_size, ack_class, data_class, .. } = *self;
        PacketSettings { mss, header, ack_size, ack_class, data_class }
    }

    fn initial_window(&self) -> Bytes {
        self.initial_window()
    }

    fn needs(&self) -> &Needs {
        &self.needs
    }

    fn copies(&self) -> bool {
        true
    }

    fn frames(&self) -> Frames {
        Frames::Tcp
    }

    fn sender(&self, spec: FlowSpec, law: Option<&FlowParams>, at: Start, now: Time) -> TcpSender {
        TcpSender::new(self, spec, law.expect("senders of TCP have a law"), at, now)
    }

    fn receiver(&self, flow: FlowId, sender: HostAddr, _size: Bytes, _seed: u64) -> TcpReceiver {
        TcpReceiver::new(self, flow, sender)
    }

    fn host(&self, _at: HostStart) {}
}

impl SenderHalf<TcpConfig> for TcpSender {
    #[inline(always)]
    fn ready(&self, cfg: &TcpConfig) -> bool {
        self.ready(cfg)
    }

    #[inline]
    fn next_class(&self, cfg: &TcpConfig) -> u8 {
        cfg.data_class
    }

    #[inline]
    fn next_packet(&mut self, cfg: &TcpConfig, now: Time) -> Option<Packet> {
        self.next_packet(cfg, now)
    }

    #[inline]
    fn next_burst(&mut self, cfg: &TcpConfig, now: Time) -> Option<Burst> {
        self.next_burst(cfg, now)
    }

    #[inline(always)]
    fn on_answer(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        arrived: Time,
        packet: &Packet,
        _hops: &[IntHop],
    ) {
        self.on_held_ack(cfg, now, arrived, packet);
    }

    #[inline]
    fn deadline(&self) -> Time {
        self.deadline()
    }

    #[inline]
    fn on_deadline(&mut self, cfg: &TcpConfig, now: Time) {
        self.on_deadline(cfg, now);
    }

    fn app_write(&mut self, _cfg: &TcpConfig, _now: Time, bytes: Bytes, last: bool) {
        self.app_write(bytes, last);
    }

    #[inline]
    fn finished(&self) -> bool {
        self.finished()
    }

    #[inline]
    fn idle(&self) -> bool {
        self.idle()
    }

    #[inline]
    fn unsent(&self) -> u64 {
        self.unsent()
    }

    #[inline]
    fn acked(&self) -> Bytes {
        self.acked()
    }

    fn waits_for(&self, cfg: &TcpConfig) -> Wait {
        self.waits_for(cfg)
    }

    #[inline]
    fn totals(&self) -> &Totals {
        self.totals()
    }

    fn window(&self) -> Bytes {
        self.cwnd()
    }

    fn fault(&self) -> Option<(Time, &Fault)> {
        self.fault()
    }

    fn retransmits(&self) -> u64 {
        self.retransmits()
    }

    fn timeouts(&self) -> u64 {
        self.timeouts()
    }
}

impl ReceiverHalf<TcpConfig> for TcpReceiver {
    #[inline(always)]
    fn on_data(
        &mut self,
        cfg: &TcpConfig,
        _host: &mut (),
        now: Time,
        newest: Arrival,
        packet: &Packet,
        sink: &mut impl PacketSink,
    ) {
        send_acks(&self.on_held_data(cfg, now, newest, packet), sink);
    }

    #[inline]
    fn deadline(&self) -> Time {
        self.deadline()
    }

    fn on_deadline(&mut self, cfg: &TcpConfig, now: Time, sink: &mut impl PacketSink) {
        self.on_deadline(cfg, now).iter().for_each(|ack| sink.send(ack));
    }

    fn on_read(&mut self, cfg: &TcpConfig, now: Time, bytes: u64, sink: &mut impl PacketSink) {
        self.on_read(cfg, now, bytes).iter().for_each(|ack| sink.send(ack));
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
