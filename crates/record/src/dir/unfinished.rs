//! What is there of a run that has not come to its end.

use forebay_units::Time;
use std::fmt;

/// What a run has that is at work, or was killed, or could not write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Whether somebody still writes it.
    pub at_work: bool,
    /// Seeds that are whole.
    pub whole: Vec<u64>,
    /// Seeds that are there in part, and until when.
    pub cut: Vec<(u64, Time)>,
    /// Seeds that are not there.
    pub missing: Vec<u64>,
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.at_work {
            true => "belongs to a run that is still at work",
            false => "is what is left of a run that did not end (killed, out of memory, or no room to write)",
        })?;
        let all = self.whole.len() + self.cut.len() + self.missing.len();
        let seeds = if all == 1 { "seed" } else { "seeds" };
        write!(f, ": {} of {all} {seeds} complete", self.whole.len())?;
        for (seed, end) in &self.cut {
            write!(f, ", seed {seed} until {:.3} us", end.as_ps() as f64 / 1e6)?;
        }
        let missing: Vec<String> = self.missing.iter().map(u64::to_string).collect();
        match missing.as_slice() {
            [] => Ok(()),
            [one] => write!(f, ", seed {one} missing"),
            all => write!(f, ", seeds {} missing", all.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_by_seed() {
        let wreck = Unfinished {
            at_work: false,
            whole: vec![1],
            cut: vec![(2, Time::from_ps(1_500_000))],
            missing: vec![3, 7],
        };
        assert!(
            wreck
                .to_string()
                .ends_with(": 1 of 4 seeds complete, seed 2 until 1.500 us, seeds 3, 7 missing")
        );
        let one = Unfinished { whole: vec![], cut: vec![], missing: vec![9], at_work: true };
        assert_eq!(
            one.to_string(),
            "belongs to a run that is still at work: 0 of 1 seed complete, seed 9 missing"
        );
    }
}
