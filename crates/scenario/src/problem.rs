//! What is wrong with a scenario, in one sentence each.
//!
//! Invariant: every sentence says where (file, line and column, or the `--set`), which key, the value
//! found and what to write instead.

use forebay_units::OneLine;
use std::fmt;

/// One thing to put right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// `file:line:column`, or `--set key=value`.
    pub place: String,
    /// Path of the key, `fabric.host_link.rate`; empty for the file as a whole.
    pub key: String,
    /// Value found and remedy.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        OneLine(&self.text).fmt(f)
    }
}

/// Why a scenario cannot be used. Its `Display` has one line for each problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What was found, in file order: the first hundred; never empty.
    pub problems: Vec<Problem>,
}

/// More problems than this are not kept.
pub(crate) const KEPT: usize = 100;
/// Most lines that are shown.
const SHOWN: usize = 20;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().take(SHOWN).enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        match self.problems.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            _ if self.problems.len() >= KEPT => f.write_str("\nand many more like these"),
            more => write!(f, "\nand {more} more like these"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    pub(crate) fn one(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            problems: vec![Problem { place: place.into(), key: String::new(), text: text.into() }],
        }
    }
}

/// The name that a mistyped one was probably meant to be, if any is close.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.chars().count() > 64 {
        return None;
    }
    let limit = (word.chars().count() / 3).max(1).min(word.chars().count().saturating_sub(1));
    names
        .into_iter()
        .map(|name| (distance(word, name), name))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, name)| name)
}

/// Edits (insert, delete, replace, swap of neighbours) between two words, ignoring case and `-`/`_`.
fn distance(a: &str, b: &str) -> usize {
    let fold = |s: &str| -> Vec<char> {
        s.chars().map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect()
    };
    let (a, b) = (fold(a), fold(b));
    let mut rows: [Vec<usize>; 3] = [Vec::new(), vec![0; b.len() + 1], (0..=b.len()).collect()];
    for i in 1..=a.len() {
        rows.rotate_left(1);
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (rows[1][j] + 1).min(row[j - 1] + 1).min(rows[1][j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(rows[0][j - 2] + 1);
            }
        }
        rows[2] = row;
    }
    rows[2][b.len()]
}

/// `a, b or c`, for sentences; a long list is cut.
pub fn or_list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.into_iter().collect();
    let more = names.len().saturating_sub(40);
    names.truncate(40);
    match (names.split_last(), more) {
        (None, _) => "nothing".into(),
        (Some((last, [])), 0) => (*last).into(),
        (Some((last, rest)), 0) => format!("{} or {last}", rest.join(", ")),
        (Some(_), more) => format!("{} or {more} others", names.join(", ")),
    }
}

/// `36.6 GB`, for forecasts.
pub(crate) fn memory_text(bytes: u128) -> String {
    let units = ["B", "KB", "MB", "GB", "TB", "PB"];
    let mut scale = 1u128;
    let mut unit = 0;
    while bytes / scale >= 1000 && unit + 1 < units.len() {
        scale *= 1000;
        unit += 1;
    }
    format!("{:.1} {}", bytes as f64 / scale as f64, units[unit])
}

pub(crate) use forebay_units::human::grouped;
