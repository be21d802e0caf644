//! A total that never falls, kept as far back as queries reach: lines that had entered by a time, or that stand before a
//! place in a line. So what went in comes out after its time, in order, whatever the steps are.

use super::{float, whole};
use std::collections::VecDeque;

/// Straight between its points, flat after the last.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    begin: (f64, u64), // of the piece that was queried last
    end: (f64, u64),
    slope: f64,
    ahead: VecDeque<(f64, u64)>, // points after it; places and values never fall
    last: (f64, u64),
    queried: (f64, u64), // the last place, and its value
}

impl Curve {
    /// Zero everywhere.
    pub(super) fn new() -> Self {
        Self::of(VecDeque::new())
    }

    fn of(ahead: VecDeque<(f64, u64)>) -> Self {
        let zero = (0.0, 0);
        Self { begin: zero, end: zero, slope: 0.0, ahead, last: zero, queried: zero }
    }

    /// Zero everywhere again.
    pub(super) fn clear(&mut self) {
        self.ahead.clear();
        *self = Self::of(std::mem::take(&mut self.ahead));
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

    /// Rises by `more` from `from` to `to`, evenly, beside what it rises there already. `from` is not before the last place queried.
    #[inline]
    pub(super) fn add(&mut self, from: f64, to: f64, more: u64) {
        debug_assert!(from >= self.begin.0);
        match from >= self.last.0 {
            true => self.rise(from, to, self.last.1 + more),
            false => self.add_before_end(from, to, more),
        }
    }

    #[inline(never)]
    fn add_before_end(&mut self, from: f64, to: f64, more: u64) {
        self.mark(from);
        self.mark(to);
        let per = float(more) / (to - from);
        for point in self.ahead.iter_mut().filter(|point| point.0 > from) {
            point.1 += if point.0 < to { ((point.0 - from) * per) as u64 } else { more };
        }
        self.last = self.ahead.back().copied().unwrap_or(self.end);
    }

    /// Has a point at `place`.
    fn mark(&mut self, place: f64) {
        if place < self.end.0 {
            let value = self.on_piece(place);
            self.ahead.push_front(self.end);
            self.end = (place, value);
            return;
        }
        let after = self.ahead.partition_point(|point| point.0 <= place);
        let value = match self.ahead.get(after) {
            None => self.last.1,
            Some(next) => {
                let before = if after == 0 { self.end } else { self.ahead[after - 1] };
                let share = (place - before.0) / (next.0 - before.0);
                before.1 + (float(next.1 - before.1) * share) as u64
            }
        };
        self.ahead.insert(after, (place, value));
    }

    /// Applies `to` to the values. The new values must not fall either.
    pub(super) fn map(&self, to: impl Fn(u64) -> u64) -> Self {
        let at = |point: (f64, u64)| (point.0, to(point.1));
        let (begin, end) = (at(self.begin), at(self.end));
        let ahead = self.ahead.iter().map(|point| at(*point)).collect();
        let slope = float(end.1 - begin.1) / (end.0 - begin.0).max(1e-9);
        Self { begin, end, slope, ahead, last: at(self.last), queried: at(self.queried) }
    }

    /// From where to where it rises after `place`, which is not before the last place queried, and by how much.
    pub(super) fn pieces(&self, place: f64) -> impl Iterator<Item = (f64, f64, u64)> {
        let mut last = (place, if place < self.end.0 { self.on_piece(place) } else { self.end.1 });
        [self.end].into_iter().chain(self.ahead.iter().copied()).filter(move |to| to.0 > place).map(
            move |to| {
                let from = std::mem::replace(&mut last, to);
                (from.0, to.0, to.1 - from.1)
            },
        )
    }

    /// Value at `place`, rounded. Places are queried in order.
    #[inline]
    pub(super) fn at(&mut self, place: f64) -> u64 {
        while place >= self.end.0 {
            if !self.go_on() {
                return self.end.1;
            }
        }
        self.on_piece(place)
    }

    /// Value at `place`, and the area between `place` and the last place queried, above the value there.
    #[inline]
    pub(super) fn sweep(&mut self, place: f64) -> (u64, f64) {
        let (mut from, base) = self.queried;
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
        self.queried = (place, found);
        (found, area)
    }

    #[inline]
    fn on_piece(&self, place: f64) -> u64 {
        self.begin.1 + whole((place - self.begin.0) * self.slope)
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
            let before = curve.queried;
            let (value, above) = curve.sweep(place);
            assert_eq!(same.at(place), value);
            area += above + before.1 as f64 * (place - before.0);
            value
        });
        assert_eq!(found, [0, 0, 25, 50, 60, 60, 60, 80, 100, 100]);
        let exact = 25.0 * 100.0 + 60.0 * 300.0 + 80.0 * 100.0 + 100.0 * 100.0;
        assert!((area - exact).abs() < 50.0, "{area}, not {exact}"); // one unit, where it is rounded
        assert!(curve.ahead.is_empty());
    }

    #[test]
    fn what_is_added_before_the_end_is_beside_what_is_there() {
        let (mut one, mut other, mut both) = (Curve::new(), Curve::new(), Curve::new());
        for curve in [&mut one, &mut both] {
            curve.rise(100.0, 200.0, 5_000);
            curve.rise(200.0, 400.0, 9_000);
            curve.rise(500.0, 600.0, 9_800);
        }
        for of in [&mut one, &mut both] {
            assert_eq!(of.at(150.0), 2_500);
        }
        for (from, to, more) in
            [(160.0, 190.0, 300), (150.0, 450.0, 6_000), (300.0, 900.0, 600), (900.0, 950.0, 7)]
        {
            both.add(from, to, more);
            let mut alone = Curve::new();
            alone.add(from, to, more);
            // By hand: the sum of what was added, place by place.
            other.add(from, to, more);
            assert_eq!(alone.at(to), more);
        }
        for place in (150..1_000).step_by(7) {
            let place = f64::from(place);
            let (sum, found) = (one.at(place) + other.at(place), both.at(place));
            assert!(found.abs_diff(sum) < 4, "{place}: {found}, not {sum}");
        }
        let all: u64 = both.pieces(990.0).map(|piece| piece.2).sum();
        assert_eq!((both.top(), all), (9_800 + 6_907, 0));
    }
}
