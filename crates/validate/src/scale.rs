//! Vertical axes: where values stand, and which numbers are written beside them.

/// What a vertical axis spans.
#[derive(Clone, Copy)]
pub(crate) enum Scale {
    /// From zero to this.
    Linear(f64),
    /// Powers of ten, and between them 2 and 5 if they are few; what is less stands on the floor.
    Log(f64, f64),
}

impl Scale {
    /// Height of a value as a share of the axis.
    pub fn share(self, value: f64) -> f64 {
        let share = match self {
            Self::Linear(top) => value / top,
            Self::Log(low, high) => (value.max(low).log10() - low.log10()) / (high / low).log10(),
        };
        share.clamp(0.0, 1.0)
    }

    /// Round values across the axis: the share at which each stands, and how it is written.
    pub fn ticks(self) -> Vec<(f64, String)> {
        let tick = |value| (self.share(value), short(value));
        match self {
            Self::Linear(top) => {
                let step = step(top);
                let count = (top / step).floor() as i32;
                (0..=count).map(|i| tick(f64::from(i) * step)).collect()
            }
            Self::Log(low, high) => {
                let few = high / low < 300.0;
                let steps: &[f64] = if few { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let (from, to) = (low.log10().floor() as i32, high.log10().ceil() as i32);
                let all = (from..=to).flat_map(|p| steps.iter().map(move |m| m * 10f64.powi(p)));
                all.filter(|value| (low * 0.999..=high * 1.001).contains(value)).map(tick).collect()
            }
        }
    }
}

/// A round step that parts this span into six or fewer.
pub(crate) fn step(span: f64) -> f64 {
    let rough = span / 6.0;
    let power = 10f64.powi(rough.log10().floor() as i32);
    [1.0, 2.0, 5.0].map(|m| m * power).into_iter().find(|s| *s >= rough).unwrap_or(10.0 * power)
}

/// A number as an axis shows it.
fn short(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match value {
        _ if value >= 1e6 => format!("{}M", short(value / 1e6)),
        _ if value >= 1e4 => format!("{}k", short(value / 1e3)),
        _ if value > 0.0 && value < 1e-3 => format!("{value:.0e}"),
        _ => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_the_axis_says() {
        assert_eq!(Scale::Linear(100.0).share(25.0), 0.25);
        assert_eq!(Scale::Log(0.01, 1.0).share(0.1), 0.5);
        assert_eq!(Scale::Log(0.01, 1.0).share(0.0), 0.0);
        assert_eq!(Scale::Linear(10.0).share(11.0), 1.0);
    }

    #[test]
    fn ticks_are_round_and_within() {
        let names =
            |scale: Scale| -> Vec<String> { scale.ticks().into_iter().map(|t| t.1).collect() };
        assert_eq!(names(Scale::Linear(100.0)), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(names(Scale::Log(0.001, 1.0)), ["0.001", "0.01", "0.1", "1"]);
        assert_eq!(names(Scale::Log(1e-5, 1e-2)), ["1e-5", "1e-4", "0.001", "0.01"]);
        assert_eq!(names(Scale::Log(0.3, 12.0)), ["0.5", "1", "2", "5", "10"]);
    }
}
