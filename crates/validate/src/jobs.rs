//! Independent experiments on all cores, and a callback that gets how many are over.

use crate::laid_out;
use crate::measured::MeasuredRows;
use crate::seeds::with_seeds_above;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// An experiment: it fills in its rows.
pub(crate) type Job = Box<dyn FnOnce(&mut MeasuredRows) + Send>;

/// Hears, each time an experiment is over, how many are, and of how many that are known of so far.
pub type OnProgress<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// All cores of the machine.
pub(crate) struct Cores<'a> {
    on_progress: &'a OnProgress<'a>,
    over: AtomicUsize,
    of: AtomicUsize,
    above: u64,
}

impl<'a> Cores<'a> {
    pub fn new(on_progress: &'a OnProgress<'a>) -> Self {
        Self::with_seeds_above(0, on_progress)
    }

    /// All cores, for experiments with every seed raised by `above`.
    pub fn with_seeds_above(above: u64, on_progress: &'a OnProgress<'a>) -> Self {
        Self { on_progress, over: AtomicUsize::new(0), of: AtomicUsize::new(0), above }
    }

    /// Runs experiments and collects their rows. The longest should come first.
    pub fn run(&self, jobs: Vec<Job>) -> MeasuredRows {
        let all = Mutex::new(MeasuredRows::new());
        let collect = |job: Job| {
            let all = &all;
            move || {
                let mut own = MeasuredRows::new();
                job(&mut own);
                all.lock().expect("entering values does not panic").extend(own);
            }
        };
        self.call(jobs.into_iter().map(collect).collect());
        all.into_inner().expect("every worker has ended")
    }

    /// Calls all of them, as many at a time as there are cores; in which order they end changes nothing.
    pub fn call<F: FnOnce() + Send>(&self, calls: Vec<F>) {
        self.of.fetch_add(calls.len(), Ordering::Relaxed);
        let workers = thread::available_parallelism().map_or(1, usize::from).min(calls.len());
        let waiting = Mutex::new(calls.into_iter());
        let next = || waiting.lock().expect("nothing panics while it is taken").next();
        let look = laid_out::look();
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    while let Some(call) = next() {
                        laid_out::with(&look, || with_seeds_above(self.above, call));
                        let over = self.over.fetch_add(1, Ordering::Relaxed) + 1;
                        (self.on_progress)(over, self.of.load(Ordering::Relaxed));
                    }
                });
            }
        });
    }
}
