//! Axes: from values to pixels and to round ticks, by `+ - * /` and the shared logarithm alone.

use crate::human::{sig3, trim};
use forebay_units::math::ln;

/// What an axis spans, linear or logarithmic.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    log: bool,
    low: f64,
    high: f64,
}

/// An axis and the pixels that it runs over.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    axis: Axis,
    from: f64,
    to: f64,
}

/// One tick: where, and its label; minor ones have none.
pub struct Tick {
    /// Where.
    pub value: f64,
    /// What is written beside it.
    pub label: Option<String>,
}

impl Axis {
    /// A linear axis from `low` to `high`.
    pub const fn linear(low: f64, high: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { log: false, low, high }
    }

    /// A logarithmic axis from `low` to `high`, both above zero.
    ///
    /// # Panics
    /// Unless `low` is above zero.
    pub const fn log(low: f64, high: f64) -> Self {
        assert!(low > 0.0, "a logarithmic axis begins above zero");
        let high = if high > low { high } else { low * 10.0 };
        Self { log: true, low, high }
    }

    /// Whether equal distances are equal ratios.
    pub const fn is_log(&self) -> bool {
        self.log
    }

    /// The axis over pixels: its low end at `from`, its high end at `to`.
    pub fn over(self, from: f64, to: f64) -> Scale {
        Scale { axis: self, from, to }
    }

    /// Place of a value as a share of the axis; values beyond the ends are drawn at them.
    pub fn share(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        if self.log {
            ln(value / self.low) / ln(self.high / self.low)
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    /// Round ticks between the ends; about `wanted` of them on a linear axis, and on one so short that 1, 2 and 5 would be less than three.
    pub fn ticks(&self, wanted: usize, label: impl Fn(f64) -> String) -> Vec<Tick> {
        let ticks = if self.log { self.decades(&label) } else { Vec::new() };
        if ticks.len() < 3 && self.high > self.low { self.steps(wanted, &label) } else { ticks }
    }

    fn decades(&self, label: &impl Fn(f64) -> String) -> Vec<Tick> {
        let inside = |v: f64| v >= self.low * (1.0 - 1e-9) && v <= self.high * (1.0 + 1e-9);
        let decades = ln(self.high / self.low) / core::f64::consts::LN_10;
        let mut ticks = Vec::new();
        for power in -12..=15 {
            for digit in [1.0, 2.0, 5.0] {
                let value = digit * pow10(power);
                let named = digit == 1.0 || decades <= 2.6;
                if inside(value) && (named || decades <= 6.0) {
                    ticks.push(Tick { value, label: named.then(|| label(value)) });
                }
            }
        }
        ticks
    }

    fn steps(&self, wanted: usize, label: &impl Fn(f64) -> String) -> Vec<Tick> {
        let step = round_up((self.high - self.low) / wanted.max(1) as f64);
        let first = (self.low / step * (1.0 - 1e-9)).ceil();
        let count = ((self.high / step) * (1.0 + 1e-9) - first).floor() as u32;
        let tick = |n: u32| {
            let value = (first + f64::from(n)) * step;
            Tick { value, label: Some(label(value)) }
        };
        (0..=count).map(tick).collect()
    }
}

impl Scale {
    /// Pixel of a value; values beyond the ends are drawn at them.
    pub fn px(&self, value: f64) -> f64 {
        self.from + self.axis.share(value) * (self.to - self.from)
    }

    /// Ticks of its axis.
    pub fn ticks(&self, wanted: usize, label: impl Fn(f64) -> String) -> Vec<Tick> {
        self.axis.ticks(wanted, label)
    }
}

/// Ten to a whole power.
pub fn pow10(power: i32) -> f64 {
    let size = (0..power.unsigned_abs()).fold(1.0, |value, _| value * 10.0);
    if power < 0 { 1.0 / size } else { size }
}

/// The least of 1, 2, 5 times a power of ten that is not below `value`.
pub fn round_up(value: f64) -> f64 {
    for power in -15..=18 {
        for digit in [1.0, 2.0, 5.0] {
            let round = digit * pow10(power);
            if round >= value * (1.0 - 1e-9) {
                return round;
            }
        }
    }
    value
}

/// The least multiple of a quarter of a round number that is not below `value`: the end of an axis.
pub fn quarters(value: f64) -> f64 {
    let step = round_up(value) / 4.0;
    (value / step).ceil() * step
}

/// A number as a tick has it: `1`, `0.5`, `1000`, `20k`, `3M`, `1e-5`.
pub fn plain(value: f64) -> String {
    match value.abs() {
        v if v >= 999.5e6 => format!("{value:e}"),
        v if v >= 999.5e3 => format!("{}M", trim(&sig3(value / 1e6))),
        v if v >= 9_999.5 => format!("{}k", trim(&sig3(value / 1e3))),
        v if v > 0.0 && v < 0.999_5e-3 => format!("{value:.0e}"),
        _ => trim(&sig3(value)).to_string(),
    }
}

/// Divisor and name of the unit that suits a time axis that ends at so many microseconds.
pub fn time_unit(end_us: f64) -> (f64, &'static str) {
    match end_us {
        e if e >= 2e6 => (1e6, "s"),
        e if e >= 2e3 => (1e3, "ms"),
        e if e >= 2.0 => (1.0, "µs"),
        _ => (1e-3, "ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_number_is_close_above() {
        for i in 1..5_000 {
            let value = f64::from(i) * 0.0371;
            let up = round_up(value);
            assert!(value <= up * (1.0 + 1e-9) && up <= value * 2.5 + 1e-9, "{value} {up}");
        }
    }

    #[test]
    fn a_decade_is_as_long_as_another() {
        let scale = Axis::log(1.0, 1000.0).over(0.0, 300.0);
        for (value, px) in [(1.0, 0.0), (10.0, 100.0), (100.0, 200.0), (5000.0, 300.0)] {
            assert!((scale.px(value) - px).abs() < 1e-9);
        }
        assert_eq!(Axis::linear(0.0, 100.0).share(25.0), 0.25);
        assert_eq!(Axis::log(0.01, 1.0).share(0.0), 0.0, "what is less stands on the floor");
    }

    #[test]
    fn ticks_are_round_and_within() {
        let names = |axis: Axis| -> Vec<String> {
            axis.ticks(6, plain).into_iter().filter_map(|tick| tick.label).collect()
        };
        assert_eq!(names(Axis::linear(0.0, 100.0)), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(names(Axis::linear(40.0, 100.0)), ["40", "50", "60", "70", "80", "90", "100"]);
        assert_eq!(names(Axis::linear(-3.0, 5.0)), ["-2", "0", "2", "4"]);
        assert_eq!(
            names(Axis::linear(0.0, 0.3)),
            ["0", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3"]
        );
        assert_eq!(names(Axis::log(0.001, 1.0)), ["0.001", "0.01", "0.1", "1"]);
        assert_eq!(names(Axis::log(1e-5, 1e-2)), ["1e-5", "1e-4", "0.001", "0.01"]);
        assert_eq!(names(Axis::log(0.3, 12.0)), ["0.5", "1", "2", "5", "10"]);
        assert_eq!(names(Axis::log(21.0, 50.0)), ["25", "30", "35", "40", "45", "50"]);
        assert_eq!(names(Axis::log(1e3, 1e6)), ["1000", "10k", "100k", "1M"]);
    }
}
