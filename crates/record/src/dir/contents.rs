//! The files of a run: the one list of what is written into its directory, while it runs and by the exports that follow.
//!
//! Whatever writes a new kind of file into a run directory adds its name here. `--force` removes these and keeps all others.
//! Invariant: a directory that has lost these files has nothing of the run.

use crate::about::Format;
use crate::columns::TABLES;
use crate::csv::{LOCK, PARTIAL, PROGRESS};
use crate::error::RecordError;
use crate::{capture, law_logs, perfetto};
use std::fs;
use std::path::{Path, PathBuf};

/// Files that every run has.
const ALWAYS: [&str; 5] =
    ["manifest.json", "summary.json", "volatile.json", "resolved.toml", "report.html"];

/// Whether a file of this name directly in a run directory is one of the run's, finished or not.
fn is_of_run(name: &str) -> bool {
    let whole = name.strip_suffix(PARTIAL).unwrap_or(name);
    ALWAYS.contains(&whole)
        || whole == LOCK
        || whole == PROGRESS
        || whole == perfetto::FILE
        || law_logs::is_name(whole)
        || TABLES.iter().any(|table| is_table(table.file(), whole))
}

/// Whether a name is that of a table, in any of its formats.
fn is_table(csv: &str, name: &str) -> bool {
    let stem = csv.strip_suffix(".csv").unwrap_or(csv);
    let ending = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('.'));
    ending.is_some_and(|ending| {
        ending == "csv" || Format::ALL.iter().any(|format| format.extension() == ending)
    })
}

/// Entries of a directory that have such a name.
fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_str().is_some_and(is_of_run)).map(|e| e.path())
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// A folder where a run writes a file: it was not made by a run, so no run can have its place.
pub(super) fn in_the_way(dir: &Path) -> Option<PathBuf> {
    entries(dir).find(|path| is_folder(path))
}

/// Removes the files of a run from a directory; the lock stays, which its holder removes.
///
/// # Errors
/// If the system refuses.
pub(super) fn remove(dir: &Path) -> Result<(), RecordError> {
    capture::remove_old(dir)?;
    let others = |path: &PathBuf| !path.ends_with(LOCK) && !is_folder(path);
    for file in entries(dir).filter(others) {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(RecordError::io("remove", &file, error));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::is_of_run;

    #[test]
    fn a_name_is_of_a_run_in_every_format_and_nothing_alike_is() {
        for name in [
            "flows.csv",
            "flows.parquet",
            "why_rpcs.arrow",
            "trace.pftrace",
            "summary.json",
            "law-7-seed-1.log",
            "law-pool-3-seed-1.log",
            "law-grant-leaf0.host1-2-seed-18446744073709551615.log",
            "run.lock",
        ] {
            assert!(is_of_run(name), "{name}");
            assert!(is_of_run(&format!("{name}.partial")), "{name}.partial");
        }
        for name in [
            "flows.parquet.old",
            "my-flows.csv",
            "flows",
            "flows.xlsx",
            "flows.csv.partial.partial",
            "notes.parquet",
            "law-x.log",
            "law-x-seed-1.log",
            "law-pool--seed-1.log",
            "trace.pftrace2",
        ] {
            assert!(!is_of_run(name), "{name}");
        }
    }
}
