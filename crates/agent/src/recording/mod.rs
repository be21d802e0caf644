//! Recordings and law logs of a machine or a simulation: written, read, and replayed under a law.

pub mod calibrate;
pub mod drops;
pub mod record;
pub mod replay;
pub mod stacks;
pub mod what_if;

use crate::failure::Failure;
use forebay_record::signals::{self, SignalRow};
use std::fs;
use std::path::{Path, PathBuf};

/// Law logs and recordings of a folder, or the file itself.
pub fn files(trace: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !trace.is_dir() {
        return Ok(vec![trace.into()]);
    }
    let shown = trace.display();
    let entries =
        fs::read_dir(trace).map_err(|error| Failure::Input(format!("{shown}: {error}")))?;
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name == signals::FILE || (name.starts_with("law-") && name.ends_with(".log"))
    };
    let mut found: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(is_ours).collect();
    found.sort();
    if found.is_empty() {
        return Err(Failure::Input(format!(
            "{shown} has no law log (law-*.log) and no {}",
            signals::FILE
        )));
    }
    Ok(found)
}

/// Rows of a recording.
pub fn recorded(path: &Path, bytes: &[u8], partial: bool) -> Result<Vec<SignalRow>, Failure> {
    let text = String::from_utf8_lossy(bytes);
    signals::read(path, &text, partial).map_err(|error| {
        let hint = if partial { "" } else { "; --partial takes what is before it" };
        Failure::Input(format!("{error}{hint}"))
    })
}
