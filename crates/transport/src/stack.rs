//! The transports side by side: what a host holds when it does not care which one a flow runs.
//!
//! A [`Sender`] or [`Receiver`] goes with the [`Config`] that it was made from, and with no other.

use crate::rdma::{QpReceiver, QpSender, RdmaConfig};
use crate::receiver::{Acks, Arrival};
use crate::{Burst, FlowSpec, TcpConfig, TcpReceiver, TcpSender, Wait};
use forebay_laws::Start;
use forebay_laws::flow::{FlowParams, IntHop, Needs, Told, Totals};
use forebay_units::{BitsPerSec, Bytes, Time};
use forebay_wire::{FlowId, HostAddr, Packet};

/// Settings of a flow's transport.
#[derive(Clone, Debug, PartialEq)]
pub enum Config {
    /// As Linux.
    Tcp(TcpConfig),
    /// As an RDMA NIC.
    Rdma(RdmaConfig),
}

/// Sender half of a flow.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "most flows are of TCP, and a step to a box costs")]
pub enum Sender {
    /// As Linux.
    Tcp(TcpSender),
    /// As an RDMA NIC. In a box, since it is larger, and flows of TCP are to lie close together.
    Rdma(Box<QpSender>),
}

const _: () = assert!(size_of::<Sender>() <= size_of::<TcpSender>() + 8);

/// Receiver half of a flow.
#[derive(Clone, Debug)]
pub enum Receiver {
    /// As Linux.
    Tcp(TcpReceiver),
    /// As an RDMA NIC.
    Rdma(QpReceiver),
}

/// The same call on whichever transport it is; `$cfg` is bound to its settings.
macro_rules! either {
    ($half:ident, $one:expr, $all:expr, |$it:ident, $cfg:ident| $call:expr) => {
        match ($one, $all) {
            ($half::Tcp($it), Config::Tcp($cfg)) => $call,
            ($half::Rdma($it), Config::Rdma($cfg)) => $call,
            _ => another(),
        }
    };
    ($half:ident, $one:expr, |$it:ident| $call:expr) => {
        match $one {
            $half::Tcp($it) => $call,
            $half::Rdma($it) => $call,
        }
    };
}

#[cold]
fn another() -> ! {
    panic!("a flow keeps the settings that it was made from")
}

impl Config {
    /// Payload of a full packet.
    #[inline]
    pub fn mss(&self) -> Bytes {
        match self {
            Config::Tcp(tcp) => tcp.mss,
            Config::Rdma(rdma) => rdma.mtu,
        }
    }

    /// Header bytes of a data packet.
    #[inline]
    pub fn header(&self) -> Bytes {
        either!(Config, self, |of| of.header)
    }

    /// Size of an ACK.
    pub fn ack_size(&self) -> Bytes {
        either!(Config, self, |of| of.ack_size)
    }

    /// Traffic class of data.
    pub fn data_class(&self) -> u8 {
        either!(Config, self, |of| of.data_class)
    }

    /// Traffic class of ACKs.
    pub fn ack_class(&self) -> u8 {
        either!(Config, self, |of| of.ack_class)
    }

    /// Traffic classes of ACKs and whatever else answers data, a bit each.
    pub fn answer_classes(&self) -> u8 {
        match self {
            Config::Tcp(tcp) => 1 << tcp.ack_class,
            Config::Rdma(rdma) => 1 << rdma.ack_class | 1 << rdma.cnp_class,
        }
    }

    /// Window at the start where the law has no opinion of its own. RDMA's depends on the path, and falls back on this.
    pub fn initial_window(&self) -> Bytes {
        match self {
            Config::Tcp(tcp) => tcp.initial_window,
            Config::Rdma(rdma) => rdma.initial_window.unwrap_or(rdma.mtu),
        }
    }

    /// What the law asks of the other end.
    pub fn needs(&self) -> &Needs {
        either!(Config, self, |of| &of.needs)
    }

    /// Whether cores copy what arrives to the application. RDMA puts it there.
    #[inline]
    pub fn copies(&self) -> bool {
        matches!(self, Config::Tcp(_))
    }

    /// The sender half of a flow.
    ///
    /// # Panics
    /// If the law needs what the transport does not have; see [`TcpSender::new`].
    pub fn sender(&self, spec: FlowSpec, law: &FlowParams, at: Start, now: Time) -> Sender {
        match self {
            Config::Tcp(tcp) => Sender::Tcp(TcpSender::new(tcp, spec, law, at, now)),
            Config::Rdma(rdma) => Sender::Rdma(Box::new(QpSender::new(rdma, spec, law, at, now))),
        }
    }

    /// The receiver half of a flow; `sender` is where answers go.
    pub fn receiver(&self, flow: FlowId, sender: HostAddr) -> Receiver {
        match self {
            Config::Tcp(tcp) => Receiver::Tcp(TcpReceiver::new(tcp, flow, sender)),
            Config::Rdma(_) => Receiver::Rdma(QpReceiver::new(flow, sender)),
        }
    }
}

impl Sender {
    /// The switch of the host tells this flow something. TCP does not listen.
    pub fn on_told(&mut self, now: Time, told: Told) {
        if let Sender::Rdma(of) = self {
            of.on_told(now, told);
        }
    }

    /// The half of a queue pair, which does not lie here but in a box.
    #[inline]
    pub fn boxed(&self) -> Option<&QpSender> {
        match self {
            Sender::Tcp(_) => None,
            Sender::Rdma(qp) => Some(qp),
        }
    }

    /// Whether a packet may leave now. Changes only by calls to `&mut self` methods.
    #[inline(always)]
    pub fn ready(&self, cfg: &Config) -> bool {
        either!(Sender, self, cfg, |of, cfg| of.ready(cfg))
    }

    /// The next packet, if one may leave now.
    #[inline]
    pub fn next_packet(&mut self, cfg: &Config, now: Time) -> Option<Packet> {
        either!(Sender, self, cfg, |of, cfg| of.next_packet(cfg, now))
    }

    /// As [`Sender::next_packet`], but it may be a super-packet.
    pub fn next_burst(&mut self, cfg: &Config, now: Time) -> Option<Burst> {
        either!(Sender, self, cfg, |of, cfg| of.next_burst(cfg, now))
    }

    /// Takes an answer that had `arrived` at the NIC, with the telemetry that it brought.
    #[inline(always)]
    pub fn on_answer(
        &mut self,
        cfg: &Config,
        now: Time,
        arrived: Time,
        packet: &Packet,
        hops: &[IntHop],
    ) {
        match (self, cfg) {
            (Sender::Tcp(tcp), Config::Tcp(cfg)) => tcp.on_held_ack(cfg, now, arrived, packet),
            (Sender::Rdma(qp), Config::Rdma(cfg)) => qp.on_answer(cfg, now, arrived, packet, hops),
            _ => another(),
        }
    }

    /// When to call [`Sender::on_deadline`]; [`Time::MAX`]: never.
    #[inline]
    pub fn deadline(&self) -> Time {
        either!(Sender, self, |of| of.deadline())
    }

    /// The clock has come to the deadline. Calling earlier changes nothing.
    pub fn on_deadline(&mut self, cfg: &Config, now: Time) {
        either!(Sender, self, cfg, |of, cfg| of.on_deadline(cfg, now))
    }

    /// The application writes `bytes` more; `last` closes the flow.
    ///
    /// # Panics
    /// If the flow is closed.
    pub fn app_write(&mut self, bytes: Bytes, last: bool) {
        either!(Sender, self, |of| of.app_write(bytes, last))
    }

    /// Whether every byte of a closed flow is acknowledged.
    #[inline]
    pub fn finished(&self) -> bool {
        either!(Sender, self, |of| of.finished())
    }

    /// Whether all that the application has written is acknowledged.
    pub fn idle(&self) -> bool {
        either!(Sender, self, |of| of.idle())
    }

    /// Bytes that the application has written and that wait to leave.
    #[inline]
    pub fn unsent(&self) -> u64 {
        either!(Sender, self, |of| of.unsent())
    }

    /// Bytes acknowledged in order.
    #[inline]
    pub fn acked(&self) -> Bytes {
        either!(Sender, self, |of| of.acked())
    }

    /// What it waits for. A look, which changes nothing.
    pub fn waits_for(&self, cfg: &Config) -> Wait {
        either!(Sender, self, cfg, |of, cfg| of.waits_for(cfg))
    }

    /// Running totals, as the law sees them.
    pub fn totals(&self) -> &Totals {
        either!(Sender, self, |of| of.totals())
    }

    /// Window in force; [`Bytes::MAX`] if nothing but a rate holds the flow.
    pub fn window(&self) -> Bytes {
        match self {
            Sender::Tcp(tcp) => tcp.cwnd(),
            Sender::Rdma(qp) => qp.window(),
        }
    }

    /// Rate in force, where the transport has one.
    pub fn rate(&self) -> Option<BitsPerSec> {
        match self {
            Sender::Tcp(_) => None,
            Sender::Rdma(qp) => Some(qp.rate()),
        }
    }

    /// Packets sent again.
    pub fn retransmits(&self) -> u64 {
        either!(Sender, self, |of| of.retransmits())
    }

    /// Expiries of the retransmission timer.
    pub fn timeouts(&self) -> u64 {
        either!(Sender, self, |of| of.timeouts())
    }
}

impl Receiver {
    /// Takes a data packet, which may stand for several: `newest` is the last of them. Answers leave in this order.
    #[inline(always)]
    pub fn on_data(&mut self, cfg: &Config, now: Time, newest: Arrival, packet: &Packet) -> Acks {
        match (self, cfg) {
            (Receiver::Tcp(tcp), Config::Tcp(cfg)) => tcp.on_held_data(cfg, now, newest, packet),
            (Receiver::Rdma(qp), Config::Rdma(cfg)) => qp.on_data(cfg, now, newest, packet),
            _ => another(),
        }
    }

    /// When an ACK that waits is due; [`Time::MAX`] if there is none.
    #[inline]
    pub fn deadline(&self) -> Time {
        match self {
            Receiver::Tcp(tcp) => tcp.deadline(),
            Receiver::Rdma(_) => Time::MAX,
        }
    }

    /// That ACK, if it is due.
    pub fn on_deadline(&mut self, cfg: &Config, now: Time) -> Option<Packet> {
        match (self, cfg) {
            (Receiver::Tcp(tcp), Config::Tcp(cfg)) => tcp.on_deadline(cfg, now),
            _ => None,
        }
    }

    /// The application read `bytes` of what was delivered. An ACK, if the sender should hear of the room.
    pub fn on_read(&mut self, cfg: &Config, now: Time, bytes: u64) -> Option<Packet> {
        match (self, cfg) {
            (Receiver::Tcp(tcp), Config::Tcp(cfg)) => tcp.on_read(cfg, now, bytes),
            _ => None,
        }
    }

    /// Bytes delivered in order.
    #[inline]
    pub fn delivered(&self) -> Bytes {
        either!(Receiver, self, |of| of.delivered())
    }

    /// Bytes of these that the application has still to read.
    pub fn unread(&self) -> Bytes {
        match self {
            Receiver::Tcp(tcp) => tcp.unread(),
            Receiver::Rdma(_) => Bytes::ZERO,
        }
    }

    /// Whether every byte up to the end of the flow has been delivered.
    #[inline]
    pub fn complete(&self) -> bool {
        either!(Receiver, self, |of| of.complete())
    }
}
