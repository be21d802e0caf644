//! Verdicts that `validation/verdicts.py` recorded: of quick runs, and of whole ones.

#[cfg(test)]
use crate::measured::MeasuredRows;
use crate::measured::RowValue;
use crate::row::{Row, Verdict, is_counted, is_two_sided, number};
use crate::{Basis, readings, rows, rows_of};
use serde::Deserialize;
use std::collections::BTreeMap;

/// How long the runs were that verdicts were recorded of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// `--quick`.
    Quick,
    /// All that a row asks for.
    Whole,
}

/// Papers that the project reproduces, with their suites, in the order of the table.
pub const PAPERS: [(&str, &str); 5] = [
    ("hostcc", "hostCC"),
    ("tcp-nv", "TCP-NV"),
    ("hiercc", "HierCC"),
    ("carc", "CARC"),
    ("pcc-dilemma", "Dilemma"),
];

/// The rows of a run that are not in.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    /// The part that was run, if not all.
    #[serde(default)]
    part: String,
    rows: usize,
    out: Vec<String>,
    empty: Vec<String>,
    not_run: Vec<String>,
}

fn text(suite: &str, extent: Extent) -> Option<&'static str> {
    macro_rules! of {
        ($($suite:literal),*; $($whole:literal),*) => {
            match (suite, extent) {
                $(($suite, Extent::Quick) => Some(include_str!(concat!("../../../validation/", $suite, "/verdicts.toml"))),)*
                $(($whole, Extent::Whole) => Some(include_str!(concat!("../../../validation/", $whole, "/whole.toml"))),)*
                _ => None,
            }
        };
    }
    of!(
        "analytic", "tcp-nv", "linux", "hostcc", "hiercc", "htsim", "pcc-dilemma", "rdma", "expresspass", "homa", "ndp", "aeolus", "powertcp", "carc";
        "hostcc", "hiercc", "pcc-dilemma", "carc", "expresspass", "homa", "ndp", "aeolus", "powertcp"
    )
}

/// The rows of a suite with the verdicts that were recorded, if any were since its last row was added.
///
/// # Panics
/// If the suite's file is not as it should be: it is part of the program.
pub fn recorded(suite: &str, extent: Extent) -> Option<Vec<Row>> {
    let file: File = toml::from_str(text(suite, extent)?)
        .unwrap_or_else(|error| panic!("verdicts of {suite}: {error}"));
    let mut rows = match (extent, file.part.as_str()) {
        (Extent::Whole, _) => rows(suite),
        (Extent::Quick, "") => rows_of(suite),
        (Extent::Quick, part) => rows_of(&format!("{suite}/{part}")),
    };
    if rows.len() != file.rows {
        // Rows are committed before their first run; `verdicts.py` says so until it records them.
        return None;
    }
    let lists =
        [(Verdict::Out, file.out), (Verdict::Empty, file.empty), (Verdict::NotRun, file.not_run)];
    for row in &mut rows {
        row.verdict = Verdict::In;
    }
    for (verdict, ids) in lists {
        for id in ids {
            let row = rows.iter_mut().find(|row| row.id == id);
            row.unwrap_or_else(|| panic!("{suite}: no row {id}")).verdict = verdict;
        }
    }
    Some(rows)
}

/// Numbers of whole runs that pictures of pages are drawn from; none where none were recorded.
///
/// # Panics
/// If the suite's file is not as it should be: it is part of the program.
#[cfg(test)]
pub(crate) fn numbers(suite: &str) -> MeasuredRows {
    let text = match suite {
        "carc" => include_str!("../../../validation/carc/measured.toml"),
        "tcp-nv" => include_str!("../../../validation/tcp-nv/measured.toml"),
        _ => "",
    };
    let all: BTreeMap<String, f64> = toml::from_str(text)
        .unwrap_or_else(|error| panic!("validation/{suite}/measured.toml: {error}"));
    let mut measured = MeasuredRows::new();
    let known: Vec<String> = rows(suite).into_iter().map(|row| row.id).collect();
    for (id, value) in all {
        // Points of curves have no row.
        assert!(
            known.contains(&id) || id.starts_with("point-"),
            "validation/{suite}/measured.toml: there is no row {id}"
        );
        measured.insert(id, value);
    }
    measured
}

/// How many rows are in, and how many are in or out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// In.
    pub within: usize,
    /// In or out.
    pub judged: usize,
}

impl Share {
    /// Of the rows of the named reading that count and that `keep` keeps.
    pub fn of(rows: &[Row], readings: &[&str], keep: impl Fn(&Row) -> bool) -> Self {
        let kept = rows.iter().filter(|row| is_counted(row, readings) && keep(row));
        let mut share = Self::default();
        for row in kept {
            share.within += usize::from(row.verdict == Verdict::In);
            share.judged += usize::from(matches!(row.verdict, Verdict::In | Verdict::Out));
        }
        share
    }

    /// Adds the rows of another suite.
    pub fn add(&mut self, other: Self) {
        self.within += other.within;
        self.judged += other.judged;
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.judged {
            0 => f.write_str("none"),
            judged => write!(f, "{} of {judged}", self.within),
        }
    }
}

/// Numbers that the text states, held on both sides.
pub fn stated(rows: &[Row], readings: &[&str]) -> Share {
    Share::of(rows, readings, is_stated)
}

/// Whether the text states its number, and its tolerance has two sides.
pub(crate) fn is_stated(row: &Row) -> bool {
    row.basis == Basis::Stated && is_two_sided(row)
}

/// A table of a page about a suite, in Markdown: `stated`, the rows that its headline counts; `count`, all rows of the named reading that
/// count; `all`. `numbers` are those of `measured.toml`, by row. A row without one has the recorded verdict, of a whole run if there is one.
///
/// # Errors
/// If there is no such table, one sentence.
///
/// # Panics
/// If a file of the suite is not as it should be: it is part of the program.
pub fn numbers_table(
    suite: &str,
    which: &str,
    numbers: &BTreeMap<String, f64>,
) -> Result<String, String> {
    let readings = readings(suite);
    let keep: &dyn Fn(&Row) -> bool = match which {
        "stated" => &|row| is_counted(row, readings) && is_stated(row),
        "count" => &|row| is_counted(row, readings),
        "all" => &|_| true,
        _ => return Err(format!("there is no table \"{which}\"; write stated, count or all")),
    };
    let mut verdicts = BTreeMap::new();
    for rows in [Extent::Quick, Extent::Whole].into_iter().filter_map(|of| recorded(suite, of)) {
        verdicts.extend(rows.into_iter().map(|row| (row.id, row.verdict)));
    }
    let rows: Vec<Row> = rows(suite).into_iter().filter(keep).collect();
    let any = rows.iter().any(|row| numbers.contains_key(&row.id));
    let end = common_end(&rows.iter().map(|row| row.quantity.as_str()).collect::<Vec<_>>());
    let mut text = String::from(match any {
        true => "| number | published | here | tolerance | verdict |\n|---|---:|---:|---|---|\n",
        false => "| number | published | tolerance | verdict |\n|---|---:|---|---|\n",
    });
    for mut row in rows {
        let here = numbers.get(&row.id).copied();
        match here {
            Some(value) => row.judge(Some(&RowValue::number(value))),
            None => row.verdict = verdicts.get(&row.id).copied().unwrap_or_default(),
        }
        let unit = if row.unit == "1" { String::new() } else { format!(" {}", row.unit) };
        let here = match here {
            Some(value) => format!(" {} |", number(value)),
            None if any => " - |".into(),
            None => String::new(),
        };
        let counts = if row.counts() { String::new() } else { format!(", {}", row.basis) };
        text += &format!(
            "| {} | {}{unit} |{here} {} | {}{counts} |\n",
            row.quantity[..row.quantity.len() - end].replace('|', "\\|"),
            number(row.published),
            row.tolerance,
            row.verdict
        );
    }
    Ok(text)
}

/// Length of the words behind a comma that all texts end in, such as the name of a reading.
fn common_end(texts: &[&str]) -> usize {
    let [first, second, ..] = texts else { return 0 };
    let ends = first.match_indices(", ").map(|(at, _)| &first[at..]);
    let all = |end: &&str| first != second && texts.iter().all(|text| text.ends_with(*end));
    ends.into_iter().find(all).map_or(0, str::len)
}

/// The first line of a paper's page: how many of the two-sided numbers that it states are in, by recorded verdicts.
pub fn headline(suite: &str) -> Option<String> {
    let of = |extent| Some(stated(&recorded(suite, extent)?, readings(suite)));
    let runs = [(of(Extent::Whole), "a whole run"), (of(Extent::Quick), "a quick run")];
    let said: Vec<String> =
        runs.into_iter().filter_map(|(share, run)| Some(format!("{} in {run}", share?))).collect();
    let last = format!("**Two-sided numbers that the paper states: {}.**", said.join(", "));
    (!said.is_empty()).then_some(last)
}

/// The papers in one table, in Markdown: a line for each kind of run whose verdicts were recorded, and one for all papers.
pub fn papers() -> String {
    let mut text = String::from(
        "| paper | run | stated, two-sided | plotted, two-sided | one-sided claims | our equations |\n|---|---|---:|---:|---:|---:|\n",
    );
    for (extent, name) in [(Extent::Whole, "whole"), (Extent::Quick, "quick")] {
        let mut sums = [Share::default(); 4];
        let mut papers = 0;
        for (suite, title) in PAPERS {
            let Some(rows) = recorded(suite, extent) else { continue };
            let readings = readings(suite);
            let of = |keep: fn(&Row) -> bool| Share::of(&rows, readings, keep);
            let shares = [
                stated(&rows, readings),
                of(|row| row.basis == Basis::Plotted && is_two_sided(row)),
                of(|row| row.basis != Basis::Derived && !is_two_sided(row)),
                of(|row| row.basis == Basis::Derived),
            ];
            papers += 1;
            text += &line(title, name, shares);
            for (sum, share) in sums.iter_mut().zip(shares) {
                sum.add(share);
            }
        }
        if papers > 1 {
            text += &line(&format!("**{papers} papers**"), name, sums);
        }
    }
    text
}

fn line(title: &str, run: &str, shares: [Share; 4]) -> String {
    let [stated, plotted, claims, derived] = shares;
    format!("| {title} | {run} | {stated} | {plotted} | {claims} | {derived} |\n")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Compares a picture of a page with what was drawn, or writes it under `FOREBAY_BLESS=1`.
    pub(crate) fn check(name: &str, picture: &str) {
        let path = format!("{}/../../docs/pictures/{name}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("FOREBAY_BLESS").is_some() {
            std::fs::write(&path, picture).expect("the picture can be written");
        }
        let shown = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(shown == picture, "docs/pictures/{name} is out of date: FOREBAY_BLESS=1 renews it");
    }

    fn row(id: &str, basis: Basis, tolerance: &str, verdict: Verdict) -> Row {
        Row {
            id: id.into(),
            basis,
            tolerance: tolerance.to_string().try_into().expect("it is one"),
            verdict,
            ..crate::rows("analytic").remove(0)
        }
    }

    #[test]
    fn the_headline_counts_stated_numbers_with_two_sides_under_the_named_reading() {
        use Basis::{Assumed, Derived, Plotted, Stated};
        use Verdict::{Empty, In, NotRun, Out};
        let mut rows = vec![
            row("a", Stated, "5%", In),
            row("b", Stated, "order x3", Out),
            row("c", Stated, "x2", NotRun),
            row("d", Stated, "x2", Empty),
            row("e", Stated, ">=", In),
            row("f", Plotted, "5%", In),
            row("g", Derived, "5%", In),
            row("h", Assumed, "5%", In),
            row("i-other", Stated, "5%", In),
            row("j", Stated, "5%", In),
        ];
        rows[9].repeats = Some("a x 1".to_string().try_into().expect("it is one"));
        let share = stated(&rows, &["", "-other"]);
        assert_eq!(share, Share { within: 1, judged: 2 });
        assert_eq!(share.to_string(), "1 of 2");
        assert_eq!(Share::default().to_string(), "none");
    }

    #[test]
    fn what_all_rows_of_a_table_end_in_is_left_out() {
        let end = |texts: &[&str]| common_end(texts);
        assert_eq!(end(&["misses, a, b", "falls, x, a, b", "gain, a, b"]), ", a, b".len());
        assert_eq!(end(&["misses, a", "falls, b"]), 0);
        assert_eq!(end(&["misses, a"]), 0, "one row ends in all of its words");
    }

    /// A quick run leaves out the rows that it would judge otherwise than a whole one.
    #[test]
    fn a_quick_run_has_the_verdicts_of_a_whole_one_or_leaves_the_row_out() {
        let mut seen = 0;
        for (suite, _) in PAPERS {
            let both = [Extent::Quick, Extent::Whole].map(|extent| recorded(suite, extent));
            let [Some(quick), Some(whole)] = both else { continue };
            seen += 1;
            for row in quick.iter().filter(|row| row.verdict != Verdict::NotRun) {
                let Some(other) = whole.iter().find(|other| other.id == row.id) else { continue };
                assert_eq!(row.verdict, other.verdict, "{suite}: {}, quick and whole", row.id);
            }
        }
        assert!(seen >= WHOLE, "{seen} suites");
    }

    #[test]
    fn no_row_that_counts_changes_its_verdict_with_the_seeds() {
        for suite in crate::SUITES {
            let spread = crate::recorded_spread(suite).expect("each suite has a seeds.toml");
            let rows = crate::rows(suite);
            for row in rows.iter().filter(|row| spread.varies.contains_key(&row.id)) {
                assert!(!is_counted(row, readings(suite)), "{suite}: {}", row.id);
            }
        }
    }

    /// Suites of [`PAPERS`] whose whole run was recorded.
    const WHOLE: usize = 4;
}
