//! Rows for people and for programs.

use crate::recorded::Share;
use crate::row::{Basis, Row, Verdict, is_two_sided, is_under, number};
use crate::spread::Spread;

/// An aligned table, the note of every row that missed or says nothing, the totals, and the parts that run only by name.
pub fn table(suite: &str, rows: &[Row]) -> String {
    let head = ["id", "published", "measured", "unit", "tolerance", "verdict", "basis", "quantity"];
    let mut cells: Vec<[String; 8]> = vec![head.map(String::from)];
    cells.extend(rows.iter().map(|r| {
        [
            r.id.clone(),
            number(r.published),
            r.measured.map_or("-".into(), number),
            r.unit.clone(),
            r.tolerance.to_string(),
            r.verdict.to_string(),
            r.basis.to_string(),
            r.quantity.clone(),
        ]
    }));
    let width = |column: usize| cells.iter().map(|c| c[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..8).map(width).collect();
    let right = [false, true, true, false, true, false, false, false];
    let mut text = String::new();
    for line in &cells {
        let mut columns = Vec::new();
        for ((cell, width), right) in line.iter().zip(&widths).zip(right) {
            columns.push(if right { format!("{cell:>width$}") } else { format!("{cell:<width$}") });
        }
        text.push_str(columns.join("  ").trim_end());
        text.push('\n');
    }
    text.push('\n');
    for row in rows {
        match row.verdict {
            Verdict::Out => {
                let note = if row.note.is_empty() { "no cause is known yet" } else { &row.note };
                text.push_str(&format!("out: {}: {note}\n", row.id));
            }
            Verdict::Empty => text.push_str(&format!("empty: {}: {}\n", row.id, row.note)),
            Verdict::In | Verdict::NotRun => {}
        }
    }
    let spread = crate::recorded_spread(suite);
    let stated = crate::stated(rows, crate::readings(suite));
    text += &format!("\ntwo-sided numbers that the text states: {stated}\n");
    text + "\n" + &totals(rows, crate::readings(suite), spread.as_ref()) + &by_name(suite)
}

/// A line about the rows of a suite that run only by name, if it has any.
fn by_name(suite: &str) -> String {
    let parts = crate::only_by_name(suite);
    if parts.is_empty() {
        return String::new();
    }
    let rows = crate::rows(suite).iter().filter(|row| crate::is_only_by_name(suite, row)).count();
    let parts: Vec<String> = parts.iter().map(|part| format!("{suite}/{part}")).collect();
    format!(
        "{rows} more rows take long runs, and run only by name: forebay reproduce {}\n",
        parts.join(" | ")
    )
}

/// How many rows are in, and how much that says, as a table in Markdown: rows that count by the sides of their tolerance, then those
/// that do not. `readings` are the ends of ids of rows that stand once under each reading of a text; only those of the first count.
/// `spread`, what other seeds did to quick runs when that was recorded, stands behind.
pub fn totals(rows: &[Row], readings: &[&str], spread: Option<&Spread>) -> String {
    let other = |row: &Row| readings.iter().skip(1).any(|end| is_under(row, end, readings));
    let (others, rows): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| other(row));
    let of = |keep: &dyn Fn(&Row) -> bool| -> Vec<&Row> {
        rows.iter().copied().filter(|row| keep(row)).collect()
    };
    let two_sided = of(&|row| row.counts() && !row.tolerance.is_one_sided());
    let one_sided = of(&|row| row.counts() && row.tolerance.is_one_sided());
    let counted = of(&Row::counts);
    let without = |basis| of(&|row| row.basis == basis);
    let groups = [
        ("two-sided", two_sided.clone()),
        ("one-sided, >= or <=", one_sided),
        ("**count**", counted.clone()),
        ("repeat another row", of(&|row| row.basis.counts() && row.repeats.is_some())),
        ("calibrated", without(Basis::Calibrated)),
        ("input", without(Basis::Input)),
        ("assumed", without(Basis::Assumed)),
        ("other readings", others),
    ];
    let mut text = format!(
        "| {:<19} | {:>4} | {:>4} | {:>5} | {:>7} |\n|{:-<21}|{:->5}:|{:->5}:|{:->6}:|{:->8}:|\n",
        "rows", "in", "out", "empty", "not run", "", "", "", "", ""
    );
    for (name, rows) in
        groups.iter().filter(|(name, rows)| *name == "**count**" || !rows.is_empty())
    {
        let [within, out, empty, not_run] =
            [Verdict::In, Verdict::Out, Verdict::Empty, Verdict::NotRun].map(|v| count(rows, v));
        text += &format!("| {name:<19} | {within:>4} | {out:>4} | {empty:>5} | {not_run:>7} |\n");
    }
    let spread = spread.filter(|spread| spread.sets() > 1);
    let said = spread.map_or([const { String::new() }; 2], |spread| {
        spread.said().map(|said| format!(" (quick, {said})"))
    });
    text += &format!("\nreproduced: {} that count{}", share(&counted), said[0]);
    if !two_sided.is_empty() {
        text += &format!("; {} with two sides{}", share(&two_sided), said[1]);
    }
    if let Some(spread) = spread {
        text += &format!("; {} rows change their verdict with the seeds", spread.varies.len());
    }
    text.push('\n');
    text
}

/// A line for each suite or part, and one for all, in Markdown: its rows by verdict, and how many are in of those that count.
pub fn summary(suites: &[(&str, &[Row])]) -> String {
    let mut text = format!(
        "| {:<16} | {:>4} | {:>4} | {:>5} | {:>7} | {:>11} | {:>11} |\n|{:-<18}|{:->5}:|{:->5}:|{:->6}:|{:->8}:|{:->12}:|{:->12}:|\n",
        "suite", "in", "out", "empty", "not run", "count", "two-sided", "", "", "", "", "", "", ""
    );
    let mut sums = ([0; 4], [Share::default(); 2]);
    let mut line = |name: &str, (verdicts, shares): ([usize; 4], [Share; 2])| {
        let [within, out, empty, not_run] = verdicts;
        let [counted, two_sided] = shares.map(|share| share.to_string());
        text += &format!(
            "| {name:<16} | {within:>4} | {out:>4} | {empty:>5} | {not_run:>7} | {counted:>11} | {two_sided:>11} |\n"
        );
    };
    for (name, rows) in suites {
        let all: Vec<&Row> = rows.iter().collect();
        let verdicts =
            [Verdict::In, Verdict::Out, Verdict::Empty, Verdict::NotRun].map(|v| count(&all, v));
        let readings = crate::readings(name);
        let shares = [Share::of(rows, readings, |_| true), Share::of(rows, readings, is_two_sided)];
        sums.0 = std::array::from_fn(|i| sums.0[i] + verdicts[i]);
        sums.1.iter_mut().zip(shares).for_each(|(sum, share)| sum.add(share));
        line(name, (verdicts, shares));
    }
    if suites.len() > 1 {
        line("**all**", sums);
    }
    text
}

fn count(rows: &[&Row], verdict: Verdict) -> usize {
    rows.iter().filter(|row| row.verdict == verdict).count()
}

/// How many rows of those that were judged are in.
fn share(rows: &[&Row]) -> String {
    let within = count(rows, Verdict::In);
    format!("{within} of {} rows", within + count(rows, Verdict::Out))
}

/// A JSON array of rows. The names of the fields are the same for every suite.
pub fn json(rows: &[Row]) -> String {
    serde_json::to_string_pretty(rows).expect("rows hold texts and numbers only")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        for (x, text) in [
            (0.5, "0.5"),
            (21.9131, "21.91"),
            (9653.4, "9653"),
            (12_345.6, "12346"),
            (0.0, "0"),
            (0.166_058, "0.1661"),
        ] {
            assert_eq!(number(x), text);
        }
    }

    #[test]
    fn totals_tell_apart_what_says_much_and_what_says_little() {
        let made = |id: &str, basis, tolerance: &str, repeats: Option<&str>, verdict| Row {
            id: id.into(),
            basis,
            tolerance: tolerance.to_string().try_into().expect("it is one"),
            repeats: repeats.map(|text| text.to_string().try_into().expect("it is one")),
            verdict,
            ..crate::rows("analytic").remove(0)
        };
        use Verdict::{Empty, In, NotRun, Out};
        let rows = [
            made("a-count", Basis::Stated, "5%", None, In),
            made("b-count", Basis::Derived, "order x3", None, Out),
            made("c-count", Basis::Plotted, "<=", None, In),
            made("d", Basis::Stated, "<=", None, Empty),
            made("e", Basis::Stated, ">=", None, NotRun),
            made("f", Basis::Stated, ">=", Some("a-count x 1.05"), In),
            made("g", Basis::Input, "5%", None, In),
            made("h", Basis::Calibrated, "5%", Some("g"), In),
            made("i", Basis::Assumed, "5%", None, Out),
            made("a", Basis::Stated, "5%", None, Out),
            made("b", Basis::Stated, "5%", None, In),
            made("a-literal", Basis::Stated, "5%", None, Out),
        ];
        let expected = "\
| rows                |   in |  out | empty | not run |
|---------------------|-----:|-----:|------:|--------:|
| two-sided           |    2 |    2 |     0 |       0 |
| one-sided, >= or <= |    1 |    0 |     1 |       1 |
| **count**           |    3 |    2 |     1 |       1 |
| repeat another row  |    1 |    0 |     0 |       0 |
| calibrated          |    1 |    0 |     0 |       0 |
| input               |    1 |    0 |     0 |       0 |
| assumed             |    0 |    1 |     0 |       0 |
| other readings      |    0 |    1 |     0 |       0 |

reproduced: 3 of 5 rows that count; 2 of 4 rows with two sides
";
        let readings = ["-count", "-literal"];
        assert_eq!(totals(&rows, &readings, None), expected);
        let spread = Spread {
            count: vec![[3, 5], [2, 5]],
            two_sided: vec![[2, 4], [2, 4]],
            varies: [("a-count".to_string(), 1)].into(),
        };
        let with = totals(&rows, &readings, Some(&spread));
        let last = "reproduced: 3 of 5 rows that count (quick, 2 to 3 of 5 over 2 sets of seeds); 2 of 4 rows with two sides \
                    (quick, 2 of 4 over 2 sets of seeds); 1 rows change their verdict with the seeds\n";
        assert_eq!(with.lines().last().map(|line| format!("{line}\n")).as_deref(), Some(last));
    }

    #[test]
    fn a_summary_has_a_line_for_each_suite_and_one_for_all() {
        use Verdict::{In, NotRun, Out};
        let row = |basis, tolerance: &str, verdict| Row {
            basis,
            tolerance: tolerance.to_string().try_into().expect("it is one"),
            verdict,
            ..crate::rows("analytic").remove(0)
        };
        let first = [row(Basis::Stated, "5%", In), row(Basis::Stated, "<=", Out)];
        let second = [row(Basis::Assumed, "5%", Out), row(Basis::Derived, "5%", NotRun)];
        let expected = "\
| suite            |   in |  out | empty | not run |       count |   two-sided |
|------------------|-----:|-----:|------:|--------:|------------:|------------:|
| analytic         |    1 |    1 |     0 |       0 |      1 of 2 |      1 of 1 |
| hostcc/fig10     |    0 |    1 |     0 |       1 |        none |        none |
| **all**          |    1 |    2 |     0 |       1 |      1 of 2 |      1 of 1 |
";
        assert_eq!(summary(&[("analytic", &first), ("hostcc/fig10", &second)]), expected);
        assert_eq!(summary(&[("analytic", &first)]).lines().count(), 3);
    }

    #[test]
    fn the_json_has_every_field_in_its_order() {
        let mut rows = crate::rows("analytic");
        rows.truncate(1);
        let text = json(&rows);
        let fields = [
            "id",
            "figure",
            "quantity",
            "unit",
            "published",
            "basis",
            "citation",
            "tolerance",
            "measured",
            "verdict",
            "note",
        ];
        let places: Vec<usize> =
            fields.iter().map(|f| text.find(&format!("\"{f}\": ")).expect(f)).collect();
        assert!(places.is_sorted());
        assert!(text.contains("\"measured\": null") && text.contains("\"verdict\": \"not-run\""));
        let back: Vec<Row> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, rows);
    }
}
