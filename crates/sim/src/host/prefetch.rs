//! Prefetching of cache lines: of flows whose packet or timer comes next.
//!
//! A visit to a host is a few packets long, and each may be of another flow, whose state lies in no near cache: all other nodes were visited in
//! between. One packet ahead, some hundred nanoseconds, is early enough for it. All here are hints: they change nothing but time.

use super::Host;
use super::timers::Due;
use forebay_engine::{Emitter, prefetch_all, prefetch_at};
use forebay_transport::Prefetch;
use forebay_wire::Packet;

/// Memory of the machine that simulates.
struct Memory;

impl Prefetch for Memory {
    #[inline(always)]
    fn prefetch<T>(&self, of: &T) {
        prefetch_all(of);
    }
}

impl Host {
    /// Prefetches the state of its flows: of the first ones, which are all that most hosts have.
    pub fn prefetch(&self) {
        self.send.slots.first().into_iter().for_each(prefetch_all);
        self.receive.slots.first().into_iter().for_each(prefetch_all);
        self.nic.port.prefetch();
        self.send.of.prefetch();
        self.receive.of.prefetch();
    }

    /// Prefetches the state of the sender whose timer comes up next, where there are several.
    #[inline]
    pub(super) fn prefetch_due(&self) {
        if self.send.slots.len() > 1
            && let Some((_, Due::Sender, slot)) = self.timers.first()
        {
            self.prefetch_sender(slot);
        }
    }

    /// Prefetches the INT slot of the packet that arrives next, and the state of its flow.
    #[inline(always)]
    pub(super) fn prefetch_next(&self, out: &mut impl Emitter<Packet>) {
        let Some(&next) = out.next() else { return };
        out.slab().prefetch(next.int_slot());
        if next.kind.is_answer() {
            self.send.of.get(next.flow).into_iter().for_each(|slot| self.prefetch_sender(slot));
        } else if let Some(slot) = self.receive.of.get(next.flow) {
            prefetch_at(&self.receive.slots, slot as usize);
        }
    }

    /// Prefetches what a sender has noted of the packet that an answer is about.
    #[inline(always)]
    pub(super) fn prefetch_oldest_of(&self, packet: &Packet) {
        if packet.kind.is_answer()
            && let Some(slot) = self.send.of.get(packet.flow)
            && let Some(sending) = self.send.slots.get(slot as usize)
        {
            sending.sender.prefetch_oldest(&Memory);
        }
    }

    #[inline(always)]
    fn prefetch_sender(&self, slot: u32) {
        if let Some(sending) = self.send.slots.get(slot as usize) {
            prefetch_all(sending);
            sending.telemetry.as_deref().into_iter().for_each(prefetch_all);
            sending.sender.prefetch(&Memory);
        }
    }
}
