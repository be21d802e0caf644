//! One CSV file that grows by whole rows under a temporary name.
//!
//! Invariant: what is in the file is whole rows, whatever went wrong; [`Table::finish`] alone gives
//! it its name.

use super::Value;
use crate::error::RecordError;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Rows are handed to the system in pieces of about this size.
const PIECE: usize = 1 << 18;

/// In a run directory that is written, locked by the writer.
pub(crate) const LOCK: &str = "run.lock";

/// How far a run is, in its folder while it is written.
pub(crate) const PROGRESS: &str = "progress.json";

/// Suffix of a file that is not finished.
pub(crate) const PARTIAL: &str = ".partial";

pub(crate) struct Table {
    target: PathBuf,
    partial: PathBuf,
    file: File,
    pending: String,
    pending_rows: u64,
    rows: u64,
    good: u64,
    left: Option<u64>, // rows that may still come after a stop
    left_out: u64,     // rows that came after those
}

/// Rows of samples that a table takes after its writer is to stop: some hundredths of a second.
const AFTER_STOP: u64 = 100_000;

/// Rows after which a writer looks whether it is to stop.
const LOOK: u64 = 256;

impl Table {
    pub fn create(dir: &Path, name: &str, header: &[&str]) -> Result<Self, RecordError> {
        let (target, partial) = (dir.join(name), dir.join(format!("{name}{PARTIAL}")));
        let file =
            File::create(&partial).map_err(|source| RecordError::io("create", &partial, source))?;
        let mut pending = String::with_capacity(PIECE + 4096);
        pending.push_str(&header.join(","));
        pending.push('\n');
        let (pending_rows, rows, good, left, left_out) = (0, 0, 0, None, 0);
        let mut table =
            Self { target, partial, file, pending, pending_rows, rows, good, left, left_out };
        table.flush()?;
        Ok(table)
    }

    /// Adds a row.
    pub fn row(&mut self, fill: impl FnOnce(&mut Row<'_>)) -> Result<(), RecordError> {
        let mut row = Row { text: &mut self.pending, first: true };
        fill(&mut row);
        self.pending.push('\n');
        self.pending_rows += 1;
        if self.pending.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    /// Adds a row, unless so many have come since `stop` said so that this one is left out.
    pub fn row_until(
        &mut self,
        stop: &dyn Fn() -> bool,
        fill: impl FnOnce(&mut Row<'_>),
    ) -> Result<(), RecordError> {
        match &mut self.left {
            None => {
                if self.pending_rows.is_multiple_of(LOOK) && stop() {
                    self.left = Some(AFTER_STOP);
                }
            }
            Some(0) => {
                self.left_out += 1;
                return Ok(());
            }
            Some(left) => *left -= 1,
        }
        self.row(fill)
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows + self.pending_rows
    }

    /// Rows that were left out.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Makes all rows so far readable.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        match self.file.write_all(self.pending.as_bytes()) {
            Ok(()) => {
                self.good += self.pending.len() as u64;
                self.rows += self.pending_rows;
                self.pending.clear();
                self.pending_rows = 0;
                Ok(())
            }
            Err(source) => {
                self.cut();
                let left = match self.rows {
                    0 => String::new(),
                    rows => format!("its first {rows} rows are kept"),
                };
                Err(RecordError::Io { action: "write", path: self.target.clone(), source, left })
            }
        }
    }

    /// Cuts the file back to the last whole piece. Shrinking needs no space; if even that fails the
    /// error that led here is the one to report.
    fn cut(&mut self) {
        self.pending.clear();
        self.pending_rows = 0;
        let _ = self.file.set_len(self.good);
    }

    /// After a failure elsewhere: gives what is whole its name, as far as the system lets us.
    pub fn salvage(mut self) {
        let _ = self.flush();
        let _ = fs::rename(&self.partial, &self.target);
    }

    /// Gives the file its name. Returns its rows.
    pub fn finish(mut self) -> Result<u64, RecordError> {
        self.flush()?;
        fs::rename(&self.partial, &self.target)
            .map_err(|source| RecordError::io("write", &self.target, source))?;
        Ok(self.rows)
    }
}

/// A row under construction.
pub(crate) struct Row<'a> {
    text: &'a mut String,
    first: bool,
}

impl Row<'_> {
    fn field(&mut self) -> &mut String {
        if !self.first {
            self.text.push(',');
        }
        self.first = false;
        self.text
    }

    pub fn number(&mut self, value: u64) {
        let mut digits = [0_u8; 20];
        let (mut at, mut left) = (digits.len(), value);
        loop {
            at -= 1;
            digits[at] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        self.field().extend(digits[at..].iter().map(|digit| char::from(*digit)));
    }

    pub fn value(&mut self, value: Value<'_>) {
        match value {
            Value::Number(value) | Value::Maybe(Some(value)) => self.number(value),
            Value::Maybe(None) | Value::Ratio(None) => {
                self.field();
            }
            Value::Ratio(Some(value)) => {
                let text = format!("{value:.6}");
                self.field().push_str(if text == "-0.000000" { &text[1..] } else { &text });
            }
            Value::Exact(value) => self.field().push_str(&value.to_string()),
            Value::Single(value) => self.list(value.as_slice()),
            Value::List(values) => self.list(values),
            Value::Singles(values) => self.list(values),
            Value::Text(text) => self.text(text),
            Value::Owned(text) => self.text(&text),
        }
    }

    fn list<T: ToString>(&mut self, values: &[T]) {
        let field = self.field();
        for (i, value) in values.iter().enumerate() {
            if i > 0 {
                field.push(';');
            }
            field.push_str(&value.to_string());
        }
    }

    /// Quoted where RFC 4180 requires it.
    fn text(&mut self, value: &str) {
        let field = self.field();
        if value.contains([',', '"', '\n', '\r']) {
            field.push('"');
            field.push_str(&value.replace('"', "\"\""));
            field.push('"');
        } else {
            field.push_str(value);
        }
    }
}

/// Writes a whole file under a temporary name, then gives it its own. A device or a pipe is written as it is.
///
/// # Errors
/// If the system refuses. Then no file has this name that had not been there, and an older one is as it was.
pub fn write_whole(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), RecordError> {
    let failed = |source| RecordError::io("write", path, source);
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return fs::write(path, contents).map_err(failed);
    }
    // A link stays one: the file that it names is replaced.
    let link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let target = if link { fs::canonicalize(path).map_err(failed)? } else { path.to_path_buf() };
    let mut partial = target.as_os_str().to_owned();
    partial.push(PARTIAL);
    let partial = PathBuf::from(partial);
    let written = fs::write(&partial, contents).and_then(|()| fs::rename(&partial, &target));
    written.map_err(|source| {
        let _ = fs::remove_file(&partial);
        failed(source)
    })
}
