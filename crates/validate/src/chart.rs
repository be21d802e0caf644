//! Plain SVG charts of groups of bars, with published numbers beside ours, and tables below them.

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

/// What a vertical axis spans.
#[derive(Clone, Copy)]
pub(crate) enum Scale {
    /// From zero to this.
    Linear(f64),
    /// Powers of ten, and between them 2 and 5 if they are few; what is less stands on the floor.
    Log(f64, f64),
}

const WIDTH: f64 = 960.0;
const LEFT: f64 = 62.0;
const GAP: f64 = 84.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 66.0;
const HEIGHT: f64 = 230.0;
const LINE: f64 = 18.0;
const COLOURS: [&str; 6] = ["#0b62a4", "#e08a3c", "#3b7d3b", "#8a8a8a", "#7a3f9d", "#b5304f"];

impl Chart {
    /// The picture.
    pub fn svg(&self) -> String {
        let table = self.table.len() as f64 * LINE;
        let height = TOP + HEIGHT + 52.0 + table + if self.foot.is_empty() { 8.0 } else { 28.0 };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
             font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>{title}</title>\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
             <text x=\"{LEFT}\" y=\"22\" font-size=\"15\" font-weight=\"600\">{title}</text>\n",
            title = self.title
        );
        self.legend(&mut svg);
        let count = self.panels.len() as f64;
        let wide = (WIDTH - LEFT - RIGHT - GAP * (count - 1.0)) / count;
        for (i, panel) in self.panels.iter().enumerate() {
            self.panel(&mut svg, panel, LEFT + i as f64 * (wide + GAP), wide);
        }
        self.rows(&mut svg, TOP + HEIGHT + 58.0);
        if !self.foot.is_empty() {
            svg += &format!(
                "<text x=\"{LEFT}\" y=\"{}\" fill=\"#444\">{}</text>\n",
                height - 10.0,
                self.foot
            );
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

    fn panel(&self, svg: &mut String, panel: &Panel, left: f64, wide: f64) {
        let floor = TOP + HEIGHT;
        let y = |value: f64| floor - HEIGHT * panel.scale.share(value);
        for (tick, name) in panel.scale.ticks() {
            let at = y(tick);
            *svg += &format!(
                "<line x1=\"{left:.1}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#e3e3e3\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>\n",
                left + wide,
                left - 6.0,
                at + 4.0
            );
        }
        let group = wide / self.groups.len() as f64;
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
            *svg += &format!(
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{name}</text>\n",
                left + group * (g as f64 + 0.5),
                floor + 17.0
            );
        }
        *svg += &format!(
            "<path d=\"M{left:.1} {TOP}V{floor}H{:.1}\" fill=\"none\" stroke=\"#444\"/>\n\
             <text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate({:.1} {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            left + wide,
            left + wide / 2.0,
            floor + 36.0,
            self.group_label,
            left - 48.0,
            TOP + HEIGHT / 2.0,
            panel.label
        );
    }

    fn rows(&self, svg: &mut String, top: f64) {
        let columns = self.table.first().map_or(0, Vec::len);
        let first = 210.0;
        let wide = (WIDTH - LEFT - RIGHT - first) / columns.saturating_sub(1).max(1) as f64;
        for (r, row) in self.table.iter().enumerate() {
            let weight = if r == 0 { " font-weight=\"600\"" } else { "" };
            for (c, cell) in row.iter().enumerate() {
                *svg += &format!(
                    "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\"{weight}>{cell}</text>\n",
                    LEFT + if c == 0 { 0.0 } else { first + wide * (c - 1) as f64 },
                    top + LINE * (r as f64 + 0.5)
                );
            }
        }
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

impl Scale {
    /// Height of a value as a share of the axis.
    pub fn share(self, value: f64) -> f64 {
        let share = match self {
            Self::Linear(top) => value / top,
            Self::Log(low, high) => (value.max(low).log10() - low.log10()) / (high / low).log10(),
        };
        share.clamp(0.0, 1.0)
    }

    /// Round values across the axis, and how they are written.
    pub fn ticks(self) -> Vec<(f64, String)> {
        match self {
            Self::Linear(top) => {
                let power = 10f64.powi((top / 6.0).log10().floor() as i32);
                let steps = [1.0, 2.0, 5.0, 10.0].map(|m| m * power);
                let step = steps.into_iter().find(|s| *s >= top / 6.0).unwrap_or(power);
                let count = (top / step).floor() as i32;
                (0..=count).map(|i| (f64::from(i) * step, short(f64::from(i) * step))).collect()
            }
            Self::Log(low, high) => {
                let few = high / low < 300.0;
                let steps: &[f64] = if few { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let (from, to) = (low.log10().floor() as i32, high.log10().ceil() as i32);
                let all = (from..=to).flat_map(|p| steps.iter().map(move |m| m * 10f64.powi(p)));
                let within = all.filter(|tick| (low * 0.999..=high * 1.001).contains(tick));
                within.map(|tick| (tick, short(tick))).collect()
            }
        }
    }
}

/// A number as an axis shows it.
fn short(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match value {
        _ if value >= 1e6 => format!("{}M", short(value / 1e6)),
        _ if value >= 1e4 => format!("{}k", short(value / 1e3)),
        _ if value > 0.0 && value < 1e-3 => format!("{value:.0e}"),
        _ => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_the_axis_says() {
        assert_eq!(Scale::Linear(100.0).share(25.0), 0.25);
        assert_eq!(Scale::Log(0.01, 1.0).share(0.1), 0.5);
        assert_eq!(Scale::Log(0.01, 1.0).share(0.0), 0.0);
        assert_eq!(Scale::Linear(10.0).share(11.0), 1.0);
    }

    #[test]
    fn ticks_are_round_and_within() {
        let names =
            |scale: Scale| -> Vec<String> { scale.ticks().into_iter().map(|t| t.1).collect() };
        assert_eq!(names(Scale::Linear(100.0)), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(names(Scale::Log(0.001, 1.0)), ["0.001", "0.01", "0.1", "1"]);
        assert_eq!(names(Scale::Log(1e-5, 1e-2)), ["1e-5", "1e-4", "0.001", "0.01"]);
        assert_eq!(names(Scale::Log(0.3, 12.0)), ["0.5", "1", "2", "5", "10"]);
    }
}
