//! Parts of completion times as rows, and which flows are worth them.

use super::chain::{Call, Piece, TimeParts};
use super::log::Log;
use crate::part::Part;
use crate::rows::{FlowRow, RpcRow, RunRecord, Subject, WhyRow};
use forebay_units::{Bytes, Span, Time};
use std::collections::BTreeMap;

/// Rows of explained flows, in the order of flows, parts, ports, and flows ahead.
pub fn rows(all: &[TimeParts], log: &Log) -> Vec<WhyRow> {
    let mut rows = Vec::new();
    for one in all {
        rows.extend(rows_of(Subject::Flow(one.flow.flow), &one.pieces, log));
    }
    rows
}

/// Rows of pieces of a flow or an RPC.
pub fn rows_of(of: Subject, pieces: &[Piece], log: &Log) -> Vec<WhyRow> {
    let mut sums: BTreeMap<(Part, Option<u32>, Option<u32>), Span> = BTreeMap::new();
    for piece in pieces {
        *sums.entry((piece.part, piece.link, piece.behind)).or_default() += piece.span();
    }
    let row = |((part, link, behind), span): ((Part, Option<u32>, Option<u32>), Span)| WhyRow {
        of,
        part,
        port: link.map_or_else(String::new, |link| log.port(link)),
        behind,
        span,
    };
    sums.into_iter().map(row).collect()
}

/// The RPCs of a run that have come to their end, each by its place among all of them.
pub fn calls(run: &RunRecord) -> Vec<Call> {
    let mut calls = Vec::new();
    let (mut connection, mut number, mut upto) = (u32::MAX, 0, [0; 2]);
    for (rpc, row) in (0u32..).zip(&run.rpcs) {
        if row.connection != connection {
            (connection, number, upto) = (row.connection, 0, [0; 2]);
        }
        let size = [row.request.get(), row.response.get()];
        number += 1;
        upto = [upto[0] + size[0], upto[1] + size[1]];
        let of = &run.connections[connection as usize];
        if row.latency().is_some() {
            let streams = [of.requests, of.responses.unwrap_or(of.requests)];
            let (issued, completed) = (row.issued, row.completed);
            calls.push(Call { rpc, number, streams, upto, size, issued, completed });
        }
    }
    calls
}

/// Of RPCs that were issued after the warm-up and completed as many as `most` says of so many: the slowest by latency in units of the ideal.
pub fn slowest_rpcs(run: &RunRecord, warmup: Time, most: impl Fn(usize) -> usize) -> Vec<u32> {
    let mut rpcs: Vec<(u32, &RpcRow)> = (0u32..).zip(&run.rpcs).collect();
    rpcs.retain(|(_, row)| row.issued >= warmup && row.latency().is_some());
    let slowdown = |row: &RpcRow| row.slowdown().unwrap_or(0.0);
    rpcs.sort_by(|(_, a), (_, b)| slowdown(b).total_cmp(&slowdown(a))); // stable: equal ones in their order
    rpcs.truncate(if rpcs.is_empty() { 0 } else { most(rpcs.len()) });
    let mut chosen: Vec<u32> = rpcs.into_iter().map(|(rpc, _)| rpc).collect();
    chosen.sort_unstable();
    chosen
}

impl Log {
    /// Name of the port that sends on a link.
    pub(super) fn port(&self, link: u32) -> String {
        let of = self.links[link as usize];
        format!("{}->{}", self.names[of.from as usize], self.names[of.to as usize])
    }
}

/// Complete flows that began after the warm-up, and of each size class as many as `most` says of so many: the slowest by slowdown.
/// Classes end at `bounds`, in ascending order; a last one takes what is larger.
pub fn slowest(
    flows: &[FlowRow],
    warmup: Time,
    bounds: &[Bytes],
    most: impl Fn(usize) -> usize,
) -> Vec<u32> {
    let mut classes: BTreeMap<usize, Vec<&FlowRow>> = BTreeMap::new();
    for row in flows.iter().filter(|row| row.start >= warmup && is_explained(row)) {
        let class = bounds.partition_point(|bound| row.size > *bound);
        classes.entry(class).or_default().push(row);
    }
    let slowdown = |row: &FlowRow| row.slowdown().unwrap_or(0.0);
    let mut chosen: Vec<u32> = Vec::new();
    for rows in classes.values_mut() {
        rows.sort_by(|a, b| slowdown(b).total_cmp(&slowdown(a)).then(a.flow.cmp(&b.flow)));
        chosen.extend(rows.iter().take(most(rows.len())).map(|row| row.flow));
    }
    chosen.sort_unstable();
    chosen
}

/// A share of so many flows, one at least.
pub fn share_of(count: usize, share: f64) -> usize {
    ((count as f64 * share).ceil() as usize).clamp(1, count.max(1))
}

/// Whether a flow has a completion time to explain.
pub fn is_explained(row: &FlowRow) -> bool {
    row.fct().is_some() && !row.is_endless()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_are_chosen_class_by_class() {
        let row = |flow: u32, size: u64, fct: u64| FlowRow {
            flow,
            traffic: 0,
            src: 0,
            dst: 1,
            size: Bytes::new(size),
            start: Time::from_ps(5),
            delivered: (fct > 0).then(|| Time::from_ps(5 + fct)),
            acked: None,
            gave_up: None,
            ideal: Span::from_ps(10),
            retransmits: 0,
            timeouts: 0,
        };
        let flows = [row(0, 10, 90), row(1, 10, 80), row(2, 11, 20), row(3, 11, 30), row(4, 11, 0)];
        let bounds = [Bytes::new(10)];
        assert_eq!(slowest(&flows, Time::ZERO, &bounds, |_| 1), [0, 3]);
        assert_eq!(slowest(&flows, Time::ZERO, &[], |n| share_of(n, 0.5)), [0, 1]);
        assert!(slowest(&flows, Time::from_ps(6), &bounds, |n| n).is_empty());
        assert_eq!((share_of(1000, 0.01), share_of(3, 0.01)), (10, 1));
    }
}
