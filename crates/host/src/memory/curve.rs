//! A total that never falls, remembered as far back as somebody will ask: lines that had entered by a time, or that stand before a
//! place in a line. So what went in comes out after its time, in order, whatever the steps are.

use std::collections::VecDeque;

/// Straight between its points, flat after the last.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    points: VecDeque<(f64, u64)>, // never empty; places and values never fall
    asked: (f64, u64),            // the last place that was asked for, and its value
}

impl Curve {
    /// Zero everywhere.
    pub(super) fn new() -> Self {
        Self { points: VecDeque::from([(0.0, 0)]), asked: (0.0, 0) }
    }

    /// Rises to `value` at `to`, evenly from `from` on. `from` is not before the last point.
    #[inline]
    pub(super) fn rise(&mut self, from: f64, to: f64, value: u64) {
        let last = self.points[self.points.len() - 1];
        if value > last.1 {
            if from > last.0 {
                self.points.push_back((from, last.1));
            }
            self.points.push_back((to, value));
        }
    }

    /// Its value at `place`, rounded down, and the area between here and the last place asked for, above the value there. Places are
    /// asked for in order.
    #[inline]
    pub(super) fn at(&mut self, place: f64) -> (u64, f64) {
        let base = self.asked.1;
        let mut area = 0.0;
        while let Some(second) = self.points.get(1).copied() {
            let first = self.points[0];
            if place < second.0 {
                let share = ((place - first.0) / (second.0 - first.0)).max(0.0);
                let value = first.1 + ((second.1 - first.1) as f64 * share) as u64;
                return (value, area + self.go(place, value, base));
            }
            area += self.go(second.0, second.1, base);
            self.points.pop_front();
        }
        let top = self.points[0].1;
        (top, area + self.go(place, top, base))
    }

    /// Straight on to `place`. Returns the area above `base`.
    #[inline]
    fn go(&mut self, place: f64, value: u64, base: u64) -> f64 {
        let last = core::mem::replace(&mut self.asked, (place, value));
        (last.1 + value - 2 * base) as f64 * 0.5 * (place - last.0)
    }

    /// The highest that it has risen to.
    #[inline]
    pub(super) fn top(&self) -> u64 {
        self.points[self.points.len() - 1].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_in_comes_out_in_order_and_all_of_it() {
        let mut curve = Curve::new();
        curve.rise(100.0, 200.0, 50);
        curve.rise(200.0, 200.0, 60);
        curve.rise(300.0, 400.0, 60);
        curve.rise(500.0, 600.0, 100);
        let mut area = 0.0;
        let places = [0.0, 100.0, 150.0, 199.0, 200.0, 450.0, 500.0, 550.0, 600.0, 700.0];
        let found = places.map(|place| {
            let before = curve.asked;
            let (value, above) = curve.at(place);
            area += above + before.1 as f64 * (place - before.0);
            value
        });
        assert_eq!(found, [0, 0, 25, 49, 60, 60, 60, 80, 100, 100]);
        let exact = 25.0 * 100.0 + 60.0 * 300.0 + 80.0 * 100.0 + 100.0 * 100.0;
        assert!((area - exact).abs() < 50.0, "{area}, not {exact}"); // one unit, where it is rounded
        assert_eq!(curve.points.len(), 1);
    }
}
