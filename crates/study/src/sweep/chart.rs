//! Charts of a sweep: what each setting did, a line for each combination of the others.

use super::tables::{Column, Row, columns, value};
use super::words;
use forebay_record::svg::{Axis, Chart, SERIES, Tick, esc, plain, quarters, text_width};
use forebay_units::{BitsPerSec, Bytes, Span};

/// Charts on a page at most.
const CHARTS: usize = 6;

/// Along one axis: the values of a key, as numbers where they are some.
struct Along {
    key: usize,
    /// Values in order, as text.
    values: Vec<String>,
    /// Values as numbers; `None`: names, which are drawn at equal distances.
    numbers: Option<Vec<f64>>,
}

/// Charts of the columns that have values, along the first key with numbers, else along the first; none for a single point.
pub(super) fn charts(keys: &[String], rows: &[Row]) -> String {
    let Some(along) = along(keys, rows) else { return String::new() };
    let lines = lines(&along, rows);
    let (nonzero, zero): (Vec<&Column>, Vec<&Column>) =
        columns(rows).into_iter().partition(|column| top(column, &lines) > 0.0);
    let drawn = nonzero.iter().take(CHARTS);
    let drawn: String = drawn.map(|column| chart(column, &along, &lines, keys)).collect();
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
    let zero: Vec<String> = zero.into_iter().map(title).collect();
    let zero = match zero.is_empty() {
        true => String::new(),
        false => format!(" Zero at every point: {}.", zero.join(", ")),
    };
    format!(
        "<section id=\"charts\"><h2>By {}</h2><figure>{legend}</div><div class=\"pair\">{drawn}</div><figcaption>Dots: mean across \
         seeds; shaded: its 95 % confidence interval, where there are enough seeds.{left_out}{zero}</figcaption></figure></section>",
        esc(&keys[along.key])
    )
}

fn along(keys: &[String], rows: &[Row]) -> Option<Along> {
    let of = |key: usize| -> Along {
        let mut values: Vec<String> = Vec::new();
        for row in rows {
            let value = &row.settings[key].1;
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        let numbers = values.iter().map(|value| number(value)).collect();
        Along { key, values, numbers }
    };
    let varied: Vec<Along> =
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

fn lines<'a>(along: &Along, rows: &'a [Row]) -> Lines<'a> {
    let mut lines: Lines<'a> = Vec::new();
    for row in rows {
        let others = row.settings.iter().enumerate().filter(|(key, _)| *key != along.key);
        let name = others.map(|(_, (key, value))| {
            let last = key.rsplit('.').next().unwrap_or(key);
            format!("{last} {}", words(value))
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

/// Mean and interval of a row.
fn read(row: &Row, column: &Column) -> Option<(f64, Option<[f64; 2]>)> {
    value(row, column).and_then(|v| Some((v.mean?, v.ci95)))
}

/// The largest value that is drawn.
fn top(column: &Column, lines: &Lines<'_>) -> f64 {
    let shown = lines.iter().take(SERIES).flat_map(|(_, line)| line.iter().flatten());
    let all = shown.filter_map(|row| read(row, column));
    all.map(|(mean, ci)| ci.map_or(mean, |ci| ci[1].max(mean))).fold(0.0, f64::max)
}

/// The heading of a column, whole where the table shortens it.
fn title(column: &Column) -> String {
    match column.1.starts_with("flows.slowdown.") && !column.0.starts_with("slowdown") {
        true => format!("slowdown {}", column.0),
        false => column.0.into(),
    }
}

fn chart(column: &Column, along: &Along, lines: &Lines<'_>, keys: &[String]) -> String {
    let shown = &lines[..lines.len().min(SERIES)];
    let top = top(column, lines);
    let name = title(column);
    let places: Vec<f64> = match &along.numbers {
        Some(numbers) => numbers.clone(),
        None => (0..along.values.len()).map(|i| i as f64).collect(),
    };
    let low = places.iter().copied().fold(f64::INFINITY, f64::min);
    let high = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let x = match along.numbers.is_some() && low > 0.0 && high / low > 20.0 {
        true => Axis::log(low / 1.1, high * 1.1),
        false => Axis::linear(low - 0.08 * (high - low), high + 0.08 * (high - low)),
    };
    let y = Axis::linear(0.0, if top > 0.0 { quarters(top * 1.02) } else { 1.0 });
    let mut chart = Chart::half(x, y);
    let ticks: Vec<Tick> = places
        .iter()
        .zip(&along.values)
        .map(|(at, value)| Tick { value: *at, label: Some(words(value)) })
        .collect();
    // Names that would run into each other are left to the pointer.
    let room = chart.plot.frame.width() / places.len() as f64;
    let fits = |tick: &Tick| tick.label.as_deref().is_none_or(|label| text_width(label) < room);
    let named = ticks.iter().all(fits);
    let ticks: Vec<Tick> = ticks
        .into_iter()
        .map(|tick| Tick { label: tick.label.filter(|_| named), ..tick })
        .collect();
    let share = column.2(1.0).ends_with(" %");
    let label = |v: f64| if share { format!("{} %", plain(v * 100.0)) } else { plain(v) };
    chart.plot.axes(&ticks, &y.ticks(5, label), &keys[along.key], &name);
    for (i, (_, line)) in shown.iter().enumerate() {
        let points: Vec<(f64, f64, Option<[f64; 2]>)> = (places.iter().zip(line))
            .filter_map(|(at, row)| {
                let (mean, ci) = read((*row)?, column)?;
                Some((*at, mean, ci))
            })
            .collect();
        let band: Vec<_> = points
            .iter()
            .filter_map(|(at, _, ci)| ci.map(|ci| (*at, ci[0].max(0.0), ci[1])))
            .collect();
        chart.plot.band(&band, &format!("band s{i}"));
        if along.numbers.is_some() {
            let mut sorted = points.clone();
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            let path: Vec<_> = sorted.iter().map(|(at, mean, _)| Some((*at, *mean))).collect();
            chart.plot.line(&path, &format!("line s{i}"));
        }
        for (at, mean, _) in &points {
            chart.plot.dot(*at, *mean, &format!("dot s{i}"));
        }
    }
    let positions: Vec<_> = (places.iter().zip(&along.values))
        .map(|(at, value)| (chart.plot.x.px(*at), format!("{} {}", keys[along.key], words(value))))
        .collect();
    chart.hover_at(positions);
    for (i, (line_name, line)) in shown.iter().enumerate() {
        let values = line.iter().map(|row| {
            let (mean, _) = read((*row)?, column)?;
            Some((chart.plot.y.px(mean), super::tables::cell((*row)?, column)))
        });
        let values: Vec<_> = values.collect();
        chart.hover_row(
            if line_name.is_empty() { &name } else { line_name },
            &format!("s{i}"),
            values,
        );
    }
    chart.finish(&format!("{name} by {}", keys[along.key]))
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
}
