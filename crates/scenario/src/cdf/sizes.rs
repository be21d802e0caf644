//! Flow sizes in files: a name, a file, one size, a range, or a table of points.

use super::{Cdf, by_name, names};
use crate::judge::Judge;
use crate::tree::{did_you_mean, shorten};
use forebay_units::{Bytes, ParseError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Flow sizes as they are written.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Sizes {
    /// A published distribution, the path of a file, or one size.
    Name(String),
    /// A distribution of one's own.
    Table(SizeTable),
}

/// A distribution of one's own.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct SizeTable {
    /// Title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// A text file of two columns, bytes and cumulative probability (or per cent). Not with points.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Pairs [bytes, cumulative probability], both non-decreasing, the last probability 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    points: Option<Vec<(f64, f64)>>,
    /// Interpolation between points: straight lines or steps. Default: "lin".
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
}

/// Interpolation between the points of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    /// Straight lines.
    Lin,
    /// Steps: only the sizes of the points occur.
    Step,
}

impl From<Sizes> for Cdf {
    fn from(sizes: Sizes) -> Self {
        Self {
            written: Some(Box::new(sizes)),
            name: String::new(),
            points: Vec::new(),
            interpolate: true,
        }
    }
}

impl From<Cdf> for Sizes {
    /// The points themselves unless a published name or one size says the same.
    fn from(cdf: Cdf) -> Self {
        if let Some(written) = cdf.written {
            return *written;
        }
        let size = cdf.name.parse().ok().map(Cdf::fixed);
        if by_name(&cdf.name).or(size).as_ref() == Some(&cdf) {
            return Self::Name(cdf.name);
        }
        Self::Table(SizeTable {
            name: Some(cdf.name),
            file: None,
            points: Some(cdf.points),
            mode: Some(if cdf.interpolate { Mode::Lin } else { Mode::Step }),
        })
    }
}

impl Cdf {
    /// Whether the key says nothing but a size of zero.
    pub(crate) fn is_nothing(&self) -> bool {
        let written = self.written.as_deref();
        matches!(written, Some(Sizes::Name(name)) if name.parse() == Ok(Bytes::ZERO))
    }

    /// Puts the distribution in the place of what was written at `path`, or says what is wrong with it.
    pub(crate) fn check(&mut self, judge: &mut Judge<'_>, path: &str) {
        let found = match self.written.take().map(|written| *written) {
            None => return,
            Some(Sizes::Name(name)) => named(judge, path, &name),
            Some(Sizes::Table(table)) => tabled(judge, path, table),
        };
        if let Some(found) = found {
            *self = found;
        }
    }
}

fn tabled(judge: &mut Judge<'_>, path: &str, table: SizeTable) -> Option<Cdf> {
    let lin = table.mode.unwrap_or(Mode::Lin) == Mode::Lin;
    let cdf = match (table.file, table.points) {
        (Some(file), None) => {
            let name = table.name.unwrap_or_else(|| stem(&file));
            return in_file(judge, &format!("{path}.file"), &file, &name, table.mode);
        }
        (None, Some(points)) => Cdf::new(table.name.as_deref().unwrap_or("sizes"), points, lin),
        _ => Err(
            "needs either points or a file; write for instance points = [[1000, 0.5], [100000, 1]]"
                .into(),
        ),
    };
    cdf.map_err(|why| judge.say(path, why)).ok()
}

fn named(judge: &mut Judge<'_>, path: &str, name: &str) -> Option<Cdf> {
    if let Some(cdf) = by_name(name) {
        return Some(cdf);
    }
    match name.parse::<Bytes>() {
        Ok(size) => {
            judge.flow_size(path, size);
            return Some(Cdf::fixed(size));
        }
        Err(e @ ParseError::NoUnit { .. }) => {
            judge.say(path, format!("{name:?} {e}"));
            return None;
        }
        Err(_) => {}
    }
    if let Some(range) = name.split_once("..").and_then(range) {
        return range.and_then(|r| uniform(name, r)).map_err(|why| judge.say(path, why)).ok();
    }
    if name.contains(['.', '/', '\\']) {
        return in_file(judge, path, name, &stem(name), None);
    }
    let names: Vec<&str> = names().map(|(name, _)| name).collect();
    let close = did_you_mean(name, names.iter().copied());
    let others = match close.as_str() {
        "" => format!(
            "; write one of {}, a file such as \"sizes.csv\", or one size such as \"64KB\"",
            names.join(", ")
        ),
        close => close.into(),
    };
    judge.say(path, format!("no distribution is called {:?}{others}", shorten(name)));
    None
}

fn in_file(
    judge: &mut Judge<'_>,
    path: &str,
    file: &str,
    name: &str,
    mode: Option<Mode>,
) -> Option<Cdf> {
    let lin = mode.unwrap_or(Mode::Lin) == Mode::Lin;
    let read = (judge.read_file)(file).and_then(|text| {
        let cdf = Cdf::parse(name, &text, lin)?;
        let header = Cdf::header_number(&text).filter(|_| mode.is_none());
        match header.and_then(|header| Some((header, cdf.steps_by_mean(header)?))) {
            None => Ok(cdf),
            Some((header, [steps, lines])) => Err(format!(
                "says in its first line that the mean is {header}, which is that of steps ({steps:.6}) and not of straight lines ({lines:.6}); write {{ file = {:?}, mode = \"step\" }}, or mode = \"lin\" all the same",
                shorten(file)
            )),
        }
    });
    read.map_err(|why| judge.say(path, format!("{:?} {why}", shorten(file)))).ok()
}

/// Both ends of a range of sizes, or what is wrong with one; `None` if neither is a size, as in a path.
fn range((low, high): (&str, &str)) -> Option<Result<(Bytes, Bytes), String>> {
    let both = (low.trim().parse::<Bytes>(), high.trim().parse::<Bytes>());
    match both {
        (Err(_), Err(_)) => None,
        (Ok(low), Ok(high)) => Some(Ok((low, high))),
        (Err(e), Ok(_)) => Some(Err(format!("{low:?} {e}"))),
        (Ok(_), Err(e)) => Some(Err(format!("{high:?} {e}"))),
    }
}

/// Every size of a range as likely as the next.
fn uniform(name: &str, (low, high): (Bytes, Bytes)) -> Result<Cdf, String> {
    if low == Bytes::ZERO || low > high {
        return Err(format!(
            "{name:?} is not a range; write a size of 1B or more, then a larger one"
        ));
    }
    Cdf::uniform(low, high)
}

/// `sizes/mine.csv` is called `mine`.
fn stem(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).into()
}
