//! Independent experiments on all cores.

use crate::measured::Measured;
use std::sync::Mutex;
use std::thread;

/// An experiment: it fills in its rows.
pub(crate) type Job = Box<dyn FnOnce(&mut Measured) + Send>;

/// Runs them, as many at a time as there are cores; in which order changes nothing. The longest should come first.
pub(crate) fn run(jobs: Vec<Job>) -> Measured {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    let waiting = Mutex::new(jobs.into_iter());
    let all = Mutex::new(Measured::new());
    let next = || waiting.lock().expect("no job panics while it is taken").next();
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(job) = next() {
                    let mut own = Measured::new();
                    job(&mut own);
                    all.lock().expect("entering values does not panic").extend(own);
                }
            });
        }
    });
    all.into_inner().expect("every worker has ended")
}
