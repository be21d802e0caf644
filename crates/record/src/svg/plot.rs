//! A plot: a frame, two scales, and what stands in it.

use super::canvas::{commands, tenths};
use super::{Axis, Canvas, Scale, Tick, WIDTH, text_width};

/// Pixels that the axes of a plot enclose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Left end.
    pub left: f64,
    /// Upper end.
    pub top: f64,
    /// Right end.
    pub right: f64,
    /// Lower end.
    pub bottom: f64,
}

/// Between the frames of a row.
const GAP: f64 = 84.0;

impl Frame {
    /// From `left` to `margin` before the right end of a picture that stands alone, `high` from `top` on.
    pub const fn across(left: f64, margin: f64, top: f64, high: f64) -> Self {
        Self { left, top, right: WIDTH - margin, bottom: top + high }
    }

    /// As many frames side by side, in place of this one.
    pub fn abreast(self, count: usize) -> impl Iterator<Item = Self> {
        let wide = (self.width() - GAP * (count as f64 - 1.0)) / count as f64;
        (0..count).map(move |i| {
            let left = self.left + i as f64 * (wide + GAP);
            Self { left, right: left + wide, ..self }
        })
    }

    /// The frame, so much lower.
    pub fn lower(self, by: f64) -> Self {
        Self { top: self.top + by, bottom: self.bottom + by, ..self }
    }

    /// Width of the frame.
    pub fn width(self) -> f64 {
        self.right - self.left
    }

    /// Horizontal middle of the frame.
    pub fn middle(self) -> f64 {
        (self.left + self.right) / 2.0
    }
}

/// A plot that is being drawn.
pub struct Plot {
    /// Shapes so far.
    pub canvas: Canvas,
    /// What the axes enclose.
    pub frame: Frame,
    /// Where the picture ends on the right: labels stay before it.
    pub edge: f64,
    /// From values to pixels, left to right.
    pub x: Scale,
    /// From values to pixels, bottom to top.
    pub y: Scale,
}

impl Plot {
    /// An empty plot in a picture that ends at `edge`.
    pub fn new(frame: Frame, edge: f64, x: Axis, y: Axis) -> Self {
        let (x, y) = (x.over(frame.left, frame.right), y.over(frame.bottom, frame.top));
        Self { canvas: Canvas::default(), frame, edge, x, y }
    }

    /// Draws grid, ticks and titles. The title of y stands above the plot, that of x below it.
    pub fn axes(&mut self, x: &[Tick], y: &[Tick], x_title: &str, y_title: &str) {
        self.upright(y, y_title);
        let Frame { left, right, bottom, .. } = self.frame;
        self.canvas.raw("<g class=\"ticks\">");
        for tick in x {
            let at = self.x.px(tick.value);
            let length = if tick.label.is_some() { 6.0 } else { 3.0 };
            self.canvas.rule((at, bottom), (at, bottom + length), "axis");
            self.below(at, tick.label.as_deref().unwrap_or_default());
        }
        self.canvas.raw("</g>");
        self.canvas.rule((left, bottom), (right, bottom), "axis");
        self.canvas.text((self.frame.middle(), bottom + 42.0), "title mid", x_title);
    }

    /// Draws the grid and its labels, and the title of y above them.
    pub fn upright(&mut self, ticks: &[Tick], title: &str) {
        let Frame { left, right, top, .. } = self.frame;
        for tick in ticks {
            let at = self.y.px(tick.value);
            let class = if tick.label.is_some() { "grid" } else { "minor" };
            self.canvas.rule((left, at), (right, at), class);
            let label = tick.label.as_deref().unwrap_or_default();
            self.canvas.text((left - 8.0, at + 4.0), "tick end", label);
        }
        self.canvas.text((left - 42.0, top - 12.0), "title", title);
    }

    /// Ticks whose labels do not lie on one another: the first and the last keep theirs, and of the others those that have room.
    pub fn without_overlaps(&self, mut ticks: Vec<Tick>) -> Vec<Tick> {
        const APART: f64 = 8.0;
        let place = |tick: &Tick| {
            let (at, wide) = (self.x.px(tick.value), text_width(tick.label.as_deref()?));
            let left =
                if at + wide * 0.57 > self.edge { self.edge - wide } else { at - wide / 2.0 };
            Some((left, left + wide))
        };
        let places: Vec<Option<(f64, f64)>> = ticks.iter().map(place).collect();
        let mut kept: Vec<(f64, f64)> = Vec::new();
        let last = ticks.len().saturating_sub(1);
        for i in [0, last].into_iter().chain(1..last) {
            let Some((left, right)) = places.get(i).copied().flatten() else { continue };
            let free = |other: &(f64, f64)| right + APART <= other.0 || other.1 + APART <= left;
            match kept.iter().all(free) {
                true => kept.push((left, right)),
                // The only tick is its own last one.
                false if i == 0 && last == 0 => {}
                false => ticks[i].label = None,
            }
        }
        ticks
    }

    /// Writes a label below the axis; one that would leave the picture ends at its edge.
    pub fn below(&mut self, at: f64, label: &str) {
        let y = self.frame.bottom + 19.0;
        match at + text_width(label) * 0.57 > self.edge {
            true => self.canvas.text((self.edge - 1.0, y), "tick end", label),
            false => self.canvas.text((at, y), "tick mid", label),
        }
    }

    /// Draws a line through points in values; a gap wherever there is none.
    pub fn line(&mut self, points: &[Option<(f64, f64)>], class: &str) {
        let (x, y) = (self.x, self.y);
        let parts = points.split(Option::is_none);
        let path: String = parts
            .filter_map(|part| commands(part.iter().flatten().map(|at| (x.px(at.0), y.px(at.1)))))
            .collect();
        if !path.is_empty() {
            self.canvas.shape(&path, class, "");
        }
    }

    /// Fills the area between two values at each x. Stretches where both are equal have no area and are not drawn.
    pub fn band(&mut self, points: &[(f64, f64, f64)], class: &str) {
        let (x, y) = (self.x, self.y);
        let open = |(_, low, high): &(f64, f64, f64)| tenths(y.px(*low)) != tenths(y.px(*high));
        let parts = points.chunk_by(|a, b| open(a) || open(b)).filter(|part| part.len() > 1);
        let filled = |part: &[(f64, f64, f64)]| {
            let upper = part.iter().map(|(at, _, high)| (x.px(*at), y.px(*high)));
            let lower = part.iter().rev().map(|(at, low, _)| (x.px(*at), y.px(*low)));
            commands(upper.chain(lower)).map(|path| path + "Z")
        };
        let path: String = parts.filter_map(filled).collect();
        if !path.is_empty() {
            self.canvas.shape(&path, class, "");
        }
    }

    /// Draws a dot with a ring of the background, so that dots on dots stay apart.
    pub fn dot(&mut self, x: f64, y: f64, class: &str) {
        self.canvas.dot((self.x.px(x), self.y.px(y)), class, "");
    }

    /// Draws a level to compare with, across the plot.
    pub fn level(&mut self, value: f64, class: &str) {
        let at = self.y.px(value);
        self.canvas.rule((self.frame.left, at), (self.frame.right, at), class);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_abreast_fill_the_width_with_gaps_between_them() {
        let all = Frame::across(60.0, 42.0, 10.0, 200.0);
        let three: Vec<Frame> = all.abreast(3).collect();
        assert_eq!((three[0].left, three[2].right), (60.0, WIDTH - 42.0));
        for pair in three.windows(2) {
            assert_eq!(pair[1].left - pair[0].right, GAP);
            assert_eq!(pair[1].width(), pair[0].width());
        }
    }

    /// A plot of a thousand pixels by a hundred, a value each.
    fn pixels() -> Plot {
        let frame = Frame { left: 0.0, top: 0.0, right: 1000.0, bottom: 100.0 };
        Plot::new(frame, 1000.0, Axis::linear(0.0, 1000.0), Axis::linear(0.0, 100.0))
    }

    #[test]
    fn a_line_has_gaps_and_no_more_points_than_it_turns_at() {
        let mut plot = pixels();
        let at = |(x, y): &(i32, i32)| Some((f64::from(*x), f64::from(*y)));
        let mut points: Vec<_> = [(0, 50), (2, 50), (4, 50), (6, 52)].iter().map(at).collect();
        points.push(None);
        points.extend([(10, 10), (12, 8)].iter().map(at));
        plot.line(&points, "l");
        assert_eq!(plot.canvas.body(), "<path d=\"M0 50l4 0 2-2M10 90l2 2\" class=\"l\"/>");
    }

    #[test]
    fn a_band_is_drawn_where_it_has_an_area_and_keeps_its_spikes() {
        let mut plot = pixels();
        let mut points: Vec<_> = (0..500).map(|i| (f64::from(2 * i), 10.0, 10.0)).collect();
        points[250].2 = 90.0;
        plot.band(&points, "b");
        assert_eq!(plot.canvas.body(), "<path d=\"M498 90l2-80 2 80-4 0Z\" class=\"b\"/>");
        let mut flat = pixels();
        flat.band(&points[..250], "b");
        assert_eq!(flat.canvas.body(), "");
    }

    #[test]
    fn labels_that_would_overlap_are_left_out_and_the_ends_stay() {
        let plot = pixels();
        let tick = |value: f64| Tick { value, label: Some("200KB".into()) };
        let ticks = plot.without_overlaps([0.0, 10.0, 400.0, 990.0, 1000.0].map(tick).into());
        let named: Vec<f64> =
            ticks.iter().filter(|tick| tick.label.is_some()).map(|tick| tick.value).collect();
        assert_eq!(named, [0.0, 400.0, 1000.0]);
        assert!(plot.without_overlaps(vec![tick(5.0)])[0].label.is_some());
    }

    #[test]
    fn a_label_at_the_edge_stays_inside() {
        let unit = Axis::linear(0.0, 1.0);
        let frame = Frame { left: 10.0, top: 10.0, right: 96.0, bottom: 90.0 };
        let mut plot = Plot::new(frame, 100.0, unit, unit);
        plot.below(96.0, "50 ms");
        assert!(plot.canvas.body().contains("x=\"99\" y=\"109\" class=\"tick end\""));
    }
}
