//! The bounded list that a law writes its actions into.

use core::fmt;

/// Up to four actions of one step, in the order they were pushed.
///
/// The caller makes one, lends it to step after step and clears it in between.
#[derive(Clone, Copy)]
pub struct Acts<A> {
    items: [Option<A>; 4], // those from `len` on are stale
    len: u8,               // invariant: at most 4
}

/// Equal if the actions and their order are equal.
impl<A: Copy + PartialEq> PartialEq for Acts<A> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<A: Copy + fmt::Debug> fmt::Debug for Acts<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<A: Copy> Default for Acts<A> {
    fn default() -> Self {
        Self { items: [None; 4], len: 0 }
    }
}

impl<A: Copy> Acts<A> {
    /// Adds an action.
    ///
    /// # Panics
    /// If the step already pushed four: a law that needs more is a bug in the law.
    #[inline]
    pub fn push(&mut self, act: A) {
        self.items[usize::from(self.len)] = Some(act);
        self.len += 1;
    }

    /// The actions, first to last.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = A> + '_ {
        self.items[..usize::from(self.len)].iter().flatten().copied()
    }

    /// Whether the step did nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether there is room for no other.
    #[inline]
    pub fn is_full(&self) -> bool {
        usize::from(self.len) == self.items.len()
    }

    /// Forgets all actions.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::Acts;

    #[test]
    fn lists_differ_by_actions_order_and_length() {
        let list = |actions: &[u8]| {
            let mut acts = Acts::default();
            actions.iter().for_each(|act| acts.push(*act));
            acts
        };
        assert_eq!(list(&[1, 2]), list(&[1, 2]));
        assert_ne!(list(&[1, 2]), list(&[2, 1]));
        assert_ne!(list(&[1, 2]), list(&[1]));
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn a_fifth_action_is_a_bug_in_the_law() {
        let mut acts = Acts::default();
        (0..5).for_each(|n| acts.push(n));
    }

    #[test]
    fn cleared_actions_are_gone() {
        let mut reused = Acts::default();
        reused.push(1);
        reused.push(2);
        reused.clear();
        assert!(reused.is_empty() && reused == Acts::default());
        reused.push(3);
        assert!(reused.iter().eq([3]));
    }
}
