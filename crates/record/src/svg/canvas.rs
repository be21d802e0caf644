//! Shapes as SVG text, in the order in which they are drawn.

use std::fmt::Write;

/// Makes text safe inside HTML and SVG, attributes included.
pub fn esc(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Control characters have no place in HTML; tabs and ends of line do.
            c if c.is_control() && !matches!(c, '\n' | '\t') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// A length in pixels with one decimal at most.
pub fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".into() } else { text.into() }
}

/// SVG commands of a path through points, as relative steps, which are half as long as absolute positions. A point on the straight line
/// between its neighbours is left out; a point where the path turns back stays. `None` without points.
pub fn commands(points: impl IntoIterator<Item = Point>) -> Option<String> {
    let mut points = points.into_iter().map(|(x, y)| (tenths(x), tenths(y)));
    let start = points.next()?;
    let mut at = start;
    let mut steps: Vec<(i64, i64)> = Vec::new();
    for (x, y) in points {
        let step = (x - at.0, y - at.1);
        at = (x, y);
        match steps.last_mut() {
            Some(last) if goes_on(*last, step) => *last = (last.0 + step.0, last.1 + step.1),
            _ => steps.push(step),
        }
    }
    let mut text = format!("M{} {}", decimal(start.0), decimal(start.1));
    for (i, (dx, dy)) in steps.into_iter().enumerate() {
        text.push_str(if i == 0 { "l" } else { space(dx) });
        let _ = write!(text, "{}{}{}", decimal(dx), space(dy), decimal(dy));
    }
    Some(text)
}

/// Separator before a number: a minus sign needs none.
fn space(tenths: i64) -> &'static str {
    if tenths < 0 { "" } else { " " }
}

/// Whether a step continues in the direction of the step before.
fn goes_on((ax, ay): (i64, i64), (bx, by): (i64, i64)) -> bool {
    ax * by == ay * bx && ax * bx + ay * by >= 0
}

/// Pixels as whole tenths, in which sums of steps stay exact.
pub fn tenths(value: f64) -> i64 {
    (value * 10.0).round() as i64
}

/// Tenths as a number that is as short as it can be.
fn decimal(tenths: i64) -> String {
    let sign = if tenths < 0 { "-" } else { "" };
    let (whole, part) = (tenths.abs() / 10, tenths.abs() % 10);
    match (whole, part) {
        (whole, 0) => format!("{sign}{whole}"),
        (0, part) => format!("{sign}.{part}"),
        (whole, part) => format!("{sign}{whole}.{part}"),
    }
}

/// Width that a text of 12 pixels takes, about.
pub fn text_width(text: &str) -> f64 {
    6.6 * text.chars().count() as f64
}

/// A point in pixels.
type Point = (f64, f64);

/// Shapes of a picture.
#[derive(Clone, Debug, Default)]
pub struct Canvas {
    body: String,
}

impl Canvas {
    /// Adds ready SVG.
    pub fn raw(&mut self, svg: &str) {
        self.body.push_str(svg);
    }

    /// Adds all shapes of another canvas.
    pub fn add(&mut self, other: &Self) {
        self.body.push_str(&other.body);
    }

    /// Writes a text; none where it is empty.
    pub fn text(&mut self, (x, y): Point, class: &str, text: &str) {
        if !text.is_empty() {
            let (x, y) = (px(x), px(y));
            let _ = write!(
                self.body,
                "<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{}</text>",
                esc(text)
            );
        }
    }

    /// Draws a straight line.
    pub fn rule(&mut self, from: Point, to: Point, class: &str) {
        self.path([from, to], class);
    }

    /// Draws a line through points.
    pub fn path(&mut self, points: impl IntoIterator<Item = Point>, class: &str) {
        if let Some(path) = commands(points) {
            self.shape(&path, class, "");
        }
    }

    /// Draws a path by its commands, with a title under the pointer unless that is empty.
    pub fn shape(&mut self, commands: &str, class: &str, title: &str) {
        let _ = write!(self.body, "<path d=\"{commands}\" class=\"{class}\"{}", end("path", title));
    }

    /// Draws a box from its upper left corner, with a title under the pointer unless that is empty.
    pub fn rect(&mut self, (x, y): Point, (width, height): (f64, f64), class: &str, title: &str) {
        let (x, y, width, height) = (px(x), px(y), px(width), px(height));
        let _ = write!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" class=\"{class}\"{}",
            end("rect", title)
        );
    }

    /// Draws a box with round corners; `style` adds to its class.
    pub fn card(&mut self, (x, y): Point, (width, height): (f64, f64), class: &str, style: &str) {
        let (x, y, width, height) = (px(x), px(y), px(width), px(height));
        let style =
            if style.is_empty() { String::new() } else { format!(" style=\"{}\"", esc(style)) };
        let _ = write!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\" class=\"{class}\"{style}/>"
        );
    }

    /// Draws a dot of 3.5 pixels around a point, with a title under the pointer unless that is empty.
    pub fn dot(&mut self, (x, y): Point, class: &str, title: &str) {
        let (x, y) = (px(x), px(y));
        let _ = write!(
            self.body,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"3.5\" class=\"{class}\"{}",
            end("circle", title)
        );
    }

    /// Draws the mark of a series around a point, so that series differ without their colours.
    pub fn mark(&mut self, series: usize, (x, y): Point, class: &str) {
        if series.is_multiple_of(MARKS.len() + 1) {
            return self.dot((x, y), class, "");
        }
        let at = |(dx, dy): &Point| format!("{} {}", px(x + dx), px(y + dy));
        let corners: Vec<String> = MARKS[series % (MARKS.len() + 1) - 1].iter().map(at).collect();
        self.shape(&format!("M{}Z", corners.join("L")), class, "");
    }

    /// Draws a line with a head at its end, level or upright.
    pub fn arrow(&mut self, from: Point, to: Point, class: &str) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.abs().max(dy.abs()).max(1.0);
        let (ux, uy) = (dx / length * 5.0, dy / length * 5.0);
        self.path([from, to], class);
        self.path([(to.0 - ux - uy, to.1 - uy - ux), to, (to.0 - ux + uy, to.1 - uy + ux)], class);
    }

    /// Draws names at the ends of lines, moved apart where they would overlap and kept above `lowest`: each a point, a class and
    /// a text.
    pub fn end_labels(&mut self, mut labels: Vec<(Point, String, String)>, lowest: f64) {
        move_apart(&mut labels, lowest);
        for ((x, y), class, text) in labels {
            self.text((x + 8.0, y + 4.0), &format!("label {class}"), &text);
        }
    }

    /// Draws names next to marks: each a point, a series and a text.
    pub fn marked_labels(&mut self, mut labels: Vec<(Point, usize, String)>, lowest: f64) {
        move_apart(&mut labels, lowest);
        for ((x, y), series, text) in labels {
            self.mark(series, (x + 12.0, y), &format!("dot s{series}"));
            self.text((x + 22.0, y + 4.0), "label", &text);
        }
    }

    /// The picture as an `svg` element inside a page.
    pub fn inline(&self, width: f64, height: f64, description: &str) -> String {
        format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{}</svg>",
            px(width),
            px(height),
            esc(description),
            self.body
        )
    }

    /// The shapes alone.
    pub fn body(&self) -> &str {
        &self.body
    }
}

/// The end of an element with a title or without.
fn end(element: &str, title: &str) -> String {
    match title.is_empty() {
        true => "/>".into(),
        false => format!("><title>{}</title></{element}>", esc(title)),
    }
}

/// Corners of the marks of series after the first, whose mark is a dot: square, triangle, diamond, triangle on its tip, and so on.
const MARKS: [&[Point]; 7] = [
    &[(-3.4, -3.4), (3.4, -3.4), (3.4, 3.4), (-3.4, 3.4)],
    &[(0.0, -4.6), (4.4, 3.2), (-4.4, 3.2)],
    &[(0.0, -4.8), (4.8, 0.0), (0.0, 4.8), (-4.8, 0.0)],
    &[(0.0, 4.6), (4.4, -3.2), (-4.4, -3.2)],
    &[(-4.6, 0.0), (3.2, -4.4), (3.2, 4.4)],
    &[(4.6, 0.0), (-3.2, -4.4), (-3.2, 4.4)],
    &[(-2.2, -4.0), (2.2, -4.0), (4.4, 0.0), (2.2, 4.0), (-2.2, 4.0), (-4.4, 0.0)],
];

/// Sorts labels from above to below and moves them apart where they would overlap, above `lowest`.
fn move_apart<T>(labels: &mut [(Point, T, String)], lowest: f64) {
    labels.sort_by(|a, b| a.0.1.total_cmp(&b.0.1));
    for i in 1..labels.len() {
        labels[i].0.1 = labels[i].0.1.max(labels[i - 1].0.1 + LABEL_GAP);
    }
    let mut floor = lowest;
    for label in labels.iter_mut().rev() {
        label.0.1 = label.0.1.min(floor);
        floor = label.0.1 - LABEL_GAP;
    }
}

/// Between names at line ends.
const LABEL_GAP: f64 = 14.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_become_markup() {
        assert_eq!(esc("<script>\"&'\u{0}\n"), "&lt;script&gt;&quot;&amp;&#39;\u{fffd}\n");
    }

    #[test]
    fn a_path_keeps_every_turn_and_ends_where_its_points_do() {
        let up = [(0.0, 5.0), (0.0, 9.0), (0.0, 2.0), (0.0, 2.0), (0.0, 1.0)];
        assert_eq!(commands(up).as_deref(), Some("M0 5l0 4 0-8"), "a spike is there and back");
        let slope = (0..1000).map(|i| (f64::from(i) * 0.333, 100.0 - f64::from(i) * 0.01));
        let path = commands(slope).unwrap();
        let numbers = path.replace(['M', 'l'], " ").replace('-', " -");
        let numbers: Vec<f64> = numbers.split_whitespace().map(|n| n.parse().unwrap()).collect();
        let sum = |odd| numbers.iter().skip(odd).step_by(2).sum::<f64>();
        assert!((sum(0) - 332.7).abs() < 1e-6 && (sum(1) - 90.0).abs() < 1e-6, "roundings add up");
        assert_eq!(commands([]), None);
    }

    #[test]
    fn each_series_has_a_mark_of_its_own() {
        let drawn = |series| {
            let mut canvas = Canvas::default();
            canvas.mark(series, (10.0, 10.0), "dot");
            canvas.body().to_string()
        };
        let all: std::collections::BTreeSet<String> =
            (0..super::super::SERIES).map(drawn).collect();
        assert_eq!(all.len(), super::super::SERIES);
        assert_eq!(drawn(1), "<path d=\"M6.6 6.6L13.4 6.6L13.4 13.4L6.6 13.4Z\" class=\"dot\"/>");
    }

    #[test]
    fn labels_are_moved_apart_and_stay_inside() {
        let mut canvas = Canvas::default();
        let label = |y| ((50.0, y), "q1".to_string(), "x".to_string());
        canvas.end_labels(vec![label(88.0), label(89.0), label(90.0)], 90.0);
        let ys = canvas.body().split("y=\"").skip(1).map(|s| s.split('"').next().unwrap());
        assert_eq!(ys.collect::<Vec<_>>(), ["66", "80", "94"]);
    }
}
