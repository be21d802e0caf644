//! Flows that had not ended when the run did: how many, what they waited for, and entries of traffic of which nothing came through.

use crate::about::RunStart;
use crate::human::{count, counted};
use crate::rows::{FlowRow, RunRecord, UnfinishedRow, WaitsFor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Flows that had not ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfinishedFlows {
    /// Of those with an end, how many waited for what, summed over seeds, most first.
    pub waiting: Vec<LeftFlows>,
    /// Entries of traffic of which nothing came through though others did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shut_out: Vec<ShutOut>,
}

/// How many flows waited for one thing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftFlows {
    /// Cause, by the words of unfinished.csv.
    pub waits_for: String,
    /// Flows.
    pub left_flows: u64,
}

/// An entry of traffic of which nothing came through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShutOut {
    /// `traffic[1] incast of 32 x 64 KB`.
    pub name: String,
    /// Cause of the wait of most of its flows.
    pub waits_for: String,
    /// Its flows that had begun, summed over seeds.
    pub begun: u64,
}

/// The flow of a row.
fn flow<'a>(run: &'a RunRecord, row: &UnfinishedRow) -> Option<&'a FlowRow> {
    let at = run.flows.binary_search_by_key(&row.flow, |flow| flow.flow).ok()?;
    run.flows.get(at)
}

/// Unfinished flows of a run; `None` if all have ended, or the tables are of a version that did not list them.
pub(super) fn left(about: &RunStart, runs: &[RunRecord]) -> Option<UnfinishedFlows> {
    let mut counts: BTreeMap<WaitsFor, u64> = BTreeMap::new();
    for run in runs {
        for row in &run.unfinished {
            if flow(run, row).is_some_and(|flow| !flow.is_endless()) {
                *counts.entry(row.waits_for).or_default() += 1;
            }
        }
    }
    let mut waiting: Vec<(WaitsFor, u64)> = counts.into_iter().collect();
    waiting.sort_by_key(|(_, flows)| std::cmp::Reverse(*flows)); // stable
    let one = |(what, flows): (WaitsFor, u64)| LeftFlows {
        waits_for: what.key().into(),
        left_flows: flows,
    };
    let left = UnfinishedFlows {
        waiting: waiting.into_iter().map(one).collect(),
        shut_out: shut_out(about, runs),
    };
    (left != UnfinishedFlows::default()).then_some(left)
}

/// Entries of which no flow had delivered a byte by the end, all of them having begun in the first half of the run, though flows of others had.
fn shut_out(about: &RunStart, runs: &[RunRecord]) -> Vec<ShutOut> {
    #[derive(Default)]
    struct Entry {
        flows: u64,
        came: bool,
        waits: BTreeMap<WaitsFor, u64>,
    }
    let mut entries: BTreeMap<u16, Entry> = BTreeMap::new();
    for run in runs {
        let half = run.end.as_ps() / 2;
        let streams: std::collections::BTreeSet<u32> =
            run.connections.iter().flat_map(|c| c.streams()).collect();
        for flow in run.flows.iter().filter(|flow| !streams.contains(&flow.flow)) {
            let entry = entries.entry(flow.traffic).or_default();
            entry.flows += 1;
            let row = run.unfinished.binary_search_by_key(&flow.flow, |row| row.flow).ok();
            match row.map(|at| run.unfinished[at]) {
                Some(row) if row.received.get() == 0 && flow.start.as_ps() < half => {
                    *entry.waits.entry(row.waits_for).or_default() += 1;
                }
                // What began late says nothing; what has ended or delivered something came through.
                Some(row) if row.received.get() == 0 => {}
                _ => entry.came = true,
            }
        }
        for connection in &run.connections {
            let came = connection.request_bytes.get() + connection.response_bytes.get() > 0;
            entries.entry(connection.traffic).or_default().came |= came;
        }
    }
    if !entries.values().any(|entry| entry.came) {
        return Vec::new();
    }
    let out = |(traffic, entry): (u16, Entry)| {
        let (waits_for, _) = entry.waits.iter().rev().max_by_key(|(_, flows)| **flows)?;
        (!entry.came).then(|| ShutOut {
            name: about.traffic_name(traffic),
            waits_for: waits_for.key().into(),
            begun: entry.flows,
        })
    };
    entries.into_iter().filter_map(out).collect()
}

impl UnfinishedFlows {
    /// `198 for the congestion window; 5 for ACKs, or a retransmission timeout`; empty where nothing is known.
    pub fn words(&self) -> String {
        let one = |of: &LeftFlows| {
            format!("{} for {}", count(of.left_flows), WaitsFor::named(&of.waits_for).words())
        };
        let all: Vec<String> = self.waiting.iter().take(4).map(one).collect();
        let more: u64 = self.waiting.iter().skip(4).map(|of| of.left_flows).sum();
        let more =
            if more > 0 { format!("; {} for something else", count(more)) } else { String::new() };
        all.join("; ") + &more
    }
}

impl ShutOut {
    /// One sentence.
    pub fn sentence(&self) -> String {
        let waits = WaitsFor::named(&self.waits_for);
        let because = match waits {
            WaitsFor::Nic => "its NICs sent other flows first".into(),
            other => format!("waiting for {}", other.words()),
        };
        format!(
            "Nothing of {} came through ({}): {because}.",
            self.name,
            counted(self.begun as usize, "flow")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::{Bytes, Span, Time};

    #[test]
    fn an_entry_of_which_nothing_comes_through_is_named_with_what_it_waits_for() {
        let flow = |flow: u32, traffic: u16| FlowRow {
            flow,
            traffic,
            src: 0,
            dst: 1,
            size: Bytes::MAX,
            start: Time::ZERO,
            delivered: None,
            acked: None,
            gave_up: None,
            ideal: Span::ZERO,
            retransmits: 0,
            timeouts: 0,
        };
        let row = |flow: u32, waits_for, received| UnfinishedRow {
            flow,
            waits_for,
            received: Bytes::new(received),
        };
        let mut run = RunRecord {
            flows: vec![flow(0, 0), flow(1, 1), flow(2, 1)],
            unfinished: vec![
                row(0, WaitsFor::CongestionWindow, 9_000),
                row(1, WaitsFor::Nic, 0),
                row(2, WaitsFor::Nic, 0),
            ],
            end: Time::from_ps(1_000),
            ..RunRecord::default()
        };
        let about = RunStart { traffic: vec!["a".into(), "b".into()], ..RunStart::default() };
        let found = left(&about, std::slice::from_ref(&run)).unwrap();
        assert_eq!(
            found.shut_out.iter().map(ShutOut::sentence).collect::<Vec<_>>(),
            ["Nothing of traffic[1] b came through (2 flows): its NICs sent other flows first."]
        );
        assert!(found.waiting.is_empty(), "none of them has an end");
        run.unfinished[2].received = Bytes::new(1);
        assert_eq!(left(&about, std::slice::from_ref(&run)), None);
        run.flows[1].size = Bytes::new(10);
        run.flows[2].size = Bytes::new(10);
        let words = left(&about, std::slice::from_ref(&run)).unwrap().words();
        assert_eq!(words, "2 for a turn at the NIC");
    }
}
