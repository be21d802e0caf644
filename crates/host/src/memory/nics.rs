//! One thing for each NIC of a machine, of which one is at hand.
//!
//! The one at hand lies in place, so that a machine with one NIC pays for no list.

/// Things of NICs, by index.
#[derive(Clone, Debug)]
pub struct Nics<T> {
    /// Value of the NIC at hand.
    pub at_hand: T,
    index: usize,
    others: Vec<T>, // ascending
}

impl<T> Nics<T> {
    /// Values of one NIC and of others; the first is at hand.
    pub fn new(first: T, others: Vec<T>) -> Self {
        Self { at_hand: first, index: 0, others }
    }

    /// Has that of NIC `index` at hand.
    ///
    /// # Panics
    /// If there is no such NIC.
    pub fn hand(&mut self, index: usize) {
        if index == self.index {
            return;
        }
        let (from, to) =
            (index - usize::from(index > self.index), self.index - usize::from(self.index > index));
        std::mem::swap(&mut self.at_hand, &mut self.others[from]);
        match from < to {
            true => self.others[from..=to].rotate_left(1),
            false => self.others[to..=from].rotate_right(1),
        }
        self.index = index;
    }

    /// Which NIC is at hand.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Values of the NICs that are not at hand, in order.
    #[inline]
    pub fn others(&self) -> &[T] {
        &self.others
    }

    #[inline]
    pub(super) fn others_mut(&mut self) -> &mut [T] {
        &mut self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_others_stay_in_order() {
        let mut nics = Nics::new(0, vec![1, 2, 3]);
        for index in [2, 0, 3, 1, 1, 2, 3, 0] {
            nics.hand(index);
            let others: Vec<usize> = (0..4).filter(|i| *i != index).collect();
            assert_eq!((nics.at_hand, nics.index(), nics.others()), (index, index, &others[..]));
        }
    }
}
