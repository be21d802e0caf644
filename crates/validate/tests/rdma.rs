//! No row of the RDMA micro scenarios flips unnoticed, and none that is out hides.

mod common;

/// Rows that are out; their notes say why.
const OUT: &[&str] = &[
    "staggered-2-dcqcn-jain",
    "staggered-4-dctcp-jain",
    "eight-dcqcn-jain",
    "two-powertcp-queue",
    "two-dcqcn-marks",
    "staggered-4-powertcp-queue",
    "eight-powertcp-queue",
    "eight-dcqcn-marks",
    "dcqcn40-2-marks",
    "dcqcn40-4-marks",
    "dcqcn40-8-marks",
    "dcqcn40-10-marks",
    "dcqcn40-10-queue",
    "dcqcn40-growth",
    "incast-16-64KB-dctcp-peak",
    "incast-16-500KB-hpcc-last",
    "incast-32-64KB-dctcp-peak",
    "irn-0.1",
    "irn-1",
];

#[test]
fn verdicts_are_as_recorded() {
    assert!(common::verdicts("rdma", OUT, &[], &[]).len() >= 204, "rows do not vanish");
}
