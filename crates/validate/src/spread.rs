//! What other seeds do to the verdicts of a suite.

use crate::row::{Row, Verdict, is_counted, is_two_sided, number};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Rows in and judged, by set of seeds, and the rows whose verdict is not the same in all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Spread {
    /// Of the rows that count: in, and in or out.
    pub count: Vec<[usize; 2]>,
    /// Of those with two sides.
    pub two_sided: Vec<[usize; 2]>,
    /// Rows that are in with some seeds and not with others, with the number of sets that they are in.
    pub varies: BTreeMap<String, usize>,
}

impl Spread {
    /// Of the same rows, judged once for each set of seeds.
    pub fn of(sets: &[Vec<Row>], readings: &[&str]) -> Self {
        let share = |rows: &[Row], keep: &dyn Fn(&Row) -> bool| {
            let judged = |row: &&Row| matches!(row.verdict, Verdict::In | Verdict::Out);
            let kept: Vec<&Row> = rows.iter().filter(|row| keep(row)).filter(judged).collect();
            [kept.iter().filter(|row| row.verdict == Verdict::In).count(), kept.len()]
        };
        let counted = |row: &Row| is_counted(row, readings);
        let sided = |row: &Row| is_counted(row, readings) && is_two_sided(row);
        let mut within: BTreeMap<String, usize> = BTreeMap::new();
        for row in sets.iter().flatten() {
            *within.entry(row.id.clone()).or_default() += usize::from(row.verdict == Verdict::In);
        }
        within.retain(|_, times| *times > 0 && *times < sets.len());
        Self {
            count: sets.iter().map(|rows| share(rows, &counted)).collect(),
            two_sided: sets.iter().map(|rows| share(rows, &sided)).collect(),
            varies: within,
        }
    }

    /// Sets of seeds.
    pub fn sets(&self) -> usize {
        self.count.len()
    }

    /// In words, of the rows that count and of those with two sides.
    pub fn said(&self) -> [String; 2] {
        [&self.count, &self.two_sided].map(|shares| {
            let of = |i: usize| range(shares.iter().map(|share| share[i]));
            format!("{} of {} over {} sets of seeds", of(0), of(1), self.sets())
        })
    }
}

/// "3", or "3 to 5".
fn range(values: impl Iterator<Item = usize> + Clone) -> String {
    let (low, high) = (values.clone().min().unwrap_or(0), values.max().unwrap_or(0));
    if low == high { low.to_string() } else { format!("{low} to {high}") }
}

/// What every set measured of the rows whose verdict the seeds decide, and the totals of each.
pub fn text(sets: &[Vec<Row>], readings: &[&str]) -> String {
    let spread = Spread::of(sets, readings);
    let mut text = String::new();
    for id in spread.varies.keys() {
        let of = |rows: &Vec<Row>| rows.iter().find(|row| row.id == *id).cloned();
        let each: Vec<Row> = sets.iter().filter_map(of).collect();
        let Some(row) = each.first() else { continue };
        let values: Vec<String> = each
            .iter()
            .map(|row| match row.measured {
                Some(value) => format!("{} {}", number(value), row.verdict),
                None => row.verdict.to_string(),
            })
            .collect();
        let _ = writeln!(
            text,
            "{id}: {} {}, tolerance {}; by set: {}",
            number(row.published),
            row.unit,
            row.tolerance,
            values.join(", ")
        );
    }
    let [count, two_sided] = spread.said();
    let _ = writeln!(
        text,
        "{}reproduced: {count} that count; {two_sided} with two sides; {} rows change their verdict",
        if text.is_empty() { "" } else { "\n" },
        spread.varies.len()
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_the_range_and_the_rows_that_change() {
        let mut rows = crate::rows("analytic");
        rows.truncate(3);
        for row in &mut rows {
            row.verdict = Verdict::In;
        }
        let mut other = rows.clone();
        other[1].verdict = Verdict::Out;
        let mut third = rows.clone();
        third[2].verdict = Verdict::NotRun;
        let spread = Spread::of(&[rows.clone(), other.clone(), third.clone()], &[""]);
        assert_eq!(spread.count, [[3, 3], [2, 3], [2, 2]]);
        let ids = [rows[1].id.clone(), rows[2].id.clone()];
        assert_eq!(spread.varies, ids.map(|id| (id, 2)).into());
        assert_eq!(spread.said()[0], "2 to 3 of 2 to 3 over 3 sets of seeds");
        let text = text(&[rows, other, third], &[""]);
        assert!(text.ends_with("2 rows change their verdict\n"), "{text}");
        assert!(text.contains("out") && text.contains("not-run"), "{text}");
    }
}
