//! Telemetry at a host: the words of packets that wait in it.
//!
//! A packet that tells and is inside a host names its words by their place here, in the first field of `ext`, which no such packet
//! uses otherwise: data and ACKs alike.

use super::Host;
use forebay_engine::{Out, Words};
use forebay_laws::flow::IntHop;
use forebay_transport::Telemetry;
use forebay_units::Time;
use forebay_wire::{Flags, Packet, SackBlock};

/// Words by place.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    words: Vec<Words>,
    free: Vec<u32>,
}

impl Kept {
    /// Keeps the words of `packet`, which names them from now on.
    pub fn keep(&mut self, words: &Words, packet: &mut Packet) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.words.push(Words::default());
            self.words.len() as u32 - 1
        });
        self.words[place as usize] = *words;
        packet.ext[0].start = place;
    }

    /// The words of `packet`, which it no longer names.
    pub fn take(&mut self, packet: &mut Packet) -> Words {
        let place = packet.ext[0].start;
        packet.ext[0] = SackBlock::default();
        self.free.push(place);
        self.words[place as usize]
    }
}

/// What an ACK told, for its sender's law.
pub(super) fn hear<'a>(
    telemetry: Option<&'a mut Box<Telemetry>>,
    kept: &mut Kept,
    now: Time,
    packet: &Packet,
) -> &'a [IntHop] {
    let words = kept.take(&mut packet.clone());
    telemetry.map_or(&[], |telemetry| telemetry.hear(now, &words[..packet.hops()]))
}

impl Host {
    /// `packet` as it is inside this host, with the words that came with it.
    #[cold]
    pub(super) fn with_words(&mut self, packet: &Packet, out: &impl Out<Packet>) -> Packet {
        let mut packet = *packet;
        self.kept.keep(out.words(), &mut packet);
        packet
    }

    /// A packet ends here: so do its words.
    #[inline]
    pub(super) fn forget_words(&mut self, packet: &Packet) {
        if packet.flags.has(Flags::TELEMETRY) {
            self.kept.take(&mut packet.clone());
        }
    }
}
