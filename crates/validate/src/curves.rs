//! Plain SVG pictures of values over a few points of one axis, joined by lines: panels side by side, and more of them below.

use crate::frame::{Frame, LINE, sheet};
use crate::scale::Scale;

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
    pub scale: Scale,
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

const LEFT: f64 = 62.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 66.0;
const HEIGHT: f64 = 220.0;
const BELOW: f64 = 58.0; // numbers and name of the axis
const FIRST: f64 = 290.0; // column of the table

/// Colours that differ in brightness too, of Okabe and Ito.
const COLOURS: [&str; 5] = ["#d55e00", "#009e73", "#56b4e9", "#7f7f7f", "#0b3c6f"];

impl Curves<'_> {
    /// The picture.
    pub fn svg(&self) -> String {
        let all = Frame::across(LEFT, RIGHT, TOP, HEIGHT);
        let panels = TOP + self.rows.len() as f64 * (HEIGHT + BELOW);
        let text = (self.table.len() + self.foot.len()) as f64 * LINE;
        let mut svg = sheet(self.title, LEFT, panels + text + 20.0);
        self.legend(&mut svg);
        for (r, row) in self.rows.iter().enumerate() {
            let all = Frame { top: TOP + r as f64 * (HEIGHT + BELOW), ..all };
            for (panel, frame) in row.iter().zip(all.abreast(row.len())) {
                self.panel(&mut svg, panel, frame);
            }
        }
        svg += &all.rows(&self.table, FIRST, panels + 8.0);
        for (i, sentence) in self.foot.iter().enumerate() {
            svg += &all.sentence(panels + LINE * (self.table.len() + i) as f64 + 14.0, sentence);
        }
        svg + "</svg>\n"
    }

    fn legend(&self, svg: &mut String) {
        let mut x = LEFT;
        for curve in self.rows.iter().flatten().take(1).flat_map(|panel| &panel.curves) {
            let colour = COLOURS[curve.style % COLOURS.len()];
            *svg += &format!(
                "<path d=\"M{x} 42h26\" stroke=\"{colour}\" stroke-width=\"2\"/>{}<text x=\"{}\" y=\"46\">{}</text>\n",
                mark(curve.style, x + 13.0, 42.0),
                x + 32.0,
                curve.name
            );
            x += 52.0 + 6.6 * curve.name.chars().count() as f64;
        }
    }

    fn panel(&self, svg: &mut String, panel: &Panel<'_>, frame: Frame) {
        let (left, right) = (frame.left, frame.right());
        let y = |value: f64| frame.y(panel.scale.share(value));
        let (first, last) = (self.at[0], self.at[self.at.len() - 1]);
        let x =
            |at: f64| left + 18.0 + (frame.wide - 36.0) * (at - first) / (last - first).max(1e-9);
        *svg += &frame.grid(panel.scale.ticks());
        for (i, (style, level, name)) in panel.levels.iter().enumerate() {
            let (at, colour) = (y(*level), COLOURS[style % COLOURS.len()]);
            let again = panel.levels[..i].iter().any(|other| other.1 == *level);
            let (end, anchor) = if again { (left + 4.0, "start") } else { (right - 2.0, "end") };
            *svg += &format!(
                "<path d=\"M{left:.1} {at:.1}H{right:.1}\" stroke=\"{colour}\" stroke-dasharray=\"6 4\"/>\
                 <text x=\"{end:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\" font-size=\"11\">{name}</text>\n",
                at - 4.0
            );
        }
        for curve in &panel.curves {
            let colour = COLOURS[curve.style % COLOURS.len()];
            let points: Vec<_> =
                self.at.iter().zip(&curve.values).filter(|(_, value)| !value.is_nan()).collect();
            let line: Vec<String> = points
                .iter()
                .map(|(at, value)| format!("{:.1} {:.1}", x(**at), y(**value)))
                .collect();
            *svg += &format!(
                "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
                line.join("L")
            );
            for (at, value) in points {
                *svg += &format!(
                    "<g><title>{}, {at}: {value:.4}</title>{}</g>\n",
                    curve.name,
                    mark(curve.style, x(*at), y(*value))
                );
            }
        }
        for at in self.at {
            *svg += &frame.below(x(*at), at);
        }
        *svg += &frame.axes(panel.label);
        *svg += &frame.along(self.x_label);
    }
}

/// The mark of a style around a point: a disc, a square, a triangle, a rhombus, a ring.
fn mark(style: usize, x: f64, y: f64) -> String {
    let colour = COLOURS[style % COLOURS.len()];
    let d = match style % COLOURS.len() {
        1 => format!("M{:.1} {:.1}h8v8h-8z", x - 4.0, y - 4.0),
        2 => format!("M{x:.1} {:.1}l5 8.5h-10z", y - 5.5),
        3 => format!("M{x:.1} {:.1}l5.5 5.5l-5.5 5.5l-5.5 -5.5z", y - 5.5),
        disc => {
            let fill = if disc == 0 { colour } else { "#fff" };
            return format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.2\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"2\"/>"
            );
        }
    };
    format!("<path d=\"{d}\" fill=\"{colour}\"/>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::WIDTH;

    #[test]
    fn points_stand_where_the_axes_say_and_gaps_are_left_out() {
        let values = vec![1.0, f64::NAN, 100.0];
        let panel = Panel {
            label: "ms",
            scale: Scale::Log(1.0, 100.0),
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
        let (floor, right) = (TOP + HEIGHT, WIDTH - RIGHT - 18.0);
        assert!(
            svg.contains(&format!("M{:.1} {floor:.1}L{right:.1} {TOP:.1}\"", LEFT + 18.0)),
            "{svg}"
        );
        assert!(svg.contains(&format!("{:.1}H", TOP + HEIGHT / 2.0)), "the level is half way up");
        assert_eq!(svg.matches("<title>one").count(), 2);
    }
}
