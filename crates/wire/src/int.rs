//! INT records of a packet: the last one or two inline in its `ext`, those before them spilled to a slot of an INT slab.
//!
//! A slot is in no near cache when a packet comes to use it, since another node touched it a microsecond ago. So a packet gets a slot with
//! its third record, for three records at once: on a path of five hops the slot is written once and read twice, where the packet ends
//! and where its ACK does.

use crate::{Flags, Packet, SackBlock};

/// Hops of which a packet takes a record. Those beyond write none.
pub const MAX_HOPS: usize = 5;

/// Records in the slot of a packet, at most.
pub const SLOT_RECORDS: usize = 4;

/// Inline records, at most: the second and the third part of `ext`. The first part has the number of the slot, and how many records
/// are where.
const INLINE: u32 = 2;

/// Space for the records of all hops.
pub type IntRecords = [u64; SLOT_RECORDS + INLINE as usize];

impl Packet {
    /// Number of the packet's INT slot; 0 if it has none. Only the holder of the packet knows the slot.
    #[inline]
    pub const fn int_slot(&self) -> u32 {
        if self.flags.has(Flags::TELEMETRY) { self.ext[0].start } else { 0 }
    }

    /// Where that number is kept, in a packet that collects INT records.
    #[inline]
    pub const fn int_slot_mut(&mut self) -> Option<&mut u32> {
        if self.flags.has(Flags::TELEMETRY) { Some(&mut self.ext[0].start) } else { None }
    }

    /// Whether the packet has any INT record.
    #[inline]
    pub const fn has_int_records(&self) -> bool {
        self.flags.has(Flags::TELEMETRY) && self.ext[0].end != 0
    }

    /// Whether no further INT record fits inline.
    #[inline]
    pub const fn is_int_full(&self) -> bool {
        self.flags.has(Flags::TELEMETRY) && self.int_counts().0 == INLINE
    }

    /// Inline records, and records in the slot.
    #[inline]
    const fn int_counts(&self) -> (u32, u32) {
        (self.ext[0].end & 0xff, self.ext[0].end >> 8)
    }

    #[inline]
    const fn set_int_counts(&mut self, inline: u32, in_slot: u32) {
        self.ext[0].end = in_slot << 8 | inline;
    }

    /// Appends the record of one more hop inline. False if that is full: a packet without a slot then has to
    /// [spill](Self::spill_int), and one with a slot has its [`MAX_HOPS`].
    #[inline]
    pub const fn push_int(&mut self, record: u64) -> bool {
        let (inline, _) = self.int_counts();
        if inline == INLINE {
            return false;
        }
        self.ext[1 + inline as usize] = split(record);
        self.ext[0].end += 1;
        true
    }

    /// Spills the inline records and one more into a slot that was free.
    pub fn spill_int(&mut self, record: u64, number: u32, slot: &mut [u64; SLOT_RECORDS]) {
        debug_assert!(self.is_int_full() && self.int_slot() == 0);
        let [_, first, second] = self.ext;
        slot[..3].copy_from_slice(&[joined(first), joined(second), record]);
        self.ext[0].start = number;
        self.set_int_counts(0, 3);
    }

    /// Spills the first of two inline records into the packet's slot, of this number, so that the last part of `ext` is free for
    /// [delays](Self::set_stamps).
    pub fn spill_first_int(&mut self, number: u32, slot: &mut [u64; SLOT_RECORDS]) {
        debug_assert!(self.is_int_full());
        let (_, in_slot) = self.int_counts();
        slot[in_slot as usize] = joined(self.ext[1]);
        self.ext[1] = self.ext[2];
        self.ext[0].start = number;
        self.set_int_counts(1, in_slot + 1);
    }

    /// All INT records in the order of hops, with those in the packet's `slot` if it has one.
    #[inline]
    pub fn int_records<'a>(
        &self,
        slot: Option<&[u64; SLOT_RECORDS]>,
        all: &'a mut IntRecords,
    ) -> &'a [u64] {
        let (inline, in_slot) = self.int_counts();
        if let Some(slot) = slot {
            all[..SLOT_RECORDS].copy_from_slice(slot);
        }
        let (from, [_, first, second]) = ((in_slot as usize).min(SLOT_RECORDS), self.ext);
        (all[from], all[from + 1]) = (joined(first), joined(second));
        &all[..((in_slot + inline) as usize).min(MAX_HOPS)]
    }
}

#[inline]
const fn split(record: u64) -> SackBlock {
    SackBlock { start: record as u32, end: (record >> 32) as u32 }
}

#[inline]
const fn joined(block: SackBlock) -> u64 {
    (block.end as u64) << 32 | block.start as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Stamps};

    /// A packet with the records of so many hops, and its slot.
    fn after(hops: u64) -> (Packet, [u64; SLOT_RECORDS]) {
        let mut packet = Packet { flags: Flags::TELEMETRY, ..Packet::default() };
        let mut slot = [u64::MAX; SLOT_RECORDS];
        for nth in 0..hops {
            if !packet.push_int(record(nth)) && packet.int_slot() == 0 {
                packet.spill_int(record(nth), 7, &mut slot);
            }
        }
        (packet, slot)
    }

    fn record(nth: u64) -> u64 {
        forebay_units::math::mix(nth)
    }

    fn records(packet: &Packet, slot: &[u64; SLOT_RECORDS]) -> ([u64; 6], usize) {
        let slot = (packet.int_slot() != 0).then_some(slot);
        let mut all = IntRecords::default();
        let len = packet.int_records(slot, &mut all).len();
        (all, len)
    }

    #[test]
    fn five_hops_are_recorded_in_their_order_and_the_third_needs_a_slot() {
        for hops in 0..8 {
            let (packet, slot) = after(hops);
            assert_eq!(packet.int_slot(), if hops < 3 { 0 } else { 7 }, "{hops} hops");
            let full = hops == 2 || hops >= 5;
            assert_eq!((packet.has_int_records(), packet.is_int_full()), (hops > 0, full));
            let (all, len) = records(&packet, &slot);
            assert_eq!(len as u64, hops.min(5));
            assert!((0..len).all(|nth| all[nth] == record(nth as u64)), "{hops} hops");
        }
    }

    #[test]
    fn an_ack_with_delays_keeps_all_records() {
        for hops in [2, 5] {
            let (mut packet, mut slot) = after(hops);
            packet.kind = Kind::Ack;
            let before = records(&packet, &slot);
            packet.spill_first_int(7, &mut slot);
            let delays = Stamps { forward: 3, held: u32::MAX };
            packet.set_stamps(delays);
            let (all, len) = records(&packet, &slot);
            assert_eq!((packet.int_slot(), packet.stamps(), len), (7, Some(delays), before.1));
            assert_eq!(all[..len], before.0[..len]);
        }
    }

    #[test]
    fn a_packet_without_the_flag_collects_nothing() {
        let packet = Packet { ext: [SackBlock { start: 5, end: 2 }; 3], ..Packet::default() };
        let any = (packet.int_slot(), packet.has_int_records(), packet.is_int_full());
        assert_eq!(any, (0, false, false));
    }
}
