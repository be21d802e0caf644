//! A total that never falls, remembered as far back as somebody will ask: lines that had entered by a time, or that stand before a
//! place in a line. So what went in comes out after its time, in order, whatever the steps are.

use super::float;
use std::collections::VecDeque;

/// Straight between its points, flat after the last.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    begin: (f64, u64), // of the piece that was asked for last
    end: (f64, u64),
    slope: f64,
    ahead: VecDeque<(f64, u64)>, // points after it; places and values never fall
    last: (f64, u64),
    asked: (f64, u64), // the last place that was asked for, and its value
}

impl Curve {
    /// Zero everywhere.
    pub(super) fn new() -> Self {
        let zero = (0.0, 0);
        let ahead = VecDeque::new();
        Self { begin: zero, end: zero, slope: 0.0, ahead, last: zero, asked: zero }
    }

    /// Rises to `value` at `to`, evenly from `from` on. `from` is not before the last point.
    #[inline]
    pub(super) fn rise(&mut self, from: f64, to: f64, value: u64) {
        if value > self.last.1 {
            if from > self.last.0 {
                self.ahead.push_back((from, self.last.1));
            }
            self.last = (to, value);
            self.ahead.push_back(self.last);
        }
    }

    /// Its value at `place`, rounded down. Places are asked for in order.
    #[inline]
    pub(super) fn at(&mut self, place: f64) -> u64 {
        while place >= self.end.0 {
            if !self.go_on() {
                return self.end.1;
            }
        }
        self.on_piece(place)
    }

    /// The same, and the area between here and the last place asked for, above the value there.
    #[inline]
    pub(super) fn sweep(&mut self, place: f64) -> (u64, f64) {
        let (mut from, base) = self.asked;
        let (mut value, mut area) = (base, 0.0);
        let mut piece = |to: (f64, u64)| {
            area += float(value - base + to.1 - base) * 0.5 * (to.0 - from);
            (from, value) = to;
        };
        while place >= self.end.0 {
            piece(self.end);
            if !self.go_on() {
                break;
            }
        }
        let found = if place < self.end.0 { self.on_piece(place) } else { self.end.1 };
        piece((place, found));
        self.asked = (place, found);
        (found, area)
    }

    #[inline]
    fn on_piece(&self, place: f64) -> u64 {
        self.begin.1 + ((place - self.begin.0) * self.slope) as i64 as u64
    }

    /// The next piece, if there is one.
    #[inline]
    fn go_on(&mut self) -> bool {
        let Some(next) = self.ahead.pop_front() else { return false };
        (self.begin, self.end) = (self.end, next);
        self.slope = float(next.1 - self.begin.1) / (next.0 - self.begin.0);
        true
    }

    /// The highest that it has risen to.
    #[inline]
    pub(super) fn top(&self) -> u64 {
        self.last.1
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
        let mut same = curve.clone();
        let mut area = 0.0;
        let places = [0.0, 100.0, 150.0, 199.0, 200.0, 450.0, 500.0, 550.0, 600.0, 700.0];
        let found = places.map(|place| {
            let before = curve.asked;
            let (value, above) = curve.sweep(place);
            assert_eq!(same.at(place), value);
            area += above + before.1 as f64 * (place - before.0);
            value
        });
        assert_eq!(found, [0, 0, 25, 49, 60, 60, 60, 80, 100, 100]);
        let exact = 25.0 * 100.0 + 60.0 * 300.0 + 80.0 * 100.0 + 100.0 * 100.0;
        assert!((area - exact).abs() < 50.0, "{area}, not {exact}"); // one unit, where it is rounded
        assert!(curve.ahead.is_empty());
    }
}
