//! Reading a run directory back.
//!
//! Columns are found by position and checked by header, so a file of another version is refused
//! with one sentence rather than misread. Derived columns (`fct_ps`, `slowdown`, `utilisation`) are
//! not read: they follow from the others.

use super::manifest::{MANIFEST_FORMAT, Manifest};
use super::table::PARTIAL;
use super::{RecordError, TABLES};
use crate::about::About;
use crate::rows::{FlowRow, NodeCounters, PortRow, Quantity, RunRecord, Series};
use crate::summary::{SUMMARY_FORMAT, Summary};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub(crate) fn summary(dir: &Path) -> Result<Summary, RecordError> {
    let path = dir.join("summary.json");
    let summary: Summary = json(&path)?;
    check_format(&path, summary.format, SUMMARY_FORMAT)?;
    Ok(summary)
}

pub(super) fn manifest(dir: &Path) -> Result<Manifest, RecordError> {
    let path = dir.join("manifest.json");
    let manifest: Manifest = json(&path)?;
    check_format(&path, manifest.format, MANIFEST_FORMAT)?;
    Ok(manifest)
}

pub(crate) fn run_dir(dir: &Path) -> Result<(About, Vec<RunRecord>), RecordError> {
    let manifest = manifest(dir)?;
    let [hosts, flows, ports, series, runs] =
        TABLES.map(|(name, header)| Rows::open(dir, name, header));
    let (names, index) = read_hosts(hosts?)?;
    let runs = read_runs(runs?, &names)?;
    let mut records = Records { runs, by_seed: BTreeMap::new(), hosts: index };
    records.by_seed = (0..).zip(&records.runs).map(|(at, run)| (run.seed, at)).collect();
    read_flows(flows?, &mut records)?;
    read_ports(ports?, &mut records)?;
    read_series(series?, &mut records)?;
    super::rpc::read(dir, &mut records)?;
    super::class_pauses::read(dir, &mut records)?;
    super::deadlocks::read(dir, &mut records)?;
    super::memory::read(dir, &mut records)?;
    super::memory_series::read(dir, &mut records)?;
    Ok((manifest.about(), records.runs))
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, RecordError> {
    let text = fs::read_to_string(path).map_err(|source| RecordError::io("read", path, source))?;
    serde_json::from_str(&text)
        .map_err(|error| RecordError::malformed(path, error.line(), error.to_string()))
}

fn check_format(path: &Path, found: u32, known: u32) -> Result<(), RecordError> {
    if found == known {
        return Ok(());
    }
    Err(RecordError::malformed(
        path,
        0,
        format!("has format {found} and this program reads format {known}"),
    ))
}

pub(super) struct Records {
    runs: Vec<RunRecord>,
    by_seed: BTreeMap<u64, usize>,
    hosts: BTreeMap<String, u32>,
}

impl Records {
    /// The record of a seed; `None` for a seed that was not finished.
    pub fn of(&mut self, seed: u64) -> Option<&mut RunRecord> {
        self.by_seed.get(&seed).map(|at| &mut self.runs[*at])
    }

    /// Index of the host that a column names.
    pub fn host(&self, rows: &Rows, at: usize) -> Result<u32, RecordError> {
        let found = self.hosts.get(rows.text(at)).copied();
        found.ok_or_else(|| rows.wrong(&format!("host \"{}\" is not in hosts.csv", rows.text(at))))
    }
}

fn read_hosts(mut rows: Rows) -> Result<(Vec<String>, BTreeMap<String, u32>), RecordError> {
    let mut names = Vec::new();
    let mut index = BTreeMap::new();
    while rows.next()? {
        let (host, name) = (rows.number(0)?, rows.text(1).to_string());
        if host != names.len() as u64 {
            return Err(rows.wrong("hosts are not numbered from 0 without gaps"));
        }
        if index.insert(name.clone(), host as u32).is_some() {
            return Err(rows.wrong(&format!("host \"{name}\" is there twice")));
        }
        names.push(name);
    }
    Ok((names, index))
}

fn read_runs(mut rows: Rows, hosts: &[String]) -> Result<Vec<RunRecord>, RecordError> {
    let mut runs: Vec<RunRecord> = Vec::new();
    while rows.next()? {
        let seed = rows.number(0)?;
        if runs.iter().any(|run| run.seed == seed) {
            return Err(rows.wrong(&format!("seed {seed} is there twice")));
        }
        let digest = u64::from_str_radix(rows.text(1), 16)
            .map_err(|_| rows.wrong("digest is not a hexadecimal number"))?;
        let interrupted = match rows.text(3) {
            "true" => true,
            "false" => false,
            _ => return Err(rows.wrong("interrupted is neither true nor false")),
        };
        runs.push(RunRecord {
            seed,
            hosts: hosts.to_vec(),
            not_started: rows.number(4)?,
            totals: NodeCounters {
                packet_hops: rows.number(5)?,
                delivered_bytes: rows.number(6)?,
                delivered_segments: rows.number(7)?,
            },
            end: Time::from_ps(rows.number(2)?),
            interrupted,
            digest,
            ..RunRecord::default()
        });
    }
    Ok(runs)
}

fn read_flows(mut rows: Rows, records: &mut Records) -> Result<(), RecordError> {
    while rows.next()? {
        let host = |at: usize| records.host(&rows, at);
        let row = FlowRow {
            flow: rows.small(1)?,
            traffic: rows.small(2)?,
            src: host(3)?,
            dst: host(4)?,
            size: rows.maybe(5)?.map_or(Bytes::MAX, Bytes::new),
            start: Time::from_ps(rows.number(6)?),
            delivered: rows.maybe(7)?.map(Time::from_ps),
            acked: rows.maybe(8)?.map(Time::from_ps),
            ideal: Span::from_ps(rows.number(10)?),
            retransmits: rows.small(12)?,
            timeouts: rows.small(13)?,
        };
        if let Some(run) = records.of(rows.number(0)?) {
            run.flows.push(row);
        }
    }
    Ok(())
}

fn read_ports(mut rows: Rows, records: &mut Records) -> Result<(), RecordError> {
    while rows.next()? {
        let row = PortRow {
            node: rows.text(1).into(),
            peer: rows.text(2).into(),
            rate: BitsPerSec::new(rows.number(3)?),
            tx_packets: rows.number(4)?,
            tx_bytes: Bytes::new(rows.number(5)?),
            dropped_packets: rows.number(6)?,
            dropped_bytes: Bytes::new(rows.number(7)?),
            lost_packets: rows.number(8)?,
            marked_packets: rows.number(9)?,
            max_queue: Bytes::new(rows.number(10)?),
            pause_frames_sent: rows.number(12)?,
            pause_frames_received: rows.number(13)?,
            paused: Span::from_ps(rows.number(14)?),
            headroom_peak: Bytes::new(rows.number(15)?),
            lossless_drops: rows.number(16)?,
        };
        if let Some(run) = records.of(rows.number(0)?) {
            run.ports.push(row);
        }
    }
    Ok(())
}

fn read_series(mut rows: Rows, records: &mut Records) -> Result<(), RecordError> {
    let mut units: Vec<&'static str> = vec!["bytes", "gbps", "packets", "fraction", "us"];
    while rows.next()? {
        let (name, word, unit) = (rows.text(1), rows.text(2), rows.text(3));
        let (at, value) = (Time::from_ps(rows.number(4)?), rows.float::<f64>(5)?);
        let known = Quantity::ALL.into_iter().find(|quantity| quantity.word() == word);
        let quantity = known.unwrap_or(Quantity::Other);
        let unit = units.iter().copied().find(|known| *known == unit).unwrap_or_else(|| {
            // A unit is a constant of the program that wrote it; an unknown one is kept for good, once.
            let kept: &'static str = unit.to_string().leak();
            units.push(kept);
            kept
        });
        let name = name.to_string();
        let Some(run) = records.of(rows.number(0)?) else { continue };
        match run.series.last_mut() {
            Some(series) if series.name == name && series.unit == unit => {
                series.at.push(at);
                series.values.push(value);
            }
            _ => {
                run.series.push(Series { name, quantity, unit, at: vec![at], values: vec![value] });
            }
        }
    }
    Ok(())
}

/// The rows of one CSV file, one at a time.
pub(super) struct Rows {
    path: PathBuf,
    lines: BufReader<File>,
    header: &'static [&'static str],
    line: usize,
    raw: String,
    fields: Vec<String>,
    unfinished: bool, // its last row may be cut
}

impl Rows {
    /// Opens a table, finished or not, and checks its header.
    pub fn open(
        dir: &Path,
        name: &str,
        header: &'static [&'static str],
    ) -> Result<Self, RecordError> {
        let mut path = dir.join(name);
        let partial = dir.join(format!("{name}{PARTIAL}"));
        let unfinished = !path.exists() && partial.exists();
        if unfinished {
            path = partial;
        }
        let file = File::open(&path).map_err(|source| RecordError::io("read", &path, source))?;
        let lines = BufReader::with_capacity(1 << 16, file);
        let (raw, fields) = (String::new(), Vec::new());
        let mut rows = Self { path, lines, header, line: 0, raw, fields, unfinished };
        if !rows.split()? || rows.fields != header {
            let expected = header.join(",");
            return Err(rows.wrong(&format!("the header is not \"{expected}\"")));
        }
        Ok(rows)
    }

    /// The same of a table that only some runs have; `None` if this one has not.
    pub fn open_if_any(
        dir: &Path,
        name: &str,
        header: &'static [&'static str],
    ) -> Result<Option<Self>, RecordError> {
        let there = |name: &str| dir.join(name).exists();
        let any = there(name) || there(&format!("{name}{PARTIAL}"));
        any.then(|| Self::open(dir, name, header)).transpose()
    }

    /// Moves to the next row; `false` at the end.
    pub fn next(&mut self) -> Result<bool, RecordError> {
        if !self.split()? {
            return Ok(false);
        }
        if self.fields.len() != self.header.len() {
            let (have, want) = (self.fields.len(), self.header.len());
            return Err(self.wrong(&format!("has {have} fields, not {want}")));
        }
        Ok(true)
    }

    fn split(&mut self) -> Result<bool, RecordError> {
        self.raw.clear();
        loop {
            let read = self.lines.read_line(&mut self.raw);
            let read = read.map_err(|source| RecordError::io("read", &self.path, source))?;
            self.line += 1;
            let open_quote = self.raw.bytes().filter(|b| *b == b'"').count() % 2 == 1;
            match (read, open_quote) {
                (0, true) if self.unfinished => return Ok(false),
                (0, true) => return Err(self.wrong("a quote is not closed")),
                (0, false) if self.raw.is_empty() => return Ok(false),
                (_, true) => {}
                // What a killed run was about to write.
                _ if !self.raw.ends_with('\n') && self.unfinished => return Ok(false),
                _ if !self.raw.ends_with('\n') => return Err(self.wrong("the last row is cut off")),
                _ => break,
            }
        }
        split_fields(self.raw.trim_end_matches(['\n', '\r']), &mut self.fields);
        Ok(true)
    }

    pub fn wrong(&self, why: &str) -> RecordError {
        RecordError::malformed(&self.path, self.line, why)
    }

    pub fn text(&self, at: usize) -> &str {
        &self.fields[at]
    }

    pub fn number(&self, at: usize) -> Result<u64, RecordError> {
        self.maybe(at)?.ok_or_else(|| self.wrong(&format!("{} is empty", self.header[at])))
    }

    pub fn maybe(&self, at: usize) -> Result<Option<u64>, RecordError> {
        match self.text(at) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| self.not_a_number(at)),
        }
    }

    pub fn small<T: TryFrom<u64>>(&self, at: usize) -> Result<T, RecordError> {
        let name = self.header[at];
        T::try_from(self.number(at)?).map_err(|_| self.wrong(&format!("{name} is too large")))
    }

    /// A number that need not be whole.
    pub fn float<T: FromStr>(&self, at: usize) -> Result<T, RecordError> {
        self.text(at).parse().map_err(|_| self.not_a_number(at))
    }

    /// Such numbers, parted by semicolons.
    pub fn floats<T: FromStr>(&self, at: usize) -> Result<Vec<T>, RecordError> {
        let values = self.text(at).split(';').filter(|value| !value.is_empty());
        values.map(|value| value.parse().map_err(|_| self.not_a_number(at))).collect()
    }

    fn not_a_number(&self, at: usize) -> RecordError {
        self.wrong(&format!("{} is \"{}\", not a number", self.header[at], self.text(at)))
    }
}

/// Splits a row at its commas; RFC 4180 quotes. Fields are reused.
fn split_fields(raw: &str, fields: &mut Vec<String>) {
    let mut used = 0;
    let mut chars = raw.chars().peekable();
    loop {
        if used == fields.len() {
            fields.push(String::new());
        }
        let field = &mut fields[used];
        field.clear();
        used += 1;
        let mut quoted = false;
        let more = loop {
            match chars.next() {
                None => break false,
                Some('"') if quoted && chars.peek() == Some(&'"') => {
                    chars.next();
                    field.push('"');
                }
                Some('"') => quoted = !quoted,
                Some(',') if !quoted => break true,
                Some(c) => field.push(c),
            }
        };
        if !more {
            fields.truncate(used);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_protect_commas_quotes_and_ends_of_line() {
        let mut fields = vec!["old".to_string(); 9];
        split_fields("1,\"a,\"\"b\"\"\nc\",,x", &mut fields);
        assert_eq!(fields, ["1", "a,\"b\"\nc", "", "x"]);
    }
}
