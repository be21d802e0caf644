//! A slab of slots beside the items of a shard: words that few items carry, and that stay where they are while their items move.
//!
//! An item with a slot keeps the slot's number; code that drops such an item releases the slot. Numbers are of one shard: where an item
//! crosses to another shard, its words cross with it, and it gets a slot there. So numbers differ with the number of threads, and no
//! result may depend on them.

use crate::prefetch::prefetch_at;

/// What one slot holds.
pub type SlotWords = [u64; 4];

/// What a free slot holds in debug builds, so that a use after release is found.
const RELEASED: SlotWords = [u64::MAX; 4];

/// Where an item keeps the number of its slot, if it is of a kind that may have one; the number is 0 until it has.
pub type SlotOf<I> = fn(&mut I) -> Option<&mut u32>;

/// Aligned, so that no slot is on two cache lines.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Slot(SlotWords);

/// All slots of one shard.
#[derive(Clone, Debug, Default)]
pub struct Slab {
    slots: Vec<Slot>, // by number less one
    free: Vec<u32>,   // numbers
}

impl Slab {
    /// The number of a slot that was free, above 0; it holds zeros.
    ///
    /// # Panics
    /// If all numbers are in use.
    #[inline]
    pub fn allocate(&mut self) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                *self.get_mut(slot) = SlotWords::default();
                slot
            }
            None => self.grow(),
        }
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        self.slots.push(Slot::default());
        u32::try_from(self.slots.len()).expect("fewer than 2^32 slots fit in memory")
    }

    /// What a slot holds.
    ///
    /// # Panics
    /// If there is none of this number.
    #[inline]
    pub fn get(&self, slot: u32) -> &SlotWords {
        &self.slots[slot.wrapping_sub(1) as usize].0
    }

    /// Mutable content of a slot.
    ///
    /// # Panics
    /// As [`Slab::get`].
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut SlotWords {
        &mut self.slots[slot.wrapping_sub(1) as usize].0
    }

    /// Frees the slot of an item that goes no further; number 0 stands for none.
    #[inline]
    pub fn release(&mut self, slot: u32) {
        if slot != 0 {
            self.free(slot);
        }
    }

    #[inline(never)]
    fn free(&mut self, slot: u32) {
        if cfg!(debug_assertions) {
            assert_ne!(*self.get(slot), RELEASED, "a slot is released once");
            *self.get_mut(slot) = RELEASED;
        }
        self.free.push(slot);
    }

    /// Prefetches the cache line of a slot; of a number that is none, any line.
    #[inline(always)]
    pub fn prefetch(&self, slot: u32) {
        prefetch_at(&self.slots, slot.wrapping_sub(1) as usize);
    }

    /// Number of allocated slots.
    pub fn allocated(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Takes the words out of an item's slot, which is free then. `slot` is where the item keeps the number, if it can have one.
    pub(crate) fn detach(&mut self, slot: Option<&mut u32>) -> Option<SlotWords> {
        let slot = std::mem::take(slot.filter(|slot| **slot != 0)?);
        let words = *self.get(slot);
        self.release(slot);
        Some(words)
    }

    /// Gives an item a slot with these words.
    pub(crate) fn attach(&mut self, slot: Option<&mut u32>, words: Option<&SlotWords>) {
        if let (Some(slot), Some(words)) = (slot, words) {
            *slot = self.allocate();
            *self.get_mut(*slot) = *words;
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>() + self.free.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_move_from_shard_to_shard_and_slots_are_used_again() {
        let (mut here, mut there) = (Slab::default(), Slab::default());
        let words = [1, 2, 3, 4];
        let mut item = here.allocate();
        let other = here.allocate();
        assert_ne!((item, other), (0, 0));
        *here.get_mut(item) = words;
        let crossing = here.detach(Some(&mut item));
        assert_eq!((crossing, item, here.allocated()), (Some(words), 0, 1));
        assert_eq!(here.detach(Some(&mut item)), None, "it has none");
        there.attach(Some(&mut item), crossing.as_ref());
        assert_eq!((*there.get(item), there.allocated()), (words, 1));
        let again = here.allocate();
        assert_eq!(
            (*here.get(again), here.allocated()),
            ([0; 4], 2),
            "it is empty for the next one"
        );
        here.release(0);
        assert_eq!(here.allocated(), 2);
    }
}
