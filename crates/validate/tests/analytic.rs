//! No row flips from in to out unnoticed, and none that is out hides.

mod common;

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
    let rows = common::verdicts("analytic", OUT, &[], &[]);
    assert!(rows.len() >= 54, "rows do not vanish");
    for row in rows.iter().filter(|r| r.id.starts_with("incast-")) {
        assert!(row.measured.is_some_and(|m| m >= 1.0), "{} beats its bound", row.id);
    }
}
