//! Axes: from values to pixels and to round ticks, by `+ - * /` and the shared logarithm alone.

use crate::human::{sig3, trim};
use forebay_units::math::ln;

/// A linear or logarithmic axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub log: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// One tick: where, and its label; minor ones have none.
pub(super) struct Tick {
    pub value: f64,
    pub label: Option<String>,
}

impl Scale {
    /// From `low` at pixel `from` to `high` at pixel `to`, linear.
    pub fn linear(low: f64, high: f64, from: f64, to: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { log: false, low, high, from, to }
    }

    /// The same, logarithmic; both ends are above zero.
    pub fn log(low: f64, high: f64, from: f64, to: f64) -> Self {
        assert!(low > 0.0, "a logarithmic axis begins above zero");
        let high = if high > low { high } else { low * 10.0 };
        Self { log: true, low, high, from, to }
    }

    /// Pixel of a value; values beyond the ends are drawn at them.
    pub fn px(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let share = if self.log {
            ln(value / self.low) / ln(self.high / self.low)
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    /// Round ticks between the ends; about `wanted` of them on a linear axis.
    pub fn ticks(&self, wanted: usize, label: impl Fn(f64) -> String) -> Vec<Tick> {
        let inside = |v: f64| v >= self.low * (1.0 - 1e-9) && v <= self.high * (1.0 + 1e-9);
        let mut ticks = Vec::new();
        if self.log {
            let decades = ln(self.high / self.low) / core::f64::consts::LN_10;
            for power in -12..=15 {
                for digit in [1.0, 2.0, 5.0] {
                    let value = digit * pow10(power);
                    let named = digit == 1.0 || decades <= 2.6;
                    if inside(value) && (named || decades <= 6.0) {
                        ticks.push(Tick { value, label: named.then(|| label(value)) });
                    }
                }
            }
        } else {
            let step = round_up((self.high - self.low) / wanted.max(1) as f64);
            let mut n = 0;
            while self.low + step * f64::from(n) <= self.high * (1.0 + 1e-9) {
                let value = self.low + step * f64::from(n);
                ticks.push(Tick { value, label: Some(label(value)) });
                n += 1;
            }
        }
        ticks
    }
}

/// Ten to a whole power.
pub(super) fn pow10(power: i32) -> f64 {
    let size = (0..power.unsigned_abs()).fold(1.0, |value, _| value * 10.0);
    if power < 0 { 1.0 / size } else { size }
}

/// The least of 1, 2, 5 times a power of ten that is not below `value`.
pub(super) fn round_up(value: f64) -> f64 {
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

/// A plain number for a tick: `1`, `0.5`, `1000`, `1e6`.
pub(super) fn plain(value: f64) -> String {
    if value.abs() >= 99_999.5 { format!("{value:e}") } else { trim(&sig3(value)).to_string() }
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
        let scale = Scale::log(1.0, 1000.0, 0.0, 300.0);
        for (value, px) in [(1.0, 0.0), (10.0, 100.0), (100.0, 200.0), (5000.0, 300.0)] {
            assert!((scale.px(value) - px).abs() < 1e-9);
        }
        assert_eq!(scale.ticks(5, plain).iter().filter(|t| t.label.is_some()).count(), 4);
    }
}
