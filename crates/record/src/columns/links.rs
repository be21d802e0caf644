//! `links.csv`: links over time, in run directories of runs that sampled them.

use super::RowTable;
use super::columns;
use crate::csv::Value::{Number, Singles, Text};
use crate::rows::LinksRow;
use forebay_units::Span;

pub(super) static LINKS: RowTable<LinksRow> = RowTable {
    file: "links.csv",
    always: false,
    seeded: true,
    needed: &["node", "peer", "interval_ps"],
    blank: LinksRow::default,
    any: |run| !run.links.is_empty(),
    each: |run, row| run.links.iter().try_for_each(row),
    take: |run, row| {
        run.links.push(row);
        Ok(())
    },
    columns: columns! { LinksRow:
        ["node" "" "", = |l, _| Text(&l.node) => |l, c| l.node = c.text().into()]
        ["peer" "" "", = |l, _| Text(&l.peer) => |l, c| l.peer = c.text().into()]
        ["link_count" "" "Number of links from node to peer: one, or on a large fabric all links from one group of \
                          nodes to another.",
            = |l, _| Number(l.links.into()) => |l, c| l.links = c.small()?]
        ["interval_ps" "ps" "Length of the intervals, in picoseconds; the last ends with the run and may be shorter. Lists of links.csv have a value for each, parted by semicolons; an empty list has nothing but zeros.",
            = |l, _| Number(l.every.as_ps()) => |l, c| l.every = Span::from_ps(c.number()?)]
        ["busy_shares" "" "Share of each interval for which the links transmitted, mean over links, to three decimals.",
            = |l, _| Singles(&l.busy) => |l, c| l.busy = c.floats()?]
        ["queues_bytes" "bytes" "Longest queue of the links found at the sampling instants of each interval, the last of which ends it; queues between them may have been longer.",
            = |l, _| Singles(&l.queue) => |l, c| l.queue = c.floats()?]
        ["drops" "packets" "Packets that found no room, and packets lost to a fault or at random, in each interval; credits that were dropped are not among them.",
            = |l, _| Singles(&l.dropped) => |l, c| l.dropped = c.floats()?]
        ["marks" "packets" "Packets marked in each interval.",
            = |l, _| Singles(&l.marked) => |l, c| l.marked = c.floats()?]
        ["trims" "packets" "Packets trimmed in each interval.",
            = |l, _| Singles(&l.trimmed) => |l, c| l.trimmed = c.floats()?]
        ["credit_drops" "credits" "Credits that found no room in each interval.",
            = |l, _| Singles(&l.refused_credits) => |l, c| l.refused_credits = c.floats()?]
        ["paused_shares" "" "Share of each interval for which the peer had paused some class, mean over links, to three decimals.",
            = |l, _| Singles(&l.paused) => |l, c| l.paused = c.floats()?]
    },
};
