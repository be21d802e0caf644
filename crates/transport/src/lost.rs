//! Packets that are to be sent again, the first of them first.

use crate::bits::Bits;

/// Numbers of lost packets. To find the first takes a step for each word between, once, however many packets left before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct LostPackets {
    bits: Bits,
    count: u64,
    from: u64, // none is below
}

impl LostPackets {
    /// Whether none is lost.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A packet is lost, again or for the first time.
    pub fn add(&mut self, number: u64) {
        if self.bits.add(number) {
            self.from = if self.count == 0 { number } else { self.from.min(number) };
            self.count += 1;
        }
    }

    /// A packet is sent again, or has arrived after all.
    #[inline]
    pub fn remove(&mut self, number: u64) {
        if self.bits.remove(number) {
            self.count -= 1;
            if number == self.from && self.count > 0 {
                self.from = self.bits.next_in(number).unwrap_or(number);
            }
        }
    }

    /// The first one.
    #[inline]
    pub fn first(&self) -> Option<u64> {
        (self.count > 0).then_some(self.from)
    }

    /// All below `number` have arrived.
    #[inline]
    pub fn forget_below(&mut self, number: u64) {
        self.bits.forget_below(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn the_first_is_the_least_that_is_lost(steps in prop::collection::vec((any::<bool>(), 0u64..300), 1..200)) {
            let (mut lost, mut set) = (LostPackets::default(), BTreeSet::new());
            for (add, number) in steps {
                if add {
                    lost.add(number);
                    set.insert(number);
                } else {
                    lost.remove(number);
                    set.remove(&number);
                }
                prop_assert_eq!(lost.first(), set.first().copied());
                prop_assert_eq!(lost.is_empty(), set.is_empty());
            }
        }
    }
}
