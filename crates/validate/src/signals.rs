//! What hostCC reads of a host over time, and how it smooths that: of an experiment with `signals = true`, as series.
//!
//! `window.series(NAME)` has these names: `us` (time since the start of the run), `I_S` (lines in IIO slots), `B_S` (Gb/s over PCIe), `level` (of
//! throttling), `wait` (of writes for admission to memory, ns).
//!
//! Source: hostCC (SIGCOMM 2023), section 4.1: averages with weights of 1/8 for I_S and 1/256 for B_S.

use forebay_record::{Quantity, Series};
use forebay_sim::MemoryState;
use forebay_units::Time;

/// How long a reading takes the law, ns.
const READING: u64 = 650;

/// What is looked at after the warm-up, ns.
const LENGTH: u64 = 15_000_000;

/// From a decision to its level, us.
pub(crate) const WRITE_US: f64 = 22.0;

/// What is left out at the beginning, us: in it the slower of the two averages settles.
const SETTLES_US: f64 = 1000.0;

/// The signals at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Point {
    at: Time,
    us: f64,
    occupancy: f64,
    bandwidth: f64,
    level: u8,
    wait_ns: f64,
}

/// Instants after the warm-up, a nanosecond after each reading of occupancy: that loop never waits.
pub(crate) fn times(warmup: Time) -> impl Iterator<Item = Time> {
    let first = warmup.as_ps() / 1000 / READING + 1;
    (first..first + LENGTH / READING).map(|reading| Time::from_ps((reading * READING + 1) * 1000))
}

/// The series of what a host's path to memory was at these times.
pub(crate) fn series(states: &[MemoryState]) -> Vec<Series> {
    let points = smoothed(states);
    let of = |name: &str, unit, value: fn(&Point) -> f64| Series {
        name: name.into(),
        quantity: Quantity::LawRate,
        unit,
        at: points.iter().map(|point| point.at).collect(),
        values: points.iter().map(value).collect(),
    };
    vec![
        of("us", "us", |point| point.us),
        of("I_S", "lines", |point| point.occupancy),
        of("B_S", "gbps", |point| point.bandwidth),
        of("level", "", |point| f64::from(point.level)),
        of("wait", "ns", |point| point.wait_ns),
    ]
}

/// The loop that reads insertions also writes levels: while it does it reads nothing, and the reading after it counts as one.
fn smoothed(states: &[MemoryState]) -> Vec<Point> {
    let us = |state: &MemoryState| state.at.as_ps() as f64 * 1e-6;
    let changes = states.windows(2).filter(|two| two[0].level != two[1].level);
    let changes: Vec<f64> = changes.map(|two| us(&two[1])).collect();
    let writing = |at: f64| {
        changes.get(changes.partition_point(|c| *c <= at)).is_some_and(|c| *c - WRITE_US < at)
    };
    let mut points: Vec<Point> = Vec::with_capacity(states.len());
    let Some(mut read) = states.first() else { return points };
    for two in states.windows(2) {
        let at = us(&two[1]);
        let sample = (two[1].occupancy - two[0].occupancy) / ((at - us(&two[0])) * 1e3);
        let last = points.last().copied();
        let occupancy = last.map_or(sample, |p| p.occupancy + (sample - p.occupancy) / 8.0);
        let bandwidth = if writing(at) {
            last.map_or(0.0, |p| p.bandwidth)
        } else {
            let sample = (two[1].entered - read.entered) * 0.512 / (at - us(read));
            read = &two[1];
            last.map_or(sample, |p| p.bandwidth + (sample - p.bandwidth) / 256.0)
        };
        let (level, wait_ns) = (two[1].level, two[1].wait_ns);
        points.push(Point { at: two[1].at, us: at, occupancy, bandwidth, level, wait_ns });
    }
    let from = points.first().map_or(0.0, |p| p.us) + SETTLES_US;
    points.retain(|p| p.us >= from);
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host whose slots hold 80 lines and which takes a line each 6.4 ns, 80 Gb/s, looked at for 2 ms.
    fn steady(level_from: impl Fn(f64) -> u8) -> Vec<MemoryState> {
        let state = |reading: u64| {
            let ns = (reading * READING + 1) as f64;
            MemoryState {
                host: 0,
                at: Time::from_ps((reading * READING + 1) * 1000),
                occupancy: 80.0 * ns,
                entered: ns / 6.4,
                buffered: 0,
                wait_ns: 5.0,
                level: level_from(ns * 1e-3),
            }
        };
        (1..=2_000_000 / READING).map(state).collect()
    }

    #[test]
    fn a_steady_host_has_steady_signals_from_the_second_millisecond_on() {
        let series = series(&steady(|_| 0));
        let of =
            |name: &str| &series.iter().find(|one| one.name == name).expect("it is there").values;
        assert!((1000.0..1003.0).contains(&of("us")[0]), "{}", of("us")[0]);
        assert!(of("I_S").iter().all(|lines| (lines - 80.0).abs() < 1e-6));
        assert!(of("B_S").iter().all(|gbps| (gbps - 80.0).abs() < 1e-6));
        assert!(of("level").iter().all(|level| *level == 0.0) && of("wait").contains(&5.0));
    }

    #[test]
    fn no_bandwidth_is_read_while_a_level_is_written() {
        let mut states = steady(|us| u8::from(us > 1500.0));
        // Nothing enters from 1490 to 1500 us, and all of it at once after that.
        for state in &mut states {
            let us = state.at.as_ps() as f64 * 1e-6;
            if (1490.0..1500.0).contains(&us) {
                state.entered = 1_490_000.0 / 6.4;
            }
        }
        let series = series(&states);
        let bandwidth = &series[2].values;
        assert!(bandwidth.iter().all(|gbps| (gbps - 80.0).abs() < 1e-6), "it is one reading");
    }
}
