//! A part of hostCC's suite runs by itself, and few of its rows fix parameters.

use forebay_validate::{Basis, Row, find, run};

#[test]
fn fourteen_numbers_fix_parameters_or_are_given_and_what_is_calibrated_says_why() {
    let rows = forebay_validate::rows("hostcc");
    let of = |basis| rows.iter().filter(move |r| r.basis == basis);
    let (fixing, following): (Vec<&Row>, Vec<&Row>) =
        of(Basis::Calibrated).partition(|row| row.note.starts_with("fixes "));
    assert_eq!(fixing.len(), 12, "{fixing:?}");
    assert!(following.iter().all(|row| row.note.starts_with("follows from ")), "{following:?}");
    let given = of(Basis::Input).filter(|row| row.note.starts_with("the model is given "));
    assert!(given.count() >= 2, "93 slots and 22 us, at least");
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
