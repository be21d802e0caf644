//! Pictures over time: panels above each other over one time axis, with units.

use forebay_record::svg::{Axis, Canvas, Frame, Plot, SvgFile, plain, px};

/// One panel.
pub(crate) struct Panel<'a> {
    /// Quantity and unit.
    pub label: &'a str,
    /// What the vertical axis spans.
    pub range: (f64, f64),
    pub lines: Vec<Line<'a>>,
    pub rules: Vec<Rule<'a>>,
}

/// One quantity over time.
pub(crate) struct Line<'a> {
    pub name: &'a str,
    pub points: Vec<(f64, f64)>,
    /// Constant around each point, rather than straight between points.
    pub steps: bool,
}

/// A horizontal line for reference.
pub(crate) struct Rule<'a> {
    pub name: &'a str,
    pub at: f64,
}

const FIRST: Frame = Frame::across(64.0, 112.0, 60.0, 210.0);
const GAP: f64 = 46.0;
const BOTTOM: f64 = 54.0;
const LINE: f64 = 14.0; // from one name of a rule to the next, at least

/// The whole picture.
pub(crate) fn plot(
    title: &str,
    x_label: &str,
    x_range: (f64, f64),
    panels: &[Panel<'_>],
) -> String {
    let step = FIRST.bottom - FIRST.top + GAP;
    let height = FIRST.top + panels.len() as f64 * step - GAP + BOTTOM;
    let mut sheet = SvgFile::new(title, FIRST.left - 42.0, height);
    for (i, panel) in panels.iter().enumerate() {
        let title = if i + 1 == panels.len() { x_label } else { "" };
        sheet.canvas.add(&one(panel, FIRST.lower(step * i as f64), x_range, title));
    }
    sheet.finish()
}

/// One panel; the last one has the title and the numbers of the time axis.
fn one(panel: &Panel<'_>, frame: Frame, x_range: (f64, f64), x_title: &str) -> Canvas {
    let (x, y) = (Axis::linear(x_range.0, x_range.1), Axis::linear(panel.range.0, panel.range.1));
    let mut plot = Plot::new(frame, frame.right + 20.0, x, y);
    let mut ticks = x.ticks(6, plain);
    if x_title.is_empty() {
        ticks.iter_mut().for_each(|tick| tick.label = None);
    }
    plot.axes(&ticks, &y.ticks(6, plain), x_title, panel.label);
    for (i, line) in panel.lines.iter().enumerate() {
        if panel.lines.len() > 1 {
            let at = (frame.right + 6.0, frame.top + 14.0 + 18.0 * i as f64);
            plot.canvas.text(at, &format!("strong named s{i}"), line.name);
        }
        let path = path(line, x_range, &plot);
        if !path.is_empty() {
            plot.canvas.shape(&path, &format!("line thin s{i}"), line.name);
        }
    }
    let mut said: f64 = frame.top - LINE; // where the last name stands
    let mut rules: Vec<_> = panel.rules.iter().collect();
    rules.sort_by(|a, b| b.at.total_cmp(&a.at));
    for rule in rules {
        plot.level(rule.at, "rule");
        said = plot.y.px(rule.at).max(said + LINE);
        plot.canvas.text((frame.right + 6.0, said + 4.0), "", rule.name);
    }
    plot.canvas
}

fn path(line: &Line<'_>, x_range: (f64, f64), plot: &Plot) -> String {
    let mut d = String::new();
    let inside = |p: &&(f64, f64)| (x_range.0..=x_range.1).contains(&p.0);
    let points: Vec<_> = line.points.iter().filter(inside).collect();
    let half = match (&points[..], line.steps) {
        ([a, b, ..], true) => (b.0 - a.0) / 2.0,
        _ => 0.0,
    };
    for (at, value) in points {
        let command = if d.is_empty() { 'M' } else { 'L' };
        let height = px(plot.y.px(*value));
        if line.steps {
            let [from, to] = [at - half, at + half].map(|x| px(plot.x.px(x)));
            d.push_str(&format!("{command}{from} {height}H{to}"));
        } else {
            d.push_str(&format!("{command}{} {height}", px(plot.x.px(*at))));
        }
    }
    d
}
