//! Sweeps beside each other: at each value of the key along which they run, a comparison of its own, and small pictures of all values.

use super::measures::Direction;
use super::numbers::value;
use super::page::{caution_list, content};
use super::text;
use super::{Comparison, MetricValues, claims, numbers};
use crate::sweep::{labels, number, plain, short as trimmed, words};
use forebay_record::report::{self, beside};
use forebay_record::svg::{Axis, Chart, Margins, Tick, esc, plain as tick, quarters, round_up};
use serde_json::{Value, json};
use std::fmt::Write;

/// What there is of a point before its runs are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// What it came from: each sweep, or each run.
    pub source: String,
    /// Key and value of what varies there, as TOML text; none of a run.
    pub settings: Vec<(String, String)>,
}

/// How points stand beside each other.
#[derive(Debug, PartialEq, Eq)]
pub struct Arrangement {
    /// The key along which they stand; `None`: all stand beside each other.
    pub key: Option<String>,
    /// Names of what stands beside each other at every value.
    pub names: Vec<String>,
    /// Each value of the key, and the points there in the order of the names.
    pub places: Vec<(String, Vec<usize>)>,
    /// Values at which a point is missing, which are left out.
    pub left_out: Vec<String>,
}

/// Arranges points along the first key with numbers that leaves something to compare at each of them.
pub fn arrange(points: &[Point]) -> Arrangement {
    let mut keys: Vec<&String> = Vec::new();
    for (key, _) in points.iter().flat_map(|point| &point.settings) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let along = keys.iter().find_map(|key| along(points, key));
    along.unwrap_or_else(|| {
        let names = names(points, None);
        let all = (0..points.len()).collect();
        Arrangement { key: None, names, places: vec![(String::new(), all)], left_out: Vec::new() }
    })
}

fn of<'a>(point: &'a Point, key: &str) -> Option<&'a String> {
    point.settings.iter().find(|(k, _)| k == key).map(|(_, value)| value)
}

fn along(points: &[Point], key: &str) -> Option<Arrangement> {
    let mut values: Vec<(f64, String)> = Vec::new();
    for point in points {
        let value = of(point, key)?;
        if values.iter().all(|(_, known)| known != value) {
            values.push((number(value)?, value.clone()));
        }
    }
    if values.len() < 2 {
        return None;
    }
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let of_point = names(points, Some(key));
    let mut names: Vec<String> = Vec::new();
    for name in &of_point {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    if names.len() < 2 {
        return None;
    }
    let (mut places, mut left_out) = (Vec::new(), Vec::new());
    for (_, value) in values {
        let at = |name: &String| {
            (0..points.len())
                .find(|i| of_point[*i] == *name && of(&points[*i], key) == Some(&value))
        };
        match names.iter().map(at).collect::<Option<Vec<usize>>>() {
            Some(there) => places.push((plain(&value).to_string(), there)),
            None => left_out.push(plain(&value).to_string()),
        }
    }
    (!places.is_empty()).then(|| Arrangement { key: Some(key.into()), names, places, left_out })
}

/// Names by the settings but `key`, and by the source where there are several.
fn names(points: &[Point], key: Option<&str>) -> Vec<String> {
    let several = points.iter().any(|point| point.source != points[0].source);
    let varies = |of_key: &str| {
        let mut values = points.iter().map(|point| of(point, of_key));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let labelled = |of_key: &str, value: &String| {
        let mut values: Vec<&str> = Vec::new();
        for other in points.iter().filter_map(|point| of(point, of_key)) {
            if !values.contains(&other.as_str()) {
                values.push(other);
            }
        }
        let at = values.iter().position(|other| other == value);
        at.and_then(|at| labels(&values).into_iter().nth(at)).unwrap_or_default()
    };
    let name = |point: &Point| {
        let others = point.settings.iter().filter(|(k, _)| Some(k.as_str()) != key && varies(k));
        let one = |(key, value): &(String, String)| {
            let last = key.rsplit('.').next().unwrap_or(key);
            // A law says what it is, and so does a table.
            match last == "law" || value.contains('{') {
                true => labelled(key, value),
                false => format!("{last} {}", words(value)),
            }
        };
        let source = several.then(|| point.source.clone());
        let all: Vec<String> = source.into_iter().chain(others.map(one)).collect();
        if all.is_empty() { point.source.clone() } else { all.join(", ") }
    };
    points.iter().map(name).collect()
}

/// Comparisons along a key.
pub struct KeyComparison {
    /// The key.
    pub key: String,
    /// Each value, and what is compared there.
    pub places: Vec<(String, Comparison)>,
    /// Values at which something is missing.
    pub left_out: Vec<String>,
    contents: Vec<String>,
}

/// The best run at a value: the metric, its name, and names of runs that the seeds do not tell from it.
type BestRun<'a> = (&'a MetricValues, &'a str, Vec<&'a str>);

/// Values whose pictures a page has; `report.css` has a rule for each.
const PICKED: usize = 6;

/// Metrics on a terminal at most.
const TERMINAL: usize = 4;

/// Small pictures on a page at most.
const CHARTS: usize = 6;

/// Metrics that small pictures are made of, as far as there are values.
const CHARTED: [&str; 10] = [
    "flows.slowdown.p99",
    "flows.slowdown.p50",
    "rpc.latency_us.p99",
    "rpc.latency_us.p50",
    "memory.goodput_gbps",
    "memory.nic_drop_share",
    "goodput_per_receiver_gbps",
    "max_queue_bytes",
    "drop_rate",
    "paused_us",
];

impl KeyComparison {
    /// Nothing yet, along a key.
    pub fn new(key: String, left_out: Vec<String>) -> Self {
        Self { key, places: Vec::new(), left_out, contents: Vec::new() }
    }

    /// Adds what is compared at a value. Its pictures are drawn here, and its runs forgotten.
    pub fn add(&mut self, value: String, mut of: Comparison) {
        if self.contents.len() < PICKED {
            self.contents.push(content(&of, &format!("-{}", self.contents.len())));
        }
        of.sides.iter_mut().for_each(|side| side.runs = Vec::new());
        self.places.push((value, of));
    }

    /// Doubts of a careful reader, a sentence each.
    pub fn cautions(&self) -> Vec<String> {
        let mut said: Vec<(String, Vec<&str>)> = Vec::new();
        for (value, of) in &self.places {
            for text in of.cautions() {
                match said.iter_mut().find(|(other, _)| *other == text) {
                    Some((_, at)) => at.push(value),
                    None => said.push((text, vec![value])),
                }
            }
        }
        let everywhere = |at: &Vec<&str>| at.len() == self.places.len();
        let mut all: Vec<String> = said
            .into_iter()
            .map(
                |(text, at)| {
                    if everywhere(&at) { text } else { format!("At {}: {text}", at.join(", ")) }
                },
            )
            .collect();
        if !self.left_out.is_empty() {
            let values = self.left_out.join(", ");
            all.push(format!(
                "Not all runs are there at {} {values}, which is left out.",
                self.key
            ));
        }
        if self.places.len() > PICKED {
            all.push(format!(
                "All pictures and metrics are here for the first {PICKED} of {} values; --json has the metrics of all.",
                self.places.len()
            ));
        }
        all
    }

    /// The metrics of small pictures, each with its value at every place: those of [`CHARTED`], and the first and the last size class.
    fn charted(&self) -> Vec<Vec<&MetricValues>> {
        let classes = self.places[0].1.measured.iter().map(|m| m.name.as_str());
        let classes: Vec<&str> = classes.filter(|name| name.contains('[')).collect();
        let ends = [classes.first(), classes.last()].into_iter().flatten().copied();
        let names = CHARTED[..1].iter().copied().chain(ends).chain(CHARTED[1..].iter().copied());
        let of = |name: &str| {
            let at = |of: &Comparison| of.measured.iter().position(|m| m.name == name);
            self.places
                .iter()
                .map(|(_, of)| Some(&of.measured[at(of)?]))
                .collect::<Option<Vec<_>>>()
        };
        let some = names.filter_map(of).filter(|all| !all.iter().all(|m| m.is_zero()));
        some.take(CHARTS).collect()
    }

    /// The best run at each value by the headline metric, and those that the seeds do not tell from it; `None` where they tell nothing.
    fn best(&self) -> Vec<Option<BestRun<'_>>> {
        let one = |(_, of): &'_ (String, Comparison)| -> Option<(usize, usize, Vec<usize>)> {
            let measured = of.headline()?;
            let at = of.measured.iter().position(|m| std::ptr::eq(m, measured))?;
            let ranked = measured.ranked();
            let alike = ranked[1..].iter().filter(|i| measured.cells[**i].best).copied().collect();
            measured.cells[ranked[0]].best.then_some((at, ranked[0], alike))
        };
        let all = self.places.iter().map(|place| {
            let (at, best, alike) = one(place)?;
            let name = |i: usize| place.1.sides[i].name.as_str();
            Some((&place.1.measured[at], name(best), alike.into_iter().map(name).collect()))
        });
        all.collect()
    }

    /// The strongest difference at any value.
    fn strongest(&self) -> Option<String> {
        let all = self.places.iter().filter_map(|(value, of)| {
            let one = claims::told(of).into_iter().next()?;
            Some((one.strength(), value, claims::strongest(of, &one)))
        });
        let (_, value, text) = all.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(format!("{text}, at {} {value}", last(&self.key)))
    }

    /// Which run is best, or else the strongest difference.
    fn headline(&self) -> String {
        let Some(of) = self.places[0].1.headline() else {
            return self.strongest().unwrap_or_else(|| format!("Compared along {}", self.key));
        };
        let best = self.best();
        let first = best.first().and_then(Option::as_ref);
        let same = |one: &Option<BestRun<'_>>| {
            one.as_ref().is_some_and(|one| Some(one.1) == first.map(|f| f.1) && one.2.is_empty())
        };
        if let (Some((_, only, _)), true) = (first, best.iter().all(same)) {
            let word = if of.better == Direction::Lower { "lowest" } else { "highest" };
            return format!(
                "{} has the {word} {} at every {}",
                claims::short(only),
                of.title,
                last(&self.key)
            );
        }
        if self.places.iter().all(|(_, of)| claims::is_same(of)) {
            let names: Vec<String> =
                self.places[0].1.sides.iter().map(|side| claims::short(&side.name)).collect();
            let key = last(&self.key);
            return format!("{} gave the same numbers at every {key}", claims::list(&names));
        }
        let strongest = self.strongest();
        strongest.unwrap_or_else(|| {
            format!(
                "Too few seeds to tell which has the best {} at any {}",
                of.title,
                last(&self.key)
            )
        })
    }

    /// The best run at each value.
    fn verdict(&self) -> String {
        const MOST: usize = 5;
        if self.places.iter().all(|(_, of)| claims::is_same(of)) {
            return "No seed differs in any metric.".into();
        }
        let Some(of) = self.places[0].1.headline() else { return String::new() };
        let one = |((value, of), best): (&(String, Comparison), &Option<BestRun<'_>>)| {
            let Some((measured, name, alike)) = best else {
                return match claims::is_same(of) {
                    true => format!("{value}: all the same"),
                    false => format!("{value}: too few seeds to tell"),
                };
            };
            let at = of.sides.iter().position(|side| side.name == *name).unwrap_or(0);
            let alike = match alike[..] {
                [] => String::new(),
                [other] => format!(" (too few seeds to tell it from {})", claims::short(other)),
                _ => format!(" (too few seeds to tell it from {} others)", alike.len()),
            };
            let number = numbers::value(measured, &measured.cells[at]);
            format!("{value}: {} {number}{alike}", claims::short(name))
        };
        let best = self.best();
        let mut all: Vec<String> = self.places.iter().zip(&best).map(one).collect();
        if all.len() > MOST {
            let more = all.len() - MOST;
            all.truncate(MOST);
            all.push(format!("{more} more below"));
        }
        format!("Best {} by {}: {}.", of.title, last(&self.key), all.join("; "))
    }
}

/// The last part of a key.
fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// The table for a terminal: for each metric a block, in which each value is a row.
pub fn terminal(of: &KeyComparison, width: usize) -> String {
    let names: Vec<&str> = of.places[0].1.sides.iter().map(|side| side.name.as_str()).collect();
    let block = |all: &Vec<&MetricValues>| {
        let heading = format!("{}, {}", all[0].title, last(&of.key));
        let values = of.places.iter().map(|(value, _)| value.clone());
        text::table(&heading, &names, &values.zip(all.iter().copied()).collect::<Vec<_>>(), width)
    };
    let short = of.charted().into_iter().filter(|all| !all[0].name.contains('['));
    short.take(TERMINAL).map(|all| block(&all)).collect::<Vec<_>>().join("\n")
}

/// The answer in two sentences.
pub fn answer(of: &KeyComparison) -> [String; 2] {
    [of.headline() + ".", of.verdict()]
}

/// All numbers.
pub fn json(of: &KeyComparison) -> Value {
    let place = |(value, of): &(String, Comparison)| json!({ "value": value, "comparison": text::json(of) });
    json!({
        "format": text::FORMAT, "along": of.key, "left_out": of.left_out, "headline": of.headline(), "verdict": of.verdict(),
        "places": of.places.iter().map(place).collect::<Vec<_>>(),
    })
}

/// The page; `command` makes it anew.
pub fn page(of: &KeyComparison, command: &str) -> String {
    let first = &of.places[0].1;
    let forced = of.places.iter().any(|(_, of)| of.is_forced());
    let seeds = first.sides.iter().map(|side| side.by_seed.len()).max().unwrap_or(0);
    let (chip, word) =
        if forced { ("bad", "definitions differ") } else { ("good", "defined alike") };
    let mut body = format!(
        "<header><p class=\"kind\">Forebay comparison <span class=\"chip {chip}\">{word}</span></p><h1>{}</h1>\
         <p class=\"verdict\">{}</p><dl class=\"facts\"><div><dt>Compared</dt><dd>{}</dd></div><div><dt>Along</dt><dd>{}, {} values</dd></div>\
         <div><dt>Seeds</dt><dd>{seeds}</dd></div></dl></header>{}",
        esc(&of.headline()),
        esc(&of.verdict()),
        first.sides.len(),
        esc(&of.key),
        of.places.len(),
        caution_list(&of.cautions())
    );
    body.push_str(&charts(of));
    let shown = of.contents.len() - 1;
    let named = of.places.iter().zip(&of.contents);
    let parts: Vec<(String, String)> =
        named.map(|((value, _), content)| (value.clone(), content.clone())).collect();
    body.push_str(&beside::picks(
        "value",
        &format!("All pictures and metrics at {}", of.key),
        &parts,
        shown,
    ));
    let _ = write!(
        body,
        "<section id=\"rerun\"><h2>This page again</h2><p><code>{}</code></p></section>",
        esc(command)
    );
    report::page(&of.headline(), "Forebay comparison", &body)
}

/// Small pictures, one for each metric: values of the key to the right, a line for each run.
fn charts(of: &KeyComparison) -> String {
    let sides = &of.places[0].1.sides;
    let mut html = format!(
        "<section id=\"along\"><h2>Along {}</h2><figure><div class=\"legend\">",
        esc(&of.key)
    );
    for (i, side) in sides.iter().enumerate().take(beside::MOST) {
        let _ = write!(html, "<span>{}{}</span>", beside::mark(i), esc(&side.name));
    }
    html.push_str("</div><div class=\"many across3\">");
    let charted = of.charted();
    charted.iter().for_each(|all| html.push_str(&chart(of, all)));
    html.push_str(
        "</div><figcaption>Marks: mean over seeds; shaded: its 95 % interval, where there are enough seeds.</figcaption></figure></section>",
    );
    html
}

fn chart(of: &KeyComparison, all: &[&MetricValues]) -> String {
    let at: Vec<f64> = of.places.iter().map(|(value, _)| number(value).unwrap_or(0.0)).collect();
    let (low, high) =
        (at.iter().copied().fold(f64::MAX, f64::min), at.iter().copied().fold(f64::MIN, f64::max));
    let x = match low > 0.0 && high / low > 20.0 {
        true => Axis::log(low / 1.15, high * 1.15),
        false => Axis::linear(low - 0.08 * (high - low), high + 0.08 * (high - low)),
    };
    let cells = || all.iter().flat_map(|m| m.cells.iter().take(beside::MOST));
    let means = || cells().filter_map(|cell| cell.estimate.mean);
    let bands = || cells().filter_map(|cell| cell.estimate.band());
    let most = means().fold(0.0, f64::max);
    let least = bands().map(|[low, _]| low).chain(means()).fold(f64::MAX, f64::min);
    // A band may be cut at the top, where it is much higher than what was seen.
    let most = bands().map(|[_, high]| high).fold(most, f64::max).min(2.0 * most);
    let write = all[0].write;
    let wide_range = least > 0.0 && most / least > 8.0;
    let y = match wide_range {
        true => Axis::log(least / 1.3, round_up(most)),
        false => Axis::linear(0.0, quarters(most * 1.02)),
    };
    let mut chart = Chart::new((338.0, 240.0), Margins(64.0, 12.0, 30.0, 46.0), x, y);
    let ticks: Vec<Tick> = (of.places.iter().zip(&at))
        .map(|((value, _), at)| Tick { value: *at, label: Some(words(value)) })
        .collect();
    let ticks = chart.plot.without_overlaps(ticks);
    let plain_number = |v: f64| write(v).chars().all(|c| c.is_ascii_digit() || c == '.');
    let label = |v: f64| {
        if v == 0.0 {
            "0".into()
        } else if plain_number(v) {
            tick(v)
        } else {
            trimmed(&write(v))
        }
    };
    let log = if wide_range { ", log scale" } else { "" };
    let title = format!("{}{log}", all[0].title.replace("<=", "≤"));
    chart.plot.axes(&ticks, &y.ticks(4, label), last(&of.key), &title);
    let n = all[0].cells.len().min(beside::MOST);
    for i in 0..n {
        let band: Vec<(f64, f64, f64)> = (at.iter().zip(all))
            .filter_map(|(at, m)| m.cells[i].estimate.band().map(|[l, h]| (*at, l, h)))
            .collect();
        chart.plot.band(&band, &format!("band s{i}"));
    }
    for i in 0..n {
        let point =
            |(at, m): (&f64, &&MetricValues)| m.cells[i].estimate.mean.map(|mean| (*at, mean));
        let points: Vec<_> = at.iter().zip(all).map(point).collect();
        chart.plot.line(&points, &format!("line s{i}"));
        for (at, mean) in points.iter().flatten() {
            let place = (chart.plot.x.px(*at), chart.plot.y.px(*mean));
            chart.plot.canvas.mark(i, place, &format!("dot s{i}"));
        }
    }
    let positions: Vec<_> = (of.places.iter().zip(&at))
        .map(|((value, _), at)| {
            (chart.plot.x.px(*at), format!("{} {}", last(&of.key), words(value)))
        })
        .collect();
    chart.hover_at(positions);
    for i in 0..n {
        let read = |m: &&MetricValues| {
            let cell = &m.cells[i];
            cell.estimate.mean.map(|mean| (chart.plot.y.px(mean), value(m, cell)))
        };
        let values: Vec<_> = all.iter().map(read).collect();
        chart.hover_row(&of.places[0].1.sides[i].name, &format!("s{i}"), values);
    }
    format!("<div>{}</div>", chart.finish(&format!("{title} along {}", of.key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(source: &str, settings: &[(&str, &str)]) -> Point {
        let settings = settings.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        Point { source: source.into(), settings }
    }

    #[test]
    fn laws_stand_beside_each_other_along_loads() {
        let mut points = Vec::new();
        for law in ["\"dctcp\"", "\"reno\""] {
            for load in ["0.7", "0.3"] {
                points.push(point("s", &[("transport.law", law), ("traffic[0].load", load)]));
            }
        }
        let arranged = arrange(&points);
        assert_eq!(arranged.key.as_deref(), Some("traffic[0].load"));
        assert_eq!(arranged.names, ["dctcp", "reno"]);
        let places = [("0.3".to_string(), vec![1, 3]), ("0.7".to_string(), vec![0, 2])];
        assert_eq!(arranged.places, places);
        points.pop();
        assert_eq!(arrange(&points).left_out, ["0.3"], "reno is missing there");
    }

    #[test]
    fn numbers_alone_stand_beside_each_other_and_two_sweeps_along_them() {
        let sizes = |source| {
            ["30KB", "60KB"].map(|k| point(source, &[("fabric.switch.ecn.k", &format!("\"{k}\""))]))
        };
        let alone = arrange(&sizes("s"));
        assert_eq!((alone.key, alone.names), (None, vec!["k 30KB".to_string(), "k 60KB".into()]));
        let both = arrange(&[sizes("old"), sizes("new")].concat());
        assert_eq!((both.names.len(), both.places.len()), (2, 2));
        assert_eq!(both.names, ["old", "new"]);
    }
}
