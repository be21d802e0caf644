//! The deck's pictures: the router's queue with 128 flows, and what one of them has in flight and gets.

use super::{PORT, SUITE, row};
use crate::experiments::{Lists, results};
use crate::folder::Folder;
use crate::jobs::Cores;
use crate::measured::MeasuredRows;
use crate::plot::{Line, Panel, plot};
use crate::row_chart::{RowChart, RowPanel};
use forebay_record::{Quantity, RunRecord, Series};

/// End of the warm-up of a short run, ms.
const WARMUP_MS: f64 = 300.0;

/// Milliseconds drawn, from there on.
const SPAN_MS: f64 = 200.0;

/// Those over time, which need runs of their own, unless a part was asked for that is not theirs; and the table, if it was measured.
pub(crate) fn pictures(measured: &MeasuredRows, part: Option<&str>) -> Vec<(String, String)> {
    let mut all = if part.is_none_or(|part| part == "router") { over_time() } else { Vec::new() };
    all.extend(table(measured));
    all
}

/// The 10 Gb/s table as bars, with the deck's numbers: latencies, and the rest.
fn table(measured: &MeasuredRows) -> Vec<(String, String)> {
    let rows = crate::rows(SUITE);
    // BIC's numbers differ little between the readings; those of pad 6 have its columns to choose by.
    let columns =
        [("bic", "-pad6", "BIC"), ("nv", "-pad2", "NV, pad 2"), ("nv", "-pad6", "NV, pad 6")];
    let panel = |(what, label, log): &(&str, &str, bool)| {
        let of = |flows: &str| {
            let ids =
                columns.iter().map(|(law, end, _)| format!("table-{law}-{flows}-{what}{end}"));
            ids.collect()
        };
        RowPanel { label: (*label).into(), log: *log, ids: vec![of("few"), of("128")] }
    };
    let bars: Vec<String> = columns.iter().map(|(_, _, name)| (*name).to_string()).collect();
    let latencies = [
        ("latency", "Mean latency, us", false),
        ("p90", "P90, us", false),
        ("p95", "P95, us", true),
        ("p99", "P99, us", true),
    ];
    let rest = [
        ("goodput", "Goodput, Gb/s", false),
        ("fairness", "Jain's index", false),
        ("queue", "Mean queue, packets", false),
        ("drops", "Packets dropped per second", false),
    ];
    let pictures =
        [("latency", "latencies", latencies), ("queue", "goodput, queue and drops", rest)];
    let drawn = pictures.into_iter().filter_map(|(name, what, panels)| {
        let chart = RowChart {
            title: format!("TCP-NV, the 10 Gb/s table: {what}"),
            groups: vec!["few".into(), "128".into()],
            group_label: "flows".into(),
            bars: bars.clone(),
            panels: panels.iter().map(panel).collect(),
            table: Vec::new(),
            foot: vec!["Few: mean of 2, 8 and 32 flows. Pad 2 is the named reading, chosen by its few flows. BIC has the settings of pad 6.".into()],
        };
        Some((format!("tcp-nv-table-{name}.svg"), chart.svg(&rows, measured)?))
    });
    drawn.collect()
}

fn over_time() -> Vec<(String, String)> {
    let ids = ["router-1200KB-order-pad6", "router-175KB-order-pad6"];
    let (_, found) =
        results(Folder::of(SUITE), &ids.map(row), &Lists::default(), &Cores::new(&|_, _| {}), true);
    let Some(found) = found else { return Vec::new() };
    let [large, small] = ["router-1200KB", "router-175KB"].map(|experiment| {
        let law = |law: &str| &found.records(experiment, &[law]).expect("it was run")[0];
        ["bic", "nv-pad6"].map(law)
    });
    let queue = |runs: &[&RunRecord; 2]| {
        let name = format!("{PORT} queue");
        let of = |run: &&RunRecord| {
            let series = run.series.iter().find(|series| series.name == name);
            series.map_or(vec![], |series| points(series, 1500.0))
        };
        runs.iter().map(of).collect::<Vec<_>>()
    };
    let (of_large, of_small) = (queue(&large), queue(&small));
    let queues = plot(
        "TCP-NV: router queue, 128 flows of 1 to 8 MB RPCs, 10 Gb/s, 100 us",
        "ms",
        (0.0, SPAN_MS),
        &[
            both("Queue, packets; 1.2 MB", (0.0, 900.0), &of_large),
            both("Queue, packets; 175 KB", (0.0, 150.0), &of_small),
        ],
    );
    let flow = |quantity: Quantity, unit: f64| {
        let of = |run: &&RunRecord| {
            let series = run.series.iter().find(|one| one.quantity == quantity);
            series.map_or(vec![], |one| points(one, unit))
        };
        large.iter().map(of).collect::<Vec<_>>()
    };
    let in_flight = flow(Quantity::InFlight, 1448.0);
    let rate: Vec<_> =
        flow(Quantity::FlowRate, 1e-3).iter().map(|line| by_millisecond(line)).collect();
    let top = |lines: &[Vec<(f64, f64)>]| {
        1.1 * lines.iter().flatten().map(|p| p.1).fold(0.0, f64::max).max(1e-3)
    };
    let bursts = plot(
        "TCP-NV: one of 128 flows of 1 to 8 MB RPCs, 10 Gb/s, 100 us, buffer of 1.2 MB",
        "ms",
        (0.0, SPAN_MS),
        &[
            both("In flight, segments", (0.0, top(&in_flight)), &in_flight),
            both("Rate by ms, Mb/s", (0.0, top(&rate)), &rate),
        ],
    );
    vec![("tcp-nv-queues.svg".into(), queues), ("tcp-nv-bursts.svg".into(), bursts)]
}

fn both<'a>(label: &'a str, range: (f64, f64), lines: &[Vec<(f64, f64)>]) -> Panel<'a> {
    let lines = ["BIC", "NV"].into_iter().zip(lines);
    let lines = lines.map(|(name, points)| Line { name, points: points.clone(), steps: false });
    Panel { label, range, lines: lines.collect(), rules: Vec::new() }
}

/// Points from the end of the warm-up on: ms, and values in `unit`.
fn points(series: &Series, unit: f64) -> Vec<(f64, f64)> {
    let ms = |at: &forebay_units::Time| at.as_ps() as f64 / 1e9 - WARMUP_MS;
    let all = series.at.iter().zip(&series.values).map(|(at, value)| (ms(at), value / unit));
    all.filter(|p| (0.0..=SPAN_MS).contains(&p.0)).collect()
}

/// The mean of each millisecond.
fn by_millisecond(line: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let same = |a: &(f64, f64), b: &(f64, f64)| a.0.floor() == b.0.floor();
    let mean = |run: &[(f64, f64)]| {
        (run[0].0.floor() + 0.5, run.iter().map(|p| p.1).sum::<f64>() / run.len() as f64)
    };
    line.chunk_by(same).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the pictures of CARC's page.
    #[test]
    fn the_table_of_the_page_is_drawn_from_recorded_numbers() {
        let drawn = table(&crate::recorded::numbers("tcp-nv"));
        assert_eq!(drawn.len(), 2);
        drawn.iter().for_each(|(name, picture)| crate::recorded::tests::check(name, picture));
        // The deck's table: NV with few flows has a P99 of 305 us, with 128 flows 616.
        assert!(drawn[0].1.contains("table-nv-few-p99-pad2: 305 us"));
        assert!(drawn[0].1.contains("table-nv-128-p99-pad2: 616 us"));
    }
}
