//! A part of hostCC's suite runs by itself, and few of its rows fix parameters.

use forebay_validate::{Basis, find, run};

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
