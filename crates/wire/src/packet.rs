//! The packet: one flat header for every transport.

use crate::{FlowId, HostAddr};

/// The bit of a kind that a receiver sends to the sender of its flow.
const ANSWER: u8 = 1;

/// The bit of a kind whose packets always have something in `ext`. Packets of other kinds say so in `sacks` and flags.
const EXT: u8 = 1 << 1;

/// The number of a kind is above those two bits, so there is space for 64 kinds.
const NUMBER: u32 = 2;

/// What a packet is. The kind says how to read `seq`, `word`, `stamp` and `ext`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Kind {
    /// A piece of a byte stream: `seq` is the offset of its first payload byte. `ext` holds a [`RackTag`] or INT records, if anything.
    #[default]
    Data = 0,
    /// A cumulative acknowledgement: `seq` is the next byte expected, and with `word` the receive window, if there is one
    /// ([`Packet::acknowledged`], [`Packet::window`]). `ext` holds SACK blocks or INT records, and [`Stamps`].
    Ack = 1 << NUMBER | ANSWER,
    /// A message of the workload that crosses a control link: never queued, marked or dropped. `seq` is the sender's.
    Control = 2 << NUMBER,
    /// A pause frame: bit `c` of `seq` pauses traffic class `c` of the port at the other end of the cable, and a zero resumes it. It goes
    /// before data; it is never queued, marked, dropped or lost at random.
    Pause = 3 << NUMBER,
    /// RDMA: a negative acknowledgement. `seq` is the next byte expected; with selective repeat, block 0 of `ext` is
    /// what arrived instead.
    Nack = 4 << NUMBER | ANSWER,
    /// RDMA: a congestion notification packet. It names its flow and nothing else.
    Cnp = 5 << NUMBER | ANSWER,
    /// A credit message from the switch of a host to that of a rack that sends to it: `seq` is the number of bytes that it has been given
    /// in all, `stamp` the host, as [`HostAddr::word`].
    RackCredit = 6 << NUMBER,
    /// A rate message from a switch to one of its hosts: its `flow` may send at `seq` bit/s, or has to stop if that is 0. With
    /// [`FlowId::ALL`] all of its flows to a host, whose address is in `stamp`, stop or resume.
    RackRate = 7 << NUMBER,
    /// A request for credit from the switch of a rack to that of the host it is addressed to, with the [`RackTag`] that data to that host
    /// would carry. From a host to its own switch, without a tag: a request for the rate message that holds for what it sends to that host.
    RackRequest = 8 << NUMBER | EXT,
    /// Data whose payload a switch cut off; all other fields but size and class are those of the data. To the receiver.
    Trimmed = 9 << NUMBER,
    /// A trimmed packet that found its queue full, on its way back to its source; all other fields but the destination are as they were.
    Returned = 10 << NUMBER | ANSWER,
    /// A message of a sender to the receiver of its flow, without payload.
    Want = 11 << NUMBER,
    /// Credit: `seq` is the number of payload bytes that the sender may send in all, `word` the priority of what it sends on it. With
    /// [`Flags::RESEND`], a request for `stamp` bytes from `seq` on. Of credits of a cache (CARC): `seq` is the number of bytes that the server
    /// has read, `stamp` that of the connections which share the cache, or 0.
    Grant = 12 << NUMBER | ANSWER,
}

impl Kind {
    /// Whether a receiver sent it to the sender of its flow.
    #[inline]
    pub const fn is_answer(self) -> bool {
        self as u8 & ANSWER != 0
    }

    /// Whether packets of this kind always have something in `ext`, whatever `sacks` and their flags say.
    #[inline]
    pub const fn carries_ext(self) -> bool {
        self as u8 & EXT != 0
    }

    /// The number by which digests know the kind.
    #[inline]
    pub const fn number(self) -> u64 {
        (self as u8 >> NUMBER) as u64
    }

    /// Whether a sender sent it to the receiver of its flow.
    #[inline]
    pub const fn is_for_receiver(self) -> bool {
        matches!(self, Kind::Data | Kind::Trimmed | Kind::Want)
    }

    /// Whether it crosses the fabric, from one transport to another.
    #[inline]
    pub const fn is_end_to_end(self) -> bool {
        match self {
            Kind::Data
            | Kind::Ack
            | Kind::Nack
            | Kind::Cnp
            | Kind::Trimmed
            | Kind::Returned
            | Kind::Want
            | Kind::Grant => true,
            Kind::Control | Kind::Pause | Kind::RackCredit | Kind::RackRate | Kind::RackRequest => {
                false
            }
        }
    }
}

/// The two ECN bits of the IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// The transport does not understand marks.
    #[default]
    NotEct = 0,
    /// ECT(0): may be marked.
    Ect = 1,
    /// Congestion experienced.
    Ce = 3,
}

/// Transport flags, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// None set.
    pub const NONE: Flags = Flags(0);
    /// ACK: the receiver echoes congestion.
    pub const ECE: Flags = Flags(1);
    /// Data: the sender has reduced its window (RFC 3168).
    pub const CWR: Flags = Flags(1 << 1);
    /// Data: the last byte of the flow is in this packet.
    pub const FIN: Flags = Flags(1 << 2);
    /// Data: sent before.
    pub const RETRANSMIT: Flags = Flags(1 << 3);
    /// ACK: block 0 reports a duplicate (RFC 2883), and lies below `seq`.
    pub const DSACK: Flags = Flags(1 << 4);
    /// Data: the sender requests the rate of its flow from its switch.
    pub const RATE_REQUEST: Flags = Flags(1 << 8);
    /// ACK: has delays ([`Packet::stamps`]) in place of a third SACK block.
    pub const STAMPS: Flags = Flags(1 << 5);
    /// Data: the last segment of a super-packet.
    pub const PSH: Flags = Flags(1 << 6);
    /// Data: collects an INT record of each port that it crosses. ACK: returns the records of the data packet that it answers, and has no
    /// SACK blocks.
    pub const TELEMETRY: Flags = Flags(1 << 7);
    /// Data, [`Kind::RackRequest`]: has a [`RackTag`] in `ext`.
    pub const TAG: Flags = Flags(1 << 9);
    /// Data: `stamp` is the address of the source ([`HostAddr::word`]), so that a switch can return the packet, and `word` the number of a path.
    pub const FROM: Flags = Flags(1 << 10);
    /// [`Kind::Grant`]: a request for bytes that are missing.
    pub const RESEND: Flags = Flags(1 << 11);
    /// Of a stream of messages: has a [`MessageTag`] in `ext`.
    pub const MESSAGE: Flags = Flags(1 << 12);
    /// [`Kind::Nack`]: no receive buffer is posted (Receiver Not Ready); `seq` is where the data begins that was refused.
    pub const NOT_READY: Flags = Flags(1 << 13);
    /// [`Kind::Trimmed`], where transports want to know: the payload was cut off at a port to a switch, not to the receiver.
    pub const CORE: Flags = Flags(1 << 14);
    /// Flags that only the last segment of a super-packet, or of a merged unit, may have.
    pub const LAST: Flags = Flags(Self::FIN.0 | Self::PSH.0);

    /// Whether every bit of `other` is set.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets of bits.
    #[inline]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// The bits without those of `other`.
    #[inline]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    /// The bits that are in `mask` too.
    #[inline]
    pub const fn of(self, mask: Flags) -> Flags {
        Flags(self.0 & mask.0)
    }

    /// `other`'s bits if `on`, added to these.
    #[inline]
    pub const fn with_if(self, on: bool, other: Flags) -> Flags {
        if on { self.with(other) } else { self }
    }
}

/// A run of bytes `[start, end)` that the receiver holds, as distances in bytes from the ACK's `seq`:
/// above it, or below it for the DSACK block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlock {
    /// Distance of the first byte.
    pub start: u32,
    /// Distance of the byte after the last.
    pub end: u32,
}

/// Delays of the newest data packet that an ACK answers, as its receiver knows them; ns, at most 4.29 s.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stamps {
    /// From the sender's clock in the packet to its arrival at the receiving NIC, by the receiver's clock.
    pub forward: u32,
    /// From that arrival to the ACK.
    pub held: u32,
}

/// State of the queue of a rack that each data packet which left it carries to the switch of its destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RackTag {
    /// The rack.
    pub rack: u16,
    /// Bytes of credit that the queue has requested since the beginning.
    pub requested: u64,
    /// Flows that share the queue.
    pub flows: u32,
}

impl RackTag {
    /// Bytes that it adds to a packet: 8 for `requested`, 4 for `flows`.
    pub const BYTES: u16 = 12;
}

/// Message of a stream that a packet of data, or an answer to it, is about. Real headers have it among their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MessageTag {
    /// Which one, from 1 on.
    pub number: u32,
    /// Payload of the message in bytes.
    pub size: u32,
}

/// One packet. 56 bytes, so that it and its arrival time share a cache line; without gaps and in this order, so that all before
/// `ext` is copied in two steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Packet {
    /// Flow of the packet.
    pub flow: FlowId,
    /// Where to.
    pub dst: HostAddr,
    /// Bytes that occupy the link, header included, wire overhead not.
    pub size: u16,
    /// Port by which the switch that holds the packet received it, where the switch has explicit queues.
    pub ingress: u16,
    /// How to read the rest.
    pub kind: Kind,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// Traffic class, 0 to 7; 7 goes first where a port has strict priorities.
    pub class: u8,
    /// SACK blocks in use (ACK).
    pub sacks: u8,
    /// Sender's clock when the packet left, in ns, wrapping; an ACK echoes it (RFC 7323). With [`Flags::FROM`] an address.
    pub stamp: u32,
    /// See [`Kind`]: of an ACK, the low bits of the receive window.
    pub word: u16,
    /// Transport flags.
    pub flags: Flags,
    /// See [`Kind`].
    pub seq: u64,
    /// See [`Kind`] and [`Packet::carries_ext`]. ACK: `sacks` blocks, and delays behind them with [`Flags::STAMPS`]. Data: a tag with
    /// [`Flags::TAG`]. With [`Flags::MESSAGE`] a message. With [`Flags::TELEMETRY`]: INT records, and delays.
    pub ext: [SackBlock; 3],
}

const _: () = assert!(size_of::<Packet>() == 56, "a packet and its time share one cache line");

/// Bits of `seq` of an ACK that are a byte of its stream; the bits above are of the receive window. No run sends 256 TiB on one flow.
const STREAM_BITS: u32 = 48;

/// Bits of the receive window in `word`.
const WORD_BITS: u32 = u16::BITS;

impl Packet {
    /// The next byte that an ACK expects, whether it has a window or not.
    #[inline]
    pub const fn acknowledged(&self) -> u64 {
        self.seq & ((1 << STREAM_BITS) - 1)
    }

    /// Receive window of an ACK, to the byte. `None`: the receiver sets no limit.
    #[inline]
    pub const fn window(&self) -> Option<u64> {
        match self.seq >> STREAM_BITS {
            0 => None,
            high => Some((high - 1) << WORD_BITS | self.word as u64),
        }
    }

    /// Sets the receive window of an ACK, below 4 GiB - 128 KiB.
    ///
    /// # Panics
    /// If the window is larger, or 256 TiB are acknowledged.
    #[inline]
    #[must_use]
    pub const fn with_window(mut self, window: u64) -> Self {
        let high = (window >> WORD_BITS) + 1;
        assert!(high < 1 << (u64::BITS - STREAM_BITS), "TCP has no such window");
        assert!(self.seq >> STREAM_BITS == 0, "a stream is below 256 TiB, and has one window");
        self.seq |= high << STREAM_BITS;
        self.word = window as u16;
        self
    }

    /// Removes the receive window of an ACK.
    #[inline]
    #[must_use]
    pub const fn without_window(mut self) -> Self {
        (self.seq, self.word) = (self.acknowledged(), u16::MAX);
        self
    }

    /// A frame that pauses these classes at the other end of a cable, and resumes all others.
    ///
    /// A MAC control frame of 64 B (IEEE 802.3 Annex 31B; 802.1Qbb has one bit for each class).
    pub fn pause(classes: u8) -> Self {
        Self {
            kind: Kind::Pause,
            dst: HostAddr::NOWHERE,
            size: 64,
            seq: u64::from(classes),
            ..Self::default()
        }
    }

    /// Whether `ext` holds anything. If not, a queue need not keep it.
    #[inline(always)]
    pub const fn carries_ext(&self) -> bool {
        const BY_FLAG: Flags =
            Flags::STAMPS.with(Flags::TELEMETRY).with(Flags::TAG).with(Flags::MESSAGE);
        self.flags.of(BY_FLAG).0 != 0 || self.sacks | (self.kind as u8 & EXT) != 0
    }

    /// Bytes that it takes on a link where each packet takes `overhead` more than its size.
    #[inline(always)]
    pub fn on_wire(&self, overhead: u64) -> u64 {
        u64::from(self.size) + overhead
    }

    /// Number of the path that the sender chose, where packets have one.
    #[inline]
    pub fn path(&self) -> Option<u16> {
        self.flags.has(Flags::FROM).then_some(self.word)
    }

    /// Cuts off the payload of a data packet, and its INT records with it: `size` bytes of header are left, in a class of their own. The
    /// caller has released the INT slot.
    pub fn trim(&mut self, size: u16, class: u8) {
        debug_assert!(self.kind == Kind::Data && !self.flags.has(Flags::TAG));
        (self.kind, self.size, self.class) = (Kind::Trimmed, size, class);
        self.flags = self.flags.without(Flags::TELEMETRY);
        let of_message =
            if self.flags.has(Flags::MESSAGE) { self.ext[0] } else { SackBlock::default() };
        self.ext = [of_message, SackBlock::default(), SackBlock::default()];
    }

    /// The message of its stream that it is about, if its flow is a stream of messages.
    #[inline]
    pub fn message(&self) -> Option<MessageTag> {
        let SackBlock { start: number, end: size } = self.ext[0];
        self.flags.has(Flags::MESSAGE).then_some(MessageTag { number, size })
    }

    /// Tags the packet with a message of its stream if there is one.
    #[inline]
    #[must_use]
    pub fn about(mut self, message: Option<MessageTag>) -> Self {
        if let Some(MessageTag { number, size }) = message {
            self.flags = self.flags.with(Flags::MESSAGE);
            self.ext[0] = SackBlock { start: number, end: size };
        }
        self
    }

    /// Sends a trimmed packet back to its source, if it names one.
    pub fn turn_back(&mut self) -> bool {
        let returns = self.kind == Kind::Trimmed && self.flags.has(Flags::FROM);
        if returns {
            (self.kind, self.dst) = (Kind::Returned, HostAddr::of_word(self.stamp));
        }
        returns
    }

    /// A credit message: the rack may send to the host, `given` bytes in all. `size` on the link.
    pub fn rack_credit(rack: u16, host: HostAddr, given: u64, size: u16) -> Self {
        let dst = HostAddr { tor: rack, port: 0 };
        Self {
            kind: Kind::RackCredit,
            dst,
            size,
            class: 7,
            stamp: host.word(),
            seq: given,
            ..Self::default()
        }
    }

    /// A rate message to a flow of `host`, or to all of its flows to `to`, in bit/s. `size` on the link.
    pub fn rack_rate(host: HostAddr, flow: FlowId, to: HostAddr, rate: u64, size: u16) -> Self {
        Self {
            kind: Kind::RackRate,
            flow,
            dst: host,
            size,
            class: 7,
            stamp: to.word(),
            seq: rate,
            ..Self::default()
        }
    }

    /// A request to the switch of `host` for credits. `size` on the link, with the tag.
    pub fn rack_request(host: HostAddr, tag: RackTag, size: u16) -> Self {
        let size = size.saturating_sub(RackTag::BYTES);
        let mut ask =
            Self { kind: Kind::RackRequest, dst: host, size, class: 7, ..Self::default() };
        ask.tag(tag);
        ask
    }

    /// A request of a host that was stopped to its switch, for the rate message that holds for what it sends to `to`. `size` on the link.
    pub fn resume_request(to: HostAddr, size: u16) -> Self {
        Self {
            kind: Kind::RackRequest,
            dst: to,
            size,
            class: 7,
            flow: FlowId::ALL,
            ..Self::default()
        }
    }

    /// Adds a tag to a packet, data or [`Kind::RackRequest`], which grows by it.
    pub fn tag(&mut self, tag: RackTag) {
        debug_assert!(matches!(self.kind, Kind::Data | Kind::RackRequest));
        debug_assert!(!self.carries_ext() || self.kind == Kind::RackRequest);
        self.ext[0] = SackBlock { start: tag.requested as u32, end: (tag.requested >> 32) as u32 };
        self.ext[1] = SackBlock { start: tag.flows, end: tag.rack.into() };
        self.flags = self.flags.with(Flags::TAG);
        self.size += RackTag::BYTES;
    }

    /// Removes the tag of a packet, if it has one.
    pub fn untag(&mut self) -> Option<RackTag> {
        if !self.flags.has(Flags::TAG) {
            return None;
        }
        let [requested, rest, _] = self.ext;
        self.flags = self.flags.without(Flags::TAG);
        self.ext = [SackBlock::default(); 3];
        self.size -= RackTag::BYTES;
        let requested = u64::from(requested.end) << 32 | u64::from(requested.start);
        Some(RackTag { rack: rest.end as u16, requested, flows: rest.start })
    }

    /// The SACK blocks of an ACK, the most recent first.
    #[inline]
    pub fn sack_blocks(&self) -> &[SackBlock] {
        &self.ext[..usize::from(self.sacks).min(3)]
    }

    /// The delays of an ACK that has them.
    #[inline]
    pub fn stamps(&self) -> Option<Stamps> {
        let SackBlock { start: forward, end: held } = self.ext[2];
        self.flags.has(Flags::STAMPS).then_some(Stamps { forward, held })
    }

    /// Adds delays to an ACK of at most two SACK blocks: as in TCP, options leave no space for a third. They take the place of an inline INT
    /// record too.
    #[inline]
    pub fn set_stamps(&mut self, Stamps { forward, held }: Stamps) {
        debug_assert!(self.sacks <= 2 && !self.is_int_full());
        self.flags = self.flags.with(Flags::STAMPS);
        self.ext[2] = SackBlock { start: forward, end: held };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_says_its_window_to_the_byte_or_that_there_is_none() {
        let windows = [0, 1, 1_023, 2_896, 65_535, 65_536, 65_537, (64 << 20) + 1, 1 << 30];
        for seq in [0, 1_448, u64::from(u32::MAX) + 1, (1 << 48) - 1] {
            let ack = Packet { kind: Kind::Ack, seq, word: u16::MAX, ..Packet::default() };
            assert_eq!((ack.acknowledged(), ack.window()), (seq, None));
            for window in windows {
                let limited = ack.with_window(window);
                assert_eq!((limited.acknowledged(), limited.window()), (seq, Some(window)));
                assert_eq!(limited.without_window(), ack);
            }
        }
    }
}
