//! Tables of a run as files with typed columns: Parquet, and Arrow IPC (Feather). Both are written here, without a dependency (ADR 0020).
//!
//! Columns, order and values are those of [`crate::frame`], so numbers are not rounded as text of a CSV file is. Files are not compressed.

mod arrow;
mod flatbuffer;
mod parquet;
mod thrift;

pub use crate::about::Format;
use crate::csv::write_whole;
use crate::error::RecordError;
use crate::frame::{Frame, Values, frame, frames};
use crate::rows::RunRecord;
use forebay_units::Time;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Rows that are written together at most: a row group, or a record batch.
const ROWS: usize = 1 << 20;

impl Format {
    /// A table as such a file.
    pub fn file(self, frame: &Frame) -> Vec<u8> {
        match self {
            Self::Parquet => parquet::file(frame),
            Self::Arrow => arrow::file(frame),
        }
    }
}

/// Writes a file for each table of these simulations that has rows into a folder, which is made if it is not there, and returns their paths.
///
/// # Errors
/// If the system refuses.
pub fn export(
    folder: &Path,
    format: Format,
    runs: &[RunRecord],
    warmup: Time,
) -> Result<Vec<PathBuf>, RecordError> {
    fs::create_dir_all(folder).map_err(|error| RecordError::io("create", folder, error))?;
    let mut files = Vec::new();
    for name in frames() {
        let Some(frame) = frame(name, runs, warmup).filter(|frame| frame.rows > 0) else {
            continue;
        };
        let path = folder.join(format!("{name}.{}", format.extension()));
        write_whole(&path, format.file(&frame))?;
        files.push(path);
    }
    Ok(files)
}

/// The rows of a table in parts of [`ROWS`].
fn parts(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(ROWS).map(move |from| from..(from + ROWS).min(rows))
}

/// Whether a column has a value in each of some rows; `None` where every row has one by its kind.
fn there(values: &Values, rows: Range<usize>) -> Option<Vec<bool>> {
    match values {
        Values::MaybeWhole(_, there) => Some(there[rows].to_vec()),
        Values::Real(all) => Some(all[rows].iter().map(|value| !value.is_nan()).collect()),
        Values::Whole(_) | Values::Lists(..) | Values::Words(..) => None,
    }
}
