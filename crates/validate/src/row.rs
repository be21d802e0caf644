//! One row: a published number, what we measure, and whether that is within its tolerance.

use crate::measured::{RowValue, Value};
use crate::repeats::Repeats;
use forebay_record::judge::{Band, JudgedValue};
use forebay_scenario::expect::Rows;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How far a number may be from what it follows from, as a part of it: what sampling leaves.
const SAMPLING: f64 = 0.005;

/// One published number. The field names are those of every suite's JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Short name, unique in its suite.
    pub id: String,
    /// Figure, table or section it comes from.
    pub figure: String,
    /// What is measured, and in which setting.
    pub quantity: String,
    /// Unit of both numbers; "1" for a plain ratio.
    pub unit: String,
    /// The number.
    pub published: f64,
    /// How the text gives it.
    pub basis: Basis,
    /// Where, with the formula if it is derived.
    pub citation: String,
    /// How far from it we may be.
    pub tolerance: Tolerance,
    /// How the number is measured: a formula over metrics and columns of the suite's experiments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formula: Option<String>,
    /// Flows that the formula is of, as in `[[expect]]`: `size <= 1KB`.
    #[serde(rename = "where", default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Rows>,
    /// Text that the note gets after the run, with formulas in braces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// How its number follows from those of other rows, so that it is not a measurement of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Repeats>,
    /// Whether a quick run is too short for it, and leaves it out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole_only: bool,
    /// Measured number; `None` if the row was not run.
    #[serde(default)]
    pub measured: Option<f64>,
    /// Whether it is within the tolerance.
    #[serde(default)]
    pub verdict: Verdict,
    /// Settings the quantity leaves open; for a miss, its cause.
    pub note: String,
}

/// How a text gives a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// In so many digits.
    Stated,
    /// Read off a figure.
    Plotted,
    /// By a formula of the text, worked out for our setting.
    Derived,
    /// Not published, but measured on the real thing.
    Recorded,
    /// Used to fit a parameter: never counts as reproduced.
    Calibrated,
    /// The model is given it, so that it comes out again: never counts as reproduced.
    Input,
    /// A setting is open in the text.
    Assumed,
}

impl Basis {
    /// Whether a row with it counts towards what is reproduced.
    pub fn counts(self) -> bool {
        !matches!(self, Self::Calibrated | Self::Input | Self::Assumed)
    }
}

/// Whether a measured number is within its tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Within the tolerance.
    In,
    /// Outside the tolerance.
    Out,
    /// Both sides of a comparison are equal because nothing happened on either: it says nothing.
    Empty,
    /// There is no measured number, or too few samples for it.
    #[default]
    NotRun,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::In => "in",
            Self::Out => "out",
            Self::Empty => "empty",
            Self::NotRun => "not-run",
        })
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stated => "stated",
            Self::Plotted => "plotted",
            Self::Derived => "derived",
            Self::Recorded => "recorded",
            Self::Calibrated => "calibrated",
            Self::Input => "input",
            Self::Assumed => "assumed",
        })
    }
}

/// How far a measured number may be from the published one. Written `"25%"`, `"x2"`, `"+-0.1"`, `"order x3"`, `">="` or
/// `"<="`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Tolerance {
    /// Per cent of the published value, either side.
    Percent(f64),
    /// Between it divided by this and it times this.
    Factor(f64),
    /// Distance from the published value, either side, in the row's unit.
    Absolute(f64),
    /// Of a ratio that says which of two is the larger: on its side of 1, and between it divided by this and it times this.
    Order(f64),
    /// At least it.
    AtLeast,
    /// At most it, and of its sign: "less" of a positive number does not mean a negative one.
    AtMost,
}

impl Tolerance {
    /// The numbers within.
    pub fn band(self, published: f64) -> Band {
        let around = |distance: f64| (Some(published - distance), Some(published + distance));
        let (least, most) = match self {
            Self::Percent(p) => around(p / 100.0 * published.abs()),
            Self::Factor(f) => (Some(published / f), Some(published * f)),
            Self::Absolute(d) => around(d),
            Self::Order(f) if published < 1.0 => {
                (Some(published / f), Some((published * f).min(1.0)))
            }
            Self::Order(f) => (Some((published / f).max(1.0)), Some(published * f)),
            Self::AtLeast => (Some(published), (published < 0.0).then_some(0.0)),
            Self::AtMost => ((published >= 0.0).then_some(0.0), Some(published)),
        };
        Band { least, most }
    }

    /// Whether `measured` is within.
    pub fn holds(self, published: f64, measured: f64) -> bool {
        self.band(published).judge(measured) == JudgedValue::In
    }

    /// Whether it bounds a number on one side alone.
    pub fn is_one_sided(self) -> bool {
        matches!(self, Self::AtLeast | Self::AtMost)
    }
}

impl TryFrom<String> for Tolerance {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = |text: &str, least: f64| {
            text.parse().ok().filter(|n: &f64| *n >= least && n.is_finite())
        };
        let read = if text == ">=" {
            Some(Self::AtLeast)
        } else if text == "<=" {
            Some(Self::AtMost)
        } else if let Some(percent) = text.strip_suffix('%') {
            number(percent, 0.0).map(Self::Percent)
        } else if let Some(factor) = text.strip_prefix("order x") {
            number(factor, 1.0).map(Self::Order)
        } else if let Some(factor) = text.strip_prefix('x') {
            number(factor, 1.0).map(Self::Factor)
        } else if let Some(distance) = text.strip_prefix("+-") {
            number(distance, 0.0).map(Self::Absolute)
        } else {
            None
        };
        read.ok_or_else(|| {
            format!(
                "\"{text}\" is no tolerance: write \"5%\", \"x2\", \"+-0.1\", \"order x3\", \">=\" or \"<=\""
            )
        })
    }
}

impl From<Tolerance> for String {
    fn from(tolerance: Tolerance) -> Self {
        tolerance.to_string()
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percent(p) => write!(f, "{p}%"),
            Self::Factor(factor) => write!(f, "x{factor}"),
            Self::Absolute(distance) => write!(f, "+-{distance}"),
            Self::Order(factor) => write!(f, "order x{factor}"),
            Self::AtLeast => f.write_str(">="),
            Self::AtMost => f.write_str("<="),
        }
    }
}

impl Row {
    /// Enters what was found, and in the note what has to be said of it.
    pub(crate) fn judge(&mut self, found: Option<&RowValue>) {
        let mut remarks = found.map(|found| found.remark.clone()).unwrap_or_default();
        let mut say = |text: &str| {
            let gap = if remarks.is_empty() { "" } else { "; " };
            remarks += &format!("{gap}{text}");
        };
        (self.measured, self.verdict) = match found.map(|found| &found.value) {
            None => (None, Verdict::NotRun),
            Some(Value::TooFew(text)) => {
                say(text);
                (None, Verdict::NotRun)
            }
            Some(Value::Empty(text)) => {
                say(text);
                (None, Verdict::Empty)
            }
            Some(Value::Number(value)) => {
                let judged = self.tolerance.band(self.published).judge(*value);
                if judged == JudgedValue::NotFinite {
                    say("no finite number");
                }
                let within = if judged == JudgedValue::In { Verdict::In } else { Verdict::Out };
                (Some(*value), within)
            }
        };
        if !remarks.is_empty() {
            let gap = if self.note.is_empty() { "" } else { "; " };
            self.note = format!("{}{gap}measured: {remarks}", self.note);
        }
    }

    /// Whether it counts towards what is reproduced: neither fitted nor given, no setting of it is open, and it repeats no other.
    pub fn counts(&self) -> bool {
        self.basis.counts() && self.repeats.is_none()
    }
}

/// Reads a file of rows.
pub(crate) fn parse(text: &str) -> Result<Vec<Row>, String> {
    #[derive(Deserialize)]
    struct File {
        row: Vec<Row>,
    }
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    Ok(file.row)
}

/// The title of a file of rows.
pub(crate) fn title(text: &str) -> Result<String, String> {
    #[derive(Deserialize)]
    struct File {
        title: String,
    }
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    Ok(file.title)
}

/// Puts out each row whose number is not what it says that it follows from.
pub(crate) fn check_repeats(rows: &mut [Row]) {
    let numbers: BTreeMap<String, f64> =
        rows.iter().filter_map(|row| Some((row.id.clone(), row.measured?))).collect();
    for row in rows {
        let follows = row.repeats.as_ref().and_then(|r| r.value(|id| numbers.get(id).copied()));
        let (Some(repeats), Some(measured), Some(follows)) = (&row.repeats, row.measured, follows)
        else {
            continue;
        };
        if (measured - follows).abs() > SAMPLING * follows.abs() {
            let text = String::from(repeats.clone());
            row.note += &format!("; {measured} is not {text}, {follows}");
            row.verdict = Verdict::Out;
        }
    }
}

/// Whether a row stands under the first of these readings, and counts.
pub(crate) fn is_counted(row: &Row, readings: &[&str]) -> bool {
    row.counts() && !readings.iter().skip(1).any(|end| is_under(row, end, readings))
}

/// Whether its tolerance has two sides.
pub(crate) fn is_two_sided(row: &Row) -> bool {
    !row.tolerance.is_one_sided()
}

/// Whether a row is under the reading `end`: the longest that its id ends with.
pub(crate) fn is_under(row: &Row, end: &str, readings: &[&str]) -> bool {
    let of = readings.iter().filter(|one| row.id.ends_with(**one)).max_by_key(|one| one.len());
    of == Some(&end)
}

/// Four digits, without needless zeros.
pub(crate) fn number(x: f64) -> String {
    let digits = if x == 0.0 || !x.is_finite() { 0 } else { 3 - x.abs().log10().floor() as i32 };
    let text = format!("{x:.*}", digits.clamp(0, 6) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, measured: f64, repeats: Option<&str>) -> Row {
        Row {
            id: id.into(),
            measured: Some(measured),
            verdict: Verdict::In,
            repeats: repeats.map(|text| Repeats::try_from(text.to_string()).expect("it is one")),
            ..crate::rows("analytic").remove(0)
        }
    }

    #[test]
    fn a_row_that_does_not_follow_from_what_it_says_is_out() {
        let mut rows = [
            row("a", 77.4, None),
            row("same", 77.4, Some("a")),
            row("lines", 77.4 * 1.05, Some("a x 1.05")),
            row("other", 78.0, Some("a")),
            row("alone", 3.0, Some("not-run")),
        ];
        check_repeats(&mut rows);
        let verdicts = rows.each_ref().map(|row| row.verdict);
        assert_eq!(verdicts, [Verdict::In, Verdict::In, Verdict::In, Verdict::Out, Verdict::In]);
        assert!(rows[3].note.ends_with("78 is not a, 77.4"), "{}", rows[3].note);
    }

    #[test]
    fn tolerances_read_back_and_hold_at_their_edges() {
        for (text, published, inside, outside) in [
            ("25%", 12.0, 15.0, 15.1),
            (">=", 52.0, 52.0, 51.9),
            ("<=", 1.0, 1.0, 1.1),
            ("0%", 3.0, 3.0, 3.1),
            ("x2", 8.0, 4.0, 3.9),
            ("x2", 8.0, 16.0, 16.1),
            ("+-0.5", 2.0, 2.5, 2.6),
            ("+-0.5", -2.0, -2.5, -1.4),
            ("<=", 0.5, 0.0, -0.01),
            ("<=", 0.0, 0.0, -0.01),
            (">=", -2.0, -1.0, 0.01),
            (">=", 1.0, 1.0, f64::INFINITY),
            ("<=", 1.0, 1.0, f64::NEG_INFINITY),
            ("order x3", 0.03, 0.09, 0.091),
            ("order x3", 0.03, 0.01, 0.0),
            ("order x3", 0.5, 1.0, 1.01),
            ("order x3", 2.0, 1.0, 0.99),
            ("order x3", 2.0, 6.0, 6.01),
        ] {
            let tolerance = Tolerance::try_from(text.to_string()).unwrap();
            assert_eq!(tolerance.to_string(), text);
            assert!(tolerance.holds(published, inside), "{text}");
            assert!(!tolerance.holds(published, outside), "{text}");
        }
        for text in [
            "",
            "5",
            "-1%",
            "nan%",
            "about 5%",
            "x",
            "x0.5",
            "xinf",
            "order",
            "order 3",
            "order x0.5",
            "+-",
            "+--1",
        ] {
            assert!(Tolerance::try_from(text.to_string()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_that_is_none_is_out() {
        let mut row =
            parse(include_str!("../../../validation/analytic/rows.toml")).unwrap().remove(0);
        for value in [f64::NAN, f64::INFINITY] {
            for tolerance in [Tolerance::AtLeast, Tolerance::AtMost, Tolerance::Factor(2.0)] {
                let mut row = Row { tolerance, ..row.clone() };
                row.judge(Some(&RowValue::number(value)));
                assert_eq!(row.verdict, Verdict::Out, "{value} {tolerance}");
                assert!(row.note.ends_with("measured: no finite number"), "{}", row.note);
            }
        }
        row.judge(None);
        assert_eq!(row.verdict, Verdict::NotRun);
    }
}
