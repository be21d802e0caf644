//! What makes a transport: its settings, and the halves of its flows that hosts hold.
//!
//! A transport is the type of its settings ([`Transport`]). It names the type of a flow's sender ([`SenderHalf`]), of its receiver
//! ([`ReceiverHalf`]), and of what all flows of a kind that end at one host have in common ([`HostHalf`]): the place of pacers and
//! schedulers of receiver-driven transports. Halves have no clock, no queue and no socket: they take packets and the time, senders
//! are polled for their next packet, and receivers and host halves put what they send into a [`PacketSink`], whatever flow it is of.
//!
//! To add a transport: these traits for its types, and its row at the end of `stack.rs`.

use crate::receiver::Arrival;
use crate::{Burst, FlowSpec, Wait};
use forebay_laws::Start;
use forebay_laws::flow::{FlowParams, IntHop, Needs, SwitchMessage, Totals};
use forebay_laws::kernel::Fault;
use forebay_laws::log::Tap;
use forebay_units::{BitsPerSec, Bytes, Time};
use forebay_wire::{FlowId, HostAddr, Kind, Packet};
use std::fmt::Debug;

/// Settings of a transport, shared by all flows of one kind.
pub trait Transport: Clone + Debug + PartialEq {
    /// Sender half of a flow.
    type Sender: SenderHalf<Self>;
    /// Receiver half of a flow.
    type Receiver: ReceiverHalf<Self>;
    /// What the flows that end at one host have in common; `()`: nothing.
    type Host: HostHalf<Self>;

    /// Sizes and classes of packets.
    fn packets(&self) -> PacketSettings;
    /// Payload of a full packet.
    #[inline]
    fn mss(&self) -> Bytes {
        self.packets().mss
    }
    /// Header bytes of a data packet.
    #[inline]
    fn header(&self) -> Bytes {
        self.packets().header
    }
    /// Size of an ACK.
    #[inline]
    fn ack_size(&self) -> Bytes {
        self.packets().ack_size
    }
    /// Traffic class of ACKs.
    #[inline]
    fn ack_class(&self) -> u8 {
        self.packets().ack_class
    }
    /// Traffic classes of data that NICs tell apart, a bit each.
    #[inline]
    fn data_classes(&self) -> u8 {
        1 << self.packets().data_class
    }
    /// Traffic classes of ACKs and whatever else answers data, a bit each.
    fn answer_classes(&self) -> u8 {
        1 << self.ack_class()
    }
    /// Window at the start where the law has no opinion of its own.
    fn initial_window(&self) -> Bytes;
    /// What the sender's law needs of the other end.
    fn needs(&self) -> &Needs {
        &Needs::NONE
    }
    /// Whether cores copy what arrives to the application, which interrupts report. Otherwise the NIC puts it where the application reads it.
    fn copies(&self) -> bool {
        false
    }
    /// Whether receivers keep data that arrives behind a gap. Otherwise they discard it, and it comes again.
    fn keeps_gaps(&self) -> bool {
        true
    }
    /// Protocol whose frames show these packets in captures.
    fn frames(&self) -> Frames {
        Frames::Message
    }

    /// Whether receivers take headers whose payload a switch cut off, and messages without payload. To others they are as good as lost.
    fn takes_headers(&self) -> bool {
        false
    }

    /// Whether its receivers want headers to say that a payload was cut off on the way to a switch ([`forebay_wire::Flags::CORE`]).
    fn wants_core_trims(&self) -> bool {
        false
    }

    /// Sender half of a flow that may send at once. `law` is that of its sender, where the transport has such a law; `at` is what it starts
    /// from, with a seed of this flow.
    fn sender(
        &self,
        spec: FlowSpec,
        law: Option<&FlowParams>,
        at: Start,
        now: Time,
    ) -> Self::Sender;
    /// Receiver half of a flow before the first packet; `sender` is where answers go. A flow of `size` bytes, [`Bytes::MAX`] without an end;
    /// TCP and queue pairs learn the end from its last packet. `seed` is for its random choices.
    fn receiver(&self, flow: FlowId, sender: HostAddr, size: Bytes, seed: u64) -> Self::Receiver;
    /// Host half of a host without flows.
    fn host(&self, at: HostStart) -> Self::Host;
    /// Settings for one flow whose law writes a log, where receivers have a law for each flow.
    fn with_flow_log(&self, _log: Tap) -> Option<Self> {
        None
    }
    /// Settings for one host whose law writes a log, where receiving hosts have a law.
    fn with_host_log(&self, _log: Tap) -> Option<Self> {
        None
    }

    /// Answer of a NIC to data for which no receive buffer is posted; none: it is as good as lost.
    fn not_ready(&self, _data: &Packet, _sender: HostAddr) -> Option<Packet> {
        None
    }

    /// Answer to data of a flow of `size` bytes that is complete at its receiver, whose state is gone.
    fn ack_again(&self, data: &Packet, sender: HostAddr, size: Bytes) -> Packet {
        Packet {
            flow: data.flow,
            dst: sender,
            size: self.ack_size().get() as u16,
            kind: Kind::Ack,
            class: self.ack_class(),
            stamp: data.stamp,
            word: u16::MAX,
            seq: size.get(),
            ..Packet::default()
        }
    }
}

/// Sizes and traffic classes of a transport's packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketSettings {
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Header bytes of a data packet.
    pub header: Bytes,
    /// Size of an ACK.
    pub ack_size: Bytes,
    /// Class of ACKs.
    pub ack_class: u8,
    /// Class of data as NICs see it, whatever class a packet rides in.
    pub data_class: u8,
}

/// Frames that packets are shown as in captures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frames {
    /// TCP segments.
    Tcp,
    /// RoCEv2 packets.
    Roce {
        /// Packets per ACK.
        ack_every: u32,
    },
    /// UDP datagrams with a header for receiver-driven transports.
    Message,
}

/// What a host half starts from.
#[derive(Clone, Copy, Debug)]
pub struct HostStart {
    /// Rate of the host's link.
    pub line_rate: BitsPerSec,
    /// Time of its first packet.
    pub now: Time,
    /// Key for every random choice of the host.
    pub seed: u64,
}

/// How a flow stands at a receiver that gives credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CreditState {
    /// Whether credit of its receiver is out: data for it is still to come, or the receiver sends it without end.
    pub credited: bool,
    /// Payload for which its receiver may give credit now and has not.
    pub waiting: Bytes,
    /// Payload that came beyond the first byte that is missing.
    pub beyond_gap: Bytes,
}

/// Traffic classes of a packet.
pub const CLASSES: usize = 8;

/// Payload that came in one traffic class, what came twice included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ClassPayload {
    /// Of the beginning of messages, which leaves unasked.
    pub unscheduled: Bytes,
    /// On credit.
    pub scheduled: Bytes,
}

/// Takes packets that leave for any host, in order.
pub trait PacketSink {
    /// Takes one more.
    fn send(&mut self, packet: &Packet);
}

impl PacketSink for Vec<Packet> {
    fn send(&mut self, packet: &Packet) {
        self.push(*packet);
    }
}

/// Prefetches what will soon be read: a hint, which changes nothing but time.
pub trait Prefetch {
    /// Prefetches all of a value.
    fn prefetch<T>(&self, of: &T);
}

/// Sender half of a flow of transport `C`.
///
/// Defaults are those of a sender that has no window and no rate of its own, and that cuts no super-packets: it waits for its receiver.
pub trait SenderHalf<C: Transport>: Clone + Debug {
    /// Whether a packet may leave now. Changes only by calls to `&mut self` methods.
    fn ready(&self, cfg: &C) -> bool;
    /// Traffic class of the packet that leaves next. May change only by calls to `&mut self` methods.
    fn next_class(&self, cfg: &C) -> u8;
    /// The next packet, if one may leave now.
    fn next_packet(&mut self, cfg: &C, now: Time) -> Option<Packet>;
    /// The next burst, for a NIC that cuts super-packets.
    fn next_burst(&mut self, cfg: &C, now: Time) -> Option<Burst> {
        let first = self.next_packet(cfg, now)?;
        let whole = u64::from(first.size);
        let payload = if first.kind == Kind::Data { whole - cfg.header().get() } else { 0 };
        Some(Burst { first, payload })
    }
    /// Takes an answer that had `arrived` at the NIC, with the telemetry that it brought.
    fn on_answer(&mut self, cfg: &C, now: Time, arrived: Time, packet: &Packet, hops: &[IntHop]);
    /// What a sender says to a request for what is missing that it has taken, if it has not come to send what it may.
    fn busy(&self, _cfg: &C) -> Option<Packet> {
        None
    }
    /// Takes a message of the host's switch.
    fn on_switch_message(&mut self, _now: Time, _message: SwitchMessage) {}
    /// When to call [`SenderHalf::on_deadline`]; [`Time::MAX`]: never.
    fn deadline(&self) -> Time;
    /// The clock has come to the deadline. Calling earlier changes nothing.
    fn on_deadline(&mut self, cfg: &C, now: Time);
    /// The application writes `bytes` more; `last` closes the flow.
    fn app_write(&mut self, cfg: &C, now: Time, bytes: Bytes, last: bool);
    /// Whether every byte of a closed flow is acknowledged, or the flow given up.
    fn finished(&self) -> bool;
    /// Whether the flow is given up: it ends although bytes of it are not acknowledged.
    fn gave_up(&self) -> bool {
        false
    }
    /// Whether all that the application has written is acknowledged.
    fn idle(&self) -> bool {
        self.finished()
    }
    /// Bytes that the application has written and that wait to leave. Falls only by calls to `next_packet` and `next_burst`.
    fn unsent(&self) -> u64;
    /// Bytes acknowledged in order.
    fn acked(&self) -> Bytes {
        Bytes::new(self.totals().una)
    }
    /// Payload in flight, where answers tell what has arrived before all has.
    fn inflight(&self, _cfg: &C) -> Option<Bytes> {
        Some(self.totals().inflight)
    }
    /// What the sender waits for.
    fn waits_for(&self, cfg: &C) -> Wait {
        if self.ready(cfg) { Wait::Nic } else { Wait::Receiver }
    }
    /// Running totals, as the law sees them.
    fn totals(&self) -> &Totals;
    /// Window in force; [`Bytes::MAX`] if nothing but a rate holds the flow.
    fn window(&self) -> Bytes {
        Bytes::MAX
    }
    /// Rate in force, where the transport has one.
    fn rate(&self) -> Option<BitsPerSec> {
        None
    }
    /// When the flow's congestion control ended the run, and why.
    fn fault(&self) -> Option<(Time, &Fault)> {
        None
    }
    /// Packets sent again.
    fn retransmits(&self) -> u64;
    /// Expiries of the retransmission timer.
    fn timeouts(&self) -> u64;
    /// Credits, grants or pulls that came and released something, where the transport has any.
    fn credits_used(&self) -> u64 {
        0
    }
    /// Number of the message under way, or of the last one, where the flow is a stream of messages.
    fn message(&self) -> u32 {
        0
    }
    /// Prefetches state that lies elsewhere than in place.
    fn prefetch(&self, _memory: &impl Prefetch) {}
    /// Prefetches what is noted of the oldest packet that is not acknowledged, where that lies elsewhere.
    fn prefetch_oldest(&self, _memory: &impl Prefetch) {}
}

/// Receiver half of a flow of transport `C`.
pub trait ReceiverHalf<C: Transport>: Clone + Debug {
    /// Takes a data packet, which may stand for several: `newest` is the last of them. `host` is the receiving host's half.
    fn on_data(
        &mut self,
        cfg: &C,
        host: &mut C::Host,
        now: Time,
        newest: Arrival,
        packet: &Packet,
        sink: &mut impl PacketSink,
    );
    /// When to call [`ReceiverHalf::on_deadline`]; [`Time::MAX`]: never.
    fn deadline(&self) -> Time {
        Time::MAX
    }
    /// The clock has come to the deadline. Calling earlier changes nothing.
    fn on_deadline(&mut self, _cfg: &C, _now: Time, _sink: &mut impl PacketSink) {}
    /// When an acknowledgement leaves that waits for company; [`Time::MAX`]: none does.
    fn ack_due(&self) -> Time {
        self.deadline()
    }
    /// The application read `bytes` of what was delivered.
    fn on_read(&mut self, _cfg: &C, _now: Time, _bytes: u64, _sink: &mut impl PacketSink) {}
    /// Bytes delivered in order.
    fn delivered(&self) -> Bytes;
    /// Whether every byte up to the end of the flow has been delivered.
    fn complete(&self) -> bool;
    /// Credits, grants or pulls sent as packets of their own, where the transport has any.
    fn credits_sent(&self, _host: Option<&C::Host>) -> u64 {
        0
    }
    /// Data packets whose credit was older than that of one before, where credits have numbers.
    fn credits_backward(&self) -> u64 {
        0
    }
    /// How the flow stands, where its receiver gives credit.
    fn credit_state(&self, _cfg: &C, _host: Option<&C::Host>) -> CreditState {
        CreditState::default()
    }
}

/// What all flows of transport `C` and of one kind have in common where they end: at one host.
pub trait HostHalf<C>: Clone + Debug {
    /// Whether there is anything; `false` costs nothing.
    const PRESENT: bool = true;
    /// When to call [`HostHalf::on_deadline`]; [`Time::MAX`]: never.
    fn deadline(&self) -> Time;
    /// The clock has come to the deadline. Calling earlier changes nothing.
    fn on_deadline(&mut self, cfg: &C, now: Time, sink: &mut impl PacketSink);
    /// Payload that came, by traffic class, where that is counted.
    fn arrived(&self) -> Option<&[ClassPayload; CLASSES]> {
        None
    }
    /// One of several.
    fn of(all: &mut [Self], index: u16) -> &mut Self {
        &mut all[usize::from(index)]
    }
}

/// Nothing in common.
impl<C> HostHalf<C> for () {
    const PRESENT: bool = false;

    #[inline]
    fn deadline(&self) -> Time {
        Time::MAX
    }

    fn on_deadline(&mut self, _cfg: &C, _now: Time, _sink: &mut impl PacketSink) {}

    #[inline]
    fn of(_all: &mut [Self], _index: u16) -> &mut Self {
        Box::leak(Box::default()) // which allocates nothing
    }
}
