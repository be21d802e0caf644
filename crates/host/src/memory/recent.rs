//! What memory served of late: lines per ns, reads and all, over the last [`WINDOW`].

/// Over which time, in ns: as old in the mean as behind the note's filter of 300 (section 2).
const WINDOW: f64 = 600.0;

/// Steps are remembered together that take less in all, in ns.
const GRAIN: f64 = 125.0;

/// Enough of that length for a window, a step, and one each that has begun at either end.
const POINTS: usize = 16;

/// Totals at some instants, for as long as they matter.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    points: [Point; POINTS],
    first: usize, // the last that is before the window
    last: usize,
    next: f64,  // when the one after the first leaves the window
    grown: f64, // when another is due
    now: f64,
    lines: [f64; 2], // until now
    begin: [f64; 2], // what the first and its rates make of time zero
    rates: [f64; 2], // after the first
}

/// Lines until an instant.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    at: f64,
    lines: [f64; 2],
}

impl Recent {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        let first = Point { at: -WINDOW, ..Point::default() };
        let none = [0.0; 2];
        let (next, grown) = (WINDOW, GRAIN);
        let mut points = [first; POINTS];
        points[1] = Point::default();
        Self {
            points,
            first: 0,
            last: 1,
            next,
            grown,
            now: 0.0,
            lines: none,
            begin: none,
            rates: none,
        }
    }

    /// `dt` ns go by.
    #[inline]
    pub(super) fn go_on(&mut self, dt: f64) {
        if self.now >= self.grown {
            self.last = (self.last + 1) % POINTS;
            self.points[self.last] = Point { at: self.now, lines: self.lines };
            self.grown = self.now + GRAIN;
        }
        self.now += dt;
        while self.now >= self.next {
            self.first = (self.first + 1) % POINTS;
            let (from, to) = (&self.points[self.first], &self.points[(self.first + 1) % POINTS]);
            let per = 1.0 / (to.at - from.at);
            self.rates = [0, 1].map(|i| (to.lines[i] - from.lines[i]) * per);
            self.begin = [0, 1].map(|i| from.lines[i] - (from.at + WINDOW) * self.rates[i]);
            self.next = to.at + WINDOW;
        }
    }

    /// In the same time so many reads are served (0), or lines in all (1). Returns how many were per ns of late.
    #[inline]
    pub(super) fn serve<const OF: usize>(&mut self, lines: f64) -> f64 {
        self.lines[OF] += lines;
        (self.lines[OF] - self.begin[OF] - self.now * self.rates[OF]) * (1.0 / WINDOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step function, in steps of several lengths: what is seen is its mean over the last 600 ns, but for what a [`GRAIN`] blurs.
    #[test]
    fn of_late_is_the_last_six_hundred_nanoseconds() {
        for dt in [1.0, 40.0, 97.0, 150.0] {
            let mut recent = Recent::new();
            let (mut now, mut seen) = (0.0, [0.0; 2]);
            let rate = |from: f64, to: f64| (to.min(3_000.0) - from.max(2_000.0)).max(0.0);
            while now < 5_000.0 {
                let lines = rate(now, now + dt);
                now += dt;
                recent.go_on(dt);
                seen = [recent.serve::<0>(lines), recent.serve::<1>(2.0 * lines)];
                let exact = rate(now - 600.0, now) / 600.0;
                assert!((seen[0] - exact).abs() < 0.15, "{dt}, {now}: {seen:?}, not {exact}");
                assert!((seen[1] - 2.0 * seen[0]).abs() < 1e-9);
                let blurs = [2_000.0, 3_000.0].map(|edge| (now - 600.0 - edge).abs() < 300.0);
                assert!(blurs[0] || blurs[1] || (seen[0] - exact).abs() < 1e-9, "{dt}, {now}");
            }
            assert!(seen[0].abs() < 1e-9);
        }
    }
}
