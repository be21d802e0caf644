//! INT records of packets that come to a host.

use super::Host;
use forebay_engine::{Emitter, Slab};
use forebay_units::Time;
use forebay_wire::{IntRecords, Packet};

/// Multiplies words into one; any odd number with as many ones as zeros does.
const ODD: u64 = 0xd6e8_feb8_6659_fd93;

impl Host {
    /// A packet with INT records comes from the cable. The records are part of the digest.
    #[inline(never)]
    pub(super) fn on_int_records(
        &mut self,
        now: Time,
        packet: &Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        self.prefetch_oldest_of(packet);
        let fold = |all: u64, word: &u64| (all.rotate_left(29) ^ word).wrapping_mul(ODD);
        let all = int_records(packet, out, &mut IntRecords::default()).iter().fold(0, fold);
        self.digest.add(now.as_ps(), all);
        self.prefetch_next(out);
    }
}

/// The INT records of a packet, in the order of hops.
#[inline(always)]
pub(super) fn int_records<'a>(
    packet: &Packet,
    out: &mut impl Emitter<Packet>,
    all: &'a mut IntRecords,
) -> &'a [u64] {
    let slot = match packet.int_slot() {
        0 => None,
        slot => Some(out.slab().get(slot)),
    };
    packet.int_records(slot, all)
}

/// A packet with full inline records, one of them emptied into its slot.
#[cold]
pub(super) fn with_inline_space(packet: &Packet, slab: &mut Slab) -> Packet {
    let mut packet = *packet;
    let slot = match packet.int_slot() {
        0 => slab.allocate(),
        slot => slot,
    };
    packet.spill_first_int(slot, slab.get_mut(slot));
    packet
}

#[cfg(feature = "reference")]
#[doc(hidden)]
pub mod tests {
    use super::*;
    use forebay_wire::Flags;

    pub fn a_record_is_freed_whether_there_is_a_room_or_not() {
        let mut slab = Slab::default();
        let mut packet = Packet { flags: Flags::TELEMETRY, ..Packet::default() };
        assert!(packet.push_int(11) && packet.push_int(12) && packet.is_int_full());
        let lighter = with_inline_space(&packet, &mut slab);
        assert!(!lighter.is_int_full() && lighter.int_slot() != 0 && slab.allocated() == 1);
        assert_eq!(
            lighter.int_records(Some(slab.get(lighter.int_slot())), &mut IntRecords::default()),
            [11, 12]
        );
        let slot = slab.allocate();
        packet.spill_int(13, slot, slab.get_mut(slot));
        assert!(packet.push_int(14) && packet.push_int(15));
        let lighter = with_inline_space(&packet, &mut slab);
        assert_eq!(
            (lighter.int_slot(), slab.allocated()),
            (slot, 2),
            "it keeps the one that it has"
        );
        let records =
            lighter.int_records(Some(slab.get(slot)), &mut IntRecords::default()).to_vec();
        assert_eq!((records, lighter.is_int_full()), (vec![11, 12, 13, 14, 15], false));
    }
}
