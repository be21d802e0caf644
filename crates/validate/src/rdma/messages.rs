//! Messages: alone, of every size, and many to one.

use super::setup::{Law, PORT, Setup, messages};
use crate::bench::{BenchRun, run};
use crate::measured::MeasuredRows;

/// Senders and the size of each one's message.
pub(super) const INCASTS: [(u32, &str); 4] =
    [(16, "64KB"), (16, "500KB"), (32, "64KB"), (32, "500KB")];

/// Sizes of a lone message.
const SIZES: [&str; 7] = ["1KB", "10KB", "64KB", "100KB", "500KB", "1MB", "10MB"];

/// Seconds that are enough for any of them.
const END: f64 = 20e-3;

/// A message of every size in an empty network; returns how many packets were lost.
pub(super) fn lone(law: Law, measured: &mut MeasuredRows) -> f64 {
    let mut all = 0.0;
    for size in SIZES {
        let seen = run("rdma", &Setup::new(law, 1, messages(1, size)).text(), 0.0, END);
        let flow = &seen.record.flows[0];
        if let Some(fct) = flow.fct() {
            let slowdown = fct.as_ps() as f64 / flow.ideal.as_ps() as f64;
            measured.insert(format!("lone-{}-{size}", law.name()), slowdown);
        }
        all += seen.lost();
    }
    all
}

/// When the last byte of all was delivered, and when it would have been at the line rate; s. `None`: it never was.
fn last(seen: &BenchRun) -> Option<(f64, f64)> {
    let flows = &seen.record.flows;
    let mut end: f64 = 0.0;
    let mut ideal = 0.0;
    for flow in flows {
        end = end.max(flow.delivered?.as_secs_f64());
        ideal = flow.ideal.as_secs_f64() - ALONE;
    }
    Some((end, ALONE + ideal * flows.len() as f64))
}

/// Of the time of a lone message, what does not depend on its size: two cables and the last packet once more, s.
const ALONE: f64 = 2e-6 + 1048.0 * 8.0 / super::setup::LINE;

/// Returns how many packets were lost.
pub(super) fn incast(law: Law, senders: u32, size: &str, measured: &mut MeasuredRows) -> f64 {
    let id = |what: &str| format!("incast-{senders}-{size}-{}-{what}", law.name());
    let setup = Setup { every: Some("1us"), ..Setup::new(law, senders, messages(senders, size)) };
    let seen = run("rdma", &setup.text(), 0.0, END);
    let Some((end, ideal)) = last(&seen) else { return seen.lost() };
    measured.insert(id("last"), end / ideal);
    if size == "64KB" {
        measured.insert(id("peak"), seen.longest_queue(PORT) / 1e3);
        measured.insert(id("pauses"), pauses(&seen));
    } else if law == Law::Hpcc {
        let series = seen.series(&format!("{PORT} queue")).expect("it is sampled");
        let middle = (end / 4.0)..(end * 3.0 / 4.0);
        let of = seen.measured(series).filter(|(at, _)| middle.contains(at));
        let (sum, n) = of.fold((0.0, 0.0), |(sum, n), (_, bytes)| (sum + bytes, n + 1.0));
        measured.insert(id("queue"), sum / n / 1e3);
    }
    seen.lost()
}

/// 32 to 1 into a switch that has to pause.
pub(super) fn small(law: Law, measured: &mut MeasuredRows) {
    let id = |what: &str| format!("small-{}-{what}", law.name());
    let setup = Setup { buffer: "3MB", ..Setup::new(law, 32, messages(32, "500KB")) };
    let seen = run("rdma", &setup.text(), 0.0, END);
    measured.insert(id("drops"), seen.lost());
    measured.insert(id("pauses"), pauses(&seen));
    let still = seen.after.ports.iter().filter(|port| port.pausing_peer != 0).count();
    measured.insert(id("resumed"), still as f64);
}

fn pauses(seen: &BenchRun) -> f64 {
    seen.record.ports.iter().map(|port| port.pause_frames_sent).sum::<u64>() as f64
}
