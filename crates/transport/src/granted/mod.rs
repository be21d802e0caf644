//! Receiver-driven transports: a message sends so much unasked, and the rest on credit of its receiver's host.
//!
//! A flow is a message, whose size both ends know. Credit is payload in all since the start, repetitions included, so that the next
//! answer of any kind makes up for a lost one. A law of role `grant`, one per receiving host, gives it. What a sender sends on it: first
//! what it knows to be lost, then what is new.
//!
//! A receiver keeps a bit per packet ([`message`]). Where the law wants that, it acknowledges each packet by number ([`Kind::Ack`]), and each
//! header whose payload a switch cut off ([`Kind::Nack`]); credit given at the same instant rides along. Other credit leaves in a
//! [`Kind::Grant`]. The last byte is always acknowledged, with FIN: schemes that publish no such ACK have one here, so that senders know
//! when a message is complete.
//!
//! With [`ReceiverDrivenSettings::selective_drop`] what leaves unasked is not ECN-capable, and all else is: switches drop that alone, before it queues. A probe
//! ([`Kind::Want`]) follows the last such packet in its class. A reorder window later its receiver writes off what is missing of them, and requests it
//! again as granted data (Aeolus: Hu et al., SIGCOMM 2020). Deviation: no ACKs of its own, since the receiver, which has to give the credit,
//! finds what is missing.
//!
//! A sender that is requested something while it has credit left to spend answers that it is busy ([`Kind::Want`] with [`Flags::RESEND`]), where the law
//! wants that: its receiver takes back that the credit was lost, and waits as long again. Without credit left it says that it lives ([`LIVES`]), where the
//! receiver may give the message up: packets may stand in a switch for longer than all tries take.
//!
//! What was lost without a trace: a message of which nothing arrives for `resend_after` though there is credit out has that credit
//! written off, and its receiver requests what is missing ([`Flags::RESEND`]). A sender that gets no answer at all repeats its first
//! unanswered packet after 10 ms, and then after twice the time. With [`ReceiverDrivenSettings::max_retries`] each end gives a message up if the other end
//! answers none of so many of its tries in a row; neither tells the other, and a receiver takes no more of what it gave up.
//!
//! A payload that was cut off on the way to a switch ([`Flags::CORE`]) is *parked*: its credit counts as out, so that the message has a packet less on its
//! way, until round trips bring it back. Where senders score paths ([`GrantedConfig::scores_paths`]), answers have the number of the path.
//!
//! Invariant: no scheme is named. Payload sent on credit never exceeds the credit.

mod grantor;
mod message;
mod paths;
mod receiver;
mod scores;
mod sender;

pub use grantor::Grantor;
pub use receiver::GrantedReceiver;
pub use sender::GrantedSender;

use crate::FlowSpec;
use crate::half::{HostStart, PacketSettings, Transport};
use forebay_laws::Start;
use forebay_laws::flow::FlowParams;
use forebay_laws::grant::GrantParams;
use forebay_laws::log::Tap;
use forebay_settings::ReceiverDrivenSettings;
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Ecn, Flags, FlowId, HostAddr, Kind, Packet};

/// A receiver-driven transport: its settings, and what law, fabric and flows make of them.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantedConfig {
    /// Settings of the scenario. A window, classes and cutoffs that it leaves out are below.
    pub settings: ReceiverDrivenSettings,
    /// Law of receiving hosts.
    pub law: GrantParams,
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Header bytes of a data packet.
    pub header: Bytes,
    /// Size of an ACK or a grant.
    pub ack_size: Bytes,
    /// Bytes that a packet takes on a link beyond its size.
    pub overhead: Bytes,
    /// Payload that covers a round trip at line rate: what leaves unasked where the law says so.
    pub window: Bytes,
    /// Lowest traffic class of data.
    pub data_class: u8,
    /// Traffic class of ACKs and grants.
    pub ack_class: u8,
    /// Number of classes for granted data, from `data_class` up; at least 1.
    pub priorities: u8,
    /// Classes above those, for data that leaves unasked: the largest message of each but the lowest, the highest class first. `None`: such
    /// data rides in `data_class`.
    pub cutoffs: Option<Vec<Bytes>>,
    /// Payload at the end of a message that rides in the classes of what leaves unasked.
    pub tail: Bytes,
    /// Whether senders leave out, for a time, paths whose packets are cut off more often than those of others.
    pub scores_paths: bool,
    /// How many numbers senders have for paths that were drawn for them once; 0 where each path has one number.
    pub path_numbers: u16,
}

/// Place of a path's number in the `word` of an answer where senders score paths; below it is the priority. So there are 8,192 paths at most.
const PATH: u32 = 3;

/// Time without an answer after which a sender repeats a packet. Source: none, a last resort beyond what schemes have.
const LAST_RESORT: Span = Span::from_ms(10);

/// Flags of a [`Kind::Want`] with which a sender says that it lives and has sent what its receiver requests.
const LIVES: Flags = Flags::RESEND.with(Flags::RETRANSMIT);

impl GrantedConfig {
    /// Payload of a packet of a message.
    fn payload(&self, number: u64, size: u64) -> u64 {
        (size - number * self.mss.get()).min(self.mss.get())
    }

    /// Number of packets of a message.
    fn packets(&self, size: u64) -> u64 {
        size.div_ceil(self.mss.get())
    }

    /// Payload of a message that leaves unasked.
    fn unscheduled(&self, size: Bytes) -> Bytes {
        self.law.wants().1.first.unscheduled(size, self.window)
    }

    /// Traffic class of what a message sends unasked.
    fn unscheduled_class(&self, size: u64) -> u8 {
        let Some(cutoffs) = &self.cutoffs else { return self.data_class };
        let above = cutoffs.iter().filter(|cutoff| size <= cutoff.get()).count();
        self.data_class + self.priorities + above as u8
    }

    /// Traffic class of granted data.
    fn scheduled_class(&self, priority: u8) -> u8 {
        self.data_class + priority.min(self.priorities - 1)
    }

    /// An answer without meaning yet.
    fn answer(&self, kind: Kind, flow: FlowId, dst: HostAddr) -> Packet {
        let (size, class, ecn) = (self.ack_size.get() as u16, self.ack_class, self.ecn());
        Packet { flow, dst, size, kind, class, ecn, ..Packet::default() }
    }

    /// Retries in vain after which a message that belongs to no stream is given up; 0: it never is.
    fn max_retries(&self) -> u32 {
        self.settings.max_retries.into()
    }

    /// Code point of whatever switches do not drop first.
    fn ecn(&self) -> Ecn {
        if self.settings.selective_drop { Ecn::Ect } else { Ecn::NotEct }
    }
}

impl Transport for GrantedConfig {
    type Sender = GrantedSender;
    type Receiver = GrantedReceiver;
    type Host = Grantor;

    /// One class of data: NICs send messages in the order of the host, not by class.
    #[inline]
    fn packets(&self) -> PacketSettings {
        let Self { mss, header, ack_size, ack_class, data_class, .. } = *self;
        PacketSettings { mss, header, ack_size, ack_class, data_class }
    }

    fn initial_window(&self) -> Bytes {
        self.window
    }

    fn takes_headers(&self) -> bool {
        true
    }

    fn wants_core_trims(&self) -> bool {
        self.law.backs_off()
    }

    fn sender(
        &self,
        spec: FlowSpec,
        _law: Option<&FlowParams>,
        at: Start,
        now: Time,
    ) -> GrantedSender {
        GrantedSender::new(self, spec, at.seed, now)
    }

    fn receiver(&self, flow: FlowId, sender: HostAddr, size: Bytes, _seed: u64) -> GrantedReceiver {
        GrantedReceiver::new(flow, sender, size)
    }

    fn with_host_log(&self, log: Tap) -> Option<Self> {
        Some(Self { law: self.law.clone().with_log(log), ..self.clone() })
    }

    fn host(&self, at: HostStart) -> Grantor {
        Grantor::new(self, at)
    }

    fn ack_again(&self, data: &Packet, sender: HostAddr, size: Bytes) -> Packet {
        let stamp = (data.seq / self.mss.get()) as u32;
        let answer = self.answer(Kind::Ack, data.flow, sender);
        Packet { seq: size.get(), stamp, flags: Flags::FIN, ..answer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of 1,000 B, and a window of three.
    pub(super) fn config() -> GrantedConfig {
        GrantedConfig {
            settings: ReceiverDrivenSettings {
                resend_after: Span::from_ms(2),
                ..ReceiverDrivenSettings::default()
            },
            law: GrantParams::new("homa").expect("a law"),
            mss: Bytes::new(1_000),
            header: Bytes::new(64),
            ack_size: Bytes::new(64),
            overhead: Bytes::ZERO,
            window: Bytes::new(3_000),
            data_class: 0,
            ack_class: 7,
            priorities: 1,
            cutoffs: None,
            tail: Bytes::ZERO,
            scores_paths: false,
            path_numbers: 0,
        }
    }
}
