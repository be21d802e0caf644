//! Saving what a long simulation has so far, so that whatever kills it leaves that.
//!
//! A simulation is advanced in steps of virtual time that take a moment each; between two of them it may be saved. Where the
//! steps end changes no result.

use crate::surroundings::Surroundings;
use forebay_record::law_logs::LawLogFiles;
use forebay_sim::{Simulation, Watch};
use forebay_units::{Span, Time};
use std::time::Duration;

/// A step takes about this long.
const STEP: Duration = Duration::from_millis(100);
/// No sooner than this after the start or the last time; and so many times as long as saving took.
const EVERY: Duration = Duration::from_secs(2);
const SHARE: u32 = 30;

/// Advances a simulation to its end, `whole` at the latest, and saves it now and then, its law logs after each step.
pub(crate) fn to_the_end(
    simulation: &mut Simulation<'_>,
    whole: Time,
    watch: &Watch,
    around: &dyn Surroundings,
    logs: &LawLogFiles,
) {
    let whole = whole.as_ps();
    let mut step = (whole >> 12).max(1);
    let (mut saved, mut pause, mut refused) = (around.clock(), EVERY, false);
    loop {
        let began = around.clock();
        if simulation.advance(simulation.now() + Span::from_ps(step), watch) {
            return;
        }
        logs.flush();
        let now = around.clock();
        step = next_step(step, now.saturating_sub(began), whole);
        if refused || now.saturating_sub(saved) < pause || !around.may_save() {
            continue;
        }
        if let Err(why) = around.save(&simulation.so_far()) {
            around
                .warn(&format!("{why}; if this run is killed, the seed that it was about is lost"));
            refused = true;
        }
        saved = around.clock();
        pause = EVERY.max(saved.saturating_sub(now) * SHARE);
    }
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
