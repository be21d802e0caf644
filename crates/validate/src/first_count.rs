//! What became of the numbers of the papers' first count: `validation/first-count.toml` names them.

use crate::readings;
use crate::recorded::{Extent, PAPERS, Share, is_stated, recorded};
use crate::row::{Row, Verdict, is_counted};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Numbers of one paper, by their ids of that time.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FirstCount {
    #[serde(rename = "in")]
    within: Vec<String>,
    out: Vec<String>,
    /// Ids that are others today.
    #[serde(default)]
    renamed: BTreeMap<String, String>,
}

/// What became of them.
#[derive(Debug, Default, PartialEq)]
struct CountChange {
    /// As they were judged then.
    then: Share,
    /// Those that still count, by recorded verdicts.
    same: Share,
    /// Those that count no more, with their basis.
    left: Vec<String>,
    /// What counts today and did not then.
    added: Share,
}

impl CountChange {
    fn of(first: &FirstCount, rows: &[Row], readings: &[&str]) -> Self {
        let counts = |row: &Row| is_stated(row) && is_counted(row, readings);
        let judged = |row: &Row| matches!(row.verdict, Verdict::In | Verdict::Out);
        let all = || first.within.iter().chain(&first.out);
        let today: Vec<&str> =
            all().map(|id| first.renamed.get(id).unwrap_or(id).as_str()).collect();
        let share = |keep: &dyn Fn(&Row) -> bool| {
            Share::of(rows, readings, |row| is_stated(row) && keep(row))
        };
        let mut left = Vec::new();
        for id in &today {
            match rows.iter().find(|row| row.id == *id) {
                None => left.push(format!("`{id}` (withdrawn)")),
                Some(row) if !counts(row) => left.push(format!("`{id}` ({})", row.basis)),
                Some(row) if !judged(row) => left.push(format!("`{id}` ({})", row.verdict)),
                Some(_) => {}
            }
        }
        Self {
            then: Share { within: first.within.len(), judged: all().count() },
            same: share(&|row| today.contains(&row.id.as_str())),
            left,
            added: share(&|row| !today.contains(&row.id.as_str())),
        }
    }
}

/// The first count beside today's verdicts, of whole runs where those were recorded: a table in Markdown, and the rows that left.
///
/// # Panics
/// If a file of verdicts is not as it should be: it is part of the program.
pub fn first_count() -> String {
    let text = include_str!("../../../validation/first-count.toml");
    let mut first: BTreeMap<String, FirstCount> =
        toml::from_str(text).unwrap_or_else(|error| panic!("validation/first-count.toml: {error}"));
    let mut table = String::from(
        "| paper | first count | of these, today | left the count | added since |\n|---|---:|---:|---:|---:|\n",
    );
    let mut left = Vec::new();
    let mut sum = CountChange::default();
    for (suite, title) in PAPERS {
        let Some(first) = first.remove(suite) else { continue };
        let rows = recorded(suite, Extent::Whole).or_else(|| recorded(suite, Extent::Quick));
        let Some(rows) = rows else { continue };
        let one = CountChange::of(&first, &rows, readings(suite));
        table += &line(title, &one);
        sum.then.add(one.then);
        sum.same.add(one.same);
        sum.added.add(one.added);
        if !one.left.is_empty() {
            left.push(format!("- {title}: {}", one.left.join(", ")));
        }
        sum.left.extend(one.left);
    }
    table += &line("**all**", &sum);
    format!("{table}\nThese left the count:\n\n{}\n", left.join("\n"))
}

fn line(title: &str, one: &CountChange) -> String {
    let CountChange { then, same, left, added } = one;
    format!("| {title} | {then} | {same} | {} | {added} |\n", left.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Basis;

    fn row(id: &str, basis: Basis, verdict: Verdict) -> Row {
        let tolerance = "5%".to_string().try_into().expect("it is one");
        Row { id: id.into(), basis, verdict, tolerance, ..crate::rows("analytic").remove(0) }
    }

    #[test]
    fn a_number_of_the_first_count_stays_changes_or_leaves_with_its_reason() {
        let first: FirstCount = toml::from_str(
            "in = [\"a\", \"b\", \"c\", \"gone\"]\nout = [\"d\", \"e\"]\nrenamed = { d = \"d-other\" }",
        )
        .expect("it is a count");
        use Basis::{Assumed, Stated};
        let rows = [
            row("a", Stated, Verdict::In),
            row("b", Stated, Verdict::Out),
            row("c", Assumed, Verdict::In),
            row("d-other", Stated, Verdict::In),
            row("e", Stated, Verdict::NotRun),
            row("new", Stated, Verdict::Out),
        ];
        let change = CountChange::of(&first, &rows, &["", "-x"]);
        assert_eq!(change.then.to_string(), "4 of 6");
        assert_eq!(change.same.to_string(), "2 of 3");
        assert_eq!(change.added.to_string(), "0 of 1");
        assert_eq!(change.left, ["`c` (assumed)", "`gone` (withdrawn)", "`e` (not-run)"]);
    }

    /// The outside count: 34 of 62, hostCC 25 of 31, TCP-NV 6 of 15, HierCC 3 of 11, CARC 0 of 4, Dilemma 0 of 1.
    #[test]
    fn the_first_count_is_that_of_the_audit() {
        let text = first_count();
        for said in ["| hostCC | 25 of 31 |", "| TCP-NV | 6 of 15 |", "| HierCC | 3 of 11 |"] {
            assert!(text.contains(said), "{text}");
        }
        for said in ["| CARC | 0 of 4 |", "| Dilemma | 0 of 1 |", "| **all** | 34 of 62 |"] {
            assert!(text.contains(said), "{text}");
        }
    }
}
