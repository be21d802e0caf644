//! `[[expect]]`: bands that results must lie in, read before the run and held against it afterwards.

use crate::metrics::{self, Metric};
use forebay_record::judge::{self, Judged};
use forebay_record::{About, FlowRow, RunRecord, Summary};
use forebay_scenario::Expect;
use forebay_scenario::plan::matches;
use forebay_units::{Bytes, Time};
use std::cmp::Ordering;

/// A band whose names have been understood.
pub struct Band {
    expect: Expect,
    metric: Metric,
    rows: Vec<Condition>,
}

/// One comparison of a `where`.
#[derive(Clone, Debug, PartialEq)]
struct Condition {
    operator: Operator,
    value: Operand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    Unequal,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Size(Bytes),
    Start(Time),
    Traffic(u64),
    Source(String),
    Destination(String),
}

/// What cannot be understood, one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub String);

/// The bands of a scenario.
///
/// # Errors
/// One line for each metric or `where` that cannot be understood; `place` begins it.
pub fn bands(place: &str, expect: &[Expect]) -> Result<Vec<Band>, Problems> {
    let (mut bands, mut problems) = (Vec::new(), Vec::new());
    for (i, expect) in expect.iter().enumerate() {
        match band(expect) {
            Ok(band) => bands.push(band),
            Err((key, text)) => problems.push(format!("{place}: expect[{i}].{key}: {text}")),
        }
    }
    if problems.is_empty() { Ok(bands) } else { Err(Problems(problems.join("\n"))) }
}

fn band(expect: &Expect) -> Result<Band, (&'static str, String)> {
    let metric = metrics::by_name(&expect.metric).ok_or_else(|| {
        let text = "is not a metric; see \"forebay list metrics\", for instance flows.slowdown.p99";
        ("metric", format!("\"{}\" {text}", expect.metric))
    })?;
    let rows = match &expect.rows {
        None => Vec::new(),
        Some(_) if !metric.of_flows => {
            let text = "chooses flows, and this metric is not of flows; leave it out";
            return Err(("where", text.into()));
        }
        Some(rows) => conditions(rows).map_err(|text| ("where", text))?,
    };
    Ok(Band { expect: expect.clone(), metric, rows })
}

fn conditions(text: &str) -> Result<Vec<Condition>, String> {
    let parts = text.split(" and ").flat_map(|part| part.split("&&"));
    parts.map(condition).collect()
}

fn condition(text: &str) -> Result<Condition, String> {
    let bad = |why: &str| {
        format!(
            "\"{}\" {why}; write for instance \"size < 100KB\" or \"traffic == 0 and start >= 1ms\"",
            text.trim()
        )
    };
    const OPERATORS: [(&str, Operator); 7] = [
        ("<=", Operator::AtMost),
        (">=", Operator::AtLeast),
        ("==", Operator::Equal),
        ("!=", Operator::Unequal),
        ("<", Operator::Less),
        (">", Operator::Greater),
        ("=", Operator::Equal),
    ];
    let (sign, operator) = OPERATORS
        .into_iter()
        .filter_map(|(sign, operator)| Some((text.find(sign)?, sign, operator)))
        .min_by_key(|(at, sign, _)| (*at, usize::MAX - sign.len()))
        .map(|(_, sign, operator)| (sign, operator))
        .ok_or_else(|| bad("has no comparison"))?;
    let (field, value) = text.split_once(sign).unwrap_or_default();
    let value = value.trim().trim_matches(['"', '\'']);
    let quantity =
        |why: forebay_units::ParseError| bad(&format!("is not understood: {value} {why}"));
    let equality = matches!(operator, Operator::Equal | Operator::Unequal);
    let value = match field.trim() {
        "size" => Operand::Size(value.parse().map_err(quantity)?),
        "start" => Operand::Start(value.parse().map_err(quantity)?),
        "traffic" => Operand::Traffic(
            value.parse().map_err(|_| bad("needs the index of a [[traffic]] entry"))?,
        ),
        "src" if equality => Operand::Source(value.into()),
        "dst" if equality => Operand::Destination(value.into()),
        "src" | "dst" => return Err(bad("compares names, which takes == or !=")),
        other => {
            return Err(bad(&format!(
                "begins with \"{other}\", not size, start, traffic, src or dst"
            )));
        }
    };
    Ok(Condition { operator, value })
}

impl Condition {
    fn holds(&self, flow: &FlowRow, hosts: &[String]) -> bool {
        let named = |pattern: &str, host: u32| {
            if matches(pattern, &hosts[host as usize]) { Ordering::Equal } else { Ordering::Less }
        };
        let order = match &self.value {
            Operand::Size(size) => flow.size.cmp(size),
            Operand::Start(start) => flow.start.cmp(start),
            Operand::Traffic(traffic) => u64::from(flow.traffic).cmp(traffic),
            Operand::Source(pattern) => named(pattern, flow.src),
            Operand::Destination(pattern) => named(pattern, flow.dst),
        };
        match self.operator {
            Operator::Less => order.is_lt(),
            Operator::AtMost => order.is_le(),
            Operator::Greater => order.is_gt(),
            Operator::AtLeast => order.is_ge(),
            Operator::Equal => order.is_eq(),
            Operator::Unequal => order.is_ne(),
        }
    }
}

impl Band {
    /// A sentence if the result is outside, or is not there.
    pub fn miss(&self, about: &About, summary: &Summary, runs: &[RunRecord]) -> Option<String> {
        let value = if self.rows.is_empty() {
            self.metric.value(summary)
        } else {
            self.metric.value(&Summary::of(about, &self.chosen(runs)))
        };
        let what = match &self.expect.rows {
            Some(rows) => format!("{} where {rows}", self.expect.metric),
            None => self.expect.metric.clone(),
        };
        let Some(value) = value.mean else {
            return Some(format!("{what} has no value: no such flow completed"));
        };
        let band = judge::Band { least: self.expect.min, most: self.expect.max };
        match band.judge(value) {
            Judged::In => None,
            Judged::Below(min) => {
                let value = rounded(value, min);
                Some(format!("{what} is {value}, below the expected minimum of {min}"))
            }
            Judged::Above(max) => {
                let value = rounded(value, max);
                Some(format!("{what} is {value}, above the expected maximum of {max}"))
            }
            Judged::NotFinite => Some(format!("{what} is {value}, which is no finite number")),
        }
    }

    /// The same simulations with those flows alone.
    fn chosen(&self, runs: &[RunRecord]) -> Vec<RunRecord> {
        let of = |run: &RunRecord| RunRecord {
            seed: run.seed,
            hosts: run.hosts.clone(),
            flows: run
                .flows
                .iter()
                .filter(|flow| self.rows.iter().all(|c| c.holds(flow, &run.hosts)))
                .copied()
                .collect(),
            end: run.end,
            interrupted: run.interrupted,
            totals: run.totals,
            digest: run.digest,
            ..RunRecord::default()
        };
        runs.iter().map(of).collect()
    }
}

/// Four digits, and more as long as the value would look as if it kept to the bound.
fn rounded(value: f64, bound: f64) -> String {
    let side = |v: f64| v.partial_cmp(&bound);
    let digits = (3..17).map(|digits| format!("{value:.digits$e}"));
    let mut shown = digits.filter_map(|text| text.parse::<f64>().ok());
    shown.find(|shown| side(*shown) == side(value)).unwrap_or(value).to_string()
}

/// A sentence for each band that was missed.
pub fn misses(bands: &[Band], about: &About, summary: &Summary, runs: &[RunRecord]) -> Vec<String> {
    bands.iter().filter_map(|band| band.miss(about, summary, runs)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::Span;

    fn expect(metric: &str, rows: Option<&str>, min: Option<f64>, max: Option<f64>) -> Expect {
        Expect { metric: metric.into(), rows: rows.map(Into::into), min, max }
    }

    fn runs() -> (About, Vec<RunRecord>) {
        let flow = |size: u64, fct_us: u64| FlowRow {
            flow: 0,
            traffic: u16::from(size > 50_000),
            src: 0,
            dst: 1,
            size: Bytes::new(size),
            start: Time::ZERO,
            delivered: Some(Time::ZERO + Span::from_us(fct_us)),
            acked: None,
            ideal: Span::from_us(10),
            retransmits: 0,
            timeouts: 0,
        };
        let run = RunRecord {
            seed: 1,
            hosts: vec!["host[0]".into(), "host[1]".into()],
            flows: vec![flow(10_000, 20), flow(99_999, 40), flow(100_000, 500)],
            end: Time::from_ps(1_000_000_000),
            ..RunRecord::default()
        };
        (About { seeds: vec![1], ..About::default() }, vec![run])
    }

    fn missed(e: Expect) -> Option<String> {
        let (about, runs) = runs();
        let summary = Summary::of(&about, &runs);
        let bands = bands("x.toml", &[e]).unwrap();
        misses(&bands, &about, &summary, &runs).pop()
    }

    #[test]
    fn rows_are_chosen_by_where() {
        assert_eq!(
            missed(expect("flows.slowdown.p99", Some("size < 100KB"), None, Some(4.0))),
            None
        );
        assert_eq!(
            missed(expect("flows.slowdown.p99", Some("size<=100KB"), None, Some(4.0))).unwrap(),
            "flows.slowdown.p99 where size<=100KB is 50, above the expected maximum of 4"
        );
        let both = Some("traffic == 1 and size < 100KB");
        assert_eq!(missed(expect("flows.slowdown.mean", both, Some(4.0), Some(4.0))), None);
        assert_eq!(missed(expect("flows.completed", Some("dst = host[*]"), Some(3.0), None)), None);
        assert!(
            missed(expect("flows.slowdown.p50", Some("start > 1us"), None, Some(9.0)))
                .unwrap()
                .ends_with("no such flow completed")
        );
        assert!(missed(expect("drops", None, Some(1.0), None)).unwrap().contains("below"));
    }

    #[test]
    fn what_cannot_be_understood_is_said_before_the_run() {
        for (metric, rows, says) in [
            ("flows.slowness", None, "expect[0].metric: \"flows.slowness\" is not a metric"),
            ("drops", Some("size < 1KB"), "this metric is not of flows"),
            ("flows.completed", Some("size 100KB"), "has no comparison"),
            ("flows.completed", Some("size < 100"), "has no unit"),
            ("flows.completed", Some("colour == red"), "begins with \"colour\""),
            ("flows.completed", Some("src < a"), "takes == or !="),
        ] {
            let Err(Problems(text)) = bands("x.toml", &[expect(metric, rows, None, None)]) else {
                panic!("{metric} {rows:?} was understood")
            };
            assert!(text.starts_with("x.toml: expect[0].") && text.contains(says), "{text}");
        }
    }
}
