//! The transports side by side: what a host holds when it does not care which one a flow runs.
//!
//! A [`Sender`] or [`Receiver`] holds the settings that it was made from, so no call can bring those of another transport. Calls go
//! by `match` to the halves of whichever it is. One row below is all that a transport adds here.

use crate::half::{
    CLASSES, ClassPayload, CreditState, Frames, HostHalf, HostStart, PacketSink, Prefetch,
    ReceiverHalf, SenderHalf, Transport,
};
use crate::rdma::RdmaConfig;
use crate::receiver::Arrival;
use crate::{Burst, FlowSpec, TcpConfig, TcpSender, Wait};
use forebay_laws::Start;
use forebay_laws::flow::{FlowParams, IntHop, Needs, SwitchMessage, Totals};
use forebay_laws::kernel::Fault;
use forebay_laws::log::Tap;
use forebay_units::{BitsPerSec, Bytes, Time};
use forebay_wire::{FlowId, HostAddr, Packet};
use std::sync::Arc;

/// A half with its settings.
#[derive(Clone, Debug)]
pub struct WithConfig<C, H> {
    cfg: Arc<C>,
    half: H,
}

/// A receiver half with its settings, and which of the host's halves is its own.
#[derive(Clone, Debug)]
pub struct BoundReceiver<C: Transport> {
    cfg: Arc<C>,
    half: C::Receiver,
    host: u16,
}

/// How far a flow is at its receiver after one more packet.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Bytes that had been delivered in order before the packet.
    pub before: Bytes,
    /// Bytes delivered in order.
    pub delivered: Bytes,
    /// Whether every byte up to the end of the flow has been delivered.
    pub complete: bool,
    /// When to call [`Receiver::on_deadline`]; [`Time::MAX`]: never.
    pub deadline: Time,
}

/// What a sender does next.
#[derive(Clone, Copy, Debug)]
pub struct SenderNext {
    /// Whether a packet may leave now.
    pub ready: bool,
    /// When to call [`Sender::on_deadline`]; [`Time::MAX`]: never.
    pub deadline: Time,
}

impl SenderNext {
    #[inline(always)]
    fn of<C: Transport>(half: &impl SenderHalf<C>, cfg: &C) -> Self {
        Self { ready: half.ready(cfg), deadline: half.deadline() }
    }
}

/// Halves of a host for one transport, each with its settings.
#[derive(Clone, Debug)]
struct Places<C: Transport> {
    settings: Vec<Arc<C>>,
    halves: Vec<C::Host>, // empty where there are none
}

impl<C: Transport> Default for Places<C> {
    fn default() -> Self {
        Self { settings: Vec::new(), halves: Vec::new() }
    }
}

impl<C: Transport> Places<C> {
    /// Index of the half of these settings, which is made if there is none. Each has a log of its own in `logs`.
    fn index(&mut self, cfg: &Arc<C>, at: HostStart, logs: &[Tap]) -> u16 {
        if !C::Host::PRESENT {
            return 0;
        }
        let known = self.settings.iter().position(|one| one == cfg);
        let index = known.unwrap_or_else(|| {
            self.settings.push(Arc::clone(cfg));
            let log = logs.get(self.halves.len()).cloned();
            let logged = log.and_then(|log| cfg.with_host_log(log));
            self.halves.push(logged.as_ref().unwrap_or(cfg).host(at));
            self.halves.len() - 1
        });
        u16::try_from(index).expect("there are fewer kinds of flow")
    }

    #[inline]
    fn deadline(&self) -> Time {
        if !C::Host::PRESENT {
            return Time::MAX;
        }
        self.halves.iter().map(HostHalf::deadline).min().unwrap_or(Time::MAX)
    }

    #[inline]
    fn on_deadline(&mut self, now: Time, sink: &mut impl PacketSink) {
        if !C::Host::PRESENT {
            return;
        }
        for (cfg, half) in self.settings.iter().zip(&mut self.halves) {
            if half.deadline() <= now {
                half.on_deadline(cfg, now, sink);
            }
        }
    }
}

impl<C: Transport> BoundReceiver<C> {
    #[inline(always)]
    fn on_data(
        &mut self,
        host: &mut HostHalves,
        due: &mut Time,
        now: Time,
        newest: Arrival,
        packet: &Packet,
        sink: &mut impl PacketSink,
    ) -> Progress
    where
        HostHalves: HasHostHalf<C>,
    {
        let before = self.half.delivered();
        let half = HostHalf::<C>::of(&mut host.places().halves, self.host);
        ReceiverHalf::on_data(&mut self.half, &self.cfg, half, now, newest, packet, sink);
        if C::Host::PRESENT {
            host.deadline = host.earliest();
            *due = host.deadline.min(*due);
        }
        Progress {
            before,
            delivered: self.half.delivered(),
            complete: self.half.complete(),
            deadline: ReceiverHalf::deadline(&self.half),
        }
    }

    fn credits_sent(&self, host: &HostHalves) -> u64
    where
        HostHalves: HasHostHalf<C>,
    {
        self.half.credits_sent(host.seen().halves.get(usize::from(self.host)))
    }

    fn credit_state(&self, host: &HostHalves) -> CreditState
    where
        HostHalves: HasHostHalf<C>,
    {
        self.half.credit_state(&self.cfg, host.seen().halves.get(usize::from(self.host)))
    }
}

/// Has the host halves of a transport.
trait HasHostHalf<C: Transport> {
    fn places(&mut self) -> &mut Places<C>;
    fn seen(&self) -> &Places<C>;
}

/// Code of transports that few flows run: where it stood in place, callers of all would be too large to be inlined themselves.
#[cold]
#[inline(never)]
fn out_of_line<R>(call: impl FnOnce() -> R) -> R {
    call()
}

/// Whether a row's code stands in place.
macro_rules! stands {
    (in_place) => {
        true
    };
    (out_of_line) => {
        false
    };
}

/// A row's code in the one of two places that is its own; the other is never reached.
macro_rules! only {
    (in_place, in_place, $call:expr) => {
        $call
    };
    (out_of_line, out_of_line, $call:expr) => {
        $call
    };
    ($here:ident, $place:ident, $call:expr) => {
        unreachable!()
    };
}

/// Types over all transports, and `each!`: the same expression for whichever of them a value is of.
macro_rules! transports {
    ($d:tt $($(#[doc = $doc:literal])* $(#[cfg($cfg:meta)])? $field:ident: $Name:ident($Config:ty) $place:ident,)+) => {
        /// Settings of a flow's transport.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Config {
            $($(#[doc = $doc])* $(#[cfg($cfg)])? $Name(Arc<$Config>),)+
        }

        /// Sender half of a flow. Its tag has a byte of its own: one hidden in a half takes longer to read, and every call reads it.
        #[derive(Clone, Debug)]
        #[repr(u8)]
        pub enum Sender {
            $($(#[doc = $doc])* $(#[cfg($cfg)])? $Name(WithConfig<$Config, <$Config as Transport>::Sender>),)+
        }

        /// Receiver half of a flow, with a tag as that of [`Sender`].
        #[derive(Clone, Debug)]
        #[repr(u8)]
        pub enum Receiver {
            $($(#[doc = $doc])* $(#[cfg($cfg)])? $Name(BoundReceiver<$Config>),)+
        }

        /// What the flows that end at one host have in common, kind by kind.
        #[derive(Clone, Debug)]
        pub struct HostHalves {
            deadline: Time, // the earliest of theirs
            $($(#[cfg($cfg)])? $field: Places<$Config>,)+
        }

        impl Default for HostHalves {
            fn default() -> Self {
                Self { deadline: Time::MAX, $($(#[cfg($cfg)])? $field: Places::default(),)+ }
            }
        }

        $($(#[cfg($cfg)])? impl From<$Config> for Config {
            fn from(of: $Config) -> Self {
                Config::$Name(Arc::new(of))
            }
        })+

        macro_rules! each {
            ($d All:ident, $d one:expr, |$d it:pat_param| $d call:expr) => {
                match $d one {
                    $($(#[cfg($cfg)])? #[allow(unused_variables)] $d All::$Name($d it) if stands!($place) => only!(in_place, $place, $d call),)+
                    few => out_of_line(move || match few {
                        $($(#[cfg($cfg)])? #[allow(unused_variables)] $d All::$Name($d it) => only!(out_of_line, $place, $d call),)+
                    }),
                }
            };
        }

        impl Config {
            /// The sender half of a flow. `at` is what the law starts from; its seed belongs to this flow.
            ///
            /// # Panics
            /// If the law needs what the transport does not have ([`TcpSender::new`]), or there is none though its senders have one.
            pub fn sender(
                &self,
                spec: FlowSpec,
                law: Option<&FlowParams>,
                at: Start,
                now: Time,
            ) -> Sender {
                match self {
                    $($(#[cfg($cfg)])? Config::$Name(cfg) => {
                        let half = cfg.sender(spec, law, at, now);
                        Sender::$Name(WithConfig { cfg: Arc::clone(cfg), half })
                    })+
                }
            }
        }

        impl Config {
            /// Settings for one flow whose law writes a log, where receivers have a law for each flow.
            pub fn with_flow_log(&self, log: Tap) -> Option<Self> {
                match self {
                    $($(#[cfg($cfg)])? Config::$Name(cfg) => cfg.with_flow_log(log).map(Self::from),)+
                }
            }
        }

        impl HostHalves {
            /// The receiver half of a flow of `size` bytes that ends at this host; `sender` is where answers go, and `seed` is the flow's. Laws of
            /// the host write `logs`, one for each kind of flow in the order of their beginning.
            pub fn receiver(
                &mut self,
                cfg: &Config,
                (at, logs): (HostStart, &[Tap]),
                flow: FlowId,
                sender: HostAddr,
                (size, seed): (Bytes, u64),
            ) -> Receiver {
                match cfg {
                    $($(#[cfg($cfg)])? Config::$Name(cfg) => {
                        let host = self.$field.index(cfg, at, logs);
                        let half = cfg.receiver(flow, sender, size, seed);
                        Receiver::$Name(BoundReceiver { cfg: Arc::clone(cfg), half, host })
                    })+
                }
            }

            /// When to call [`HostHalves::on_deadline`]; [`Time::MAX`]: never.
            #[inline]
            pub fn deadline(&self) -> Time {
                self.deadline
            }

            /// Payload of receiver-driven transports that came, by traffic class.
            pub fn arrived(&self) -> [ClassPayload; CLASSES] {
                let mut all = [ClassPayload::default(); CLASSES];
                $($(#[cfg($cfg)])? for counted in self.$field.halves.iter().filter_map(HostHalf::<$Config>::arrived) {
                    for (sum, one) in all.iter_mut().zip(counted) {
                        sum.unscheduled += one.unscheduled;
                        sum.scheduled += one.scheduled;
                    }
                })+
                all
            }

            fn earliest(&self) -> Time {
                [$($(#[cfg($cfg)])? self.$field.deadline(),)+].into_iter().fold(Time::MAX, Time::min)
            }

            /// The clock has come to the deadline. Calling earlier changes nothing.
            #[inline]
            pub fn on_deadline(&mut self, now: Time, sink: &mut impl PacketSink) {
                $($(#[cfg($cfg)])? self.$field.on_deadline(now, sink);)+
                self.deadline = self.earliest();
            }
        }

        $($(#[cfg($cfg)])? impl HasHostHalf<$Config> for HostHalves {
            #[inline]
            fn places(&mut self) -> &mut Places<$Config> {
                &mut self.$field
            }

            fn seen(&self) -> &Places<$Config> {
                &self.$field
            }
        })+
    };
}

transports! { $
    /// As Linux.
    tcp: Tcp(TcpConfig) in_place,
    /// As an RDMA NIC.
    rdma: Rdma(RdmaConfig) in_place,
    /// A packet for each credit of its receiver.
    credited: Credited(crate::credited::CreditedConfig) out_of_line,
    /// Granted by its receivers.
    granted: Granted(crate::granted::GrantedConfig) out_of_line,
    /// Pulled by its receivers, in tests.
    #[cfg(feature = "pulled")]
    pulled: Pulled(crate::pulled::PulledConfig) out_of_line,
}

const _: () = assert!(size_of::<Sender>() <= size_of::<TcpSender>() + 16);

impl Config {
    /// Payload of a full packet.
    #[inline]
    pub fn mss(&self) -> Bytes {
        each!(Config, self, |of| Transport::mss(&**of))
    }

    /// Header bytes of a data packet.
    #[inline]
    pub fn header(&self) -> Bytes {
        each!(Config, self, |of| of.header())
    }

    /// Size of an ACK.
    pub fn ack_size(&self) -> Bytes {
        each!(Config, self, |of| of.ack_size())
    }

    /// Traffic classes of data that NICs tell apart, a bit each.
    pub fn data_classes(&self) -> u8 {
        each!(Config, self, |of| of.data_classes())
    }

    /// Traffic classes of ACKs and whatever else answers data, a bit each.
    pub fn answer_classes(&self) -> u8 {
        each!(Config, self, |of| of.answer_classes())
    }

    /// Window at the start where the law has no opinion of its own.
    pub fn initial_window(&self) -> Bytes {
        each!(Config, self, |of| of.initial_window())
    }

    /// What the law needs of the other end.
    pub fn needs(&self) -> &Needs {
        each!(Config, self, |of| of.needs())
    }

    /// Whether cores copy what arrives to the application, which interrupts report.
    #[inline]
    pub fn copies(&self) -> bool {
        each!(Config, self, |of| of.copies())
    }

    /// Whether receivers take headers whose payload a switch cut off, and messages without payload.
    pub fn takes_headers(&self) -> bool {
        each!(Config, self, |of| of.takes_headers())
    }

    /// Whether its receivers want headers to say that a payload was cut off on the way to a switch.
    pub fn wants_core_trims(&self) -> bool {
        each!(Config, self, |of| of.wants_core_trims())
    }

    /// Protocol whose frames show packets in captures.
    pub fn frames(&self) -> Frames {
        each!(Config, self, |of| of.frames())
    }

    /// Answer of a NIC to data for which no receive buffer is posted; none: it is as good as lost.
    pub fn not_ready(&self, data: &Packet, sender: HostAddr) -> Option<Packet> {
        each!(Config, self, |of| of.not_ready(data, sender))
    }

    /// Answer to data of a flow of `size` bytes that is complete at its receiver, whose state is gone.
    pub fn ack_again(&self, data: &Packet, sender: HostAddr, size: Bytes) -> Packet {
        each!(Config, self, |of| of.ack_again(data, sender, size))
    }
}

impl Sender {
    /// Takes a message of the host's switch. TCP ignores it.
    pub fn on_switch_message(&mut self, now: Time, message: SwitchMessage) {
        each!(Sender, self, |of| of.half.on_switch_message(now, message))
    }

    /// Prefetches state that lies elsewhere than in place.
    #[inline(always)]
    pub fn prefetch(&self, memory: &impl Prefetch) {
        each!(Sender, self, |of| of.half.prefetch(memory))
    }

    /// Prefetches what is noted of the oldest packet that is not acknowledged, where that lies elsewhere.
    #[inline(always)]
    pub fn prefetch_oldest(&self, memory: &impl Prefetch) {
        each!(Sender, self, |of| of.half.prefetch_oldest(memory))
    }

    /// Payload of a full packet.
    #[inline]
    pub fn mss(&self) -> Bytes {
        each!(Sender, self, |of| Transport::mss(&*of.cfg))
    }

    /// What comes next. Changes only by calls to `&mut self` methods.
    #[inline(always)]
    pub fn next(&self) -> SenderNext {
        each!(Sender, self, |of| SenderNext::of(&of.half, &of.cfg))
    }

    /// Whether a packet may leave now. Changes only by calls to `&mut self` methods.
    #[inline(always)]
    pub fn ready(&self) -> bool {
        each!(Sender, self, |of| of.half.ready(&of.cfg))
    }

    /// Traffic class of the packet that leaves next. Changes only by calls to `&mut self` methods.
    #[inline]
    pub fn next_class(&self) -> u8 {
        each!(Sender, self, |of| of.half.next_class(&of.cfg))
    }

    /// The next packet, if one may leave now.
    #[inline]
    pub fn next_packet(&mut self, now: Time) -> Option<Packet> {
        each!(Sender, self, |of| of.half.next_packet(&of.cfg, now))
    }

    /// As [`Sender::next_packet`], but it may be a super-packet.
    pub fn next_burst(&mut self, now: Time) -> Option<Burst> {
        each!(Sender, self, |of| of.half.next_burst(&of.cfg, now))
    }

    /// Takes an answer that had `arrived` at the NIC, with the telemetry that it brought. Returns what comes next; `None` if every byte of
    /// a closed flow is acknowledged.
    #[inline(always)]
    pub fn on_answer(
        &mut self,
        now: Time,
        arrived: Time,
        packet: &Packet,
        hops: &[IntHop],
    ) -> Option<SenderNext> {
        each!(Sender, self, |of| {
            of.half.on_answer(&of.cfg, now, arrived, packet, hops);
            if of.half.finished() { None } else { Some(SenderNext::of(&of.half, &of.cfg)) }
        })
    }

    /// What the sender says to a request for what is missing that it has taken, if it has not come to send what it may.
    pub fn busy(&self) -> Option<Packet> {
        each!(Sender, self, |of| of.half.busy(&of.cfg))
    }

    /// When to call [`Sender::on_deadline`]; [`Time::MAX`]: never.
    #[inline]
    pub fn deadline(&self) -> Time {
        each!(Sender, self, |of| of.half.deadline())
    }

    /// The clock has come to the deadline. Calling earlier changes nothing.
    pub fn on_deadline(&mut self, now: Time) {
        each!(Sender, self, |of| of.half.on_deadline(&of.cfg, now))
    }

    /// The application writes `bytes` more; `last` closes the flow.
    ///
    /// # Panics
    /// If the flow is closed.
    pub fn app_write(&mut self, now: Time, bytes: Bytes, last: bool) {
        each!(Sender, self, |of| SenderHalf::app_write(&mut of.half, &of.cfg, now, bytes, last))
    }

    /// Whether every byte of a closed flow is acknowledged.
    #[inline]
    pub fn finished(&self) -> bool {
        each!(Sender, self, |of| of.half.finished())
    }

    /// Whether the flow is given up: it ends although bytes of it are not acknowledged.
    #[inline]
    pub fn gave_up(&self) -> bool {
        each!(Sender, self, |of| of.half.gave_up())
    }

    /// Whether all that the application has written is acknowledged.
    pub fn idle(&self) -> bool {
        each!(Sender, self, |of| of.half.idle())
    }

    /// Bytes that the application has written and that wait to leave.
    #[inline]
    pub fn unsent(&self) -> u64 {
        each!(Sender, self, |of| of.half.unsent())
    }

    /// Bytes acknowledged in order.
    #[inline]
    pub fn acked(&self) -> Bytes {
        each!(Sender, self, |of| of.half.acked())
    }

    /// Payload in flight, where answers tell what has arrived before all has.
    pub fn inflight(&self) -> Option<Bytes> {
        each!(Sender, self, |of| SenderHalf::inflight(&of.half, &of.cfg))
    }

    /// Number of the message under way, or of the last one, where the flow is a stream of messages; else 0.
    pub fn message(&self) -> u32 {
        each!(Sender, self, |of| of.half.message())
    }

    /// What the sender waits for.
    pub fn waits_for(&self) -> Wait {
        each!(Sender, self, |of| of.half.waits_for(&of.cfg))
    }

    /// Running totals, as the law sees them.
    pub fn totals(&self) -> &Totals {
        each!(Sender, self, |of| of.half.totals())
    }

    /// Window in force; [`Bytes::MAX`] if nothing but a rate holds the flow.
    pub fn window(&self) -> Bytes {
        each!(Sender, self, |of| of.half.window())
    }

    /// Rate in force, where the transport has one.
    pub fn rate(&self) -> Option<BitsPerSec> {
        each!(Sender, self, |of| of.half.rate())
    }

    /// When the flow's congestion control ended the run, and why.
    pub fn fault(&self) -> Option<(Time, &Fault)> {
        each!(Sender, self, |of| of.half.fault())
    }

    /// Packets sent again.
    pub fn retransmits(&self) -> u64 {
        each!(Sender, self, |of| of.half.retransmits())
    }

    /// Expiries of the retransmission timer.
    pub fn timeouts(&self) -> u64 {
        each!(Sender, self, |of| of.half.timeouts())
    }

    /// Tail loss probes of a TCP sender, one that is about to leave included.
    pub fn probes(&self) -> u64 {
        match self {
            Sender::Tcp(of) => of.half.probes_begun(),
            _ => 0,
        }
    }

    /// Credits, grants or pulls that came and released something.
    pub fn credits_used(&self) -> u64 {
        each!(Sender, self, |of| of.half.credits_used())
    }
}

impl Receiver {
    /// Takes a data packet, which may stand for several: `newest` is the last of them. `host` has the halves of the host that it was
    /// made with; `due` becomes their deadline if that is earlier.
    #[inline(always)]
    pub fn on_data(
        &mut self,
        host: &mut HostHalves,
        due: &mut Time,
        now: Time,
        newest: Arrival,
        packet: &Packet,
        sink: &mut impl PacketSink,
    ) -> Progress {
        each!(Receiver, self, |of| of.on_data(host, due, now, newest, packet, sink))
    }

    /// Payload of a full packet.
    #[inline]
    pub fn mss(&self) -> Bytes {
        each!(Receiver, self, |of| Transport::mss(&*of.cfg))
    }

    /// Whether cores copy what arrives to the application.
    #[inline]
    pub fn copies(&self) -> bool {
        each!(Receiver, self, |of| of.cfg.copies())
    }

    /// Whether data that arrives behind a gap is kept.
    #[inline]
    pub fn keeps_gaps(&self) -> bool {
        each!(Receiver, self, |of| of.cfg.keeps_gaps())
    }

    /// What the law needs of this end.
    #[inline]
    pub fn needs(&self) -> &Needs {
        each!(Receiver, self, |of| of.cfg.needs())
    }

    /// When to call [`Receiver::on_deadline`]; [`Time::MAX`]: never.
    #[inline]
    pub fn deadline(&self) -> Time {
        each!(Receiver, self, |of| ReceiverHalf::deadline(&of.half))
    }

    /// The clock has come to the deadline. Calling earlier changes nothing.
    pub fn on_deadline(&mut self, now: Time, sink: &mut impl PacketSink) {
        each!(Receiver, self, |of| ReceiverHalf::on_deadline(&mut of.half, &of.cfg, now, sink))
    }

    /// When an acknowledgement leaves that waits for company; [`Time::MAX`]: none does.
    pub fn ack_due(&self) -> Time {
        each!(Receiver, self, |of| ReceiverHalf::ack_due(&of.half))
    }

    /// The application read `bytes` of what was delivered. The sender may hear of the room.
    pub fn on_read(&mut self, now: Time, bytes: u64, sink: &mut impl PacketSink) {
        each!(Receiver, self, |of| {
            ReceiverHalf::on_read(&mut of.half, &of.cfg, now, bytes, sink)
        })
    }

    /// Bytes delivered in order.
    #[inline]
    pub fn delivered(&self) -> Bytes {
        each!(Receiver, self, |of| of.half.delivered())
    }

    /// Credits, grants or pulls sent as packets of their own. `host` has the halves of the host that it was made with.
    pub fn credits_sent(&self, host: &HostHalves) -> u64 {
        each!(Receiver, self, |of| of.credits_sent(host))
    }

    /// Data packets whose credit was older than that of one before: credits and data took different paths.
    pub fn credits_backward(&self) -> u64 {
        each!(Receiver, self, |of| of.half.credits_backward())
    }

    /// How the flow stands, where its receiver gives credit. `host` has the halves of the host that it was made with.
    pub fn credit_state(&self, host: &HostHalves) -> CreditState {
        each!(Receiver, self, |of| of.credit_state(host))
    }

    /// Whether every byte up to the end of the flow has been delivered.
    #[inline]
    pub fn complete(&self) -> bool {
        each!(Receiver, self, |of| of.half.complete())
    }
}
