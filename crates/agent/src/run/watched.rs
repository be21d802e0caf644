//! Numbers on the guard's board, beside its sign of life. Those at its end are free on the loop's board, which is as long.

use forebay_linux::board::WORDS;

/// Stacks that are absent, a bit each.
pub const ABSENT: usize = 0;

/// 1: the guard was asked to end, and does.
pub const ASKED: usize = WORDS - 2;

/// The deadline of both signs of life, in nanoseconds.
pub const DEADLINE: usize = WORDS - 1;
