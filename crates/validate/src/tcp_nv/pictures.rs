//! The deck's pictures: the router's queue with 128 flows, and what one of them has in flight and gets.

use super::router;
use super::settings::{CHOSEN, Law};
use super::star::PORT;
use crate::bench::Seen;
use crate::plot::{Line, Panel, plot};
use forebay_record::{Quantity, Series};

/// Milliseconds drawn, from the end of the warm-up on.
const SPAN_MS: f64 = 200.0;

pub(crate) fn pictures() -> Vec<(String, String)> {
    let [large, small] = ["1200KB", "175KB"]
        .map(|buffer| Law::BOTH.map(|law| router::seen(law, buffer, &CHOSEN, true)));
    let queue = |seen: &[Seen; 2]| {
        seen.iter()
            .map(|s| s.series(&format!("{PORT} queue")).map_or(vec![], |q| points(s, q, 1500.0)))
            .collect::<Vec<_>>()
    };
    let (of_large, of_small) = (queue(&large), queue(&small));
    let queues = plot(
        "Router queue, 128 flows of 1 to 8 MB RPCs, 10 Gb/s, 100 us",
        "ms",
        (0.0, SPAN_MS),
        &[
            both("Queue, packets; 1.2 MB", (0.0, 900.0), &of_large),
            both("Queue, packets; 175 KB", (0.0, 150.0), &of_small),
        ],
    );
    let flow = |quantity: Quantity, unit: f64| {
        let of = |s: &Seen| {
            let series = s.record.series.iter().find(|one| one.quantity == quantity);
            series.map_or(vec![], |one| points(s, one, unit))
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
        "One of 128 flows of 1 to 8 MB RPCs, 10 Gb/s, 100 us, buffer of 1.2 MB",
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
fn points(seen: &Seen, series: &Series, unit: f64) -> Vec<(f64, f64)> {
    let ms = |at: &forebay_units::Time| at.as_ps() as f64 / 1e9 - seen.warm() * 1e3;
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
