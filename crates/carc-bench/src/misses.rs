//! Last-level misses of one processor, where the machine counts them and lets this process read them.

use forebay_linux::perf::Group;
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};

/// `PERF_TYPE_HARDWARE`, and its `PERF_COUNT_HW_CACHE_MISSES`.
const HARDWARE: u32 = 0;
const CACHE_MISSES: u64 = 3;

/// A counter of the processor that this process stays on.
pub struct Misses(Group);

impl Misses {
    /// None: no counters here.
    pub fn open() -> Option<Self> {
        let cpu = sched_getcpu();
        let group = Group::open(HARDWARE, cpu as u32, &[[CACHE_MISSES, 0, 0]]).ok()?;
        let mut one = CpuSet::new();
        one.set(cpu);
        sched_setaffinity(None, &one).ok()?;
        Some(Self(group))
    }

    /// Misses since the start.
    pub fn read(&self) -> Option<u64> {
        let mut found = 0;
        self.0.read(|_, value| found = value)?;
        Some(found)
    }
}
