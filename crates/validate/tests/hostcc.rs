//! No row of hostCC flips unnoticed, and none that is out hides.

mod common;

use forebay_validate::{Basis, find, run};

/// Rows that are out in the quick run.
const OUT: &[&str] = &[
    "plant-3x-1-wait",
    "intro-tail-least",
    "intro-tail-most",
    "fig3-mtu-on-over-off",
    "fig3-flows-on-over-off",
    "fig4-128B-p999",
    "fig4-512B-p999",
    "fig4-2KB-p999",
    "fig4-8KB-p999",
    "fig4-32KB-p999",
    "fig4-order",
    "fig8-sawtooth",
    "fig10-1x-same",
    "fig10-2x-memory",
    "fig10-3x-mapp",
    "fig10-3x-memory",
    "fig11-mtu-1500-goodput",
    "fig12-128B-p99",
    "fig13a-rise",
    "fig14-3x-drop-factor",
    "fig15-dctcp-p99",
    "fig15-dctcp-p999",
    "fig15-hostcc-p99",
    "fig16-shape",
    "fig17-drops",
    "fig18-both-over",
    "set2-rw-3-drops",
    "set2-rw-4-drops",
    "set2-rw-4-goodput",
    "set2-rw-3-full",
    "set2-rw-write-latency",
    "set2-ro-occupancy",
];

/// Rows that no run answers.
const NOT_RUN: &[&str] =
    &["text-mapp-per-byte", "text-write", "fig7-occupancy", "fig7-bandwidth", "fig7-same"];

#[test]
fn verdicts_are_as_recorded() {
    assert!(common::verdicts("hostcc", OUT, NOT_RUN).len() >= 242, "rows do not vanish");
}

#[test]
fn six_numbers_at_most_fix_parameters() {
    let rows = forebay_validate::rows("hostcc");
    let calibrated = rows.iter().filter(|r| r.basis == Basis::Calibrated);
    let notes: Vec<&str> = calibrated.map(|r| r.note.as_str()).collect();
    assert!(notes.len() <= 6 && notes.iter().all(|note| note.starts_with("fixes ")), "{notes:?}");
}

#[test]
fn a_part_runs_by_itself_and_holds_its_rows() {
    let rows = run("hostcc/fig8", true);
    assert_eq!(rows.len(), 7);
    assert!(rows.iter().all(|r| r.id.starts_with("fig8-") && r.measured.is_some()));
    assert_eq!(find("hostcc/fig13"), Ok(()));
    assert!(find("hostcc/fig99").is_err_and(|e| e.contains("no part \"fig99\"; write one of ")));
    assert!(find("analytic/fig2").is_err_and(|e| e.contains("has no parts")));
}
