//! Numbers of a comparison as text.

use super::{Cell, MetricValues, PairedDifference};
use forebay_units::human::{self, sig2};

/// A share as people read a change: `+14 %`, `-88 %`, `+1,200 %`.
pub(super) fn change(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".into(),
        percent if percent.abs() < 0.05 => "0.0 %".into(),
        percent if percent.abs() < 9.95 => format!("{percent:+.1} %"),
        percent if percent >= 999.5 => format!("+{} %", human::count(percent as u64)),
        percent => format!("{percent:+.0} %"),
    }
}

/// The difference of a cell as a share; nothing where the first run has zero, since the value says it.
pub(super) fn difference(against: &PairedDifference) -> String {
    against.share.map_or(String::new(), change)
}

/// The parts that are not empty, a space between them.
pub(super) fn spaced(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(" ")
}

/// The interval of the difference likewise.
pub(super) fn interval(measured: &MetricValues, against: &PairedDifference) -> Option<String> {
    let [low, high] = match (against.ci95_share, against.share) {
        (Some(ends), _) => ends.map(change),
        // One of the runs has nothing of it: the other end of the scale is all of it, or more than that.
        (None, Some(share)) => {
            let scale = share / against.difference;
            against.ci95?.map(|end| change(end * scale))
        }
        (None, None) => against.ci95?.map(measured.write),
    };
    // One unit is enough where both ends have the same.
    let low = match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => number,
        _ => &low,
    };
    Some(format!("{low} to {high}"))
}

/// A value.
pub(super) fn value(measured: &MetricValues, cell: &Cell) -> String {
    let text = cell.estimate.mean.map_or("-".into(), measured.write);
    if cell.censored { text + "*" } else { text }
}

/// The effect size, where there is one.
pub(super) fn effect(against: &PairedDifference) -> Option<String> {
    against.effect.map(|effect| match effect.abs() {
        e if e >= 99.5 => ">99".into(),
        e => sig2(e),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_signed() {
        for (share, text) in [
            (0.137, "+14 %"),
            (-0.745, "-74 %"),
            (0.028, "+2.8 %"),
            (12.0, "+1,200 %"),
            (0.0, "0 %"),
        ] {
            assert_eq!(change(share), text);
        }
    }
}
