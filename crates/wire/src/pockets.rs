//! Where a packet has what hops told it: the last word or two in pockets of its own, what came before them in a room.
//!
//! Whoever touches a room finds it in no near cache, since another node did so a microsecond ago. So a packet takes a room with its third
//! word, for three at once: on a way of five hops its room is written once and read where the packet ends, and where its answer does.

use crate::{Flags, Packet, SackBlock};

/// Hops that a packet listens to. Those beyond tell nothing.
pub const MOST_HOPS: usize = 5;

/// Words that lie in the room of a packet, at most.
pub const ROOM: usize = 4;

/// Words in its pockets, at most: the second and the third part of its `ext`. The first has the number of its room, and how many words
/// are where.
const POCKETS: u32 = 2;

/// Place for the words of all hops.
pub type Hops = [u64; ROOM + POCKETS as usize];

impl Packet {
    /// Number of its room, if it asks and has one; else 0. Only whoever holds the packet knows the room.
    #[inline]
    pub const fn room(&self) -> u32 {
        if self.flags.has(Flags::TELEMETRY) { self.ext[0].start } else { 0 }
    }

    /// Where that number is kept, in a packet that asks.
    #[inline]
    pub const fn room_mut(&mut self) -> Option<&mut u32> {
        if self.flags.has(Flags::TELEMETRY) { Some(&mut self.ext[0].start) } else { None }
    }

    /// Whether it asks, and any hop has told it something.
    #[inline]
    pub const fn was_told(&self) -> bool {
        self.flags.has(Flags::TELEMETRY) && self.ext[0].end != 0
    }

    /// Whether it asks, and its pockets are full.
    #[inline]
    pub const fn is_laden(&self) -> bool {
        self.flags.has(Flags::TELEMETRY) && self.counts().0 == POCKETS
    }

    /// Words in its pockets, and words in its room.
    #[inline]
    const fn counts(&self) -> (u32, u32) {
        (self.ext[0].end & 0xff, self.ext[0].end >> 8)
    }

    #[inline]
    const fn count(&mut self, pockets: u32, room: u32) {
        self.ext[0].end = room << 8 | pockets;
    }

    /// One hop more tells a packet that asks. False if its pockets are full: without a room it then has to [stow](Self::stow) the word,
    /// and with one it has heard enough.
    #[inline]
    pub const fn tell(&mut self, word: u64) -> bool {
        let (pockets, _) = self.counts();
        if pockets == POCKETS {
            return false;
        }
        self.ext[1 + pockets as usize] = pocket(word);
        self.ext[0].end += 1;
        true
    }

    /// Puts the words in its full pockets, and one more, into the room of a number, which was nobody's.
    pub fn stow(&mut self, word: u64, number: u32, room: &mut [u64; ROOM]) {
        debug_assert!(self.is_laden() && self.room() == 0);
        let [_, first, second] = self.ext;
        room[..3].copy_from_slice(&[of_pocket(first), of_pocket(second), word]);
        self.ext[0].start = number;
        self.count(0, 3);
    }

    /// Puts the word in the first of its full pockets into its room, of this number, so that the last one is free for
    /// [delays](Self::set_stamps).
    pub fn make_way(&mut self, number: u32, room: &mut [u64; ROOM]) {
        debug_assert!(self.is_laden());
        let (_, in_room) = self.counts();
        room[in_room as usize] = of_pocket(self.ext[1]);
        self.ext[1] = self.ext[2];
        self.ext[0].start = number;
        self.count(1, in_room + 1);
    }

    /// What hops have told it, in their order, with what lies in its `room`, if it has one.
    #[inline]
    pub fn told<'a>(&self, room: Option<&[u64; ROOM]>, all: &'a mut Hops) -> &'a [u64] {
        let (pockets, in_room) = self.counts();
        if let Some(room) = room {
            all[..ROOM].copy_from_slice(room);
        }
        let (from, [_, first, second]) = ((in_room as usize).min(ROOM), self.ext);
        (all[from], all[from + 1]) = (of_pocket(first), of_pocket(second));
        &all[..((in_room + pockets) as usize).min(MOST_HOPS)]
    }
}

#[inline]
const fn pocket(word: u64) -> SackBlock {
    SackBlock { start: word as u32, end: (word >> 32) as u32 }
}

#[inline]
const fn of_pocket(block: SackBlock) -> u64 {
    (block.end as u64) << 32 | block.start as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Stamps};

    /// A packet that so many hops have told, and its room.
    fn told_by(hops: u64) -> (Packet, [u64; ROOM]) {
        let mut packet = Packet { flags: Flags::TELEMETRY, ..Packet::default() };
        let mut room = [u64::MAX; ROOM];
        for nth in 0..hops {
            if !packet.tell(word(nth)) && packet.room() == 0 {
                packet.stow(word(nth), 7, &mut room);
            }
        }
        (packet, room)
    }

    fn word(nth: u64) -> u64 {
        forebay_units::math::mix(nth)
    }

    fn words(packet: &Packet, room: &[u64; ROOM]) -> ([u64; 6], usize) {
        let room = (packet.room() != 0).then_some(room);
        let mut all = Hops::default();
        let len = packet.told(room, &mut all).len();
        (all, len)
    }

    #[test]
    fn five_hops_are_heard_in_their_order_and_the_third_needs_a_room() {
        for hops in 0..8 {
            let (packet, room) = told_by(hops);
            assert_eq!(packet.room(), if hops < 3 { 0 } else { 7 }, "{hops} hops");
            assert_eq!((packet.was_told(), packet.is_laden()), (hops > 0, hops == 2 || hops >= 5));
            let (all, len) = words(&packet, &room);
            assert_eq!(len as u64, hops.min(5));
            assert!((0..len).all(|nth| all[nth] == word(nth as u64)), "{hops} hops");
        }
    }

    #[test]
    fn an_answer_that_tells_delays_keeps_all_words() {
        for hops in [2, 5] {
            let (mut packet, mut room) = told_by(hops);
            packet.kind = Kind::Ack;
            let before = words(&packet, &room);
            packet.make_way(7, &mut room);
            let delays = Stamps { forward: 3, held: u32::MAX };
            packet.set_stamps(delays);
            let (all, len) = words(&packet, &room);
            assert_eq!((packet.room(), packet.stamps(), len), (7, Some(delays), before.1));
            assert_eq!(all[..len], before.0[..len]);
        }
    }

    #[test]
    fn who_does_not_ask_is_told_nothing() {
        let packet = Packet { ext: [SackBlock { start: 5, end: 2 }; 3], ..Packet::default() };
        assert_eq!((packet.room(), packet.was_told(), packet.is_laden()), (0, false, false));
    }
}
