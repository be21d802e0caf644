//! What every suite holds still.

use forebay_validate::{Row, Verdict, run, table};

/// The rows of a quick run, of which exactly `out` are out, each with its cause, `empty` say nothing, and `not_run` are
/// answered by no run. A row that leaves one of these lists, or joins it, is a change of results.
///
/// # Panics
/// If any of this does not hold, or two rows have one name.
pub fn verdicts(suite: &str, out: &[&str], empty: &[&str], not_run: &[&str]) -> Vec<Row> {
    let rows = run(suite, true);
    let with = |verdict| rows.iter().filter(move |r: &&Row| r.verdict == verdict);
    let ids = |verdict| with(verdict).map(|r| r.id.as_str()).collect::<Vec<_>>();
    assert_eq!(ids(Verdict::NotRun), not_run);
    assert_eq!(ids(Verdict::Empty), empty);
    assert_eq!(ids(Verdict::Out), out, "{}", table(&rows));
    for row in with(Verdict::Out) {
        assert!(row.note.contains("cause: "), "{} is out and does not say why", row.id);
    }
    let mut seen: Vec<&str> = rows.iter().map(|r| r.id.as_str()).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), rows.len(), "ids are unique");
    rows
}
