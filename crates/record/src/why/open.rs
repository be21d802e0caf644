//! Flows that had not ended when a run did: they have no completion time to explain, and are the slowest all the same.

use crate::human::{self, bytes, counted, micros, percent, sig3};
use crate::rows::{FlowRow, RunRecord, UnfinishedRow, WaitsFor};
use forebay_units::{Span, Time};
use std::collections::BTreeMap;

/// A flow with an end that had not ended.
#[derive(Clone, Copy, Debug)]
pub struct OpenFlow<'a> {
    /// The flow.
    pub flow: &'a FlowRow,
    /// How far it came, and what it waited for.
    pub row: UnfinishedRow,
    /// From its start to the end of the run.
    pub age: Span,
}

impl OpenFlow<'_> {
    /// Its age in units of its ideal FCT: its slowdown is more than that.
    pub fn at_least(&self) -> f64 {
        self.age.as_ps() as f64 / self.flow.ideal.as_ps().max(1) as f64
    }

    /// `12.0 KB of 64.0 KB received; waits for the congestion window`.
    pub fn state(&self) -> String {
        let share = self.row.received.get() as f64 / self.flow.size.get().max(1) as f64;
        format!(
            "{} of {} received ({}); waits for {}",
            bytes(self.row.received.get()),
            bytes(self.flow.size.get()),
            percent(share),
            self.row.waits_for.words()
        )
    }
}

/// Flows with an end that began after the warm-up and had not ended, those first that had waited longest for their size. What versions before
/// this one ran has no word of what they waited for.
pub fn open_flows(run: &RunRecord, warmup: Time) -> Vec<OpenFlow<'_>> {
    let open =
        |flow: &&FlowRow| flow.delivered.is_none() && !flow.is_endless() && flow.start >= warmup;
    fn of<'a>(run: &'a RunRecord, flow: &'a FlowRow) -> OpenFlow<'a> {
        let at = run.unfinished.binary_search_by_key(&flow.flow, |row| row.flow);
        let row = at.map_or_else(
            |_| UnfinishedRow { flow: flow.flow, ..UnfinishedRow::default() },
            |at| run.unfinished[at],
        );
        OpenFlow { flow, row, age: run.end.max(flow.start).since(flow.start) }
    }
    let mut all: Vec<OpenFlow<'_>> =
        run.flows.iter().filter(open).map(|flow| of(run, flow)).collect();
    all.sort_by(|a, b| b.at_least().total_cmp(&a.at_least())); // stable
    all
}

/// One sentence about them: how many of how many, and what they wait for. `None` if there are none.
pub fn open_sentence(open: &[OpenFlow<'_>], complete: usize, end: Time) -> Option<String> {
    if open.is_empty() {
        return None;
    }
    let mut counts: BTreeMap<WaitsFor, usize> = BTreeMap::new();
    open.iter().for_each(|one| *counts.entry(one.row.waits_for).or_default() += 1);
    let mut counts: Vec<(WaitsFor, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n)); // stable
    let one =
        |(what, n): &(WaitsFor, usize)| format!("{} for {}", human::count(*n as u64), what.words());
    let waits: Vec<String> = counts.iter().map(one).collect();
    let all = open.len() + complete;
    let had = if open.len() == 1 { "has" } else { "have" };
    Some(format!(
        "{} of {} {had} no completion time: not finished when the run ended at {}. They wait: {}.",
        human::count(open.len() as u64),
        counted(all, "flow"),
        micros(end.as_ps() as f64 / 1e6),
        waits.join("; ")
    ))
}

/// A line of each of the first of them, for a terminal.
pub fn open_lines(open: &[OpenFlow<'_>], run: &RunRecord, most: usize) -> String {
    let host = |at: u32| run.hosts.get(at as usize).map_or("?", String::as_str);
    let mut text = String::new();
    for one in open.iter().take(most) {
        let ends = format!("{} -> {}", host(one.flow.src), host(one.flow.dst));
        text.push_str(&format!(
            "{:>8}  {ends:<38}{:>10}{:>12}{:>9}  {}\n",
            one.flow.flow,
            bytes(one.flow.size.get()),
            format!("> {}", micros(one.age.as_ps() as f64 / 1e6)),
            format!("> {}x", sig3(one.at_least())),
            one.state()
        ));
    }
    if open.len() > most {
        let more = human::count((open.len() - most) as u64);
        text.push_str(&format!("{more} more; unfinished.csv has all\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::Bytes;

    #[test]
    fn what_has_waited_longest_for_its_size_comes_first_and_all_are_counted() {
        let flow = |flow: u32, start: u64, ideal: u64| FlowRow {
            flow,
            traffic: 0,
            src: 0,
            dst: 1,
            size: Bytes::new(1_000),
            start: Time::ZERO + Span::from_us(start),
            delivered: None,
            acked: None,
            gave_up: None,
            ideal: Span::from_us(ideal),
            retransmits: 0,
            timeouts: 0,
        };
        let row = |flow, waits_for| UnfinishedRow { flow, waits_for, received: Bytes::new(250) };
        let run = RunRecord {
            hosts: vec!["a".into(), "b".into()],
            flows: vec![flow(0, 0, 50), flow(1, 60, 1), flow(2, 90, 1)],
            unfinished: vec![row(0, WaitsFor::NoPath), row(1, WaitsFor::NoPath)],
            end: Time::ZERO + Span::from_us(100),
            ..RunRecord::default()
        };
        let open = open_flows(&run, Time::ZERO);
        let order: Vec<u32> = open.iter().map(|one| one.flow.flow).collect();
        assert_eq!(order, [1, 2, 0]);
        assert_eq!(
            open_sentence(&open, 2, run.end).unwrap(),
            "3 of 5 flows have no completion time: not finished when the run ended at 100 us. They wait: 2 for a path: no cables that are up \
             lead to the receiver; 1 for something unknown."
        );
        assert_eq!(
            open[0].state(),
            "250 B of 1 KB received (25.0 %); waits for a path: no cables that are up lead to the receiver"
        );
        let lines = open_lines(&open, &run, 2);
        assert!(
            lines.ends_with("1 more; unfinished.csv has all\n") && lines.lines().count() == 3,
            "{lines}"
        );
        assert_eq!(open_sentence(&[], 2, run.end), None);
    }
}
