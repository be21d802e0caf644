//! A barrier for threads that meet every few microseconds: spins, then yields, then parks.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

pub(crate) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    turn: AtomicU64,
    broken: AtomicBool,
    parked: Mutex<()>,
    wake: Condvar,
}

const SPINS: u32 = 2_000;
const YIELDS: u32 = 64;

impl Barrier {
    pub fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            turn: AtomicU64::new(0),
            broken: AtomicBool::new(false),
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
        for spin in 0..SPINS + YIELDS {
            if self.passed(turn) {
                return;
            }
            if spin < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
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
