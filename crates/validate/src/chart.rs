//! Plain SVG charts of groups of bars, with published numbers beside ours, and tables below them.

use crate::frame::{Frame, LINE, sheet};
use crate::scale::Scale;

/// A chart: panels side by side, each with the same groups along its axis.
pub(crate) struct Chart {
    pub title: String,
    /// What the groups are.
    pub groups: Vec<String>,
    pub group_label: String,
    /// Names of the bars of each group.
    pub bars: Vec<String>,
    pub panels: Vec<Panel>,
    /// Rows of text below, the first one the head.
    pub table: Vec<Vec<String>>,
    /// A sentence below all.
    pub foot: String,
}

/// One quantity.
pub(crate) struct Panel {
    /// Quantity and unit.
    pub label: String,
    pub scale: Scale,
    /// Ours, by group and bar. No number: no bar.
    pub values: Vec<Vec<f64>>,
    /// Published: group, bar, least and most of what is said.
    pub published: Vec<(usize, usize, f64, f64)>,
}

const LEFT: f64 = 62.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 66.0;
const HEIGHT: f64 = 230.0;
const FIRST: f64 = 210.0; // column of the table
const COLOURS: [&str; 6] = ["#0b62a4", "#e08a3c", "#3b7d3b", "#8a8a8a", "#7a3f9d", "#b5304f"];

impl Chart {
    /// The picture.
    pub fn svg(&self) -> String {
        let all = Frame::across(LEFT, RIGHT, TOP, HEIGHT);
        let table = self.table.len() as f64 * LINE;
        let height = all.floor() + 52.0 + table + if self.foot.is_empty() { 8.0 } else { 28.0 };
        let mut svg = sheet(&self.title, LEFT, height);
        self.legend(&mut svg);
        for (panel, frame) in self.panels.iter().zip(all.abreast(self.panels.len())) {
            self.panel(&mut svg, panel, frame);
        }
        svg += &all.rows(&self.table, FIRST, all.floor() + 67.0);
        if !self.foot.is_empty() {
            svg += &all.sentence(height - 10.0, &self.foot);
        }
        svg + "</svg>\n"
    }

    fn legend(&self, svg: &mut String) {
        let mut x = LEFT;
        for (name, colour) in self.bars.iter().zip(COLOURS) {
            *svg += &format!(
                "<rect x=\"{x}\" y=\"36\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
                 <text x=\"{}\" y=\"46\">{name}</text>\n",
                x + 17.0
            );
            x += 36.0 + 6.6 * name.chars().count() as f64;
        }
        if self.panels.iter().any(|panel| !panel.published.is_empty()) {
            *svg += &format!(
                "{}<text x=\"{}\" y=\"46\">published</text>\n",
                mark(x + 6.0, 36.0, 48.0),
                x + 17.0
            );
        }
    }

    fn panel(&self, svg: &mut String, panel: &Panel, frame: Frame) {
        let (left, floor) = (frame.left, frame.floor());
        let y = |value: f64| frame.y(panel.scale.share(value));
        *svg += &frame.grid(panel.scale.ticks());
        let group = frame.wide / self.groups.len() as f64;
        let bar = (group * 0.8 / self.bars.len() as f64).min(34.0);
        let x = |g: usize, b: f64| {
            left + group * (g as f64 + 0.5) + bar * (b - self.bars.len() as f64 / 2.0)
        };
        for (g, values) in panel.values.iter().enumerate() {
            for (b, (value, colour)) in values.iter().zip(COLOURS).enumerate() {
                if value.is_nan() {
                    continue;
                }
                let top = y(*value).min(floor - 1.0);
                *svg += &format!(
                    "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"><title>{} {}: {value:.4}</title></rect>\n",
                    x(g, b as f64),
                    bar - 1.5,
                    floor - top,
                    self.groups[g],
                    self.bars[b]
                );
            }
        }
        for (g, b, low, high) in &panel.published {
            *svg += &mark(x(*g, *b as f64 + 0.5) - 0.75, y(*high), y(*low));
        }
        for (g, name) in self.groups.iter().enumerate() {
            *svg += &frame.below(left + group * (g as f64 + 0.5), name);
        }
        *svg += &frame.axes(&panel.label);
        *svg += &frame.along(&self.group_label);
    }
}

/// A published number, or a range of them: a black bracket with a white rim.
fn mark(x: f64, top: f64, bottom: f64) -> String {
    let (top, bottom) = if bottom - top < 2.0 { (top - 1.0, top + 1.0) } else { (top, bottom) };
    let (a, b) = (x - 7.0, x + 7.0);
    let path =
        format!("M{a:.1} {top:.1}H{b:.1}M{a:.1} {bottom:.1}H{b:.1}M{x:.1} {top:.1}V{bottom:.1}");
    format!(
        "<path d=\"{path}\" fill=\"none\" stroke=\"#fff\" stroke-width=\"4.5\"/>\
         <path d=\"{path}\" fill=\"none\" stroke=\"#111\" stroke-width=\"2\"/>\n"
    )
}
