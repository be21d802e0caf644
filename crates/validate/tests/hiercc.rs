//! No row of HierCC flips unnoticed, and none that is out hides.

mod common;

use forebay_validate::{Verdict, find, run};

/// Rows that are out in the quick run.
const OUT: &[&str] = &[
    "fig1a-hpcc-peak-half",
    "fig1b-hpcc-gap",
    "fig1b-hpcc-gap-half",
    "fig1b-hiercc-gap-literal",
    "fig2-16",
    "fig2-256",
    "fig4b-dcqcn-peak",
    "fig4a-rate-literal",
    "fig4a-least-literal",
    "fig4a-least-recommended",
    "fig4a-least-recommended-count",
    "fig4a-regain-literal",
    "fig4a-regain-recommended",
    "fig4a-regain-recommended-count",
    "fig4b-ratio-literal",
    "fig4b-ratio-recommended",
    "fig4b-ratio-recommended-count",
    "fig5a-over-hpcc-literal",
    "fig5a-over-timely-literal",
    "fig5a-over-timely-recommended",
    "fig5a-over-timely-recommended-count",
    "fig5a-over-dcqcn-literal",
    "fig5a-over-dcqcn-recommended",
    "fig5a-over-dcqcn-recommended-count",
    "fig5a-order-hiercc-hpcc-literal",
    "fig5a-order-timely-dcqcn",
    "text-queue-traffic-literal",
    "text-queue-traffic-recommended",
    "text-queue-traffic-recommended-count",
    "text-only-when-new-literal",
    "text-only-when-new-recommended",
    "text-only-when-new-recommended-count",
    "text-first-rtt-literal",
    "text-first-rtt-recommended",
    "text-first-rtt-recommended-count",
    "text-input-web",
    "law-hop-rate-2-recommended",
    "law-hop-queue-2-recommended-count",
    "law-hop-rate-2-recommended-count",
    "law-hop-queue-8-recommended",
    "law-hop-queue-16-recommended",
];

/// Rows that no quick run answers: loads that it leaves out, 99th percentiles of its 300 flows, and a scheme that there is
/// not.
const NOT_RUN: &[&str] = &[
    "fig5b-over-hpcc-literal",
    "fig5b-over-hpcc-recommended",
    "fig5b-over-hpcc-recommended-count",
    "fig5b-over-timely-literal",
    "fig5b-over-timely-recommended",
    "fig5b-over-timely-recommended-count",
    "fig5b-over-dcqcn-literal",
    "fig5b-over-dcqcn-recommended",
    "fig5b-over-dcqcn-recommended-count",
    "fig5b-order-hiercc-hpcc-literal",
    "fig5b-order-hiercc-hpcc-recommended",
    "fig5b-order-hiercc-hpcc-recommended-count",
    "fig5b-same-hpcc-timely",
    "fig5b-order-hpcc-dcqcn",
    "fig5b-order-timely-dcqcn",
    "fig5-drops-0.4-literal",
    "fig5-drops-0.4-recommended",
    "fig5-drops-0.4-recommended-count",
    "fig5-drops-0.5-literal",
    "fig5-drops-0.5-recommended",
    "fig5-drops-0.5-recommended-count",
    "fig5-drops-0.6-literal",
    "fig5-drops-0.6-recommended",
    "fig5-drops-0.6-recommended-count",
    "fig5-drops-0.7-literal",
    "fig5-drops-0.7-recommended",
    "fig5-drops-0.7-recommended-count",
    "fig5a-over-expresspass-literal",
    "fig5b-over-expresspass-literal",
    "fig5a-over-expresspass-recommended",
    "fig5b-over-expresspass-recommended",
    "fig5a-over-expresspass-recommended-count",
    "fig5b-over-expresspass-recommended-count",
    "fig5a-order-timely-expresspass",
    "fig5a-order-expresspass-dcqcn",
    "fig5b-order-dcqcn-expresspass",
];

#[test]
fn verdicts_are_as_recorded() {
    assert_eq!(common::verdicts("hiercc", OUT, &[], NOT_RUN).len(), 198, "rows do not vanish");
}

#[test]
fn a_part_runs_by_itself_and_holds_its_rows() {
    let rows = run("hiercc/fig4", true);
    assert!(rows.iter().all(|row| row.verdict != Verdict::NotRun));
    assert!(rows.iter().any(|row| row.id == "law-invariant-literal"), "it stands with its runs");
    assert_eq!(find("hiercc/law"), Ok(()));
    assert!(find("hiercc/fig3").is_err_and(|e| e.contains("no part \"fig3\"")));
}
