//! Words of a text with their lines, and numbers as other simulators write them.

use super::{Fate, Note};
use crate::Error;
use crate::tree::shorten;
use forebay_units::{BitsPerSec, Span, Time};
use std::str::FromStr;

/// A word and its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub line: usize,
    pub text: &'a str,
}

/// A run is no longer than this.
pub(super) const LONGEST: Span = Span::from_secs(86_400);

/// A line that is not empty: its number and its words.
pub type Line<'a> = (usize, Vec<&'a str>);

/// The lines of a text that hold anything.
pub fn lines(text: &str) -> Vec<Line<'_>> {
    let lines = (1..).zip(without_mark(text).lines());
    lines
        .map(|(line, text)| (line, text.split_whitespace().collect::<Vec<_>>()))
        .filter(|(_, words)| !words.is_empty())
        .collect()
}

/// The words of a file, one after another.
pub(super) struct Words<'a> {
    file: &'a str,
    words: std::vec::IntoIter<Word<'a>>,
    last_line: usize,
}

/// The text without the mark that some editors put before it.
pub(super) fn without_mark(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

impl<'a> Words<'a> {
    pub fn of(source: super::Source<'a>) -> Self {
        let text = without_mark(source.text);
        let words: Vec<Word<'a>> = (1..)
            .zip(text.lines())
            .flat_map(|(line, text)| text.split_whitespace().map(move |text| Word { line, text }))
            .collect();
        let last_line = text.lines().count().max(1);
        Self { file: source.name, words: words.into_iter(), last_line }
    }

    /// The next word, where there must be one.
    pub fn next(&mut self, what: &str) -> Result<Word<'a>, Error> {
        self.words.next().ok_or_else(|| {
            let text = format!("the file ends before {what}; is it cut off?");
            Error::one(format!("{}:{}", self.file, self.last_line), text)
        })
    }

    /// The next word, if there is one.
    pub fn maybe(&mut self) -> Option<Word<'a>> {
        self.words.next()
    }

    /// The line of the next word.
    pub fn line(&self) -> Option<usize> {
        self.words.as_slice().first().map(|word| word.line)
    }

    /// Whether the next word is the first of so many on this line.
    pub fn at_start_of(&self, line: usize, words: usize) -> bool {
        self.words.as_slice().iter().take_while(|word| word.line == line).count() == words
    }

    /// The next word as a number.
    pub fn number<T: FromStr>(&mut self, what: &str) -> Result<(T, usize), Error> {
        let word = self.next(what)?;
        let parsed = word.text.parse();
        let number =
            parsed.map_err(|_| self.bad(word, &format!("is not {what}; write a number")))?;
        Ok((number, word.line))
    }

    /// A sentence about a word: `"x" is not ...`.
    pub fn bad(&self, word: Word<'_>, text: &str) -> Error {
        self.wrong(word.line, format!("{:?} {text}", shorten(word.text)))
    }

    /// A sentence about a line.
    pub fn wrong(&self, line: usize, text: impl Into<String>) -> Error {
        Error::one(format!("{}:{line}", self.file), text)
    }

    pub fn note(&self, line: usize, fate: Fate, text: impl Into<String>) -> Note {
        Note { place: format!("{}:{line}", self.file), fate, text: text.into() }
    }
}

/// A rate as ns-3 writes it: `100Gbps`, `25Gb/s`, `12.5GB/s`, `1000000bps`; without a unit, the whole part is bit/s.
pub fn rate(text: &str) -> Option<BitsPerSec> {
    let Some(split) = text.find(|c: char| c.is_ascii_alphabetic()) else {
        let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
        let whole: u64 = text.split('.').next()?.parse().ok()?;
        return (plain && whole > 0).then(|| BitsPerSec::new(whole));
    };
    let (number, unit) = text.split_at(split);
    let unit = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps"))?;
    let (prefix, eight) = match unit.strip_suffix('b') {
        Some(prefix) => (prefix, 1),
        None => (unit.strip_suffix('B')?, 8),
    };
    let (prefix, times) = match prefix {
        "" => ("", 1),
        "k" | "K" => ("K", 1),
        "M" => ("M", 1),
        "G" => ("G", 1),
        "T" => ("T", 1),
        "Ki" => ("", 1 << 10),
        "Mi" => ("", 1 << 20),
        "Gi" => ("", 1 << 30),
        _ => return None,
    };
    let rate: BitsPerSec = format!("{number}{prefix}bps").parse().ok()?;
    rate.get().checked_mul(eight * times).map(BitsPerSec::new)
}

/// A delay as ns-3 writes it: `0.001ms`, `1us`, `1000ns`, `1e-3ms`; without a unit, seconds.
pub fn delay(text: &str) -> Option<Span> {
    let end = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
    let (number, unit) = text.split_at(end);
    if unit.is_empty() || unit == "s" {
        return seconds(number).map(|t| t.since(Time::ZERO));
    }
    let ps = match unit {
        "ms" => 1e9,
        "us" => 1e6,
        "ns" => 1e3,
        "ps" => 1.0,
        _ => return None,
    };
    scaled(number, unit, ps).map(|t| t.since(Time::ZERO))
}

/// Seconds as a decimal number, exactly where it has at most twelve decimals; to the nearest ps where it has an exponent or more.
pub fn seconds(text: &str) -> Option<Time> {
    scaled(text, "s", 1e12)
}

/// A number of microseconds, likewise.
pub fn microseconds(text: &str) -> Option<Time> {
    scaled(text, "us", 1e6)
}

/// A number of picoseconds, which may have decimals.
pub fn picoseconds(text: &str) -> Option<Time> {
    scaled(text, "ps", 1.0)
}

fn scaled(text: &str, unit: &str, ps: f64) -> Option<Time> {
    let plain = text.strip_suffix('.').unwrap_or(text);
    if let Ok(exact) = format!("{plain}{unit}").parse::<Time>() {
        return Some(exact);
    }
    let value = text.parse::<f64>().ok()? * ps;
    (0.0..1e19).contains(&value).then(|| Time::from_ps((value + 0.5) as u64))
}
