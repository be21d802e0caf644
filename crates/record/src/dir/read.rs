//! Reading a run directory back.
//!
//! Columns are found by name: those of another version are passed over, and those that an older one had not yet are said, so that
//! older directories stay readable. Derived columns (`fct_ps`, `slowdown`, `utilisation`) are not taken, as they follow from the
//! others, but they have to be numbers.

use super::manifest::{MANIFEST_FORMAT, Manifest};
use super::{RecordError, unfinished};
use crate::about::RunStart;
use crate::columns::{HOSTS, RUNS, Records, TABLES};
use crate::rows::RunRecord;
use crate::summary::{SUMMARY_FORMAT, Summary};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

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

pub(crate) fn run_dir(dir: &Path) -> Result<(RunStart, Vec<RunRecord>), RecordError> {
    let about = manifest(dir)?.about();
    let (mut runs, lacks) = tables(dir)?;
    for (turn, seed) in about.seeds.iter().enumerate() {
        if runs.get(turn).is_none_or(|run| run.seed != *seed) {
            // Of seeds at work some may be there and others not.
            let Some(run) = saved(dir, *seed)? else { continue };
            runs.insert(turn.min(runs.len()), run);
        }
    }
    Ok((RunStart { lacks, ..about }, runs))
}

/// What was saved of a seed.
fn saved(dir: &Path, seed: u64) -> Result<Option<RunRecord>, RecordError> {
    let named = unfinished::folder(dir, seed);
    let old = named.with_extension("old");
    let there = [named, old].into_iter().find(|dir| dir.exists());
    Ok(there.map(|dir| tables(&dir)).transpose()?.and_then(|(mut runs, _)| runs.pop()))
}

/// The simulations in the tables of a directory, and what older ones lack.
pub(super) fn tables(dir: &Path) -> Result<(Vec<RunRecord>, Vec<String>), RecordError> {
    let mut records = Records::default();
    let names = read_hosts(dir, &mut records)?;
    read_runs(dir, &names, &mut records)?;
    for table in TABLES {
        table.read(dir, &mut records)?;
    }
    let Records { runs, lacks, .. } = records;
    Ok((runs, lacks))
}

pub(super) fn json<T: DeserializeOwned>(path: &Path) -> Result<T, RecordError> {
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

fn read_hosts(dir: &Path, records: &mut Records) -> Result<Vec<String>, RecordError> {
    let mut names: Vec<String> = Vec::new();
    let (index, none) = (&mut records.hosts, BTreeMap::new());
    HOSTS.read_each(dir, &none, &mut records.lacks, |rows, host| {
        if host.index != names.len() as u64 {
            return Err(rows.wrong("hosts are not numbered from 0 without gaps"));
        }
        if index.insert(host.name.clone(), host.index as u32).is_some() {
            return Err(rows.wrong(&format!("host \"{}\" is there twice", host.name)));
        }
        names.push(host.name);
        Ok(())
    })?;
    Ok(names)
}

fn read_runs(dir: &Path, hosts: &[String], records: &mut Records) -> Result<(), RecordError> {
    let Records { runs, by_seed, hosts: index, lacks } = records;
    RUNS.read_each(dir, index, lacks, |rows, run| {
        if by_seed.insert(run.seed, runs.len()).is_some() {
            return Err(rows.wrong(&format!("seed {} is there twice", run.seed)));
        }
        runs.push(RunRecord { hosts: hosts.to_vec(), ..run });
        Ok(())
    })
}
