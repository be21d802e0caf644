//! Imported runs of csg-htsim against its own completion times: what takes no time to run.

use forebay_validate::{Row, Verdict, run};

/// Lone flows have no chance in them.
#[test]
fn lone_flows_take_as_long_as_there() {
    let rows = run("htsim/lone", true);
    let out: Vec<&Row> = rows.iter().filter(|row| row.verdict != Verdict::In).collect();
    assert!(rows.len() == 4 && out.is_empty(), "{out:#?}");
}
