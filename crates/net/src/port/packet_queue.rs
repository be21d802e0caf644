//! A FIFO of packets that wait, in half the room of packets: few need the rest of it.

use super::class::CLASSES;
use forebay_engine::{prefetch_at, rarely};
use forebay_wire::{Ecn, Flags, FlowId, HostAddr, Kind, Packet, SackBlock};

/// A packet without its `ext`: its first fields, in the same order. Two share a cache line.
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
    sacks: u8,
    stamp: u32,
    word: u16,
    flags: Flags,
    seq: u64,
}

const PER_LINE: usize = 64 / size_of::<Head>();

const _: () = assert!(size_of::<Head>() == 32);

/// Packets in the order in which they came. Two share a cache line, and none is on two.
#[derive(Clone, Debug, Default)]
#[repr(align(32))]
pub(super) struct PacketQueue {
    heads: Box<[Head]>, // a ring; its length is 0 or a power of two
    first: u32,
    len: u32,
    pub bytes: u64, // for the port to count
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
    pub fn push(&mut self, packet: &Packet, ingress: u16, rests: &mut ExtSlots, lane: usize) {
        if self.len as usize == self.heads.len() {
            rarely();
            self.grow(rests, lane);
        }
        let mask = self.heads.len() - 1;
        let last = (self.first + self.len) as usize & mask;
        let head = &mut self.heads[last];
        *head = Head::of(packet);
        head.ingress = ingress;
        prefetch_at(&self.heads, (last + PER_LINE) & mask);
        if packet.carries_ext() {
            rests.keep(lane, last, mask, packet);
        }
        self.len += 1;
    }

    #[inline(always)]
    pub fn pop(&mut self, packet: &mut Packet, rests: &mut ExtSlots, lane: usize) {
        debug_assert!(self.len > 0, "the queue was not empty");
        let mask = self.heads.len() - 1;
        let first = self.first as usize & mask;
        *packet = self.heads[first].packet();
        prefetch_at(&self.heads, (first + PER_LINE) & mask);
        if packet.carries_ext() {
            rests.take(lane, first, mask, packet);
        }
        self.len -= 1;
        // Emptied, it starts at its first place again, which is still in cache.
        self.first = if self.len == 0 { 0 } else { (self.first + 1) & mask as u32 };
    }

    /// Takes the newest packet.
    pub fn pop_back(&mut self, rests: &ExtSlots, lane: usize) -> Packet {
        debug_assert!(self.len > 0, "the queue was not empty");
        let mask = self.heads.len() - 1;
        self.len -= 1;
        let last = (self.first + self.len) as usize & mask;
        let mut packet = self.heads[last].packet();
        if packet.carries_ext() {
            rests.take(lane, last, mask, &mut packet);
        }
        packet
    }

    /// The newest packet, without its `ext`; `None` if none waits.
    pub fn back(&self) -> Option<Packet> {
        let last = self.len.checked_sub(1)?;
        Some(self.heads[(self.first + last) as usize & (self.heads.len() - 1)].packet())
    }

    /// Size of the oldest packet; `None` if none waits.
    #[inline]
    pub fn first_size(&self) -> Option<u16> {
        let mask = self.heads.len().wrapping_sub(1);
        (self.len > 0).then(|| self.heads[self.first as usize & mask].size)
    }

    /// Prefetches the cache lines that the next packet goes to, and that the first one is taken from.
    #[inline]
    pub fn prefetch(&self) {
        let mask = self.heads.len().wrapping_sub(1);
        prefetch_at(&self.heads, (self.first + self.len) as usize & mask);
        prefetch_at(&self.heads, self.first as usize & mask);
    }

    #[cold]
    fn grow(&mut self, rests: &mut ExtSlots, lane: usize) {
        let first = self.first as usize;
        self.heads = doubled(&self.heads, first).into();
        rests.grow(lane, first);
        self.first = 0;
    }

    fn iter_heads(&self) -> impl Iterator<Item = &Head> {
        let mask = self.heads.len().wrapping_sub(1);
        (0..self.len).map(move |i| &self.heads[(self.first + i) as usize & mask])
    }

    /// Each one, but without its `ext`.
    pub fn iter(&self) -> impl Iterator<Item = Packet> {
        self.iter_heads().map(Head::packet)
    }
}

/// The `ext` of the few packets that need it, by lane and place: apart from queues, of which two share a line. Most ports have nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct ExtSlots(Option<Box<[Box<[Ext]>; CLASSES]>>); // none, or as many as the ring has places

type Ext = [SackBlock; 3];

impl ExtSlots {
    #[inline(never)]
    fn keep(&mut self, lane: usize, place: usize, mask: usize, packet: &Packet) {
        let rests = &mut self.0.get_or_insert_default()[lane];
        if rests.len() <= mask {
            *rests = vec![Ext::default(); mask + 1].into();
        }
        rests[place] = packet.ext;
        prefetch_at(rests, (place + 2) & mask);
    }

    #[inline(never)]
    fn take(&self, lane: usize, place: usize, mask: usize, packet: &mut Packet) {
        if let Some(rests) = &self.0 {
            let rests = &rests[lane];
            packet.ext = rests[place];
            prefetch_at(rests, (place + 2) & mask);
        }
    }

    /// The ring has grown, with its first entry in front.
    fn grow(&mut self, lane: usize, first: usize) {
        if let Some(rests) = &mut self.0
            && !rests[lane].is_empty()
        {
            rests[lane] = doubled(&rests[lane], first).into();
        }
    }
}

/// A full ring in twice the room, from its first entry on.
fn doubled<T: Copy + Default>(ring: &[T], first: usize) -> Vec<T> {
    let room = (2 * ring.len()).max(8);
    let entries = ring[first..].iter().chain(&ring[..first]).copied();
    entries.chain(std::iter::repeat(T::default())).take(room).collect()
}

impl Head {
    #[inline(always)]
    fn of(packet: &Packet) -> Self {
        let Packet { flow, dst, size, ingress, kind, ecn, class, flags, .. } = *packet;
        let Packet { stamp, word, sacks, seq, .. } = *packet;
        Self { flow, dst, size, ingress, kind, ecn, class, flags, stamp, word, sacks, seq }
    }

    #[inline(always)]
    fn packet(&self) -> Packet {
        let Self { flow, dst, size, ingress, kind, ecn, class, flags, .. } = *self;
        let Self { stamp, word, sacks, seq, .. } = *self;
        let ext = [SackBlock::default(); 3];
        Packet { flow, dst, size, ingress, kind, ecn, class, flags, stamp, word, sacks, seq, ext }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_out_as_they_went_in() {
        let (mut queue, mut rests) = (PacketQueue::default(), ExtSlots::default());
        let (mut pushed, mut popped) = (0u64, 0u64);
        let nth = |n: u64| {
            let draw = forebay_units::math::mix(n);
            let sacks = (draw % 4) as u8;
            let mut packet = Packet {
                flow: FlowId(n as u32),
                dst: HostAddr { tor: n as u16, port: (draw >> 8) as u16 },
                size: (draw >> 16) as u16,
                ingress: (draw >> 24) as u16,
                kind: [Kind::Data, Kind::Ack, Kind::RackRequest][(draw >> 50) as usize % 3],
                ecn: Ecn::Ect,
                class: (draw >> 32) as u8,
                flags: Flags((draw >> 40) as u16 & 0x13ff), // with delays, INT, a tag, a message, some or none
                stamp: (draw >> 11) as u32,
                word: (draw >> 44) as u16,
                sacks,
                seq: draw,
                ..Packet::default()
            };
            let stamped = packet.flags.has(Flags::STAMPS);
            let tagged = packet.flags.has(Flags::TAG)
                || packet.flags.has(Flags::MESSAGE)
                || packet.kind == Kind::RackRequest;
            let blocks = usize::from(sacks);
            for (i, block) in packet.ext.iter_mut().enumerate() {
                let has_int = packet.flags.has(Flags::TELEMETRY) && i == 0;
                if tagged || i < blocks || has_int || (stamped && i == 2) {
                    *block = SackBlock { start: n as u32, end: i as u32 };
                }
            }
            packet
        };
        let mut packet = Packet::default();
        for step in 0..5_000 {
            if forebay_units::math::mix(!step) % 8 < 4 + u64::from(step < 2_000) {
                let packet = nth(pushed);
                queue.push(&packet, packet.ingress, &mut rests, 3);
                pushed += 1;
            } else if !queue.is_empty() && forebay_units::math::mix(step).is_multiple_of(16) {
                pushed -= 1;
                assert_eq!(queue.back().map(|packet| packet.seq), Some(nth(pushed).seq));
                assert_eq!(queue.pop_back(&rests, 3), nth(pushed));
            } else if !queue.is_empty() {
                queue.pop(&mut packet, &mut rests, 3);
                assert_eq!(packet, nth(popped));
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
