//! A barrier for threads that meet every few microseconds: a waiting thread spins for a while, then parks.
//!
//! Spinning pays only where the others come soon. A wait that ended in parking halves how long this barrier's waits spin, and one that
//! did not doubles it: where there are more threads than cores, or one thread has all the work, the others soon park at once.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

pub(crate) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    turn: AtomicU64,
    broken: AtomicBool,
    spins: AtomicU32, // that a wait may take before it parks
    #[cfg(test)]
    spun: AtomicU64,
    #[cfg(test)]
    waits: AtomicUsize, // that have parked so far
    parked: Mutex<()>,
    wake: Condvar,
}

/// Spins of a wait that follows waits without parking. Assumption: some tens of microseconds, about what parking and waking cost.
const MOST_SPINS: u32 = 2_000;

/// Spins of a wait that follows many that parked: enough to find a barrier that opens meanwhile.
const LEAST_SPINS: u32 = 16;

impl Barrier {
    pub fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            turn: AtomicU64::new(0),
            broken: AtomicBool::new(false),
            spins: AtomicU32::new(MOST_SPINS),
            #[cfg(test)]
            spun: AtomicU64::new(0),
            #[cfg(test)]
            waits: AtomicUsize::new(0),
            parked: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Returns once all threads have called. What each did before is visible to all after.
    ///
    /// # Panics
    /// If another thread panicked: it will never come.
    pub fn wait(&self) {
        let turn = self.turn.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.open(|| self.turn.store(turn + 1, Ordering::Release));
            return;
        }
        let spins = self.spins.load(Ordering::Relaxed);
        for _ in 0..spins {
            if self.passed(turn) {
                self.spins.store((2 * spins).min(MOST_SPINS), Ordering::Relaxed);
                return;
            }
            #[cfg(test)]
            self.spun.fetch_add(1, Ordering::Relaxed);
            std::hint::spin_loop();
        }
        self.spins.store((spins / 2).max(LEAST_SPINS), Ordering::Relaxed);
        #[cfg(test)]
        self.waits.fetch_add(1, Ordering::Release);
        let mut guard = self.parked.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        while !self.passed(turn) {
            guard = self.wake.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// To be held by each thread: lets the others go if it panics.
    pub fn breaker(&self) -> Breaker<'_> {
        Breaker(self)
    }

    fn passed(&self, turn: u64) -> bool {
        assert!(!self.broken.load(Ordering::Acquire), "another thread of this run panicked");
        self.turn.load(Ordering::Acquire) != turn
    }

    /// Changes what the waiting threads look at, and wakes them. The lock orders the change against a thread that is
    /// about to park.
    fn open(&self, change: impl FnOnce()) {
        let guard = self.parked.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        change();
        drop(guard);
        self.wake.notify_all();
    }
}

pub(crate) struct Breaker<'a>(&'a Barrier);

impl Drop for Breaker<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.open(|| self.0.broken.store(true, Ordering::Release));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One thread has all the work, as where there are more threads than cores: the others park, and do not spin for long each time.
    #[test]
    fn threads_that_wait_long_park() {
        const ROUNDS: usize = 100;
        let barrier = Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 1..4 {
                scope.spawn(|| (0..ROUNDS).for_each(|_| barrier.wait()));
            }
            for round in 1..=ROUNDS {
                // Its work ends once the others have stopped spinning.
                while barrier.waits.load(Ordering::Acquire) < 3 * round {
                    std::thread::yield_now();
                }
                barrier.wait();
            }
        });
        let spun = barrier.spun.load(Ordering::Relaxed);
        // Three threads that halve from the most to the least, and are at the least from then on.
        let most = 3 * (2 * u64::from(MOST_SPINS) + ROUNDS as u64 * u64::from(LEAST_SPINS));
        assert!(spun <= most, "{spun} spins");
    }

    #[test]
    fn no_thread_runs_ahead() {
        let barrier = Barrier::new(3);
        let counts = [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)];
        std::thread::scope(|scope| {
            for me in 0..3 {
                let (barrier, counts) = (&barrier, &counts);
                scope.spawn(move || {
                    for round in 1..=2_000 {
                        counts[me].store(round, Ordering::Relaxed);
                        barrier.wait();
                        for other in counts {
                            assert!(other.load(Ordering::Relaxed) >= round);
                        }
                        barrier.wait();
                    }
                });
            }
        });
    }
}
