//! Seeds of experiments: those that they name, or others.

use std::cell::Cell;

thread_local! {
    /// What every seed of this thread's experiments is above the one that they name.
    static ABOVE: Cell<u64> = const { Cell::new(0) };
}

/// Runs experiments with other seeds than they name, all by as much.
pub(crate) fn with_seeds_above<T>(above: u64, run: impl FnOnce() -> T) -> T {
    let before = ABOVE.replace(above);
    let found = run();
    ABOVE.set(before);
    found
}

/// The seed that stands for the one that an experiment names.
pub(crate) fn seed(named: u64) -> u64 {
    named + ABOVE.get()
}
