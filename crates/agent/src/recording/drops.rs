//! A host law over a recording's NIC drops, signs of slow cores, and memory bytes.

use super::stacks::{LEVELS, WRITE};
use super::what_if::{Course, Run};
use crate::law::settings;
use crate::sense::drops::{Sums, WANTED};
use crate::sense::inputs::COUNTERS;
use forebay_laws::host::{HostStart, Reading, Signal};
use forebay_laws::params::ParamError;
use forebay_record::signals::SignalRow;
use forebay_units::Time;
use std::collections::BTreeMap;

/// A recording as a law of drops sees it: readings at the end of each round.
#[derive(Debug)]
pub struct RecordedRounds {
    rounds: Vec<(Time, [u64; 3])>,
}

impl RecordedRounds {
    /// The rounds of a recording.
    ///
    /// # Errors
    /// The first signal that none of its counters is part of.
    pub fn new(rows: &[SignalRow]) -> Result<Self, Signal> {
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut names = Vec::new();
        for row in rows {
            numbers.entry(&row.event).or_insert_with(|| {
                names.push(row.event.as_str());
                names.len() - 1
            });
        }
        let bits = |name: &str| if name.starts_with("softnet.") { 32 } else { 64 };
        let mut sums = Sums::new(names.iter().map(|name| (*name, bits(name))), &[])?;
        let mut rounds: Vec<(Time, [u64; 3])> = Vec::new();
        for row in rows {
            sums.add(numbers[row.event.as_str()], row.raw);
            match rounds.last_mut() {
                Some((now, last)) if *now == row.now => *last = sums.values(),
                _ => rounds.push((row.now, sums.values())),
            }
        }
        Ok(Self { rounds })
    }

    /// How many there are.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// What was dropped, the signs of slow cores, and the mean rate of memory in Gb/s.
    pub fn totals(&self) -> (u64, u64, f64) {
        let ends = self.rounds.first().zip(self.rounds.last());
        ends.map_or((0, 0, 0.0), |((begin, from), (end, to))| {
            let seconds = end.since(*begin).as_secs_f64().max(1e-12);
            (to[0] - from[0], to[1] - from[1], (to[2] - from[2]) as f64 * 8e-9 / seconds)
        })
    }

    /// A law over the rounds.
    ///
    /// # Errors
    /// If there is no such law, or it has no such parameter, or the parameter no such value.
    pub fn under(&self, law: &str, set: &[(String, String)]) -> Result<Course, ParamError> {
        let (first, last) = match (self.rounds.first(), self.rounds.last()) {
            (Some((first, _)), Some((last, _))) => (*first, *last),
            _ => (Time::ZERO, Time::ZERO),
        };
        let period = last.since(first) / (self.rounds.len() as u64).saturating_sub(1).max(1);
        let set = set.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let params = settings::params(law, set, period)?;
        let (write, read) = (COUNTERS, COUNTERS);
        let at = HostStart { write, read, max_level: LEVELS, period, seed: 0 };
        let mut run = Run::start(&params, first, at, WRITE);
        for (now, sums) in &self.rounds {
            for (signal, raw) in WANTED.iter().zip(sums) {
                run.feed(*now, signal.event(Reading { at: *now, raw: *raw }));
            }
        }
        Ok(run.course().clone())
    }
}
