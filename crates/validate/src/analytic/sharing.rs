//! Dynamic threshold: overloaded ports of one switch share its buffer.

use super::MeasuredRows;
use crate::source::{Bench, Departures};
use forebay_net::SharedBuffer;
use forebay_units::{BitsPerSec, Bytes, Time};

pub(super) fn measure(all: &mut MeasuredRows) {
    all.insert("dt-half-1", overload(0.5, 1).mean);
    all.insert("dt-half-2", overload(0.5, 2).mean);
    let eight = overload(0.5, 8);
    all.insert("dt-half-8", eight.mean);
    all.insert("dt-half-8-free", eight.free);
    all.insert("dt-half-8-worst", eight.worst);
    all.insert("dt-one-1", overload(1.0, 1).mean);
}

/// Per cent of the buffer.
struct Shares {
    mean: f64,  // of the queues
    worst: f64, // the queue furthest from the mean
    free: f64,
}

/// Each of `n` ports gets packets at twice its rate, in turn, for long enough to fill the buffer many times.
fn overload(alpha: f64, n: usize) -> Shares {
    let size = 10_000_000;
    let rate = BitsPerSec::from_gbps(10);
    let mut bench =
        Bench::new(n as u32, rate, Some(SharedBuffer::new(Bytes::new(size), Some(alpha))));
    let mut out = Departures::default();
    let gap = 600_000; // ps: 1500 B at 20 Gb/s
    let rounds = 200_000;
    let mut now = Time::ZERO;
    let mut sums = vec![0.0; n];
    let mut looks = 0.0;
    for round in 0..rounds {
        for port in 0..n {
            now = Time::from_ps(round * gap + port as u64 * gap / n as u64);
            bench.arrive(now, port, 1_500, &mut out);
        }
        if round * 2 >= rounds {
            looks += 1.0;
            for (sum, port) in sums.iter_mut().zip(bench.switch.ports()) {
                *sum += port.queue(now) as f64;
            }
        }
    }
    let shares: Vec<f64> = sums.iter().map(|s| 100.0 * s / looks / size as f64).collect();
    let mean = shares.iter().sum::<f64>() / n as f64;
    let worst = shares.iter().copied().max_by(|a, b| (a - mean).abs().total_cmp(&(b - mean).abs()));
    Shares { mean, worst: worst.unwrap_or(mean), free: 100.0 - mean * n as f64 }
}
