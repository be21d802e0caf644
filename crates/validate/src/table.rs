//! Rows for people and for programs.

use crate::row::{Row, Verdict};
use std::collections::BTreeMap;

/// An aligned table, lines of totals, and the note of every row that missed or says nothing.
pub fn table(rows: &[Row]) -> String {
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
    text.push_str(&totals(rows));
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
    text
}

/// How many rows are in, and how much that says.
fn totals(rows: &[Row]) -> String {
    let count = |verdict: Verdict| rows.iter().filter(|r| r.verdict == verdict).count();
    let mut text = format!(
        "\n{} rows: {} in, {} out, {} empty, {} not run\n",
        rows.len(),
        count(Verdict::In),
        count(Verdict::Out),
        count(Verdict::Empty),
        count(Verdict::NotRun)
    );
    let (counted, open): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.counts());
    let judged: Vec<&Row> = counted
        .iter()
        .copied()
        .filter(|row| matches!(row.verdict, Verdict::In | Verdict::Out))
        .collect();
    text += &format!("reproduced: {} of {} rows that were judged", within(&judged), judged.len());
    if !open.is_empty() {
        text += &format!(
            "; {} are calibrated, input or assumed and do not count, {} of them in",
            open.len(),
            within(&open)
        );
    }
    let (one, two): (Vec<&Row>, Vec<&Row>) =
        judged.iter().copied().partition(|row| row.tolerance.is_one_sided());
    text += &format!(
        "\n  two-sided: {} of {} in; one-sided (>= or <=): {} of {} in\n",
        within(&two),
        two.len(),
        within(&one),
        one.len()
    );
    let by_number = measurements(&judged);
    let all_in = by_number.iter().filter(|rows| within(rows) == rows.len()).count();
    text += &format!(
        "  independent measurements: {all_in} of {} in; {} rows repeat the number of another\n",
        by_number.len(),
        judged.len() - by_number.len()
    );
    text
}

fn within(rows: &[&Row]) -> usize {
    rows.iter().filter(|row| row.verdict == Verdict::In).count()
}

/// Rows by what was measured: those with the same number to its last bit are one measurement, unless it is a whole one, as
/// counts and shares of nothing or all are.
fn measurements<'a>(rows: &[&'a Row]) -> Vec<Vec<&'a Row>> {
    let mut places: BTreeMap<u64, usize> = BTreeMap::new();
    let mut all: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        let number = row.measured.filter(|number| number.fract() != 0.0);
        let known = number.and_then(|number| places.get(&number.to_bits()).copied());
        match known {
            Some(place) => all[place].push(row),
            None => {
                if let Some(number) = number {
                    places.insert(number.to_bits(), all.len());
                }
                all.push(vec![row]);
            }
        }
    }
    all
}

/// A JSON array of rows. The names of the fields are the same for every suite.
pub fn json(rows: &[Row]) -> String {
    serde_json::to_string_pretty(rows).expect("rows hold texts and numbers only")
}

/// Four digits, without needless zeros.
fn number(x: f64) -> String {
    let digits = if x == 0.0 || !x.is_finite() { 0 } else { 3 - x.abs().log10().floor() as i32 };
    let text = format!("{x:.*}", digits.clamp(0, 6) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
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
        use crate::row::Basis;
        let made = |basis, tolerance: &str, measured, verdict| Row {
            basis,
            tolerance: tolerance.to_string().try_into().expect("it is one"),
            measured,
            verdict,
            ..crate::rows("analytic").remove(0)
        };
        let rows = [
            made(Basis::Stated, "5%", Some(1.25), Verdict::In),
            made(Basis::Stated, ">=", Some(1.25), Verdict::In), // the same measurement
            made(Basis::Stated, "<=", Some(1.5), Verdict::In),
            made(Basis::Derived, "x2", Some(1.5), Verdict::Out), // and again, of which one row is out
            made(Basis::Stated, "<=", Some(0.0), Verdict::In),
            made(Basis::Stated, "<=", Some(0.0), Verdict::In), // no drops is no measurement in common
            made(Basis::Stated, "<=", None, Verdict::Empty),
            made(Basis::Stated, "5%", None, Verdict::NotRun),
            made(Basis::Input, "5%", Some(3.5), Verdict::In),
            made(Basis::Assumed, "5%", Some(4.5), Verdict::Out),
        ];
        let expected = "
10 rows: 6 in, 2 out, 1 empty, 1 not run
reproduced: 5 of 6 rows that were judged; 2 are calibrated, input or assumed and do not count, 1 of them in
  two-sided: 1 of 2 in; one-sided (>= or <=): 4 of 4 in
  independent measurements: 3 of 4 in; 2 rows repeat the number of another
";
        assert_eq!(totals(&rows), expected);
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
