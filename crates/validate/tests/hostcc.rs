//! No row of hostCC flips unnoticed, and none that is out hides.

mod common;

use forebay_validate::{Basis, find, run};

/// Rows that are out in the quick run.
const OUT: &[&str] = &[
    "plant-3x-1-wait",
    "fig3-mtu-on-over-off",
    "fig3-flows-on-over-off",
    "fig8-sawtooth",
    "fig10-1x-same",
    "fig10-2x-memory",
    "fig10-3x-mapp",
    "fig10-3x-memory",
    "fig11-mtu-1500-goodput",
    "fig12-128B-p99",
    "fig12-128B-p99-less",
    "fig12-512B-p99-less",
    "fig13a-rise",
    "fig14-3x-drop-factor",
    "fig15-dctcp-p99",
    "fig15-hostcc-p99",
    "fig16-shape",
    "fig17-drops",
    "fig18-echo-goodput",
    "fig18-both-over",
    "set2-rw-3-drops",
    "set2-rw-4-drops",
    "set2-rw-4-goodput",
    "set2-rw-3-full",
    "set2-rw-write-latency",
    "set2-ro-occupancy",
];

/// Rows that compare runs in which nothing is lost.
const EMPTY: &[&str] = &["fig13a-4-same", "fig13a-6-same", "fig13a-8-same", "fig13a-10-same"];

/// Rows that no run answers, and percentiles for which a quick run has too few samples.
const NOT_RUN: &[&str] = &[
    "intro-tail-least",
    "intro-tail-most",
    "text-mapp-per-byte",
    "text-write",
    "fig4-2KB-p99",
    "fig4-128B-p999",
    "fig4-512B-p999",
    "fig4-2KB-p999",
    "fig4-8KB-p999",
    "fig4-32KB-p999",
    "fig4-order",
    "fig7-occupancy",
    "fig7-bandwidth",
    "fig7-same",
    "fig12-128B-p999",
    "fig12-512B-p999",
    "fig12-2KB-p99-less",
    "fig12-2KB-p999",
    "fig12-8KB-p999",
    "fig12-32KB-p999",
    "fig15-dctcp-p999",
    "fig15-128B-p999",
    "fig15-32KB-p999",
];

#[test]
fn verdicts_are_as_recorded() {
    assert!(common::verdicts("hostcc", OUT, EMPTY, NOT_RUN).len() >= 242, "rows do not vanish");
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
