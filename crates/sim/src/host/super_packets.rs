//! Super-packets that the NIC has fetched and cuts into packets as they leave.
//!
//! A NIC with a send queue per flow takes a packet of each in turn, so that a small RPC waits for one packet of every other flow, not for
//! their super-packets. With one queue for all, a super-packet is finished before anything else leaves.
//!
//! Assumption: turns of one packet. Vendors do not say how fine the arbitration of their queues is.
//! Invariant: a flow with a super-packet in a queue of its own is in the ready list, or put aside because its class is paused.

use forebay_host::Segmenter;
use forebay_transport::Burst;
use forebay_wire::Packet;

/// The super-packets of a NIC.
#[derive(Clone, Debug)]
pub(super) struct SuperPackets {
    per_flow: bool,
    one: Segmenter,          // what leaves whole
    of_slot: Vec<Segmenter>, // where each flow has a queue
}

impl SuperPackets {
    /// None yet. `per_flow`: each flow has a send queue.
    pub fn new(per_flow: bool) -> Self {
        Self { per_flow, one: Segmenter::default(), of_slot: Vec::new() }
    }

    /// The queue that a flow's super-packet is in.
    fn queue(&mut self, slot: u32) -> &mut Segmenter {
        if !self.per_flow {
            return &mut self.one;
        }
        let slot = slot as usize;
        if self.of_slot.len() <= slot {
            self.of_slot.resize_with(slot + 1, Segmenter::default);
        }
        &mut self.of_slot[slot]
    }

    /// The first packet of what a flow hands down, and its size with that of all that is to leave before another flow has a turn.
    pub fn first(&mut self, slot: u32, burst: &Burst, full: u64) -> Option<(Packet, u64)> {
        if burst.payload == 0 {
            return Some((burst.first, u64::from(burst.first.size))); // a message without payload
        }
        let per_flow = self.per_flow;
        let queue = self.queue(slot);
        queue.load(&burst.first, burst.payload, full);
        let first = queue.take()?;
        let rest = if per_flow { 0 } else { queue.left() };
        Some((first, u64::from(first.size) + rest))
    }

    /// The next packet of a flow's super-packet, where flows have queues.
    pub fn next_of(&mut self, slot: u32) -> Option<Packet> {
        if self.per_flow { self.of_slot.get_mut(slot as usize)?.take() } else { None }
    }

    /// The next packet of the super-packet that leaves whole.
    #[inline]
    pub fn next_of_one(&mut self) -> Option<Packet> {
        self.one.take()
    }

    /// Whether the rest of a super-packet has to leave before anything else.
    #[inline]
    pub fn is_cutting(&self) -> bool {
        !self.one.is_empty()
    }

    /// Bytes of a flow's super-packet that wait in a queue of its own; headers included.
    pub fn left_of(&self, slot: u32) -> u64 {
        self.of_slot.get(slot as usize).map_or(0, Segmenter::left)
    }

    /// Packets of a super-packet, all at once.
    pub fn cut(&mut self, burst: &Burst, full: u64) -> impl Iterator<Item = Packet> {
        self.one.load(&burst.first, burst.payload, full);
        core::iter::from_fn(|| self.one.take())
    }
}
