//! `unfinished.csv`, in run directories of runs that ended before some of their flows did, and in no others.

use super::RowTable;
use super::columns;
use crate::csv::Value::{Number, Text};
use crate::rows::{UnfinishedRow, WaitsFor};
use forebay_units::Bytes;

pub(super) static UNFINISHED: RowTable<UnfinishedRow> = RowTable {
    file: "unfinished.csv",
    always: false,
    seeded: true,
    needed: &["flow", "waits_for"],
    blank: UnfinishedRow::default,
    any: |run| !run.unfinished.is_empty(),
    each: |run, row| run.unfinished.iter().try_for_each(row),
    take: |run, row| {
        run.unfinished.push(row);
        Ok(())
    },
    columns: columns! { UnfinishedRow:
        ["flow" "" "", = |u, _| Number(u.flow.into()) => |u, c| u.flow = c.small()?]
        ["waits_for" "" "What a flow that had not ended waited for when the run did: acks, application, congestion_window, gave_up, network, nic, no_path, pacing, pause, reader, receiver (its window, or credit), or unknown.",
            = |u, _| Text(u.waits_for.key()) => |u, c| u.waits_for = WaitsFor::named(c.text())]
        ["received_bytes" "bytes" "Payload of it that its receiver had in order by then.",
            = |u, _| Number(u.received.get()) => |u, c| u.received = Bytes::new(c.number()?)]
    },
};
