//! `[[expect]]`: bands that results must lie in, read before the run and held against it afterwards.

use crate::formula::{Formula, NoValue, Runs, SingleScenario, SummaryOfRuns, is_by_host};
use forebay_record::judge::{self, JudgedValue};
use forebay_record::{RunRecord, RunStart, Summary};
use forebay_scenario::expect::{Expect, Rows};

/// A band whose formula has been understood.
pub struct Band {
    expect: Expect,
    formula: Formula,
}

/// What cannot be understood, one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub String);

/// The bands of a scenario.
///
/// # Errors
/// One line for each metric that there is not, or that has a `where` which cannot choose what the metric is of; the place of the metric
/// begins it, or else `place`.
pub fn bands(place: &str, expect: &[Expect]) -> Result<Vec<Band>, Problems> {
    let (mut bands, mut problems) = (Vec::new(), Vec::new());
    for (i, expect) in expect.iter().enumerate() {
        let place = if expect.place.is_empty() { place } else { &expect.place };
        match band(expect) {
            Ok(band) => bands.push(band),
            Err((key, text)) => problems.push(format!("{place}: expect[{i}].{key}: {text}")),
        }
    }
    if problems.is_empty() { Ok(bands) } else { Err(Problems(problems.join("\n"))) }
}

fn band(expect: &Expect) -> Result<Band, (&'static str, String)> {
    let formula = Formula::of_run(&expect.metric)
        .map_err(|text| ("metric", format!("\"{}\" {text}", expect.metric)))?;
    if let Some(rows) = &expect.rows {
        cannot_choose(rows, &formula).map_or(Ok(()), |text| Err(("where", text.into())))?;
    }
    Ok(Band { expect: expect.clone(), formula })
}

/// Why a `where` does not choose what a formula is of, if so.
fn cannot_choose(rows: &Rows, formula: &Formula) -> Option<&'static str> {
    match (formula.is_of_flows(), formula.is_of_collectives()) {
        (_, true) => rows.conditions().iter().any(is_by_host).then_some(
            "names src or dst, which a collective does not have; compare traffic, start or size",
        ),
        (true, _) => None,
        _ => Some("chooses flows or collectives, and this metric is of neither; leave it out"),
    }
}

impl Band {
    /// A sentence if the result is outside, or is not there.
    pub fn miss(&self, about: &RunStart, summary: &Summary, runs: &[RunRecord]) -> Option<String> {
        let name = &self.expect.metric;
        let (rows, what) = match &self.expect.rows {
            Some(rows) => (rows.conditions(), format!("{name} where {}", rows.text())),
            None => (&[][..], name.clone()),
        };
        let summary = SummaryOfRuns::Given(summary);
        let runs = SingleScenario(Runs { about, records: runs, windows: &[], summary });
        let value = match self.formula.value(&runs, rows) {
            Ok(found) => found.value,
            Err(NoValue::Missing(why)) => return Some(format!("{what} {why}")),
            Err(NoValue::Empty) => return Some(format!("{what} has no value: it is 0 over 0")),
        };
        let band = judge::Band { least: self.expect.min, most: self.expect.max };
        match band.judge(value) {
            JudgedValue::In => None,
            JudgedValue::Below(min) => {
                let value = rounded(value, min);
                Some(format!("{what} is {value}, below the expected minimum of {min}"))
            }
            JudgedValue::Above(max) => {
                let value = rounded(value, max);
                Some(format!("{what} is {value}, above the expected maximum of {max}"))
            }
            JudgedValue::NotFinite => {
                Some(format!("{what} is {value}, which is not a finite number"))
            }
        }
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
pub fn misses(
    bands: &[Band],
    about: &RunStart,
    summary: &Summary,
    runs: &[RunRecord],
) -> Vec<String> {
    bands.iter().filter_map(|band| band.miss(about, summary, runs)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_record::{CollectiveRow, FlowRow};
    use forebay_units::{Bytes, Span, Time};

    fn expect(metric: &str, rows: Option<&str>, min: Option<f64>, max: Option<f64>) -> Expect {
        let rows = rows.map(|text| text.to_string().into());
        Expect { metric: metric.into(), rows, min, max, place: String::new() }
    }

    fn runs() -> (RunStart, Vec<RunRecord>) {
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
            gave_up: None,
        };
        let run = RunRecord {
            seed: 1,
            hosts: vec!["host[0]".into(), "host[1]".into()],
            flows: vec![flow(10_000, 20), flow(99_999, 40), flow(100_000, 500)],
            end: Time::from_ps(1_000_000_000),
            ..RunRecord::default()
        };
        (RunStart { seeds: vec![1], ..RunStart::default() }, vec![run])
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
    fn collectives_are_chosen_by_their_entry_their_size_and_their_begin() {
        let row = |traffic: u16, start: u64, us: u64| CollectiveRow {
            traffic,
            ranks: 4,
            bytes: Bytes::new(1 << 20),
            start: Time::ZERO + Span::from_us(start),
            end: Some(Time::ZERO + Span::from_us(start + us)),
            ..CollectiveRow::default()
        };
        let (about, mut runs) = runs();
        runs[0].collectives = vec![row(0, 0, 10), row(0, 10, 12), row(2, 0, 50)];
        let summary = Summary::of(&about, &runs);
        let missed = |rows: Option<&str>, value: f64| {
            let one = expect("collective.completion_us.mean", rows, Some(value), Some(value));
            misses(&bands("x.toml", &[one]).unwrap(), &about, &summary, &runs).pop()
        };
        assert_eq!(missed(None, 24.0), None);
        assert_eq!(missed(Some("traffic == 0"), 11.0), None);
        assert_eq!(missed(Some("traffic == 2"), 50.0), None);
        assert_eq!(missed(Some("traffic == 0 and start > 1us"), 12.0), None);
        assert_eq!(missed(Some("size >= 1MiB and traffic != 2"), 11.0), None);
        assert_eq!(
            missed(Some("traffic == 1"), 1.0).unwrap(),
            "collective.completion_us.mean where traffic == 1 has no value: no such collective completed"
        );
    }

    #[test]
    fn a_band_may_hold_a_formula_over_metrics_and_flows() {
        let ratio = "max(flows.slowdown) / min(flows.slowdown)";
        assert_eq!(missed(expect(ratio, None, Some(25.0), Some(25.0))), None);
        let some = Some("size < 100KB");
        assert_eq!(missed(expect(ratio, some, Some(2.0), Some(2.0))), None);
        assert_eq!(
            missed(expect("drops / marks", None, Some(0.0), None)).unwrap(),
            "drops / marks has no value: it is 0 over 0"
        );
    }

    #[test]
    fn what_cannot_be_understood_is_said_before_the_run() {
        for (metric, rows, says) in [
            ("flows.slowness", None, "expect[0].metric: \"flows.slowness\" is not a metric"),
            (
                "sum(each(drops))",
                None,
                "has each(...), which is for the cases of a suite, at character 5",
            ),
            ("drops +", None, "\"drops +\" lacks a value at character 8; write"),
            ("1 + flows.slowness", None, "has \"flows.slowness\", which is not a metric"),
            ("flows.slowdown", None, "\"flows.slowdown\" is a list; write"),
            ("window.seconds", None, "which is known of the experiments of a suite only"),
            ("drops", Some("size < 1KB"), "this metric is of neither"),
            (
                "collective.busbw_gbps",
                Some("traffic == 0 and dst == host[1]"),
                "expect[0].where: names src or dst, which a collective does not have",
            ),
        ] {
            let Err(Problems(text)) = bands("x.toml", &[expect(metric, rows, None, None)]) else {
                panic!("{metric} {rows:?} was understood")
            };
            assert!(text.starts_with("x.toml: expect[0].") && text.contains(says), "{text}");
        }
    }
}
