//! How fast the work goes now.

use std::collections::VecDeque;

/// Recent samples of how far the work was.
#[derive(Debug, Default)]
pub struct Pace {
    /// Seconds since the start, share done, packet-hops.
    samples: VecDeque<(f64, f64, f64)>,
}

/// The pace is taken over this share of the time gone, and over this many seconds at least.
const SHARE: f64 = 0.3;
const AT_LEAST: f64 = 3.0;
/// Least share of the work for a forecast that can be trusted.
const TOO_SOON: f64 = 0.3;

impl Pace {
    /// A new sample.
    pub fn add(&mut self, seconds: f64, fraction: f64, hops: f64) {
        if self.samples.is_empty() {
            self.samples.push_back((0.0, 0.0, 0.0));
        }
        self.samples.push_back((seconds, fraction, hops));
        let reach = (seconds * SHARE).max(AT_LEAST);
        while self.samples.len() > 2 && self.samples[1].0 < seconds - reach {
            self.samples.pop_front();
        }
    }

    fn spread(&self) -> Option<(f64, f64, f64)> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        let seconds = last.0 - first.0;
        (seconds > 0.0).then_some((seconds, last.1 - first.1, last.2 - first.2))
    }

    /// Packet-hops per second.
    pub fn hops_per_s(&self) -> Option<f64> {
        self.spread().map(|(seconds, _, hops)| hops.max(0.0) / seconds)
    }

    /// Seconds until all is done, at this pace.
    pub fn seconds_left(&self, fraction: f64) -> Option<f64> {
        let (seconds, gained, _) = self.spread()?;
        let soon = self.samples.back().is_some_and(|last| last.0 < TOO_SOON);
        (!soon && gained > 1e-6).then(|| (1.0 - fraction).max(0.0) * seconds / gained)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_pace_predicts_the_end() {
        let mut pace = Pace::default();
        for tenth in 1..=50 {
            let s = f64::from(tenth) / 10.0;
            pace.add(s, s / 20.0, s * 1e6);
        }
        assert!((pace.seconds_left(0.25).unwrap() - 15.0).abs() < 1e-6);
        assert!((pace.hops_per_s().unwrap() - 1e6).abs() < 1.0);
    }

    #[test]
    fn a_change_of_pace_is_followed() {
        let mut pace = Pace::default();
        for second in 1..=100 {
            let s = f64::from(second);
            let done = if s < 50.0 { s * 0.001 } else { 0.05 + (s - 50.0) * 0.01 };
            pace.add(s, done, 0.0);
        }
        let left = pace.seconds_left(0.55).unwrap();
        assert!((40.0..50.0).contains(&left), "{left}");
    }

    #[test]
    fn nothing_is_predicted_from_nothing() {
        assert_eq!(Pace::default().seconds_left(0.0), None);
        let mut pace = Pace::default();
        pace.add(5.0, 0.0, 0.0);
        assert_eq!(pace.seconds_left(0.0), None);
    }
}
