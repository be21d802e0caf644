//! A plot with two axes as inline SVG, and the hover data beside it.
//!
//! Colours are classes; the page's style sheet gives them values for light, dark and print.

use super::scale::{Scale, Tick};
use std::fmt::Write;

/// Text made safe inside HTML and SVG, attributes included.
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

/// A pixel with one decimal at most.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".into() } else { text.into() }
}

/// Space around the plot: left, right, top, bottom.
#[derive(Clone, Copy)]
pub(super) struct Margins(pub f64, pub f64, pub f64, pub f64);

/// Width of a digit of a tick, at most.
const DIGIT: f64 = 7.5;

/// Gap between labels at line ends.
const LABEL_GAP: f64 = 14.0;

pub(super) struct Chart {
    body: String,
    width: f64,
    height: f64,
    margins: Margins,
    pub x: Scale,
    pub y: Scale,
    hover: Hover,
}

/// What the page's script shows under the pointer; the page is complete without it.
#[derive(Default)]
struct Hover {
    at: Vec<f64>,
    titles: Vec<String>,
    rows: Vec<HoverRow>,
}

struct HoverRow {
    name: String,
    class: String,
    values: Vec<Option<(f64, String)>>,
}

impl Chart {
    /// A plot of `width` by `height`; `scales` get the pixels of its corners: left, right, bottom, top.
    pub fn new(
        width: f64,
        height: f64,
        margins: Margins,
        scales: impl FnOnce(f64, f64, f64, f64) -> (Scale, Scale),
    ) -> Self {
        let Margins(left, right, top, bottom) = margins;
        let (x, y) = scales(left, width - right, height - bottom, top);
        Self { body: String::new(), width, height, margins, x, y, hover: Hover::default() }
    }

    pub fn left(&self) -> f64 {
        self.margins.0
    }

    pub fn right(&self) -> f64 {
        self.width - self.margins.1
    }

    pub fn top(&self) -> f64 {
        self.margins.2
    }

    pub fn bottom(&self) -> f64 {
        self.height - self.margins.3
    }

    pub fn raw(&mut self, svg: &str) {
        self.body.push_str(svg);
    }

    pub fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let _ = write!(
            self.body,
            "<text x=\"{}\" y=\"{}\" class=\"{class}\">{}</text>",
            px(x),
            px(y),
            esc(text)
        );
    }

    pub fn rule(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let _ = write!(
            self.body,
            "<path d=\"M{} {}L{} {}\" class=\"{class}\"/>",
            px(from.0),
            px(from.1),
            px(to.0),
            px(to.1)
        );
    }

    /// Grid, ticks and titles. The title of y stands above the plot, that of x below it.
    pub fn axes(&mut self, x: &[Tick], y: &[Tick], x_title: &str, y_title: &str) {
        let (left, right, top, bottom) = (self.left(), self.right(), self.top(), self.bottom());
        for tick in y {
            let at = self.y.px(tick.value);
            self.rule((left, at), (right, at), if tick.label.is_some() { "grid" } else { "minor" });
            if let Some(label) = &tick.label {
                self.text(left - 8.0, at + 4.0, "tick end", label);
            }
        }
        for tick in x {
            let at = self.x.px(tick.value);
            let length = if tick.label.is_some() { 6.0 } else { 3.0 };
            self.rule((at, bottom), (at, bottom + length), "axis");
            if let Some(label) = &tick.label {
                // A label that would leave the figure ends at its edge.
                let half = label.chars().count() as f64 * DIGIT / 2.0;
                match at + half > self.width {
                    true => self.text(self.width - 1.0, bottom + 19.0, "tick end", label),
                    false => self.text(at, bottom + 19.0, "tick mid", label),
                }
            }
        }
        self.rule((left, bottom), (right, bottom), "axis");
        self.text(left - 8.0 - 34.0, top - 12.0, "title", y_title);
        self.text((left + right) / 2.0, self.height - 4.0, "title mid", x_title);
    }

    /// A line through points in values; a gap wherever there is none.
    pub fn line(&mut self, points: &[Option<(f64, f64)>], class: &str) {
        let mut path = String::new();
        let mut pen = 'M';
        for point in points {
            match point {
                Some((x, y)) => {
                    let _ = write!(path, "{pen}{} {}", px(self.x.px(*x)), px(self.y.px(*y)));
                    pen = 'L';
                }
                None => pen = 'M',
            }
        }
        if !path.is_empty() {
            let _ = write!(self.body, "<path d=\"{path}\" class=\"{class}\"/>");
        }
    }

    /// The area between two values at each x.
    pub fn band(&mut self, points: &[(f64, f64, f64)], class: &str) {
        if points.len() < 2 {
            return;
        }
        let mut path = String::new();
        for (i, (x, _, high)) in points.iter().enumerate() {
            let pen = if i == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{pen}{} {}", px(self.x.px(*x)), px(self.y.px(*high)));
        }
        for (x, low, _) in points.iter().rev() {
            let _ = write!(path, "L{} {}", px(self.x.px(*x)), px(self.y.px(*low)));
        }
        let _ = write!(self.body, "<path d=\"{path}Z\" class=\"{class}\"/>");
    }

    /// A dot with a ring of the background, so that dots on dots stay apart.
    pub fn dot(&mut self, x: f64, y: f64, class: &str) {
        let (x, y) = (px(self.x.px(x)), px(self.y.px(y)));
        let _ = write!(self.body, "<circle cx=\"{x}\" cy=\"{y}\" r=\"3.5\" class=\"{class}\"/>");
    }

    /// Names at the ends of lines, moved apart where they would overlap: x, y (both pixels), class, text.
    pub fn end_labels(&mut self, mut labels: Vec<(f64, f64, String, String)>) {
        labels.sort_by(|a, b| a.1.total_cmp(&b.1));
        let lowest = self.bottom();
        for i in 1..labels.len() {
            labels[i].1 = labels[i].1.max(labels[i - 1].1 + LABEL_GAP);
        }
        let mut floor = lowest;
        for label in labels.iter_mut().rev() {
            label.1 = label.1.min(floor);
            floor = label.1 - LABEL_GAP;
        }
        for (x, y, class, text) in labels {
            self.text(x + 8.0, y + 4.0, &format!("label {class}"), &text);
        }
    }

    /// Positions (pixels) at which the pointer reads values, with a title each.
    pub fn hover_at(&mut self, positions: impl IntoIterator<Item = (f64, String)>) {
        (self.hover.at, self.hover.titles) = positions.into_iter().unzip();
    }

    /// One line of the read-out: for each position, the pixel of its mark and its text.
    pub fn hover_row(&mut self, name: &str, class: &str, values: Vec<Option<(f64, String)>>) {
        assert_eq!(values.len(), self.hover.at.len(), "one read-out for each position");
        self.hover.rows.push(HoverRow { name: name.into(), class: class.into(), values });
    }

    /// The figure's inside: the SVG, and the hover data if there are any.
    pub fn finish(self, description: &str) -> String {
        let (width, height) = (px(self.width), px(self.height));
        let mut html = format!(
            "<div class=\"plot\"><svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">{}</svg>",
            esc(description),
            self.body
        );
        if !self.hover.rows.is_empty() {
            let (top, bottom) = (self.top(), self.bottom());
            let _ = write!(
                html,
                "<script type=\"application/json\">{}</script>",
                self.hover.json(self.width, top, bottom)
            );
        }
        html.push_str("</div>");
        html
    }
}

impl Hover {
    /// Compact JSON without `<`, so that it cannot end its script element.
    fn json(&self, width: f64, top: f64, bottom: f64) -> String {
        let pixels = |values: &mut dyn Iterator<Item = Option<f64>>| {
            let texts: Vec<String> = values.map(|v| v.map_or("null".into(), px)).collect();
            texts.join(",")
        };
        let strings = |values: &mut dyn Iterator<Item = &str>| {
            let texts: Vec<String> =
                values.map(|text| serde_json::Value::from(text).to_string()).collect();
            texts.join(",")
        };
        let rows: Vec<String> = self
            .rows
            .iter()
            .map(|row| {
                format!(
                    "{{\"n\":{},\"c\":\"{}\",\"y\":[{}],\"v\":[{}]}}",
                    serde_json::Value::from(row.name.as_str()),
                    row.class,
                    pixels(&mut row.values.iter().map(|v| v.as_ref().map(|(y, _)| *y))),
                    strings(&mut row.values.iter().map(|v| v.as_ref().map_or("", |(_, t)| t)))
                )
            })
            .collect();
        format!(
            "{{\"w\":{},\"top\":{},\"bottom\":{},\"x\":[{}],\"t\":[{}],\"s\":[{}]}}",
            px(width),
            px(top),
            px(bottom),
            pixels(&mut self.at.iter().map(|v| Some(*v))),
            strings(&mut self.titles.iter().map(String::as_str)),
            rows.join(",")
        )
        .replace('<', "\\u003c")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_become_markup() {
        assert_eq!(esc("<script>\"&'\u{0}\n"), "&lt;script&gt;&quot;&amp;&#39;\u{fffd}\n");
    }

    #[test]
    fn labels_are_moved_apart_and_stay_inside() {
        let scales = |l, r, b, t| (Scale::linear(0.0, 1.0, l, r), Scale::linear(0.0, 1.0, b, t));
        let mut chart = Chart::new(100.0, 100.0, Margins(10.0, 10.0, 10.0, 10.0), scales);
        let label = |y| (50.0, y, "q1".to_string(), "x".to_string());
        chart.end_labels(vec![label(88.0), label(89.0), label(90.0)]);
        let ys: Vec<&str> =
            chart.body.split("y=\"").skip(1).map(|s| s.split('"').next().unwrap()).collect();
        assert_eq!(ys, ["66", "80", "94"]);
    }
}
