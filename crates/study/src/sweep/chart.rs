//! Charts of a sweep: what each setting did, a line for each combination of the others.

use super::tables::{Column, Labels, Row, cell, value};
use super::words;
use forebay_record::Estimate;
use forebay_record::svg::{
    Axis, Chart, Margins, SERIES, Tick, esc, plain, quarters, round_up, text_width,
};
use forebay_units::{BitsPerSec, Bytes, Span};

/// Along one axis: the values of a key, as numbers where they are some.
struct SweepAxis {
    key: usize,
    /// Values in order, as text.
    values: Vec<String>,
    /// Short texts of the values.
    labels: Vec<String>,
    /// Values as numbers; `None`: names, which are drawn at equal distances.
    numbers: Option<Vec<f64>>,
}

/// The section with a chart of each of these columns, along the first key with numbers, else along the first; none for a single point. A chart has
/// the class of its column, by which a reader chooses it.
pub(super) fn charts(keys: &[String], rows: &[Row], columns: &[Column], labels: &Labels) -> String {
    let Some(along) = along(keys, rows, labels) else { return String::new() };
    let lines = lines(&along, rows, labels);
    let one = |(n, column): (usize, &Column)| {
        format!("<div class=\"m{n}\">{}</div>", chart(column, &along, &lines, keys))
    };
    let drawn: String = columns.iter().enumerate().map(one).collect();
    let shown = lines.len().min(SERIES);
    let mut legend = String::from("<div class=\"legend\">");
    if lines.len() > 1 {
        for (i, (name, _)) in lines.iter().take(shown).enumerate() {
            legend.push_str(&format!("<span><i class=\"key s{i}\"></i>{}</span>", esc(name)));
        }
    }
    let left_out = match lines.len() - shown {
        0 => String::new(),
        n => format!(" {n} more combinations are in the table only."),
    };
    let numbered = match placed(&along, PLOT) {
        LabelPlacement::Numbers => {
            let one = |(n, label): (usize, &String)| format!("{}: {label}", n + 1);
            let all: Vec<String> = along.labels.iter().enumerate().map(one).collect();
            format!(" {} {}.", keys[along.key], all.join("; "))
        }
        _ => String::new(),
    };
    format!(
        "<section id=\"charts\"><h2>By {}</h2><figure>{legend}</div><div class=\"charts\">{drawn}</div><figcaption>Dots: mean over \
         seeds; shaded: its 95 % confidence interval, where there are enough seeds.{}{left_out}</figcaption></figure></section>",
        esc(&keys[along.key]),
        esc(&numbered)
    )
}

fn along(keys: &[String], rows: &[Row], short: &Labels) -> Option<SweepAxis> {
    let of = |key: usize| -> SweepAxis {
        let (mut values, mut labels): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for (row, label) in rows.iter().zip(&short[key]) {
            let value = &row.settings[key].1;
            if !values.contains(value) {
                values.push(value.clone());
                labels.push(label.clone());
            }
        }
        let numbers = values.iter().map(|value| number(value)).collect();
        SweepAxis { key, values, labels, numbers }
    };
    let varied: Vec<SweepAxis> =
        (0..keys.len()).map(of).filter(|along| along.values.len() > 1).collect();
    let at = varied.iter().position(|along| along.numbers.is_some()).unwrap_or(0);
    varied.into_iter().nth(at)
}

/// A value as a number: bare, or a quantity in its base unit.
pub(crate) fn number(value: &str) -> Option<f64> {
    let text = super::plain(value);
    let exact = |n: u64| n as f64;
    text.parse::<f64>()
        .ok()
        .filter(|n| n.is_finite())
        .or_else(|| text.parse::<Bytes>().ok().map(|bytes| exact(bytes.get())))
        .or_else(|| text.parse::<Span>().ok().map(|span| exact(span.as_ps())))
        .or_else(|| text.parse::<BitsPerSec>().ok().map(|rate| exact(rate.get())))
}

/// For each combination of the other keys its name, and its row at each value.
type Lines<'a> = Vec<(String, Vec<Option<&'a Row>>)>;

fn lines<'a>(along: &SweepAxis, rows: &'a [Row], short: &Labels) -> Lines<'a> {
    let mut lines: Lines<'a> = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        let others = row.settings.iter().enumerate().filter(|(key, _)| *key != along.key);
        let name = others.map(|(i, (key, value))| {
            let last = key.rsplit('.').next().unwrap_or(key);
            let short = &short[i][n];
            if value.contains('{') { short.clone() } else { format!("{last} {short}") }
        });
        let name = name.collect::<Vec<_>>().join(", ");
        let at = along.values.iter().position(|value| *value == row.settings[along.key].1);
        let line = match lines.iter_mut().find(|(other, _)| *other == name) {
            Some(line) => line,
            None => {
                lines.push((name, vec![None; along.values.len()]));
                lines.last_mut().expect("it was pushed")
            }
        };
        if let Some(at) = at {
            line.1[at] = Some(row);
        }
    }
    lines
}

/// Mean and band of a row.
fn read(row: &Row, column: &Column) -> Option<(f64, Option<[f64; 2]>)> {
    let value = value(row, column)?;
    let mean = value.mean?;
    let band = Estimate { mean: value.mean, ci95: value.ci95, ..Estimate::default() }.band();
    Some((mean, band))
}

/// Pixels of a chart, and of its plot.
const SIZE: (f64, f64) = (338.0, 250.0);
const MARGINS: Margins = Margins(64.0, 12.0, 30.0, 58.0);
const PLOT: f64 = SIZE.0 - MARGINS.0 - MARGINS.1;

/// How names stand under an axis.
enum LabelPlacement {
    OneLine,
    /// Each in two lines.
    TwoLines(Vec<[String; 2]>),
    /// By number, with a list below.
    Numbers,
}

/// A text in two lines of about the same length.
fn halves(text: &str) -> [String; 2] {
    let middle = text.len() / 2;
    let spaces = text.match_indices(' ').map(|(at, _)| at);
    match spaces.min_by_key(|at| at.abs_diff(middle)) {
        Some(at) => [text[..at].trim_end_matches(',').into(), text[at + 1..].into()],
        None => [text.into(), String::new()],
    }
}

fn placed(along: &SweepAxis, plot: f64) -> LabelPlacement {
    // Labels of numbers are left out where there is no room; each name needs its own.
    if along.numbers.is_some() {
        return LabelPlacement::OneLine;
    }
    let room = plot / along.labels.len() as f64 - 6.0;
    let fits = |text: &str| text_width(text) <= room;
    let two: Vec<[String; 2]> = along.labels.iter().map(|label| halves(label)).collect();
    match along.labels.iter().all(|label| fits(label)) {
        true => LabelPlacement::OneLine,
        false if two.iter().flatten().all(|text| fits(text)) => LabelPlacement::TwoLines(two),
        false => LabelPlacement::Numbers,
    }
}

fn chart(column: &Column, along: &SweepAxis, lines: &Lines<'_>, keys: &[String]) -> String {
    let shown = &lines[..lines.len().min(SERIES)];
    let write = column.write;
    let all: Vec<(f64, Option<[f64; 2]>)> = shown
        .iter()
        .flat_map(|(_, line)| line.iter().flatten())
        .filter_map(|row| read(row, column))
        .collect();
    let means = || all.iter().map(|(mean, _)| *mean);
    let most = means().fold(0.0, f64::max);
    let ends = || all.iter().filter_map(|(_, band)| *band);
    // A band may be cut at the top, where it is much higher than what was seen.
    let top = ends().map(|[_, high]| high).fold(most, f64::max).min(2.0 * most);
    let least = ends().map(|[low, _]| low).chain(means()).fold(f64::MAX, f64::min);
    let wide_range = least > 0.0 && top / least > 8.0;
    let places: Vec<f64> = match &along.numbers {
        Some(numbers) => numbers.clone(),
        None => (0..along.values.len()).map(|i| i as f64).collect(),
    };
    let low = places.iter().copied().fold(f64::INFINITY, f64::min);
    let high = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let x = match along.numbers.is_some() {
        true if low > 0.0 && high / low > 20.0 => Axis::log(low / 1.15, high * 1.15),
        true => Axis::linear(low - 0.08 * (high - low), high + 0.08 * (high - low)),
        // Each name in the middle of its share.
        false => Axis::linear(-0.5, high + 0.5),
    };
    let y = match wide_range {
        true => Axis::log(least / 1.3, round_up(top)),
        false => Axis::linear(0.0, if top > 0.0 { quarters(top * 1.02) } else { 1.0 }),
    };
    let mut chart = Chart::new(SIZE, MARGINS, x, y);
    let how = placed(along, PLOT);
    let label = |i: usize| match how {
        LabelPlacement::OneLine => Some(words(&along.labels[i])),
        LabelPlacement::TwoLines(_) => None,
        LabelPlacement::Numbers => Some((i + 1).to_string()),
    };
    let ticks: Vec<Tick> =
        places.iter().enumerate().map(|(i, at)| Tick { value: *at, label: label(i) }).collect();
    let ticks = chart.plot.without_overlaps(ticks);
    let plain_number = |v: f64| write(v).chars().all(|c| c.is_ascii_digit() || c == '.');
    let share = write(1.0).ends_with(" %");
    let y_label = |v: f64| match v {
        0.0 => "0".into(),
        v if share => format!("{} %", plain(v * 100.0)),
        v if plain_number(v) => plain(v),
        v => short(&write(v)),
    };
    let log = if wide_range { ", log scale" } else { "" };
    let title = format!("{}{log}", column.heading.replace("<=", "≤"));
    chart.plot.axes(&ticks, &y.ticks(4, y_label), "", &title);
    let bottom = chart.plot.frame.bottom;
    if let LabelPlacement::TwoLines(two) = &how {
        for ([first, second], at) in two.iter().zip(&places) {
            let at = chart.plot.x.px(*at);
            chart.plot.canvas.text((at, bottom + 17.0), "tick mid", first);
            chart.plot.canvas.text((at, bottom + 30.0), "tick mid", second);
        }
    }
    let last = keys[along.key].rsplit('.').next().unwrap_or_default();
    let middle = chart.plot.frame.middle();
    chart.plot.canvas.text((middle, bottom + 50.0), "title mid", last);
    for (i, (_, line)) in shown.iter().enumerate() {
        let mut points: Vec<(f64, f64, Option<[f64; 2]>)> = (places.iter().zip(line))
            .filter_map(|(at, row)| {
                let (mean, band) = read((*row)?, column)?;
                Some((*at, mean, band))
            })
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let band: Vec<_> =
            points.iter().filter_map(|(at, _, b)| b.map(|b| (*at, b[0], b[1].min(top)))).collect();
        chart.plot.band(&band, &format!("band s{i}"));
        let path: Vec<_> = points.iter().map(|(at, mean, _)| Some((*at, *mean))).collect();
        let names = if along.numbers.is_some() { "" } else { " thin" };
        chart.plot.line(&path, &format!("line{names} s{i}"));
        for (at, mean, _) in &points {
            chart.plot.dot(*at, *mean, &format!("dot s{i}"));
        }
    }
    let positions: Vec<_> = (places.iter().zip(&along.labels))
        .map(|(at, label)| (chart.plot.x.px(*at), format!("{last} {label}")))
        .collect();
    chart.hover_at(positions);
    for (i, (line_name, line)) in shown.iter().enumerate() {
        let values = line.iter().map(|row| {
            let (mean, _) = read((*row)?, column)?;
            Some((chart.plot.y.px(mean), cell((*row)?, column)))
        });
        let values: Vec<_> = values.collect();
        chart.hover_row(
            if line_name.is_empty() { &title } else { line_name },
            &format!("s{i}"),
            values,
        );
    }
    chart.finish(&format!("{title} by {}", keys[along.key]))
}

/// `500 KB` of `500.0 KB`.
pub(crate) fn short(text: &str) -> String {
    use forebay_units::human::trim;
    match text.split_once(' ') {
        Some((number, unit)) => format!("{} {unit}", trim(number)),
        None => trim(text).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_numbers_and_names_are_not() {
        assert_eq!(number("0.3"), Some(0.3));
        assert!(number("\"30KB\"") < number("\"1MB\"") && number("\"10us\"") < number("\"1ms\""));
        assert_eq!(number("\"dctcp\""), None);
        assert_eq!(number("{ kind = \"rdma\" }"), None);
    }

    #[test]
    fn names_get_one_line_or_two_or_numbers_and_none_is_left_out() {
        let of = |labels: &[&str]| SweepAxis {
            key: 0,
            values: Vec::new(),
            labels: labels.iter().map(|label| label.to_string()).collect(),
            numbers: None,
        };
        assert!(matches!(placed(&of(&["off", "on"]), PLOT), LabelPlacement::OneLine));
        let tables = ["kmin 100KB", "kmin 200KB", "kmin 400KB", "kmin 800KB"];
        let LabelPlacement::TwoLines(two) = placed(&of(&tables), PLOT) else { panic!("two lines") };
        assert_eq!(two[3], ["kmin", "800KB"]);
        assert!(matches!(placed(&of(&tables.repeat(3)), PLOT), LabelPlacement::Numbers));
    }
}
