//! The rows of a table, one at a time.

use super::{LOCK, PARTIAL};
use crate::error::RecordError;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Names that a column had in older run directories: today's and the older one.
pub(crate) const OLDER: [(&str, &str); 3] = [
    ("antagonist_lines", "neighbour_lines"),
    ("antagonist_gigabytes_per_s", "neighbour_gigabytes_per_s"),
    ("antagonists_gigabytes_per_s", "neighbours_gigabytes_per_s"),
];

/// Whether a table is there. An empty one under another name is what a run left that died as it began it.
fn is_begun(dir: &Path, name: &str) -> bool {
    let partial = fs::metadata(dir.join(format!("{name}{PARTIAL}")));
    dir.join(name).exists() || partial.is_ok_and(|found| found.len() > 0)
}

/// The rows of one CSV file, one at a time.
pub(crate) struct Rows {
    path: PathBuf,
    lines: BufReader<File>,
    header: Vec<&'static str>,
    place: Vec<Option<usize>>, // of each column of the header, in the file
    width: usize,              // columns of the file
    line: usize,
    raw: String,
    fields: Vec<String>,
    unfinished: bool, // its last row may be cut
}

impl Rows {
    /// Opens a table, finished or not, and finds the columns of `header` by name. Columns that this version does not know are passed
    /// over; of those that it knows only `needed` ones have to be there.
    pub fn open(
        dir: &Path,
        name: &str,
        header: Vec<&'static str>,
        needed: &[&'static str],
    ) -> Result<Self, RecordError> {
        let mut path = dir.join(name);
        let partial = dir.join(format!("{name}{PARTIAL}"));
        let unfinished = !path.exists() && partial.exists();
        if unfinished {
            path = partial;
        }
        let file = File::open(&path).map_err(|source| RecordError::io("read", &path, source))?;
        let lines = BufReader::with_capacity(1 << 16, file);
        let (raw, fields, place) = (String::new(), Vec::new(), Vec::new());
        let mut rows =
            Self { path, lines, header, place, width: 0, line: 0, raw, fields, unfinished };
        if !rows.split()? {
            return Err(rows.wrong("is empty; a table begins with the names of its columns"));
        }
        let place = |name: &&'static str| {
            let older = OLDER.iter().find(|(today, _)| today == name).map(|(_, older)| *older);
            let is = |field: &String| field == name || older.is_some_and(|older| field == older);
            rows.fields.iter().position(is)
        };
        let place: Vec<Option<usize>> = rows.header.iter().map(place).collect();
        let seed = ["seed"];
        let all = || rows.header.iter().zip(&place);
        let missing = all().find(|(name, place)| {
            place.is_none() && (needed.contains(name) || seed.contains(name))
        });
        if let Some((missing, _)) = missing {
            return Err(rows.wrong(&format!("no column is called \"{missing}\"")));
        }
        (rows.width, rows.place) = (rows.fields.len(), place);
        Ok(rows)
    }

    /// Opens a table that every run has in the end; `None` if the run has died or is at work, and had not begun it.
    pub fn open_if_begun(
        dir: &Path,
        name: &str,
        header: Vec<&'static str>,
        needed: &[&'static str],
    ) -> Result<Option<Self>, RecordError> {
        let early = !is_begun(dir, name) && dir.join(LOCK).exists();
        if early { Ok(None) } else { Self::open(dir, name, header, needed).map(Some) }
    }

    /// Opens a table that only some runs have; `None` if this one has not.
    pub fn open_if_any(
        dir: &Path,
        name: &str,
        header: Vec<&'static str>,
        needed: &[&'static str],
    ) -> Result<Option<Self>, RecordError> {
        is_begun(dir, name).then(|| Self::open(dir, name, header, needed)).transpose()
    }

    /// Whether the file has the column.
    pub fn has(&self, at: usize) -> bool {
        self.place[at].is_some()
    }

    /// Columns that the file has not.
    pub fn lacks(&self) -> impl Iterator<Item = &'static str> {
        let all = self.header.iter().zip(&self.place);
        all.filter(|(_, place)| place.is_none()).map(|(name, _)| *name)
    }

    /// Name of a column.
    pub fn name(&self, at: usize) -> &'static str {
        self.header[at]
    }

    /// Moves to the next row; `false` at the end.
    pub fn next(&mut self) -> Result<bool, RecordError> {
        if !self.split()? {
            return Ok(false);
        }
        if self.fields.len() != self.width {
            let (have, want) = (self.fields.len(), self.width);
            return Err(self.wrong(&format!("has {have} fields, not {want}")));
        }
        Ok(true)
    }

    fn split(&mut self) -> Result<bool, RecordError> {
        self.raw.clear();
        let mut open_quote = false;
        loop {
            let before = self.raw.len();
            let read = self.lines.read_line(&mut self.raw);
            let read = read.map_err(|source| RecordError::io("read", &self.path, source))?;
            self.line += 1;
            let quotes = self.raw[before..].matches('"').count();
            open_quote ^= quotes % 2 == 1;
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

    /// What stands in a column; nothing if the file has no such column.
    pub fn text(&self, at: usize) -> &str {
        self.place[at].map_or("", |place| &self.fields[place])
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

    pub fn not_a_number(&self, at: usize) -> RecordError {
        self.wrong(&format!("{} is \"{}\", not a number", self.header[at], self.text(at)))
    }
}

/// Splits a row at its commas; RFC 4180 quotes. Fields are reused.
fn split_fields(raw: &str, fields: &mut Vec<String>) {
    // Nearly all rows, and several times as fast as one character after the other.
    if !raw.contains('"') {
        fields.resize_with(raw.matches(',').count() + 1, String::new);
        for (field, text) in fields.iter_mut().zip(raw.split(',')) {
            field.clear();
            field.push_str(text);
        }
        return;
    }
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
        split_fields(",2,ü,", &mut fields);
        assert_eq!(fields, ["", "2", "ü", ""]);
        split_fields("", &mut fields);
        assert_eq!(fields, [""]);
    }
}
