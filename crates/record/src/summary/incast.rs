//! Rounds of incasts: a query is answered when its last flow is.

use super::{Distribution, is_censored};
use crate::about::RunStart;
use crate::rows::{FlowRow, RunRecord};
use serde::{Deserialize, Serialize};

/// All incasts of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IncastSummary {
    /// All of them together.
    pub overall: IncastClass,
    /// By `[[traffic]]` entry; empty if one entry alone makes incasts.
    pub traffic_classes: Vec<IncastClass>,
}

/// Rounds of some incasts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IncastClass {
    /// Name for people: `all`, `traffic[1] incast of 32 x 64 KB`.
    pub name: String,
    /// Rounds that completed, summed over seeds.
    pub count: u64,
    /// Rounds of which some flow had not ended, or not begun.
    pub not_finished: u64,
    /// Whether the statistics of some seed leave out more than 1 % of its rounds, which had not finished.
    #[serde(default)]
    pub censored: bool,
    /// From the first start of a round to the last delivery of it, in microseconds.
    pub completion_us: Distribution,
}

/// Fan-in of an entry of traffic; `None` of what is no incast.
fn fan_in(text: &str) -> Option<usize> {
    text.split("incast of ").nth(1)?.split(' ').next()?.parse().ok()
}

/// The incasts of a run; `None` if it has none.
pub(super) fn summary(about: &RunStart, runs: &[RunRecord]) -> Option<IncastSummary> {
    let entries: Vec<(u16, usize)> =
        (0..).zip(&about.traffic).filter_map(|(i, text)| Some((i, fan_in(text)?))).collect();
    if entries.is_empty() {
        return None;
    }
    let one = |entry: &(u16, usize)| class(about, runs, std::slice::from_ref(entry));
    let mut overall = class(about, runs, &entries);
    overall.name = "all".into();
    let traffic_classes = match entries.len() {
        1 => Vec::new(),
        _ => entries.iter().map(one).collect(),
    };
    Some(IncastSummary { overall, traffic_classes })
}

fn class(about: &RunStart, runs: &[RunRecord], entries: &[(u16, usize)]) -> IncastClass {
    let mut all = IncastClass::default();
    let mut per_seed = Vec::new();
    for run in runs {
        let (mut took, mut late) = (Vec::new(), 0);
        for (traffic, fan_in) in entries {
            let flows: Vec<&FlowRow> = run.flows.iter().filter(|f| f.traffic == *traffic).collect();
            let fan_in = (*fan_in).min(run.hosts.len().saturating_sub(1)).max(1);
            // The flows of a round follow each other in the table.
            for round in flows.chunks(fan_in).filter(|round| round[0].start >= about.warmup) {
                let start = round.iter().map(|flow| flow.start).min();
                let last: Option<Vec<_>> = round.iter().map(|flow| flow.delivered).collect();
                let last = last.filter(|_| round.len() == fan_in);
                match (start, last.and_then(|all| all.into_iter().max())) {
                    (Some(start), Some(last)) => took.push(last.since(start).as_ps() as f64 / 1e6),
                    _ => late += 1,
                }
            }
        }
        all.count += took.len() as u64;
        all.not_finished += late;
        all.censored |= is_censored(took.len() as u64, late);
        per_seed.push(took);
    }
    if let [(traffic, _)] = entries {
        all.name = about.traffic_name(*traffic);
    }
    all.completion_us = Distribution::of(per_seed.into_iter());
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::{Bytes, Span, Time};

    #[test]
    fn a_query_is_answered_by_its_last_flow() {
        let us = |n: u64| Time::ZERO + Span::from_us(n);
        let flow = |flow: u32, start: u64, delivered: Option<u64>| FlowRow {
            flow,
            traffic: 0,
            src: 1 + flow % 2,
            dst: 0,
            size: Bytes::new(1000),
            start: us(start),
            delivered: delivered.map(us),
            acked: None,
            gave_up: None,
            ideal: Span::from_us(1),
            retransmits: 0,
            timeouts: 0,
        };
        let run = RunRecord {
            hosts: (0..3).map(|n| format!("host[{n}]")).collect(),
            flows: vec![
                flow(0, 0, Some(10)),
                flow(1, 1, Some(30)),
                flow(2, 100, Some(110)),
                flow(3, 100, None),
                flow(4, 200, Some(250)),
                flow(5, 200, Some(210)),
            ],
            ..RunRecord::default()
        };
        let traffic = vec!["incast of 2 x 1000B, 3 rounds".to_string()];
        let about = RunStart { seeds: vec![0], traffic, ..RunStart::default() };
        let all = summary(&about, &[run]).unwrap().overall;
        assert_eq!((all.count, all.not_finished, all.censored), (2, 1, true));
        assert_eq!(
            (all.completion_us.p50.mean, all.completion_us.p99.mean),
            (Some(30.0), Some(50.0))
        );
        assert_eq!(summary(&RunStart::default(), &[]), None);
    }
}
