//! A plot as a figure of the page, and the read-outs of the page's script beside it.

use super::{Axis, Frame, Plot, px, time_unit};
use std::fmt::Write;

/// Space around the plot: left, right, top, bottom.
#[derive(Clone, Copy)]
pub struct Margins(pub f64, pub f64, pub f64, pub f64);

/// A figure of a page that is being drawn.
pub struct Chart {
    /// Axes and shapes.
    pub plot: Plot,
    height: f64,
    hover: Hover,
}

/// What the page's script shows under the pointer; the page is complete without it.
#[derive(Default)]
struct Hover {
    at: Vec<f64>,
    titles: Vec<String>,
    rows: Vec<HoverRow>,
    end_us: Option<f64>, // of an axis of virtual time
}

struct HoverRow {
    name: String,
    class: String,
    values: Vec<Option<(f64, String)>>,
}

impl Chart {
    /// A plot in a figure of `width` by `height`.
    pub fn new((width, height): (f64, f64), margins: Margins, x: Axis, y: Axis) -> Self {
        let Margins(left, right, top, bottom) = margins;
        let frame = Frame { left, top, right: width - right, bottom: height - bottom };
        Self { plot: Plot::new(frame, width, x, y), height, hover: Hover::default() }
    }

    /// A plot of half the width of a page.
    pub fn half(x: Axis, y: Axis) -> Self {
        Self::new((516.0, 320.0), Margins(62.0, 14.0, 30.0, 46.0), x, y)
    }

    /// Sets the times (us) at which the pointer reads values; the page's script writes the time.
    pub fn hover_over_time(&mut self, times: impl IntoIterator<Item = f64>) {
        self.hover.at = times.into_iter().map(|us| self.plot.x.px(us)).collect();
    }

    /// Sets the positions (pixels) at which the pointer reads values, with a title each.
    pub fn hover_at(&mut self, positions: impl IntoIterator<Item = (f64, String)>) {
        (self.hover.at, self.hover.titles) = positions.into_iter().unzip();
    }

    /// Draws shapes whose x is virtual time from zero to `end_us`: a pointer in one such figure shows in all of them, and so does a part of the
    /// run that a reader takes a closer look at.
    pub fn over_time(&mut self, end_us: f64, shapes: impl FnOnce(&mut Plot)) {
        self.hover.end_us = Some(end_us);
        self.plot.canvas.raw("<g class=\"traces\">");
        shapes(&mut self.plot);
        self.plot.canvas.raw("</g>");
    }

    /// Adds one line of the read-out: for each position, the pixel of its mark and its text.
    ///
    /// # Panics
    /// Unless there are as many values as positions.
    pub fn hover_row(&mut self, name: &str, class: &str, values: Vec<Option<(f64, String)>>) {
        assert_eq!(values.len(), self.hover.at.len(), "one read-out for each position");
        self.hover.rows.push(HoverRow { name: name.into(), class: class.into(), values });
    }

    /// The figure's inside: the SVG, and the hover data if there are any.
    pub fn finish(self, description: &str) -> String {
        let Plot { canvas, frame, edge, .. } = self.plot;
        let mut html =
            format!("<div class=\"plot\">{}", canvas.inline(edge, self.height, description));
        if !self.hover.rows.is_empty() {
            let json = self.hover.json(edge, &frame);
            let _ = write!(html, "<script type=\"application/json\">{json}</script>");
        }
        html.push_str("</div>");
        html
    }
}

impl Hover {
    /// Compact JSON without `<`, so that it cannot end its script element.
    fn json(&self, width: f64, frame: &Frame) -> String {
        let pixels = |values: &mut dyn Iterator<Item = Option<f64>>| {
            let texts: Vec<String> = values.map(|v| v.map_or("null".into(), px)).collect();
            texts.join(",")
        };
        let string = |text: &str| serde_json::Value::from(text).to_string();
        // 0 stands for the text of the value before; report.js puts the text back.
        let texts = |row: &HoverRow| {
            let mut before = None;
            let each = row.values.iter().map(|value| {
                let text = value.as_ref().map_or("", |(_, text)| text);
                if before.replace(text) == Some(text) { "0".into() } else { string(text) }
            });
            each.collect::<Vec<_>>().join(",")
        };
        let titles: Vec<_> = self.titles.iter().map(|title| string(title)).collect();
        let rows: Vec<String> = self
            .rows
            .iter()
            .map(|row| {
                format!(
                    "{{\"n\":{},\"c\":\"{}\",\"y\":[{}],\"v\":[{}]}}",
                    string(&row.name),
                    row.class,
                    pixels(&mut row.values.iter().map(|v| v.as_ref().map(|(y, _)| *y))),
                    texts(row)
                )
            })
            .collect();
        let time = self.end_us.map_or_else(String::new, |end| {
            let (unit, name) = time_unit(end);
            let (left, right) = (px(frame.left), px(frame.right));
            format!("\"time\":[{left},{right},{end},{unit},\"{name}\"],")
        });
        format!(
            "{{{time}\"w\":{},\"top\":{},\"bottom\":{},\"x\":[{}],\"t\":[{}],\"s\":[{}]}}",
            px(width),
            px(frame.top),
            px(frame.bottom),
            pixels(&mut self.at.iter().map(|v| Some(*v))),
            titles.join(","),
            rows.join(",")
        )
        .replace('<', "\\u003c")
    }
}
