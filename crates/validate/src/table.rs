//! Rows for people and for programs.

use crate::row::{Basis, Row, Verdict};

/// An aligned table, a line of totals, and the note of every row that missed.
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
    let count = |verdict: Verdict| rows.iter().filter(|r| r.verdict == verdict).count();
    let (within, out, not_run) = (count(Verdict::In), count(Verdict::Out), count(Verdict::NotRun));
    text.push_str(&format!("\n{} rows: {within} in, {out} out, {not_run} not run\n", rows.len()));
    let open = |row: &&Row| matches!(row.basis, Basis::Calibrated | Basis::Assumed);
    let of_open = rows.iter().filter(open).count();
    if of_open > 0 {
        let within_open = rows.iter().filter(open).filter(|r| r.verdict == Verdict::In).count();
        text.push_str(&format!(
            "reproduced: {} of {}; {of_open} rows are calibrated or assumed and do not count, {within_open} of them in\n",
            within - within_open,
            rows.len() - of_open
        ));
    }
    for row in rows.iter().filter(|r| r.verdict == Verdict::Out) {
        let note = if row.note.is_empty() { "no cause is known yet" } else { &row.note };
        text.push_str(&format!("out: {}: {note}\n", row.id));
    }
    text
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
