//! Pictures of values over a few points of one axis, joined by lines: panels side by side, and more of them below.

use forebay_record::svg::{Axis, Canvas, Frame, LINE, Plot, SvgFile, Tick, plain, px, text_width};

/// A picture.
pub(crate) struct Curves<'a> {
    pub title: &'a str,
    /// What the points of the horizontal axis are.
    pub x_label: &'a str,
    /// Where they lie, in order.
    pub at: &'a [f64],
    /// Panels, row by row.
    pub rows: Vec<Vec<Panel<'a>>>,
    /// Rows of text below, the first one the head.
    pub table: Vec<Vec<String>>,
    /// Sentences below all.
    pub foot: Vec<String>,
}

/// One quantity.
pub(crate) struct Panel<'a> {
    /// Quantity and unit.
    pub label: &'a str,
    pub axis: Axis,
    pub curves: Vec<Curve<'a>>,
    /// Levels to compare with, dashed: the style whose colour each has, where it is, and its name.
    pub levels: Vec<(usize, f64, String)>,
}

/// One line.
#[derive(Clone)]
pub(crate) struct Curve<'a> {
    /// As the legend has it; a name has one colour and mark in all panels.
    pub name: &'a str,
    /// Which colour and mark.
    pub style: usize,
    /// A value for each point of the axis. No number: a gap.
    pub values: Vec<f64>,
}

const ALL: Frame = Frame::across(62.0, 20.0, 84.0, 220.0);
const BELOW: f64 = 80.0; // numbers and title of the axis, and the title of the panel below
const FIRST: f64 = 290.0; // column of the table
const INSET: f64 = 18.0; // of the first and the last point

impl Curves<'_> {
    /// The picture.
    pub fn svg(&self) -> String {
        let step = ALL.bottom - ALL.top + BELOW;
        let panels = ALL.top + self.rows.len() as f64 * step - 22.0;
        let text = (self.table.len() + self.foot.len()) as f64 * LINE;
        let mut sheet = SvgFile::new(self.title, ALL.left, panels + text + 20.0);
        self.legend(&mut sheet.canvas);
        for (r, row) in self.rows.iter().enumerate() {
            for (panel, frame) in row.iter().zip(ALL.lower(step * r as f64).abreast(row.len())) {
                sheet.canvas.add(&self.panel(panel, frame));
            }
        }
        sheet.table(&self.table, FIRST, panels + 8.0, ALL.right);
        for (i, sentence) in self.foot.iter().enumerate() {
            sheet.sentence(panels + LINE * (self.table.len() + i) as f64 + 14.0, sentence);
        }
        sheet.finish()
    }

    fn legend(&self, canvas: &mut Canvas) {
        let mut x = ALL.left;
        for curve in self.rows.iter().flatten().take(1).flat_map(|panel| &panel.curves) {
            canvas.rule((x, 42.0), (x + 26.0, 42.0), &format!("line s{}", curve.style));
            mark(canvas, curve.style, (x + 13.0, 42.0), "");
            canvas.text((x + 32.0, 46.0), "fact", curve.name);
            x += 52.0 + text_width(curve.name);
        }
    }

    fn panel(&self, panel: &Panel<'_>, frame: Frame) -> Canvas {
        let (first, last) = (self.at[0], self.at[self.at.len() - 1]);
        let mut plot = Plot::new(frame, frame.right + 20.0, Axis::linear(first, last), panel.axis);
        plot.x = Axis::linear(first, last).over(frame.left + INSET, frame.right - INSET);
        let ticks: Vec<Tick> =
            self.at.iter().map(|at| Tick { value: *at, label: Some(plain(*at)) }).collect();
        plot.axes(&ticks, &panel.axis.ticks(6, plain), self.x_label, panel.label);
        for (i, (style, level, name)) in panel.levels.iter().enumerate() {
            plot.level(*level, &format!("level s{style}"));
            let again = panel.levels[..i].iter().any(|other| other.1 == *level);
            // Above its line; the second name of one line below it.
            let y = plot.y.px(*level) + if again { 12.0 } else { -4.0 };
            plot.canvas.text((frame.right - 2.0, y), &format!("named end s{style}"), name);
        }
        for curve in &panel.curves {
            let points: Vec<_> =
                self.at.iter().zip(&curve.values).filter(|(_, value)| !value.is_nan()).collect();
            let line: Vec<_> = points.iter().map(|(at, value)| Some((**at, **value))).collect();
            plot.line(&line, &format!("line s{}", curve.style));
            for (at, value) in points {
                let place = (plot.x.px(*at), plot.y.px(*value));
                let title = format!("{}, {at}: {value:.4}", curve.name);
                mark(&mut plot.canvas, curve.style, place, &title);
            }
        }
        plot.canvas
    }
}

/// The mark of a style around a point: a disc, a square, a triangle, a rhombus, a ring.
fn mark(canvas: &mut Canvas, style: usize, (x, y): (f64, f64), title: &str) {
    let class = format!("dot s{style}");
    let shape = match style % 5 {
        1 => format!("M{} {}h8v8h-8z", px(x - 4.0), px(y - 4.0)),
        2 => format!("M{} {}l5 8.5h-10z", px(x), px(y - 5.5)),
        3 => format!("M{} {}l5.5 5.5l-5.5 5.5l-5.5 -5.5z", px(x), px(y - 5.5)),
        4 => return canvas.dot((x, y), &format!("{class} hollow"), title),
        _ => return canvas.dot((x, y), &class, title),
    };
    canvas.shape(&shape, &class, title);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stand_where_the_axes_say_and_gaps_are_left_out() {
        let values = vec![1.0, f64::NAN, 100.0];
        let panel = Panel {
            label: "ms",
            axis: Axis::log(1.0, 100.0),
            curves: vec![Curve { name: "one", style: 0, values }],
            levels: vec![(0, 10.0, "said".into())],
        };
        let curves = Curves {
            title: "t",
            x_label: "load",
            at: &[0.2, 0.3, 0.6],
            rows: vec![vec![panel]],
            table: Vec::new(),
            foot: Vec::new(),
        };
        let svg = curves.svg();
        let (left, right) = (ALL.left + INSET, ALL.right - INSET);
        let (wide, high) = (px(right - left), px(ALL.top - ALL.bottom));
        assert!(
            svg.contains(&format!("\"M{} {}l{wide}{high}\"", px(left), px(ALL.bottom))),
            "{svg}"
        );
        let half = px((ALL.top + ALL.bottom) / 2.0);
        assert!(svg.contains(&format!("\"M{} {half}l", px(ALL.left))), "the level is half way up");
        assert_eq!(svg.matches("<title>one").count(), 2);
    }
}
