//! Traces of a machine's signals: `signals.csv`, a row for each reading, with the columns of a law log.
//!
//! `seq,now_ps,event,at_ps,raw,acts`: number of the row; time of the row, time of the reading, in picoseconds from the start;
//! name of the counter; its value, raw and cumulative; actions of a law, empty where none ran. Three events are no counters:
//! `version`, always the first row; `gap`, whose `raw` is how many rows were lost before it; `end`, always the last row, whose
//! `raw` is how many rows there are before it. So a trace that was cut, at a row or within one, is told from a whole one.
//!
//! Invariant: reading any text gives a trace or an error that names the line, and takes memory in proportion to it.

use crate::error::RecordError;
use forebay_units::Time;
use std::io::{self, Write};
use std::path::Path;

/// Name of the file in a trace.
pub const FILE: &str = "signals.csv";

/// Version that is written, and the only one that is read.
pub const VERSION: u64 = 1;

const COLUMNS: &str = "seq,now_ps,event,at_ps,raw,acts";

/// What a column means; the others' columns are explained in [`crate::columns`].
pub(crate) fn explain(column: &str) -> Option<&'static str> {
    Some(match column {
        "seq" => "Number of the row, from 0, without gaps.",
        "now_ps" => "Time of the row since the start of the recording, in picoseconds.",
        "event" => {
            "Name of the counter that was read; or version (first row, raw is the version), gap (raw is how many rows were lost before it), end (last row, raw is how many rows are before it)."
        }
        "at_ps" => {
            "Time just before the reading, since the start of the recording, in picoseconds."
        }
        "raw" => "Value of the counter, raw and cumulative.",
        "acts" => "Actions of the law upon this row; empty where no law ran.",
        _ => return None,
    })
}

/// One reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalRow {
    /// Time of the row.
    pub now: Time,
    /// Name of the counter, or `gap`. Without commas, quotes and line ends.
    pub event: String,
    /// Time of the reading.
    pub at: Time,
    /// Value of the reading.
    pub raw: u64,
}

/// Writes a trace.
#[derive(Debug)]
pub struct SignalWriter<W> {
    out: W,
    seq: u64,
}

impl<W: Write> SignalWriter<W> {
    /// Begins one.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new(mut out: W) -> io::Result<Self> {
        writeln!(out, "{COLUMNS}")?;
        let mut writer = Self { out, seq: 0 };
        writer.row(Time::ZERO, "version", Time::ZERO, VERSION)?;
        Ok(writer)
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn row(&mut self, now: Time, event: &str, at: Time, raw: u64) -> io::Result<()> {
        writeln!(self.out, "{},{},{event},{},{raw},", self.seq, now.as_ps(), at.as_ps())?;
        self.seq += 1;
        Ok(())
    }

    /// Ends it. Gives the number of rows before the end.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn finish(mut self, now: Time) -> io::Result<u64> {
        let rows = self.seq;
        self.row(now, "end", now, rows)?;
        self.out.flush()?;
        Ok(rows)
    }
}

/// Reads the text of a trace: its rows, without those of version and end. With `partial`, what is before a cut is enough.
///
/// # Errors
/// If it has another version, or was cut, or makes no sense somewhere: the line.
pub fn read(path: &Path, text: &str, partial: bool) -> Result<Vec<SignalRow>, RecordError> {
    let wrong = |line: usize, why: String| RecordError::malformed(path, line, why);
    let mut rows = Vec::new();
    let mut lines = text.split_inclusive('\n').enumerate();
    if lines.next().is_none_or(|(_, head)| head.trim_end() != COLUMNS) {
        return Err(wrong(1, format!("this is not a trace: it does not begin with \"{COLUMNS}\"")));
    }
    let mut seq = 0;
    for (nth, line) in lines {
        let cut =
            || wrong(nth + 1, format!("the trace ends within row {seq}, or is damaged there"));
        let Some(row) = row(line, seq) else {
            return if partial && seq > 0 { Ok(rows) } else { Err(cut()) };
        };
        match (seq, row.event.as_str()) {
            (0, "version") if row.raw == VERSION => {}
            (0, "version") => {
                let found = row.raw;
                let why =
                    format!("a trace of version {found}; this program reads version {VERSION}");
                return Err(wrong(nth + 1, why));
            }
            (0, _) => return Err(cut()),
            (_, "end") if row.raw == seq && text.trim_end().ends_with(line.trim_end()) => {
                return Ok(rows);
            }
            (_, "end" | "version") => return Err(cut()),
            _ => rows.push(row),
        }
        seq += 1;
    }
    if partial && seq > 0 {
        return Ok(rows);
    }
    let why = format!("the trace ends after row {} without its row \"end\"", seq.saturating_sub(1));
    Err(wrong(text.lines().count(), why))
}

/// A whole line with this number.
fn row(line: &str, seq: u64) -> Option<SignalRow> {
    let mut cells = line.strip_suffix('\n')?.split(',');
    let number = cells.next()?.parse::<u64>().ok()?;
    let now = Time::from_ps(cells.next()?.parse().ok()?);
    let event = cells.next().filter(|name| !name.is_empty())?.to_string();
    let at = Time::from_ps(cells.next()?.parse().ok()?);
    let raw = cells.next()?.parse().ok()?;
    (number == seq && cells.next() == Some("") && cells.next().is_none()).then_some(SignalRow {
        now,
        event,
        at,
        raw,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> String {
        let mut out = Vec::new();
        let mut writer = SignalWriter::new(&mut out).expect("memory");
        let us = |n: u64| Time::from_ps(n * 1_000_000);
        writer.row(us(3), "softnet.dropped", us(2), 7).expect("memory");
        writer.row(us(9), "gap", us(9), 12).expect("memory");
        assert_eq!(writer.finish(us(10)).expect("memory"), 3);
        String::from_utf8(out).expect("text")
    }

    fn said(text: &str, partial: bool) -> Result<usize, String> {
        read(Path::new("t"), text, partial).map(|rows| rows.len()).map_err(|e| e.to_string())
    }

    #[test]
    fn every_column_is_explained() {
        assert!(COLUMNS.split(',').all(|column| crate::explain(column).is_some()));
    }

    #[test]
    fn what_is_written_is_read() {
        let rows = read(Path::new("t"), &trace(), false).expect("whole");
        let us = |n: u64| Time::from_ps(n * 1_000_000);
        let first = SignalRow { now: us(3), event: "softnet.dropped".into(), at: us(2), raw: 7 };
        assert_eq!(rows[0], first);
        assert_eq!((rows[1].event.as_str(), rows[1].raw), ("gap", 12));
    }

    /// Every prefix is refused, with its row; with `partial` it gives the whole rows that it has.
    #[test]
    fn every_cut_is_noticed() {
        let whole = trace();
        let head = COLUMNS.len() + 1;
        for len in 0..whole.len() {
            let cut = &whole[..len];
            assert!(said(cut, false).is_err(), "cut at {len}");
            let rows = cut.matches('\n').count().saturating_sub(2);
            match said(cut, true) {
                Ok(found) => assert_eq!(found, rows, "cut at {len}"),
                Err(_) => assert!(len < head + "0,0,version,0,1,\n".len(), "cut at {len}"),
            }
        }
        assert!(said(&format!("{whole}4,0,x,0,1,\n"), false).is_err(), "behind its end");
    }

    #[test]
    fn another_version_and_damage_name_their_line() {
        let other = trace().replace("version,0,1,", "version,0,9,");
        let text = said(&other, true).expect_err("another version");
        assert!(text.contains("a trace of version 9; this program reads version 1"), "{text}");
        let damaged = trace().replace("softnet.dropped,2000000,7", "softnet.dropped,2000000,x");
        let text = said(&damaged, false).expect_err("damaged");
        assert!(text.contains("row 1"), "{text}");
        let text = said("seq\n", false).expect_err("no trace");
        assert!(text.contains("this is not a trace"), "{text}");
    }
}
