//! Telling the compiler what seldom happens.

/// Marks a branch that is seldom taken: what is called or computed there stays out of the way of the rest, in code and in registers.
#[cold]
#[inline]
pub fn rarely() {}

/// What an index within bounds would say otherwise. It names neither index nor length, so that a check compares with the length
/// where that lies: an instruction less for each.
#[cold]
#[inline(never)]
pub(crate) fn missing() -> ! {
    panic!("a ring's slot, or a link's ring, does not exist")
}
