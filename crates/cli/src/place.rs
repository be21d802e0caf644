//! Where the results of a run go, and what is done about what is there already.

use crate::failure::{Failure, for_people};
use crate::say;
use forebay_record::{IfExists, RecordError, RunDir, RunStart};
use std::path::{Path, PathBuf};

/// Claims where results go, and begins the run directory there: `--out` as it is; else `results/NAME`, or the first of
/// `results/NAME-2` and so on that is free. Nothing is ever replaced without `--force`.
pub fn begin(
    out: Option<&Path>,
    force: bool,
    name: &str,
    about: &RunStart,
) -> Result<(RunDir, PathBuf), Failure> {
    let if_exists = if force { IfExists::Replace } else { IfExists::Refuse };
    if let Some(out) = out {
        return Ok((RunDir::create(out, about, if_exists)?, out.into()));
    }
    let base = Path::new("results").join(file_name(name));
    if force {
        return Ok((RunDir::create(&base, about, if_exists)?, base));
    }
    for n in 1..10_000 {
        let path = match n {
            1 => base.clone(),
            _ => Path::new("results").join(format!("{}-{n}", file_name(name))),
        };
        // Claiming it is what finds it free, so two runs that begin together get two directories.
        match RunDir::create(&path, about, if_exists) {
            Ok(dir) => return Ok((dir, path)),
            Err(error @ RecordError::Wreck { .. }) => say::note(&for_people(&error)),
            Err(RecordError::Exists { .. } | RecordError::AtWork { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::Input(format!("{} is taken many times over; use --out", base.display())))
}

/// A title as the name of a folder.
pub fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || "-_.+".contains(c) { c } else { '-' };
    let name: String = name.trim().chars().take(80).map(safe).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "run".into() } else { name.into() }
}
