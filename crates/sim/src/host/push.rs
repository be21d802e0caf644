//! Flows that push: what a window allows goes into the host's queue at once, and leaves in that order.
//!
//! The queue has no limit. Linux limits it to 1,000 super-packets, which is far above what windows allow.

use super::Host;
use forebay_units::Time;

impl Host {
    /// Takes everything that a flow may send.
    #[inline(never)]
    pub(super) fn push(&mut self, now: Time, slot: u32) {
        loop {
            let sending = &mut self.send.slots[slot as usize];
            if !sending.sender.ready() {
                return;
            }
            let Some(cutter) = &mut self.nic.burst else {
                let Some(packet) = sending.sender.next_packet(now) else { return };
                self.nic.enqueue(now, &packet);
                continue;
            };
            let Some(burst) = sending.sender.next_burst(now) else { return };
            cutter.load(&burst.first, burst.payload, sending.sender.mss().get());
            while let Some(packet) = self.nic.burst.as_mut().and_then(|cutter| cutter.take()) {
                self.nic.enqueue(now, &packet);
            }
        }
    }
}
