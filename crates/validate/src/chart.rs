//! Charts of groups of bars, with published numbers beside ours, and tables below them.

use forebay_record::svg::{Alone, Axis, Canvas, Frame, LINE, Plot, plain, px, text_width};

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
    pub axis: Axis,
    /// Ours, by group and bar. No number: no bar.
    pub values: Vec<Vec<f64>>,
    /// Published: group, bar, least and most of what is said.
    pub published: Vec<(usize, usize, f64, f64)>,
}

const ALL: Frame = Frame::across(62.0, 16.0, 84.0, 230.0);
const FIRST: f64 = 210.0; // column of the table

impl Chart {
    /// The picture.
    pub fn svg(&self) -> String {
        let table = self.table.len() as f64 * LINE;
        let height = ALL.bottom + 58.0 + table + if self.foot.is_empty() { 8.0 } else { 28.0 };
        let mut sheet = Alone::new(&self.title, ALL.left, height);
        self.legend(&mut sheet.canvas);
        for (panel, frame) in self.panels.iter().zip(ALL.abreast(self.panels.len())) {
            sheet.canvas.add(&self.panel(panel, frame));
        }
        sheet.table(&self.table, FIRST, ALL.bottom + 73.0, ALL.right);
        if !self.foot.is_empty() {
            sheet.sentence(height - 10.0, &self.foot);
        }
        sheet.finish()
    }

    fn legend(&self, canvas: &mut Canvas) {
        let mut x = ALL.left;
        for (i, name) in self.bars.iter().enumerate() {
            canvas.rect((x, 36.0), (12.0, 12.0), &format!("fill s{i}"), "");
            canvas.text((x + 17.0, 46.0), "fact", name);
            x += 36.0 + text_width(name);
        }
        if self.panels.iter().any(|panel| !panel.published.is_empty()) {
            published(canvas, x + 6.0, 36.0, 48.0);
            canvas.text((x + 17.0, 46.0), "fact", "published");
        }
    }

    fn panel(&self, panel: &Panel, frame: Frame) -> Canvas {
        let along = Axis::linear(0.0, self.groups.len() as f64);
        let mut plot = Plot::new(frame, frame.right + 16.0, along, panel.axis);
        plot.axes(&[], &panel.axis.ticks(6, plain), &self.group_label, &panel.label);
        let group = frame.width() / self.groups.len() as f64;
        let bar = (group * 0.8 / self.bars.len() as f64).min(34.0);
        let middle = |g: usize| frame.left + group * (g as f64 + 0.5);
        let x = |g: usize, b: f64| middle(g) + bar * (b - self.bars.len() as f64 / 2.0);
        for (g, values) in panel.values.iter().enumerate() {
            for (b, value) in values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
                let top = plot.y.px(*value).min(frame.bottom - 1.0);
                let title = format!("{} {}: {value:.4}", self.groups[g], self.bars[b]);
                let size = (bar - 1.5, frame.bottom - top);
                plot.canvas.rect((x(g, b as f64), top), size, &format!("fill s{b}"), &title);
            }
        }
        for (g, b, low, high) in &panel.published {
            let at = x(*g, *b as f64 + 0.5) - 0.75;
            let (top, bottom) = (plot.y.px(*high), plot.y.px(*low));
            published(&mut plot.canvas, at, top, bottom);
        }
        for (g, name) in self.groups.iter().enumerate() {
            plot.below(middle(g), name);
        }
        plot.canvas
    }
}

/// A published number, or a range of them: a bracket with a rim.
fn published(canvas: &mut Canvas, x: f64, top: f64, bottom: f64) {
    let (top, bottom) = if bottom - top < 2.0 { (top - 1.0, top + 1.0) } else { (top, bottom) };
    let [a, b, x, top, bottom] = [x - 7.0, x + 7.0, x, top, bottom].map(px);
    let path = format!("M{a} {top}H{b}M{a} {bottom}H{b}M{x} {top}V{bottom}");
    canvas.shape(&path, "rim", "");
    canvas.shape(&path, "said", "");
}
