//! A bit per packet, from a packet on that moves.

use std::collections::VecDeque;

/// A set of packets, by number. Those below its beginning are forgotten.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits {
    first: u64, // number of the first word
    words: VecDeque<u64>,
}

impl Bits {
    fn at(&self, number: u64) -> Option<(usize, u64)> {
        let word = (number / 64).checked_sub(self.first)?;
        Some((word as usize, 1 << (number % 64)))
    }

    /// Whether a packet is in the set.
    #[inline]
    pub fn has(&self, number: u64) -> bool {
        let found = self.at(number);
        found.is_some_and(|(word, bit)| self.words.get(word).is_some_and(|w| w & bit != 0))
    }

    /// Adds a packet; says whether it is new.
    #[inline]
    pub fn add(&mut self, number: u64) -> bool {
        let Some((word, bit)) = self.at(number) else { return false };
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }

    /// Removes a packet; says whether it was there.
    #[inline]
    pub fn remove(&mut self, number: u64) -> bool {
        let there = self.has(number);
        if let (true, Some((word, bit))) = (there, self.at(number)) {
            self.words[word] &= !bit;
        }
        there
    }

    /// Packets from `number` on that are in the set.
    pub fn count_from(&self, number: u64) -> u64 {
        let Some((begin, bit)) = self.at(number.max(self.first * 64)) else { return 0 };
        let words = self.words.iter().enumerate().skip(begin);
        let cut = |i: usize, word: u64| if i == begin { word & !(bit - 1) } else { word };
        words.map(|(i, word)| u64::from(cut(i, *word).count_ones())).sum()
    }

    /// The first packet from `number` on that is in the set.
    pub fn next_in(&self, number: u64) -> Option<u64> {
        let number = number.max(self.first * 64);
        let (begin, bit) = self.at(number)?;
        let cut = |i: usize, word: u64| if i == begin { word & !(bit - 1) } else { word };
        let words = self.words.iter().enumerate().skip(begin);
        let mut found = words.map(|(i, word)| (i, cut(i, *word)));
        let (i, word) = found.find(|(_, word)| *word != 0)?;
        Some((self.first + i as u64) * 64 + u64::from(word.trailing_zeros()))
    }

    /// The first packet from `number` on, which is not forgotten, that is not in the set.
    #[inline]
    pub fn next_out(&self, mut number: u64) -> u64 {
        while let Some((word, _)) = self.at(number)
            && let Some(word) = self.words.get(word)
        {
            let ones = u64::from((word >> (number % 64)).trailing_ones());
            number += ones;
            if ones == 0 || !number.is_multiple_of(64) {
                break;
            }
        }
        number
    }

    /// Forgets all below `number`, by whole words.
    #[inline]
    pub fn forget_below(&mut self, number: u64) {
        while self.first < number / 64 {
            self.words.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set(steps in prop::collection::vec((0u8..4, 0u64..300), 1..200)) {
            let (mut bits, mut set, mut begin) = (Bits::default(), BTreeSet::new(), 0);
            for (what, number) in steps {
                match what {
                    0 | 1 if number >= begin => prop_assert_eq!(bits.add(number), set.insert(number)),
                    2 if number >= begin => prop_assert_eq!(bits.remove(number), set.remove(&number)),
                    3 => {
                        bits.forget_below(number);
                        begin = begin.max(number / 64 * 64);
                        set.retain(|n| *n >= begin);
                    }
                    _ => {}
                }
                prop_assert_eq!(bits.has(number), set.contains(&number));
                prop_assert_eq!(bits.next_in(number), set.range(number..).next().copied());
                let from = number.max(begin);
                let out = (from..).find(|n| !set.contains(n));
                prop_assert_eq!(Some(bits.next_out(from)), out);
            }
        }
    }
}
