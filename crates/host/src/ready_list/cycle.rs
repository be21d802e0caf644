//! Ready flows in a fixed cycle: a set of slots, and the slot from which the search for the next one starts.
//!
//! The set is a tree of bitmaps. A bit of a word says whether the word below it is not zero. 64 slots fit the topmost word, 4,096 need
//! one level below it, 262,144 two. So each operation takes a few instructions per level, however many flows there are. The topmost word
//! and the cursor are the caller's, which needs no more than these for 64 slots.

/// Slots that fit the topmost word alone.
pub(super) const FIT: u32 = u64::BITS;

/// The next slot of the cycle, if all are in the topmost word, which is not zero.
#[inline]
pub(super) fn take(top: &mut u64, cursor: u32) -> u32 {
    let turned = top.rotate_right(cursor); // a cursor of 64 turns to 0
    let slot = (turned.trailing_zeros() + cursor) % FIT;
    *top &= !(1 << slot);
    slot
}

/// The levels below the topmost word. The first one has a bit for each slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Levels(Vec<Vec<u64>>);

impl Levels {
    pub(super) fn insert(&mut self, top: &mut u64, slot: u32) {
        let mut at = slot as usize;
        while at >> (6 * self.0.len()) >= 64 {
            self.0.push(vec![*top]);
            *top = u64::from(*top != 0);
        }
        for level in &mut self.0 {
            let (word, bit) = (at / 64, at % 64);
            if level.len() <= word {
                level.resize(word + 1, 0);
            }
            let word_was = level[word];
            level[word] |= 1 << bit;
            if word_was != 0 {
                return; // the words above know
            }
            at = word;
        }
        *top |= 1 << at;
    }

    /// Takes the next slot of the cycle.
    pub(super) fn take(&mut self, top: &mut u64, cursor: u32) -> Option<u32> {
        let slot = self.first_from(*top, cursor).or_else(|| self.first_from(*top, 0))?;
        let mut at = slot as usize;
        for level in &mut self.0 {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return Some(slot);
            }
            at /= 64;
        }
        *top &= !(1 << at);
        Some(slot)
    }

    /// The least slot that is not below this one.
    fn first_from(&self, top: u64, slot: u32) -> Option<u32> {
        let mut from = slot as usize;
        for (above, level) in self.0.iter().enumerate() {
            let word = level.get(from / 64).map_or(0, |word| word & u64::MAX << (from % 64));
            if word != 0 {
                return Some(self.least(above, from / 64 * 64 + word.trailing_zeros() as usize));
            }
            from = from / 64 + 1;
        }
        let word = if from < 64 { top & u64::MAX << from } else { 0 };
        (word != 0).then(|| self.least(self.0.len(), word.trailing_zeros() as usize))
    }

    /// The least slot below a bit that is set, with so many levels below it.
    fn least(&self, levels: usize, bit: usize) -> u32 {
        let below = self.0[..levels].iter().rev();
        below.fold(bit, |at, level| at * 64 + level[at].trailing_zeros() as usize) as u32
    }
}

#[cfg(test)]
mod tests {
    use crate::ReadyList;
    use forebay_settings::NicOrder;
    use forebay_units::Time;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against an ordered set that is searched from the cursor on. Slots reach into the third level.
        #[test]
        fn the_bitmaps_serve_as_a_sorted_set_with_a_cursor_does(
            bits in 4u32..14,
            steps in proptest::collection::vec((0u8..4, 0u32..1 << 14), 0..400),
        ) {
            let mut list = ReadyList::new(NicOrder::RoundRobin, 0);
            let (mut ready, mut cursor) = (BTreeSet::new(), 0);
            for (what, slot) in steps {
                let slot = slot % (1 << bits);
                if what < 2 {
                    if ready.insert(slot) {
                        list.add(Time::ZERO, slot, || 0);
                    }
                } else {
                    let next = ready.range(cursor..).next().or(ready.first()).copied();
                    next.map(|next| ready.remove(&next));
                    prop_assert_eq!(list.take(Time::ZERO), next);
                    if let Some(next) = next.filter(|_| what == 2) {
                        list.charge(next, || 0);
                        cursor = next + 1;
                    }
                }
                prop_assert_eq!(list.is_empty(), ready.is_empty());
            }
        }
    }
}
