//! The one packet type, and the ids that parts of a simulation share.
//!
//! A [`Packet`] is a small `Copy` value that moves from ring to ring; with the arrival time that the
//! engine keeps beside it, it fills one cache line.
//!
//! Invariant: nothing here knows queues, hosts or laws.
#![no_std]

mod int;
mod packet;
mod telemetry;

pub use int::{IntRecords, MAX_HOPS, SLOT_RECORDS};
pub use packet::{Ecn, Flags, Kind, MessageTag, Packet, RackTag, SackBlock, Stamps};
pub use telemetry::{Hop, Rates};

/// Index of a flow in a run's flow table. Dense, and the same on every thread count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FlowId(pub u32);

impl FlowId {
    /// Instead of one flow: all flows of the addressee.
    pub const ALL: FlowId = FlowId(u32::MAX);
}

/// Where a host hangs: the index of its top-of-rack switch and the port there.
///
/// A switch needs no table to tell local traffic from the rest: it compares `tor` with its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct HostAddr {
    /// Index among the switches that have hosts.
    pub tor: u16,
    /// Port of that switch.
    pub port: u16,
}

impl HostAddr {
    /// No host: the destination of frames that go no further than the other end of a cable. No rack has this number.
    pub const NOWHERE: Self = Self { tor: u16::MAX, port: 0 };

    /// Both parts in one word.
    pub const fn word(self) -> u32 {
        (self.tor as u32) << 16 | self.port as u32
    }

    /// The host of a word.
    pub const fn of_word(word: u32) -> Self {
        Self { tor: (word >> 16) as u16, port: word as u16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_goes_on_and_comes_off() {
        let plain = Packet { size: 1_048, seq: 7, ..Packet::default() };
        let tag = RackTag { rack: 65_535, requested: u64::MAX - 5, flows: 1 << 31 };
        let mut packet = plain;
        packet.tag(tag);
        assert_eq!(packet.size, 1_060);
        assert_eq!((packet.untag(), packet), (Some(tag), plain));
        assert_eq!((packet.untag(), packet), (None, plain));
    }

    #[test]
    fn every_flag_has_a_bit_of_its_own() {
        let all = [
            Flags::ECE,
            Flags::CWR,
            Flags::FIN,
            Flags::RETRANSMIT,
            Flags::DSACK,
            Flags::STAMPS,
            Flags::PSH,
            Flags::TELEMETRY,
            Flags::RATE_REQUEST,
            Flags::TAG,
            Flags::FROM,
            Flags::RESEND,
            Flags::MESSAGE,
        ];
        let together = all.into_iter().fold(Flags::NONE, Flags::with);
        assert_eq!(together.0.count_ones() as usize, all.len());
    }

    #[test]
    fn a_trimmed_packet_keeps_all_but_its_payload_and_turns_back_once() {
        let source = HostAddr { tor: 7, port: 3 };
        let flags = Flags::FIN.with(Flags::FROM);
        let data = Packet { size: 4_064, word: 9, seq: 8_000, ..Packet::default() };
        let data = Packet { flags, stamp: source.word(), ..data };
        let mut packet = data;
        packet.trim(64, 1);
        assert_eq!(packet, Packet { kind: Kind::Trimmed, size: 64, class: 1, ..data });
        let trimmed = packet;
        assert!(packet.turn_back());
        assert_eq!(packet, Packet { kind: Kind::Returned, dst: source, ..trimmed });
        assert!(!packet.turn_back(), "once");
        assert!(packet.kind.is_answer() && !trimmed.kind.is_answer());
        let tag = MessageTag { number: 3, size: u32::MAX };
        let mut of_stream = data.about(Some(tag));
        assert!(of_stream.carries_ext() && !data.carries_ext());
        of_stream.trim(64, 1);
        assert_eq!((of_stream.message(), data.about(None).message()), (Some(tag), None));
        let mut anonymous = Packet { flags: Flags::NONE, ..trimmed };
        assert!(!anonymous.turn_back(), "nobody knows where to");
    }

    #[test]
    fn two_sack_blocks_are_no_tag() {
        let mut ack = Packet { kind: Kind::Ack, sacks: 2, ..Packet::default() };
        let mut data = Packet { sacks: 2, ..Packet::default() };
        assert_eq!((ack.untag(), data.untag()), (None, None));
    }

    #[test]
    fn a_host_is_a_word() {
        let host = HostAddr { tor: 65_534, port: 257 };
        assert_eq!(HostAddr::of_word(host.word()), host);
    }
}
