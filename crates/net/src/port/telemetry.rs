//! What a port tells about itself in packets that ask.
//!
//! Written as a packet's transmission begins, on all that the port is then: every class counts in the queue, and wire overhead in
//! bytes. A port that tells is served up to each arrival, so its queue is that of the departure and not of the visit.
//!
//! Source: Li et al., "HPCC", SIGCOMM 2019, section 3.1; its public simulator for the sum over classes.

use super::Port;
use forebay_engine::{Out, Rooms, Words};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Flags, Hop, Kind, Packet, ROOM};

const _: () = assert!(size_of::<Words>() == ROOM * size_of::<u64>());

impl Port {
    /// A packet has left the queue, which holds what is left behind, and is about to be counted: it is told, if it asks.
    #[inline(always)]
    pub(super) fn tell(&self, start: Time, packet: &mut Packet, out: &mut impl Out<Packet>) {
        let asks = packet.kind == Kind::Data && packet.flags.has(Flags::TELEMETRY);
        if asks && self.scheduled.tells() {
            let word = self.word(start);
            if !packet.tell(word) && packet.room() == 0 {
                stow(word, packet, out.rooms());
            }
        }
    }

    #[inline(never)]
    fn word(&self, start: Time) -> u64 {
        match u64::from(self.hot.steady) {
            0 => self.word_of_unsteady(start),
            pace => self.word_by(start, |bytes| Span::from_ps(bytes * pace)),
        }
    }

    #[inline(never)]
    fn word_of_unsteady(&self, start: Time) -> u64 {
        let rate = self.cold.settings.rate;
        self.word_by(start, |bytes| match self.cold.whole {
            0 => rate.time_for(Bytes::new(bytes)),
            whole => Span::from_ps(bytes * whole),
        })
    }

    /// What it says of itself, where `time` is how long so many bytes are on the wire.
    #[inline(always)]
    fn word_by(&self, start: Time, time: impl Fn(u64) -> Span) -> u64 {
        let sent = self.hot.tx_bytes + self.hot.tx_packets * self.overhead();
        Hop::new(self.scheduled.code, start, time(sent), time(self.scheduled.bytes)).word()
    }
}

/// What its pockets no longer hold goes into a room.
#[inline(never)]
fn stow(word: u64, packet: &mut Packet, rooms: &mut Rooms) {
    let number = rooms.take();
    packet.stow(word, number, rooms.get_mut(number));
}
