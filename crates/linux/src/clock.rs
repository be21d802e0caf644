//! The clock of the agent: CLOCK_BOOTTIME, which also runs while the machine sleeps, from zero at the start.

use rustix::time::{ClockId, clock_getres, clock_gettime};
use std::time::Duration;

/// Nanoseconds since the clock was made.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Duration,
}

impl Clock {
    /// A clock that stands at zero now.
    pub fn start() -> Self {
        Self { start: boot_time() }
    }

    /// Time since the start.
    pub fn now(&self) -> Duration {
        boot_time().saturating_sub(self.start)
    }
}

/// Nanoseconds of CLOCK_BOOTTIME, which programs in the kernel read as well.
pub fn boot_ns() -> u64 {
    boot_time().as_nanos() as u64
}

/// Ticks of the kernel's clock per second (`CONFIG_HZ`): its coarse clocks have the resolution of one.
pub fn ticks_per_second() -> u32 {
    let tick = clock_getres(ClockId::MonotonicCoarse);
    let ns = (tick.tv_sec.unsigned_abs() * 1_000_000_000 + tick.tv_nsec.unsigned_abs()).max(1);
    ((1_000_000_000 + ns / 2) / ns) as u32
}

fn boot_time() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    // Neither is negative: the clock begins with the kernel.
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}
