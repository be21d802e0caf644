//! `memory_series.csv`, in run directories of scenarios that sample paths to memory and in no others.

use super::read::{Records, Rows};
use super::table::Table;
use crate::columns;
use crate::error::RecordError;
use crate::memory_series::{MemorySample, MemorySeries};
use crate::rows::RunRecord;
use forebay_units::{Span, Time};
use std::path::Path;

/// Name and header.
pub(super) const TABLE: (&str, &[&str]) = ("memory_series.csv", columns::MEMORY_SERIES);

/// Adds one simulation, on disk when this returns.
pub(super) fn write(table: &mut Table, run: &RunRecord) -> Result<(), RecordError> {
    for series in &run.memory_series {
        for (i, sample) in series.samples.iter().enumerate() {
            let first = i * series.antagonists;
            let antagonists = &series.by_antagonist[first..first + series.antagonists];
            table.row(|cells| {
                cells
                    .number(run.seed)
                    .text(&series.host)
                    .number(sample.at.as_ps())
                    .single(Some(sample.occupancy))
                    .single(Some(sample.pcie_gbps))
                    .number(sample.buffered.into())
                    .number(sample.dropped.into())
                    .single(Some(sample.goodput_gbps))
                    .single(Some(sample.network))
                    .list(antagonists)
                    .number(sample.marked.into())
                    .number(sample.level.into())
                    .single(sample.seen.map(|seen| seen[0]))
                    .single(sample.seen.map(|seen| seen[1]))
                    .single(sample.other_nics);
            })?;
        }
    }
    table.flush()
}

/// Reads the table back, if it is there. The first sample of a host ends the first interval.
pub(super) fn read(dir: &Path, records: &mut Records) -> Result<(), RecordError> {
    let (name, header) = TABLE;
    let Some(mut rows) = Rows::open_if_any(dir, name, header)? else { return Ok(()) };
    while rows.next()? {
        records.host(&rows, 1)?;
        let host = rows.text(1).to_string();
        let at = Time::from_ps(rows.number(2)?);
        let seen = match (rows.text(12), rows.text(13)) {
            ("", "") => None,
            _ => Some([rows.float(12)?, rows.float(13)?]),
        };
        let sample = MemorySample {
            at,
            occupancy: rows.float(3)?,
            pcie_gbps: rows.float(4)?,
            buffered: rows.small(5)?,
            dropped: rows.small(6)?,
            goodput_gbps: rows.float(7)?,
            network: rows.float(8)?,
            marked: rows.small(10)?,
            level: rows.small(11)?,
            seen,
            other_nics: match rows.text(14) {
                "" => None,
                _ => Some(rows.float(14)?),
            },
        };
        let antagonists: Vec<f32> = rows.floats(9)?;
        let Some(run) = records.of(rows.number(0)?) else { continue };
        if run.memory_series.last().is_none_or(|series| series.host != host) {
            let every = at.since(Time::ZERO);
            let antagonists = antagonists.len();
            let series = MemorySeries { host, every, antagonists, ..MemorySeries::default() };
            run.memory_series.push(series);
        }
        let series = run.memory_series.last_mut().expect("one was there or was added");
        if antagonists.len() != series.antagonists || series.every == Span::ZERO {
            return Err(rows.wrong("the samples of a host do not belong together"));
        }
        series.samples.push(sample);
        series.by_antagonist.extend(antagonists);
    }
    Ok(())
}
