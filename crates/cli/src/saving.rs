//! Saving what a long simulation has so far, so that whatever kills it leaves that.
//!
//! A simulation is advanced in steps of virtual time that take a moment each; between two of them it may be saved. Where the
//! steps end changes no result.

use crate::machine::free_memory;
use crate::{check, clock, say};
use forebay_record::{About, save};
use forebay_scenario::model::Scenario;
use forebay_sim::{Simulation, Watch};
use forebay_units::Span;
use std::path::Path;
use std::time::{Duration, Instant};

/// A step takes about this long.
const STEP: Duration = Duration::from_millis(100);
/// No sooner than this after the start or the last time; and so many times as long as saving took.
const EVERY: Duration = Duration::from_secs(2);
const SHARE: u32 = 30;

/// Advances a simulation to its end and saves it now and then.
pub fn to_the_end(
    simulation: &mut Simulation<'_>,
    scenario: &Scenario,
    watch: &Watch,
    dir: &Path,
    about: &About,
) {
    let whole = scenario.stop.time.as_ps();
    let mut step = (whole >> 12).max(1);
    let (mut saved, mut pause, mut refused) = (clock::now(), EVERY, false);
    loop {
        let began = clock::now();
        if simulation.advance(simulation.now() + Span::from_ps(step), watch) {
            return;
        }
        step = next_step(step, began.elapsed(), whole);
        if refused || saved.elapsed() < pause || !fits_twice() {
            continue;
        }
        let began = clock::now();
        if let Err(error) = save(dir, about, &simulation.so_far()) {
            say::warning(&format!(
                "{}; if this run is killed, the seed that it was about is lost",
                say::without_os_error(&error.to_string())
            ));
            refused = true;
        }
        (saved, pause) = (clock::now(), EVERY.max(took(began) * SHARE));
    }
}

fn took(began: Instant) -> Duration {
    began.elapsed()
}

/// A longer step after a short one and the other way round.
fn next_step(step: u64, took: Duration, whole: u64) -> u64 {
    let step = if took < STEP / 2 {
        step.saturating_mul(2)
    } else if took > STEP * 2 {
        step / 2
    } else {
        step
    };
    step.clamp(1, (whole >> 4).max(1))
}

/// While a simulation is saved, its nodes are in memory twice, and their rows beside them.
fn fits_twice() -> bool {
    match (check::resident_bytes(), free_memory()) {
        (Some(used), Some(free)) => free > 2.0 * used as f64,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_the_pace() {
        assert_eq!(next_step(100, Duration::ZERO, 1 << 20), 200);
        assert_eq!(next_step(100, STEP, 1 << 20), 100);
        assert_eq!(next_step(100, STEP * 3, 1 << 20), 50);
        assert_eq!(next_step(100, Duration::ZERO, 1 << 10), 64);
        assert_eq!(next_step(1, STEP * 3, 0), 1);
    }
}
