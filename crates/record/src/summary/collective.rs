//! Collectives in the summary: how long they took, and how well they used the links.

use super::{Distribution, is_censored};
use crate::about::RunStart;
use crate::rows::{CollectiveRow, RunRecord};
use crate::stats::{Estimate, mean};
use forebay_units::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How the numbers of collectives are defined; copied into every summary that has some.
pub const COLLECTIVE_DEFINITION: &str = "completion: from the begin of the first rank to the instant at which every \
rank had all of its data, for collectives begun after the warm-up; bus bandwidth: size over completion, times the \
factor of nccl-tests; wait: mean over ranks of the time from having all data to the end of the collective";

/// All collectives of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectiveSummary {
    /// What completion, bandwidths and wait mean.
    pub collective_definition: String,
    /// Collectives that had not ended by the end of the run, begun in the warm-up or after it.
    #[serde(default)]
    pub left_collectives: u64,
    /// All measured collectives together.
    pub overall: CollectiveClass,
    /// By `[[traffic]]` entry; empty if one entry alone makes collectives.
    pub traffic_classes: Vec<CollectiveClass>,
}

impl CollectiveSummary {
    /// Statistics by entry; of one entry alone, those of all.
    pub(crate) fn classes(&self) -> &[CollectiveClass] {
        match self.traffic_classes.is_empty() {
            true => std::slice::from_ref(&self.overall),
            false => &self.traffic_classes,
        }
    }
}

/// Statistics of some collectives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectiveClass {
    /// Name for people: `all`, `traffic[1] all-reduce of 16MB over 8 ranks, ring`.
    pub name: String,
    /// Collectives that completed, summed over seeds.
    pub count: u64,
    /// Collectives that had begun after the warm-up and not ended by the end of the run.
    pub not_finished: u64,
    /// Whether the statistics of some seed leave out more than 1 % of its collectives, which had not finished.
    #[serde(default)]
    pub censored: bool,
    /// From the begin of the first rank to the end, in microseconds.
    pub completion_us: Distribution,
    /// Size over completion time, in Gb/s, mean over collectives.
    pub algbw_gbps: Estimate,
    /// What links carried, in Gb/s, mean over collectives.
    pub busbw_gbps: Estimate,
    /// Time from having all data to the end of the collective, in microseconds, mean over ranks and collectives.
    pub wait_us: Estimate,
    /// Host that was last most often; empty if no collective ended.
    pub last_rank: String,
    /// Share of the collectives in which it was.
    pub last_rank_share: f64,
}

/// The collectives of a run; `None` if it has none.
pub(super) fn summary(about: &RunStart, runs: &[RunRecord]) -> Option<CollectiveSummary> {
    let all = runs.iter().flat_map(|run| &run.collectives);
    let mut entries: Vec<u16> = all.map(|row| row.traffic).collect();
    entries.sort_unstable();
    entries.dedup();
    if entries.is_empty() {
        return None;
    }
    let one =
        |entry: &u16| class(about.traffic_name(*entry), about, runs, |row| row.traffic == *entry);
    let (overall, traffic_classes) = match &entries[..] {
        [only] => (one(only), Vec::new()),
        several => {
            let all = class("all".into(), about, runs, |_| true);
            (all, several.iter().map(one).collect())
        }
    };
    let collective_definition = COLLECTIVE_DEFINITION.into();
    let all = runs.iter().flat_map(|run| &run.collectives);
    let left_collectives = all.filter(|row| row.end.is_none()).count() as u64;
    Some(CollectiveSummary { collective_definition, left_collectives, overall, traffic_classes })
}

fn class(
    name: String,
    about: &RunStart,
    runs: &[RunRecord],
    member: impl Fn(&CollectiveRow) -> bool,
) -> CollectiveClass {
    let mut class = CollectiveClass { name, ..CollectiveClass::default() };
    let (mut took, mut algbw, mut busbw, mut waits) = (vec![], vec![], vec![], vec![]);
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    for run in runs {
        let measured = |row: &&CollectiveRow| member(row) && row.start >= about.warmup;
        let rows: Vec<&CollectiveRow> = run.collectives.iter().filter(measured).collect();
        let us = |span: Span| span.as_ps() as f64 / 1e6;
        let of = |value: &dyn Fn(&CollectiveRow) -> Option<f64>| -> Vec<f64> {
            rows.iter().filter_map(|row| value(row)).collect()
        };
        let done = of(&|row| row.completion().map(us));
        let late = rows.len() as u64 - done.len() as u64;
        class.count += done.len() as u64;
        class.not_finished += late;
        class.censored |= is_censored(done.len() as u64, late);
        took.push(done);
        algbw.push(mean(&of(&CollectiveRow::algbw_gbps)));
        busbw.push(mean(&of(&CollectiveRow::busbw_gbps)));
        waits.push(mean(&of(&|row| row.wait.map(us))));
        for host in rows.iter().filter_map(|row| row.last) {
            *last.entry(&run.hosts[host as usize]).or_default() += 1;
        }
    }
    class.completion_us = Distribution::of(took.into_iter());
    class.algbw_gbps = Estimate::new(algbw);
    class.busbw_gbps = Estimate::new(busbw);
    class.wait_us = Estimate::new(waits);
    // Of several the first by name.
    if let Some((host, times)) = last.iter().rev().max_by_key(|(_, times)| **times) {
        class.last_rank = (*host).into();
        class.last_rank_share = *times as f64 / class.count.max(1) as f64;
    }
    class
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_jobs::Operation;
    use forebay_units::{Bytes, Time};

    #[test]
    fn an_all_reduce_of_four_ranks_has_one_and_a_half_times_its_algbw() {
        let row = CollectiveRow {
            operation: Operation::AllReduce,
            ranks: 4,
            bytes: Bytes::new(1_000_000),
            start: Time::from_ps(1_000_000),
            end: Some(Time::from_ps(101_000_000)),
            done: 4,
            last: Some(1),
            wait: Some(Span::from_us(3)),
            ..CollectiveRow::default()
        };
        let late = CollectiveRow { number: 1, end: None, last: None, wait: None, ..row };
        let run = RunRecord {
            hosts: vec!["a".into(), "b".into()],
            collectives: vec![row, late],
            ..RunRecord::default()
        };
        let about = RunStart { seeds: vec![0], traffic: vec!["x".into()], ..RunStart::default() };
        let all = summary(&about, &[run]).unwrap().overall;
        assert_eq!((all.count, all.not_finished, all.censored), (1, 1, true));
        assert_eq!(all.completion_us.mean.mean, Some(100.0));
        // 1 MB in 100 us are 80 Gb/s. Each rank sends 2 (n - 1)/n of the size.
        assert_eq!((all.algbw_gbps.mean, all.busbw_gbps.mean), (Some(80.0), Some(120.0)));
        assert_eq!((all.wait_us.mean, all.last_rank.as_str()), (Some(3.0), "b"));
        assert_eq!(summary(&RunStart::default(), &[]), None);
    }

    /// Two of three are left, and one of them began in the warm-up.
    #[test]
    fn the_headline_counts_collectives_of_the_warmup_that_are_left() {
        let us = |us: u64| Time::from_ps(us * 1_000_000);
        let at = |start: u64| CollectiveRow { start: us(start), ..CollectiveRow::default() };
        let done = CollectiveRow { end: Some(us(2)), last: Some(0), ..at(1) };
        let run = |rows: &[CollectiveRow]| RunRecord {
            hosts: vec!["a".into()],
            collectives: rows.to_vec(),
            ..RunRecord::default()
        };
        let warmup = us(10);
        let traffic = vec!["x".into()];
        let about = RunStart { seeds: vec![0], traffic, warmup, ..RunStart::default() };
        let text = |rows: &[CollectiveRow]| {
            let all = crate::Summary::of(&about, &[run(rows)]);
            let head = all.render(100, false).lines().next().unwrap_or_default().to_string();
            let of = all.collective.expect("it has collectives");
            (head, of.left_collectives, of.overall.not_finished)
        };
        let (head, left, measured) = text(&[done, at(3)]);
        assert!(head.ends_with("1 collective UNFINISHED"), "{head}");
        assert_eq!((left, measured), (1, 0));
        let (head, left, measured) = text(&[done, at(3), at(11)]);
        assert!(head.ends_with("2 collectives UNFINISHED"), "{head}");
        assert_eq!((left, measured), (2, 1));
    }
}
