//! A FIFO of packets that wait, in half the room of packets: only ACKs with SACK blocks need the rest of it, and only what has crossed
//! a port that tells about itself has words.

use forebay_engine::{Words, prefetch_at};
use forebay_wire::{Ecn, Flags, FlowId, HostAddr, Kind, Packet, SackBlock};
use std::collections::VecDeque;

/// A packet without its SACK blocks. Two share a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
struct Head {
    flow: FlowId,
    dst: HostAddr,
    size: u16,
    ingress: u16,
    kind: Kind,
    ecn: Ecn,
    class: u8,
    flags: Flags,
    stamp: u32,
    window: u16,
    sacks: u8,
    seq: u64,
}

const PER_LINE: usize = 64 / size_of::<Head>();

const _: () = assert!(size_of::<Head>() == 32);

/// Packets in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct PacketQueue {
    heads: Box<[Head]>, // a ring; its length is 0 or a power of two
    first: u32,
    len: u32,
    rest: Option<Box<Rest>>, // most queues have none, and two queues share a line
}

/// What few packets have.
#[derive(Clone, Debug, Default)]
struct Rest {
    blocks: VecDeque<[SackBlock; 3]>,
    words: VecDeque<Words>,
}

const _: () = assert!(size_of::<PacketQueue>() == 32);

impl PacketQueue {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Packets.
    pub fn len(&self) -> u64 {
        self.len.into()
    }

    #[inline(always)]
    pub fn push(&mut self, packet: &Packet, words: &Words) {
        if self.len as usize == self.heads.len() {
            self.grow();
        }
        if packet.sacks > 0 {
            self.keep_rest(packet, words);
        }
        let mask = self.heads.len() - 1;
        let last = (self.first + self.len) as usize;
        self.heads[last & mask] = Head::of(packet);
        prefetch_at(&self.heads, (last + PER_LINE) & mask);
        self.len += 1;
    }

    #[inline(always)]
    pub fn pop(&mut self, words: &mut Words) -> Option<Packet> {
        if self.len == 0 {
            return None;
        }
        let mask = self.heads.len() - 1;
        let mut packet = self.heads[self.first as usize & mask].packet();
        prefetch_at(&self.heads, (self.first as usize + PER_LINE) & mask);
        if packet.sacks > 0 {
            self.take_rest(&mut packet, words);
        }
        self.len -= 1;
        // Emptied, it starts at its first place again, which is still in cache.
        self.first = if self.len == 0 { 0 } else { (self.first + 1) & mask as u32 };
        Some(packet)
    }

    #[inline(never)]
    fn keep_rest(&mut self, packet: &Packet, words: &Words) {
        let rest = self.rest.get_or_insert_default();
        if packet.hops() > 0 {
            rest.words.push_back(*words);
        }
        if keeps_ext(packet) {
            rest.blocks.push_back(packet.ext);
        }
    }

    #[inline(never)]
    fn take_rest(&mut self, packet: &mut Packet, words: &mut Words) {
        let Some(rest) = &mut self.rest else { return };
        if packet.hops() > 0 {
            *words = rest.words.pop_front().unwrap_or_default();
        }
        if keeps_ext(packet) {
            packet.ext = rest.blocks.pop_front().unwrap_or_default();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let heads = self.iter_heads().copied().collect::<Vec<_>>();
        let room = (2 * heads.len()).max(8);
        self.heads =
            heads.into_iter().chain(std::iter::repeat(Head::default())).take(room).collect();
        self.first = 0;
    }

    fn iter_heads(&self) -> impl Iterator<Item = &Head> {
        let mask = self.heads.len().wrapping_sub(1);
        (0..self.len).map(move |i| &self.heads[(self.first + i) as usize & mask])
    }

    /// Each one, but without its SACK blocks.
    pub fn iter(&self) -> impl Iterator<Item = Packet> {
        self.iter_heads().map(Head::packet)
    }
}

/// Whether a packet whose `sacks` is not 0 needs its `ext`: blocks of an answer, or the tag of data; hops of data need none.
fn keeps_ext(packet: &Packet) -> bool {
    packet.kind != Kind::Data || packet.hops() == 0
}

impl Head {
    #[inline]
    fn of(packet: &Packet) -> Self {
        let Packet { flow, dst, size, ingress, kind, ecn, class, flags, .. } = *packet;
        let Packet { stamp, window, sacks, seq, .. } = *packet;
        Self { flow, dst, size, ingress, kind, ecn, class, flags, stamp, window, sacks, seq }
    }

    #[inline]
    fn packet(&self) -> Packet {
        let Self { flow, dst, size, ingress, kind, ecn, class, flags, .. } = *self;
        let Self { stamp, window, sacks, seq, .. } = *self;
        let ext = [SackBlock::default(); 3];
        Packet { flow, dst, size, ingress, kind, ecn, class, flags, stamp, window, sacks, seq, ext }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_out_as_they_went_in() {
        let mut queue = PacketQueue::default();
        let (mut pushed, mut popped) = (0u64, 0u64);
        let nth = |n: u64| {
            let word = forebay_units::math::mix(n);
            let sacks = (word % 4) as u8;
            let mut packet = Packet {
                flow: FlowId(n as u32),
                dst: HostAddr { tor: n as u16, port: (word >> 8) as u16 },
                size: (word >> 16) as u16,
                ingress: (word >> 24) as u16,
                kind: if word.is_multiple_of(3) { Kind::Data } else { Kind::Ack },
                ecn: Ecn::Ect,
                class: (word >> 32) as u8,
                flags: Flags((word >> 40) as u8),
                stamp: (word >> 11) as u32,
                window: (word >> 44) as u16,
                sacks,
                seq: word,
                ..Packet::default()
            };
            let blocks = if keeps_ext(&packet) { usize::from(sacks) } else { 0 };
            for (i, block) in packet.ext.iter_mut().enumerate().take(blocks) {
                *block = SackBlock { start: n as u32, end: i as u32 };
            }
            packet
        };
        let words = |n: u64| [n, n + 1, n + 2, n + 3, n + 4];
        let mut taken = Words::default();
        for step in 0..5_000 {
            if forebay_units::math::mix(!step) % 8 < 4 + u64::from(step < 2_000) {
                queue.push(&nth(pushed), &words(pushed));
                pushed += 1;
            } else if let Some(packet) = queue.pop(&mut taken) {
                assert_eq!(packet, nth(popped));
                assert!(packet.hops() == 0 || taken == words(popped));
                popped += 1;
            }
            let waiting: Vec<u64> = queue.iter().map(|packet| packet.seq).collect();
            let expected: Vec<u64> = (popped..pushed).map(|n| nth(n).seq).collect();
            assert_eq!(waiting, expected);
            assert_eq!(queue.is_empty(), expected.is_empty());
        }
        assert!(popped > 1_000 && queue.heads.len() > 64, "both ends have moved, and it has grown");
    }
}
