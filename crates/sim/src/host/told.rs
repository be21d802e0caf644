//! What ports told packets that come to a host.

use super::Host;
use forebay_engine::Out;
use forebay_units::Time;
use forebay_wire::{Packet, told};

/// Multiplies words into one; any odd number with as many ones as zeros does.
const ODD: u64 = 0xd6e8_feb8_6659_fd93;

impl Host {
    /// A packet that was told something comes from the cable. What it was told is part of the digest.
    #[inline(never)]
    pub(super) fn hear(&mut self, now: Time, packet: &Packet, out: &mut impl Out<Packet>) {
        let fold = |all: u64, word: &u64| (all.rotate_left(29) ^ word).wrapping_mul(ODD);
        let all = told(out.rooms().get(packet.room())).iter().fold(0, fold);
        self.digest.add(now.as_ps(), all);
        out.ask_next(Packet::room_mut);
    }
}
