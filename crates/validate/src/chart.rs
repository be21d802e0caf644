//! Charts of groups of bars, with published numbers and bounds beside ours, and tables below them.

use crate::row::{Row, Tolerance};
use forebay_record::svg::{Axis, Canvas, Frame, LINE, Plot, SvgFile, plain, px, text_width};

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
    /// Sentences below all.
    pub foot: Vec<String>,
}

/// One quantity.
pub(crate) struct Panel {
    /// Quantity and unit.
    pub label: String,
    pub axis: Axis,
    /// Ours, by group and bar. No number: no bar.
    pub values: Vec<Vec<f64>>,
    /// What is published of bars. No number, as where it is above ours and we have none: no mark.
    pub published: Vec<BarLabel>,
}

/// What a text says of one bar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BarLabel {
    pub group: usize,
    pub bar: usize,
    pub limit: Limit,
    /// Under the pointer: the row, and what it publishes in its own unit.
    pub title: String,
}

/// How a text says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    /// A number, or least and most of a range.
    Between(f64, f64),
    AtLeast(f64),
    AtMost(f64),
}

impl BarLabel {
    /// A number, said of a bar of a group.
    pub fn number((group, bar): (usize, usize), value: f64) -> Self {
        Self { group, bar, limit: Limit::Between(value, value), title: String::new() }
    }

    /// What a row publishes, said of a bar of a group: a bound as such, and a number that the row reads as a range as this range.
    pub fn row((group, bar): (usize, usize), row: &Row) -> Self {
        let value = row.published;
        let limit = match row.tolerance {
            Tolerance::AtLeast => Limit::AtLeast(value),
            Tolerance::AtMost => Limit::AtMost(value),
            Tolerance::Absolute(d) => Limit::Between(value - d, value + d),
            _ => Limit::Between(value, value),
        };
        let title = format!("{}: {} {}", row.id, limit.words(), row.unit);
        Self { group, bar, limit, title }
    }

    /// The number that a row publishes: a bound as a bound, without a range of tolerance.
    pub fn stated(at: (usize, usize), row: &Row) -> Self {
        let said = Self::row(at, row);
        let value = row.published;
        let limit = match said.limit {
            Limit::Between(..) => Limit::Between(value, value),
            bound => bound,
        };
        Self { limit, title: format!("{}: {} {}", row.id, limit.words(), row.unit), ..said }
    }

    /// The number, the bound, or the upper end of the range.
    pub fn number_of(&self) -> f64 {
        let (Limit::Between(_, value) | Limit::AtLeast(value) | Limit::AtMost(value)) = self.limit;
        value
    }

    /// The published value with `of` applied to its numbers: another unit, or a level above one of Forebay's.
    pub fn drawn(self, of: impl Fn(f64) -> f64) -> Self {
        Self { limit: self.limit.map(of), ..self }
    }
}

impl Limit {
    fn map(self, of: impl Fn(f64) -> f64) -> Self {
        match self {
            Self::Between(low, high) => Self::Between(of(low), of(high)),
            Self::AtLeast(low) => Self::AtLeast(of(low)),
            Self::AtMost(high) => Self::AtMost(of(high)),
        }
    }

    fn is_number(self) -> bool {
        let (Self::Between(value, _) | Self::AtLeast(value) | Self::AtMost(value)) = self;
        !value.is_nan()
    }

    /// In few words.
    pub fn words(self) -> String {
        match self {
            Self::Between(low, high) if low == high => plain(low),
            Self::Between(low, high) => format!("{} to {}", plain(low), plain(high)),
            Self::AtLeast(low) => format!("at least {}", plain(low)),
            Self::AtMost(high) => format!("at most {}", plain(high)),
        }
    }

    /// What its mark is called in the legend.
    fn name(self) -> &'static str {
        match self {
            Self::Between(low, high) if low < high => "published, range",
            Self::Between(..) => "published",
            Self::AtLeast(_) => "published, at least",
            Self::AtMost(_) => "published, at most",
        }
    }
}

const ALL: Frame = Frame::across(62.0, 16.0, 84.0, 230.0);
const FIRST: f64 = 210.0; // column of the table

impl Chart {
    /// The picture.
    pub fn svg(&self) -> String {
        let text = ALL.bottom + 58.0 + self.table.len() as f64 * LINE;
        let foot = match self.foot.len() {
            0 => 8.0,
            lines => 10.0 + LINE * lines as f64,
        };
        let height = text + foot;
        let mut sheet = SvgFile::new(&self.title, ALL.left, height);
        self.legend(&mut sheet.canvas);
        for (panel, frame) in self.panels.iter().zip(ALL.abreast(self.panels.len())) {
            sheet.canvas.add(&self.panel(panel, frame));
        }
        sheet.table(&self.table, FIRST, ALL.bottom + 73.0, ALL.right);
        for (i, sentence) in self.foot.iter().rev().enumerate() {
            sheet.sentence(height - 10.0 - LINE * i as f64, sentence);
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
        let said: Vec<Limit> =
            self.panels.iter().flat_map(|panel| &panel.published).map(|said| said.limit).collect();
        // In pixels, from below.
        let shapes = [
            (Limit::Between(42.0, 42.0), "published"),
            (Limit::Between(48.0, 36.0), "published, range"),
            (Limit::AtLeast(46.0), "published, at least"),
            (Limit::AtMost(38.0), "published, at most"),
        ];
        for (shape, name) in shapes {
            if said.iter().any(|limit| limit.name() == name) {
                published(canvas, x + 6.0, shape, "");
                canvas.text((x + 17.0, 46.0), "fact", name);
                x += 42.0 + text_width(name);
            }
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
        let mut dots = Vec::new();
        for (g, values) in panel.values.iter().enumerate() {
            for (b, value) in values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
                let top = plot.y.px(*value).min(frame.bottom - 1.0);
                let title = format!("{} {}: {value:.4}", self.groups[g], self.bars[b]);
                if panel.axis.is_log() {
                    // A bar would begin at a floor that means nothing.
                    dots.push(((x(g, b as f64 + 0.5) - 0.75, top), b, title));
                    continue;
                }
                let size = (bar - 1.5, frame.bottom - top);
                plot.canvas.rect((x(g, b as f64), top), size, &format!("fill s{b}"), &title);
            }
        }
        for said in panel.published.iter().filter(|said| said.limit.is_number()) {
            let at = x(said.group, said.bar as f64 + 0.5) - 0.75;
            let limit = said.limit.map(|value| plot.y.px(value));
            published(&mut plot.canvas, at, limit, &said.title);
        }
        for (at, b, title) in dots {
            plot.canvas.dot(at, &format!("dot s{b}"), &title);
        }
        for (g, name) in self.groups.iter().enumerate() {
            plot.below(middle(g), name);
        }
        plot.canvas
    }
}

/// What is published, in pixels: a bracket with a rim around a number or a range, and a line with an arrow to where a bound leaves room.
fn published(canvas: &mut Canvas, x: f64, at: Limit, title: &str) {
    let arrow = |y: f64, way: f64| {
        let [a, b, c, d] = [x - 7.0, x + 7.0, x - 3.5, x + 3.5].map(px);
        let [x, y, head, tip] = [x, y, y + 7.0 * way, y + 11.0 * way].map(px);
        format!("M{a} {y}H{b}M{x} {y}V{tip}M{c} {head}L{x} {tip}L{d} {head}")
    };
    let path = match at {
        Limit::Between(bottom, top) => bracket(x, top, bottom),
        Limit::AtLeast(y) => arrow(y, -1.0),
        Limit::AtMost(y) => arrow(y, 1.0),
    };
    canvas.shape(&path, "rim", "");
    canvas.shape(&path, "said", title);
}

fn bracket(x: f64, top: f64, bottom: f64) -> String {
    let (top, bottom) = if bottom - top < 2.0 { (top - 1.0, top + 1.0) } else { (top, bottom) };
    let [a, b, x, top, bottom] = [x - 7.0, x + 7.0, x, top, bottom].map(px);
    format!("M{a} {top}H{b}M{a} {bottom}H{b}M{x} {top}V{bottom}")
}

pub(crate) fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(published: f64, tolerance: Tolerance) -> Row {
        let row = crate::rows("hostcc").swap_remove(0);
        Row { id: "r".into(), unit: "ms".into(), published, tolerance, ..row }
    }

    #[test]
    fn a_bound_is_not_said_as_a_number_is() {
        let said = |tolerance| BarLabel::row((1, 2), &row(8.6, tolerance));
        let [number, range, least, most] = [
            Tolerance::Percent(10.0),
            Tolerance::Absolute(1.5),
            Tolerance::AtLeast,
            Tolerance::AtMost,
        ]
        .map(said);
        assert_eq!((number.limit, number.title), (Limit::Between(8.6, 8.6), "r: 8.6 ms".into()));
        assert_eq!(range.title, "r: 7.1 to 10.1 ms");
        assert_eq!((least.limit, least.title), (Limit::AtLeast(8.6), "r: at least 8.6 ms".into()));
        assert_eq!((most.limit, most.title), (Limit::AtMost(8.6), "r: at most 8.6 ms".into()));
    }

    #[test]
    fn the_mark_of_a_bound_points_to_where_it_leaves_room_and_the_legend_names_it() {
        let drawn = |tolerance| {
            let published = vec![BarLabel::row((0, 0), &row(50.0, tolerance))];
            let panel = Panel {
                label: "ms".into(),
                axis: Axis::linear(0.0, 100.0),
                values: vec![vec![20.0]],
                published,
            };
            Chart {
                title: "t".into(),
                groups: vec!["g".into()],
                group_label: String::new(),
                bars: vec!["b".into()],
                panels: vec![panel],
                table: Vec::new(),
                foot: Vec::new(),
            }
            .svg()
        };
        // The middle of the frame is at 199; the tip of an arrow is 11 pixels further.
        let (number, least, most) =
            (drawn(Tolerance::Percent(1.0)), drawn(Tolerance::AtLeast), drawn(Tolerance::AtMost));
        assert!(number.contains(">published</text>") && !number.contains("published, at"));
        let range = drawn(Tolerance::Absolute(5.0));
        assert!(range.contains(">published, range</text>") && !range.contains(">published</text>"));
        assert!(
            least.contains(">published, at least</text>") && least.contains("V188M"),
            "{least}"
        );
        assert!(most.contains(">published, at most</text>") && most.contains("V210M"), "{most}");
        assert!(!least.contains(">published</text>") && !most.contains(">published</text>"));
        assert!(least.contains("<title>r: at least 50 ms</title>"), "{least}");
    }

    /// A bar says how much there is from zero on, and a logarithmic axis has no zero.
    #[test]
    fn values_on_a_logarithmic_axis_are_dots() {
        let drawn = |axis| {
            let panel =
                Panel { label: "ms".into(), axis, values: vec![vec![20.0]], published: Vec::new() };
            let (title, groups, bars) = ("t".into(), vec!["g".into()], vec!["b".into()]);
            let (table, foot, group_label) = (Vec::new(), Vec::new(), String::new());
            let svg =
                Chart { title, groups, group_label, bars, panels: vec![panel], table, foot }.svg();
            ["dot s0", "fill s0"].map(|class| svg.matches(class).count())
        };
        // The legend has a square for each name.
        assert_eq!(drawn(Axis::linear(0.0, 100.0)), [0, 2]);
        assert_eq!(drawn(Axis::log(1.0, 100.0)), [1, 1]);
    }
}
