//! Independent experiments on all cores.

use crate::measured::Measured;
use std::sync::Mutex;
use std::thread;

/// An experiment: it fills in its rows.
pub(crate) type Job = Box<dyn FnOnce(&mut Measured) + Send>;

/// Runs experiments and collects their rows. The longest should come first.
pub(crate) fn run(jobs: Vec<Job>) -> Measured {
    let all = Mutex::new(Measured::new());
    let collect = |job: Job| {
        let all = &all;
        move || {
            let mut own = Measured::new();
            job(&mut own);
            all.lock().expect("entering values does not panic").extend(own);
        }
    };
    on_all_cores(jobs.into_iter().map(collect).collect());
    all.into_inner().expect("every worker has ended")
}

/// Calls all of them, as many at a time as there are cores; in which order they end changes nothing.
pub(crate) fn on_all_cores<F: FnOnce() + Send>(calls: Vec<F>) {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(calls.len());
    let waiting = Mutex::new(calls.into_iter());
    let next = || waiting.lock().expect("nothing panics while it is taken").next();
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(call) = next() {
                    call();
                }
            });
        }
    });
}
