//! The bounded list that a law writes its actions into.

/// Up to four actions of one step, in the order they were pushed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acts<A> {
    items: [Option<A>; 4],
    len: u8,
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

    /// Forgets all actions.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }
}
