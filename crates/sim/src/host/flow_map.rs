//! Flow ids to slots: open addressing over two words, so that a look-up is a multiply and a probe.

use forebay_engine::prefetch;
use forebay_wire::FlowId;

/// Slot of a flow whose state has been freed.
pub(super) const DONE: u32 = u32::MAX - 1;

/// Flow of a sender's slot that was finished while in the ready list.
pub(super) const RETIRED: u32 = u32::MAX;

/// A map that only grows: a flow stays known, as [`DONE`], after its state is freed.
#[derive(Clone, Debug)]
pub(crate) struct FlowMap {
    cells: Box<[(u32, u32)]>, // flow, slot; slot u32::MAX: free. Length a power of two
    len: u32,
}

const FREE: u32 = u32::MAX;

impl Default for FlowMap {
    fn default() -> Self {
        Self::new()
    }
}

impl FlowMap {
    pub fn new() -> Self {
        Self { cells: vec![(0, FREE); 8].into(), len: 0 }
    }

    #[inline]
    fn home(&self, flow: u32) -> usize {
        (flow.wrapping_mul(0x9e37_79b1) >> 7) as usize & (self.cells.len() - 1)
    }

    /// Prefetches the cells, if they are few.
    pub fn prefetch(&self) {
        prefetch(&self.cells[0]);
    }

    #[inline]
    pub fn get(&self, flow: FlowId) -> Option<u32> {
        let mut at = self.home(flow.0);
        loop {
            let (key, slot) = self.cells[at];
            if slot == FREE {
                return None;
            }
            if key == flow.0 {
                return Some(slot);
            }
            at = (at + 1) & (self.cells.len() - 1);
        }
    }

    /// Flows that have a slot, in no order.
    pub fn live(&self) -> impl Iterator<Item = (u32, u32)> {
        self.cells.iter().copied().filter(|(_, slot)| *slot < DONE)
    }

    /// Sets the slot of a flow.
    pub fn set(&mut self, flow: FlowId, slot: u32) {
        if self.len as usize * 4 >= self.cells.len() * 3 {
            let double = vec![(0, FREE); self.cells.len() * 2].into();
            let old = std::mem::replace(&mut self.cells, double);
            for (key, slot) in old.into_iter().filter(|c| c.1 != FREE) {
                self.place(key, slot);
            }
        }
        self.len += u32::from(self.place(flow.0, slot));
    }

    /// True if the flow was new.
    fn place(&mut self, flow: u32, slot: u32) -> bool {
        let mut at = self.home(flow);
        while self.cells[at].1 != FREE && self.cells[at].0 != flow {
            at = (at + 1) & (self.cells.len() - 1);
        }
        let new = self.cells[at].1 == FREE;
        self.cells[at] = (flow, slot);
        new
    }
}

#[cfg(feature = "reference")]
#[doc(hidden)]
pub mod tests {
    use super::*;

    pub fn it_finds_what_was_set_and_nothing_else() {
        let mut map = FlowMap::new();
        for flow in (0..5_000).step_by(3) {
            map.set(FlowId(flow), flow * 2);
        }
        map.set(FlowId(9), DONE);
        for flow in 0..5_000 {
            let expected = (flow % 3 == 0).then_some(if flow == 9 { DONE } else { flow * 2 });
            assert_eq!(map.get(FlowId(flow)), expected);
        }
    }
}
