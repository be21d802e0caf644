//! What ports told packets that come to a host.

use super::Host;
use forebay_engine::{Out, Rooms};
use forebay_units::Time;
use forebay_wire::{Hops, Packet};

/// Multiplies words into one; any odd number with as many ones as zeros does.
const ODD: u64 = 0xd6e8_feb8_6659_fd93;

impl Host {
    /// A packet that was told something comes from the cable. What it was told is part of the digest.
    #[inline(never)]
    pub(super) fn hear(&mut self, now: Time, packet: &Packet, out: &mut impl Out<Packet>) {
        self.ask_for_oldest(packet);
        let fold = |all: u64, word: &u64| (all.rotate_left(29) ^ word).wrapping_mul(ODD);
        let all = told(packet, out, &mut Hops::default()).iter().fold(0, fold);
        self.digest.add(now.as_ps(), all);
        self.ask_for_next(out);
    }
}

/// What hops have told a packet, in their order.
#[inline(always)]
pub(super) fn told<'a>(
    packet: &Packet,
    out: &mut impl Out<Packet>,
    all: &'a mut Hops,
) -> &'a [u64] {
    let room = match packet.room() {
        0 => None,
        room => Some(out.rooms().get(room)),
    };
    packet.told(room, all)
}

/// A packet with full pockets, one of them emptied into its room.
#[cold]
pub(super) fn with_a_free_pocket(packet: &Packet, rooms: &mut Rooms) -> Packet {
    let mut packet = *packet;
    let room = match packet.room() {
        0 => rooms.take(),
        room => room,
    };
    packet.make_way(room, rooms.get_mut(room));
    packet
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_wire::Flags;

    #[test]
    fn a_pocket_is_freed_whether_there_is_a_room_or_not() {
        let mut rooms = Rooms::default();
        let mut packet = Packet { flags: Flags::TELEMETRY, ..Packet::default() };
        assert!(packet.tell(11) && packet.tell(12) && packet.is_laden());
        let lighter = with_a_free_pocket(&packet, &mut rooms);
        assert!(!lighter.is_laden() && lighter.room() != 0 && rooms.in_use() == 1);
        assert_eq!(lighter.told(Some(rooms.get(lighter.room())), &mut Hops::default()), [11, 12]);
        let room = rooms.take();
        packet.stow(13, room, rooms.get_mut(room));
        assert!(packet.tell(14) && packet.tell(15));
        let lighter = with_a_free_pocket(&packet, &mut rooms);
        assert_eq!((lighter.room(), rooms.in_use()), (room, 2), "it keeps the one that it has");
        let told = lighter.told(Some(rooms.get(room)), &mut Hops::default()).to_vec();
        assert_eq!((told, lighter.is_laden()), (vec![11, 12, 13, 14, 15], false));
    }
}
