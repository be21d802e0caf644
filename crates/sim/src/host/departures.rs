//! Test double of the engine: collects the packets that one host sends.

use forebay_engine::{Emitter, LinkId, Slab};
use forebay_units::Time;
use forebay_wire::Packet;

/// Packets in the order in which they left, with their times.
#[derive(Default)]
pub(super) struct Departures {
    pub packets: Vec<(Time, Packet)>,
    slab: Slab,
}

impl Emitter<Packet> for Departures {
    fn push(&mut self, _link: LinkId, at: Time, packet: &Packet) {
        self.packets.push((at, *packet));
    }

    fn slab(&mut self) -> &mut Slab {
        &mut self.slab
    }

    fn done(&mut self) {}

    fn begins(&mut self) {}

    fn ends(&mut self) {}
}
