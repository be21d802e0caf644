//! `class_pauses.csv`, in run directories where some class was paused on its own and in no others.

use super::read::{Records, Rows};
use super::table::Table;
use crate::columns;
use crate::error::RecordError;
use crate::rows::{ClassPauseRow, RunRecord};
use forebay_units::{Bytes, Span};
use std::path::Path;

/// Name and header.
pub(super) const TABLE: (&str, &[&str]) = ("class_pauses.csv", columns::CLASS_PAUSES);

/// Adds one simulation, on disk when this returns.
pub(super) fn write(table: &mut Table, run: &RunRecord) -> Result<(), RecordError> {
    for row in &run.class_pauses {
        table.row(|cells| {
            cells
                .number(run.seed)
                .text(&row.node)
                .text(&row.peer)
                .number(row.class.into())
                .number(row.pause_frames_sent)
                .number(row.pause_frames_received)
                .number(row.paused.as_ps())
                .number(row.headroom_peak.get())
                .number(row.lossless_drops)
                .number(row.watchdog_fired)
                .number(row.watchdog_drops);
        })?;
    }
    table.flush()
}

/// Reads the table, if this run has one.
pub(super) fn read(dir: &Path, records: &mut Records) -> Result<(), RecordError> {
    let Some(mut rows) = Rows::open_if_any(dir, TABLE.0, TABLE.1)? else { return Ok(()) };
    while rows.next()? {
        let row = ClassPauseRow {
            node: rows.text(1).into(),
            peer: rows.text(2).into(),
            class: rows.small(3)?,
            pause_frames_sent: rows.number(4)?,
            pause_frames_received: rows.number(5)?,
            paused: Span::from_ps(rows.number(6)?),
            headroom_peak: Bytes::new(rows.number(7)?),
            lossless_drops: rows.number(8)?,
            watchdog_fired: rows.number(9)?,
            watchdog_drops: rows.number(10)?,
        };
        if let Some(run) = records.of(rows.number(0)?) {
            run.class_pauses.push(row);
        }
    }
    Ok(())
}
