//! Segmentation by the NIC: a super-packet of the transport goes out as packets of the wire, back to back.
//!
//! Source: Linux `net/ipv4/tcp_offload.c` for what each segment carries.

use forebay_wire::{Flags, Packet};

/// What is left of the super-packet that is going out.
#[derive(Clone, Debug, Default)]
pub struct Segmenter {
    next: Packet,
    left: u64,   // payload bytes, those of `next` included
    full: u64,   // payload of a full segment
    last: Flags, // what only the last segment says
}

impl Segmenter {
    /// Nothing is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// A super-packet of `payload` bytes goes out next. `first` is its first segment, with the flags of all; `full` is the
    /// payload of a full segment, and `first` is one if there are more.
    ///
    /// # Panics
    /// If the one before has not gone out.
    pub fn load(&mut self, first: &Packet, payload: u64, full: u64) {
        assert!(self.is_empty(), "one super-packet at a time");
        let last = first.flags.of(Flags::LAST);
        *self = Self { next: *first, left: payload, full, last };
        self.next.flags = first.flags.without(last);
    }

    /// Sizes of the segments that are left, together.
    pub fn left(&self) -> u64 {
        let header = u64::from(self.next.size) - self.left.min(self.full);
        self.left + self.left.div_ceil(self.full.max(1)) * header
    }

    /// The next segment. CWR is in the first only, FIN and PSH in the last.
    pub fn take(&mut self) -> Option<Packet> {
        if self.is_empty() {
            return None;
        }
        let mut packet = self.next;
        let payload = self.left.min(self.full);
        let header = u64::from(packet.size) - payload;
        self.left -= payload;
        packet.flags = packet.flags.with_if(self.is_empty(), self.last);
        self.next.seq += payload;
        self.next.size = (header + self.left.min(self.full)) as u16;
        self.next.flags = self.next.flags.without(Flags::CWR);
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_tile_the_super_packet_and_flags_are_at_its_ends() {
        let first =
            Packet { seq: 7, size: 1_052, flags: Flags::CWR.with(Flags::FIN), ..Packet::default() };
        let mut nic = Segmenter::default();
        nic.load(&first, 2_300, 1_000);
        assert_eq!(nic.left(), 2_300 + 3 * 52);
        let out: Vec<_> = std::iter::from_fn(|| nic.take()).collect();
        let shown: Vec<_> = out.iter().map(|p| (p.seq, p.size, p.flags)).collect();
        assert_eq!(nic.left(), 0);
        let expected =
            [(7, 1_052, Flags::CWR), (1_007, 1_052, Flags::NONE), (2_007, 352, Flags::FIN)];
        assert_eq!(shown, expected);
        nic.load(&first, 1_000, 1_000);
        assert_eq!(nic.take(), Some(first), "one segment is what it was");
        assert!(nic.is_empty());
    }
}
