//! 128 flows of large RPCs through one router: its queue, its drops, and one flow's bursts.

use super::settings::{Law, Settings, Stack};
use super::star::{PORT, rpcs, star};
use crate::bench::{BenchRun, run};
use crate::measured::MeasuredRows;
use forebay_record::Quantity;
use forebay_units::{Span, Time};

/// Round trip of these slides.
const RTT_US: u32 = 100;

/// A run of 128 flows with RPCs of 1 to 8 MB; flow 0 is sampled, and so is the queue.
pub(super) fn seen(law: Law, buffer: &str, settings: &Settings, quick: bool) -> BenchRun {
    let (warm, end): (f64, f64) = if quick { (0.3, 0.6) } else { (0.5, 3.5) };
    let text = format!(
        "{}{}{}[output]\nwarmup = \"{}ms\"\nqueues = {{ every = \"100us\", where = \"tor\" }}\n\
         flows = {{ every = \"20us\", where = \"host[1]\", most = 1 }}\n",
        star(129, RTT_US, buffer),
        Stack::new(law, settings).text(),
        rpcs(1..=128, "1MB..8MB", ""),
        (warm * 1e3).round()
    );
    run("tcp-nv-router", &text, warm, end)
}

/// Rows of both buffers, and those of the bursts.
pub(super) fn measure(settings: &Settings, quick: bool, all: &mut MeasuredRows) {
    let mut peaks = Vec::new();
    for buffer in ["1200KB", "175KB"] {
        let mut drops = Vec::new();
        for law in Law::BOTH {
            let seen = seen(law, buffer, settings, quick);
            let rate = seen.dropped_and_sent(PORT).0 / seen.seconds();
            all.insert(format!("router-{buffer}-{}-drops", law.id()), rate);
            drops.push(rate);
            if buffer == "1200KB" {
                let (peak, at_start) = bursts(&seen);
                peaks.push(peak);
                if law == Law::Bic {
                    all.insert("burst-bic-rpc-start", at_start);
                }
            }
        }
        all.insert_ratio(format!("router-{buffer}-order"), drops[1], drops[0]);
    }
    all.insert("burst-nv-over-bic", peaks[1] / peaks[0]);
}

/// The largest number of bytes in flight of the sampled flow, and the share of its largest 1 % of samples that lie within
/// 10 round trips of the start of an RPC.
fn bursts(seen: &BenchRun) -> (f64, f64) {
    let record = &seen.record;
    let series = record.series.iter().find(|s| s.quantity == Quantity::InFlight);
    let series = series.expect("the first flow is sampled");
    let flow: u32 = series.name.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("its number");
    let connection = record.connections.iter().position(|c| c.requests == flow);
    let connection = connection.expect("its connection") as u32;
    let starts: Vec<Time> =
        record.rpcs.iter().filter(|r| r.connection == connection).map(|r| r.issued).collect();
    let mut points: Vec<(Time, f64)> =
        series.at.iter().copied().zip(series.values.iter().copied()).collect();
    points.sort_by(|a, b| b.1.total_cmp(&a.1));
    let top = &points[..(points.len() / 100).max(1)];
    let near = |at: &Time| {
        starts.iter().any(|s| *at >= *s && at.since(*s) <= Span::from_us(u64::from(10 * RTT_US)))
    };
    (top[0].1, top.iter().filter(|(at, _)| near(at)).count() as f64 / top.len() as f64)
}
