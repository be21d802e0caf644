//! `deadlocks.csv`, in run directories where ports paused each other in a circle and in no others.

use super::read::{Records, Rows};
use super::table::Table;
use crate::columns;
use crate::error::RecordError;
use crate::rows::{DeadlockRow, RunRecord};
use forebay_units::Time;
use std::path::Path;

/// Name and header.
pub(super) const TABLE: (&str, &[&str]) = ("deadlocks.csv", columns::DEADLOCKS);

/// Between two ports of a row.
const BETWEEN: &str = "; ";

/// Adds one simulation, on disk when this returns.
pub(super) fn write(table: &mut Table, run: &RunRecord) -> Result<(), RecordError> {
    for row in &run.deadlocks {
        table.row(|cells| {
            cells
                .number(run.seed)
                .number(row.closed.as_ps())
                .maybe(row.gone.map(Time::as_ps))
                .text(&row.ports.join(BETWEEN));
        })?;
    }
    table.flush()
}

/// Reads the table, if this run has one.
pub(super) fn read(dir: &Path, records: &mut Records) -> Result<(), RecordError> {
    let Some(mut rows) = Rows::open_if_any(dir, TABLE.0, TABLE.1)? else { return Ok(()) };
    while rows.next()? {
        let row = DeadlockRow {
            closed: Time::from_ps(rows.number(1)?),
            gone: rows.maybe(2)?.map(Time::from_ps),
            ports: rows.text(3).split(BETWEEN).map(String::from).collect(),
        };
        if let Some(run) = records.of(rows.number(0)?) {
            run.deadlocks.push(row);
        }
    }
    Ok(())
}
