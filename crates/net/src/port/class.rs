//! Numbers of traffic classes, and sets of them.

/// Traffic classes.
pub const CLASSES: usize = 8;

/// No class, no code.
pub(super) const NOTHING: u8 = u8::MAX;

/// Classes of a mask, in order.
pub(super) fn bits(mask: u8) -> impl Iterator<Item = usize> {
    (0..CLASSES).filter(move |class| mask & 1 << class != 0)
}
