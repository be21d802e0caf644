//! No row of the TCP-NV deck flips unnoticed, and none that is out hides.

mod common;

/// Rows that are out in the quick run.
const OUT: &[&str] = &[
    "table-bic-few-goodput",
    "table-bic-few-queue",
    "table-bic-few-drops",
    "table-bic-128-fairness",
    "table-bic-128-latency",
    "table-bic-128-p90",
    "table-bic-128-queue",
    "table-bic-128-drops",
    "table-nv-few-fairness",
    "table-nv-few-queue",
    "table-nv-128-fairness",
    "table-nv-128-latency",
    "table-nv-128-p90",
    "table-nv-128-p99",
    "table-nv-128-queue",
    "table-nv-128-drops",
    "order-few-goodput",
    "order-128-goodput",
    "order-128-queue",
    "order-128-fairness",
    "router-1200KB-nv-drops",
    "router-175KB-nv-drops",
    "rack-1-bic-cwnd",
    "rack-1-bic-loss",
    "rack-1-nv-cwnd",
    "rack-4-nv-cwnd",
    "rack-4-nv-loss",
    "rack-8-bic-cwnd",
    "rack-8-bic-rtt",
    "rack-8-bic-loss",
    "rack-8-nv-cwnd",
    "rack-8-nv-rtt",
    "rack-8-nv-loss",
    "pause-1-nv-cwnd",
    "pause-4-nv-cwnd",
    "sort-bic-timeouts",
    "sort-nv-time",
    "sort-nv-timeouts",
    "sort-order-time",
    "burst-bic-rpc-start",
    "short-rpc",
    "rtt-10ms",
    "rtt-100ms",
    "hosts-1000",
];

#[test]
fn verdicts_are_as_recorded() {
    assert!(
        common::verdicts("tcp-nv", OUT, &["pacing-10ms"], &[]).len() >= 140,
        "rows do not vanish"
    );
}
