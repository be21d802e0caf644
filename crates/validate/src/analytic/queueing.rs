//! M/D/1 and M/M/1: Poisson arrivals at one port of a switch that never drops.

use super::MeasuredRows;
use crate::source::{Bench, Departures};
use forebay_units::math::ln;
use forebay_units::random::{Purpose, Stream};
use forebay_units::{BitsPerSec, Bytes, Span, Time};

pub(super) fn measure(quick: bool, all: &mut MeasuredRows) {
    let packets = if quick { 1_000_000 } else { 4_000_000 };
    all.insert("md1-wait-050", waits(Sizes::Fixed, 0.5, packets).mean);
    let md1 = waits(Sizes::Fixed, 0.8, packets);
    all.insert("md1-wait-080", md1.mean);
    all.insert("md1-idle-080", md1.idle);
    all.insert("md1-wait-090", waits(Sizes::Fixed, 0.9, packets).mean);
    all.insert("mm1-wait-050", waits(Sizes::Exponential, 0.5, packets).mean);
    let mm1 = waits(Sizes::Exponential, 0.8, packets);
    all.insert("mm1-wait-080", mm1.mean);
    all.insert("mm1-p99-080", mm1.p99);
}

#[derive(Clone, Copy)]
enum Sizes {
    Fixed,
    Exponential,
}

/// In mean service times.
struct Waits {
    mean: f64,
    p99: f64,
    idle: f64, // share that does not wait
}

fn waits(sizes: Sizes, load: f64, packets: usize) -> Waits {
    let rate = BitsPerSec::from_gbps(10);
    let mut bench = Bench::new(2, rate, None);
    let mut gaps = Stream::new(1, 0, Purpose::Arrivals);
    let mut lengths = Stream::new(1, 0, Purpose::Sizes);
    let mean_size = match sizes {
        Sizes::Fixed => 1_500.0,
        Sizes::Exponential => 2_000.5, // of the exponential rounded up
    };
    let service = mean_size * 800.0; // ps
    let mut out = Departures::default();
    let mut now = 0.0;
    let mut waits = Vec::with_capacity(packets);
    for _ in 0..packets {
        now += gaps.exponential() * service / load;
        let size = match sizes {
            Sizes::Fixed => 1_500,
            Sizes::Exponential => {
                (-2_000.0 * ln(lengths.unit())).ceil().clamp(1.0, 65_535.0) as u16
            }
        };
        let at = Time::from_ps(now as u64);
        bench.arrive(at, 1, size, &mut out);
        let start =
            out.last.since(Time::ZERO).saturating_sub(rate.time_for(Bytes::new(size.into())));
        waits.push(start.saturating_sub(at.since(Time::ZERO)));
    }
    let mean = waits.iter().map(|w| w.as_ps() as f64).sum::<f64>() / packets as f64;
    let idle = waits.iter().filter(|w| **w == Span::ZERO).count() as f64 / packets as f64;
    let (_, p99, _) = waits.select_nth_unstable(packets * 99 / 100);
    Waits { mean: mean / service, p99: p99.as_ps() as f64 / service, idle }
}
