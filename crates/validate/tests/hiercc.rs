//! A part of HierCC's suite runs by itself.

use forebay_validate::{Verdict, find, run};

#[test]
fn a_part_runs_by_itself_and_holds_its_rows() {
    let rows = run("hiercc/fig4", true);
    assert!(rows.iter().all(|row| row.verdict != Verdict::NotRun));
    assert!(rows.iter().any(|row| row.id == "law-invariant-literal"), "it stands with its runs");
    assert_eq!(find("hiercc/law"), Ok(()));
    assert!(find("hiercc/fig3").is_err_and(|e| e.contains("no part \"fig3\"")));
}
