//! A transport on credits: every data packet is released by a credit of its receiver (ExpressPass).
//!
//! A sender requests credits ([`Kind::Want`], [`REQUEST`]). The receiver sends numbered credits ([`Kind::Grant`]) at the rate that a law of role `credit`
//! sets, with jitter of gaps and sizes so that flows lose credits at random where ports meter them. Each credit that reaches the sender
//! releases one packet, which echoes the number and the receiver's clock: gaps in the numbers are lost credits, and the law sees them. Behind the last
//! byte a sender asks the receiver to stop ([`STOP`]), again and again until all is acknowledged. A hole in the data is repaired by going back to it ([`Kind::Nack`]).
//!
//! With [`CreditedConfig::unscheduled`] a sender does not wait for its first credit: behind the request leave so many bytes at line rate, as packets that
//! are not ECN-capable, which switches drop before they queue; all others are ECN-capable. Each of them is acknowledged by number, and behind the last
//! one goes a probe ([`PROBE`]), so the sender knows after a round trip which were dropped. A credit then releases what is lost, else what is new, else
//! what is unanswered; each packet is sent again once, but for holes that its receiver still has when it is asked to stop (Aeolus).
//!
//! Source: Cho, Jang and Han, SIGCOMM 2017; timers, sizes and jitter as in the authors' simulator (kaist-ina/ns2-xpass, last commit 2020). Unscheduled
//! packets: Hu et al., SIGCOMM 2020, in the order of a public simulator (kaist-ina/ns2-flexpass), which sends a probe behind each fourth packet as well.
//! With [`CreditedConfig::early_stop`] a sender counts credits per round trip, from its request to the first credit. If as many came in the last one as it
//! has packets left, so many are under way, and it asks the receiver to stop ([`EARLY_STOP`]). Two round trips after the last credit it requests more
//! if something is left, since some were lost.
//! Deviations: the last byte is acknowledged, so that senders know when a flow is complete; a retransmit timer doubles up to 10 ms;
//! a receiver knows the size of a flow, and stops by itself once all is there; a flow with packets to be sent again does not stop early.
//!
//! Invariant: no law is named; a packet of scheduled data leaves for each credit at most.

mod early;
mod receiver;
mod sender;
mod unscheduled;

pub use receiver::{CreditedHost, CreditedReceiver};
pub use sender::CreditedSender;

use crate::FlowSpec;
use crate::half::{HostStart, PacketSettings, Transport};
use forebay_laws::Start;
use forebay_laws::credit::CreditParams;
use forebay_laws::flow::FlowParams;
use forebay_laws::log::Tap;
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Ecn, Flags, FlowId, HostAddr, Kind, Packet};

/// Settings of a transport on credits.
#[derive(Clone, Debug, PartialEq)]
pub struct CreditedConfig {
    /// Law of a flow's credits.
    pub law: CreditParams,
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Header bytes of a data packet.
    pub header: Bytes,
    /// Size of a request, a stop, an ACK or a NACK.
    pub ack_size: Bytes,
    /// Bytes that a packet takes on a link beyond its size.
    pub overhead: Bytes,
    /// Traffic class of everything but credits.
    pub data_class: u8,
    /// Traffic class of credits.
    pub credit_class: u8,
    /// Part of a link that ports give credits: numerator and denominator.
    pub share: (u32, u32),
    /// Whether a sender stops its receiver as soon as credits under way cover what is left.
    pub early_stop: bool,
    /// Whether a sender that stopped its receiver early asks again two round trips after the stop, and not after the last credit.
    ///
    /// Source: kaist-ina/ns2-xpass, `send_credit_stop`.
    pub asks_after_stop: bool,
    /// Payload that leaves before the first credit, as packets that switches drop first; zero: none.
    pub unscheduled: Bytes,
}

/// `word` of a [`Kind::Want`]: the sender has data and wants credits.
const REQUEST: u16 = 1;

/// `word` of a [`Kind::Want`]: the sender has sent its last byte.
const STOP: u16 = 2;

/// `word` of a [`Kind::Want`]: the sender has sent its last unscheduled packet, up to the byte `seq`; of the [`Kind::Ack`] that answers it.
const PROBE: u16 = 3;

/// `word` of a [`Kind::Want`]: credits under way cover what the sender has left.
const EARLY_STOP: u16 = 4;

/// Mean size of a credit on the wire: a least Ethernet frame with preamble and gap.
const CREDIT: Bytes = Bytes::new(84);

/// Largest difference of a credit's size from the mean: a model of jitter, since no Ethernet frame is smaller than the mean.
const CREDIT_JITTER: u64 = 8;

/// First wait for the answer to a request, a stop or a NACK. Source: kaist-ina/ns2-xpass.
const RETRANSMIT: Span = Span::from_us(100);

/// Longest such wait, and time without a credit after which a sender requests them anew.
const LAST_RESORT: Span = Span::from_ms(10);

/// The wait after so many in vain.
fn patience(doublings: u32) -> Span {
    (RETRANSMIT * (1 << doublings.min(10))).min(LAST_RESORT)
}

impl CreditedConfig {
    /// A control packet without meaning yet.
    fn control(&self, kind: Kind, flow: FlowId, dst: HostAddr) -> Packet {
        let (size, class, ecn) = (self.ack_size.get() as u16, self.data_class, self.ecn());
        Packet { flow, dst, size, kind, class, ecn, ..Packet::default() }
    }

    /// Code point of whatever is not unscheduled.
    fn ecn(&self) -> Ecn {
        if self.protects() { Ecn::Ect } else { Ecn::NotEct }
    }

    /// Whether switches drop unscheduled packets first, which are not ECN-capable.
    fn protects(&self) -> bool {
        self.unscheduled > Bytes::ZERO
    }
}

impl Transport for CreditedConfig {
    type Sender = CreditedSender;
    type Receiver = CreditedReceiver;
    type Host = CreditedHost;

    #[inline]
    fn packets(&self) -> PacketSettings {
        let Self { mss, header, ack_size, data_class, .. } = *self;
        PacketSettings { mss, header, ack_size, ack_class: data_class, data_class }
    }

    fn initial_window(&self) -> Bytes {
        self.mss
    }

    fn takes_headers(&self) -> bool {
        true
    }

    fn sender(
        &self,
        spec: FlowSpec,
        _law: Option<&FlowParams>,
        _at: Start,
        now: Time,
    ) -> CreditedSender {
        CreditedSender::new(self, spec, now)
    }

    fn receiver(&self, flow: FlowId, sender: HostAddr, size: Bytes, seed: u64) -> CreditedReceiver {
        CreditedReceiver::new(self, flow, sender, size, seed)
    }

    fn with_flow_log(&self, log: Tap) -> Option<Self> {
        Some(Self { law: self.law.clone().with_log(log), ..self.clone() })
    }

    fn host(&self, at: HostStart) -> CreditedHost {
        CreditedHost { at }
    }

    fn ack_again(&self, data: &Packet, sender: HostAddr, size: Bytes) -> Packet {
        let answer = self.control(Kind::Ack, data.flow, sender);
        Packet { seq: size.get(), flags: Flags::FIN, ..answer }
    }
}
