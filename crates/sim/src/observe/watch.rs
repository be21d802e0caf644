//! Passes on what a node sends, and shows it to an observer: a capture, or the log of followed flows.

use forebay_engine::{Emitter, LinkId, Slab};
use forebay_units::Time;
use forebay_wire::Packet;

/// Sees what a node sends.
pub(crate) trait Watch {
    /// A packet's last bit leaves on a link at a time; it may be lost on the way. `out` does not have it yet.
    fn sent(&mut self, link: LinkId, at: Time, packet: &Packet, out: &dyn Emitter<Packet>);
}

/// What a node that is watched sends through.
pub(crate) struct WatchedOut<'a, W> {
    pub out: &'a mut dyn Emitter<Packet>,
    pub watch: &'a mut W,
}

impl<W: Watch> Emitter<Packet> for WatchedOut<'_, W> {
    fn push(&mut self, link: LinkId, at: Time, packet: &Packet) {
        self.watch.sent(link, at, packet, self.out);
        self.out.push(link, at, packet);
    }

    fn slab(&mut self) -> &mut Slab {
        self.out.slab()
    }

    fn next(&self) -> Option<&Packet> {
        self.out.next()
    }

    fn vanish(&mut self, link: LinkId, at: Time, packet: &Packet) {
        self.watch.sent(link, at, packet, self.out);
        self.out.vanish(link, at, packet);
    }

    fn flying(&self, link: LinkId, after: Time, each: &mut dyn FnMut(Time, &Packet)) -> bool {
        self.out.flying(link, after, each)
    }

    fn done(&mut self) {
        self.out.done();
    }

    fn begins(&mut self) {
        self.out.begins();
    }

    fn ends(&mut self) {
        self.out.ends();
    }
}
