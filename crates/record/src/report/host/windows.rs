//! Where a page keeps every sample: short stretches around drops and changes of level.

use crate::memory_series::MemorySample;

/// Samples in a window.
pub(super) const LENGTH: usize = 2_000;

/// A stretch of samples, and what it was kept for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub from: usize,
    pub to: usize,
    pub why: String,
}

/// The windows of a run, in order and apart. Each begins a quarter of its length before what it is kept for.
pub(super) fn windows(samples: &[MemorySample]) -> Vec<Window> {
    let level = |i: usize| samples[i].level;
    let mut rises = (1..samples.len()).filter(|i| level(*i) > level(*i - 1));
    let falls = (1..samples.len()).filter(|i| level(*i) < level(*i - 1));
    let strongest = samples.iter().map(|sample| sample.level).max().unwrap_or(0);
    let first_drop = samples.iter().position(|sample| sample.dropped > 0);
    let most = samples.iter().map(|sample| sample.dropped).max().unwrap_or(0);
    let triggers = [
        (first_drop, "first drop".to_string()),
        (samples.iter().position(|s| most > 0 && s.dropped == most), "most drops".into()),
        (rises.clone().next(), "first throttling".into()),
        (rises.clone().find(|i| level(*i) == strongest), format!("first level {strongest}")),
        (falls.clone().next(), "first easing".into()),
        (rises.next_back(), "last throttling".into()),
        (samples.iter().rposition(|sample| sample.dropped > 0), "last drop".into()),
    ];
    let mut found: Vec<Window> = Vec::new();
    let mut triggers: Vec<(usize, String)> =
        triggers.into_iter().filter_map(|(at, why)| Some((at?, why))).collect();
    triggers.sort_by_key(|trigger| trigger.0);
    for (at, why) in triggers {
        let from = at.saturating_sub(LENGTH / 4);
        let to = (from + LENGTH).min(samples.len());
        match found.last_mut() {
            Some(last) if from < last.to => {
                last.to = to;
                last.why = format!("{}, {why}", last.why);
            }
            _ => found.push(Window { from, to, why }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_hold_their_triggers_and_lie_apart() {
        let mut samples = vec![MemorySample::default(); 100_000];
        for (i, sample) in samples.iter_mut().enumerate() {
            sample.level = if (20_000..70_000).contains(&i) { 2 } else { 0 };
        }
        samples[19_000].dropped = 1;
        samples[90_000].dropped = 5;
        let found = windows(&samples);
        let told: Vec<(usize, usize, &str)> =
            found.iter().map(|w| (w.from, w.to, w.why.as_str())).collect();
        assert_eq!(
            told,
            [
                (18_500, 21_500, "first drop, first throttling, first level 2, last throttling"),
                (69_500, 71_500, "first easing"),
                (89_500, 91_500, "most drops, last drop"),
            ]
        );
        assert!(windows(&samples[..10_000]).is_empty());
    }
}
