//! No row flips from in to out unnoticed, and none that is out hides.

use forebay_validate::{Row, Verdict, run};

/// Rows known to be out. Each says why in its note. A row that leaves this list, or joins it, is a change of results.
const OUT: &[&str] = &[
    "dctcp-10g-2-period",
    "dctcp-10g-10-period",
    "dctcp-1g-2-alpha",
    "dctcp-1g-2-period",
    "dctcp-10g-10-rounds",
    "dctcp-1g-2-rounds",
    "reno-sqrt-1e-2",
];

#[test]
fn verdicts_are_as_recorded() {
    let rows = run("analytic", true);
    assert!(rows.len() >= 54, "rows do not vanish");
    let with = |verdict| rows.iter().filter(move |r: &&Row| r.verdict == verdict);
    let ids = |verdict| with(verdict).map(|r| r.id.as_str()).collect::<Vec<_>>();
    assert_eq!(ids(Verdict::NotRun), [""; 0], "every row of this suite is run");
    assert_eq!(ids(Verdict::Out), OUT, "{}", forebay_validate::table(&rows));
    for row in with(Verdict::Out) {
        assert!(row.note.contains("cause: "), "{} is out and does not say why", row.id);
    }
    for row in rows.iter().filter(|r| r.id.starts_with("incast-")) {
        assert!(row.measured.is_some_and(|m| m >= 1.0), "{} beats its bound", row.id);
    }
    let mut seen: Vec<&str> = rows.iter().map(|r| r.id.as_str()).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), rows.len(), "ids are unique");
}
