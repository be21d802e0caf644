//! `memory.csv`, in run directories of scenarios with modelled paths to memory and in no others.

use super::read::{Records, Rows};
use super::table::Table;
use crate::columns;
use crate::error::RecordError;
use crate::rows::{LIMITS, MemoryRow, RunRecord, WAITS};
use forebay_units::{Bytes, Span};
use std::path::Path;

/// Name and header.
pub(super) const TABLE: (&str, &[&str]) = ("memory.csv", columns::MEMORY);

/// Adds one simulation, on disk when this returns.
pub(super) fn write(table: &mut Table, run: &RunRecord) -> Result<(), RecordError> {
    for row in &run.memory {
        table.row(|cells| {
            cells
                .number(run.seed)
                .text(&row.host)
                .number(row.span.as_ps())
                .number(row.arrived)
                .number(row.dropped)
                .ratio(Some(row.drop_share()))
                .number(row.read_bytes.get())
                .ratio(Some(row.goodput_gbps()))
                .exact(row.entered)
                .ratio(Some(row.pcie_gbps()))
                .exact(row.occupancy)
                .exact(row.full)
                .exact(row.wait_ns)
                .exact(row.backlog)
                .number(row.most_buffered.get())
                .exact(row.dma)
                .exact(row.copied)
                .exact(row.sent)
                .ratio(Some(row.network_gigabytes()))
                .list(&row.antagonists)
                .ratio(Some(row.antagonist_gigabytes()))
                .exact(row.reading)
                .number(row.level_writes)
                .list(&row.levels)
                .number(row.marked)
                .list(&row.limits)
                .number(row.dropped_in_all)
                .number(row.marked_in_all)
                .number(row.nic_buffer.get())
                .exact(row.pcie_limit_gbps)
                .number(row.iio_slots.into())
                .exact(row.memory_limit_gigabytes)
                .list(row.targets.map(|targets| targets[0]).as_slice())
                .list(row.targets.map(|targets| targets[1]).as_slice())
                .list(&row.sender_waits)
                .exact(row.other_nics);
        })?;
    }
    table.flush()
}

/// Reads the table back, if it is there.
pub(super) fn read(dir: &Path, records: &mut Records) -> Result<(), RecordError> {
    let (name, header) = TABLE;
    let Some(mut rows) = Rows::open_if_any(dir, name, header)? else { return Ok(()) };
    while rows.next()? {
        let host = rows.text(1).to_string();
        records.host(&rows, 1)?;
        let limits: Vec<f64> = rows.floats(25)?;
        let waits: Vec<f64> = rows.floats(34)?;
        let row = MemoryRow {
            host,
            span: Span::from_ps(rows.number(2)?),
            arrived: rows.number(3)?,
            dropped: rows.number(4)?,
            read_bytes: Bytes::new(rows.number(6)?),
            entered: rows.float(8)?,
            occupancy: rows.float(10)?,
            full: rows.float(11)?,
            wait_ns: rows.float(12)?,
            backlog: rows.float(13)?,
            most_buffered: Bytes::new(rows.number(14)?),
            dma: rows.float(15)?,
            copied: rows.float(16)?,
            sent: rows.float(17)?,
            other_nics: rows.float(35)?,
            antagonists: rows.floats(19)?,
            reading: rows.float(21)?,
            level_writes: rows.number(22)?,
            levels: rows.floats(23)?,
            marked: rows.number(24)?,
            limits: limits.try_into().map_err(|other: Vec<f64>| {
                let (have, want) = (other.len(), LIMITS.len());
                rows.wrong(&format!("limited_by_shares has {have} values, not {want}"))
            })?,
            dropped_in_all: rows.number(26)?,
            marked_in_all: rows.number(27)?,
            nic_buffer: Bytes::new(rows.number(28)?),
            pcie_limit_gbps: rows.float(29)?,
            iio_slots: rows.small(30)?,
            memory_limit_gigabytes: rows.float(31)?,
            sender_waits: waits.try_into().map_err(|other: Vec<f64>| {
                let (have, want) = (other.len(), WAITS.len());
                rows.wrong(&format!("sender_wait_shares has {have} values, not {want}"))
            })?,
            targets: match (rows.text(32), rows.text(33)) {
                ("", "") => None,
                _ => Some([rows.float(32)?, rows.float(33)?]),
            },
        };
        if let Some(run) = records.of(rows.number(0)?) {
            run.memory.push(row);
        }
    }
    Ok(())
}
