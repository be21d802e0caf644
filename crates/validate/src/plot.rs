//! Plain SVG pictures: panels above each other over one time axis, with units.

use crate::frame::{Frame, sheet};
use crate::scale::step;

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

const LEFT: f64 = 64.0;
const RIGHT: f64 = 96.0;
const TOP: f64 = 40.0;
const PANEL: f64 = 210.0;
const GAP: f64 = 28.0;
const BOTTOM: f64 = 48.0;
const COLOURS: [&str; 3] = ["#0b62a4", "#c4511f", "#3b7d3b"]; // told apart without colour vision by their brightness

/// The whole picture.
pub(crate) fn plot(
    title: &str,
    x_label: &str,
    x_range: (f64, f64),
    panels: &[Panel<'_>],
) -> String {
    let height = TOP + panels.len() as f64 * (PANEL + GAP) - GAP + BOTTOM;
    let mut svg = sheet(title, LEFT, height);
    let all = Frame::across(LEFT, RIGHT, TOP, PANEL);
    let x = |value: f64| LEFT + (value - x_range.0) / (x_range.1 - x_range.0) * all.wide;
    for (i, panel) in panels.iter().enumerate() {
        let frame = Frame { top: TOP + i as f64 * (PANEL + GAP), ..all };
        let share = |value: f64| {
            ((value - panel.range.0) / (panel.range.1 - panel.range.0)).clamp(0.0, 1.0)
        };
        let y = |value: f64| frame.y(share(value));
        let (right, floor) = (frame.right(), frame.floor());
        svg += &frame.grid(ticks(panel.range).into_iter().map(|tick| (share(tick), tick)));
        for tick in ticks(x_range) {
            let at = x(tick);
            svg.push_str(&format!(
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{floor}\" y2=\"{}\" stroke=\"#444\"/>\n",
                floor + 5.0
            ));
            if i + 1 == panels.len() {
                svg += &frame.below(at, tick);
            }
        }
        svg += &frame.axes(panel.label);
        if i + 1 == panels.len() {
            svg += &frame.along(x_label);
        }
        for (i, (line, colour)) in panel.lines.iter().zip(COLOURS).enumerate() {
            if panel.lines.len() > 1 {
                svg.push_str(&format!(
                    "<text x=\"{}\" y=\"{}\" fill=\"{colour}\" font-weight=\"600\">{}</text>\n",
                    right + 6.0,
                    frame.top + 14.0 + 18.0 * i as f64,
                    line.name
                ));
            }
            svg.push_str(&format!(
                "<path d=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.3\"><title>{}</title></path>\n",
                path(line, x_range, &x, &y),
                line.name
            ));
        }
        let mut said: f64 = frame.top - 12.0; // where the last name stands
        let mut rules: Vec<_> = panel.rules.iter().collect();
        rules.sort_by(|a, b| b.at.total_cmp(&a.at));
        for rule in rules {
            let at = y(rule.at);
            said = at.max(said + 12.0);
            svg.push_str(&format!(
                "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#444\" stroke-dasharray=\"5 4\"/>\
                 <text x=\"{}\" y=\"{:.1}\">{}</text>\n",
                right + 6.0,
                said + 4.0,
                rule.name
            ));
        }
    }
    svg + "</svg>\n"
}

fn path(
    line: &Line<'_>,
    x_range: (f64, f64),
    x: &dyn Fn(f64) -> f64,
    y: &dyn Fn(f64) -> f64,
) -> String {
    let mut d = String::new();
    let inside = |p: &&(f64, f64)| (x_range.0..=x_range.1).contains(&p.0);
    let points: Vec<_> = line.points.iter().filter(inside).collect();
    let half = match (&points[..], line.steps) {
        ([a, b, ..], true) => (b.0 - a.0) / 2.0,
        _ => 0.0,
    };
    for (at, value) in points {
        let command = if d.is_empty() { 'M' } else { 'L' };
        if line.steps {
            let height = y(*value);
            let (from, to) = (x(at - half), x(at + half));
            d.push_str(&format!("{command}{from:.1} {height:.1}H{to:.1}"));
        } else {
            d.push_str(&format!("{command}{:.1} {:.1}", x(*at), y(*value)));
        }
    }
    d
}

/// Round numbers across a range, about six.
fn ticks(range: (f64, f64)) -> Vec<f64> {
    let step = step(range.1 - range.0);
    let first = (range.0 / step).ceil() as i64;
    let last = (range.1 / step).floor() as i64;
    (first..=last).map(|i| (i as f64 * step * 1e9).round() / 1e9).collect()
}
