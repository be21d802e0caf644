//! The paper's averages: against exact arithmetic, through wraps, and at the edges of 64 bits.

use super::super::paper::{Average, scaled};
use super::*;

fn at(ns: u64, raw: u64) -> Reading {
    Reading { at: Time::ZERO + Span::from_ns(ns), raw }
}

/// I_S in lines after samples of these, 512 ns apart.
fn lines(average: &mut Average, start: u64, lines: impl Iterator<Item = u64>) -> Vec<f64> {
    let mut raw = start;
    let (mut ns, mut seen) = (0, Vec::new());
    average.add(at(ns, raw));
    for sample in lines {
        ns += 512;
        raw = raw.wrapping_add(sample * 256) & (u64::MAX >> 16);
        average.add(at(ns, raw));
        seen.push(average.get().expect("known") as f64 / 1024.0);
    }
    seen
}

/// 63 % of a step after 7.5 and 255.5 samples. Exact: 1 - (1 - w)^n.
#[test]
fn steps_are_followed_with_the_published_time_constants() {
    for (shift, samples) in [(3, 7.5), (8, 255.5)] {
        let mut average = Average::of_lines(Counters::WRITE, shift);
        let path = lines(&mut average, 0, [0].into_iter().chain([100; 1000]));
        let crossed = path.iter().position(|lines| *lines >= 63.2).expect("crosses") as f64;
        assert!((crossed - samples).abs() <= 1.0, "weight 1/2^{shift}: sample {crossed}");
        for (n, lines) in path.iter().enumerate() {
            let exact = 100.0 * (1.0 - (1.0 - 0.5f64.powi(shift as i32)).powi(n as i32));
            assert!((lines - exact).abs() < 0.01, "sample {n}: {lines}, not {exact}");
        }
    }
}

/// 65 + 28 (1 - (7/8)^n) is 68.5, 71.5625.
#[test]
fn two_samples_of_93_after_65() {
    let mut average = Average::of_lines(Counters::WRITE, 3);
    assert_eq!(lines(&mut average, 0, [65, 93, 93].into_iter()), [65.0, 68.5, 71.5625]);
}

/// Equality is reached from both sides, so that a steady signal at the threshold holds.
#[test]
fn a_steady_signal_is_reached_exactly() {
    for from in [0, 93] {
        for shift in [0, 3, 8, 10] {
            let mut average = Average::of_lines(Counters::WRITE, shift);
            let path = lines(&mut average, 0, [from].into_iter().chain([70; 20_000]));
            assert_eq!(path.last(), Some(&70.0), "from {from}, weight 1/2^{shift}");
        }
    }
}

#[test]
fn a_wrap_is_no_event() {
    for bits in [36, 48] {
        let wrap = 1u64 << bits;
        let counters = Counters { occupancy_bits: bits, insert_bits: bits, ..Counters::WRITE };
        let samples = [65, 70, 93, 93, 20, 65];
        let calm = {
            let mut average = Average::of_kbps(counters, 3);
            rates(&mut average, 1000, wrap, &samples)
        };
        for before in [1, 50, 100, 200] {
            let mut average = Average::of_kbps(counters, 3);
            assert_eq!(rates(&mut average, wrap - before, wrap, &samples), calm);
        }
    }
}

fn rates(average: &mut Average, start: u64, wrap: u64, samples: &[u64]) -> Vec<Option<u64>> {
    let (mut raw, mut ns) = (start, 0);
    average.add(at(ns, raw));
    let step = |sample: &u64| {
        (ns, raw) = (ns + 512, (raw + sample) % wrap);
        average.add(at(ns, raw));
        average.get()
    };
    samples.iter().map(step).collect()
}

/// 84 Gb/s for whatever intervals read 84: no truncation as in the module.
#[test]
fn bandwidth_has_no_bias() {
    let mut average = Average::of_kbps(Counters::WRITE.of_port(), 8);
    let mut ns = 0;
    for n in 0..20_000 {
        average.add(at(ns, ns * 84 / 32));
        ns += 600 + (n * 37) % 101;
    }
    let kbps = average.get().expect("known");
    assert!(kbps.abs_diff(84_000_000) < 10_000, "{kbps} kb/s");
}

#[test]
fn a_counter_that_was_reset_is_ignored() {
    let mut average = Average::of_lines(Counters::WRITE, 3);
    average.add(at(0, 1_000_000_000));
    assert_eq!(average.add(at(512, 1_000_000_000 + 65 * 256)), Some(65 << 10));
    assert_eq!(average.add(at(1024, 0)), None);
    assert_eq!(average.get(), Some(65 << 10));
    assert_eq!(average.add(at(1536, 65 * 256)), Some(65 << 10));
    assert_eq!(average.add(at(1536, 80 * 256)), None, "no time between");
}

proptest! {
    /// Against 128 bits: exact where stated, near everywhere, saturating.
    #[test]
    fn scaled_is_right(
        count in any::<u64>(),
        small in any::<bool>(),
        scale in 1u64..1 << 45,
        per in 1u64..,
        bits in 0u32..64,
    ) {
        let count = if small { count >> 30 } else { count };
        let per = (per >> bits).max(1);
        let exact = u128::from(count) * u128::from(scale) / u128::from(per);
        let got = scaled(count, scale, per);
        if exact > u128::from(u64::MAX) {
            prop_assert!(got >= u64::MAX - (u64::MAX >> 18), "{} for {}", got, exact);
        } else if u128::from(per) * u128::from(scale) <= u128::from(u64::MAX) {
            prop_assert_eq!(u128::from(got), exact);
        } else {
            let off = u128::from(got).abs_diff(exact);
            prop_assert!(off <= 1 + (exact >> 18), "{} for {}", got, exact);
        }
    }

    /// Any jumps of any counter at any times: no panic, and no average beyond what a sample may be.
    #[test]
    fn any_counter_at_any_time(
        bits in 0u8..=255,
        clock_hz in any::<u64>(),
        insert_bytes in any::<u64>(),
        shift in 0u32..=10,
        readings in prop::collection::vec((any::<u64>(), any::<u64>()), 0..40),
    ) {
        let counters = Counters { clock_hz, occupancy_bits: bits, insert_bits: bits, insert_bytes };
        let mut lines = Average::of_lines(counters, shift);
        let mut kbps = Average::of_kbps(counters, shift);
        for (at, raw) in readings {
            let reading = Reading { at: Time::from_ps(at), raw };
            lines.add(reading);
            kbps.add(reading);
            prop_assert!(lines.get() < Some(65_536 << 10));
            prop_assert!(kbps.get() < Some(16_000_000_000));
        }
    }
}
